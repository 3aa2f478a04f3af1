"""Any sequence of operations on any Markdown file: an added entry is found, a removed one is gone,
and every other byte stays where it was."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from openclaw.errors import OpenclawError
from openclaw.memory.entries import Meta, entries_of
from openclaw.memory.markdown import change_file, read_markdown
from openclaw.memory.notes import Notes
from openclaw.memory.tables import add_up, compare_rows, show_columns, show_table_facts
from openclaw.memory.todos import TodoFile, read_task_page
from openclaw.types import ToolProblem

DAY = date(2026, 11, 21)
_LINES = st.sampled_from(
    [
        "", " ", "\t", "\x0c", "# Memory", "## People", "## Tasks ##", "Title\nof two", "===",
        "---", "words", "  indented", "    code", "\tcode", "> quote", "| a | b |", "[a]: b", "***",
        "* * *", "- plain", "-\ttab", "* star", "+ plus", "  - nested", "    - deep",
        "      more words",
        "1. one", "2) two", "- [ ] open", "- [x] done ^0a1b2c3d", "  - [ ] inner ^11223344",
        "* [X] big ^0a1b2c3d", "- [ ] due:2026-12-01 x  ", "- [ ] form\x0cfeed\x0c", "- [ ]",
        "```", "```py", "  ```", "~~~~", "<!--", "-->", "<!-- c -->", "- a <!-- mine -->",
        "- b <!-- fact, 2026-01-02, session x turn 1 -->", "- ~~old~~ (until 2026-01-01)",
        "- The standup is at 9:30", "- The port is 80 <!-- fact -->", "- I live in Bonn",
        "caf\u00e9 \U0001f600", "- line\u2028separator", "- next\x85line", "- \ufeffbom",
        "key: value",
        "- \x00nul", "- <!-- open", "- ~~half", "-", "- - -", "- ```", "- # no heading",
    ]
)  # fmt: skip
_RAW = st.binary(max_size=6).filter(lambda raw: raw[:2] not in (b"\xff\xfe", b"\xfe\xff"))
_PIECES = st.lists(
    st.tuples(
        _LINES.map(str.encode) | st.text(max_size=8).map(lambda s: s.encode("utf-8", "replace"))
        | _RAW,
        st.sampled_from([b"\n", b"\n", b"\n", b"\r\n", b"\r"]),
    ),
    max_size=18,
)  # fmt: skip
_FILES = st.builds(
    lambda bom, pieces, last: (
        (b"\xef\xbb\xbf" if bom else b"") + b"".join(line + end for line, end in pieces) + last
    ),
    st.booleans(),
    _PIECES,
    st.sampled_from([b"", b"", b"words", b"- last", b"- [ ] last", b"```"]),
).filter(lambda data: data[:2] not in (b"\xff\xfe", b"\xfe\xff"))
_FACTS = st.sampled_from(
    [
        "The standup is at 10:15", "The standup is at 11:00", "The port is 81", "I live in Rome",
        "The port was changed to 82", "likes tea", "- likes\n milk ", "~~not struck~~",
        "<!-- hidden --> shown", "an --> end <!-- and a start", "``` fence", "[ ] box", "x" * 500,
        "caf\u00e9 \u2028 two", "\ud83d\ude00 half \udce9", "fact, 2026-11-21", "> # * quoted",
    ]
) | st.text(min_size=1, max_size=20)  # fmt: skip


@contextmanager
def memory_folder(lasting: bytes, today: bytes = b"", inbox: bytes = b"") -> Iterator[Path]:
    """Make a memory folder with these files."""
    root = Path(tempfile.mkdtemp())
    try:
        folder = root / "memory"
        (folder / "inbox").mkdir(parents=True)
        for name, data in {
            "MEMORY.md": lasting,
            "TODO.md": lasting,
            f"{DAY}.md": today,
            "inbox/2026-11-20.md": inbox,
        }.items():
            if data:
                (folder / name).write_bytes(data)
        yield folder
    finally:
        shutil.rmtree(root)


def lines(data: bytes) -> list[bytes]:
    """Return the lines of a file without their newlines and the BOM."""
    return re.findall(rb"[^\r\n]+", data.removeprefix(b"\xef\xbb\xbf"))


def is_within(kept: Sequence[bytes], whole: Sequence[bytes]) -> bool:
    """Return True when `whole` has all lines of `kept`, in their order."""
    rest = iter(whole)
    return all(line in rest for line in kept)


def data_of(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""


# ---- to-dos


def _other_lines(data: bytes) -> list[bytes]:
    """Return the lines of a to-do file that are neither to-dos nor blank."""
    page = read_task_page(data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape"))
    own = {item.at for item in page.items}
    rest = [line for at, line in enumerate(page.lines) if at not in own and line.strip("\r\n")]
    return [line.strip("\r\n").encode("utf-8", "surrogateescape") for line in rest]


_STEPS = st.lists(
    st.tuples(
        st.sampled_from(["add", "done", "undone", "remove"]),
        st.integers(0, 30),
        st.sampled_from(["", "People", "New list"]),
        st.text(min_size=1, max_size=10)
        | st.sampled_from(["call due:2026-12-01", "a ^b", "[ ] c"]),
    ),
    max_size=5,
)  # fmt: skip


@given(_FILES, _STEPS)
@example(b"- [ ] a\r- [ ] b\n\n", [("remove", 1, "", "")])
@example(b"\xef\xbb\xbf\xef\xbb\xbf- [ ] a", [("done", 0, "", "")])
@example(b"  ```\n", [("add", 0, "", "0"), ("add", 0, "", "1")])
@example(b"- [ ] a\n  ```\ncode\n  ```\n", [("add", 0, "", "b")])
@example(b"caf\xe9\n- [ ] \xe9", [("done", 0, "", ""), ("add", 0, "", "x")])
def test_to_dos_change_and_all_else_stays(
    data: bytes, steps: list[tuple[str, int, str, str]]
) -> None:
    with memory_folder(data) as folder:
        file = TodoFile(folder / "TODO.md", today=lambda: DAY)
        for action, number, name, text in steps:
            before, todos = data_of(file.path), file.items()
            if action == "add":
                try:
                    added = file.add(name, [text])
                except ToolProblem:
                    assert data_of(file.path) == before
                    continue
                assert len(added) == 1 and not added[0].done
                expected = [(t.id, t.text, t.done) for t in todos]
                left = [t for t in file.items() if t.id != added[0].id]
                assert [(t.id, t.text, t.done) for t in left] == expected
            elif todos:
                chosen = todos[number % len(todos)]
                if action == "remove":
                    file.remove(chosen.id)
                    expected_ids = [t.id for t in todos if t.id != chosen.id]
                    assert [t.id for t in file.items()] == expected_ids
                else:
                    file.set_done(chosen.id, action == "done")
                    states = {t.id: t.done for t in file.items()}
                    assert states.pop(chosen.id) == (action == "done")
                    assert states == {t.id: t.done for t in todos if t.id != chosen.id}
            assert is_within(_other_lines(before), lines(data_of(file.path)))
            assert data_of(file.path)[:3] == before[:3] or not before.startswith(b"\xef\xbb\xbf")


# ---- notes


def _known(folder: Path) -> list[tuple[str, str, bool]]:
    notes = Notes(folder, today=lambda: DAY)
    return [(n.path.name, n.text, n.superseded) for n in notes.list(everything=True)]


@given(_FILES, _FILES, _FACTS, st.booleans())
@example(b"- The standup is at 9:30\r\n  in room 4\r\n", b"", "x", True)
@example(b"```\nopen\n- The port is 80", b"- The port is 80", "The port is 81", True)
@example(b"- a\n  ```\ncode\n  ```\n- b\n", b"", "x", True)
def test_a_fact_is_added_once_and_all_else_stays(
    lasting: bytes, today: bytes, fact: str, for_ever: bool
) -> None:
    with memory_folder(lasting, today) as folder:
        notes = Notes(folder, today=lambda: DAY, source=lambda: "session 1 turn 2")
        before = _known(folder)
        where = notes.target("lasting" if for_ever else "today")
        try:
            kept = notes.remember(fact, "lasting" if for_ever else "today")
        except ToolProblem:
            assert (data_of(folder / "MEMORY.md"), data_of(notes.target("today"))) == (
                lasting, today,
            )  # fmt: skip
            return
        assert kept.note.path == where and kept.note in notes.list()
        assert (kept.note.date, kept.note.source) == ("2026-11-21", "session 1 turn 2")
        after = _known(folder)
        after.remove((where.name, kept.note.text, False))
        assert [(name, text) for name, text, _ in after] == [
            (name, text.replace("~~", "") if gone else text)
            for (name, text, _), (_, _, gone) in zip(before, after, strict=True)
        ]
        newly = [now for was, now in zip(before, after, strict=True) if was != now]
        assert all(gone for _, _, gone in newly) and len(newly) >= len(kept.superseded)
        for path, data in ((folder / "MEMORY.md", lasting), (notes.target("today"), today)):
            _only_struck_lines_changed(data, data_of(path), "\n".join(text for _, text, _ in newly))


def _only_struck_lines_changed(old: bytes, new: bytes, struck: str) -> None:
    text = old.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
    own = [range(e.at, e.end) for e in entries_of(text) if e.text in struck.split("\n")]
    page = read_task_page(text).lines
    rest = "".join(line for at, line in enumerate(page) if not any(at in r for r in own))
    assert is_within(lines(rest.encode("utf-8", "surrogateescape")), lines(new))


@given(_FILES, st.integers(0, 20))
def test_forgetting_removes_an_entry_with_the_lines_below_it_only(data: bytes, number: int) -> None:
    with memory_folder(data) as folder:
        notes = Notes(folder)
        known = notes.list(everything=True)
        if not known:
            return
        chosen = known[number % len(known)]
        taken = [line.encode("utf-8", "surrogateescape") for line in notes.lines(chosen)]
        try:
            notes.forget(chosen)
        except ToolProblem:
            assert data_of(chosen.path) == data
            return
        left = lines(data_of(chosen.path))
        assert is_within(left, lines(data))
        assert len(lines(data)) - len(left) <= len(taken)
        texts = [note.text for note in known]
        now = [note.text for note in notes.list(everything=True)]
        assert now.count(chosen.text) < texts.count(chosen.text)


@given(_FILES, _FILES, _FACTS, st.integers(0, 20), st.booleans())
def test_candidates_come_and_go_and_never_count_as_memory(
    inbox: bytes, lasting: bytes, fact: str, number: int, yes: bool
) -> None:
    with memory_folder(lasting, inbox=inbox) as folder:
        notes = Notes(folder, today=lambda: DAY)
        before = _known(folder)
        try:
            proposed = notes.propose(fact, "https://a.example/b, read aloud")
        except ToolProblem:
            pass
        else:
            assert proposed in notes.candidates()
            assert proposed.source == "https://a.example/b, read aloud"
        assert _known(folder) == before
        waiting = notes.candidates()
        if not waiting:
            return
        chosen = waiting[number % len(waiting)]
        kept = None
        try:
            if yes:
                kept = notes.accept(chosen)
            else:
                notes.reject(chosen)
        except ToolProblem:
            return
        left = [note.text for note in notes.candidates()]
        assert left.count(chosen.text) < [note.text for note in waiting].count(chosen.text)
        if kept is None:
            assert _known(folder) == before
        else:
            assert kept.note in notes.list()


@given(st.lists(st.tuples(st.sampled_from("rcfpad"), st.integers(0, 9)), max_size=12))
def test_any_sequence_of_changes_keeps_the_users_words(steps: list[tuple[str, int]]) -> None:
    own = "# Memory\r\n\r\nMy words. \t\r\n\r\n- mine <!-- why? -->\r\n\r\n## More\r\n\x0c\r\nEnd"
    with memory_folder(own.encode()) as folder:
        notes = Notes(folder, today=lambda: DAY)
        for action, number in steps:
            known, waiting = notes.list(), notes.candidates()
            theirs = [note for note in known if note.text != "mine"]
            try:
                if action == "r":
                    notes.remember(f"thing {number} is here")
                elif action == "c":
                    notes.remember(f"The standup is at {number}:30", meta=Meta(importance=0.5))
                elif action == "f" and theirs:
                    notes.forget(theirs[number % len(theirs)])
                elif action == "p":
                    notes.propose(f"candidate {number}", "somewhere")
                elif action in "ad" and waiting:
                    chosen = waiting[number % len(waiting)]
                    notes.accept(chosen) if action == "a" else notes.reject(chosen)
            except ToolProblem:
                continue
            standups = [n for n in notes.list() if n.text.startswith("The standup")]
            assert len(standups) <= 1
        data = data_of(folder / "MEMORY.md")
        assert is_within(lines(own.encode()), lines(data))
        assert b"\n" not in data.replace(b"\r\n", b"") and data.endswith(b"End")


# ---- other programs


def test_a_change_that_an_editor_saves_meanwhile_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"one\n")
    seen = []

    def change(text: str) -> str:
        seen.append(text)
        if len(seen) < 3:
            path.write_bytes(path.read_bytes() + b"typed\n")
        return text + "ours\n"

    change_file(path, change)
    assert seen == ["one\n", "one\ntyped\n", "one\ntyped\ntyped\n"]
    assert path.read_bytes() == b"one\ntyped\ntyped\nours\n"


def test_a_file_that_is_made_or_deleted_meanwhile_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    texts = []

    def change(text: str) -> str:
        texts.append(text)
        if len(texts) == 1:
            path.write_bytes(b"theirs\n")
        elif len(texts) == 2:
            path.unlink()
        return text + "ours\n"

    change_file(path, change)
    assert texts == ["", "theirs\n", ""]
    assert read_markdown(path) == "ours\n"


def test_a_file_that_keeps_changing_is_an_error_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"")

    def change(text: str) -> str:
        path.write_bytes(path.read_bytes() + b"x")
        return text + "ours"

    with pytest.raises(OpenclawError, match="another program"):
        change_file(path, change)
    assert set(path.read_bytes()) == {ord("x")}


def test_utf_16_is_read_but_not_written(tmp_path: Path) -> None:
    path = tmp_path / "memory" / "MEMORY.md"
    path.parent.mkdir()
    path.write_bytes("- caf\u00e9\n".encode("utf-16"))
    before = path.read_bytes()
    assert read_markdown(path) == "- caf\u00e9\n"
    with pytest.raises(OpenclawError, match="UTF-16") as caught:
        Notes(path.parent).remember("x")
    assert "iconv" in caught.value.hint
    assert path.read_bytes() == before


def test_a_file_with_a_conflict_is_read_but_not_written(tmp_path: Path) -> None:
    path = tmp_path / "memory" / "TODO.md"
    path.parent.mkdir()
    text = "- [ ] a\n<<<<<<< HEAD\n- [ ] b\n=======\n- [ ] c\n>>>>>>> other\n"
    path.write_text(text)
    todos = TodoFile(path)
    assert [todo.text for todo in todos.items()] == ["a", "b", "c"]
    with pytest.raises(OpenclawError, match="conflict markers in line 2"):
        todos.add("", ["d"])
    assert path.read_text() == text


WRITER = """\
import sys
from pathlib import Path
from openclaw.memory.notes import Notes
from openclaw.memory.todos import TodoFile
folder, name = Path(sys.argv[1]), sys.argv[2]
for number in range(12):
    TodoFile(folder / "TODO.md").add("Tasks", [f"{name} {number}"])
    Notes(folder).remember(f"{name} owns {number} of them")
    Notes(folder).propose(f"{name} wants {number} of them", "test")
