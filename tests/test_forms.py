"""The line with blanks that a skill prescribes, as a pattern for the model's reply."""

from __future__ import annotations

import re

import pytest

from openclaw.agent.forms import first_tools, later_tools, line_form


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
def test_the_steps_behind_the_last_one_that_was_done_are_left(
    used: set[str], left: set[str]
) -> None:
    assert later_tools(STEPS, TOOLS, used) == left
