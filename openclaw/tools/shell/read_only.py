"""Says whether a shell line does nothing but read.

The line is read by a grammar of its own, not by a general one: what shells read differently must be
refused, and a general grammar passes over it (tree-sitter-bash 0.25 takes the substitution out of
"${x:-`rm y`}", parts words at a carriage return, and cannot read `cat <<'E'; ls`). Every command of
the line must then be a program of the list, with options of the list.

"Only reads" holds where the line is run by sh, dash or bash with nothing on standard input and an
environment as of environment.py: PATH names system folders only, and there is no BASH_ENV, ENV,
CDPATH, IFS, GIT_*, LESSOPEN, RIPGREP_CONFIG_PATH, exported function or the like.
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
from openclaw.security.credentials import Credentials, credentials, denied_name
from openclaw.storage.git import Git, environ, folder_of
from openclaw.storage.home import Home, name_trouble
from openclaw.storage.text import read_text
from openclaw.tools.paths import SPILL
from openclaw.tools.shell.command_rules import PROGRAMS, Use, all_below, tell_apart, use, why_not
from openclaw.tools.shell.parser import Command, Unreadable, Unsafe, Word, commands
from openclaw.tools.shell.process import posix_shell
from openclaw.tools.shell.program_rules import RULES, doubt
from openclaw.tools.shell.program_rules import git as git_rule
from openclaw.tools.shell.sandbox import Room, wrap

_MOST_FOLDERS = 8
MOST_LOOKED_AT = 50
MOST_BYTES = 200_000


@dataclass(frozen=True, slots=True)
class Reading:
    """What is known of a line. All names are as the line has them, relative to where it runs.

    `programs`: names in order, once each. `paths`: files and folders that are named; `patterns`:
    the same for Python's glob with hidden files and `**`; `trees`: folders of which any file may
    be read. `elsewhere`: all names of these that may lie outside the home, and words that cannot be
    foreseen ("$x"). Where a link leads is not known here. `history`: git shows lines of files that
    it keeps. All this is there only for a safe line.
    """

    safe: bool
    reason: str = ""
    programs: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    trees: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()
    history: bool = False


@dataclass(frozen=True, slots=True)
class LineRules:
    """What is known of command lines before they run in a home.

    home: the folder they run in
    confined: they run in the sandbox
    """

    home: Home
    confined: bool

    def reads(self, line: str) -> bool:
        """Return True when a line is known to do nothing but read what may be read of the home.

        In the sandbox nothing can be written, whatever a repository has git do, and credentials are
        not there, if all are known; so a folder may be searched that holds some. What git keeps is
        shown where no credentials were ever committed. cmd.exe takes a line in another way than it
        is read here, so that nothing is known there.
        """
        if posix_shell() is None:
            return False
        reading = self._read(line, confined=self.confined)
        if not reading.safe or reading.elsewhere:
            return False
        if reading.history and committed(self.home, confined=self.confined) != "":
            return False
        found = credentials(Path(os.path.realpath(self.home.root)))
        if not self.confined:
            return not objection(self.home, reading, found)
        return found.whole and not objection(self.home, replace(reading, trees=()), found)

    def stays(self, line: str) -> bool:
        """See `stays`; False where nothing is known of a line."""
        return posix_shell() is not None and stays(self.home, self._read(line))

    def kept_by_git(self, text: str) -> str:
        """The credentials that git is known to keep, for a line or a program that names it."""
        if not re.search(r"\bgit\b", text):
            return ""
        return committed(self.home, confined=self.confined) or ""

    def texts(self, line: str) -> Iterator[str]:
        """The texts of the files of the home that a line reads, of the first 50 that are not
        large."""
        root = os.path.realpath(self.home.root)
        reading = read_line(line, home=root)
        for name in islice(names(root, reading), MOST_LOOKED_AT):
            path = Path(root, name)
            with suppress(OSError, OpenclawError):
                if path.is_file() and path.stat().st_size <= MOST_BYTES:
                    yield read_text(path)

    def _read(self, line: str, *, confined: bool = False) -> Reading:
        root = Path(os.path.realpath(self.home.root))
        git = (lambda _: "") if confined else (lambda folder: doubt(root / folder, root))
        return read_line(line, home=str(root), git=git)


def read_line(text: str, *, home: str = "", git: Callable[[str], str] | None = None) -> Reading:
    """Whether `text` only reads; what cannot be proved is not safe, with a reason.

    `home` is the absolute folder in which the line runs and the value of HOME. `git` says why git
    should not run unasked in a folder relative to it ("" for no reason, see gitfolder.py); without
    it no git command is safe.
    """
    try:
        found = commands(text, home)
    except Unreadable as problem:
        return Reading(False, f"cannot be read with certainty: {problem}")
    except Unsafe as problem:
        return Reading(False, str(problem))
    programs = tuple(dict.fromkeys(command.words[0].text for command in found))
    try:
        line = _Line(home.rstrip("/"), git)
        for command in found:
            line.add(command)
    except Unsafe as problem:
        return Reading(False, str(problem), programs)
    paths, patterns, trees, elsewhere = line.names()
    return Reading(True, "", programs, paths, patterns, trees, elsewhere, line.history)


def _judge(command: Command) -> Use:
    name, arguments = command.words[0].text, command.words[1:]
    if name == "git":
        return git_rule(arguments)
    if rule := RULES.get(name):
        return rule(arguments)
    program = PROGRAMS.get(name)
    if program is None:
        raise Unsafe(why_not(name))
    return use(program, tell_apart(name, program, arguments))


@dataclass(slots=True)
class _Line:
    """Collects what the commands of one line read.

    `folders` are where a command may run: each `cd` adds some, and none is ever taken away, since
    whether a `cd` was reached or failed is not known.
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
        used = _judge(command)
        for word in (*used.files, *command.inputs):
            self._add(word, self.paths)
        for word in used.trees:
            self._add(all_below(word) if word.glob else word, self.trees)
        if used.git:
            self._add_git()
        self.history = self.history or used.history
        if used.goes:
            self._go(used.goes.text)

    def _add(self, word: Word, names: dict[str, None]) -> None:
        if word.text == "-" and word.known:
            return
        for name in self._places(word):
            if not word.open:
                (self.patterns if word.glob else names)[name] = None
            if why := _device(name, self.home):
                raise Unsafe(why)
            if self._outside(name, word):
                self.elsewhere[name] = None

    def _places(self, word: Word) -> Iterator[str]:
        for folder in self.folders:
            name = word.pattern if word.glob else word.text
            yield posixpath.join(glob.escape(folder) if word.glob else folder, name)

    def _outside(self, name: str, word: Word) -> bool:
        if name == "/dev/null":
            return False
        parts = name.split("/")
        # `.*` is a pattern that `..` fits.
        dotted = word.glob and any(re.match(r"\.[.*?\[]", part) for part in parts)
        # To a shell on Windows these lead to other drives and folders.
        drive = "\\" in name or re.match(r"[A-Za-z]:", name)
        if word.open or dotted or drive or ".." in parts:
            return True
        return name.startswith("/") and not _within(name, self.home)

    def _add_git(self) -> None:
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


