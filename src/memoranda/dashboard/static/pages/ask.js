import {
  html,
  useState,
  useEffect,
  useMemo,
  Page,
  Card,
  Loaded,
  useLoad,
  Icon,
  Bar,
  Badge,
  Time,
  describeTime,
  Empty,
  Marked,
  MemoryBadges,
  Signals,
  percent,
  duration,
  plural,
  number,
  clip,
  label,
  enterList,
  termsToMark,
  moveFocus,
  whose,
} from "../ui.js";
import { getScope, getScoped, noteInAddress, postScoped } from "../api.js";

const MODES = ["fast", "default", "best"];
const MINUTE = 60000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** How long ago the slider can be: by minutes, then by hours, then by days, to the day of the oldest memory. */
function stopsBack(oldest) {
  const minutes = [1, 2, 5, 10, 20, 30, 45].map((count) => count * MINUTE);
  const hours = Array.from({ length: 47 }, (_, n) => (n + 1) * HOUR);
  const days = Array.from({ length: Math.max(1, Math.ceil(oldest / DAY)) }, (_, n) => (n + 1) * DAY);
  return [0, ...minutes, ...hours.filter((back) => back < oldest), ...days.filter((back) => back >= 2 * DAY || back >= oldest)];
}

// The value of a field for a date and a time, which is in the reader's zone.
const toField = (at) => new Date(at - new Date(at).getTimezoneOffset() * MINUTE).toISOString().slice(0, 16);

export function AskPage({ query }) {
  const [text, setText] = useState(query.q || "");
  const [asked, setAsked] = useState(query.q || "");
  const [compare, setCompare] = useState(false);
  const [mode, setMode] = useState("default");
  const [then, setThen] = useState(null);
  const [asOf, setAsOf] = useState(null);
  useEffect(() => {
    const timer = setTimeout(() => setAsOf(then && new Date(then).toISOString()), 250);
    return () => clearTimeout(timer);
  }, [then]);
  const states = useLoad(() => getScoped("/ui/states"), []);
  // The slider begins on the day of the oldest memory: before it, nothing was known.
  const first = states.data && states.data.first_at;
  const submit = (event) => {
    event.preventDefault();
    setAsked(text.trim());
    noteInAddress({ q: text.trim() });
  };
  const who = getScope().user;
  return html`<${Page} title="Ask" lead=${html`See a recall exactly as the agent gets it${who ? html`, as <b dir="auto">
    ${clip(who, 40)}</b>` : `, over ${whose(getScope())} memories`}. Looking here is not recorded.`}>
    <form class="search big" onSubmit=${submit}><${Icon} name="ask" />
      <input data-search aria-label="Question" placeholder="Where does Ana live now?" value=${text} onKeyDown=${enterList} onInput=${(event) => setText(event.target.value)} />
      <button class="button primary">Ask</button></form>
    <div class="toolbar"><div class="tabs" role="group" aria-label="Mode">${MODES.map(
      (name) =>
        html`<button aria-pressed=${!compare && mode === name} onClick=${() => {
          setCompare(false);
          setMode(name);
        }}>${name}</button>`,
    )}<button aria-pressed=${compare} onClick=${() => setCompare(true)}>side by side</button></div>
      <${AsOf} first=${first} then=${then} onChange=${setThen} /></div>
    ${
      !asked
        ? html`<${Empty} icon="ask" title="Ask something">For example “What does she drink?”, “Where did we go last summer?”, “When is the deadline?”<//>`
        : html`<div class=${compare ? "grid three" : "stack"}>
          ${(compare ? MODES : [mode]).map((name) => html`<${Answer} key=${name} question=${asked} mode=${name} asOf=${asOf} small=${compare} />`)}
          </div>`
    }<//>`;
}

/** Chooses a moment: roughly with the slider, exactly with the field. */
function AsOf({ first, then, onChange }) {
  const stops = useMemo(() => stopsBack(first ? Date.now() - new Date(first) : 0), [first]);
  const back = then ? Date.now() - then : 0;
  const near = stops.reduce((best, stop, n) => (Math.abs(stop - back) < Math.abs(stops[best] - back) ? n : best), 0);
  const move = (event) => {
    const stop = stops[-Number(event.target.value)];
    onChange(stop ? Date.now() - stop : null);
  };
  const shown = then ? describeTime(then) : "now";
  return html`<div class="slider"><label class="inline">As of
      <input type="datetime-local" value=${then ? toField(then) : ""} onChange=${(event) => onChange(Date.parse(event.target.value) || null)} />
      <b>${shown}</b></label>
    <input type="range" aria-label="As of, on a scale" min=${1 - stops.length} max="0" disabled=${!first} step="1" value=${-near} onInput=${move} aria-valuetext=${shown} />
    </div>`;
}

