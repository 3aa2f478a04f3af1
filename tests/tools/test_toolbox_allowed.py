"""Which tools a skill's allowed-tools leaves."""

from __future__ import annotations

from typing import Any

import pytest

from openclaw.tools.allowed_tools import allows


@pytest.mark.parametrize(
    ("allowed", "tool", "left"),
    [
        ((), "write_file", True),
        (("Read",), "read_file", True),
        (("Read",), "list_files", True),
        (("Read",), "write_file", False),
        (("read",), "read_file", True),
        (("read_file",), "read_file", True),
        (("read-file",), "read_file", True),
        (("Write", "Edit"), "append_file", True),
        (("MultiEdit",), "edit_file", True),
        (("Grep",), "search_files", True),
        (("WebSearch",), "web_search", True),
        (("web_fetch",), "fetch_url", True),
        (("TodoWrite",), "todo", True),
        (("Bash",), "run_shell", True),
        (("Bash(git:*)",), "run_shell", True),  # some call of it
        (("Bash(git:*)",), "read_file", False),
        (("Task", "mcp__x__y"), "read_file", False),  # nothing that is here
        (("Task",), "read_skill", True),
        (("Task",), "find_skill", True),
        (("Read(docs/**)",), "read_file", True),
        (("(",), "read_file", False),
    ],
)
def test_names_of_other_agents_are_understood(
    allowed: tuple[str, ...], tool: str, left: bool
) -> None:
    assert allows(allowed, tool) is left


@pytest.mark.parametrize(
    ("entry", "command", "left"),
    [
        ("Bash", "rm x", True),
        ("Bash(*)", "rm x", True),
        ("Bash(git log:*)", "git log -3", True),
        ("Bash(git log:*)", "git log", True),
        ("Bash(git log *)", "git log -3", True),
        ("Bash(git log:*)", "git logout", False),
        ("Bash(git log:*)", "git push", False),
        ("Bash(git log:*)", "git log; rm x", False),
        ("Bash(git log:*)", "git log && rm x", False),
        ("Bash(git log:*)", "git log $(rm x)", False),
        ("Bash(git log:*)", "git log\nrm x", False),
        ("Bash(git log:*)", "git log > x", False),
        ("Bash(make test)", "make test", True),
        ("Bash(make test)", "make test x", False),
    ],
)
def test_a_pattern_leaves_the_commands_that_begin_so(entry: str, command: str, left: bool) -> None:
    arguments: dict[str, Any] = {"command": command}
    assert allows((entry,), "run_shell", arguments) is left
