"""Unpacks archives, copies and compares folders. All members are checked before one is written."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import stat
import struct
import tarfile
import unicodedata
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from openclaw.errors import OpenclawError, Refused, UsageError
from openclaw.storage.home import name_trouble
from openclaw.storage.safe_open import open_file, reading
from openclaw.storage.text import report_unwritable

SUFFIXES = (".zip", ".skill", ".tar.gz", ".tgz")
MAX_ENTRIES = 1000
MAX_BYTES = 50_000_000
# A tar has a header, often two, and padding for each entry.
MAX_TAR = MAX_BYTES + MAX_ENTRIES * 4096
# What a Mac adds to the archives that it makes.
MAC_FILES = frozenset({"__MACOSX", ".DS_Store"})
UTF8_NAME, ENCRYPTED = 0x800, 0x41


Member = tuple[tuple[str, ...], bytes | None, bool]
"""The parts of a path, the bytes of a file or None for a folder, and whether it can be run."""


def unpack(source: Path, into: Path) -> None:
    """Unpack the archive into the folder, which is new or empty.

    UsageError when it is no archive, Refused when it breaks a limit or has anything but plain files
    and folders, OpenclawError when it is damaged. Nothing is written before all of it was read.
    """
    damage = (
        tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError,
        RuntimeError, LookupError, OverflowError, struct.error,
    )  # fmt: skip
    try:
        members = list(_read_members(source))
    except damage as error:
        raise OpenclawError(
            f"{source.name} cannot be unpacked: {str(error) or type(error).__name__}",
            "it is damaged or cut off; fetch it again",
        ) from error
    for parts, data, executable in members:
        if MAC_FILES.intersection(parts):
            continue
        if data is None:
            make_folder(into.joinpath(*parts))
        else:
            write_new_file(into.joinpath(*parts), data, executable=executable)


def _read_members(source: Path) -> Iterator[Member]:
    info = source.stat()
    if not stat.S_ISREG(info.st_mode):
        raise UsageError(f"{source.name} is not a regular file")
    if info.st_size > MAX_BYTES:
        raise refusal(f"it holds more than {MAX_BYTES // 1_000_000} MB")
    data = source.read_bytes()
    if data.startswith(b"PK"):
        return _zip_members(data)
    if data.startswith(b"\x1f\x8b"):
        return _tar_members(data)
    raise UsageError(
        f"{source.name} is not an archive that can be read here", "one of: " + " ".join(SUFFIXES)
    )


def _zip_members(zipped: bytes) -> Iterator[Member]:
    if zipped.count(b"PK\x01\x02") > 20 * MAX_ENTRIES:  # before an object is made of each
        raise refusal(f"it has more than {MAX_ENTRIES:,} entries")
    intake = IntakeCheck()
    with zipfile.ZipFile(io.BytesIO(zipped)) as archive:
        for info in archive.infolist():
            name = _zip_name(info)
            mode = info.external_attr >> 16
            if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise refusal(f"{name} is a link or a device")
            if info.flag_bits & ENCRYPTED:
                raise refusal(f"{name} is encrypted")
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise refusal(f"{name} is compressed in an unusual way")
            folder = name.endswith("/") or stat.S_ISDIR(mode)
            parts = intake.check_entry(name, folder=folder)
            intake.add_bytes(info.file_size)  # no more is read than that
            yield parts, None if folder else archive.read(info), bool(mode & 0o111)


def _zip_name(info: zipfile.ZipInfo) -> str:
    """Return the stored name. A name not marked as UTF-8 often is; else its encoding is unknown."""
    name = info.orig_filename
    if info.flag_bits & UTF8_NAME or name.isascii():
        return name
    try:
        return name.encode("cp437").decode("utf-8")
    except UnicodeError:
        raise refusal(f"the name {name!a} is not plain UTF-8 text") from None


def _tar_members(zipped: bytes) -> Iterator[Member]:
    with gzip.GzipFile(fileobj=io.BytesIO(zipped)) as unzipped:
        data = unzipped.read(MAX_TAR + 1)
    if len(data) > MAX_TAR:
        raise refusal(f"it holds more than {MAX_BYTES // 1_000_000} MB")
    intake, end = IntakeCheck(), 0
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:", encoding="utf-8") as archive:
        while member := archive.next():
            name = member.name
            plain = member.type in (tarfile.REGTYPE, tarfile.AREGTYPE) and not member.issparse()
            if not (member.isdir() or plain):
                raise refusal(f"{name} is a link, a device or another thing that is no plain file")
            parts = intake.check_entry(name, folder=member.isdir())
            intake.add_bytes(member.size)
            content = archive.extractfile(member) if plain else None
            yield parts, content.read() if content else None, bool(member.mode & 0o111)
            end = member.offset_data + (member.size if plain else 0)
    # Where a header is broken tarfile takes it for the end.
    if len(data) - end < tarfile.BLOCKSIZE or data[end:].strip(b"\0"):
        raise tarfile.ReadError("it does not end as a tar does")


MAX_DEPTH = 16
MAX_NAME_BYTES = 240
NOTHING_DONE = "nothing was installed; install a skill only from a source that you trust"


class IntakeCheck:
    """Counts files and bytes and compares names; Refused for the first that breaks a rule."""

    def __init__(self) -> None:
        self._entries = 0
        self._bytes = 0
        self._seen: dict[tuple[str, ...], tuple[tuple[str, ...], bool]] = {}

    def check_entry(self, name: str, *, folder: bool) -> tuple[str, ...]:
        """Check a member's path with slashes; return its parts, () for the top itself."""
        self._entries += 1
        if self._entries > MAX_ENTRIES:
            raise refusal(f"it has more than {MAX_ENTRIES:,} entries")
        parts = check_parts(name)
        if not parts and not folder:
            raise refusal("it has a file without a name")
        for depth in range(1, len(parts) + 1):
            self._compare(parts[:depth], folder=folder or depth < len(parts))
        return parts

    def add_bytes(self, count: int) -> None:
        self._bytes += count
        if self._bytes > MAX_BYTES:
            raise refusal(f"it holds more than {MAX_BYTES // 1_000_000} MB")

    def _compare(self, path: tuple[str, ...], *, folder: bool) -> None:
        key = tuple(_fold(part) for part in path)
        known, known_folder = self._seen.setdefault(key, (path, folder))
        if known is path:
            return
        shown = "/".join(path)
        if known != path:
            raise refusal(f"{'/'.join(known)} and {shown} are one name on some systems")
        if not (folder and known_folder):
            raise refusal(f"{shown} comes twice")


