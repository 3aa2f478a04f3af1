"""Offers what a yes would do: once for a to-do, and at most one in a conversation.

No model is asked, and nothing is done before the yes. What was offered is kept in
.openclaw/offered.txt, one line each: the day, the to-do's id, the conversation, the words.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from openclaw.files.beneath import appending, make_folder, read_bytes
from openclaw.files.text import decode, read_text

if TYPE_CHECKING:
    from openclaw.agent import events
    from openclaw.agent.receipt import Receipt
    from openclaw.app.rooms import Rooms
    from openclaw.memory.todos import Todo
    from openclaw.sessions.store import Session

FILE = "offered.txt"
AT_START = "-"
LONGEST_PROMPT = 120
"""Characters; what a yes means is shown in full, so a longer one is not offered."""
MOST_BYTES = 200_000
PEOPLE = ("memory/MEMORY.md", "memory/people.md")
_LINK = re.compile(r"://|\bwww\.|\b[\w-]{2,}\.[a-z]{2,}(?:\b|/)", re.IGNORECASE)
_LIST_OF_SHOPPING = re.compile(r"shop|grocer|einkauf|courses|compra|spesa", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Offer:
    """`line` is shown. A yes means `prompt`, whose words stand in the line, or, when there is none,
    that the to-do `todo` gets the date `due` (ISO)."""

    line: str
    prompt: str = ""
    todo: str = ""
    due: str = ""


class Offered:
    """What was offered before. A missing file is an empty one."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> tuple[Collection[str], Collection[str]]:
        """The ids of to-dos, and the conversations."""
        try:
            text = decode(read_bytes(self._path))
        except OSError:
            return frozenset(), frozenset()
        rows = [line.split("\t") for line in text.splitlines()]
        rows = [row for row in rows if len(row) >= 3]
        return frozenset(row[1] for row in rows), frozenset(row[2] for row in rows)

    def add(self, day: date, todo: str, session: str, words: str) -> bool:
        """Note an offer; False when it cannot be noted, and so would be made again and again."""
        row = "\t".join((day.isoformat(), todo, session, " ".join(words.split())))
        try:
            make_folder(self._path.parent)
            with appending(self._path) as file:
                file.write(f"{row}\n".encode("utf-8", "replace"))
        except OSError:
            return False
        return True


def at_start(rooms: Rooms, todos: Sequence[Todo], most: int = LONGEST_PROMPT) -> Offer | None:
    """The offer for the start of a talk: to do the first open to-do, due ones first, of those that
    can be done and were not offered before. `most` characters for its prompt."""
    today = rooms.now().date()
    offered, _ = _store(rooms).read()
    for todo in sorted(todos, key=lambda todo: todo.due or "9999"):
        if todo.done or todo.id in offered or _is_for_later(todo, today):
            continue
        prompt = _prompt(rooms, todo)
        if prompt and len(prompt) <= most:
            line = f'Shall I do this to-do: "{prompt}"? (yes)'
            return _noted(rooms, todo, AT_START, Offer(line, prompt))
    return None


def after_change(rooms: Rooms, session: Session, receipt: Receipt) -> Offer | None:
    """The offer after a turn that added to-dos: a date for one whose words name a day, else to do
    one that can be done at once."""
    if rooms.settings.proactive == "off" or not rooms.use_memory:
        return None
    new = {text for what, text in receipt.todos if what == "added"}
    if not new:
        return None
    ids, sessions = _store(rooms).read()
    if session.id in sessions:
        return None
    try:
        todos = [todo for todo in rooms.todos.items() if todo.text in new and not todo.done]
    except OSError:
        return None
    for todo in (todo for todo in todos if todo.id not in ids):
        if offer := _date_for(rooms, todo) or _doing(rooms, todo):
            return _noted(rooms, todo, session.id, offer)
    return None


