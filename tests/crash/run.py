"""What happens in a run: commands one after the other in one process, and what it told of each."""

from __future__ import annotations

import importlib
import os
import pkgutil
import random
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

Command = tuple[str, ...]
Commands = tuple[Command, ...]
LIBRARIES = ("httpx", "markdown_it", "numpy", "ollama", "pydantic", "sqlite3", "yaml")
HEAVY = ("openclaw.retrieval.shared_vectors", "openclaw.__main__")
BEGIN, END = "#begin ", "#end "


@dataclass(frozen=True, slots=True)
class Ran:
    """One command that was begun: the whole lines that it printed, and its exit code; None when it
    did not come to that."""

    words: Command
    lines: tuple[str, ...] = ()
    code: int | None = None

    @property
    def done(self) -> bool:
        return self.code == 0


@dataclass(frozen=True, slots=True)
class Seen:
    """A home after a run and the next start, and what the run had told."""

    home: Path
    ran: tuple[Ran, ...]

    def text(self, path: str) -> str:
        """A file's text, "" for a missing one."""
        file = self.home / path
        return file.read_text("utf-8") if file.is_file() else ""

    def below(self, folder: str, pattern: str = "*.md") -> str:
        """All texts below a folder."""
        files = sorted((self.home / folder).rglob(pattern))
        return "\n".join(path.read_text("utf-8") for path in files if path.is_file())


@dataclass(frozen=True, slots=True)
class Scenario:
    """`kills` and `errors` are its runs in a whole benchmark. `prepare` finishes a new home, in a
    process of its own; `commands` makes those of one run; `lost` names what was told and is not
    there. With `start` each command is a `python -m openclaw` of its own; with `stops` nothing
    comes after one that failed."""

    name: str
    kills: int
    errors: int
    commands: Callable[[random.Random], Commands]
    lost: Callable[[Seen], Iterable[str]]
    prepare: Callable[[Path], None] = lambda home: None
    start: bool = False
    stops: bool = False
    git: bool = True


def enter(home: Path) -> None:
    """Make this process one that works in the home."""
    os.environ["OPENCLAW_HOME"] = str(home)
    os.chdir(home.parent)


def load_all() -> None:
    """Import the program, so that forked processes need not."""
    import openclaw

    def skip(name: str) -> None:
        """A package that cannot be imported is left to the run that needs it."""

    found = pkgutil.walk_packages(openclaw.__path__, "openclaw.", skip)
    for name in (*(each.name for each in found if not each.name.startswith(HEAVY)), *LIBRARIES):
        with suppress(ImportError):
            importlib.import_module(name)
    from openclaw.models.token_count import count

    count("reads the table of tokens")


def main(words: Sequence[str]) -> int:
    """One command line in this process."""
    from openclaw.cli.main import run

    return run(words)


def play(commands: Commands, *, stops: bool = False) -> int:
    """Do commands, each between two lines that say so; the exit code of the last that failed."""
    worst = 0
    for number, words in enumerate(commands):
        _say(f"{BEGIN}{number}")
        code = main(words)
        _say(f"{END}{number} {code}")
        worst = code or worst
        if code and stops:
            break
    return worst


def play_apart(commands: Commands) -> int:
    """The same with `python -m openclaw`: this process becomes a shell that starts them."""
    import shlex

    lines = ["code=0"]
    for number, words in enumerate(commands):
        call = shlex.join((sys.executable, "-m", "openclaw", *words))
        lines += [f"echo '{BEGIN}{number}'", f"{call}; c=$?", f'echo "{END}{number} $c"']
    os.execvp("sh", ["sh", "-c", "\n".join(lines)])


def read_told(commands: Commands, lines: Iterable[str]) -> tuple[Ran, ...]:
    """What the lines say of the commands."""
    ran: list[Ran] = []
    printed: list[str] = []
    for line in lines:
        if line.startswith(BEGIN):
            printed = []
            ran.append(Ran(commands[int(line.removeprefix(BEGIN))]))
        elif line.startswith(END):
            ran[-1] = Ran(ran[-1].words, tuple(printed), int(line.rpartition(" ")[2]))
        elif ran:
            printed.append(line)
            ran[-1] = Ran(ran[-1].words, tuple(printed))
    return tuple(ran)


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
