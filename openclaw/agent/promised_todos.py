"""Notes what an answer promised for later as a to-do, within the turn: an undo takes it back."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from openclaw import events
from openclaw.agent.fact_capture import why_not_writable
from openclaw.errors import OpenclawError
from openclaw.memory.notes import Notes
from openclaw.memory.todos import parse_todos, plain_text
from openclaw.nlp.promises import Promise, find_promises
from openclaw.nlp.words import content_words
from openclaw.security.untrusted import defuse, plain_source, strip_hidden
from openclaw.storage.text import read_text
from openclaw.types import Action, ToolProblem

if TYPE_CHECKING:
    from openclaw.agent.provenance import Provenance
    from openclaw.home.open_home import OpenHome
    from openclaw.memory.todos import Todo
    from openclaw.sessions.session import Session
    from openclaw.types import TurnChanges


LIST = "Promised"
LONGEST_WHAT = 200
LONGEST_REQUEST = 60
FEW_WORDS = 2
_ADD = Action("todo", "write")
_POINTING = re.compile(r"\b(?:it|that|this|them|es|das|nach(?:sehen|schauen)|le|la|lo)\b", re.I)
_SIGNS = (
    *("i won't", "i won\u2019t", "we won't", "we won\u2019t"),
    *("i will", "i'll", "i\u2019ll", "i shall", "we will", "we'll", "we\u2019ll", "we shall"),
    *("going to", "ich ", "je ", "j'", "r\u00e9"),
)
"""Every promise has one of them, in any case."""
ALIKE = 0.5
"""Two texts are about the same when they share this part of the shorter one's words."""


def note_promises(open_home: OpenHome, watch: Provenance, answer: str) -> Iterator[events.Event]:
    """Note new promises of an answer as to-dos; each gives one Notice. After a foreign text was
    read, and where the tool `todo` would need a yes for the same words, they wait in the inbox: the
    promise may be foreign. Nothing is noted in mode read-only, without memory, with the setting
    `proactive: off`, or when the user did not type the prompt."""
    if (
        open_home.settings.proactive == "off"
        or open_home.mode == "read-only"
        or not open_home.use_memory
    ):
        return
    session, turn_changes = watch.session, watch.turn_changes
    if not turn_changes.typed:
        return
    said = answer.casefold()
    if not any(sign in said for sign in _SIGNS):
        return
    # Imported late, as most answers have no promise: the patterns take 30 ms to load.
    today = open_home.now().date()
    for promise in find_promises(answer, turn_changes.request):
        day = promise.day_from(today)
        if promise.day and day is None:
            continue
        what = _promised_text(promise, turn_changes.request)
        _check_writable(open_home, open_home.todos.path)
        if _is_noted(open_home, turn_changes, what, day):
            continue
        theirs = turn_changes.tainted or watch.tainted(_ADD, {"items": [what]})
        what = open_home.vault.mask(what)
        with suppress(ToolProblem):  # nothing is left of it, or it is known
            if theirs:
                yield from _add_to_inbox(open_home, watch, what, day)
            else:
                yield from _add_todo(open_home, session, turn_changes, what, day)


def _promised_text(promise: Promise, request: str) -> str:
    """Return the promised action, with the request's words when it says little ("Follow up")."""
    what = strip_hidden(promise.what or promise.sentence)[:LONGEST_WHAT].strip()
    undated = what.replace(promise.day, "") if promise.day else what
    telling = len(set(content_words(undated))) >= FEW_WORDS and not _POINTING.search(what)
    if telling or not request.strip():
        return what
    asked = " ".join(strip_hidden(request).split())
    if asked.casefold() in what.casefold() or what.casefold() in asked.casefold():
        return what
    cut = asked if len(asked) <= LONGEST_REQUEST else asked[: LONGEST_REQUEST - 3] + "..."
    return f'{what}, for "{cut}"'


def _is_noted(open_home: OpenHome, turn_changes: TurnChanges, what: str, day: date | None) -> bool:
    """Return True when the turn's own calls noted a promise, or an open to-do of that day does."""
    items = [todo for todo in open_home.todos.items() if not todo.done]
    mine = _added_now(open_home, turn_changes, items)
    iso = day.isoformat() if day else None
    if any(todo.due == iso or _is_same_todo(todo.text, what) for todo in mine):
        return True
    return any(todo.due == iso and _is_same_todo(todo.text, what) for todo in items)


def _added_now(
    open_home: OpenHome, turn_changes: TurnChanges, items: Sequence[Todo]
) -> Sequence[Todo]:
    name = open_home.home.relative(open_home.todos.path)
    if name not in turn_changes.before:
        return ()
    before = {todo.text for todo in parse_todos(turn_changes.before[name] or "")}
    return [todo for todo in items if todo.text not in before and todo.list != LIST]


def _is_same_todo(left: str, right: str) -> bool:
    first, second = set(content_words(plain_text(left))), set(content_words(plain_text(right)))
    rarer = min(len(first), len(second))
    return bool(rarer) and len(first & second) >= ALIKE * rarer


def _add_todo(
    open_home: OpenHome, session: Session, turn_changes: TurnChanges, what: str, day: date | None
) -> Iterator[events.Event]:
    todos = open_home.todos
    todos.keep = turn_changes.keep
    due = f" due:{day.isoformat()}" if day else ""
    _note_before(open_home, turn_changes, todos.path)
    [todo] = todos.add(LIST, [f"{what}{due} (promised in {session.id}:{session.turns})"])
    when = f" for {day.isoformat()}" if day else ""
    yield events.Notice(
        f'a promise, noted{when}: "{what}" in {open_home.home.relative(todos.path)}'
        f" (to take it back: openclaw todo rm {todo.id})"
    )


def _add_to_inbox(
    open_home: OpenHome, watch: Provenance, what: str, day: date | None
) -> Iterator[events.Event]:
    turn_changes = watch.turn_changes
    notes = Notes(
        open_home.home.memory, today=lambda: open_home.now().date(), keep=turn_changes.keep
    )
    sources = (*turn_changes.foreign, *turn_changes.inherited) or (watch.origin(what),)
    source = ", ".join(dict.fromkeys(sources))
    when = f" for {day.isoformat()}" if day else ""
    path = notes.inbox()
    _check_writable(open_home, path)
    _note_before(open_home, turn_changes, path)
    notes.propose(defuse(f"Promised{when}: {what}"), plain_source(source))
    yield events.Notice(
        f"a promise is in the inbox for review, as it may be in the words of others: {what}{when}"
        " (openclaw memory review)"
    )


def _check_writable(open_home: OpenHome, path: Path) -> None:
    """Raise OpenclawError when the file may not be written."""
    if reason := why_not_writable(open_home.home, path):
        raise OpenclawError(f"a promise was not noted: {reason}")


def _note_before(open_home: OpenHome, turn_changes: TurnChanges, path: Path) -> None:
    """Note the content of a file before the turn, for the receipt."""
    try:
        text = read_text(path)
    except FileNotFoundError:
        text = None
    turn_changes.before.setdefault(open_home.home.relative(path), text)
