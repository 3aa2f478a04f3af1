"""The OpenAI shape of a chat, as llama.cpp speaks it: messages out, streamed deltas in."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from typing import Any

from openclaw.files.replies import mend_json
from openclaw.models.base import StopReason, Text, Thinking
from openclaw.shapes import Image, Message, ToolCall


def message(said: Message) -> dict[str, Any]:
    """One message on the wire."""
    body: dict[str, Any] = {"role": said.role, "content": said.content}
    if said.tool_calls:
        body["tool_calls"] = [_call_out(call) for call in said.tool_calls]
    if said.images:
        body["content"] = [{"type": "text", "text": said.content}, *map(_image_out, said.images)]
    if said.role == "tool":
        body |= {"tool_call_id": said.tool_call_id, "name": said.tool_name}
    return body


def _image_out(image: Image) -> dict[str, Any]:
    data = b64encode(image.data or b"").decode()
    return {"type": "image_url", "image_url": {"url": f"data:image/{image.kind};base64,{data}"}}


class Deltas:
    """Puts the deltas of one reply together."""

    def __init__(self) -> None:
        self.finished = ""
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._calls: dict[int, dict[str, str]] = {}

    @property
    def text(self) -> str:
        return "".join(self._text)

    @property
    def thinking(self) -> str:
        return "".join(self._thinking)

    @property
    def begun(self) -> bool:
        """Whether anything that the model generated has come."""
        return bool(self._text or self._thinking or self._calls)

    @property
    def stop_reason(self) -> StopReason:
        if self._calls:
            return "tool_calls"
        return "length" if self.finished == "length" else "stop"

    def take(self, chunk: Mapping[str, Any]) -> Iterator[Text | Thinking]:
        for choice in (chunk.get("choices") or ())[:1]:
            self.finished = choice.get("finish_reason") or self.finished
            delta = choice.get("delta") or {}
            for piece in delta.get("tool_calls") or ():
                self._add_call(piece)
            if thought := delta.get("reasoning_content") or delta.get("reasoning"):
                self._thinking.append(thought)
                yield Thinking(thought)
            if said := delta.get("content"):
                self._text.append(said)
                yield Text(said)

    def tool_calls(self) -> tuple[ToolCall, ...]:
        return tuple(_call_in(index, call) for index, call in sorted(self._calls.items()))

    def _add_call(self, piece: Mapping[str, Any]) -> None:
        index = piece.get("index")
        if index is None:  # some servers send whole calls, unnumbered
            index = len(self._calls)
        call = self._calls.setdefault(index, {"id": "", "name": "", "arguments": ""})
        function = piece.get("function") or {}
        call["id"] = piece.get("id") or call["id"]
        call["name"] += function.get("name") or ""
        call["arguments"] += function.get("arguments") or ""


def _call_out(call: ToolCall) -> dict[str, Any]:
    arguments = json.dumps(dict(call.arguments), ensure_ascii=False)
    function = {"name": call.name, "arguments": arguments}
    return {"id": call.id, "type": "function", "function": function}


def _call_in(index: int, call: Mapping[str, str]) -> ToolCall:
    """Arguments that are no JSON object are the model's mistake: they go on under a name that no
    tool has, so that the model is told what is valid."""
    try:
        arguments = json.loads(mend_json(call["arguments"]) or "{}", strict=False)
    except (ValueError, RecursionError):
        arguments = call["arguments"]
    if not isinstance(arguments, dict):
        arguments = {"arguments": arguments}
    return ToolCall(call["id"] or f"call_{index + 1}", call["name"], arguments)
