"""Reads foreign data in a child process, which is ended when it takes too long.

A crafted file of a few kilobytes keeps a parser busy for hours, and Python cannot stop a thread.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any

from openclaw.files.package import python_command

SECONDS = 20.0
"""Of processor time; of the clock twice as much, for a busy machine."""
MEGABYTES = 1024


class ReadingError(Exception):
    """The data took too long or too much memory; the text says so."""


def read_in_child(
    reader: str, data: bytes, arguments: Mapping[str, Any], seconds: float = SECONDS
) -> Any:
    """What `reader` ("module:function") makes of data and arguments: JSON that it returns."""
    command = python_command(__name__, reader, json.dumps(dict(arguments)), f"{seconds:g}")
    try:
        done = subprocess.run(
            command, input=data, capture_output=True, timeout=2 * seconds, check=False
        )
        return json.loads(done.stdout)
    except (subprocess.TimeoutExpired, OSError, ValueError) as error:  # no JSON: it was ended
        told = f"it takes more than {seconds:g} s or {MEGABYTES} MB to read"
        raise ReadingError(told) from error


def main() -> None:
    reader, arguments, seconds = sys.argv[1:4]
    _limit(float(seconds))
    module, _, name = reader.partition(":")
    function: Callable[..., Any] = getattr(import_module(module), name)
    result = function(sys.stdin.buffer.read(), **json.loads(arguments))
    sys.stdout.write(json.dumps(result))


def _limit(seconds: float) -> None:
    if sys.platform == "win32":
        return
    import resource

    # Its own limits may be lower already, and macOS knows none for memory.
    for kind, most in (
        (resource.RLIMIT_CPU, int(seconds) + 1),
        (resource.RLIMIT_AS, MEGABYTES * 2**20),
    ):
        with suppress(ValueError, OSError):
            resource.setrlimit(kind, (most, most))


if __name__ == "__main__":
    main()
