"""Prepare tool results for the model: cut them, fence foreign text, shorten errors."""

from __future__ import annotations

import contextlib
import errno
import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from openclaw.errors import OpenclawError
from openclaw.frozen import frozen
from openclaw.security.foreign_files import ForeignFiles
from openclaw.security.secrets import find_secrets
from openclaw.security.untrusted import fence, strip_hidden
from openclaw.storage.home import Home
from openclaw.storage.safe_open import remove
from openclaw.storage.text import write_private
from openclaw.tools.paths import SPILL
from openclaw.types import Shown, ToolProblem, TurnChanges

MAX_CHARS = 12_000
PAGE_CHARS = 6_000
SHORTEST = 200

_ERRORS_FOR_USER = {errno.ENOSPC, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE} | {
    getattr(errno, "EDQUOT", errno.ENOSPC)  # not on every system
}


@frozen
class ResultLimits:
    chars: int = MAX_CHARS
    tokens: int = 0
    # Tells whether a text has at most so many tokens.
    within: Callable[[str, int], bool] = lambda text, tokens: True
    # Writes a longer text (text, source) to a file, to be read there, and returns its path.
    keep: Callable[[str, str], str] | None = None
    page: int = PAGE_CHARS  # characters of a page of a file

    def holds(self, text: str) -> bool:
        return len(text) <= self.chars and self.fits(text)

    def fits(self, text: str) -> bool:
        return self.within(text, self.tokens)

    def part(self, parts: int) -> ResultLimits:
        """The limits of each result when so many results share these."""
        return replace(self, chars=self.chars // parts, tokens=self.tokens // parts)


DEFAULT_LIMITS = ResultLimits()


@frozen
class CutText:
    """A text with the limits of a result.

    note: a line that says where the rest is, "" when nothing was cut
    gap: the numbers, from 0, of the lines that were left out
    """

    text: str
    note: str = ""
    gap: range = range(0)

    def __str__(self) -> str:
        return self.text + self.note

    def still_shown(self, lines: Mapping[int, Shown]) -> tuple[Shown, ...]:
        """Return what is left of these lines of files; each key is the number, from 0, of the line
        of the whole text where they begin."""
        found: list[Shown] = []
        for at, each in lines.items():
            first, last = each.start_line, each.end_line
            before, after = first + self.gap.start - at - 1, first + self.gap.stop - at
            parts = ((first, min(before, last)), (max(after, first), last))
            found += [Shown(each.path, begin, end) for begin, end in parts if begin <= end]
        return tuple(found)


def cut_to_limits(text: str, limits: ResultLimits, source: str = "") -> CutText:
    """Cut a text to its beginning and end. `source` names its author, if not the user."""
    if limits.holds(text):
        return CutText(text)
    length = min(LONGEST_LINE, limits.page // 2)
    while length > SHORTEST and not limits.fits(text[: 2 * length]):
        length //= 2
    whole = wrap_lines(text, length)
    most = limits.chars
    shown = excerpt(whole, most)
    while most > SHORTEST and not limits.fits(shown.text):
        most = most * 3 // 4
        shown = excerpt(whole, most)
    path = limits.keep(whole, source) if limits.keep else ""
    note = f"\n[All of it: read_file {path}, for the rest from_line {shown.gap}]"
    if not path:
        note = (
            f"\n[Cut: {len(shown.text):,} of {len(text):,} characters shown. "
            "Ask for a smaller part, for example a later line, one folder or a rarer word.]"
        )
    # Each line of the text, once for each line that it was wrapped into.
    numbers = [
        at for at, line in enumerate(text.split("\n")) for _ in wrap_lines(line, length).split("\n")
    ]
    gap = range(numbers[shown.gap - 1], numbers[shown.rest - 2] + 1) if shown.gap else range(0)
    return CutText(shown.text, note, gap)


LONGEST_LINE = 1_500  # characters; `read_file` would show only the beginning of a longer line
SHORTEST_LINE, READABLE = 500, 2_000
AROUND = 80  # characters before a secret that may identify it as one


def wrap_lines(text: str, longest: int = LONGEST_LINE) -> str:
    """Wrap long lines, but not inside a secret, which would no longer be recognized."""
    if max(map(len, text.split("\n"))) <= longest:
        return text
    return "\n".join(piece for line in text.split("\n") for piece in _pieces(line, longest))


def _pieces(line: str, longest: int) -> Iterator[str]:
    start = 0
    while len(line) - start > longest:
        end = start + longest
        for secret in find_secrets(line[start : end + LONGEST_LINE]):
            begin = max(start + secret.start - AROUND, start)
            if begin < end < start + secret.end:
                whole = min(start + secret.end, start + READABLE)
                end = begin if begin >= start + min(SHORTEST_LINE, longest // 3) else whole
                break
        yield line[start:end]
        start = end
    yield line[start:]


@frozen
class Excerpt:
    """Beginning and end of a text. `gap` is the number of the first omitted line, 0 for none, and
    `rest` that of the first whole line after the gap."""

    text: str
    gap: int = 0
    rest: int = 0


def excerpt(text: str, limit: int) -> Excerpt:
    """Shorten a text to about `limit` characters: a third from its beginning, the rest from its
    end, where errors are; cut between lines if possible."""
    if len(text) <= limit:
        return Excerpt(text)
    head, tail = text[: limit // 3], text[-(limit - limit // 3) :]
    head = head[: head.rfind("\n") + 1] or head
    after = tail.find("\n") + 1
    tail = tail[after:] if 0 < after < len(tail) else tail
    left = text[len(head) : len(text) - len(tail)]
    line = head.count("\n") + 1
    count = len(left.splitlines())
    lines = "1 line" if count == 1 else f"{count:,} lines"
    gap = f"[{lines} ({len(left):,} characters) left out]"
    end = len(text) - len(tail)
    rest = text.count("\n", 0, end) + 1 + (text[end - 1] != "\n")
    return Excerpt(f"{head.rstrip()}\n{gap}\n{tail}", line, rest)


def as_data(text: str, source: str, turn_changes: TurnChanges, limits: ResultLimits) -> str:
    """Fence text from outside as data, without hidden characters; note where it came from."""
    return fence_cut(cut_to_limits(strip_hidden(text), limits, source), source, turn_changes)


def fence_cut(cut: CutText, source: str, turn_changes: TurnChanges) -> str:
    """Fence a text from outside that was cut already; note where it came from."""
    if source not in turn_changes.foreign:
        turn_changes.foreign.append(source)
    return fence(cut.text, source, turn_changes.marker) + cut.note


def to_tool_problem(error: OSError) -> ToolProblem | OpenclawError:
    """Convert a system error into one for the model or, for a full disk, the user to mend."""
    what = f"{error.strerror or error}".lower()
    name = str(error.filename or "").replace("\\", "/").rpartition("/")[2]
    text = f"{name}: {what}" if name else what
    if error.errno in _ERRORS_FOR_USER:
        return OpenclawError(text, "free some space or make the home writable, then try again")
    return ToolProblem(f"That did not work: {text}.")


MAX_SPILLED = 20  # files; older ones are removed


def spill(home: Home, text: str, source: str = "") -> str:
    """Keep a text that is too long to be shown in a file. Returns its path in the home, "" when it
    cannot be written. `source` names the author of a text that is not the user's."""
    # The same text gets the same file, so that a request which names it stays the same.
    name = f"{SPILL}/{hashlib.sha256(text.encode(errors='replace')).hexdigest()[:16]}.txt"
    path = home.root / name
    try:
        write_private(path, text)
    except OpenclawError:
        return ""
    for old in sorted(path.parent.glob("*.txt"), key=_age)[:-MAX_SPILLED]:
        with contextlib.suppress(OSError):
            remove(old)
    if source:
        ForeignFiles(home).note(name, source, "")
    return name


def _age(path: Path) -> tuple[int, str]:
    """Sort key: the oldest first, and a file that has just vanished before it."""
    try:
        return path.stat().st_mtime_ns, path.name
    except OSError:
        return 0, path.name
