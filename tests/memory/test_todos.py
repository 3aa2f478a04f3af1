"""To-dos in Markdown are found and changed, and nothing else changes."""

from __future__ import annotations

import re
import time
from contextlib import suppress
from datetime import date
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.errors import OpenclawError
from openclaw.memory.todos import (
    Todo,
    TodoFile,
    add_todos,
    is_overdue,
    mark_done,
    match_todos,
    move_todo,
    parse_todos,
    plain_text,
    read_task_page,
    remove_todo,
    replace_text,
    set_due_date,
    without_list,
)
from openclaw.storage.lock import hold_lock
from openclaw.types import ToolProblem

PLAIN = """\
# To-dos

## Groceries

- [ ] milk ^0a1b2c3d
- [x] bread ^11223344

## Work

Some words.

* [ ] invoice due:2026-12-01
"""


def texts(text: str) -> list[str]:
    return [todo.text for todo in parse_todos(text)]


def test_a_to_do_has_list_text_state_date_and_line() -> None:
    todos = parse_todos(PLAIN)
    assert todos[:2] == [
        Todo(4, 0, "-", False, "milk", "0a1b2c3d", True, "Groceries"),
        Todo(5, 0, "-", True, "bread", "11223344", True, "Groceries"),
    ]
    third = todos[2]
    assert (third.list, third.due, third.line) == ("Work", "2026-12-01", 12)
    assert third.text == "invoice due:2026-12-01"
    assert re.fullmatch(r"[0-9a-f]{8}", third.id)


def test_a_computed_id_is_the_same_each_time_and_is_the_one_that_gets_written() -> None:
    ident = parse_todos(PLAIN)[2].id
    assert parse_todos(PLAIN)[2].id == ident
    assert f"invoice due:2026-12-01 ^{ident}\n" in mark_done(PLAIN, "0a1b2c3d", True)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("- [ ] a", "a"),
        ("* [X] a", "a"),
        ("+ [x] a", "a"),
        ("1. [ ] a", "a"),
        ("12) [ ] a", "a"),
        ("   - [ ]   a  b  ", "a  b"),
        ("-\t[ ]\ta", "a"),
        ("- [ ] a ^my-block", "a"),
    ],
)
def test_these_lines_are_to_dos(line: str, text: str) -> None:
    assert texts(f"{line}\n") == [text]
    assert texts(line) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "- [] a",
        "- [ ]",
        "- [ ]a",
        "-[ ] a",
        "[ ] a",
        "- a [ ] b",
        "    - [ ] indented code",
        "```\n- [ ] a\n```\n",
        "~~~~ md\n- [ ] a\n~~~\n- [ ] b\n~~~~~\n",
        "- item\n  ```\n  - [ ] a\n  ```\n",
        "```\nnever closed\n- [ ] a\n",
        "<!--\n- [ ] a\n-->\n",
        "> - [ ] a",
        "| - [ ] a | b |",
        "paragraph\n\n    - [ ] code\n",
        "---\ntags:\n- [ ] a\n---\n",
    ],
)
def test_these_lines_are_no_to_dos(text: str) -> None:
    assert texts(text) == []


def test_nested_to_dos_count_and_prose_after_a_list_ends_it() -> None:
    assert texts("- [ ] a\n  - [ ] b\n      - [ ] c\n") == ["a", "b", "c"]
    assert texts("1. [ ] a\n   - [ ] b\n\n   text\n\nprose\n\n    - [ ] code\n") == ["a", "b"]


def test_list_names_come_from_any_heading() -> None:
    text = "- [ ] a\n# One #\n- [ ] b\n\nTwo\n---\n- [ ] c\n\n#Not one\n- [ ] d\n"
    assert [todo.list for todo in parse_todos(text)] == ["Tasks", "One", "Two", "Two"]


