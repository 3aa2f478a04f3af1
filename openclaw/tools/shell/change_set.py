"""Move what a command wrote into its layer (overlayfs) into the home.

The layer contains exactly the changes of the command. Changes that others saved in the home
meanwhile are kept: texts are merged as the file tools merge them. When that fails, the home's file
stays, and the command's version is put next to it.
"""

from __future__ import annotations

import contextlib
import errno
import filecmp
import os
import shutil
import stat
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from secrets import token_hex

from openclaw.errors import OpenclawError
from openclaw.storage import atomic
from openclaw.storage.merge import merge_bytes
from openclaw.storage.merged_save import save_over
from openclaw.storage.safe_open import (
    NotOrdinary,
    descend,
    open_folder,
    read_content,
    read_plain_file,
)
from openclaw.tools.shell import home_state, sandbox
from openclaw.tools.shell.home_state import (
    MAX_CHANGES,
    UNSEEN,
    HomeFiles,
    as_text,
    is_hidden,
    stamp_of,
)
from openclaw.types import FileContent, TurnChanges

_XATTRS = "user.overlay."
_OPAQUE = f"{_XATTRS}opaque"


@dataclass(slots=True)
class ChangeSet:
    """The content of a layer over the home at `root`, by home-relative path."""

    root: Path
    upper: Path
    files: dict[str, os.stat_result] = field(default_factory=dict)
    folders: dict[str, int] = field(default_factory=dict)
    special: dict[str, os.stat_result] = field(default_factory=dict)  # links, pipes, sockets
    gone: dict[str, None] = field(default_factory=dict)  # removed files
    emptied: list[str] = field(default_factory=list)  # removed folders

    @property
    def counts(self) -> tuple[int, int]:
        """The number of files and folders, and their bytes."""
        size = sum(found.st_blocks * 512 for found in self.files.values())
        return len(self.files) + len(self.folders) + len(self.special), size


def read_changes(root: Path, upper: Path, fixed: frozenset[str]) -> ChangeSet:
    """Read what a command changed. `fixed` are the paths that it cannot change: there the layer
    contains only the mount points."""
    found = ChangeSet(root, upper)
    _read_folder(found, "", fixed)
    return found


def has_changes(upper: Path, fixed: frozenset[str]) -> bool:
    """Return True when a command, which may still run, has changed something in its layer."""
    for top, folders, names in os.walk(upper):
        inner = Path(top).relative_to(upper)
        if any((inner / name).as_posix() not in fixed for name in (*names, *folders)):
            return True
    return False


def _read_folder(
    found: ChangeSet, folder: str, fixed: frozenset[str], *, anew: bool = False
) -> bool | None:
    """Add a folder's entries. Returns True when one is the command's, None for an empty one."""
    made: bool | None = None
    with os.scandir(found.upper / folder) as entries:
        listed = sorted(entries, key=lambda entry: entry.name)
    for entry in listed:
        made = bool(made)
        name = f"{folder}/{entry.name}" if folder else entry.name
        status = entry.stat(follow_symlinks=False)
        if name in fixed:
            continue
        made = True
        if stat.S_ISDIR(status.st_mode):
            _note_folder(found, name, status, fixed, anew)
        elif stat.S_ISCHR(status.st_mode):  # a whiteout: a command cannot make a device there
            _note_gone(found, name)
        elif stat.S_ISREG(status.st_mode):
            if _type_bits(found.root / name) not in (0, stat.S_IFREG):
                _note_gone(found, name)
            found.files[name] = status
        elif stat.S_IFMT(status.st_mode) != _type_bits(found.root / name):
            _note_gone(found, name)
            found.special[name] = status
        elif stat.S_ISLNK(status.st_mode):
            found.special[name] = status
    return made


def _note_folder(
    found: ChangeSet, name: str, status: os.stat_result, fixed: frozenset[str], anew: bool
) -> None:
    """Add a folder. `anew` tells that a folder above it was removed and made again; only that
    folder has the opaque mark."""
    below, made = found.root / name, found.upper / name
    made.chmod(0o700)  # to read its files and take them out
    anew = anew or _is_opaque(made)
    if below.is_symlink() or not below.is_dir():
        _note_gone(found, name)
    elif anew:
        there = {entry.name for entry in os.scandir(made)}
        for entry in os.scandir(below):
            if entry.name not in there:
                _note_gone(found, f"{name}/{entry.name}")
    has = _read_folder(found, name, fixed, anew=anew)
    if has or (has is None and name not in sandbox.FOLDERS):  # an empty one may be a placeholder
        found.folders[name] = stat.S_IMODE(status.st_mode)


def _note_gone(found: ChangeSet, name: str) -> None:
    path = found.root / name
    if path.is_symlink() or not path.is_dir():
        if os.path.lexists(path):
            found.gone[name] = None
        return
    for top, folders, names in os.walk(path, topdown=False):
        inner = Path(top).relative_to(found.root).as_posix()
        links = [each for each in folders if Path(top, each).is_symlink()]
        found.gone |= dict.fromkeys(f"{inner}/{each}" for each in sorted((*names, *links)))
        found.emptied.append(inner)


