// The tabs of the home: each fills the panel, and is filled anew when the home has changed.
import { get, make, problem, view } from "./dom.js";
import { fillFiles } from "./files.js";
import { fillHistory } from "./history.js";
import { fillInside } from "./inside.js";
import { fillMemory } from "./memory.js";
import { fillSettings } from "./settings.js";
import { fillSkills } from "./skills.js";
import { fillTodos } from "./todos.js";
import { fillUsage } from "./usage.js";

/** Does something, fills the panel again, and tells what went wrong.
 * @typedef {(act: () => Promise<any>) => Promise<void>} Act */

/** @type {Record<string, {title: string, fill: (box: any, act: Act) => Promise<void>}>} */
export const TABS = {
  todos: { title: "To-dos", fill: fillTodos },
  files: { title: "Files", fill: fillFiles },
  memory: { title: "Memory", fill: fillMemory },
  skills: { title: "Skills", fill: fillSkills },
  inside: { title: "Inside", fill: fillInside },
  history: { title: "History", fill: fillHistory },
  usage: { title: "Usage", fill: fillUsage },
  settings: { title: "Settings", fill: fillSettings },
};

let filling = 0;

/** Fill the panel with the tab of the view. `again`: with what it shows already. */
export async function fill(again = false) {
  const mine = (filling += 1);
  const tab = TABS[view.tab] || TABS.todos;
  const box = make("div");
  try {
    await tab.fill(box, act);
  } catch (error) {
    box.append(problem(error));
  }
  if (mine !== filling) return;
  const place = get("tab");
  place.setAttribute("aria-label", tab.title);
  const at = document.activeElement;
  const before = controls(place).findIndex((each) => each === at);
  const label = at?.getAttribute("aria-label");
  const inside = place.contains(at);
  place.replaceChildren(box);
  if (!inside) return;
  const now = controls(place);
  const same = again && ((label && now.find((each) => each.getAttribute("aria-label") === label)) || now[before]);
  (same || place).focus();
}

/** @param {any} place @returns {any[]} */
function controls(place) {
  return [...place.querySelectorAll("a, button, input, select, summary, textarea")];
}

/** Tell whether the panel holds a text that is not saved. */
export function isEdited() {
  return Boolean(get("tab").querySelector("[data-edited]"));
}

/** Fill it again after a change of the home, unless something is being edited in it. */
export async function refresh() {
  const at = document.activeElement;
  const place = get("tab");
  const typing = at && place.contains(at) && /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName);
  if (!typing && !isEdited()) await fill(true);
}

/** @type {Act} */
async function act(doIt) {
  try {
    await doIt();
    await fill(true);
  } catch (error) {
    get("tab").prepend(problem(error));
  }
}