def _within(name: str, home: str) -> bool:
    return bool(home) and (name == home or name.startswith(f"{home}/"))


def _device(name: str, home: str) -> str:
    """Why a name is not read: devices may act when they are, and /proc shows other programs."""
    full = "/" + posixpath.normpath(posixpath.join(home or "/home", name)).lstrip("/")
    special = full.split("/")[1].casefold() in {"dev", "proc", "sys"}
    if special and full != "/dev/null" and not _within(full, home):
        return f"{name} is no ordinary file"
    return ""


MOST_FILES = 5_000


def objection(home: Home, reading: Reading, closed: Credentials) -> str:
    """Why the files that a line reads should not be read unasked, "" when they may be.

    Links count by their name and as what they lead to, and of a folder that is searched each file
    counts. A file name that a pattern finds may be an option, such as `--files0-from=.env`.
    """
    root = os.path.realpath(home.root)
    count = 0
    for name in islice(names(root, reading), MOST_FILES + 1):
        count += 1
        if why := _against(root, name, closed):
            return f"{name}: {why}"
    for name in islice(_expanded(root, reading), MOST_FILES):
        if any(part.startswith("-") for part in name.split("/")):
            return f"{name} may become an option"
    return "too many files to look at" if count > MOST_FILES else ""


def stays(home: Home, reading: Reading) -> bool:
    """Whether a line is known to do nothing but read the home, be it credentials; links count as
    what they lead to, and what is closed as foreign: pages and answers of servers are kept there.
    """
    if not reading.safe or reading.elsewhere:
        return False
    root = os.path.realpath(home.root)
    found = list(islice(names(root, reading), MOST_FILES + 1))
    return len(found) <= MOST_FILES and not any(_closed(root, name) for name in found)


def named(home: Home, line: str) -> list[str] | None:
    """The files and folders of the home that a command line names, folders with a slash behind
    them; also by a pattern, but not what else is in a folder. None for a line that is not
    understood."""
    root = os.path.realpath(home.root)
    reading = read_line(line, home=root)
    if not reading.safe:
        return None
    found = []
    for name in islice(_named(root, reading), MOST_FILES):
        real = Path(os.path.realpath(Path(root, name)))
        if real.is_relative_to(root):
            found.append(real.relative_to(root).as_posix() + "/" * real.is_dir())
    return found


