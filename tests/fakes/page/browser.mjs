// As much of a browser as the page needs, for node: elements, the address, storage, and a server
// whose answers a test gives. A test names what it asks for: `routes["GET /api/todos"]`.
import { readFileSync } from "node:fs";

export const routes = {};
export const calls = [];
const listeners = {};

class Element {
  constructor(name) {
    Object.assign(this, { tagName: name.toUpperCase(), parent: null, children: [], attributes: {}, on: {} });
    Object.assign(this, { dataset: {}, style: {}, value: "", hidden: false, textContent: "" });
    this.classList = { toggle() {} };
  }
  get selectionStart() { return this.value.length; }
  setAttribute(name, value) {
    this.attributes[name] = value;
    if (name.startsWith("data-")) this.dataset[name.slice(5)] = value;
    if (name === "id") this.id = value;
  }
  getAttribute(name) { return this.attributes[name] ?? null; }
  removeAttribute(name) { delete this.attributes[name]; }
  addEventListener(name, listener) { (this.on[name] ??= []).push(listener); }
  append(...added) {
    for (const each of added) {
      const child = typeof each === "string" ? Object.assign(new Element("#text"), { textContent: each }) : each;
      child.parent = this;
      this.children.push(child);
    }
  }
  prepend(child) { this.append(child); }
  remove() { this.parent.children = this.parent.children.filter((each) => each !== this); }
  replaceWith(other) { this.parent.children[this.parent.children.indexOf(this)] = Object.assign(other, { parent: this.parent }); }
  replaceChildren(...added) {
    if (this.contains(document.activeElement) && document.activeElement !== this) document.activeElement = document.body;
    this.children = [];
    this.append(...added);
  }
  contains(other) { return Boolean(other) && (other === this || this.contains(other.parent)); }
  all() { return this.children.flatMap((each) => [each, ...each.all()]); }
  querySelectorAll(names) {
    const named = (each) => [each.tagName.toLowerCase(), `.${each.attributes.class}`];
    return this.all().filter((each) => names.split(", ").some((name) => named(each).includes(name)));
  }
  querySelector(name) {
    if (name.startsWith(".")) return this.querySelectorAll(name)[0] || null;
    return this.all().find((each) => each.dataset[name.slice(6, -1)]) || null;
  }
  setRangeText(text, from, end) { this.value = this.value.slice(0, from) + text + this.value.slice(end); }
  setSelectionRange() {}
  showModal() { this.open = true; }
  close() { this.open = false; }
  focus() { document.activeElement = this; }
  async dispatchEvent(event) {
    for (const listener of this.on[event.type] || []) await listener({ target: this, preventDefault() {}, stopImmediatePropagation() {}, ...event });
  }
  fire(type, more = {}) { return this.dispatchEvent({ type, ...more }); }
}

const body = new Element("body");
const html = readFileSync(new URL("index.html", import.meta.url), "utf-8");
for (const [, name, id] of html.matchAll(/<(\w+)[^>]* id="([\w-]+)"/g)) {
  const made = new Element(name);
  made.setAttribute("id", id);
  body.append(made);
}
let hash = process.env.PAGE_HASH || "";
Object.assign(globalThis, {
  Node: Element, innerHeight: 800, calls,
  Event: class { constructor(type) { this.type = type; } },
  document: {
    body, activeElement: body,
    createElement: (name) => new Element(name),
    createTextNode: () => Object.assign(new Element("#text"), { appendData(text) { this.textContent += text; } }),
    getElementById: (id) => body.all().find((each) => each.id === id) || null,
  },
  location: {
    get hash() { return hash; },
    set hash(value) {
      const next = value.startsWith("#") ? value : `#${value}`;
      if (next !== hash) setTimeout(() => listeners.hashchange.forEach((each) => each()));
      hash = next;
    },
  },
  history: { replaceState: (state, title, to) => { hash = to ?? hash; } },
  sessionStorage: Object.assign(Object.create({
    getItem(key) { return this[key] ?? null; }, setItem(key, value) { this[key] = value; }, removeItem(key) { delete this[key]; },
  }), {}),
  addEventListener: (name, listener) => (listeners[name] ??= []).push(listener),
  requestAnimationFrame: (act) => setTimeout(act),
  confirm: () => false,
  async fetch(path, { method, body: sent, headers }) {
    calls.push({ method, path, body: sent && JSON.parse(sent), headers });
    const answer = routes[`${method} ${path}`] ?? routes[`${method} ${path.split("?")[0]}`];
    const made = typeof answer === "function" ? await answer() : answer;
    const status = made === undefined ? 404 : made.status ?? 200;
    const { body: stream } = new Response(made?.stream);
    return { ok: status < 400, status, body: stream, json: async () => made ?? { error: "no such thing" } };
  },
});
Object.assign(routes, {
  "GET /api/sessions": [], "GET /api/runs": { runs: [] }, "GET /api/todos": [], "GET /api/tree": [],
  "GET /api/skills": [{ name: "weekly", description: "The week", user_invocable: true, eligible: true }],
});

export const get = (id) => document.getElementById(id);
export const focusWindow = () => listeners.focus.forEach((each) => each());
export const wait = (ms = 5) => new Promise((done) => setTimeout(done, ms));
export const find = (text, within = body) => within.all().find((each) => each.textContent === text);
