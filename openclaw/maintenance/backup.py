"""Write a whole home into one archive: a .tar.gz with the SHA-256 of each file in it.

A file that refers to another is read before it: a session before its archive, records of turns
before git's branches, branches before commits. So the copy holds all that it names, whatever other
processes write meanwhile. Files that appear or vanish meanwhile may be in it or not.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import re
import secrets
import stat
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from openclaw import __version__
from openclaw.errors import Damaged, OpenclawError, UsageError
from openclaw.history.record import sign
from openclaw.storage.home import MARKS, Home, name_trouble
from openclaw.storage.safe_open import is_folder, open_folder, reading
from openclaw.storage.text import unwritable
from openclaw.types import timestamp

LEFT_OUT = (".openclaw/cache", ".openclaw/index", ".openclaw/locks", ".openclaw/spill",
            ".openclaw/skills.json")  # fmt: skip
SECRETS = ".openclaw/secrets"
UNFINISHED = re.compile(
    r"(?:.*/)?\.openclaw-[^/]*\.tmp|\.git/.*\.lock|\.git/objects/(?:.*/)?tmp_[^/]*", re.DOTALL
)
"""Files that writers, and git, have not finished."""
LATE = ("sessions", ".openclaw", ".git", ".git/packed-refs", ".git/objects")
"""Places in the order in which they are read; what else is in their folder comes before them. A
branch is packed before its own file goes: whoever reads in this order has one of them."""


@dataclass(slots=True)
class Backup:
    """The content of an archive.

    `mode`: that of the home's own folder.
    `files`: SHA-256 by path.
    `left_out`: the reason by path, for each path that is left out and that the user should know of.
    """

    mode: int
    files: dict[str, str] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    size: int = 0

    def manifest(self, *, with_secrets: bool) -> bytes:
        shape = {
            "version": VERSION,
            "openclaw": __version__,
            "at": timestamp(),
            "secrets": with_secrets,
            "mode": self.mode,
            "files": self.files,
            "links": self.links,
            "folders": self.folders,
            "left_out": self.left_out,
            "seal": seal(self.files, self.links),
        }
        return (json.dumps(shape, indent=1) + "\n").encode("ascii")


def back_up(home: Home, target: Path, *, with_secrets: bool = False, force: bool = False) -> Backup:
    """Write the home into the archive `target`, readable by this user only, and read it back.

    UsageError when the file exists and not `force`. OpenclawError when it cannot be written, or
    reads back differently: then no archive is made, and an older one stays.
    """
    _check_place(home, target, force=force)
    temp = target.with_name(f".openclaw-{secrets.token_hex(6)}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        with os.fdopen(os.open(temp, flags, 0o600), "wb") as file:
            made = _write(home, file, {temp, target}, with_secrets=with_secrets)
            file.flush()
            os.fsync(file.fileno())
        if dict(hash_contents(temp)) != made.files:
            raise OpenclawError(
                "the archive does not read back as it was written", "try again, on another disk"
            )
        _check_place(home, target, force=force)
        temp.replace(target)
    except OSError as error:
        raise unwritable(target, error) from error
    finally:
        with suppress(OSError):
            temp.unlink()
    with suppress(OSError), open_folder(target.parent) as folder:
        folder.sync()
    return made


def _check_place(home: Home, target: Path, *, force: bool) -> None:
    if os.path.lexists(target) and not (force and target.is_file()):
        hint = "choose another name, or add --force" if target.is_file() else "name a file"
        raise UsageError(f"{target} is there already", hint)
    if not target.parent.is_dir():
        raise UsageError(f"there is no folder {target.parent}", "make it, or choose another")
    closed = (home.private, home.root / ".git")
    if any(folder in Path(os.path.realpath(target)).parents for folder in closed):
        raise UsageError(f"{target} lies in a closed folder of the home", "choose another place")


def _write(home: Home, file: Any, own: set[Path], *, with_secrets: bool) -> Backup:
    made = Backup(stat.S_IMODE(home.root.stat().st_mode))
    with tarfile.open(fileobj=file, mode="w:gz", format=tarfile.PAX_FORMAT, compresslevel=6) as tar:
        for path in _walk(home, home.root):
            name = home.relative(path)
            if name == ".git" and path.is_file():
                why = "it leads to a repository elsewhere, whose branch would be used"
                made.left_out[name] = why
            elif "secrets" in path.name and name.startswith(".openclaw/") and not with_secrets:
                if name.startswith(SECRETS):
                    made.left_out[name] = "secrets are only taken along with --secrets"
            elif path not in own:
                _add(tar, home, path, made)
        if ".git" in made.folders:  # what came meanwhile
            for path in _walk(home, home.root / ".git" / "objects"):
                if home.relative(path) not in made.files:
                    _add(tar, home, path, made)
        data = made.manifest(with_secrets=with_secrets)
        info = tarfile.TarInfo(MANIFEST)
        info.size, info.mode, info.mtime = len(data), 0o600, int(datetime.now().timestamp())
        tar.addfile(info, io.BytesIO(data))
    return made


def _walk(home: Home, folder: Path) -> Iterator[Path]:
    """Yield what lies in a folder of the home and below it, in the order of reading. Not by calls
    within calls: folders may be nested deeper than these."""

    def order(path: Path) -> tuple[int, bool, bool, str]:
        # A folder after the files beside it, contents of a record after its lines: sessions name
        # parts of the archive, lines contents.
        name = home.relative(path)
        late = LATE.index(name) if name in LATE else -1
        return late, path.is_dir(), path.suffix != ".jsonl", path.name

    waiting = [folder]
    while waiting:
        path = waiting.pop()
        name = home.relative(path)
        if name in LEFT_OUT or (UNFINISHED.fullmatch(name) and not path.is_dir()):
            continue
        if path != folder:
            yield path
        if path == folder or not path.is_symlink() or _is_place(home, path):
            try:
                waiting += sorted(path.iterdir(), key=order, reverse=True)
            except (FileNotFoundError, NotADirectoryError):
                pass  # a file, or it went away meanwhile
            except PermissionError as error:
                raise _unreadable(path, error) from error


# -------- one file after the other


def _add(tar: tarfile.TarFile, home: Home, path: Path, made: Backup) -> None:
    relative = home.relative(path)
    try:
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode) and not _is_place(home, path):
            _add_link(tar, home, path, made)
        elif path.is_dir():
            made.folders.append(relative)
            tar.addfile(_info(relative, path.stat(), tarfile.DIRTYPE))
        elif path.is_file():
            _add_file(tar, path, relative, made)
        else:
            made.left_out[relative] = "it is no file"
    except FileNotFoundError:
        return  # it went away meanwhile
    except PermissionError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> OpenclawError:
    hint = "give this user access: openclaw doctor --fix"
    return OpenclawError(f"cannot read {path}: {error.strerror}", hint)


def _is_place(home: Home, path: Path) -> bool:
    """Tell whether this is a folder of a home, also through a link that the user has allowed."""
    return path.parent == home.root and path.name in MARKS and is_folder(path)


def _add_link(tar: tarfile.TarFile, home: Home, path: Path, made: Backup) -> None:
    relative, target = home.relative(path), str(path.readlink())
    there = Path(os.path.realpath(path))
    root = home.real_root
    if not is_inside(relative, target) or not (there == root or root in there.parents):
        made.left_out[relative] = f"it is a link out of the home, to {target}"
        return
    info = _info(relative, path.lstat(), tarfile.SYMTYPE)
    info.linkname = made.links[relative] = target.replace(os.sep, "/")
    tar.addfile(info)


def _add_file(tar: tarfile.TarFile, path: Path, relative: str, made: Backup) -> None:
    """Add a file as it is when opened; writers replace files or add to their ends."""
    with reading(path) as file:
        made.files[relative] = hashlib.file_digest(file, "sha256").hexdigest()
        info = _info(relative, os.fstat(file.fileno()), tarfile.REGTYPE)
        info.size = file.tell()
        file.seek(0)
        try:
            tar.addfile(info, file)
        except OSError as error:
            raise OpenclawError(
                f"{path} changed while it was read: {error}", "try again"
            ) from error
    made.size += info.size


def _info(relative: str, status: os.stat_result, kind: bytes) -> tarfile.TarInfo:
    info = tarfile.TarInfo(f"{TOP}/{relative}")
    info.type = kind
    info.mode = stat.S_IMODE(status.st_mode) & 0o777
    info.mtime = status.st_mtime
    return info


VERSION = 1
MANIFEST = "openclaw-backup.json"
TOP = "home"  # the folder in the archive that holds the home
BLOCK = 1 << 20
BROKEN = (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError)
"""What Python raises for an archive that is cut off or damaged."""


def seal(files: Mapping[str, str], links: Mapping[str, str]) -> str:
    """Return this user's signature, on this machine, of what an archive holds."""
    return sign(MANIFEST, json.dumps([files, links], sort_keys=True).encode("ascii"))