def check_parts(name: str) -> tuple[str, ...]:
    """The parts of a relative path; Refused when it leads elsewhere or fits not every system."""
    if any(unicodedata.category(c) in ("Cc", "Cs") for c in name):
        raise refusal(f"the name {name!a} is not plain UTF-8 text")
    if "\\" in name:
        raise refusal(f"{name} has a backslash in its name")
    if name.startswith("/"):
        raise refusal(f"{name} is an absolute path")
    parts = tuple(part for part in name.split("/") if part not in ("", "."))
    if len(parts) > MAX_DEPTH:
        raise refusal(f"it has more than {MAX_DEPTH} folders in each other")
    for part in parts:
        if part == "..":
            raise refusal(f"{name} leads out of its folder")
        if ":" in part:
            raise refusal(f"{name} has a colon in its name, as a drive has")
        if len(part.encode()) > MAX_NAME_BYTES:
            raise refusal(f"{name[:40]}... is too long a name")
        if part != part.rstrip(" .") or name_trouble(part, windows=True):
            raise refusal(f"{name} is a name that some system keeps for itself")
    return parts


def make_folder(path: Path) -> None:
    with report_unwritable(path):
        path.mkdir(parents=True, exist_ok=True)


def write_new_file(path: Path, data: bytes, *, executable: bool) -> None:
    """Write a file that was not there before; no other bit of a mode is taken over."""
    make_folder(path.parent)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with (
        report_unwritable(path),
        os.fdopen(os.open(path, flags, 0o777 if executable else 0o666), "wb") as file,
    ):
        file.write(data)


