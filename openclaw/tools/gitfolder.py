"""Is a repository one in which git reads without starting a program?

git runs what a repository's own settings name: filters and diff drivers (of any name), fsmonitor,
commands for ssh and gpg, helpers of partial clones. No flag or variable switches off all of them,
so the settings are read, and only keys that are known to name no program pass. Sources:
git-config(1), gitattributes(5), and git's own warnings on repositories inside others (2.38,
safe.bareRepository).
"""

from __future__ import annotations

import re
from pathlib import Path

from openclaw.files.beneath import read_bytes

_HARMLESS = re.compile(
    r"""core\.(repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|precomposeunicode
        |symlinks|autocrlf|safecrlf|eol|quotepath|abbrev|longpaths|protectntfs|protecthfs
        |compression|checkstat|trustctime|commitgraph|preloadindex|fscache|hidedotfiles
        |whitespace|sharedrepository|untrackedcache)
    | (user|author|committer)\.(name|email)
    | init\.defaultbranch
    | branch\..*\.(remote|merge|rebase|description|pushremote)
    | branch\.(sort|autosetuprebase|autosetupmerge)
    | remote\..*\.(url|fetch|pushurl|push|tagopt|prune|mirror|skipfetchall)
    | (push|pull|fetch|rebase|gc|color|column|advice|i18n|rerere|commit|tag)\.[a-z0-9.]*
    | merge\.(ff|conflictstyle|renames)
    | log\.(date|decorate|abbrevcommit|follow|mailmap)
    | status\.(short|branch|showuntrackedfiles|relativepaths|showstash|aheadbehind|renames)
    | diff\.(algorithm|renames|renamelimit|mnemonicprefix|noprefix|context|colormoved)
    | extensions\.(objectformat|refstorage)
    | pack\.[a-z]+ | index\.version""",
    re.VERBOSE,
)
_SECTION = re.compile(r'\s*\[([A-Za-z0-9.-]+)(?:\s+"([^"\\]*)")?\]\s*(?:[#;].*)?')
_ENTRY = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)\s*(?:=.*)?")
_GITLINK = b"\x00\x00\xe0\x00"  # the mode 160000 of an entry for a nested repository
_LARGEST = 50_000_000


def doubt(folder: Path, root: Path) -> str:
    """Why git should not run unasked in `folder` of the home `root`; "" when there is no reason.

    HOME is taken to be the home, whose .gitconfig git before 2.32 reads in any case.
    """
    if any((root / name).exists() for name in (".gitconfig", ".config/git/config")):
        return "the home holds settings of git"
    for place in (folder, *folder.parents):
        if (place / "HEAD").exists() and (place / "objects").exists():
            return "a folder that poses as a repository"
        inside = place / ".git"
        if inside.exists() or inside.is_symlink():
            if not place.resolve().is_relative_to(root.resolve()):
                return "the repository lies outside the home"
            return _repository(inside)
    return ""


def _repository(git: Path) -> str:
    if git.is_symlink() or not git.is_dir():
        return "the repository's data lie elsewhere"
    for name in ("commondir", "objects/info/alternates"):
        if (git / name).exists():
            return "the repository's data lie elsewhere"
    try:
        if (git / "config").is_symlink():
            return "the repository's settings lie elsewhere"
        if (git / "index").exists() and _nested(git):
            return "the repository holds others"
        return settings(_text(git / "config")) if (git / "config").exists() else ""
    except (OSError, ValueError):
        return "the repository's settings cannot be read"


def _text(path: Path) -> str:
    if path.stat().st_size > 1_000_000:
        raise ValueError(path)
    return read_bytes(path).decode("utf-8")


def _nested(git: Path) -> bool:
    indexes = [git / "index", *git.glob("sharedindex.*")]
    if any(index.stat().st_size > _LARGEST for index in indexes):
        return True
    return any(_GITLINK in read_bytes(index) for index in indexes)


def settings(text: str) -> str:
    """Why a repository with these settings (.git/config) may start programs; "" when none may."""
    section = ""
    for line in text.split("\n"):
        line = line.removesuffix("\r")
        if not line.strip() or line.lstrip().startswith(("#", ";")):
            continue
        if found := _SECTION.fullmatch(line):
            section = found[1].casefold() + (f".{found[2]}" if found[2] is not None else "")
            continue
        entry = _ENTRY.fullmatch(line)
        if not entry or line.endswith("\\") or not section:
            return "the repository's settings cannot be read"
        key = f"{section}.{entry[1].casefold()}"
        if not _HARMLESS.fullmatch(key):
            return f"the repository sets {key}"
    return ""