def test_a_date_that_does_not_exist_is_none() -> None:
    assert parse_todos("- [ ] a due:2026-02-30\n")[0].due is None
    assert parse_todos("- [ ] overdue:2026-02-20 x\n")[0].due is None
    assert parse_todos("- [ ] a due:2026-02-20x\n")[0].due is None
    assert parse_todos("- [ ] pay (due:2026-02-20), then rest\n")[0].due == "2026-02-20"


@pytest.mark.parametrize(
    "written",
    [
        "(due 2026-12-01)",
        "(due: 2026-12-01)",
        "(due:2026-12-01)",
        "@due(2026-12-01)",
        "\U0001f4c5 2026-12-01",
        "\U0001f4c5\ufe0f 2026-12-01",
    ],
)
def test_a_date_in_the_words_of_another_program_is_the_due_date(written: str) -> None:
    line = f"- [ ] pay the rent {written} ^0a1b2c3d\n"
    (todo,) = parse_todos(line)
    assert todo.due == "2026-12-01" and plain_text(todo.text) == "pay the rent"
    moved = set_due_date(line, todo.id, "2026-12-15")
    assert moved == "- [ ] pay the rent due:2026-12-15 ^0a1b2c3d\n"


def test_a_date_that_is_none_of_a_due_date_is_none() -> None:
    for text in (
        "report (overdue 2026-12-01)",
        "due 2026-12-01",
        "(due 2026-12-01x)",
        "(due soon)",
        "read the minutes (due 2026-12-01, says Ann)",
    ):
        assert parse_todos(f"- [ ] {text}\n")[0].due is None


def test_another_date_leaves_the_brackets_around_it() -> None:
    line = "- [ ] call (Ann due:2026-12-01) ^0a1b2c3d\n"
    assert set_due_date(line, "0a1b2c3d", "") == "- [ ] call (Ann) ^0a1b2c3d\n"


def test_a_copied_id_does_not_make_two_to_dos_one() -> None:
    first, second = parse_todos("- [ ] a ^0a1b2c3d\n- [ ] b ^0a1b2c3d\n")
    assert first.id == "0a1b2c3d" != second.id
    new = mark_done("- [ ] a ^0a1b2c3d\n- [ ] b ^0a1b2c3d\n", second.id, True)
    assert new == f"- [ ] a ^0a1b2c3d\n- [x] b ^{second.id}\n"


def test_ids_that_differ_in_case_are_one_and_do_not_make_two_to_dos_one() -> None:
    text = "- [ ] a ^0a1b2c3d\n- [ ] b ^0A1B2C3D\n"
    first, second = parse_todos(text)
    assert first.id == "0a1b2c3d"
    assert mark_done(text, second.id, True) == f"- [ ] a ^0a1b2c3d\n- [x] b ^{second.id}\n"


# ---- changes


def test_adding_goes_to_the_end_of_the_list_in_its_style() -> None:
    text, ids = add_todos(PLAIN, "work", ["call Ada"])
    assert text.endswith(f"\n* [ ] call Ada ^{ids[0]}\n")
    text, ids = add_todos(PLAIN, "the groceries list".removeprefix("the "), ["a", "b"])
    assert f"- [x] bread ^11223344\n- [ ] a ^{ids[0]}\n- [ ] b ^{ids[1]}\n\n## Work" in text
    assert "## Groceries" in text


NESTED = (
    "## Home\n\n  - [ ] paint ^0a1b2c3d\n    - [ ] buy paint ^11223344\n\tthe blue one\n"
    "  - [ ] rest ^22334455\n\n## Work\n\n1. [ ] call ^33445566\n\nend"
)


def test_a_to_do_moves_to_another_list_with_what_is_below_it() -> None:
    assert move_todo(NESTED, "0a1b2c3d", "work") == (
        "## Home\n\n  - [ ] rest ^22334455\n\n## Work\n\n1. [ ] call ^33445566\n"
        "2. [ ] paint ^0a1b2c3d\n  - [ ] buy paint ^11223344\n  the blue one\n\nend"
    )
    assert move_todo(NESTED, "33445566", "Trip").endswith(
        "\n## Work\n\n\nend\n\n## Trip\n\n- [ ] call ^33445566\n"
    )
    assert move_todo("- [ ] a ^0a1b2c3d", "0a1b2c3d", "B").endswith("## B\n\n- [ ] a ^0a1b2c3d\n")
    with pytest.raises(ToolProblem, match="needs a name"):
        move_todo(NESTED, "0a1b2c3d", " # ")


