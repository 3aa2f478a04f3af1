"""The conversation, tested by typing: into a pipe, and on a real terminal whose screen is read."""

from __future__ import annotations

import io
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from openclaw.agent.agent import Agent
from openclaw.agent.undo import UndoResult
from openclaw.cli.chat.chat import Chat
from openclaw.cli.chat.completion import COMMANDS, CompletionSources
from openclaw.cli.chat.prompt_line import TypedLines
from openclaw.cli.render import PlainText
from openclaw.config import Settings
from openclaw.config.settings import Ollama
from openclaw.errors import OpenclawError, ServerAway, UsageError
from openclaw.events import Compaction, Done, Event, Notice, Start, Token
from openclaw.history.turns import Scope
from openclaw.messages import Entry, Material, Usage
from openclaw.receipt import Receipt
from openclaw.sessions.session import Session
from openclaw.sessions.store import SessionStore
from openclaw.skills.skill import Skill
from openclaw.storage.home import Home
from openclaw.storage.trust_store import trust_home
from openclaw.types import Mode, Shown
from tests.fakes.ollama_server import Answer, FakeOllama
from tests.fakes.terminal import Terminal
from tests.fakes.typed_chat import Typed, type_into

Reply = str | OpenclawError | type[KeyboardInterrupt]
ENTER, ALT_ENTER, TAB, BACKSPACE, UP = "\r", "\x1b\r", "\t", "\x7f", "\x1b[A"
CTRL_C, CTRL_D, CTRL_G, CTRL_J, CTRL_R = "\x03", "\x04", "\x07", "\n", "\x12"
LOG = "".join(f"line {n}\n" for n in range(1, 2_001))


@dataclass
class FakeApp(Agent):
    """An agent that answers from a list and records what it was asked."""

    settings: Settings = Settings(ollama=Ollama("http://127.0.0.1:9"))
    mode: Mode = "ask"
    model_name: str = "fake/model"
    replies: list[Reply] = field(default_factory=list)
    asked: list[tuple[str, str, Sequence[Material]]] = field(default_factory=list)
    followed: list[str] = field(default_factory=list)
    typed: list[bool] = field(default_factory=list)

    def undo(
        self, count: int = 1, scope: Scope = "all", session: str = "", keep: bool = False
    ) -> UndoResult:
        raise UsageError("there is nothing to undo")

    def redo(self, count: int = 1, session: str = "", keep: bool = False) -> UndoResult:
        raise UsageError("there is nothing to redo")

    def skills(self) -> list[Skill]:
        return [Skill("tidy", "Tidy a folder.", self.home.skills / "tidy" / "SKILL.md")]

    def use_model(self, name: str) -> None:
        self.model_name = name

    def prepare_next(self, session: Session | None = None) -> None:
        """Do nothing, as nothing is searched here."""

    def compact(
        self, session: Session, focus: str = "", *, dry_run: bool = False
    ) -> Iterator[Event]:
        yield Notice(f"focus {focus or 'none'}{', dry' if dry_run else ''}")
        yield Compaction(4000, 1500, 12, "<earlier>\nGoal: bread\n</earlier>")

    def ask(
        self,
        text: str,
        session: Session,
        material: Sequence[Material] = (),
        skill: str = "",
        *,
        typed: bool = True,
    ) -> Iterator[Event]:
        self.asked.append((session.id, text, material))
        self.followed.append(skill)
        self.typed.append(typed)
        reply = self.replies.pop(0)
        if isinstance(reply, OpenclawError):
            raise reply
        if not isinstance(reply, str):
            raise reply
        usage = Usage(prompt_tokens=1234, generated_tokens=76, calls=1)
        session.messages += [Entry("user", text), Entry("assistant", reply, usage=usage)]
        self.sessions.save(session)
        yield Start(session.id, self.model_name, 8192, "native")
        yield Token(reply)
        yield Done(reply, usage, "answer", session.id, self.model_name, Receipt())


@pytest.fixture
def app(tmp_path: Path) -> FakeApp:
    for folder in ("sessions", "memory"):
        (tmp_path / "home" / folder).mkdir(parents=True)
    (tmp_path / "home" / "memory" / "TODO.md").write_text(f"- [ ] rent due:{date.today()}\n")
    return FakeApp(Home(tmp_path / "home"))


def talk(app: FakeApp, *said: str, **more: Any) -> tuple[int, str, Chat]:
    """Exit code, printed text and the chat of a new conversation in which these are typed."""
    return type_into(app, app.sessions.new(None, app.model_name), *said, **more)


