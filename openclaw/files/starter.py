"""The files that a new home begins with, each with the content that the program ships.

A clone of the source may be a home, whose owner commits what he likes: neither the names that lie
there nor what git holds under a known name are the starter. starter.json tells both, name and blob.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from openclaw.errors import OpenclawError
from openclaw.files.git import Git, GitError

PACKAGE = Path(__file__).parent.parent
LIST = Path(__file__).with_name("starter.json")


@cache
def starter_files() -> Mapping[str, bytes]:
    """The files of a new home, by their paths in it. OpenclawError when one is not to be had."""
    starter = PACKAGE / "starter"  # of a wheel
    return files_of(starter if starter.is_dir() else PACKAGE.parent)


def files_of(folder: Path) -> Mapping[str, bytes]:
    """The same, out of a folder that holds them."""
    shipped = json.loads(LIST.read_text("utf-8"))
    return {path: _shipped(folder, path, blob) for path, blob in shipped.items()}


def _shipped(folder: Path, path: str, blob: str) -> bytes:
    """The file as it lies there, else, where it was changed, as git has kept it."""
    try:
        data = (folder / path).read_bytes()
        head = b"blob %d\0" % len(data)
        if hashlib.sha1(head + data, usedforsecurity=False).hexdigest() == blob:
            return data
    except OSError:
        pass
    try:  # also in a repository that belongs to another user
        return Git(folder).run("-c", "safe.directory=*", "cat-file", "blob", blob)
    except GitError as error:
        raise OpenclawError(
            f"{folder / path} is not the file that a new home begins with",
            "install the package again, or get the file back",
        ) from error
