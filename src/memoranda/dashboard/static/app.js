// The shell: who is signed in, the navigation, whose memories are shown, and the page of the address.
import {
  html,
  render,
  useState,
  useEffect,
  useRef,
  Session,
  Icon,
  Toasts,
  Dialog,
  Failure,
  Missing,
  Component,
  clip,
  setTheme,
  useTheme,
} from "./ui.js";
import { loadSession, signOut, getScope, setScope, get, eventsPath } from "./api.js";
import { Login } from "./pages/login.js";
import { OverviewPage } from "./pages/overview.js";
import { MemoriesPage } from "./pages/memories.js";
import { MemoryPage } from "./pages/memory.js";
import { PeoplePage, PersonPage } from "./pages/people.js";
import { AskPage } from "./pages/ask.js";
import { GraphPage } from "./pages/graph.js";
import { ConversationsPage, ConversationPage } from "./pages/conversations.js";
import { ActivityPage } from "./pages/activity.js";
import { UpkeepPage } from "./pages/upkeep.js";

const PAGES = [
  ["overview", "Overview", "overview"],
  ["memories", "Memories", "memory"],
  ["people", "People", "people"],
  ["ask", "Ask", "ask"],
  ["graph", "Graph", "graph"],
  ["conversations", "Conversations", "chat"],
  ["activity", "Activity", "runs"],
  ["upkeep", "Upkeep", "upkeep"],
];

function readAddress() {
  const [, path, search = ""] = location.hash.match(/^#?\/?([^?]*)\??(.*)$/s);
  let parts;
  try {
    parts = path.split("/").filter(Boolean).map(decodeURIComponent);
  } catch {
    return { page: "unknown", query: {} }; // a % that is no escape
  }
  return { page: parts[0] || "overview", id: parts[1], query: Object.fromEntries(new URLSearchParams(search)) };
}

function choosePage({ page, id, query }, live) {
  switch (page) {
    case "overview":
      return html`<${OverviewPage} live=${live} />`;
    case "memories":
      if (id && !isNumber(id)) return html`<${Missing} title="No such memory" text="The address of a memory ends in its number." back="memories" />`;
      return id
        ? html`<${MemoryPage} id=${id} key=${id} />`
        : html`<${MemoriesPage} query=${query} live=${live} />`;
    case "people":
      return id ? html`<${PersonPage} name=${id} key=${id} />` : html`<${PeoplePage} />`;
    case "ask":
      return html`<${AskPage} query=${query} />`;
    case "graph":
      if (query.around && !isNumber(query.around)) return html`<${Missing} title="No such memory" text="The address of a memory ends in its number." back="memories" />`;
      return html`<${GraphPage} query=${query} />`;
    case "conversations":
      return id === "read"
        ? html`<${ConversationPage} query=${query} key=${location.hash} />`
        : html`<${ConversationsPage} />`;
    case "activity":
      return html`<${ActivityPage} live=${live} />`;
    case "upkeep":
      return html`<${UpkeepPage} />`;
    default:
      return html`<${Missing} title="No such page" text="The address does not name a page of the dashboard." />`;
  }
}

const isNumber = (text) => /^[1-9]\d{0,17}$/.test(text);

/** A fault in one page leaves the rest of the dashboard usable. */
class Guarded extends Component {
  constructor() {
    super();
    this.state = { error: null };
  }
  static getDerivedStateFromError(error) {
    return { error };
  }
  render() {
    return this.state.error
      ? html`<div class="page"><${Failure} error=${this.state.error} retry=${() => this.setState({ error: null })} />
        </div>`
      : this.props.children;
  }
}

function Nav({ page }) {
  return html`<nav class="nav" aria-label="Pages"><a class="brand" href="#/overview">
    <img src="/ui/static/icon.svg" alt="" width="28" height="28" /><span>Memoranda</span></a>
    <ul>${PAGES.map(([name, title, icon]) => html`<li>
      <a href=${`#/${name}`} aria-current=${page === name ? "page" : undefined}><${Icon} name=${icon} /><span>${title}
      </span></a></li>`)}</ul><a class="to-api" href="/docs">API</a></nav>`;
}

function ScopeChooser({ session, round }) {
  const scope = getScope();
  const admin = session.scopes.includes("admin");
  const [users, setUsers] = useState([]);
  const [text, setText] = useState(scope.user || "");
  useEffect(() => {
    if (admin) get("/v1/users", { limit: 500 }).then(setUsers, () => setUsers([]));
  }, [admin]);
  useEffect(() => setText(scope.user || ""), [round]);
  const choose = (name) => {
    if (name !== (scope.user || "")) setScope(name ? { user: name } : admin ? { all_users: true } : {});
  };
  return html`<form class="scope" onSubmit=${(event) => {
    event.preventDefault();
    choose(text.trim());
  }}>
    <label for="scope" class="hidden">Whose memories</label><${Icon} name="people" />
    <input id="scope" list="users" value=${text} placeholder=${admin ? "Everybody" : "Name a user"} autocomplete="off"
      onInput=${(event) => setText(event.target.value)} onChange=${(event) => choose(event.target.value.trim())} />
    <datalist id="users">${users.map((each) => html`<option value=${each.user}></option>`)}</datalist>
    ${text && html`<button type="button" class="button ghost small" aria-label="Show everybody" onClick=${() => choose("")}>
      <${Icon} name="close" /></button>`}</form>`;
}

function ThemeButton() {
  const dark = useTheme() === "dark";
  return html`<button class="button ghost" onClick=${() => setTheme(dark ? "light" : "dark")} aria-label=${dark ? "Use light colours" : "Use dark colours"} title=${dark ? "Light" : "Dark"}>
    <${Icon} name=${dark ? "sun" : "moon"} /></button>`;
}

const KEYS = [
  ["/", "Search or ask"],
  ["↓", "From the search field into the list"],
  ["↑ ↓", "Move in a list"],
  ["Enter", "Open"],
  ["Esc", "Close"],
  ["?", "This list"],
];
const SHORTCUTS = {
  o: "overview",
  m: "memories",
  p: "people",
  a: "ask",
  g: "graph",
  c: "conversations",
  x: "activity",
  u: "upkeep",
};
const ALL_KEYS = [
  ...KEYS,
  ...Object.entries(SHORTCUTS).map(([key, page]) => [`g then ${key}`, PAGES.find(([name]) => name === page)[1]]),
];

function useShortcuts(showKeys) {
  const waiting = useRef(false);
  useEffect(() => {
    const pressed = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || /input|textarea|select/i.test(event.target.tagName)) return;
      if (waiting.current && SHORTCUTS[event.key]) {
        location.hash = `#/${SHORTCUTS[event.key]}`;
        waiting.current = false;
        return;
      }
      waiting.current = event.key === "g";
      if (event.key === "?") showKeys(true);
      if (event.key === "/") {
        event.preventDefault();
        const field = document.querySelector("[data-search]");
        if (field) field.focus();
        else location.hash = "#/memories?focus=1";
      }
    };
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, []);
}