@given(seed=st.integers(0, 10_000))
def test_moves_between_lists_lose_no_line(seed: int) -> None:
    dice, text = Random(seed), NESTED
    for _ in range(5):
        todo = dice.choice(parse_todos(text)).id
        text = move_todo(text, todo, dice.choice(["Home", "Work", "Trip"]))
    wanted = sorted(re.sub(r"^[-\d.]+ ", "", line.strip()) for line in NESTED.split("\n"))
    found = sorted(re.sub(r"^[-\d.]+ ", "", line.strip()) for line in text.split("\n"))
    assert {"## Trip", ""} | set(found) == {"## Trip", ""} | set(wanted)
    assert len(parse_todos(text)) == 4


def test_adding_to_a_numbered_or_nested_list_keeps_its_form() -> None:
    text, ids = add_todos("1. [ ] a ^0a1b2c3d\n   - [ ] b ^11223344\n     more\n\nend\n", "", ["c"])
    assert text == (
        f"1. [ ] a ^0a1b2c3d\n   - [ ] b ^11223344\n     more\n2. [ ] c ^{ids[0]}\n\nend\n"
    )


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_new_list_comes_at_the_end(newline: str) -> None:
    text, ids = add_todos(f"# To-dos{newline}{newline}words", "Trip", ["pack"])
    assert text == newline.join(
        ["# To-dos", "", "words", "", "## Trip", "", f"- [ ] pack ^{ids[0]}", ""]
    )


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("", "## Tasks\n\n- [ ] a ^{}\n"),
        ("## Tasks\n", "## Tasks\n\n- [ ] a ^{}\n"),
        ("## Tasks\n\n## Work\n", "## Tasks\n\n- [ ] a ^{}\n\n## Work\n"),
        ("Tasks\n---\ntext\n", "Tasks\n---\n\n- [ ] a ^{}\n\ntext\n"),
        ("# Tasks\n", "# Tasks\n\n## Tasks\n\n- [ ] a ^{}\n"),
    ],
)
def test_adding_to_an_empty_list(text: str, result: str) -> None:
    new, ids = add_todos(text, "", ["a"])
    assert new == result.format(ids[0])


def test_an_open_code_fence_does_not_swallow_a_new_to_do() -> None:
    text, _ = add_todos("words\n\n```\ncode\n", "Tasks", ["a"])
    assert texts(text) == ["a"]
    assert text.endswith("```\ncode\n")


@pytest.mark.parametrize(
    ("given_text", "stored"),
    [("- [ ] milk", "milk"), ("milk\nand bread", "milk and bread"), ("milk ^0a1b2c3d", "milk")],
)
def test_a_text_is_stored_as_one_clean_line(given_text: str, stored: str) -> None:
    assert texts(add_todos("", "", [given_text])[0]) == [stored]


@pytest.mark.parametrize("bad", ["", "  ", "- [ ] ", "x" * 501])
def test_an_empty_or_endless_text_is_refused(bad: str) -> None:
    with pytest.raises(ToolProblem):
        add_todos("", "", [bad])


def test_marking_changes_one_sign() -> None:
    text = "- [ ] a ^0a1b2c3d  \r\nwords  \r\n"
    assert mark_done(text, "0A1B2C3D", True) == "- [x] a ^0a1b2c3d  \r\nwords  \r\n"
    assert mark_done(mark_done(text, "^0a1b2c3d", True), "0a1b2c3d", False) == text
    with pytest.raises(ToolProblem, match="no to-do ffff"):
        mark_done(text, "ffff", True)


