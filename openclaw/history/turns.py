"""The types of the history of a home: turns, each with the files that it changed."""

from __future__ import annotations

from typing import Literal

from openclaw.frozen import frozen

Kind = Literal["turn", "outside", "undo", "redo", "sync"]
Scope = Literal["all", "files", "talk"]
State = Literal["running", "done", "interrupted"]

UNKNOWN = "?"  # stands for a content that was not kept: the file was too large
GIT = "git:"  # how the name of a content begins that git holds; then mode and object follow
FILE, PROGRAM = "100644", "100755"  # git's modes of a plain file and of one that can be run
EXECUTABLE = ".x"  # how the name of the content of such a one ends that is kept in a record
TALK = "sessions/"  # files below this are the conversation of a turn; the others are its files


@frozen
class TurnStep:
    """A change of one file.

    path: relative to the home, with slashes
    before, after: names of contents (`History.read` reads them), None for "there was no file"
    """

    path: str
    before: str | None
    after: str | None

    @property
    def is_talk(self) -> bool:
        return self.path.startswith(TALK)


@frozen
class Turn:
    """One entry of the history.

    id: 8 hex digits
    kind: "outside" for edits that others had made to a file before a turn changed it, "sync" for
        what came from another device
    at: ISO 8601 time with offset
    number: counts the turns of a session from 1
    steps: in the order in which they were made
    of: the turns that an undo takes back, the undo that a redo takes back, or the other device's
        commit
    commit: the commit that holds the turn, "" while it is only in .openclaw/history
    undone: the scope that was taken back, None for none
    """

    id: str
    kind: Kind = "turn"
    at: str = ""
    subject: str = ""
    session: str = ""
    number: int = 0
    model: str = ""
    tools: tuple[str, ...] = ()
    steps: tuple[TurnStep, ...] = ()
    state: State = "done"
    of: tuple[str, ...] = ()
    scope: Scope = "all"
    commit: str = ""
    undone: Scope | None = None

    @property
    def lock(self) -> str:
        """The name of the lock that a running turn holds. A running turn without it was killed."""
        if self.kind != "turn":
            return "undo"
        return f"session-{self.session}" if self.session else f"command-{self.id}"

    def within(self, scope: Scope) -> tuple[TurnStep, ...]:
        return tuple(s for s in self.steps if scope == "all" or s.is_talk == (scope == "talk"))

    def leaves(self, scope: Scope) -> bool:
        """Return True when a step of this scope is not taken back."""
        left = self.within(scope)
        if self.undone in ("files", "talk"):
            left = tuple(step for step in left if step.is_talk == (self.undone == "files"))
        return bool(left) and self.undone != "all"


def is_program(name: str | None) -> bool:
    """Return True when a content of this name belonged to an executable file."""
    text = name or ""
    return text.startswith(f"{GIT}{PROGRAM}:") or text.endswith(EXECUTABLE)
