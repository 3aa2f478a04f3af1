"""Files replaced in one step: whoever reads sees the old or the new content, whenever we die.

What a file keeps: mode, owner and group where this user may give them, and on Linux its extended
attributes, access lists among them. What it loses: other names of the same file (hard links keep
the old content, as backups made of them must), its birth time, and on macOS and Windows extended
attributes and access lists of its own.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import secrets
import stat
import sys
import time
from collections.abc import Collection, Iterator
from pathlib import Path

from openclaw.frozen import frozen
from openclaw.storage.merge import merge_bytes
from openclaw.storage.safe_open import (
    LARGEST,
    Folder,
    NotOrdinary,
    appending,
    check_no_links,
    home_of,
    make_folder,
    open_folder,
    parse_foreign_json,
    read_bytes,
    reading,
)

RETRY_SECONDS = (0.05, 0.1, 0.2, 0.4)
SETTLING_SECONDS = 0.5
ONE_WRITE = 4096  # bytes that no editor writes in two pieces
LOOK_SECONDS = 0.005
ATTEMPTS = 20
_NO_LINKS = (errno.EPERM, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EMLINK)
_EXCHANGE = 2  # linux/fs.h; RENAME_SWAP of macOS is 2 as well


def replace(target: Path, data: bytes, *, private: bool = False) -> None:
    """Put `data` into the file, whatever it holds. OSError when it cannot be done, and then nothing
    is changed (only an I/O error of the folder may come too late to tell)."""
    with open_folder(target.parent, make=True) as folder:
        with _beside(folder, target.name, data, private=private) as temp:
            _rename(folder, temp, target.name)
        folder.sync()


def swap(target: Path, before: bytes | None, data: bytes) -> bool:
    """Put `data` into the file if it holds `before` (None: there is no file); else False.

    Where the system can exchange two files (Linux, macOS), a save by renaming cannot be lost,
    however close it comes: what was displaced is looked at, and put back if it is not `before`.
    Elsewhere the last look is some microseconds before the rename. OSError as `replace`.
    """
    try:
        with open_folder(target.parent, make=before is None) as folder:
            if _current(folder, target.name) != before:
                return False
            with _beside(folder, target.name, data) as temp:
                if before is None:
                    return _put_new(folder, temp, target.name)
                return _put(folder, temp, target, before, data)
    except FileNotFoundError:
        if before is None:
            raise
        return False  # with its folder


def current(target: Path) -> bytes | None:
    """The bytes of a file that may be replaced, None when there is none. Raises ValueError for what
    is no file, PermissionError for one that is read-only."""
    try:
        with open_folder(target.parent) as folder:
            return _current(folder, target.name)
    except FileNotFoundError:
        return None


def _current(folder: Folder, name: str) -> bytes | None:
    try:
        data = folder.read(name)
    except IsADirectoryError as error:
        raise ValueError("it is not a regular file") from error
    if data is not None and not os.access(folder.at(name), os.W_OK, dir_fd=folder.number):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return data


def read_settled(target: Path, largest: int = LARGEST) -> bytes | None:
    """The bytes of a text file, None for a missing one; not those of a save that is under way.

    Some editors empty a file and then write it, a large one piece by piece. One that was changed
    just now and is empty, or is large and does not end with a line end, is looked at again until
    half a second is over.
    """
    start = time.monotonic()
    while True:
        try:
            data = read_bytes(target, largest)
        except FileNotFoundError:
            return None
        whole = data.endswith(b"\n") or 0 < len(data) < ONE_WRITE
        if whole or time.monotonic() - start > SETTLING_SECONDS:
            return data
        try:
            age = time.time() - target.stat().st_mtime
        except FileNotFoundError:
            continue
        if abs(age) > SETTLING_SECONDS:
            return data
        time.sleep(LOOK_SECONDS)


@contextlib.contextmanager
def _beside(folder: Folder, name: str, data: bytes, *, private: bool = False) -> Iterator[str]:
    """A file in the folder with this content, on the disk, in the manner of the one called `name`.
    It is gone after the block, unless renamed. A killed process leaves it: `.openclaw-*.tmp`."""
    temp = f".openclaw-{secrets.token_hex(6)}.tmp"
    announce(Path(folder.path, name), data)
    try:
        # Not readable by others before it has the mode of the target.
        old = None if private else folder.status(name)
        mode = 0o600 if private or old else 0o666
        number = folder.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(number, "wb") as file:
            file.write(data)
            file.flush()
            _flush(number)
            if old:
                _dress(folder, temp, number, name, old)
        yield temp
    finally:
        with contextlib.suppress(OSError):
            folder.remove(temp)


def _put(folder: Folder, temp: str, target: Path, before: bytes, data: bytes) -> bool:
    name = target.name
    if not exchanged(folder, temp, name):
        if folder.read(name) != before:
            return False
        _rename(folder, temp, name)
        folder.sync()
        return True
    if folder.read(temp) == before:
        try:
            folder.sync()
        except OSError:
            exchanged(folder, temp, name)
            raise
        if folder.read(temp) == before:  # nor has one that saves in place written into it since
            return True
    displaced = folder.read(temp) or b""
    exchanged(folder, temp, name)
    if folder.read(temp) == data:
        return False
    # Somebody has saved over ours in the meantime, so that stays, and takes in what it displaced.
    exchanged(folder, temp, name)
    for saved in dict.fromkeys((displaced, folder.read(temp) or b"")):
        _taken_in(target, before, saved)
    return True


def _taken_in(target: Path, before: bytes, displaced: bytes) -> None:
    """Let the file have the changes of `displaced` since `before` too, unless the same lines have
    changed again."""
    for _ in range(ATTEMPTS):
        now = read_settled(target)
        try:
            both, _ = merge_bytes(before, now or b"", displaced, touching=True)
        except ValueError:  # no text
            return
        if both == now or swap(target, now, both):
            return


def _put_new(folder: Folder, temp: str, name: str) -> bool:
    """Only if there is still no such file: rename would replace one on POSIX, link does not."""
    number = folder.number
    try:
        if os.name == "nt":
            os.rename(folder.at(temp), folder.at(name))  # noqa: PTH104 - as all in a folder
        else:
            os.link(temp, name, src_dir_fd=number, dst_dir_fd=number, follow_symlinks=False)
    except FileExistsError:
        return False
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if folder.status(name):
            return False
        _rename(folder, temp, name)
    folder.sync()
    return True


def exchanged(folder: Folder, temp: str, name: str) -> bool:
    """Exchange two names in one step; False where the file system cannot."""
    if os.name == "nt":
        return False
    import ctypes

    number, one, other = folder.number, os.fsencode(temp), os.fsencode(name)
    libc = ctypes.CDLL(None)
    with contextlib.suppress(AttributeError):  # an older system has no such call
        exchange = libc.renameatx_np if sys.platform == "darwin" else libc.renameat2
        return bool(exchange(number, one, number, other, _EXCHANGE) == 0)
    return False


def _dress(folder: Folder, temp: str, number: int, name: str, old: os.stat_result) -> None:
    """Give a new file owner, attributes and mode of the one whose place it takes."""
    if sys.platform == "win32":
        os.chmod(folder.at(temp), stat.S_IMODE(old.st_mode))  # noqa: PTH101 - as all in a folder
        return
    new = os.fstat(number)
    if new.st_gid != old.st_gid:
        with contextlib.suppress(OSError):
            os.fchown(number, -1, old.st_gid)
    if new.st_uid != old.st_uid:
        with contextlib.suppress(OSError):
            os.fchown(number, old.st_uid, -1)
    if sys.platform == "linux":
        with contextlib.suppress(OSError), os.fdopen(folder.open(name), "rb") as file:
            for attribute in os.listxattr(file.fileno()):
                with contextlib.suppress(OSError):
                    value = os.getxattr(file.fileno(), attribute)
                    os.setxattr(number, attribute, value)
    os.fchmod(number, stat.S_IMODE(old.st_mode))


def _rename(folder: Folder, temp: str, name: str) -> None:
    """On Windows a virus scanner or an editor may hold the target for a moment: try again."""
    for seconds in RETRY_SECONDS if os.name == "nt" else ():
        try:
            folder.rename(temp, name)
        except PermissionError:
            time.sleep(seconds)
        else:
            return
    folder.rename(temp, name)


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


# -------- notes for the commands without a layer of their own (`tools/shell/change_set.py`)

# Any process of openclaw notes its writes, so that they are not taken for the command's. A write to
# a file that is fixed for the command waits for its end: a replaced file is no longer fixed.

PLACE = ".openclaw/locks/commands"
LONGEST_WAIT = 60.0
WAIT_SECONDS = 0.02


@frozen
class WriteNotes:
    """The writes to the home since a command began; `path` is the file with the notes."""

    path: Path

    def written(self) -> dict[str, str]:
        """The SHA-256 of what each file was last given, by home-relative path."""
        _, *lines = self.path.read_text("utf-8").splitlines()
        return dict(parse_foreign_json(line) for line in lines)


@contextlib.contextmanager
def watch_writes(root: Path, fixed: Collection[str] = ()) -> Iterator[WriteNotes]:
    """While a command runs over the home at `root`; files that are `fixed` are not written
    meanwhile. Raises OSError."""
    folder = root / PLACE
    make_folder(folder)
    path = folder / secrets.token_hex(6)
    try:
        with path.open("xb", buffering=0) as file:
            if os.name != "nt":
                import fcntl

                fcntl.flock(file, fcntl.LOCK_EX)
            file.write(f"{json.dumps(sorted(fixed))}\n".encode())
            yield WriteNotes(path)
    finally:  # Windows removes no file that is open
        path.unlink(missing_ok=True)


def announce(target: Path, data: bytes) -> None:
    """A file is about to be written: note it for the commands that run over its home. What is fixed
    for one of them waits. Raises OSError when that does not end."""
    root = home_of(target)
    if root is None:
        return
    try:
        running = os.listdir(check_no_links(root / PLACE))  # noqa: PTH208  nearly always none
    except (FileNotFoundError, NotADirectoryError, NotOrdinary):
        return
    for name in running:
        _note_write(root / PLACE / name, target.relative_to(root).as_posix(), data)


def _note_write(path: Path, name: str, data: bytes) -> None:
    until = time.monotonic() + LONGEST_WAIT
    while _is_noting(path):
        with appending(path) as file:
            file.seek(0)
            if name not in parse_foreign_json(file.readline() or b"[]"):
                line = json.dumps([name, hashlib.sha256(data).hexdigest()])
                file.write(f"{line}\n".encode())
                return
        if time.monotonic() > until:
            raise TimeoutError(errno.EBUSY, "a command for which it is fixed does not end")
        time.sleep(WAIT_SECONDS)


def _is_noting(path: Path) -> bool:
    """Return True while the command runs; remove the notes of a killed one."""
    try:
        if os.name != "nt":
            import fcntl

            with reading(path) as file:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        path.unlink()
    except (BlockingIOError, PermissionError):  # locked, or open on Windows
        return True
    except (FileNotFoundError, NotOrdinary):
        pass
    return False
