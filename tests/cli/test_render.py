"""Listeners: from events to the text on stdout, on stderr and on a terminal's screen."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence

import pyte
import pytest

from openclaw.cli.one_shot import choose_listener
from openclaw.cli.render import DoneJson, JsonLines, Listener, PlainText, exit_code
from openclaw.cli.terminal import Screen, settled_length
from openclaw.events import (
    Done,
    Error,
    Event,
    NewResponse,
    Notice,
    ReceiptMade,
    Start,
    Token,
    ToolEnd,
    ToolStart,
)
from openclaw.messages import Usage
from openclaw.receipt import FileChange, Receipt

CHANGED = Receipt(
    (FileChange("memory/TODO.md", "changed", 1, 0),), (("added", "buy milk"),), (), ()
)


EXPECTED = [
    "read_file a.md: 2 lines", "Found", "", "Two things:", "", "\u2022 one", "\u2022 two",
    "memory/TODO.md changed +1 -0; to-do added: buy milk",
]  # fmt: skip


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def done(answer: str, **more: object) -> Done:
    fields: dict[str, object] = {
        "usage": Usage(100, 0, 5), "stop_reason": "answer", "session_id": "s1", "model": "m",
        "receipt": Receipt(),
    }  # fmt: skip
    return Done(answer, **{**fields, **more})  # type: ignore[arg-type]


def plain(events: Sequence[Event], *, tools: bool = False, notes: bool = True) -> tuple[str, str]:
    """The stdout and stderr of a turn whose output goes into a pipe."""
    out, err = io.StringIO(), io.StringIO()
    feed(PlainText(out, err, tools=tools, notes=notes, dim=False), events)
    return out.getvalue(), err.getvalue()


def feed(listener: Listener, events: Sequence[Event]) -> None:
    for event in events:
        listener(event)
    listener.close()


def screen_of(text: str, width: int = 60, height: int = 20) -> list[str]:
    """The lines of a terminal's screen after this output, without blank lines at the end."""
    screen = pyte.Screen(width, height)
    pyte.Stream(screen).feed(text.replace("\n", "\r\n"))
    return "\n".join(line.rstrip() for line in screen.display).rstrip().splitlines()


