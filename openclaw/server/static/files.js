// Files of the home: the list, an editor with preview, and who wrote each line.
import { ApiError, call, fetchJson } from "./api.js";
import { address, block, button, fileLink, go, lineForm, make, minute, problem, rendered, table, view } from "./dom.js";

/** @param {any} box @param {import("./tabs.js").Act} act */
export async function fillFiles(box, act) {
  const [path, line] = splitPlace(view.rest);
  if (path) return fillEditor(box, path, line);
  const files = await fetchJson("/api/tree");
  const rows = files.map((/** @type {any} */ file) => [fileLink(file.path), `${file.size.toLocaleString()} B`]);
  const fresh = lineForm("Path of a new file, e.g. workspace/trip.md", "New", (name) => act(async () => {
    await call("POST", "/api/files", { path: name, content: "" }, { "If-None-Match": "*" });
    go({ rest: name });
  }));
  box.append(block("Files", table(["Path", "Size"], rows), fresh));
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
      said.textContent = done.merged ? "saved, together with what others changed meanwhile" : "saved";
      if (area.value !== content) return;
      delete box.dataset.edited;
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
  area.addEventListener("input", () => { box.dataset.edited = "yes"; });
  area.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "s") {
      event.preventDefault();
      save();
    }
  });
  /** @type {any[]} */
  const shows = [];
  const instead = (/** @type {string} */ text, /** @type {() => Promise<any>} */ load) => {
    const show = button(text, async () => {
      const on = show.getAttribute("aria-pressed") === "false";
      try {
        preview.replaceChildren(on ? await load() : "");
      } catch (error) {
        return said.replaceChildren(problem(error));
      }
      for (const each of shows) each.setAttribute("aria-pressed", String(on && each === show));
      preview.hidden = !on;
      area.hidden = on;
    }, { "aria-pressed": "false" });
    shows.push(show);
    return show;
  };
  const read = instead("Preview", async () => rendered((await call("POST", "/api/render", { text: area.value })).html));
  const wrote = instead("Who wrote this", async () => writers(await fetchJson(`/api/blame?path=${encodeURIComponent(path)}`)));
  const counted = await call("POST", "/api/tokens/files", { paths: [path] });
  const back = make("a", { href: `#${address({ rest: "" })}`, text: "All files" });
  const head = make("p", { class: "bar" }, back, make("strong", { text: path }),
    make("span", { class: "quiet", text: `${counted.files[0].tokens ?? "?"} tokens` }),
    file.read_only ? make("span", { text: "holds secrets: only shown" }) : button("Save", save), read, wrote);
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

/**
 * The lines of a file with who wrote them; lines one after the other by the same turn are told once.
 * @param {any[]} lines
 */
function writers(lines) {
  const rows = lines.map((line, at) => {
    const same = at && lines[at - 1].by === line.by && lines[at - 1].at === line.at;
    const who = line.kind && line.kind !== "outside"
      ? make("a", { href: `#${address({ tab: "history", rest: line.turn })}`, text: line.prompt.slice(0, 80) || line.turn })
      : make("span", { text: line.by });
    return [line.line, make("code", { text: line.text }), same ? "" : minute(line.at), same ? "" : who];
  });
  return lines.length ? table(["Line", "Text", "When", "Who"], rows) : make("p", { text: "the file is empty" });
}
