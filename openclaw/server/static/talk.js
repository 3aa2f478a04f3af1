// The talk: messages of a conversation, and the run that answers it.
import { ApiError, call, fetchJson, follow } from "./api.js";
import { COMMANDS, completePrompt, userSkills } from "./completion.js";
import { address, button, fileLink, get, go, make, minute, placeLink, problem, rendered, view } from "./dom.js";

const PAGE = 50;
const NEAR = 80;

/**
 * The runs of the conversation that have not ended, in their order, each with its article.
 * @type {Map<string, any>}
 */
const runs = new Map();
let following = new AbortController();
let shown = PAGE;
/** @type {() => void} */
let changed = () => {};

/** @param {() => void} listener called when the home may have changed */
export function start(listener) {
  changed = listener;
  const prompt = get("prompt");
  completePrompt();
  get("composer").addEventListener("submit", (/** @type {Event} */ event) => {
    event.preventDefault();
    ask();
  });
  prompt.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      ask();
    }
  });
  prompt.addEventListener("input", () => {
    sessionStorage.setItem(draftKey(), prompt.value);
    fit(prompt);
  });
  get("stop").addEventListener("click", stop);
  get("scroll").addEventListener("scroll", () => {
    const box = get("scroll");
    sticky = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR;
  }, { passive: true });
  get("older").addEventListener("click", () => {
    shown += PAGE;
    open(view.session, true);
  });
  get("rename").addEventListener("click", () => rename());
  get("fork").addEventListener("click", () => fork());
  get("delete").addEventListener("click", remove);
}

function draftKey(session = view.session) {
  return `draft ${session || "new"}`;
}

/** @param {any} area */
function fit(area) {
  area.style.height = "auto";
  area.style.height = `${Math.min(area.scrollHeight + 2, innerHeight * 0.4)}px`;
}

/**
 * Show a conversation, "" for a new one.
 * @param {string} session
 */
export async function open(session, keep = false) {
  following.abort();
  runs.clear();
  if (!keep) shown = PAGE;
  const box = get("messages");
  get("prompt").value = sessionStorage.getItem(draftKey()) || "";
  fit(get("prompt"));
  setRunning(false);
  showActions();
  if (!session) {
    box.replaceChildren(make("p", { class: "quiet", text: "Nothing was said yet." }));
    get("title").textContent = "New conversation";
    get("older").hidden = true;
    return;
  }
  try {
    const found = await fetchJson(`/api/sessions/${encodeURIComponent(session)}?html=1&last=${shown}`);
    if (session !== view.session) return;
    get("title").textContent = found.title || session;
    get("older").hidden = !found.left_out;
    const messages = found.run ? beforeRun(found.messages, found.run) : found.messages;
    const scroll = get("scroll");
    const below = scroll.scrollHeight - scroll.scrollTop;
    box.replaceChildren(...messages.map(showMessage));
    for (const run of found.run ? [found.run, ...found.queued] : []) {
      box.append(bubble(run.message));
      addRun(run.id);
    }
    if (keep) scroll.scrollTop = scroll.scrollHeight - below;
    else scrollDown();
  } catch (error) {
    if (session === view.session) box.replaceChildren(problem(error));
  }
}

/**
 * The saved messages without those of the turn that runs: its events tell them.
 * @param {any[]} messages
 * @param {any} run
 */
function beforeRun(messages, run) {
  const last = messages.map((each) => each.role).lastIndexOf("user");
  const saved = last >= 0 && messages[last].content === run.message && Date.parse(messages[last].at) / 1000 >= run.began_at - 1;
  return saved ? messages.slice(0, last) : messages;
}

/** @param {string} text @param {string} [at] @param {number} [number] */
function bubble(text, at = "", number = 0) {
  const article = make("article", { class: "user", "aria-label": "You" }, make("p", { text }));
  if (number) {
    const label = `Fork before message ${number}`;
    article.append(make("footer", { text: minute(at) }, button("Fork here", () => fork(number), { title: label })));
  }
  return article;
}

