"""The agent for editors with the SDK's own client; once, and after a kill, over real standard input
and output. Each message of the agent is checked against the schema (`tests.fakes.editor.check`)."""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from openclaw.storage.new_home import create_home
from openclaw.storage.program import RUN_VARIABLE
from tests.fakes.command import openclaw
from tests.fakes.late import Late
from tests.fakes.needs import needs_acp
from tests.fakes.ollama_server import Answer, FakeOllama, Line

if TYPE_CHECKING:
    import acp

    from openclaw.server.acp.editor_agent import EditorAgent, answer_messages
    from tests.fakes.editor import Editor, in_editor, starting
else:
    acp = Late("acp")
    agent_module = "openclaw.server.acp.editor_agent"
    EditorAgent, answer_messages = (
        Late(agent_module, name) for name in ("EditorAgent", "answer_messages")
    )
    in_editor, starting = (Late("tests.fakes.editor", name) for name in ("in_editor", "starting"))

pytestmark = needs_acp

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
WRITE = Answer(
    calls=[("write_file", {"path": "workspace/list.md", "content": "- milk\n"})],
    thinking="A list, then.",
)
TOUCH = Answer(calls=[("run_shell", {"command": "touch tea"})])


@pytest.fixture
def home(home: Path) -> Path:
    """The home of `conftest`, whose files may be changed without a question."""
    with (home / "openclaw.yaml").open("a") as settings:
        settings.write("mode: edit\n")
    return home


def output(call: dict[str, Any]) -> str:
    """What a call has printed, in its fence."""
    return str(call["content"][-1]["content"]["text"])


async def choose(how: str, options: list[Any]) -> str:
    return next(str(each.option_id) for each in options if each.option_id.startswith(how))


def choosing(*answers: str) -> Callable[[Any, list[Any]], Coroutine[Any, Any, str]]:
    """Answers questions in this order."""
    left = iter(answers)
    return lambda call, options: choose(next(left), options)


def test_a_conversation_is_told_as_it_happens_and_told_again_when_it_is_loaded(
    home: Path, fake_ollama: FakeOllama
) -> None:
    (home / "workspace/list.md").write_text("- bread\n")
    read = Answer(calls=[("read_file", {"path": "list.md"})])
    change = Answer(calls=[("edit_file", {"path": "list.md", "find": "bread", "replace": "milk"})])
    fake_ollama.say(WRITE, read, change, "The list has milk.")

    async def use(editor: Editor) -> None:
        talk = await editor.begin(home / "workspace")
        await editor.until(lambda: editor.told)
        first, second, third = editor.messages[:3]
        assert (first["id"], second["result"]["sessionId"]) == (0, talk)
        assert third["params"]["update"]["sessionUpdate"] == "available_commands_update"
        names = [each["name"] for each in third["params"]["update"]["availableCommands"]]
        assert names[:5] == ["undo", "redo", "compact", "todo", "memory"]
        assert "plan-day" in names

        assert await editor.say(talk, "Put milk into list.md instead of bread.") == "end_turn"
        assert editor.text() == "The list has milk."
        assert editor.text("agent_thought_chunk").endswith("A list, then.")
        refused, seen, made = editor.calls()
        assert (refused["status"], refused["kind"]) == ("failed", "edit")
        assert (seen["status"], seen["kind"]) == ("completed", "read")
        assert seen["locations"] == [{"path": str(home / "workspace/list.md")}]
        assert made["content"][0] == {
            "type": "diff",
            "path": str(home / "workspace/list.md"),
            "oldText": "- bread\n",
            "newText": "- milk\n",
        }
        assert made["locations"] == [{"path": str(home / "workspace/list.md"), "line": 1}]
        title = {"sessionUpdate": "session_info_update", "title": editor.told[-1]["title"]}
        assert editor.told[-1] == title
        assert title["title"].startswith("Put milk into list.md")

        [listed] = (await editor.agent.list_sessions(cwd=str(home))).sessions
        assert (listed.session_id, listed.title) == (talk, title["title"])
        before = (editor.text(), len(editor.calls()))
        editor.told.clear()
        await editor.agent.close_session(session_id=talk)
        with pytest.raises(acp.RequestError, match="load it first"):
            await editor.say(talk, "Still there?")
        await editor.agent.resume_session(cwd=str(home), session_id=talk, mcp_servers=[])
        assert editor.text() == ""
        loaded = await editor.agent.load_session(cwd=str(home), session_id=talk, mcp_servers=[])
        assert loaded.modes.current_mode_id == "edit"
        assert editor.text("user_message_chunk") == "Put milk into list.md instead of bread."
        assert (editor.text(), len(editor.calls())) == before

    in_editor(use, start=starting)


