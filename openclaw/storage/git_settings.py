"""Has git read settings of ours in place of a repository's own, which may come from elsewhere.

git runs what `.git/config` names: filters, hooks, drivers, helpers, of any name, and each version
knows more of them. No option switches off all of that. But git looks for this file in the folder of
what linked worktrees share, and can be told another such folder (GIT_COMMON_DIR): here one in the
user's cache that leads to the branches and objects of the repository by links, and whose settings
are those of which it is known that they run nothing. (git's own `git-new-workdir` links the same.)
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import shutil
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from itertools import chain
from pathlib import Path

from openclaw.storage.program import cache_folder
from openclaw.storage.safe_open import bytes_or_none

SHARED = ("objects", "refs", "packed-refs", "reftable", "logs", "worktrees", "shallow")
HARMLESS = re.compile(
    r"core\.(repositoryformatversion|filemode|ignorecase|precomposeunicode|sharedrepository|autocrlf)"
    r"|extensions\.(objectformat|refstorage)|user\.(name|email)|gc\.auto"
)
SMALL = ("HEAD", "config", "commondir", "gitdir")
PLAIN = ("index", "packed-refs", "shallow", "info/exclude")
"""Files that git reads whatever they are: from a pipe it would read for ever."""
FOLDERS = ("objects", "objects/info", "objects/pack", "info", "worktrees", "refs", "logs")
LARGEST = 1_000_000
TREES = ("refs", "logs", "objects/info", "objects/pack")
_WORKTREE = re.compile(rb'(?m)^\s*worktree\s*=\s*"?([^"\n]+?)"?\s*$')


def find_repository_problem(root: Path, folder: Path) -> str:
    """Why git is not to work in the repository `folder` of the working tree `root`, "" when it may:
    whoever brings a folder could have it lead to branches, logs and files of somewhere else."""
    named = root / ".git"
    if named.is_symlink():
        return f"{named} is a link"
    odd = next(_find_odd(folder), "")
    if not odd:
        if named.is_file() and not _is_linked_back(folder, named):
            return f"{named} names a repository that does not know of it"
        common = common_of(folder)
        if common != folder and not (named.is_file() and folder.parent == common / "worktrees"):
            return f"{folder / 'commondir'} leads to another repository"
        odd = next(_find_odd(common), "")
        alternates = common / "objects" / "info" / "alternates"
        if not odd and (bytes_or_none(alternates) or b"").strip():
            return f"{common / 'objects'} borrows those of another repository"
    ignoring = root / ".gitignore"  # of a link git takes no notice
    if not odd and not ignoring.is_symlink() and not _is(str(ignoring), stat.S_ISREG):
        odd = str(ignoring)
    return f"{odd} is a link, too large, or no plain file" if odd else ""


def _is_linked_back(folder: Path, named: Path) -> bool:
    """Return True when the repository of a linked worktree or submodule names `named` too."""
    with suppress(OSError):
        if (folder / "gitdir").is_file():
            back = folder / (folder / "gitdir").read_text("utf-8", errors="replace").strip()
            return os.path.realpath(back) == os.path.realpath(named)
        found = _WORKTREE.search((folder / "config").read_bytes())
        tree = folder / os.fsdecode(found[1]) if found else folder.parent
        return os.path.realpath(tree) == os.path.realpath(named.parent)
    return False


def common_of(folder: Path) -> Path:
    """The folder of branches, objects and settings: of a linked worktree that of its main one."""
    try:
        named = (folder / "commondir").read_text("utf-8", errors="replace").strip("\r\n ")
    except OSError:
        return folder
    return Path(os.path.normpath(folder / named))


def _find_odd(folder: Path) -> Iterator[str]:
    """The paths that git follows or reads, but would not have made this way."""
    for name in SMALL:
        if not _is(path := f"{folder}/{name}", stat.S_ISREG, LARGEST):
            yield path
    for top, folders, names in chain(
        [(str(folder), FOLDERS, PLAIN)], *(os.walk(folder / tree) for tree in TREES)
    ):
        yield from (path for name in folders if not _is(path := f"{top}/{name}", stat.S_ISDIR))
        yield from (path for name in names if not _is(path := f"{top}/{name}", stat.S_ISREG))


def _is(path: str, kind: Callable[[int], bool], most: float = math.inf) -> bool:
    """Return True when the path is of that kind and size, or nothing is there."""
    try:
        found = os.lstat(path)
    except OSError:
        return True
    return kind(found.st_mode) and found.st_size <= most


def git_environment(root: Path, folder: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """The environment in which git takes our settings for those of the repository `folder`.

    On Windows, where not every user may make links, it reads them all. OSError and ValueError for
    settings that cannot be read.
    """
    own = {"GIT_WORK_TREE": str(root)}
    if os.name == "nt":
        return own
    common = common_of(folder)
    config = common / "config"
    text = config.read_bytes() if config.is_file() else b""
    links = {name: common / name for name in SHARED if os.path.lexists(common / name)}
    links |= {"packed-refs": common / "packed-refs", "info/exclude": common / "info" / "exclude"}
    facts = json.dumps([text.hex(), sorted((name, str(at)) for name, at in links.items())])
    place = _place() / hashlib.sha256(facts.encode()).hexdigest()[:40]
    if not (place / "config").is_file():
        _make(place, links, _settings(text, place.parent, environ))
    return own | {"GIT_COMMON_DIR": str(place)}


def _settings(text: bytes, folder: Path, environ: Mapping[str, str]) -> str:
    """The harmless ones of these settings; what they include is left out."""
    import subprocess

    done = subprocess.run(
        ["git", "config", "--file", "-", "--no-includes", "--list", "-z"],
        input=text, cwd=folder, env=dict(environ), capture_output=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise ValueError(done.stderr.decode("utf-8", "replace").strip())
    found = {"core.bare": "false", "core.repositoryformatversion": "0"}
    for entry in done.stdout.decode("utf-8", "surrogateescape").split("\0"):
        key, equals, value = entry.partition("\n")
        if HARMLESS.fullmatch(key):
            found[key] = value if equals else "true"
    return "".join(_entry(key, value) for key, value in found.items())


def _entry(key: str, value: str) -> str:
    section, name = key.split(".")
    for plain, escaped in (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n")):
        value = value.replace(plain, escaped)
    return f'[{section}]\n\t{name} = "{value}"\n'


def _make(place: Path, links: Mapping[str, Path], settings: str) -> None:
    """Make the folder in one step; another process may be quicker."""
    import tempfile

    made = Path(tempfile.mkdtemp(dir=place.parent, prefix=".new-"))
    try:
        (made / "info").mkdir()
        for name, target in links.items():
            (made / name).symlink_to(target)
        (made / "config").write_bytes(settings.encode("utf-8", "surrogateescape"))
        with suppress(OSError):
            made.rename(place)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def _place() -> Path:
    """Where the folders are kept; a place of this process where that cannot be written."""
    folder = cache_folder() / "git"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return _place_of_process()
    return folder


@cache
def _place_of_process() -> Path:
    import tempfile

    return Path(tempfile.mkdtemp(prefix="openclaw-git-"))
