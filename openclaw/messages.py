"""Messages of a conversation: prompts, answers, tool calls, and the record of a turn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

from openclaw.frozen import frozen
from openclaw.types import Shown

Role = Literal["system", "user", "assistant", "tool"]


@frozen
class ToolCall:
    """A call as the model asked for it; `arguments` are not yet checked."""

    id: str
    name: str
    arguments: Mapping[str, Any]


MAX_IMAGE_BYTES = 10_000_000


@frozen
class Image:
    """An image that goes with a message of the user.

    path: relative to the home, absolute for a file elsewhere
    kind: png, jpeg, gif or webp
    data: its bytes; None before they are read, empty when the file has changed
    """

    path: str
    kind: str
    sha256: str
    data: bytes | None = field(default=None, repr=False)


@frozen
class Message:
    """One message as it goes to a model. `tool_name` and `tool_call_id` only for role "tool",
    `images`, each with its bytes, only for role "user"."""

    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_name: str = ""
    tool_call_id: str = ""
    images: tuple[Image, ...] = ()


@frozen
class Usage:
    """Token counts and wall-clock seconds of one or more model calls. `read_seconds` is the time
    for reading the prompt, where the server reports it."""

    prompt_tokens: int = 0
    cached_tokens: int = 0
    generated_tokens: int = 0
    first_token_seconds: float = 0.0
    total_seconds: float = 0.0
    calls: int = 0
    read_seconds: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        """Return the sum of both; the time of the first token is that of the left side."""
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.cached_tokens + other.cached_tokens,
            self.generated_tokens + other.generated_tokens,
            self.first_token_seconds if self.calls else other.first_token_seconds,
            self.total_seconds + other.total_seconds,
            self.calls + other.calls,
            self.read_seconds + other.read_seconds,
        )


@frozen
class ToolUse:
    """A call that was made: `input` as parsed, `output` as the model got it."""

    id: str
    tool: str
    input: Mapping[str, Any]
    output: str
    ok: bool

    @property
    def call(self) -> ToolCall:
        return ToolCall(self.id, self.tool, self.input)


READERS: Mapping[str, Callable[[Any], Any]] = {
    "str | None": lambda value: value if isinstance(value, str) else "",
    "int | None": lambda value: value if type(value) is int else 0,
    "bool | None": lambda value: value if isinstance(value, bool) else None,
    "Mapping[str, Any] | None": lambda value: value if isinstance(value, Mapping) else None,
    "Sequence[Mapping[str, Any]] | None": lambda value: (
        tuple(item for item in value if isinstance(item, Mapping))
        if isinstance(value, list | tuple)
        else None
    ),
    "Sequence[str] | None": lambda value: (
        tuple(map(str, value)) if isinstance(value, list | tuple) else None
    ),
    "Sequence[Any] | None": lambda value: value if isinstance(value, list) else (),
}
"""How a value of a JSON file becomes that of a field of this type; the file may be edited, so a
value of another type is read as an empty one or as None."""


class JsonFields:
    """A dataclass with the keys of a JSON object, in order; None where that does not say."""

    __slots__ = ()

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        known = cls.__annotations__
        given = ((name, value) for name, value in data.items() if value is not None)
        return cls(**{name: READERS[known[name]](value) for name, value in given if name in known})

    def as_json(self) -> dict[str, Any]:
        names: Iterable[str] = type(self).__annotations__
        return {name: value for name in names if (value := getattr(self, name)) is not None}


@dataclass(frozen=True, slots=True, eq=False)  # nobody compares them; a start pays for it
class TurnRecord(JsonFields):
    """How a turn was made, to inspect it or run it again. As JSON it stands on the turn's first
    message, down to `refused`, and on its last one; `shown` also stands on each message with calls.

    model: its name
    digest: the sum of the model's file, "" when unknown
    protocol: "native" or "json"
    window: tokens
    options: temperature, max_tokens, max_steps, seed and think of the requests
    tools: SHA-256 (hex) of the tools' descriptions
    head: SHA-256 (hex) of the head
    cut: what the model was not shown as it is: part, path and rule of each
    commit: the home's newest commit, "" without one
    mode: what was allowed without a yes
    asked: the user could be asked for a yes
    memory: memory was used
    marker: 8 hex digits that fenced untrusted text
    cues: what was seen in the prompt, without what was not (`openclaw.nlp.intent.Cues`)
    found: passages went with the prompt
    skill: the name of the skill that the user asked for, "" without one
    offered: the passages that went with it, without their text (docs/why.md)
    left_out: the passages that did not, each with the rule (docs/why.md)
    shown: the lines of files in the attachments of a message, or in the results of its calls
    refused: the message was too long to be sent
    stop: why the turn ended, as in `openclaw.events.Done`
    unbacked: claims of changes that did not happen
    changed: paths of changed files, and tools that did something elsewhere
    citations: the places that the answer cites: path, lines, whether it was shown there
    sources: the other places that it rests on, as path:line
    """

    model: str | None = None
    digest: str | None = None
    protocol: str | None = None
    window: int | None = None
    options: Mapping[str, Any] | None = None
    tools: str | None = None
    head: str | None = None
    cut: Sequence[Mapping[str, Any]] | None = None
    commit: str | None = None
    mode: str | None = None
    asked: bool | None = None
    memory: bool | None = None
    marker: str | None = None
    cues: Mapping[str, Any] | None = None
    found: bool | None = None
    skill: str | None = None
    offered: Sequence[Mapping[str, Any]] | None = None
    left_out: Sequence[Mapping[str, Any]] | None = None
    shown: Sequence[Mapping[str, Any]] | None = None
    refused: bool | None = None
    stop: str | None = None
    unbacked: Sequence[str] | None = None
    changed: Sequence[str] | None = None
    citations: Sequence[Mapping[str, Any]] | None = None
    sources: Sequence[str] | None = None


NO_RECORD = TurnRecord()


@frozen
class Entry:
    """One message of a session file.

    content: the text of the message
    context: the tail block that went with a user's message
    at: ISO 8601 time with offset
    raw: the text that the model really generated, where it differs from `content`
    hint: the text after the observation of the last call
    thought: what the model thought before
    record_json: `record` as it stands in the file, with keys of newer versions
    extra: keys of newer versions, unchanged
    images: images of a user's message; the file does not hold their bytes

    With content, context, raw and hint the next request repeats this one byte for byte.
    """

    role: Literal["user", "assistant"]
    content: str
    context: str = ""
    tool_calls: tuple[ToolUse, ...] = ()
    usage: Usage | None = None
    at: str = ""
    raw: str = ""
    hint: str = ""
    thought: str = ""
    record_json: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    images: tuple[Image, ...] = ()

    @property
    def record(self) -> TurnRecord:
        """How the turn was made, on its first message, and how it ended, on its last. It is read
        when it is asked for: most messages are only sent."""
        return TurnRecord.from_json(self.record_json) if self.record_json else NO_RECORD

    def with_record(self, record: TurnRecord) -> Entry:
        """Return the message with these fields in its record; its other keys stay as they are."""
        return replace(self, record_json={**self.record_json, **record.as_json()})


@frozen
class Material:
    """Text or an image that the user attaches to the prompt. `path` is relative to the home; "" for
    standard input and files elsewhere. `lines` are those of a file with which the text begins."""

    label: str
    text: str
    path: str = ""
    image: Image | None = None
    lines: Shown | None = None


@frozen
class Prompt:
    """What the user asks: the words, what goes along, and the name of a skill to follow.

    typed: the user typed the words; nothing is remembered of piped or offered ones
    """

    text: str
    material: Sequence[Material] = ()
    skill: str = ""
    typed: bool = True


def skill_prompt(skill: str) -> str:
    """The prompt when the user names a skill and nothing else."""
    return f"Do what the skill {skill} says."


@frozen
class Waiting:
    """The model is not ready yet.

    message: for the user, for example "loading model"; an empty one, only from `Model.warm`, is
        a moment at which the caller may stop
    share: progress from 0 to 1; such a message is shown for the moment and may come repeatedly
    """

    message: str
    share: float | None = None


def with_context(entry: Entry) -> Message:
    """Return the user's message with its tail block in front, and its images."""
    text = f"{entry.context}\n\n{entry.content}" if entry.context else entry.content
    for image in entry.images:
        name = image.path.rpartition("/")[2]
        text += f"\n[image {name}{'' if image.data else ', no longer shown'}]"
    return Message("user", text, images=tuple(image for image in entry.images if image.data))
