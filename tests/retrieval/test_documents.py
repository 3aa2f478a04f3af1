"""Files of all kinds as text on their own lines."""

from __future__ import annotations

import json
import re
import time
import warnings
from pathlib import Path
from typing import Any, cast

import pytest

from openclaw.messages import Entry, ToolUse
from openclaw.retrieval.documents import (
    Unreadable,
    read_data,
    read_document,
)
from openclaw.sessions.store import SessionStore
from openclaw.storage.file_kinds import Kind, kind_by_name
from tests.fakes.loaded import loaded_by
from tests.fakes.pdf import pdf


def text(data: bytes | str, kind: Kind = "text") -> str:
    return read_data(data.encode() if isinstance(data, str) else data, kind)


def reason(data: bytes | str, kind: Kind = "text") -> str:
    with pytest.raises(Unreadable) as caught:
        text(data, kind)
    return str(caught.value)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("memory/MEMORY.md", "markdown"),
        ("workspace/Page.HTML", "html"),
        ("workspace/a.py", "code"),
        ("workspace/Makefile", "code"),
        ("workspace/a.pdf", "pdf"),
        ("workspace/notes", "text"),
        ("workspace/data.json", "text"),
        ("sessions/one.json", "session"),
        ("sessions/archive/one/0001.json", "session"),
        ("/elsewhere/sessions/one.json", "text"),
    ],
)
def test_a_name_tells_the_kind(path: str, kind: str) -> None:
    assert kind_by_name(path) == kind


