"""What the loop needs to know of a way to talk with a model: native tool calls or JSON steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from openclaw.agent.cues import Cues
from openclaw.agent.parse import Step
from openclaw.models.base import Reply
from openclaw.shapes import Entry, Message, ToolCall, ToolUse
from openclaw.tools.toolbox import Toolbox


@dataclass(slots=True)
class Turn:
    """The running turn: the user's message, what came of it so far, and what comes next.

    `found` says that passages of the user's files stand in the message's tail. `kind` is what the
    request is (answer, look, change; empty when not asked for). `closing` says
    whether the next reply may or must be the answer. `skill` is the text of a skill that was read
    in this turn or that the user asked for; `looked` counts the results that did not hold the
    answer. The results of the first `forgotten` entries are shown in one line.
    """

    user: Entry
    rules: tuple[str, ...] = ()
    cues: Cues = Cues()
    entries: list[Entry] = field(default_factory=list)
    found: bool = False
    kind: str = ""
    closing: str = "no"
    skill: str = ""
    looked: int = 0
    forgotten: int = 0

    @property
    def request(self) -> str:
        """The user's words, shortened to what can be repeated after an observation."""
        text = " ".join(self.user.content.split())
        return text if len(text) <= 600 else text[:450] + " ... " + text[-140:]


@dataclass(frozen=True, slots=True)
class Demand:
    """How the next reply is constrained."""

    tools: tuple[Mapping[str, Any], ...] = ()
    schema: Mapping[str, Any] | None = None


class StepProtocol(Protocol):
    """A way to ask a model for a step and to read it."""

    name: str

    def rules(self, toolbox: Toolbox) -> str:
        """The part of the head that says how tools are called, and lists them if needed."""
        ...

    def wire(self, entry: Entry) -> list[Message]:
        """The messages that a session entry stands for; the same ones every time."""
        ...

    def demand(self, turn: Turn, toolbox: Toolbox) -> Demand: ...

    def read(self, reply: Reply, turn: Turn, toolbox: Toolbox) -> Step: ...

    def spoken(self, text: str, turn: Turn) -> str:
        """What of an unfinished reply is answer, to be shown as it comes."""
        ...

    def hint(self, turn: Turn, uses: Sequence[ToolUse], toolbox: Toolbox) -> str:
        """What is said after the results of calls; sets what the turn expects next."""
        ...


def with_context(entry: Entry) -> Message:
    """The user's message with its tail block in front, and the images that go with it."""
    text = f"{entry.context}\n\n{entry.content}" if entry.context else entry.content
    for image in entry.images:
        name = image.path.rpartition("/")[2]
        text += f"\n[image {name}{'' if image.data else ', no longer shown'}]"
    return Message("user", text, images=tuple(image for image in entry.images if image.data))


def as_call(use: ToolUse) -> ToolCall:
    """The call that a use was made of."""
    return ToolCall(use.id, use.tool, use.input)
