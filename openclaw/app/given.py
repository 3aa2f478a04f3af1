"""What a prompt is made of: the home's files for its head, what is said beside the request."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any

from openclaw.agent import prompt
from openclaw.agent.cues import Cues, cues
from openclaw.agent.protocol import StepProtocol
from openclaw.app.heads import Heads
from openclaw.app.recall import has_more, long_files, worth_looking_up
from openclaw.app.rooms import Rooms
from openclaw.app.shelf import Shelf
from openclaw.app.toolset import page_of
from openclaw.files.beneath import reading
from openclaw.files.text import read_text
from openclaw.sessions.store import Session
from openclaw.tools.toolbox import Toolbox

SOURCES = {
    "identity": "workspace/IDENTITY.md",
    "soul": "workspace/SOUL.md",
    "agents": "workspace/AGENTS.md",
    "user": "workspace/USER.md",
    "tools_md": "workspace/TOOLS.md",
    "memory": "memory/MEMORY.md",
}
REQUIRED = ("soul", "agents", "user")
TODOS = "memory/TODO.md"
MOST_BYTES = 1_000_000
"""Of a file of the head; what a window can hold is far less."""


def read_sources(rooms: Rooms) -> dict[str, prompt.Source]:
    found = {}
    for name, path in SOURCES.items():
        if name == "memory" and not rooms.use_memory:
            continue
        with suppress(OSError):
            text = read_text(rooms.home.root / path, MOST_BYTES)
            found[name] = prompt.Source(path, rooms.vault.mask(text))
    return found


def unread(rooms: Rooms) -> dict[str, str]:
    """The files of the head and the to-dos that are there and cannot be read, each with why."""
    found = {}
    for path in (*SOURCES.values(), TODOS):
        if rooms.use_memory or not path.startswith("memory/"):
            try:
                reading(rooms.home.root / path).close()
            except FileNotFoundError:
                continue
            except OSError as error:
                found[path] = error.strerror or str(error)
    return found


def head(
    rooms: Rooms,
    session: Session,
    sources: Mapping[str, prompt.Source],
    protocol: StepProtocol,
    toolbox: Toolbox,
    shelf: Shelf,
    window: int,
) -> tuple[tuple[prompt.Part, ...], list[str]]:
    heads = Heads(rooms.home.private / "cache" / "heads")
    found = heads.head(
        session,
        sources,
        lambda: prompt.head(sources, protocol.rules(toolbox), shelf.blurbs, window),
        protocol.name,
    )
    specs = toolbox.specs() if protocol.name == "native" else ()
    names = [spec["function"]["name"] for spec in specs]  # for `openclaw context --diff`
    session.extra["head"] = {**session.extra["head"], "tools": names}
    return found


def tail(
    rooms: Rooms,
    sources: Mapping[str, prompt.Source],
    changed: Sequence[str],
    material: str,
    notes: Sequence[str],
    passages: Sequence[str] = (),
) -> str:
    if rooms.settings.language != "auto":
        notes = [*notes, f"Answer in {rooms.settings.language}."]
    block = prompt.tail(
        rooms.now().replace(second=0),
        prompt.hard_rules(sources),
        [todo.text for todo in due(rooms)] if rooms.use_memory else [],
        changed,
        passages,
        notes,
    )
    return rooms.vault.mask(f"{block}\n\n{material}" if material else block)


def due(rooms: Rooms) -> list[Any]:
    try:
        items = rooms.todos.items()
    except OSError:
        return []
    today = rooms.now().date().isoformat()
    return [todo for todo in items if not todo.done and todo.due and str(todo.due) <= today]


def cues_of(rooms: Rooms, text: str, shelf: Shelf) -> Cues:
    lists: list[str] = []
    open_todos: list[str] = []
    with suppress(OSError):
        lists = rooms.todos.lists()
        open_todos = [todo.text for todo in rooms.todos.items() if not todo.done]
    from openclaw.tools.paths import visible_files

    files = [rooms.home.relative(path) for path in visible_files(rooms.home, rooms.home.root)]
    return cues(text, files, shelf.blurbs, lists, open_todos)


def looks_up(
    rooms: Rooms, text: str, seen: Cues, known: Collection[str] = tuple(SOURCES.values())
) -> bool:
    """Whether a prompt is looked up, as there may be more about it than in these files."""
    if rooms.settings.recall != "auto" or not rooms.use_memory:
        return False
    if long_files(rooms.home, seen, page_of(rooms.settings.window)):
        return True
    return worth_looking_up(text, seen) and has_more(rooms.home, rooms.settings, known)