def drawn(events: Sequence[Event], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The lines of a 60 x 20 terminal after a turn."""
    for name, value in {"TERM": "xterm-256color", "COLUMNS": "60", "LINES": "20"}.items():
        monkeypatch.setenv(name, value)
    both = Terminal()
    feed(Screen(both, both, notes=True), events)
    return screen_of(both.getvalue())


@pytest.mark.parametrize(
    ("events", "out"),
    [
        ([Start("s1", "m", 8192, "json"), Token("Hel"), Token("lo."), done("Hello.")], "Hello."),
        ([done("Hello.")], "Hello."),
        ([Token("I have "), done("I have seen it.")], "I have seen it."),
        ([Token("I saved it."), done("I did not.")], "I saved it.\n\nI did not."),
        ([Token("a\x1b[1mb"), done("a\x1b[1mb")], "a\x1b[1mb"),
    ],
    ids=["streamed", "not streamed", "half streamed", "not what was streamed", "byte for byte"],
)
def test_the_answer_is_all_that_stands_on_stdout(events: list[Event], out: str) -> None:
    assert plain(events) == (f"{out}\n", "")


@pytest.mark.parametrize(
    ("again", "out"),
    [
        (["Nobody", " has paid."], "Nobody has paid.\n"),
        (["Nobody", " but Ann."], "Nobody has paid.\n\nNobody but Ann.\n"),
        (["Nobody"], "Nobody has paid.\n\nNobody\n"),
    ],
)
def test_a_reply_that_was_asked_for_again_and_is_the_same_stands_once(
    again: list[str], out: str
) -> None:
    events: list[Event] = [Token("Nobody has paid."), NewResponse(2), *map(Token, again)]
    assert plain([*events, done("".join(again))]) == (out, "")


def test_words_before_a_tool_stay_a_paragraph_of_their_own() -> None:
    events: list[Event] = [
        Token("Let me look."), ToolStart("1", "read_file", {"path": "a.md"}),
        ToolEnd("1", "read_file", "x\ny", True, 0.0), NewResponse(2), Token("\n\nIt is x."),
        done("It is x."),
    ]  # fmt: skip
    assert plain(events) == ("Let me look.\n\nIt is x.\n", "")


def test_tools_notices_and_receipt_go_to_stderr() -> None:
    events: list[Event] = [
        Notice("loading model"), ToolStart("1", "todo", {"action": "add", "text": "buy milk"}),
        ToolEnd("1", "todo", "added buy milk", True, 1.25), NewResponse(2), Token("Done."),
        ReceiptMade(CHANGED), done("Done.", receipt=CHANGED),
    ]  # fmt: skip
    out, err = plain(events, tools=True)
    assert out == "Done.\n"
    assert err.splitlines() == [
        "loading model",
        "todo add buy milk: added buy milk, 1.2 s",
        "memory/TODO.md changed +1 -0; to-do added: buy milk",
    ]
    assert plain(events, notes=False) == ("Done.\n", "")


@pytest.mark.parametrize("answer", ["Hello.", "Hello.\n", "one\ntwo"])
def test_a_notice_is_not_glued_to_the_answer_where_both_are_shown(answer: str) -> None:
    both = io.StringIO()
    listener = PlainText(both, both, tools=False, notes=True, dim=False)
    pieces: list[Event] = [
        Token(answer[:2]),
        Notice("loading"),
        Token(answer[2:]),
        Notice("kept in a.md:1"),
    ]
    feed(listener, [*pieces, done(answer)])
    lines = both.getvalue().splitlines()
    assert "kept in a.md:1" in lines and "loading" in lines
    assert [line for line in lines if line not in ("loading", "kept in a.md:1")] == (
        answer.splitlines()
    )
    assert plain([*pieces, done(answer)]) == (answer.rstrip() + "\n", "loading\nkept in a.md:1\n")


def test_what_is_said_of_a_call_does_not_wait_for_the_answer() -> None:
    both = io.StringIO()
    listener = PlainText(both, both, tools=True, notes=True, dim=False)
    for event in (Token("Let me look."), ToolStart("1", "read_file", {"path": "a.md"}),
                  ToolEnd("1", "read_file", "x", True, 0.0)):  # fmt: skip
        listener(event)
    assert both.getvalue() == "Let me look.\nread_file a.md: x\n"


@pytest.mark.parametrize(
    ("tool", "end", "line"),
    [
        ("todo", ToolEnd("1", "todo", "Added to Tasks: milk.\nTasks:\n- milk", True, 0.0,
                         "added to Tasks: milk"), "todo: added to Tasks: milk"),
        ("web_search", ToolEnd("1", "web_search", "The search engine cannot be reached. Tell the "
                               "user; do not guess.", False, 0.2),
         "web_search x: The search engine cannot be reached, 0.2 s"),
        ("run_shell", ToolEnd("1", "run_shell", "Exit code 0.\na\nb", True, 10.1),
         "run_shell x: 2 lines, 10.1 s"),
        ("run_shell", ToolEnd("1", "run_shell", "Exit code 0.\n<<data 0a1b2c3d from command: x, "
                              "no orders>>\nhello\n<</data 0a1b2c3d>>", True, 0.0),
         "run_shell x: hello"),
        ("run_shell", ToolEnd("1", "run_shell", "Exit code 2. It printed nothing.", True, 0.0),
         "run_shell x: exit code 2, nothing printed"),
    ],
)  # fmt: skip
def test_a_tool_line_is_in_words_for_the_user(tool: str, end: ToolEnd, line: str) -> None:
    assert plain([ToolStart("1", tool, {"query": "x"}), end], tools=True)[1] == f"{line}\n"


def test_a_tool_line_names_the_items_of_a_call_without_brackets() -> None:
    events: list[Event] = [
        ToolStart("1", "todo", {"action": "add", "items": ["call Maria", "buy milk"]}),
        ToolEnd("1", "todo", "Tried before in this turn; it failed:\nNo.", False, 0.0),
    ]
    line = "todo add call Maria, buy milk: Tried before in this turn; it failed\n"
    assert plain(events, tools=True)[1] == line


def test_a_failed_tool_shows_why_and_a_long_result_its_size() -> None:
    events: list[Event] = [
        ToolStart("1", "read_file", {"path": "no.md"}),
        ToolEnd("1", "read_file", "no such file\nnear: now.md", False, 0.0),
        ToolStart("2", "read_file", {"path": "now.md"}),
        ToolEnd("2", "read_file", "a\nb\nc", True, 0.0),
    ]
    assert plain(events, tools=True)[1].splitlines() == [
        "read_file no.md: no such file",
        "read_file now.md: 3 lines",
    ]


def test_a_claim_that_nothing_backs_is_told_even_when_quiet() -> None:
    err = plain([done("I saved it.", unbacked=("I saved it.",))], notes=False)[1]
    assert "I saved it." in err and "not true" in err


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({}, 0),
        ({"unbacked": ("I saved it.",)}, 3),
        ({"refused": ("write a.md",)}, 7),
        ({"stop_reason": "interrupted", "unbacked": ("x",)}, 130),
        ({"stop_reason": "empty"}, 1),
        ({"stop_reason": "steps"}, 0),
    ],
)
def test_the_exit_code_follows_the_end_of_the_turn(fields: dict[str, object], code: int) -> None:
    assert exit_code(done("x", **fields)) == code


def test_json_is_the_done_event_alone() -> None:
    out = io.StringIO()
    feed(DoneJson(out), [Token("Hi."), done("Hi.", receipt=CHANGED)])
    shape = json.loads(out.getvalue())
    assert (shape["event"], shape["answer"], shape["session_id"]) == ("done", "Hi.", "s1")
    assert shape["usage"]["prompt_tokens"] == 100
    assert shape["receipt"]["files"][0]["path"] == "memory/TODO.md"
    assert {"stop_reason", "model", "unbacked", "refused"} <= set(shape)


def test_stream_json_is_one_object_a_line_in_order() -> None:
    out = io.StringIO()
    text = "two\nlines \u2028 and \ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16")
    feed(JsonLines(out), [Start("s1", "m", 8, "json"), Token(text), done(text)])
    objects = [json.loads(line) for line in out.getvalue().split("\n") if line]
    assert [item["event"] for item in objects] == ["start", "token", "done"]
    assert objects[1]["text"] == text


def test_an_error_event_is_told_in_each_format() -> None:
    event = Error("the server is away", "start it: ollama serve", 4)
    assert plain([event])[1] == "the server is away (start it: ollama serve)\n"
    out = io.StringIO()
    feed(DoneJson(out), [event])
    assert json.loads(out.getvalue())["exit_code"] == 4


def test_escape_sequences_do_not_reach_a_terminal() -> None:
    evil = "a\x1b]0;title\x07b\x1b[2J\rc\u202ed\x9b31m"
    out = Terminal()
    feed(PlainText(out, out, tools=True, notes=True, dim=False), [Token(evil), Notice(evil)])
    assert not set("\x1b\x07\r\u202e\x9b") & set(out.getvalue())
    assert "a\u241b]0;title\u2407b\u241b[2J" in out.getvalue()


def test_a_terminal_shows_markdown_with_tool_lines_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = "# Found\n\nTwo **things**:\n\n- one\n- two\n"
    events: list[Event] = [
        ToolStart("1", "read_file", {"path": "a.md"}),
        ToolEnd("1", "read_file", "x\ny", True, 0.0),
        NewResponse(2),
        *(Token(piece) for piece in answer.partition("things")),
        done(answer, receipt=CHANGED),
    ]
    lines = drawn(events, monkeypatch)
    assert [line.strip() for line in lines] == EXPECTED


def test_a_long_answer_scrolls_and_is_shown_once(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = "\n\n".join(f"paragraph {n}" for n in range(1, 31))
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "60")
    both = Terminal()
    pieces = [answer[n : n + 7] for n in range(0, len(answer), 7)]
    feed(Screen(both, both, notes=True), [*map(Token, pieces), done(answer)])
    lines = screen_of(both.getvalue(), height=200)
    assert [line for line in lines if line] == [f"paragraph {n}" for n in range(1, 31)]


def test_lines_end_where_their_words_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "60")
    both = Terminal()
    feed(Screen(both, both, notes=True), [Token("two\nwords " * 20), done("two\nwords " * 20)])
    assert " \n" not in both.getvalue()


def test_escape_sequences_in_markdown_are_made_visible(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = drawn([Token("now\x1b[2Jgone"), done("now\x1b[2Jgone")], monkeypatch)
    assert lines == ["now\u241b[2Jgone"]


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("one line", ""),
        ("one\n\n", ""),
        ("one\n\ntwo", "one\n\n"),
        ("one\n\n  indented\n\nnext", "one\n\n  indented\n\n"),
        ("```\na\n\nb\n", ""),
        ("```\na\n\nb\n```\n\nafter", "```\na\n\nb\n```\n\n"),
        ("````\n```\n\nb\n", ""),
    ],
)
def test_only_whole_blocks_are_settled(text: str, whole: str) -> None:
    assert text[: settled_length(text)] == whole


def test_the_listener_fits_the_streams(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe, terminal = io.StringIO(), Terminal()
    monkeypatch.setenv("TERM", "xterm")
    assert isinstance(choose_listener("text", terminal, terminal), Screen)
    assert isinstance(choose_listener("text", pipe, terminal), PlainText)
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(choose_listener("text", terminal, terminal), PlainText)
    assert isinstance(choose_listener("json", terminal, terminal), DoneJson)
    assert isinstance(choose_listener("stream-json", pipe, pipe), JsonLines)


def test_dim_lines_stay_away_from_files_and_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    for no_color, dims in (("", True), ("1", False)):
        monkeypatch.setenv("NO_COLOR", no_color)
        err = Terminal()
        feed(choose_listener("text", io.StringIO(), err), [Notice("loading")])
        assert ("\x1b[2m" in err.getvalue()) is dims
    monkeypatch.setenv("NO_COLOR", "")
    err_file = io.StringIO()
    feed(choose_listener("text", io.StringIO(), err_file), [Notice("loading")])
    assert err_file.getvalue() == "loading\n"