const AGAIN = 5000;

/** Counts up when the server says that something changed. */
function useLive(active, scopeRound) {
  const [live, setLive] = useState({ round: 0, connected: false, sessions: 0 });
  useEffect(() => {
    if (!active) return undefined;
    let source, timer;
    const open = () => {
      source = new EventSource(eventsPath());
      source.onopen = () => setLive((old) => ({ ...old, connected: true }));
      source.onerror = () => {
        setLive((old) => ({ ...old, connected: false }));
        // A browser tries again after a broken connection, but not after a refusal, such as of too many requests.
        if (source.readyState === EventSource.CLOSED) timer = setTimeout(open, AGAIN);
      };
      source.addEventListener("changes", () => setLive((old) => ({ ...old, round: old.round + 1 })));
      source.addEventListener("sessions", (event) =>
        setLive((old) => ({ ...old, round: old.round + 1, sessions: JSON.parse(event.data) })),
      );
    };
    const stop = () => {
      clearTimeout(timer);
      source.close();
    };
    open();
    window.addEventListener("pagehide", stop);
    return () => {
      window.removeEventListener("pagehide", stop);
      stop();
    };
  }, [active, scopeRound]);
  return live;
}

function App() {
  const [session, setSession] = useState(null);
  const [failure, setFailure] = useState(null);
  const [address, setAddress] = useState(readAddress());
  const [scopeRound, setScopeRound] = useState(0);
  const [keysShown, showKeys] = useState(false);
  const load = () => {
    setFailure(null);
    loadSession().then(setSession, setFailure);
  };
  useEffect(() => {
    load();
    const moved = () => {
      setAddress(readAddress());
      window.scrollTo(0, 0);
    };
    const ended = () => setSession((old) => (old && old.signed_in ? { ...old, signed_in: false, ended: true } : old));
    const rescoped = () => setScopeRound((n) => n + 1);
    window.addEventListener("scope", rescoped);
    window.addEventListener("hashchange", moved);
    window.addEventListener("signed-out", ended);
    return () => {
      window.removeEventListener("scope", rescoped);
      window.removeEventListener("hashchange", moved);
      window.removeEventListener("signed-out", ended);
    };
  }, []);
  useShortcuts(showKeys);
  const live = useLive(Boolean(session && session.signed_in), scopeRound);
  if (failure) return html`<main id="main" class="centre"><${Failure} error=${failure} retry=${load} /></main>`;
  if (!session) return html`<p class="starting">Memoranda is starting…</p>`;
  if (!session.signed_in) return html`<${Login} ended=${session.ended} onSignedIn=${setSession} />`;
  const leave = async () => {
    await signOut();
    setSession({ signed_in: false, scopes: [] });
  };
  return html`<${Session.Provider} value=${session}><div class="shell"><${Nav} page=${address.page} />
    <div class="column"><header class="top">
      <${ScopeChooser} session=${session} round=${scopeRound} /><span class="grow"></span>
      <span class=${`live ${live.connected ? "on" : ""}`} title=${live.connected ? "Changes appear as they happen" : "Not connected"}>
        <span class="dot"></span><span>${live.connected ? "Live" : "Offline"}</span></span>
      <span class="muted tenant" title="The tenant of your key" dir="auto">
        ${clip(session.tenant, 24)}${!session.scopes.includes("write") ? " · read only" : ""}</span>
      <button class="button ghost" aria-label="Keyboard shortcuts" title="Keyboard (?)" onClick=${() => showKeys(true)}>?</button>
        <${ThemeButton} />
      ${!session.local && html`<button class="button ghost" aria-label="Sign out" title="Sign out" onClick=${leave}>
        <${Icon} name="out" /></button>`}</header>
    <main id="main" tabindex="-1"><${Guarded} key=${`${location.hash}/${scopeRound}`}>${choosePage(address, live)}<//>
      </main></div>
    <${Toasts} />${keysShown && html`<${Dialog} title="Keyboard" onClose=${() => showKeys(false)}><dl class="keys">
      ${ALL_KEYS.map(([key, does]) => html`<dt><kbd>${key}</kbd></dt><dd>${does}</dd>`)}</dl><//>`}</div><//>`;
}

setTheme();
// The address after # names a page, so that the link may not follow its own.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("main")?.focus();
});
const root = document.getElementById("app");
root.replaceChildren();
render(html`<${App} />`, root);
