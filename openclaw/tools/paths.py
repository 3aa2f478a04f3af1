"""Find the files of a home by the names that a model writes; on a miss, offer the nearest."""

from __future__ import annotations

import contextlib
import difflib
import os
import re
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path

from openclaw.security.credentials import Credentials, find_credentials, why_name_denied
from openclaw.security.policy import plain_parts
from openclaw.security.untrusted import strip_hidden
from openclaw.storage.home import PROGRAM_FOLDERS, PROPOSED, Home
from openclaw.storage.safe_open import read_text
from openclaw.types import ToolProblem

MAX_FILES = 20_000
MAX_CURRENT = 1_000_000
SPILL = ".openclaw/spill"
"""The folder for long outputs of commands, the only part of `.openclaw/` that may be read."""
_SPILLED = re.compile(rf"{re.escape(SPILL)}(/[0-9a-f-]+\.txt)?")
PLACE = re.compile(r":(\d+)(?:-\d+)?(?::.*)?$|:[^/:]*$", re.DOTALL)
"""What stands behind a path in a result of a search: `notes/a.md:12: text`."""
_MAX_OFFERED = 4


class DeniedFile(ToolProblem):
    """The file holds credentials; `path` is the file."""

    def __init__(self, name: str, reason: str, path: Path) -> None:
        super().__init__(f"{name} is closed: {reason}. Do not try again; tell the user.")
        self.path = path


class MissingFile(ToolProblem):
    """There is no such file; `others` are the paths of files that may be meant."""

    def __init__(self, name: str, others: Sequence[str]) -> None:
        self.name = name
        told = ", ".join(others[:_MAX_OFFERED]) or "none"
        more = ", ..." if len(others) > _MAX_OFFERED else ""
        super().__init__(f"There is no file {name}. Files: {told}{more}. list_files shows all.")


def visible_files(
    home: Home, folder: Path | None = None, *, contents: bool = False
) -> Iterator[Path]:
    """The files below a folder of the home (default: all of it), in the order of their names; at
    most 20,000.

    Left out: hidden files, links to folders or out of the home, program folders, files with
    credentials, and what is not a file (on a pipe a reader would wait for ever). With `contents`,
    also files that are the target of a link named like credentials; finding these needs a scan of
    the whole home.
    """
    root = str(home.real_root)
    closed = find_credentials(home.real_root) if contents else Credentials()
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
            waiting += [
                entry.path for entry in reversed(entries) if _is_entered(entry, tests=tests)
            ]


def current_text(home: Home, path: str) -> str | None:
    """A file's present text, of a large one the first megabyte; None without a file. A link out of
    the home, which a command may have made, counts as no file. Raises OSError when it cannot be
    read."""
    try:
        file = home.inside(path)
    except ToolProblem:
        return None
    return read_text(file, MAX_CURRENT) if file.is_file() else None


def _is_readable(entry: os.DirEntry[str], root: str, closed: Credentials) -> bool:
    if entry.name.startswith(".") or why_name_denied(entry.name) or not is_plain(entry.name):
        return False
    if entry.is_symlink():
        real = os.path.realpath(entry.path)
        inside = Path(real).is_relative_to(root) and Path(real).is_file()
        reason = why_name_denied(os.path.relpath(real, root)) or closed.by_link(real)
        return inside and not reason
    return entry.is_file() and not closed.by_link(entry.path)


def _is_entered(entry: os.DirEntry[str], *, tests: bool) -> bool:
    """Tell whether to enter a folder. A skill's tests are for `skills test` only."""
    if not _is_visible(entry.name) or (tests and entry.name == "evals"):
        return False
    return entry.is_dir(follow_symlinks=False)


def _is_visible(name: str) -> bool:
    return not name.startswith(".") and name not in PROGRAM_FOLDERS and is_plain(name)


def is_plain(name: str) -> bool:
    """Return True for a name of one line without hidden characters. Others could pass for something
    else in a listing, and no tool opens them."""
    if name.isascii():
        return name.isprintable()
    return "\n" not in name and strip_hidden(name) == name


def existing_file(home: Home, path: str) -> Path:
    """Find the file that a model means: by its path, in workspace/, or by its name alone when only
    one file has it. Raises ToolProblem with the nearest names."""
    text = tidy(path)
    if (spilled := _spilled_path(home, text)) and spilled.is_file():
        return spilled
    refused = None
    for candidate in (text, f"workspace/{text}", text.lstrip("/")):
        try:
            target = _find(home, candidate)
        except ToolProblem as problem:
            refused = refused or problem
            continue
        if target.is_file():
            return check_open(home, text, target)
        if target.is_dir() and candidate == text:
            raise ToolProblem(
                f"{text} is a folder. Name one of its files:\n{_list_names(home, target)}"
            )
    if refused:
        raise refused
    if place := PLACE.search(text):
        return existing_file(home, text[: place.start()])
    name = text.rpartition("/")[2].casefold()
    files = list(visible_files(home))
    same = [file for file in files if file.name.casefold() == name]
    same = same or [file for file in files if file.stem.casefold() == name]
    if len(same) == 1:
        return home.inside(str(same[0]))
    raise MissingFile(text, _nearest_names(home, text, same or files))


