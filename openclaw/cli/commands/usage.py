"""`openclaw usage`: tokens, the share of them that was cached, and the model's speed."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from openclaw.cli.current_home import current_home
from openclaw.cli.day_option import parse_iso_day
from openclaw.cli.formatting import print_result, table, warn
from openclaw.cli.options import AsJson, OfSession, Since
from openclaw.inspection.usage import (
    Sums,
    TurnUsage,
    all_turns,
    group_turns,
    sum_turns,
    turns_of,
    usage_json,
)
from openclaw.security.display import count_of, minute, one_line
from openclaw.sessions.store import open_store

SHOWN_DAYS, SHOWN_TURNS = 14, 30
HEADS = ("SENT", "CACHED", "WRITTEN", "1ST TOKEN", "IN/S", "OUT/S")


def usage(
    ctx: typer.Context, session: OfSession = "", since: Since = "", as_json: AsJson = False
) -> None:
    """Show what was read and written, how much of it was reused, and how quick the model was: in
    all, by model and by day, or turn by turn."""
    home = current_home(ctx, reading=True)
    store = open_store(home)
    first = parse_iso_day(since)
    if session:
        found = store.load(session)
        turns = [turn for turn in turns_of(store, found) if turn.day >= first]
        name = found.id
    else:
        turns, name = all_turns(store, first), ""
    warn(store.problems)
    lines = session_lines(name, turns) if name else usage_lines(turns, whole=bool(since))
    print_result(usage_json(turns, name), *lines, as_json=as_json)


def usage_lines(turns: Sequence[TurnUsage], *, whole: bool = False) -> list[str]:
    """Return sums in all, by model and by day: the newest days only, unless `whole`."""
    if not turns:
        return [f"no questions asked {'since then' if whole else 'yet'}"]
    models = group_turns(turns, lambda turn: turn.model)
    models.sort(key=lambda row: -row.prompt_tokens)
    days = group_turns(turns, lambda turn: turn.day)
    shown = days if whole else days[-SHOWN_DAYS:]
    talks = len({turn.session for turn in turns})
    blank = [""] * (2 + len(HEADS))
    rows = [_row(sum_turns("in all", turns)), blank, *map(_row, models), blank, *map(_row, shown)]
    where = f"{count_of(len(turns), 'turn')} in {count_of(talks, 'conversation')}"
    first, last = days[0].name, days[-1].name
    lines = [f"{where}, {first if first == last else f'{first} to {last}'}", ""]
    lines += table(rows, ("TURNS", *HEADS, ""), range(1 + len(HEADS))).split("\n")
    if left := len(days) - len(shown):
        lines.append(f"{count_of(left, 'earlier day')} not shown: --since {days[0].name}")
    return lines


def session_lines(name: str, turns: Sequence[TurnUsage]) -> list[str]:
    """Return a line for each turn of a conversation, only the newest of many, and the sum."""
    if not turns:
        return [f"{name}: no questions asked yet"]
    shown = turns[-SHOWN_TURNS:]
    found = [sum_turns(f"{turn.number:>2} {minute(turn.at)}", [turn]) for turn in shown]
    rows = [_row(each, calls=True) for each in (*found, sum_turns("in all", turns))]
    models = ", ".join(dict.fromkeys(turn.model for turn in turns))
    lines = [one_line(f"{name}: {models}"), ""]
    lines += table(rows, ("CALLS", *HEADS, "TURN"), range(1 + len(HEADS))).split("\n")
    if left := len(turns) - len(shown):
        lines.append(f"{count_of(left, 'earlier turn')} not shown: --json has all")
    return lines


def _row(row: Sums, *, calls: bool = False) -> Sequence[str]:
    return (
        f"{row.calls if calls else row.turns:,}",
        _short(row.prompt_tokens),
        f"{row.share:.0%}",
        _short(row.generated_tokens),
        f"{row.first_token_seconds:.1f} s" if row.first_token_seconds else "-",
        f"{row.reading_rate:,.0f}" if row.reading_rate else "-",
        f"{row.writing_rate:,.1f}" if row.writing_rate else "-",
        row.name or "(no name)",
    )


def _short(number: int) -> str:
    """Return a number on at most six columns: 1,234, 56.7k, 8.9M."""
    if number >= 1_000_000:
        return f"{number / 1_000_000:,.1f}M"
    if number >= 10_000:
        return f"{number / 1_000:,.1f}k"
    return f"{number:,}"
