"""Unpacks .zip, .skill and .tar.gz: every entry is checked before one is written."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

from openclaw.errors import OpenclawError, UsageError
from openclaw.skills.intake import (
    MAX_BYTES,
    MAX_ENTRIES,
    Intake,
    make_folder,
    put_file,
    refused,
    take_bytes,
)

if TYPE_CHECKING:
    import tarfile
    import zipfile

SUFFIXES = (".zip", ".skill", ".tar.gz", ".tgz")
CHUNK = 64 * 1024
# A tar has a header, often two, and padding for each entry.
MAX_TAR = MAX_BYTES + MAX_ENTRIES * 4096
# What a Mac adds to the archives that it makes.
LITTER = frozenset({"__MACOSX", ".DS_Store"})
UTF8_NAME, ENCRYPTED = 0x800, 0x41


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of an archive. `size` is what the header says, `read` gives the bytes."""

    name: str
    folder: bool
    size: int
    executable: bool
    read: Callable[[], IO[bytes]]


def unpack(source: Path, into: Path) -> None:
    """Unpack the archive into the folder, which is new or empty.

    UsageError when it is no archive, Refused when it breaks a limit or has anything but plain files
    and folders, OpenclawError when it is damaged. What was written by then is left to the caller.
    """
    import struct
    import tarfile
    import zipfile
    import zlib

    damage = (
        tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError,
        RuntimeError, LookupError, OverflowError, struct.error,
    )  # fmt: skip
    try:
        with _opened(source) as file:
            read = _reader(file, source)
            _walk(read(file), None)
            _walk(read(file), into)
    except damage as error:
        raise OpenclawError(
            f"{source.name} cannot be unpacked: {str(error) or type(error).__name__}",
            "it is damaged or cut off; fetch it again",
        ) from error


def _opened(source: Path) -> IO[bytes]:
    info = source.stat()
    if not stat.S_ISREG(info.st_mode):
        raise UsageError(f"{source.name} is not a regular file")
    if info.st_size > MAX_BYTES:
        raise refused(f"it holds more than {MAX_BYTES // 1_000_000} MB")
    return source.open("rb")


def _reader(file: IO[bytes], source: Path) -> Callable[[IO[bytes]], Iterator[Entry]]:
    magic = file.read(4)
    if magic.startswith(b"PK"):
        return _zip_entries
    if magic.startswith(b"\x1f\x8b"):
        return _tar_entries
    raise UsageError(
        f"{source.name} is not an archive that can be read here", "one of: " + " ".join(SUFFIXES)
    )


def _walk(entries: Iterator[Entry], into: Path | None) -> None:
    """Check all entries, with the sizes that they claim; with a folder write them and count."""
    intake = Intake()
    for entry in entries:
        parts = intake.entry(entry.name, folder=entry.folder)
        if into is None:
            intake.data(entry.size)
        elif not LITTER.intersection(parts):
            target = into.joinpath(*parts)
            if entry.folder:
                make_folder(target)
            else:
                with entry.read() as data:
                    put_file(target, take_bytes(data, intake), executable=entry.executable)


def _zip_entries(file: IO[bytes]) -> Iterator[Entry]:
    import zipfile

    if _count(file, b"PK\x01\x02") > 20 * MAX_ENTRIES:  # before an object is made of each
        raise refused(f"it has more than {MAX_ENTRIES:,} entries")
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            yield _zip_entry(archive, info)


def _zip_entry(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Entry:
    import zipfile

    name = _zip_name(info)
    mode = info.external_attr >> 16
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
        raise refused(f"{name} is a link or a device")
    if info.flag_bits & ENCRYPTED:
        raise refused(f"{name} is encrypted")
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise refused(f"{name} is compressed in an unusual way")
    folder = name.endswith("/") or stat.S_ISDIR(mode)
    executable = bool(mode & 0o111)
    return Entry(name, folder, info.file_size, executable, lambda: archive.open(info))


def _zip_name(info: zipfile.ZipInfo) -> str:
    """The name as it is stored; what is not marked as UTF-8 often is, and else has no known
    encoding."""
    name = info.orig_filename
    if info.flag_bits & UTF8_NAME or name.isascii():
        return name
    try:
        return name.encode("cp437").decode("utf-8")
    except UnicodeError:
        raise refused(f"the name {name!a} is not plain UTF-8 text") from None


def _count(file: IO[bytes], needle: bytes) -> int:
    file.seek(0)
    found, tail = 0, b""
    while chunk := file.read(CHUNK):
        found += (tail + chunk).count(needle)
        tail = (tail + chunk)[1 - len(needle) :]
    file.seek(0)
    return found


def _tar_entries(file: IO[bytes]) -> Iterator[Entry]:
    import gzip
    import io
    import tarfile

    file.seek(0)
    with gzip.GzipFile(fileobj=file) as unzipped:
        data = unzipped.read(MAX_TAR + 1)
    if len(data) > MAX_TAR:
        raise refused(f"it holds more than {MAX_BYTES // 1_000_000} MB")
    end = 0
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:", encoding="utf-8") as archive:
        while member := archive.next():
            yield _tar_entry(archive, member)
            end = member.offset_data + (member.size if member.isreg() else 0)
    # Where a header is broken tarfile takes it for the end.
    if len(data) - end < tarfile.BLOCKSIZE or data[end:].strip(b"\0"):
        raise tarfile.ReadError("it does not end as a tar does")


def _tar_entry(archive: tarfile.TarFile, member: tarfile.TarInfo) -> Entry:
    import tarfile

    plain = member.type in (tarfile.REGTYPE, tarfile.AREGTYPE) and not member.issparse()
    if not (member.isdir() or plain):
        raise refused(f"{member.name} is a link, a device or another thing that is no plain file")

    def read() -> IO[bytes]:
        stream = archive.extractfile(member)
        if stream is None:
            raise ValueError(f"{member.name} has no data")
        return stream

    executable = bool(member.mode & 0o111)
    return Entry(member.name, member.isdir(), member.size, executable, read)
