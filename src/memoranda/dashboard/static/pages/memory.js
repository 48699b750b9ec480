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
  MemoryBadges,
  Dialog,
  Badge,
  Empty,
  Failure,
  Missing,
  act,
  toast,
  dropOffers,
  TYPES,
  stateOf,
  plural,
  clip,
  label,
  number,
  Bar,
  Signals,
  typeName,
} from "../ui.js";
import { getScoped, post, postScoped, patch, getScope, setScope } from "../api.js";

export function MemoryPage({ id }) {
  const memory = useLoad(() => getScoped(`/v1/memories/${id}`), [id]);
  if (memory.error && [404, 422].includes(memory.error.status))
    return html`<${MissingMemory} id=${id} />`;
  return html`<${Loaded} of=${memory}>${(data) => html`<${Details} memory=${data} reload=${memory.reload} />`}<//>`;
}

function MissingMemory({ id }) {
  const { user } = getScope();
  const everybody = useCan("admin") && user;
  const text = user ? `It was forgotten, or it is not one of ${clip(user, 40)}’s, whose memories are shown.` : "It was forgotten, or it never existed.";
  return html`<${Missing} title=${`No memory ${id}`} text=${text} back="memories">
    ${everybody && html`<button class="button primary" onClick=${() => setScope({ all_users: true })}>
      <${Icon} name="people" />Look among everybody’s</button>`}<//>`;
}

function Details({ memory, reload }) {
  const path = `/v1/memories/${memory.id}`;
  const history = useLoad(
    () => getScoped(`${path}/history`),
    [memory.id, memory.version, memory.archived_at, memory.quarantined_at],
  );
  const origin = useLoad(
    () => getScoped(`/ui/memories/${memory.id}/provenance`),
    [memory.id, memory.archived_at, memory.quarantined_at],
  );
  const related = useLoad(() => {
    const { session, ...scope } = getScope();
    return getScoped(`${path}/related`, { ...scope, depth: 1 });
  }, [memory.id]);
  return html`<${Page} title=${`Memory ${memory.id}`} tab=${label(memory.content, 60)} lead=${html`<a href="#/memories">
    <${Icon} name="back" /> All memories</a>`} actions=${html`<${Actions} memory=${memory} reload=${reload} />`}>
    ${memory.quarantined_at && html`<div class="notice warn"><${Icon} name="shield" /><div>
      <strong>In quarantine since <${Time} at=${memory.quarantined_at} />.</strong>
      <p>It was suspicious when it came, so recall leaves it out until somebody releases it.${reasonOf(memory)}</p>
      </div></div>`}
    <div class="grid wide-left"><div class="stack"><${Card}><p class="content" dir="auto" tabindex="0">
      ${memory.content}</p><${MemoryBadges} memory=${memory} /><//>
      <${Card} title="Where it comes from"><${Loaded} of=${origin}>
        ${(data) => html`<${Source} data=${data} memory=${memory} />`}<//><//>
      <${Card} title="History"><${Loaded} of=${history}>${(data) => html`<${History} data=${data} events=${origin.data?.events || []} />`}<//><//></div>
    <div class="stack"><${Card} title="About it"><${Facts} memory=${memory} /><//>
      <${Card} title="Linked memories" aside=${html`<a href=${`#/graph?around=${memory.id}`}>Graph</a>`}>
        <${Loaded} of=${related} lines=${2}>${(data) => html`<${Related} data=${data} memory=${memory} />`}<//><//>
      <${Card} title="Recent recalls that used it"><${Loaded} of=${origin} lines=${2}>
        ${(data) => html`<${Uses} uses=${data.uses} />`}<//><//>
      ${Object.keys(memory.metadata).length > 0 && html`<${Card} title="Metadata">
        <pre class="json" dir="auto" tabindex="0">${JSON.stringify(memory.metadata, null, 2)}</pre><//>`}</div></div>
        <//>`;
}

const reasonOf = (memory) =>
  memory.notes.quarantine
    ? ` Reason: ${clip(String(memory.notes.quarantine.reason || memory.notes.quarantine), 300)}`
    : "";

