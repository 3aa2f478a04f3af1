"""Sessions: nothing that was acknowledged is lost, and damage stays where it is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.errors import Damaged, OpenclawError, UsageError
from openclaw.messages import Entry, ToolUse, Usage
from openclaw.sessions.export import export_markdown
from openclaw.sessions.session import Session, from_json, session_name, title_of, to_json
from openclaw.sessions.store import SessionStore


class Clock:
    """A clock that goes on by a minute at every look."""

    def __init__(self) -> None:
        self.at = datetime(2026, 11, 21, 15, 30, tzinfo=timezone(timedelta(hours=1)))

    def __call__(self) -> datetime:
        self.at += timedelta(minutes=1)
        return self.at


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    return SessionStore(tmp_path / "sessions", tmp_path / "locks", now=Clock())


def saved(store: SessionStore, *texts: str, name: str | None = None) -> Session:
    session = store.new(name, "fake/one")
    for number, text in enumerate(texts):
        session.messages.append(Entry("assistant" if number % 2 else "user", text))
    store.save(session)
    return session


def names(store: SessionStore) -> list[str]:
    return sorted(path.name for path in store.folder.iterdir())


FULL = Entry(
    "assistant",
    "Done.",
    context="Today is Friday.",
    tool_calls=(ToolUse("1", "todo", {"action": "add", "texts": ["a"]}, "added a", ok=True),),
    usage=Usage(100, 80, 20, 0.5, 1.5, 2),
    at="2026-11-21T15:30:00+01:00",
    raw='{"answer": "Done."}',
    hint="Now answer.",
    extra={"mood": "good"},
)


def test_a_session_comes_back_as_it_was_saved(store: SessionStore) -> None:
    session = store.new(None, "ollama/qwen3:4b")
    session.messages = [Entry("user", "Gr\u00fc\u00df \U0001f600\u2028 \x1b[0m"), FULL]
    session.extra = {"later": {"version": 3}}
    session.compressed_context = "earlier"
    store.save(session)
    assert store.load(session.id) == session


def test_the_file_has_the_promised_form(store: SessionStore) -> None:
    session = saved(store, "add milk")
    session.messages.append(FULL)
    store.save(session)
    data = json.loads((store.folder / f"{session.id}.json").read_bytes())
    assert list(data) == [
        *("version", "id", "title", "created_at", "updated_at", "model"),
        *("compressed_context", "messages"),
    ]
    assert (data["version"], data["id"], data["title"]) == (2, session.id, "add milk")
    first, second = data["messages"]
    assert first == {
        "role": "user",
        "content": "add milk",
        "context": "",
        "tool_calls": [],
        "usage": None,
        "at": "",
    }
    call = {"id": "1", "tool": "todo", "input": {"action": "add", "texts": ["a"]}}
    assert second["tool_calls"] == [call | {"output": "added a", "ok": True}]
    assert second["usage"]["cached_tokens"] == 80
    assert (second["raw"], second["hint"], second["mood"]) == (FULL.raw, "Now answer.", "good")


def test_an_id_sorts_by_time_and_tells_it(store: SessionStore) -> None:
    ids = [store.new().id for _ in range(5)]
    assert ids == sorted(ids)
    assert ids[0].startswith("2026-11-21-1531")


def test_a_name_becomes_the_id_when_it_can_be_a_file(store: SessionStore) -> None:
    assert store.new("work-log").id == "work-log"
    assert store.new("m\u00fcsli").id == "m\u00fcsli"
    for name in ("my trip", "../x", "a/b", "con", ".git", "latest", "a.b", "x" * 80):
        session = store.new(name)
        assert session.title == name
        assert session.id.startswith("2026-11-21-")
        store.save(session)
        if name != "latest":
            assert store.load(name).id == session.id
    assert not [name for name in names(store) if not name.startswith("2026-")]


def test_a_name_that_is_taken_is_refused(store: SessionStore) -> None:
    saved(store, "x", name="work")
    with pytest.raises(UsageError, match="work"):
        store.new("work")
    with pytest.raises(UsageError):
        store.new(" ")


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("hello", "hello"),
        ("  two\n lines\t here ", "two lines here"),
        ("word " * 30, ("word " * 11).strip() + "..."),
        ("x" * 100, "x" * 57 + "..."),
        ("a\x1b[31mred", "a [31mred"),
        ("", ""),
    ],
)
def test_the_title_is_the_first_words_of_the_user(text: str, title: str) -> None:
    assert title_of([Entry("assistant", "no"), Entry("user", text)]) == title
    assert len(title) <= 60


def test_version_1_is_read_and_saved_as_version_2(store: SessionStore) -> None:
    old = [
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": "list files", "mark": 1},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {"function": {"name": "list_files", "arguments": '{"path": "."}'}},
                {"name": "read_file", "arguments": {"path": "a"}},
                {"tool": "read_skill", "input": "plan-day", "output": "text"},
                {"tool": "calculate", "input": "[" * 100_000, "output": "no"},
            ],
        },
        {"role": "tool", "content": "a.md"},
        {"role": "assistant", "content": None},
    ]
    store.folder.mkdir()
    path = store.folder / "old.json"
    path.write_text(json.dumps(old), encoding="utf-8")
    session = store.load("old")
    assert session.title == "list files"
    assert [entry.role for entry in session.messages] == ["user", "assistant", "assistant"]
    one, two, three, deep = session.messages[1].tool_calls
    assert (one.tool, one.input, one.output, one.ok) == ("list_files", {"path": "."}, "a.md", True)
    assert (two.tool, two.output, two.ok) == ("read_file", "(interrupted)", False)
    assert (three.input, three.output, three.ok) == ({"input": "plan-day"}, "text", True)
    assert deep.input == {"input": "[" * 100_000}
    assert session.created_at
    store.save(session)
    data = json.loads(path.read_bytes())
    assert data["version"] == 2
    assert data["messages"][0]["mark"] == 1
    assert data["version_1_other"] == [old[0]]
    assert store.load("old") == session


def test_a_call_that_was_cut_off_is_marked_interrupted(store: SessionStore) -> None:
    session = saved(store, "go")
    calls = (ToolUse("1", "a", {}, "", ok=False), ToolUse("2", "b", {}, "", ok=True))
    session.messages.append(Entry("assistant", "", tool_calls=calls))
    store.save(session)
    one, two = store.load(session.id).messages[-1].tool_calls
    assert (one.output, one.ok) == ("(interrupted)", False)
    assert (two.output, two.ok) == ("", True)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b'{"version": 2, "messages": [',
        b"null",
        b"7",
        b'{"version": 2}',
        b'{"messages": {}}',
        b'{"messages": [7]}',
        b'{"messages": [{"role": "wizard", "content": ""}]}',
        b'{"messages": [{"role": "user", "content": 7}]}',
        b'{"messages": [{"role": "user", "content": "", "tool_calls": "x"}]}',
        b'{"messages": [], "title": 7}',
        b'{"messages": [], "title": "\xff"}',
        b"[7]",
        b"[" * 100_000,
    ],
)
def test_a_damaged_file_is_moved_aside_and_the_rest_goes_on(
    store: SessionStore, data: bytes
) -> None:
    good = saved(store, "good words")
    (store.folder / "bad.json").write_bytes(data)
    with pytest.raises(Damaged, match="conversation bad is damaged") as caught:
        store.load("bad")
    assert caught.value.exit_code == 6
    aside = [name for name in names(store) if name.startswith("bad.damaged-")]
    assert len(aside) == 1
    assert aside[0] in caught.value.hint
    assert "name it bad.json again" in caught.value.hint
    assert (store.folder / aside[0]).read_bytes() == data
    assert [summary.id for summary in store.list()] == [good.id]
    assert store.problems == []


def test_a_list_and_a_search_report_a_damaged_file_and_go_on(store: SessionStore) -> None:
    good = saved(store, "good words")
    for look in (store.list, lambda: store.search("good")):
        (store.folder / "bad.json").write_bytes(b"{")
        found: Any = look()
        assert [item.id for item in found] == [good.id]
        assert len(store.problems) == 1
        assert "bad" in store.problems[0]


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.just(10**400) | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["messages", "role", "content", "tool_calls", "usage", "prompt_tokens", "input"]
                ),
                inner | st.sampled_from(["user", "assistant"]),
                max_size=4,
            )
        ),
        max_leaves=20,
    )
)
def test_any_json_is_a_session_or_a_value_error(data: Any) -> None:
    try:
        session = from_json(json.dumps(data), "x")
    except ValueError:
        return
    assert to_json(from_json(to_json(session), "x")) == to_json(session)


def test_no_two_sessions_of_a_second_have_one_id(store: SessionStore) -> None:
    store.now = lambda: datetime(2026, 11, 21, 12, 0).astimezone()
    store.folder.mkdir(exist_ok=True)
    ids = set()
    for _ in range(600):  # of so many, two are the same in 94 of 100 runs when files do not count
        ids.add(one := store.new().id)
        (store.folder / f"{one}.json").touch()
    assert len(ids) == 600


def test_a_session_is_found_by_id_beginning_title_and_latest(store: SessionStore) -> None:
    one, two = saved(store, "buy milk"), saved(store, "buy bread")
    assert store.load(one.id).id == one.id
    assert store.load(one.id[:15]).id == one.id
    assert store.load("Buy Bread").id == two.id
    assert store.load(two.id[-4:]).id == two.id
    assert store.load("latest").id == two.id
    store.save(one)
    assert store.load("latest").id == store.choose(False, "latest", "").id == one.id
    with pytest.raises(UsageError, match=one.id):
        store.load("2026")
    with pytest.raises(UsageError, match=f"no conversation 'soap'.*{two.id}") as caught:
        store.load("soap")
    assert "openclaw sessions list" in caught.value.hint


def test_two_sessions_of_one_title_are_named_as_candidates(store: SessionStore) -> None:
    one, two = saved(store, "hi"), saved(store, "hi")
    with pytest.raises(UsageError, match=f"{two.id}, {one.id}"):
        store.load("hi")


@pytest.mark.parametrize("ref", ["", "../outside", "a/b", "..", ".", "x\0y"])
def test_no_reference_leads_out_of_the_folder(store: SessionStore, ref: str) -> None:
    saved(store, "x")
    (store.folder.parent / "outside.json").write_text("[]", encoding="utf-8")
    with pytest.raises(UsageError):
        store.load(ref)
    with pytest.raises(UsageError):
        store.writing(ref)


def test_an_argument_that_is_no_number_is_read_as_text() -> None:
    call = {"tool": "calculate", "input": {"expression": float("nan")}, "output": "", "ok": False}
    said = {"role": "assistant", "content": "", "tool_calls": [call]}
    session = from_json(json.dumps({"messages": [said]}), "x")
    assert session.messages[0].tool_calls[0].input == {"expression": "NaN"}


def test_an_empty_or_missing_folder_is_no_fault(store: SessionStore) -> None:
    assert (store.list(), store.search("x")) == ([], [])
    with pytest.raises(UsageError, match="no conversation yet"):
        store.load("latest")


def test_the_list_is_newest_first_whatever_the_offset(store: SessionStore) -> None:
    one, two = saved(store, "one"), saved(store, "two")
    path = store.folder / f"{one.id}.json"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(one.updated_at, "2026-11-21T14:59:00+00:00"), encoding="utf-8")
    assert [summary.id for summary in store.list()] == [one.id, two.id]
    assert store.load("latest").id == one.id
    assert store.list()[1].messages == 1


def test_a_search_finds_messages_that_hold_all_words(store: SessionStore) -> None:
    long = "x " * 200 + "the Brown  FOX jumps" + " y" * 200
    session = saved(store, "nothing", f"first line\n{long}\nlast")
    saved(store, "a fox")
    hits = store.search("fox brown")
    assert [(hit.id, hit.number, hit.role) for hit in hits] == [(session.id, 2, "assistant")]
    assert "Brown FOX jumps" in hits[0].snippet
    assert len(hits[0].snippet) < 200
    assert len(store.search("FOX")) == 2
    assert store.search("  ") == []


def test_a_title_is_changed_without_a_new_place_in_the_list(store: SessionStore) -> None:
    one, two = saved(store, "one"), saved(store, "two")
    store.rename("one", " My   trip ")
    assert store.load("my trip").title == "My trip"
    assert [summary.id for summary in store.list()] == [two.id, one.id]
    for title in ("TWO", " "):
        with pytest.raises(UsageError):
            store.rename(one.id, title)


def test_a_deleted_session_is_gone(store: SessionStore) -> None:
    one = saved(store, "one")
    store.delete(one.id[:-1])
    assert names(store) == []


def test_a_fork_has_the_first_messages_and_leaves_the_other_alone(store: SessionStore) -> None:
    source = saved(store, "one", "two", "three")
    fork = store.fork(source.id, 2)
    assert [entry.content for entry in fork.messages] == ["one", "two"]
    assert fork.extra["forked_from"] == {"id": source.id, "messages": 2}
    assert (fork.title, store.fork(source.id).title) == ("one (fork)", "one (fork 2)")
    assert len(store.load(source.id).messages) == 3
    for upto in (0, 4, -1):
        with pytest.raises(UsageError, match="3 messages"):
            store.fork(source.id, upto)


def test_the_markdown_has_every_word_and_fences_that_hold() -> None:
    call = ToolUse("1", "read_file", {"path": "a.md"}, "```\ncode\n````\n", ok=False)
    session = Session(
        "x",
        "A title",
        compressed_context="earlier talk",
        messages=[Entry("user", "Look"), Entry("assistant", "Seen.", tool_calls=(call,))],
    )
    text = export_markdown(session)
    assert text.startswith("# A title\n")
    assert "earlier talk" in text
    assert '{"path": "a.md"}' in text
    assert "`````\n```\ncode\n````\n`````" in text
    assert text.index("Look") < text.index("**read_file** (failed)") < text.index("Seen.")


def test_a_second_process_in_one_session_gets_a_clear_error(store: SessionStore) -> None:
    session = saved(store, "one")
    code = (
        "import sys; from pathlib import Path; from openclaw.sessions.store import SessionStore\n"
        "store = SessionStore(Path(sys.argv[1]), Path(sys.argv[2]))\n"
        "with store.writing(sys.argv[3], 5):\n"
        "    print('in', flush=True); sys.stdin.readline()\n"
    )
    command = [sys.executable, "-c", code, str(store.folder), str(store.locks), session.id]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout and other.stdout.readline() == "in\n"
        said = f"conversation {session.id} is in use by process {other.pid}"
        with pytest.raises(OpenclawError, match=said), store.writing(session.id, 0.1):
            pass
        with store.writing("another", 0.1):
            pass
        other.kill()
    with store.writing(session.id, 5):
        pass


def test_what_another_process_saved_is_never_overwritten(store: SessionStore) -> None:
    mine = saved(store, "one")
    theirs = store.load(mine.id)
    theirs.messages.append(Entry("assistant", "theirs"))
    store.save(theirs)
    mine.messages.append(Entry("assistant", "mine"))
    with pytest.raises(OpenclawError, match="changed by another program"):
        store.save(mine)
    assert mine.id != theirs.id
    assert store.load(theirs.id).messages[-1].content == "theirs"
    assert store.load(mine.id).messages[-1].content == "mine"
    store.save(mine)


def test_a_session_takes_over_what_another_process_saved(store: SessionStore) -> None:
    mine = saved(store, "one")
    assert not store.refresh(mine)
    theirs = store.load(mine.id)
    theirs.messages.append(Entry("assistant", "theirs"))
    store.save(theirs)
    assert store.refresh(mine)
    assert mine == theirs
    store.save(mine)


def test_a_folder_that_cannot_be_written_is_an_error_that_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    store = SessionStore(tmp_path / "file" / "sessions", tmp_path / "locks")
    session = store.new()
    session.messages.append(Entry("user", "hello"))
    with pytest.raises(OpenclawError, match="cannot write"):
        store.save(session)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no limits on a process's files")
def test_a_full_disk_keeps_the_session_as_it_was(store: SessionStore) -> None:
    session = saved(store, "one")
    code = (
        "import resource, sys; from pathlib import Path\n"
        "from openclaw.errors import OpenclawError\n"
        "from openclaw.sessions.store import SessionStore; from openclaw.messages import Entry\n"
        "store = SessionStore(Path(sys.argv[1]), Path(sys.argv[2]))\n"
        "session = store.load('latest')\n"
        "session.messages.append(Entry('assistant', 'x' * 9000))\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))\n"
        "try: store.save(session)\n"
        "except OpenclawError as error: print(error.exit_code, error)\n"
    )
    command = [sys.executable, "-c", code, str(store.folder), str(store.locks)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("1 cannot write")
    assert names(store) == [f"{session.id}.json"]
    assert store.load(session.id) == session


def test_a_conversation_is_called_by_the_name_that_it_was_given() -> None:
    said = [Entry("user", "hello")]
    assert session_name(Session("trip", "hello", messages=said)) == "trip"
    assert session_name(Session("trip", "Rome", messages=said)) == "Rome"
    assert session_name(Session("2026-11-22-113040-ab12", "hello", messages=said)) == "hello"
    assert session_name(Session("2026-11-22-113040-ab12")) == "new conversation"
