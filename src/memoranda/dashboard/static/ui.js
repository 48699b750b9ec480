// The building blocks of every page.
import {
  html,
  render,
  Component,
  useState,
  useEffect,
  useLayoutEffect,
  useRef,
  useMemo,
  useCallback,
  createContext,
  useContext,
} from "./vendor/preact-htm.js";

export { html, render, Component, useState, useEffect, useRef, useMemo, useCallback, createContext, useContext };

export const Session = createContext({ scopes: [] });
export const useCan = (name) => useContext(Session).scopes.includes(name);

export const Icon = ({ name }) =>
  html`<svg class="icon" aria-hidden="true" focusable="false"><use href=${`#icon-${name}`} /></svg>`;

/** Loads when the dependencies change; a newer load makes an older answer void. */
export function useLoad(load, dependencies) {
  const [state, setState] = useState({ loading: true });
  const [round, setRound] = useState(0);
  useEffect(() => {
    let current = true;
    setState((old) => ({ ...old, loading: true, error: null }));
    load().then(
      (data) => current && setState({ data, loading: false }),
      (error) => current && error.name !== "AbortError" && setState({ error, loading: false }),
    );
    return () => {
      current = false;
    };
  }, [...dependencies, round]);
  return { ...state, reload: () => setRound((n) => n + 1) };
}

/** Shows the state of a load, or its data. */
export function Loaded({ of, children, lines = 4 }) {
  if (of.error) return html`<${Failure} error=${of.error} retry=${of.reload} />`;
  if (of.data === undefined) return html`<${Skeleton} lines=${lines} />`;
  return children(of.data);
}

export const Skeleton = ({ lines = 4 }) => html`
  <div class="skeleton" role="status" aria-label="Loading">
    ${Array.from({ length: lines }, (_, n) => html`<span class=${`w${n % 4}`}></span>`)}</div>`;

/** What could not be loaded because nothing answers is said once, at the top of the page: see `Unreachable`. */
export const Failure = ({ error, retry }) => error.status === 0 ? html`<p class="muted not-loaded">Not loaded.</p>` : html`
  <div class="notice bad" role="alert"><${Icon} name="warning" /><div><strong>This did not work.</strong>
    <p dir="auto">${error.message}</p>
  ${retry && html`<button class="button small" onClick=${retry}>Try again</button>`}</div></div>`;

export const Empty = ({ icon = "memory", title, children }) => html`
  <div class="empty"><span class="empty-icon"><${Icon} name=${icon} /></span><h2>${title}</h2><div class="muted">
    ${children}</div></div>`;

/** For a key that may not look at everybody, before a user is named. */
export const NameSomebody = () =>
  html`<div class="notice warn" role="note"><${Icon} name="people" /><div><strong>Whose memories?</strong>
    <p>Name a user at the top. Until then only memories that belong to no user are shown: everybody’s need a key with the admin scope.</p>
    </div></div>`;

/** Whose memories are shown, as in “Ana’s”. */
export const whose = (scope) =>
  scope.user ? `${clip(scope.user, 40)}’s` : scope.all_users ? "everybody’s" : "no user’s";

export const NobodyCalled = ({ name, children }) =>
  html`<${Empty} icon="people" title="Nothing is known">Nothing is known about anybody called <b dir="auto">${nameOf(name, 80)}</b>. The names of users are compared exactly.${children}<//>`;

export const NothingYet = () =>
  html`<${Empty} title="Nothing is remembered yet">Memories appear here as soon as an agent writes one. <a href="#/overview">The overview</a> shows how, and offers a demo conversation.<//>`;

let hasMoved = false;
/** Says that another page was opened: the focus goes to its heading, so that the keyboard goes on from there. */
export const focusNextPage = (toHeading = true) => {
  hasMoved = toHeading;
};

export const Page = ({ title, tab = title, lead, actions, children }) => {
  const heading = useRef(null);
  useEffect(() => {
    document.title = `${tab} · Memoranda`;
  }, [tab]);
  // Before the page is painted: later it would take the focus from a field that the reader has chosen since.
  useLayoutEffect(() => {
    if (hasMoved) heading.current.focus({ preventScroll: true });
    hasMoved = false;
  }, []);
  return html`<div class="page"><header class="page-head"><div><h1 ref=${heading} tabindex="-1" dir="auto">${title}</h1>
    ${lead && html`<p class="lead">${lead}</p>`}</div>
    ${actions && html`<div class="actions">${actions}</div>`}</header>${children}</div>`;
};

