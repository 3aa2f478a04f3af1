"""`openclaw usage`: tokens, the share of them that was cached, and the model's speed."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from openclaw.cli.charts import Canvas, bar, canvas
from openclaw.cli.commands.memory.shared import parse_past_day
from openclaw.cli.common import current_home, print_json
from openclaw.cli.formatting import one_line, warn
from openclaw.inspection.usage import all_turns, group_turns, sum_turns, turns_of
from openclaw.sessions.store import SessionStore

if TYPE_CHECKING:
    from openclaw.inspection.usage import Sums, TurnUsage


SHOWN_DAYS, SHOWN_TURNS = 14, 30
LONGEST_NAME, LEAST_NAME = 40, 10
HEADS = ("SENT", "CACHED", "WRITTEN", "1ST TOKEN", "IN/S", "OUT/S")
WIDTHS = (6, 6, 7, 9, 6, 5)
COUNTS = 5
"""Columns of the number in front of these: of turns, or of a turn's calls."""
LEAST_BAR, MOST_BAR = 6, 40
ROOMY = 100
"""Columns from which on the year of a turn is shown."""
MINUTES = len("2026-11-21T15:30")


def usage(
    ctx: typer.Context,
    session: Annotated[
        str,
        typer.Option(
            "--session", "-s", metavar="ID", help="The turns of this conversation (or: latest)."
        ),
    ] = "",
    since: Annotated[
        str, typer.Option("--since", metavar="DATE", help="Only from this day on.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what was read and written, how much of it was reused, and how quick the model was: in
    all, by model and by day, or turn by turn."""
    home = current_home(ctx, reading=True)
    store = SessionStore(home.sessions, home.private / "locks")
    first = parse_past_day(since)
    if session:
        found = store.load(session)
        turns = [turn for turn in turns_of(store, found) if turn.day >= first]
        name = found.id
    else:
        turns, name = all_turns(store, first), ""
    warn(store.problems)
    if as_json:
        print_json(usage_json(turns, name))
        return
    on = canvas()
    lines = session_lines(name, turns, on) if name else usage_lines(turns, on, whole=bool(since))
    sys.stdout.write("\n".join(lines) + "\n")


def usage_json(turns: Sequence[TurnUsage], session: str = "") -> dict[str, Any]:
    """Return, for programs, sums in all, by model and by day, and the turns of a single
    conversation.
    """
    shape: dict[str, Any] = {"together": _sums_json(sum_turns("together", turns))}
    shape["models"] = [_sums_json(row) for row in group_turns(turns, lambda turn: turn.model)]
    shape["days"] = [_sums_json(row) for row in group_turns(turns, lambda turn: turn.day)]
    if session:
        shape["session"] = session
        shape["turns"] = [_turn_json(turn) for turn in turns]
    return shape


def _sums_json(row: Sums) -> dict[str, Any]:
    return {**_rounded(asdict(row)), "share": round(row.share, 4)}


def _turn_json(turn: TurnUsage) -> dict[str, Any]:
    row = _sums_json(sum_turns("", [turn]))
    told = ("number", "at", "model")
    return {name: getattr(turn, name) for name in told} | {
        name: value for name, value in row.items() if name not in ("name", "turns")
    }


def _rounded(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: round(v, 3) if isinstance(v, float) else v for name, v in fields.items()}


def usage_lines(turns: Sequence[TurnUsage], on: Canvas, *, whole: bool = False) -> list[str]:
    """Return sums in all, by model and by day: the newest days only, unless `whole`."""
    if not turns:
        return ["no questions asked yet"]
    models = group_turns(turns, lambda turn: turn.model)
    days = group_turns(turns, lambda turn: turn.day)
    talks = len({turn.session for turn in turns})
    told = f"{_count(len(turns), 'turn')} in {_count(talks, 'conversation')}, {_span(days)}"
    lines = [*_add_legend(told, on), ""]
    together = sum_turns("in all", turns)
    width = _name_width([row.name for row in (together, *models, *days)], on)
    lines += [_heads("", width), *_row(together, width, on), ""]
    models.sort(key=lambda row: -row.prompt_tokens)
    most = max(row.prompt_tokens for row in models)
    lines += [_heads("MODEL", width), *_rows(models, width, on, most), ""]
    shown = days if whole else days[-SHOWN_DAYS:]
    most = max(row.prompt_tokens for row in shown)
    lines += [_heads("DAY", width), *_rows(shown, width, on, most)]
    if left := len(days) - len(shown):
        lines.append(f"{_count(left, 'earlier day')} not shown: --since {days[0].name}")
    return lines


def session_lines(name: str, turns: Sequence[TurnUsage], on: Canvas) -> list[str]:
    """Return a line for each turn of a conversation, only the newest of many, and the sum."""
    if not turns:
        return [f"{name}: no questions asked yet"]
    shown = turns[-SHOWN_TURNS:]
    rows = [sum_turns(_turn_label(turn, on), [turn]) for turn in shown]
    together = sum_turns("in all", turns)
    width = _name_width([row.name for row in rows], on)
    most = max(row.prompt_tokens for row in rows)
    models = ", ".join(dict.fromkeys(turn.model for turn in turns))
    lines = [*_add_legend(one_line(f"{name}: {models}", on.width), on), ""]
    lines += [_heads("TURN", width, "CALLS")]
    lines += _rows(rows, width, on, most, calls=True)
    if left := len(turns) - len(shown):
        lines.append(f"{_count(left, 'earlier turn')} not shown: --json has all")
    return [*lines, *_row(together, width, on, calls=True)]


def _turn_label(turn: TurnUsage, on: Canvas) -> str:
    at = turn.at[:MINUTES].replace("T", " ")
    return f"{turn.number:>2} {at if on.width >= ROOMY else at[len('2026-') :]}"


def _add_legend(told: str, on: Canvas) -> list[str]:
    """Add a key to the bars, on a line of its own where space is short."""
    legend = f"{on.hue(on.marks.full, 0)} new  {on.hue(on.marks.light, 0)} cached"
    fits = len(told) + len("   # new  : cached") <= on.width
    return [f"{told}   {legend}"] if fits else [told, legend]


def _heads(title: str, width: int, counts: str = "TURNS") -> str:
    return "  ".join((title.ljust(width), counts, *map(str.rjust, HEADS, WIDTHS)))


def _rows(
    rows: Iterable[Sums], width: int, on: Canvas, most: int, *, calls: bool = False
) -> Iterator[str]:
    for row in rows:
        yield from _row(row, width, on, most, calls=calls)


def _row(row: Sums, width: int, on: Canvas, most: int = 0, *, calls: bool = False) -> Iterator[str]:
    """Return one line of numbers and a bar, whose full length is `most` tokens. A name that is too
    long has a line of its own.
    """
    cells = (
        _short(row.prompt_tokens),
        f"{row.share:.0%}",
        _short(row.generated_tokens),
        f"{row.first_token_seconds:.1f} s" if row.first_token_seconds else "-",
        f"{row.reading_rate:,.0f}" if row.reading_rate else "-",
        f"{row.writing_rate:,.1f}" if row.writing_rate else "-",
    )
    count = f"{row.calls if calls else row.turns:,}".rjust(COUNTS)
    columns = _bar_columns(width, on)
    drawn = bar(row.prompt_tokens, most, columns, on.marks, row.cached_tokens) if most else ""
    name = one_line(row.name or "(no name)", on.width)
    if len(name) > width:
        yield name
        name = ""
    numbers = map(str.rjust, cells, WIDTHS)
    yield "  ".join((name.ljust(width), count, *numbers, on.hue(drawn, 0))).rstrip()


def _short(number: int) -> str:
    """Return a number on at most six columns: 1,234, 56.7k, 8.9M."""
    for unit, size in (("M", 1_000_000), ("k", 10_000)):
        if number >= size:
            return f"{number / (1_000_000 if unit == 'M' else 1_000):,.1f}{unit}"
    return f"{number:,}"


def _name_width(names: Iterable[str], on: Canvas) -> int:
    """Return the columns for names: as many as they need, as long as a bar fits too."""
    free = on.width - _numbers_width() - LEAST_BAR - 4
    return min(LONGEST_NAME, max(LEAST_NAME, free), max(map(len, names)))


def _numbers_width() -> int:
    return COUNTS + sum(WIDTHS) + 2 * len(WIDTHS)


def _bar_columns(width: int, on: Canvas) -> int:
    return min(MOST_BAR, max(0, on.width - width - _numbers_width() - 4))


def _span(days: Sequence[Sums]) -> str:
    first, last = days[0].name, days[-1].name
    return first if first == last else f"{first} to {last}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
