// Making elements. Text is always set as text; only what the server rendered is set as HTML.
import { ApiError } from "./api.js";

/**
 * @param {string} name
 * @param {Record<string, any>} [values] attributes; `on` holds listeners, `text` the text
 * @param {...(Node|string|null|undefined|false)} children
 * @returns {any}
 */
export function make(name, values = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(values)) {
    if (key === "on") {
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    } else if (key === "text") {
      element.textContent = String(value);
    } else if (value === true) {
      element.setAttribute(key, "");
    } else if (value !== false && value !== null && value !== undefined) {
      element.setAttribute(key, String(value));
    }
  }
  for (const child of children) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
  return element;
}

/** @param {string} id @returns {any} */
export function get(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`no element ${id}`);
  return found;
}

/** @param {string} text @param {() => unknown} act @param {Record<string, any>} [more] */
export function button(text, act, more = {}) {
  return make("button", { type: "button", text, on: { click: act }, ...more });
}

/**
 * The server's rendered Markdown; its HTML is made from text there.
 * @param {string} html
 */
export function rendered(html) {
  const box = make("div", { class: "md" });
  box.innerHTML = html;
  for (const link of box.querySelectorAll('a:not([href*=":"])')) {
    link.replaceWith(placeLink(decode(link.getAttribute("href") || ""), link.textContent || ""));
  }
  return box;
}

/** @param {unknown} error */
export function problem(error) {
  const hint = error instanceof ApiError && error.hint ? ` (${error.hint})` : "";
  const text = error instanceof Error ? error.message : String(error);
  return make("p", { class: "problem", role: "alert", text: text + hint });
}

/** @param {string} title @param {...any} children */
export function block(title, ...children) {
  return make("section", { class: "block" }, make("h2", { text: title }), ...children);
}

/** @param {string[]} heads @param {any[][]} rows cells: texts or nodes */
export function table(heads, rows) {
  const cell = (/** @type {any} */ each) => (each instanceof Node ? make("td", {}, each) : make("td", { text: each ?? "" }));
  return make("table", {},
    make("thead", {}, make("tr", {}, ...heads.map((text) => make("th", { scope: "col", text })))),
    make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map(cell)))));
}

/**
 * A form of one line.
 * @param {string} label
 * @param {string} text
 * @param {(value: string) => unknown} submit
 */
export function lineForm(label, text, submit) {
  const input = make("input", { "aria-label": label, placeholder: label, autocomplete: "off" });
  return make("form", { class: "line", on: { submit: (/** @type {Event} */ event) => {
    event.preventDefault();
    if (input.value.trim()) submit(input.value.trim());
  } } }, input, make("button", { text }));
}

/** @param {string} at */
export function minute(at) {
  return at.slice(0, 16).replace("T", " ");
}

/** @param {string} path @param {number} [line] @param {string} [text] */
export function fileLink(path, line, text) {
  const place = line ? `${path}:${line}` : path;
  return make("a", { href: `#${address({ tab: "files", rest: place })}`, text: text || place });
}

/**
 * A place like memory/MEMORY.md:3 as a link, when a tab shows its file.
 * @param {string} place
 * @param {string} [text]
 */
export function placeLink(place, text = place) {
  const [, path, line] = place.match(/^(.*?)(?::(\d+)(?:-\d+)?)?$/) || ["", place, ""];
  return /^(workspace|memory|skills)\//.test(path) ? fileLink(path, Number(line), text) : make("span", { text });
}

/** @param {string} part of an address, which others may have written */
export function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** @type {{session: string, tab: string, rest: string}} */
export const view = { session: "", tab: "todos", rest: "" };

/**
 * The address of a view like the present one.
 * @param {Partial<typeof view>} change
 */
export function address(change) {
  const next = { ...view, ...change };
  const parts = [next.session || "new", next.tab, next.rest].map(encodeURIComponent);
  return `/s/${parts.join("/")}`;
}

/** @param {Partial<typeof view>} change */
export function go(change) {
  location.hash = address(change);
}