/** @param {any} message */
function showMessage(message) {
  if (message.role === "user") return bubble(message.content, message.at, message.number);
  const article = make("article", { class: "agent", "aria-label": "Agent" });
  if (message.content) article.append(rendered(message.html || ""));
  for (const used of message.tool_calls || []) {
    const line = toolLine(used.tool, used.input);
    fillTool(line, used.output, used.ok, 0, "");
    article.append(line);
  }
  return article;
}

/** @param {string} tool @param {any} input */
function toolLine(tool, input) {
  const given = Object.values(input || {}).filter((each) => typeof each === "string")[0] || "";
  const summary = make("summary", {}, make("code", { text: `${tool} ${given}`.slice(0, 120) }), make("span", { class: "outcome", text: " ..." }));
  return make("details", { class: "tool" }, summary, make("pre", { text: JSON.stringify(input, null, 2) }));
}

/** @param {any} line @param {string} output @param {boolean} ok @param {number} seconds @param {string} said */
function fillTool(line, output, ok, seconds, said) {
  const took = seconds >= 0.05 ? `, ${seconds.toFixed(1)} s` : "";
  line.querySelector(".outcome").textContent = ` ${ok ? said || "done" : "failed"}${took}`;
  line.classList.toggle("failed", !ok);
  line.append(make("pre", { text: output }));
}

/** @param {string} text */
function setPrompt(text) {
  const prompt = get("prompt");
  prompt.value = text;
  sessionStorage.setItem(draftKey(), text);
  fit(prompt);
}

async function ask() {
  const prompt = get("prompt");
  const typed = prompt.value.trim();
  if (!typed) return;
  const { session } = view;
  const command = typed.match(/^\/([\w-]+)(?:\s+([\s\S]*))?$/);
  const body = { message: typed, skill: "", session_id: session || null, stream: false, queue: isRunning() };
  setPrompt("");
  try {
    if (command) {
      const [, name, words = ""] = command;
      if (await runCommand(name, words)) return;
      body.skill = await findSkill(name);
      body.message = words;
    }
    const begun = await call("POST", "/api/chat", body, { "Idempotency-Key": crypto.randomUUID() });
    if (view.session !== session) return changed(); // another conversation was opened meanwhile
    const box = get("messages");
    if (session !== begun.session_id) {
      view.session = begun.session_id;
      history.replaceState(history.state, "", `#${address({})}`);
      showActions();
      box.replaceChildren();
    }
    box.append(bubble(begun.message));
    scrollDown();
    changed();
    addRun(begun.run_id);
  } catch (error) {
    if (view.session !== session) return sessionStorage.setItem(draftKey(session), typed);
    setPrompt([typed, prompt.value].filter(Boolean).join("\n"));
    get("messages").append(problem(error));
    scrollDown();
  }
}

/** @param {string} name */
async function findSkill(name) {
  if ((await userSkills()).some((skill) => skill.name === name)) return name;
  throw new Error(`there is no command /${name}; type / alone to see them all`);
}

/**
 * Run a command of the page. False when there is none of that name.
 * @param {string} name
 * @param {string} words
 */
async function runCommand(name, words) {
  if (!Object.hasOwn(COMMANDS, name)) return false;
  const session = view.session;
  if (name === "new") go({ session: "" });
  else if (!session) throw new Error("nothing was said yet");
  else if (name === "fork") await fork();
  else if (name === "rename") await rename(words);
  else if (name === "compact") {
    get("state").textContent = "summing up";
    const done = await call("POST", `/api/sessions/${encodeURIComponent(session)}/compress`, {}).finally(() => {
      get("state").textContent = "";
    });
    await open(session);
    get("messages").append(make("p", { class: "quiet", text: `${done.messages || 0} messages were put into the archive: ${done.summary || "a summary stands for them"}` }));
  } else await takeBack(session, name);
  return true;
}

/** Offer what a conversation is needed for only when there is one. */
function showActions() {
  for (const name of ["rename", "fork", "delete"]) get(name).hidden = !view.session;
}

export function isRunning() {
  return runs.size > 0;
}

