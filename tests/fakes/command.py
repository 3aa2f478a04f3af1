"""The command without a process of its own: the same words, streams, exit code and environment.

It goes in by the one way that the console script goes. What a process alone can show (start-up,
signals, kills, locks between programs, terminals) is tested with a process.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from openclaw.cli.main import run
from openclaw.storage.home import Home
from openclaw.storage.trust_store import is_trusted

SERVED = "OPENCLAW_TESTS_SERVED"
"""With this variable the home of each command is served while it runs."""
Result = subprocess.CompletedProcess[str]


def openclaw(
    *words: str,
    stdin: str | bytes = b"",
    cwd: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> Result:
    """What these words do and say, with `environ` added to the environment."""
    data = stdin.encode() if isinstance(stdin, str) else stdin
    with _streams(data) as (out, err), pytest.MonkeyPatch.context() as patch:
        for name, value in (environ or {}).items():
            patch.setenv(name, value)
        if cwd is not None:
            patch.chdir(cwd)
        environment = dict(os.environ)
        with _served(words) if SERVED in os.environ else contextlib.nullcontext():
            code = run(words)
        os.environ.clear()  # of what a library has set for itself
        os.environ.update(environment)
    said, told = (stream.getvalue().decode("utf-8") for stream in (out, err))
    return subprocess.CompletedProcess(words, code, said, told)


class CommandLine:
    """Commands of a group, or of any, in the home that OPENCLAW_HOME names; `err` is what the last
    one said on stderr."""

    def __init__(self, *group: str) -> None:
        self.group = group
        self.err = ""

    def __call__(self, *words: str, code: int = 0, stdin: str | bytes = b"") -> str:
        """Standard output of a command that leaves with this exit code."""
        done = openclaw(*self.group, *words, stdin=stdin)
        self.err = done.stderr
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout

    def json(self, *words: str, code: int = 0) -> Any:
        return json.loads(self(*words, "--json", code=code))

    def error(self, *words: str, code: int) -> str:
        """Standard error of a command that leaves with this exit code."""
        self(*words, code=code)
        return self.err


@contextlib.contextmanager
def _served(words: Sequence[str]) -> Iterator[None]:
    """A server for the home that the words mean, if there is one."""
    from tests.fakes.serving import serving

    named = words[words.index("--home") + 1] if "--home" in words else os.environ["OPENCLAW_HOME"]
    with serving(Path(named)) if is_home(named) else contextlib.nullcontext():
        yield


def is_home(folder: str) -> bool:
    return Path(folder, "openclaw.yaml").is_file() and is_trusted(Home(Path(folder)))


@contextlib.contextmanager
def _streams(data: bytes) -> Iterator[tuple[io.BytesIO, io.BytesIO]]:
    """Standard input with this data; the bytes of standard output and standard error."""
    given, out, err = io.BytesIO(data), io.BytesIO(), io.BytesIO()
    before = sys.stdin, sys.stdout, sys.stderr
    streams = tuple(io.TextIOWrapper(stream, "utf-8") for stream in (given, out, err))
    sys.stdin, sys.stdout, sys.stderr = streams
    try:
        yield out, err
        for stream in streams[1:]:
            stream.flush()
    finally:
        sys.stdin, sys.stdout, sys.stderr = before
        for stream in streams:
            stream.detach()
