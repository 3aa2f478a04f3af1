"""Writes the record of a running turn: the earlier content of each file, and the tool calls."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from openclaw.history.record import Record, begin
from openclaw.history.turns import UNKNOWN, Kind, State, Turn, TurnStep
from openclaw.security.display import first_words
from openclaw.storage.home import Home
from openclaw.storage.safe_open import read_content
from openclaw.types import FileContent

PLACE = "history/turns"
ARCHIVE = "sessions/archive/"
SUBJECT = 72
"""Characters of a prompt that stand for it, as many as a line of git's log should have."""


def place_of(home: Home) -> Path:
    """The folder of the home's records."""
    return home.private / PLACE


def new_turn(words: str, kind: Kind = "turn", **given: Any) -> Turn:
    """A turn that begins now, with the first of these words as its subject."""
    at = datetime.now().astimezone().isoformat(timespec="milliseconds")  # many begin in a second
    return Turn(secrets.token_hex(4), kind, at, first_words(words, SUBJECT, SUBJECT // 2), **given)


class Journal:
    """The record of one running turn. `unknown` are files of which not all is kept; `show` is told
    of each change that a tool makes, also elsewhere, before it is recorded."""

    def __init__(self, home: Home, record: Record) -> None:
        self.home, self.record = home, record
        self.root = home.real_root
        self.unknown: list[str] = []
        self.show: Callable[[str, bytes | None, bytes | None], object]
        self.show = lambda name, before, after: None
        self._tools = {call.tool: None for call in record.calls}

    @classmethod
    def begin(cls, home: Home, turn: Turn, head: str = "") -> Journal:
        """A new record; `head` is the commit that the turn finds. OpenclawError when it cannot be
        written."""
        return cls(home, begin(place_of(home), turn, head))

    def writes(
        self, path: Path, before: bytes | None, after: bytes | None, *, at_once: bool = True
    ) -> Callable[[], None]:
        """A file of the home is about to be written. What is returned is called when it was not.
        Without `at_once` only what would be lost is on the disk by then: a power cut may leave a
        new file that is in no record."""
        try:
            name = path.relative_to(self.root).as_posix()
        except ValueError:
            self.show(str(path), before, after)
            return lambda: None
        if name.startswith((".openclaw/", ".git/")):
            return lambda: None
        self.show(name, before, after)
        mode = is_executable(path)
        step = TurnStep(
            name,
            self.record.put(before, executable=mode),
            self.record.put(after, executable=mode, at_once=at_once),
        )
        number = self.record.step(step, at_once=at_once or before is not None)
        return lambda: self.record.void(number)

    def intend(self, path: str, before: FileContent, after: FileContent) -> int:
        """A file will go from one content to another as a part of an undo; a number by which to
        replace that. It is on the disk when the record is sealed."""
        return self.record.step(self._step(path, before, after), at_once=False)

    def replace(self, number: int, path: str, before: FileContent, after: FileContent) -> None:
        """Something else will be written to that file, as it was changed meanwhile."""
        self.record.swap(number, self._step(path, before, after))

    def _step(self, path: str, before: FileContent, after: FileContent) -> TurnStep:
        was, new = (self._keep(held, at_once=True) for held in (before, after))
        return TurnStep(path, was, new)

    def changed(
        self,
        names: Iterable[str],
        before: Callable[[str], FileContent],
        after: Callable[[str], FileContent],
    ) -> Callable[[str], None]:
        """A command changes these files. What is returned is called with one that it did not."""
        steps = []
        for name in names:
            held = before(name), after(name)
            if not any(each and each[0] is None for each in held):  # their bytes are known
                self.show(name, *(each and each[0] for each in held))
            was, new = map(self._keep, held)
            if was != new or was == UNKNOWN:
                steps.append(TurnStep(name, was, new))
                self.unknown += [name] if UNKNOWN in (was, new) else []
        first = len(self.record.steps)
        self.record.step(*steps)
        numbers = {step.path: number for number, step in enumerate(steps, first)}

        def void(name: str) -> None:
            if name in numbers:
                self.record.void(numbers.pop(name))

        return void

    # -------- calls and the conversation

    def call(self, call_id: str, tool: str, given: Mapping[str, Any]) -> None:
        """A call begins."""
        self._tools[tool] = None
        self.record.add({"call": call_id, "tool": tool, "input": dict(given)})

    def ended(self, call_id: str, output: str, ok: bool) -> None:
        """A call has ended; no saved message holds it yet."""
        self.record.add({"ended": call_id, "output": output, "ok": ok})

    def saved(self) -> None:
        """The conversation is saved with all calls until now."""
        if self.record.calls:
            self.record.add({"saved": True})

    def talk(self, paths: Iterable[Path]) -> None:
        """The files of the conversation as they are before the turn. What is in the archive never
        changes, so that it is enough to know that it was there."""
        named = {self.home.relative(path): path for path in paths}
        self.record.add(
            *(
                {
                    "talk": name,
                    "before": UNKNOWN if ARCHIVE in name and path.exists() else self._put(name),
                }
                for name, path in named.items()
            )
        )

    def forget_talk(self) -> None:
        """The conversation goes on in other files; what became of these is not of this turn."""
        self.record.talk.clear()

    def finish(self, state: State, talk: Iterable[Path] = ()) -> None:
        """The turn is over. `talk` are the files of the conversation as it is now. A turn that
        changed nothing leaves no record."""
        now = dict.fromkeys((*self.record.talk, *(self.home.relative(path) for path in talk)))
        for name in now:
            before = self.record.talk.get(name)
            after = self._put(name) if before != UNKNOWN else UNKNOWN
            if after != before:  # on the disk with the last line
                self.record.step(TurnStep(name, before, after), at_once=False)
        if self.record.turn.steps or self.record.turn.kind != "turn":
            self.record.finish(state, list(self._tools))
        else:
            self.record.drop()

    def settle(self) -> None:
        """After a kill, void the steps that were announced but not written."""
        newest = {step.path: number for number, step in enumerate(self.record.steps) if step}
        for path, number in newest.items():
            step = self.record.steps[number]
            if step and step.before != step.after and self._put(path) == step.before:
                self.record.void(number)

    def _put(self, name: str) -> str | None:
        """Keep the content of a file; UNKNOWN when it is too large, unreadable or not a file."""
        return self._keep(read_content(self.root, name), at_once=True)

    def _keep(self, held: FileContent, *, at_once: bool = False) -> str | None:
        if held is None:
            return None
        data, program = held
        if data is None:
            return UNKNOWN
        return self.record.put(data, executable=program, at_once=at_once)


def is_executable(path: Path) -> bool:
    if os.name == "nt":
        return False
    with contextlib.suppress(OSError):
        return bool(path.stat().st_mode & 0o100)
    return False
