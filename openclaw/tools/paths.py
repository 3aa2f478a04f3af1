"""The files of a home as a model names them: leniently found, nearest names offered."""

from __future__ import annotations

import contextlib
import difflib
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from openclaw.security.credentials import Credentials, credentials, denied_name
from openclaw.security.policy import plain_parts
from openclaw.security.untrusted import strip
from openclaw.storage.home import PROPOSED, Home
from openclaw.types import ToolProblem

SKIPPED = frozenset({"node_modules", "__pycache__", "venv"})
MAX_FILES = 20_000
SPILL = ".openclaw/spill"
"""Where long outputs of commands are kept; of what is closed, the only part that may be read."""
_SPILLED = re.compile(rf"{re.escape(SPILL)}(/[0-9a-f-]+\.txt)?")
_OFFERED = 4


class DeniedFile(ToolProblem):
    """The file holds credentials; `path` is the file."""

    def __init__(self, name: str, reason: str, path: Path) -> None:
        super().__init__(f"{name} is closed: {reason}. Do not try again; tell the user.")
        self.path = path


def visible_files(
    home: Home, folder: Path | None = None, *, contents: bool = False
) -> Iterator[Path]:
    """The files below a folder of the home (default: all of it), in the order of their names.

    Hidden ones, links that lead to folders or out of the home, program folders, what holds
    credentials, and what is no file (a pipe, on which a reader would wait for ever) are left out;
    at most 20,000. For their `contents` those are left out as well to which a link leads that is
    named like credentials: to find these takes a look at all of the home.
    """
    root = os.path.realpath(home.root)
    closed = _credentials(home) if contents else Credentials()
    count, waiting = 0, [str(folder or root)]
    while waiting:
        top = waiting.pop()
        with contextlib.suppress(OSError):
            entries = sorted(os.scandir(top), key=lambda entry: entry.name)
            tests = any(entry.name == "SKILL.md" for entry in entries)
            for entry in entries:
                if _is_readable(entry, root, closed):
                    yield Path(entry.path)
                    count += 1
                    if count >= MAX_FILES:
                        return
            waiting += [entry.path for entry in reversed(entries) if _is_open(entry, tests=tests)]


def _credentials(home: Home) -> Credentials:
    return credentials(Path(os.path.realpath(home.root)))


def _is_readable(entry: os.DirEntry[str], root: str, closed: Credentials) -> bool:
    if entry.name.startswith(".") or denied_name(entry.name) or not _is_plain(entry.name):
        return False
    if entry.is_symlink():
        real = os.path.realpath(entry.path)
        inside = Path(real).is_relative_to(root) and Path(real).is_file()
        reason = denied_name(os.path.relpath(real, root)) or closed.by_link(real)
        return inside and not reason
    return entry.is_file() and not closed.by_link(entry.path)


def _is_open(entry: os.DirEntry[str], *, tests: bool) -> bool:
    """Whether a folder is gone into; not the tests of a skill, which are for `skills test` only."""
    if not _visible(entry.name) or (tests and entry.name == "evals"):
        return False
    return entry.is_dir(follow_symlinks=False)


def _visible(name: str) -> bool:
    return not name.startswith(".") and name not in SKIPPED and _is_plain(name)


def _is_plain(name: str) -> bool:
    """Whether a name is one line of what everybody sees: others could pass for something else in a
    listing, and no tool opens them."""
    if name.isascii():
        return name.isprintable()
    return "\n" not in name and strip(name) == name


def existing_file(home: Home, path: str) -> Path:
    """The file that a model means: by its path, in workspace/, or by its name alone when only one
    file has it. Raises ToolProblem with the nearest names."""
    text = tidy(path)
    if (spilled := _spilled(home, text)) and spilled.is_file():
        return spilled
    refused = None
    for candidate in (text, f"workspace/{text}", text.lstrip("/")):
        try:
            target = home.inside(candidate)
        except ToolProblem as problem:
            refused = refused or problem
            continue
        if target.is_file():
            return _open_one(home, text, target)
        if target.is_dir() and candidate == text:
            raise ToolProblem(f"{text} is a folder. Name one of its files:\n{_names(home, target)}")
    if refused:
        raise refused
    name = text.rpartition("/")[2].casefold()
    names = list(visible_files(home))
    same = [file for file in names if file.name.casefold() == name]
    same = same or [file for file in names if file.stem.casefold() == name]
    if len(same) == 1:
        return home.inside(str(same[0]))
    raise _no_file(home, text, same or names)


