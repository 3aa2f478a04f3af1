"""What follows an answer: its sources, the working notes and lasting facts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

from openclaw import events
from openclaw.agent.citations import AnswerContext, find_sources, home_lines
from openclaw.agent.fact_capture import capture
from openclaw.agent.provenance import Provenance
from openclaw.agent.request import RequestBuilder
from openclaw.errors import OpenclawError
from openclaw.home.open_home import OpenHome
from openclaw.memory.pages import refresh
from openclaw.messages import Entry
from openclaw.nlp.note_additions import NoteAdditions, find_additions, shorten_request
from openclaw.receipt import NO_CHANGES, Receipt
from openclaw.security.masking import map_texts
from openclaw.security.untrusted import defuse
from openclaw.sessions.session import Session, SessionState, turn_starts
from openclaw.sessions.store import notes_path
from openclaw.sessions.working_notes import WorkingNotes
from openclaw.types import ToolProblem


def add_sources(
    builder: RequestBuilder, message: Entry, passages: Sequence[Mapping[str, Any]]
) -> Entry:
    """Return the last message of a turn with its citations and sources, if any, in its record.
    `passages` went with the prompt."""
    open_home, session = builder.open_home, builder.session
    found = find_sources(
        AnswerContext(
            message.content,
            session.messages,
            home_lines(open_home.home, open_home.masker.mask),
            builder.sources,
            builder.head,
            session.shortened,
            session.compressed_context,
            passages,
        )
    )
    return message.with_record(found)


def remember(open_home: OpenHome, provenance: Provenance) -> Iterator[events.Event]:
    """Remember lasting facts from the prompt. An error becomes a notice: the turn itself is done
    and saved."""
    session = provenance.session
    captured = session.state.captured
    try:
        yield from capture(open_home, provenance)
    except (OpenclawError, OSError, ToolProblem) as error:
        yield events.Notice(str(error))
    if session.state.captured != captured:
        open_home.sessions.save(session)
    if open_home.mode != "read-only" and open_home.use_memory:
        yield from map(events.Notice, refresh(open_home.home, provenance.turn_changes.keep))


def update_notes(
    sessions: Path,
    session: Session,
    receipt: Receipt = NO_CHANGES,
    mask: Callable[[str], str] = str,
) -> list[str]:
    """Add all messages since the last update to the notes, also of killed turns; return notices.

    `receipt` is that of the newest turn; `mask` replaces secrets by their names. The session then
    holds the number of noted messages, and the caller saves it: a note that the user has deleted
    does not come back.
    """
    start = max(0, (session.state.noted or 0) - session.archived)
    notes = WorkingNotes.read(notes_path(sessions, session.id))
    messages, previous = session.messages, None
    for first, end in pairwise((*turn_starts(messages), len(messages))):
        said = messages[first].content
        if end > start:
            answer = messages[end - 1].content if end - 1 > first else ""
            found = find_additions(said, answer, receipt if end == len(messages) else NO_CHANGES)
            notes.add(**map_texts(_to_lines(found, previous), mask))
        previous = said
    try:
        notes.save()
    except OpenclawError as error:
        return [f"the working notes were not kept: {error}"]
    session.update_state(SessionState(noted=session.archived + len(session.messages)))
    return []


def _to_lines(found: NoteAdditions, previous: str | None) -> dict[str, Any]:
    """Return the arguments of `WorkingNotes.add`. `previous` is the prompt of the turn before, None
    when unknown: it shows whether the user has rewritten the goal."""
    return {
        **asdict(found),
        "findings": _defuse_lines(found.findings),
        "questions": _defuse_lines(found.questions),
        "previous": None if previous is None else shorten_request(previous),
    }


def _defuse_lines(lines: Sequence[str]) -> list[str]:
    """Remove all that a chat template would read from lines that others may have written."""
    return [" ".join(defuse(line).split()) for line in lines]
