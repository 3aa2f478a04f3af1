"""Finds the files of a home that its hooks may run, and says in one hash what they hold.

A yes to a program is a yes to what it is now. Since an agent may write into its home, all that it
could write there and a hook would then run has to be in the hash: everything outside of the four
folders where the agent works, and what the commands name in these. What a program finds in those
in other ways is not seen (docs/hooks.md).
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from openclaw.app.command_words import EXPANDED, commands_of, is_runner, meanings, words_of
from openclaw.files.home import Home

FOLDER = "hooks"
"""Where programs of hooks lie by custom."""
MOST_FILES, MOST_BYTES = 500, 10_000_000
TOO_MUCH = (
    f"there are more than {MOST_FILES} files or {MOST_BYTES // 1_000_000} MB outside of workspace/,"
    " memory/, sessions/ and skills/, and in what the commands name there"
)
OPEN = frozenset({"workspace", "memory", "sessions", "skills"})
"""Folders at the top whose files change in every other turn: of these only what is named."""
UNTOLD = frozenset({"openclaw.yaml", ".gitignore"})
CLOSED = frozenset({".git", ".openclaw", ".cache"})
SCRIPTS = (
    *(".py", ".sh", ".js", ".mjs", ".cjs", ".ts", ".mts", ".rb", ".pl", ".php", ".lua", ".jar"),
    *(".ps1", ".bat", ".cmd"),
)
READERS = frozenset(
    "[ cat cp cut date diff du echo false grep head logger ls mkdir printf stat tail tar test touch"
    " tr true uniq wc zip".split()
)
"""Programs that run nothing of what they are given: a backup may name all of workspace/."""
_STARTS = re.compile(r"--(?!exclude)|-\w*[IFT]|[A-Za-z]*[IFT][A-Za-z]*$")
"""Options by which one of them may start another program (`tar -I`)."""


@dataclass(frozen=True, slots=True)
class Held:
    """A file as it is in the hash: what it holds, None where it is no ordinary file, whether it may
    be run, and where it links to, "" for no link."""

    data: bytes | None
    runs: bool
    target: str


@dataclass(frozen=True, slots=True)
class Programs:
    """What commands run of the files of a home: paths relative to it. `named` are those that the
    commands name, `missing` those that they name and that are not there. `trouble` says why the
    hash of the files cannot be made, "" when it could. `held` are the very bytes that are in the
    hash: these are to be run, since the files may be exchanged at any moment."""

    hash: str
    files: tuple[str, ...]
    named: tuple[str, ...]
    missing: tuple[str, ...]
    trouble: str = ""
    held: Mapping[str, Held] = field(default_factory=dict, repr=False, compare=False)


class _UnfitError(Exception):
    """No hash can say what the commands run; why."""


def programs(home: Home, commands: Sequence[str | Sequence[str]]) -> Programs:
    """What these commands, texts for a shell or lists of words, run of the home's files."""
    root = Path(os.path.realpath(home.root))
    names = [path for command in commands for path in _named(root, command)]
    run = [path for command in commands if not _only_reads(command)
           for path in _named(root, command)]  # fmt: skip
    missing = dict.fromkeys(word for command in commands for word in _missing(root, command))
    files: list[Path] = []
    held: dict[str, Held] = {}
    trouble = ""
    try:
        files = _all(root, run)
        held = _read_all(root, files)
    except _UnfitError as why:
        trouble = str(why)
    return Programs(
        "" if trouble else _hashed(held),
        tuple(_relative(root, path) for path in files),
        tuple(dict.fromkeys(_relative(root, path) for path in names)),
        tuple(missing),
        trouble,
        held,
    )


def named(root: Path, command: str | Sequence[str]) -> list[Path]:
    """What is there of the places in the home that the words of a command may mean, the home itself
    too."""
    texts = (text for word in words_of(command) for text in meanings(root, word))
    places = dict.fromkeys(placed(root, text) for text in texts)
    return [path for path in places if path.is_relative_to(root) and _is_there(path)]


def places(root: Path, commands: Iterable[str | Sequence[str]]) -> Iterator[str]:
    """The files and folders of the home that commands may run something from, from the home,
    whether they are there or not: who writes there decides what runs."""
    for command in filter(None, commands):
        words = () if _only_reads(command) else words_of(command)
        for text in (text for word in words for text in meanings(root, word)):
            path = placed(root, text)
            if not path.is_relative_to(root) or in_open(root, path):
                continue
            folder = path if _is_folder(path) else path.parent
            yield _relative(root, path if in_open(root, folder) else folder)


def in_open(root: Path, path: Path) -> bool:
    """Whether a path is one of the folders at the top where the agent works, or the top itself."""
    return path == root or (path.parent == root and path.name in OPEN)


def placed(root: Path, text: str) -> Path:
    """The path of a word. Of an absolute one the folder is the real one, as the root is."""
    path = Path(os.path.normpath(root / text))
    return Path(os.path.realpath(path.parent), path.name) if Path(text).is_absolute() else path


