"""Sum up the tokens and seconds of the model calls of all conversations, from their files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from statistics import median
from typing import Any

from openclaw.frozen import frozen
from openclaw.messages import Entry, Usage
from openclaw.sessions.session import Session
from openclaw.sessions.store import SessionStore

MEASURED = 64
WRITTEN = 8  # tokens of a reading, and of a writing, whose times tell its speed
SUMMING = ("steps", "repeated", "full")
"""How a turn ends whose last message holds the sum of all its calls (see agent/loop.py)."""
STOPPED = "I stopped: "  # what such a message says, where older sessions have no record of it
DAY = len("2026-11-21")


@frozen
class TurnUsage:
    """The cost of one turn.

    `number`: the turn's number in its conversation, from 1.
    `at`: ISO 8601 time.
    `usage`: the sum of the turn's calls.
    `calls`: the usage of each.
    """

    session: str
    number: int
    at: str
    model: str
    usage: Usage
    calls: tuple[Usage, ...]

    @property
    def day(self) -> str:
        return self.at[:DAY]


@frozen
class Sums:
    """The sum of several turns.

    Rates are tokens a second, 0.0 where no server gave times. The seconds to the first token are
    the median over the turns.
    """

    name: str
    turns: int
    calls: int
    prompt_tokens: int
    cached_tokens: int
    generated_tokens: int
    first_token_seconds: float
    total_seconds: float
    reading_rate: float
    writing_rate: float

    @property
    def share(self) -> float:
        """The share of the tokens that had been read before."""
        return self.cached_tokens / self.prompt_tokens if self.prompt_tokens else 0.0


def sum_turns(name: str, turns: Sequence[TurnUsage]) -> Sums:
    total = sum((turn.usage for turn in turns), Usage())
    waits = [turn.usage.first_token_seconds for turn in turns]
    calls = [call for turn in turns for call in turn.calls]
    reading = [c for c in calls if _uncached(c) >= MEASURED and c.read_seconds > 0]
    writing = [c for c in calls if c.generated_tokens >= WRITTEN and _write_seconds(c) > 0]
    return Sums(
        name,
        len(turns),
        total.calls,
        total.prompt_tokens,
        total.cached_tokens,
        total.generated_tokens,
        median([wait for wait in waits if wait > 0] or [0.0]),
        total.total_seconds,
        _rate(sum(map(_uncached, reading)), sum(c.read_seconds for c in reading)),
        _rate(sum(c.generated_tokens for c in writing), sum(map(_write_seconds, writing))),
    )


def group_turns(turns: Iterable[TurnUsage], key: Callable[[TurnUsage], str]) -> list[Sums]:
    """Sum up the turns by day, model ..., in the order of these names."""
    groups: dict[str, list[TurnUsage]] = {}
    for turn in turns:
        groups.setdefault(key(turn), []).append(turn)
    return [sum_turns(name, groups[name]) for name in sorted(groups)]


def all_turns(store: SessionStore, since: str = "") -> list[TurnUsage]:
    """Return the turns of all conversations, archived ones too, the oldest first.

    `since` is an ISO day. A message that several conversations hold, as after a fork, counts once.
    `store.problems` then names the files that could not be read.
    """
    seen: dict[tuple[str, Usage], str] = {}
    found = [turn for session, told in store.talks() for turn in _turns(session, told, seen)]
    return sorted((turn for turn in found if turn.day >= since), key=lambda turn: turn.at)


def turns_of(store: SessionStore, session: Session) -> list[TurnUsage]:
    """Return the turns of one conversation, in their order."""
    return list(_turns(session, store.messages(session), {}))


def _turns(
    session: Session,
    numbered: Iterable[tuple[int, Entry]],
    seen: dict[tuple[str, Usage], str],
) -> Iterator[TurnUsage]:
    """`seen` are the calls that count already, with the conversation that had them first."""
    asked, number = Entry("user", ""), 0
    replies: list[Entry] = []
    for _, entry in numbered:
        if entry.role == "user":
            yield from _turn(session, number, asked, replies)
            asked, replies, number = entry, [], number + 1
        elif _is_first(session, entry, seen):
            replies.append(entry)
    yield from _turn(session, number, asked, replies)


def _is_first(session: Session, entry: Entry, seen: dict[tuple[str, Usage], str]) -> bool:
    """Tell whether no other conversation had this very call.

    Times to the microsecond and counts are hardly ever the same by chance; calls without any time
    always count as different.
    """
    if entry.usage is None or not entry.usage.prompt_tokens + entry.usage.generated_tokens:
        return False
    if not entry.usage.total_seconds:
        return True
    return seen.setdefault((entry.at, entry.usage), session.id) == session.id


def _turn(
    session: Session, number: int, asked: Entry, replies: Sequence[Entry]
) -> Iterator[TurnUsage]:
    usages = [reply.usage for reply in replies if reply.usage]
    if not usages:
        return
    total = sum(usages[1:], usages[0])
    if _sums_up(replies[-1]):
        total, usages = usages[-1], usages[:-1] or usages
    yield TurnUsage(
        session.id,
        number,
        asked.at or replies[0].at or session.updated_at,
        asked.record.model or session.model,
        replace(
            total,
            calls=max(total.calls, 1),
            cached_tokens=min(total.cached_tokens, total.prompt_tokens),
        ),
        tuple(usages),
    )


def _sums_up(reply: Entry) -> bool:
    """Tell whether a message holds the usage of the whole turn instead of its own call."""
    if (stop := reply.record.stop) is not None:
        return stop in SUMMING
    return bool(reply.usage and reply.usage.calls > 1 and STOPPED in reply.content)


def _uncached(usage: Usage) -> int:
    return max(0, usage.prompt_tokens - usage.cached_tokens)


def _write_seconds(usage: Usage) -> float:
    """Return the seconds in which a single call wrote; unknown for several calls."""
    return usage.total_seconds - usage.first_token_seconds if usage.calls <= 1 else 0.0


def _rate(tokens: int, seconds: float) -> float:
    return tokens / seconds if seconds > 0 else 0.0


def usage_json(turns: Sequence[TurnUsage], session: str = "") -> dict[str, Any]:
    """Return, for programs, all sums, those by model and day, and a conversation's turns."""
    shape: dict[str, Any] = {"together": _sums_json(sum_turns("together", turns))}
    shape["models"] = [_sums_json(row) for row in group_turns(turns, lambda turn: turn.model)]
    shape["days"] = [_sums_json(row) for row in group_turns(turns, lambda turn: turn.day)]
    if session:
        shape["session"] = session
        shape["turns"] = [_turn_json(turn) for turn in turns]
    return shape