# -------- what is said


def test_a_talk_greets_answers_and_keeps_one_session(app: FakeApp) -> None:
    app.replies = ["Hello.", "Fine."]
    code, shown, chat = talk(app, "hi", "", "how are you?")
    assert (code, shown.splitlines()) == (0, ["Due: rent (today).", "Hello.", "Fine."])
    assert [text for _, text, _ in app.asked] == ["hi", "how are you?"]
    assert len({session for session, _, _ in app.asked}) == 1
    assert len(app.sessions.load(chat.session.id).messages) == 4


def test_a_backslash_at_the_end_continues_the_line(app: FakeApp) -> None:
    app.replies = ["ok"]
    talk(app, "first\\", "second")
    assert app.asked[0][1] == "first\nsecond"


def test_an_error_is_told_and_the_talk_goes_on(app: FakeApp) -> None:
    app.replies = [ServerAway("Ollama does not answer", "start it: ollama serve"), "Back."]
    code, shown, _ = talk(app, "hi", "again")
    assert "openclaw: Ollama does not answer\n  start it: ollama serve\nBack.\n" in shown
    assert code == 4


def test_an_interrupted_turn_does_not_end_the_talk(app: FakeApp) -> None:
    app.replies = [KeyboardInterrupt, "Still here."]
    code, shown, _ = talk(app, "hi", "again")
    assert "interrupted" in shown and "Still here." in shown
    assert code == 130


def test_a_named_file_goes_along(app: FakeApp) -> None:
    (app.home.memory / "a.md").write_text("the text", encoding="utf-8")
    app.replies = ["ok"]
    talk(app, "what is in @memory/a.md?")
    lines = Shown("memory/a.md", 1, 1)
    assert app.asked[0][2] == (
        Material("file memory/a.md", "the text", "memory/a.md", lines=lines),
    )


# -------- commands


def test_an_unknown_command_says_what_there_is(app: FakeApp) -> None:
    shown = talk(app, "/xyz")[1]
    assert "there is no command /xyz" in shown
    assert all(f"/{name}" in shown for name in COMMANDS)
    assert not app.asked


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("/todos", "todo"), ("/session", "sessions"), ("/memories", "memory"), ("/hlep", "help"),
     ("/MODEL", "model"), ("/tidyy my notes", "tidy"), ("/claer", "clear")],
)  # fmt: skip
def test_a_near_miss_is_told_and_goes_to_no_model(app: FakeApp, typed: str, meant: str) -> None:
    shown = talk(app, typed)[1]
    assert f"did you mean /{meant}?" in shown and not app.asked


def test_help_names_every_command_within_80_columns(app: FakeApp) -> None:
    lines = talk(app, "/help")[1].splitlines()[1:]
    assert {f"/{name}" for name in COMMANDS} <= {line.split()[0] for line in lines}
    assert all(len(line) < 80 and "  " in line.strip() for line in lines)


@pytest.mark.parametrize("word", ["/quit", "/exit"])
def test_quit_ends_the_talk(app: FakeApp, word: str) -> None:
    talk(app, word, "never heard")
    assert not app.asked


def test_a_path_at_the_beginning_is_no_command(app: FakeApp) -> None:
    app.replies = ["ok"]
    talk(app, "/etc/hosts is what?")
    assert app.asked[0][1] == "/etc/hosts is what?"


def test_a_skill_is_asked_for_by_its_name(app: FakeApp) -> None:
    app.replies = ["ok", "ok", "ok"]
    talk(app, "/tidy my notes", "/tidy", "tidy up")
    prompts = ["my notes", "Do what the skill tidy says.", "tidy up"]
    assert [text for _, text, _ in app.asked] == prompts
    assert app.followed == ["tidy", "tidy", ""]


def test_new_begins_another_session_and_resume_goes_back(app: FakeApp) -> None:
    app.replies = ["one", "two", "three"]
    _, shown, _ = talk(app, "a", "/new garden", "b", "/sessions", "/resume a", "c")
    assert "a new conversation: garden" in shown
    first, second, third = (session for session, _, _ in app.asked)
    assert second == "garden" and third == first != second
    assert re.search(r"\* \d{4}-\d\d-\d\d \d\d:\d\d  garden", shown)
    assert "  user: a\n  assistant: one" in shown


