"""Decide whether a shell line does nothing but read, and which files it reads.

The parser has a grammar of its own. A line that shells read differently must be refused, and a
general grammar accepts it (tree-sitter-bash 0.25 takes the substitution out of "${x:-`rm y`}",
splits words at a carriage return, and cannot read `cat <<'E'; ls`). Every command of the line must
be a listed program with listed options.

"Only reads" holds when sh, dash or bash runs the line with nothing on standard input and with the
variables of `shell.environment`: PATH names system folders only, and there is no BASH_ENV, ENV,
CDPATH, IFS, GIT_*, LESSOPEN, RIPGREP_CONFIG_PATH, exported function or the like.

`read_line` judges the line, `objection` the files that it names, and `committed` finds credentials
in git repositories.
"""

from __future__ import annotations

import glob
import os
import posixpath
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from openclaw.errors import OpenclawError
from openclaw.frozen import frozen
from openclaw.security.credentials import Credentials, find_credentials, why_name_denied
from openclaw.storage.git import Git, environ, folder_of
from openclaw.storage.home import Home, name_trouble
from openclaw.storage.text import read_text
from openclaw.tools.paths import SPILL
from openclaw.tools.shell.command_rules import (
    PROGRAMS,
    Reads,
    find_reads,
    pattern_below,
    refusal_reason,
    split_arguments,
)
from openclaw.tools.shell.parser import Command, Unreadable, Unsafe, Word, parse_commands
from openclaw.tools.shell.process import posix_shell
from openclaw.tools.shell.program_rules import RULES, git_doubt
from openclaw.tools.shell.program_rules import git as git_rule
from openclaw.tools.shell.sandbox import SandboxOptions, wrap

_MOST_FOLDERS = 8
MOST_LOOKED_AT = 50
MOST_BYTES = 200_000


@frozen
class LineReading:
    """What is known of a line. Names are as the line has them, relative to where it runs; links are
    not resolved. All but `programs` is filled for a safe line only.

    reason     why the line is not safe
    programs   names in order, once each
    paths      named files and folders
    patterns   the same for Python's glob with hidden files and `**`
    trees      folders of which any file may be read
    elsewhere  those of the names that may lie outside the home, and unforeseeable words ("$x")
    history    git shows lines of committed files
    """

    safe: bool
    reason: str = ""
    programs: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    trees: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()
    history: bool = False


@frozen
class LineRules:
    """What is known of command lines before they run in a home.

    home: the folder they run in
    confined: they run in the sandbox
    """

    home: Home
    confined: bool

    def reads(self, line: str) -> bool:
        """Return True for a line that is known to do nothing but read permitted files of the home.

        In the sandbox nothing can be written, whatever a repository makes git do. Credentials are
        hidden there when all are known, so a folder that contains some may be searched. The line
        may show git history when no credentials were ever committed. cmd.exe parses a line
        differently from the parser here, so that nothing is known of a line for it.
        """
        if posix_shell() is None:
            return False
        reading = self._read(line, confined=self.confined)
        if not reading.safe or reading.elsewhere:
            return False
        if reading.history and find_committed_credentials(self.home, confined=self.confined) != "":
            return False
        found = find_credentials(Path(os.path.realpath(self.home.root)))
        if not self.confined:
            return not objection(self.home, reading, found)
        return found.whole and not objection(self.home, replace(reading, trees=()), found)

    def stays(self, line: str) -> bool:
        """See `stays`; False where nothing is known of a line."""
        return posix_shell() is not None and only_reads_home(self.home, self._read(line))

    def kept_by_git(self, text: str) -> str:
        """The credentials that git is known to hold, for a line or a program that names git."""
        if not re.search(r"\bgit\b", text):
            return ""
        return find_committed_credentials(self.home, confined=self.confined) or ""

    def texts(self, line: str) -> Iterator[str]:
        """The texts of the files of the home that a line reads, of the first 50 that are not
        large."""
        root = os.path.realpath(self.home.root)
        reading = read_line(line, home=root)
        for name in islice(paths_read(root, reading), MOST_LOOKED_AT):
            path = Path(root, name)
            with suppress(OSError, OpenclawError):
                if path.is_file() and path.stat().st_size <= MOST_BYTES:
                    yield read_text(path)

    def _read(self, line: str, *, confined: bool = False) -> LineReading:
        root = Path(os.path.realpath(self.home.root))
        git = (lambda _: "") if confined else (lambda folder: git_doubt(root / folder, root))
        return read_line(line, home=str(root), git=git)


