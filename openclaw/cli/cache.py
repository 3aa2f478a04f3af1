"""`openclaw context --cache`: what of each request the model had read before."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from openclaw.cli.plots import Canvas, bar
from openclaw.cli.visible import one_line

if TYPE_CHECKING:
    from openclaw.shapes import Entry

MEASURED = 64
"""Tokens; the time of a shorter reading tells little of how long a longer one takes."""
MINUTES = len("2026-11-21T15:30")
HEADS = ("MESSAGE", "AT", "TOKENS", "CACHED", "SHARE", "FIRST TOKEN")
WIDTHS = (7, 16, 7, 7, 6, 11)
MOST_BAR = 40


@dataclass(frozen=True, slots=True)
class Call:
    """A model call: the number of the message that came of it, the tokens of its request, those of
    them that had been read before, and seconds."""

    message: int
    at: str
    tokens: int
    reused: int
    first_token_seconds: float
    read_seconds: float

    @property
    def share(self) -> float:
        return self.reused / self.tokens if self.tokens else 0.0


def calls_of(messages: Iterable[tuple[int, Entry]]) -> list[Call]:
    """The model calls of a conversation, from its numbered messages. A message that sums several
    calls up is left out, and so is one whose server told no count."""
    return [
        Call(
            number,
            entry.at,
            usage.prompt_tokens,
            min(usage.cached_tokens, usage.prompt_tokens),
            usage.first_token_seconds,
            usage.read_seconds,
        )
        for number, entry in messages
        if (usage := entry.usage) and usage.calls == 1 and usage.prompt_tokens
    ]


def reading_rate(calls: Sequence[Call]) -> float:
    """Tokens that were read in a second, 0.0 when no call tells."""
    telling = [c for c in calls if c.read_seconds > 0 and c.tokens - c.reused >= MEASURED]
    seconds = sum(call.read_seconds for call in telling)
    return sum(call.tokens - call.reused for call in telling) / seconds if seconds else 0.0


def cache_json(session: str, calls: Sequence[Call]) -> dict[str, Any]:
    """For programs; shares from 0 to 1, the rate in tokens a second."""
    rows = [{**asdict(call), "share": round(call.share, 4)} for call in calls]
    tokens, reused = sum(c.tokens for c in calls), sum(c.reused for c in calls)
    rate = reading_rate(calls)
    together = {
        "calls": len(calls),
        "tokens": tokens,
        "reused": reused,
        "share": round(reused / tokens, 4) if tokens else 0.0,
        "reading_rate": round(rate, 1),
        "saved_seconds": round(reused / rate, 1) if rate else 0.0,
    }
    return {"session": session, "calls": rows, "together": together}


def cache_lines(session: str, calls: Sequence[Call], on: Canvas | None = None) -> list[str]:
    """A line for each call, and at the end what the reading before has saved in all."""
    if not calls:
        return [f"{session}: no questions asked yet"]
    on = on or Canvas()
    most = max(call.tokens for call in calls)
    legend = f"{on.marks.full} new {on.marks.light} cached"
    lines = ["  ".join((*map(str.rjust, HEADS, WIDTHS), legend))]
    columns = min(MOST_BAR, max(0, on.width - sum(WIDTHS) - 2 * len(WIDTHS)))
    for call in calls:
        drawn = bar(call.tokens, most, columns, on.marks, call.reused)
        cells = map(str.rjust, _cells(call), WIDTHS)
        lines.append("  ".join((*cells, on.hue(drawn, 0))).rstrip())
    told, saved = _together(session, calls)
    whole = f"{told}; {saved}" if saved else told
    return [*lines, *([whole] if len(whole) <= on.width else [told, saved])]


def _cells(call: Call) -> tuple[str, ...]:
    return (
        f"#{call.message}",
        one_line(call.at[:MINUTES].replace("T", " ")),
        f"{call.tokens:,}",
        f"{call.reused:,}",
        f"{call.share:.1%}",
        f"{call.first_token_seconds:.2f} s",
    )


def _together(session: str, calls: Sequence[Call]) -> tuple[str, str]:
    """The sum of all calls, and what it has saved, "" where that is not known."""
    sums = cache_json(session, calls)["together"]
    count = "1 call" if sums["calls"] == 1 else f"{sums['calls']} calls"
    line = (
        f"{session}: {count}, {sums['tokens']:,} tokens,"
        f" {sums['reused']:,} cached ({sums['share']:.1%})"
    )
    if not sums["reading_rate"]:
        return line, ""
    seconds, rate = sums["saved_seconds"], sums["reading_rate"]
    return line, f"{seconds:,.1f} s of reading saved at {rate:,.0f} tokens a second"
