"""Makes a home, with the files that a new one begins with."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from openclaw.errors import OpenclawError
from openclaw.storage.git import Git, GitError, first_commit
from openclaw.storage.home import BROUGHT, Home
from openclaw.storage.text import report_unwritable, write_if_same
from openclaw.storage.trust_store import trust_home

IGNORE = """\
# Derived and private: indexes, caches, locks, logs; and what a killed process was writing
.openclaw/
.openclaw-*.tmp
"""


def create_home(target: Path, settings: str = "") -> list[str]:
    """Make `target` a home: copy from the starter what is missing, overwrite nothing.

    `settings` is the text of a new openclaw.yaml ("" for none). The new files become the first
    commit of a git repository unless the folder lies in one. A new home is trusted. Returns
    the home-relative paths that were created, folders with a slash at the end. Raises OpenclawError
    when it cannot be written.
    """
    home = Home(Path(os.path.realpath(target)))
    root = home.root
    is_new = not any(os.path.lexists(root / name) for name in BROUGHT)
    files = dict(starter_files())
    files[".gitignore"] = IGNORE.encode()
    files[".openclaw/.gitignore"] = b"*\n"
    if settings:
        files["openclaw.yaml"] = settings.encode()
    folders = [name for name in ("sessions", "skills", "memory") if not (root / name).is_dir()]
    created = []
    with report_unwritable(root):
        for name in folders:
            (root / name).mkdir(parents=True)
        for name, data in sorted(files.items()):
            if not os.path.lexists(root / name) and write_if_same(root / name, None, data):
                created.append(name)
    private = [".openclaw/" for name in created if name.startswith(".openclaw/")]
    created = [name for name in created if not name.startswith(".openclaw/")]
    versioned = [".git/"] if created and first_commit(root, created) else []
    if is_new:
        trust_home(home)
    empty = [f"{name}/" for name in folders if not any((root / name).iterdir())]
    return sorted(created + empty + private + versioned)


def check_names(root: Path) -> None:
    """Raise OpenclawError where a file has the name of a folder that a home needs."""
    for name in (".openclaw", "workspace", "memory", "skills", "sessions"):
        if os.path.lexists(root / name) and not (root / name).is_dir():
            raise OpenclawError(
                f"{root / name} is no folder, and a home has a folder of that name",
                "give it another name, and say openclaw init again",
            )


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
    return {path: _read_shipped(folder, path, blob) for path, blob in shipped.items()}


def _read_shipped(folder: Path, path: str, blob: str) -> bytes:
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