function Actions({ memory, reload }) {
  const mayWrite = useCan("write");
  const [dialog, setDialog] = useState(null);
  if (!mayWrite) return null;
  const path = `/v1/memories/${memory.id}`;
  const about = memory.id;
  const turn = (verb, done, back) => async () => {
    await act(
      () => postScoped(`${path}/${verb}`),
      `Memory ${about}: ${done}`,
      back && (() => act(() => postScoped(`${path}/${back}`), `Memory ${about}: undone`, null, about).then(reload, () => {})),
      about,
    ).catch(() => {});
    reload();
  };
  return html`${memory.quarantined_at && html`<button class="button primary" onClick=${turn("release", "released, it takes part in recall", "quarantine")}>
    <${Icon} name="check" />Release</button>`}
    <button class="button" onClick=${() => setDialog("edit")}><${Icon} name="edit" />Edit</button>
    <button class="button" onClick=${memory.pinned ? turn("unpin", "no longer pinned", "pin") : turn("pin", "pinned", "unpin")}>
      <${Icon} name="pin" />${memory.pinned ? "Unpin" : "Pin"}</button>
    <button class="button" onClick=${memory.archived_at ? turn("restore", "restored", "archive") : turn("archive", "archived", "restore")}>
      <${Icon} name="archive" />${memory.archived_at ? "Restore" : "Archive"}</button>
    <button class="button danger" onClick=${() => setDialog("forget")}><${Icon} name="trash" />Forget…</button>
    ${dialog === "edit" && html`<${EditDialog} memory=${memory} reload=${reload} onClose=${() => setDialog(null)} />`}
    ${
      dialog === "forget" &&
      html`<${ForgetDialog} selection=${{ ids: [memory.id] }} what="this memory" onClose=${() => setDialog(null)} onDone=${() => {
        location.hash = "#/memories";
      }} />`
    }`;
}

function EditDialog({ memory, reload, onClose }) {
  const [content, setContent] = useState(memory.content);
  const [importance, setImportance] = useState(memory.importance);
  const [type, setType] = useState(memory.type);
  const [source, setSource] = useState(memory.source || "");
  const [metadata, setMetadata] = useState(JSON.stringify(memory.metadata, null, 2));
  const [problem, setProblem] = useState(null);
  const save = async () => {
    const fields = {};
    if (content !== memory.content) fields.content = content;
    if (Number(importance) !== memory.importance) fields.importance = Number(importance);
    if (type !== memory.type) fields.memory_type = type;
    if (source.trim() && source.trim() !== memory.source) fields.source = source.trim();
    try {
      const values = JSON.parse(metadata || "{}");
      if (JSON.stringify(values) !== JSON.stringify(memory.metadata)) fields.metadata = values;
    } catch {
      setProblem(new Error('Metadata must be JSON, such as {"topic": "tea"}.'));
      return undefined;
    }
    if (!Object.keys(fields).length) return onClose();
    try {
      const changed = await patch(`/v1/memories/${memory.id}`, {
        ...getScope(),
        ...fields,
        expected_version: memory.version,
      });
      const old = { ...memory, memory_type: memory.type };
      const before = Object.fromEntries(Object.keys(fields).map((name) => [name, old[name]]));
      const back = () =>
        patch(`/v1/memories/${memory.id}`, { ...getScope(), ...before, expected_version: changed.version });
      toast(`Memory ${memory.id}: saved`, {
        about: memory.id,
        // An empty source cannot be written again.
        undo:
          before.source === null
            ? undefined
            : () => act(back, `Memory ${memory.id}: undone`, null, memory.id).then(reload, () => {}),
      });
      onClose();
      reload();
    } catch (error) {
      setProblem(error);
    }
    return undefined;
  };
  return html`<${Dialog} title="Edit" onClose=${onClose} actions=${html`<button class="button ghost" onClick=${onClose}>Cancel</button>
    <button class="button primary" onClick=${save}>Save</button>`}>
    ${problem && html`<${Failure} error=${problem} />`}
      <label>Text<textarea rows="6" dir="auto" value=${content} onInput=${(event) => setContent(event.target.value)}>
      </textarea></label>
    <label>Importance ${Number(importance).toFixed(2)}
      <input type="range" min="0" max="1" step="0.01" value=${importance} onInput=${(event) => setImportance(event.target.value)} />
      </label>
    <div class="filters"><label>Type<select value=${type} onChange=${(event) => setType(event.target.value)}>
      ${[...new Set([memory.type, ...TYPES])].map((name) => html`<option value=${name} selected=${name === type}>${typeName(name)}</option>`)}
      </select></label>
      <label>Source<input value=${source} dir="auto" onInput=${(event) => setSource(event.target.value)} /></label></div>
    <details><summary>Metadata</summary><textarea rows="5" class="mono" aria-label="Metadata as JSON" value=${metadata} onInput=${(event) => setMetadata(event.target.value)}></textarea></details>
    <p class="muted small">The earlier version stays in the history. Whose memory it is and when it was said cannot be changed: forget it, and say it again.</p><//>`;
}