def test_code_below_a_to_do_stays_whole() -> None:
    text = "- [ ] a ^0a1b2c3d\n  ```\ncode\n  ```\n"
    new, ids = add_todos(text, "", ["b"])
    assert new == f"{text}- [ ] b ^{ids[0]}\n"


def test_removing_an_item_keeps_what_is_below_it() -> None:
    text = (
        "- [ ] a ^0a1b2c3d\n    - [ ] b ^11223344\n      note\n        - [ ] c ^55667788\n- [ ] d\n"
    )
    new = remove_todo(text, "0a1b2c3d")
    assert texts(new) == ["b", "c", "d"]
    assert "      note\n" in new


def test_removing_a_list_takes_its_heading_unless_other_text_is_there() -> None:
    text, gone = without_list(PLAIN, "groceries")
    assert [item.text for item in gone] == ["milk", "bread"]
    assert text.startswith("# To-dos\n\n## Work\n\nSome words.\n")
    text, gone = without_list(PLAIN, "WORK")
    assert text.endswith("## Work\n\nSome words.\n\n")
    with pytest.raises(ToolProblem, match="Lists: Groceries, Work"):
        without_list(PLAIN, "Garden")


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("0a1b2c3d", ["milk"]),
        ("^0A1B2C3D", ["milk"]),
        ("milk ^0a1b2c3d", ["milk"]),
        ("[ ] Milk.", ["milk"]),
        ("invoice", ["invoice due:2026-12-01"]),
        ("brad", []),
        ("submarine", []),
        ("", []),
    ],
)
def test_a_to_do_is_found_by_id_text_or_words(words: str, found: list[str]) -> None:
    assert [todo.text for todo in match_todos(words, parse_todos(PLAIN))] == found


# ---- the file


def test_the_file_is_made_by_the_first_to_do(tmp_path: Path) -> None:
    file = TodoFile(tmp_path / "memory" / "TODO.md")
    assert file.items() == []
    assert file.lists() == []
    (todo,) = file.add("Trip", ["pack"])
    assert file.items() == [todo]
    file.set_done(todo.id, True)
    assert file.items()[0].done
    assert file.similar("trip", "Pack") is None
    file.set_done(todo.id, False)
    assert file.similar("trip", "Pack") == file.items()[0]
    file.remove(todo.id)
    assert file.items() == []
    assert [todo.text for todo in file.remove_list("Trip")] == []


def test_bom_crlf_and_mixed_newlines_stay(tmp_path: Path) -> None:
    path = tmp_path / "memory" / "TODO.md"
    path.parent.mkdir()
    before = b"\xef\xbb\xbf# L\r\n- [ ] a ^0a1b2c3d\r\n\r\nx  \n\ty"
    path.write_bytes(before)
    TodoFile(path).set_done("0a1b2c3d", True)
    assert path.read_bytes() == before.replace(b"[ ]", b"[x]")


def test_bytes_that_are_no_utf_8_survive_a_change(tmp_path: Path) -> None:
    path = tmp_path / "memory" / "TODO.md"
    path.parent.mkdir()
    path.write_bytes(b"caf\xe9\n- [ ] a ^0a1b2c3d\n- [ ] th\xe9\n")
    file = TodoFile(path)
    second = file.items()[1]
    assert second.text == "th\ufffd"
    file.set_done("0a1b2c3d", True)
    assert path.read_bytes() == (
        b"caf\xe9\n- [x] a ^0a1b2c3d\n- [ ] th\xe9 ^" + second.id.encode() + b"\n"
    )
    assert file.find("th\ufffd")[0].id == second.id


def test_words_for_a_day_become_a_date_when_a_to_do_is_added(tmp_path: Path) -> None:
    file = TodoFile(tmp_path / "memory" / "TODO.md", today=lambda: date(2026, 11, 18))
    (todo,) = file.add("", ["call Anna due:next friday at home"])
    assert (todo.text, todo.due) == ("call Anna due:2026-11-20 at home", "2026-11-20")
    assert file.similar("", "call Anna due:friday at home") == todo
    with pytest.raises(ToolProblem, match="due:soon is no date"):
        file.add("", ["fine", "not fine due:soon"])
    assert len(file.items()) == 1


