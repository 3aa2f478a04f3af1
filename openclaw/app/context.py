"""What the next request is made of: for people who ask where the tokens go."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from openclaw.agent import budget, events
from openclaw.app.prepare import Prepared
from openclaw.app.rooms import Rooms
from openclaw.models.base import Request
from openclaw.shapes import Entry, Message

T = TypeVar("T")
END_OF_TAIL, FENCE = "</context>", "\n<<data "
"""Where the tail block of a message ends, and where in it the passages begin (safety/fence.py)."""


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
    """The next request: window and use in tokens, by part; `raw` is what goes over the line.

    `compacted` is the number of messages that would be put away before it is sent: the summary that
    then stands for them is not in it yet. `record` is what the turn would note of itself (see
    `Entry.record`): the model, what was offered and left out, what was cut by which rule.
    """

    window: int
    used: int
    parts: tuple[Part, ...]
    request: Request
    raw: bytes
    compacted: int = 0
    notices: tuple[str, ...] = ()
    record: Mapping[str, Any] = field(default_factory=dict)

    @property
    def reply(self) -> int:
        """The tokens that are kept for the reply."""
        return max(0, min(self.request.max_tokens, self.window - self.used))

    @property
    def free(self) -> int:
        """The tokens of the window that neither the request nor the reply takes."""
        return max(0, self.window - self.used - self.reply)


def report(rooms: Rooms, preparing: Generator[events.Event, None, Prepared]) -> ContextReport:
    """The report on the first request of the turn that is prepared."""
    made, happened = _ended(preparing)
    fitting, turn = made.fitting, made.turn
    request, plan = fitting.first(turn, made.loop.request(turn))
    parts = [_measured(p.name, p.path, p.text, p.cut) for p in fitting.parts]
    if request.tools:
        parts.append(_measured("tool schemas", "", budget.flat((), request.tools)))
    path = f"sessions/{fitting.session.id}.json"
    if earlier := fitting.session.compressed_context:
        parts.append(_measured("earlier", path, earlier))
    newest = fitting.protocol.wire(turn.user)
    said = list(request.messages[1 : len(request.messages) - len(newest)])
    if earlier and said and said[0].content.startswith(earlier):
        said[0] = replace(said[0], content=said[0].content[len(earlier) :].lstrip())
    if any(message.content for message in said):
        parts.append(_measured("history", path, budget.flat(said)))
    parts += _newest(turn.user, budget.flat(newest))
    parts += (part for message in request.messages for part in _images(message))
    return ContextReport(
        fitting.window,
        sum(part.tokens for part in parts),
        tuple(parts),
        request,
        rooms.model.wire(request),
        plan.drop,
        tuple(each.text for each in happened if isinstance(each, events.Notice)),
        turn.user.record,
    )


def _newest(user: Entry, text: str) -> list[Part]:
    """The parts of the newest message: the tail block, the passages in it, what was attached, and
    the user's own words."""
    context = user.context
    if not context or not text.startswith(context):
        return [_measured("message", "", text)]
    block, end, material = context.partition(END_OF_TAIL)
    tail, fenced, passages = block.partition(FENCE)
    found = [
        ("tail", tail + end),
        ("passages", (fenced + passages).strip("\n")),
        ("attached", material.strip("\n")),
        ("message", text[len(context) :].lstrip("\n")),
    ]
    return [_measured(name, "", part) for name, part in found if part]


def _images(message: Message) -> Iterator[Part]:
    for image in message.images:
        yield Part("image", image.path, budget.IMAGE_TOKENS, len(image.data or b""), False)


def _ended(preparing: Generator[events.Event, None, T]) -> tuple[T, list[events.Event]]:
    """What a generator returns, and what it gave on the way."""
    happened: list[events.Event] = []
    while True:
        try:
            happened.append(next(preparing))
        except StopIteration as end:
            return end.value, happened


def _measured(name: str, path: str, text: str, was_cut: bool = False) -> Part:
    return Part(name, path, budget.count(text), len(text.encode(errors="replace")), was_cut)
