// Skills, with the reason for those that cannot be used.
import { call, fetchJson } from "./api.js";
import { address, block, make, rendered, table, view } from "./dom.js";

/** @param {any} box */
export async function fillSkills(box) {
  if (view.rest) {
    const skill = await fetchJson(`/api/skills/${encodeURIComponent(view.rest)}`);
    const { html } = await call("POST", "/api/render", { text: skill.body || "" });
    box.append(make("p", {}, make("a", { href: `#${address({ rest: "" })}`, text: "All skills" })),
      block(skill.name, make("p", { text: skill.description }), rendered(html)));
    return;
  }
  const skills = await fetchJson("/api/skills");
  const rows = skills.map((/** @type {any} */ skill) => [
    make("a", { href: `#${address({ rest: skill.name })}`, text: skill.name }),
    skill.eligible ? "ok" : `not used: ${skill.problems.map((/** @type {any} */ each) => each.message).join("; ")}`, skill.description]);
  box.append(block("Skills", table(["Name", "State", "What it does"], rows)));
}