def test_a_call_runs_only_after_an_answer_to_its_own_question(
    home: Path, fake_ollama: FakeOllama
) -> None:
    old: list[str] = []

    async def decide(call: Any, options: list[Any]) -> str:
        kinds = [(each.option_id.partition(":")[0], each.kind) for each in options]
        assert kinds == [
            ("once", "allow_once"),
            ("session", "allow_once"),
            ("always", "allow_always"),
            ("reject", "reject_once"),
        ]
        old.append(options[0].option_id)
        if len(old) == 4:
            raise acp.RequestError(-32603, "the window was closed")
        no, session = options[-1].option_id, options[1].option_id
        return str([no, old[0], "allow_once", "", session][len(old) - 1])

    turn: list[Line] = [TOUCH, "There."]
    fake_ollama.say(*turn * 6)

    async def use(editor: Editor) -> None:
        talk = await editor.begin(home)
        for _ in range(6):
            await editor.say(talk, "Make tea.")
        no, other, unknown, failed, once, granted = editor.calls()
        for refused in (no, other, unknown, failed):
            assert "Refused" in output(refused)
        for ran in (once, granted):
            assert "Refused" not in output(ran)
        assert len(editor.asked) == 5  # the last one was for the whole conversation
        call, _ = editor.asked[0]
        assert call.tool_call_id == no["toolCallId"]
        assert "run_shell\n  command: touch tea" in call.content[0].content.text
        assert "needs your OK" in call.content[1].content.text

    in_editor(use, decide=decide)
    assert "touch tea" not in (home / "openclaw.yaml").read_text()


@pytest.mark.slow
def test_always_is_kept_in_the_settings(home: Path, fake_ollama: FakeOllama) -> None:
    fake_ollama.say(TOUCH, "Yes.", TOUCH, "Again.")

    async def use(editor: Editor) -> None:
        for _ in range(2):
            await editor.say(await editor.begin(home), "Make tea.")
        assert len(editor.asked) == 1

    in_editor(use, decide=choosing("always"))
    assert "command touch tea" in (home / "openclaw.yaml").read_text()


def test_cancel_ends_an_answer_and_an_open_question(home: Path, fake_ollama: FakeOllama) -> None:
    fake_ollama.say(TOUCH, Answer("So " * 200, pause=0.05), "Here.")
    late = asyncio.Event()

    async def decide(call: Any, options: list[Any]) -> str:
        await late.wait()
        return str(options[0].option_id)

    async def use(editor: Editor) -> None:
        talk = await editor.begin(home)
        for is_so in (lambda: editor.asked, lambda: "So So" in editor.text()):
            saying = asyncio.create_task(editor.say(talk, "Make tea."))
            await editor.until(is_so)
            with pytest.raises(acp.RequestError, match="being answered"):
                await editor.say(talk, "And coffee.")
            await editor.agent.cancel(session_id=talk)
            assert await asyncio.wait_for(saying, 5) == "cancelled"
            late.set()  # the answer comes too late
        assert await editor.say(talk, "Still there?") == "end_turn"
        assert editor.text().endswith("Here.")

    in_editor(use, decide=decide)
    assert len(fake_ollama.chats) == 3


@pytest.mark.slow
def test_what_a_killed_agent_has_saved_is_told_again(home: Path, fake_ollama: FakeOllama) -> None:
    fake_ollama.say(WRITE, Answer(calls=[("run_shell", {"command": "sleep 30"})]))
    talks: list[str] = []

    async def write(editor: Editor) -> None:
        talks.append(await editor.begin(home))
        saying = asyncio.create_task(editor.say(talks[0], "Begin a list."))
        await editor.until(lambda: "run_shell sleep 30" in [c["title"] for c in editor.calls()])
        await asyncio.sleep(0.5)
        editor.process.send_signal(signal.SIGKILL)
        with pytest.raises(ConnectionError):
            await saying

    async def read(editor: Editor) -> None:
        await editor.agent.load_session(cwd=str(home), session_id=talks[0], mcp_servers=[])
        assert editor.text("user_message_chunk") == "Begin a list."
        written, slept = editor.calls()
        assert output(written) == "```\nCreated workspace/list.md (1 line).\n```"
        assert (slept["title"], slept["status"]) == ("run_shell sleep 30", "failed")
        saved = json.loads((home / f"sessions/{talks[0]}.json").read_text())
        assert editor.text() == "".join(
            each["content"] for each in saved["messages"] if each["role"] == "assistant"
        )
        await editor.until(lambda: "was interrupted" in editor.text("agent_thought_chunk"))

    in_editor(write, choosing("once"), starting)
    in_editor(read)


