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
import posixpath
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from openclaw.tools.commandrules import Use, all_below, tell_apart, use
from openclaw.tools.gitrules import git as git_rule
from openclaw.tools.ownrules import RULES
from openclaw.tools.programs import PROGRAMS, why_not
from openclaw.tools.shelltree import Command, commands
from openclaw.tools.shellwords import Unreadable, Unsafe, Word

_MOST_FOLDERS = 8


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