def test_words_for_a_day_typed_by_hand_stay_and_are_no_date(tmp_path: Path) -> None:
    path = tmp_path / "memory" / "TODO.md"
    path.parent.mkdir()
    path.write_text("- [ ] call due:friday ^0a1b2c3d\n", encoding="utf-8")
    file = TodoFile(path)
    assert file.items()[0].due is None
    file.set_done("0a1b2c3d", True)
    assert path.read_text("utf-8") == "- [x] call due:friday ^0a1b2c3d\n"


def test_an_open_to_do_is_overdue_when_its_day_is_over() -> None:
    text = "- [ ] a due:2026-11-17\n- [x] b due:2026-11-17\n- [ ] c due:2026-11-18\n- [ ] d\n"
    today = date(2026, 11, 18)
    assert [is_overdue(todo, today) for todo in parse_todos(text)] == [True, False, False, False]


def test_a_line_with_thousands_of_blanks_is_read_at_once() -> None:
    blanks = " " * 20_000
    line = f"- [ ] call{blanks}Anna ^0a1b2c3d\n"
    began = time.process_time()
    (todo,) = parse_todos(f"# My{blanks}list #\n\n{line}")
    assert (todo.text, todo.list) == (f"call{blanks}Anna", f"My{blanks}list")
    assert plain_text(f"{todo.text}  due:2026-12-01") == "call Anna"
    assert set_due_date(line, todo.id, "2026-12-01") == line.replace(" ^", " due:2026-12-01 ^")
    assert time.process_time() - began < 1


def test_a_lock_that_stays_held_is_an_error_and_nothing_is_written(tmp_path: Path) -> None:
    file = TodoFile(tmp_path / "memory" / "TODO.md")
    file.lock_seconds = 0.05
    lock = tmp_path / ".openclaw" / "locks" / "todo.lock"
    with hold_lock(lock, 1), pytest.raises(OpenclawError, match="in use"):
        file.add("", ["a"])
    assert not file.path.exists()


def test_indented_text_below_a_heading_does_not_become_part_of_a_to_do() -> None:
    new, _ = add_todos("## Tasks\n    - [X] code\n\n## Next\n", "Tasks", ["milk"])
    assert [todo.text for todo in parse_todos(new)] == ["milk"]
    assert new.startswith("## Tasks\n    - [X] code\n\n- [ ] milk ^")
    assert new.endswith("\n\n## Next\n")


# ---- properties

_LINES = st.sampled_from(
    [
        "", " ", "# Title", "## Tasks", "## Work ##", "words", "  words", "    code", "\tcode",
        "- [ ] open", "- [x] done ^0a1b2c3d", "  - [ ] nested", "    - [X] deep", "* [ ] star",
        "1. [ ] one", "2) [x] two ^block", "- plain", "```", "~~~~", "```py", "<!--", "-->",
        "<!-- c -->", "> - [ ] quote", "| - [ ] a |", "---", "===", "- [ ] a ^0a1b2c3d  ",
        "- [ ]", "caf\u00e9 \U0001f600", "- [ ] due:2026-12-01 x", "[a]: b",
    ]
)  # fmt: skip
_MARKDOWN = st.lists(
    st.tuples(_LINES | st.text(max_size=12).filter(lambda s: "\ufeff" not in s),
              st.sampled_from(["\n", "\n", "\r\n"])), max_size=25
).map(lambda parts: "".join(line + end for line, end in parts))  # fmt: skip
_STEPS = st.lists(
    st.tuples(st.sampled_from(["add", "done", "undone", "change", "remove", "remove_list"]),
              st.integers(0, 30), st.sampled_from(["Tasks", "work", "New list", ""])), max_size=6
)  # fmt: skip


def _rest(text: str) -> list[str]:
    """Return all lines but to-dos, headings, their underlines and blank ones."""
    page = read_task_page(text)
    own = {item.at for item in page.items}
    lines = [line.rstrip("\r\n") for at, line in enumerate(page.lines) if at not in own]
    return [x for x in lines if x not in ("---", "===") and x.strip()[:1] not in ("", "#")]


