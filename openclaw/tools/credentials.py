"""Finds the files of a home that hold credentials, wherever they lie, for the sandbox to hide."""

from __future__ import annotations

import os
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from openclaw.safety.denied import denied_name

MOST_ENTRIES = 100_000
"""Files and folders that are looked at; of a home with more it is not known what it holds."""
MOST_IN_FOLDER = 20
MOST_HIDDEN = 500
"""Each one costs the sandbox three of its 9,000 arguments and a third of a millisecond."""
KEPT = frozenset({"", "workspace", "memory", "skills", "sessions", ".git"})
SETTLED_NS = 1_000_000_000
"""A folder changed less than this ago may change again without another time stamp."""


@dataclass(frozen=True, slots=True)
class _Folder:
    """What was found in one folder: names of what holds credentials, of links that are named like
    it, and of folders to look into. `stamp` tells whether it is still so."""

    stamp: tuple[int, int, int]
    denied: tuple[str, ...]
    links: tuple[str, ...]
    folders: tuple[str, ...]
    repository: bool
    count: int


_seen: dict[str, _Folder] = {}


@dataclass(slots=True)
class Credentials:
    """The files and folders that hold them; `whole` says that none is missing. `linked` are those
    whose own name does not tell, `repositories` the folders in which git finds one."""

    paths: list[Path] = field(default_factory=list)
    whole: bool = True
    linked: list[Path] = field(default_factory=list)
    repositories: list[Path] = field(default_factory=list)

    def by_link(self, path: str) -> str:
        """Why a file or folder is closed that a link with such a name leads to, "" when it is not.
        The path is absolute, without links."""
        inner = any(path == str(each) or path.startswith(f"{each}{os.sep}") for each in self.linked)
        return "a link with the name of credentials leads to it" if inner else ""

    def crowded(self, root: Path) -> str:
        """Why these cannot be hidden from a command, "" when they can; it names the folder that
        holds most of them."""
        if len(self.paths) <= MOST_HIDDEN:
            return ""
        folders = Counter(folder for path in self.paths for folder in path.parents)
        most = [folder for folder, count in folders.items() if count > len(self.paths) / 2]
        name = max(most, key=lambda folder: len(folder.parts)).relative_to(root).as_posix()
        return (
            f"{len(self.paths):,} files of the home hold credentials, most of them in {name}, and "
            f"only {MOST_HIDDEN} can be hidden from a command. Tell the user to move them"
        )


def credentials(root: Path) -> Credentials:
    """Those of the home at `root` (absolute, without links). Of a folder with more than 20 the
    whole counts, but for the main folders of a home. Links are not followed, but where a link has
    the name of such a file, what it leads to is one."""
    found, count, waiting = Credentials(), 0, [""]
    while waiting:
        name = waiting.pop()
        try:
            folder = _looked_into(root, name)
        except PermissionError:  # who knows a name in it can still open the file
            found.paths.append(root / name)
            continue
        except OSError:
            continue
        if len(folder.denied) > MOST_IN_FOLDER and name not in KEPT:
            found.paths.append(root / name)
        else:
            found.paths += (root / name / each for each in folder.denied)
            waiting += (f"{name}/{each}" if name else each for each in folder.folders)
        for link in folder.links:
            real = Path(os.path.realpath(root / name / link))
            kept = root not in real.parents or real.relative_to(root).as_posix() in KEPT
            if not kept and real.exists():
                found.linked.append(real)
        if folder.repository:
            found.repositories.append(root / name)
        count += folder.count
        if count > MOST_ENTRIES:
            found.whole = False
            break
    found.paths += found.linked
    return found


def _looked_into(root: Path, name: str) -> _Folder:
    """A folder's entries; looked over anew only when the folder has changed, as judging names is
    what takes the time. Raises OSError."""
    place = os.path.join(root, name) if name else str(root)  # noqa: PTH118  quicker
    status = os.lstat(place)
    stamp = status.st_ino, status.st_mtime_ns, status.st_ctime_ns
    known = _seen.get(place)
    if known and known.stamp == stamp:
        return known
    with os.scandir(place) as entries:
        found = _judged(list(entries), name, stamp)
    if len(_seen) > MOST_ENTRIES:
        _seen.clear()
    if time.time_ns() - max(stamp[1:]) > SETTLED_NS:
        _seen[place] = found
    return found


def _judged(entries: list[os.DirEntry[str]], name: str, stamp: tuple[int, int, int]) -> _Folder:
    denied: list[str] = []
    links: list[str] = []
    folders: list[str] = []
    for entry in entries:
        inner = f"{name}/{entry.name}" if name else entry.name
        is_folder, is_link = entry.is_dir(follow_symlinks=False), entry.is_symlink()
        is_file = entry.is_file(follow_symlinks=False)
        if inner == ".openclaw" or not (is_folder or is_link or is_file):
            continue
        if denied_name(inner):
            (links if is_link else denied).append(entry.name)
        elif is_folder:
            folders.append(entry.name)
    names = {entry.name for entry in entries if entry.is_dir() or entry.is_file()}
    # git takes a folder that looks like the inside of a repository for one.
    bare = names >= {"HEAD", "objects", "refs"} and name.rpartition("/")[2] != ".git"
    repository = ".git" in names or bare
    return _Folder(stamp, tuple(denied), tuple(links), tuple(folders), repository, len(entries))
