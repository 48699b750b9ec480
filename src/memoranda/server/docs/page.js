// Reads the OpenAPI document of this server and makes a form for each call. Everything is written as text, never as HTML.
"use strict";

const METHODS = ["get", "post", "put", "patch", "delete"];
const DEEPEST = 6;

function make(tag, properties, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

function resolve(schema, api) {
  if (!schema) return {};
  if (schema.$ref) return resolve(schema.$ref.slice(2).split("/").reduce((part, name) => part[name], api), api);
  const choices = schema.anyOf || schema.oneOf;
  return choices ? { ...schema, ...resolve(choices.find((choice) => choice.type !== "null"), api) } : schema;
}

function example(schema, api, depth = 0) {
  const found = resolve(schema, api);
  if (schema && schema.examples) return schema.examples[0];
  if (found.examples) return found.examples[0];
  if (found.default !== undefined && found.default !== null) return found.default;
  if (found.enum) return found.enum[0];
  if (found.const !== undefined) return found.const;
  if (depth > DEEPEST) return null;
  if (found.type === "array") return [example(found.items, api, depth + 1)];
  if (found.type === "integer" || found.type === "number") return Math.max(1, found.minimum || 0);
  if (found.type === "boolean") return false;
  if (found.type === "string") return "…";
  const needed = found.required || [];
  const shown = Object.entries(found.properties || {}).filter(([name, part]) => needed.includes(name) || part.examples);
  return Object.fromEntries(shown.map(([name, part]) => [name, example(part, api, depth + 1)]));
}

function makeField(parameter, api) {
  const input = make("input", { name: parameter.name, required: parameter.required || false });
  const schema = resolve(parameter.schema, api);
  if (parameter.required) input.value = String(example(parameter.schema, api));
  if (schema.default !== undefined && schema.default !== null) input.placeholder = String(schema.default);
  const note = [parameter.in, schema.type, parameter.required ? "needed" : "", parameter.description || schema.description];
  const label = make("label", {}, make("code", { textContent: parameter.name }), " ");
  label.append(make("small", { textContent: note.filter(Boolean).join(" · ") }), input);
  return { label, input, parameter };
}

function buildUrl(path, fields) {
  const query = new URLSearchParams();
  let filled = path;
  for (const { input, parameter } of fields) {
    if (parameter.in === "path") filled = filled.replace(`{${parameter.name}}`, encodeURIComponent(input.value));
    else if (parameter.in === "query" && input.value !== "") query.append(parameter.name, input.value);
  }
  return filled.replace(/^\//, "") + (query.size ? `?${query}` : "");
}

async function send(method, url, fields, body) {
  const headers = {};
  const key = document.getElementById("key").value.trim();
  if (key) headers.Authorization = `Bearer ${key}`;
  if (body !== null) headers["Content-Type"] = "application/json";
  for (const { input, parameter } of fields) {
    if (parameter.in === "header" && input.value !== "") headers[parameter.name] = input.value;
  }
  const started = performance.now();
  const response = await fetch(url, { method: method.toUpperCase(), headers, body, credentials: "omit" });
  const text = await response.text();
  return `${response.status} ${response.statusText} · ${Math.round(performance.now() - started)} ms\n\n${pretty(text)}`;
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function makeForm(method, path, operation, api) {
  const fields = (operation.parameters || []).map((parameter) => makeField(resolve(parameter, api), api));
  const content = operation.requestBody && operation.requestBody.content["application/json"];
  const body = content && make("textarea", { spellcheck: false, ariaLabel: "Body as JSON" });
  if (body) body.value = JSON.stringify(example(content.schema, api), null, 2);
  const button = make("button", { type: "submit", textContent: "Send" });
  const result = make("pre", { hidden: true, tabIndex: 0 });
  const form = make("form", {}, make("div", { className: "fields" }, ...fields.map((field) => field.label)));
  if (body) form.append(body);
  form.append(button, result);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    result.hidden = false;
    result.textContent = "…";
    try {
      result.textContent = await send(method, buildUrl(path, fields), fields, body ? body.value : null);
    } catch (error) {
      result.textContent = `No answer: ${error.message}`;
    }
    button.disabled = false;
  });
  return form;
}

function makeOperation(method, path, operation, api) {
  const summary = make("summary", {}, make("span", { className: "method", textContent: method.toUpperCase() }));
  summary.append(make("code", { textContent: path }), make("span", { className: "name", textContent: operation.operationId }));
  const body = make("div", { className: "body" }, make("p", { textContent: operation.description || operation.summary }));
  const element = make("details", { id: operation.operationId }, summary, body);
  element.dataset.words = [path, operation.operationId, operation.summary, operation.description].join(" ").toLowerCase();
  // The form is made when it is opened: there are many of them.
  element.addEventListener("toggle", () => body.append(makeForm(method, path, operation, api)), { once: true });
  return element;
}

function show(api) {
  const groups = new Map();
  for (const [path, item] of Object.entries(api.paths)) {
    for (const method of METHODS.filter((name) => item[name])) {
      const tag = (item[method].tags || ["other"])[0];
      if (!groups.has(tag)) groups.set(tag, make("section", {}, make("h2", { textContent: tag })));
      groups.get(tag).append(makeOperation(method, path, item[method], api));
    }
  }
  document.getElementById("operations").replaceChildren(...groups.values());
}

function filter(text) {
  const wanted = text.trim().toLowerCase();
  for (const section of document.querySelectorAll("section")) {
    const operations = [...section.querySelectorAll("details")];
    for (const each of operations) each.hidden = !each.dataset.words.includes(wanted);
    section.hidden = operations.every((each) => each.hidden);
  }
}

async function start() {
  document.getElementById("find").addEventListener("input", (event) => filter(event.target.value));
  const main = document.getElementById("operations");
  try {
    const response = await fetch("openapi.json", { credentials: "omit" });
    if (!response.ok) throw new Error(`the server answered ${response.status}`);
    show(await response.json());
  } catch (error) {
    main.replaceChildren(make("p", { textContent: `The OpenAPI document could not be read: ${error.message}` }));
  }
}

start();
