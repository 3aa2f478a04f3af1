// Usage: tokens and seconds by model and by day. The server draws the plots.
import { fetchJson } from "./api.js";
import { block, make, table } from "./dom.js";

/** @param {any} box */
export async function fillUsage(box) {
  const [usage, plots] = await Promise.all([fetchJson("/api/usage"), fetchJson("/api/usage/plots")]);
  const heads = ["Of", "Turns", "Sent", "Cached", "Written", "First token"];
  const row = (/** @type {any} */ sums) => [sums.name, sums.turns, sums.prompt_tokens.toLocaleString(), `${Math.round(sums.share * 100)} %`,
    sums.generated_tokens.toLocaleString(), sums.first_token_seconds ? `${sums.first_token_seconds.toFixed(1)} s` : ""];
  for (const plot of plots) {
    const drawn = make("div");
    drawn.innerHTML = plot.svg;
    const names = plot.names.map((/** @type {string} */ name, /** @type {number} */ at) => make("span", { class: `bar-${at + 1}`, text: name }));
    box.append(block(plot.title, drawn, make("p", { class: "legend quiet" }, ...names)));
  }
  box.append(block("Models", table(heads, [usage.together, ...usage.models].map(row))), block("Days", table(heads, usage.days.map(row))));
}
