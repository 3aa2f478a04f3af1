"""Reads foreign data, such as PDFs, in a child process that is ended when it takes too long.

A crafted file of a few kilobytes keeps a parser busy for hours, and Python cannot stop a thread.
"""

from __future__ import annotations

import io
import json
import logging
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any

from openclaw.storage.program import python_command
from openclaw.storage.text import join_surrogates

SECONDS = 20.0  # processor time
CLOCK = 4  # the limit by the clock is so many times as much, for a busy machine
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
            command, input=data, capture_output=True, timeout=CLOCK * seconds, check=False
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


MAX_PAGES = 2000
MAX_TEXT = 20_000_000  # characters; pages may share what is large in them


class NoText(ValueError):
    """A PDF that cannot be read; says what it is ("an encrypted PDF")."""


def pdf_text(data: bytes, seconds: float = SECONDS) -> str:
    """The text of at most `MAX_PAGES` pages, a form feed before each but the first.

    Raises NoText for one that is encrypted or damaged, has no text (a scan) or takes too long.
    """
    try:
        told = read_in_child(f"{__name__}:extract", data, {}, seconds)
    except ReadingError as error:
        raise NoText(f"a PDF that is too much work: {error}") from error
    if "reason" in told:
        raise NoText(told["reason"])
    return join_surrogates(told["text"])


def paged_text(data: bytes) -> str:
    """The same, each page below a line with its number. Raises NoText."""
    pages = pdf_text(data).split("\n\f")
    return "\n\n".join(f"[page {n}]\n{page}" for n, page in enumerate(pages, 1)) + "\n"


def extract(data: bytes, most_pages: int = MAX_PAGES) -> dict[str, str]:
    """The text of a PDF, or the reason why there is none. Imports pypdf."""
    from pypdf import PdfReader
    from pypdf.errors import DependencyError

    pages: list[str] = []
    size = 0
    try:
        with quiet("pypdf"):
            reader = PdfReader(io.BytesIO(data))
            if reader.is_encrypted and not reader.decrypt(""):
                return {"reason": "an encrypted PDF"}
            for number in range(min(len(reader.pages), most_pages)):
                pages.append(reader.pages[number].extract_text())
                size += len(pages[-1])
                if size > MAX_TEXT:
                    return {"reason": f"a PDF with more than {MAX_TEXT:,} characters of text"}
    except DependencyError:
        return {"reason": "an encrypted PDF"}
    except Exception as error:  # noqa: BLE001 - a damaged file can make pypdf raise nearly anything
        return {"reason": f"a damaged PDF ({type(error).__name__})"}
    lines = ("\n".join(page.replace("\f", " ").splitlines()) for page in pages)
    text = "\n\f".join(lines)
    return {"text": text} if text.strip() else {"reason": "a PDF without text (scanned pages?)"}


@contextmanager
def quiet(logger: str) -> Iterator[None]:
    """Neither warnings nor this logger's lines (nor those of loggers below it) come through."""
    log = logging.getLogger(logger)
    level = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(level)
