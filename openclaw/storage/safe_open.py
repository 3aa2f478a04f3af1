"""Opens and reads files of a home: ordinary ones only, and through no link.

A home may come from anybody, and a command in it may exchange what lies there at any time. So each
folder on the way is opened by the descriptor of the one above it, none of them as a link, and what
is opened in the last one is used by its descriptor: nothing is looked up twice. Paths outside of
all homes are opened as the operating system does.

A file with further names (hard links) is read, and replaced like any other. It is not written in
place, as its other name may lie anywhere.
"""

# Asked for each file of a home; Path objects would take more time than the system calls.
# ruff: noqa: PTH100, PTH111, PTH112, PTH117, PTH118, PTH206

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import BufferedRandom, BufferedReader, BufferedWriter
from pathlib import Path
from typing import Any, BinaryIO

from openclaw.errors import Damaged
from openclaw.types import FileContent

LARGEST = 64_000_000
"""Bytes of the largest file of a home that is read as a whole, where no other limit is named."""
LARGEST_KEPT = 50_000_000  # bytes of the largest content that is recorded
BOM = b"\xef\xbb\xbf"
_ESCAPES = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)
BY_DESCRIPTOR = os.open in os.supports_dir_fd
_FILE = getattr(os, "O_BINARY", 0)
_ORDINARY = _FILE
for _name in ("O_NOFOLLOW", "O_NONBLOCK", "O_NOCTTY"):
    _ORDINARY |= getattr(os, _name, 0)
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0)
_ONE_STEP = _FOLDER | getattr(os, "O_NOFOLLOW", 0)
_WRITES = os.O_WRONLY | os.O_RDWR
_LINK = "is a link, and nothing in a home is opened through links"
_KINDS = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}
_roots: set[str] = set()
_targets: dict[str, Callable[[], Iterable[str]]] = {}


class NotOrdinary(OSError):
    """A link, pipe, socket or device stands where a file or a folder of a home should be."""


def guard(root: Path) -> None:
    """From now on what lies beneath this folder is opened as described above."""
    for place in (os.path.abspath(root), os.path.realpath(root)):
        _roots.add(os.path.normcase(place))


def follow(root: Path, targets: Callable[[], Iterable[str]]) -> None:
    """Links of this home that lead to exactly one of these folders are followed. They are asked for
    when there is a link."""
    _targets[os.path.normcase(os.path.abspath(root))] = targets


