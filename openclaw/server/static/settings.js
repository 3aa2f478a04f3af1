// Settings: the persona's files, the model, and every key of openclaw.yaml.
import { call, fetchJson } from "./api.js";
import { block, fileLink, make } from "./dom.js";

/** @param {any} box @param {import("./tabs.js").Act} act */
export async function fillSettings(box, act) {
  const [rows, models] = await Promise.all([fetchJson("/api/config"), fetchJson("/api/models")]);
  const persona = ["workspace/SOUL.md", "workspace/USER.md", "workspace/AGENTS.md"].map((path) => make("li", {}, fileLink(path)));
  box.append(block("Who the agent is, who you are, how it works", make("ul", {}, ...persona)));
  const names = ["auto", ...models.models.filter((/** @type {any} */ each) => each.installed && each.kind === "chat").map((/** @type {any} */ each) => each.name)];
  const set = (/** @type {string} */ key, /** @type {string} */ value) => act(() => call("PATCH", "/api/config", { [key]: value }));
  const shown = rows.map((/** @type {any} */ row) => {
    const value = Array.isArray(row.value) ? row.value.join(", ") : row.value === null ? "null" : String(row.value);
    let field = make("output", { text: value });
    if (row.key === "model") {
      field = make("select", { on: { change: () => set(row.key, field.value) } },
        ...[...new Set([value, ...names])].map((name) => make("option", { text: name, value: name })));
    } else if (!row.terminal) {
      field = make("input", { value, title: row.takes, on: { change: () => set(row.key, field.value) } });
    }
    field.id = `set-${row.key}`;
    const about = row.terminal ? `${row.about} (at the terminal only)` : row.about;
    return make("div", { class: "setting" }, make("label", { for: field.id, text: row.key }), field, make("small", { text: about }));
  });
  box.append(block("Settings", ...shown));
  if (models.away) box.append(make("p", { class: "quiet", text: models.away }));
}
