"""Completion in the shell: conversations, turns, to-dos, skills, models and settings.

It runs at each Tab. So it reads only what it offers, writes and asks nothing, and offers nothing
when something goes wrong.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typer._click.shell_completion import CompletionItem

from openclaw.config import load_settings
from openclaw.config.hook_settings import EVENTS
from openclaw.config.settings import keys
from openclaw.history.history import History
from openclaw.memory.todos import todo_file
from openclaw.models import catalog
from openclaw.models.model_names import all_models
from openclaw.security.display import one_line
from openclaw.sessions.store import UnsavedSessions
from openclaw.skills.skill import list_installed
from openclaw.storage.home import Home, find_home
from openclaw.storage.trust_store import is_trusted

if TYPE_CHECKING:
    from typer._click import Context


MAX_VALUES = 50
Pairs = Iterable[tuple[str, str]]


def complete(ctx: Context, param: Any, incomplete: str) -> list[CompletionItem]:
    """The values of a parameter that begin with what was typed, each with a description."""
    words = ctx.command_path.split()[1:]
    keys = (" ".join((*words, param.name)), f"{words[0]} {param.name}", param.name)
    values = next((VALUES[key] for key in keys if key in VALUES), None)
    if values is None:
        return []
    try:
        home = find_home(ctx.find_root().params.get("home"), Path.cwd(), os.environ)
        found = values(replace(home, trusted=is_trusted(home)))
        matching = ((value, about) for value, about in found if value.startswith(incomplete))
        return [
            CompletionItem(value, help=one_line(about, 60))
            for value, about in islice(matching, MAX_VALUES)
        ]
    except Exception:  # noqa: BLE001  (a shell's prompt is no place for errors)
        return []


def _sessions(home: Home) -> Pairs:
    return [(each.id, each.title) for each in UnsavedSessions(home.sessions).list()]


def _turns(home: Home) -> Pairs:
    history = History(home, auto_commit=load_settings(home).git.auto_commit)
    turns = (turn for turn in history.turns() if turn.kind != "outside")
    return [(turn.id, turn.subject) for turn in islice(turns, MAX_VALUES)]


def _todos(done: bool | None) -> Callable[[Home], Pairs]:
    """A function that lists done to-dos, open ones, or both (None)."""

    def found(home: Home) -> Pairs:
        todos = todo_file(home).items()
        return [(todo.id, todo.text) for todo in todos if done in (None, todo.done)]

    return found


def _skills(home: Home) -> Pairs:
    return [(each.name, each.description) for each in list_installed(home, load_settings(home))]


def _models(home: Home) -> Pairs:
    rows, _ = all_models(load_settings(home).ollama.host)
    here = (row for row in rows if row["installed"] and row["kind"] != "embedding")
    return [(row["name"], row["about"]) for row in here]


# The key is command and parameter, or group and parameter, or the parameter alone.
VALUES: dict[str, Callable[[Home], Pairs]] = {
    "session": _sessions,
    "sessions ref": _sessions,
    "turn": _turns,
    "todo done words": _todos(done=False),
    "todo undone words": _todos(done=True),
    "todo rm words": _todos(done=None),
    "todo list_name": lambda home: [(name, "") for name in todo_file(home).lists()],
    "skill": _skills,
    "skills name": _skills,
    "skills new name": lambda home: (),
    "model": _models,
    "models pull name": lambda home: [(entry.name, entry.about) for entry in catalog.entries()],
    "models use name": _models,
    "models test names": _models,
    "config key": lambda home: [(key.name, key.about) for key in keys().values()],
    "mcp test name": lambda home: [(name, "") for name in load_settings(home).mcp or {}],
    "hooks test event": lambda home: [(event, "") for event in EVENTS],
}
