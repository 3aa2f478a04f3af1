"""The line with blanks that a skill prescribes, as a pattern for the model's reply."""

from __future__ import annotations

import re

import pytest

from openclaw.nlp.skill_instructions import first_tools, later_tools, line_form


@pytest.mark.parametrize(
    ("skill", "filled", "wrong"),
    [
        ("Append:\n\n    LOG <what> / <who>\n\nThen stop.", "LOG fire / Anna", "LOG fire, Anna"),
        ("Answer with `[CM] <what> (#0)` only.", "[CM] Mend it (#0)", "[CM] Mend it"),
        ("Write `<a>.<b>?`.", "x.y?", "x-y?"),
    ],
)
def test_a_single_line_with_blanks_becomes_a_pattern(skill: str, filled: str, wrong: str) -> None:
    pattern = line_form(skill)
    assert re.search(pattern, filled) and not re.search(pattern, wrong)


def test_a_blank_ends_before_the_next_sign_and_is_bounded() -> None:
    pattern = line_form("`~~ <boat> // <pier> !!`")
    assert re.search(pattern, "~~ Swan of 11/2025 // 4 !!") is None
    assert re.search(pattern, "~~ Swan! // 4/5 !!")
    assert re.search(pattern, "~~ Swan // 4 !~~ 5 // 4 !!") is None
    assert re.search(pattern, f"~~ Swan // {'4' * 2000} !!") is None


@pytest.mark.parametrize(
    "skill",
    [
        "No form at all, only <b>words</b>.",
        "One of\n\n    A <x>\n\nor\n\n    B <y>\n",
        "Two lines:\n\n    DONE: <what>\n    NEXT: <what>\n",
        "`code` without blanks",
        "",
    ],
)
def test_where_there_is_not_exactly_one_line_nothing_is_prescribed(skill: str) -> None:
    assert line_form(skill) == ""


STEPS = """\
1. Choose a name.
2. Call `read_file`, or
   `search_files` first.

       a form, also part of it
3. Call `calculate`.

`todo` is no step.
"""
TOOLS = ("read_file", "search_files", "calculate", "todo", "write_file")


def test_the_first_step_that_speaks_of_a_tool_comes_first() -> None:
    assert first_tools(STEPS, TOOLS) == {"read_file", "search_files"}
    assert first_tools("Use `todo`.", TOOLS) == {*TOOLS}


@pytest.mark.parametrize(
    ("used", "left"),
    [
        ({"read_file"}, {"calculate"}),
        ({"search_files", "calculate"}, set()),
        ({"read_file", "write_file"}, {"calculate"}),
        ({"write_file"}, set()),
    ],
)
def test_the_steps_after_the_last_one_done_are_left(used: set[str], left: set[str]) -> None:
    assert later_tools(STEPS, TOOLS, used) == left
