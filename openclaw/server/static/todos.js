// To-dos: a list each, ticked, dated, added, removed, and moved between the lists.
import { call, fetchJson } from "./api.js";
import { block, button, lineForm, make } from "./dom.js";

/**
 * Lists that were named here and have no to-do yet.
 * @type {Set<string>}
 */
const named = new Set();

/** @param {any} box @param {import("./tabs.js").Act} act */
export async function fillTodos(box, act) {
  const todos = await fetchJson("/api/todos");
  /** @type {Map<string, any[]>} */
  const lists = new Map(["Tasks", ...todos.map((/** @type {any} */ todo) => todo.list), ...named].map((name) => [name, []]));
  for (const todo of todos) lists.get(todo.list)?.push(todo);
  for (const [name, items] of lists) {
    const rows = items.map((todo) => todoRow(todo, [...lists.keys()], act));
    const add = lineForm(`New to-do in ${name}`, "Add", (text) => act(() => call("POST", "/api/todos", { text, list: name })));
    box.append(takeDrops(block(name, make("ul", { class: "todos" }, ...rows), add), name, act));
  }
  box.append(lineForm("Name of a new list", "New list", (name) => act(async () => named.add(name))),
    make("p", { class: "quiet", text: "A date in words counts: pay the rent due:friday" }));
}

/** @param {any} todo @param {string[]} lists @param {import("./tabs.js").Act} act */
function todoRow(todo, lists, act) {
  const path = pathOf(todo.id);
  const done = make("input", { type: "checkbox", on: { change: () => act(() => call("PATCH", path, { done: done.checked })) } });
  done.checked = todo.done;
  const due = make("input", { type: "date", "aria-label": `Due: ${todo.text}`, value: todo.due || "",
    on: { change: () => act(() => call("PATCH", path, { due: due.value })) } });
  const list = lists.length > 1 && make("select", { "aria-label": `List: ${todo.text}`,
    on: { change: () => act(() => call("PATCH", path, { list: list.value })) } },
    ...lists.map((name) => make("option", { text: name, value: name, selected: name === todo.list })));
  return make("li", { class: todo.overdue ? "late" : "", draggable: "true", "data-id": todo.id,
    on: { dragstart: (/** @type {DragEvent} */ event) => event.dataTransfer?.setData("text/plain", todo.id) } },
    make("label", {}, done, make("span", { text: todo.text.replace(/ due:\S+/, "") })), due, list,
    button("\u00d7", () => act(() => call("DELETE", path)), { "aria-label": `Remove: ${todo.text}` }));
}

/**
 * Let a to-do be dropped on a list.
 * @param {any} section
 * @param {string} name
 * @param {import("./tabs.js").Act} act
 */
function takeDrops(section, name, act) {
  const over = (/** @type {boolean} */ on) => section.classList.toggle("over", on);
  section.addEventListener("dragover", (/** @type {DragEvent} */ event) => {
    event.preventDefault();
    over(true);
  });
  section.addEventListener("dragleave", () => over(false));
  section.addEventListener("drop", (/** @type {DragEvent} */ event) => {
    event.preventDefault();
    over(false);
    const id = event.dataTransfer?.getData("text/plain") || "";
    if (!section.querySelector(`[data-id="${CSS.escape(id)}"]`)) act(() => call("PATCH", pathOf(id), { list: name }));
  });
  return section;
}

/** @param {string} id */
function pathOf(id) {
  return `/api/todos/${encodeURIComponent(id)}`;
}
