"""Make a home from an archive of `backup`; each hash is checked before the home is in place."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import shutil
import stat
import tarfile
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from openclaw.errors import Damaged, UsageError
from openclaw.frozen import frozen
from openclaw.maintenance.backup import (
    BLOCK,
    BROKEN,
    MANIFEST,
    VERSION,
    blocks,
    damaged,
    is_inside,
    opened,
    path_of,
    seal,
)
from openclaw.storage.home import Home, trust_home
from openclaw.storage.readers import json_or_none
from openclaw.storage.text import report_unwritable, unwritable

LARGEST_MANIFEST = 200_000_000


@frozen
class Restored:
    """The result of a restore.

    `notes`: lines for the user on what the archive does not have.
    `own`: True when this user made the archive on this machine; then the home is trusted.
    """

    root: Path
    files: int
    size: int
    notes: tuple[str, ...] = ()
    own: bool = False


@dataclass(slots=True)
class _Unpacked:
    """The content of an archive: SHA-256 by path, links, folders with their modes and times."""

    files: dict[str, str] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    folders: dict[str, tarfile.TarInfo] = field(default_factory=dict)
    manifest: dict[str, Any] = field(default_factory=dict)
    size: int = 0


def restore(archive: Path, target: Path) -> Restored:
    """Make the folder `target`, which must be new or empty, the home that the archive holds.

    UsageError when there is something in it or there is no such archive; Damaged when the archive
    is cut off, changed, or holds what no backup has. Then nothing is left of it.
    """
    target = Path(os.path.realpath(target))
    _check_target(target)
    if not archive.is_file():
        raise UsageError(f"there is no archive {archive}", "name a file that `backup` has written")
    beside = target.parent / f".openclaw-{secrets.token_hex(6)}.tmp"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        beside.mkdir(mode=0o700)
        found = _unpack(archive, beside)
        _compare(archive, found)
        missing = _links(archive, beside, found)
        _finish_folders(beside, found)
        _move_in_place(beside, target)
        own = hmac.compare_digest(str(found.manifest.get("seal")), seal(found.files, found.links))
        if own:
            trust_home(Home(target), keep_id=True)
    except BROKEN as error:
        raise damaged(archive, f"it is cut off or damaged ({error})") from error
    except OSError as error:
        raise unwritable(target, error) from error
    finally:
        _remove(beside)
    left_out = found.manifest.get("left_out", {}).items()
    notes = [f"{path} is not in it: {why}" for path, why in left_out]
    return Restored(target, len(found.files), found.size, (*notes, *missing), own)


def _check_target(target: Path) -> None:
    with report_unwritable(target):
        if target.is_dir() and not any(target.iterdir()):
            return
    if os.path.lexists(target):
        raise UsageError(
            f"{target} is not empty: nothing is written over",
            "name a new folder, then look at both and move what you want",
        )


def _unpack(archive: Path, folder: Path) -> _Unpacked:
    """Unpack files and folders; links come later, so that nothing is written through one."""
    found = _Unpacked()
    with opened(archive) as tar:
        for info in tar:
            if info.name == MANIFEST:
                found.manifest.update(_manifest(archive, tar, info))
                continue
            path = path_of(archive, info)
            if path in found.files or path in found.links:
                raise damaged(archive, f"it holds {path} twice")
            if info.isdir():
                (folder / path).mkdir(parents=True, exist_ok=True)
                found.folders[path] = info
            elif info.issym():
                if not is_inside(path, info.linkname):
                    raise damaged(archive, f"the link {path} leads out of the home")
                found.links[path] = info.linkname
            elif info.isreg():
                found.files[path] = _write(archive, tar, info, folder / path)
                found.size += info.size
            else:
                raise damaged(archive, f"{path} is neither file nor folder nor link")
        # The checksum of gzip stands behind the last block of the archive.
        file: Any = tar.fileobj
        while file.read(BLOCK):
            continue
    return found


def _write(archive: Path, tar: tarfile.TarFile, info: tarfile.TarInfo, path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    sha = hashlib.sha256()
    try:
        with path.open("xb") as file:
            for block in blocks(tar, info):
                sha.update(block)
                file.write(block)
            file.flush()
            os.fsync(file.fileno())
    except FileExistsError as error:
        raise damaged(archive, f"{path.name} and another are one file on this disk") from error
    mode = stat.S_IMODE(info.mode) & 0o777
    os.utime(path, (info.mtime, info.mtime))
    path.chmod(mode | 0o400)
    return sha.hexdigest()


def _manifest(archive: Path, tar: tarfile.TarFile, info: tarfile.TarInfo) -> dict[str, Any]:
    source = tar.extractfile(info) if info.isreg() and info.size < LARGEST_MANIFEST else None
    shape = json_or_none(source.read()) if source else None
    if not isinstance(shape, dict) or not isinstance(shape.get("files"), dict):
        raise damaged(archive, "its list of files is damaged")
    version = shape.get("version")
    if isinstance(version, int) and version > VERSION:
        raise Damaged(
            f"{archive} has version {version}, this openclaw knows {VERSION}",
            "install a newer openclaw",
        )
    return shape


def _compare(archive: Path, found: _Unpacked) -> None:
    listed = found.manifest.get("files")
    if listed is None:
        raise damaged(archive, "it is cut off: its list of files is missing")
    for path, sha in listed.items():
        if path not in found.files:
            raise damaged(archive, f"{path} is missing")
        if found.files[path] != sha:
            raise damaged(archive, f"{path} was changed")
    more = next((path for path in found.files if path not in listed), None)
    if more is None and found.links != found.manifest.get("links"):
        more = "a link"
    if more is not None:
        raise damaged(archive, f"{more} is not on its list")


def _links(archive: Path, folder: Path, found: _Unpacked) -> list[str]:
    """Make the links; return notes on those that the system does not make."""
    missing = []
    for path, target in found.links.items():
        place = folder / path
        if any(parent in found.links for parent in map(str, Path(path).parents)):
            raise damaged(archive, f"{path} lies behind a link")
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(target)
        except OSError as error:
            if os.name != "nt":
                raise
            missing.append(f"the link {path} to {target} could not be made: {error.strerror}")
    root = Path(os.path.realpath(folder))
    for path in found.links:  # one that leads through another may come out elsewhere
        there = Path(os.path.realpath(folder / path))
        if there != root and root not in there.parents:
            raise damaged(archive, f"the link {path} leads out of the home")
    return missing


def _finish_folders(folder: Path, found: _Unpacked) -> None:
    """Modes and times of folders last, the deepest first: what is put into one changes them."""
    for path in sorted(found.folders, key=lambda each: each.count("/"), reverse=True):
        info = found.folders[path]
        os.utime(folder / path, (info.mtime, info.mtime))
        (folder / path).chmod((stat.S_IMODE(info.mode) & 0o777) | 0o700)


def _move_in_place(beside: Path, target: Path) -> None:
    """Move the whole folder in one step, or piece by piece into an empty one that cannot be
    replaced.
    """
    beside.chmod(0o755)
    try:
        if target.is_dir():
            target.rmdir()
        beside.rename(target)
    except OSError:
        if not target.is_dir():
            raise
        _check_target(target)
        for path in list(beside.iterdir()):
            path.rename(target / path.name)


def _remove(folder: Path) -> None:
    """Remove what was unpacked; read-only files (git's objects) hinder that on Windows."""
    if not folder.exists():
        return
    if os.name == "nt":
        for path in folder.rglob("*"):
            with suppress(OSError):
                path.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)
