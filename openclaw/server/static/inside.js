// Inside: what the next prompt sends, and what an answer was made of.
import { fetchJson } from "./api.js";
import { address, block, fileLink, make, minute, placeLink, problem, table, view } from "./dom.js";

/** @param {any} box */
export async function fillInside(box) {
  const of = view.session ? `?session=${encodeURIComponent(view.session)}` : "";
  const report = await fetchJson(`/api/context${of}`);
  const bar = make("div", { class: "window", role: "img", "aria-label": `${report.used} of ${report.window} tokens are used` });
  for (const part of report.parts) {
    const share = make("span", { title: `${part.name}: ${part.tokens} tokens` });
    share.style.flexGrow = String(part.tokens);
    bar.append(share);
  }
  const free = make("span", { class: "free", title: `free: ${report.free} tokens` });
  free.style.flexGrow = String(report.free + report.reply);
  bar.append(free);
  const rows = report.parts.map((/** @type {any} */ part) => [part.name, part.path ? placeLink(part.path) : "", part.tokens.toLocaleString()]);
  rows.push(["reply", "", report.reply.toLocaleString()], ["free", "", report.free.toLocaleString()]);
  const sends = block("What the next prompt sends", bar, table(["Part", "File", "Tokens"], rows));
  if (!view.session) return box.append(sends);
  const path = `/api/sessions/${encodeURIComponent(view.session)}`;
  const turn = view.rest ? `?turn=${encodeURIComponent(view.rest)}` : "";
  const why = await fetchJson(`${path}/why${turn}`).then(showWhy).catch((error) => turn && problem(error));
  if (why) box.append(why);
  box.append(sends);
  const raw = make("pre", { class: "raw" });
  const request = make("details", { on: { toggle: async () => {
    if (!raw.textContent) raw.textContent = (await fetchJson(`${path}/messages`)).raw;
  } } }, make("summary", { text: "The request, byte for byte" }), raw);
  box.append(request);
}

/** @param {any} why */
function showWhy(why) {
  const section = block(`Why: ${why.prompt.slice(0, 80)}`, make("p", { class: "quiet", text: `turn ${why.turn}, ${minute(why.at)}, ${why.model}` }));
  const places = (/** @type {any[]} */ found) => table(["Passage", "Score", "Why not"],
    found.map((each) => [fileLink(each.path, each.start_line), each.score === undefined ? "" : Number(each.score).toFixed(2), each.rule || ""]));
  const list = (/** @type {any[]} */ each) => make("ul", {}, ...each.map((place) => make("li", {}, placeLink(place))));
  if (why.sources.length) section.append(make("h3", { text: "Rests on" }), list(why.sources));
  if (why.changed.length) section.append(make("h3", { text: "Changed" }), list(why.changed));
  for (const claim of why.unbacked) section.append(make("p", { class: "problem", text: `not true, nothing of the kind happened: ${claim}` }));
  if (why.offered.length) section.append(make("h3", { text: "Offered" }), places(why.offered));
  if (why.left_out.length) section.append(make("h3", { text: "Left out" }), places(why.left_out));
  why.steps.forEach((/** @type {any} */ step, /** @type {number} */ at) => {
    section.append(make("h3", { text: `Step ${at + 1}` }));
    if (step.thought) section.append(make("p", { class: "quiet", text: step.thought }));
    if (step.said) section.append(make("p", { text: step.said }));
    for (const used of step.calls) {
      section.append(make("details", {}, make("summary", { text: `${used.tool}: ${used.ok ? "done" : "failed"}` }),
        make("pre", { text: JSON.stringify(used.input, null, 2) }), make("pre", { text: used.output })));
    }
  });
  const number = Number(why.turn);
  const link = (/** @type {number} */ to, /** @type {string} */ text) => make("a", { href: `#${address({ rest: String(to) })}`, text });
  section.append(make("p", { class: "bar" }, number > 1 && link(number - 1, "Earlier turn"), link(number + 1, "Later turn")));
  return section;
}
