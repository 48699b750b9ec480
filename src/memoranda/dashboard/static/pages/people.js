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
    () => (admin ? get("/v1/users", { limit: PAGE, offset }) : Promise.resolve(null)),
    [admin, offset],
  );
  const open = (event) => {
    event.preventDefault();
    if (name.trim()) location.hash = `#/people/${encodeURIComponent(name.trim())}`;
  };
  return html`<${Page} title="People" lead="The users of your agents, those who speak in their memories, and what is known about each.">
    <form class="search" onSubmit=${open}><${Icon} name="search" />
      <input data-search type="search" aria-label="Name of a person" placeholder="Open a person by name" value=${name} onKeyDown=${enterList} onInput=${(event) => setName(event.target.value)} />
      <button class="button">Open</button></form>
    <${Loaded} of=${users} lines=${6}>${(data) =>
      data === null
        ? html`<${Empty} icon="key" title="Your key cannot list people">Name one above. Listing everybody needs a key with the admin scope.<//>`
        : !data.length
          ? html`<${Empty} icon="people" title=${offset ? "That is all" : "No users yet"}>Memories with a <code>user</code> appear here.<//>`
          : html`<${PersonCards} title="Users" people=${data.map((one) => ({ name: one.user, memories: one.memories, at: one.last_active }))} />
      <${Pager} offset=${offset} shown=${data.length} onMove=${setOffset} />`}<//>
    <${Speakers} admin=${admin} /><//>`;
}

const PAGE = 100;

const Pager = ({ offset, shown, onMove }) => (offset > 0 || shown === PAGE) && html`<div class="actions pager">
  ${offset > 0 && html`<button class="button" onClick=${() => onMove(offset - PAGE)}><${Icon} name="back" />Back</button>`}
  ${shown === PAGE && html`<button class="button" onClick=${() => onMove(offset + PAGE)}>More<${Icon} name="arrow" /></button>`}</div>`;

const personLink = (name) => `#/people/${encodeURIComponent(name)}`;

const PersonCards = ({ title, people }) => html`<section><h2 class="group-head">${title}</h2>
  <div class="people" onKeyDown=${moveFocus}>
  ${people.map((one) => html`<a class="card person" data-row href=${personLink(one.name)}>
    <span class="avatar" aria-hidden="true">${initials(one.name)}</span><span class="person-text">
    <b dir="auto">${nameOf(one.name, 60)}</b><span class="muted">
    ${plural(one.memories, "memory", "memories")} · <${Time} at=${one.at} /></span></span></a>`)}</div></section>`;

/** Those who speak in memories and are no users: a name is enough to be known. */
function Speakers({ admin }) {
  const [offset, setOffset] = useState(0);
  const scope = admin ? { all_users: true } : getScope();
  const speakers = useLoad(() => get("/ui/speakers", { ...scope, limit: PAGE, after: offset }), [offset]);
  return html`<${Loaded} of=${speakers} lines=${2}>${(data) =>
    (data.length > 0 || offset > 0) &&
    html`<${PersonCards} title="Who speaks in their memories" people=${data.map((one) => ({ ...one, at: one.last_at }))} />
      <${Pager} offset=${offset} shown=${data.length} onMove=${setOffset} />`}<//>`;
}

const initials = (name) =>
  name
    .replace(/[^\p{L}\p{N} _-]/gu, "")
    .split(/[ _-]+/)
    .filter(Boolean)
    .map((word) => [...word][0])
    .slice(0, 2)
    .join("")
    .toUpperCase() || "·";

export function PersonPage({ name }) {
  const mayWrite = useCan("write");
  const admin = useCan("admin");
  const [forgetting, setForgetting] = useState(false);
  const [asOf, setAsOf] = useState("");
  const [mending, setMending] = useState(null);
  const scope = admin ? { all_users: true } : getScope();
  const person = useLoad(
    () => get("/ui/person", { ...scope, name, as_of: asOf && endOfDay(asOf) }),
    [name, asOf],
  );
  const { data, reload } = person;
  const unknown = data && !asOf && !data.memories && !data.spoken && !data.facts.length;
  const forgotten = () => {
    // Nothing is left to look at in the scope of that person.
    if (admin && getScope().user === name) setScope({ all_users: true });
    location.hash = "#/people";
  };
  return html`<${Page} title=${nameOf(name, 80)} lead=${html`<a href="#/people"><${Icon} name="back" /> Everyone</a>
      ${data && !unknown && html`<span> · ${standing(data)}</span>`}`}
    actions=${data && !unknown && html`<${PersonActions} person=${data} onForget=${mayWrite ? () => setForgetting(true) : null} />`}>
    ${forgetting && html`<${ForgetDialog} selection=${{}} scope=${{ user: name }} what=${`everything about ${clip(name, 40)}`} onClose=${() => setForgetting(false)} onDone=${forgotten} />`}
    ${mending && html`<${MendDialog} fact=${mending.fact} name=${mending.user} reload=${reload} onClose=${() => setMending(null)} />`}
    <${Loaded} of=${person} lines=${6}>
      ${() => (unknown ? html`<${NobodyCalled} name=${name}> <a href=${`#/memories?q=${encodeURIComponent(name)}`}>Search the memories</a> for the name.<//>` : html`<${Disputes} of=${data.conflicts} onSettle=${mayWrite ? reload : null} />
        <div class="grid wide-left"><${Card} title=${asOf ? "Known to be true then" : "What is known now"} aside=${html`<label class="inline">as of <input type="date" aria-label="As of" value=${asOf} onChange=${(event) => setAsOf(event.target.value)} /></label>`}>
        ${data.facts.length ? html`<${FactTable} facts=${data.facts} name=${name} onMend=${mayWrite && !asOf ? setMending : null} />` : html`<${Empty} icon="people" title="No facts">No statement about an attribute was understood${asOf ? " by then" : ""}. The memories themselves may say more.<//>`}<//>
        <${Card} title="Timeline"><${Timeline} facts=${data.facts.map((each) => each.fact)} /><//></div>`)}
      <//><//>`;
}

