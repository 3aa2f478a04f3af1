"""Text files: read as UTF-8, written atomically in the manner they already have.

Every file of a home is written by the functions below (`atomic` is how), or by `saving` where
others may save it at the same time.
"""

from __future__ import annotations

import errno
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from openclaw.errors import OpenclawError
from openclaw.files import atomic
from openclaw.files.beneath import NotOrdinary, read_bytes, reading, remove, target_of
from openclaw.shapes import Keep, keep_nothing

BOM = b"\xef\xbb\xbf"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")  # how it begins


def read_text(path: Path, most: int = -1) -> str:
    """The file as text: a BOM is dropped, undecodable bytes become U+FFFD, newlines stay. With
    `most` only so many bytes from its beginning."""
    if most < 0:
        return decode(read_bytes(path))
    with reading(path) as file:
        return decode(file.read(most))


def decode(data: bytes) -> str:
    """Bytes as text, in the manner of `read_text`."""
    return data.removeprefix(BOM).decode("utf-8", errors="replace")


def ended_like(now: bytes | None, data: bytes | None) -> bytes | None:
    """A text with the line ends of `now`, where all of these are of one kind."""
    if not now or not data or b"\0" in data:
        return data
    crlf, lines = now.count(b"\r\n"), now.count(b"\n")
    if not lines or crlf not in (0, lines):
        return data
    plain = data.replace(b"\r\n", b"\n")
    return plain.replace(b"\n", b"\r\n") if crlf else plain


def md5(content: Path | bytes) -> str:
    """Hex MD5 of a file's or the given bytes; a fingerprint, not a protection."""
    if isinstance(content, bytes):
        return hashlib.md5(content, usedforsecurity=False).hexdigest()
    with reading(content) as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def write_text(path: Path, text: str, keep: Keep = keep_nothing) -> bool:
    """Put `text` into the file in one step; False when it already held exactly that.

    A reader sees the old or the new file, never half of one, whenever the process dies. A symlink
    is followed outside of homes only; mode, BOM and a uniform newline style of an existing file are
    kept; missing folders are made. `keep` is told before. Raises OpenclawError when it cannot be
    written, and then nothing is changed.
    """
    try:
        target = target_of(path)
        before = atomic.current(target)
        data = in_the_manner_of(before, text, path)
        if data == before:
            return False
        with keeping(keep, target, before, data) as done:
            atomic.replace(target, data)
            done.append(True)
    except (OSError, ValueError) as error:
        raise unwritable(path, error) from error
    return True


def write_if_same(path: Path, before: bytes | None, data: bytes, keep: Keep = keep_nothing) -> bool:
    """Put `data` into the file in one step if it still holds `before` (None: there is no file).

    False when another program changed it since, and then nothing is written. Bytes go as they are;
    otherwise as `write_text`. `keep` is told before.
    """
    target = target_of(path)
    with keeping(keep, target, before, data) as done:
        try:
            done += [True] if atomic.swap(target, before, data) else []
        except (OSError, ValueError) as error:
            raise unwritable(path, error) from error
    return bool(done)


def remove_file(path: Path, keep: Keep = keep_nothing) -> None:
    """A file, or the link in its place, is gone afterwards. `keep` is told before of what a file
    held. Raises OpenclawError when it cannot be removed."""
    try:
        before = None if path.is_symlink() else read_bytes(path)
    except FileNotFoundError:
        return
    except OSError:  # what cannot be read can be removed all the same
        before = None
    with keeping(keep if before is not None else keep_nothing, path, before, None) as done:
        try:
            remove(path)
        except OSError as error:
            raise unwritable(path, error) from error
        done.append(True)


@contextmanager
def keeping(
    keep: Keep, path: Path, before: bytes | None, after: bytes | None
) -> Iterator[list[bool]]:
    """Tell `keep` what is about to be written in here; what has not been put into the list when it
    is left was not written."""
    void = keep(path, before, after)
    done: list[bool] = []
    try:
        yield done
    finally:
        if not done:
            with suppress(OpenclawError):
                void()


def write_private(path: Path, text: str) -> None:
    """Put `text` into the file in one step, readable by this user only from the first byte on.

    A symlink in its place is replaced, not followed. On Windows the file has the rights of its
    folder. Raises OpenclawError when it cannot be written, and then nothing is changed.
    """
    try:
        atomic.replace(path, encode(text), private=True)
    except (OSError, ValueError) as error:
        raise unwritable(path, error) from error


def unwritable(path: Path, error: Exception) -> OpenclawError:
    """The error of the operating system in the user's words."""
    if isinstance(error, NotOrdinary):
        return OpenclawError(
            f"cannot write {path}: {error.strerror}", "put an ordinary file or folder in its place"
        )
    code = error.errno if isinstance(error, OSError) else None
    if code in (errno.ENOSPC, getattr(errno, "EDQUOT", None)):
        return OpenclawError(
            f"cannot write {path}: the disk is full", "free some space, then try again"
        )
    if code == errno.EFBIG:
        return OpenclawError(
            f"cannot write {path}: larger than this system allows",
            "raise the limit (ulimit -f) or free some space, then try again",
        )
    if code == errno.EIO:
        return OpenclawError(
            f"cannot write {path}: the disk reports an error",
            "make a copy of your home on another disk and have this one checked",
        )
    if code in (errno.EACCES, errno.EPERM, errno.EROFS):
        return OpenclawError(
            f"cannot write {path}: it is read-only for this user",
            f"make {path.parent} writable, or choose another home with --home DIR",
        )
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return OpenclawError(
        f"cannot write {path}: {reason}", f"look at {path.parent} and make it a writable folder"
    )


def in_the_manner_of(before: bytes | None, text: str, path: Path) -> bytes:
    """A text as bytes with BOM and newline style of those that stood there (None: no file).

    Raises OpenclawError, naming `path`, for what is not UTF-8 and would be lost.
    """
    if before is None:
        return encode(text)
    check_not_utf_16(before, path)
    if "\ufffd" in text and _undecodable(before):
        raise OpenclawError(
            f"{path} is not UTF-8 text; writing it would lose what could not be read",
            f"convert it first, for example: iconv -f latin1 -t utf-8 {path.name}",
        )
    crlf, newlines = before.count(b"\r\n"), before.count(b"\n")
    data = encode(text)
    if not newlines and b"\r" in before:
        data = data.replace(b"\r\n", b"\r").replace(b"\n", b"\r")
    if newlines and crlf in (0, newlines):
        data = data.replace(b"\r\n", b"\n")
        if crlf:
            data = data.replace(b"\n", b"\r\n")
    if before.startswith(BOM) and not data.startswith(BOM):
        data = BOM + data
    return data


def check_not_utf_16(data: bytes | None, path: Path) -> None:
    """Raises OpenclawError, naming `path`, for the bytes of a UTF-16 file."""
    if data and data.startswith(_UTF_16):
        raise OpenclawError(
            f"{path} is UTF-16, not UTF-8 text",
            f"convert it first, for example: iconv -f utf-16 -t utf-8 {path.name}",
        )


def encode(text: str) -> bytes:
    """UTF-8; halves of surrogate pairs, which models print, are joined or become U+FFFD."""
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return joined.encode("utf-8")


def _undecodable(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return True
    return False
