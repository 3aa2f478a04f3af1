"""Files replaced in one step: whoever reads sees the old or the new content, whenever we die.

What a file keeps: mode, owner and group where this user may give them, and on Linux its extended
attributes, access lists among them. What it loses: other names of the same file (hard links keep
the old content, as backups made of them must), its birth time, and on macOS and Windows extended
attributes and access lists of its own.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from openclaw.files.own_writes import announce

RETRY_SECONDS = (0.05, 0.1, 0.2, 0.4)
SETTLING_SECONDS = 0.5
ONE_WRITE = 4096
"""Bytes that no editor writes in two pieces."""
LOOK_SECONDS = 0.005
ATTEMPTS = 20
_NO_LINKS = (errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EMLINK)
_AT_FDCWD, _EXCHANGE = -100, 2  # linux/fcntl.h, linux/fs.h; RENAME_SWAP of macOS is 2 as well


def replace(target: Path, data: bytes, *, private: bool = False) -> None:
    """Put `data` into the file, whatever it holds. OSError when it cannot be done, and then nothing
    is changed (only an I/O error of the folder may come too late to tell)."""
    make_folder(target.parent)
    with _beside(target, data, private=private) as temp:
        _rename(temp, target)
    _flush_folder(target.parent)


def swap(target: Path, before: bytes | None, data: bytes) -> bool:
    """Put `data` into the file if it holds `before` (None: there is no file); else False.

    Where the system can exchange two files (Linux, macOS), a save by others cannot be lost, however
    close it comes: what was displaced is looked at, and put back if it is not `before`. Elsewhere
    the last look is some microseconds before the rename. OSError as `replace`.
    """
    if current(target) != before:
        return False
    make_folder(target.parent)
    with _beside(target, data) as temp:
        return _put_new(temp, target) if before is None else _put(temp, target, before, data)


def current(target: Path) -> bytes | None:
    """The bytes of a file that may be replaced, None when there is none. Raises ValueError for what
    is no file, PermissionError for one that is read-only."""
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(mode):
        raise ValueError("it is not a regular file")
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return _bytes(target)


def settled(target: Path) -> bytes | None:
    """The bytes of a text file, None for a missing one; not those of a save that is under way.

    Some editors empty a file and then write it, a large one piece by piece. One that was changed
    just now and is empty, or is large and does not end with a line end, is looked at again until
    half a second is over.
    """
    start = time.monotonic()
    while True:
        data = _bytes(target)
        whole = data is None or data.endswith(b"\n") or 0 < len(data) < ONE_WRITE
        if whole or time.monotonic() - start > SETTLING_SECONDS:
            return data
        try:
            age = time.time() - target.stat().st_mtime
        except FileNotFoundError:
            continue
        if abs(age) > SETTLING_SECONDS:
            return data
        time.sleep(LOOK_SECONDS)


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, so that they outlast a power cut."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    _flush_folder(folder.parent)


def _bytes(target: Path) -> bytes | None:
    try:
        return target.read_bytes()
    except FileNotFoundError:
        return None


@contextlib.contextmanager
def _beside(target: Path, data: bytes, *, private: bool = False) -> Iterator[Path]:
    """A file in the same folder with this content, on the disk, in the manner of the target. It is
    gone after the block, unless renamed. A killed process leaves it: `.openclaw-*.tmp`."""
    temp = target.parent / f".openclaw-{secrets.token_hex(6)}.tmp"
    announce(target, data)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        # Not readable by others before it has the mode of the target.
        mode = 0o600 if private or target.exists() else 0o666
        with os.fdopen(os.open(temp, flags, mode), "wb") as file:
            file.write(data)
            file.flush()
            _flush(file.fileno())
        if not private:
            _dress(temp, target)
        yield temp
    finally:
        with contextlib.suppress(OSError):
            temp.unlink()


def _put(temp: Path, target: Path, before: bytes, data: bytes) -> bool:
    if not exchanged(temp, target):
        if _bytes(target) != before:
            return False
        _rename(temp, target)
        _flush_folder(target.parent)
        return True
    if temp.read_bytes() == before:
        try:
            _flush_folder(target.parent)
        except OSError:
            exchanged(temp, target)
            raise
        if temp.read_bytes() == before:  # nor has one that saves in place written into it since
            return True
    displaced = temp.read_bytes()
    exchanged(temp, target)
    if temp.read_bytes() == data:
        return False
    # Somebody has saved over ours in the meantime, so that stays, and takes in what it displaced.
    exchanged(temp, target)
    for saved in dict.fromkeys((displaced, temp.read_bytes())):
        _taken_in(target, before, saved)
    return True


def _taken_in(target: Path, before: bytes, displaced: bytes) -> None:
    """Let the file have the changes of `displaced` since `before` too, unless the same lines have
    changed again."""
    from openclaw.files.merge import merge_bytes

    for _ in range(ATTEMPTS):
        now = settled(target)
        try:
            both, _ = merge_bytes(before, now or b"", displaced, touching=True)
        except ValueError:  # no text
            return
        if both == now or swap(target, now, both):
            return


def _put_new(temp: Path, target: Path) -> bool:
    """Only if there is still no such file: rename would replace one on POSIX, link does not."""
    try:
        if os.name == "nt":
            temp.rename(target)
        else:
            os.link(temp, target)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if target.exists():
            return False
        _rename(temp, target)
    _flush_folder(target.parent)
    return True


def exchanged(temp: Path, target: Path) -> bool:
    """Whether the two names were exchanged in one step, which not every file system can."""
    if os.name == "nt":
        return False
    import ctypes

    one, other = os.fsencode(temp), os.fsencode(target)
    libc = ctypes.CDLL(None)
    with contextlib.suppress(AttributeError):  # an older system has no such call
        if sys.platform == "darwin":
            return bool(libc.renamex_np(one, other, _EXCHANGE) == 0)
        return bool(libc.renameat2(_AT_FDCWD, one, _AT_FDCWD, other, _EXCHANGE) == 0)
    return False


def _dress(temp: Path, target: Path) -> None:
    """Give a new file owner, attributes and mode of the one whose place it takes."""
    try:
        old = target.stat()
    except FileNotFoundError:
        return
    new = temp.stat()
    if sys.platform != "win32":
        if new.st_gid != old.st_gid:
            with contextlib.suppress(OSError):
                os.chown(temp, -1, old.st_gid)
        if new.st_uid != old.st_uid:
            with contextlib.suppress(OSError):
                os.chown(temp, old.st_uid, -1)
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            for name in os.listxattr(target):
                with contextlib.suppress(OSError):
                    os.setxattr(temp, name, os.getxattr(target, name))
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


def _flush(number: int) -> None:
    """To the disk, not only to its cache, which on macOS is a call of its own (man 2 fsync)."""
    if sys.platform == "darwin":
        import fcntl

        try:
            fcntl.fcntl(number, fcntl.F_FULLFSYNC)
        except OSError:  # a file system that has no such call
            os.fsync(number)
    else:
        os.fsync(number)


def _flush_folder(folder: Path) -> None:
    """So that the new name outlasts a power cut. Some file systems cannot, or may not open it."""
    if os.name == "nt":
        return
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno in (errno.EIO, errno.ENOSPC, getattr(errno, "EDQUOT", None)):
            raise
    finally:
        os.close(handle)
