"""A model that plays a script, at the seam of `openclaw.models.base.Model`."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator

from openclaw.agent.compaction import ASK_SUMMARY
from openclaw.messages import Usage, Waiting
from openclaw.models.base import Chunk, ModelCard, Reply, Request, Text, Thinking

Line = str | Reply | Exception | Callable[[Request], "str | Reply"]

PIECE = 16  # characters
CARD = ModelCard(name="scripted/model", window=8192, tools=True, family="scripted", parameters=1.5)


class ScriptedModel:
    """Says one line of its script per request, in small pieces, and records every request.

    A line is a text, a Reply, a function of the request that returns one of both, or an exception
    that is raised. A request for which nothing is left fails with AssertionError. What is asked to
    sum up a conversation goes to `aside` and into `asides`, and takes nothing from the script.
    """

    def __init__(self, *lines: Line, card: ModelCard = CARD) -> None:
        self.script: deque[Line] = deque(lines)
        self.requests: list[Request] = []
        self.asides: list[Request] = []
        self.aside: Line = "{}"
        self.warmed: list[Request] = []
        self.closed = False
        self.reading_rate = 0.0
        self._card = card

    @property
    def card(self) -> ModelCard:
        return self._card

    def say(self, *lines: Line) -> None:
        """Add to the script."""
        self.script.extend(lines)

    def stream(self, request: Request) -> Iterator[Chunk]:
        line = self._next(request)
        if isinstance(line, Exception):
            raise line
        said = line(request) if callable(line) else line
        reply = _as_reply(said, request) if isinstance(said, str) else said
        for start in range(0, len(reply.thinking), PIECE):
            yield Thinking(reply.thinking[start : start + PIECE])
        for start in range(0, len(reply.text), PIECE):
            yield Text(reply.text[start : start + PIECE])
        yield reply

    def _next(self, request: Request) -> Line:
        words = request.messages[-1].content if request.messages else ""
        if ASK_SUMMARY in words:
            self.asides.append(request)
            return self.aside
        self.requests.append(request)
        if not self.script:
            raise AssertionError(f"the script has run out, but was asked: {words!r}")
        return self.script.popleft()

    def wire(self, request: Request) -> bytes:
        said = [[message.role, message.content] for message in request.messages]
        return json.dumps([said, list(request.tools), request.schema, request.max_tokens]).encode()

    def warm(self, request: Request) -> Iterator[Waiting]:
        self.warmed.append(request)
        return iter(())

    def close(self) -> None:
        self.closed = True


def _as_reply(text: str, request: Request) -> Reply:
    """Counts as a real server would give them, at four characters a token."""
    sent = sum(len(message.content) for message in request.messages)
    sent += sum(len(json.dumps(tool)) for tool in request.tools)
    usage = Usage(prompt_tokens=sent // 4, generated_tokens=len(text) // 4, calls=1)
    return Reply(text, usage=usage)
