"""Values that several packages exchange. Nothing here opens, reads or prints anything."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal, Protocol

from openclaw.frozen import frozen

Effect = Literal["read", "write", "read-elsewhere", "write-elsewhere", "run", "get", "send"]
Mode = Literal["read-only", "ask", "edit", "full"]
PromptKind = Literal["", "own", "order"]
"""A question that is likely about the user's own things, an order, or anything else ("")."""

CHANGING: frozenset[Effect] = frozenset({"write", "write-elsewhere", "run", "send"})
"""Effects that may change something."""


@frozen
class Action:
    """What a call would do, as its tool derives it from the arguments.

    target: what a rule or a grant can name: a path relative to the home, an absolute path
        elsewhere, a whole command line, the host of a URL; "" without any
    text: shown with the target (the URL)
    code: a program that the call runs
    held: the credentials kept by git that a command line may show
    program: a program of this machine that receives the arguments
    """

    tool: str
    effect: Effect
    target: str = ""
    text: str = ""
    code: str = ""
    held: str = ""
    program: str = ""


class ToolProblem(Exception):
    """A mistake of the model; it reads the short text, which names what is valid."""


class ForeignProblem(ToolProblem):
    """A problem in foreign words (a server's error text): as untrusted as a result."""


@frozen
class Change:
    """A file of the home that a turn changed, or would change. None means "no file"."""

    path: str
    before: str | None
    after: str | None


@frozen
class Shown:
    """Lines of a file that the model was shown, the first and the last, from 1. `path` is relative
    to the home; a file elsewhere has the name by which the user attached it."""

    path: str
    start_line: int
    end_line: int


@frozen
class CallRecord:
    """A requested call and its outcome, for the audit log.

    by: who decided: "policy", "user", "nobody" (no one could be asked), "hook", or the grant; ""
        without a decision
    exit: exit code of a program
    bytes: size of the result
    """

    tool: str
    effect: str = ""
    target: str = ""
    decision: Literal["allow", "deny", ""] = ""
    by: str = ""
    ok: bool = False
    exit: int | None = None
    seconds: float = 0.0
    bytes: int = 0


BeforeWrite = Callable[[Path, bytes | None, bytes | None], Callable[[], None]]
"""Called before a file changes, with its content before and after (None: no file). Returns a
function to call when the change did not happen."""


def local_time() -> datetime:
    """The present time of the wall clock, with its zone."""
    return datetime.now().astimezone()


def timestamp() -> str:
    """Return the present time as ISO 8601 with offset, to the second."""
    return local_time().isoformat(timespec="seconds")


def to_timestamp(text: str) -> float:
    """The seconds since the epoch of an ISO time, 0.0 for anything else."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        return 0.0


class KeepsWrites(Protocol):
    """A store that calls `mask` with the words that it is given, and `keep` before it writes."""

    keep: BeforeWrite
    mask: Callable[[str], str]


def record_no_write(path: Path, before: bytes | None, after: bytes | None) -> Callable[[], None]:
    """Record nothing."""
    return lambda: None


FileContent = tuple[bytes | None, bool] | None
"""The content of a file: its bytes (None where they are not kept) and whether it is executable;
None for no file."""
BeforeCommand = Callable[
    [Iterable[str], Callable[[str], FileContent], Callable[[str], FileContent]],
    Callable[[str], None],
]
"""Called with the names of the files that a command changes and two functions for the content of
each before and after. Returns a function to call with a file whose change did not happen."""


def record_no_changes(
    names: Iterable[str], before: Callable[[str], FileContent], after: Callable[[str], FileContent]
) -> Callable[[str], None]:
    """Record nothing."""
    return lambda name: None


class Recorder(Protocol):
    """Records changes: of single files, and of all files that a command changes."""

    @property
    def keep(self) -> BeforeWrite: ...

    @property
    def altered(self) -> BeforeCommand: ...


class Unrecorded:
    """A recorder that records nothing."""

    keep = staticmethod(record_no_write)
    altered = staticmethod(record_no_changes)


UNRECORDED = Unrecorded()


@dataclass(slots=True)
class TurnChanges:
    """What the tools of one turn did. The tools fill it, the receipt reads it.

    before: content of each written file before the turn, by home-relative path; None: no file
    read: MD5 of each file when this session last read or wrote it, by home-relative path, so that
        an overwrite of an unread or since changed file can be refused
    held: contents of files read in this turn, by MD5, so that later changes can be merged
    searches: the searches that were made
    sent: tools that did something elsewhere, which no file here shows
    refused: the calls that were refused
    marker: 8 random hex digits that fence untrusted text
    foreign: sources of untrusted text seen in this turn ("web: example.org")
    inherited: sources from earlier turns of the conversation, and from the request itself
        (descriptions of tools by their servers)
    request: the words of this turn
    typed: the user typed them; else they were piped in or come from an offered to-do
    shown: lines of files in the result of the newest call, by the number of the result's line, from
        0, where they begin
    exit: exit code of the newest call's program
    only_read: that program changed no file and had no network
    allowed: `allowed-tools` of the skill that is followed; empty: all tools
    keeper: called before each file is written
    altered: called with the files that a command changes
    """

    before: dict[str, str | None] = field(default_factory=dict)
    read: dict[str, str] = field(default_factory=dict)
    held: dict[str, bytes] = field(default_factory=dict)
    searches: list[str] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    marker: str = field(default_factory=lambda: os.urandom(4).hex())
    foreign: list[str] = field(default_factory=list)
    inherited: tuple[str, ...] = ()
    request: str = ""
    typed: bool = True
    shown: dict[int, Shown] = field(default_factory=dict)
    exit: int | None = None
    only_read: bool = False
    allowed: tuple[str, ...] = ()
    keeper: BeforeWrite = record_no_write
    altered: BeforeCommand = record_no_changes

    def keep(self, path: Path, before: bytes | None, after: bytes | None) -> Callable[[], None]:
        """See `BeforeWrite`."""
        return self.keeper(path, before, after)

    @property
    def sources(self) -> tuple[str, ...]:
        """Who else may be behind what the model asks for."""
        return tuple(dict.fromkeys((*self.foreign, *self.inherited)))

    @property
    def tainted(self) -> bool:
        """True when somebody other than the user may be behind what the model asks for."""
        return bool(self.foreign or self.inherited)


Category = Literal["preference", "fact", "decision", "entity", "other"]


@frozen
class WebPage:
    """A page as text. `title` is one line, "" when it has none."""

    title: str
    text: str
