"""Commands and Python code as tools."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openclaw.errors import OpenclawError
from openclaw.files.home import Home
from openclaw.files.text import read_text
from openclaw.safety.vault import Vault
from openclaw.shapes import Action, ToolProblem
from openclaw.tools.process import CMD
from openclaw.tools.runner import Order, Runner
from openclaw.tools.toolbox import Form, Tool, tool

if TYPE_CHECKING:
    from openclaw.tools.commandline import Reading

SCRIPT = "/tmp/script.py"  # noqa: S108  in the sandbox, whose /tmp is its own
NAME = "script.py"
MOST_LOOKED_AT = 50
MOST_BYTES = 200_000


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
        reads = self._reads(line)
        if self.vault and reads:
            for text in files_read(line, self.runner.home):
                self.vault.mask(text)
        stays = reads or self._stays(line)
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
        if self._reads(line):
            return Action("run_shell", "read", line, self._warning())
        return Action("run_shell", "run", line, self._warning(), held=self._held(line))

    def _python_action(self, arguments: Mapping[str, Any]) -> Action:
        code = str(arguments["code"])
        return Action("run_python", "run", "", self._warning(), code, self._held(code))

    def _reads(self, line: str) -> bool:
        confined = self.runner.unconfined() is None
        return reads(line, self.runner.home, confined=confined)

    def _stays(self, line: str) -> bool:
        from openclaw.tools.reach import stays

        home = self.runner.home
        return posix_shell() is not None and stays(home, _reading(line, home))

    def _held(self, text: str) -> str:
        """The credentials that git is known to keep, for a line or a program that names it."""
        from openclaw.tools.committed import committed

        if not re.search(r"\bgit\b", text):
            return ""
        return committed(self.runner.home, confined=self.runner.unconfined() is None) or ""

    def _warning(self) -> str:
        why = self.runner.unconfined()
        return "" if why is None else f"without a sandbox: {why}"


def shell(line: str) -> tuple[str, ...]:
    """The program that runs a command line: bash, which small models write for, else sh."""
    program = posix_shell()
    if program is None:
        return (os.environ.get("COMSPEC", "cmd.exe"), *CMD, line)
    return (program, "-c", line)


def posix_shell() -> str | None:
    """bash or sh; on Windows not the one of its system folder, which starts a Linux."""
    for name in ("bash", "sh"):
        found = shutil.which(name)
        if found and Path(found).is_absolute() and "system32" not in found.casefold():
            return found
    return None


def reads(line: str, home: Home, *, confined: bool) -> bool:
    """Whether a command line is known to do nothing but read what may be read of the home.

    In the sandbox nothing can be written, whatever a repository has git do, and credentials are not
    there, if all are known; so a folder may be searched that holds some. What git keeps is shown
    where no credentials were ever committed. cmd.exe takes a line in another way than it is read
    here, so that nothing is known there.
    """
    from openclaw.tools.committed import committed
    from openclaw.tools.credentials import credentials
    from openclaw.tools.reach import objection

    if posix_shell() is None:
        return False
    reading = _reading(line, home, confined=confined)
    if not reading.safe or reading.elsewhere:
        return False
    root = Path(os.path.realpath(home.root))
    if reading.history and committed(home, confined=confined) != "":
        return False
    found = credentials(root)
    if not confined:
        return not objection(home, reading, found)
    return found.whole and not objection(home, replace(reading, trees=()), found)


def _reading(line: str, home: Home, *, confined: bool = False) -> Reading:
    from openclaw.tools.commandline import read_line
    from openclaw.tools.gitfolder import doubt

    root = Path(os.path.realpath(home.root))
    git = (lambda _: "") if confined else (lambda folder: doubt(root / folder, root))
    return read_line(line, home=str(root), git=git)


def files_read(line: str, home: Home) -> Iterator[str]:
    """The texts of the files of the home that a line reads, of the first 50 that are not large."""
    from openclaw.tools.commandline import read_line
    from openclaw.tools.reach import names

    root = os.path.realpath(home.root)
    reading = read_line(line, home=root)
    for name in islice(names(root, reading), MOST_LOOKED_AT):
        path = Path(root, name)
        with suppress(OSError, OpenclawError):
            if path.is_file() and path.stat().st_size <= MOST_BYTES:
                yield read_text(path)
