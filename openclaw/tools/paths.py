"""The files of a home as a model names them: leniently found, nearest names offered."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator
from pathlib import Path

from openclaw.files.home import PROPOSED, Home
from openclaw.shapes import ToolProblem

SKIPPED = frozenset({"node_modules", "__pycache__", "venv"})
MAX_FILES = 20_000
_OFFERED = 4


def visible_files(home: Home, folder: Path | None = None) -> Iterator[Path]:
    """The files below a folder of the home (default: all of it), in the order of their names.

    Hidden ones, links to folders and program folders are left out; at most 20,000.
    """
    count = 0
    root = Path(os.path.realpath(home.root))
    for top, folders, files in os.walk(folder or root):
        tests = {"evals"} if "SKILL.md" in files else set()  # of a skill, for `skills test` only
        folders[:] = sorted(name for name in folders if _visible(name) and name not in tests)
        for name in sorted(files):
            if not name.startswith("."):
                yield Path(top, name)
                count += 1
                if count >= MAX_FILES:
                    return


def _visible(name: str) -> bool:
    return not name.startswith(".") and name not in SKIPPED


def existing_file(home: Home, path: str) -> Path:
    """The file that a model means: by its path, in workspace/, or by its name alone when only one
    file has it. Raises ToolProblem with the nearest names."""
    text = tidy(path)
    refused = None
    for candidate in (text, f"workspace/{text}", text.lstrip("/")):
        try:
            target = home.inside(candidate)
        except ToolProblem as problem:
            refused = refused or problem
            continue
        if target.is_file():
            return target
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
    for candidate in (text, f"workspace/{text}"):
        target = home.inside(candidate)
        if target.is_dir():
            return target
    if home.inside(text).is_file():
        raise ToolProblem(f"{text} is a file; use read_file.")
    raise ToolProblem(f"There is no folder {text}. Folders: {', '.join(_folders(home))}.")


def new_file(home: Home, path: str) -> Path:
    """Where a model's file is or will be: as named; a bare name is one of the home's own files
    (memory/, workspace/) when there is one, else goes to workspace/. Raises ToolProblem."""
    text = tidy(path)
    if text.endswith("/") or not text:
        raise ToolProblem("path must name a file, for example workspace/notes.md.")
    target = home.inside(text)
    if target.is_dir():
        raise ToolProblem(f"{text} is a folder; name a file in it.")
    if "/" in text or target.is_file():
        return _proposed(home, target)
    in_memory = home.inside(f"memory/{text}")
    return in_memory if in_memory.is_file() else home.inside(f"workspace/{text}")


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
