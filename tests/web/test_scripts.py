"""The scripts of the page, run by node over the few parts of a browser in tests/fakes/page."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from openclaw.server.routes.page_routes import STATIC

BROWSER = Path(__file__).parents[1] / "fakes" / "page" / "browser.mjs"
HEAD = """import assert from "node:assert";
import { calls, find, focusWindow, get, routes, wait } from "./browser.mjs";
const talk = (title, ...messages) => ({ title, messages, left_out: 0, run: null, queued: [] });
Object.assign(routes, {
  "GET /api/sessions/a": talk("A"),
  "GET /api/sessions/b": talk("B", { role: "user", content: "of b" }),
  "GET /api/files": { path: "workspace/x.md", content: "one\\n", read_only: false },
  "POST /api/tokens/files": { files: [{ tokens: 1 }] },
});
await import("./app.js");
await wait();
"""
Script = Callable[[str, str], None]


@pytest.fixture
def script(tmp_path: Path) -> Script:
    """Open the page at an address, and run these lines of JavaScript over it."""
    node = shutil.which("node")
    if not node:
        pytest.skip("no node here")
    for file in (*STATIC.iterdir(), BROWSER):
        shutil.copy(file, tmp_path)
    (tmp_path / "package.json").write_text(json.dumps({"type": "module"}), "utf-8")

    def run(address: str, lines: str) -> None:
        (tmp_path / "test.js").write_text(HEAD + lines, "utf-8")
        done = subprocess.run(
            [node, "test.js"],
            cwd=tmp_path,
            env={**os.environ, "PAGE_HASH": address},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr

    return run


EDIT = """
const area = () => get("tab").querySelectorAll("textarea")[0];
area().value = "one\\nmine\\n";
await area().fire("input");
"""


def test_what_is_typed_into_a_file_stays_when_another_conversation_is_opened(
    script: Script,
) -> None:
    script(
        "#/s/a/files/workspace%2Fx.md",
        f"""{EDIT}
        location.hash = "#/s/b/files/workspace%2Fx.md"; await wait();
        assert.equal(get("title").textContent, "B");
        assert.equal(area().value, "one\\nmine\\n");""",
    )


def test_unsaved_text_is_left_only_after_a_yes(script: Script) -> None:
    script(
        "#/s/a/files/workspace%2Fx.md",
        f"""{EDIT}
        location.hash = "#/s/a/todos/"; await wait();
        assert.equal(location.hash, "#/s/a/files/workspace%2Fx.md");
        assert.equal(area().value, "one\\nmine\\n");
        globalThis.confirm = () => true;
        location.hash = "#/s/a/todos/"; await wait();
        assert.equal(area(), undefined);""",
    )


def test_what_is_typed_while_a_file_is_saved_is_not_saved_yet(script: Script) -> None:
    script(
        "#/s/a/files/workspace%2Fx.md",
        f"""{EDIT}
        routes["POST /api/files"] = async () => {{
          area().value += "more\\n";
          return {{ merged: true }};
        }};
        await find("Save").fire("click"); await wait();
        assert.equal(area().value, "one\\nmine\\nmore\\n");
        location.hash = "#/s/a/todos/"; await wait();
        assert.equal(area().value, "one\\nmine\\nmore\\n");""",
    )


def test_a_file_is_offered_after_a_skill_too(script: Script) -> None:
    script(
        "",
        """routes["GET /api/tree"] = [{ path: "memory/MEMORY.md", size: 1 }];
        get("prompt").value = "/weekly @mem";
        await get("prompt").fire("input"); await wait();
        assert(find("memory/MEMORY.md", get("choices")));""",
    )


def test_an_address_that_is_no_code_shows_the_page_all_the_same(script: Script) -> None:
    script("#/s/100%/todos/", """assert.equal(get("tab").children.length, 1);""")


SEND = """
const send = async (text) => {
  get("prompt").value = text;
  await get("prompt").fire("input");
  get("composer").fire("submit");
  await wait();
};
"""


RUN = (
    SEND
    + r"""
