"""The question before a tool runs: what it shows and offers, and what each reply does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pyte
import pytest

from openclaw.cli.approval import Permission, yes_unless_untrusted
from openclaw.cli.render import Listener
from openclaw.security.grants import Grant, offered_grants
from openclaw.security.policy import Declined, PermissionQuestion, Policy
from openclaw.types import Action, Change, Effect

Screen = Callable[[int, int], None]
SIZES = [pytest.param(size, marks=pytest.mark.slow) for size in ((40, 20), (200, 60))]


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    """Set the columns and rows of the terminal."""

    def says(columns: int, rows: int) -> None:
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setenv("LINES", str(rows))

    return says


class Person:
    """A person who types these replies; keeps what was shown to them and what they granted."""

    def __init__(self, *replies: str) -> None:
        self.left = list(replies)
        self.shown: list[str] = []
        self.granted: list[tuple[str, bool]] = []
        self.may = Permission(self._read, self.shown.append, Listener(), self)

    def _read(self, question: str) -> str:
        self.shown.append(question)
        if not self.left:
            raise EOFError
        return self.left.pop(0)

    def grant(self, grant: Grant, *, lasting: bool) -> None:
        self.granted.append((str(grant), lasting))

    @property
    def question(self) -> str:
        return next(line for line in self.shown if line.startswith("Allow?"))


def write(path: str = "workspace/a.md", **more: Any) -> PermissionQuestion:
    return asked(Action("write_file", "write", path), {"path": path, **more})


def command(line: str) -> PermissionQuestion:
    return asked(Action("run_shell", "run", line), {"command": line})


def fetch(url: str, host: str, *sources: str) -> PermissionQuestion:
    return asked(Action("fetch_url", "get", host, url), {"url": url}, *sources)


def asked(action: Action, arguments: Mapping[str, Any], *sources: str) -> PermissionQuestion:
    policy = Policy("ask")
    tainted = bool(sources)
    reason = policy.decide(action, tainted=tainted).reason
    return PermissionQuestion(
        action, arguments, reason, policy.offers(action, tainted=tainted), sources
    )


# -------- replies


def test_yes_is_once_and_grants_nothing() -> None:
    for reply in ("y", "Y ", "yes"):
        person = Person(reply)
        assert person.may(write()) == "once"
        assert person.granted == []


@pytest.mark.parametrize("replies", [("n",), ("",), ("?", "no"), (), ("1",), ("once", "n")])
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


@pytest.mark.parametrize("reply", ["use another file", "Maybe later", "no, call it b.md", "nein"])
def test_any_other_words_are_a_no_that_says_what_to_do_instead(reply: str) -> None:
    person = Person(reply)
    with pytest.raises(Declined, match=reply):
        person.may(write())
    assert person.granted == []


@pytest.mark.parametrize(
    "reply",
    ["m", "x", "1", "12", "?!", ",", "\x1b[A", "yes, go on", "yes: do it", "y please", "ja", "oui"],
)
def test_a_key_hit_by_mistake_and_what_begins_like_a_yes_are_asked_again(reply: str) -> None:
    person = Person(reply, "n")
    assert person.may(write()) == "" and person.granted == []
    assert len([line for line in person.shown if line.startswith("Allow?")]) == 2


def test_what_is_drawn_makes_way_for_the_question() -> None:
    order: list[str] = []

    class Drawing(Listener):
        def pause(self) -> None:
            order.append("pause")

        def resume(self) -> None:
            order.append("resume")

    def read(question: str) -> str:
        order.append("read")
        return "other words"

    with pytest.raises(Declined):
        Permission(read, lambda line: order.append("say"), Drawing(), Person())(write())
    assert order[0] == "pause" and order[-2:] == ["read", "resume"]


# -------- what is offered


def test_the_question_names_what_a_letter_grants() -> None:
    person = Person("n")
    person.may(fetch("https://docs.test/x", "docs.test"))
    assert person.shown[-3:] == [
        'Mode "ask": getting from the network needs your OK.',
        "[s] and [a] from now on: host docs.test",
        "Allow? [y]es  [s]ession  [a]lways  [N]o  (or say what to do instead) ",
    ]


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
    assert person.question == "Allow? [y]es  [N]o  (or say what to do instead) "


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
    assert person.may(PermissionQuestion(action, {}, "because", offered_grants(action)))
    kept = [grant for grant in offered_grants(action) if (str(grant), False) in person.granted]
    assert len(kept) == 1 and kept[0].covers(action)


# -------- what is shown


def changing(before: str | None, after: str) -> PermissionQuestion:
    return replace(write(), change=Change("workspace/a.md", before, after))


@pytest.mark.parametrize(
    ("question", "shown"),
    [
        (changing("a\nb\nold\nc\nd\ne\n", "a\nb\nnew\nc\nd\ne\n"),
         ["write_file workspace/a.md", "@@ -1,5 +1,5 @@", " a", " b", "-old", "+new", " c"]),
        (changing(None, "one\u202e\r\n\x1b[2Ktwo\n"),
         ["write_file workspace/a.md (a new file)", "@@ -0,0 +1,2 @@", "+one<U+202E>\u240d",
          "+\u241b[2Ktwo"]),
        (changing("a", "a\n"), ["write_file"]),
        (write("a\x1b[2K.md", text="one\ntwo\u202e\rthree"),
         ["write_file", "  path: a\u241b[2K.md", "  text: one", "    two<U+202E>\u240dthree"]),
    ],
    ids=["a diff", "a new file whole", "no difference that a diff shows", "a call"],
)  # fmt: skip
def test_what_would_change_is_shown_with_what_is_hidden_in_it(
    question: PermissionQuestion, shown: list[str]
) -> None:
    person = Person("n")
    person.may(question)
    assert person.shown[: len(shown)] == shown


def test_the_lines_of_a_diff_are_coloured_row_by_row(screen: Screen) -> None:
    screen(20, 24)
    shown: list[str] = []
    may = Permission(lambda question: "n", shown.append, Listener(), Person(), colours=True)
    may(changing("old\n", "new " * 6 + "\n"))
    assert shown[3:6] == [
        "\x1b[31m-old\x1b[m", "\x1b[32m+new new new new ne\x1b[m", "\x1b[32mw new \x1b[m",
    ]  # fmt: skip


def test_a_long_diff_is_seen_whole_before_it_is_allowed_for_good(screen: Screen) -> None:
    screen(80, 24)
    long = changing("", "".join(f"{n}\n" for n in range(40)))
    person = Person("s", "a", "v", "", "", "s")
    assert person.may(long) == "session"
    assert len([line for line in person.shown if line == "+20"]) == 1


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
    why = 'mode "edit": running a command needs your OK; it runs without a sandbox: none'
    person.may(
        PermissionQuestion(Action("run_python", "run", "", "without a sandbox: none"), {}, why)
    )
    assert not [line for line in person.shown if line.startswith("  = ")]


def test_why_it_is_asked_and_where_untrusted_text_came_from_is_said() -> None:
    person = Person("n")
    person.may(fetch("https://evil.test/?q=1", "evil.test", "web: a.test", "skill x\u202e"))
    assert "Asked because getting from the network after untrusted text was read." in person.shown
    assert "Untrusted text came from web: a.test, skill x<U+202E>." in person.shown


def test_a_long_call_shows_both_ends_on_one_screen_and_all_of_it_on_request(screen: Screen) -> None:
    screen(80, 24)
    person = Person("v", "", "", "", "", "", "n")
    person.may(write(text="\n".join(f"line {n}" for n in range(100))))
    first = person.shown[: person.shown.index(person.question)]
    assert len(first) < 24
    assert first[0] == "write_file" and "    line 99" in first
    left_out = 102 - sum(line.startswith(("write_file", "  ")) for line in first)
    assert f"[{left_out} rows are not shown here]" in first
    assert "[v]iew all" in person.question
    assert [line for line in person.shown if line == "    line 50"] == ["    line 50"]


@pytest.mark.parametrize("size", [(80, 24), *SIZES])
@pytest.mark.parametrize(
    "padding",
    [
        " " * 9_000, "\t" * 9_000, "\n" * 9_000, "\u3000" * 9_000, "\u00a0" * 9_000,
        "\u2800" * 9_000, " \n\t" * 3_000, "\r\n" * 5_000, "\x0b" * 5_000, "\u2028" * 5_000,
        "x" * 9_000, "\u6f22" * 9_000, "a\u0301" * 9_000, "\u0301" * 9_000, "# \n" * 3_000,
        ("." + " " * 30) * 500, "\u3164" * 9_000, "\u200b" * 9_000, "\x1b[2K" * 3_000,
    ],
)  # fmt: skip
def test_neither_end_of_a_command_leaves_the_screen(
    padding: str, size: tuple[int, int], screen: Screen
) -> None:
    screen(*size)
    person = Person("s", "a", "n")
    person.may(command(f"touch EVIL;{padding}&& ls EVEN"))
    asked = person.shown[: person.shown.index(person.question) + 1]
    held = pyte.HistoryScreen(*size)
    pyte.Stream(held).feed("\r\n".join(asked))
    assert not held.history.top, "something has left the screen"
    text = "".join(line.rstrip() for line in held.display)
    assert "EVIL" in text and "EVEN" in text and "Allow?" in text


def test_blanks_are_counted_and_no_row_is_left_out_for_them(screen: Screen) -> None:
    screen(80, 24)
    person = Person("n")
    person.may(command(f"touch EVIL; true {' ' * 9_000} && ls{chr(10) * 500}ls"))
    assert person.shown[1:4] == [
        "  command: touch EVIL; true \u27e89,002 blanks\u27e9 && ls", "\u27e8500 line ends\u27e9",
        "    ls",
    ]  # fmt: skip
    assert "[v]iew" not in person.question


def test_what_is_not_seen_whole_is_allowed_once_only(screen: Screen) -> None:
    screen(80, 24)
    long = write(text="\n".join(map(str, range(30))))
    person = Person("s", "a", "v", "q", "s", "n")
    assert person.may(long) == "" and person.granted == []
    person = Person("v", "", "s")
    assert person.may(long) == "session"
    assert person.granted == [("tool write_file", False)]


def test_who_sent_it_and_why_push_nothing_off_the_screen(screen: Screen) -> None:
    screen(80, 24)
    person = Person("n")
    person.may(fetch("https://evil.test/" + "q" * 3_000, "evil.test", "web: " + "a" * 9_000))
    held = pyte.HistoryScreen(80, 24)
    pyte.Stream(held).feed("\r\n".join(person.shown))
    assert not held.history.top and "fetch_url" in held.display[0]


def test_a_line_separator_in_a_grant_is_visible() -> None:
    person = Person("n")
    person.may(command("make \u2028test"))
    assert "\u2028" not in "".join(person.shown)


def test_the_yes_of_the_command_line_names_itself() -> None:
    assert yes_unless_untrusted(None, print)(write()) == "--yes"


def test_it_is_no_yes_to_what_others_may_be_behind() -> None:
    said: list[str] = []
    asked = replace(write(), sources=("web: evil.test",), reason="it lasts")
    assert yes_unless_untrusted(None, said.append)(asked) == ""
    assert said == ["--yes does not count for write_file: it lasts"]
    assert yes_unless_untrusted(lambda _: "once", said.append)(asked) == "once" and len(said) == 1
