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
  focusNextPage,
  NameSomebody,
} from "./ui.js";
import { loadSession, signOut, getScope, setScope, get, eventsPath, noteInAddress, UNREACHABLE } from "./api.js";
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
  ["overview", "Overview", "overview", "Home"],
  ["memories", "Memories", "memory"],
  ["people", "People", "people"],
  ["ask", "Ask", "ask"],
  ["graph", "Graph", "graph"],
  ["conversations", "Conversations", "chat", "Chats"],
  ["activity", "Activity", "runs"],
  ["upkeep", "Upkeep", "upkeep"],
];

function readAddress() {
  const [, path, search = ""] = location.hash.match(/^#?\/?([^?]*)\??(.*)$/s);
  let parts;
  try {
    parts = path.split("/").filter(Boolean).map(decodeURIComponent);
  } catch {
    return { page: "unknown", query: {}, hash: location.hash }; // a % that is no escape
  }
  const query = Object.fromEntries(new URLSearchParams(search));
  return { page: parts[0] || "overview", id: parts[1], query, hash: location.hash };
}

/** Whether the address says whose memories are shown; that of a conversation says whose it is. */
const namesScope = ({ page, id }) => !(page === "conversations" && id === "read");

/** The pages that show nothing but memories of no user until a user is named, with a key that may not see all. */
const NEEDS_USER = ["overview", "memories", "ask", "graph", "conversations", "upkeep"];

function choosePage({ page, id, query, hash }, live) {
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
        ? html`<${ConversationPage} query=${query} key=${hash} />`
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
    <ul>${PAGES.map(([name, title, icon, short]) => html`<li>
      <a href=${`#/${name}`} aria-current=${page === name ? "page" : undefined}>
      <${Icon} name=${icon} /><span class=${short ? "long" : ""}>${title}</span>
      ${short && html`<span class="short" aria-hidden="true">${short}</span>`}</a></li>`)}</ul><a class="to-api" href="/docs">API</a></nav>`;
}

const LISTED_USERS = 500;

function ScopeChooser({ session, round }) {
  const scope = getScope();
  const admin = session.scopes.includes("admin");
  const [users, setUsers] = useState([]);
  const [text, setText] = useState(scope.user || "");
  const [unknown, setUnknown] = useState(null);
  const list = () => admin && get("/v1/users", { limit: LISTED_USERS }).then(setUsers, () => setUsers([]));
  useEffect(() => void list(), [admin]);
  useEffect(() => {
    const reset = () => {
      setText(getScope().user || "");
      setUnknown(null);
    };
    reset();
    addEventListener("hashchange", reset);
    return () => removeEventListener("hashchange", reset);
  }, [round]);
  const choose = (name) => {
    if (name === (scope.user || "")) return;
    // Half a name is a mistake where everybody is known; it would show an empty dashboard.
    const listed = admin && users.length > 0 && users.length < LISTED_USERS;
    if (name && listed && !users.some((each) => each.user === name)) {
      const near = users.filter((each) => each.user.toLowerCase().includes(name.toLowerCase()));
      setUnknown({ name, near: near.slice(0, 4).map((each) => each.user) });
      return;
    }
    setScope(name ? { user: name } : admin ? { all_users: true } : {});
  };
  return html`<form class="scope" onSubmit=${(event) => {
    event.preventDefault();
    choose(text.trim());
  }}>
    <label for="scope" class="hidden">Whose memories</label><${Icon} name="people" />
    <input id="scope" list="users" value=${text} placeholder=${admin ? "Everybody" : "Name a user"} autocomplete="off"
      aria-describedby=${unknown ? "scope-unknown" : undefined} onFocus=${list}
      onInput=${(event) => setText(event.target.value)} onChange=${(event) => choose(event.target.value.trim())} />
    <datalist id="users">${users.map((each) => html`<option value=${each.user}></option>`)}</datalist>
    ${text && html`<button type="button" class="button ghost small" aria-label=${admin ? "Show everybody" : "Name nobody"} onClick=${() => {
      setText("");
      setUnknown(null);
      choose("");
    }}>
      <${Icon} name="close" /></button>`}
    ${unknown && html`<span class="scope-unknown" id="scope-unknown" role="status">Nobody is called “${clip(unknown.name, 30)}”.
      ${unknown.near.length > 0 && html` Did you mean ${unknown.near.map((name) => html`<button type="button" class="link" dir="auto" onClick=${() => choose(name)}>${clip(name, 30)}</button> `)}?`}
      </span>`}</form>`;
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

/** Whether the last request was answered. */
function useReachable() {
  const [reachable, setReachable] = useState(true);
  useEffect(() => {
    const answered = (event) => setReachable(event.detail);
    addEventListener("reachable", answered);
    return () => removeEventListener("reachable", answered);
  }, []);
  return reachable;
}

const Unreachable = ({ retry }) => html`<div class="page above-page"><div class="notice bad" role="alert">
  <${Icon} name="warning" /><div><strong>${UNREACHABLE}</strong>
  <p><button class="button small" onClick=${retry}>Try again</button></p></div></div></div>`;

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
  const [tries, setTries] = useState(0);
  const reachable = useReachable();
  const load = () => {
    setFailure(null);
    loadSession().then(setSession, setFailure);
  };
  useEffect(() => {
    load();
    const moved = () => {
      focusNextPage();
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
  useEffect(() => {
    if (!session?.signed_in || !namesScope(address)) return;
    const { user } = address.query;
    if (user && user !== getScope().user) setScope({ user });
  }, [address, session]);
  useEffect(() => {
    if (session?.signed_in && namesScope(address)) noteInAddress({ user: getScope().user });
  }, [address, scopeRound, session]);
  useShortcuts(showKeys);
  const live = useLive(Boolean(session && session.signed_in), scopeRound);
  if (failure)
    return html`<main id="main" class="centre">
      ${failure.status === 0 ? html`<${Unreachable} retry=${load} />` : html`<${Failure} error=${failure} retry=${load} />`}</main>`;
  if (!session) return html`<p class="starting">Memoranda is starting…</p>`;
  if (!session.signed_in) return html`<${Login} ended=${session.ended} onSignedIn=${setSession} />`;
  const leave = async () => {
    await signOut();
    setSession({ signed_in: false, scopes: [] });
  };
  const connected = live.connected && reachable;
  const nobody = !session.scopes.includes("admin") && !getScope().user && NEEDS_USER.includes(address.page) && !address.id;
  return html`<${Session.Provider} value=${session}><div class="shell"><${Nav} page=${address.page} />
    <div class="column"><header class="top">
      <${ScopeChooser} session=${session} round=${scopeRound} /><span class="grow"></span>
      <span class=${`live ${connected ? "on" : ""}`} title=${connected ? "Changes appear as they happen" : "Not connected"}>
        <span class="dot"></span><span>${connected ? "Live" : "Offline"}</span></span>
      <span class="muted tenant" title="The tenant of your key" dir="auto">
        ${clip(session.tenant, 24)}${!session.scopes.includes("write") ? " · read only" : ""}</span>
      <button class="button ghost" aria-label="Keyboard shortcuts" title="Keyboard (?)" onClick=${() => showKeys(true)}>?</button>
        <${ThemeButton} />
      ${!session.local && html`<button class="button ghost" aria-label="Sign out" title="Sign out" onClick=${leave}>
        <${Icon} name="out" /></button>`}</header>
    <main id="main" tabindex="-1">
      ${nobody && html`<div class="page above-page"><${NameSomebody} /></div>`}
      ${!reachable && html`<${Unreachable} retry=${() => setTries(tries + 1)} />`}
      <${Guarded} key=${`${address.hash}/${scopeRound}/${tries}`}>${choosePage(address, live)}<//></main></div>
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
