"""Lays out what tests of models found: a row a finding, a column a model."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from openclaw.cli.visible import one_line
from openclaw.models.place import is_elsewhere

if TYPE_CHECKING:
    from openclaw.models.profile import Profile, Score

LABEL = 22
"""Columns of the terminal for what a row is about."""
NARROWEST, WIDEST, GAP = 23, 34, 2
PLAIN_WIDTH = 140
"""Of the table when it goes to a file or a pipe."""
UNKNOWN = "-"

Row = tuple[str, Callable[["Profile"], str]]


def blocks(profiles: Sequence[Profile], width: int = 0) -> str:
    """The table; when there are more models than the terminal has room for, several below each
    other. `width` in columns, 0 for that of the terminal."""
    width = width or _width()
    room = max(1, (width - LABEL) // (NARROWEST + GAP))
    groups = [profiles[at : at + room] for at in range(0, len(profiles), room)]
    return "\n\n".join(_block(group, width) for group in groups)


def _width() -> int:
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else PLAIN_WIDTH


def _block(profiles: Sequence[Profile], width: int) -> str:
    each = min(WIDEST, max(NARROWEST, (width - LABEL) // len(profiles) - GAP))
    lines = [_line("", names, each) for names in _names(profiles, each)]
    lines.append("-" * min(width, LABEL + len(profiles) * (each + GAP) - GAP))
    tasks = dict.fromkeys(name for profile in profiles for name in profile.tasks)
    for label, tell in (*_ROWS, *(_task_row(name) for name in tasks), *_END):
        cells = [_wrapped(tell(profile) or UNKNOWN, each, " ") for profile in profiles]
        height = max(map(len, cells))
        for at in range(height):
            row = [cell[at] if at < len(cell) else "" for cell in cells]
            lines.append(_line("" if at else label, row, each))
    return "\n".join(lines)


def _line(label: str, cells: Sequence[str], each: int) -> str:
    gap = " " * GAP
    return (f"{label:<{LABEL}}" + gap.join(f"{cell:<{each}}" for cell in cells)).rstrip()


def _names(profiles: Sequence[Profile], each: int) -> list[list[str]]:
    """The names, on as many lines as the longest needs, the last ones at the bottom."""
    parts = [_wrapped(profile.model, each, "/-_:") for profile in profiles]
    height = max(map(len, parts))
    padded = [[""] * (height - len(part)) + part for part in parts]
    return [[part[at] for part in padded] for at in range(height)]


def _wrapped(text: str, width: int, ends: str) -> list[str]:
    """The text in lines of that width, broken after one of the characters `ends` if possible."""
    text, lines = one_line(text), []
    while len(text) > width:
        at = max(text.rfind(end, 0, width + (end == " ")) for end in ends) + 1
        at = at if at > 1 else width
        lines.append(text[:at].rstrip())
        text = text[at:]
    return [*lines, text]


# -------- the rows


def _task_row(name: str) -> Row:
    return name, lambda profile: _yes(profile.tasks.get(name), "done", "failed")


def _tested(p: Profile) -> str:
    try:
        day = datetime.fromisoformat(p.at).strftime("%Y-%m-%d %H:%M")
    except ValueError:
        day = ""
    took = f", {p.seconds:.0f} s" if p.seconds is not None else ""
    return f"{day}{took}" + (", on another machine" if is_elsewhere(p.place) else "")


def _rate(rate: float | None) -> str:
    return "" if rate is None else f"{rate:,.0f} tokens/s" if rate >= 10 else f"{rate} tokens/s"


def _fits(p: Profile) -> str:
    if p.window_fits is None:
        return ""
    if p.window_fits == 0:
        return "none (computed)"
    least = "at least " if p.window_by == "at least" else ""
    by = f" ({p.window_by})" if p.window_by and not least else ""
    return f"{least}{p.window_fits:,} tokens{by}"


def _memory(p: Profile) -> str:
    if p.model_bytes is None or p.token_bytes is None:
        return ""
    return f"{p.model_bytes / 1e9:.2f} GB + {p.token_bytes * 1000 / 1e6:.1f} MB/1,000 tokens"


def _calls(p: Profile) -> str:
    if not p.native.of:
        return ""
    told = f"{p.native} native"
    if p.calls == "none":
        return f"{told}; no call at all"
    return f"{told}; as text: {p.call_shape}" if p.call_shape else told


def _score(score: Score) -> str:
    return str(score) if score.of else ""


def _forced(p: Profile) -> str:
    holds = _yes(p.schema_holds, "", "the schema does not hold")
    return ", ".join(filter(None, (_score(p.json_forced), holds)))


def _thinking(p: Profile) -> str:
    if not p.thinking:
        return ""
    if p.thinking == "none":
        return "none"
    where = "in tags" if p.thinking == "tags" else "in a field of its own"
    off = _yes(p.think_off, ", can be switched off", ", cannot be switched off")
    only = "; no room left for the answer" if p.only_thinks else ""
    return f"{where}{off}{only}"


def _yes(value: bool | None, yes: str = "yes", no: str = "no") -> str:
    return "" if value is None else yes if value else no


def _done(p: Profile) -> str:
    return f"{sum(p.tasks.values())} of {len(p.tasks)}" if p.tasks else ""


def _protocol(p: Profile) -> str:
    names = {"native": "native tool calls", "json": "JSON steps"}
    return names.get(p.protocol, "") if p.tasks else ""


_ROWS: tuple[Row, ...] = (
    ("tested", _tested),
    ("loading", lambda p: "" if p.load_seconds is None else f"{p.load_seconds:.1f} s"),
    ("reading", lambda p: _rate(p.read_rate)),
    ("writing", lambda p: _rate(p.write_rate)),
    ("window tested with", lambda p: "" if p.window is None else f"{p.window:,} tokens"),
    ("largest in memory", _fits),
    ("memory (computed)", _memory),
    ("tool calls", _calls),
    ("tool for small talk", lambda p: _yes(p.needless)),
    ("JSON under a schema", _forced),
    ("JSON by words alone", lambda p: _score(p.json_free) + (", fenced" if p.json_fenced else "")),
    ("thinking", _thinking),
    ("stops by itself", lambda p: _yes(p.stops)),
)
_END: tuple[Row, ...] = (("tasks", _done), ("tasks asked by", _protocol))