/** Where an address leads to nothing. */
export const Missing = ({ title, text, back = "overview", children }) => html`<${Page} title=${title} lead=${text}>
  <p class="actions">${children}<a class="button" href=${`#/${back}`}><${Icon} name="back" />${back === "memories" ? "All memories" : "Overview"}
    </a></p><//>`;

export const Card = ({ title, aside, children, cls = "" }) => html`
  <section class=${`card ${cls}`}>${title && html`<header class="card-head"><h2>${title}</h2>
    ${aside && html`<span class="muted">${aside}</span>`}</header>`}${children}</section>`;

/** The language of the pages, with the order and the clock of the reader's region. */
export const LOCALE = (() => {
  const reader = new Intl.Locale(navigator.language || "en");
  return reader.language === "en" ? reader.toString() : `en-${reader.maximize().region || "001"}`;
})();
const exact = new Intl.DateTimeFormat(LOCALE, { dateStyle: "full", timeStyle: "long" });
const shortDay = new Intl.DateTimeFormat(LOCALE, { day: "numeric", month: "short", year: "numeric" });
const clock = new Intl.DateTimeFormat(LOCALE, { hour: "2-digit", minute: "2-digit" });
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

export function describeTime(text, now = Date.now()) {
  const then = new Date(text);
  const seconds = (then - now) / 1000;
  const age = Math.abs(seconds);
  if (age < 45) return "just now";
  if (age < 3600) return relative.format(Math.round(seconds / 60), "minute");
  if (age < 86400) return relative.format(Math.round(seconds / 3600), "hour");
  if (age < 7 * 86400) return relative.format(Math.round(seconds / 86400), "day");
  return shortDay.format(then);
}

/** A moment in the reader's zone; the exact time on hover. */
export const Time = ({ at, withClock = false }) =>
  at
    ? html`<time datetime=${at} title=${exact.format(new Date(at))}>
      ${withClock ? `${shortDay.format(new Date(at))}, ${clock.format(new Date(at))}` : describeTime(at)}</time>`
    : null;

// A day that a reader chooses is a day in the reader's zone.
const moment = (day, clock) => new Date(`${day}T${clock}`);
export const isDay = (day) => /^\d{4}-\d\d-\d\d$/.test(day) && !Number.isNaN(moment(day, "00:00:00").getTime());
export const startOfDay = (day) => moment(day, "00:00:00").toISOString();
export const endOfDay = (day) => moment(day, "23:59:59.999").toISOString();

const counted = new Intl.NumberFormat(LOCALE);
export const number = (value) => counted.format(value);
export const plural = (count, one, many = `${one}s`) => `${number(count)} ${count === 1 ? one : many}`;
export function duration(ms) {
  if (ms === null || ms === undefined) return "–";
  if (ms < 1000) return `${Number(ms.toFixed(ms < 10 ? 1 : 0))} ms`;
  if (ms < 60000) return `${(ms / 1000).toFixed(1)} s`;
  return ms < 3600000 ? `${(ms / 60000).toFixed(1)} min` : `${(ms / 3600000).toFixed(1)} h`;
}
export const percent = (value) => `${Math.round(100 * value)}%`;

export const TYPES = ["semantic", "episodic", "procedural", "working", "short_term", "long_term", "reflection", "shared"];
export const typeName = (type) => type.replace("_term", "-term");

export function stateOf(memory) {
  if (memory.quarantined_at) return "quarantined";
  if (memory.archived_at) return "archived";
  if (memory.superseded_by) return "superseded";
  if (memory.expires_at && new Date(memory.expires_at) <= new Date()) return "expired";
  return "current";
}

export const Badge = ({ children, tone = "" }) => html`<span class=${`badge ${tone}`}>${children}</span>`;