def accept_date(rooms: Rooms, session: Session, offer: Offer) -> Iterator[events.Event]:
    """Give the to-do of an offer its date, as a turn of its own that `undo` takes back. Raises
    OpenclawError when the file cannot be written or the to-do is gone."""
    from openclaw.agent import events
    from openclaw.app.capturing import no_place
    from openclaw.app.recording import recorded
    from openclaw.errors import UsageError
    from openclaw.shapes import Ledger, ToolProblem

    if reason := no_place(rooms.home, rooms.todos.path):
        raise UsageError(f"the to-do was not dated: {reason}")
    ledger = Ledger()
    request = f"yes: due:{offer.due}"
    with (
        rooms.sessions.writing(session.id, timeout=2.0),
        recorded(rooms, session, ledger, request, 0, rooms.history.head()) as recording,
    ):
        todos = rooms.todos
        todos.keep = ledger.keep
        try:
            todo = todos.set_due(offer.todo, offer.due)
        except ToolProblem as problem:
            raise UsageError(str(problem), "see them: /todo") from None
        yield events.Notice(f"to-do dated: {todo.text} (to take it back: openclaw undo)")
        yield from map(events.Notice, recording.close("done"))


def _store(rooms: Rooms) -> Offered:
    return Offered(rooms.home.private / FILE)


def _noted(rooms: Rooms, todo: Todo, session: str, offer: Offer) -> Offer | None:
    words = offer.prompt or offer.line
    kept = _store(rooms).add(rooms.now().date(), todo.id, session, words)
    return offer if kept else None


def _is_for_later(todo: Todo, today: date) -> bool:
    """Whether it is a promise whose day is not there."""
    from openclaw.app.promises import LIST

    return todo.list == LIST and bool(todo.due) and str(todo.due) > today.isoformat()


def _prompt(rooms: Rooms, todo: Todo) -> str:
    from openclaw.agent.own_words import sentences
    from openclaw.agent.suggestions import bare, from_notes, person, suggestion

    if not bare(todo.text).isprintable() or "@" in todo.text:  # which would attach a file
        return ""
    if _LINK.search(todo.text) or len([*sentences(bare(todo.text))]) > 1:
        return ""  # somebody else may have written it, and a yes is quickly typed
    found = suggestion(todo.text)
    if found.lower().startswith("find out where") and _LIST_OF_SHOPPING.search(todo.list):
        return ""
    name = "" if found else person(todo.text)
    return from_notes(todo.text) if name and _is_known(rooms, name) else found


def _is_known(rooms: Rooms, name: str) -> bool:
    """Whether the notes on people tell of somebody."""
    return any(re.search(rf"\b{name}\b", text) for text in _texts(rooms, PEOPLE))


def _texts(rooms: Rooms, names: Iterable[str]) -> Iterator[str]:
    for name in names:
        try:
            yield read_text(rooms.home.root / name, MOST_BYTES)
        except OSError:
            continue


def _doing(rooms: Rooms, todo: Todo) -> Offer | None:
    prompt = _prompt(rooms, todo)
    if not prompt or len(prompt) > LONGEST_PROMPT or _is_for_later(todo, rooms.now().date()):
        return None
    return Offer(f'Shall I do that now: "{prompt}"? (yes)', prompt)


def _date_for(rooms: Rooms, todo: Todo) -> Offer | None:
    """The offer of a date for a to-do that has none but names a day to come."""
    from openclaw.agent.days import day_named

    named = day_named(todo.text)
    if todo.due or "due:" in todo.text or named is None:
        return None
    today = rooms.now().date()
    day: date | None = today
    if named.day != "today":
        from openclaw.memory.dates import day_of

        day = day_of(named.day, today)
    if day is None or day < today:
        return None
    text = todo.text if len(todo.text) <= LONGEST_PROMPT else f"{todo.text[:LONGEST_PROMPT]}..."
    line = f'"{text}" has no date. Shall I set due:{day.isoformat()}? (yes)'
    return Offer(line, todo=todo.id, due=day.isoformat())
