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
  label,
  nameOf,
  moveFocus,
  enterList,
  endOfDay,
  NobodyCalled,
  Dialog,
  Failure,
  act,
} from "../ui.js";
import { get, getScope, post, setScope } from "../api.js";
import { ForgetDialog } from "./memory.js";

export function PeoplePage() {
  const admin = useCan("admin");
  const [offset, setOffset] = useState(0);
  const [name, setName] = useState("");
  const users = useLoad(
    () => (admin ? get("/v1/users", { limit: 100, offset }) : Promise.resolve(null)),
    [admin, offset],
  );
  const open = (event) => {
    event.preventDefault();
    if (name.trim()) location.hash = `#/people/${encodeURIComponent(name.trim())}`;
  };
  return html`<${Page} title="People" lead="Everyone your agents know, and what is known about them now.">
    <form class="search" onSubmit=${open}><${Icon} name="search" />
      <input data-search type="search" aria-label="Name of a person" placeholder="Open a person by name" value=${name} onKeyDown=${enterList} onInput=${(event) => setName(event.target.value)} />
      <button class="button">Open</button></form>
    <${Loaded} of=${users} lines=${6}>${(data) =>
      data === null
        ? html`<${Empty} icon="key" title="Your key cannot list people">Name one above. Listing everybody needs a key with the admin scope.<//>`
        : !data.length
          ? html`<${Empty} icon="people" title=${offset ? "That is all" : "Nobody yet"}>Memories with a <code>user</code> appear here.<//>`
          : html`<div class="people" onKeyDown=${moveFocus}>
            ${data.map((one) => html`<a class="card person" data-row href=${`#/people/${encodeURIComponent(one.user)}`}>
            <span class="avatar" aria-hidden="true">${initials(one.user)}</span><span class="person-text">
            <b dir="auto">${nameOf(one.user, 60)}</b><span class="muted">
            ${plural(one.memories, "memory", "memories")} · <${Time} at=${one.last_active} /></span></span></a>`)}
            </div>
      <div class="actions pager">${offset > 0 && html`<button class="button" onClick=${() => setOffset(offset - 100)}>
        <${Icon} name="back" />Back</button>`}${data.length === 100 && html`<button class="button" onClick=${() => setOffset(offset + 100)}>More<${Icon} name="arrow" />
        </button>`}</div>`}<//><//>`;
}

const initials = (name) =>
  [...name.replace(/[^\p{L}\p{N} _-]/gu, "")].length
    ? name
        .replace(/[^\p{L}\p{N} _-]/gu, "")
        .split(/[ _-]+/)
        .filter(Boolean)
        .map((word) => [...word][0])
        .slice(0, 2)
        .join("")
        .toUpperCase()
    : "·";

