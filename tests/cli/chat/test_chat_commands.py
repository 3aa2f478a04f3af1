"""The /commands of a conversation, in a real home with a scripted model."""

from __future__ import annotations

import base64
import io
import os
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from openclaw.cli.chat import chat_commands, prompt_line
from openclaw.cli.chat.chat import Chat
from openclaw.cli.chat.chat_commands import replace_shell_commands
from openclaw.cli.chat.prompt_line import PipedLines
from openclaw.cli.commands.log import narrow_row
from openclaw.cli.questions import pick
from openclaw.cli.render import PlainText
from openclaw.sessions.session import Session
from openclaw.storage.trust_store import trust_home
from tests.fakes.scripted import Line
from tests.fakes.talk import Talk, call
from tests.fakes.talk import talk as home_talk


class Keyboard(PipedLines):
    """The inputs that a user types, one after the other, and the replies to questions."""

    interactive = True

    def __init__(self, *said: str, replies: tuple[str, ...] = ()) -> None:
        super().__init__(io.StringIO())
        self.said, self.replies = list(said), list(replies)
        self.drafts: list[str] = []

    def read(self, toolbar: Callable[[], str], default: str = "") -> str:
        self.drafts.append(default)
        if not self.said:
            raise EOFError
        return self.said.pop(0)

    def reply(self, question: str) -> str:
        if not self.replies:
            raise EOFError
        return self.replies.pop(0)


class Conversation:
    """A conversation that goes on between calls of `type`; `shown` is all that was printed."""

    def __init__(self, home: Talk) -> None:
        self.home, self.out = home, io.StringIO()
        self.keys = Keyboard()
        listener = PlainText(self.out, self.out, tools=True, notes=True, dim=False)
        self.chat = Chat(
            home.app, home.session, self.keys, listener, lambda line: print(line, file=self.out)
        )

    def type(self, *said: str, replies: tuple[str, ...] = (), lines: tuple[Line, ...] = ()) -> str:
        """Type these inputs, while the model says these lines; returns what is printed."""
        self.home.model.say(*lines)
        self.keys.said, self.keys.replies = list(said), list(replies)
        start = len(self.out.getvalue())
        self.chat._open = True
        self.chat.run()
        return self.out.getvalue()[start:]

    @property
    def said(self) -> list[str]:
        return [entry.content for entry in self.chat.session.messages if entry.role == "user"]


@pytest.fixture
def here(tmp_path: Path) -> Conversation:
    return Conversation(home_talk(tmp_path / "home", mode="edit"))


def write(text: str) -> Line:
    return call("write_file", path="workspace/trip.md", content=text)


# -------- the first line and the bar


def test_the_first_line_names_program_model_home_help_and_the_way_out(tmp_path: Path) -> None:
    line = prompt_line.welcome_line("ollama/qwen3:4b", Path.home() / "claw", 80)
    assert line.startswith("openclaw ") and len(line) <= 80
    assert all(word in line for word in ("ollama/qwen3:4b", "~/claw", "/help", "Ctrl-D"))
    long = prompt_line.welcome_line(
        "embedded/qwen2.5-coder-1.5b-instruct", tmp_path / ("a" * 60), 80
    )
    assert len(long) == 80 and long.endswith("Ctrl-D leaves")
    both = prompt_line.welcome_line("embedded/qwen3-4b-instruct-2507", Path("/srv/agents/home"), 80)
    assert len(both) == 80 and both.endswith("Ctrl-D leaves")


def test_the_bar_gives_up_the_title_first() -> None:
    session = Session("2026-11-22-113040-ab12", "how do I water a cactus in the winter months?")
    line = prompt_line.toolbar_line(session, "ollama/qwen3:4b", "read-only", "12 % of 8,192", 80)
    assert len(line) == 80 and line.startswith("how do I water")
    assert line.endswith("  ollama/qwen3:4b  mode read-only  12 % of 8,192")
    assert (
        len(prompt_line.toolbar_line(session, "embedded/" + "m" * 60, "ask", "12 % of 8,192", 80))
        == 80
    )