def test_text_is_read_without_its_mark_and_with_plain_line_ends(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(b"\xef\xbb\xbfone\r\ntwo\rthree\n\nfive")
    assert read_document(file, "text") == "one\ntwo\nthree\n\nfive"


def test_bytes_that_are_not_utf_8_are_replaced() -> None:
    assert text(b"f\xfcr die K\xfcche, heute\n" * 3).startswith("f\ufffdr die K\ufffdche")


def test_utf_16_with_its_mark_is_read() -> None:
    assert text("Grüße\nzwei".encode("utf-16")) == "Grüße\nzwei"


@pytest.mark.parametrize(
    "data",
    [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", b"abc\0def", bytes(range(1, 9)) * 50],
    ids=["picture", "nul", "controls"],
)
def test_what_is_binary_is_not_read(data: bytes) -> None:
    assert reason(data) == "binary, not text"


def test_what_decodes_to_nothing_is_not_read() -> None:
    assert reason(bytes(range(160, 256)) * 20) == "neither UTF-8 nor UTF-16 text"


def test_terminal_colours_and_form_feeds_are_text() -> None:
    assert text(b"\x1b[31mred\x1b[0m\n\fnext\n") == "\x1b[31mred\x1b[0m\n\fnext\n"


def test_a_file_over_the_cap_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "a.md"
    file.write_bytes(b"x" * 2_000_001)
    with pytest.raises(Unreadable, match=r"larger than 2 MB \(index\.max_file_mb\)"):
        read_document(file, "markdown", 2_000_000)
    assert len(read_document(file, "markdown", 2_000_001)) == 2_000_001


PAGE = """\
<!DOCTYPE html>
<html><head><title>Whales &amp; co</title>
<style>p { color: red }</style>
<script>
var hidden = "<p>no</p>";
</script></head>
<body>
<h2>Songs</h2>
<!-- a comment
over two lines -->
<p>Blue whales <b>sing</b>&nbsp;low,
at 15&#10;Hz.<br>Others higher.</p>
<ul><li>one</li><li>two</li></ul>
<table><tr><td>a</td><td>b</td></tr></table>
<p title="x > y">last</p>
</body></html>
"""


def test_html_keeps_its_lines_and_loses_its_tags() -> None:
    lines = text(PAGE, "html").split("\n")
    assert len(lines) == len(PAGE.split("\n"))
    shown = {number: line for number, line in enumerate(lines, 1) if line}
    assert shown == {
        2: "Whales & co",
        8: "## Songs",
        11: "Blue whales sing low,",
        12: "at 15 Hz. Others higher.",
        13: "- one - two",
        14: "a b",
        15: "last",
    }


def test_broken_html_is_read_as_far_as_it_goes() -> None:
    assert text("a < b <p>c <i>d\n</div> &bogus; &#xzz; <!-- open", "html").split() == [
        *("a", "<", "b", "c", "d", "&bogus;"),
        *("&#xzz;",),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["<a ", "</a ", "<!--", "<![CDATA[", "<?", "<script>", "&#", "<"])
def test_html_made_to_stall_a_parser_does_not(piece: str) -> None:
    begun = time.process_time()
    read_data((piece * 60_000).encode(), "html")
    assert time.process_time() - begun < 5


def test_a_session_gives_what_was_said_on_the_lines_of_its_file(tmp_path: Path) -> None:
    store = SessionStore(tmp_path / "sessions")
    session = store.new("talk")
    note = ToolUse(
        id="1", tool="write_file", input={"content": "to a file"}, output="saved", ok=True
    )
    session.messages = [
        Entry("user", 'Where is "Zoë"?\nTell me.', context="recalled: Zoë lives in Bern"),
        Entry("assistant", "In Bern.", tool_calls=(note,)),
        Entry("user", "In Bern."),
    ]
    store.save(session)
    path = tmp_path / "sessions" / "talk.json"
    source = path.read_text("utf-8").split("\n")
    lines = read_document(path, "session").split("\n")
    said = {number: line for number, line in enumerate(lines) if line}
    assert list(said.values()) == [
        'Where is "Zoë"? Tell me.',
        'user: Where is "Zoë"? Tell me.',
        "assistant: In Bern.",
        "user: In Bern.",
    ]
    assert len(lines) == len(source)
    assert [source[number].split('"')[1] for number in said] == ["title", *["content"] * 3]


def test_a_part_of_the_archive_gives_what_was_said_without_the_summary_before_it(
    tmp_path: Path,
) -> None:
    store = SessionStore(tmp_path / "sessions")
    session = store.new("talk")
    session.messages = [Entry("user", "one"), Entry("assistant", "two"), Entry("user", "three")]
    session.compressed_context = "said before"
    store.save(session)
    store.compact(session, 2, "in short")
    part = read_document(tmp_path / "sessions/archive/talk/0001.json", "session")
    assert [line for line in part.split("\n") if line] == ["one", "user: one", "assistant: two"]
    left = read_document(tmp_path / "sessions/talk.json", "session")
    assert [line for line in left.split("\n") if line] == ["one", "in short", "user: three"]


def test_a_session_of_version_1_on_one_line_is_read() -> None:
    messages = [{"role": "user", "content": "hi"}, {"content": "yes\nno", "role": "assistant"}]
    assert text(json.dumps(messages), "session") == "user: hi assistant: yes no"


def test_the_title_of_a_session_may_stand_behind_its_messages() -> None:
    data = {"messages": [{"role": "user", "content": "hi"}], "title": "Greeting"}
    lines = text(json.dumps(data, indent=1), "session").split("\n")
    assert [line for line in lines if line] == ["user: hi", "Greeting"]


@pytest.mark.parametrize("data", ["{", '{"a": 1}', "3", '{"messages": 3}', "[" * 100_000])
def test_what_is_no_session_is_not_read(data: str) -> None:
    assert reason(data, "session").startswith("not a session")


def test_odd_messages_of_a_session_are_passed_over() -> None:
    data: list[Any] = [3, {"role": "user"}, {"role": "user", "content": 4}, {"role": "system"}]
    assert text(json.dumps([*data, {"role": "user", "content": "x"}]), "session") == "user: x"


def test_a_pdf_gives_its_pages_with_a_form_feed_between_them() -> None:
    assert text(pdf("The first page", "The second"), "pdf") == "The first page\n\fThe second"


def test_half_a_pair_of_surrogates_becomes_the_mark_for_what_cannot_be_read() -> None:
    said = '[{"role": "user", "content": "a \\ud83d b"}]'
    assert text(said, "session") == "user: a \ufffd b"
    assert text(pdf("A tea", a_stands_for="D83D"), "pdf") == "\ufffd tea"


def test_a_pdf_that_needs_a_password_is_not_read() -> None:
    assert reason(pdf("secret", password="word"), "pdf") == "an encrypted PDF"


def test_a_pdf_without_text_is_not_read() -> None:
    assert reason(pdf(""), "pdf") == "a PDF without text (scanned pages?)"


def test_a_damaged_pdf_is_not_read_and_says_nothing_on_its_own(
    capfd: pytest.CaptureFixture[str],
) -> None:
    whole = pdf("The first page", "The second")
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for data in (b"", b"%PDF-1.7\n", whole[:300], b"no pdf at all " * 20):
            assert reason(data, "pdf").startswith(("a damaged PDF", "a PDF without text"))
        mended = text(re.sub(rb"startxref\n\d+", b"startxref\n7", whole), "pdf")
    assert mended == "The first page\n\fThe second"
    assert not warned
    assert capfd.readouterr() == ("", "")


LONG = {
    "ends of nothing": ("html", b"</" * 250_000),
    "openings": ("html", b"<a " * 250_000),
    "messages that do not stand there": (
        "session",
        b'{"messages": [{"role": "tool"}'
        + b', {"role": "user", "c\\u006fntent": "v"}, {"role": "tool", "content": "w"}' * 5_000
        + b"]}",
    ),
}


@pytest.mark.parametrize("name", LONG)
def test_no_text_is_searched_to_its_end_for_each_of_its_parts(name: str) -> None:
    kind, data = LONG[name]
    began = time.process_time()
    read_data(data, cast(Kind, kind))
    assert time.process_time() - began < 10, "it takes a second, or half a minute"


def test_neither_reading_a_file_nor_a_turn_loads_numpy() -> None:
    """Its import takes as long as all that follows an answer."""
    code = "import openclaw.agent.after_answer, openclaw.agent.turn, openclaw.home.search_client"
    own = "openclaw.retrieval.documents"
    assert loaded_by(code, own, "numpy") == [own]