def hash_contents(archive: Path) -> Iterator[tuple[str, str]]:
    """Return the SHA-256 of each file in an archive; read from disk."""
    try:
        with opened(archive) as tar:
            for info in tar:
                file: Any = tar.extractfile(info) if info.isreg() else None
                if file and info.name != MANIFEST:
                    yield path_of(info), hashlib.file_digest(file, "sha256").hexdigest()
    except BROKEN as error:
        raise damaged(archive, error) from error


def opened(archive: Path) -> tarfile.TarFile:
    return tarfile.open(archive, "r:gz", errorlevel=1)


def path_of(info: tarfile.TarInfo) -> str:
    """Return the path in the home. ReadError for a path that leads out of it."""
    name = info.name.rstrip("/")
    parts = name.split("/")
    wrong = parts[0] != TOP or len(parts) < 2 or "\0" in name
    if wrong or any(part in ("", ".", "..") or _is_unfit(part) for part in parts):
        raise tarfile.ReadError(f"it holds {info.name!r}, which is no path of a home")
    return "/".join(parts[1:])


def _is_unfit(part: str) -> bool:
    """Tell whether Windows would take the name for something other than a file of this name."""
    trouble = name_trouble(part, windows=True)
    return os.name == "nt" and ("\\" in part or (bool(trouble) and "closed" not in trouble))


def is_inside(relative: str, target: str) -> bool:
    """Tell from the words alone whether a link at this path leads to a place in the home."""
    target = target.replace("\\", "/")
    if target.startswith("/") or ":" in target.split("/")[0]:
        return False
    there = os.path.normpath(f"/home/{relative}/../{target}").replace(os.sep, "/")
    return there == "/home" or there.startswith("/home/")


def damaged(archive: Path, why: Exception) -> Damaged:
    return Damaged(
        f"{archive} cannot be used, it is cut off or damaged: {why}",
        "take another backup; nothing was changed",
    )
