"""Runs a command over the home: confined where that is possible, its traces noticed, its end told
in few words."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from openclaw.files.home import Home
from openclaw.files.own_writes import watching
from openclaw.files.plain import held
from openclaw.safety.hidden import strip
from openclaw.safety.learned import Learned
from openclaw.shapes import Held, Ledger, ToolProblem
from openclaw.tools import limits, overlay, sandbox
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
from openclaw.tools.credentials import MOST_HIDDEN, credentials
from openclaw.tools.environment import environment
from openclaw.tools.limits import Limits, limited
from openclaw.tools.paths import SPILL
from openclaw.tools.process import Finished, Show, run
from openclaw.tools.results import USUAL, Room, as_data

TIMEOUT_SECONDS = 30.0
SHOWN_CHANGES = 5
THEIRS = ("sessions", ".git", ".openclaw")
"""What no command has a business with, and openclaw writes all the time."""

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
    `unconfined` says why there is no sandbox, None when there is one; `layered` whether what a
    command writes in it can land in a layer over the home. `room` says how much of what a program
    printed is shown to the model, `show` is told of it while it runs."""

    home: Home
    ledger: Ledger
    timeout: float = TIMEOUT_SECONDS
    env: tuple[str, ...] = ()
    network: bool = False
    unconfined: Callable[[], str | None] = sandbox.available
    layered: Callable[[Path], bool] = overlay.available
    limits: Limits = Limits()
    room: Room = USUAL
    show: Show | None = None
    _last: Look | None = field(default=None, init=False)

    def run(self, order: Order) -> str:
        """Run it and tell how it ended. Raises ToolProblem when it cannot be started."""
        try:
            return self._run(order, self.unconfined() is None)
        except OSError as error:  # of what stands beside it: the disk is full
            raise ToolProblem(f"It could not be run: {error}.") from error

    def _run(self, order: Order, confined: bool) -> str:
        root = Path(os.path.realpath(self.home.root))
        layered = confined and not order.reads and self.layered(root)
        fixed = sandbox.FIXED_FILES if confined else ()
        changed: list[str] = []
        notes: list[str] = []
        with ExitStack() as stack:
            layer = stack.enter_context(overlay.layer(root)) if layered else None
            alone = order.reads or layered
            others = None if alone else stack.enter_context(watching(root, fixed))
            before = look(self.home, self._last, contents=not order.reads)
            room = sandbox.Room(
                self.home,
                read_only=order.reads,
                keep_memory=self.ledger.tainted,
                network=self.network and not order.reads and not self.ledger.tainted,
                hidden=self._hidden(root, before, layer) if confined else (),
                shown=order.shown,
                layered=layer is not None,
            )
            try:
                finished = self._finished(order, room, confined, layer)
                self.ledger.exit = finished.code
            finally:
                if layer:
                    changed, notes = self._bring(before, layer, room)
                elif others:
                    theirs = sandbox.kept(room) if confined else THEIRS
                    changed = self._notice(before, theirs, others.written())
        offline = confined and not room.network
        printed = strip(finished.text)
        # Else anybody may have written it.
        if printed.strip() and not (order.reads or order.stays or offline):
            printed = self._foreign(printed, f"command: {order.name}", finished)
        return told(replace(finished, text=printed), self.home, offline, changed, notes)

    def _hidden(self, root: Path, before: Look, layer: overlay.Layer | None) -> tuple[Path, ...]:
        """What a command does not see; in a layer nobody listens at a socket."""
        found = credentials(root)
        if why := found.crowded(root):
            raise ToolProblem(f"It was not run: {why}.")
        return (*found.paths, *(() if layer else before.special[:MOST_HIDDEN]))

    def _finished(
        self, order: Order, room: sandbox.Room, confined: bool, layer: overlay.Layer | None
    ) -> Finished:
        argv: Sequence[str] = order.argv
        if os.name == "posix":
            argv = limited(argv, self.limits, own_users=confined)
        if confined:
            argv = sandbox.wrap(argv, room)
        if layer:
            argv = layer.over(argv)
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
                    watch=self._watch(root, layer, fixed=confined and not order.reads),
                    show=self.show,
                    contained=confined,
                )
        except (OSError, ValueError) as error:  # too long, or a NUL in it
            raise ToolProblem(f"It could not be started: {error}.") from error

    def _watch(
        self, root: Path, layer: overlay.Layer | None, *, fixed: bool
    ) -> Callable[[int], str]:
        watch = limits.Watch(self.limits, layer.upper if layer else root)
        return watch if layer or not fixed else _untouched(root, watch)

    def _foreign(self, printed: str, source: str, finished: Finished) -> str:
        """What a command printed, as data; the file with the whole of it counts as that too."""
        if finished.spilled:
            Learned(self.home).note(self.home.relative(finished.spilled), source, "")
        return as_data(printed, source, self.ledger, replace(self.room, chars=2 * self.room.page))

    def _notice(
        self, before: Look, theirs: Collection[str], written: Mapping[str, str]
    ) -> list[str]:
        """Write the changed files into the ledger; at most 200, the receipt is for people. `theirs`
        are files and folders that the command did not change, `written` is what openclaw itself
        has written meanwhile; where the command has changed such a file too, it is not known what
        that held before."""
        after = look(self.home, before)
        disarm(after)
        self._last = after
        found = changed(before, after)
        for name in list(found):
            mine = written.get(name)
            if _is_in(theirs, name) or (mine and mine == _sha256(after.root, name)):
                del found[name]
            elif mine:
                found[name] = UNKNOWN
        for name, content in list(found.items())[:MOST_CHANGES]:
            self.ledger.before.setdefault(name, as_text(content))
        for name in found:  # what the model has read of it is out of date
            self.ledger.read.pop(name, None)

        def was(name: str) -> Held:
            content = found[name]
            data = None if content is UNKNOWN else content
            return None if content is None else (data, name in before.programs)

        self.ledger.altered(found, was, lambda name: held(after.root, name))
        return list(found)

    def _bring(
        self, before: Look, layer: overlay.Layer, room: sandbox.Room
    ) -> tuple[list[str], list[str]]:
        """Bring what the command wrote into the home; what was changed, and what to tell of it."""
        from openclaw.tools.change_set import Bringing, read  # only needed behind a command

        self._last = before
        found = read(layer.root, layer.upper, sandbox.kept(room))
        counts = found.counts, limits.written(layer.upper)  # as it was counted while it ran
        if why := next(filter(None, (self.limits.exceeded(*each) for each in counts)), ""):
            return [], [f"nothing of what it wrote was kept, as it {why}"]
        bringing = Bringing(found, before, self.ledger)
        bringing.bring()
        for name in bringing.changed:
            self.ledger.read.pop(name, None)
        return bringing.changed, bringing.notes


