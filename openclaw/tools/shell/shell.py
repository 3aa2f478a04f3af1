"""The tools `run_shell` and `run_python`, and the runner that starts their programs.

What a line does is tried, not read: in the sandbox, without network, it runs unasked, and what it
writes is thrown away. When it wrote nothing, that was all; else it is asked for and run again.

`ShellTools` knows which lines may be tried, `Runner` runs them and records what they changed,
`environment` chooses the variables that a command gets.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path, PurePosixPath
from typing import Any

from openclaw.errors import OpenclawError
from openclaw.frozen import frozen
from openclaw.security.credentials import MAX_HIDDEN, find_credentials, why_denied
from openclaw.security.display import some_of
from openclaw.security.masking import Masker, no_secrets
from openclaw.security.untrusted import strip_hidden
from openclaw.storage.atomic import watch_writes
from openclaw.storage.home import Home
from openclaw.storage.safe_open import read_content, read_text
from openclaw.tools.results import PAGE_CHARS, CutText, excerpt, fence_cut, spill, wrap_lines
from openclaw.tools.shell import overlay, process, sandbox
from openclaw.tools.shell.change_set import ChangeMover, has_changes, read_changes
from openclaw.tools.shell.git_credentials import NAMES_GIT, find_committed_credentials
from openclaw.tools.shell.home_state import (
    MAX_CHANGES,
    UNKNOWN,
    HomeFiles,
    as_text,
    changed_files,
    drop_setuid,
    scan_home,
)
from openclaw.tools.shell.named_files import named_files
from openclaw.tools.shell.output import with_print
from openclaw.tools.shell.process import (
    CMD,
    CommandLimits,
    FinishedRun,
    ShowOutput,
    control_group,
    join_group,
    posix_shell,
    run,
    with_limits,
)
from openclaw.tools.shell.sandbox import SandboxOptions
from openclaw.tools.tool import CallForm, Tool, tool
from openclaw.types import Action, FileContent, ToolProblem, TurnChanges

SCRIPT = "/tmp/script.py"  # noqa: S108  in the sandbox, whose /tmp is its own
NAME = "script.py"


MAX_LEARNED = 50
MAX_BYTES = 200_000


@frozen
class ShellTools:
    """The tools that run programs. The masker learns the secrets in the files of a line, and
    so recognizes them when they come out backwards or in base64."""

    runner: Runner
    masker: Masker = field(default_factory=no_secrets)

    def tools(self) -> list[Tool]:
        forms = (CallForm("run", arguments=("command",)), CallForm("read", arguments=("command",)))
        shell = tool(self.run_shell, forms=forms, action=self._shell_action, masks="code")
        return [
            replace(shell, trial=self.try_shell),
            tool(self.run_python, effect="run", action=self._python_action, masks="code"),
        ]

    def run_shell(self, command: str) -> str:
        """Run a shell command in the home folder.

        Its paths are those of the file tools, for example workspace/notes.md.
        """
        order = _read_line(command)
        # What a line prints that needs no network is the home's, and not data of others.
        if self.runner.is_online() and (text := self.try_shell(command)) is not None:
            return text
        self._learn_secrets(command)
        return self.runner.run(order)

    def try_shell(self, command: str) -> str | None:
        """See `Tool.trial`."""
        order = _read_line(command)
        if self.runner.unconfined() is not None or order == self.runner.wants_more:
            return None
        closed = self._closed_to(command)
        if closed is None or any(name in command for name in self.runner.env):
            return None
        self._learn_secrets(command)
        return self.runner.try_out(order, closed)

    def run_python(self, code: str) -> str:
        """Run Python code in the home folder; print what is wanted."""
        if not code.strip():
            raise ToolProblem("code is empty: give Python code that prints its result.")
        with tempfile.TemporaryDirectory(prefix="openclaw-") as folder:
            script = Path(folder, NAME)
            script.write_text(with_print(code), encoding="utf-8", errors="replace")
            place = SCRIPT if self.runner.unconfined() is None else str(script)
            argv = (sys.executable, "-I", "-X", "utf8", place)
            return self.runner.run(ProgramCall(argv, "python", shown=((script, SCRIPT),)))

    def _closed_to(self, line: str) -> tuple[Path, ...] | None:
        """What a line does not see, beside credentials, when it runs unasked: the data of git,
        unless it names git and git holds no credentials. None when it may not run unasked."""
        found = find_credentials(self.runner.home.real_root)
        if not found.whole:
            return None
        if NAMES_GIT.search(line):
            clean = find_committed_credentials(self.runner.home, confined=True) == ""
            return () if clean and not _GIT_DATA.search(line) else None
        data = [place / ".git" for place in found.repositories]
        data += [place / "objects" for place in found.repositories if (place / "HEAD").exists()]
        closed = tuple(path for path in data if path.exists() and not path.is_symlink())
        return closed if len(found.paths) + len(closed) <= MAX_HIDDEN else None

    def _learn_secrets(self, line: str) -> None:
        """Let the masker learn the secrets of the first files of a line, of any file when it
        names none and may read one."""
        root = self.runner.home.real_root
        names = named_files(root, line) or ([""] if _READS_MORE.search(line) else [])
        files = chain.from_iterable(_files_below(root / name) for name in names)
        for path in islice(files, MAX_LEARNED):
            with suppress(OSError, OpenclawError):
                own = path.is_relative_to(root / ".openclaw") or why_denied(path)
                if not own and path.lstat().st_size <= MAX_BYTES:
                    self.masker.mask(read_text(path))

    def _shell_action(self, arguments: Mapping[str, Any]) -> Action:
        line = str(arguments["command"]).strip()
        return Action("run_shell", "run", line, self._warning(), held=self._kept_by_git(line))

    def _python_action(self, arguments: Mapping[str, Any]) -> Action:
        code = str(arguments["code"])
        return Action("run_python", "run", "", self._warning(), code, self._kept_by_git(code))

    def _kept_by_git(self, text: str) -> str:
        """The credentials that git is known to hold, for a line or a program that names git."""
        confined = self.runner.unconfined() is None
        named = NAMES_GIT.search(text)
        found = find_committed_credentials(self.runner.home, confined=confined) if named else ""
        return found or ""

    def _warning(self) -> str:
        why = self.runner.unconfined()
        return "" if why is None else f"without a sandbox: {why}"


def _read_line(command: str) -> ProgramCall:
    line = command.strip()
    if not line or "\0" in line:
        raise ToolProblem("command is empty: give a command line, for example: ls workspace")
    return ProgramCall(shell_argv(line), line.split()[0][:40])


def _files_below(path: Path) -> Iterator[Path]:
    """The file, or the visible files of a folder; no links."""
    if path.is_file():
        yield path
    for top, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found = (Path(top, name) for name in sorted(names))
        yield from (path for path in found if not path.is_symlink())


def shell_argv(line: str) -> tuple[str, ...]:
    """The program that runs a command line: bash, which small models write for, else sh."""
    program = posix_shell()
    if program is None:
        return (os.environ.get("COMSPEC", "cmd.exe"), *CMD, line)
    return (program, "-c", line)


TIMEOUT_SECONDS = 30.0
SHOWN_CHANGES = 5
THEIRS = ("sessions", ".git", ".openclaw")
"""Folders that openclaw writes all the time and that are no business of a command."""

_GIT_DATA = re.compile(r"\.git\b")
_READS_MORE = re.compile(r"[|;&$`'\"<]")
_NO_NETWORK = ("could not resolve", "name resolution", "network is unreachable", "not known")
_FETCHES = re.compile(r"\b(?:curl|wget)\b")  # they may fail without a word
_WRITES = "it wants to write"
# With these words a program tells that it wants more than it has while it is tried.
_WANTS_MORE = (
    *("read-only file system", "device or resource busy", "cross-device link"),
    *(*_NO_NETWORK, "connect to", "connection refused", "not a git repository"),
)
_FIXED = "skills, sessions, settings, git data and the agent's own files cannot be changed here"


@frozen
class ProgramCall:
    argv: tuple[str, ...]
    name: str
    shown: tuple[tuple[Path, str], ...] = ()  # needed files: (place outside, place in the sandbox)


@dataclass(slots=True)
class Runner:
    """Runs programs over one home."""

    home: Home
    turn_changes: TurnChanges
    timeout: float = TIMEOUT_SECONDS
    env: tuple[str, ...] = ()  # names of variables that a command also gets
    network: bool = False  # allow the network, until untrusted text was read
    # Why there is no sandbox, or None.
    unconfined: Callable[[], str | None] = sandbox.why_unavailable
    layered: Callable[[Path], bool] = overlay.is_overlay_available
    limits: CommandLimits = CommandLimits()
    page: int = PAGE_CHARS  # characters of the output that the model sees
    show: ShowOutput | None = None  # receives the output while the program runs
    wants_more: ProgramCall | None = field(default=None, init=False)  # the newest that did
    _last: HomeFiles | None = field(default=None, init=False)

    def run(self, order: ProgramCall) -> str:
        """Run it and report how it ended. Raises ToolProblem when it cannot be started."""
        with _report_failure("run"):
            return self._run(order, self.unconfined() is None)

    def is_online(self) -> bool:
        """Return True when a command gets the network now."""
        return self.network and not self.turn_changes.tainted

    def try_out(self, order: ProgramCall, closed: Sequence[Path] = ()) -> str | None:
        """Run it in the sandbox without network, with the home read-only or below a layer that is
        thrown away, and without sight of the `closed` paths. Report how it ended; None when it
        wants to write or needs the network. Raises ToolProblem when it cannot be started."""
        with _report_failure("run"), ExitStack() as stack:
            layer = None
            if self.layered(self.home.real_root):
                layer = stack.enter_context(overlay.open_layer(self.home.real_root, tried=True))
            before = HomeFiles() if layer else scan_home(self.home, contents=False)
            options = SandboxOptions(
                self.home,
                hidden=(*self._hidden(before, layer), *closed),
                layered=layer is not None,
                tried=True,
            )
            finished = self._execute(order, options, True, layer)
            if _wants_more(order, finished, layer, sandbox.unchangeable_names(options)):
                self.wants_more = order
                return None
        self.turn_changes.exit, self.turn_changes.only_read = finished.code, True
        return self._describe_run(order, finished, True)

    def _run(self, order: ProgramCall, confined: bool) -> str:
        root = self.home.real_root
        layered = confined and self.layered(root)
        fixed = sandbox.FIXED_FILES if confined else ()
        changed: list[str] = []
        notes: list[str] = []
        with ExitStack() as stack:
            layer = stack.enter_context(overlay.open_layer(root)) if layered else None
            others = None if layer else stack.enter_context(watch_writes(root, fixed))
            before = scan_home(self.home, self._last)
            options = SandboxOptions(
                self.home,
                keep_memory=self.turn_changes.tainted,
                network=self.is_online(),
                hidden=self._hidden(before, layer) if confined else (),
                shown=order.shown,
                layered=layer is not None,
            )
            try:
                finished = self._execute(order, options, confined, layer)
                self.turn_changes.exit, self.wants_more = finished.code, None
            finally:
                if layer:
                    changed, notes = self._bring_into_home(before, layer, options)
                elif others:
                    theirs = sandbox.unchangeable_names(options) if confined else THEIRS
                    changed = self._record_changes(before, theirs, others.written())
        offline = confined and not options.network
        self.turn_changes.only_read = offline and not changed
        return self._describe_run(order, finished, offline, changed, notes)

    def _hidden(self, before: HomeFiles, layer: overlay.Layer | None) -> tuple[Path, ...]:
        """The paths that a command does not see. Sockets need no hiding in a layer."""
        found = find_credentials(self.home.real_root)
        if why := found.why_not_hidden(self.home.real_root):
            raise ToolProblem(f"It was not run: {why}.")
        return (*found.paths, *(() if layer else before.special[:MAX_HIDDEN]))

    def _execute(
        self,
        order: ProgramCall,
        options: SandboxOptions,
        confined: bool,
        layer: overlay.Layer | None,
    ) -> FinishedRun:
        argv: Sequence[str] = order.argv
        if os.name == "posix":
            argv = with_limits(argv, self.limits, own_users=confined)
        if confined:
            argv = sandbox.wrap(argv, options)
        if layer:
            argv = layer.over(argv)
        tried = options.tried
        named = () if tried else self.env
        env = environment(self.home, os.environ, named=named, confined=confined, trying=tried)
        placed = sandbox.placeholders(options) if confined else nullcontext()
        with _report_failure("started"), placed, control_group(self.limits.processes) as made:
            return run(
                join_group(argv, made),
                cwd=self.home.real_root,
                env=env,
                timeout=self.timeout,
                watch=self._watch(layer, options, fixed=confined),
                show=self.show,
                contained=confined,
            )

    def _watch(
        self, layer: overlay.Layer | None, options: SandboxOptions, *, fixed: bool
    ) -> Callable[[int], str]:
        """What ends the command. The placeholders must stand already."""
        root = self.home.real_root
        limits = process.LimitWatch(self.limits, layer.upper if layer else root)
        if options.tried and layer:  # nothing that it writes is kept
            upper, names = layer.upper, sandbox.unchangeable_names(options)
            return lambda pid: _WRITES if has_changes(upper, names) else limits(pid)
        if options.tried or layer or not fixed:
            return limits
        known = {name: _inode(root / name) for name in sandbox.FIXED_FILES}

        def check(pid: int) -> str:  # a file that was replaced from outside is not read-only
            name = next((name for name in known if _inode(root / name) != known[name]), "")
            return f"{name}, which is fixed for it, was saved meanwhile" if name else limits(pid)

        return check

    def _describe_run(
        self,
        order: ProgramCall,
        finished: FinishedRun,
        offline: bool,
        names: Sequence[str] = (),
        notes: Sequence[str] = (),
    ) -> str:
        """The report for the model: how a command ended, what it printed and changed, and hints. A
        file has all of a long output."""
        source = "" if offline else f"command: {order.name}"  # anybody may have written it
        whole = wrap_lines(finished.text) if len(finished.text) > self.page else finished.text
        shown = excerpt(whole, self.page)
        path = spill(self.home, whole, source) if shown.gap else ""
        printed = strip_hidden(shown.text).rstrip("\n")
        if finished.code is None:
            head = f"Stopped after {finished.seconds:.0f} s: {finished.stopped}."
        elif finished.code < 0:
            head = f"Ended by signal {-finished.code}."
        else:
            head = f"Exit code {finished.code}."
        if not printed.strip():
            lines = [f"{head} It printed nothing."]
        elif source:
            lines = [head, fence_cut(CutText(printed), source, self.turn_changes)]
        else:
            lines = [head, printed]
        if path:
            what = "All but what was not kept" if finished.lost else "All of it"
            lines.append(f"[{what}: read_file {path}, for the rest from_line {shown.gap}]")
        if names:
            lines.append(f"[Changed: {some_of(names, SHOWN_CHANGES)}]")
        if notes:
            lines.append(f"[{some_of(notes, SHOWN_CHANGES, '; ')}]")
        if finished.code != 0 and offline:
            lines += _hints(printed)
        return "\n".join(lines)

    def _record_changes(
        self, before: HomeFiles, theirs: Collection[str], written: Mapping[str, str]
    ) -> list[str]:
        """Record the changed files for the receipt, which is for people: at most 200. `theirs` are
        files and folders that the command did not change, `written` the hashes of files that
        openclaw wrote meanwhile. When the command changed such a file too, its content before is
        unknown."""
        after = scan_home(self.home, before)
        drop_setuid(after)
        self._last = after
        found = changed_files(before, after)
        for name in list(found):
            mine = written.get(name)
            around = {name, *map(str, PurePosixPath(name).parents)}
            if around.intersection(theirs) or (mine and mine == _sha256(after.root, name)):
                del found[name]
            elif mine:
                found[name] = UNKNOWN
        for name, content in list(found.items())[:MAX_CHANGES]:
            self.turn_changes.before.setdefault(name, as_text(content))
        for name in found:  # the model's copy is out of date
            self.turn_changes.read.pop(name, None)

        def was(name: str) -> FileContent:
            content = found[name]
            data = None if content is UNKNOWN else content
            return None if content is None else (data, name in before.programs)

        self.turn_changes.altered(found, was, lambda name: read_content(after.root, name))
        return list(found)

    def _bring_into_home(
        self, before: HomeFiles, layer: overlay.Layer, options: SandboxOptions
    ) -> tuple[list[str], list[str]]:
        """Move what the command wrote into the home. Returns the changed files and the notes."""
        self._last = before
        found = read_changes(layer.root, layer.upper, sandbox.unchangeable_names(options))
        counts = found.counts, process.count_written(layer.upper)  # the latter as while it ran
        if why := next(filter(None, (self.limits.exceeded(*each) for each in counts)), ""):
            return [], [f"nothing of what it wrote was kept, as it {why}"]
        bringing = ChangeMover(found, before, self.turn_changes)
        bringing.bring()
        for name in bringing.changed:
            self.turn_changes.read.pop(name, None)
        return bringing.changed, bringing.notes


@contextmanager
def _report_failure(what: str) -> Iterator[None]:
    """Turn an error of the system into a ToolProblem: of a command that is too long or has a NUL in
    it, or of a full disk."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise ToolProblem(f"It could not be {what}: {error}.") from error


