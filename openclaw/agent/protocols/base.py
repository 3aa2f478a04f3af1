"""The protocol between loop and model (native calls or JSON steps), and the state of a turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from openclaw.frozen import frozen
from openclaw.memory.named_rows import NamedRows
from openclaw.messages import Entry, Message, ToolCall, ToolUse, Usage
from openclaw.models.base import Reply
from openclaw.nlp.intent import Cues
from openclaw.tools.toolbox import CallResult, Toolbox


@dataclass(slots=True)
class PastCall:
    """A call that was made.

    once: what it did is not to be done again
    writes, successes, at: writes, successful calls and entries of the turn at that time
    count: how often the model asked for it
    """

    outcome: CallResult
    once: bool
    writes: int
    successes: int
    at: int
    count: int = 1

    def holds(self, turn: RunningTurn) -> bool:
        """Return True when the call would have the same result now."""
        if self.outcome.ok:
            return self.once or self.writes == turn.writes
        return self.successes == turn.successes


@dataclass(slots=True)
class RunningTurn:
    """The state of a running turn.

    user: the user's message
    rules: rules to repeat near the end of the prompt
    cues: what the words of the request point at
    entries: the messages of the turn so far
    has_passages: passages of the user's files stand in the message's tail
    searched: what the request is about was looked up as the settings say, not left to a tool
    rows: the rows of tables that the request names
    files: those of the workspace, where nothing says which one the request is about
    kind: answer, look or change, as the model classified the request; "" when not asked for
    closing: "no", "may" or "must": whether the next reply is the answer
    skill: the text of a skill that was read in this turn or that the user asked for
    form: a regular expression for the next answer, when the last one was not in the skill's form
    looked: number of results that did not hold the answer
    forgotten: the results of so many first entries are shown in one line
    orders_left: what the request orders besides, each with its cues
    order_began: the number of entries when the present order began

    Of the loop:

    usage: the sum of the replies
    last: the newest one, with what the model thought before
    past_calls: the calls that were made, by name and arguments
    repeats, writes, successes: how many of them came again, changed something and went well
    partial: the answer so far, of which `streamed` is shown
    empty: a reply was empty
    corrected: the model was asked again for an answer
    stopped: why the turn ends, as in `openclaw.events.Done`
    """

    user: Entry
    rules: tuple[str, ...] = ()
    cues: Cues = Cues()
    entries: list[Entry] = field(default_factory=list)
    has_passages: bool = False
    searched: bool = True
    rows: NamedRows = NamedRows()
    files: tuple[str, ...] = ()
    kind: str = ""
    closing: str = "no"
    skill: str = ""
    form: str = ""
    looked: int = 0
    forgotten: int = 0
    orders_left: list[tuple[str, Cues]] = field(default_factory=list)
    order_began: int = 1
    usage: Usage = Usage()
    last: Reply = Reply("")
    thought: str = ""
    past_calls: dict[str, PastCall] = field(default_factory=dict)
    repeats: int = 0
    writes: int = 0
    successes: int = 0
    partial: str = ""
    streamed: str = ""
    empty: bool = False
    corrected: bool = False
    stopped: str = ""

    def add(self, entry: Entry) -> Entry:
        self.entries.append(entry)
        return entry

    @property
    def uses(self) -> list[ToolUse]:
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
    ends_at_no: bool = False
    """A no of the user ends the turn: the models that are asked in this way are so small that they
    make up why the call did not run."""

    def rules(self, toolbox: Toolbox) -> str:
        """Return the part of the head that explains tool calls, and lists the tools if needed."""
        ...

    def to_messages(self, entry: Entry) -> list[Message]:
        """Return the messages of a session entry; the same ones every time."""
        ...

    def tools(self, toolbox: Toolbox) -> tuple[Mapping[str, Any], ...]:
        """Return the tools that go with each request, none where the head lists them."""
        return ()

    def schema(self, turn: RunningTurn, toolbox: Toolbox) -> Mapping[str, Any] | None:
        """Return the JSON schema of the next reply, None where tools are called natively."""
        return None

    def read(self, reply: Reply, turn: RunningTurn, toolbox: Toolbox) -> ModelStep: ...

    def answer_so_far(self, text: str) -> str:
        """Return the answer in an unfinished reply, to be shown as it comes."""
        ...

    def hint(self, turn: RunningTurn, uses: Sequence[ToolUse], toolbox: Toolbox) -> str:
        """Return the text after the results of calls; set what the turn expects next."""
        return ""