def test_a_talk_that_goes_on_begins_with_its_last_words(app: FakeApp) -> None:
    app.replies = ["one"]
    *_, first = talk(app, "a")
    _, shown, _ = type_into(app, app.sessions.load(first.session.id), kind=Typed)
    assert shown.splitlines()[-2:] == ["  user: a", "  assistant: one"]


def test_model_and_mode_are_shown_and_changed(app: FakeApp) -> None:
    _, shown, chat = talk(app, "/model ollama/x", "/mode read-only", "/mode nonsense", "/mode")
    assert app.model_name == "ollama/x" and app.mode == "read-only"
    assert "there is no mode 'nonsense'" in shown and shown.endswith("mode: read-only\n")
    assert "ollama/x" in chat.toolbar() and "read-only" in chat.toolbar()


def test_a_word_that_is_no_model_changes_nothing(app: FakeApp) -> None:
    shown = talk(app, "/model nonsense", "/model")[1]
    assert "there is no model nonsense here" in shown and "model: fake/model\n" in shown


def test_todos_are_shown_without_a_model(app: FakeApp, capsys: pytest.CaptureFixture[str]) -> None:
    trust_home(app.home)
    (app.home.memory / "TODO.md").write_text("## Shopping\n\n- [ ] milk ^1a2b3c4d\n", "utf-8")
    talk(app, "/todo")
    assert capsys.readouterr().out.splitlines()[1].split() == ["1a2b3c4d", "Shopping", "milk"]


def test_compact_shows_the_summary_and_how_to_take_it_back(app: FakeApp) -> None:
    _, shown, _ = talk(app, "/compact the bread")
    assert "Goal: bread" in shown and "/sessions restore" in shown
    _, shown, _ = talk(app, "/compact --dry-run the bread")
    assert "Goal: bread" in shown and "restore" not in shown


def test_the_toolbar_tells_how_full_the_window_is(app: FakeApp) -> None:
    app.replies = ["ok"]
    assert "mode ask  16 % of 8,192" in talk(app, "hi")[2].toolbar()


def test_a_prompt_that_never_arrived_is_asked_again_and_no_other_is_taken_back(
    app: FakeApp,
) -> None:
    app.replies = ["Hello.", ServerAway("Ollama does not answer"), "Back."]
    _, shown, _ = talk(app, "hi", "how are you?", "/retry")
    assert [text for _, text, _ in app.asked] == ["hi", "how are you?", "how are you?"]
    assert "Back." in shown and "nothing to undo" not in shown


def test_an_offer_that_is_asked_again_is_still_not_what_the_user_typed(app: FakeApp) -> None:
    (app.home.memory / "TODO.md").write_text("- [ ] Find a dentist\n")
    app.replies = [ServerAway("Ollama does not answer"), "Found."]
    talk(app, "yes", "/retry", kind=Typed)
    assert [text for _, text, _ in app.asked] == ["Find a dentist"] * 2
    assert app.typed == [False, False]


def test_a_talk_may_begin_with_a_prompt_and_a_skill(app: FakeApp) -> None:
    app.replies = ["One.", "Two.", "Three."]
    for first in (("hi", ""), ("my notes", "tidy"), ("", "tidy")):
        talk(app, first=first)
    assert [text for _, text, _ in app.asked] == ["hi", "my notes", "Do what the skill tidy says."]
    assert app.followed == ["", "tidy", "tidy"]


# -------- typing


@contextmanager
def keyboard() -> Iterator[PipeInput]:
    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        yield keys


KNOWN = CompletionSources(lambda: [("mode", "what tools may do"), ("model", "which model")])


def typed(keys: PipeInput, text: str, history: Path | None = None, vi: str = "emacs") -> str:
    keys.send_text(text)
    return TypedLines(history, KNOWN, vi).read(lambda: "toolbar")


def pasted(text: str) -> str:
    return f"\x1b[200~{text}\x1b[201~"


@pytest.mark.parametrize("new_line", [ALT_ENTER, CTRL_J])
def test_enter_sends_and_alt_enter_or_control_j_begins_a_line(new_line: str) -> None:
    with keyboard() as keys:
        assert typed(keys, f"one{new_line}two{ENTER}") == "one\ntwo"


def test_enter_after_a_backslash_begins_a_line() -> None:
    with keyboard() as keys:
        assert typed(keys, f"one\\{ENTER}two{ENTER}") == "one\ntwo"


