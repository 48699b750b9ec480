import {
  html,
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
  typeName,
} from "../ui.js";
import { postScoped } from "../api.js";

const TYPES = ["semantic", "episodic", "procedural", "working", "short_term", "long_term", "reflection", "shared"];
const STATES = ["any", "current", "pinned", "superseded", "archived", "quarantined", "expired"];
const TRUST = ["user", "system", "assistant", "tool", "document", "model"];
const PAGE = 50;
const WAIT = 180;

function toRequest(filters) {
  const where = {};
  if (filters.source) where.source = filters.source;
  if (filters.after) where.after = `${filters.after}T00:00:00Z`;
  if (filters.before) where.before = `${filters.before}T00:00:00Z`;
  if (filters.importance > 0) where.min_importance = Number(filters.importance);
  const request = { where };
  if (filters.type) request.types = [filters.type];
  for (const name of ["agent", "session"]) if (filters[name]) request[name] = filters[name];
  return request;
}

export function MemoriesPage({ query, live }) {
  const [text, setText] = useState(query.q || "");
  const [filters, setFilters] = useState({ state: "any", importance: 0, ...query });
  const [open, setOpen] = useState(false);
  const field = useRef(null);
  useEffect(() => {
    if (query.focus) field.current.focus();
  }, []);
  const set = (name) => (event) => setFilters({ ...filters, [name]: event.target.value });
  const used =
    ["type", "trust", "source", "agent", "session", "after", "before"].filter((name) => filters[name]).length +
    (filters.state !== "any") +
    (filters.importance > 0);
  return html`<${Page} title="Memories" lead="Everything that is stored, newest first. Type to search as an agent would.">
    <div class="search"><${Icon} name="search" />
      <input data-search ref=${field} type="search" aria-label="Search memories" placeholder="Search memories   ( / )" value=${text} onInput=${(event) => setText(event.target.value)} />
      <button class="button" aria-expanded=${open} onClick=${() => setOpen(!open)}>
        <${Icon} name="filter" />Filters${used ? ` (${used})` : ""}</button></div>
    ${
      open &&
      html`<form class="card filters" onSubmit=${(event) => event.preventDefault()}>
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
      <button type="button" class="button ghost" onClick=${() => setFilters({ state: "any", importance: 0 })}>Clear</button>
        </form>`
    }
    ${text.trim() ? html`<${Found} text=${text.trim()} filters=${filters} />` : html`<${Listed} filters=${filters} live=${live} />`}
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
  if (!hits.length)
    return html`<${Empty} icon="search" title="Nothing found">No memory that takes part in recall fits these words. Archived, replaced and quarantined ones are in the list without a search.<//>`;
  return html`<p class="muted small" role="status">
    ${plural(hits.length, "hit")} in ${state.recall.elapsed_ms.toFixed(1)} ms</p>
    <div class="list" onKeyDown=${moveFocus}>
      ${hits.map((hit) => html`<${MemoryRow} key=${hit.memory.id} memory=${hit.memory} hit=${hit} terms=${terms} />`)}
      </div>`;
}

/** All memories, a page at a time, more as the end comes into view. */
function Listed({ filters, live }) {
  const [state, setState] = useState({ items: [], cursor: null, loading: true });
  const end = useRef(null);
  const request = useMemo(
    () => ({ ...toRequest(filters), state: filters.state, trust: filters.trust ? [filters.trust] : [], limit: PAGE }),
    [JSON.stringify(filters)],
  );
  const round = useRef(0);
  // The answer to an older request must not replace a newer one.
  const load = (cursor, before) => {
    round.current += 1;
    const asked = round.current;
    const show = (next) => asked === round.current && setState({ ...next, loading: false });
    return postScoped("/ui/memories", cursor ? { ...request, cursor } : request).then(
      (page) => show({ items: [...before, ...page.items], cursor: page.next_cursor }),
      (error) => show({ items: before, error }),
    );
  };
  useEffect(() => {
    setState({ items: [], loading: true });
    load(null, []);
  }, [request]);
  useEffect(() => {
    if (live.round && state.items.length <= PAGE) load(null, []);
  }, [live.round]);
  useEffect(() => {
    if (!state.cursor || !end.current) return undefined;
    const observer = new IntersectionObserver(
      ([entry]) => {
        if (!entry.isIntersecting) return;
        observer.disconnect();
        load(state.cursor, state.items);
      },
      { rootMargin: "600px" },
    );
    observer.observe(end.current);
    return () => observer.disconnect();
    // Each answer is a new list, also when it ends with the same cursor as the one before.
  }, [state.items]);
  if (state.error) return html`<${Failure} error=${state.error} retry=${() => load(null, [])} />`;
  if (state.loading) return html`<${Skeleton} lines=${8} />`;
  if (!state.items.length)
    return html`<${Empty} title="No memories here">Nothing matches. Change the filters, or whose memories are shown at the top.<//>`;
  return html`<div class="list" onKeyDown=${moveFocus}>
    ${state.items.map((memory) => html`<${MemoryRow} key=${memory.id} memory=${memory} />`)}</div>
    ${state.cursor ? html`<div ref=${end} class="more"><${Skeleton} lines=${2} />
      </div>` : html`<p class="muted centre-text small">
      ${plural(state.items.length, "memory", "memories")}, that is all.</p>`}`;
}