export function PersonPage({ name }) {
  const mayWrite = useCan("write");
  const admin = useCan("admin");
  const [forgetting, setForgetting] = useState(false);
  const [asOf, setAsOf] = useState("");
  const facts = useLoad(() => get("/v1/facts", { user: name, as_of: asOf && endOfDay(asOf) }), [name, asOf]);
  const conflicts = useLoad(() => get("/v1/conflicts", { user: name }), [name]);
  const memories = useLoad(() => post("/ui/memories", { user: name, limit: 1 }), [name]);
  const [mending, setMending] = useState(null);
  const reload = () => {
    facts.reload();
    conflicts.reload();
  };
  const unknown = memories.data && !memories.data.items.length;
  const look = () => {
    setScope({ user: name });
  };
  return html`<${Page} title=${nameOf(name, 80)} lead=${html`<a href="#/people">
    <${Icon} name="back" /> Everyone</a>`} actions=${html`<a class="button" href="#/memories" onClick=${look}>
    <${Icon} name="memory" />Memories</a><a class="button" href="#/ask" onClick=${look}><${Icon} name="ask" />Ask</a>
    ${
      mayWrite &&
      html`<button class="button danger" onClick=${() => setForgetting(true)}><${Icon} name="trash" />Forget…</button>`
    }`}>
    ${
      forgetting &&
      html`<${ForgetDialog} selection=${{}} scope=${{ user: name }} what=${`everything about ${clip(name, 40)}`} onClose=${() => setForgetting(false)} onDone=${() => {
        // Nothing is left to look at in the scope of that person.
        if (admin && getScope().user === name) setScope({ all_users: true });
        location.hash = "#/people";
      }} />`
    }
    ${mending && html`<${MendDialog} fact=${mending} name=${name} reload=${reload} onClose=${() => setMending(null)} />`}
    <${Loaded} of=${conflicts} lines=${1}>
      ${(data) => data.length > 0 && html`<${Card} title="Disputed" cls="warn-edge"><ul class="plain">
      ${data.map((one) => html`<li><b dir="auto">${clip(one.subject, 60)} · ${clip(one.attribute, 60)}</b>
      ${one.values.map((value) => html`<div class="settle"><${Value} value=${value} />
        ${mayWrite && html`<button class="button small" onClick=${() => settle(name, one, value, reload)}>
          <${Icon} name="check" />This one is right</button>`}</div>`)}</li>`)}</ul><//>`}<//>
    ${unknown ? html`<${NobodyCalled} name=${name} />` : html`<div class="grid wide-left"><${Card} title=${asOf ? "Known to be true then" : "What is known now"} aside=${html`<label class="inline">as of <input type="date" aria-label="As of" value=${asOf} onChange=${(event) => setAsOf(event.target.value)} />
      </label>`}>
      <${Loaded} of=${facts} lines=${6}>
        ${(data) => (data.length ? html`<${FactTable} facts=${data} onMend=${mayWrite && !asOf ? setMending : null} />` : html`<${Empty} icon="people" title="No facts">No statement about an attribute was understood${asOf ? " by then" : ""}. The memories themselves may say more.<//>`)}
        <//><//>
    <${Card} title="Timeline"><${Loaded} of=${facts} lines=${6}>${(data) => html`<${Timeline} facts=${data} />`}<//>
      <//></div>`}<//>`;
}

const Value = ({ value }) =>
  html`<div class="value"><a href=${`#/memories/${value.memory_id}`} dir="auto">
    ${value.holds ? "" : "not "}${label(value.value, 200)}</a>
    <span class="muted small">since <${Time} at=${value.since} />
    ${value.until ? html` until <${Time} at=${value.until} />` : ""} · ${clip(value.speaker || value.trust, 40)}
    </span></div>`;

const turn = (name, ids, verb) =>
  Promise.all(ids.map((id) => post(`/v1/memories/${id}/${verb}`, { user: name })));

/** Archives the memories with these ids, which can be undone. */
const withdraw = (name, ids, done, reload) =>
  act(
    () => turn(name, ids, "archive"),
    done,
    () => act(() => turn(name, ids, "restore"), "Undone").then(reload, () => {}),
  ).then(reload, () => {});

/** Keeps one of the values that sources disagree about: the memories with the others are archived. */
function settle(name, conflict, value, reload) {
  const others = conflict.values.map((each) => each.memory_id).filter((id) => id !== value.memory_id);
  return withdraw(name, [...new Set(others)], `Settled: ${clip(conflict.attribute, 40)} is ${clip(value.value, 60)}`, reload);
}

/** Corrects the sentence that a fact was read from, or withdraws it. */
function MendDialog({ fact, name, reload, onClose }) {
  const [text, setText] = useState(fact.content);
  const [problem, setProblem] = useState(null);
  const { memory_id: old, subject, attribute } = fact;
  const take = () => {
    onClose();
    return withdraw(name, [old], `Withdrawn: ${clip(attribute, 40)} of ${clip(subject, 40)}`, reload);
  };
  const save = async () => {
    if (!text.trim() || text === fact.content) return onClose();
    const said = { role: "user", name: fact.speaker || subject, content: text.trim(), timestamp: fact.said_at };
    await turn(name, [old], "archive");
    try {
      const [outcome] = await post("/v1/remember", { content: [said], user: name });
      if (!outcome.memory) throw new Error(outcome.reason);
      onClose();
      const back = () => turn(name, [outcome.memory.id], "archive").then(() => turn(name, [old], "restore"));
      await act(async () => {}, `Corrected: ${clip(attribute, 40)} of ${clip(subject, 40)}`, () =>
        act(back, "Undone").then(reload, () => {}),
      );
      reload();
    } catch (error) {
      await turn(name, [old], "restore");
      setProblem(error);
    }
    return undefined;
  };
  return html`<${Dialog} title=${`${clip(subject, 40)} · ${clip(attribute, 40)}`} onClose=${onClose} actions=${html`<button class="button danger" onClick=${take}>
    <${Icon} name="archive" />Withdraw it</button><button class="button ghost" onClick=${onClose}>Cancel</button>
    <button class="button primary" onClick=${save}>Save</button>`}>
    ${problem && html`<${Failure} error=${problem} />`}
    <label>It was read from<textarea rows="4" dir="auto" value=${text} onInput=${(event) => setText(event.target.value)}></textarea></label>
    <p class="muted small">Write what is right, as a sentence: it is read again, and takes the place of the old one from the same day on. To withdraw archives the sentence with everything that was read from it. Both can be undone. <a href=${`#/memories/${old}`}>Open memory ${old}</a></p><//>`;
}

