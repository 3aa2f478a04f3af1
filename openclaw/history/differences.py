"""Differences between versions of files, as git's unified diff."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from openclaw.frozen import frozen
from openclaw.history.turns import TALK, UNKNOWN
from openclaw.storage.merge import Block, blocks
from openclaw.storage.text import replace_bad_bytes

if TYPE_CHECKING:
    from openclaw.history.history import History
    from openclaw.history.turns import Turn, TurnStep


Read = Callable[[str | None], bytes | None]
CONTEXT = 3  # unchanged lines around a change, as git has them
SNIFFED = 8000
"""Bytes in which git looks for a NUL, which no text has (buffer_is_binary in xdiff-interface.c)."""
_ESCAPES = {code: f"\\{code:03o}" for code in (*range(32), 127)} | str.maketrans(
    {"\\": "\\\\", '"': '\\"', "\t": "\\t", "\n": "\\n", "\r": "\\r"}
)


@frozen
class Difference:
    """One file before and after.

    before, after: its bytes, None for "there was no file"
    created, deleted: right also where `known` is False
    known: False when a content was too large to be kept, or is lost
    """

    path: str
    before: bytes | None
    after: bytes | None
    created: bool = False
    deleted: bool = False
    known: bool = True

    @property
    def action(self) -> str:
        return "created" if self.created else "deleted" if self.deleted else "changed"

    @property
    def binary(self) -> bool:
        return any(b"\0" in (data or b"")[:SNIFFED] for data in (self.before, self.after))

    def counts(self) -> tuple[int, int]:
        """The numbers of lines added and removed; 0, 0 for a file that is not text."""
        if not self.known or self.binary:
            return 0, 0
        changed = [block for block in blocks(*self._lines()) if block[0] != "equal"]
        return sum(b[4] - b[3] for b in changed), sum(b[2] - b[1] for b in changed)

    def unified(self) -> Iterator[str]:
        """The lines of the diff, without their ends. Bytes that are no UTF-8 are lone surrogates,
        as Python makes them of file names."""
        old, new = _quote_path(f"a/{self.path}"), _quote_path(f"b/{self.path}")
        yield f"diff --git {old} {new}"
        if self.created or self.deleted:
            yield f"{'new' if self.created else 'deleted'} file mode 100644"
        if not self.known:
            yield "its content was not kept"
            return
        old, new = ("/dev/null" if self.created else old), ("/dev/null" if self.deleted else new)
        if self.binary:
            yield f"Binary files {old} and {new} differ"
            return
        hunks = list(_hunks(*self._lines()))
        if hunks:
            yield from (f"--- {old}", f"+++ {new}", *hunks)

    def _lines(self) -> tuple[list[bytes], list[bytes]]:
        return lines_of(self.before or b""), lines_of(self.after or b"")


def differences(steps: Iterable[TurnStep], read: Read) -> list[Difference]:
    """The differences that steps add up to, in the order in which the files were first touched.

    A file that ends as it began is left out. `read` returns the content that a step names.
    """
    ends: dict[str, tuple[str | None, str | None]] = {}
    for step in steps:
        before = ends[step.path][0] if step.path in ends else step.before
        ends[step.path] = (before, step.after)
    found = []
    for path, (old, new) in ends.items():
        if old != new or old == UNKNOWN:
            held, holds = read(old), read(new)
            known = (held is None) == (old is None) and (holds is None) == (new is None)
            if held != holds or not known:
                found.append(Difference(path, held, holds, old is None, new is None, known))
    return found


def lines_of(data: bytes) -> list[bytes]:
    """The lines of a content with their ends; only a newline ends a line."""
    lines = data.split(b"\n")
    rest = lines.pop()
    return [line + b"\n" for line in lines] + ([rest] if rest else [])


class _Grouped(SequenceMatcher[bytes]):
    """Groups blocks with unchanged lines around them as difflib does."""

    def __init__(self, found: list[Block]) -> None:
        super().__init__(None, (), ())
        self.found = found

    def get_opcodes(self) -> list[Any]:
        return self.found


def _hunks(old: list[bytes], new: list[bytes]) -> Iterator[str]:
    for group in _Grouped(blocks(old, new)).get_grouped_opcodes(CONTEXT):
        first, last = group[0], group[-1]
        yield f"@@ -{_range(first[1], last[2])} +{_range(first[3], last[4])} @@"
        for kind, a, b, c, d in group:
            if kind == "equal":
                yield from _format_lines(" ", old[a:b])
            else:
                yield from _format_lines("-", old[a:b])
                yield from _format_lines("+", new[c:d])


def _range(start: int, end: int) -> str:
    """Lines from 1 as a hunk's head names them; an empty range begins at the line before it."""
    count = end - start
    return f"{start + 1}" if count == 1 else f"{start + bool(count)},{count}"


def _format_lines(sign: str, lines: Sequence[bytes]) -> Iterator[str]:
    for line in lines:
        yield sign + line.removesuffix(b"\n").decode("utf-8", "surrogateescape")
        if not line.endswith(b"\n"):
            yield "\\ No newline at end of file"


def _quote_path(path: str) -> str:
    """A path as git writes it into a diff (core.quotePath off): in quotes when it must be."""
    text = path.translate(_ESCAPES)
    return f'"{text}"' if text != path else path


# -------- the files of a turn


def turn_differences(history: History, turn: Turn) -> list[Difference]:
    """Return the files that an entry changed, those of conversations last."""
    found = differences(turn.steps, history.read)
    return sorted(found, key=lambda each: each.path.startswith(TALK))


def turn_json(turn: Turn, found: Iterable[Difference], *, diff: bool = False) -> dict[str, Any]:
    """Return an entry as JSON: its fields, and `files` with action, counts and, if asked, diff."""
    fields = asdict(turn)
    del fields["steps"]
    return fields | {"files": [_file_json(each, diff=diff) for each in found]}


def _file_json(each: Difference, *, diff: bool) -> dict[str, Any]:
    added, removed = each.counts()
    found = {"path": each.path, "action": each.action, "added": added, "removed": removed}
    found |= {"binary": each.binary, "known": each.known}
    return found | ({"diff": replace_bad_bytes("\n".join([*each.unified(), ""]))} if diff else {})