# -------- the last turn again


def test_retry_takes_the_last_turn_back_with_its_files_and_asks_the_same(
    here: Conversation,
) -> None:
    (here.home.root / "a.txt").write_text("the text", "utf-8")
    here.type("hello", lines=("Hi.",))
    prompt = f"write it from @{here.home.root}/a.txt"
    here.type(prompt, lines=(write("one"), "Written."))
    shown = here.type("/retry", lines=(write("two"), "Written again."))
    assert here.said == ["hello", prompt]
    assert f"> {prompt}" in shown and "Written again." in shown
    assert (here.home.root / "workspace" / "trip.md").read_text("utf-8") == "two\n"
    assert "the text" in here.home.requests[-1].messages[-3].content


def test_edit_puts_the_prompt_back_into_the_input_line(here: Conversation) -> None:
    here.type("hello", "wrold", lines=("Hi.", "What?"))
    here.type("/edit", "world", lines=("I see.",))
    assert here.keys.drafts[-2:] == ["wrold", ""] and here.said == ["hello", "world"]


def test_words_behind_retry_and_edit_take_nothing_back(here: Conversation) -> None:
    here.type("hello", lines=("Hi.",))
    shown = here.type("/retry in French", "/edit in French")
    assert shown.count("what is 'in French'?") == 2 and here.said == ["hello"]
    assert len(here.chat.session.messages) == 2


def test_with_nothing_asked_there_is_nothing_to_ask_again(here: Conversation) -> None:
    assert "nothing was asked yet" in here.type("/retry", "/edit")


def test_a_copy_of_a_conversation_can_be_edited_and_the_original_stays(
    here: Conversation,
) -> None:
    here.type("hello", lines=("Hi.",))
    first = here.chat.session.id
    assert f"back: /resume {first}" in here.type("/fork other")
    here.type("/edit", "good evening", lines=("Good evening.",))
    store = here.home.app.sessions
    assert here.said == ["good evening"] and here.chat.session.id == "other"
    assert store.load(first).messages[0].content == "hello"


# -------- what was done


def test_diff_and_show_are_of_the_newest_turn_that_is_not_taken_back(here: Conversation) -> None:
    here.type("write it", lines=(write("one"), "Written."))
    here.type("and again", lines=(write("two"), "Written."))
    here.type("/undo")
    assert "+one" in here.type("/diff")
    assert "Prompt:\n    write it" in here.type("/show")


def test_what_is_put_back_is_named_by_its_prompt(here: Conversation) -> None:
    here.type("hello", lines=("Hi.",))
    shown = here.type("/undo", "/redo")
    assert "  hello\n" in shown and "Undo:" not in shown


def test_a_row_of_the_log_leaves_room_for_the_prompt_at_80_columns() -> None:
    place = "2026-11-22-113040-ab12:3"
    at, subject = "2026-11-22 11:30", "s" * 50
    row = narrow_row(("db38c75f", at, "turn", 1, "+12 -3", place, subject, "undone"))
    assert row == ("db38c75f", "11-22 11:30", "1 +12 -3", "ab12:3", f"(undone) {subject}")
    row = narrow_row(("db38c75f", at, "undo", "", "", "trip", "Undo: x", ""))
    assert row == ("db38c75f", "11-22 11:30", "", "trip", "Undo: x")


# -------- conversations


def test_a_conversation_is_renamed_before_and_after_it_is_saved(here: Conversation) -> None:
    assert "is called Rome" in here.type("/rename Rome")
    here.type("hello", lines=("Hi.",))
    assert "is called Rome in May" in here.type("/rename Rome in May")
    here.type("and now?", lines=("Fine.",))
    assert here.home.app.sessions.load("rome in may").id == here.chat.session.id