/** Shows what would be erased before anything is. */
export function ForgetDialog({ selection, scope = getScope(), what, onClose, onDone }) {
  const chosen = { ...scope, ...selection };
  const preview = useLoad(() => post("/v1/forget", { ...chosen, dry_run: true }), []);
  const [busy, setBusy] = useState(false);
  const run = async () => {
    setBusy(true);
    const receipt = await act(() => post("/v1/forget", chosen), null).catch(() => null);
    setBusy(false);
    if (!receipt) return;
    dropOffers();
    toast(`Forgotten: ${plural(receipt.ids.length, "memory", "memories")}. Receipt ${receipt.id.slice(0, 8)}`);
    onClose();
    onDone();
  };
  return html`<${Dialog} title=${`Forget ${what}?`} onClose=${onClose} actions=${html`<button class="button ghost" onClick=${onClose}>Keep</button>
    <button class="button danger" disabled=${busy || !preview.data} onClick=${run}><${Icon} name="trash" />
      ${busy ? "Erasing…" : "Forget for ever"}</button>`}>
    <${Loaded} of=${preview}>${(
      receipt,
    ) => html`<p>This erases <b>${plural(receipt.ids.length, "memory", "memories")}
      </b> and everything derived from ${receipt.ids.length === 1 ? "it" : "them"}. It cannot be undone; a signed receipt stays.</p>
      <table><thead><tr><th scope="col">Place</th><th scope="col">To erase there</th></tr></thead><tbody>
        ${receipt.stores.filter((store) => store.count || (store.detail && store.status !== "erased")).map((store) => html`<tr><th scope="row">${store.store}</th><td>${describeStore(store)}</td>
        </tr>`)}</tbody></table>
      ${receipt.recalls.length > 0 && html`<p class="muted small">
        ${plural(receipt.recalls.length, "past recall")} returned it.</p>`}`}<//><//>`;
}

const describeStore = (store) =>
  [store.count ? number(store.count) : null, store.detail].filter(Boolean).join(" · ");

