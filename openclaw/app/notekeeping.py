"""Keeps the working notes of a conversation at the end of each turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from openclaw.agent.notable import Additions, notable, request_of
from openclaw.errors import OpenclawError
from openclaw.safety.fence import defused
from openclaw.sessions.notes import WorkingNotes, notes_path
from openclaw.sessions.session import NOTED, Session
from openclaw.shapes import Change, Entry


def keep_up(
    sessions: Path,
    session: Session,
    changes: Sequence[Change] = (),
    mask: Callable[[str], str] = str,
) -> list[str]:
    """Add what was said since the notes were last kept, also in turns that a kill ended; notices.

    `changes` are those of the newest turn; `mask` puts names in the place of secrets. How far the
    notes go stands in the session afterwards, which the caller saves: a note that the user has
    deleted does not come back.
    """
    value = session.extra.get(NOTED, 0)
    start = max(0, (value if isinstance(value, int) else 0) - session.archived)
    talk = exchanges(session.messages)
    notes = WorkingNotes.read(notes_path(sessions, session.id))
    for at, (first, exchange) in enumerate(talk):
        if first + len(exchange) <= start:
            continue
        said, *after = exchange
        answer = after[-1].content if after else ""
        uses = [use for entry in after for use in entry.tool_calls]
        found = notable(said.content, answer, uses, changes if at == len(talk) - 1 else ())
        _add(notes, found, mask, talk[at - 1][1][0].content if at else None)
    told = _saved(notes)
    if not told:
        session.extra[NOTED] = session.archived + len(session.messages)
    return [told] if told else []


def _add(
    notes: WorkingNotes, found: Additions, mask: Callable[[str], str], previous: str | None
) -> None:
    """`previous` is what the user said in the turn before, None when that is not known, by which a
    goal that he has rewritten is told from ours."""
    notes.add(
        request=mask(found.request),
        facts=[mask(fact) for fact in found.facts],
        findings=_harmless(found.findings, mask),
        files=found.files,
        todos=[mask(todo) for todo in found.todos],
        questions=_harmless(found.questions, mask),
        previous=None if previous is None else mask(request_of(previous)),
    )


def _saved(notes: WorkingNotes) -> str:
    try:
        notes.save()
    except OpenclawError as error:
        return f"the working notes were not kept: {error}"
    return ""


def exchanges(messages: Sequence[Entry]) -> list[tuple[int, Sequence[Entry]]]:
    """A conversation as exchanges, each with the index of its first message, the user's."""
    starts = [at for at, entry in enumerate(messages) if entry.role == "user"]
    ends = [*starts[1:], len(messages)]
    return [(start, messages[start:end]) for start, end in zip(starts, ends, strict=True)]


def _harmless(lines: Sequence[str], mask: Callable[[str], str]) -> list[str]:
    """Lines that others may have written, with nothing in them that a chat template would read."""
    return [mask(" ".join(defused(line).split())) for line in lines]
