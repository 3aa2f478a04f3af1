// Memory: what is remembered, what waits for a yes, and the search with its ranks.
import { call, fetchJson } from "./api.js";
import { block, button, fileLink, lineForm, make, problem, table } from "./dom.js";

/** @param {any} box @param {import("./tabs.js").Act} act */
export async function fillMemory(box, act) {
  const [notes, waiting] = await Promise.all([fetchJson("/api/memory"), fetchJson("/api/review")]);
  const found = make("div", { "aria-live": "polite" });
  const query = make("input", { type: "search", "aria-label": "Look for", placeholder: "Look for", autocomplete: "off" });
  const look = make("form", { class: "line", on: { submit: async (/** @type {Event} */ event) => {
    event.preventDefault();
    try {
      const answer = await fetchJson(`/api/search?explain=1&k=10&q=${encodeURIComponent(query.value)}`);
      found.replaceChildren(...showPassages(answer));
    } catch (error) {
      found.replaceChildren(problem(error));
    }
  } } }, query, make("button", { text: "Search" }));
  box.append(block("Search", look, found));
  if (waiting.length) {
    const review = (/** @type {any} */ note, /** @type {string} */ verb) => act(async () => {
      const { n } = await findAgain("/api/review", note);
      await call("POST", "/api/review", { [verb]: [String(n)] });
    });
    const rows = waiting.map((/** @type {any} */ note) => [make("span", { text: note.text }), note.source || "",
      make("span", {}, ...[["Remember", "accept"], ["Reject", "reject"]].map(([name, verb]) =>
        button(name, () => review(note, verb), { "aria-label": `${name}: ${note.text}` })))]);
    box.append(block("Waiting for your yes", table(["Memory", "From", "Change"], rows)));
  }
  const rows = notes.map((/** @type {any} */ note) => [make("span", { text: note.text }), note.category, note.date || "", fileLink(note.path, note.line),
    button("Forget", () => act(async () => {
      const { path, line } = await findAgain("/api/memory", note);
      await call("DELETE", `/api/memory?note=${encodeURIComponent(`${path}:${line}`)}`);
    }),
      { "aria-label": `Forget: ${note.text}` })]);
  box.append(block("What is remembered", table(["Memory", "Kind", "Date", "Where", "Change"], rows),
    lineForm("A fact to remember", "Remember", (text) => act(() => call("POST", "/api/memory", { text })))));
}

/**
 * A memory as it stands by now: its number and line may be another's since it was shown.
 * @param {string} list
 * @param {any} note
 */
async function findAgain(list, note) {
  const all = await fetchJson(list);
  const same = all.filter((/** @type {any} */ each) => each.path === note.path && each.text === note.text);
  const found = same.find((/** @type {any} */ each) => each.line === note.line) || same[0];
  if (!found) throw new Error(`this is no longer there: ${note.text}`);
  return found;
}

/** @param {any} answer */
function showPassages(answer) {
  const notices = answer.notices.map((/** @type {string} */ text) => make("p", { class: "quiet", text }));
  if (!answer.passages.length) return [make("p", { text: "nothing found" }), ...notices];
  const rows = answer.passages.map((/** @type {any} */ each) => [fileLink(each.path, each.start_line), each.score.toFixed(2),
    Object.entries(each.ranks).map(([name, rank]) => `${name} ${rank.rank}`).join(", "), make("pre", { text: each.text })]);
  return [table(["Where", "Score", "Ranks", "Text"], rows), ...notices];
}