def _step(text: str, action: str, number: int, name: str) -> str:
    todos = parse_todos(text)
    if action == "add":
        return add_todos(text, name, [f"new {number}"])[0]
    if action == "remove_list":
        return without_list(text, name)[0]
    if not todos:
        return text
    ident = todos[number % len(todos)].id
    if action == "change":
        return replace_text(text, ident, f"now {number}")
    return (
        remove_todo(text, ident) if action == "remove" else mark_done(text, ident, action == "done")
    )


def test_other_words_keep_the_date_unless_they_have_one(tmp_path: Path) -> None:
    file = TodoFile(tmp_path / "memory" / "TODO.md")
    (old,) = file.add("Trip", ["book the train due:2026-12-01"])
    assert file.set_text(old.id, "book the bus").text == "book the bus due:2026-12-01"
    assert file.set_text(old.id, "book the plane due:2026-12-03").due == "2026-12-03"
    with pytest.raises(ToolProblem):
        file.set_text(old.id, " ")


def test_a_to_do_behind_a_table_does_not_go_with_the_one_that_moves() -> None:
    text = "- [ ] pack ^0a1b2c3d\n| a | b |\n    - [ ] tent\n"
    moved = move_todo(text, "0a1b2c3d", "Trip")
    assert [(t.text, t.list) for t in parse_todos(moved)] == [("tent", "Tasks"), ("pack", "Trip")]


def test_a_to_do_whose_id_stands_behind_a_tab_can_be_changed() -> None:
    assert set_due_date("- [ ] a\t^1a2b3c4d\n", "1a2b3c4d", "2026-12-01") == (
        "- [ ] a due:2026-12-01 ^1a2b3c4d\n"
    )


@given(_MARKDOWN, _STEPS)
def test_other_text_stays_after_any_change(text: str, steps: list[tuple[str, int, str]]) -> None:
    rest = _rest(text)
    for step in steps:
        with suppress(ToolProblem):
            text = _step(text, *step)
        assert _rest(text) == rest


@given(_MARKDOWN, st.sampled_from(["Tasks", "work", "New list"]))
def test_an_added_to_do_is_there_and_the_rest_stays(text: str, name: str) -> None:
    new, ids = add_todos(text, name, ["first new", "second new"])
    todos = {todo.id: todo for todo in parse_todos(new)}
    assert [todos[ident].text for ident in ids] == ["first new", "second new"]
    assert not any(todos[ident].done for ident in ids)
    old = [(todo.id, todo.text, todo.done) for todo in parse_todos(text)]
    assert [(t.id, t.text, t.done) for t in parse_todos(new) if t.id not in ids] == old


@given(_MARKDOWN, st.integers(0, 30), st.booleans())
def test_marking_changes_that_to_do_and_no_other_byte(text: str, number: int, done: bool) -> None:
    todos = parse_todos(text)
    if not todos:
        return
    chosen = todos[number % len(todos)]
    new = mark_done(text, chosen.id, done)
    states = [(t.id, done if t.id == chosen.id else t.done) for t in todos]
    assert [(t.id, t.done) for t in parse_todos(new)] == states
    task_lines = {todo.line - 1 for todo in todos}
    before, after = read_task_page(text).lines, read_task_page(new).lines
    assert len(before) == len(after)
    assert all(b == a for at, (b, a) in enumerate(zip(before, after, strict=True))
               if at not in task_lines)  # fmt: skip
    assert mark_done(new, chosen.id, done) == new


def test_ids_are_eight_hex_digits() -> None:
    new, ids = add_todos("", "Tasks", [f"item {n}" for n in range(200)] + ["item 0"])
    assert len(set(ids)) == 201
    assert all(re.fullmatch(r"[0-9a-f]{8}", ident) for ident in ids)
    assert len(parse_todos(new)) == 201
