// History: every step with what it changed; undo and redo.
import { call, fetchJson } from "./api.js";
import { block, button, make, minute, view } from "./dom.js";

/** @param {any} box @param {import("./tabs.js").Act} act */
export async function fillHistory(box, act) {
  const turns = await fetchJson("/api/log?n=50");
  if (view.rest && !turns.some((/** @type {any} */ turn) => turn.id === view.rest)) {
    turns.unshift(await fetchJson(`/api/log/${encodeURIComponent(view.rest)}`));
  }
  const take = (/** @type {string} */ verb) => act(() => call("POST", `/api/${verb}`, {}));
  box.append(make("p", { class: "bar" }, button("Undo the newest", () => take("undo")), button("Redo", () => take("redo"))),
    block("History", make("ul", { class: "turns" }, ...turns.map(showTurn))));
}

/** @param {any} turn */
function showTurn(turn) {
  const lines = filesOf(turn).map((file) => `${file.path} +${file.added} -${file.removed}`).join(", ");
  const diff = make("pre", { class: "diff" });
  return make("li", {}, make("details", { open: turn.id === view.rest, on: { toggle: async () => {
    if (diff.textContent) return;
    const whole = await fetchJson(`/api/log/${encodeURIComponent(turn.id)}`);
    diff.textContent = filesOf(whole).map((file) => file.diff).join("\n") || "no files";
  } } }, make("summary", {}, make("span", { class: "quiet", text: `${minute(turn.at)} ${turn.undone ? "(undone) " : ""}` }),
    make("span", { text: turn.subject }), make("span", { class: "quiet", text: ` ${lines}` })), diff));
}

/**
 * The files of a turn, without those of the conversations.
 * @param {any} turn
 * @returns {any[]}
 */
function filesOf(turn) {
  return turn.files.filter((/** @type {any} */ file) => !file.path.startsWith("sessions/"));
}