function FactTable({ facts, onMend }) {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Facts"><table class="fact-table"><thead><tr>
    <th scope="col">About</th><th scope="col">What</th><th scope="col">Value</th><th scope="col">Since</th>
    <th scope="col">From</th></tr></thead><tbody>${facts.map(
    (fact) => html`
    <tr><td dir="auto">${clip(fact.subject, 60)}</td><th scope="row" dir="auto">${clip(fact.attribute, 60)}</th><td>
      <a href=${`#/memories/${fact.memory_id}`} dir="auto" title=${clip(fact.content, 300)}>
      ${fact.holds ? "" : "not "}${label(fact.value, 200)}</a>
      ${fact.replaced.length > 0 && html`<details><summary>replaced ${plural(fact.replaced.length, "value")}</summary>
        ${fact.replaced.map((value) => html`<${Value} value=${value} />`)}</details>`}
      ${fact.disputed_by.length > 0 && html`<div><${Badge} tone="quarantined">disputed<//>
        ${fact.disputed_by.map((value) => html`<${Value} value=${value} />`)}</div>`}</td>
    <td class="short"><${Time} at=${fact.since} /></td><td><span dir="auto">
      ${clip(fact.speaker || fact.source || fact.trust, 40)}</span>
      ${onMend && html` <button class="button ghost small" aria-label=${`Correct ${clip(fact.attribute, 60)} of ${clip(fact.subject, 60)}`} title="Correct or withdraw" onClick=${() => onMend(fact)}>
        <${Icon} name="edit" /></button>`}</td></tr>`,
  )}</tbody></table></div>`;
}

function Timeline({ facts }) {
  const events = facts.flatMap((fact) => [
    { at: fact.since, fact, value: fact, now: true },
    ...fact.replaced.map((value) => ({ at: value.since, fact, value })),
  ]);
  events.sort((a, b) => b.at.localeCompare(a.at));
  if (!events.length) return html`<p class="muted">Nothing yet.</p>`;
  return html`<ol class="timeline">${events.slice(0, 60).map((event) => html`<li class=${event.now ? "" : "past"}>
    <${Time} at=${event.at} withClock /><div><span class="muted" dir="auto">
    ${clip(event.fact.subject, 40)} · ${clip(event.fact.attribute, 40)}
    </span> <a href=${`#/memories/${event.value.memory_id}`} dir="auto">
    ${event.value.holds ? "" : "not "}${label(event.value.value, 120)}</a></div></li>`)}</ol>
    ${events.length > 60 && html`<p class="muted small">and ${number(events.length - 60)} earlier</p>`}`;
}