def _is_in(places: Collection[str], name: str) -> bool:
    """Whether it is one of these files, or lies in one of these folders."""
    return any(
        str(place) in places for place in (PurePosixPath(name), *PurePosixPath(name).parents)
    )


def _sha256(root: Path, name: str) -> str:
    found = held(root, name)
    return hashlib.sha256(found[0]).hexdigest() if found and found[0] is not None else ""


def _untouched(root: Path, watch: Callable[[int], str]) -> Callable[[int], str]:
    """Also looks whether a file that is fixed was replaced outside: then it is not fixed any
    more."""
    known = {name: _number(root / name) for name in sandbox.FIXED_FILES}

    def why(process: int) -> str:
        found = (name for name, number in known.items() if _number(root / name) != number)
        name = next(found, "")
        return f"{name}, which is fixed for it, was saved meanwhile" if name else watch(process)

    return why


def _number(path: Path) -> int:
    try:
        return path.lstat().st_ino
    except OSError:
        return 0


def told(
    finished: Finished, home: Home, offline: bool, names: Sequence[str], notes: Sequence[str] = ()
) -> str:
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
    if notes:
        more = f"; and {len(notes) - SHOWN_CHANGES} more" if len(notes) > SHOWN_CHANGES else ""
        lines.append(f"[{'; '.join(notes[:SHOWN_CHANGES])}{more}]")
    if finished.code != 0 and offline:
        lines += _hints(finished.text)
    return "\n".join(lines)


def _hints(text: str) -> list[str]:
    folded, hints = text.casefold(), []
    if "read-only file system" in folded:
        hints.append(f"[Outside the home nothing can be written; {_FIXED}]")
    if "cross-device link" in folded:
        hints.append("[A folder that was there before is moved by mv or shutil.move]")
    if any(word in folded for word in _NO_NETWORK):
        hints.append("[Commands have no network; fetch_url reads a page]")
    return hints