def _sha256(root: Path, name: str) -> str:
    found = read_content(root, name)
    return hashlib.sha256(found[0]).hexdigest() if found and found[0] is not None else ""


def _wants_more(
    order: ProgramCall, finished: FinishedRun, layer: overlay.Layer | None, fixed: frozenset[str]
) -> bool:
    """Return True when a command that was tried wants to write or needs the network. The layer
    tells what it wrote; without one only the words of a program do, whatever its exit code."""
    if layer and has_changes(layer.upper, fixed):
        return True
    if layer and finished.code == 0:
        return False
    said = finished.text.casefold()
    if finished.code == 0:
        return _WANTS_MORE[0] in said
    return bool(_FETCHES.search(order.argv[-1])) or any(words in said for words in _WANTS_MORE)


def _inode(path: Path) -> int:
    try:
        return path.lstat().st_ino
    except OSError:
        return 0


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
    "COMSPEC NUMBER_OF_PROCESSORS PATHEXT PROGRAMDATA PROGRAMFILES SYSTEMDRIVE SYSTEMROOT TEMP TMP"
    " WINDIR"
).split()
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
# git refreshes its index when it only shows something; that is no change that was asked for.
GIT_TRYING = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "diff.autoRefreshIndex",
    "GIT_CONFIG_VALUE_0": "false",
}