def test_control_c_takes_the_line_back_and_control_d_leaves() -> None:
    with keyboard() as keys:
        with pytest.raises(KeyboardInterrupt):
            typed(keys, f"half a line{CTRL_C}")
        with pytest.raises(EOFError):
            typed(keys, CTRL_D)


def test_two_control_c_at_an_empty_prompt_leave_and_the_first_says_so(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with keyboard() as keys:
        assert typed(keys, f"{CTRL_C}so{ENTER}") == "so"
        assert capsys.readouterr().out == "Ctrl-C again to leave (or Ctrl-D)\n"
        with pytest.raises(EOFError):
            typed(keys, CTRL_C + CTRL_C)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("exit", "/quit"),
        ("quit ", "/quit"),
        (":q", "/quit"),
        ("?", "/help"),
        ("exit it", "exit it"),
    ],
)
def test_what_leaves_other_programs_leaves_here(said: str, meant: str) -> None:
    with keyboard() as keys:
        assert typed(keys, said + ENTER) == meant


def test_vi_keys_are_a_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")  # a dumb terminal has no modes
    with keyboard() as keys:
        assert typed(keys, f"dog\x1b0cwcat\x1b{ENTER}", vi="vi") == "cat"


@pytest.mark.skipif(sys.platform == "win32", reason="the editor is a shell script")
def test_control_g_opens_the_editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    editor = tmp_path / "editor"
    editor.write_text(
        '#!/bin/sh\nprintf "%s, more" "$(cat "$1")" >"$1"\ntouch "$0.ended"\n', "utf-8"
    )
    editor.chmod(0o700)
    monkeypatch.setenv("VISUAL", str(editor))

    def send() -> None:  # what is typed before that goes to the editor
        end = time.monotonic() + 30
        while not (tmp_path / "editor.ended").exists() and time.monotonic() < end:
            time.sleep(0.05)
        time.sleep(1)
        keys.send_text(ENTER)

    with keyboard() as keys:
        Thread(target=send, daemon=True).start()
        assert typed(keys, f"some{CTRL_G}") == "some, more"


def test_enter_in_a_search_of_the_history_takes_what_was_found(tmp_path: Path) -> None:
    with keyboard() as keys:
        typed(keys, f"remember this{ENTER}", tmp_path / "chat")
        assert typed(keys, f"{CTRL_R}mem{ENTER}!{ENTER}", tmp_path / "chat") == "re!member this"


def test_tab_completes_what_is_clear_and_enter_sends_it_at_once() -> None:
    with keyboard() as keys:
        assert typed(keys, f"/model{TAB}{ENTER}") == "/model"
        assert typed(keys, f"/modx{BACKSPACE}el{TAB} a{ENTER}") == "/model a"


def test_a_short_pasted_text_is_one_input() -> None:
    with keyboard() as keys:
        assert typed(keys, pasted("one\ntwo\n") + ENTER) == "one\ntwo\n"


def test_a_long_pasted_text_is_folded_and_goes_along_as_material(app: FakeApp) -> None:
    app.replies = ["Line 7.", "Again."]
    out = io.StringIO()
    with keyboard() as keys:
        lines = TypedLines(None, KNOWN)
        listener = PlainText(out, out, tools=True, notes=True, dim=False)
        chat = Chat(app, app.sessions.new(None, ""), lines, listener, lambda line: None)
        for said in (f"what failed? {pasted(LOG)}{ENTER}", UP + ENTER):
            keys.send_text(said)
            chat.hear(lines.read(lambda: ""))
    (_, first, material), (_, second, again) = app.asked
    assert first == second == "what failed? [pasted 2,000 lines #1]"
    assert material == again == (Material("pasted 2,000 lines #1", LOG),)


def test_backspace_takes_a_folded_text_away_whole() -> None:
    with keyboard() as keys:
        assert typed(keys, f"hello{pasted(LOG)}{BACKSPACE}!{ENTER}") == "hello!"


def test_the_history_is_kept_in_a_private_file(tmp_path: Path) -> None:
    history = tmp_path / ".openclaw" / "history" / "chat"
    with keyboard() as keys:
        typed(keys, f"remember this{ENTER}", history)
        assert typed(keys, f"{UP}{ENTER}", history) == "remember this"
    if sys.platform != "win32":
        assert history.stat().st_mode & 0o077 == 0


# -------- a real terminal


