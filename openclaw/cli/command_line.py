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

# name: (module below cli/commands/, "" for a group; help). The function has the name of a command,
# with an underscore behind a word that Python needs.
COMMANDS: dict[str, tuple[str, str]] = {
    "ask": ("ask", "Ask once; the word ask is optional."),
    "chat": ("chat", "Chat in the terminal."),
    "web": ("serve", "Open the page in a browser."),
    "serve": ("", "Serve the home over HTTP, and stay warm."),
    "init": ("init", "Make a home, or add what is missing to one."),
    "import": ("import_", "Take over another agent's files, or notes."),
    "trust": ("trust", "Say that a home from elsewhere is yours."),
    "doctor": ("doctor", "Check home, files, model and git; repair."),
    "heartbeat": ("heartbeat", "Do what HEARTBEAT.md says, for cron."),
    "jobs": ("", "Do things by the clock: memory/JOBS.md."),
    "backup": ("backup", "Put the whole home into one archive."),
    "restore": ("backup", "Make a home of such an archive."),
    "config": ("", "Show and change settings (openclaw.yaml)."),
    "policy": ("", "Show what tools may do, and grant it."),
    "models": ("", "List, fetch and choose models."),
    "context": ("context", "Show what would be sent, and what it costs."),
    "usage": ("usage", "Show tokens, speeds, and what was cached."),
    "why": ("why", "Show why an answer is what it is."),
    "sessions": ("", "List, search and manage conversations."),
    "undo": ("undo", "Take back the newest turns: files and words."),
    "redo": ("undo", "Put back what was taken back."),
    "log": ("log", "List the turns, or what tools did."),
    "diff": ("diff", "Show what a turn changed."),
    "show": ("diff", "Show all of a turn."),
    "blame": ("diff", "Show which turn wrote a line."),
    "sync": ("sync", "Share the home among your devices, by git."),
    "todo": ("", "List and change to-dos."),
    "memory": ("", "List, add and forget what is remembered."),
    "mcp": ("", "List and try MCP servers; be one."),
    "acp": ("acp", "Be the agent of an editor."),
    "hooks": ("", "List, allow and try your own programs."),
    "skills": ("", "List, check, install and switch skills."),
}
# group: the modules of its commands, of which only that of the typed one is imported.
GROUPS: dict[str, dict[str, str]] = {
    "serve": {"serve": "run token"},
    "jobs": {"jobs": "list run try timer"},
    "config": {"config": "show get set path"},
    "policy": {"policy": "show allow revoke"},
    "models": {"models.group": "list pull use", "models.test": "test"},
    "sessions": {
        "sessions.group": "list show search restore rename delete export fork",
        "sessions.compact": "compact",
        "sessions.replay": "replay test",
    },
    "todo": {"todo": "list add done undone move rm"},
    "memory": {
        "memory.group": "list add forget",
        "memory.search": "search index reindex",
        "memory.review": "review",
        "memory.test": "test",
        "memory.lint": "lint",
        "memory.gather": "gather",
    },
    "mcp": {"mcp.group": "list trust test", "mcp.serve": "serve"},
    "hooks": {"hooks": "list trust test"},
    "skills": {
        "skills.group": "list show validate enable disable",
        "skills.install": "install update remove new",
        "skills.review": "review",
        "skills.test": "test",
    },
}
# The command of a group that runs when none is named.
DEFAULT_COMMANDS = dict.fromkeys(GROUPS, "list") | {
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
