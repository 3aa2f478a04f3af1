"""Merges the files of a home with those of another device, and brings the result in.

To-dos are merged by their ids, conversations message by message, Markdown line by line with both
sides' new lines kept, other texts as git does it. A line that both sides changed is a conflict.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Literal

from openclaw.errors import OpenclawError
from openclaw.frozen import frozen
from openclaw.history.history import History
from openclaw.history.record import Journal
from openclaw.history.rollback import read_file_to_write, write_if_unchanged
from openclaw.history.turns import TALK, TurnStep, is_program
from openclaw.memory.pages import is_page, take_sums, with_sums
from openclaw.memory.todos import Todo, move_todo, read_task_page
from openclaw.receipt import TODO_FILE
from openclaw.sessions.repair import merge_devices
from openclaw.storage.file_kinds import kind_by_name
from openclaw.storage.merge import Conflict, Merged, blocks, merge_bytes
from openclaw.storage.text import with_line_ends_of
from openclaw.types import ToolProblem

Keep = Literal["", "mine", "theirs", "both"]
"""What stays where both sides changed the same line; "" to be told of it."""
ATTEMPTS = 5


@frozen
class SyncConflict:
    """A place that both devices changed. `line` is that of the file here, 0 for the whole file."""

    path: str
    line: int = 0
    mine: str = ""
    theirs: str = ""


@frozen
class MergedFile:
    """What the file is to hold, None for no file. With conflicts it is this device's there."""

    data: bytes | None
    conflicts: tuple[SyncConflict, ...] = ()


def merge_file(
    path: str, base: bytes | None, mine: bytes | None, theirs: bytes | None, keep: Keep = ""
) -> MergedFile:
    """Merge two versions of a file that both come from `base`; None is no file. What one side
    removed and the other changed stays."""
    if mine == theirs or theirs == base:
        return MergedFile(mine)
    if mine == base:
        return MergedFile(theirs)
    if mine is None or theirs is None:
        return MergedFile(theirs if mine is None else mine)
    if path.startswith(TALK) and path.endswith(".json"):
        joined = merge_devices(base, mine, theirs)
        return MergedFile(joined) if joined is not None else _whole(path, mine, theirs, keep)
    sides = [with_line_ends_of(mine, side) or b"" for side in (base, mine, theirs)]
    if mine == sides[0]:
        return MergedFile(sides[2])
    markdown = kind_by_name(path) == "markdown"
    texts = [_ended(_text(side)) if markdown else _text(side) for side in sides]
    sums: set[str] = set()
    if path == TODO_FILE:
        texts = _same_todos(*texts)
    elif is_page(path):
        texts, sums = take_sums(*texts)
    try:
        _, merged = merge_bytes(*map(_bytes, texts), touching=markdown)
    except ValueError:
        return _whole(path, mine, theirs, keep)
    lines, found = _settle(path, merged, texts[1], keep, markdown=markdown)
    text = "".join(lines)
    if sums:
        text = with_sums(text, sums)
    elif path == TODO_FILE:
        text = _in_their_lists(_with_own_ids(text), *texts)
    return MergedFile(_bytes(text), found)


def _whole(path: str, mine: bytes, theirs: bytes, keep: Keep) -> MergedFile:
    """A file that cannot be merged in parts."""
    if keep in ("mine", "theirs"):
        return MergedFile(mine if keep == "mine" else theirs)
    return MergedFile(mine, (SyncConflict(path),))


def _settle(
    path: str, merged: Merged, mine: str, keep: Keep, *, markdown: bool
) -> tuple[list[str], tuple[SyncConflict, ...]]:
    """The merged lines, where both sides' are kept if they can be, and what is left."""
    lines, left = list(merged.lines), []
    for conflict in reversed(merged.conflicts):
        chosen = _choose(conflict, keep, markdown=markdown)
        if chosen is None:
            line = _line_in(mine, merged.lines, conflict.at)
            texts = ("".join(side).rstrip("\r\n") for side in (conflict.ours, conflict.theirs))
            left.append(SyncConflict(path, line, *texts))
        else:
            lines[conflict.at : conflict.at + len(conflict.ours)] = chosen
    return lines, tuple(reversed(left))


def _choose(conflict: Conflict, keep: Keep, *, markdown: bool) -> Sequence[str] | None:
    ours, theirs = conflict.ours, conflict.theirs
    if markdown and not conflict.base:
        return _both(ours, theirs)
    if markdown and not (ours and theirs):  # removed there, changed here
        return ours or theirs
    if keep == "both":
        new = [line for line in theirs if line not in conflict.base]
        return _both(ours, [line for line in new if line not in ours])
    return {"mine": ours, "theirs": theirs}.get(keep)


