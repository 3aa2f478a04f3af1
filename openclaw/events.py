"""The events of a turn, and its receipt. The terminal, JSON output and the session file listen.

The wire name of an event (`stream-json`, one object a line) is its class's `kind`; its fields are
the object's other keys.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, ClassVar, Protocol

from openclaw.frozen import frozen
from openclaw.messages import Usage, Waiting
from openclaw.types import Change


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

    stop_reason: answer, steps, repeated, full, empty, interrupted, length
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


TODO_FILE = "memory/TODO.md"
INBOX = "memory/inbox/"
"""Entries there wait for the user's yes and are no memory yet."""


class TodoLike(Protocol):
    @property
    def id(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def list(self) -> str: ...
    @property
    def done(self) -> bool: ...


@frozen
class FileChange:
    """A changed file: lines added and removed; `action` is created, changed or deleted."""

    path: str
    action: str
    added: int
    removed: int


@frozen
class Receipt:
    """The changes of a turn.

    files: changed files with line counts
    todos: pairs of added, done, undone or removed, and the to-do's text
    memories: texts of new memories
    sent: tools that did something elsewhere
    """

    files: tuple[FileChange, ...] = ()
    todos: tuple[tuple[str, str], ...] = ()
    memories: tuple[str, ...] = ()
    searches: tuple[str, ...] = ()
    sent: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Return True when something was changed, here or elsewhere; a search changes nothing."""
        return bool(self.files or self.sent)


def make_receipt(
    changes: Iterable[Change],
    read_todos: Callable[[str], Sequence[TodoLike]],
    searches: Sequence[str] = (),
    sent: Sequence[str] = (),
) -> Receipt:
    """Make the receipt of a turn that changed these files. `read_todos` parses a to-do file."""
    real = [change for change in changes if change.before != change.after]
    todos: list[tuple[str, str]] = []
    memories: list[str] = []
    for change in real:
        if change.path == TODO_FILE:
            todos += _todo_changes(read_todos(change.before or ""), read_todos(change.after or ""))
        elif change.path.startswith("memory/") and not change.path.startswith(INBOX):
            memories += [m for line in _lines(change)[0] if (m := _item(line))]
    return Receipt(
        tuple(file_change(change) for change in real),
        tuple(todos),
        tuple(memories),
        tuple(searches),
        tuple(dict.fromkeys(sent)),
    )


def _lines(change: Change) -> tuple[list[str], list[str]]:
    before, after = (change.before or "").splitlines(), (change.after or "").splitlines()
    diff = list(difflib.unified_diff(before, after, lineterm="", n=0))[2:]
    return [d[1:] for d in diff if d[:1] == "+"], [d[1:] for d in diff if d[:1] == "-"]


def file_change(change: Change) -> FileChange:
    """Return a change of a file with its line counts."""
    added, removed = _lines(change)
    action = (
        "created" if change.before is None else "deleted" if change.after is None else "changed"
    )
    return FileChange(change.path, action, len(added), len(removed))


def _item(line: str) -> str:
    found = re.match(r"\s*[-*+] (.+)", line)
    text = re.sub(r"[ \t]*<!--.*?-->", "", found.group(1)).strip() if found else ""
    return "" if text.startswith("~~") else text  # a superseded item is no new memory


def _todo_changes(before: Sequence[TodoLike], after: Sequence[TodoLike]) -> list[tuple[str, str]]:
    # A line may get its id only now, so a to-do without a partner by id is matched by its text.
    old = {todo.id or todo.text: todo for todo in before}
    kept = {todo.id for todo in after}
    texts = {todo.text: todo for todo in before if not todo.id or todo.id not in kept}
    found, seen = [], set()
    for todo in after:
        was = old.get(todo.id) or texts.get(todo.text)
        if was is None:
            found.append(("added", todo.text))
            continue
        seen.add(was.id or was.text)
        if was.done != todo.done:
            found.append(("done" if todo.done else "undone", todo.text))
    return found + [("removed", t.text) for key, t in old.items() if key not in seen]