def _type_bits(path: Path) -> int:
    """The type bits of the mode of a path, 0 for nothing."""
    try:
        return stat.S_IFMT(path.lstat().st_mode)
    except OSError:
        return 0


def _is_opaque(folder: Path) -> bool:
    try:
        return os.getxattr(folder, _OPAQUE, follow_symlinks=False) == b"y"
    except OSError:
        return False


# -------- moving it into the home


@dataclass(slots=True)
class ChangeMover:
    """Moves a change set into the home. `before` is the home as the command found it. `changed`
    lists the visible files that it changed, `notes` what the model should know."""

    found: ChangeSet
    before: HomeFiles
    turn_changes: TurnChanges
    changed: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    _void: Callable[[str], None] = field(default=lambda _: None, init=False)
    _waiting: dict[str, None] = field(default_factory=dict, init=False)

    def bring(self) -> None:
        """Move everything. The record is written first, so that after a kill in between it tells
        what was planned."""
        names = self._differing()
        shown = (name for name in names if not is_hidden(name))
        self.changed = [n for n in shown if UNSEEN.isdisjoint(PurePosixPath(n).parts[:-1])]
        for name in self.changed[:MAX_CHANGES]:
            held = self._held_before(name)
            self.turn_changes.before.setdefault(name, as_text(held[0] or b"") if held else None)
        clean = [name for name in self.changed if self._is_untouched(name)]
        self._void = self.turn_changes.altered(clean, self._held_before, self._held_after)
        self._waiting = dict.fromkeys(clean)
        try:
            self._bring_files(names)
        finally:  # of Ctrl-C
            for name in self._waiting:
                self._void(name)

    def _bring_files(self, names: Collection[str]) -> None:
        for name in self.found.gone:
            self._remove_file(name)
            if name not in self.found.files:
                self._waiting.pop(name, None)
        for folder in self.found.emptied:
            with contextlib.suppress(OSError):  # others have put something into it
                (self.found.root / folder).rmdir()
        for name in self.found.folders:
            self._make_folder(name)
        for name in self.found.files:
            (self._put_file if name in names else self._touch)(name)
            self._waiting.pop(name, None)
        for name, status in self.found.special.items():
            self._make_special(name, status.st_mode)
        for name, mode in reversed(self.found.folders.items()):  # last, as some become read-only
            with contextlib.suppress(OSError), self._place(f"{name}/x") as inner:
                if stat.S_IMODE(inner.parent.stat().st_mode) != mode:
                    inner.parent.chmod(mode)

    def _differing(self) -> dict[str, None]:
        """The files whose content changed or that are gone, the new ones last. Of the other files
        in the layer, at most the time was changed."""
        files = [name for name in self.found.files if self._differs(name)]
        new = [name for name in files if not os.path.lexists(self.found.root / name)]
        return dict.fromkeys((*sorted({*self.found.gone, *files} - {*new}), *new))

    def _differs(self, name: str) -> bool:
        path, made = self.found.root / name, self.found.files[name]
        try:
            there = path.lstat()
        except OSError:
            return True
        if (there.st_mode, there.st_size) != (made.st_mode, made.st_size):
            return True
        try:
            return not filecmp.cmp(path, self.found.upper / name, shallow=False)
        except OSError:  # it is not readable
            return True

    def _is_untouched(self, name: str) -> bool:
        """Return True when nobody changed the home's file since the command began; the command
        itself could not."""
        try:
            there = (self.found.root / name).lstat()
        except OSError:
            return name not in self.before.stamps
        if name in self.before.stamps:
            return self.before.stamps[name] == stamp_of(there)
        return there.st_ctime_ns <= self.before.at_ns

    def _held_before(self, name: str) -> FileContent:
        return read_content(self.found.root, name, home_state.LARGEST)

    def _held_after(self, name: str) -> FileContent:
        return read_content(self.found.upper, name) if name in self.found.files else None

    # -------- one file

    def _remove_file(self, name: str) -> None:
        if not self._is_untouched(name):
            self._keep_theirs(name, "others changed it meanwhile, so it was not removed")
            return
        with contextlib.suppress(FileNotFoundError), self._place(name) as path:
            path.unlink()

    def _put_file(self, name: str) -> None:
        try:
            with self._place(name) as path, self._temporary_copy(name, path.parent) as temp:
                if not (self._is_untouched(name) and _swap(temp, path)):
                    self._merge(name, temp, path.parent)
        except OSError as error:
            self._keep_theirs(name, f"it could not be written ({error.strerror or error})")

    def _merge(self, name: str, temp: Path, folder: Path) -> None:
        """Merge a file that somebody else has changed too; on a conflict, put ours next to it."""
        self._void(name)
        path = self.found.root / name
        try:
            read_plain_file(self.found.root, name, 0)  # no link
            now = atomic.read_settled(path)
            both = _merge_texts(self.before.contents.get(name, b""), now or b"", temp.read_bytes())
            save_over(path, now, both, self.turn_changes.keep)
        except (OpenclawError, NotOrdinary, ValueError):
            aside = PurePosixPath(name).with_suffix(f".{token_hex(2)}{PurePosixPath(name).suffix}")
            os.link(temp, folder / aside.name)
            self.turn_changes.before.setdefault(str(aside), None)
            after = partial(read_content, self.found.root)
            self.turn_changes.altered([str(aside)], lambda _: None, after)
            self._keep_theirs(
                name, f"others changed it meanwhile; what the command made of it is {aside}"
            )
            self.changed.append(str(aside))
        else:
            self.notes.append(f"{name}: others changed it too, and both changes are in it")

    def _keep_theirs(self, name: str, why: str) -> None:
        self._void(name)
        self.changed = [each for each in self.changed if each != name]
        self.notes.append(f"{name}: {why}")

    def _touch(self, name: str) -> None:
        made = self.found.files[name]
        with contextlib.suppress(OSError), self._place(name) as path:
            if self._is_untouched(name) and path.lstat().st_mtime_ns != made.st_mtime_ns:
                os.utime(path, ns=(made.st_atime_ns, made.st_mtime_ns), follow_symlinks=False)

    def _make_special(self, name: str, kind: int) -> None:
        """Make a link or a pipe. A socket is of no use without its program."""
        made = self.found.upper / name
        try:
            with self._place(name) as path:
                if stat.S_ISLNK(kind):
                    leads = made.readlink()
                    if path.is_symlink() and self._is_untouched(name):
                        path.unlink()
                    path.symlink_to(leads)
                elif stat.S_ISFIFO(kind):
                    os.mkfifo(path)
        except OSError as error:
            self.notes.append(f"{name}: it could not be made ({error.strerror})")

    # -------- folders

    def _make_folder(self, name: str) -> None:
        try:
            with self._place(f"{name}/x"):
                pass
        except OSError:
            self.notes.append(f"{name}: something stands in the place of the folder")

    @contextlib.contextmanager
    def _place(self, name: str) -> Iterator[Path]:
        """The path of a file, which stays valid when its folder is renamed. No link is followed. A
        missing folder is made."""
        *folders, last = PurePosixPath(name).parts
        with descend(str(self.found.root), folders, make=True) as folder:
            yield Path(f"/proc/self/fd/{folder.number}", last)

    @contextlib.contextmanager
    def _temporary_copy(self, name: str, folder: Path) -> Iterator[Path]:
        """Put the command's file into its folder, under a temporary name."""
        temp = folder / f".openclaw-{token_hex(6)}.tmp"
        try:
            _move(self.found.upper / name, temp, self.found.files[name])
            yield temp
        finally:
            temp.unlink(missing_ok=True)