/** @param {boolean} running */
function setRunning(running) {
  get("stop").hidden = !running;
  get("send").textContent = running ? "Queue" : "Send";
  if (!running) get("state").textContent = "";
}

export function stop() {
  const [run] = runs.keys();
  if (run) call("POST", `/api/runs/${run}/stop`).catch(() => {});
}

/** @param {string} id */
function addRun(id) {
  const article = make("article", { class: "agent", "aria-label": "Agent", "aria-busy": "true" });
  get("messages").append(article);
  runs.set(id, article);
  setRunning(true);
  if (runs.size === 1) followRuns();
}

/** Show each run to its end, one after the other: a browser has six connections to a server. */
async function followRuns() {
  following.abort();
  const { signal } = (following = new AbortController());
  for (const [id, article] of runs) {
    const told = new Telling(article, id);
    try {
      await follow(id, (event) => told.hear(event), signal, (lost) => {
        get("state").textContent = lost ? "connection lost, trying again" : "";
      });
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return open(view.session, true);
      article.append(problem(error));
    }
    if (signal.aborted) return;
    article.removeAttribute("aria-busy");
    runs.delete(id);
    setRunning(isRunning());
    changed();
  }
}

/** What a run tells, in its article. */
class Telling {
  /** @param {any} article @param {string} run */
  constructor(article, run) {
    this.article = article;
    this.run = run;
    /** @type {Text | null} */
    this.text = null;
    /** @type {any} */
    this.segment = null;
    /** @type {Record<string, any>} */
    this.tools = {};
    /** @type {any} */
    this.question = null;
  }

  /** @param {any} event */
  hear(event) {
    switch (event.event) {
      case "run":
        get("state").textContent = event.state;
        break;
      case "progress":
        get("state").textContent = event.what || get("state").textContent;
        break;
      case "start":
        get("state").textContent = `${event.model} is reading`;
        break;
      case "retrieval":
        if (event.passages.length) this.article.append(passages(event.passages));
        break;
      case "token":
        this.write(event.text);
        break;
      case "thought":
        this.article.append(make("details", { class: "thought" }, make("summary", { text: "Thought" }), make("p", { text: event.text })));
        break;
      case "tool_start":
        this.endSegment();
        this.tools[event.id] = toolLine(event.tool, event.input);
        this.article.append(this.tools[event.id]);
        get("state").textContent = `${event.tool} runs`;
        break;
      case "tool_end":
        if (this.tools[event.id]) fillTool(this.tools[event.id], event.output, event.ok, event.seconds, event.said);
        break;
      case "new_response":
        this.endSegment();
        break;
      case "notice":
        this.note(event.text);
        break;
      case "compaction":
        this.note("The beginning of the conversation was put into the archive; a summary stands for it.");
        break;
      case "question":
        this.question = question(event, this.run);
        get("state").textContent = "waiting for your answer";
        this.article.append(this.question);
        break;
      case "answered":
        if (this.question) this.question.replaceWith(make("p", { class: "quiet", text: `answered: ${event.decision}` }));
        this.question = null;
        break;
      case "done":
        forgetEarlier();
        this.finish(event);
        break;
      case "error":
        forgetEarlier();
        this.question?.remove();
        this.article.append(make("p", { class: "problem", role: "alert", text: event.message + (event.hint ? ` (${event.hint})` : "") }));
        break;
    }
    keepDown();
  }

  /** @param {string} text */
  write(text) {
    if (!this.text) {
      this.text = document.createTextNode("");
      this.segment = make("div", { class: "stream" }, this.text);
      this.article.append(this.segment);
      get("state").textContent = "writing";
    }
    this.text.appendData(text);
  }

  endSegment() {
    this.text = null;
  }

  /** @param {string} text */
  note(text) {
    this.article.append(make("p", { class: "quiet", text }));
  }