def environment(
    home: Home,
    given: Mapping[str, str],
    *,
    named: Sequence[str] = (),
    confined: bool = False,
    trying: bool = False,
) -> dict[str, str]:
    """The environment of a command: some of the `given` variables, and ours.

    `named` are variables that the settings add. HOME is the agent's home, so that `~/workspace`
    means the same everywhere. `trying` tells that what the command does is tried: programs say in
    English that they may not write.
    """
    root = str(home.real_root)
    passed = (*PASSED, *(PASSED_ON_WINDOWS if os.name == "nt" else ()))
    found = {n: value for n, value in given.items() if n in passed or n.startswith("LC_")}
    found |= FIXED
    found |= {"PATH": program_path(given, root), "HOME": root}
    found.setdefault("LANG", "C.UTF-8")
    if confined:
        found |= {"TMPDIR": "/tmp", "XDG_CACHE_HOME": "/tmp/cache"}  # noqa: S108  of the sandbox
    if trying:
        found["LANG"] = found.pop("LC_ALL", "") or found["LANG"]
        found |= {"LC_MESSAGES": "C"} | GIT_TRYING
    return found | {name: given[name] for name in named if name in given}


def program_path(given: Mapping[str, str], root: str) -> str:
    """PATH without the folders that the agent could put a program into."""
    kept = []
    for folder in map(Path, given.get("PATH", "").split(os.pathsep)):
        places = (folder, Path(os.path.realpath(folder)))
        if folder.is_absolute() and not any(place.is_relative_to(root) for place in places):
            kept.append(str(folder))
    return os.pathsep.join(kept) or USUAL_PATH
