import {
  html,
  useState,
  useEffect,
  Page,
  Icon,
  Time,
  describeTime,
  Empty,
  Failure,
  Skeleton,
  MemoryBadges,
  plural,
  clip,
  label,
  nameOf,
  moveFocus,
  Badge,
  whose,
} from "../ui.js";
import { get, getScope, getScoped } from "../api.js";
import { Message } from "./memory.js";

const PAGE = 60;
const LISTED = 100;

export function ConversationsPage() {
  const [state, setState] = useState({ found: [], loading: true });
  const load = (before) =>
    getScoped("/ui/conversations", { limit: LISTED, after: before.length }).then(
      (page) => setState({ found: [...before, ...page], more: page.length === LISTED, loading: false }),
      (error) => setState({ found: before, error, loading: false }),
    );
  useEffect(() => {
    load([]);
  }, []);
  return html`<${Page} title="Conversations" lead="Every message, word for word, with the memories that came from it.">
    ${state.error && html`<${Failure} error=${state.error} retry=${() => load(state.found)} />`}
    ${state.loading && html`<${Skeleton} lines=${8} />`}
    ${!state.loading && !state.error && !state.found.length && html`<${Empty} icon="chat" title="No conversations">
      ${getScope().all_users ? html`Messages that an agent stores with <code>remember</code> or in a conversation appear here.` : `There are none among ${whose(getScope())} messages. Choose somebody else at the top.`}<//>`}
    ${state.found.length > 0 && html`<div class="list" onKeyDown=${moveFocus}>
      ${state.found.map((one) => html`<${Row} one=${one} key=${address(one)} />`)}</div>`}
    ${state.more && html`<button class="button" onClick=${() => load(state.found)}>More conversations</button>`}<//>`;
}

const Row = ({ one }) => html`<a class="row" data-row href=${`#/conversations/read?${address(one)}`}>
  <span class="row-main"><span class="row-text" dir="auto">
    ${nameOf(one.session || one.user || one.agent || "No name", 120)}</span><span class="row-meta">
    ${one.user && one.session && html`<span class="badge who" dir="auto">${nameOf(one.user, 40)}</span>`}
    ${one.agent && html`<span class="badge who" dir="auto">${nameOf(one.agent, 40)}</span>`}
    <span>${plural(one.messages, "message")}</span><span>
    <${Time} at=${one.started_at} />${describeTime(one.started_at) !== describeTime(one.last_at) && html` – <${Time} at=${one.last_at} />`}</span></span></span><${Icon} name="arrow" /></a>`;

const address = (one) =>
  new URLSearchParams(
    Object.entries({ agent: one.agent, user: one.user, session: one.session }).filter(([, value]) => value),
  ).toString();

export function ConversationPage({ query }) {
  const [state, setState] = useState({ messages: [], loading: true });
  const load = (after, before) =>
    get("/ui/conversation", { ...query, limit: PAGE, after }).then(
      (page) => setState({ messages: [...before, ...page.messages], next: page.next_cursor, loading: false }),
      (error) => setState({ messages: before, error, loading: false }),
    );
  useEffect(() => {
    load(0, []);
  }, []);
  const who = [query.user, query.agent].filter(Boolean).join(" with ");
  return html`<${Page} title=${nameOf(query.session || who || "Conversation", 100)} lead=${html`<a href="#/conversations">
    <${Icon} name="back" /> All conversations</a>${who && query.session ? html` · <span dir="auto">${nameOf(who, 80)}
    </span>` : ""}`}>
    ${state.error && html`<${Failure} error=${state.error} />`}${
      state.loading
        ? html`<${Skeleton} lines=${8} />`
        : html`<ol class="talk margin">
          ${state.messages.map((message) => html`<${Message} message=${message} key=${message.message_id}>
          <${Margin} message=${message} /><//>`)}</ol>
    ${!state.messages.length && !state.error && html`<${Empty} icon="chat" title="No messages">This conversation is empty.<//>`}
    ${state.next && html`<button class="button" onClick=${() => load(state.next, state.messages)}>More messages</button>`}`
    }<//>`;
}

/** What was read from a memory about somebody: "Ana · city: Oslo". */
const Claims = ({ memory }) =>
  (memory.notes.claims || [])
    .filter((claim) => claim.attribute && claim.value)
    .slice(0, 6)
    .map(
      (claim) => html`<span class="claim" dir="auto"><b>${clip(claim.subject, 40)} · ${clip(claim.attribute, 40)}:</b>${" "}
        ${claim.holds === false ? "not " : ""}${label(claim.value, 80)}${claim.ended_by ? html` <${Badge} tone="superseded">replaced<//>` : ""}</span>`,
    );

/** The memories of a message; one in its own words is not written a second time. */
const Margin = ({ message }) =>
  message.memories.length
    ? html`<aside class="margin-notes" aria-label="Memories from this message">
      ${message.memories.map((memory) => html`<a href=${`#/memories/${memory.id}`} class="margin-note">
      ${memory.content === message.content ? html`<span>Kept word for word</span>` : html`<span dir="auto">${label(memory.content, 160)}</span>`}
      <${Claims} memory=${memory} /><${MemoryBadges} memory=${{ ...memory, user: null }} link=${false} /></a>`)}</aside>`
    : html`<p class="muted small no-notes">Not kept as a memory</p>`;