  /** @param {any} done */
  finish(done) {
    const answer = rendered(done.html);
    if (this.segment && this.text) this.segment.replaceWith(answer);
    else this.article.append(answer);
    get("said").textContent = done.answer.slice(0, 1000);
    for (const line of done.verdicts || []) this.article.append(make("p", { class: "problem", text: line }));
    if (done.sources.length) {
      const places = done.sources.flatMap((/** @type {string} */ place) => [" ", placeLink(place)]);
      this.article.append(make("p", { class: "quiet", text: "from" }, ...places));
    }
    if (done.receipt_line) {
      const undo = button("Undo", () => takeBack(done.session_id), { class: "undo" });
      this.article.append(make("p", { class: "receipt", text: `${done.receipt_line} ` }, undo));
    }
    const why = make("a", { href: "#", text: "Why?", on: { click: (/** @type {Event} */ event) => {
      event.preventDefault();
      go({ tab: "inside", rest: "" });
    } } });
    this.article.append(make("footer", { class: "why" }, why));
  }
}

/** Take away what is of the newest turn alone, now that there is a newer one. */
function forgetEarlier() {
  for (const each of get("messages").querySelectorAll(".why, .undo")) each.remove();
}

/** @param {any[]} found */
function passages(found) {
  const rows = found.map((each) => make("li", {}, fileLink(each.path, each.start_line), make("pre", { text: each.text })));
  const many = `${found.length} passage${found.length === 1 ? "" : "s"} of memory went along`;
  return make("details", { class: "passages" }, make("summary", { text: many }), make("ul", {}, ...rows));
}

/**
 * A question with the whole call. It is never focused by itself: a typed Enter is no yes.
 * @param {any} asked
 * @param {string} run
 */
function question(asked, run) {
  const reply = (/** @type {any} */ body) =>
    call("POST", `/api/runs/${run}/answer`, { question: asked.id, ...body }).catch((error) => box.append(problem(error)));
  const box = make("section", { class: "question", role: "group", "aria-label": "Question" },
    make("p", { text: `The agent asks to do this (${asked.action.effect}):` }),
    make("pre", { text: asked.call }));
  if (asked.reason) box.append(make("p", { text: asked.reason }));
  if (asked.sources.length) {
    box.append(make("p", { class: "problem", text: `Text of others is in this conversation: ${asked.sources.join(", ")}` }));
  }
  box.append(button("Once", () => reply({ decision: "once" })));
  for (const grant of asked.offers) {
    const text = `In this answer: ${grant.kind} ${grant.value}`;
    box.append(button(text, () => reply({ decision: "session", grant })));
  }
  box.append(button("No", () => reply({ decision: "no" })));
  return box;
}

/** @param {string} session */
async function takeBack(session, verb = "undo") {
  try {
    await call("POST", `/api/${verb}`, { session });
    await open(view.session);
  } catch (error) {
    get("messages").append(problem(error));
  }
  changed();
}

async function rename(words = "") {
  const title = words || window.prompt("Title", get("title").textContent || "");
  if (!title) return;
  try {
    const named = await call("PUT", `/api/sessions/${encodeURIComponent(view.session)}`, { title });
    get("title").textContent = named.title;
  } catch (error) {
    get("messages").append(problem(error));
  }
  changed();
}

/** @param {number} [number] the first message that does not go along */
async function fork(number) {
  if (number === 1) return go({ session: "" });
  try {
    const at = number ? number - 1 : null;
    const made = await call("POST", `/api/sessions/${encodeURIComponent(view.session)}/fork`, { at });
    changed();
    go({ session: made.id });
  } catch (error) {
    get("messages").append(problem(error));
  }
}

async function remove() {
  if (!window.confirm("Delete this conversation? Undo puts it back.")) return;
  try {
    await call("DELETE", `/api/sessions/${encodeURIComponent(view.session)}`);
    changed();
    go({ session: "" });
  } catch (error) {
    get("messages").append(problem(error));
  }
}

let sticky = true;
let scheduled = false;

/** Keep the end in sight where it was. At most once a frame: it makes the browser lay out all. */
function keepDown() {
  if (!sticky || scheduled) return;
  scheduled = true;
  requestAnimationFrame(() => {
    scheduled = false;
    const box = get("scroll");
    box.scrollTop = box.scrollHeight;
  });
}

function scrollDown() {
  sticky = true;
  keepDown();
}
