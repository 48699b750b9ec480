import {
  html,
  useState,
  useMemo,
  useEffect,
  useContext,
  Session,
  Page,
  Card,
  Loaded,
  useLoad,
  useCan,
  Icon,
  Bar,
  Time,
  Empty,
  number,
  plural,
  percent,
  duration,
  typeName,
  nameOf,
  act,
  Badge,
  NobodyCalled,
  LOCALE,
} from "../ui.js";
import { get, getScoped, getScope, post } from "../api.js";
import { Chart } from "../chart.js";

const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

export function OverviewPage({ live }) {
  const admin = useCan("admin");
  const overview = useLoad(() => getScoped("/ui/overview", { zone: ZONE }), [live.round]);
  const { user } = getScope();
  const [busy, load] = useDemo(overview.reload);
  return html`<${Page} title="Overview" lead="What your agents remember, and how well they find it again.">
    <${Loaded} of=${overview} lines=${8}>
      ${(data) => (busy ? html`<${Storing} memories=${data.memories} />` : data.memories > 0 ? html`<${Numbers} data=${data} whole=${admin && !user} live=${live} />` : user ? html`<${NobodyCalled} name=${user} />` : admin ? html`<${Welcome} load=${load} />` : html`<${Empty} title="No memory belongs to no user">The memories of each user are shown when that user is named at the top.<//>`)}
      <//><//>`;
}

/** The demo while it is being stored, which goes on when another page is opened; null otherwise. */
let storing = null;

function useDemo(reload) {
  const [busy, setBusy] = useState(Boolean(storing));
  const wait = () =>
    storing.finally(() => {
      storing = null;
      setBusy(false);
      reload();
    });
  useEffect(() => {
    if (storing) wait();
  }, []);
  const load = () => {
    storing = act(() => post("/ui/demo"), "The demo conversation is stored: Nora and Theo, 14 sessions").catch(
      () => null,
    );
    setBusy(true);
    wait();
  };
  return [busy, load];
}

const DEMO_MESSAGES = 210;

const Storing = ({ memories }) => html`<section class="card welcome" role="status">
  <h2>Storing the demo conversation…</h2>
  <progress max=${DEMO_MESSAGES} value=${Math.min(memories, DEMO_MESSAGES)} aria-label="Stored so far"></progress>
  <p class="muted">${plural(memories, "memory", "memories")} so far, of about ${DEMO_MESSAGES}.</p></section>`;

function Welcome({ load }) {
  const mayWrite = useCan("write");
  const { scopes, tenant } = useContext(Session);
  const named = scopes.includes("admin") && tenant === "default";
  const health = useLoad(() => (named ? get("/v1/health") : Promise.resolve(null)), []);
  const database = health.data?.database || "memories.db";
  return html`<section class="card welcome"><img src="/ui/static/icon.svg" alt="" width="56" height="56" />
    <h2>Nothing is remembered yet</h2>
    <p class="muted">This store is empty. Memories appear here as soon as an agent writes one.</p>
    <div class="steps"><div><h3>From Python</h3><pre tabindex="0">${`from memoranda import MemoryManager

memory = MemoryManager("${database}")
memory.remember("Ana lives in Oslo", user="ana")
print(memory.recall("Where does Ana live?", user="ana"))`}</pre></div>
    <div><h3>From the terminal</h3><pre tabindex="0">${`memoranda add "Ana lives in Oslo" --user ana --db "${database}"
memoranda recall "Where does Ana live?" --user ana --db "${database}"`}</pre></div></div>
    ${
      mayWrite &&
      html`<button class="button primary" onClick=${load}><${Icon} name="chat" />Load the demo conversation</button>
    <p class="muted small">210 messages of two friends over nine months, stored under the user <code>nora-and-theo</code>. Forget that user to remove them.</p>`
    }</section>`;
}

