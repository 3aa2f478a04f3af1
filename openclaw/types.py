"""Values that several rooms exchange. Nothing here opens, reads or prints anything."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

Role = Literal["system", "user", "assistant", "tool"]
Effect = Literal["read", "write", "read-elsewhere", "write-elsewhere", "run", "get", "send"]
Mode = Literal["read-only", "ask", "edit", "full"]

CHANGING: frozenset[Effect] = frozenset({"write", "write-elsewhere", "run", "send"})
"""What may leave the world other than it was."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call as the model asked for it; `arguments` are not yet checked."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Action:
    """What a call would do to the world, told by its tool from the arguments.

    `target` is what a rule or a grant can name: a path relative to the home, an absolute path
    elsewhere, a whole command line, the host of a URL; "" when there is none of these. `text` is
    shown with it (the URL), `code` a program that it runs. `held` says which credentials git keeps
    that a command line may show, `program` names one of this machine that is handed the arguments.
    """

    tool: str
    effect: Effect
    target: str = ""
    text: str = ""
    code: str = ""
    held: str = ""
    program: str = ""


MOST_IMAGE_BYTES = 10_000_000


@dataclass(frozen=True, slots=True)
class Image:
    """An image that goes with a message of the user. `path` is relative to the home, absolute for a
    file elsewhere; `kind` png, jpeg, gif or webp. `data` are its bytes: None while they were not
    read, empty when the file is not as it was."""

    path: str
    kind: str
    sha256: str
    data: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Message:
    """One message as it goes to a model. `tool_name` and `tool_call_id` only for role "tool",
    `images`, each with its bytes, only for role "user"."""

    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_name: str = ""
    tool_call_id: str = ""
    images: tuple[Image, ...] = ()


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts and times of one or more model calls. Seconds are wall clock; `read_seconds` are
    those in which the prompt was read, where the server tells them."""

    prompt_tokens: int = 0
    cached_tokens: int = 0
    generated_tokens: int = 0
    first_token_seconds: float = 0.0
    total_seconds: float = 0.0
    calls: int = 0
    read_seconds: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        """Sum of both; the first token is the one that came first, i.e. of the left side."""
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.cached_tokens + other.cached_tokens,
            self.generated_tokens + other.generated_tokens,
            self.first_token_seconds if self.calls else other.first_token_seconds,
            self.total_seconds + other.total_seconds,
            self.calls + other.calls,
            self.read_seconds + other.read_seconds,
        )


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A call that was made: `input` as parsed, `output` as the model was given it."""

    id: str
    tool: str
    input: Mapping[str, Any]
    output: str
    ok: bool


@dataclass(frozen=True, slots=True)
class Entry:
    """One message of a session file.

    `content` is what was said; `context` the tail block that went with a user's message; `raw` the
    text the model really generated where it differs from `content`; `hint` what followed the
    observation of the last call. With these the next request repeats this one byte for byte.
    `thought` is what the model thought before. `record` says what the turn was made of, for those
    who look inside or run it again: on the user's message what `openclaw.agent.recording`
    notes, on the turn's last one how it ended. `at` is an ISO 8601 time with offset; `extra` are
    keys of newer versions, kept as they are. `images` go with a user's message; the file holds no
    bytes of them.
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
    record: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    images: tuple[Image, ...] = ()


class ToolProblem(Exception):
    """A mistake of the model's, told to the model as an observation: short, names what is valid."""


class ForeignProblem(ToolProblem):
    """A problem in words that are not ours (a server's error text): untrusted, as a result is."""


