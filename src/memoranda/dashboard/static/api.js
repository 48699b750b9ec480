// Calls to the server. A failed call throws ApiError with the server's own sentence.
let csrfToken = null;
let scope = readScope();

export class ApiError extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

const MAX_TRIES = 12;
export const UNREACHABLE = "The server does not answer. Is it still running, and is this machine connected?";

/** When the server was last known not to answer. A request sent before that may still be answered: it says nothing about now. */
let lostAt = -Infinity;

function noteLost() {
  lostAt = performance.now();
  window.dispatchEvent(new CustomEvent("reachable", { detail: false }));
}

function noteAnswered(sentAt) {
  if (sentAt > lostAt) window.dispatchEvent(new CustomEvent("reachable", { detail: true }));
}

// A browser that is offline says so by itself.
window.addEventListener("offline", noteLost);

/** Fetches; a key that has sent too many requests waits as long as the server says, and asks again: nothing was done. */
async function fetchPatiently(path, request) {
  for (let tried = 1; ; tried += 1) {
    const sentAt = performance.now();
    let response;
    try {
      response = await fetch(path, request);
      noteAnswered(sentAt);
    } catch (error) {
      if (error.name === "AbortError") throw error;
      noteLost();
      throw new ApiError(0, UNREACHABLE);
    }
    if (response.status !== 429 || tried === MAX_TRIES) return response;
    // The requests of a page would come at once again: each waits a little differently.
    const seconds = (Number(response.headers.get("Retry-After")) || 1) + Math.random() * tried;
    await new Promise((resolve) => setTimeout(resolve, 1000 * Math.min(seconds, 30)));
    request.signal?.throwIfAborted();
  }
}

const UNATTENDED_AFTER = 60000;
let touchedAt = Date.now();
for (const name of ["pointerdown", "keydown", "wheel", "touchstart"])
  window.addEventListener(name, () => (touchedAt = Date.now()), { passive: true, capture: true });

async function send(method, path, body, signal) {
  const headers = {};
  // A page that shows changes as they happen must not keep the session of somebody who left open.
  if (Date.now() - touchedAt > UNATTENDED_AFTER) headers["X-Unattended"] = "1";
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (csrfToken && method !== "GET") headers["X-CSRF-Token"] = csrfToken;
  const content = body === undefined ? undefined : JSON.stringify(body);
  const response = await fetchPatiently(path, { method, headers, signal, body: content });
  const text = await response.text();
  const data = text ? JSON.parse(text) : null;
  if (response.status === 401) window.dispatchEvent(new Event("signed-out"));
  if (!response.ok) throw new ApiError(response.status, describe(response, data));
  return data;
}

function describe(response, data) {
  const detail = (data && data.detail) || `The server answered ${response.status}.`;
  const said = detail[0].toUpperCase() + detail.slice(1);
  // The server tells everybody what is wrong, but only an admin where: that is in its health.
  const unfit = response.status >= 500 && data && String(data.type).endsWith(":Incompatible");
  return unfit ? `${said}. The overview says to an admin what to do about it; so does memoranda doctor.` : said;
}

function query(values) {
  const found = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined && value !== null && value !== "") found.set(name, value);
  }
  const text = found.toString();
  return text ? `?${text}` : "";
}

export const get = (path, values = {}) => send("GET", path + query(values));
export const post = (path, body = {}, signal) => send("POST", path, body, signal);
export const patch = (path, body) => send("PATCH", path, body);
/** The same with whose memories are looked at. */
export const getScoped = (path, values = {}) => get(path, { ...scope, ...values });
export const postScoped = (path, body = {}, signal) => post(path, { ...scope, ...body }, signal);
export const eventsPath = () => "/ui/events" + query(scope);

export async function signIn(key) {
  return keep(await send("POST", "/ui/login", { key }));
}

export async function signOut() {
  csrfToken = null;
  await send("POST", "/ui/logout", {});
}

export async function loadSession() {
  return keep(await send("GET", "/ui/session"));
}

function keep(session) {
  csrfToken = session.csrf_token;
  // Reading across users needs the admin scope: without it, a user has to be named.
  if (!session.scopes.includes("admin") && scope.all_users) setScope({});
  if (session.scopes.includes("admin") && sessionStorage.getItem("scope") === null) setScope({ all_users: true });
  return session;
}

export const getScope = () => scope;

/** Writes what a page shows into its address, so that it can be kept, sent and gone back to. */
export function noteInAddress(values) {
  const [, path, search] = location.hash.match(/^([^?]*)\??(.*)$/s);
  const query = new URLSearchParams(search);
  for (const [name, value] of Object.entries(values)) {
    if (value) query.set(name, value);
    else query.delete(name);
  }
  const text = query.toString();
  const address = (path || "#/overview") + (text ? `?${text}` : "");
  if (address !== location.hash) history.replaceState(history.state, "", address);
}

export function setScope(value) {
  scope = value;
  sessionStorage.setItem("scope", JSON.stringify(value));
  window.dispatchEvent(new Event("scope"));
}

function readScope() {
  try {
    return JSON.parse(sessionStorage.getItem("scope")) || {};
  } catch {
    return {};
  }
}