function Facts({ memory }) {
  const rows = [
    ["State", stateOf(memory)],
    ["Type", typeName(memory.type)],
    [
      "Importance",
      html`<span class="with-bar">${memory.importance.toFixed(2)}<${Bar} share=${memory.importance} label="" />
        </span>`,
    ],
    ["Said", html`<${Time} at=${memory.valid_from} withClock />`],
    ["Stored", html`<${Time} at=${memory.recorded_at} withClock />`],
    ["True until", memory.valid_to && html`<${Time} at=${memory.valid_to} withClock />`],
    ["Expires", memory.expires_at && html`<${Time} at=${memory.expires_at} withClock />`],
    ["Speaker", memory.speaker],
    ["User", memory.user],
    ["Agent", memory.agent],
    ["Session", memory.session],
    ["Source", memory.source],
    ["Trust", memory.trust],
    ["Version", memory.version],
    [
      "Replaced by",
      memory.superseded_by && html`<a href=${`#/memories/${memory.superseded_by}`}>memory ${memory.superseded_by}
        </a>`,
    ],
  ];
  return html`<dl class="facts">${rows.filter(([, value]) => value !== null && value !== undefined).map(([name, value]) => html`<dt>
    ${name}</dt><dd dir="auto">${typeof value === "string" ? clip(value, 200) : value}</dd>`)}</dl>`;
}

function Source({ data, memory }) {
  if (!data.source.length)
    return html`<p class="muted">It was stored directly, not taken from a message${memory.source ? html`, by <b dir="auto">
      ${clip(memory.source, 100)}</b>` : ""}.</p>`;
  return html`<ol class="talk">${data.source.map((message) => html`<${Message} message=${message} here=${message.message_id === data.message_id} />`)}
    </ol>`;
}

export const Message = ({
  message,
  here,
  children,
}) => html`<li class=${`message ${here ? "here" : ""} ${message.role}`} aria-current=${here ? "true" : undefined}>
  <div class="message-head"><b dir="auto">${clip(message.speaker || message.role, 60)}</b>
  <${Time} at=${message.said_at} withClock />${here && html`<${Badge} tone="pinned">source<//>`}</div>
  ${
    /^[█\s]+$/.test(message.content)
      ? html`<p class="muted">Its words are not kept: they hold a secret.</p>`
      : html`<p dir="auto">${clip(message.content || "", 4000)}</p>`
  }${children}</li>`;

const DONE = { archive: "Archived", restore: "Restored to recall", release: "Released from quarantine" };
const MADE = {
  merged: ["Takes the place of", "Merged into"],
  consolidated: ["Made, to say the same once, from", "Said once, together with others, in"],
  summary: ["Made as a summary of", "Summed up in"],
  reflection: ["Concluded from", "Used for the conclusion in"],
};
const FIELDS = [["content", "text"], ["type", "type"], ["importance", "importance"], ["source", "source"], ["metadata", "metadata"]];

/** What the next version of a memory changed; nothing where only its state did, which has an entry of its own. */
const changedIn = (version, next) =>
  FIELDS.filter(([name]) => JSON.stringify(version[name]) !== JSON.stringify(next[name])).map(([, word]) => word);

function History({ data: { memory, ...data }, events }) {
  const link = (id, text = `memory ${id}`) => html`<a href=${`#/memories/${id}`} dir="auto">${text}</a>`;
  const entries = [{ at: memory.recorded_at, text: "Stored" }];
  const add = (at, text) => at && entries.push({ at, text });
  data.versions.forEach((one, n) => {
    const changed = changedIn(one, data.versions[n + 1] || memory);
    if (!changed.length) return;
    const before = changed[0] === "text" ? html`: it was <q dir="auto">${clip(one.content, 500)}</q>` : "";
    add(one.changed_at, html`Changed its ${changed.join(", ")}${before}`);
  });
  // What was made of others to say the same once comes and goes with them.
  if (!data.sources.some((one) => one.kind === "consolidated"))
    for (const event of events) add(event.at, DONE[event.op]);
  add(memory.quarantined_at, "Put in quarantine");
  const merged = data.derived.some((one) => one.kind === "merged");
  if (data.superseded_by && !merged)
    add(memory.superseded_at || memory.valid_to, html`Replaced by ${link(data.superseded_by.id, label(data.superseded_by.content, 300))}`);
  else if (!merged) add(memory.valid_to, "No longer true");
  for (const id of data.supersedes) add(memory.valid_from, html`Replaced ${link(id)}`);
  for (const one of data.sources) add(memory.recorded_at, html`${MADE[one.kind][0]} ${link(one.source_id)}`);
  for (const one of data.derived) add(made({ memory, ...data }, one.derived_id), html`${MADE[one.kind][1]} ${link(one.derived_id)}`);
  for (const one of data.later) add(one.valid_from, html`Said later about the same: ${link(one.id, label(one.content, 300))}`);
  entries.sort((a, b) => String(b.at).localeCompare(String(a.at)));
  return html`<ol class="timeline">${entries.map((entry) => html`<li><${Time} at=${entry.at} withClock /><div>
    ${entry.text}</div></li>`)}</ol>`;
}

/** When another memory was made of this one: it has taken its place since, or it was archived then. */
const made = ({ memory, superseded_by: next }, id) =>
  (next?.id === id && memory.superseded_at) || memory.archived_at || memory.recorded_at;

/** How another memory is linked to this one, in words; how strongly, where that says something. */
const nameLink = (memory, { relationship_type: kind, strength, memory: other }) => {
  const order = other.valid_from > memory.valid_from ? "said later about the same" : "said earlier about the same";
  return `${kind === "follows" ? order : clip(kind, 40)}${strength < 1 ? ` ${strength.toFixed(2)}` : ""}`;
};

const Related = ({ data, memory }) =>
  data.length
    ? html`<ul class="plain">${data.slice(0, 20).map((one) => html`<li><${Badge}>${nameLink(memory, one)}<//> <a href=${`#/memories/${one.memory.id}`} dir="auto">${label(one.memory.content, 140)}</a></li>`)}</ul>`
    : html`<p class="muted">No associations.</p>`;

const askedTimes = (uses, use) => {
  const times = uses.filter((each) => each.query === use.query).length;
  return times > 1 ? ` · ${times} times lately` : "";
};

const Uses = ({ uses }) =>
  uses.length
    ? html`<ul class="plain">${uses.filter((use, n) => uses.findIndex((each) => each.query === use.query) === n).map((use) => html`<li>
      <a href=${`#/ask?q=${encodeURIComponent(use.query)}`} dir="auto">${label(use.query, 120)}</a>
      <div class="muted small">place ${use.position} · <${Time} at=${use.asked_at} />${askedTimes(uses, use)}</div>
      ${use.why.length > 0 && html`<${Signals} why=${use.why} />`}</li>`)}</ul>`
    : html`<p class="muted">No recall has returned it lately.</p>`;
