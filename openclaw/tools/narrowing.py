"""What a skill's `allowed-tools` leaves of the tools while the skill is followed.

The field is experimental in the standard, and elsewhere it lets tools run without a question. Here
it only takes away: what it names is still under the policy.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

ALWAYS = frozenset({"read_skill", "find_skill"})
"""A skill may be read to its end, and another one found."""

# Names of other agents (Claude Code, OpenClaw, Hermes) for what is called otherwise here.
NAMES: Mapping[str, tuple[str, ...]] = {
    "read": ("read_file", "list_files"),
    "view": ("read_file", "list_files"),
    "write": ("write_file", "append_file"),
    "edit": ("edit_file", "append_file"),
    "multiedit": ("edit_file", "append_file"),
    "patch": ("edit_file",),
    "grep": ("search_files",),
    "glob": ("list_files", "search_files"),
    "ls": ("list_files",),
    "bash": ("run_shell", "run_python"),
    "shell": ("run_shell", "run_python"),
    "exec": ("run_shell", "run_python"),
    "terminal": ("run_shell", "run_python"),
    "websearch": ("web_search",),
    "webfetch": ("fetch_url",),
    "todowrite": ("todo",),
    "todoread": ("todo",),
}
_ENTRY = re.compile(r"(?P<name>[^(]+)(?:\((?P<pattern>.*)\))?$", re.S)


def allows(allowed: Sequence[str], tool: str, arguments: Mapping[str, Any] | None = None) -> bool:
    """Whether `allowed-tools` leaves this call; without arguments, whether it leaves any call of
    the tool. An empty list leaves all.

    `Bash(git log:*)` and `Bash(git log *)` leave commands that begin so; patterns for other tools
    are not known here, so that such an entry leaves every call of its tool.
    """
    if not allowed or tool in ALWAYS:
        return True
    return any(_fits(entry, tool, arguments) for entry in allowed)


def _fits(entry: str, tool: str, arguments: Mapping[str, Any] | None) -> bool:
    found = _ENTRY.match(entry.strip())
    if not found:
        return False
    name = found["name"].strip().casefold().replace("-", "_")
    if tool not in (name, *NAMES.get(name.replace("_", ""), ())):
        return False
    pattern = (found["pattern"] or "*").strip()
    if arguments is None or pattern == "*" or tool not in ("run_shell", "run_python"):
        return True
    command = arguments.get("command")
    return isinstance(command, str) and _begins(command.strip(), pattern)


def _begins(command: str, pattern: str) -> bool:
    """Whether a command is the pattern's, or begins with its words and is one simple command."""
    words, any_end = re.subn(r"(?::\*|\s+\*)$", "", pattern)
    if command == words:
        return True
    plain = not re.search(r"[;&|<>`\n\r]|\$\(", command)
    return bool(any_end) and plain and command.startswith(f"{words} ")
