"""Chats in the shape of Ollama's `/api/chat`: messages out, the parts of a streamed reply in."""

from __future__ import annotations

import json
import time
from base64 import b64encode
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from openclaw.models.base import Reply, Text, Thinking
from openclaw.shapes import Message, ToolCall, Usage

if TYPE_CHECKING:
    import ollama

LEAST = 64
"""A shorter prompt tells little of how many tokens are read in a second."""


def message(said: Message) -> dict[str, Any]:
    """Calls carry no id on this API; results are joined by the tool's name, in order."""
    body: dict[str, Any] = {"role": said.role, "content": said.content}
    if said.tool_calls:
        body["tool_calls"] = [
            {"function": {"name": call.name, "arguments": dict(call.arguments)}}
            for call in said.tool_calls
        ]
    if said.role == "tool":
        body["tool_name"] = said.tool_name
    if said.images:
        body["images"] = [b64encode(image.data or b"").decode() for image in said.images]
    return body


def begun(messages: Sequence[Message]) -> tuple[Message, ...]:
    """What of messages a later request has in common with this one: all but the newest of the user,
    in whose place something short stands."""
    said = list(messages)
    while said and said[-1].role == "user":
        said.pop()
    return (*said, Message("user", "."))


def calls_so_far(messages: Sequence[Message]) -> int:
    return sum(len(message.tool_calls) for message in messages)


def only_thought(reply: Reply) -> bool:
    return bool(reply.thinking) and not reply.text.strip() and not reply.tool_calls


def cached(count: int, seconds: float, rate: float) -> int:
    """How many of a prompt's `count` tokens the server had read before, when it worked `seconds` on
    them and reads `rate` tokens a second (0.0: not known, then none). Ollama tells the whole count,
    but the time only for what it really read."""
    return max(0, count - round(seconds * rate)) if rate and seconds else 0


def learned(rate: float, count: int, seconds: float, *, is_whole: bool) -> float:
    """The reading rate after one more call. `is_whole`: all of the prompt was surely read. Of other
    calls the quotient is too high by what was cached, so only one below the rate tells anything,
    and none is the first to tell it."""
    if count < LEAST or seconds <= 0:
        return rate
    measured = round(count / seconds, 1)
    if is_whole:
        return round((rate + measured) / 2, 1) if rate else measured
    return min(rate, measured)


def read_of(told: bytes) -> tuple[int, float]:
    """(tokens of the prompt, seconds in which they were read) that an answer of the server tells;
    zeros where it tells none."""
    try:
        answer = json.loads(told)
        return int(answer["prompt_eval_count"]), float(answer["prompt_eval_duration"]) / 1e9
    except (ValueError, TypeError, KeyError):
        return 0, 0.0


class Heard:
    """What has come of one reply so far."""

    def __init__(self, calls_so_far: int) -> None:
        self.pieces = 0
        self.last: ollama.ChatResponse | None = None
        self._calls_so_far = calls_so_far
        self._began = time.monotonic()
        self._first: float | None = None
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._calls: list[ToolCall] = []

    def take(self, part: ollama.ChatResponse) -> Iterator[Text | Thinking]:
        said, thought = part.message.content or "", part.message.thinking or ""
        if part.done:
            self.last = part
        else:
            self.pieces += 1
        if self._first is None:
            self._first = time.monotonic() - self._began
        for call in part.message.tool_calls or ():
            number = self._calls_so_far + len(self._calls) + 1
            function = call.function
            self._calls.append(ToolCall(f"call_{number}", function.name, dict(function.arguments)))
        if thought:
            self._thinking.append(thought)
            yield Thinking(thought)
        if said:
            self._text.append(said)
            yield Text(said)

    def reply(self, last: ollama.ChatResponse) -> Reply:
        usage = Usage(
            prompt_tokens=last.prompt_eval_count or 0,
            generated_tokens=last.eval_count or 0,
            first_token_seconds=self._first or 0.0,
            total_seconds=time.monotonic() - self._began,
            calls=1,
            read_seconds=(last.prompt_eval_duration or 0) / 1e9,
        )
        return Reply(
            text="".join(self._text),
            tool_calls=tuple(self._calls),
            thinking="".join(self._thinking),
            stop_reason=(
                "tool_calls"
                if self._calls
                else "length"
                if last.done_reason == "length"
                else "stop"
            ),
            usage=usage,
        )
