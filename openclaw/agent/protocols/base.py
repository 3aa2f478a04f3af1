"""The protocol between loop and model (native calls or JSON steps), and the state of a turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from openclaw.frozen import frozen
from openclaw.messages import Entry, Message, ToolCall, ToolUse
from openclaw.models.base import Reply
from openclaw.nlp.intent import Cues
from openclaw.tools.toolbox import Toolbox


@dataclass(slots=True)
class RunningTurn:
    """The state of a running turn.

    user: the user's message
    rules: rules to repeat near the end of the prompt
    cues: what the words of the request point at
    entries: the messages of the turn so far
    has_passages: passages of the user's files stand in the message's tail
    kind: answer, look or change, as the model classified the request; "" when not asked for
    closing: "no", "may" or "must": whether the next reply is the answer
    skill: the text of a skill that was read in this turn or that the user asked for
    form: a regular expression for the next answer, when the last one was not in the skill's form
    looked: number of results that did not hold the answer
    forgotten: the results of so many first entries are shown in one line
    orders_left: what the request orders besides, each with its cues
    order_began: the number of entries when the present order began
    """

    user: Entry
    rules: tuple[str, ...] = ()
    cues: Cues = Cues()
    entries: list[Entry] = field(default_factory=list)
    has_passages: bool = False
    kind: str = ""
    closing: str = "no"
    skill: str = ""
    form: str = ""
    looked: int = 0
    forgotten: int = 0
    orders_left: list[tuple[str, Cues]] = field(default_factory=list)
    order_began: int = 1

    @property
    def uses(self) -> list[ToolUse]:
        """The calls that were made."""
        return [use for entry in self.entries for use in entry.tool_calls]

    @property
    def request(self) -> str:
        """The user's words, short enough to be repeated after an observation."""
        text = " ".join(self.user.content.split())
        return text if len(text) <= 600 else text[:450] + " ... " + text[-140:]


@frozen
class ModelStep:
    """A reply of the model as answer or calls. `kind` only where the step schema asks for it."""

    answer: str = ""
    calls: tuple[ToolCall, ...] = ()
    thought: str = ""
    kind: str = ""


class StepProtocol(Protocol):
    """A way to ask a model for a step and to read it."""

    name: str
    ends_at_no = False
    """A no of the user ends the turn: the models that are asked in this way are so small that they
    make up why the call did not run."""

    def rules(self, toolbox: Toolbox) -> str:
        """Return the part of the head that explains tool calls, and lists the tools if needed."""
        ...

    def wire(self, entry: Entry) -> list[Message]:
        """Return the messages of a session entry; the same ones every time."""
        ...

    def tools(self, toolbox: Toolbox) -> tuple[Mapping[str, Any], ...]:
        """Return the tools that go with each request, none where the head lists them."""
        return ()

    def schema(self, turn: RunningTurn, toolbox: Toolbox) -> Mapping[str, Any] | None:
        """Return the JSON schema of the next reply, None where tools are called natively."""
        return None

    def read(self, reply: Reply, turn: RunningTurn, toolbox: Toolbox) -> ModelStep: ...

    def spoken(self, text: str) -> str:
        """Return the answer in an unfinished reply, to be shown as it comes."""
        ...

    def hint(self, turn: RunningTurn, uses: Sequence[ToolUse], toolbox: Toolbox) -> str:
        """Return the text after the results of calls; set what the turn expects next."""
        return ""