def names(root: str, reading: Reading) -> Iterator[str]:
    """Everything that may be read, relative to the home or absolute."""
    yield from _named(root, reading)
    for tree in reading.trees:
        for top, folders, files in os.walk(Path(root, tree)):
            for name in (*folders, *files):
                path = Path(top, name)
                if not path.is_symlink():  # what searches a folder does not follow those in it
                    yield str(path)


def _named(root: str, reading: Reading) -> Iterator[str]:
    yield from (*reading.paths, *reading.trees)
    yield from _expanded(root, reading)


def _expanded(root: str, reading: Reading) -> Iterator[str]:
    """What the patterns of a line stand for."""
    for pattern in reading.patterns:
        # Not `Path.glob`, which takes no absolute pattern.
        yield from glob.iglob(pattern, root_dir=root, include_hidden=True, recursive=True)  # noqa: PTH207


def _against(root: str, name: str, closed: Credentials) -> str:
    real = os.path.realpath(Path(root, name))
    if why := _closed(root, name):
        return why
    if Path(real).is_relative_to(Path(root, SPILL)):
        return ""
    return denied_name(name) or denied_name(real) or closed.by_link(real)


def _closed(root: str, name: str) -> str:
    real = os.path.realpath(Path(root, name))
    if not Path(real).is_relative_to(root):
        return "it lies outside the home"
    inner = Path(real).relative_to(root)
    if inner.is_relative_to(SPILL):
        return ""
    trouble = (name_trouble(part, windows=False) for part in inner.parts)
    return next(filter(None, trouble), "")


SECONDS = 5.0
"""For all repositories of a home; what is not looked over by then may hold some."""
_LISTINGS = (
    "log --all --reflog --ignore-missing -m --root --no-renames --name-only --format= -z"
    " --no-ext-diff --no-textconv"
    " FETCH_HEAD ORIG_HEAD MERGE_HEAD CHERRY_PICK_HEAD REVERT_HEAD REBASE_HEAD --",
    "ls-files -z",
)
"""What prints the names of all files that are in a commit, and of those that are staged."""
_SETTINGS = (
    *("-c", "safe.directory=*"),
    *("-c", "safe.bareRepository=all"),
    *("-c", "log.diffMerges=separate"),
)
_NOTHING = (b"does not have any commits", b"not a git repository")

_known: dict[tuple[Path, bool], tuple[object, str | None]] = {}


def committed(home: Home, *, confined: bool) -> str | None:
    """A path of credentials that git holds of the home, in any commit, stash or index; "" for none,
    None when it cannot be told.

    The agent may have made a repository, and git runs what that names (a promised object is fetched
    by a program). So it is looked over in the sandbox, or where there is none only if nothing is
    named in it.
    """
    root = Path(os.path.realpath(home.root))
    found = credentials(root)
    look = _Look(home, root, confined, time.monotonic() + SECONDS)
    held = [look.into(place) for place in found.repositories]
    unknown = None in held or not found.whole
    return next(filter(None, held), None if unknown else "")


@dataclass(frozen=True, slots=True)
class _Look:
    """One look over the repositories of a home, until a time."""

    home: Home
    root: Path
    confined: bool
    until: float

    def into(self, place: Path) -> str | None:
        """The same for the repository in one folder."""
        stamp = _stamp(place)
        known = _known.get((place, self.confined))
        if known and known[0] == stamp:
            return known[1]
        inner = place.relative_to(self.root)
        if not self.confined and doubt(place, self.root):
            return None
        first: str | None = None
        with suppress(OSError, subprocess.SubprocessError):
            printed = [self._printed(place, words) for words in _LISTINGS]
            paths = {inner / name.strip("\n") for text in printed for name in text.split("\0")}
            held = sorted(path.as_posix() for path in paths if denied_name(path.as_posix()))
            first = held[0] if held else ""
        _known[place, self.confined] = stamp, first
        return first

    def _printed(self, place: Path, words: str) -> str:
        argv = Git(place).command(*_SETTINGS, *words.split())
        if self.confined:
            argv = wrap(argv, Room(self.home, read_only=True))
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


def _stamp(place: Path) -> object:
    """What is another one once anything was committed, staged or put away."""
    folder = folder_of(place) or place
    files = (folder / "index", folder / "packed-refs", *folder.glob("*HEAD"))
    found = []
    for file in (*files, *_below(folder / "refs"), *_below(folder / "logs")):
        with suppress(OSError):
            status = file.lstat()
            found.append((str(file), status.st_ino, status.st_size, status.st_mtime_ns))
    return found


def _below(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if not path.is_dir())
