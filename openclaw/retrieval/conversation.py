"""What was said in a session file, on the lines where it stands in the JSON."""

from __future__ import annotations

import json
import re
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from openclaw.retrieval.readers import Unreadable

_STRING = r'"((?:[^"\\]|\\.)*+)"'
_SAID = {
    name: re.compile(rf'"{name}"\s*:\s*{_STRING}')
    for name in ("title", "compressed_context", "content")
}


def session_text(source: str) -> str:
    """A text of as many lines as `source`: the title, the summary of what was compacted, and each
    message as "role: content" (its line feeds as blanks), all else blank.

    Tool results and what was recalled for a message are left out: they are copies. So is the
    summary in a part of the archive, as what it stands for is in the parts before. Raises
    Unreadable for JSON that is no session.
    """
    lines: list[list[str]] = [[] for _ in range(source.count("\n") + 1)]
    line, counted = 0, 0
    for at, said in sorted(_placed(source, _load(source))):
        line, counted = line + source.count("\n", counted, at), at
        lines[line].append(" ".join(said.split()))
    return "\n".join(" ".join(line) for line in lines)


def _load(source: str) -> Any:
    try:
        data = json.loads(source)
    except (ValueError, RecursionError) as error:
        raise Unreadable("not a session: no valid JSON") from error
    messages = data.get("messages") if isinstance(data, dict) else data
    if not isinstance(messages, list):
        raise Unreadable("not a session: no list of messages")
    return data


def _placed(source: str, data: Any) -> Iterator[tuple[int, str]]:
    """What was said, with the offset of its string in the JSON."""
    at, messages = 0, data
    if isinstance(data, dict):
        messages = data["messages"]
        for name in ("title",) if "part" in data else ("title", "compressed_context"):
            start, _ = _next(_strings(source, name), data.get(name), 0)
            if start >= 0:
                yield start, data[name]
    places = _strings(source, "content")
    for message in messages:
        if not isinstance(message, dict) or message.get("role") not in ("user", "assistant"):
            continue
        start, end = _next(places, message.get("content"), at)
        if start >= 0:
            yield start, f"{message['role']}: {message['content']}"
            at = end


def _strings(source: str, name: str) -> dict[str, deque[tuple[int, int]]]:
    """Where each string stands that is the value of a key of this name."""
    places: dict[str, deque[tuple[int, int]]] = defaultdict(deque)
    for match in _SAID[name].finditer(source):
        with suppress(ValueError):
            places[json.loads(f'"{match[1]}"', strict=False)].append(match.span())
    return places


def _next(places: Mapping[str, deque[tuple[int, int]]], value: Any, at: int) -> tuple[int, int]:
    """Where the string `value` stands, from `at` on; (-1, -1) if nowhere. A key of the same name
    within a tool's input is told apart by its value."""
    if not isinstance(value, str) or not value.strip() or value not in places:
        return -1, -1
    found = places[value]
    while found and found[0][0] < at:
        found.popleft()
    return found[0] if found else (-1, -1)
