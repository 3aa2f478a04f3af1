"""Checks that the folders of a home are there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial

from openclaw.app.health.finding import Finding, Kept
from openclaw.app.health.view import View
from openclaw.files.beneath import make_folder
from openclaw.files.git import Git, GitError
from openclaw.files.home import Home
from openclaw.files.text import unwritable, write_if_same

FOLDERS = ("workspace", "memory", "skills", "sessions")
FILES = {"100644": 0o644, "100755": 0o755}
"""The modes of ordinary files in git."""


def folders(view: View) -> Iterator[Finding]:
    """Folders that are gone and that git has files of, and a memory that is not there at all."""
    for name in FOLDERS:
        if os.path.lexists(view.home.root / name):
            continue
        if committed := _committed(view.home, name):
            yield Finding(
                f"{name}/ is not there; the last commit has {len(committed)} files of it",
                fix="brings these files back",
                repair=partial(_bring_back, view.home, name),
            )
        elif name == "memory":
            yield Finding(
                "memory/ is not there: nothing is remembered",
                fix="makes the folder",
                repair=partial(_make, view.home, name),
            )


def _committed(home: Home, name: str) -> list[tuple[str, int, str]]:
    """Path, mode and blob of each ordinary file of a folder as they were last committed."""
    try:
        said = Git(home.root).run("ls-tree", "-r", "-z", "HEAD", "--", f"{name}/")
    except GitError:
        return []
    entries = (line.partition("\t") for line in said.decode("utf-8", "surrogateescape").split("\0"))
    listed = ((path, about.split()) for about, _, path in entries if path)
    return [(path, FILES[words[0]], words[2]) for path, words in listed if words[0] in FILES]


def _bring_back(home: Home, name: str, kept: Kept) -> str:
    committed = _committed(home, name)
    blobs = Git(home.root).blobs([blob for _, _, blob in committed])
    try:
        for (path, mode, _), data in zip(committed, blobs, strict=True):
            if write_if_same(home.root / path, None, data) and mode != FILES["100644"]:
                (home.root / path).chmod(mode)
    except OSError as error:
        raise unwritable(home.root / name, error) from error
    return f"{name}/ is back with {len(committed)} files"


def _make(home: Home, name: str, kept: Kept) -> str:
    try:
        make_folder(home.root / name)
    except OSError as error:
        raise unwritable(home.root / name, error) from error
    return f"made {name}/"
