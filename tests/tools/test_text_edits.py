"""How a passage of a text is found and replaced."""

from __future__ import annotations

import pytest

from openclaw.tools.text_edits import replace_passage
from openclaw.types import ToolProblem


def problem(text: str, find: str, replace: str) -> str:
    """What an edit that cannot be made tells the model."""
    with pytest.raises(ToolProblem) as raised:
        replace_passage(text, find, replace)
    return str(raised.value)


@pytest.mark.parametrize(
    ("text", "find", "replace", "result"),
    [
        ("a\nb\nc\n", "b", "", "a\nc\n"),
        ("a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", "x\r\ny\r\nz\r\nc\r\n"),
        ("a\r\nb\nc\n", "b", "B", "a\r\nB\nc\n"),
        ("  key:   value\n", "key: value", "key: other", "  key: other\n"),
        ("def f():\n    return 1\n", "def f():\n  return 1\n", "def g():\n    return 2\n",
         "def g():\n    return 2\n"),
        ("one\n\n\ntwo\n", "one\ntwo", "three", "three\n"),
        ("port = 80\nport = 8080\n", "port = 80", "port = 90", "port = 90\nport = 8080\n"),
        ("no newline", "no", "a", "a newline"),
        ("a.b*c\n", "a.b*c", r"\1", "\\1\n"),
        ("- milk\n- bread\n- tea\n", "bread", " ", "- milk\n- tea\n"),
        ("- [ ] milk\n- [x] bread\n", "- [x] bread", "- ", "- [ ] milk\n"),
        ("price\nbread\n", "bread", "-", "price\n-\n"),
        ("- tea <!-- fact -->\n- milk\n", "tea", "", "- milk\n"),
        ("- tea <!-- fact\n-->\n- milk\n", "tea", "", "-  <!-- fact\n-->\n- milk\n"),
    ],
)  # fmt: skip
def test_an_edit_is_exact_first_and_then_minds_no_blanks(
    text: str, find: str, replace: str, result: str
) -> None:
    assert replace_passage(text, find, replace)[0] == result


def test_many_comments_behind_a_passage_are_read_at_once() -> None:
    comments = "<!--a-->" * 60
    assert replace_passage(f"- tea {comments}x\n", "tea", "")[0] == f"-  {comments}x\n"


def test_blank_lines_of_windows_are_crossed_at_once() -> None:
    text = "a\r\n" + 60 * "\r\n" + "b\r\n"
    assert replace_passage(text, "a\nb", "c")[0] == "c\r\n"
    assert "not in the file" in problem(text, "a\nc", "d")


def test_lines_are_numbered_as_read_file_numbers_them() -> None:
    text = "page\x0cone\u2028two\nport = 80\nport = 81\n"
    assert "\n2: port = 80\n3: port = 81\n" in problem(text, "port =", "x")
    assert "\n3: port = 81\n" in problem(text, "port = 811", "x")


@pytest.mark.parametrize(
    ("line", "find", "replace"),
    [
        ('  "version": "1.4.1",', "version", "1.4.2"),
        ("port = 8080", "port", "8081"),
        ("- Rent: 840 euros", "Rent", "860 euros"),
        ("**Rent:** 840 euros", "Rent", "860 euros"),
    ],
)
def test_a_value_does_not_take_the_place_of_its_name(line: str, find: str, replace: str) -> None:
    text = f"one\n{line}\n"
    told = problem(text, find, replace)
    assert told.startswith("find is only the name of a value. The nearest lines:\n2: ")
    whole = line.replace(find, "new")
    assert replace_passage(text, line, whole)[0] == f"one\n{whole}\n"
    assert replace_passage("10:30 tea\n", "10", "11")[0] == "11:30 tea\n"
    assert replace_passage("if x == 1:\n", "if x", "if y")[0] == "if y == 1:\n"


def test_what_stands_in_another_column_is_not_written_into_this_one() -> None:
    text = "| event | host |\n|---|---|\n| Slam | Felix |\n| Carols | Nadia |\n"
    told = problem(text, "Carols", "Felix")
    assert told == (
        "Felix belongs into the column host. The nearest lines:\n4: | Carols | Nadia |\n"
        "Write for it: | Carols | Felix |"
    )
    assert "| Carols | Felix |" in replace_passage(text, "Nadia", "Felix")[0]
    assert "| Choir | Nadia |" in replace_passage(text, "Carols", "Choir")[0]


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_no_empty_line_comes_between_the_rows_of_a_table(newline: str) -> None:
    table = newline.join(("| event | host |", "|---|---|", "| Slam | Felix |", ""))
    changed, _ = replace_passage(table, "| Slam | Felix |", "\n| Slam | Ada |\n| Carols | Bo |")
    assert changed.split(newline)[2:] == ["| Slam | Ada |", "| Carols | Bo |", ""]
    assert replace_passage("one\ntwo\n", "two", "\nthree")[0] == "one\n\nthree\n"


def test_a_name_is_renamed_where_it_is_a_word_of_its_own() -> None:
    text = "max_size_now = 1\nmax_size = 2\nmax_size += 1\n"
    renamed = text.replace("max_size ", "limit ")
    assert replace_passage(text, "max_size", "limit", everywhere=True) == (renamed, 2)
    once = replace_passage("max_size = 2\n", "max_size", "limit", everywhere=True)
    assert once == ("limit = 2\n", 1)
    with pytest.raises(ToolProblem, match="fits 2 places"):  # it is no word anywhere
        replace_passage("max_sizes, max_sizer\n", "max_size", "limit", everywhere=True)


def test_the_row_to_write_keeps_a_bar_in_its_cell() -> None:
    text = "| event | host |\n|---|---|\n| Slam | Ada \\| Ben |\n| Carols | Nadia |\n"
    with pytest.raises(ToolProblem, match="Write for it: ") as problem:
        replace_passage(text, "Carols", "Ada | Ben")
    assert str(problem.value).endswith("| Carols | Ada \\| Ben |")


def test_a_value_may_become_what_stands_in_another_column() -> None:
    text = "| fruit | pieces | euros |\n|---|---|---|\n| apple | 2 | 7 |\n| pear | 3 | 5 |\n"
    assert replace_passage(text, "2", "5")[0] == text.replace("2", "5")
    told = problem(f"a page\x0cof\u2028lines\n{text}", "apple", "5")
    assert told.startswith("5 belongs into the column euros. ")
