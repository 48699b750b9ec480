import {
  html,
  useState,
  useEffect,
  useRef,
  useMemo,
  Page,
  Card,
  Loaded,
  useLoad,
  Icon,
  Badge,
  Empty,
  Failure,
  clip,
  plural,
  number,
  loadScript,
  cssValue,
  useTheme,
  typeName,
} from "../ui.js";
import { getScoped } from "../api.js";
import { drawGraph } from "../force.js";

const SCRIPTS = ["d3-dispatch", "d3-timer", "d3-quadtree", "d3-force"];
const SIZES = [100, 400, 1500, 5000];
const TABLE_ROWS = 200;

export function GraphPage({ query }) {
  const [limit, setLimit] = useState(400);
  const [text, setText] = useState("");
  const [hidden, setHidden] = useState({ unlinked: true });
  const [chosen, setChosen] = useState(null);
  const graph = useLoad(() => getScoped("/ui/graph", { limit, around: query.around }), [limit, query.around]);
  return html`<${Page} title="Graph" lead=${query.around ? html`Around <a href=${`#/memories/${query.around}`}>memory ${query.around}
    </a>. <a href="#/graph">Show all</a>` : "How memories hang together: associations, lineage, replacements, and the names they share."}>
    <div class="toolbar"><div class="search grow"><${Icon} name="search" />
      <input data-search type="search" aria-label="Find in the graph" placeholder="Find in the graph" value=${text} onInput=${(event) => setText(event.target.value)} />
      </div>
      <label class="inline">Up to <select value=${limit} onChange=${(event) => setLimit(Number(event.target.value))}>
        ${SIZES.map((size) => html`<option value=${size} selected=${size === limit}>${number(size)}</option>`)}
        </select> memories</label></div>
    <${Loaded} of=${graph} lines=${10}>
      ${(data) => (data.nodes.length ? html`<${View} data=${data} text=${text} hidden=${hidden} setHidden=${setHidden} chosen=${chosen} setChosen=${setChosen} />` : html`<${Empty} icon="graph" title="No memories to draw">Choose somebody else at the top, or write the first memory.<//>`)}
      <//><//>`;
}

function kindsOf(data) {
  const counts = {};
  for (const edge of data.edges) counts[edge.kind] = (counts[edge.kind] || 0) + 1;
  return counts;
}

function View({ data, text, hidden, setHidden, chosen, setChosen }) {
  const kinds = useMemo(() => kindsOf(data), [data]);
  const shown = useMemo(() => buildGraph(data, hidden), [data, hidden]);
  const wanted = text.trim().toLowerCase();
  const matches = useMemo(
    // Without a search the table has what the picture has; a search finds what is not drawn too.
    () => (wanted ? shown.listed.filter((node) => node.label.toLowerCase().includes(wanted)) : shown.nodes),
    [shown, wanted],
  );
  const flip = (name) => () => setHidden({ ...hidden, [name]: !hidden[name] });
  const alone = shown.unlinked;
  const [pointed, setPointed] = useState(null);
  return html`<div class="chips" role="group" aria-label="Links to show"><label class="chip">
    <input type="checkbox" checked=${!hidden.entities} onChange=${flip("entities")} />names (${number(data.entities.length)})</label>
    ${Object.entries(kinds)
      .slice(0, 12)
      .map(
        ([kind, count]) =>
          html`<label class="chip"><input type="checkbox" checked=${!hidden[kind]} onChange=${flip(kind)} />
            ${clip(kind, 40)} (${number(count)})</label>`,
      )}<label class="chip"><input type="checkbox" checked=${!hidden.unlinked} onChange=${flip("unlinked")} />without a link (${number(alone)})</label></div>
    <div class="grid graph-grid"><section class="card canvas-card" aria-label="Picture">
      ${
        shown.nodes.length === 0
          ? html`<${Empty} icon="graph" title="No links among these memories">${plural(alone, "memory", "memories")} without a link ${alone === 1 ? "is" : "are"} not drawn. Associations, replacements, lineage and names that memories share are links.<//>`
          : html`<${Picture} graph=${shown} matches=${wanted ? new Set(matches.map((node) => node.id)) : null} chosen=${chosen} pointed=${pointed} onChoose=${setChosen} />`
      }
      <p class="muted small legend">${plural(shown.nodes.length, "node")}, ${plural(shown.links.length, "link")}${hidden.unlinked && alone ? ` · ${number(alone)} without a link not drawn` : ""}${data.truncated ? " · more are not shown" : ""}. Drag to move, scroll to zoom, point at a dot for its text, click to read.</p>
        </section>
    <div class="stack">${chosen && html`<${Chosen} node=${chosen} shown=${shown} onChoose=${setChosen} />`}
      <${Card} title="As a table" aside=${plural(matches.length, "node")}>
      <div class="scroll tall" tabindex="0" role="region" aria-label="The graph as a table"><table><thead><tr>
      <th scope="col">Memory or name</th><th scope="col">Kind</th><th scope="col" class="num">Links</th></tr></thead>
      <tbody>${matches.slice(0, TABLE_ROWS).map((node) => html`<tr><td>
        ${node.memory ? html`<a href=${`#/memories/${node.memory}`} dir="auto" onFocus=${() => setPointed(node)} onBlur=${() => setPointed(null)}>${clip(node.label, 90)}
        </a>` : html`<a href=${`#/memories?q=${encodeURIComponent(node.label)}`} dir="auto" onFocus=${() => setPointed(node)} onBlur=${() => setPointed(null)}><b>${clip(node.label, 60)}</b></a>`}</td><td class="short">
        ${node.memory ? typeName(node.kind) : "name"}</td><td class="num">${number(node.degree)}</td></tr>`)}</tbody></table></div>
      ${matches.length > TABLE_ROWS && html`<p class="muted small">The ${TABLE_ROWS} with the most links; search for others.</p>`}
        <//></div></div>`;
}

