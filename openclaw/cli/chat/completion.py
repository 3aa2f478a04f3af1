"""Completion in the chat's input line: /commands, their arguments, skills and paths."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, get_args

from openclaw.cli.shell_completion import VALUES
from openclaw.errors import OpenclawError
from openclaw.frozen import frozen
from openclaw.history.turns import TALK
from openclaw.security.display import one_line
from openclaw.storage.home import Home
from openclaw.storage.program import expand_tilde
from openclaw.tools.paths import visible_files
from openclaw.types import Mode

if TYPE_CHECKING:
    from openclaw.agent.agent import Agent


MAX_PATHS = 50
MAX_FILES = 5_000  # files of the home that are searched for a part of a name
LEAST_PART = 2
FRESH_SECONDS = 5.0

Choice = tuple[str, str]  # a text that can be typed, and its meaning
# name: (arguments, what it does). It is in SHOWN of chat.py, or a method `_NAME` of the chat, or
# the command of this name in the shell.
COMMANDS = {
    "help": ("", "what can be typed here"),
    "new": ("[NAME]", "begin a new conversation (also /clear)"),
    "resume": ("[ID|TITLE]", "go on with an earlier conversation; alone: choose one"),
    "sessions": ("[WORDS]", "list the latest conversations, or search all"),
    "rename": ("NAME", "give this conversation a name"),
    "fork": ("[NAME]", "go on in a copy of this conversation"),
    "export": ("[FILE]", "write this conversation to a new Markdown file"),
    "copy": ("[code]", "put the last answer, or its code, into the clipboard"),
    "retry": ("", "take the last turn back and ask the same again"),
    "edit": ("", "take the last turn back and change its prompt"),
    "undo": ("[N]", "take back turns; --files or --talk only, --keep"),
    "redo": ("[N]", "put back what was taken back"),
    "log": ("[N]", "list the newest turns"),
    "diff": ("[TURN]", "show what a turn changed; alone: the last one"),
    "show": ("[TURN]", "show all of a turn; alone: the last one"),
    "blame": ("FILE[:LINE]", "show which turn wrote a line"),
    "todo": ("[add WORDS]", "list the open to-dos; also: done ID, rm ID"),
    "memory": ("[WORDS]", "list what is remembered, or search it"),
    "skills": ("[NAME]", "list the skills, or show one"),
    "model": ("[NAME]", "choose another model"),
    "mode": ("[MODE]", "what tools may do: read-only, ask, edit, full"),
    "policy": ("", "show what tools may do and what you have granted"),
    "context": ("[PROMPT]", "show what the next request costs; --cache, --diff"),
    "usage": ("[--all]", "show tokens and speeds, turn by turn"),
    "why": ("[TURN]", "show what the last answer is made of; --full"),
    "output": ("[N]", "show all that the last tool gave back, or N calls ago"),
    "expect": ("FILE:LINE", "make a memory test of the question before"),
    "compact": ("[FOCUS]", "sum up older messages; --dry-run only shows it"),
    "quit": ("", "leave (also Ctrl-D)"),
}


class Completion(NamedTuple):
    """`text` replaces the characters from `start`, a negative number, to the cursor at 0."""

    text: str
    start: int
    meaning: str = ""


@frozen
class CompletionSources:
    """Where completions come from.

    commands: commands and skills
    arguments: the arguments of a command
    folders: folders that paths may begin in
    files: the files of the home, which are found by a part of their path
    """

    commands: Callable[[], Iterable[Choice]]
    arguments: Callable[[str], Iterable[Choice]] = lambda command: ()
    folders: Sequence[Path] = ()
    files: Callable[[], Sequence[str]] = lambda: ()


def sources_of(agent: Agent) -> CompletionSources:
    """The sources of an open home. Arguments, which cost time to find, are kept for 5 seconds."""

    @lru_cache(maxsize=32)
    def arguments(command: str, _now: int) -> Sequence[Choice]:
        with suppress(OpenclawError, OSError):
            return [*ARGUMENTS[command](agent.home)]
        return ()

    def commands() -> Iterator[Choice]:
        yield from ((name, meaning) for name, (_, meaning) in COMMANDS.items())
        yield from ((s.name, s.description) for s in agent.skills() if s.user_invocable)

    def fresh(command: str) -> Sequence[Choice]:
        found = command in ARGUMENTS
        return arguments(command, int(time.monotonic() / FRESH_SECONDS)) if found else ()

    folders = (Path.cwd(), agent.home.root)
    return CompletionSources(commands, fresh, folders, lambda: [path for path, _ in fresh("blame")])


def completions(text: str, sources: CompletionSources) -> Iterator[Completion]:
    """How the text before the cursor may go on: /commands and skills at its beginning, arguments
    after a command, and paths after an @."""
    line = text.rpartition("\n")[2]
    command, space, rest = line.partition(" ")
    word = line.rpartition(" ")[2]
    if word.startswith("@"):
        start = word[1:].lstrip('"')
        paths = [*islice(_paths(start, sources.folders), MAX_PATHS)]
        if len(start) >= LEAST_PART:
            paths += _fuzzy_matches(start, sources.files())
        quoted = dict.fromkeys(f'@"{path}"' if " " in path else f"@{path}" for path in paths)
        yield from (Completion(path, -len(word)) for path in islice(quoted, MAX_PATHS))
    elif line == text and command.startswith("/"):
        mark, part, found = "/", command[1:], sources.commands()
        if space:
            verb, behind, more = rest.partition(" ")
            is_verb = behind and f"{command[1:]} {verb}" in ARGUMENTS
            mark, part = "", more if is_verb else rest
            found = sources.arguments(f"{command[1:]} {verb}" if is_verb else command[1:])
        # Those that begin with the part; when there are none, those that hold it, or whose meaning
        # does.
        choices, folded = [*found], part.casefold()
        begin = [choice for choice in choices if choice[0].casefold().startswith(folded)]
        for choice, meaning in begin or [
            each for each in choices if folded in "\n".join(each if space else each[:1]).casefold()
        ]:
            yield Completion(f"{mark}{choice}", -len(mark + part), one_line(meaning, 60))


def _paths(start: str, folders: Sequence[Path]) -> Iterator[str]:
    """Existing paths that begin with `start`, in each folder; hidden ones only after a dot."""
    parent, _, name = start.rpartition("/")
    for folder in folders:
        try:
            base = folder / expand_tilde(f"{parent}/" if parent or "/" in start else "")
            with os.scandir(base) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except (OSError, ValueError):
            continue
        for entry in entries:
            if entry.name.startswith(name) and (name or not entry.name.startswith(".")):
                spelt = start[: len(start) - len(name)] + entry.name
                yield f"{spelt}/" if entry.is_dir() else spelt


def _fuzzy_matches(part: str, paths: Iterable[str]) -> list[str]:
    """The files whose names have the letters of `part` in this order; those that contain it as one
    piece come first. A part with a slash is searched in the whole path."""
    part = part.casefold()

    def where(path: str) -> str:
        return (path if "/" in part else path.rpartition("/")[2]).casefold()

    def rank(path: str) -> tuple[bool, bool, int]:
        return not where(path).startswith(part), part not in where(path), len(path)

    def fits(path: str) -> bool:
        left = iter(where(path))
        return all(letter in left for letter in part)

    return sorted(filter(fits, paths), key=rank)


# -------- what the commands take


def _files(home: Home) -> Iterator[Choice]:
    """The files of the home, without hidden ones and conversations."""
    names = map(home.relative, visible_files(home))
    shown = (name for name in names if not name.startswith(TALK))
    return ((name, "") for name in islice(shown, MAX_FILES))


MODES: tuple[Mode, ...] = get_args(Mode)


ARGUMENTS: Mapping[str, Callable[[Home], Iterable[Choice]]] = {
    "blame": _files,
    "diff": VALUES["turn"],
    "expect": _files,
    "mode": lambda home: ((mode, "") for mode in MODES),
    "model": VALUES["model"],
    "resume": VALUES["session"],
    "show": VALUES["turn"],
    "skills": VALUES["skill"],
    "todo done": VALUES["todo done words"],
    "todo rm": VALUES["todo rm words"],
    "why": VALUES["turn"],
}
"""What is offered after a command, and after a command and its first word."""
