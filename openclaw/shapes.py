"""Values that several rooms exchange. Nothing here opens, reads or prints anything."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Role = Literal["system", "user", "assistant", "tool"]
Effect = Literal["read", "write", "network"]
Mode = Literal["read-only", "ask", "edit", "full"]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call as the model asked for it; `arguments` are not yet checked."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Message:
    """One message as it goes to a model. `tool_name` and `tool_call_id` only for role "tool"."""

    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_name: str = ""
    tool_call_id: str = ""


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts and times of one or more model calls. Seconds are wall clock."""

    prompt_tokens: int = 0
    cached_tokens: int = 0
    generated_tokens: int = 0
    first_token_seconds: float = 0.0
    total_seconds: float = 0.0
    calls: int = 0

    def __add__(self, other: Usage) -> Usage:
        """Sum of both; the first token is the one that came first, i.e. of the left side."""
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.cached_tokens + other.cached_tokens,
            self.generated_tokens + other.generated_tokens,
            self.first_token_seconds if self.calls else other.first_token_seconds,
            self.total_seconds + other.total_seconds,
            self.calls + other.calls,
        )


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A call that was made: `input` as parsed, `output` as the model was given it."""

    id: str
    tool: str
    input: Mapping[str, Any]
    output: str
    ok: bool


@dataclass(frozen=True, slots=True)
class Entry:
    """One message of a session file.

    `content` is what was said; `context` the tail block that went with a user's message; `raw` the
    text the model really generated where it differs from `content`; `hint` what followed the
    observation of the last call. With these the next request repeats this one byte for byte.
    `at` is an ISO 8601 time with offset; `extra` are keys of newer versions, kept as they are.
    """

    role: Literal["user", "assistant"]
    content: str
    context: str = ""
    tool_calls: tuple[ToolUse, ...] = ()
    usage: Usage | None = None
    at: str = ""
    raw: str = ""
    hint: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)


class ToolProblem(Exception):
    """A mistake of the model's, told to the model as an observation: short, names what is valid."""


@dataclass(frozen=True, slots=True)
class Change:
    """A file of the home that a turn changed. None stands for "there was no file"."""

    path: str
    before: str | None
    after: str | None


@dataclass(slots=True)
class Ledger:
    """What the tools of one turn did, filled by the tools, read by the receipt.

    `read` holds the MD5 each file had when this session last read or wrote it, by home-relative
    path, so that an overwrite of an unread or since changed file can be refused. `allowed` is the
    `allowed-tools` of the skill that is followed; empty when it leaves all tools.
    """

    before: dict[str, str | None] = field(default_factory=dict)
    read: dict[str, str] = field(default_factory=dict)
    searches: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    allowed: tuple[str, ...] = ()