def _merge_texts(base: bytes, now: bytes, made: bytes) -> bytes:
    """Merge what others and the command made of a text. The command may have seen the others'
    lines; then its own text has them at the same place. Raises ValueError on a conflict."""
    data, merged = merge_bytes(base, now, made, touching=True)
    if not merged.conflicts:
        return data
    lines = list(merged.lines)
    for conflict in reversed(merged.conflicts):
        if not _has_lines(conflict.theirs, conflict.ours):
            raise ValueError("the same lines were changed")
        lines[conflict.at : conflict.at + len(conflict.ours)] = conflict.theirs
    return "".join(lines).encode("utf-8", "surrogateescape")


def _has_lines(lines: Sequence[str], part: Sequence[str]) -> bool:
    starts = range(len(lines) - len(part) + 1)
    return bool(part) and any(lines[at : at + len(part)] == part for at in starts)


def _move(made: Path, temp: Path, status: os.stat_result) -> None:
    """Take a file out of the layer, in one step when both are on one file system."""
    try:
        made.rename(temp)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        shutil.copyfile(made, temp, follow_symlinks=False)
        os.utime(temp, ns=(status.st_atime_ns, status.st_mtime_ns))
    temp.chmod(stat.S_IMODE(status.st_mode) & 0o777)  # without setuid and setgid
    for name in os.listxattr(temp):
        if name.startswith(_XATTRS):
            os.removexattr(temp, name)


def _swap(temp: Path, target: Path) -> bool:
    """Exchange `temp` and `target`. Returns True when that worked and nobody had just changed the
    target; then `temp` is the old file."""
    try:
        known = target.lstat()
    except FileNotFoundError:
        with contextlib.suppress(FileExistsError):
            os.link(temp, target)
            return True
        return False
    with temp.open("rb") as file:
        os.fsync(file.fileno())  # the exchange gives up the old content
    with open_folder(target.parent) as folder:
        if not atomic.exchanged(folder, temp.name, target.name):
            temp.replace(target)
            return True
        if _rename_stamp(temp.lstat()) == _rename_stamp(known):
            return True
        atomic.exchanged(folder, temp.name, target.name)
    return False


def _rename_stamp(status: os.stat_result) -> tuple[int, int, int]:
    """The values that stay the same when a file is renamed."""
    return status.st_ino, status.st_size, status.st_mtime_ns
