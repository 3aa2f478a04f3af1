"""The size of a whole request, as no model counts it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from openclaw.messages import Message
from openclaw.models.token_count import compact_json, count, count_overhead, request_text


def cost(messages: Sequence[Message], tools: Sequence[Mapping[str, Any]] = ()) -> int:
    """Tokens of a request (cl100k_base)."""
    said = sum(count(request_text([m])) for m in messages) + count_overhead(messages)
    return said + (count("\n".join(map(compact_json, tools))) if tools else 0)
