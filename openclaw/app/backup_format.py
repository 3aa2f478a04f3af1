"""The archive of a home: a .tar.gz with the home in a folder, and last a list of its files."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO

from openclaw.errors import Damaged
from openclaw.files.home import name_trouble
from openclaw.history.signing import sign

VERSION = 1
MANIFEST = "openclaw-backup.json"
TOP = "home"
"""The folder in the archive that holds the home."""
BLOCK = 1 << 20
BROKEN = (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError)
"""What Python raises for an archive that is cut off or damaged."""


def seal(files: Mapping[str, str], links: Mapping[str, str]) -> str:
    """The signature of this user on this machine under what an archive holds."""
    return sign(MANIFEST, json.dumps([files, links], sort_keys=True).encode("ascii"))


def contents(archive: Path) -> Iterator[tuple[str, str]]:
    """The paths in an archive and their SHA-256, "" for what is no file, read from the disk."""
    try:
        with opened(archive) as tar:
            for info in tar:
                if info.name != MANIFEST:
                    yield path_of(archive, info), _digest(tar, info) if info.isreg() else ""
    except BROKEN as error:
        raise damaged(archive, f"it is cut off or damaged ({error})") from error


def opened(archive: Path) -> tarfile.TarFile:
    return tarfile.open(archive, "r:gz", errorlevel=1)


def path_of(archive: Path, info: tarfile.TarInfo) -> str:
    """The path in the home. Damaged for one that leads out of it."""
    name = info.name.rstrip("/")
    parts = name.split("/")
    wrong = parts[0] != TOP or len(parts) < 2 or "\\" in name or "\0" in name
    if wrong or any(part in ("", ".", "..") or _is_unfit(part) for part in parts):
        raise damaged(archive, f"it holds {info.name!r}, which is no path of a home")
    return "/".join(parts[1:])


def _is_unfit(part: str) -> bool:
    """Whether Windows would take the name for something else than a file of this name."""
    trouble = name_trouble(part, windows=True) if os.name == "nt" else ""
    return bool(trouble) and "closed" not in trouble


def is_inside(relative: str, target: str) -> bool:
    """Whether a link at this path of the home leads to a place in it, told by its words alone."""
    target = target.replace("\\", "/")
    if target.startswith("/") or ":" in target.split("/")[0]:
        return False
    there = os.path.normpath(f"/home/{relative}/../{target}").replace(os.sep, "/")
    return there == "/home" or there.startswith("/home/")


def _digest(tar: tarfile.TarFile, info: tarfile.TarInfo) -> str:
    sha = hashlib.sha256()
    for block in blocks(tar, info):
        sha.update(block)
    return sha.hexdigest()


def blocks(tar: tarfile.TarFile, info: tarfile.TarInfo) -> Iterator[bytes]:
    source: IO[bytes] | None = tar.extractfile(info)
    while source is not None and (block := source.read(BLOCK)):
        yield block


def damaged(archive: Path, why: str) -> Damaged:
    return Damaged(f"{archive} cannot be used: {why}", "take another backup; nothing was changed")
