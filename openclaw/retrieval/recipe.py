"""A name for the code that makes chunks of files: another code, another index."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from openclaw import __version__
from openclaw.files.text import md5

MODULES = (
    "../files/pdf", "chunks", "conversation", "markdown", "packing", "plain", "readers", "terms",
    "tokens", "units", "webpage",
)  # fmt: skip


@cache
def recipe() -> str:
    """Twelve hex digits of the source of `MODULES`; the version where the source is not there."""
    folder = Path(__file__).parent
    try:
        return md5(b"".join((folder / f"{name}.py").read_bytes() for name in MODULES))[:12]
    except OSError:
        return __version__
