"""Text files: read as UTF-8, written atomically in the manner they already have."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import stat
import time
from pathlib import Path

from openclaw.errors import OpenclawError

BOM = b"\xef\xbb\xbf"
RETRY_SECONDS = (0.05, 0.1, 0.2, 0.4)


def read_text(path: Path, most: int = -1) -> str:
    """The file as text: a BOM is dropped, undecodable bytes become U+FFFD, newlines stay. With
    `most` only so many bytes from its beginning."""
    with path.open("rb") as file:
        return decode(file.read(most))


def decode(data: bytes) -> str:
    """Bytes as text, in the manner of `read_text`."""
    return data.removeprefix(BOM).decode("utf-8", errors="replace")


def md5(content: Path | bytes) -> str:
    """Hex MD5 of a file's or the given bytes; a fingerprint, not a protection."""
    if isinstance(content, bytes):
        return hashlib.md5(content, usedforsecurity=False).hexdigest()
    with content.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def write_text(path: Path, text: str) -> bool:
    """Put `text` into the file in one step; False when it already held exactly that.

    A reader sees the old or the new file, never half of one, whenever the process dies. A symlink
    is followed; mode, BOM and a uniform newline style of an existing file are kept; missing
    folders are made. Raises OpenclawError when it cannot be written, and then nothing is changed.
    """
    try:
        target = Path(os.path.realpath(path))
        before = _read_writable(target)
        data = _in_the_manner_of(before, text, path)
        if data == before:
            return False
        target.parent.mkdir(parents=True, exist_ok=True)
        _replace(target, data)
    except (OSError, ValueError) as error:
        raise unwritable(path, error) from error
    return True


def write_if_same(path: Path, before: bytes | None, data: bytes) -> bool:
    """Put `data` into the file in one step if it still holds `before` (None: there is no file).

    False when another program changed it since, and then nothing is written. Bytes go as they are;
    otherwise as `write_text`.
    """
    try:
        target = Path(os.path.realpath(path))
        if _read_writable(target) != before:
            return False
        target.parent.mkdir(parents=True, exist_ok=True)
        _replace(target, data)
    except (OSError, ValueError) as error:
        raise unwritable(path, error) from error
    return True


def write_private(path: Path, text: str) -> None:
    """Put `text` into the file in one step, readable by this user only from the first byte on.

    A symlink in its place is replaced, not followed. On Windows the file has the rights of its
    folder. Raises OpenclawError when it cannot be written, and then nothing is changed.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace(path, encode(text), private=True)
    except (OSError, ValueError) as error:
        raise unwritable(path, error) from error


def unwritable(path: Path, error: Exception) -> OpenclawError:
    """The error of the operating system in the user's words."""
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
    if code in (errno.EACCES, errno.EPERM, errno.EROFS):
        return OpenclawError(
            f"cannot write {path}: it is read-only for this user",
            f"make {path.parent} writable, or choose another home with --home DIR",
        )
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return OpenclawError(
        f"cannot write {path}: {reason}", f"look at {path.parent} and make it a writable folder"
    )


def _read_writable(target: Path) -> bytes | None:
    """The bytes of an existing file that may be replaced, None when there is none."""
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):
        raise ValueError("it is not a regular file")
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return target.read_bytes()


def _in_the_manner_of(before: bytes | None, text: str, path: Path) -> bytes:
    if before is None:
        return encode(text)
    if "\ufffd" in text and _undecodable(before):
        raise OpenclawError(
            f"{path} is not UTF-8 text; writing it would lose what could not be read",
            f"convert it first, for example: iconv -f latin1 -t utf-8 {path.name}",
        )
    crlf, newlines = before.count(b"\r\n"), before.count(b"\n")
    data = encode(text)
    if newlines and crlf in (0, newlines):
        data = data.replace(b"\r\n", b"\n")
        if crlf:
            data = data.replace(b"\n", b"\r\n")
    if before.startswith(BOM) and not data.startswith(BOM):
        data = BOM + data
    return data


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


def _replace(target: Path, data: bytes, *, private: bool = False) -> None:
    """Write beside the target, flush to the disk, rename over it, flush the folder."""
    temp = target.parent / f".openclaw-{secrets.token_hex(6)}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        with os.fdopen(os.open(temp, flags, 0o600 if private else 0o666), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if not private:
            _keep_mode_and_owner(target, temp)
        _rename(temp, target)
    finally:
        with contextlib.suppress(OSError):
            temp.unlink()
    _flush_folder(target.parent)


def _keep_mode_and_owner(target: Path, temp: Path) -> None:
    try:
        old = target.stat()
    except FileNotFoundError:
        return
    new = temp.stat()
    if hasattr(os, "chown") and (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        with contextlib.suppress(OSError):
            os.chown(temp, old.st_uid, old.st_gid)
    temp.chmod(stat.S_IMODE(old.st_mode))


def _rename(temp: Path, target: Path) -> None:
    """On Windows a virus scanner or an editor may hold the target for a moment: try again."""
    for seconds in RETRY_SECONDS if os.name == "nt" else ():
        try:
            temp.replace(target)
        except PermissionError:
            time.sleep(seconds)
        else:
            return
    temp.replace(target)


def _flush_folder(folder: Path) -> None:
    if os.name == "nt":
        return
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
