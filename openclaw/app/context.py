"""What the next request is made of: for people who ask where the tokens go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from openclaw.agent import budget, prompt
from openclaw.shapes import Message


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the next request: where it comes from and what it costs."""

    name: str
    path: str
    tokens: int
    bytes: int
    cut: bool


@dataclass(frozen=True, slots=True)
class ContextReport:
    """The next request: window and use in tokens, by part, and the exact text."""

    window: int
    used: int
    parts: tuple[Part, ...]
    raw: str


def report(
    window: int,
    head: Sequence[prompt.Part],
    schemas: str,
    earlier: str,
    history: Sequence[Message],
    history_path: str,
    newest: Sequence[Message],
) -> ContextReport:
    """The report on a request of these parts; `window` in tokens, `earlier` what stands for what
    is no longer sent."""
    parts = [_measured(part.name, part.path, part.text, part.cut) for part in head]
    if schemas:
        parts.append(_measured("tool schemas", "", schemas, False))
    if earlier:
        parts.append(_measured("earlier", history_path, earlier, False))
    if history:
        parts.append(_measured("history", history_path, budget.flat(history), False))
    parts.append(_measured("message", "", budget.flat(newest), False))
    messages = [f"[system]\n{prompt.render(head)}"]
    told = [*history, *newest]
    if earlier:
        told[0] = replace(told[0], content=f"{earlier}\n\n{told[0].content}")
    messages += [f"[{m.role}]\n{budget.flat([m])}" for m in told]
    raw = "\n\n".join((*messages, f"[tools]\n{schemas}") if schemas else messages)
    return ContextReport(window, sum(p.tokens for p in parts), tuple(parts), raw)


def _measured(name: str, path: str, text: str, was_cut: bool) -> Part:
    return Part(name, path, budget.count(text), len(text.encode()), was_cut)
