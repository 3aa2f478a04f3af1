"""The question before a tool runs: what it shows, what it offers, what the replies do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from openclaw.cli.permission import MAX_LINES, Permission, beforehand
from openclaw.shapes import Action, Effect
from openclaw.tools.grants import Grant, offers
from openclaw.tools.policy import Policy, Question


class Person:
    """Somebody who types these replies, and what they were shown and have granted."""

    def __init__(self, *replies: str) -> None:
        self.left = list(replies)
        self.shown: list[str] = []
        self.granted: list[tuple[str, bool]] = []
        self.may = Permission(self._read, self.shown.append, lambda: None, self._keep)

    def _read(self, question: str) -> str:
        self.shown.append(question)
        if not self.left:
            raise EOFError
        return self.left.pop(0)

    def _keep(self, grant: Grant, lasting: bool) -> None:
        self.granted.append((str(grant), lasting))

    @property
    def question(self) -> str:
        return next(line for line in self.shown if line.startswith("Allow?"))


def write(path: str = "workspace/a.md", **more: Any) -> Question:
    return asked(Action("write_file", "write", path), {"path": path, **more})


def command(line: str) -> Question:
    return asked(Action("run_shell", "run", line), {"command": line})


def fetch(url: str, host: str, *sources: str) -> Question:
    return asked(Action("fetch_url", "get", host, url), {"url": url}, *sources)


def asked(action: Action, arguments: Mapping[str, Any], *sources: str) -> Question:
    policy = Policy("ask")
    tainted = bool(sources)
    reason = policy.decide(action, tainted=tainted).reason
    return Question(action, arguments, reason, policy.offers(action, tainted=tainted), sources)


# -------- replies


def test_yes_is_once_and_grants_nothing() -> None:
    for reply in ("y", "Y ", "yes"):
        person = Person(reply)
        assert person.may(write()) == "once"
        assert person.granted == []


@pytest.mark.parametrize("replies", [("n",), ("",), ("what", "no"), (), ("1",), ("once", "n")])
def test_anything_but_a_yes_is_a_no(replies: tuple[str, ...]) -> None:
    person = Person(*replies)
    assert person.may(write()) == ("once" if replies == ("once", "n") else "")
    assert person.granted == []


@pytest.mark.parametrize(("reply", "lasting"), [("s", False), ("session", False), ("a", True)])
def test_a_tool_a_host_and_a_command_are_granted_by_one_letter(reply: str, lasting: bool) -> None:
    for question, grant in (
        (write(), "tool write_file"),
        (fetch("https://docs.test/x", "docs.test"), "host docs.test"),
        (command("make test"), "command make test"),
    ):
        person = Person(reply)
        assert person.may(question) == ("always" if lasting else "session")
        assert person.granted == [(grant, lasting)]


@pytest.mark.parametrize(
    ("number", "grant"), [("1", "command git log -5"), ("2", "prefix git log")]
)
def test_of_program_and_subcommand_the_line_or_its_beginning_is_granted(
    number: str, grant: str
) -> None:
    person = Person("a", number)
    assert person.may(command("git log -5")) == "always"
    assert person.granted == [(grant, True)]
    assert "  1 = command git log -5" in person.shown
    assert "  2 = prefix git log and plain words behind it" in person.shown


def test_who_names_none_of_several_is_asked_anew() -> None:
    person = Person("a", "", "a", "7", "s", "no", "n")
    assert person.may(command("git log -5")) == ""
    assert person.granted == []
    assert len([line for line in person.shown if line.startswith("Allow?")]) == 4


# -------- what is offered


def test_the_question_names_what_a_letter_grants() -> None:
    person = Person("n")
    person.may(fetch("https://docs.test/x", "docs.test"))
    assert person.question == (
        "Allow? y = once, s = this session (host docs.test), a = always (host docs.test), "
        "n = no [n] "
    )


@pytest.mark.parametrize(
    ("action", "sources"),
    [
        (Action("write_file", "write", "workspace/SOUL.md"), ()),
        (Action("write_file", "write", "openclaw.yaml"), ()),
        (Action("edit_file", "write", "workspace/AGENTS.md"), ("web: a.test",)),
        (Action("write_file", "write", "skills/x/SKILL.md"), ("web: a.test",)),
        (Action("append_file", "write", "memory/MEMORY.md"), ("web: a.test",)),
        (Action("write_file", "write-elsewhere", "/srv/x"), ()),
        (Action("read_file", "read-elsewhere", "/srv/x"), ()),
    ],
)
def test_what_may_not_be_granted_is_not_offered_and_its_letters_do_nothing(
    action: Action, sources: tuple[str, ...]
) -> None:
    person = Person("s", "a", "always", "session", "n")
    assert person.may(asked(action, {"path": action.target}, *sources)) == ""
    assert person.granted == []
    assert person.question == "Allow? y = once, n = no [n] "


def test_a_script_of_several_lines_is_granted_for_the_session_at_most() -> None:
    person = Person("a", "s")
    assert person.may(command("make\nmake install")) == "session"
    assert person.granted == [("command make\nmake install", False)]
    assert "always" not in person.question
    assert "\n" not in person.question


@pytest.mark.parametrize("effect", ["run", "get", "send", "write"])
def test_what_is_kept_covers_what_was_asked(effect: Effect) -> None:
    action = Action("it", effect, "make test" if effect == "run" else "a.test")
    person = Person("s", "1")
    assert person.may(Question(action, {}, "because", offers(action)))
    kept = [grant for grant in offers(action) if (str(grant), False) in person.granted]
    assert len(kept) == 1 and kept[0].covers(action)


# -------- what is shown


def test_what_would_run_is_shown_with_control_characters_visible() -> None:
    person = Person("n")
    person.may(write("a\x1b[2K.md", text="one\ntwo\u202e\rthree"))
    assert person.shown[:4] == [
        "write_file", "  path: a\u241b[2K.md", "  text: one", "    two<U+202E>\u240dthree",
    ]  # fmt: skip


def test_a_command_line_cannot_hide_behind_signs() -> None:
    person = Person("n")
    person.may(command("make test\r\x1b[1Aecho harmless\u202e\u200b; rm -r ~"))
    text = "\n".join(person.shown)
    assert "make test\u240d\u241b[1Aecho harmless<U+202E><U+200B>; rm -r ~" in text
    assert not set("\r\x1b\u202e\u200b") & set(text)


def test_the_file_that_is_meant_is_named_when_the_words_are_others() -> None:
    person = Person("n", "n", "n", "n", "n")
    person.may(asked(Action("edit_file", "write", "workspace/SOUL.md"), {"path": "soul"}))
    assert "  = workspace/SOUL.md" in person.shown
    person.may(fetch("docs.test", "docs.test"))
    plain = asked(
        Action("fetch_url", "get", "docs.test", "https://docs.test/"), {"url": "docs.test"}
    )
    person.may(plain)
    assert "  = https://docs.test/" in person.shown
    person.shown.clear()
    person.may(write("workspace/a.md"))
    why = "mode edit asks before running a command without a sandbox: none"
    person.may(Question(Action("run_python", "run", "", "without a sandbox: none"), {}, why))
    assert not [line for line in person.shown if line.startswith("  = ")]


def test_why_it_is_asked_and_where_untrusted_text_came_from_is_said() -> None:
    person = Person("n")
    person.may(fetch("https://evil.test/?q=1", "evil.test", "web: a.test", "skill x\u202e"))
    assert "Asked because getting from the network after untrusted text was read." in person.shown
    assert "Untrusted text came from web: a.test, skill x<U+202E>." in person.shown


def test_a_long_call_says_how_much_is_hidden_and_shows_it_on_request() -> None:
    person = Person("v", "n")
    person.may(write(text="\n".join(f"line {n}" for n in range(100))))
    assert f"[{102 - MAX_LINES} more lines are not shown]" in person.shown
    assert "v = view all of it" in person.question
    assert person.shown.count("    line 99") == 1


def test_the_screen_is_cleared_before_the_question() -> None:
    order: list[str] = []
    may = Permission(
        lambda question: order.append("read") or "n",  # type: ignore[func-returns-value]
        lambda line: order.append("say"),
        lambda: order.append("pause"),
        lambda grant, lasting: None,
    )
    may(write())
    assert order[0] == "pause" and order[-1] == "read"


def test_the_yes_of_the_command_line_names_itself() -> None:
    assert beforehand(None, print)(write()) == "--yes"


def test_it_is_no_yes_to_what_others_may_be_behind() -> None:
    said: list[str] = []
    asked = replace(write(), sources=("web: evil.test",), reason="it lasts")
    assert beforehand(None, said.append)(asked) == ""
    assert said == ["--yes does not count for write_file: it lasts"]
    assert beforehand(lambda _: "once", said.append)(asked) == "once" and len(said) == 1