export function MemoryBadges({ memory, link = true }) {
  const state = stateOf(memory);
  return html`<span class="badges"><${Badge} tone=${`type ${memory.type}`}>${typeName(memory.type)}<//>
    ${state !== "current" && html`<${Badge} tone=${state}>${state}<//>`}
    ${memory.pinned && html`<${Badge} tone="pinned"><${Icon} name="pin" />pinned<//>`}
    ${!["user", "system", "assistant"].includes(memory.trust) && html`<${Badge} tone="trust">from a ${memory.trust}
      <//>`}
    ${memory.user && (link ? html`<a class="badge who" href=${`#/people/${encodeURIComponent(memory.user)}`} dir="auto">
      ${nameOf(memory.user, 40)}</a>` : html`<span class="badge who" dir="auto">${nameOf(memory.user, 40)}</span>`)}
      </span>`;
}

/** A text, cut to a length. Characters that turn the direction of what follows are shown, not obeyed. */
export function clip(text, length) {
  const shown = (text || "").replace(/[\u202a-\u202e\u2066-\u2069]/g, "\ufffd");
  return shown.length > length ? `${shown.slice(0, length)}…` : shown;
}

/** The same for a link or a title, which must have something to read: a text may be empty or only spaces. */
export const label = (text, length) => (/[\p{L}\p{N}\p{P}\p{S}]/u.test(text || "") ? clip(text, length) : "(no text)");

/** A name. What cannot be seen is shown: two names that look alike may not be the same. */
export const nameOf = (text, length) => label((text || "").replace(/[\u180e\u200b\u2060\ufeff]/g, "\ufffd"), length);

/** A text with the words of a question marked. It is always text, never markup. */
export function Marked({ text, terms }) {
  if (!terms || !terms.length) return text;
  const starts = terms
    .slice(0, 20)
    .map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"))
    .join("|");
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])((?:${starts})[\\p{L}\\p{N}]*)`, "giu");
  return text.split(pattern).map((part, n) => (n % 2 ? html`<mark>${part}</mark>` : part));
}

/** The words of a question that were looked up: its terms are stems, so a word counts when it begins like one. */
export function termsToMark(question, explanation) {
  const stems = explanation ? explanation.terms : [];
  const words = question.match(/[\p{L}\p{N}]{2,}/gu) || [];
  return words.filter((word) => stems.some((stem) => stem.startsWith(word.toLowerCase().slice(0, 3))));
}

/** A dialog of the browser: it keeps the focus inside, closes with Escape, and gives the focus back. */
export function Dialog({ title, children, onClose, actions }) {
  const ref = useRef(null);
  useEffect(() => {
    const [opened, before] = [ref.current, document.activeElement];
    if (!opened.open) opened.showModal();
    opened.querySelector(".dialog-body :is(textarea, input, select)")?.focus();
    addEventListener("hashchange", onClose); // it belongs to the page that it was opened on
    return () => {
      removeEventListener("hashchange", onClose);
      opened.close(); // nothing outside an open dialog takes the focus
      if (before?.isConnected && before !== document.body) before.focus();
      else document.querySelector("main h1")?.focus({ preventScroll: true });
    };
  }, []);
  return html`<dialog ref=${ref} onClose=${onClose} onCancel=${onClose} aria-label=${title}><header class="card-head">
    <h2>${title}</h2>
    <button class="button ghost small" aria-label="Close" onClick=${onClose}><${Icon} name="close" /></button>
      </header><div class="dialog-body">${children}</div>
    ${actions && html`<footer class="actions">${actions}</footer>`}</dialog>`;
}

let showToast = () => {};
/** Shows a notice. One `about` a thing takes the place of an earlier one about it. */
export const toast = (text, options = {}) => showToast({ text, ...options, id: Math.random() });
let dropUndo = () => {};
/** Takes away every offer to undo: what they are about may be gone. */
export const dropOffers = () => dropUndo();

export function Toasts() {
  const [shown, setShown] = useState([]);
  showToast = (one) => {
    setShown((old) => [...old.filter((each) => !one.about || each.about !== one.about).slice(-2), one]);
    setTimeout(() => setShown((old) => old.filter((each) => each.id !== one.id)), one.undo ? 10000 : 5000);
  };
  dropUndo = () => setShown((old) => old.filter((each) => !each.undo));
  const drop = (one) => setShown((old) => old.filter((each) => each.id !== one.id));
  return html`<div class="toasts" role="status" aria-live="polite">${shown.map(
    (one) => html`
    <div class=${`toast ${one.bad ? "bad" : ""}`} key=${one.id}><span>${one.text}</span>${
      one.undo &&
      html`<button class="button small" onClick=${() => {
        drop(one);
        one.undo();
      }}><${Icon} name="undo" />Undo</button>`
    }<button class="button ghost small" aria-label="Dismiss" onClick=${() => drop(one)}><${Icon} name="close" /></button></div>`,
  )}</div>`;
}

/** Runs an action and says how it ended. */
export async function act(work, done, undo, about) {
  try {
    const result = await work();
    if (done) toast(done, { undo, about });
    return result;
  } catch (error) {
    toast(error.message, { bad: true });
    throw error;
  }
}

/** The arrow down goes from a search field into the list of the page. */
export function enterList(event) {
  const row = event.key === "ArrowDown" && document.querySelector("main [data-row]");
  if (!row) return;
  event.preventDefault();
  row.focus();
}

/** Arrow keys move between the rows of a list. */
export function moveFocus(event) {
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  const rows = [...event.currentTarget.querySelectorAll("[data-row]")];
  const at = rows.indexOf(document.activeElement.closest("[data-row]"));
  const next = rows[at + (event.key === "ArrowDown" ? 1 : -1)];
  if (next) {
    event.preventDefault();
    next.focus();
  }
}

export const Bar = ({ share, label, tone = "" }) => {
  const ref = useRef(null);
  useEffect(() => {
    ref.current.style.width = `${Math.max(0, Math.min(100, share * 100))}%`;
  }, [share]);
  return html`<span class="bar" title=${label}><span class=${`bar-fill ${tone}`} ref=${ref}></span></span>`;
};

/** One row of a list of memories; a hit also has its score and reasons. */
export function MemoryRow({ memory, hit, terms }) {
  return html`<a class="row" data-row href=${`#/memories/${memory.id}`}>
    ${hit && html`<span class="score" title=${`score ${hit.score.toFixed(3)}`}><${Bar} share=${hit.score} label="" />
      <span>${hit.score.toFixed(2)}</span></span>`}
    <span class="row-main"><span class="row-text" dir="auto">
      <${Marked} text=${label(memory.content, 400)} terms=${terms} /></span>
      <span class="row-meta"><${MemoryBadges} memory=${memory} link=${false} />
        ${memory.speaker && html`<span dir="auto">${clip(memory.speaker, 40)}</span>`}
        <${Time} at=${memory.valid_from} />
      ${hit && html`<span class="reasons">${topReasons(hit.why).map((arm) => html`<${Badge} tone="why">${reasonName(arm.arm)}<//>`)}
        </span>`}</span></span>
    ${!hit && html`<span class="importance" title=${`importance ${memory.importance.toFixed(2)}`}>
      <${Bar} share=${memory.importance} label="" tone="quiet" /></span>`}</a>`;
}

export const topReasons = (why) =>
  why
    .filter((arm) => arm.gain > 0.05)
    .sort((a, b) => b.gain - a.gain)
    .slice(0, 4);

// In the words that the terminal uses: see display.py.
const REASONS = {
  lexical: "words",
  dense: "meaning",
  neighbours: "turns around it",
  session: "conversation",
  speaker: "who said it",
  time: "when",
  kind: "kind of answer",
  reranker: "read with the question",
};
export const reasonName = (arm) => REASONS[arm] || arm;

/** The share of each signal in the score of a hit. */
export function Signals({ why }) {
  const reasons = topReasons(why);
  const sum = reasons.reduce((total, arm) => total + arm.gain, 0) || 1;
  return html`<span class="signals">${reasons.map((arm) => html`<span class="signal"><span>${reasonName(arm.arm)}</span>
    <${Bar} share=${arm.gain / sum} label=${`${arm.arm}: ${percent(arm.gain / sum)} of the score, rank ${arm.rank}`} tone="quiet" />
    <span class="muted">${percent(arm.gain / sum)}</span></span>`)}</span>`;
}

let loadedScripts = {};
export function loadScript(path) {
  loadedScripts[path] ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = path;
    script.onload = resolve;
    script.onerror = () => reject(new Error(`${path} could not be loaded`));
    document.head.append(script);
  });
  return loadedScripts[path];
}

export const cssValue = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const prefersDark = matchMedia("(prefers-color-scheme: dark)");

/** Uses these colours from now on; without a choice, those that the system prefers. */
export function setTheme(choice = localStorage.getItem("theme")) {
  if (choice) localStorage.setItem("theme", choice);
  document.documentElement.dataset.theme = choice || (prefersDark.matches ? "dark" : "light");
  window.dispatchEvent(new Event("theme"));
}
prefersDark.addEventListener("change", () => setTheme());

/** Returns the colours in use; a component that calls it is drawn again when they change. */
export function useTheme() {
  const [theme, setShown] = useState(document.documentElement.dataset.theme);
  useEffect(() => {
    const again = () => setShown(document.documentElement.dataset.theme);
    window.addEventListener("theme", again);
    return () => window.removeEventListener("theme", again);
  }, []);
  return theme;
}
