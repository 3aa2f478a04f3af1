"""The words of a command line: the names of the commands, the options of all of them, the prompt.

The search for a prompt starts here, before typer is loaded, which takes as long as its own imports.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from openclaw.errors import OpenclawError
from openclaw.home.search_client import SearchClient, start_early
from openclaw.storage.home import find_home
from openclaw.storage.safe_open import is_ordinary
from openclaw.storage.trust_store import is_trusted

# name: (module below cli/commands/, attribute, help); the attribute is a function or a Typer app.
COMMANDS: dict[str, tuple[str, str, str]] = {
    "ask": ("ask", "ask", "Ask once; the word ask is optional."),
    "chat": ("chat", "chat", "Chat in the terminal."),
    "web": ("serve", "web", "Open the page in a browser."),
    "serve": ("serve", "app", "Serve the home over HTTP, and stay warm."),
    "init": ("init", "init", "Make a home, or add what is missing to one."),
    "import": ("import_", "import_", "Take over another agent's files, or notes."),
    "trust": ("trust", "trust", "Say that a home from elsewhere is yours."),
    "doctor": ("doctor", "doctor", "Check home, files, model and git; repair."),
    "heartbeat": ("heartbeat", "heartbeat", "Do what HEARTBEAT.md says, for cron."),
    "jobs": ("jobs", "app", "Do things by the clock: memory/JOBS.md."),
    "backup": ("backup", "backup", "Put the whole home into one archive."),
    "restore": ("backup", "restore", "Make a home of such an archive."),
    "config": ("config", "app", "Show and change settings."),
    "policy": ("policy", "app", "Show what tools may do, and grant it."),
    "models": ("models.group", "app", "List, fetch and choose models."),
    "context": ("context", "context", "Show what would be sent, and what it costs."),
    "usage": ("usage", "usage", "Show tokens, speeds, and what was cached."),
    "why": ("why", "why", "Show why an answer is what it is."),
    "sessions": ("sessions.group", "app", "List, search and manage conversations."),
    "undo": ("undo", "undo", "Take back the newest turns: files and words."),
    "redo": ("undo", "redo", "Put back what was taken back."),
    "log": ("log", "log", "List the turns, or what tools did."),
    "diff": ("diff", "diff", "Show what a turn changed."),
    "show": ("diff", "show", "Show all of a turn."),
    "blame": ("diff", "blame", "Show which turn wrote a line."),
    "sync": ("sync", "sync", "Share the home among your devices, by git."),
    "todo": ("todo", "app", "List and change to-dos."),
    "memory": ("memory.group", "app", "List, add and forget what is remembered."),
    "mcp": ("mcp.group", "app", "List and try MCP servers; be one."),
    "acp": ("acp", "acp", "Be the agent of an editor."),
    "hooks": ("hooks", "app", "List, allow and try your own programs."),
    "skills": ("skills.group", "app", "List, check, install and switch skills."),
}
# The command of a group that runs when none is named.
DEFAULT_COMMANDS = {
    **dict.fromkeys(
        ("models", "sessions", "todo", "memory", "mcp", "hooks", "skills", "jobs"), "list"
    ),
    **dict.fromkeys(("config", "policy"), "show"),
    "serve": "run",
}
HELP = ["-h", "--help"]
HOME_OPTION = "--home"
OWN_OPTIONS = ("--help", "-h", "--version", "--install-completion", "--show-completion")


def split_global_options(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split the options that every command takes (--home DIR, --debug) from the other words."""
    front: list[str] = []
    rest: list[str] = []
    left = iter(words)
    for word in left:
        if word == "--":
            return front, [*rest, word, *left]
        if word == HOME_OPTION:
            front += [word, *([value] if (value := next(left, None)) is not None else [])]
        elif word == "--debug" or word.startswith(f"{HOME_OPTION}="):
            front.append(word)
        else:
            rest.append(word)
    return front, rest


def search_early(words: Sequence[str]) -> SearchClient | None:
    """Start the search of the home for which a command line has a prompt; None when it has none, or
    when something else comes first: a question to the user, a server, an error."""
    options, rest = split_global_options(words)
    if not _is_prompt(rest) or "--no-memory" in rest:
        return None
    named = [word for word in options if word not in (HOME_OPTION, "--debug")]
    try:
        home = find_home(
            named[-1].removeprefix(f"{HOME_OPTION}=") if named else None, Path.cwd(), os.environ
        )
        served = "--no-server" not in rest and is_ordinary(home.server_file)
        return start_early(home) if is_trusted(home) and not served else None
    except (OpenclawError, OSError):
        return None


def _is_prompt(words: Sequence[str]) -> bool:
    if not words:
        return not sys.stdin.isatty()
    first = words[0]
    return first == "ask" or not (first in (*COMMANDS, "help") or first.startswith(OWN_OPTIONS))