function Answer({ question, mode, asOf, small }) {
  const answer = useLoad(
    () => postScoped("/ui/ask", asOf ? { question, mode, as_of: asOf } : { question, mode }),
    [question, mode, asOf],
  );
  return html`<${Loaded} of=${answer} lines=${8}>${(
    data,
  ) => html`<section class=${`answer ${answer.loading ? "stale" : ""}`} aria-label=${`Answer, ${mode}`}>
    <${Card} title=${small ? mode : "Answer"} aside=${duration(data.recall.elapsed_ms)}><div class="verdict">
      <${Verdict} value=${data.recall.answerable} />
      ${data.recall.degraded.map((part) => html`<${Badge} tone="quarantined">without ${part}<//>`)}</div>
        <${Understood} explanation=${data.recall.explanation} question=${question} /><//>
    <div class=${small ? "stack" : "grid wide-left"}><${Card} title="Hits" aside=${data.hits.length < data.found ? `the best ${data.hits.length} of ${data.found} found` : plural(data.hits.length, "hit")}>
      <${Hits} hits=${data.hits} terms=${termsToMark(question, data.recall.explanation)} /><//>
    <div class="stack"><${Card} title="Prompt text" aside=${plural(data.tokens, "token")}>
      ${
        data.text
          ? html`<p class="muted small above">What <code>context</code> gives the agent: it takes as many of the ${plural(data.found, "memory", "memories")} found as are relevant and fit ${number(data.budget)} tokens. It has ${plural(data.shown, "memory", "memories")}.</p>
            <pre class="prompt" dir="auto" tabindex="0">${data.text}</pre>`
          : html`<p class="muted">Nothing relevant enough: <code>context</code> gives the agent no text.</p>`
      }<//>
    <${Card} title="Left out, and why"><${DroppedList} dropped=${data.dropped} /><//></div></div></section>`}<//>`;
}

function Verdict({ value }) {
  const tone = value >= 0.6 ? "good" : value >= 0.35 ? "fair" : "poor";
  const words = {
    good: "Memory probably has the answer",
    fair: "Memory may have the answer",
    poor: "Memory probably has no answer",
  };
  return html`<span class=${`gauge ${tone}`}><b>${percent(value)}</b>
    <${Bar} share=${value} label="answerable" tone=${tone} /><span>${words[tone]}</span></span>`;
}

function Understood({ explanation, question }) {
  if (!explanation) return null;
  const words = [...new Set(termsToMark(question, explanation))];
  return html`<dl class="facts tight">${explanation.speakers.length > 0 && html`<dt>Names</dt><dd dir="auto">
    ${clip(explanation.speakers.join(", "), 200)}</dd>`}
    ${explanation.windows.map((window) => html`<dt>Time</dt>
      <dd>“${window.phrase}”: <${Time} at=${window.start} withClock /> – <${Time} at=${window.end} withClock />
      </dd>`)}
    <dt>Words</dt><dd dir="auto">${words.length ? words.slice(0, 24).map((word) => html`<code>
      ${clip(word, 40)}</code> `) : "none"}</dd><dt>Considered</dt><dd>
      ${plural(explanation.considered, "memory", "memories")}</dd>
    ${explanation.notes.map((note) => html`<dt>Note</dt><dd dir="auto">${note}</dd>`)}</dl>`;
}

function Hits({ hits, terms }) {
  if (!hits.length) return html`<p class="muted">No memory fits.</p>`;
  return html`<ol class="hits" onKeyDown=${moveFocus}>${hits.map(
    (
      hit,
    ) => html`<li><a data-row class="hit" href=${`#/memories/${hit.memory.id}`}><span class="score">
      <${Bar} share=${hit.score} label=${`score ${hit.score.toFixed(3)}`} /><span>${hit.score.toFixed(2)}</span>
      </span>
    <span class="row-main"><span class="row-text" dir="auto">
      <${Marked} text=${label(hit.memory.content, 600)} terms=${terms} /></span><span class="row-meta">
      <${MemoryBadges} memory=${hit.memory} link=${false} />${hit.memory.speaker && html`<span dir="auto">${clip(hit.memory.speaker, 40)}</span>`}<${Time} at=${hit.memory.valid_from} /></span>
    <${Signals} why=${hit.why} />${hit.later.length > 0 && html`<span class="later" dir="auto">Said later: ${clip(hit.later[hit.later.length - 1].content, 200)}
      </span>`}${hit.disputed.length > 0 && html`<span class="later" dir="auto">Disputed: ${clip(hit.disputed[0].content, 200)}
      </span>`}</span></a></li>`,
  )}</ol>`;
}

const DroppedList = ({ dropped }) =>
  dropped.length
    ? html`<ul class="plain">${dropped.map((one) => html`<li><a href=${`#/memories/${one.memory.id}`} dir="auto">
      ${label(one.memory.content, 160)}</a><div class="small"><${Badge} tone=${one.step}>${one.step}
      <//> <span class="muted" dir="auto">${one.reason}</span></div></li>`)}</ul>`
    : html`<p class="muted">Nothing that fits these words was left out.</p>`;