function Numbers({ data, whole, live }) {
  return html`<div class="tiles">
    <${Tile} label=${data.memories === 1 ? "memory" : "memories"} value=${data.memories} href="#/memories" icon="memory" />
    ${whole && html`<${Tile} label=${data.users === 1 ? "user" : "users"} value=${data.users} href="#/people" icon="people" />`}
    <${Tile} label=${data.agents === 1 ? "agent" : "agents"} value=${data.agents} icon="graph" />
      ${whole && html`<${Tile} label=${data.executions === 1 ? "execution" : "executions"} value=${data.executions} href="#/activity" icon="runs" />`}
      </div>
    <${HealthCard} round=${live.round} /><${LastUpkeep} run=${data.last_upkeep} />
    <div class="grid two"><${Growth} stored=${data.growth} said=${data.said} /><${Recalls} recalls=${data.recalls} /></div>
    ${data.zone !== ZONE && html`<p class="muted small">The charts count days in ${data.zone}: the server does not know your time zone.</p>`}
    <div class="grid counts-row"><${Counts} title="By type" rows=${data.by_type} name=${typeName} link=${(row) => `#/memories?type=${row.name}`} />
    ${whole && html`<${Counts} title="By user" rows=${data.by_user} link=${(row) => `#/people/${encodeURIComponent(row.name)}`} none="No memory belongs to a user." />`}
    <${Counts} title="By agent" rows=${data.by_agent} link=${(row) => `#/memories?agent=${encodeURIComponent(row.name)}`} none="No memory belongs to an agent." />
      <${Attention} round=${live.round} /></div>`;
}

function Tile({ label, value, href, icon }) {
  const inside = html`<${Icon} name=${icon} /><span class="tile-value">${number(value)}</span><span class="muted">
    ${label}</span>`;
  return href ? html`<a class="card tile" href=${href}>${inside}</a>` : html`<div class="card tile">${inside}</div>`;
}

/** The health of the server covers all tenants: only an admin of the tenant that runs it may see it. */
function HealthCard({ round }) {
  const { scopes, tenant } = useContext(Session);
  const allowed = scopes.includes("admin") && tenant === "default";
  const health = useLoad(() => (allowed ? get("/v1/health") : Promise.resolve(null)), [round > 0]);
  return html`<${Loaded} of=${health} lines=${1}>${(data) =>
    !data
      ? html`<p class="muted small no-health">Whether every part works is shown to a key with the admin scope of the tenant default.</p>`
      : html`<div class=${`notice ${data.status === "ok" ? "good" : "bad"}`}>
      <${Icon} name=${data.status === "ok" ? "check" : "warning"} /><div>
    <strong>${data.status === "ok" ? "Everything works." : plural(data.problems.length, "problem")}</strong>
    ${data.problems.map((problem) => html`<p dir="auto">${problem}</p>`)}
    <p class="muted small">${(data.size_bytes / 1e6).toFixed(1)} MB · ${data.database_library === "PostgreSQL" ? "PostgreSQL" : "SQLite"} ${data.database_version} · ${data.embedder || "no embedding model"} · durability ${data.durability}${data.encrypted ? " · encrypted" : ""}${data.unread_messages ? ` · ${plural(data.unread_messages, "message")} wait for the model` : ""}
      </p></div></div>`}<//>`;
}

function LastUpkeep({ run }) {
  return html`<p class="muted small last-upkeep"><a href="#/upkeep">Upkeep</a> ${
    run
      ? run.examined === null ? html`ran <${Time} at=${run.at} />.` : html`ran <${Time} at=${run.at} />: ${plural(run.examined, "memory", "memories")} examined, ${plural(run.changes, "change")}${run.problems ? `, ${plural(run.problems, "problem")}` : ""}.`
      : "has not run yet."
  }</p>`;
}

function Growth({ stored, said }) {
  // After an import everything was stored on one day: what was said when says more.
  const imported = stored.length < 2 && said.length > 1;
  const growth = imported ? said : stored;
  const chart = useMemo(
    () => ({
      days: growth.map((day) => day.day),
      series: [
        { label: "Memories", colour: "--accent", fill: "--accent-soft", values: growth.map((day) => day.total) },
      ],
    }),
    [growth],
  );
  const last = stored.length ? stored[stored.length - 1].total : 0;
  const week = last - (stored.length > 7 ? stored[stored.length - 8].total : 0);
  return html`<${Card} title="Growth" aside=${imported ? "by when it was said; all stored today" : `by when it was stored; ${week < 0 ? "–" : "+"}${number(Math.abs(week))} in 7 days`}>${
    growth.length > 1
      ? html`<${Chart} title="Memories over time" days=${chart.days} series=${chart.series} format=${compact} />`
      : html`<${Empty} icon="clock" title="The first day">Everything was written today. A curve appears tomorrow.<//>`
  }<//>`;
}

