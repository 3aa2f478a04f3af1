"""What happens during a turn, as values. The terminal, JSON output and the session file listen.

The wire name of an event (`stream-json`, one object a line) is its class's `kind`; its fields are
the object's other keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from openclaw.agent.receipt import Receipt
from openclaw.models.base import Waiting
from openclaw.shapes import Usage


@dataclass(frozen=True, slots=True)
class Start:
    """The turn begins. `window` in tokens."""

    kind: ClassVar[str] = "start"
    session_id: str
    model: str
    window: int
    protocol: str


@dataclass(frozen=True, slots=True)
class Retrieval:
    """Passages put into the tail of the prompt, each with path, start_line, end_line, text."""

    kind: ClassVar[str] = "retrieval"
    passages: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the answer."""

    kind: ClassVar[str] = "token"
    text: str


@dataclass(frozen=True, slots=True)
class Thought:
    """A piece of what the model thinks before it acts or answers."""

    kind: ClassVar[str] = "thought"
    text: str


@dataclass(frozen=True, slots=True)
class ToolStart:
    kind: ClassVar[str] = "tool_start"
    id: str
    tool: str
    input: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolEnd:
    """`output` is what the model is given; `seconds` wall clock; `said` what the call has changed,
    in words for the user, "" when nothing."""

    kind: ClassVar[str] = "tool_end"
    id: str
    tool: str
    output: str
    ok: bool
    seconds: float
    said: str = ""


@dataclass(frozen=True, slots=True)
class NewResponse:
    """A further model call begins; what was streamed as an answer so far is complete."""

    kind: ClassVar[str] = "new_response"
    step: int


@dataclass(frozen=True, slots=True)
class Notice:
    """One line for the user: a missing file, a loading model, a repeated call, a cut."""

    kind: ClassVar[str] = "notice"
    text: str


@dataclass(frozen=True, slots=True)
class Trouble(Notice):
    """A notice that is told even where nobody looks on: of hooks, the memory's index or git."""


@dataclass(frozen=True, slots=True)
class Progress:
    """What goes on while the next event is waited for; it is shown for the moment only. `share` of
    it that is done, from 0 to 1, None while that is unknown; `tail` are the last lines that a
    running program has printed. Without `what` the words stay as they are."""

    kind: ClassVar[str] = "progress"
    what: str = ""
    share: float | None = None
    tail: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Compaction:
    """The first `messages` of the conversation went to the archive; `summary` stands for them. The
    tokens are those of a request without a new message."""

    kind: ClassVar[str] = "compaction"
    before_tokens: int
    after_tokens: int
    messages: int = 0
    summary: str = ""


@dataclass(frozen=True, slots=True)
class ReceiptMade:
    """What the turn really changed, and claims of the reply that nothing backs."""

    kind: ClassVar[str] = "receipt"
    receipt: Receipt
    unbacked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Done:
    """The turn is over. `stop_reason`: answer, steps, repeated, full,
    empty, interrupted, length. `citations` are lines of files that the answer names, each with
    path, start_line, end_line, and whether they stood in what the model was shown (verified);
    `sources` are places (path:line) that it rests on beside these, as far as code can tell."""

    kind: ClassVar[str] = "done"
    answer: str
    usage: Usage
    stop_reason: str
    session_id: str
    model: str
    receipt: Receipt
    unbacked: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    citations: tuple[Mapping[str, Any], ...] = ()
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Title:
    kind: ClassVar[str] = "title"
    title: str


@dataclass(frozen=True, slots=True)
class Error:
    """The turn failed; `exit_code` is the one the command leaves with."""

    kind: ClassVar[str] = "error"
    message: str
    hint: str
    exit_code: int


Event = (
    Start
    | Retrieval
    | Token
    | Thought
    | ToolStart
    | ToolEnd
    | NewResponse
    | Notice
    | Progress
    | Compaction
    | ReceiptMade
    | Done
    | Title
    | Error
)


def waited(waiting: Waiting) -> Notice | Progress:
    """What a model that is not ready yet has to say."""
    if waiting.share is None:
        return Notice(waiting.message)
    return Progress(waiting.message, waiting.share)


def to_wire(event: Event) -> dict[str, Any]:
    """The event as one JSON object: its name under "event", then its fields."""
    return {"event": event.kind, **asdict(event)}
