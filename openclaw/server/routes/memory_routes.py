"""What is remembered: the notes, the inbox, and the search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from openclaw.memory.entries import CATEGORIES, Meta
from openclaw.memory.notes import AlreadyKnownError, Where, choose_candidates, typed_notes
from openclaw.server.api import (
    NUMBER,
    OBJECT,
    TEXT,
    TRUTH,
    ApiCall,
    Routes,
    a_list,
    an_object,
    looking_up,
)
from openclaw.server.wire import HttpError

ROUTES = Routes()
_OR_NULL = {"type": ["string", "null"]}
NOTE = an_object(
    "path text category",
    required={"line": NUMBER, "superseded": TRUTH},
    date=_OR_NULL,
    source=_OR_NULL,
    importance={"type": ["number", "null"]},
    until=_OR_NULL,
)
PASSAGE = an_object(
    "path text",
    required={"start_line": NUMBER, "end_line": NUMBER},
    score={"type": "number"},
    date=TEXT,
    ranks=OBJECT,
    reason=TEXT,
)


@ROUTES.add(
    "GET",
    "/api/search",
    "read",
    query={
        "q": "what to look for",
        "k": "at most so many, 5",
        "path": "in this file or folder",
        "since": "from this ISO day on",
        "explain": "with ranks and reasons",
    },
    answer=an_object(required={"passages": a_list(PASSAGE), "notices": a_list(TEXT)}),
)
def search(
    call: ApiCall, q: str = "", k: int = 5, path: str = "", since: str = "", explain: bool = False
) -> Any:
    """The passages that a search of memory finds, as of now."""
    if not q.strip():
        raise HttpError(400, "say what to look for: q")
    passages, notices = call.server.shared.search(q, k, path, since)
    return {"passages": [each.as_json(explain=explain) for each in passages], "notices": notices}


@ROUTES.add(
    "GET",
    "/api/memory",
    "read",
    query={"all": "superseded ones too", "category": "only of this one"},
    answer=a_list(NOTE),
)
def list_notes(call: ApiCall, all: bool = False, category: str = "") -> Any:
    """What is remembered: lasting facts, then the days, the newest first."""
    home = call.server.home
    found = typed_notes(home).list(all)
    return [note.as_json(home) for note in found if (not category or category == note.category)]


@ROUTES.add("POST", "/api/memory", "files", answer=NOTE, status=201)
def remember(
    call: ApiCall, text: str, today: bool = False, category: str = "", replaces: str = ""
) -> Any:
    """Remember a fact; one that it corrects is struck through."""
    home = call.server.home
    if category and category not in CATEGORIES:
        raise HttpError(400, f"{category} is no category", f"take one of: {', '.join(CATEGORIES)}")
    notes = typed_notes(home)
    with call.server.changing(f"memory add {text}", store=notes):
        try:
            where: Where = "today" if today else "lasting"
            note = notes.remember(text, where, meta=Meta(category), replaces=replaces).note
        except AlreadyKnownError as known:
            note = known.note
    return note.as_json(home)


@ROUTES.add("DELETE", "/api/memory", "files", query={"note": "its text, or PATH:LINE"}, answer=NOTE)
def forget(call: ApiCall, note: str = "") -> Any:
    """Take one memory out."""
    home, notes = call.server.home, typed_notes(call.server.home)
    with looking_up():
        found = notes.find_one(note, home)
    with call.server.changing(f"memory forget {found.place(home)}", store=notes):
        notes.forget(found)
    return found.as_json(home)


@ROUTES.add("GET", "/api/review", "read", answer=a_list(OBJECT))
def list_candidates(call: ApiCall) -> Any:
    """What waits in memory/inbox for a yes, with its number `n`."""
    home = call.server.home
    waiting = typed_notes(home).candidates()
    return [{"n": n, **note.as_json(home)} for n, note in enumerate(waiting, 1)]


@ROUTES.add("POST", "/api/review", "owner", answer=a_list(OBJECT))
def review(call: ApiCall, accept: Sequence[str] = (), reject: Sequence[str] = ()) -> Any:
    """Remember candidates or take them out, each by its number, its text, or "all"."""
    home, notes = call.server.home, typed_notes(call.server.home)
    waiting = notes.candidates()
    chosen = [
        (note, yes)
        for words, yes in ((accept, True), (reject, False))
        for word in words
        for note in choose_candidates(waiting, word)
    ]
    if len({note for note, _ in chosen}) < len(chosen):
        raise HttpError(400, "the same one is named twice")
    with call.server.changing("memory review", store=notes):
        done = [notes.decide(note, yes, home) for note, yes in chosen]
    return [each for each in done if each]
