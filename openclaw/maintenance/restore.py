"""Make a home from an archive of `backup`; each hash is checked before the home is in place."""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from tarfile import ReadError, TarInfo
from tempfile import TemporaryDirectory
from typing import Any

from openclaw.errors import UsageError
from openclaw.frozen import frozen
from openclaw.maintenance.backup import (
    BLOCK,
    BROKEN,
    MANIFEST,
    TOP,
    VERSION,
    damaged,
    is_inside,
    opened,
    path_of,
    seal,
)
from openclaw.storage.home import Home
from openclaw.storage.safe_open import json_or_none, refuse_newer
from openclaw.storage.text import report_unwritable, unwritable
from openclaw.storage.trust_store import trust_home

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


def restore(archive: Path, target: Path) -> Restored:
    """Make the folder `target`, which must be new or empty, the home that the archive holds.

    UsageError when there is something in it or there is no such archive; Damaged when the archive
    is cut off, changed, or holds what no backup has. Then nothing is left of it.
    """
    target = Path(os.path.realpath(target))
    _check_target(target)
    if not archive.is_file():
        raise UsageError(f"there is no archive {archive}", "name a file that `backup` has written")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(
            prefix=".openclaw-", suffix=".tmp", dir=target.parent, ignore_cleanup_errors=True
        ) as folder:
            beside = Path(folder)
            home = beside / TOP
            home.mkdir(mode=0o700)
            members = _unpack(archive, beside)
            shape = _read_manifest(beside / MANIFEST)
            links = {path: info.linkname for path, info in members.items() if info.issym()}
            files = dict.fromkeys(path for path, info in members.items() if info.isreg())
            _compare(home, files, links, shape)
            missing = _make_links(home, links)
            if hasattr(os, "sync"):
                os.sync()
            _move_in_place(home, target, shape.get("mode"))
        if own := hmac.compare_digest(str(shape.get("seal")), seal(shape["files"], links)):
            trust_home(Home(target), keep_id=True)
    except BROKEN as error:
        raise damaged(archive, error) from error
    except OSError as error:
        raise unwritable(target, error) from error
    notes = [f"{path} is not in it: {why}" for path, why in shape["left_out"].items()]
    size = sum(info.size for info in members.values())
    return Restored(target, len(shape["files"]), size, (*notes, *missing), own)


def _check_target(target: Path) -> None:
    with report_unwritable(target):
        if target.is_dir() and not any(target.iterdir()):
            return
    if os.path.lexists(target):
        raise UsageError(
            f"{target} is not empty: nothing is written over",
            "name a new folder, then look at both and move what you want",
        )


def _unpack(archive: Path, folder: Path) -> dict[str, TarInfo]:
    """Unpack files and folders once all members are checked; return the members by path. Links come
    later, so that nothing is written through one."""
    found: dict[str, TarInfo] = {}
    with opened(archive) as tar:
        for info in tar.getmembers():
            path = path_of(info) if info.name != MANIFEST else ""
            if path in found and not info.isdir():
                raise ReadError(f"it holds {path} twice")
            if not (info.isreg() or (path and (info.isdir() or info.issym()))):
                raise ReadError(f"{info.name} is neither file nor folder nor link")
            if info.issym() and not is_inside(path, info.linkname):
                raise ReadError(f"the link {path} leads out of the home")
            if path:
                found[path] = info
            info.mode = info.mode & 0o777 | (0o700 if info.isdir() else 0o400)
            info.uname = info.gname = ""
            if hasattr(os, "geteuid"):
                info.uid, info.gid = os.geteuid(), os.getegid()
        # All that Python's own filters would refuse or change was looked at above.
        tar.extraction_filter = lambda member, path: member
        tar.extractall(folder, [i for i in tar.getmembers() if not i.issym()])  # noqa: S202
        # The checksum of gzip stands behind the last block of the archive.
        file: Any = tar.fileobj
        while file.read(BLOCK):
            continue
    return found


def _read_manifest(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise ReadError("its list of files is missing")
    shape = json_or_none(path.read_bytes()) if path.stat().st_size < LARGEST_MANIFEST else None
    if isinstance(shape, dict):
        refuse_newer(shape.get("version"), VERSION, "the archive")
    named = ("files", "left_out")
    if not isinstance(shape, dict) or not all(isinstance(shape.get(n), dict) for n in named):
        raise ReadError("its list of files is damaged")
    return shape


def _compare(
    home: Path,
    files: Collection[str],
    links: Mapping[str, str],
    shape: Mapping[str, Any],
) -> None:
    """Compare what lies on the disk with the list of the archive."""
    listed = shape["files"]
    for path, sha in listed.items():
        if path not in files:
            raise ReadError(f"{path} is missing")
        with (home / path).open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != sha:
                raise ReadError(f"{path} was changed, or is one file with another here")
    more = [path for path in files if path not in listed]
    more += ["a link"] if links != shape.get("links") else []
    if more:
        raise ReadError(f"{more[0]} is not on its list")


def _make_links(home: Path, links: Mapping[str, str]) -> list[str]:
    """Make the links; return notes on those that the system does not make."""
    missing = []
    for path, target in links.items():
        place = home / path
        if any(parent in links for parent in map(str, Path(path).parents)):
            raise ReadError(f"{path} lies behind a link")
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(target)
        except OSError as error:
            if os.name != "nt":
                raise
            missing.append(f"the link {path} to {target} could not be made: {error.strerror}")
    root = Path(os.path.realpath(home))
    for path in links:  # one that leads through another may come out elsewhere
        if not Path(os.path.realpath(home / path)).is_relative_to(root):
            raise ReadError(f"the link {path} leads out of the home")
    return missing


def _move_in_place(beside: Path, target: Path, mode: object) -> None:
    """Move the whole folder in one step; into an empty one, which may be somebody's current folder,
    piece by piece. Others may read it where they could read the home (`mode`, None in older
    archives) and the empty folder."""
    allowed = mode if isinstance(mode, int) else 0o755
    if not target.is_dir():
        beside.chmod(allowed & 0o755 | 0o700)
        beside.rename(target)
        return
    with suppress(OSError):  # of a disk's top folder it may not be possible
        target.chmod(allowed & target.stat().st_mode & 0o755 | 0o700)
    _check_target(target)
    # workspace/, which makes it a home, is the last.
    for path in sorted(beside.iterdir(), key=lambda each: each.name == "workspace"):
        path.rename(target / path.name)