def _hashed(held: Mapping[str, Held]) -> str:
    total = hashlib.sha256()
    for name, each in held.items():
        content = hashlib.sha256(each.data or b"").hexdigest()
        facts = f"{name}\0{int(each.runs)}\0{each.target}\0{content}\n"
        total.update(facts.encode("utf-8", "surrogateescape"))
    return total.hexdigest()


def _read_all(root: Path, files: Sequence[Path]) -> dict[str, Held]:
    """The files, each opened once."""
    if len(files) > MOST_FILES or sum(map(_size, files)) > MOST_BYTES:
        raise _UnfitError(TOO_MUCH)
    found: dict[str, Held] = {}
    left = MOST_BYTES
    for path in files:
        held = found[_relative(root, path)] = _read(path, left)
        left -= len(held.data or b"")
    return found


def _named(root: Path, command: str | Sequence[str]) -> list[Path]:
    return [path for path in named(root, command) if path != root]


def _only_reads(command: str | Sequence[str]) -> bool:
    """Whether a command runs nothing but programs that read, so that what it names is data."""
    if isinstance(command, str) and ("`" in command or "$(" in command):
        return False
    return all(
        words[0] in READERS and not any(map(_STARTS.match, words[1:]))
        for words in commands_of(command)
    )


def _missing(root: Path, command: str | Sequence[str]) -> Iterator[str]:
    """The program in the home that a command begins with and that is not there: its first word
    where that is a path, and the script behind the name of an interpreter."""
    first = next(iter(commands_of(command)), [])
    words = [word for word in first[:1] if "/" in word or os.sep in word]
    if len(first) > 1 and is_runner(first[0]) and first[1].endswith(SCRIPTS):
        words.append(first[1])
    for word in words:
        place = placed(root, word)
        expanded = set(word) & EXPANDED or word.startswith("-")
        if not expanded and place.is_relative_to(root) and not _is_there(place):
            yield word


def _all(root: Path, run: Iterable[Path]) -> list[Path]:
    """The files that count, each once, in an order that is always the same."""
    found = [path for path in _below(root, root, OPEN | CLOSED) if not _is_told_apart(root, path)]
    for path in run:
        if not _is_folder(path):
            found.append(path)
            path = path.parent
            if not in_open(root, path):
                found += _below(root, path)
        elif in_open(root, Path(os.path.realpath(path))):
            raise _UnfitError(
                f"a command names all of {_relative(root, path)}/, where files change in every turn"
            )
        else:
            found += _below(root, path)
    return sorted(dict.fromkeys(found))


def _is_told_apart(root: Path, path: Path) -> bool:
    """Whether a file at the top is one that no program is looked for in."""
    return path.parent == root and (path.name in UNTOLD or path.suffix == ".md")


def _below(root: Path, folder: Path, without: frozenset[str] = frozenset()) -> Iterator[Path]:
    """The files below a folder, through links within the home too, `without` some folders at its
    top; one more than may be is enough to see that there are too many."""
    count, seen = 0, set[str]()
    for place, folders, names in os.walk(folder, followlinks=True):
        if place == str(folder):
            folders[:] = [name for name in folders if name not in without]
        links = [name for name in folders if Path(place, name).is_symlink()]
        folders[:] = [
            name
            for name in folders
            if name not in links or _is_to_follow(root, Path(place, name), seen)
        ]
        for name in (*names, *links):
            yield Path(place, name)
            count += 1
            if count > MOST_FILES:
                return


def _is_to_follow(root: Path, link: Path, seen: set[str]) -> bool:
    """Whether what a linked folder holds is still to be looked at. Outside of the home the agent
    writes nothing without a yes."""
    real = Path(os.path.realpath(link))
    if in_open(root, real):
        raise _UnfitError(f"{_relative(root, link)} links to where files change in every turn")
    new = real.is_relative_to(root) and str(real) not in seen
    seen.add(str(real))
    return new and not Path(os.path.realpath(link.parent)).is_relative_to(real)


def _is_there(path: Path) -> bool:
    with suppress(OSError, ValueError):  # a word may be longer than a name can be
        return path.exists()
    return False


def _is_folder(path: Path) -> bool:
    with suppress(OSError, ValueError):
        return path.is_dir()
    return False


def _size(path: Path) -> int:
    with suppress(OSError):
        return path.stat().st_size
    return 0


def _read(path: Path, most: int) -> Held:
    target, data, runs = "", None, False
    flags = os.O_RDONLY
    for wanted in ("O_NONBLOCK", "O_BINARY", "O_CLOEXEC"):
        flags |= getattr(os, wanted, 0)
    with suppress(OSError):
        if path.is_symlink():
            target = str(path.readlink())
        number = os.open(path, flags)
        try:
            mode = os.fstat(number).st_mode
            if stat.S_ISREG(mode):
                with open(number, "rb", closefd=False) as file:
                    data = file.read(most + 1)
                runs = os.name != "nt" and bool(mode & 0o111)
        finally:
            os.close(number)
    if data is not None and len(data) > most:
        raise _UnfitError(TOO_MUCH)
    return Held(data, runs, target)


def _relative(root: Path, path: Path) -> str:
    return path.relative_to(root).as_posix()