def existing_folder(home: Home, folder: str) -> Path:
    """The folder that a model means, "" for the whole home. Raises ToolProblem."""
    text = tidy(folder).rstrip("/")
    if text in ("", "."):
        return Path(os.path.realpath(home.root))
    if (spilled := _spilled(home, text)) and spilled.is_dir():
        return spilled
    for candidate in (text, f"workspace/{text}"):
        target = home.inside(candidate)
        if target.is_dir():
            return _open_one(home, text, target)
    if home.inside(text).is_file():
        raise ToolProblem(f"{text} is a file; use read_file.")
    raise ToolProblem(f"There is no folder {text}. Folders: {', '.join(_folders(home))}.")


def new_file(home: Home, path: str) -> Path:
    """Where a model's file is or will be: as named; a bare name is one of the home's own files
    (memory/, workspace/) when there is one, else goes to workspace/. Raises ToolProblem."""
    text = tidy(path)
    if text.endswith("/") or not text:
        raise ToolProblem("path must name a file, for example workspace/notes.md.")
    target = _open_one(home, text, home.inside(text))
    if target.is_dir():
        raise ToolProblem(f"{text} is a folder; name a file in it.")
    if "/" in text or target.is_file():
        return _proposed(home, target)
    in_memory = home.inside(f"memory/{text}")
    return in_memory if in_memory.is_file() else home.inside(f"workspace/{text}")


def _open_one(home: Home, text: str, target: Path) -> Path:
    """The file or folder; DeniedFile when it, or the name that led to it, is on the list. Where the
    home itself lies does not count: the user has put it there."""
    reason = denied_name(home.relative(target)) or denied_name(text)
    reason = reason or _credentials(home).by_link(str(target))
    if reason:
        raise DeniedFile(text, reason, target)
    return target


def _spilled(home: Home, text: str) -> Path | None:
    """The output of a command or their folder, when this is how it is named and no link."""
    path = Path(os.path.realpath(home.root), text)
    named = _SPILLED.fullmatch(text) is not None
    return path if named and os.path.realpath(path) == str(path) else None


def program_folders() -> list[Path]:
    """This program and its Python, which lie in the home when a clone of it is the home."""
    package = Path(__file__).parent.parent
    return [Path(os.path.realpath(path)) for path in (package, sys.prefix)]


def check_kept(home: Home, target: Path) -> None:
    """ToolProblem for a file that only this program writes, and for those that it consists of."""
    if plain_parts(home.relative(target))[:1] == ("sessions",):
        raise ToolProblem("sessions/ holds the conversations; nothing is written there.")
    root = Path(os.path.realpath(home.root))
    inner = [folder for folder in program_folders() if root in folder.parents]
    if any(target.is_relative_to(folder) for folder in inner):
        raise ToolProblem(f"{home.relative(target)} is a part of this program; it is not changed.")


def check_own(home: Home, target: Path) -> None:
    """ToolProblem for a file of a skill: what the agent writes there must not count before the user
    has seen it."""
    if _proposed(home, target) != target:
        raise ToolProblem(
            f"{home.relative(target)} is only changed by a proposal: give its whole new text to "
            "write_file. The user then accepts it."
        )


def _proposed(home: Home, target: Path) -> Path:
    name = home.relative(target)
    if not name.startswith("skills/") or name.startswith(f"{PROPOSED}/"):
        return target
    return home.inside(PROPOSED + name.removeprefix("skills"))


def tidy(path: str) -> str:
    """A path without the quotes, blanks and `./` that models put around it."""
    text = path.strip().strip("\"'`").strip().replace("\\", "/")
    while text.startswith("./"):
        text = text[2:]
    return text


def _no_file(home: Home, text: str, candidates: list[Path]) -> ToolProblem:
    relative = {home.relative(file): file.name.casefold() for file in candidates}
    name = text.rpartition("/")[2].casefold()
    bases = list(dict.fromkeys(relative.values()))
    near = difflib.get_close_matches(name, bases, n=_OFFERED, cutoff=0.5)
    shown = [path for each in near for path, base in relative.items() if base == each]
    if not shown:
        shown = [path for path in relative if path.startswith("workspace/")]
    return ToolProblem(
        f"There is no file {text}. Files: {', '.join(shown[:_OFFERED]) or 'none'}"
        f"{', ...' if len(shown) > _OFFERED else ''}. list_files shows all."
    )


def _names(home: Home, folder: Path) -> str:
    files = [home.relative(file) for file in visible_files(home, folder)]
    return "\n".join(files[:20]) or "(it is empty)"


def _folders(home: Home) -> list[str]:
    root = Path(os.path.realpath(home.root))
    return sorted(entry.name for entry in root.iterdir() if entry.is_dir() and _visible(entry.name))
