"""Works out how files go back to what they were before some turns, later edits of others kept.

Nothing is written here. A file that still holds what the turn left becomes what it was; one that
was edited since is merged: what the turn did is taken out, what came later stays. Where both have
changed the same lines there is a conflict.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from openclaw.errors import OpenclawError
from openclaw.frozen import frozen
from openclaw.history.turns import Scope, Turn, TurnStep, is_program
from openclaw.storage.home import is_inside
from openclaw.storage.merge import Conflict, merge_bytes
from openclaw.storage.safe_open import (
    LARGEST_KEPT,
    NotOrdinary,
    check_no_links,
    read_plain_file,
    reading,
    remove,
)
from openclaw.storage.text import (
    replace_bad_bytes,
    report_unwritable,
    with_line_ends_of,
    write_if_same,
)
from openclaw.types import FileContent

Read = Callable[[str | None], bytes | None]
Merge = Callable[[str, bytes, bytes, bytes | None], tuple[bytes, bool] | None]
"""Merges files of which the lines say nothing: path, base, ours, theirs; None for the others."""


@frozen
class FileConflict:
    """A file that cannot be taken back as a whole. `text` are the places, marked as git marks them:
    what is there now, what the turn had left, what it was before."""

    path: str
    text: str


@dataclass(slots=True)
class Plan:
    """What files hold now and what they are to hold, by path.

    `merged` had been edited since; `missing` have no content that was kept, or are no plain files
    any more, and stay as they are.
    """

    now: dict[str, FileContent] = field(default_factory=dict)
    wanted: dict[str, FileContent] = field(default_factory=dict)
    merged: dict[str, None] = field(default_factory=dict)
    missing: dict[str, None] = field(default_factory=dict)
    conflicts: list[FileConflict] = field(default_factory=list)

    @property
    def changes(self) -> list[str]:
        """The paths that become different, those first that go: a folder may become a file."""
        found = [path for path, wanted in self.wanted.items() if wanted != self.now[path]]
        return sorted(found, key=lambda path: self.wanted[path] is not None)


@frozen
class Undo:
    """How to read contents, and to merge what is no text, for the home at `root`."""

    root: Path
    read: Read
    merge: Merge

    def plan(self, turns: Iterable[Turn], scope: Scope, only: str = "") -> Plan:
        """How to take these turns back, the newest first; with `only` for this one file."""
        plan = Plan()
        for turn in turns:
            for step in reversed(turn.within(scope)):
                if only in ("", step.path):
                    self._step(plan, step)
        return plan

    def _step(self, plan: Plan, step: TurnStep) -> None:
        before, after = self.read(step.before), self.read(step.after)
        known = (step.before is None or before is not None) and (
            step.after is None or after is not None
        )
        if not known:  # UNKNOWN has no content either
            plan.missing[step.path] = None
            return
        path = step.path
        if path not in plan.now:
            try:
                found: FileContent = read_home_file(self.root, path)
            except NotOrdinary:
                found = None, False
            if found and found[0] is None:
                plan.missing[path] = None
                return
            plan.now[path] = plan.wanted[path] = found
        now, program = plan.wanted[path] or (None, False)
        if now == after:
            made, program = before, is_program(step.before)
        elif now == before:
            return
        else:
            # git may have kept them with other line ends than the file has.
            before, after = with_line_ends_of(now, before), with_line_ends_of(now, after)
            made = before if now == after else self._merge_back(plan, path, now, before, after)
        plan.wanted[path] = None if made is None else (made, program)

    def _merge_back(
        self, plan: Plan, path: str, now: bytes | None, before: bytes | None, after: bytes | None
    ) -> bytes | None:
        if now is None:  # removed since: nothing of the turn is left in it
            plan.merged[path] = None
            return None
        made = self.merge(path, after or b"", now, before)
        if made is not None:
            data, fits = made
            if not fits:
                plan.conflicts.append(FileConflict(path, "messages of it were changed since"))
            plan.merged[path] = None
            return data
        if before is None or after is None:
            what = "it was made by the turn" if before is None else "the turn had removed it"
            plan.conflicts.append(FileConflict(path, f"{what} and was changed since"))
            return now
        try:
            data, found = merge_bytes(after, now, before, touching=True)
        except ValueError:
            plan.conflicts.append(FileConflict(path, "it is no text and was changed since"))
            return now
        if found.conflicts:
            text = "\n".join(map(_format_conflict, found.conflicts))
            plan.conflicts.append(FileConflict(path, text))
        plan.merged[path] = None
        return data


def _format_conflict(conflict: Conflict) -> str:
    """A conflict as text, with the marks of git's style diff3."""
    parts: Sequence[tuple[str, tuple[str, ...]]] = (
        ("<<<<<<< now", conflict.ours),
        ("||||||| after the turn", conflict.base),
        ("=======", conflict.theirs),
    )
    lines: list[str] = []
    for mark, part in parts:
        lines += [mark, *(text.rstrip("\r\n") for text in part)]
    return replace_bad_bytes("\n".join([*lines, ">>>>>>> before the turn"]))


KEPT_FOLDERS = frozenset({"workspace", "memory", "skills", "sessions"})
"""Of the home; they stay when the last file in them goes."""


def read_home_file(root: Path, name: str) -> FileContent:
    """A file of the home as `read_plain_file` sees it. NotOrdinary as there; OpenclawError for what
    cannot be read, or is no file of the home."""
    if not is_inside(name):
        raise OpenclawError(
            f"{name!r} is no file of the home and is left alone", "see the turn: openclaw log"
        )
    try:
        return read_plain_file(root, name, LARGEST_KEPT)
    except NotOrdinary:
        raise
    except OSError as error:
        raise OpenclawError(
            f"{root / name} cannot be read: {error.strerror}", "give this user access to it"
        ) from error


def read_file_to_write(root: Path, name: str) -> FileContent:
    """A file of the home that is about to be written. OpenclawError also for what is no file."""
    try:
        return read_home_file(root, name)
    except NotOrdinary:
        raise OpenclawError(
            f"{root / name} is or lies behind a link, a pipe or a device, which is not followed",
            "put a plain file or folder in its place",
        ) from None


def write_if_unchanged(root: Path, name: str, now: FileContent, wanted: FileContent) -> bool:
    """Let a file become `wanted` if it still has the bytes of `now`; whether it did. OpenclawError
    when it cannot be written, also where a link or the like stands in the way by now."""
    path = root / name
    found = read_file_to_write(root, name)
    data, was_program = found or (None, False)
    if data != (now and now[0]) or (found and data is None):
        return False
    if wanted is None:
        _remove(root, path)
        return True
    with contextlib.suppress(OSError):
        check_no_links(path).rmdir()  # what had files in it and has none any more
    new, program = wanted
    if new is None or (new != data and not write_if_same(path, data, new)):
        return False
    if program != was_program and os.name != "nt":
        _set_program(path, program)
    return True


def _set_program(path: Path, program: bool) -> None:
    with report_unwritable(path), reading(path) as file:
        mode = os.fstat(file.fileno()).st_mode & 0o777
        wanted = mode | (mode & 0o444) >> 2 if program else mode & ~0o111
        if wanted != mode:
            os.fchmod(file.fileno(), wanted)


def _remove(root: Path, path: Path) -> None:
    """Remove a file, and the folders that are empty then."""
    with report_unwritable(path):
        remove(path)
    with contextlib.suppress(OSError):
        check_no_links(path.parent)
        for folder in path.parents:
            if folder == root or folder.name in KEPT_FOLDERS:
                break
            folder.rmdir()