function Chosen({ node, shown, onChoose }) {
  const near = shown.links
    .filter(
      (link) =>
        link.source.id === node.id || link.target.id === node.id || link.source === node.id || link.target === node.id,
    )
    .slice(0, 12);
  const other = (link) => {
    const [a, b] = [
      link.source.id ? link.source : shown.byId.get(link.source),
      link.target.id ? link.target : shown.byId.get(link.target),
    ];
    return a.id === node.id ? b : a;
  };
  return html`<${Card} title=${node.memory ? `Memory ${node.memory}` : "Name"} aside=${html`<button class="button ghost small" aria-label="Close" onClick=${() => onChoose(null)}>
    <${Icon} name="close" /></button>`}><p dir="auto">${clip(node.label, 400)}</p>
    ${node.memory && html`<p><a class="button small" href=${`#/memories/${node.memory}`}>Open</a> <a class="button small" href=${`#/graph?around=${node.memory}`}>Around it</a>
      </p>`}
    <ul class="plain">${near.map((link) => html`<li><${Badge}>${clip(link.kind, 30)}
      <//> <button class="link" dir="auto" onClick=${() => onChoose(other(link))}>${clip(other(link).label, 80)}
      </button></li>`)}</ul><//>`;
}

function buildGraph(data, hidden) {
  const nodes = data.nodes.map((node) => ({
    id: `m${node.id}`,
    memory: node.id,
    label: node.text,
    kind: node.type,
    state: node.state,
    weight: node.importance,
    degree: 0,
  }));
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const links = [];
  for (const edge of data.edges)
    if (!hidden[edge.kind])
      links.push({ source: `m${edge.source}`, target: `m${edge.target}`, kind: edge.kind, strength: edge.strength });
  if (!hidden.entities) {
    for (const entity of data.entities) {
      const node = { id: `e${entity.name}`, label: entity.name, kind: "name", state: "current", weight: 1, degree: 0 };
      nodes.push(node);
      byId.set(node.id, node);
      for (const id of entity.memories)
        links.push({ source: node.id, target: `m${id}`, kind: "mentions", strength: 0.4 });
    }
  }
  for (const link of links) {
    byId.get(link.source).degree += 1;
    byId.get(link.target).degree += 1;
  }
  nodes.sort((a, b) => b.degree - a.degree);
  const drawn = hidden.unlinked ? nodes.filter((node) => node.degree > 0) : nodes;
  return { nodes: drawn, listed: nodes, links, byId, unlinked: nodes.filter((node) => node.degree === 0).length };
}

function Picture({ graph, matches, chosen, pointed, onChoose }) {
  const canvas = useRef(null);
  const view = useRef(null);
  const [failure, setFailure] = useState(null);
  const theme = useTheme();
  // What was typed while the scripts were loading counts too.
  const marks = useRef([]);
  marks.current = [matches, chosen, pointed];
  useEffect(() => {
    let gone = false;
    SCRIPTS.reduce((before, name) => before.then(() => loadScript(`/ui/static/vendor/${name}.js`)), Promise.resolve())
      .then(() => {
        if (gone || !canvas.current) return;
        view.current = drawGraph(canvas.current, graph, window.d3, colours(), onChoose);
        view.current.highlight(...marks.current);
      })
      .catch(setFailure);
    return () => {
      gone = true;
      view.current && view.current.stop();
      view.current = null;
    };
  }, [graph, theme]);
  useEffect(() => {
    if (view.current) view.current.highlight(matches, chosen, pointed);
  }, [matches, chosen, pointed]);
  if (failure) return html`<${Failure} error=${failure} />`;
  return html`<canvas ref=${canvas} class="graph" role="img" aria-label="The graph. The same is in the table beside it.">
    </canvas>`;
}

const colours = () => ({
  line: cssValue("--line-strong"),
  text: cssValue("--text"),
  faint: cssValue("--line"),
  accent: cssValue("--accent"),
  halo: cssValue("--surface"),
  kinds: {
    name: cssValue("--warm"),
    semantic: cssValue("--c1"),
    episodic: cssValue("--c2"),
    procedural: cssValue("--c3"),
    reflection: cssValue("--c4"),
    other: cssValue("--c5"),
  },
});
