// The tabs of the home: each fills the panel, and is filled anew when the home has changed.
import { ApiError, call, fetchJson } from "./api.js";
import { address, button, fileLink, get, go, make, minute, rendered, view } from "./dom.js";
import { problem } from "./talk.js";

/** @type {Record<string, {title: string, fill: (box: any) => Promise<void>}>} */
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
let edited = false;

/** Fill the panel with the tab of the view. */
export async function fill() {
  const mine = (filling += 1);
  const tab = TABS[view.tab] || TABS.todos;
  const box = make("div");
  edited = false;
  try {
    await tab.fill(box);
  } catch (error) {
    box.append(problem(error));
  }
  if (mine !== filling) return;
  const place = get("tab");
  place.setAttribute("aria-label", tab.title);
  place.replaceChildren(box);
}

/** Fill it again after a change of the home, unless something is being edited in it. */
export function refresh() {
  const at = document.activeElement;
  const typing = at && get("tab").contains(at) && /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName);
  if (!edited && !typing) fill();
}

/** Do something, fill the panel again, and tell what went wrong. @param {() => Promise<any>} act */
async function act(act) {
  try {
    await act();
    await fill();
  } catch (error) {
    get("tab").prepend(problem(error));
  }
}

/** @param {string} title @param {...any} children */
function block(title, ...children) {
  return make("section", { class: "block" }, make("h2", { text: title }), ...children);
}

/** @param {string[]} heads @param {any[][]} rows cells: texts or nodes */
function table(heads, rows) {
  const cell = (/** @type {any} */ each) => (each instanceof Node ? make("td", {}, each) : make("td", { text: each ?? "" }));
  return make("table", {},
    make("thead", {}, make("tr", {}, ...heads.map((text) => make("th", { scope: "col", text })))),
    make("tbody", {}, ...rows.map((row) => make("tr", {}, ...row.map(cell)))));
}

/** A form of one line. @param {string} label @param {string} text @param {(value: string) => Promise<any>} submit */
function lineForm(label, text, submit) {
  const input = make("input", { "aria-label": label, placeholder: label, autocomplete: "off" });
  return make("form", { class: "line", on: { submit: (/** @type {Event} */ event) => {
    event.preventDefault();
    if (input.value.trim()) act(() => submit(input.value.trim()));
  } } }, input, make("button", { text }));
}

// -------- to-dos

/** @param {any} box */
async function fillTodos(box) {
  const todos = await fetchJson("/api/todos");
  const lists = new Map([["Tasks", []], ...todos.map((/** @type {any} */ todo) => [todo.list, []])]);
  for (const todo of todos) lists.get(todo.list).push(todo);
  for (const [name, items] of lists) {
    const rows = items.map(todoRow);
    const add = lineForm(`New to-do in ${name}`, "Add", (text) => call("POST", "/api/todos", { text, list: name }));
    box.append(block(name, make("ul", { class: "todos" }, ...rows), add));
  }
  box.append(make("p", { class: "quiet", text: "A date in words counts: pay the rent due:friday" }));
}

/** @param {any} todo */
function todoRow(todo) {
  const path = `/api/todos/${encodeURIComponent(todo.id)}`;
  const done = make("input", { type: "checkbox", on: { change: () => act(() => call("PATCH", path, { done: done.checked })) } });
  done.checked = todo.done;
  const due = make("input", { type: "date", "aria-label": `Due: ${todo.text}`, value: todo.due || "",
    on: { change: () => act(() => call("PATCH", path, { due: due.value })) } });
  return make("li", { class: todo.overdue ? "late" : "" },
    make("label", {}, done, make("span", { text: todo.text.replace(/ due:\S+/, "") })), due,
    button("Remove", () => act(() => call("DELETE", path)), { "aria-label": `Remove: ${todo.text}` }));
}

// -------- files

/** @param {any} box */
async function fillFiles(box) {
  const [path, line] = splitPlace(view.rest);
  if (path) return fillEditor(box, path, line);
  const files = await fetchJson("/api/tree");
  const rows = files.map((/** @type {any} */ file) => [fileLink(file.path), `${file.size.toLocaleString()} B`]);
  const make_ = lineForm("Path of a new file, e.g. workspace/trip.md", "New", async (name) => {
    await call("POST", "/api/files", { path: name, content: "" });
    go({ rest: name });
  });
  box.append(block("Files", table(["Path", "Size"], rows), make_));
}