@dataclass(slots=True)
class Folder:
    """An open folder, until the end of its `with`. What is done by it is done in this very folder,
    whatever has taken its name since. `number` is its descriptor, None on Windows, where folders
    have none."""

    path: str
    number: int | None

    def __enter__(self) -> Folder:
        return self

    def __exit__(self, *_: object) -> None:
        if self.number is not None:
            os.close(self.number)

    def open(self, name: str, flags: int = os.O_RDONLY, mode: int = 0o666) -> int:
        """A descriptor of an ordinary file; NotOrdinary for anything else but a folder, which is
        an IsADirectoryError as elsewhere."""
        path = os.path.join(self.path, name)
        if not hasattr(os, "O_NOFOLLOW") and (found := self.status(name)):
            _check(found, path)
        try:
            number = os.open(self.at(name), flags | _ORDINARY, mode, dir_fd=self.number)
        except OSError as error:  # what a link, a pipe or a socket gives differs between systems
            if found := self.status(name):
                _check(found, path)
            error.filename = path
            raise
        try:
            found = os.fstat(number)
            _check(found, path)
            if flags & _WRITES and found.st_nlink > 1:
                raise _not_ordinary(
                    "it has another name (a hard link), which may lie anywhere", path
                )
        except BaseException:
            os.close(number)
            raise
        return number

    def read(self, name: str) -> bytes | None:
        """The bytes of an ordinary file, None for a missing one."""
        try:
            with os.fdopen(self.open(name), "rb") as file:
                _check_size(file, LARGEST, os.path.join(self.path, name))
                return file.read()
        except FileNotFoundError:
            return None

    def status(self, name: str) -> os.stat_result | None:
        """The status of what has this name, be it a link; None without one."""
        try:
            return os.stat(self.at(name), dir_fd=self.number, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def rename(self, old: str, new: str) -> None:
        number = self.number
        os.replace(self.at(old), self.at(new), src_dir_fd=number, dst_dir_fd=number)

    def remove(self, name: str) -> None:
        os.unlink(self.at(name), dir_fd=self.number)

    def make(self, name: str, mode: int = 0o777) -> None:
        """Make a folder in this one; FileExistsError where there is something."""
        os.mkdir(self.at(name), mode, dir_fd=self.number)

    def sync(self) -> None:
        """So that a new name outlasts a power cut. Some file systems cannot, or may not open it."""
        if self.number is None:
            return
        try:
            number = os.open(".", os.O_RDONLY, dir_fd=self.number)
        except OSError:
            return
        try:
            os.fsync(number)
        except OSError as error:
            if error.errno in (errno.EIO, errno.ENOSPC, getattr(errno, "EDQUOT", None)):
                raise
        finally:
            os.close(number)

    def at(self, name: str) -> str:
        """The name by which the operating system is asked for a file of this folder."""
        if name in ("", ".", "..") or "/" in name or os.sep in name:
            raise _not_ordinary("no name of a file in a folder", name)
        return os.path.join(self.path, name) if self.number is None else name


def descend(root: str, parts: Sequence[str], *, make: bool = False, mode: int = 0o777) -> Folder:
    """The folder that these names lead to from `root`, step by step; with `make` it is made where
    it is missing. Raises NotOrdinary for what is no folder, NotADirectoryError for a file."""
    folder = Folder(root, os.open(root, _FOLDER) if BY_DESCRIPTOR else None)
    for part in parts:
        with folder as above:
            try:
                folder = _enter(above, part)
            except FileNotFoundError:
                if not make:
                    raise
                with suppress(FileExistsError):  # another process was quicker
                    above.make(part, mode)
                    above.sync()
                folder = _enter(above, part)
    return folder


def open_folder(path: Path | str, *, make: bool = False, mode: int = 0o777) -> Folder:
    """The folder at this path; with `make` it is made where it is missing, and those above it."""
    path = os.path.abspath(path)
    if found := _split(path):
        return descend(*found, make=make, mode=mode)
    if make and not os.path.isdir(path):
        above, name = os.path.split(path)
        make_folder(Path(above))
        return descend(above, [name], make=True, mode=mode)
    return Folder(path, os.open(path, _FOLDER) if BY_DESCRIPTOR else None)


def make_folder(path: Path, mode: int = 0o777) -> None:
    """Make a folder and those above it, so that they outlast a power cut."""
    with open_folder(path, make=True, mode=mode):
        pass


def open_file(path: Path | str, flags: int = os.O_RDONLY, mode: int = 0o666) -> int:
    """A descriptor of a file. Raises NotOrdinary for what is none or lies behind a link, where it
    is one of a home."""
    found = _split(os.path.abspath(path))
    if not found or not found[1]:
        return os.open(path, flags | _FILE, mode)
    root, (*folders, name) = found
    with descend(root, folders) as folder:
        return folder.open(name, flags, mode)


def reading(path: Path | str) -> BufferedReader:
    return os.fdopen(open_file(path), "rb")


def appending(path: Path, mode: int = 0o666) -> BufferedRandom:
    """A file, open to be added to and to be read; made when it is missing."""
    number = open_file(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, mode)
    return os.fdopen(number, "a+b")


def writing(path: Path, mode: int = 0o666) -> BufferedWriter:
    """A file, open to be written anew in its place; made when it is missing."""
    number = open_file(path, os.O_WRONLY | os.O_CREAT, mode)
    os.ftruncate(number, 0)
    return os.fdopen(number, "wb")


def home_of(path: Path | str) -> Path | None:
    found = _split(os.path.abspath(path))
    return Path(found[0]) if found else None


def check_no_links(path: Path) -> Path:
    """The path, for what takes no descriptor, as a database or the removal of a folder. Raises
    NotOrdinary when it, or a folder of its home above it, is a link or is neither file nor folder.
    Who can exchange files at that very moment could still trick it; commands cannot in .openclaw,
    sessions and skills."""
    root, parts = _split(os.path.abspath(path)) or ("", [])
    place = root
    for number, part in enumerate(parts, 1):
        place = os.path.join(place, part)
        try:
            found = os.lstat(place)
        except (FileNotFoundError, NotADirectoryError):
            break
        if _is_link(found) and (target := _follow_link(place)):
            place = target
        elif not stat.S_ISDIR(found.st_mode) or _is_link(found):
            _check(found, str(path), "" if number == len(parts) else part)
    return path


def is_symlink_or_junction(place: Path | os.DirEntry[str]) -> bool:
    """Return True for a symlink, or a junction of Windows (which Python 3.11 cannot tell)."""
    return place.is_symlink() or bool(getattr(place, "is_junction", bool)())


def is_folder(path: Path) -> bool:
    """Return True when there is a folder that `descend` can open."""
    try:
        return check_no_links(path).is_dir()
    except OSError:
        return False


def is_ordinary(path: Path) -> bool:
    """Return True when there is a file that `open_file` can open."""
    try:
        return check_no_links(path).is_file()
    except OSError:
        return False


def checked_database(path: Path) -> Path:
    """As `check_no_links`, of an SQLite file and of what SQLite opens beside it."""
    for suffix in ("-wal", "-shm", "-journal"):
        check_no_links(path.with_name(path.name + suffix))
    return check_no_links(path)


def remove(path: Path) -> None:
    """Remove a file, if there is one; of a link only the link."""
    try:
        with open_folder(path.parent) as folder:
            folder.remove(path.name)
    except FileNotFoundError:
        pass


def target_of(path: Path) -> Path:
    """Where a write to this path goes: outside of homes a link is followed."""
    return Path(os.path.abspath(path) if home_of(path) else os.path.realpath(path))


def _split(path: str) -> tuple[str, list[str]] | None:
    """The home's root and the names below it, None for a path of no home."""
    at = len(path)
    while at > 0:
        if os.path.normcase(path[:at]) in _roots:
            return path[:at], path[at + 1 :].split(os.sep) if at < len(path) else []
        at = path.rfind(os.sep, 0, at)
    return None


def _enter(folder: Folder, name: str) -> Folder:
    """The folder of this name in another one."""
    path = os.path.join(folder.path, name)
    if BY_DESCRIPTOR:
        try:
            return Folder(path, os.open(folder.at(name), _ONE_STEP, dir_fd=folder.number))
        except OSError as error:
            if found := folder.status(name):
                if _is_link(found) and (target := _follow_link(path)):
                    return Folder(target, os.open(target, _FOLDER))
                _check_folder(found, path, name)
            error.filename = path
            raise
    if not (found := folder.status(name)):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    if _is_link(found) and (target := _follow_link(path)):
        return Folder(target, None)
    _check_folder(found, path, name)
    return Folder(path, None)


def _follow_link(link: str) -> str:
    """The folder that a link leads to, where the user has named it, else ""."""
    root, parts = _split(link) or ("", [])
    targets = _targets.get(os.path.normcase(root))
    if not parts or not targets:
        return ""
    real = os.path.realpath(link)
    # One within the home could be a link itself, which others exchange.
    named = (os.path.expanduser(each) for each in targets())
    outside = (
        os.path.realpath(each) for each in named if os.path.isabs(each) and not home_of(each)
    )
    return real if os.path.isdir(real) and real in outside else ""


def _check_folder(found: os.stat_result, path: str, name: str) -> None:
    if stat.S_ISREG(found.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path)
    if not stat.S_ISDIR(found.st_mode) or _is_link(found):
        _check(found, path, name)


def _check(found: os.stat_result, path: str, folder: str = "") -> None:
    """Raise for all but an ordinary file. `folder` is the one on the way that is none."""
    what = f"its folder {folder}" if folder else "it"
    if _is_link(found):
        raise _not_ordinary(f"{what} {_LINK}", path)
    kind = stat.S_IFMT(found.st_mode)
    if kind == stat.S_IFDIR:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if kind != stat.S_IFREG:
        raise _not_ordinary(f"{what} is {_KINDS.get(kind, 'a device')}, not a regular file", path)


def _check_size(file: BinaryIO, largest: int, path: str) -> None:
    if os.fstat(file.fileno()).st_size > largest:
        raise OSError(errno.EFBIG, f"it is larger than {largest // 1_000_000} MB", path)


def _is_link(found: os.stat_result) -> bool:
    """Return True for a link, or on Windows a junction."""
    is_mount = getattr(found, "st_reparse_tag", 0) == getattr(stat, "IO_REPARSE_TAG_MOUNT_POINT", 1)
    return stat.S_ISLNK(found.st_mode) or is_mount


def _not_ordinary(reason: str, path: str) -> NotOrdinary:
    return NotOrdinary(errno.ELOOP, reason, path)


# -------- what a file holds


def bytes_or_none(path: Path) -> bytes | None:
    """The content of a file, None when it cannot be read."""
    try:
        return read_bytes(path)
    except OSError:
        return None


def read_bytes(path: Path | str, largest: int = LARGEST) -> bytes:
    """The bytes of a file. Raises OSError for a file of a home larger than `largest` bytes."""
    with reading(path) as file:
        if home_of(path):
            _check_size(file, largest, str(path))
        return file.read()


def read_text(path: Path, most: int = -1) -> str:
    """The file as text: a BOM is dropped, undecodable bytes become U+FFFD, newlines stay. With
    `most` only so many bytes from its beginning."""
    if most < 0:
        return decode(read_bytes(path))
    with reading(path) as file:
        return decode(file.read(most))


def text_or_none(path: Path) -> str | None:
    """Return a file's text as `read_text` does, None when there is no file."""
    try:
        return read_text(path)
    except FileNotFoundError:
        return None


def decode(data: bytes) -> str:
    """Bytes as text, in the manner of `read_text`."""
    return data.removeprefix(BOM).decode("utf-8", errors="replace")


def md5(content: Path | bytes) -> str:
    """Hex MD5 of a file's or the given bytes; a fingerprint, not a protection."""
    if isinstance(content, bytes):
        return hashlib.md5(content, usedforsecurity=False).hexdigest()
    with reading(content) as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def read_plain_file(root: Path, name: str, most: int) -> FileContent:
    """The content of the file `name` (relative, with slashes) below `root`, up to `most` bytes.
    Raises OSError for what cannot be read, and so NotOrdinary."""
    *folders, last = name.split("/")
    try:
        with descend(str(root), folders) as folder:
            number = folder.open(last)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    with os.fdopen(number, "rb") as file:
        found = os.fstat(number)
        data = file.read(most + 1) if found.st_size <= most else None
        if data is not None and len(data) > most:
            data = None
        return data, os.name != "nt" and bool(found.st_mode & 0o100)


def read_content(root: Path, name: str, most: int = LARGEST_KEPT) -> FileContent:
    """The content of a file below `root`, up to `most` bytes; no link is followed."""
    try:
        return read_plain_file(root, name, most)
    except OSError:
        return None, False


def parse_foreign_json(text: str | bytes) -> Any:
    """Parse JSON. Raises ValueError for invalid JSON, and for nesting too deep for Python."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deep") from error


def replace_surrogates(text: str) -> str:
    """JSON with lone surrogates, which no file can hold, replaced by U+FFFD; of equal length."""
    if "\\u" not in text:
        return text
    return _ESCAPES.sub(lambda m: "\\ufffd" if m[1] else m[0], text)


def json_or_none(text: str | bytes) -> Any:
    """Parse JSON from elsewhere; None for what is none."""
    try:
        return parse_foreign_json(text)
    except ValueError:
        return None


def refuse_newer(version: object, known: int, what: str) -> None:
    """Raise Damaged when a file has a version that only a newer openclaw writes."""
    if isinstance(version, int | float) and version > known:
        said = f"{what} has version {version}, this openclaw knows {known}"
        raise Damaged(said, "install a newer openclaw")


def read_json_cache(path: Path, version: object = None) -> dict[str, Any]:
    """Read the object of a JSON file that may be deleted at any time; {} for one that is missing,
    damaged, or of another version."""
    try:
        found = parse_foreign_json(read_bytes(path))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) and found.get("version") == version else {}
