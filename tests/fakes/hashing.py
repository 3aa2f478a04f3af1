"""A model whose every reply holds the sum of the request's bytes, so that any byte that differs
shows; it has no state, so that the same request always has the same reply."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from openclaw.agent.compaction import ASK_SUMMARY
from openclaw.messages import ToolCall, Usage, Waiting
from openclaw.models.base import Chunk, ModelCard, Reply, Request, Text

Call = tuple[str, dict[str, Any]]
Line = str | list[Call] | BaseException
CARD = ModelCard("hashing/model", window=8192, tools=True, parameters=8.0, digest="aa11")


class HashingModel:
    """Says the lines that `plays` has for the newest prompt, one a request. A line is a text or
    calls; {sum} in either stands for the sum of the request."""

    def __init__(self, plays: Mapping[str, Sequence[Line]], card: ModelCard = CARD) -> None:
        self.plays = plays
        self.card = card
        self.reading_rate = 0.0
        self.requests: list[Request] = []

    def wire(self, request: Request) -> bytes:
        sent = asdict(request)
        del sent["session"]  # a name for what is kept on the disk; no server sees it
        return json.dumps(sent, sort_keys=True, default=str).encode(errors="surrogatepass")

    def stream(self, request: Request) -> Iterator[Chunk]:
        self.requests.append(request)
        reply = self._reply(request)
        for at in range(0, len(reply.text), 8):
            yield Text(reply.text[at : at + 8])
        yield reply

    def warm(self, request: Request) -> Iterator[Waiting]:
        return iter(())

    def close(self) -> None:
        pass

    def _reply(self, request: Request) -> Reply:
        body = self.wire(request)
        usage = Usage(prompt_tokens=len(body) // 4, generated_tokens=9, calls=1)
        words = request.messages[-1].content
        if ASK_SUMMARY in words:
            return Reply("{}", usage=usage)
        line = self._line(request)
        if isinstance(line, BaseException):
            raise line
        # Twelve digits alone would be taken for a telephone number that nobody has said.
        token = f"x{hashlib.sha256(body).hexdigest()[:11]}"
        if isinstance(line, str):
            return Reply(line.replace("{sum}", token), usage=usage)
        made = tuple(
            ToolCall(f"id{n}", tool, json.loads(json.dumps(given).replace("{sum}", token)))
            for n, (tool, given) in enumerate(line)
        )
        if request.schema is None:
            return Reply("", made, stop_reason="tool_calls", usage=usage)
        steps = [{"kind": "change", "tool": call.name, **call.arguments} for call in made]
        return Reply("\n".join(map(json.dumps, steps)), usage=usage)

    def _line(self, request: Request) -> Line:
        asked = [
            (at, prompt)
            for at, message in enumerate(request.messages)
            for prompt in self.plays
            if message.role == "user" and message.content.endswith(f"\n\n{prompt}")
        ]
        at, prompt = max(asked)
        steps = sum(message.role == "assistant" for message in request.messages[at:])
        lines = self.plays[prompt]
        return lines[min(steps + (request.temperature > 0), len(lines) - 1)]