"""


@pytest.mark.slow
def test_two_processes_lose_nothing_of_each_other(tmp_path: Path) -> None:
    folder = tmp_path / "memory"
    names = ("Ada", "Bob", "Cyd")
    running = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(folder), name]) for name in names
    ]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    assert sorted(t.text for t in TodoFile(folder / "TODO.md").items()) == sorted(
        f"{name} {number}" for name in names for number in range(12)
    )
    notes = Notes(folder)
    assert len(notes.list(everything=True)) == len(notes.candidates()) == 36


TODAY = date(2026, 11, 27)


def sums_of(text: str, first: int, last: int, request: str = "") -> list[str]:
    """The sums of a text without their means."""
    return [each.partition(" (")[0] for each in add_up(text, first, last, request, TODAY)]


@pytest.mark.parametrize(
    ("rows", "sums"),
    [
        ("| rent | 840 |\n| food | 310 |\n| train | 49 |", ["cost: 1199"]),
        ("| rent | 1.840,50 € |\n| food | 310,00 € |", ["cost: 2150.50 €"]),
        ("| rent | $1,840 |\n| food | $0.5 |", ["cost: 1840.5 $"]),
        ("|rent|840|\n||310|", ["cost: 1150"]),
        ("| rent \\| heat | 840 |\n| food | 310 |", ["cost: 1150"]),
        ("| rent | 840 |\n| food | 310 |\n| all | 1150 |", []),
        ("| rent | 840 EUR |\n| food | 310 USD |", []),
        ("| rent | 1.200 |\n| food | 1.300 |", []),
        ("| rent | 840 |\n| food | 300 to 320 |", []),
        ("| rent | 840 |\n| food |", []),
        ("| rent | 1 |\n| food | 2 |\n| train | 3 |", []),
        ("| born | 1985 |\n| married | 2011 |", []),
        ("| Anna | 0171 |\n| Ben | 0160 |", []),
        ("| rent | 840 |", []),
        ("| story | 2 Dec |\n| slam | 11 Dec |", []),
        ("| rent | 45 % |\n| food | 30 % |", []),
        ("| rent | 840 |\n| - | - |\n| food | 310 |\n| fuel | 90 |", []),
    ],
)
def test_the_columns_of_a_table_are_added_up(rows: str, sums: list[str]) -> None:
    text = f"# Budget\n\n| what | cost |\n|---|---:|\n{rows}\n\nPaid by 3 | 4 people.\n"
    assert sums_of(text, 1, 99) == sums
    assert (
        (sums[0] in show_table_facts(text, 5, 5, "", TODAY))
        if sums
        else show_table_facts(text, 5, 5, "", TODAY) == ""
    )
    assert (
        show_table_facts(text, 1, 2, "", TODAY) == show_table_facts(text, 99, 99, "", TODAY) == ""
    )


@pytest.mark.parametrize(
    ("text", "sums"),
    [
        (
            "no,client,amount,paid\n1,Ada,1200.00,yes\n2,Ben,840.50,no\n7,Cyd,300.00,no\n",
            [
                "amount: 2340.50",
                "amount where paid is yes: 1200.00",
                "amount where paid is no: 1140.50",
            ],
        ),
        ('what,cost\n"rent, heat",840\nfood,310\n', ["cost: 1150"]),
        ("what,cost\nrent,840\nfood,310,5\n", []),
        (f"what,cost\nrent,{'9' * 400}\nfood,310\n", []),
        ("what,cost\nrent,840 {}\nfood,310 {}\n", ["cost: 1150 {}"]),
        (f"what,cost\n{'x' * 200_000},840\nfood,310\n", []),
        ("Bread, milk and 2 eggs,\nthen 3 more\n", []),
        ("First, the rent\nthen, 840\nand, 310\n", ["the rent: 1150"]),
        ("plant,day7_mm\nA,12.1\nB,11.4\n", ["day7_mm: 23.5"]),
        ("1,12.1\n2,11.4\n4,13.2\n", []),
        ("rent, 900 euros\ngas, 80 euros\nwater, 30 euros\n", []),
        ("- rent, 900 euros\n- gas, 80 euros\n- water, 30 euros\n", ["whole list: 1010 euros"]),
    ],
)
def test_comma_separated_values_are_added_up_by_group(text: str, sums: list[str]) -> None:
    assert sums_of(text, 2, 2) == sums


@pytest.mark.parametrize(
    ("items", "sums"),
    [
        ("1. Overture (4 min)\n2. Waltz (5.5 min)\n3. March 3min", ["whole list: 12.5 min"]),
        ("- [x] hall, 120 €\n- [ ] tuner, 65€", ["whole list: 185 €"]),
        ("1. Overture (4 min)\n2. Waltz", []),
        ("1. Overture (4 min)\n2. Waltz (300 s)", []),
        ("- 2 km in 9 min\n- 4 km in 20 min", []),
        ("- Call Ada 0171 22\n- Call Ben 0160 33", []),
        ("- 20 December\n- 24 December", []),
        ("- 9am breakfast\n- 11am call", []),
        ("- [ ] run 3 km\n- [ ] run 5 km", ["whole list: 8 km"]),
        ("1. First\n2. Second", []),
        ("- Overture (4 min)", []),
        ("- Overture (4 min)\nand\n- Waltz (5 min)", []),
    ],
)
def test_a_list_with_an_amount_in_each_item_is_added_up(items: str, sums: list[str]) -> None:
    assert sums_of(f"# Concert in 2026\n\n{items}\n\nEncore: 2 min\n", 1, 99) == sums


def test_a_long_request_is_compared_with_a_long_table_at_once() -> None:
    text = "name,amount\n" + "".join(f"n{n},{n * 3 % 101}\n" for n in range(5_000))
    request = " ".join(f"word{n}" for n in range(20_000))
    began = time.process_time()
    assert sums_of(text, 1, 9, request) == ["amount: 249558"]
    assert time.process_time() - began < 2


@pytest.mark.parametrize(
    "text",
    [f"- {'1' * 20_000}\n- 3 kg\n", f"|{'h|' * 4_000}\n|-|-|\n" + "|a|\n" * 16_000],
    ids=["a number", "headings without cells"],
)
def test_odd_tables_are_read_at_once(text: str) -> None:
    began = time.process_time()
    assert sums_of(text, 1, 9) == []
    assert time.process_time() - began < 1


def test_rows_with_a_word_of_the_request_are_added_up_by_themselves() -> None:
    text = "day,what,cost\n3,Flowers,18.90\n9,Chemist,23.40\n21,Books,41\n23,chemist,8.20\n"
    sums = sums_of(text, 1, 5, "how much did the flowers and the chemist cost?")
    assert sums == ["cost with chemist: 31.60"]
    sums = sums_of(text, 1, 5, "what went to the chemist?")
    assert sums == [
        "rows with chemist: 2",
        "cost with chemist: 31.60",
        "cost: 91.50",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Ann,open\nBen,paid\nCem,open\nDee,paid\nEli,open\n",
        "3 Jan 2026,rent,low\n14 Feb 2026,food,high\n2 Mar 2026,tax,mid\n5 Feb 2026,gas,few\n",
        "Ann,owes 30 euros\nBen,owes 12 euros\nCem,owes 5 euros\n",
    ],
)
def test_the_first_row_of_values_without_headings_is_not_taken_for_them(text: str) -> None:
    assert show_table_facts(text, 1, 1, "who is open, what is due after 10 feb?", TODAY) == ""


def test_a_sum_is_followed_by_the_mean() -> None:
    text = "plant,place,mm\nA,dry,19.8\nB,dry,18.2\nC,wet,28.9\n"
    assert add_up(text, 1, 1, "", TODAY) == [
        "mm: 66.9 (mean 22.30, least B 18.2, most C 28.9)",
        "mm where place is dry: 38.0 (mean 19.00)",
        "mm where place is wet: 28.9 (mean 28.90)",
    ]


def test_what_has_most_words_of_the_request_comes_first() -> None:
    text = "plant,place,day7_mm,day14_mm\nA,dry,12,19.8\nB,dry,11,18.2\nC,wet,15,28.9\n"
    sums = add_up(text, 1, 1, "average growth of the dry plants on day 14?", TODAY)
    assert sums == [
        "day14_mm where place is dry: 38.0 (mean 19.00)",
        "day14_mm with dry: 38.0 (mean 19.00)",
    ]


LOANS = "title,due\nBabel,2026-11-20\nEmma,2026-12-09\nDune,2026-11-12\n"
ROTA = "| week | who |\n|---|---|\n| 23 Nov | Marek |\n| 30 Nov | Priya |\n| 7 Dec | Jin |\n"
EVENTS = "| what | day |\n|---|---|\n| Story | 2 Dec |\n| Slam | 10 Dec |\n| Carols | 18 Dec |\n"


@pytest.mark.parametrize(
    ("text", "request_", "told"),
    [
        (
            LOANS,
            "which loans are overdue?",
            ["rows with due before today (2): Babel, Dune", "rows with due after today (1): Emma"],
        ),
        (
            EVENTS,
            "which events are after the 10th?",
            [
                "rows with day 10th (1): Slam, 10 Dec",
                "rows with day before 10th (1): Story",
                "rows with day after 10th (1): Carols",
            ],
        ),
        (
            ROTA,
            "who is on call next week?",
            [
                "rows with week next week (1): 30 Nov, Priya",
                "rows with week before next week (1): Marek",
                "rows with week after next week (1): Jin",
            ],
        ),
        (ROTA, "and last week?", []),
        (ROTA, "who was it in december?", ["rows with week in december (1): 7 Dec, Jin"]),
        (
            LOANS,
            "what was due last week?",
            [
                "rows with due last week (1): Babel, 2026-11-20",
                "rows with due before today (2): Babel, Dune",
                "rows with due after today (1): Emma",
            ],
        ),
        (EVENTS, "who hosts the slam?", []),
        (EVENTS, "which events are after the 24th?", []),
        (LOANS.replace("2026-12-09", "soon"), "which loans are overdue?", []),
        (LOANS.replace("2026-12-09", "2026-02-30"), "which loans are overdue?", []),
        (LOANS + "x,2026-11-20\n" * 20, "which loans are overdue?", []),
    ],
)
def test_the_days_of_a_table_are_compared(text: str, request_: str, told: list[str]) -> None:
    assert compare_rows(text, 2, 2, request_, TODAY) == told
    assert compare_rows(text, 40, 40, request_, TODAY) == []
    shown = show_table_facts(text, 2, 2, request_, TODAY)
    assert shown == (f"\n[{'; '.join(told)}]" if told else "")


def test_the_rows_with_each_of_two_values_are_told_by_their_names() -> None:
    text = "no,who,paid\n1,Ada,yes\n4,Ben,no\n7,Cyd,no\n"
    told = ["rows with paid yes (1): Ada", "rows with paid no (2): Ben, Cyd"]
    assert compare_rows(text, 2, 2, "who still owes?", TODAY) == told


@pytest.mark.parametrize(
    "text", ["| a | b |\n|---|---|\n", "| a | b |\n|---|---|\n" + "| | x |\n" * 3]
)
def test_rows_without_names_or_none_are_not_told(text: str) -> None:
    assert show_table_facts(text, 1, 9, "who has paid 3?", TODAY) == ""


def test_a_first_column_of_amounts_is_added_up() -> None:
    text = "| Miles | Route |\n|---|---|\n| 6 | coast |\n| 4 | canal |\n"
    assert sums_of(text, 3, 3, "how far did we walk?") == ["Miles: 10"]


def test_no_library_is_loaded_to_compare_days_where_no_table_has_any() -> None:
    code = (
        "import sys; from datetime import date; "
        "from openclaw.memory.tables import compare_rows; "
        "compare_rows('| a | b |\\n|---|---|\\n| c | 3 |\\n| d | 5 |', 1, 4, 'due on friday?', "
        "date.today()); sys.exit('dateparser' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


MARKS = "name,test,essay\nAmira,14,11\nBen,9,12\nCem,12,8\nDana,15,11\n"


@pytest.mark.parametrize(
    ("request_", "told"),
    [
        (
            "who has less than 10 in the test?",
            ["rows with test under 10 (1): Ben", "rows with test over 10 (3): Amira, Cem, Dana"],
        ),
        (
            "who has more than 14 in the test?",
            ["rows with test under 14 (2): Ben, Cem", "rows with test over 14 (1): Dana"],
        ),
        (
            "who has 11?",
            ["rows with test under 11 (1): Ben", "rows with test over 11 (3): Amira, Cem, Dana"],
        ),
        ("who has more than 20?", []),
        ("who has 10 or 12?", []),
        ("who has v10 or 10:30?", []),
    ],
)
def test_the_amounts_of_a_table_are_compared(request_: str, told: list[str]) -> None:
    found = compare_rows(MARKS, 2, 2, request_, TODAY)
    assert [each for each in found if each.startswith("rows with test ")] == told
    assert ("test" in request_) <= (found == told)


def test_the_rows_with_none_are_told_where_the_request_names_no_number() -> None:
    stock = "item,left\nroses,80\ntulips,0\nribbon,6\n"
    assert compare_rows(stock, 2, 2, "what is out of stock?", TODAY) == [
        "rows with left 0 (1): tulips"
    ]
    assert compare_rows(MARKS, 2, 2, "how did they do?", TODAY) == []


def test_what_is_told_of_wide_tables_and_of_long_cells_is_short() -> None:
    wide = f"name{',mark' * 1_000}\n" + "".join(
        f"{n}{f',{n * 7 % 101}' * 1_000}\n" for n in range(20)
    )
    assert len(show_table_facts(wide, 1, 9, "who has under 40?", TODAY)) < 2_000
    text = f"name,{'x' * 5_000}\n" + "".join(f"{'y' * 5_000}{n},{n * 7 % 101}\n" for n in range(20))
    assert len(show_table_facts(text, 1, 9, "who has under 40?", TODAY)) < 2_000


def test_the_least_and_the_most_are_named_where_there_is_one() -> None:
    test, essay = add_up(MARKS, 1, 1, "", TODAY)
    assert test == "test: 50 (mean 12.5, least Ben 9, most Dana 15)"
    assert essay == "essay: 42 (mean 10.5, least Cem 8, most Ben 12)"
    assert add_up(MARKS.replace("9,12", "9,8"), 1, 1, "", TODAY)[1] == "essay: 38 (mean 9.5)"


def test_rows_with_a_word_of_the_request_are_counted() -> None:
    text = "| who | voice |\n|---|---|\n| Ann | alto |\n| Bo | bass |\n| Cy | alto |\n"
    found = add_up(text, 3, 3, "how many altos and tenors are there?", TODAY)
    assert found == ["rows with altos: 2"]
    lent = "| day | who |\n|---|---|\n| 1 | Ann Lee |\n| 2 | Bo Ray |\n| 3 | Ann Lee |\n"
    assert add_up(lent, 3, 3, "how many has ann lee?", TODAY) == ["rows with ann lee: 2"]
    assert add_up(text, 3, 3, "how many bass singers?", TODAY) == []


def test_rows_of_the_days_that_a_request_names_are_added_up() -> None:
    text = "day,what,euros\n2026-11-03,fuel,55\n2026-11-16,food,20\n2026-11-19,food,22\n"
    assert add_up(text, 1, 1, "what did I spend last week?", TODAY) == [
        "rows with day last week: 2",
        "euros with day last week: 42 (mean 21.0)",
    ]
    assert add_up(text, 1, 1, "this month?", TODAY) == add_up(text, 1, 1, "", TODAY)


@pytest.mark.parametrize(
    ("request_", "named"),
    [
        ("who goes tomorrow? I went last week.", ""),
        ("was last week dearer than what is planned for next year?", ""),
        ("what went to food last week" + ", and to fuel" * 99 + " last week?", "last week"),
        ("cafe\u0301, e\u0301clair: last week?", "last week"),
        ("last week? " * 9_000, "last week"),
        ("what did I spend from 15 to 20 November?", "15 to 20 November"),
        ("what did I spend since 15 November?", "since 15 November"),
    ],
)
def test_rows_of_days_are_named_by_the_words_of_these_days(request_: str, named: str) -> None:
    text = "day,what,cost\n2026-11-03,fuel,55\n2026-11-16,food,20\n2026-11-19,food,22\n"
    began = time.process_time()
    told = [each for each in compare_rows(text, 1, 1, request_, TODAY) if "16, food" in each]
    assert time.process_time() - began < 10
    rows = "2026-11-16, food, 20; 2026-11-19, food, 22"
    assert told == ([f"rows with day {named} (2): {rows}"] if named else [])


def test_a_tables_lines_are_counted_as_a_file_is_read() -> None:
    text = "a\u2028b\x0cc\n\n| cost |\n|---|\n| 1 |\n| 3 |\n"
    assert show_table_facts(text, 3, 6, "", TODAY) == "\n[added up: cost: 4 (mean 2.0)]"
    assert show_table_facts(text, 1, 1, "", TODAY) == show_table_facts(text, 7, 9, "", TODAY) == ""


@pytest.mark.parametrize(
    "text", ["who,cost\nAnna,4\nBen,5\n", "| who | cost |\n|---|---|\n| Anna | 4 |"]
)
def test_the_headings_are_told_of_rows_alone(text: str) -> None:
    assert show_columns(text, 3) == "\n[columns: who, cost]"
    assert show_columns(text, 1) == show_columns("- one (4 min)\n- two (5 min)", 2) == ""
