"""The home: where each thing lives, and which paths a model may touch."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

from openclaw.errors import Damaged
from openclaw.storage.program import expand_tilde
from openclaw.storage.safe_open import guard
from openclaw.types import ToolProblem

CLOSED = frozenset({".openclaw", ".git"})
PROGRAM_FOLDERS = frozenset({"node_modules", "__pycache__", "venv"})
"""Names of folders that hold no file of a user, however many there are."""
# The short names that Windows gives to the closed folders.
SHORT_NAME = re.compile(r"(git|opencl|(gi|op)[0-9a-f]{4})~[0-9]+")
RESERVED = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9\u00b9\u00b2\u00b3])")
DRIVE = re.compile(r"[A-Za-z]:")
DRIVE_OR_ADDRESS = re.compile(r"[A-Za-z]:|[A-Za-z][\w+.-]*:/")
MARKS = ("workspace", "memory", "skills", "sessions", "openclaw.yaml")
BROUGHT = (".openclaw", ".git", "openclaw.yaml")
"""What a folder may bring along that openclaw acts on."""
PROPOSED = "skills/.proposed"  # where skills wait that the agent has written
ON_WINDOWS = os.name == "nt"
LONGEST_NAME = 255  # bytes; characters on Windows


@dataclass(frozen=True)  # and no slots: each path is made once
class Home:
    """A folder of Markdown and JSON that an agent lives in.

    Of a home that is not `trusted` (see `security.trust`) the settings do not count and the private
    folder is not read.
    """

    root: Path
    trusted: bool = True
    workspace: Path = field(init=False, repr=False, compare=False)
    memory: Path = field(init=False, repr=False, compare=False)
    skills: Path = field(init=False, repr=False, compare=False)
    sessions: Path = field(init=False, repr=False, compare=False)
    settings: Path = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        guard(self.root)
        for name in ("workspace", "memory", "skills", "sessions"):
            object.__setattr__(self, name, self.root / name)
        object.__setattr__(self, "settings", self.root / "openclaw.yaml")

    @property
    def real_root(self) -> Path:
        """The root without links, as it is now."""
        return Path(os.path.realpath(self.root))

    @cached_property
    def private(self) -> Path:
        """Indexes, caches, locks, records and secrets."""
        return self.root / ".openclaw" if self.trusted else _temporary_folder(self.root)

    @cached_property
    def action_log(self) -> Path:
        return self.private / "logs" / "actions.jsonl"

    @cached_property
    def server_file(self) -> Path:
        """The file by which programs of this user find the running server."""
        return self.private / "server.json"

    def inside(self, path: str) -> Path:
        """The real path of a home-relative path, or of an absolute one that lies in the home.

        The target need not exist. The result has no symlink in it, lies beneath the home's real
        root and in no closed folder; backslashes count as slashes on every system. Anything else
        raises ToolProblem.
        """
        text = path.replace("\\", "/")
        root = os.path.realpath(self.root)
        _check_spelling(text, path, root)
        try:
            real = os.path.realpath(Path(root, text))
            stable = os.path.realpath(real) == real
        except (OSError, ValueError) as error:
            raise ToolProblem(f"not a usable path: {path!r}") from error
        if not stable:
            raise ToolProblem(f"{path!r} goes through links that form a loop")
        try:
            parts = Path(real).relative_to(root).parts
        except ValueError as error:
            raise _outside(path) from error
        _check_names(parts, path)
        return Path(real)

    def relative(self, path: Path) -> str:
        """A path of this home as it is shown and stored: relative to the root, with slashes.

        Raises ValueError for a path elsewhere.
        """
        if not path.is_absolute():
            return path.as_posix()
        text, root = str(path), f"{self.root}{os.sep}"
        if text.startswith(root):  # many files are named in each turn, and pathlib is slow
            return text[len(root) :].replace(os.sep, "/")
        try:
            return path.relative_to(self.root).as_posix()
        except ValueError:
            return path.relative_to(os.path.realpath(self.root)).as_posix()


@cache
def _temporary_folder(root: Path) -> Path:
    """The temporary private folder of an untrusted home; it is removed when the process ends."""
    import tempfile  # takes 13 ms of each command

    folder = Path(tempfile.mkdtemp(prefix="openclaw-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def find_home(
    flag: str | None, cwd: Path, environ: Mapping[str, str], *, notes: bool = False
) -> Home:
    """The home: `flag`, else OPENCLAW_HOME, else upwards from `cwd`, else ~/openclaw.

    With `notes` a folder with nothing but Markdown in memory/ will do where no home is: it can be
    searched, though not be talked to. Raises Damaged when the folder that was chosen is missing,
    unreadable or no home at all.
    """
    named = flag or environ.get("OPENCLAW_HOME")
    if named:
        return _check_home(cwd / expand_tilde(named))
    last = default_folder(environ)
    found = nearest_home(cwd)
    if notes and not found and not last.is_dir() and any((cwd / "memory").glob("*.md")):
        found = cwd
    return _check_home(found or last)


def nearest_home(cwd: Path) -> Path | None:
    """The nearest folder from `cwd` upwards that holds workspace/SOUL.md."""
    souls = ((folder, folder / "workspace" / "SOUL.md") for folder in (cwd, *cwd.parents))
    # The method of Path raises where nothing may be looked at.
    return next((folder for folder, soul in souls if os.path.isfile(soul)), None)  # noqa: PTH113


def default_folder(environ: Mapping[str, str]) -> Path:
    """~/openclaw, where a home is looked for last."""
    user = environ.get("USERPROFILE" if ON_WINDOWS else "HOME")
    return (Path(user) if user else Path.home()) / "openclaw"


def holds_notes(folder: Path) -> bool:
    """Return True for a vault of Obsidian, a graph of Logseq, and a folder with nothing but
    Markdown in it and in its folders."""
    if (folder / ".obsidian").exists() or (folder / "logseq" / "config.edn").exists():
        return True
    top = [path for path in folder.glob("[!.]*") if path.name not in MARKS]
    files = [path for path in (*top, *(file for path in top for file in path.glob("[!.]*")))
             if path.is_file()]  # fmt: skip
    return bool(files) and all(path.suffix == ".md" for path in files)


def _check_home(folder: Path) -> Home:
    root = Path(os.path.realpath(folder))
    make = f'make one: openclaw init "{folder}"'
    try:
        names = {entry.name for entry in os.scandir(root)}
    except FileNotFoundError as error:
        raise Damaged(f"there is no openclaw home at {folder}", make) from error
    except NotADirectoryError as error:
        advice = "name a folder with --home or OPENCLAW_HOME, or make one: openclaw init DIR"
        raise Damaged(f"{folder} is a file, not an openclaw home", advice) from error
    except OSError as error:
        raise Damaged(
            f"the home {folder} cannot be read: {error.strerror}",
            f"give this user access to it, or {make}",
        ) from error
    if names.isdisjoint(MARKS):
        raise Damaged(f"{folder} is not an openclaw home", f'make it one: openclaw init "{folder}"')
    return Home(root)


def _check_spelling(text: str, path: str, root: str) -> None:
    """Refuse paths that must not even be opened: a network share, a drive, a user's folder."""
    if any(unicodedata.category(c) == "Cc" for c in text):
        raise ToolProblem(f"not a usable path: {path!r} holds a control character")
    base = root.replace("\\", "/").rstrip("/") + "/"
    named = text == "~" or text.startswith(("//", "~/"))
    if text.startswith(base):
        text = text.removeprefix(base)
    elif named or (DRIVE_OR_ADDRESS.match(text) and not ON_WINDOWS):
        raise _outside(path)
    elif ON_WINDOWS and DRIVE.match(text):
        text = text[2:]
    _check_names(tuple(text.split("/")), path)