/** @param {string} place @returns {[string, number]} */
function splitPlace(place) {
  const found = place.match(/^(.*):(\d+)$/);
  return found ? [found[1], Number(found[2])] : [place, 0];
}

/** @param {any} box @param {string} path @param {number} line */
async function fillEditor(box, path, line) {
  const file = await fetchJson(`/api/files?path=${encodeURIComponent(path)}`);
  let base = file.content;
  const area = make("textarea", { class: "editor", "aria-label": path, spellcheck: "false" });
  area.value = file.content;
  area.readOnly = file.read_only;
  const said = make("p", { class: "quiet", role: "status" });
  const preview = make("div", { hidden: true });
  const save = async () => {
    try {
      const content = area.value;
      const done = await call("POST", "/api/files", { path, content, base });
      base = content;
      edited = false;
      said.textContent = done.merged ? "saved, together with what others changed meanwhile" : "saved";
      if (done.merged) {
        base = area.value = (await fetchJson(`/api/files?path=${encodeURIComponent(path)}`)).content;
      }
    } catch (error) {
      if (error instanceof ApiError && error.status === 409 && error.body.current !== undefined) {
        base = error.body.current;
        const theirs = make("textarea", { class: "editor", readonly: true, "aria-label": "what is there now" });
        theirs.value = error.body.current;
        said.replaceChildren(problem(error), make("span", { text: "What is there now:" }), theirs);
      } else {
        said.replaceChildren(problem(error));
      }
    }
  };
  area.addEventListener("input", () => { edited = true; });
  area.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "s") {
      event.preventDefault();
      save();
    }
  });
  const show = button("Preview", async () => {
    preview.hidden = !preview.hidden;
    area.hidden = !preview.hidden;
    show.setAttribute("aria-pressed", String(!preview.hidden));
    if (!preview.hidden) preview.replaceChildren(rendered((await call("POST", "/api/render", { text: area.value })).html));
  }, { "aria-pressed": "false" });
  const counted = await call("POST", "/api/tokens/files", { paths: [path] });
  const back = make("a", { href: `#${address({ rest: "" })}`, text: "All files" });
  const head = make("p", { class: "bar" }, back, make("strong", { text: path }),
    make("span", { class: "quiet", text: `${counted.files[0].tokens ?? "?"} tokens` }),
    file.read_only ? make("span", { text: "holds secrets: only shown" }) : button("Save", save), show);
  box.append(head, area, preview, said);
  if (line) requestAnimationFrame(() => markLine(area, line));
}

/** @param {any} area @param {number} line */
function markLine(area, line) {
  const lines = area.value.split("\n");
  const begin = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
  area.setSelectionRange(begin, begin + (lines[line - 1] || "").length);
  area.scrollTop = Math.max(0, (line - 4) * (area.scrollHeight / Math.max(lines.length, 1)));
}

// -------- memory

/** @param {any} box */
async function fillMemory(box) {
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
    const rows = waiting.map((/** @type {any} */ note) => [note.text, note.source || "",
      make("span", {}, button("Remember", () => act(() => call("POST", "/api/review", { accept: [String(note.n)] }))),
        button("Reject", () => act(() => call("POST", "/api/review", { reject: [String(note.n)] }))))]);
    box.append(block("Waiting for your yes", table(["Memory", "From", "Change"], rows)));
  }
  const rows = notes.map((/** @type {any} */ note) => [note.text, note.category, note.date || "", fileLink(note.path, note.line),
    button("Forget", () => act(() => call("DELETE", `/api/memory?note=${encodeURIComponent(`${note.path}:${note.line}`)}`)),
      { "aria-label": `Forget: ${note.text}` })]);
  box.append(block("What is remembered", table(["Memory", "Kind", "Date", "Where", "Change"], rows),
    lineForm("A fact to remember", "Remember", (text) => call("POST", "/api/memory", { text }))));
}

/** @param {any} answer */
function showPassages(answer) {
  const notices = answer.notices.map((/** @type {string} */ text) => make("p", { class: "quiet", text }));
  if (!answer.passages.length) return [make("p", { text: "nothing found" }), ...notices];
  const rows = answer.passages.map((/** @type {any} */ each) => [fileLink(each.path, each.start_line), each.score.toFixed(2),
    Object.entries(each.ranks).map(([name, rank]) => `${name} ${rank.rank}`).join(", "), make("pre", { text: each.text })]);
  return [table(["Where", "Score", "Ranks", "Text"], rows), ...notices];
}

