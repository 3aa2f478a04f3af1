"""Commands and Python code as tools."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from openclaw.security.credentials import MOST_HIDDEN, credentials
from openclaw.security.foreign_files import Learned
from openclaw.security.untrusted import strip
from openclaw.security.vault import Vault
from openclaw.storage.home import Home
from openclaw.storage.own_writes import watching
from openclaw.storage.readers import held
from openclaw.tools.paths import SPILL
from openclaw.tools.results import USUAL, Room, as_data
from openclaw.tools.shell import process, sandbox
from openclaw.tools.shell.output import MOST_CHANGES, UNKNOWN, Look, as_text, changed, disarm, look
from openclaw.tools.shell.process import (
    CMD,
    Finished,
    Limits,
    Show,
    group,
    joined,
    limited,
    posix_shell,
    run,
)
from openclaw.tools.tool import Form, Tool, tool
from openclaw.types import Action, Held, Ledger, ToolProblem

if TYPE_CHECKING:
    from openclaw.tools.shell.read_only import LineRules


SCRIPT = "/tmp/script.py"  # noqa: S108  in the sandbox, whose /tmp is its own
NAME = "script.py"


@dataclass(frozen=True, slots=True)
class ShellTools:
    """The tools that run programs. The vault learns the secrets of what a line reads unasked, so
    that they are known again when they come out backwards or in base64."""

    runner: Runner
    vault: Vault | None = None

    def tools(self) -> list[Tool]:
        forms = (Form("run", arguments=("command",)), Form("read", arguments=("command",)))
        return [
            tool(self.run_shell, forms=forms, action=self._shell_action, masks="code"),
            tool(self.run_python, effect="run", action=self._python_action, masks="code"),
        ]

    def run_shell(self, command: str) -> str:
        """Run a shell command in the home folder.

        Its paths are those of the file tools, for example workspace/notes.md.
        """
        line = command.strip()
        if not line or "\0" in line:
            raise ToolProblem("command is empty: give a command line, for example: ls workspace")
        rules = self._rules()
        reads = rules.reads(line)
        if self.vault and reads:
            for text in rules.texts(line):
                self.vault.mask(text)
        stays = reads or rules.stays(line)
        return self.runner.run(Order(shell(line), line.split()[0][:40], reads, stays))

    def run_python(self, code: str) -> str:
        """Run Python code in the home folder; print what is wanted."""
        if not code.strip():
            raise ToolProblem("code is empty: give Python code that prints its result.")
        with tempfile.TemporaryDirectory(prefix="openclaw-") as folder:
            script = Path(folder, NAME)
            script.write_text(code, encoding="utf-8", errors="replace")
            place = SCRIPT if self.runner.unconfined() is None else str(script)
            argv = (sys.executable, "-I", "-X", "utf8", place)
            return self.runner.run(Order(argv, "python", shown=((script, SCRIPT),)))

    def _shell_action(self, arguments: Mapping[str, Any]) -> Action:
        line = str(arguments["command"]).strip()
        rules = self._rules()
        if rules.reads(line):
            return Action("run_shell", "read", line, self._warning())
        return Action("run_shell", "run", line, self._warning(), held=rules.kept_by_git(line))

    def _python_action(self, arguments: Mapping[str, Any]) -> Action:
        code = str(arguments["code"])
        return Action(
            "run_python", "run", "", self._warning(), code, self._rules().kept_by_git(code)
        )

    def _rules(self) -> LineRules:
        from openclaw.tools.shell.read_only import LineRules

        return LineRules(self.runner.home, self.runner.unconfined() is None)

    def _warning(self) -> str:
        why = self.runner.unconfined()
        return "" if why is None else f"without a sandbox: {why}"


def shell(line: str) -> tuple[str, ...]:
    """The program that runs a command line: bash, which small models write for, else sh."""
    program = posix_shell()
    if program is None:
        return (os.environ.get("COMSPEC", "cmd.exe"), *CMD, line)
    return (program, "-c", line)


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
    layered: Callable[[Path], bool] = sandbox.is_overlay_available
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
            layer = stack.enter_context(sandbox.layer(root)) if layered else None
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

    def _hidden(self, root: Path, before: Look, layer: sandbox.Layer | None) -> tuple[Path, ...]:
        """What a command does not see; in a layer nobody listens at a socket."""
        found = credentials(root)
        if why := found.crowded(root):
            raise ToolProblem(f"It was not run: {why}.")
        return (*found.paths, *(() if layer else before.special[:MOST_HIDDEN]))

    def _finished(
        self, order: Order, room: sandbox.Room, confined: bool, layer: sandbox.Layer | None
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
        self, root: Path, layer: sandbox.Layer | None, *, fixed: bool
    ) -> Callable[[int], str]:
        watch = process.LimitWatch(self.limits, layer.upper if layer else root)
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
        self, before: Look, layer: sandbox.Layer, room: sandbox.Room
    ) -> tuple[list[str], list[str]]:
        """Bring what the command wrote into the home; what was changed, and what to tell of it."""
        from openclaw.tools.shell.change_set import Bringing, read

        self._last = before
        found = read(layer.root, layer.upper, sandbox.kept(room))
        counts = found.counts, process.written(layer.upper)  # as it was counted while it ran
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


PASSED = ("LANG", "LANGUAGE", "TZ", "USER", "LOGNAME")
PASSED_ON_WINDOWS = (
    "COMSPEC", "NUMBER_OF_PROCESSORS", "PATHEXT", "PROGRAMDATA", "PROGRAMFILES", "SYSTEMDRIVE",
    "SYSTEMROOT", "TEMP", "TMP", "WINDIR",
)  # fmt: skip
USUAL_PATH = "/usr/local/bin:/usr/bin:/bin"
FIXED = {
    "TERM": "dumb",
    "NO_COLOR": "1",
    "PAGER": "cat",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONUTF8": "1",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
}
# A repository may name programs that git then starts, and a folder may pose as a repository.
GIT_READING = (
    ("core.fsmonitor", "false"),
    ("core.hooksPath", os.devnull),
    ("diff.autoRefreshIndex", "false"),
    ("safe.bareRepository", "explicit"),
)


def environment(
    home: Home,
    given: Mapping[str, str],
    *,
    named: Sequence[str] = (),
    confined: bool,
    reading: bool,
) -> dict[str, str]:
    """What of the `given` variables a command gets, and what else.

    `named` are those that the settings add. HOME is the home of the agent, so that `~/workspace`
    means the same as everywhere. `reading` says that the command was not asked for, as it only
    reads: nothing then may make another program of it, neither a variable nor a folder of the
    user's own programs nor git.
    """
    root = os.path.realpath(home.root)
    found = {name: value for name, value in given.items() if _passed(name)}
    found |= FIXED
    found |= {"PATH": _path(given, root, reading), "HOME": root}
    found.setdefault("LANG", "C.UTF-8")
    if confined:
        found |= {"TMPDIR": "/tmp", "XDG_CACHE_HOME": "/tmp/cache"}  # noqa: S108  of the sandbox
    if reading:
        found |= {"GIT_OPTIONAL_LOCKS": "0", "GIT_CONFIG_COUNT": str(len(GIT_READING))}
        for number, (key, value) in enumerate(GIT_READING):
            found |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
        return found
    return found | {name: given[name] for name in named if name in given}


def program_path(given: Mapping[str, str], root: str) -> str:
    """The folders of programs, without those that the agent could put a program into."""
    return _path(given, root, reading=False)


def _passed(name: str) -> bool:
    if os.name == "nt" and name.upper() in PASSED_ON_WINDOWS:
        return True
    return name in PASSED or name.startswith("LC_")


def _path(given: Mapping[str, str], root: str, reading: bool) -> str:
    """The folders of programs, without those that the agent could put a program into, and for
    reading without those below the folders of users."""
    closed = [Path(root)]
    if reading:
        closed += [Path(given.get(name) or root) for name in ("HOME", "USERPROFILE")]
        closed += [Path("/home"), Path("/Users"), Path("/tmp")]  # noqa: S108
    kept = []
    for folder in map(Path, given.get("PATH", "").split(os.pathsep)):
        places = (folder, Path(os.path.realpath(folder)))
        if folder.is_absolute() and not any(p.is_relative_to(c) for p in places for c in closed):
            kept.append(str(folder))
    return os.pathsep.join(kept) or USUAL_PATH
