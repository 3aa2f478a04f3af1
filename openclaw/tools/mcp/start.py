"""Start MCP servers, with the user's consent for those that run files of the home.

A server whose command names no program in the home starts as it is. Any other needs the same yes as
hooks do (`openclaw.security.trust`) and runs from copies. No server has the home as its folder,
unless `cwd` says so, since the agent may write there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, field, replace
from pathlib import Path

from openclaw.config.file import FILE, line_of, settings_text
from openclaw.config.mcp_settings import Server, ServerFault
from openclaw.errors import AwayError
from openclaw.frozen import frozen
from openclaw.security.program_files import (
    PYTHON,
    FileCopies,
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

KIND = "mcp"
TRUST = "openclaw mcp trust"


@frozen
class Start:
    """How a server process is started: its command words, its folder, its variables."""

    words: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str]


@frozen
class ServerStarter:
    """Starts the servers of a home. One yes covers all servers that run files of the home."""

    home: Home
    servers: Sequence[Server]
    trust: Trust = field(default_factory=Trust)

    def asked(self) -> TrustRequest:
        """The commands and files that a yes would now cover."""
        root = _root(self.home)
        found = [(server, code_words(root, server)) for server in self.servers if server.command]
        found = [(server, words) for server, words in found if paths_in_home(root, words)]
        if not found:  # then there is nothing to be read
            return TrustRequest((), Programs("", (), (), ()), "")
        files = find_programs(self.home, [words for _, words in found])
        mark = hash_settings([asdict(server) for server, _ in found], files)
        return TrustRequest((), files, mark, tuple(server for server, _ in found))

    def state(self, now: TrustRequest) -> State:
        return self.trust.state(self.home, now.mark, KIND)

    def allow(self, now: TrustRequest) -> None:
        self.trust.allow(self.home, now.mark, KIND)

    @contextmanager
    def prepare(self, server: Server, start: Start) -> Iterator[Start]:
        """See `openclaw.tools.mcp.client.Prepare`."""
        now, root = self.asked(), _root(self.home)
        needed = server in now.servers
        if needed and (why := why_untrusted(now, self.state(now))):
            raise AwayError(f"it runs files of this home, and {why} ({TRUST})", rests=False)
        with copied_files(root, now.programs.held if needed else {}) as copies:
            folder = copies.folder
            is_python = PYTHON.fullmatch(name_of(server.command)) is not None
            safe = is_python and not starts_scripts(start.words, root)
            if server.cwd:
                folder = copies.within(start.folder) if needed else start.folder
                # Python would import modules from its folder before its own.
                safe = Path(os.path.realpath(folder)).is_relative_to(root)
            near, code = (start.folder if server.cwd else root), code_words(root, server)
            words = tuple(real_word(root, _full_path(near, word, code)) for word in start.words)
            if needed:
                words = _use_copies(copies, words)
            # No word may still run a file of the home, which may change at any moment.
            found = replace(server, command=words[0], args=words[1:], cwd="", env={})
            for text in paths_in_home(root, code_words(root, found)):
                if Path(text).is_absolute() and path_of_word(root, text) != root:
                    raise AwayError(f"{text} is not there, or has just changed")
            given = {name: copies.text(start.environment[name]) for name in server.env}
            more = {"PYTHONSAFEPATH": "1"} if safe else {}
            yield Start(words, folder, {**start.environment, **more, **given})


def _full_path(folder: Path, word: str, code: Sequence[str]) -> str:
    """The full path of an argument, for a program that runs elsewhere."""
    with suppress(OSError, ValueError):
        if (word == "." or "/" in word or word in code) and (folder / word).exists():
            return os.path.normpath(folder / word)
    return word


def _use_copies(copies: FileCopies, words: tuple[str, ...]) -> tuple[str, ...]:
    """The command words with copies in place of the files that they run."""
    try:
        return tuple(copies.command(words))
    except UncopiedProgramError as error:
        raise AwayError(str(error)) from error


def _root(home: Home) -> Path:
    return Path(os.path.realpath(home.root))


def enabled(servers: Sequence[Server]) -> list[Server]:
    """The servers that may be started."""
    return [server for server in servers if not server.disabled]


def fault_line(home: Home, fault: ServerFault) -> str:
    """A notice about a faulty server entry, with its line in openclaw.yaml."""
    line = line_of(settings_text(home), ("mcp", *fault.path))
    return f"{FILE} line {line}: MCP server {'.'.join(fault.path)}: {fault.text}; it is skipped"
