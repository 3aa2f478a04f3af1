// Completion in the prompt: /commands and skills at its beginning, files of the home after an @.
import { fetchJson } from "./api.js";
import { get, make } from "./dom.js";

const MOST = 8;

/**
 * Commands of the page, each with what it does.
 * @type {Record<string, string>}
 */
export const COMMANDS = {
  new: "begin a new conversation",
  fork: "go on in a copy of this conversation",
  rename: "give this conversation a name",
  undo: "take back the newest turn of this conversation",
  redo: "put back what was taken back",
  compact: "sum up older messages",
};

/** @type {{text: string, meaning: string}[]} */
let choices = [];
let from = 0;
let chosen = 0;

/**
 * The skills that a user may name.
 * @returns {Promise<any[]>}
 */
export async function userSkills() {
  return (await fetchJson("/api/skills")).filter((/** @type {any} */ skill) => skill.user_invocable && skill.eligible);
}

/** Offer completions in the prompt. Call it before other listeners of its keys. */
export function completePrompt() {
  const prompt = get("prompt");
  prompt.addEventListener("input", () => offer(prompt));
  prompt.addEventListener("blur", () => setTimeout(close, 200));
  prompt.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (!choices.length || event.isComposing) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") choose(chosen + (event.key === "ArrowDown" ? 1 : -1));
    else if (event.key === "Tab" || event.key === "Enter") take(prompt);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
    event.stopImmediatePropagation();
  });
}

/** @param {any} prompt */
async function offer(prompt) {
  const before = prompt.value.slice(0, prompt.selectionStart);
  const named = before.match(/^\/([\w-]*)$/);
  const found = named || before.match(/(?:^|\s)@([^\s"]+)$/);
  if (!found) return close();
  const part = found[1].toLowerCase();
  /** @type {typeof choices} */
  const all = named ? await commands() : await files();
  if (before !== prompt.value.slice(0, prompt.selectionStart)) return;
  const begin = all.filter((each) => each.text.toLowerCase().startsWith(part));
  choices = (begin.length ? begin : all.filter((each) => each.text.toLowerCase().includes(part))).slice(0, MOST);
  from = before.length - found[1].length;
  if (choices.length === 1 && choices[0].text.toLowerCase() === part) return close();
  get("choices").replaceChildren(...choices.map(({ text, meaning }, at) =>
    make("li", { role: "option", id: `choice-${at}`, on: { mousedown: (/** @type {Event} */ event) => {
      event.preventDefault();
      chosen = at;
      take(prompt);
    } } }, make("strong", { text }), make("small", { text: ` ${meaning}` }))));
  get("choices").hidden = !choices.length;
  choose(0);
}

async function commands() {
  const skills = await userSkills();
  return [...Object.entries(COMMANDS).map(([text, meaning]) => ({ text, meaning })),
    ...skills.map((skill) => ({ text: skill.name, meaning: skill.description.slice(0, 80) }))];
}

async function files() {
  return (await fetchJson("/api/tree")).map((/** @type {any} */ file) => ({ text: file.path, meaning: "" }));
}

/** @param {number} at */
function choose(at) {
  chosen = choices.length ? (at + choices.length) % choices.length : 0;
  [...get("choices").children].forEach((each, number) => each.setAttribute("aria-selected", String(number === chosen)));
  if (choices.length) get("prompt").setAttribute("aria-activedescendant", `choice-${chosen}`);
  else get("prompt").removeAttribute("aria-activedescendant");
}

/**
 * Put the choice into the prompt.
 * @param {any} prompt
 */
function take(prompt) {
  const { text } = choices[chosen];
  const end = prompt.selectionStart;
  const word = prompt.value[from - 1] === "@" && text.includes(" ") ? `"${text}"` : text;
  prompt.setRangeText(`${word} `, from, end, "end");
  close();
  prompt.dispatchEvent(new Event("input"));
}

function close() {
  choices = [];
  get("choices").hidden = true;
  choose(0);
}