def test_a_name_that_is_taken_is_offered_to_go_on_with(here: Conversation) -> None:
    here.type("/new trip", "hello", lines=("Hi.",))
    assert "/resume trip" in here.type("/new trip") and "--session" not in here.out.getvalue()
    here.type("/clear")
    assert here.said == []


def test_an_export_never_overwrites(here: Conversation, tmp_path: Path) -> None:
    here.type("hello", lines=("Hi.",))
    path = tmp_path / "talk.md"
    here.type(f"/export {path}")
    assert "hello" in path.read_text("utf-8")
    path.write_text("mine", "utf-8")
    assert "exists already" in here.type(f"/export {path}")
    assert path.read_text("utf-8") == "mine"


def test_the_folder_of_an_unknown_user_is_an_error_and_the_chat_goes_on(here: Conversation) -> None:
    here.type("hello", lines=("Hi.",))
    assert "cannot be written" in here.type("/export ~nobody-of-this-name/talk.md")
    assert "there is no model" in here.type("/model ~nobody-of-this-name/small.gguf")


def test_resume_without_a_name_lets_the_user_choose(here: Conversation) -> None:
    here.type("/new rome", "to Rome", "/new oslo", "to Oslo", "/new", lines=("Hi.", "Hi."))
    shown = here.type("/resume", replies=("to r",))
    assert "  1  " in shown and here.chat.session.id == "rome"
    here.type("/resume", replies=("",))
    assert here.chat.session.id == "rome"


def test_a_choice_is_made_by_number_or_by_words_that_narrow_it() -> None:
    names = [(str(n), f"name {n}") for n in range(1, 26)]
    said: list[str] = []

    def chosen(*replies: str) -> str | None:
        said.clear()
        return pick(names, Keyboard(replies=replies).reply, said.append)

    assert chosen("3") == "3" and said[-1].strip() == "and 15 more"
    assert chosen("name 2", "2") == "20" and len(said) == 10 + 1 + 7
    assert chosen("name 17") == "17"
    assert chosen("99", "") is None and said[11:] == ["nothing fits '99'"]
    assert chosen("name 2", "99", "2") == "20"
    assert chosen("\x1b") is None and chosen() is None


def test_a_prompt_that_is_refused_stands_in_the_input_line_again(here: Conversation) -> None:
    shown = here.type("what is in @missing.md?")
    assert "there is no file 'missing.md'" in shown
    assert here.keys.drafts[-1] == "what is in @missing.md?"
    assert here.type("/plan-day from @missing.md") and here.said == []
    assert here.keys.drafts[-1] == "/plan-day from @missing.md"


def test_the_last_answer_goes_to_the_clipboard() -> None:
    out = io.StringIO()
    chat_commands.copy_to_clipboard("grüße\n\x1b[201~rm", out)
    text = "grüße\n\u241b[201~rm"
    assert out.getvalue() == f"\x1b]52;c;{base64.b64encode(text.encode()).decode()}\x07"


def test_code_is_copied_without_fence_and_indent() -> None:
    text = "One:\n\n  ```py\n  if x:\n      y()\n  ```\n\n~~~~\n```\n~~~~\nEnd."
    assert chat_commands.code_blocks(text) == ["if x:\n    y()\n", "```\n"]


def test_blame_names_the_command_of_the_talk(here: Conversation) -> None:
    here.type("write it", lines=(write("to Rome\n"), "Written."))
    shown = here.type("/blame workspace/trip.md:1", "/blame")
    assert "all of it: /show " in shown and "openclaw show" not in shown
    assert "which file?" in shown
    assert "Prompt:\n    write it" in here.type(f"/show {here.home.app.history.find().id}")


def test_without_a_terminal_nothing_is_copied(here: Conversation) -> None:
    here.type("hello", lines=("Hi.",))
    assert "no terminal" in here.type("/copy")


# -------- the model


