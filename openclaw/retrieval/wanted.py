"""What a search is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from openclaw.errors import UsageError
from openclaw.files.home import Home

# Of a longer question the beginning and the end are read: a pasted log asks for nothing itself.
LONGEST_QUESTION = 2_000


@dataclass(frozen=True, slots=True)
class Wanted:
    """A question, and what may answer it."""

    question: str
    today: date | None
    prefix: str = ""
    since: str = ""
    k: int = 5
    skip: frozenset[str] = frozenset()
    only: frozenset[str] = frozenset()
    whole: bool = False


def shortened(question: str) -> str:
    if len(question) <= LONGEST_QUESTION:
        return question
    return f"{question[: LONGEST_QUESTION - 500]} {question[-500:]}"


def prefix_of(home: Home, path: str) -> str:
    """The beginning of paths that is meant: as they are shown, with slashes."""
    plain = path.strip().replace("\\", "/").removeprefix("./")
    root = home.root.as_posix().rstrip("/") + "/"
    return plain.removeprefix(root)


def day_of(since: str) -> str:
    if not since:
        return ""
    try:
        return date.fromisoformat(since).isoformat()
    except ValueError as error:
        raise UsageError(f"not a day: {since!r}", "write it like 2026-11-21") from error