def refusal(reason: str) -> Refused:
    return Refused(f"the skill is refused: {reason}", NOTHING_DONE)


def _fold(part: str) -> str:
    """Return a name as the most lenient file system compares it."""
    plain = unicodedata.normalize("NFC", part).casefold()
    return unicodedata.normalize("NFC", plain)


# Histories, and what programs make again when they need it.
SKIPPED_NAMES = frozenset({
    ".git", ".hg", ".svn", ".openclaw", "__pycache__", "node_modules", "venv", ".venv", ".DS_Store",
})  # fmt: skip


def copy_folder(source: Path, target: Path) -> None:
    """Copy files and folders to the new folder `target`.

    Refused for links, devices, pipes, odd names and too much; OpenclawError for what cannot be
    read. What was written by then is left to the caller.
    """
    intake = IntakeCheck()
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
    for path, info in _files(source, source):
        name = path.relative_to(source).as_posix()
        is_folder = stat.S_ISDIR(info.st_mode)
        parts = intake.check_entry(name, folder=is_folder)
        if is_folder:
            continue
        with _report_unreadable(path), os.fdopen(open_file(path, flags), "rb") as file:
            data = file.read(MAX_BYTES + 1)
        intake.add_bytes(len(data))
        executable = os.name != "nt" and bool(info.st_mode & 0o111)
        write_new_file(target.joinpath(*parts), data, executable=executable)


def hash_files(folder: Path) -> dict[str, str]:
    """SHA-256 of each file by its path with slashes; links and devices have their kind instead."""
    found = {}
    for path, info in _files(folder, folder, strict=False):
        name = path.relative_to(folder).as_posix()
        if stat.S_ISREG(info.st_mode):
            found[name] = hash_file(path)
        elif not stat.S_ISDIR(info.st_mode):
            found[name] = "no file"
    return found


def hash_file(path: Path) -> str:
    """The SHA-256 of a file; OpenclawError when it cannot be read."""
    with _report_unreadable(path), reading(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest(prints: Mapping[str, str]) -> str:
    """One SHA-256 over the names and contents of a folder's files."""
    lines = sorted(
        f"{name}\0{value}\n".encode("utf-8", "surrogateescape") for name, value in prints.items()
    )
    return hashlib.sha256(b"".join(lines)).hexdigest()


def compare_fingerprints(old: Mapping[str, str], new: Mapping[str, str]) -> dict[str, list[str]]:
    """The paths that were added, changed and removed between two folders."""
    both = old.keys() & new.keys()
    return {
        "added": sorted(new.keys() - both),
        "changed": sorted(name for name in both if old[name] != new[name]),
        "removed": sorted(old.keys() - both),
    }


def _files(
    folder: Path, top: Path, *, strict: bool = True
) -> Iterator[tuple[Path, os.stat_result]]:
    """Everything below, folders before what is in them, by name; with `strict` Refused for links
    and whatever is neither file nor folder."""
    with _report_unreadable(folder):
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        known = [(Path(entry.path), entry.stat(follow_symlinks=False)) for entry in entries]
    for path, info in known:
        if path.name in SKIPPED_NAMES:
            continue
        junction = getattr(os.path, "isjunction", lambda _: False)(path)
        real_folder = stat.S_ISDIR(info.st_mode) and not junction
        if strict and not (real_folder or stat.S_ISREG(info.st_mode)):
            name = path.relative_to(top).as_posix()
            raise refusal(f"{name} is a link, a device or another thing that is no plain file")
        yield path, info
        if real_folder:
            yield from _files(path, top, strict=strict)


@contextmanager
def _report_unreadable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OpenclawError(
            f"cannot read {path}: {error.strerror or error}", "make it readable, then try again"
        ) from error
