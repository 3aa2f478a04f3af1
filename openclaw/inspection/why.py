"""Explain an answer from the messages of its session: what was offered, left out and cut, what the
model thought and did, and what the answer rests on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from openclaw.agent.citations import beside, passages_of, rests_on
from openclaw.errors import UsageError
from openclaw.types import Entry, ToolUse

Found = Mapping[str, Any]
NO_RECORD = "no record was kept of this turn: shown is what its messages say"


@dataclass(frozen=True, slots=True)
class Step:
    """One reply of the model: its thoughts, its text, its calls with their results, and the hints
    that it was given besides.
    """

    thought: str
    said: str
    calls: tuple[ToolUse, ...] = ()
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Why:
    """What is known of one turn. `recorded`: the session has kept what the turn was made of;
    without it `offered` has only places, and nothing is known of `left_out`, `cut` and
    `citations`. The shapes of these are those of the session file (docs/why.md)."""

    session: str
    turn: int
    at: str
    prompt: str
    recorded: bool
    model: str = ""
    offered: tuple[Found, ...] = ()
    left_out: tuple[Found, ...] = ()
    cut: tuple[Found, ...] = ()
    steps: tuple[Step, ...] = ()
    answer: str = ""
    citations: tuple[Found, ...] = ()
    sources: tuple[str, ...] = ()
    stop: str = ""
    unbacked: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    record: Found = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """All of it for programs; the record stands for itself in the session file."""
        return {name: value for name, value in asdict(self).items() if name != "record"}


def why(session: str, messages: Sequence[Entry], number: int, shown_as: int = 0) -> Why:
    """What is known of the turn that begins with the user's message of this number, from 1, among
    `messages`; `shown_as` is its number in the whole conversation. UsageError when there is
    none."""
    starts = [at for at, entry in enumerate(messages) if entry.role == "user"]
    if not 0 < number <= len(starts):
        turns = len(starts) + max((shown_as or number) - number, 0)  # archived ones too
        there = f"it has {turns} turns" if turns else "nothing was said in it"
        raise UsageError(
            f"conversation {session} has no turn {shown_as or number}; {there}",
            f"see them: openclaw sessions show {session}",
        )
    end = starts[number] if number < len(starts) else len(messages)
    user, *replies = messages[starts[number - 1] : end]
    last = replies[-1] if replies else None
    record, ended = user.record, last.record if last else {}
    answer = last.content if last and not last.tool_calls else ""
    return Why(
        session=session,
        turn=shown_as or number,
        at=user.at,
        prompt=user.content,
        recorded=bool(record),
        model=str(record.get("model") or ""),
        offered=_listed(record, "offered") or tuple(_places(user)),
        left_out=_listed(record, "left_out"),
        cut=_listed(record, "cut"),
        steps=tuple(Step(e.thought, e.content, e.tool_calls, e.hint) for e in replies),
        answer=answer,
        citations=_listed(ended, "citations"),
        sources=_texts(ended, "sources") or tuple(_guessed(ended, user, replies, answer)),
        stop=str(ended.get("stop") or ""),
        unbacked=_texts(ended, "unbacked"),
        changed=_texts(ended, "changed"),
        record=record,
    )


def _places(user: Entry) -> Iterator[dict[str, Any]]:
    """Return the passages in the tail of a turn of which no record was kept."""
    for passage in beside(user):
        for line in passage.each():
            yield {"path": line.path, "start_line": line.start_line, "end_line": line.end_line}


def _guessed(ended: Found, user: Entry, replies: Sequence[Entry], answer: str) -> Iterator[str]:
    """Return what the answer of an older turn rests on, as it would be found today."""
    if ended or not answer:
        return
    passages = (passage for entry in (user, *replies) for passage in passages_of(entry))
    offered = (line for passage in passages for line in passage.each())
    yield from (line.place for line in rests_on(answer, user.content, offered))


def _listed(record: Found, name: str) -> tuple[Found, ...]:
    """Return a list of objects; an editor may have damaged the file."""
    value = record.get(name)
    items = value if isinstance(value, list | tuple) else ()
    return tuple(item for item in items if isinstance(item, Mapping))


def _texts(record: Found, name: str) -> tuple[str, ...]:
    value = record.get(name)
    return tuple(map(str, value)) if isinstance(value, list | tuple) else ()
