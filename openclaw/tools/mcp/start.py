"""Start MCP servers, with the user's consent for those that run files of the home.

A server whose command names no program in the home starts as it is. Any other needs the same yes as
hooks do (`openclaw.security.trust`) and runs from copies. No server has the home as its folder,
unless `cwd` says so, since the agent may write there.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, field, replace
from pathlib import Path

from openclaw.config.file import FILE, line_of, settings_text
from openclaw.config.mcp_settings import Server, ServerFault, fill_variables
from openclaw.errors import AwayError
from openclaw.frozen import frozen
from openclaw.security.program_files import (
    PYTHON,
    Programs,
    UncopiedProgramError,
    copied_files,
    find_programs,
    name_of,
    path_of_word,
    starts_scripts,
)
from openclaw.security.program_trust import (
    TrustRequest,
    code_words,
    hash_settings,
    paths_in_home,
    real_word,
    why_untrusted,
)
from openclaw.storage.home import Home
from openclaw.storage.trust_store import State, Trust
from openclaw.tools.shell.shell import program_path

INHERITED = ("PATH", "HOME", "LANG")
ON_WINDOWS = (
    "SYSTEMROOT SYSTEMDRIVE PATHEXT COMSPEC TEMP USERPROFILE APPDATA LOCALAPPDATA PROGRAMDATA"
).split()
KIND = "mcp"
TRUST = "openclaw mcp trust"


ServerCommand = tuple[Sequence[str], Path, Mapping[str, str]]
"""The words that start a server, its folder and its variables."""


@frozen
class ServerStarter:
    """Starts the servers of a home. One yes covers all servers that run files of the home."""

    home: Home
    servers: Sequence[Server]
    trust: Trust = field(default_factory=Trust)

    def asked(self) -> TrustRequest:
        """The commands and files that a yes would now cover."""
        root = self.home.real_root
        started = [server for server in self.servers if server.command and not server.disabled]
        found = [(server, code_words(root, server)) for server in started]
        found = [(server, words) for server, words in found if paths_in_home(root, words)]
        if not found:  # then there is nothing to be read
            return TrustRequest((), Programs(), "")
        files = find_programs(self.home, [words for _, words in found])
        mark = hash_settings([asdict(server) for server, _ in found], files)
        return TrustRequest((), files, mark, tuple(server for server, _ in found))

    def state(self, now: TrustRequest) -> State:
        return self.trust.state(self.home, now.mark, KIND)

    def allow(self, now: TrustRequest) -> None:
        self.trust.allow(self.home, now.mark, KIND)

    @contextmanager
    def prepare(self, server: Server) -> Iterator[ServerCommand]:
        """Yields how a server is started; its copies are kept until it has ended. Raises AwayError
        for a server that may not start."""
        now, root = self.asked(), self.home.real_root
        needed = server in now.servers
        if needed and (why := why_untrusted(now, self.state(now))):
            raise AwayError(f"it runs files of this home, and {why} ({TRUST})", rests=False)
        ours = {**os.environ, "PATH": program_path(os.environ, str(root))}
        given = {name: fill_or_fail(text, ours) for name, text in server.env.items()}
        filled = (server.command, *(fill_or_fail(word, ours) for word in server.args))
        with copied_files(root, now.programs.held if needed else {}) as copies:
            folder, near = copies.folder, root / server.cwd
            is_python = PYTHON.fullmatch(name_of(server.command)) is not None
            safe = is_python and not starts_scripts(filled, root)
            if server.cwd:
                folder = copies.within(near) if needed else near
                # Python would import modules from its folder before its own.
                safe = Path(os.path.realpath(folder)).is_relative_to(root)
            code = code_words(root, server)
            words = tuple(real_word(root, _full_path(near, word, code)) for word in filled)
            if needed:
                try:
                    words = tuple(copies.command(words))
                except UncopiedProgramError as error:
                    raise AwayError(str(error)) from error
            # No word may still run a file of the home, which may change at any moment.
            found = replace(server, command=words[0], args=words[1:], cwd="", env={})
            for text in paths_in_home(root, code_words(root, found)):
                if Path(text).is_absolute() and path_of_word(root, text) != root:
                    raise AwayError(f"{text} is not there, or has just changed")
            names = (*INHERITED, *(ON_WINDOWS if os.name == "nt" else ()))
            environment = {name: ours[name] for name in names if name in ours}
            environment |= {"PYTHONSAFEPATH": "1"} if safe else {}
            environment |= {name: copies.text(text) for name, text in given.items()}
            program = _find_program(root, server, words[0], environment.get("PATH"))
            yield (program, *words[1:]), folder, environment


def _find_program(root: Path, server: Server, word: str, path: str | None) -> str:
    program = shutil.which(word, path=path)
    if program is None:
        raise AwayError(f"there is no program {server.command}")
    if word == server.command and Path(os.path.realpath(program)).is_relative_to(root):
        raise AwayError(f"{server.command} lies in the home: give its whole path as the command")
    return program


def fill_or_fail(text: str, environment: Mapping[str, str]) -> str:
    """Fill the variables of a setting. Raises AwayError for one that is not set."""
    try:
        value = fill_variables(text, environment)
    except KeyError as missing:
        raise AwayError(f"the environment variable {missing.args[0]} is not set") from None
    if any(c in value for c in "\0\r\n"):
        raise AwayError("a value that it is given holds a line break")
    return value


def _full_path(folder: Path, word: str, code: Sequence[str]) -> str:
    """The full path of an argument, for a program that runs elsewhere."""
    with suppress(OSError, ValueError):
        if (word == "." or "/" in word or word in code) and (folder / word).exists():
            return os.path.normpath(folder / word)
    return word


def fault_line(home: Home, fault: ServerFault) -> str:
    """A notice about a faulty server entry, with its line in openclaw.yaml."""
    line = line_of(settings_text(home), ("mcp", *fault.path))
    return f"{FILE} line {line}: MCP server {'.'.join(fault.path)}: {fault.text}; it is skipped"