// -------- skills

/** @param {any} box */
async function fillSkills(box) {
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
    skill.eligible ? "ok" : "not used", skill.description,
    skill.problems.map((/** @type {any} */ each) => each.message).join("; ")]);
  box.append(block("Skills", table(["Name", "State", "What it does", "Why not"], rows)));
}

// -------- inside

/** @param {any} box */
async function fillInside(box) {
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
  const rows = report.parts.map((/** @type {any} */ part) => [part.name, part.path ? fileOrText(part.path) : "", part.tokens.toLocaleString()]);
  rows.push(["reply", "", report.reply.toLocaleString()], ["free", "", report.free.toLocaleString()]);
  box.append(block("What the next prompt sends", bar, table(["Part", "File", "Tokens"], rows)));
  if (!view.session) return;
  const path = `/api/sessions/${encodeURIComponent(view.session)}`;
  const turn = view.rest ? `?turn=${encodeURIComponent(view.rest)}` : "";
  const why = await fetchJson(`${path}/why${turn}`).catch(() => null);
  if (why) box.append(showWhy(why));
  const raw = make("pre", { class: "raw" });
  const request = make("details", { on: { toggle: async () => {
    if (!raw.textContent) raw.textContent = (await fetchJson(`${path}/messages`)).raw;
  } } }, make("summary", { text: "The request, byte for byte" }), raw);
  box.append(request);
}

/** @param {string} path */
function fileOrText(path) {
  return /^(workspace|memory|skills)\//.test(path) ? fileLink(path) : make("span", { text: path });
}

/** @param {any} why */
function showWhy(why) {
  const section = block(`Why: ${why.prompt.slice(0, 80)}`, make("p", { class: "quiet", text: `turn ${why.turn}, ${minute(why.at)}, ${why.model}` }));
  const places = (/** @type {any[]} */ found) => table(["Passage", "Score", "Why not"],
    found.map((each) => [fileLink(each.path, each.start_line), each.score === undefined ? "" : Number(each.score).toFixed(2), each.rule || ""]));
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

// -------- history

/** @param {any} box */
async function fillHistory(box) {
  const turns = await fetchJson("/api/log?n=50");
  const list = make("ul", { class: "turns" });
  for (const turn of turns) {
    const files = turn.files.filter((/** @type {any} */ file) => !file.path.startsWith("sessions/"));
    const lines = files.map((/** @type {any} */ file) => `${file.path} +${file.added} -${file.removed}`).join(", ");
    const diff = make("pre", { class: "diff" });
    list.append(make("li", {}, make("details", { on: { toggle: async () => {
      if (diff.textContent) return;
      const whole = await fetchJson(`/api/log/${encodeURIComponent(turn.id)}`);
      diff.textContent = whole.files.filter((/** @type {any} */ file) => !file.path.startsWith("sessions/")).map((/** @type {any} */ file) => file.diff).join("\n") || "no files";
    } } }, make("summary", {}, make("span", { class: "quiet", text: `${minute(turn.at)} ${turn.undone ? "(undone) " : ""}` }),
      make("span", { text: turn.subject }), make("span", { class: "quiet", text: ` ${lines}` })), diff)));
  }
  const take = (/** @type {string} */ verb) => act(() => call("POST", `/api/${verb}`, {}));
  box.append(make("p", { class: "bar" }, button("Undo the newest", () => take("undo")), button("Redo", () => take("redo"))),
    block("History", list));
}

// -------- usage

/** @param {any} box */
async function fillUsage(box) {
  const usage = await fetchJson("/api/usage");
  const heads = ["Of", "Turns", "Sent", "Cached", "Written", "First token"];
  const row = (/** @type {any} */ sums) => [sums.name, sums.turns, sums.prompt_tokens.toLocaleString(), `${Math.round(sums.share * 100)} %`,
    sums.generated_tokens.toLocaleString(), sums.first_token_seconds ? `${sums.first_token_seconds.toFixed(1)} s` : ""];
  box.append(block("Models", table(heads, [usage.together, ...usage.models].map(row))), block("Days", table(heads, usage.days.map(row))));
}

// -------- settings

/** @param {any} box */
async function fillSettings(box) {
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
