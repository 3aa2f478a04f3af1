"""The seam between the agent and any model: one request in, a stream of chunks out."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, Protocol

from openclaw.types import Message, ToolCall, Usage, Waiting

StopReason = Literal["stop", "length", "tool_calls"]


@dataclass(frozen=True, slots=True)
class ModelCard:
    """What a model can do. `window` is the number of tokens of one request and its reply that
    will really be used: the configured one, at most the model's own. `parameters` in billions,
    0.0 when unknown. `server` is the address of its server, "" when this process runs it. `profile`
    is what a test of this very model has found; when it has lowered the window, `wished` is what it
    would be else. `vision`: it can be shown images."""

    name: str
    window: int
    tools: bool
    thinking: bool = False
    family: str = ""
    parameters: float = 0.0
    digest: str = ""
    server: str = ""
    profile: Profile | None = None
    wished: int = 0
    vision: bool = False


@dataclass(frozen=True, slots=True)
class Request:
    """One call. `tools` are function specs in OpenAI's shape; `schema` constrains the whole reply
    to a JSON value; `think` None leaves it to the model. `session` names the conversation, under
    which a model may keep its state for later processes."""

    messages: tuple[Message, ...]
    tools: tuple[Mapping[str, Any], ...] = ()
    schema: Mapping[str, Any] | None = None
    max_tokens: int = 1024
    temperature: float = 0.0
    seed: int | None = None
    stop: tuple[str, ...] = ()
    think: bool | None = None
    session: str = ""


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of the reply."""

    text: str


@dataclass(frozen=True, slots=True)
class Thinking:
    """A piece of the model's thinking, which is shown but not part of the reply."""

    text: str


@dataclass(frozen=True, slots=True)
class Reply:
    """The whole reply, always the last chunk of a stream that was not interrupted."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    thinking: str = ""
    stop_reason: StopReason = "stop"
    usage: Usage = Usage()


Chunk = Text | Thinking | Waiting | Reply


class Model(Protocol):
    """A model that can be asked.

    `stream` raises ServerAway, ModelMissing, ModelFailed or PromptTooLarge (`openclaw.errors`).
    Closing the generator cancels the request and frees the server at once. `reading_rate` is the
    number of prompt tokens that it reads in a second, 0.0 while that is unknown; whoever knows it
    from an earlier process may set it.
    """

    reading_rate: float

    @property
    def card(self) -> ModelCard: ...

    def stream(self, request: Request) -> Iterator[Chunk]: ...

    def wire(self, request: Request) -> bytes:
        """What `stream` sends for this request, byte for byte: the body of the HTTP request, of an
        embedded model that of the one to its engine. Raises what `card` raises; nothing is sent."""
        ...

    def warm(self, request: Request) -> Iterator[Waiting]:
        """Get ready for requests that begin like this one, as far as that saves time later: load
        the model, read the head and the history (the newest messages of the user left out). Without
        messages only load it, where that goes on by itself. What goes wrong is left for `stream`
        to raise.

        May run in another thread than `stream`, never at the same time. Closing the generator ends
        it soon; what was loaded and read until then stays."""
        ...

    def close(self) -> None: ...


_TYPES: Mapping[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "null": type(None),
}


def fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Whether a value is one of the schema: unions, constants, types, items, and no properties but
    those it names. Lengths and patterns are not looked at."""
    for union in ("anyOf", "oneOf"):
        if union in schema and not any(fits(value, each) for each in schema[union]):
            return False
    if ("const" in schema and value != schema["const"]) or (
        "enum" in schema and value not in schema["enum"]
    ):
        return False
    kind = schema.get("type", ())
    kinds = [kind] if isinstance(kind, str) else kind
    if kinds and not any(_has_type(value, each) for each in kinds):
        return False
    if isinstance(value, dict) and (inner := schema.get("properties")) is not None:
        required = schema.get("required", ())
        return set(required) <= value.keys() <= inner.keys() and all(
            fits(value[key], inner[key]) for key in value
        )
    if isinstance(value, list) and "items" in schema:
        return all(fits(item, schema["items"]) for item in value)
    return True


def fits_text(text: str, schema: Mapping[str, Any]) -> bool:
    """Whether a text is JSON of the schema, and nothing else."""
    try:
        return fits(json.loads(text), schema)
    except (ValueError, RecursionError):
        return False


def _has_type(value: Any, kind: str) -> bool:
    is_number_of_truth = isinstance(value, bool) and kind != "boolean"
    return isinstance(value, _TYPES.get(kind, object)) and not is_number_of_truth


VERSION = 1
BOUND_TO_PLACE = (
    "seconds",
    "load_seconds",
    "read_rate",
    "write_rate",
    "window",
    "window_fits",
    "window_by",
    "free_bytes",
)
"""What says nothing about the model on another machine or server."""


@dataclass(frozen=True, slots=True)
class Score:
    """So many of so many were right."""

    right: int
    of: int

    @property
    def is_full(self) -> bool:
        return self.of > 0 and self.right == self.of

    def __str__(self) -> str:
        return f"{self.right} of {self.of}"


@dataclass(frozen=True, slots=True)
class Profile:
    """What one test found. None, "" and 0-of-0 scores stand for what was not measured.

    `place` is where the model ran (`openclaw.models.machine`); speeds and windows hold only there.
    Speeds are medians in tokens a second, `load_seconds` wall clock. `window` is the one tested
    with, `window_fits` the largest that stays in memory (0: none does), `window_by` says whether
    that was measured, computed, or is only a lower bound ("at least"). `token_bytes` is what one
    token of the window takes, `model_bytes` the model without it, `free_bytes` what was free.
    `calls` is how the model calls tools when asked natively: native, text or none, `call_shape` in
    which shape as text, `native` how often a right call came natively, `needless` whether it called
    a tool for small talk. `json_forced` and `json_free` count replies that fit a schema, with it as
    a constraint and with words alone, `json_fenced` whether a fence stood around those;
    `schema_holds` whether a schema made it say what it would not say by itself. `thinking` is
    none, tags or field; `think_off` whether it can be switched off, `only_thinks` whether it used
    up a whole reply by it. `stops` is False when a reply had to be broken off from here.
    `tasks` are the small tasks by name, `protocol` how they were asked.
    """

    model: str
    digest: str
    at: str = ""
    place: str = ""
    complete: bool = False
    seconds: float | None = None
    load_seconds: float | None = None
    read_rate: float | None = None
    write_rate: float | None = None
    window: int | None = None
    window_fits: int | None = None
    window_by: str = ""
    token_bytes: int | None = None
    model_bytes: int | None = None
    free_bytes: int | None = None
    calls: str = ""
    call_shape: str = ""
    native: Score = Score(0, 0)
    needless: bool | None = None
    json_forced: Score = Score(0, 0)
    json_free: Score = Score(0, 0)
    json_fenced: bool | None = None
    schema_holds: bool | None = None
    thinking: str = ""
    think_off: bool | None = None
    only_thinks: bool | None = None
    stops: bool | None = None
    tasks: Mapping[str, bool] = field(default_factory=dict)
    protocol: str = ""

    def at_place(self, place: str) -> Profile:
        """What of it holds at that place."""
        if place == self.place:
            return self
        blank: dict[str, Any] = {**dict.fromkeys(BOUND_TO_PLACE), "window_by": ""}
        return replace(self, **blank)

    def to_json(self) -> dict[str, Any]:
        return {"version": VERSION, **asdict(self)}