def existing_folder(home: Home, folder: str) -> Path:
    """Find the folder that a model means, "" for the whole home. Raises ToolProblem."""
    text = tidy(folder).rstrip("/")
    if text in ("", "."):
        return home.real_root
    if (spilled := _spilled_path(home, text)) and spilled.is_dir():
        return spilled
    for candidate in (text, f"workspace/{text}"):
        target = home.inside(candidate)
        if target.is_dir():
            return check_open(home, text, target)
    if home.inside(text).is_file():
        raise ToolProblem(f"{text} is a file; use read_file.")
    raise ToolProblem(f"There is no folder {text}. Folders: {', '.join(_list_folders(home))}.")


def new_file(home: Home, path: str) -> Path:
    """The path of a file that a model wants to write. A bare name is an existing file in the home,
    memory/ or workspace/, else a new one in workspace/. Raises ToolProblem."""
    text = tidy(path)
    if text.endswith("/") or not text:
        raise ToolProblem("path must name a file, for example workspace/notes.md.")
    target = check_open(home, text, _find(home, text))
    if target.is_dir():
        raise ToolProblem(f"{text} is a folder; name a file in it.")
    if "/" in text or target.is_file():
        return _proposal_path(home, target)
    in_memory = _find(home, f"memory/{text}")
    return in_memory if in_memory.is_file() else _find(home, f"workspace/{text}")


def _find(home: Home, path: str) -> Path:
    """`Home.inside`, with the name of the file in the Unicode form in which it stands there: macOS
    writes a letter and its accent apart, a model writes them as one."""
    target = home.inside(path)
    if target.name.isascii() or target.exists():
        return target
    wanted = unicodedata.normalize("NFC", target.name)
    with contextlib.suppress(OSError):
        for each in target.parent.iterdir():
            if unicodedata.normalize("NFC", each.name) == wanted:
                return home.inside(str(each))
    return target


def check_open(home: Home, text: str, target: Path) -> Path:
    """Return the file or folder. Raises DeniedFile when it, or the name that led to it, is on the
    list. The folders above the home do not count: the user chose them."""
    reason = why_name_denied(home.relative(target)) or why_name_denied(text)
    reason = reason or find_credentials(home.real_root).by_link(str(target))
    if reason:
        raise DeniedFile(text, reason, target)
    return target


def _spilled_path(home: Home, text: str) -> Path | None:
    """The path of a spilled output, or of their folder, when the text names one and no link."""
    path = home.real_root / text
    named = _SPILLED.fullmatch(text) is not None
    return path if named and os.path.realpath(path) == str(path) else None


def program_folders() -> list[Path]:
    """The folders of this program and its Python: they lie in the home when a clone is the home."""
    package = Path(__file__).parent.parent
    return [Path(os.path.realpath(path)) for path in (package, sys.prefix)]


def check_kept(home: Home, target: Path) -> None:
    """Raise ToolProblem for a file that only this program writes, or that is part of it."""
    if plain_parts(home.relative(target))[:1] == ("sessions",):
        raise ToolProblem("sessions/ holds the conversations; nothing is written there.")
    root = home.real_root
    if any(root in each.parents and target.is_relative_to(each) for each in program_folders()):
        raise ToolProblem(f"{home.relative(target)} is a part of this program; it is not changed.")


def check_own(home: Home, target: Path) -> None:
    """Raise ToolProblem for a file of a skill: what the agent writes there must not count before
    the user has seen it."""
    if _proposal_path(home, target) != target:
        raise ToolProblem(
            f"{home.relative(target)} is only changed by a proposal: give its whole new text to "
            "write_file. The user then accepts it."
        )


def _proposal_path(home: Home, target: Path) -> Path:
    name = home.relative(target)
    parts = plain_parts(name)  # macOS takes Skills/ for skills/
    if parts[:1] != ("skills",) or parts[1:2] == (".proposed",):
        return target
    return home.inside(f"{PROPOSED}/{name.partition('/')[2]}")


def tidy(path: str) -> str:
    """Strip the quotes, blanks and `./` that models put around a path."""
    text = path.strip().strip("\"'`").strip().replace("\\", "/")
    while text.startswith("./"):
        text = text[2:]
    return text


def _nearest_names(home: Home, text: str, candidates: list[Path]) -> list[str]:
    relative = {home.relative(file): file.name.casefold() for file in candidates}
    name = text.rpartition("/")[2].casefold()
    bases = list(dict.fromkeys(relative.values()))
    near = difflib.get_close_matches(name, bases, n=_MAX_OFFERED, cutoff=0.5)
    shown = [path for each in near for path, base in relative.items() if base == each]
    return shown or [path for path in relative if path.startswith("workspace/")]


def _list_names(home: Home, folder: Path) -> str:
    files = [home.relative(file) for file in visible_files(home, folder)]
    return "\n".join(files[:20]) or "(it is empty)"


def _list_folders(home: Home) -> list[str]:
    root = home.real_root
    return sorted(
        entry.name for entry in root.iterdir() if entry.is_dir() and _is_visible(entry.name)
    )