def _check_names(parts: tuple[str, ...], path: str) -> None:
    for part in parts:
        trouble = name_trouble(part, windows=ON_WINDOWS)
        if trouble:
            raise ToolProblem(f"{path!r}: {trouble}")


def name_trouble(name: str, *, windows: bool) -> str:
    """Why a file or folder of this name may not be used, "" when it may.

    Names are compared as the most lenient file system would: without case, marks that are not
    shown, trailing blanks and dots, and anything from a colon on (an alternate data stream).
    """
    if windows and ":" in name:
        return f"a name with a colon is not allowed: {name!r}"
    if len(name if windows else name.encode("utf-8", "replace")) > LONGEST_NAME:
        return "the name of a file or folder in it is too long"
    shown = "".join(c for c in name if unicodedata.category(c) != "Cf")
    plain = unicodedata.normalize("NFKC", shown).casefold().partition(":")[0].rstrip(" .")
    if plain in CLOSED or SHORT_NAME.fullmatch(plain):
        return f"{plain} is closed; use workspace/, memory/ or skills/"
    if RESERVED.fullmatch(plain.partition(".")[0].rstrip(" ")):
        return f"{name!r} is a reserved name; choose another"
    return ""


def is_inside(path: str) -> bool:
    """Return True when a stored path (of a record, of a git tree) is inside by its spelling.

    The path must be relative, without `..`, and in no closed folder. Control characters are
    allowed: a command may have made a file of such a name.
    """
    parts = tuple(path.replace("\\", "/").split("/"))
    far = DRIVE_OR_ADDRESS.match(path) or "\0" in path or parts[0] == "~"
    plain = not far and all(part.rstrip(" .") for part in parts)
    return plain and not any(name_trouble(part, windows=ON_WINDOWS) for part in parts)


def _outside(path: str) -> ToolProblem:
    return ToolProblem(
        f"{path!r} is outside the home; give a path relative to it, such as workspace/notes.md"
    )
