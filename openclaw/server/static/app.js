// The page: its address, its columns, the list of conversations, and the keys.
import { fetchJson, logIn, onRefused } from "./api.js";
import { address, button, decode, get, go, make, minute, problem, view } from "./dom.js";
import { TABS, fill, isEdited, refresh } from "./tabs.js";
import { isRunning, open, start, stop } from "./talk.js";

/** @type {any[]} */
let sessions = [];

function readAddress() {
  const parts = location.hash.slice(1).split("/").slice(1).map(decode);
  const [kind, session = "new", tab = "todos", rest = ""] = parts;
  const known = kind === "s";
  return { session: known && session !== "new" ? session : "", tab: known && TABS[tab] ? tab : "todos", rest: known ? rest : "" };
}

let opened = "?";

async function show() {
  const next = readAddress();
  const moved = next.tab !== view.tab || next.rest !== view.rest;
  if (moved && isEdited() && !confirm("What you typed is not saved. Leave it?")) return go({});
  showColumn(moved && location.hash ? history.state?.column || "panel" : document.body.dataset.view || "");
  Object.assign(view, next);
  showTabs();
  showSessions();
  const filled = moved ? fill() : refresh();
  if (opened !== view.session) {
    opened = view.session;
    await open(view.session);
  }
  await filled;
}

function showTabs() {
  for (const each of get("tabs").children) {
    const chosen = each.id === `tab-${view.tab}`;
    each.setAttribute("aria-selected", String(chosen));
    each.setAttribute("tabindex", chosen ? "0" : "-1");
  }
}

function showSessions() {
  const wanted = get("filter").value.toLowerCase();
  const rows = sessions.filter((each) => (each.title || each.id).toLowerCase().includes(wanted)).slice(0, 200).map((each) =>
    make("li", {}, make("a", { href: `#${address({ session: each.id })}`, "aria-current": view.session === each.id ? "page" : null },
      make("span", { text: each.title || each.id }), make("small", { text: each.running ? "running" : minute(each.updated_at) }))));
  get("session-list").replaceChildren(...rows);
}

async function loadSessions() {
  try {
    const [found, { runs }] = await Promise.all([fetchJson("/api/sessions"), fetchJson("/api/runs")]);
    const running = new Set(runs.map((/** @type {any} */ run) => run.session_id));
    sessions = found.map((/** @type {any} */ each) => ({ ...each, running: running.has(each.id) }));
    showSessions();
    const mine = sessions.find((each) => each.id === view.session);
    if (mine && mine.title) get("title").textContent = mine.title;
  } catch (error) {
    get("session-list").replaceChildren(make("li", {}, problem(error)));
  }
}

/** Show what another tab, or the terminal, has added to the conversation meanwhile. */
async function catchUp() {
  const find = () => sessions.find((each) => each.id === view.session);
  const before = find();
  await loadSessions();
  const now = find();
  if (now && !isRunning() && (now.running || now.updated_at !== before?.updated_at)) await open(view.session, true);
}

function changed() {
  opened = view.session;
  loadSessions();
  refresh();
}

/**
 * On a narrow screen one column is shown; Back shows that of before.
 * @param {string} name
 */
function showColumn(name) {
  history.replaceState({ column: name }, "");
  document.body.dataset.view = name;
  for (const each of get("views").children) each.setAttribute("aria-pressed", String(each.dataset.view === name));
}

/** @param {KeyboardEvent} event */
function onKey(event) {
  const at = /** @type {HTMLElement} */ (event.target);
  const inText = /^(INPUT|TEXTAREA|SELECT)$/.test(at.tagName);
  if (event.isComposing) return; // an input method takes the keys
  if (event.key === "Escape" && !get("help").open) stop();
  else if (event.key === "?" && !inText) get("help").showModal();
  else if (event.altKey && event.key === "n") go({ session: "" });
  else if (event.altKey && event.key === "p") get("prompt").focus();
  else if (event.altKey && /^[1-8]$/.test(event.key)) go({ tab: Object.keys(TABS)[Number(event.key) - 1], rest: "" });
  else if (at.getAttribute("role") === "tab" && /^Arrow(Left|Right)$/.test(event.key)) moveTab(event.key === "ArrowLeft" ? -1 : 1);
  else return;
  if (event.key !== "Escape") event.preventDefault();
}

/** @param {number} by */
function moveTab(by) {
  const names = Object.keys(TABS);
  const next = names[(names.indexOf(view.tab) + by + names.length) % names.length];
  go({ tab: next, rest: "" });
  get(`tab-${next}`).focus();
}

function tellToken() {
  if (!get("locked").open) get("locked").showModal();
}

onRefused(tellToken);
await logIn();
start(changed);
get("tabs").append(...Object.entries(TABS).map(([name, { title }]) =>
  button(title, () => go({ tab: name, rest: "" }), { role: "tab", id: `tab-${name}`, "aria-controls": "tab" })));
get("new").addEventListener("click", () => {
  go({ session: "" });
  showColumn("talk");
  get("prompt").focus();
});
get("filter").addEventListener("input", showSessions);
get("session-list").addEventListener("click", () => showColumn("talk"));
for (const each of get("views").children) each.addEventListener("click", () => showColumn(each.dataset.view));
addEventListener("hashchange", async () => {
  if (!(await logIn())) return show();
  get("locked").close();
  opened = "?";
  go({});
  loadSessions();
});
addEventListener("beforeunload", (event) => {
  if (isEdited()) event.preventDefault();
});
addEventListener("keydown", onKey);
addEventListener("focus", catchUp);
await Promise.all([show(), loadSessions()]);