def _both(ours: Sequence[str], theirs: Sequence[str]) -> list[str]:
    """The lines of both, once where one side has all lines of the other, or both begin alike. Those
    without a heading stand first: they belong below the heading that is above."""
    for some, other in ((ours, theirs), (theirs, ours)):
        rest = iter(other)
        if all(line in rest for line in some):
            return [*other]
    same = next(i for i, pair in enumerate(zip(ours, theirs, strict=False)) if pair[0] != pair[1])
    mine, other = ours[same:], theirs[same:]
    mine_headed, other_headed = (
        any(line.startswith("#") for line in side) for side in (mine, other)
    )
    first, second = (other, mine) if mine_headed and not other_headed else (mine, other)
    return [*ours[:same], *first, *second]


def _line_in(mine: str, merged: Sequence[str], at: int) -> int:
    """The line, from 1, of this device's file that stands at this index of the merged lines."""
    for kind, start, end, there, _ in blocks(merged, mine.splitlines(keepends=True)):
        if kind == "equal" and start <= at < end:
            return there + at - start + 1
    return 1


def _ended(text: str) -> str:
    """The text with an end of its last line, so that what is added below it does not change it."""
    return text if not text or text.endswith(("\n", "\r")) else text + "\n"


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


# -------- to-dos


def _same_todos(*texts: str) -> list[str]:
    """The texts of base, mine and theirs with what became of each to-do already merged in all of
    them, so that only the places of the lines differ. Where both have other words, theirs is a
    to-do of its own; one that a side removed is gone, unless the other has changed it."""
    pages = [read_task_page(text) for text in texts]
    found = [{item.id: item for item in page.items if item.given} for page in pages]
    more: dict[int, str] = {}
    for name in found[0].keys() & found[1].keys() & found[2].keys():
        old, ours, other = (items[name] for items in found)
        if len({(item.done, item.text) for item in (old, ours, other)}) == 1:
            continue
        done = ours.done if ours.done != old.done else other.done
        text = ours.text if ours.text != old.text else other.text
        for page, item in zip(pages, (old, ours, other), strict=True):
            page.lines[item.at] = _todo_line(page.lines[item.at], item, done, f"{text} ^{name}")
        if len({old.text, ours.text, other.text}) == 3:
            more[other.at] = _todo_line(pages[2].lines[other.at], other, done, other.text)
    for name in found[0].keys() - (found[1].keys() & found[2].keys()):  # one side removed it
        was = found[0][name]
        for page, items in zip(pages, found, strict=True):
            left = items.get(name)
            if left and (left.done, left.text) == (was.done, was.text):
                page.lines[left.at] = ""
    for at in sorted(more, reverse=True):
        pages[2].lines.insert(at + 1, more[at])
    return ["".join(page.lines) for page in pages]


def _todo_line(line: str, item: Todo, done: bool, text: str) -> str:
    start = line.index("[")
    end = line[len(line.rstrip("\r\n")) :]
    return f"{line[:start]}[{'x' if done else ' '}] {text}{end}"


def _with_own_ids(text: str) -> str:
    """The text, without the id of a to-do that another to-do has; it gets a new one."""
    page = read_task_page(text)
    for item in page.items:
        line = page.lines[item.at]
        if not item.given and "^" in line:
            page.lines[item.at] = _todo_line(line, item, item.done, item.text)
    return "".join(page.lines)


def _in_their_lists(text: str, *sides: str) -> str:
    """The text with each to-do in the list where it was put: by its lines alone one may have come
    below a heading that the other side has made."""
    old, ours, other, now = (
        {item.id: item.list for item in read_task_page(side).items if item.given}
        for side in (*sides, text)
    )
    for name, where in now.items():
        here = ours.get(name, other.get(name, where))
        wanted = other.get(name, here) if here == old.get(name) else here
        if wanted != where:
            with suppress(ToolProblem):
                text = move_todo(text, name, wanted)
    return text


# -------- into the home


def bring_in(history: History, journal: Journal) -> None:
    """Write the files of a sealed record, and finish it. A file that was changed since the record
    was made is merged with it; of the same lines those of both stay. Also after a kill."""
    record = journal.record
    for number, step in enumerate(record.steps):
        if step and number not in record.done:
            before, after = history.read(step.before), history.read(step.after)
            for _ in range(ATTEMPTS):
                now = read_file_to_write(journal.root, step.path)
                wanted = merge_file(step.path, before, now and now[0], after, "both").data
                program = is_program(step.after) if step.after else bool(now and now[1])
                made = None if wanted is None else (wanted, program)
                if write_if_unchanged(journal.root, step.path, now, made):
                    break
            else:
                raise OpenclawError(
                    f"{step.path} is written by another program all the time",
                    "let it finish, then sync again",
                )
            if wanted != after:
                kept = record.put(wanted, executable=program)
                record.swap(number, TurnStep(step.path, step.before, kept))
            record.mark(number)
    journal.finish("done")