const standing = ({ memories, spoken }) =>
  memories
    ? `a user, with ${plural(memories, "memory", "memories")}`
    : spoken
      ? `no user; speaks in ${plural(spoken, "memory", "memories")}`
      : "no user; others speak about this person";

/** A user has memories of their own, which can be forgotten; anybody else is found in the memories of users. */
function PersonActions({ person: { name, memories }, onForget }) {
  const look = () => memories && setScope({ user: name });
  const [list, ask] = memories
    ? ["#/memories", "#/ask"]
    : [`#/memories?q=${encodeURIComponent(name)}`, `#/ask?q=${encodeURIComponent(`What is known about ${name}?`)}`];
  return html`<a class="button" href=${list} onClick=${look}><${Icon} name="memory" />Memories</a>
    <a class="button" href=${ask} onClick=${look}><${Icon} name="ask" />Ask</a>
    ${memories > 0 && onForget && html`<button class="button danger" onClick=${onForget}><${Icon} name="trash" />Forget…</button>`}`;
}

const Disputes = ({ of, onSettle }) =>
  of.length > 0 &&
  html`<${Card} title="Disputed" cls="warn-edge"><ul class="plain">${of.map(({ user, conflict }) => html`<li>
    <b dir="auto">${clip(conflict.subject, 60)} · ${clip(conflict.attribute, 60)}</b>
    ${conflict.values.map((value) => html`<div class="settle"><${Value} value=${value} />
      ${onSettle && html`<button class="button small" onClick=${() => settle(user, conflict, value, onSettle)}>
        <${Icon} name="check" />This one is right</button>`}</div>`)}</li>`)}</ul><//>`;

const Value = ({ value }) =>
  html`<div class="value"><a href=${`#/memories/${value.memory_id}`} dir="auto">
    ${value.holds ? "" : "not "}${label(value.value, 200)}</a>
    <span class="muted small">${value.until ? html`<${Time} at=${value.since} /> until <${Time} at=${value.until} />` : html`since <${Time} at=${value.since} />`} · ${clip(value.speaker || value.trust, 40)}
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

function FactTable({ facts, name, onMend }) {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Facts"><table class="fact-table"><thead><tr>
    <th scope="col">About</th><th scope="col">What</th><th scope="col">Value</th><th scope="col">Since</th>
    <th scope="col">From</th>${onMend && html`<th><span class="hidden">Correct</span></th>`}</tr></thead><tbody>
    ${facts.map((each) => html`<${FactRow} fact=${each.fact} user=${each.user} name=${name} onMend=${onMend && (() => onMend(each))} />`)}
    </tbody></table></div>`;
}

function FactRow({ fact, user, name, onMend }) {
  const subject = clip(fact.subject, 60);
  return html`<tr><td dir="auto">${fact.subject === name ? subject : html`<a class="quiet" href=${personLink(fact.subject)}>${subject}</a>`}</td>
    <th scope="row" dir="auto">${clip(fact.attribute, 60)}</th><td>
      <a class="value-link" href=${`#/memories/${fact.memory_id}`} dir="auto" title=${clip(fact.content, 300)}>
      ${fact.holds ? "" : "not "}${label(fact.value, 200)}</a>
      ${fact.replaced.length > 0 && html`<details><summary>replaced ${plural(fact.replaced.length, "value")}</summary>
        ${fact.replaced.map((value) => html`<${Value} value=${value} />`)}</details>`}
      ${fact.disputed_by.length > 0 && html`<div><${Badge} tone="quarantined">disputed<//>
        ${fact.disputed_by.map((value) => html`<${Value} value=${value} />`)}</div>`}
      ${fact.later.length > 0 && html`<div class="small"><span class="muted">later said:</span>${" "}
        <a class="quiet" dir="auto" href=${`#/memories/${fact.later.at(-1).id}`}>${label(fact.later.at(-1).content, 120)}</a></div>`}</td>
    <td class="short"><${Time} at=${fact.since} /></td><td><span dir="auto">
      ${clip(fact.speaker || fact.source || fact.trust, 40)}</span>
      ${user && user !== name && html`<span class="muted small"> in <a class="quiet" dir="auto" href=${personLink(user)}>${nameOf(user, 40)}</a></span>`}
      </td>${onMend && html`<td class="pencil"><button class="button ghost small" aria-label=${`Correct ${clip(fact.attribute, 60)} of ${subject}`} title="Correct or withdraw" onClick=${onMend}>
        <${Icon} name="edit" /></button></td>`}</tr>`;
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
