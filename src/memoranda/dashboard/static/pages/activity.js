import {
  html,
  useState,
  Page,
  Card,
  Loaded,
  useLoad,
  useCan,
  Icon,
  Time,
  Badge,
  Empty,
  plural,
  number,
  clip,
  duration,
  act,
} from "../ui.js";
import { get } from "../api.js";

export function ActivityPage({ live }) {
  return html`<${Page} title="Activity" lead="Sessions while they run, and the audit trail of what agents did.">
    <${Sessions} live=${live} /><${Executions} round=${live.round} /><//>`;
}

function Sessions({ live: { round, connected } }) {
  const admin = useCan("admin");
  const open = useLoad(() => get("/ui/sessions"), [round]);
  const ended = useLoad(() => get("/v1/sessions", { limit: 20 }), [round]);
  return html`<div class="grid two"><${Card} title="Open sessions" aside=${html`<span class=${`live ${connected ? "on" : ""}`}>
    <span class="dot"></span><span>${connected ? "live" : "offline"}</span></span>`}><${Loaded} of=${open} lines=${3}>
    ${(data) => (data.length ? html`<${SessionList} sessions=${data} />` : html`<p class="muted">${admin ? html`No session is open on this server. A program that uses the library keeps its open sessions to itself, unless it shares Redis with this server; here they are listed when they end.` : "Open sessions are listed to a key with the admin scope."}</p>`)}
    <//><//>
    <${Card} title="Ended sessions"><${Loaded} of=${ended} lines=${3}>
      ${(data) => (data.length ? html`<${SessionList} sessions=${data} />` : html`<p class="muted">No session has ended yet.</p>`)}
      <//><//></div>`;
}

const SessionList = ({ sessions }) =>
  html`<ul class="plain">${sessions.map((one) => html`<li><b dir="auto">${clip(one.workflow_id, 80)}</b>
    <div class="muted small">${plural(one.conversation_messages, "message")}, ${plural(one.executions, "execution")} · ${clip(one.active_agents.join(", "), 80) || "no agent yet"} · ${duration(one.duration_seconds * 1000)} · <${Time} at=${one.started_at} />
    </div></li>`)}</ul>`;

function Executions({ round }) {
  const [filters, setFilters] = useState({});
  const [cursors, setCursors] = useState([null]);
  const [checked, setChecked] = useState(null);
  const chosen = { agent_id: filters.agent, workflow: filters.workflow };
  const page = useLoad(
    () =>
      get("/v1/executions", {
        ...chosen,
        status_filter: filters.status,
        limit: 50,
        cursor: cursors[cursors.length - 1],
      }),
    [JSON.stringify(filters), cursors.length, round],
  );
  const stats = useLoad(() => get("/v1/executions/stats", chosen), [JSON.stringify(chosen), round]);
  const set = (name) => (event) => {
    setCursors([null]);
    setFilters({ ...filters, [name]: event.target.value.trim() || undefined });
  };
  const filtered = Object.values(filters).some(Boolean);
  // Without any record there is nothing to filter or to check.
  const none = stats.data?.count === 0 && !filtered;
  const verify = async () => setChecked(await act(() => get("/v1/executions/verify"), null).catch(() => null));
  return html`<${Card} title="Executions" aside=${!none && html`<button class="button small" onClick=${verify}>
    <${Icon} name="shield" />Check the chain</button>`}>
    ${checked && html`<div class=${`notice ${checked.ok ? "good" : "bad"}`} role="status">
      <${Icon} name=${checked.ok ? "check" : "warning"} /><div><strong>
      ${checked.ok ? `The chain is whole: ${plural(checked.checked, "record")}.` : `Record ${checked.first_bad} is wrong.`}
      </strong>${checked.problem && html`<p>${checked.problem}</p>`}
      <p class="muted small mono">head ${clip(checked.head, 24)}</p></div></div>`}
    ${!none && html`<form class="filters flat" onSubmit=${(event) => event.preventDefault()}>
      <label>Agent<input onChange=${set("agent")} /></label><label>Workflow<input onChange=${set("workflow")} />
      </label><label>Status<input onChange=${set("status")} placeholder="success" /></label></form>`}
    <${Loaded} of=${stats} lines=${1}>${(data) =>
      !none &&
      html`<p class="muted small">${plural(data.count, "execution")}${data.timed ? ` · median ${duration(data.median_ms)}, 95th percentile ${duration(data.p95_ms)}, longest ${duration(data.max_ms)}` : ""} ${Object.entries(
        data.by_status,
      )
        .slice(0, 8)
        .map(
          ([status, count]) => html`<${Badge} tone=${toneOf(status)}>${clip(status, 30)} ${number(count)}<//> `,
        )}</p>`}<//>
    <${Loaded} of=${page} lines=${5}>${(data) =>
      data.records.length
        ? html`<div class="scroll" tabindex="0" role="region" aria-label="Executions"><table><thead><tr>
          <th scope="col" class="num">#</th><th scope="col">Agent</th><th scope="col">Status</th><th scope="col" class="num">Took</th>
          <th scope="col">Workflow</th><th scope="col">When</th><th scope="col">Record</th></tr></thead><tbody>
          ${data.records.map(
            (one) => html`
      <tr key=${one.id}><td class="num">${number(one.number)}</td><th scope="row" dir="auto">${clip(one.agent_id, 40)}</th>
        <td><${Badge} tone=${toneOf(one.status)}>${clip(one.status || "unknown", 30)}<//></td><td class="num">
        ${duration(one.duration_ms)}</td><td dir="auto">${clip(one.workflow_id, 40) || "–"}</td><td>
        <${Time} at=${one.recorded_at} /></td>
      <td><details><summary>show</summary><pre class="json" dir="auto">
        ${clip(JSON.stringify(one.record, null, 2), 20000)}</pre></details></td></tr>`,
          )}</tbody></table></div>
      <div class="actions pager">${cursors.length > 1 && html`<button class="button" onClick=${() => setCursors(cursors.slice(0, -1))}>
        <${Icon} name="back" />Newer</button>`}${data.next_cursor && html`<button class="button" onClick=${() => setCursors([...cursors, data.next_cursor])}>Older<${Icon} name="arrow" />
        </button>`}</div>`
        : html`<${Empty} icon="runs" title=${filtered ? "No such execution" : "No executions"}>${filtered ? "No record matches these fields." : html`Records that agents save with <code>save_execution_record</code> appear here.`}<//>`}
          <//><//>`;
}

const toneOf = (status) =>
  /^(ok|success|succeeded|done|completed)$/i.test(status || "")
    ? "good"
    : /fail|error/i.test(status || "")
      ? "quarantined"
      : "";