def _sums_json(row: Sums) -> dict[str, Any]:
    fields = asdict(row).items()
    shape = {name: round(v, 3) if isinstance(v, float) else v for name, v in fields}
    return {**shape, "share": round(row.share, 4)}


def _turn_json(turn: TurnUsage) -> dict[str, Any]:
    row = _sums_json(sum_turns("", [turn]))
    told = ("number", "at", "model")
    return {name: getattr(turn, name) for name in told} | {
        name: value for name, value in row.items() if name not in ("name", "turns")
    }


@frozen
class ModelCall:
    """A model call: the number of the message that it made, the tokens of its request, those of
    them that were cached and their share, and seconds."""

    message: int
    at: str
    tokens: int
    reused: int
    first_token_seconds: float
    read_seconds: float
    share: float


def calls_of(messages: Iterable[tuple[int, Entry]]) -> list[ModelCall]:
    """Return the model calls of a conversation, from its numbered messages.

    A message that sums up several calls is left out, and so is one whose server gave no count.
    """
    found = []
    for number, entry in messages:
        usage = entry.usage
        if usage and usage.calls == 1 and (tokens := usage.prompt_tokens):
            reused = min(usage.cached_tokens, tokens)
            seconds = usage.first_token_seconds, usage.read_seconds
            share = round(reused / tokens, 4)
            found.append(ModelCall(number, entry.at, tokens, reused, *seconds, share))
    return found


def cache_json(session: str, calls: Sequence[ModelCall]) -> dict[str, Any]:
    """For programs; shares from 0 to 1, the rate in tokens a second."""
    tokens, reused = sum(c.tokens for c in calls), sum(c.reused for c in calls)
    telling = [c for c in calls if c.read_seconds > 0 and c.tokens - c.reused >= MEASURED]
    rate = _rate(sum(c.tokens - c.reused for c in telling), sum(c.read_seconds for c in telling))
    together = {
        "calls": len(calls),
        "tokens": tokens,
        "reused": reused,
        "share": round(reused / tokens, 4) if tokens else 0.0,
        "reading_rate": round(rate, 1),
        "saved_seconds": round(reused / rate, 1) if rate else 0.0,
    }
    return {"session": session, "calls": list(map(asdict, calls)), "together": together}


def window_used(session: Session, window: int) -> str:
    """Return how much of the window the last request and its reply took; "" when not known."""
    said = next((entry for entry in reversed(session.messages) if entry.role == "user"), None)
    used = session.messages[-1].usage if said else None
    window = window or (said and said.record.window) or 0
    if not (used and window):
        return ""
    # A turn that was stopped has the usage of all its calls on its last message.
    tokens = (used.prompt_tokens + used.generated_tokens) / max(1, used.calls)
    return f"{min(100, round(100 * tokens / window))} % of {window:,}"
