import {
  html,
  Component,
  useState,
  useEffect,
  useRef,
  useMemo,
  Page,
  Icon,
  MemoryRow,
  Empty,
  Failure,
  Skeleton,
  moveFocus,
  termsToMark,
  plural,
  duration,
  NothingYet,
  TYPES,
  typeName,
  startOfDay,
  isDay,
  enterList,
  NobodyCalled,
  focusNextPage,
  whose,
} from "../ui.js";
import { getScope, postScoped, noteInAddress } from "../api.js";

const STATES = ["any", "current", "pinned", "superseded", "archived", "quarantined", "expired"];
const ORDERS = [
  ["", "best or newest"],
  ["newest", "newest first"],
  ["oldest", "oldest first"],
];
const TRUST = ["user", "system", "assistant", "tool", "document", "model"];
const UNFILTERED = { state: "any", order: "", importance: 0 };
const FILTERS = ["type", "state", "trust", "source", "agent", "session", "after", "before", "order", "importance"];
const OUTSIDE_RECALL = ["superseded", "archived", "quarantined", "expired"];
const PAGE = 50;
const WAIT = 180;

function toRequest(filters) {
  const where = {};
  if (filters.source) where.source = filters.source;
  if (filters.after) where.after = startOfDay(filters.after);
  if (filters.before) where.before = startOfDay(filters.before);
  if (filters.importance > 0) where.min_importance = Number(filters.importance);
  const request = { where, state: filters.state, trust: filters.trust ? [filters.trust] : [] };
  if (filters.order) request.order = filters.order;
  if (filters.type) request.types = [filters.type];
  for (const name of ["agent", "session"]) if (filters[name]) request[name] = filters[name];
  return request;
}

/** The filters as they stand in an address: without those that filter nothing. */
const toAddress = (filters) =>
  Object.fromEntries(
    FILTERS.map((name) => [name, filters[name] === UNFILTERED[name] || Number(filters[name]) === 0 ? "" : filters[name]]),
  );

/** The filters of an address; a value that there is not is left out, as anybody can write an address. */
function readFilters(query) {
  const known = { type: TYPES, state: STATES, trust: TRUST, order: ORDERS.map(([name]) => name) };
  const used = Object.entries(query).filter(([name, value]) => {
    if (!FILTERS.includes(name)) return false;
    if (name === "importance") return value >= 0 && value <= 1;
    if (name === "after" || name === "before") return isDay(value);
    return !known[name] || known[name].includes(value);
  });
  return { ...UNFILTERED, ...Object.fromEntries(used) };
}

export function MemoriesPage({ query, live }) {
  const [text, setText] = useState(query.q || "");
  const [filters, setFilters] = useState(readFilters(query));
  const [open, setOpen] = useState(false);
  const field = useRef(null);
  useEffect(() => {
    if (query.focus) field.current.focus();
  }, []);
  useEffect(() => noteInAddress({ focus: "", q: text.trim(), ...toAddress(filters) }), [text, filters]);
  const set = (name) => (event) => setFilters({ ...filters, [name]: event.target.value });
  const used =
    ["type", "trust", "source", "agent", "session", "after", "before"].filter((name) => filters[name]).length +
    (filters.state !== UNFILTERED.state) +
    (filters.order !== UNFILTERED.order) +
    (filters.importance > 0);
  return html`<${Page} title="Memories" lead=${`Everything that is stored: ${whose(getScope())} memories. Type to search as an agent would.`}>
    <div class="search"><${Icon} name="search" />
      <input data-search ref=${field} type="search" aria-label="Search memories" placeholder="Search memories   ( / )" value=${text} onKeyDown=${enterList} onInput=${(event) => setText(event.target.value)} />
      <button class="button" aria-expanded=${open} onClick=${() => setOpen(!open)}>
        <${Icon} name="filter" />Filters${used ? ` (${used})` : ""}</button></div>
    ${
      open &&
      html`<form class="card filters" onSubmit=${(event) => event.preventDefault()}>
      <${Choice} label="Order" value=${filters.order} onChange=${set("order")} options=${ORDERS} none=${false} />
      <${Choice} label="Type" value=${filters.type} onChange=${set("type")} options=${TYPES.map((type) => [type, typeName(type)])} />
      <${Choice} label="State" value=${filters.state} onChange=${set("state")} options=${STATES.map((state) => [state, state])} none=${false} />
      <${Choice} label="Trust" value=${filters.trust} onChange=${set("trust")} options=${TRUST.map((trust) => [trust, trust])} />
      <label>Agent<input value=${filters.agent || ""} onChange=${set("agent")} /></label>
        <label>Session<input value=${filters.session || ""} onChange=${set("session")} /></label>
      <label>Source<input value=${filters.source || ""} onChange=${set("source")} /></label>
      <label>Said from<input type="date" value=${filters.after || ""} onChange=${set("after")} /></label>
        <label>Said before<input type="date" value=${filters.before || ""} onChange=${set("before")} /></label>
      <label>Importance at least ${Number(filters.importance).toFixed(2)}
        <input type="range" min="0" max="1" step="0.05" value=${filters.importance} onInput=${set("importance")} />
        </label>
      <button type="button" class="button ghost" onClick=${() => setFilters(UNFILTERED)}>Clear</button>
        </form>`
    }
    ${text.trim() ? html`<${Found} text=${text.trim()} filters=${filters} />` : html`<${Listed} filters=${filters} live=${live} filtered=${used > 0} />`}
      <//>`;
}

const Choice = ({ label, value, onChange, options, none = true }) =>
  html`<label>${label}<select value=${value || ""} onChange=${onChange}>
    ${none && html`<option value="">any</option>`}${options.map(([name, shown]) => html`<option value=${name} selected=${value === name}>
    ${shown}</option>`)}</select></label>`;

