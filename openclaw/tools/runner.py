"""Runs a command over the home: confined where that is possible, its traces noticed, its end told
in few words."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

from openclaw.files.home import Home
from openclaw.safety.hidden import strip
from openclaw.safety.learned import Learned
from openclaw.shapes import Ledger, ToolProblem
from openclaw.tools import sandbox
from openclaw.tools.cgroup import group, joined
from openclaw.tools.changes import (
    MOST_CHANGES,
    UNKNOWN,
    Look,
    as_text,
    changed,
    disarm,
    look,
)
from openclaw.tools.credentials import credentials
from openclaw.tools.environment import environment
from openclaw.tools.limits import Limits, Watch, limited
from openclaw.tools.paths import SPILL
from openclaw.tools.process import Finished, run
from openclaw.tools.results import USUAL, Room, as_data

TIMEOUT_SECONDS = 30.0
SHOWN_CHANGES = 5

_NO_NETWORK = ("could not resolve", "name resolution", "network is unreachable", "not known")
_FIXED = "skills, sessions, settings, git data and the agent's own files cannot be changed here"


@dataclass(frozen=True, slots=True)
class Order:
    """A program to run. `reads` says that it is known to do nothing but read what may be read of
    the home, `stays` that it is known to do nothing but read the home; `shown` are files elsewhere
    that it needs (place outside, place in the sandbox)."""

    argv: tuple[str, ...]
    name: str
    reads: bool = False
    stays: bool = False
    shown: tuple[tuple[Path, str], ...] = ()


@dataclass(slots=True)
class Runner:
    """Runs over one home. `timeout` in seconds; `env` names variables that are handed on;
    `network` lets commands into the network, though not once untrusted text was read.
    `unconfined` says why there is no sandbox, None when there is one. `room` says how much of
    what a program printed is shown."""

    home: Home
    ledger: Ledger
    timeout: float = TIMEOUT_SECONDS
    env: tuple[str, ...] = ()
    network: bool = False
    unconfined: Callable[[], str | None] = sandbox.available
    limits: Limits = Limits()
    room: Room = USUAL
    _last: Look | None = field(default=None, init=False)

    def run(self, order: Order) -> str:
        """Run it and tell how it ended. Raises ToolProblem when it cannot be started."""
        confined = self.unconfined() is None
        before = look(self.home, self._last, contents=not order.reads)
        room = sandbox.Room(
            self.home,
            read_only=order.reads,
            keep_memory=self.ledger.tainted,
            network=self.network and not order.reads and not self.ledger.tainted,
            hidden=self._hidden() if confined else (),
            shown=order.shown,
        )
        names: list[str] = []
        try:
            finished = self._finished(order, room, confined)
            self.ledger.exit = finished.code
        finally:
            if not order.reads:
                names = self._notice(before)
        offline = confined and not room.network
        printed = strip(finished.text)
        # Else anybody may have written it.
        if printed.strip() and not (order.reads or order.stays or offline):
            printed = self._foreign(printed, f"command: {order.name}", finished)
        return told(replace(finished, text=printed), self.home, offline, names)

    def _hidden(self) -> tuple[Path, ...]:
        root = Path(os.path.realpath(self.home.root))
        found = credentials(root)
        if why := found.crowded(root):
            raise ToolProblem(f"It was not run: {why}.")
        return tuple(found.paths)

    def _finished(self, order: Order, room: sandbox.Room, confined: bool) -> Finished:
        argv: Sequence[str] = order.argv
        if os.name == "posix":
            argv = limited(argv, self.limits, own_users=confined)
        if confined:
            argv = sandbox.wrap(argv, room)
        root = Path(os.path.realpath(self.home.root))
        env = environment(
            self.home, os.environ, named=self.env, confined=confined, reading=order.reads
        )
        try:
            with (
                sandbox.placeholders(room) if confined else nullcontext(),
                group(self.limits.processes) as made,
            ):
                return run(
                    joined(argv, made),
                    cwd=root,
                    env=env,
                    timeout=self.timeout,
                    max_chars=self.room.page,
                    spill=root / SPILL,
                    watch=Watch(self.limits, root),
                    contained=confined,
                )
        except (OSError, ValueError) as error:  # too long, or a NUL in it
            raise ToolProblem(f"It could not be started: {error}.") from error

    def _foreign(self, printed: str, source: str, finished: Finished) -> str:
        """What a command printed, as data; the file with the whole of it counts as that too."""
        if finished.spilled:
            Learned(self.home).note(self.home.relative(finished.spilled), source, "")
        return as_data(printed, source, self.ledger, replace(self.room, chars=2 * self.room.page))

    def _notice(self, before: Look) -> list[str]:
        """Write the changed files into the ledger; at most 200, the receipt is for people."""
        after = look(self.home, before)
        disarm(after)
        self._last = after
        found = changed(before, after)
        for name, content in list(found.items())[:MOST_CHANGES]:
            self.ledger.before.setdefault(name, as_text(content))
        for name in found:  # what the model has read of it is out of date
            self.ledger.read.pop(name, None)
        known = {name: content for name, content in found.items() if content is not UNKNOWN}
        others = [name for name in found if name not in known]
        self.ledger.altered(known, others, before.programs)
        return list(found)


def told(finished: Finished, home: Home, offline: bool, names: Sequence[str]) -> str:
    """How a command ended, what it printed and changed, and what to do about the rest."""
    if finished.code is None:
        head = f"Stopped after {finished.seconds:.0f} s: {finished.stopped}."
    elif finished.code < 0:
        head = f"Ended by signal {-finished.code}."
    else:
        head = f"Exit code {finished.code}."
    lines = [head if finished.text.strip() else f"{head} It printed nothing."]
    if finished.text.strip():
        lines.append(finished.text.rstrip("\n"))
    if finished.spilled:
        path = home.relative(finished.spilled)
        what = "All but what was not kept" if finished.lost else "All of it"
        lines.append(f"[{what}: read_file {path}, for the rest from_line {finished.gap}]")
    if names:
        more = f" and {len(names) - SHOWN_CHANGES} more" if len(names) > SHOWN_CHANGES else ""
        lines.append(f"[Changed: {', '.join(names[:SHOWN_CHANGES])}{more}]")
    if finished.code != 0 and offline:
        lines += _hints(finished.text)
    return "\n".join(lines)


def _hints(text: str) -> list[str]:
    folded, hints = text.casefold(), []
    if "read-only file system" in folded:
        hints.append(f"[Outside the home nothing can be written; {_FIXED}]")
    if any(word in folded for word in _NO_NETWORK):
        hints.append("[Commands have no network; fetch_url reads a page]")
    return hints
