// Making elements. Text is always set as text; only the server's rendered Markdown is set as HTML.

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
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
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

/** The server's rendered Markdown; its HTML is made from text there. @param {string} html */
export function rendered(html) {
  const box = make("div", { class: "md" });
  box.innerHTML = html;
  return box;
}

/** @param {string} at */
export function minute(at) {
  return at.slice(0, 16).replace("T", " ");
}

/** @param {string} path @param {number} [line] */
export function fileLink(path, line) {
  const place = line ? `${path}:${line}` : path;
  return make("a", { href: `#${address({ tab: "files", rest: place })}`, text: place });
}

/** @type {{session: string, tab: string, rest: string}} */
export const view = { session: "", tab: "todos", rest: "" };

/** The address of a view like the present one. @param {Partial<typeof view>} change */
export function address(change) {
  const next = { ...view, ...change };
  const parts = [next.session || "new", next.tab, next.rest].map(encodeURIComponent);
  return `/s/${parts.join("/")}`;
}

/** @param {Partial<typeof view>} change */
export function go(change) {
  location.hash = address(change);
}