routes["POST /api/chat"] = { run_id: "r", session_id: "a", message: "hello" };
const frame = (id, data) => `${id ? `id: ${id}\n` : ""}data: ${JSON.stringify(data)}\n\n`;
const token = (id) => frame(id, { event: "token", text: `word${id} ` });
const done = (id) => frame(id, { event: "done", answer: "Yes.", html: "<p>Yes.</p>", sources: [] });
const end = frame(0, { event: "end" });
"""
)


def test_a_prompt_that_could_not_be_sent_is_there_again(script: Script) -> None:
    script(
        "#/s/a/todos/",
        f"""{SEND}
        routes["POST /api/chat"] = async () => {{
          await wait(20);
          return {{ status: 503, error: "away" }};
        }};
        await send("hello");
        assert.equal(get("prompt").value, "");
        get("prompt").value = "more"; await wait(30);
        assert.equal(get("prompt").value, "hello\\nmore");
        assert(find("away", get("messages")));
        await send("to a");
        location.hash = "#/s/b/todos/"; await wait(30);
        assert.equal(get("prompt").value, "");
        location.hash = "#/s/a/todos/"; await wait();
        assert.equal(get("prompt").value, "to a");""",
    )


def test_a_conversation_that_is_opened_while_a_prompt_is_sent_stays_open(script: Script) -> None:
    script(
        "#/s/a/todos/",
        f"""{SEND}
        routes["POST /api/chat"] = async () => {{
          await wait(20);
          return {{ run_id: "r", session_id: "a", message: "hello" }};
        }};
        await send("hello");
        location.hash = "#/s/b/todos/"; await wait(30);
        assert.equal(location.hash, "#/s/b/todos/");
        assert(find("of b", get("messages")));""",
    )


def test_two_enters_send_a_skill_once(script: Script) -> None:
    script(
        "#/s/a/todos/",
        f"""{SEND}
        routes["POST /api/chat"] = {{ status: 503, error: "away" }};
        get("prompt").value = "/weekly go";
        get("composer").fire("submit"); get("composer").fire("submit"); await wait();
        const sent = calls.filter((each) => each.path === "/api/chat");
        assert.deepEqual(sent.map((each) => each.body.skill), ["weekly"]);
        assert.equal(sent[0].body.message, "go");""",
    )


def test_a_failed_summing_up_is_not_going_on(script: Script) -> None:
    script(
        "#/s/a/todos/",
        f"""{SEND}
        routes["POST /api/sessions/a/compress"] = {{ status: 409, error: "too short" }};
        await send("/compact ");
        assert.equal(get("state").textContent, "");
        assert(find("too short", get("messages")));""",
    )


FOCUS = """
const todo = (id, text) => ({ id, list: "Tasks", text, done: false, due: null, overdue: false });
const tab = get("tab");
const ticks = () => tab.querySelectorAll("input").filter((each) => each.on.change);
routes["GET /api/todos"] = [todo("1", "eggs"), todo("2", "milk")];
location.hash = "#/s/a/todos/"; await wait();
"""


def test_keys_stay_where_they_were_when_the_panel_is_filled_anew(script: Script) -> None:
    script(
        "#/s/a/files/",
        f"""{FOCUS}
        routes["PATCH /api/todos/2"] = {{}};
        const [, , tick] = ticks();
        tick.focus();
        await tick.fire("change"); await wait();
        assert.equal(document.activeElement, ticks()[2]);
        routes["POST /api/todos"] = () => {{
          routes["GET /api/todos"].push(todo("3", "tea"));
          return {{}};
        }};
        const form = tab.all().find((each) => each.tagName === "FORM");
        form.children[0].value = "tea";
        form.children[0].focus();
        await form.fire("submit"); await wait();
        assert.equal(document.activeElement.getAttribute("aria-label"), "New to-do in Tasks");
        assert.notEqual(document.activeElement, form.children[0]);""",
    )


def test_a_tab_that_was_chosen_by_keys_keeps_them(script: Script) -> None:
    script(
        "#/s/a/files/",
        """const tab = get("tab-memory");
        tab.focus();
        await tab.fire("click"); await wait();
        assert.equal(document.activeElement, tab);
        assert.equal(tab.getAttribute("aria-selected"), "true");
        assert.equal(get("tab-files").getAttribute("tabindex"), "-1");""",
    )


def test_why_tells_of_the_newest_answer_whatever_the_panel_shows(script: Script) -> None:
    script(
        "#/s/a/inside/3",
        f"""{RUN}
        routes["GET /api/runs/r/events"] = () => ({{ stream: done(1) + end }});
        await send("hello"); await send("hello"); await wait(20);
        const links = get("messages").all().filter((each) => each.textContent === "Why?");
        assert.equal(links.length, 1);
        await links[0].fire("click"); await wait();
        assert.equal(location.hash, "#/s/a/inside/");""",
    )


def test_an_answer_goes_on_after_broken_streams_without_a_word_lost_or_doubled(
    script: Script,
) -> None:
    script(
        "#/s/a/todos/",
        f"""{RUN}
        const answers = [
          {{ stream: token(1) + token(2) + token(3).slice(0, 20) }},
          {{ status: 502, error: "bad gateway" }},
          {{ stream: `${{token(3)}}: still here\\n\\n${{token(4)}}` }},
        ];
        let shown;
        routes["GET /api/runs/r/events"] = () => {{
          shown = get("messages").all().map((each) => each.textContent).join("");
          return answers.shift() || {{ stream: done(5) + end }};
        }};
        await send("hello"); await wait(1500);
        const asked = calls.filter((each) => each.path.endsWith("/events"));
        assert.deepEqual(asked.map((each) => each.headers["Last-Event-ID"]), ["0", "2", "2", "4"]);
        assert(shown.endsWith("word1 word2 word3 word4 "), shown);
        assert.equal(get("state").textContent, "");
        assert.equal(get("stop").hidden, true);""",
    )


def test_only_the_run_that_is_answered_takes_a_connection(script: Script) -> None:
    script(
        "#/s/a/todos/",
        f"""{RUN}
        let sent = 0, end_first;
        const begun = {{ session_id: "a", message: "hello" }};
        routes["POST /api/chat"] = () => ({{ ...begun, run_id: `r${{sent += 1}}` }});
        routes["GET /api/runs/r1/events"] = () => new Promise((told) => {{
          end_first = () => told({{ stream: done(1) + end }});
        }});
        routes["GET /api/runs/r2/events"] = {{ stream: done(1) + end }};
        await send("hello"); await send("and then?");
        const events = (path) => path.endsWith("/events");
        const asked = () => calls.map((each) => each.path).filter(events);
        assert.deepEqual(asked(), ["/api/runs/r1/events"]);
        end_first(); await wait(20);
        assert.deepEqual(asked(), ["/api/runs/r1/events", "/api/runs/r2/events"]);
        assert.equal(get("stop").hidden, true);""",
    )


def test_a_new_file_of_the_page_takes_the_place_of_none(script: Script) -> None:
    script(
        "#/s/a/files/",
        """const form = get("tab").all().find((each) => each.tagName === "FORM");
        form.children[0].value = "memory/MEMORY.md";
        await form.fire("submit"); await wait();
        const { headers } = calls.find((each) => each.method === "POST");
        assert.equal(headers["If-None-Match"], "*");""",
    )


def test_a_memory_is_changed_where_it_stands_by_now(script: Script) -> None:
    script(
        "#/s/a/memory/",
        """const note = (n, text) => ({ n, line: n, text, path: "memory/a.md", category: "fact" });
        routes["GET /api/memory"] = [note(3, "old"), note(4, "wrong")];
        routes["GET /api/review"] = [note(1, "from a page"), note(2, "mine")];
        location.hash = "#/s/a/todos/"; await wait(); location.hash = "#/s/a/memory/"; await wait();
        const buttons = (text) => get("tab").all().filter((each) => each.textContent === text);
        const [, remember] = buttons("Remember"), [, forget] = buttons("Forget");
        assert.equal(remember.getAttribute("aria-label"), "Remember: mine");
        routes["GET /api/memory"] = [note(3, "wrong"), note(4, "right")];
        routes["GET /api/review"] = [note(1, "mine"), note(2, "of a stranger")];
        routes["POST /api/review"] = []; routes["DELETE /api/memory"] = {};
        await remember.fire("click"); await forget.fire("click"); await wait();
        const sent = calls.filter((each) => each.method !== "GET");
        assert.deepEqual(sent[0].body, { accept: ["1"] });
        assert.equal(sent[1].path, "/api/memory?note=memory%2Fa.md%3A3");
        routes["GET /api/review"] = [];
        await remember.fire("click"); await wait();
        assert.equal(calls.filter((each) => each.method !== "GET").length, 2);
        routes["GET /api/memory"] = [note(2, "wrong"), note(4, "wrong")];
        await forget.fire("click"); await wait();
        const [last] = calls.filter((each) => each.method === "DELETE").slice(-1);
        assert.equal(last.path, "/api/memory?note=memory%2Fa.md%3A4");""",
    )


def test_an_error_of_another_conversation_does_not_replace_the_one_that_is_shown(
    script: Script,
) -> None:
    script(
        "#/s/a/todos/",
        """routes["GET /api/sessions/gone"] = async () => {
          await wait(20);
          return { status: 404, error: "there is no conversation" };
        };
        location.hash = "#/s/gone/todos/"; await wait();
        location.hash = "#/s/b/todos/"; await wait(40);
        assert(find("of b", get("messages")));""",
    )


def test_undo_stands_below_the_newest_answer_only(script: Script) -> None:
    script(
        "#/s/a/todos/",
        f"""{RUN}
        const made = {{ event: "done", answer: "", html: "", sources: [], receipt_line: "made" }};
        routes["GET /api/runs/r/events"] = () => ({{ stream: frame(1, made) + end }});
        const buttons = () => get("messages").all().filter((each) => each.textContent === "Undo");
        await send("hello"); await wait(20);
        assert.equal(buttons().length, 1);
        const failed = {{ event: "error", message: "away" }};
        routes["GET /api/runs/r/events"] = () => ({{ stream: frame(1, failed) + end }});
        await send("hello"); await wait(20);
        assert.equal(buttons().length, 0);""",
    )


def test_a_question_that_is_stopped_is_no_longer_asked(script: Script) -> None:
    script(
        "#/s/a/todos/",
        f"""{RUN}
        const action = {{ effect: "write" }};
        const asked = {{ id: "q", action, call: "write_file", sources: [], offers: [] }};
        const stream = frame(1, {{ event: "question", ...asked }});
        const stopped = frame(2, {{ event: "error", message: "interrupted" }});
        routes["GET /api/runs/r/events"] = () => ({{ stream: stream + stopped + end }});
        await send("hello"); await wait(20);
        assert(find("interrupted", get("messages")));
        assert.equal(find("Once", get("messages")), undefined);""",
    )


def test_words_before_a_call_stand_before_it_after_a_reload_too(script: Script) -> None:
    script(
        "#/s/b/todos/",
        """const used = { tool: "read_file", input: { path: "a.md" }, output: "one", ok: true };
        const said = { role: "assistant", content: "I look.", html: "I look.", tool_calls: [used] };
        routes["GET /api/sessions/a"] = talk("A", said);
        location.hash = "#/s/a/todos/"; await wait();
        const [article] = get("messages").children;
        assert.deepEqual(article.children.map((each) => each.attributes.class), ["md", "tool"]);""",
    )


def test_a_new_link_in_the_same_tab_goes_on_where_the_token_ended(script: Script) -> None:
    script(
        "#/s/a/files/workspace%2Fx.md",
        f"""{EDIT}
        routes["POST /api/files"] = {{ status: 401, error: "a token is needed" }};
        await find("Save").fire("click"); await wait();
        assert.equal(get("locked").open, true);
        assert.equal(area().value, "one\\nmine\\n");
        routes["POST /api/login"] = {{ token: "new" }};
        routes["POST /api/files"] = {{ merged: false }};
        location.hash = "#code-of-a-new-link-0123456789"; await wait(20);
        assert.equal(get("locked").open, false);
        assert.equal(location.hash, "#/s/a/files/workspace%2Fx.md");
        assert.equal(area().value, "one\\nmine\\n");
        await find("Save").fire("click"); await wait();
        assert.equal(calls.at(-1).headers.Authorization, "Bearer new");""",
    )


def test_a_tab_that_is_looked_at_again_shows_what_was_said_elsewhere(script: Script) -> None:
    script(
        "#/s/a/todos/",
        f"""{RUN}
        const listed = (updated_at) => [{{ id: "a", title: "A", updated_at }}];
        const open = (path) => path.startsWith("/api/sessions/a?");
        const opened = () => calls.filter((each) => open(each.path)).length;
        routes["GET /api/sessions"] = listed("10:00"); focusWindow(); await wait();
        const before = opened();
        focusWindow(); await wait();
        assert.equal(opened(), before);
        routes["GET /api/sessions/a"] = talk("A", {{ role: "user", content: "elsewhere" }});
        routes["GET /api/sessions"] = listed("10:01"); focusWindow(); await wait();
        assert(find("elsewhere", get("messages")));
        routes["GET /api/runs/r/events"] = {{ stream: done(1) + end }};
        routes["GET /api/sessions"] = listed("10:02");
        await send("hello"); await wait(20); focusWindow(); await wait();
        assert.equal(opened(), before + 1);""",
    )


def test_keys_of_an_input_method_choose_no_completion(script: Script) -> None:
    script(
        "#/s/a/todos/",
        """get("prompt").value = "/week";
        await get("prompt").fire("input"); await wait();
        assert.equal(get("choices").hidden, false);
        await get("prompt").fire("keydown", { key: "Enter", isComposing: true });
        assert.equal(get("prompt").value, "/week");
        await get("prompt").fire("keydown", { key: "Tab" });
        assert.equal(get("prompt").value, "/weekly ");""",
    )


def test_what_needs_a_conversation_is_offered_for_one_only(script: Script) -> None:
    script(
        "",
        f"""{RUN}
        routes["GET /api/runs/r/events"] = {{ stream: done(1) + end }};
        assert.equal(get("delete").hidden, true);
        await send("hello"); await wait(20);
        assert.equal(get("delete").hidden, false);
        location.hash = "#/s/new/todos/"; await wait();
        assert.equal(get("delete").hidden, true);""",
    )


def test_a_turn_that_is_not_there_is_told(script: Script) -> None:
    script(
        "#/s/a/todos/",
        """routes["GET /api/context"] = { parts: [], used: 0, window: 1, reply: 0, free: 1 };
        routes["GET /api/sessions/a/why"] = { status: 400, error: "no turn 2" };
        location.hash = "#/s/a/inside/"; await wait();
        assert.equal(find("no turn 2", get("tab")), undefined);
        location.hash = "#/s/a/inside/2"; await wait();
        assert(find("no turn 2", get("tab")));""",
    )
