"""The interface of all models: requests, replies, the `Model` protocol, schemas and profiles."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from contextvars import ContextVar
from dataclasses import asdict, field, replace
from typing import Any, Literal, Protocol, TypeVar, cast

from openclaw.frozen import frozen
from openclaw.messages import Message, ToolCall, Usage, Waiting

StopReason = Literal["stop", "length", "tool_calls"]


@frozen
class ModelCard:
    """The abilities of a model.

    window      tokens of one request and its reply: the configured number, at most the model's own
    parameters  in billions, 0.0 when unknown
    server      the address of its server, "" when this process runs it
    profile     the results of a test of exactly this model
    wished      the window without the profile, when the profile has lowered it
    vision      the model accepts images
    """

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


@frozen
class Request:
    """One call of a model.

    tools    function specifications in OpenAI's format
    schema   constrains the whole reply to a JSON value
    think    None leaves the choice to the model
    session  the conversation, under which a model may save its state for later processes
    """

    messages: tuple[Message, ...]
    tools: tuple[Mapping[str, Any], ...] = ()
    schema: Mapping[str, Any] | None = None
    max_tokens: int = 1024
    temperature: float = 0.0
    seed: int | None = None
    think: bool | None = None
    session: str = ""


@frozen
class Text:
    """A piece of the reply."""

    text: str


@frozen
class Thinking:
    """A piece of the model's thinking, which is shown but is not part of the reply."""

    text: str


@frozen
class Reply:
    """The whole reply: the last chunk of every stream that was not interrupted."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    thinking: str = ""
    stop_reason: StopReason = "stop"
    usage: Usage = Usage()


class ReplyBuilder:
    """Puts the pieces of one reply together, and takes the time.

    pieces  how many have come
    first   seconds until the first of them, 0.0 before that
    """

    def __init__(self) -> None:
        self.pieces, self.first = 0, 0.0
        self._began = time.monotonic()
        self._texts: list[str] = []
        self._thoughts: list[str] = []

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._began

    def add(self, thought: str, said: str) -> Iterator[Text | Thinking]:
        """Return the pieces to show; an empty text is none."""
        if thought:
            self._thoughts.append(thought)
            yield Thinking(thought)
        if said:
            self._texts.append(said)
            yield Text(said)

    def usage(self, **counts: Any) -> Usage:
        return Usage(first_token_seconds=self.first, total_seconds=self.seconds, calls=1, **counts)

    def build(self, calls: tuple[ToolCall, ...], usage: Usage, *, is_cut: bool) -> Reply:
        ended: StopReason = "length" if is_cut else "stop"
        thinking = "".join(self._thoughts)
        return Reply("".join(self._texts), calls, thinking, "tool_calls" if calls else ended, usage)


Chunk = Text | Thinking | Waiting | Reply
S = TypeVar("S")
T = TypeVar("T")


def filtered(chunks: Generator[S, None, T], keep: Callable[[S], object]) -> Generator[S, None, T]:
    """The same generator, its value too, without the chunks that `keep` refuses."""
    with closing(chunks):  # also when Ctrl-C comes in here
        while True:
            try:
                chunk = next(chunks)
            except StopIteration as end:
                return cast("T", end.value)
            if keep(chunk):
                yield chunk


class Model(Protocol):
    """A model that can be asked.

    `stream` raises ServerAway, ModelMissing, ModelFailed or PromptTooLarge (`openclaw.errors`).
    Closing the generator cancels the request and frees the server at once. `reading_rate` is the
    number of prompt tokens read per second, 0.0 while unknown; a caller that knows it from an
    earlier process may set it.
    """

    reading_rate: float

    @property
    def card(self) -> ModelCard: ...

    def stream(self, request: Request) -> Iterator[Chunk]: ...

    def wire(self, request: Request) -> bytes:
        """The body of the HTTP request that `stream` sends, byte for byte; for an embedded model
        that to its engine. Sends nothing. Raises as `card` does."""
        ...

    def warm(self, request: Request) -> Iterator[Waiting]:
        """Prepare for requests that begin like this one: load the model, read the head and the
        history without the user's newest messages. Without messages only load the model, where
        loading goes on by itself. Errors are left for `stream` to raise.

        May run in another thread than `stream`, never at the same time. Closing the generator ends
        it soon; the model stays loaded with the part that it has read."""
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


def matches_schema(value: Any, schema: Mapping[str, Any]) -> bool:
    """Return True when a value matches the schema: unions, constants, types, items, and only
    properties that it names. Lengths and patterns are not checked."""
    for union in ("anyOf", "oneOf"):
        if union in schema and not any(matches_schema(value, each) for each in schema[union]):
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
            matches_schema(value[key], inner[key]) for key in value
        )
    if isinstance(value, list) and "items" in schema:
        return all(matches_schema(item, schema["items"]) for item in value)
    return True


def text_matches_schema(text: str, schema: Mapping[str, Any]) -> bool:
    """Return True when a text is JSON that matches the schema, and nothing else."""
    try:
        return matches_schema(json.loads(text), schema)
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
"""Fields that hold only for one machine or server."""


@frozen
class Score:
    """How many answers of a test were right."""

    right: int
    of: int

    @property
    def is_full(self) -> bool:
        return self.of > 0 and self.right == self.of

    def __str__(self) -> str:
        return f"{self.right} of {self.of}"


@frozen
class Profile:
    """The results of one test of a model. None, "" and 0-of-0 scores mean "not measured".

    place         where the model ran (`models.machine`); speeds and windows hold only there
    seconds       duration of the test
    load_seconds  wall clock
    read_rate     median, tokens per second; so is write_rate
    window        tokens of the window in the test
    window_fits   the largest window that stays in memory, 0 when none does
    window_by     measured, computed, or "at least" for a lower bound
    token_bytes   memory of one token of the window
    model_bytes   memory of the model without its window
    free_bytes    memory that was free
    calls         how it calls tools when asked natively: native, text or none
    call_shape    the shape of a call as text
    native        right calls that came natively
    needless      it called a tool for small talk
    json_forced   replies that match a schema, with the schema as a constraint
    json_free     replies that match a schema, with words alone
    json_fenced   the latter stood in a code fence
    schema_holds  a schema made it say what it would not say by itself
    thinking      none, tags or field
    think_off     thinking can be switched off
    only_thinks   it used up a whole reply by thinking
    stops         False when the test had to interrupt a reply
    tasks         the small tasks by name: True for a right answer
    protocol      how the tasks were asked
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
        """The profile without the fields that do not hold at `place`."""
        if place == self.place:
            return self
        blank: dict[str, Any] = {**dict.fromkeys(BOUND_TO_PLACE), "window_by": ""}
        return replace(self, **blank)

    def to_json(self) -> dict[str, Any]:
        return {"version": VERSION, **asdict(self)}


_patient: ContextVar[bool] = ContextVar("patient", default=True)


@contextmanager
def without_retries() -> Iterator[None]:
    """Within it this thread does not retry a refused connection: for preloading, which a turn may
    have to wait for."""
    token = _patient.set(False)
    try:
        yield
    finally:
        _patient.reset(token)


def is_patient() -> bool:
    return _patient.get()
