"""The events of a turn. The terminal, JSON output and the session file listen.

The wire name of an event (`stream-json`, one object a line) is its class's `kind`; its fields are
the object's other keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, ClassVar

from openclaw.frozen import frozen
from openclaw.messages import Usage, Waiting
from openclaw.receipt import Receipt


@frozen
class Start:
    """The turn begins. `window` in tokens."""

    kind: ClassVar[str] = "start"
    session_id: str
    model: str
    window: int
    protocol: str


@frozen
class Retrieval:
    """Passages put into the tail of the prompt, each with path, start_line, end_line, text."""

    kind: ClassVar[str] = "retrieval"
    passages: tuple[Mapping[str, Any], ...]


@frozen
class Token:
    """A piece of the answer."""

    kind: ClassVar[str] = "token"
    text: str


@frozen
class Thought:
    """A piece of the model's thinking before it acts or answers."""

    kind: ClassVar[str] = "thought"
    text: str


@frozen
class ToolStart:
    kind: ClassVar[str] = "tool_start"
    id: str
    tool: str
    input: Mapping[str, Any]


@frozen
class ToolEnd:
    """output: the text that the model gets
    seconds: wall clock
    said: the changes by the call, in words for the user; "" without any
    """

    kind: ClassVar[str] = "tool_end"
    id: str
    tool: str
    output: str
    ok: bool
    seconds: float
    said: str = ""


@frozen
class NewResponse:
    """A further model call begins; the answer streamed so far is complete."""

    kind: ClassVar[str] = "new_response"
    step: int


@frozen
class Notice:
    """One line for the user: a missing file, a loading model, a repeated call, a cut."""

    kind: ClassVar[str] = "notice"
    text: str


@frozen
class Trouble(Notice):
    """A notice that is shown even without a terminal: about hooks, the memory's index or git."""


@frozen
class Progress:
    """The activity until the next event, shown for the moment only.

    what: its name; "" leaves the shown name as it is
    share: progress from 0 to 1, None while unknown
    tail: the last lines that a running program has printed
    """

    kind: ClassVar[str] = "progress"
    what: str = ""
    share: float | None = None
    tail: tuple[str, ...] = ()


@frozen
class Compaction:
    """The first `messages` messages of the conversation were archived and replaced by `summary`.
    The tokens are those of a request without a new message."""

    kind: ClassVar[str] = "compaction"
    before_tokens: int
    after_tokens: int
    messages: int = 0
    summary: str = ""


@frozen
class ReceiptMade:
    """The real changes of the turn, and claims of the reply that nothing backs."""

    kind: ClassVar[str] = "receipt"
    receipt: Receipt
    unbacked: tuple[str, ...] = ()


@frozen
class Done:
    """The turn is over.

    stop_reason: answer, declined, steps, repeated, full, empty, interrupted
    citations: lines of files that the answer names, each with path, start_line, end_line, and
        verified: True when the model was shown these lines
    sources: further places (path:line) that the answer rests on, as far as code can tell
    """

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


@frozen
class Title:
    kind: ClassVar[str] = "title"
    title: str


@frozen
class Error:
    """The turn failed; `exit_code` is that of the command."""

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


def waiting_event(waiting: Waiting) -> Notice | Progress:
    """Return the event for a model that is not ready yet."""
    if waiting.share is None:
        return Notice(waiting.message)
    return Progress(waiting.message, waiting.share)


def to_wire(event: Event) -> dict[str, Any]:
    """Return the event as one JSON object: its name under "event", then its fields."""
    return {"event": event.kind, **asdict(event)}