def test_undo_leaves_the_model_that_was_chosen(here: Conversation) -> None:
    here.type("hello", "and now?", lines=("Hi.", "Fine."))
    here.type("/model openai/other", "/undo")
    assert "openai/other" in here.chat.toolbar()
    assert here.home.app.model_name == "openai/other"
    assert here.home.app.sessions.load(here.chat.session.id).model == "openai/other"


def test_what_a_conversation_from_elsewhere_says_of_itself_gives_no_orders(
    here: Conversation,
) -> None:
    here.type("hello", lines=("Hi.",))
    path = here.home.root / "sessions" / f"{here.chat.session.id}.json"
    text = re.sub(r'"updated_at": "', r'"updated_at": "\\u001b[2J', path.read_text("utf-8"))
    path.write_text(text, "utf-8")
    assert "\x1b" not in here.type("/sessions")


# -------- what the shell's commands do


def test_groups_of_the_shell_work_in_the_talk(
    here: Conversation, capsys: pytest.CaptureFixture[str]
) -> None:
    trust_home(here.home.app.home)
    here.type("/todo add don't forget milk")
    assert "don't forget milk" in capsys.readouterr().out
    here.type("/todo")
    assert "don't forget milk" in capsys.readouterr().out
    here.type("/todo done don't forget milk", "/memory add The key is with Marta.", "/memory")
    shown = capsys.readouterr().out
    assert "done: don't forget milk" in shown and "The key is with Marta." in shown
    here.type("/skills", "/policy", "/sessions list -n 1")
    shown = capsys.readouterr().out
    assert "keep-notes" in shown and "No grants." in shown
    shown = here.type("/todo rmm x", "/skills show nothing-like-it", "/todo add")
    assert "it has: list, add" in shown and "there is no skill nothing-like-it" in shown
    assert "see: /todo add --help" in shown


def test_hints_name_the_commands_of_the_talk() -> None:
    assert (
        replace_shell_commands("kept (openclaw undo takes it back)") == "kept (/undo takes it back)"
    )
    assert replace_shell_commands("openclaw todo rm a4f1") == "/todo rm a4f1"
    assert replace_shell_commands("see: openclaw models list") == "see: openclaw models list"


# -------- commands of the user's own


def test_the_output_of_a_command_of_the_users_goes_to_the_next_prompt(here: Conversation) -> None:
    shown = here.type(
        "!echo one; echo two >&2; exit 3", "what came?", "again", lines=("It.", "No.")
    )
    assert "one\ntwo\nexit code 3\n" in shown
    first, second = (request.messages[-1].content for request in here.home.requests[-2:])
    assert "output of: echo one" in first and "two\nexit code 3" in first
    assert second.count("exit code 3") == 0


@pytest.mark.skipif(os.name == "nt", reason="words of a POSIX shell")
def test_an_endless_output_costs_no_more_the_longer_it_is() -> None:
    began = time.process_time()
    said = chat_commands.run_shell_line(
        "!head -c 1000000 /dev/zero | tr '\\0' x; yes '' | head -n 40000; echo end",
        lambda line: None,
    )
    assert time.process_time() - began < 1.5
    assert len(said.text) == chat_commands.MAX_OUTPUT and said.text.endswith("\nend\n")


def test_a_line_of_a_pasted_text_or_of_a_pipe_is_no_command(here: Conversation) -> None:
    here.type("!touch x.txt\n!touch y.txt", lines=("I see.",))
    here.keys.interactive = False
    here.type("!touch z.txt", lines=("I see.",))
    assert here.said == ["!touch x.txt\n!touch y.txt", "!touch z.txt"]


def test_a_name_or_a_copy_that_is_made_in_a_talk_can_be_taken_back(here: Conversation) -> None:
    here.type("hello", lines=("Hi.",))
    here.type("/rename Rome", "/fork other")
    subjects = [turn.subject for turn in here.home.app.history.turns()][:2]
    assert [subject.split()[1] for subject in subjects] == ["fork", "rename"]
