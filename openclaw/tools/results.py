"""What a tool gave back, made fit for the model: cut, marked as foreign, errors in few words."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from openclaw.errors import OpenclawError
from openclaw.security.untrusted import fence, strip
from openclaw.storage.safe_open import checked, remove
from openclaw.storage.text import write_text
from openclaw.tools.shell.output import LONGEST_LINE, excerpt, wrapped
from openclaw.types import Ledger, ToolProblem

MAX_CHARS = 12_000
PAGE_CHARS = 6_000
SHORTEST = 200

_USERS_TO_MEND = {errno.ENOSPC, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE} | {
    getattr(errno, "EDQUOT", errno.ENOSPC)  # not on every system
}


@dataclass(frozen=True, slots=True)
class Room:
    """How long a result may be: characters, and tokens, which `within` knows to count (it says
    whether a text has at most so many). `keep` writes what is longer to a file, for it to be read
    on in, and gives its path; `page` is the size of a page of a file, in characters."""

    chars: int = MAX_CHARS
    tokens: int = 0
    within: Callable[[str, int], bool] = lambda text, tokens: True
    keep: Callable[[str, str], str] | None = None
    page: int = PAGE_CHARS

    def holds(self, text: str) -> bool:
        return len(text) <= self.chars and self.fits(text)

    def fits(self, text: str) -> bool:
        return self.within(text, self.tokens)

    def part(self, parts: int) -> Room:
        """The room of each of so many results that come together."""
        return replace(self, chars=self.chars // parts, tokens=self.tokens // parts)


USUAL = Room()


def cut(text: str, room: Room, source: str = "") -> tuple[str, str]:
    """The text as it fits, its beginning and end, and a line that says where the rest stands (""
    when all of it is there). `source` says whose text it is when it is not the user's."""
    if room.holds(text):
        return text, ""
    whole = wrapped(text, _line(text, room))
    most = room.chars
    shown = excerpt(whole, most)
    while most > SHORTEST and not room.fits(shown.text):
        most = most * 3 // 4
        shown = excerpt(whole, most)
    path = room.keep(whole, source) if room.keep else ""
    if not path:
        return shown.text, (
            f"\n[Cut: {len(shown.text):,} of {len(text):,} characters shown. "
            "Ask for a smaller part, for example a later line, one folder or a rarer word.]"
        )
    return shown.text, f"\n[All of it: read_file {path}, for the rest from_line {shown.gap}]"


def _line(text: str, room: Room) -> int:
    """Characters of a line so short that a page of the file that keeps the text can show it."""
    length = min(LONGEST_LINE, room.page // 2)
    while length > SHORTEST and not room.fits(text[: 2 * length]):
        length //= 2
    return length


def as_data(text: str, source: str, ledger: Ledger, room: Room) -> str:
    """Text from outside: without hidden characters, fenced as data, its source in the ledger."""
    if source not in ledger.foreign:
        ledger.foreign.append(source)
    kept, note = cut(strip(text), room, source)
    return fence(kept, source, ledger.marker) + note


def told(error: OSError) -> ToolProblem | OpenclawError:
    """An error of the system for whom can mend it: the model, or the user (a full disk)."""
    what = f"{error.strerror or error}".lower()
    name = str(error.filename or "").replace("\\", "/").rpartition("/")[2]
    text = f"{name}: {what}" if name else what
    if error.errno in _USERS_TO_MEND:
        return OpenclawError(text, "free some space or make the home writable, then try again")
    return ToolProblem(f"That did not work: {text}.")


MOST_SPILLED = 20
"""Files; older ones go."""


def spill(folder: Path, text: str) -> Path:
    """Keep the whole of a text in a file of the given folder, readable by the user only. The same
    text has the same file, so that a request which names it is the same again."""
    path = folder / f"{hashlib.sha256(text.encode(errors='replace')).hexdigest()[:16]}.txt"
    if not write_text(path, text):
        with contextlib.suppress(OSError):
            os.utime(checked(path))
    if os.name != "nt":
        checked(path).chmod(0o600)
    for old in sorted(folder.glob("*.txt"), key=_age)[:-MOST_SPILLED]:
        with contextlib.suppress(OSError):
            remove(old)
    return path


def _age(path: Path) -> tuple[int, str]:
    """What puts the oldest first; a file that is just gone too."""
    try:
        return path.stat().st_mtime_ns, path.name
    except OSError:
        return 0, path.name