def read_line(text: str, *, home: str = "", git: Callable[[str], str] | None = None) -> LineReading:
    """Judge whether `text` only reads. A line for which this cannot be proved is not safe, with a
    reason.

    `home` is the absolute folder in which the line runs and the value of HOME. `git` tells why git
    should not run unasked in a folder relative to it ("" for no reason, see
    `program_rules.doubt`); without it no git command is safe.
    """
    try:
        found = parse_commands(text, home)
    except Unreadable as problem:
        return LineReading(False, f"cannot be read with certainty: {problem}")
    except Unsafe as problem:
        return LineReading(False, str(problem))
    programs = tuple(dict.fromkeys(command.words[0].text for command in found))
    try:
        line = _LineReads(home.rstrip("/"), git)
        for command in found:
            line.add(command)
    except Unsafe as problem:
        return LineReading(False, str(problem), programs)
    paths, patterns, trees, elsewhere = line.names()
    return LineReading(True, "", programs, paths, patterns, trees, elsewhere, line.history)


def _judge_command(command: Command) -> Reads:
    name, arguments = command.words[0].text, command.words[1:]
    if name == "git":
        return git_rule(arguments)
    if rule := RULES.get(name):
        return rule(arguments)
    program = PROGRAMS.get(name)
    if program is None:
        raise Unsafe(refusal_reason(name))
    return find_reads(program, split_arguments(name, program, arguments))


@dataclass(slots=True)
class _LineReads:
    """Collects what the commands of one line read.

    `folders` are the folders in which a command may run. Each `cd` adds some and none is removed:
    it is not known whether a `cd` is reached or fails.
    """

    home: str
    git: Callable[[str], str] | None
    folders: list[str] = field(default_factory=lambda: [""])
    paths: dict[str, None] = field(default_factory=dict)
    patterns: dict[str, None] = field(default_factory=dict)
    trees: dict[str, None] = field(default_factory=dict)
    elsewhere: dict[str, None] = field(default_factory=dict)
    history: bool = False

    def names(self) -> tuple[tuple[str, ...], ...]:
        found = self.paths, self.patterns, self.trees, self.elsewhere
        return tuple(tuple(names) for names in found)

    def add(self, command: Command) -> None:
        used = _judge_command(command)
        for word in (*used.files, *command.inputs):
            self._add(word, self.paths)
        for word in used.trees:
            self._add(pattern_below(word) if word.glob else word, self.trees)
        if used.git:
            self._check_git()
        self.history = self.history or used.history
        if used.goes:
            self._go(used.goes.text)

    def _add(self, word: Word, names: dict[str, None]) -> None:
        if word.text == "-" and word.known:
            return
        for name in self._places(word):
            if not word.open:
                (self.patterns if word.glob else names)[name] = None
            if why := _device_reason(name, self.home):
                raise Unsafe(why)
            if self._may_lie_outside(name, word):
                self.elsewhere[name] = None

    def _places(self, word: Word) -> Iterator[str]:
        for folder in self.folders:
            name = word.pattern if word.glob else word.text
            yield posixpath.join(glob.escape(folder) if word.glob else folder, name)

    def _may_lie_outside(self, name: str, word: Word) -> bool:
        if name == "/dev/null":
            return False
        parts = name.split("/")
        # `..` matches the pattern `.*`.
        dotted = word.glob and any(re.match(r"\.[.*?\[]", part) for part in parts)
        # In a shell on Windows these lead to other drives and folders.
        drive = "\\" in name or re.match(r"[A-Za-z]:", name)
        if word.open or dotted or drive or ".." in parts:
            return True
        return name.startswith("/") and not _is_within(name, self.home)

    def _check_git(self) -> None:
        if self.git is None:
            raise Unsafe("`git` may start programs that a repository names")
        for folder in self.folders:
            if why := self.git(folder or "."):
                raise Unsafe(f"`git`: {why}")

    def _go(self, folder: str) -> None:
        reached = [posixpath.join(place, folder) if place else folder for place in self.folders]
        self.folders = list(dict.fromkeys([*self.folders, *reached]))
        if len(self.folders) > _MOST_FOLDERS:
            raise Unsafe("`cd` more than three times")