@dataclass(frozen=True, slots=True)
class Change:
    """A file of the home that a turn changed, or would. None stands for "there was no file"."""

    path: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class Deed:
    """A call that was asked for, and what came of it, for the record.

    `by` says who decided: "policy", "user", "nobody" (who could be asked), "hook", or the grant; ""
    when it did not come that far. `exit` is the code a program ended with, `bytes` the size of the
    result.
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


@dataclass(frozen=True, slots=True)
class Material:
    """Text, or an image, that the user hands over beside the prompt. `path` is that of a file of
    the home; "" for what comes from elsewhere: standard input, other files."""

    label: str
    text: str
    path: str = ""
    image: Image | None = None


Keep = Callable[[Path, bytes | None, bytes | None], Callable[[], None]]
"""Is told that a file is about to go from one content to another (None: there is none); what it
returns is called when that did not happen."""


def keep_nothing(path: Path, before: bytes | None, after: bytes | None) -> Callable[[], None]:
    """Keeps no record of what is written."""
    return lambda: None


Held = tuple[bytes | None, bool] | None
"""What a file holds: its bytes, None where they are not kept, and whether it can be run; None for
no file."""
Altered = Callable[
    [Iterable[str], Callable[[str], Held], Callable[[str], Held]], Callable[[str], None]
]
"""Is told which files a command changes, and how to find out what each held before and holds then;
what it returns is called with a file of which that did not happen."""


def keep_no_changes(
    names: Iterable[str], before: Callable[[str], Held], after: Callable[[str], Held]
) -> Callable[[str], None]:
    """Keeps no record of what was changed."""
    return lambda name: None


class Recorder(Protocol):
    """Keeps a record of what is changed: of files that are written, and of whole folders."""

    def keep(self, path: Path, before: bytes | None, after: bytes | None) -> Callable[[], None]:
        """See `Keep`."""

    def altered(
        self, names: Iterable[str], before: Callable[[str], Held], after: Callable[[str], Held]
    ) -> Callable[[str], None]:
        """See `Altered`."""


class Unrecorded:
    """The recorder of what stands in no record."""

    keep = staticmethod(keep_nothing)
    altered = staticmethod(keep_no_changes)


UNRECORDED = Unrecorded()


def _marker() -> str:
    return os.urandom(4).hex()


@dataclass(slots=True)
class Ledger:
    """What the tools of one turn did, filled by the tools, read by the receipt.

    `read` holds the MD5 each file had when this session last read or wrote it, by home-relative
    path, so that an overwrite of an unread or since changed file can be refused; `held` what files
    read in this turn held, by MD5, so that changes since can be merged. `marker` is 8
    random hex digits that fence untrusted text. `foreign` names the sources of untrusted text seen
    in this turn ("web: example.org"), `inherited` those of earlier turns of the conversation, and
    those of which the request itself tells (what servers say of their tools).
    `sent` names the tools by which something was done elsewhere, which no file here shows.
    `request` are the words of this turn, `typed` whether the user typed them: they may have been
    piped in, or be those of a to-do that was offered; `exit` is the code that the program of
    the newest call ended with. `allowed` is the `allowed-tools` of the skill that is followed;
    empty when it leaves all tools. `keeper` is told of each file before it is written; `altered`
    which files a command changes, with what they held and hold then.
    """

    before: dict[str, str | None] = field(default_factory=dict)
    read: dict[str, str] = field(default_factory=dict)
    held: dict[str, bytes] = field(default_factory=dict)
    searches: list[str] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    marker: str = field(default_factory=_marker)
    foreign: list[str] = field(default_factory=list)
    inherited: tuple[str, ...] = ()
    request: str = ""
    typed: bool = True
    exit: int | None = None
    allowed: tuple[str, ...] = ()
    keeper: Keep = keep_nothing
    altered: Altered = keep_no_changes

    def keep(self, path: Path, before: bytes | None, after: bytes | None) -> Callable[[], None]:
        """See `Keep`."""
        return self.keeper(path, before, after)

    @property
    def tainted(self) -> bool:
        """Whether anybody but the user may be behind what the model asks for."""
        return bool(self.foreign or self.inherited)


@dataclass(frozen=True, slots=True)
class Waiting:
    """The model is not ready yet; `message` is for the user, for example "loading model".

    With `share`, from 0 to 1, it tells how far that has come: it is shown for the moment and may
    come again and again. An empty one, which only `Model.warm` gives, has nothing to say: it is a
    moment to stop in."""

    message: str
    share: float | None = None


Category = Literal["preference", "fact", "decision", "entity", "other"]


@dataclass(frozen=True, slots=True)
class Page:
    """A page as text. `title` is one line, "" when it has none."""

    title: str
    text: str
