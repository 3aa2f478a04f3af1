"""The hooks that openclaw.yaml names: programs of the user's own around turns and tools.

    hooks:
      before_tool:
        - run: ./hooks/check.sh
          match: "run_*"
          timeout: 5

The keys are those that Claude Code and git made known. A hook that is written wrongly is left out
and reported; the others run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Literal, get_args

from openclaw.config.file import FILE, line_of
from openclaw.config.mcp_settings import (
    WrongValueError,
    read_entry,
    read_switch,
    read_text,
    seconds_up_to,
)
from openclaw.frozen import frozen

Event = Literal["before_turn", "after_turn", "before_tool", "after_tool", "before_compact"]
EVENTS: tuple[Event, ...] = get_args(Event)
REFUSING = frozenset({"before_turn", "before_tool", "before_compact"})
"""Events whose hooks may refuse what is about to happen."""
SECONDS = 10.0
LONGEST_LABEL = 60


@frozen
class Hook:
    """A program and when it runs: a text for the shell, or the program with its arguments.

    match: globs of tool names, none for all tools
    timeout: seconds
    required: the hook refuses when it fails
    trusted: its output does not count as untrusted text
    env: names of variables that it gets besides the usual few
    cwd: its folder: the home ("."), one elsewhere, or "" for a folder of copies
    """

    event: Event
    run: str | tuple[str, ...]
    match: tuple[str, ...] = ()
    timeout: float = SECONDS
    required: bool = False
    trusted: bool = False
    env: tuple[str, ...] = ()
    cwd: str = ""

    @property
    def commands(self) -> tuple[str | tuple[str, ...], ...]:
        """What names files that it may run: the command, and the folder that this runs in."""
        return (self.run, (self.cwd,)) if self.cwd not in ("", ".") else (self.run,)

    @property
    def label(self) -> str:
        """The command in few words on one line."""
        text = self.run if isinstance(self.run, str) else " ".join(self.run)
        line = " ".join(text.split())
        return line if len(line) <= LONGEST_LABEL else f"{line[: LONGEST_LABEL - 3]}..."

    def matches(self, tool: str) -> bool:
        return not self.match or any(fnmatchcase(tool, glob) for glob in self.match)


@frozen
class HookFault:
    """A mistake in the settings of a hook.

    path: the keys and numbers below `hooks` that lead to it
    required: the hook's event is refused until the mistake is corrected
    """

    path: tuple[str | int, ...]
    text: str
    required: bool = False


def read_hooks(given: Mapping[str, Any]) -> tuple[list[Hook], list[HookFault]]:
    """The hooks of `hooks:` in their order, and what is wrong with the others."""
    hooks: list[Hook] = []
    faults: list[HookFault] = []
    for name, value in given.items():
        event = next((known for known in EVENTS if known == name), None)
        if event is None:
            text = f"unknown event; there are {', '.join(EVENTS)}"
            faults.append(HookFault((name,), text, _is_required(value)))
            continue
        for path, each in _each(name, value):
            try:
                hooks.append(_hook(event, each))
            except WrongValueError as wrong:
                where = (*path, *filter(None, (wrong.key,)))
                needed = event in REFUSING and _is_required(each)
                faults.append(HookFault(where, str(wrong), needed))
    return hooks, faults


def fault_line(text: str, fault: HookFault) -> str:
    """A fault in one line with its place; `text` is that of the settings file."""
    keys = (f"[{step + 1}]" if isinstance(step, int) else f".{step}" for step in fault.path)
    line = line_of(text, ("hooks", *fault.path))
    return f"{FILE} line {line}: hooks{''.join(keys)}: {fault.text}"


def _each(name: str, value: Any) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """The hooks of an event, each with where it stands: one alone needs no list."""
    if isinstance(value, list):
        yield from (((name, number), each) for number, each in enumerate(value))
    elif value is not None:
        yield (name,), value


def _hook(event: Event, value: Any) -> Hook:
    if isinstance(value, str):
        value = {"run": value}
    known = read_entry(value, _READ, "hook", "run: ./hooks/check.sh")
    if "run" not in known:
        raise WrongValueError("", "it has no 'run', the command")
    if "match" in known and not event.endswith("_tool"):
        raise WrongValueError("match", "has a meaning for before_tool and after_tool only")
    if known.get("required") and event not in REFUSING:
        raise WrongValueError("required", f"{event} comes too late to refuse anything")
    return Hook(event, **known)


def _is_required(value: Any) -> bool:
    """Return True when a wrongly written hook has a key `required`, or one spelled like it."""
    if isinstance(value, list):
        return any(map(_is_required, value))
    if not isinstance(value, Mapping):
        return False
    told = [str(key).strip().casefold() for key, each in value.items() if each not in (None, False)]
    near = any(get_close_matches(key, ["required"], cutoff=0.7) for key in told)
    return near or any(map(_is_required, value.values()))


def _command(key: str, value: Any) -> str | tuple[str, ...]:
    if isinstance(value, list):
        words = tuple(_text(key, each) for each in value)
        if words and words[0].strip():
            return words
    elif (text := _text(key, value)).strip():
        return text
    raise WrongValueError(key, "expected a command")


def _text(key: str, value: Any) -> str:
    if isinstance(value, bool):  # YAML's yes and no name no program, tool or variable
        raise WrongValueError(key, "expected text")
    return read_text(key, value)


def _texts(key: str, value: Any) -> tuple[str, ...]:
    return tuple(_text(key, each) for each in (value if isinstance(value, list) else [value]))


def _folder(key: str, value: Any) -> str:
    text = _text(key, value)
    if text != "." and not Path(text).is_absolute():
        raise WrongValueError(
            key, "expected '.', the home, or the whole path of a folder elsewhere"
        )
    return text


_READ: dict[str, Callable[[str, Any], Any]] = {
    "run": _command,
    "match": _texts,
    "timeout": seconds_up_to(600),
    "required": read_switch,
    "trusted": read_switch,
    "env": _texts,
    "cwd": _folder,
}