def test_the_folder_of_the_editor_chooses_the_home(
    home: Path, tmp_path: Path, fake_ollama: FakeOllama, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, project, strange = (tmp_path / name for name in ("own", "project", "strange"))
    create_home(own)
    create_home(tmp_path / "copied", "mode: full\n")
    shutil.copytree(tmp_path / "copied", strange)
    project.mkdir()
    monkeypatch.setenv("OPENCLAW_HOME", str(own))

    async def use(editor: Editor) -> None:
        async def homes(folder: str) -> str:
            with pytest.raises(acp.RequestError) as error:
                await editor.agent.load_session(cwd=folder, session_id="no", mcp_servers=[])
            return str(error.value)

        assert f"no conversation no in {home}" in await homes(str(home / "workspace"))
        assert f"no conversation no in {own}" in await homes(str(project))
        assert "no whole path" in await homes("project")
        assert f'openclaw --home "{strange}" trust' in await homes(str(strange))
        with pytest.raises(acp.RequestError, match="load it first"):
            await editor.say("no", "Hello.")
        plain = await editor.agent.new_session(cwd=str(project), mcp_servers=[])
        assert plain.modes.current_mode_id == "ask"

    in_editor(use)
    named = openclaw("--home", str(project), "acp")
    assert (named.returncode, named.stdout) == (6, "")
    assert f'make it one: openclaw init "{project}"' in named.stderr


def test_a_folder_outside_the_home_is_read_and_written_after_a_yes(
    home: Path, tmp_path: Path, fake_ollama: FakeOllama
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "plan.md").write_text("# Plan\n\nSail.\n")
    (project / ".env").write_text("KEY=1\n")
    plan, secret = f"{project}/plan.md", f"{project}/.env"
    fake_ollama.say(
        Answer(calls=[("read_file", {"path": plan})]),
        Answer(calls=[("search_files", {"text": "sail", "folder": str(project)})]),
        Answer(calls=[("edit_file", {"path": plan, "find": "Sail.", "replace": "Row."})]),
        Answer(calls=[("read_file", {"path": secret})]),
        Answer(calls=[("read_file", {"path": f"{tmp_path}/user/other.md"})]),
        "You row.",
    )

    async def use(editor: Editor) -> None:
        await editor.say(await editor.begin(project), "Row instead.")
        reading, writing = editor.asked
        assert [each.kind for each in reading[1]] == ["allow_once", "allow_once", "reject_once"]
        assert reading[1][1].name.startswith(
            f"Allow reading {project.parts[0]}"
        )  # long ones are cut
        assert [each.kind for each in writing[1]] == ["allow_once", "reject_once"]
        assert writing[0].content[0].path == plan
        read, found, changed, closed, beyond = editor.calls()
        assert read["locations"] == [{"path": plan}]
        assert "<<data" in output(read)
        assert f"{plan}:3: Sail." in output(found)
        assert found["locations"] == [{"path": plan, "line": 3}]
        assert changed["content"][0]["newText"] == "# Plan\n\nRow.\n"
        assert "it may hold credentials" in output(closed)
        assert "is outside the home" in output(beyond)

    in_editor(use, decide=choosing("session", "once"))
    assert (project / "plan.md").read_text() == "# Plan\n\nRow.\n"
    assert f"The user works in {project}" in fake_ollama.chats[0]["messages"][-1]["content"]


def test_what_an_editor_attaches_goes_along_as_on_the_command_line(
    home: Path, tmp_path: Path, fake_ollama: FakeOllama
) -> None:
    notes = tmp_path / "notes.md"
    notes.write_text("one\ntwo\nthree\n")
    (tmp_path / ".env").write_text("KEY=1\n")
    fake_ollama.say("Seen.", "Seen.")
    link = acp.resource_link_block("notes.md", f"{notes.as_uri()}#L2")
    held = acp.resource_block(acp.embedded_text_resource(f"{notes.as_uri()}#L1:3", "unsaved words"))

    async def use(editor: Editor) -> None:
        talk = await editor.begin(home)
        await editor.say(talk, "Look at ", link, " and ", held, f" and @{notes}:3")
        sent = fake_ollama.chats[0]["messages"][-1]["content"]
        assert "Look at notes.md and notes.md and @" in sent
        for words in ("two", "unsaved words", "three"):
            assert f"\n{words}\n<</data" in sent
        assert "one" not in sent
        secret = acp.resource_link_block("a file", (tmp_path / ".env").as_uri())
        with pytest.raises(acp.RequestError, match="the agent must not see it"):
            await editor.say(talk, secret)
        picture = acp.image_block(base64.b64encode(PIXEL).decode(), "image/png")
        with pytest.raises(acp.RequestError, match="image"):
            await editor.say(talk, picture)
        assert await editor.say(talk, "tea " * 20_000) == "refusal"

    in_editor(use)


def test_commands_skills_and_modes(home: Path, fake_ollama: FakeOllama) -> None:
    fake_ollama.say(WRITE, "There.", WRITE, "It may not be.", "Planned.")

    async def use(editor: Editor) -> None:
        talk = await editor.begin(home)
        await editor.say(talk, "Begin a list.")
        assert (home / "workspace/list.md").exists()
        assert await editor.say(talk, "/undo") == "end_turn"
        assert not (home / "workspace/list.md").exists()
        assert "taken back; /redo puts it back" in editor.text()
        await editor.agent.set_session_mode(session_id=talk, mode_id="read-only")
        await editor.say(talk, "Begin a list.")
        assert not (home / "workspace/list.md").exists()
        with pytest.raises(acp.RequestError, match="no mode"):
            await editor.agent.set_session_mode(session_id=talk, mode_id="wild")
        await editor.say(talk, "/plan-day with care")
        assert "Skill plan-day:" in fake_ollama.chats[-1]["messages"][-1]["content"]
        editor.told.clear()
        for words in ("/todo buy tea", "/todo", "/memory tea"):
            await editor.say(talk, words)
        assert "- buy tea" in editor.text()
        with pytest.raises(acp.RequestError, match="there is no command /fly"):
            await editor.say(talk, "/fly")

    in_editor(use)


def test_a_tool_of_the_agent_cannot_be_its_editor() -> None:
    said = openclaw("acp", environ={RUN_VARIABLE: "1"})
    assert (said.returncode, said.stdout) == (7, "")
    assert "cannot allow what an editor asks for" in said.stderr


@pytest.mark.parametrize("stream", ["stdin", "stdout"])
def test_a_stream_that_no_editor_has_opened_is_told_in_two_lines(
    tmp_path: Path, stream: str
) -> None:
    (tmp_path / "file").write_text("{}\n", "utf-8")
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    for path in (Path("/dev/null"), tmp_path / "file"):
        with path.open("r+b") as given:
            words = [sys.executable, "-m", "openclaw", "acp"]
            done = subprocess.run(words, **pipes | {stream: given})
        assert done.returncode == 2 and done.stderr.count(b"\n") == 2
        assert b"no pipe of an editor" in done.stderr


def test_without_its_sdk_one_line_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "acp", None)
    said = openclaw("acp")
    assert (said.returncode, said.stdout) == (1, "")
    assert "pip install 'openclaw[acp]'" in said.stderr


def test_an_editor_that_no_longer_reads_ends_the_agent_without_an_error() -> None:
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": 1}}

    async def leave() -> None:
        ends = socket.socketpair()
        (_, mine), (_, writer) = [await asyncio.open_connection(sock=end) for end in ends]
        writer.close()
        await writer.wait_closed()
        reader = asyncio.StreamReader()
        reader.feed_data(f"{json.dumps(hello)}\n".encode())
        reader.feed_eof()
        agent = EditorAgent(None)
        await answer_messages(agent, reader, writer)
        agent.end()
        mine.close()

    asyncio.run(leave())