def test_a_talk_on_a_terminal_shows_markdown_tools_and_toolbar(
    terminal: Callable[..., Terminal], fake_ollama: FakeOllama
) -> None:
    fake_ollama.say(
        Answer(calls=[("list_files", {"path": "workspace"})]), "There is **one** file:\n\n- SOUL.md"
    )
    screen = terminal("chat")
    screen.wait(lambda text: "mode ask" in text)
    screen.send(f"what files are there?{ENTER}")
    text = screen.wait(lambda text: "\u2022 SOUL.md" in text and "% of 8,192" in text)
    assert "There is one file:" in text and "**" not in text
    assert "list_files workspace: " in text
    assert "what files are there?  ollama/fake:1b  mode ask" in text
    assert text.startswith("openclaw ") and "/help lists commands, Ctrl-D leaves" in text
    screen.send(CTRL_D)
    assert screen.end() == 0


def test_control_c_at_the_question_of_a_command_is_told(terminal: Callable[..., Terminal]) -> None:
    screen = terminal("chat")
    screen.wait(lambda text: "mode ask" in text)
    screen.send(f"/skills remove digest{ENTER}")
    screen.wait(lambda text: "Delete skills/digest" in text)
    screen.send(CTRL_C)
    screen.wait(lambda text: "\ninterrupted; what was done so far is kept" in text)
    screen.send(f"/quit{ENTER}")
    assert screen.end() == 0


def test_what_is_typed_while_a_command_runs_is_not_echoed_and_waits_in_the_line(
    terminal: Callable[..., Terminal], fake_ollama: FakeOllama
) -> None:
    fake_ollama.say("Hello.", Answer("Hello.", stall=2.0))
    screen = terminal("chat", "--session", "tale", "hi")
    screen.wait(lambda text: "Hello." in text and "% of 8,192" in text)
    screen.send(f"/sessions replay tale{ENTER}")
    while len(fake_ollama.chats) < 2:
        time.sleep(0.05)
    screen.send("and then")
    text = screen.wait(lambda text: "> and then" in text)
    assert "1 same, 0 differ" in text and text.count("and then") == 1


def test_control_c_ends_an_answer_and_the_talk_goes_on(
    terminal: Callable[..., Terminal], fake_ollama: FakeOllama, tmp_path: Path
) -> None:
    fake_ollama.say(
        Answer(text=["Once ", "upon ", *(f"a{n} time " for n in range(500))], pause=0.05),
        "The end.",
    )
    screen = terminal("chat", "--session", "tale")
    screen.wait(lambda text: "mode ask" in text)
    screen.send(f"tell a story{ENTER}")
    screen.wait(lambda text: "Once upon" in text)
    screen.send(CTRL_C)
    screen.wait(lambda text: "what was done so far is kept" in text)
    assert fake_ollama.hung_up.wait(5)
    screen.send(f"and then?{ENTER}")
    screen.wait(lambda text: "The end." in text)
    screen.send(f"/quit{ENTER}")
    assert screen.end() == 0
    saved = SessionStore(tmp_path / "home" / "sessions").load("tale")
    assert [entry.role for entry in saved.messages] == ["user", "assistant", "user", "assistant"]
    assert saved.messages[1].content.startswith("Once upon")


def test_the_user_is_asked_before_a_file_is_written(
    terminal: Callable[..., Terminal], fake_ollama: FakeOllama, tmp_path: Path
) -> None:
    call = ("write_file", {"path": "workspace/new.md", "content": "hello"})
    fake_ollama.say(Answer(calls=[call]), "I was not allowed to.")
    screen = terminal("chat")
    screen.wait(lambda text: "mode ask" in text)
    screen.send(f"write hello to workspace/new.md{ENTER}")
    text = screen.wait(lambda text: "Allow?" in text)
    assert "write_file workspace/new.md (a new file)" in text and "+hello" in text
    time.sleep(0.5)  # a reply that comes sooner does not count
    screen.send(f"n{ENTER}")
    screen.wait(lambda text: "I was not allowed to." in text)
    assert not (tmp_path / "home" / "workspace" / "new.md").exists()


def test_one_prompt_on_a_terminal_is_drawn_and_leaves(
    terminal: Callable[..., Terminal], fake_ollama: FakeOllama
) -> None:
    fake_ollama.say("# Title\n\nIt is *so*.")
    screen = terminal("tell me")
    text = screen.wait(lambda text: "It is so." in text)
    assert "#" not in text and "*" not in text
    assert screen.end() == 0
