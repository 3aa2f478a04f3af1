"""Makes messages of ours out of those of other agents: OpenAI's shape and OpenClaw's."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from openclaw.sessions.session import INTERRUPTED
from openclaw.shapes import Entry, ToolUse

LONGEST_RESULT = 20_000
"""Characters of a tool's result that are taken over; what a result holds beyond helps no model."""
_MILLISECONDS = 1e11  # a time in seconds is below it until the year 5138
_RESULTS = ("tool", "toolResult", "function")


def thread(messages: Iterable[Mapping[str, Any]]) -> list[Entry]:
    """The messages of users and assistants in their order, each call with the result that it got.

    Messages of other roles (instructions of the system) are left out, and so is what was thought.
    """
    entries: list[Entry] = []
    for item in messages:
        role = item.get("role")
        if role in _RESULTS:
            _answer(entries, item)
        elif role == "user":
            entries.append(Entry("user", plain(item.get("content")), at=_at(item)))
        elif role == "assistant":
            said, calls = plain(item.get("content")), _calls(item)
            if said or calls:
                entries.append(Entry("assistant", said, tool_calls=calls, at=_at(item)))
    return entries


def plain(content: Any) -> str:
    """The text of a message's content: a text, or parts of which those with text count and images
    and files are named."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(filter(None, map(_part, parts)))


def iso_time(value: Any) -> str:
    """A time as ISO 8601 with offset, "" for what is none: ISO text (without an offset local
    time), or seconds or milliseconds since 1970."""
    try:
        if isinstance(value, str) and value:
            when = datetime.fromisoformat(value)
        elif isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
            seconds = value / 1000 if value > _MILLISECONDS else value
            when = datetime.fromtimestamp(seconds, UTC)
        else:
            return ""
        return when.astimezone().isoformat(timespec="milliseconds")
    except (ValueError, OverflowError, OSError):
        return ""


def _at(item: Mapping[str, Any]) -> str:
    return iso_time(item.get("timestamp"))


def _part(part: Any) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return ""
    text = part.get("text")
    if isinstance(text, str):
        return text
    kind = str(part.get("type") or "")
    named = next((word for word in ("image", "audio", "file", "document") if word in kind), "")
    return f"[{named}]" if named else ""


def _calls(item: Mapping[str, Any]) -> tuple[ToolUse, ...]:
    """The calls of an assistant's message, none of them answered yet."""
    content = item.get("content")
    parts = content if isinstance(content, list) else []
    found = [part for part in parts if isinstance(part, dict) and part.get("type") == "toolCall"]
    listed = item.get("tool_calls")
    found += [call for call in (listed if isinstance(listed, list) else []) if call]
    return tuple(_call(call) for call in found if isinstance(call, dict))


def _call(call: Mapping[str, Any]) -> ToolUse:
    function = call.get("function")
    inner = function if isinstance(function, dict) else call
    name = str(inner.get("name") or "tool")
    own = str(call.get("id") or call.get("call_id") or "")
    return ToolUse(own, name, _arguments(inner.get("arguments")), INTERRUPTED, False)


def _arguments(value: Any) -> Mapping[str, Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value) if value.strip() else {}
        except (ValueError, RecursionError):
            return {"input": value}
    if isinstance(value, dict):
        return value
    return {} if value is None else {"input": value}


def _answer(entries: list[Entry], item: Mapping[str, Any]) -> None:
    """Give a result to the call that it names, else to the first of the last message without one;
    a result that answers nothing is dropped."""
    wanted = item.get("tool_call_id") or item.get("toolCallId")
    for at in range(len(entries) - 1, -1, -1):
        for number, call in enumerate(entries[at].tool_calls):
            if call.output == INTERRUPTED and not call.ok and wanted in (call.id, None, ""):
                calls = list(entries[at].tool_calls)
                ok = item.get("isError") is not True
                calls[number] = replace(call, output=_cut(plain(item.get("content"))), ok=ok)
                entries[at] = replace(entries[at], tool_calls=tuple(calls))
                return
        if entries[at].role == "user":
            return


def _cut(text: str) -> str:
    if len(text) <= LONGEST_RESULT:
        return text or "(nothing)"
    return f"{text[:LONGEST_RESULT]}\n[{len(text) - LONGEST_RESULT:,} more characters not imported]"
