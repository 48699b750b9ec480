import {
  html,
  useState,
  Page,
  Card,
  useCan,
  Icon,
  Badge,
  Empty,
  Failure,
  Skeleton,
  Dialog,
  toast,
  plural,
  number,
  clip,
  label,
  whose,
} from "../ui.js";
import { postScoped, getScope } from "../api.js";

const POLICIES = [
  ["extract", "Give the model the messages that it failed to read"],
  ["expire", "Archive what is past its expiry time"],
  ["merge", "Merge memories that are the same statement"],
  ["consolidate", "Make one memory of several about one thing"],
  ["fade", "Archive small talk whose importance has faded"],
  ["summarize", "Summarize conversations that have ended"],
  ["reflect", "Write down the most important statements of a week"],
  ["window", "Archive short-term memories beyond the newest 200"],
  ["delete", "Remove what has been archived for 30 days"],
];
const USUAL = ["extract", "expire", "merge", "consolidate", "fade"];

export function UpkeepPage() {
  const mayWrite = useCan("write");
  const [chosen, setChosen] = useState(USUAL);
  const [state, setState] = useState({});
  const [confirming, setConfirming] = useState(false);
  if (!mayWrite)
    return html`<${Page} title="Upkeep">
      <${Empty} icon="key" title="Your key can only read">Upkeep changes memories: sign in with a key that has the write scope.<//>
      <//>`;
  const run = async (dryRun) => {
    setConfirming(false);
    setState({ busy: dryRun ? "Looking at every memory…" : "Working…" });
    try {
      const report = await postScoped("/v1/upkeep", { policies: chosen, dry_run: dryRun });
      setState({ report });
      if (!dryRun) toast(`Upkeep is done: ${plural(report.decisions.length, "change")}`);
    } catch (error) {
      setState({ error });
    }
  };
  const flip = (name) => () => {
    setState({});
    setChosen(chosen.includes(name) ? chosen.filter((each) => each !== name) : [...chosen, name]);
  };
  return html`<${Page} title="Upkeep" lead=${`See what tidying would do, memory by memory and why, before it is done. It looks at ${whose(getScope())} memories.`}>
    <${Card} title="What to do"><div class="policies">${POLICIES.map(([name, does]) => html`<label class="policy">
      <input type="checkbox" checked=${chosen.includes(name)} onChange=${flip(name)} /><span><b>${name}</b>
      <span class="muted">${does}</span></span></label>`)}</div>
      <div class="actions"><button class="button primary" disabled=${!chosen.length || state.busy} onClick=${() => run(true)}>
        <${Icon} name="search" />Preview</button>
      <button class="button" disabled=${!state.report || !state.report.dry_run || !state.report.decisions.length} onClick=${() => setConfirming(true)}>
        <${Icon} name="upkeep" />Run it…</button></div><//>
    ${state.busy && html`<p role="status" class="muted">${state.busy}</p>
      <${Skeleton} lines=${5} />`}${state.error && html`<${Failure} error=${state.error} />`}${state.report && html`<${Report} report=${state.report} />`}
    ${
      confirming &&
      html`<${Dialog} title="Run upkeep?" onClose=${() => setConfirming(false)} actions=${html`<button class="button ghost" onClick=${() => setConfirming(false)}>Not now</button>
        <button class="button primary" onClick=${() => run(false)}>Run</button>`}>
      <p>About ${plural(state.report.decisions.length, "change")} as previewed. Pinned memories are left alone; what is archived can be restored.</p>
        <//>`
    }<//>`;
}

const PLANNED = { removed: "to remove", archived: "to archive", merged: "to merge", derived: "to make" };
/** What is done to a memory; in a preview, what would be. */
const named = (report, action) => (report.dry_run && PLANNED[action]) || action;
const TONES = { removed: "quarantined", archived: "archived", merged: "superseded", derived: "good" };

function Report({ report }) {
  const counts = {};
  for (const one of report.decisions) counts[one.action] = (counts[one.action] || 0) + 1;
  return html`<${Card} title=${report.dry_run ? "It would do this" : "It did this"} aside=${`${plural(report.examined, "memory", "memories")} examined`}>
    ${report.skipped && html`<div class="notice warn"><${Icon} name="warning" /><p>${report.skipped}</p>
      </div>`}${report.problems.map((problem) => html`<div class="notice bad"><${Icon} name="warning" /><p dir="auto">
      ${problem}</p></div>`)}
    ${
      report.decisions.length
        ? html`<p class="badges">${Object.entries(counts).map(([action, count]) => html`<${Badge} tone=${TONES[action]}>
          ${number(count)} ${named(report, action)}<//>`)}</p>
          <div class="scroll tall" tabindex="0" role="region" aria-label="Decisions"><table><thead><tr>
          <th scope="col">Policy</th><th scope="col">What</th><th scope="col">Memory</th><th scope="col">Why</th></tr>
          </thead><tbody>${report.decisions
            .slice(0, 500)
            .map(
              (one) => html`
      <tr><th scope="row">${one.policy}</th><td><${Badge} tone=${TONES[one.action]}>${named(report, one.action)}<//></td><td>
        ${one.id ? html`<a href=${`#/memories/${one.id}`} dir="auto">${label(one.content, 160)}
        </a>` : html`<span dir="auto">${clip(one.content, 160)}
        </span>`}${one.into ? html` → <a href=${`#/memories/${one.into}`}>${one.into}</a>` : ""}</td><td dir="auto">
        ${one.reason}</td></tr>`,
            )}</tbody></table></div>
      ${report.decisions.length > 500 && html`<p class="muted small">The first 500 of ${number(report.decisions.length)}.</p>`}`
        : html`<${Empty} icon="check" title="Nothing to do">Everything is tidy.<//>`
    }<//>`;
}