/** Search as you type: an answer that comes after a newer question is dropped. */
function Found({ text, filters }) {
  const [state, setState] = useState({ busy: true });
  const asked = JSON.stringify([text, filters]);
  useEffect(() => {
    const stop = new AbortController();
    const timer = setTimeout(() => {
      postScoped("/ui/search", { query: text, limit: 30, ...toRequest(filters) }, stop.signal).then(
        (recall) => setState({ recall }),
        (error) => error.name !== "AbortError" && setState({ error }),
      );
    }, WAIT);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [asked]);
  if (state.error) return html`<${Failure} error=${state.error} />`;
  if (!state.recall) return html`<${Skeleton} lines=${6} />`;
  const hits = state.recall.hits;
  const terms = termsToMark(text, state.recall.explanation);
  const outside = OUTSIDE_RECALL.includes(filters.state);
  if (!hits.length)
    return html`<${Empty} icon="search" title="Nothing found">${outside ? "No memory in this state has one of these words." : "No memory that takes part in recall fits these words and filters. To search archived, replaced or quarantined ones, choose that state in the filters."}<//>`;
  return html`<p class="muted small" role="status">
    ${plural(hits.length, "hit")} in ${duration(state.recall.elapsed_ms)}${outside ? ", by words alone: recall leaves these out" : ""}</p>
    <div class="list" onKeyDown=${moveFocus}>
      ${hits.map((hit) => html`<${MemoryRow} key=${hit.memory.id} memory=${hit.memory} hit=${hit} terms=${terms} />`)}
      </div>`;
}

/** The list that was left by opening a memory: going back shows it again, where it was. */
let left = null;

function takeLeft(request) {
  const found = left && history.state?.list === left.token && left.request === JSON.stringify(request) ? left : null;
  left = null;
  return found;
}

/** A page of rows, drawn once: a list of thousands stays quick. */
class Rows extends Component {
  shouldComponentUpdate(next) {
    return next.items !== this.props.items;
  }
  render({ items }) {
    return items.map((memory) => html`<${MemoryRow} key=${memory.id} memory=${memory} />`);
  }
}

/** All memories, a page at a time, more as the end comes into view. */
function Listed({ filters, live, filtered }) {
  const request = useMemo(
    () => ({
      ...toRequest(filters),
      limit: PAGE,
    }),
    [JSON.stringify(filters)],
  );
  const restored = useMemo(() => takeLeft({ ...getScope(), ...request }), []);
  const [state, setState] = useState(restored ? restored.state : { pages: [], loading: true });
  const first = useRef(Boolean(restored));
  const round = useRef(0);
  const count = state.pages.reduce((sum, page) => sum + page.length, 0);
  // The answer to an older request must not replace a newer one.
  const load = (cursor, before) => {
    round.current += 1;
    const asked = round.current;
    const show = (next) => asked === round.current && setState({ ...next, loading: false });
    return postScoped("/ui/memories", cursor ? { ...request, cursor } : request).then(
      (page) => show({ pages: page.items.length ? [...before, page.items] : before, cursor: page.next_cursor }),
      (error) => show({ pages: before, cursor, error }),
    );
  };
  useEffect(() => {
    if (first.current) {
      first.current = false;
      window.scrollTo(0, restored.y);
      document.querySelector(`main [data-row][href="${restored.row}"]`)?.focus({ preventScroll: true });
      focusNextPage(false);
      return;
    }
    setState({ pages: [], loading: true });
    load(null, []);
  }, [request]);
  useEffect(() => {
    if (live.round && state.pages.length <= 1 && !restored) load(null, []);
  }, [live.round]);
  const more = () => load(state.cursor, state.pages);
  const end = useInView(more, state.cursor && !state.error, state.pages);
  const leave = (event) => {
    const token = Math.random();
    const row = event.target.closest("[data-row]")?.getAttribute("href");
    left = { token, state, row, y: window.scrollY, request: JSON.stringify({ ...getScope(), ...request }) };
    history.replaceState({ list: token }, "");
  };
  if (state.loading) return html`<${Skeleton} lines=${8} />`;
  if (state.error && !count) return html`<${Failure} error=${state.error} retry=${() => load(null, [])} />`;
  if (!count && !filtered && getScope().all_users) return html`<${NothingYet} />`;
  if (!count && !filtered && getScope().user) return html`<${NobodyCalled} name=${getScope().user} />`;
  if (!count)
    return html`<${Empty} title="No memories here">Nothing matches. Change the filters, or whose memories are shown at the top.<//>`;
  return html`<div class="list" onKeyDown=${moveFocus} onClick=${leave}>
    ${state.pages.map((items) => html`<${Rows} key=${items[0].id} items=${items} />`)}</div>
    ${state.error && html`<${Failure} error=${state.error} retry=${more} />`}
    ${state.cursor ? html`<div ref=${end} class="more"><${Skeleton} lines=${2} />
      </div>` : html`<p class="muted centre-text small">${plural(count, "memory", "memories")}, that is all.</p>`}`;
}

/** Returns a ref: each time its element comes into view, `work` is called. `round` says when to look again. */
function useInView(work, active, round) {
  const element = useRef(null);
  useEffect(() => {
    if (!active || !element.current) return undefined;
    const observer = new IntersectionObserver(
      (entries) => {
        // On a busy machine several entries come at once, the oldest first: the last one is the state now.
        if (!entries[entries.length - 1].isIntersecting) return;
        observer.disconnect();
        work();
      },
      { rootMargin: "1200px" },
    );
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [active, round]);
  return element;
}
