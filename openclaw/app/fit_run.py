"""Does a task of a test with the whole program, in a home that is thrown away."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

from openclaw.agent.events import Done, ToolEnd
from openclaw.app.fit_tasks import FILES, Outcome, Task
from openclaw.app.hall import App
from openclaw.config import Settings
from openclaw.files.home import Home, create_home
from openclaw.models.base import Model
from openclaw.models.bounded import Bounded, TooLate

LATE = "late"


def make_home(root: Path) -> Home:
    """A starter home with the files of the tasks."""
    create_home(root)
    for path, text in FILES.items():
        (root / path).write_text(text, encoding="utf-8")
    return Home(root)


def outcome_of(task: Task, model: Model, home: Home, settings: Settings, seconds: float) -> Outcome:
    """What comes of a task in a conversation of its own; it is stopped as `LATE` after so long.
    KeyboardInterrupt when the user stopped it."""
    app = App.open(home, settings, mode="edit")
    deadline = time.monotonic() + seconds
    app.model = Bounded(model, deadline)
    tools: list[str] = []
    outcome = Outcome("", LATE)
    stream = app.ask(task.prompt, app.sessions.new(None, ""), task.material)
    try:
        for event in stream:
            if isinstance(event, ToolEnd) and event.ok:
                tools.append(event.tool)
            elif isinstance(event, Done):
                if event.stop_reason == "interrupted":
                    raise KeyboardInterrupt
                changed = tuple(file.path for file in event.receipt.files)
                outcome = Outcome(
                    event.answer, event.stop_reason, tools, changed, event.unbacked, _todos(home)
                )
            if time.monotonic() > deadline and not outcome.answer:
                break
    except TooLate:
        return outcome
    finally:
        if close := getattr(stream, "close", None):
            close()
        app.recall.close()  # and not the app, whose model is needed again
    return outcome


def _todos(home: Home) -> str:
    with suppress(OSError):
        return (home.memory / "TODO.md").read_text(encoding="utf-8")
    return ""
