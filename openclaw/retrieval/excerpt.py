"""Lines of an indexed file with their numbers, for a model that wants to read on."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from pathlib import Path

from openclaw.retrieval.readers import Unreadable, kind_of, read_document
from openclaw.shapes import ToolProblem

MOST_LINES = 120
LONGEST_LINE = 1_000


def indexed_name(path: str, known: Collection[str]) -> str:
    """The indexed file that a path means. Raises ToolProblem that names the nearest ones."""
    wanted = path.strip().replace("\\", "/").removeprefix("./")
    if wanted in known:
        return wanted
    same_name = [name for name in known if name.rpartition("/")[2] == wanted.rpartition("/")[2]]
    if len(same_name) == 1 and same_name[0].endswith("/" + wanted):
        return same_name[0]
    near = same_name or difflib.get_close_matches(wanted, sorted(known), n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(sorted(near)[:3])}?" if near else ""
    raise ToolProblem(f"{path} is not in memory.{hint}")


def numbered_lines(file: Path, name: str, start: int, end: int, max_bytes: int) -> str:
    """Lines `start` to `end` (from 1, inclusive; 0: to the end), at most `MOST_LINES` of them, each
    with its number. Raises ToolProblem for a file that cannot be read or has no such lines."""
    try:
        text = read_document(file, kind_of(name), max_bytes).text
    except (Unreadable, OSError) as error:
        raise ToolProblem(f"{name} cannot be read: {error}") from error
    lines = text.removesuffix("\n").split("\n")
    first = max(start, 1)
    if first > len(lines):
        raise ToolProblem(f"{name} has only {len(lines)} lines.")
    wanted = min(end if end >= first else len(lines) if end <= 0 else first, len(lines))
    last = min(wanted, first + MOST_LINES - 1)
    width = len(str(last))
    shown = [f"{at:>{width}}  {_short(lines[at - 1])}" for at in range(first, last + 1)]
    if last < wanted:
        shown.append(f"[{wanted - last} more lines: ask for {last + 1} to {wanted}]")
    return f"{name}, lines {first}-{last} of {len(lines)}:\n" + "\n".join(shown)


def _short(line: str) -> str:
    if len(line) <= LONGEST_LINE:
        return line
    return f"{line[:LONGEST_LINE]} [cut: {len(line):,} characters in this line]"