def _is_within(name: str, home: str) -> bool:
    return bool(home) and (name == home or name.startswith(f"{home}/"))


def _device_reason(name: str, home: str) -> str:
    """Why a name must not be read: reading a device may act, and /proc shows other programs."""
    full = "/" + posixpath.normpath(posixpath.join(home or "/home", name)).lstrip("/")
    special = full.split("/")[1].casefold() in {"dev", "proc", "sys"}
    if special and full != "/dev/null" and not _is_within(full, home):
        return f"{name} is no ordinary file"
    return ""


MOST_FILES = 5_000


def objection(home: Home, reading: LineReading, closed: Credentials) -> str:
    """Why the files of a line should not be read unasked, "" when they may be.

    A link counts by its name and by its target. In a searched folder each file counts. A file name
    that a pattern finds may be an option, such as `--files0-from=.env`.
    """
    root = os.path.realpath(home.root)
    count = 0
    for name in islice(paths_read(root, reading), MOST_FILES + 1):
        count += 1
        if why := _denied_reason(root, name, closed):
            return f"{name}: {why}"
    for name in islice(_expand_patterns(root, reading), MOST_FILES):
        if any(part.startswith("-") for part in name.split("/")):
            return f"{name} may become an option"
    return "too many files to look at" if count > MOST_FILES else ""


def only_reads_home(home: Home, reading: LineReading) -> bool:
    """Return True for a line that is known to do nothing but read the home, credentials included.
    Links count by their target. Closed folders do not count as the home: they contain pages and
    answers of servers."""
    if not reading.safe or reading.elsewhere:
        return False
    root = os.path.realpath(home.root)
    found = list(islice(paths_read(root, reading), MOST_FILES + 1))
    return len(found) <= MOST_FILES and not any(_closed_reason(root, name) for name in found)


def named_files(home: Home, line: str) -> list[str] | None:
    """The files and folders of the home that a command line names, also by a pattern; a folder with
    a slash at its end and without its content. None for a line that is not understood."""
    root = os.path.realpath(home.root)
    reading = read_line(line, home=root)
    if not reading.safe:
        return None
    found = []
    for name in islice(_named_paths(root, reading), MOST_FILES):
        real = Path(os.path.realpath(Path(root, name)))
        if real.is_relative_to(root):
            found.append(real.relative_to(root).as_posix() + "/" * real.is_dir())
    return found


def paths_read(root: str, reading: LineReading) -> Iterator[str]:
    """All paths that a line may read, relative to the home or absolute."""
    yield from _named_paths(root, reading)
    for tree in reading.trees:
        for top, folders, files in os.walk(Path(root, tree)):
            for name in (*folders, *files):
                path = Path(top, name)
                if not path.is_symlink():  # a program that searches a folder does not follow links
                    yield str(path)


def _named_paths(root: str, reading: LineReading) -> Iterator[str]:
    yield from (*reading.paths, *reading.trees)
    yield from _expand_patterns(root, reading)


def _expand_patterns(root: str, reading: LineReading) -> Iterator[str]:
    """The paths that match the patterns of a line."""
    for pattern in reading.patterns:
        # Not `Path.glob`, which takes no absolute pattern.
        yield from glob.iglob(pattern, root_dir=root, include_hidden=True, recursive=True)  # noqa: PTH207


def _denied_reason(root: str, name: str, closed: Credentials) -> str:
    real = os.path.realpath(Path(root, name))
    if why := _closed_reason(root, name):
        return why
    if Path(real).is_relative_to(Path(root, SPILL)):
        return ""
    return why_name_denied(name) or why_name_denied(real) or closed.by_link(real)


