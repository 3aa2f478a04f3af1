"""`openclaw context --diff`: what changed in the head since a conversation was sent it, and who
changed it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from openclaw.cli.past_lines import kind_of, minute, place_of
from openclaw.cli.visible import first_line, one_line

if TYPE_CHECKING:
    from openclaw.app.head_changes import Change, HeadChanges
    from openclaw.history.turn import Turn

_SUBJECT = 50
NOT_RECORDED = "an edit that no turn or commit holds yet"


def change_lines(found: HeadChanges) -> Iterator[str]:
    """The changes as a diff of each part, with its writers in front."""
    yield f"conversation {one_line(found.session)}, turn {found.turn} of {minute(found.at)}"
    if not found.known:
        yield "the head that it was sent is no longer kept; the next request begins with a new one"
        return
    if not found.changes and not found.tools and not found.described:
        yield "nothing has changed in the head since it was sent"
    for change in found.changes:
        yield ""
        yield _title(change)
        yield from (f"  by {who(writer)}" for writer in change.writers)
        yield from change.unified()
    if found.tools or found.described:
        yield ""
        named = ", ".join(map(one_line, found.tools)) or "their descriptions or arguments"
        yield f"tools: {named}"


def _title(change: Change) -> str:
    told = "the model knows it" if change.told else "the model does not know it yet"
    if change.name == "skills":
        told = "they can be used now, this list changes with the next conversation"
    elif not change.path:
        told = "it counts from the next conversation on"
    return one_line(f"{change.name}: {change.path or 'made by code'} ({told})")


def who(turn: Turn | None) -> str:
    """Who made a change, on one line."""
    if turn is None:
        return NOT_RECORDED
    subject = first_line(turn.subject, _SUBJECT)
    if turn.kind == "outside":
        commit = f", commit {turn.commit[:8]}" if turn.commit else ", before a turn"
        return f"you, {minute(turn.at)}{commit}: {subject}".rstrip(": ")
    place = one_line(place_of(turn))
    named = f"{kind_of(turn)} {turn.id}, {minute(turn.at)}" + (f", {place}" if place else "")
    return f"{named}: {subject}".rstrip(": ")


def changes_json(found: HeadChanges) -> dict[str, Any]:
    """For programs."""
    return {
        "session": found.session,
        "turn": found.turn,
        "at": found.at,
        "known": found.known,
        "changes": [
            {
                "name": change.name,
                "path": change.path,
                "told": change.told,
                "by": [_writer_json(writer) for writer in change.writers],
                "diff": "\n".join(change.unified()) + "\n",
            }
            for change in found.changes
        ],
        "tools": list(found.tools),
        "tools_changed": bool(found.tools) or found.described,
    }


def _writer_json(turn: Turn | None) -> dict[str, Any] | None:
    if turn is None:
        return None
    names = ("id", "kind", "at", "session", "number", "commit", "subject")
    return {name: getattr(turn, name) for name in names}
