"""Draws the window of the next request: a bar of its parts, and a table that explains it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from string import ascii_letters
from typing import TYPE_CHECKING, Any

from openclaw.cli.plots import Canvas, shares
from openclaw.cli.visible import one_line

if TYPE_CHECKING:
    from openclaw.app import ContextReport

CUT_AS = {"earlier": "history", "history": "results"}
"""What the record of a cut calls these parts: a summary stands for what was cut of the history."""
MOST_COLUMNS = 200


@dataclass(frozen=True, slots=True)
class Row:
    """A part of the window as it is drawn: `mark` is its letter in the bar, `fill` the character
    behind it."""

    mark: str
    fill: str
    name: str
    tokens: int
    path: str = ""
    cut: str = ""


def report_json(report: ContextReport) -> dict[str, Any]:
    """For programs. `used` is the sum of the parts; `reply` is what is kept for the answer."""
    record = report.record
    return {
        "window": report.window,
        "used": report.used,
        "parts": [asdict(part) for part in report.parts],
        "reply": report.reply,
        "free": report.free,
        "compacted": report.compacted,
        "cuts": list(record.get("cut", ())),
        "offered": list(record.get("offered", ())),
        "left_out": list(record.get("left_out", ())),
        "model": record.get("model", ""),
        "protocol": record.get("protocol", ""),
        "notices": list(report.notices),
    }


def report_lines(report: ContextReport, on: Canvas | None = None) -> list[str]:
    """The picture: what it is of, the bar, the table, and what else is to be known."""
    on = on or Canvas()
    rows = _rows(report, on)
    width = max(len(row.name) for row in rows)
    lines = [*_title(report), picture(rows, report.window, on), ""]
    lines.append(f"   {'PART'.ljust(width)}   TOKENS   SHARE  FILE")
    used, rest = rows[: len(report.parts)], rows[len(report.parts) :]
    for number, row in enumerate(used):
        lines += _line(row, number, width, report.window, on)
    lines += _line(Row(" ", " ", "together", report.used), 0, width, report.window, on)
    for row in rest:
        lines += _line(row, -1, width, report.window, on)
    lines += _line(Row(" ", " ", "window", report.window), 0, width, report.window, on)
    return [*lines, *_notes(report)]


def picture(rows: Sequence[Row], window: int, on: Canvas) -> str:
    """One line: each part as its letter and as many columns as its share of the window."""
    columns = min(MOST_COLUMNS, on.width)
    beyond = max(0, window - sum(row.tokens for row in rows))
    given = shares([*(row.tokens for row in rows), beyond], columns)
    drawn = ""
    for number, (row, size) in enumerate(zip(rows, given, strict=False)):
        text = (row.mark + row.fill * (size - 1))[:size]
        is_room = row.mark == row.fill
        drawn += on.dim(text) if is_room else on.hue(text, number)
    return drawn


def _rows(report: ContextReport, on: Canvas) -> list[Row]:
    """The parts of the request, then the free room and what is kept for the reply."""
    found = [
        Row(
            ascii_letters[number % len(ascii_letters)],
            on.marks.full,
            one_line(part.name),
            part.tokens,
            one_line(part.path or (_offered(report) if part.name == "passages" else "")),
            _cut(report, part.name, is_cut=part.cut),
        )
        for number, part in enumerate(report.parts)
    ]
    free, kept = on.marks.free, on.marks.kept
    found.append(Row(free, free, "free", report.free))
    return [*found, Row(kept, kept, "for the reply", report.reply)]


def _offered(report: ContextReport) -> str:
    """The files that the passages are from, in words."""
    paths = [str(each.get("path", "")) for each in report.record.get("offered", ())]
    first, *more = list(dict.fromkeys(paths)) or [""]
    return f"{first} and {len(more)} more" if more else first


def _cut(report: ContextReport, name: str, *, is_cut: bool) -> str:
    """By which rule a part was cut, "" when it was not."""
    if name == "passages" and (left := len(report.record.get("left_out", ()))):
        return f"{left} more not included"
    told = (CUT_AS.get(name, name), name)
    for cut in report.record.get("cut", ()):
        if cut.get("part") == told[0]:
            return one_line(str(cut.get("rule", "")))
    return "its share of the window" if is_cut else ""


def _title(report: ContextReport) -> Iterator[str]:
    record = report.record
    named = (record.get("model"), record.get("protocol") and f"protocol {record['protocol']}")
    told = ", ".join(filter(None, (*named, f"window {report.window:,} tokens")))
    yield one_line(told)


def _line(row: Row, number: int, width: int, window: int, on: Canvas) -> Iterator[str]:
    """A line of the table; the rule of a cut has a line of its own where there is no room."""
    share = row.tokens / window if window else 0.0
    mark = on.dim(row.mark) if number < 0 else on.hue(row.mark.strip(), number) or " "
    text = f"  {row.name.ljust(width)}  {row.tokens:>7,}  {share:>6.1%}  {row.path}".rstrip()
    cut = f"cut: {row.cut}" if row.cut else ""
    if cut and len(text) + len(cut) + 3 <= on.width:
        text, cut = f"{text}  {cut}", ""
    yield (mark + text).rstrip()
    if cut:
        yield f"   {''.ljust(width)}  {cut}"


def _notes(report: ContextReport) -> Iterator[str]:
    if report.compacted:
        yield (
            f"{report.compacted} messages would be compacted first; the summary that then stands"
            " for them is not counted here"
        )
    yield from map(one_line, report.notices)
