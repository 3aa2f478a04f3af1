"""Plots of the usage, day by day, as SVG: no script and no library draws them.

A page that holds them gives the colours: the bars have the classes `bar-1`, `bar-2`, ...
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from openclaw.frozen import frozen
from openclaw.inspection.usage import Sums, TurnUsage, group_turns

DAYS = 30
WIDTH, HEIGHT = 480, 160
TOP, BOTTOM, LEFT = 10, 20, 48
"""Pixels around the bars: for half a line of text, the days, and the scale."""


@frozen
class Plot:
    """A plot: its title, the names of what its bars are made of from bottom to top, and its SVG."""

    title: str
    names: Sequence[str]
    svg: str


def usage_plots(turns: Sequence[TurnUsage]) -> list[Plot]:
    """The tokens, and the seconds to the first token, of the newest 30 days that have turns."""
    days = group_turns(turns, lambda turn: turn.day)[-DAYS:]
    if not days:
        return []
    tokens = ("read", "read before", "written")
    return [
        _plot("Tokens a day", tokens, days, [_tokens(day) for day in days]),
        _plot(
            "Seconds to the first token, median of a day",
            ("seconds",),
            days,
            [(day.first_token_seconds,) for day in days],
        ),
    ]


def _tokens(day: Sums) -> tuple[float, ...]:
    return day.prompt_tokens - day.cached_tokens, day.cached_tokens, day.generated_tokens


def _plot(
    title: str, names: Sequence[str], days: Sequence[Sums], columns: Sequence[Sequence[float]]
) -> Plot:
    top = _round_up(max(map(sum, columns)))
    step = (WIDTH - LEFT) / DAYS
    scale = (HEIGHT - TOP - BOTTOM) / top
    base = HEIGHT - BOTTOM
    parts = [
        f'<text x="{LEFT - 4}" y="{y + 4}" text-anchor="end">{_number(value)}</text>'
        f'<line x1="{LEFT}" y1="{y}" x2="{WIDTH}" y2="{y}"/>'
        for value, y in ((top, TOP), (0, base))
    ]
    for at, (day, values) in enumerate(zip(days, columns, strict=True)):
        told = ", ".join(f"{_number(v)} {name}" for v, name in zip(values, names, strict=True))
        bars, y = "", float(base)
        for number, value in enumerate(values, 1):
            y -= value * scale
            size = f'width="{step - 2:.1f}" height="{value * scale:.1f}"'
            bars += f'<rect class="bar-{number}" x="{LEFT + at * step:.1f}" y="{y:.1f}" {size}/>'
        parts.append(f"<g><title>{escape(day.name)}: {told}</title>{bars}</g>")
    ends = [(LEFT, "start", days[0])]
    if len(days) > 3:
        ends.append((round(LEFT + len(days) * step), "end", days[-1]))
    parts += [
        f'<text x="{x}" y="{HEIGHT - 5}" text-anchor="{anchor}">{escape(day.name[5:])}</text>'
        for x, anchor, day in ends
    ]
    words = f"{title}: {days[0].name} to {days[-1].name}, at most {_number(top)}"
    words = escape(words)
    head = f'<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{words}">'
    return Plot(title, names, f"{head}{''.join(parts)}</svg>")


def _round_up(value: float) -> float:
    """The next of 1, 2, 5, 10, 20, ... (or 0.1, 0.2, 0.5)."""
    step = 0.1
    while True:
        for factor in (1, 2, 5):
            if value <= step * factor:
                return step * factor
        step *= 10


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.1f}"
