import { html, useState, Icon } from "../ui.js";
import { signIn } from "../api.js";

export function Login({ ended, onSignedIn }) {
  const [key, setKey] = useState("");
  const [problem, setProblem] = useState(null);
  const [busy, setBusy] = useState(false);
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    setProblem(null);
    try {
      onSignedIn(await signIn(key));
    } catch (error) {
      setProblem(error.message);
      setBusy(false);
    }
  };
  return html`<main id="main" class="centre" tabindex="-1"><form class="card login" onSubmit=${submit}>
    <img src="/ui/static/icon.svg" alt="" width="48" height="48" /><h1>Memoranda</h1>
    <p class="muted">${ended ? "Your session has ended. Sign in again." : "See what your agents remember, check that it is right, and correct it."}
      </p>
    <label for="key">API key</label>
    <input id="key" type="password" autocomplete="current-password" required autofocus value=${key} onInput=${(event) => setKey(event.target.value)} aria-describedby="key-help" aria-invalid=${problem ? "true" : undefined} />
    <p id="key-help" class="muted small">Make one with <code>memoranda keys create</code>. It is sent once; the browser keeps only a session cookie.</p>
    ${problem && html`<p class="problem" role="alert">${problem}</p>`}
    <button class="button primary" disabled=${busy || !key}><${Icon} name="key" />${busy ? "Signing in…" : "Sign in"}
      </button></form></main>`;
}