def _closed_reason(root: str, name: str) -> str:
    real = os.path.realpath(Path(root, name))
    if not Path(real).is_relative_to(root):
        return "it lies outside the home"
    inner = Path(real).relative_to(root)
    if inner.is_relative_to(SPILL):
        return ""
    trouble = (name_trouble(part, windows=False) for part in inner.parts)
    return next(filter(None, trouble), "")


SECONDS = 5.0
"""Time for all repositories of a home; one that is not searched by then may hold credentials."""
_LISTINGS = (
    "log --all --reflog --ignore-missing -m --root --no-renames --name-only --format= -z"
    " --no-ext-diff --no-textconv"
    " FETCH_HEAD ORIG_HEAD MERGE_HEAD CHERRY_PICK_HEAD REVERT_HEAD REBASE_HEAD --",
    "ls-files -z",
)
"""Git commands that print the names of all committed files, and of all staged files."""
_SETTINGS = (
    *("-c", "safe.directory=*"),
    *("-c", "safe.bareRepository=all"),
    *("-c", "log.diffMerges=separate"),
)
_NOTHING = (b"does not have any commits", b"not a git repository")

_searched: dict[tuple[Path, bool], tuple[object, str | None]] = {}


def find_committed_credentials(home: Home, *, confined: bool) -> str | None:
    """Find a path of credentials that git holds in any commit, stash or index of the home; "" for
    none, None when it cannot be told.

    The agent may have made a repository, and git runs programs that it names (one fetches a
    promised object). So git runs in the sandbox; without one, only when the repository names no
    program.
    """
    root = Path(os.path.realpath(home.root))
    found = find_credentials(root)
    look = _RepositorySearch(home, root, confined, time.monotonic() + SECONDS)
    held = [look.search(place) for place in found.repositories]
    unknown = None in held or not found.whole
    return next(filter(None, held), None if unknown else "")


@frozen
class _RepositorySearch:
    """One search through the repositories of a home, up to a deadline."""

    home: Home
    root: Path
    confined: bool
    until: float

    def search(self, place: Path) -> str | None:
        """The same as `committed` for the repository in one folder."""
        stamp = _repository_state(place)
        known = _searched.get((place, self.confined))
        if known and known[0] == stamp:
            return known[1]
        inner = place.relative_to(self.root)
        if not self.confined and git_doubt(place, self.root):
            return None
        first: str | None = None
        with suppress(OSError, subprocess.SubprocessError):
            printed = [self._run_git(place, words) for words in _LISTINGS]
            paths = {inner / name.strip("\n") for text in printed for name in text.split("\0")}
            held = sorted(path.as_posix() for path in paths if why_name_denied(path.as_posix()))
            first = held[0] if held else ""
        _searched[place, self.confined] = stamp, first
        return first

    def _run_git(self, place: Path, words: str) -> str:
        argv = Git(place).command(*_SETTINGS, *words.split())
        if self.confined:
            argv = wrap(argv, SandboxOptions(self.home, read_only=True))
        done = subprocess.run(
            argv,
            env=environ()
            | {"GIT_CEILING_DIRECTORIES": str(place.parent), "GIT_ALLOW_PROTOCOL": "none"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=max(0.0, self.until - time.monotonic()),
            check=False,
        )
        if done.returncode and not any(words in done.stderr for words in _NOTHING):
            raise subprocess.SubprocessError(done.stderr[:200])
        return done.stdout.decode("utf-8", "replace")


def _repository_state(place: Path) -> object:
    """A value that changes with every commit, stash and change of the index."""
    folder = folder_of(place) or place
    files = (folder / "index", folder / "packed-refs", *folder.glob("*HEAD"))
    found = []
    for file in (*files, *_files_below(folder / "refs"), *_files_below(folder / "logs")):
        with suppress(OSError):
            status = file.lstat()
            found.append((str(file), status.st_ino, status.st_size, status.st_mtime_ns))
    return found


def _files_below(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if not path.is_dir())
