"""The `allowed-tools` of a skill: which calls they leave while it is followed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

ALWAYS = frozenset({"read_skill", "find_skill"})
"""Tools that no skill takes away: reading the skill to its end, and finding another."""

# Tool names of other agents (Claude Code, OpenClaw, Hermes), with our tools for them.
NAMES: Mapping[str, tuple[str, ...]] = {
    theirs: tuple(ours.split())
    for ours, names in {
        "read_file list_files": "read view",
        "write_file append_file": "write",
        "edit_file append_file": "edit multiedit",
        "edit_file": "patch",
        "search_files": "grep",
        "list_files search_files": "glob",
        "list_files": "ls",
        "run_shell run_python": "bash shell exec terminal",
        "web_search": "websearch",
        "fetch_url": "webfetch",
        "todo": "todowrite todoread",
    }.items()
    for theirs in names.split()
}
_ENTRY = re.compile(r"(?P<name>[^(]+)(?:\((?P<pattern>.*)\))?$", re.S)


def allows(allowed: Sequence[str], tool: str, arguments: Mapping[str, Any] | None = None) -> bool:
    """Return True when `allowed-tools` permits this call; without arguments, when it permits any
    call of the tool. An empty list permits all.

    `Bash(git log:*)` and `Bash(git log *)` permit commands that begin so. Patterns for other tools
    are not understood: such an entry permits every call of its tool.
    """
    if not allowed or tool in ALWAYS:
        return True
    return any(_entry_matches(entry, tool, arguments) for entry in allowed)


def _entry_matches(entry: str, tool: str, arguments: Mapping[str, Any] | None) -> bool:
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
    return isinstance(command, str) and _is_command_of(command.strip(), pattern)


def _is_command_of(command: str, pattern: str) -> bool:
    """Return True when the command equals the pattern, or is one simple command that begins with
    the pattern's words."""
    words, any_end = re.subn(r"(?::\*|\s+\*)$", "", pattern)
    if command == words:
        return True
    plain = not re.search(r"[;&|<>`\n\r]|\$\(", command)
    return bool(any_end) and plain and command.startswith(f"{words} ")