function Recalls({ recalls }) {
  const [which, setWhich] = useState("latency");
  const chart = useMemo(
    () => ({
      days: recalls.map((day) => day.day),
      latency: [
        { label: "Median", colour: "--accent", values: recalls.map((day) => day.median_ms) },
        { label: "95th percentile", colour: "--warm", values: recalls.map((day) => day.p95_ms) },
      ],
      share: [
        {
          label: "Answerable",
          colour: "--accent",
          fill: "--accent-soft",
          values: recalls.map((day) => day.answerable),
        },
      ],
    }),
    [recalls],
  );
  const total = recalls.reduce((sum, day) => sum + day.recalls, 0);
  if (!total)
    return html`<${Card} title="Recall">
      <${Empty} icon="search" title="No recalls yet">Latency and how often memory had an answer appear here.<//><//>`;
  const last = recalls[recalls.length - 1];
  const body =
    recalls.length > 1
      ? html`<${Chart} key=${which} title="Recalls over time" days=${chart.days} series=${chart[which]} format=${which === "share" ? percent : duration} />`
      : html`<div class="big-numbers">${[
          [number(total), total === 1 ? "recall today" : "recalls, all on one day"],
          [percent(last.answerable), "answerable"],
          [duration(last.median_ms), "median latency"],
          [duration(last.p95_ms), "95th percentile"],
        ].map(([value, meaning]) => html`<div><b>${value}</b><span class="muted">${meaning}</span></div>`)}</div>`;
  const aside =
    recalls.length > 1
      ? html`<div class="tabs" role="group" aria-label="What to show" title=${`of the last ${plural(total, "recall")}`}>
        <button aria-pressed=${which === "latency"} onClick=${() => setWhich("latency")}>Latency</button>
        <button aria-pressed=${which === "share"} onClick=${() => setWhich("share")}>Answerable</button></div>`
      : "a curve appears with the second day";
  return html`<${Card} title="Recall" aside=${aside}>${body}<//>`;
}

function Counts({ title, rows, link, name = (text) => text, none = "Nothing yet." }) {
  const most = Math.max(1, ...rows.map((row) => row.memories));
  return html`<${Card} title=${title}>${rows.length ? html`<ul class="counts">${rows.map((row) => html`<li>
    <a href=${link(row)}><span class="counts-name" dir="auto">${nameOf(name(row.name), 40)}</span>
    <${Bar} share=${row.memories / most} label="" /><span class="counts-number">${number(row.memories)}</span></a>
    </li>`)}</ul>` : html`<p class="muted">${none}</p>`}<//>`;
}

const STATES = [
  ["quarantined", "kept out of recall as suspicious"],
  ["superseded", "replaced by something newer"],
  ["archived", "out of recall until restored"],
  ["pinned", "protected from upkeep"],
];

function Attention({ round }) {
  const states = useLoad(() => getScoped("/ui/states"), [round]);
  return html`<${Card} title="States" aside=${getScope().user ? "of this user" : ""}>
    <${Loaded} of=${states} lines=${4}>${(data) => html`<ul class="states">
    ${STATES.map(([state, meaning]) => html`<li><a href=${`#/memories?state=${state}`}><${Badge} tone=${state}>
    ${state}<//><span class="muted">${meaning}</span><b>${number(data[state])}</b></a></li>`)}</ul>`}<//><//>`;
}

const compact = (value) => new Intl.NumberFormat(LOCALE, { notation: "compact" }).format(value);
