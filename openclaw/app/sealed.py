"""Runs programs of a home from copies that nobody else can write.

What is executed are the bytes that are in the hash (`openclaw.app.programs`), not what lies in the
home a moment later. The copies lie in a folder of the home's shape, where `workspace/`, `memory/`
and the like lead to the real ones: relative paths work as in the home, and nothing that somebody
has just put into it is found there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from openclaw.app.command_words import meanings, users_home, words_of
from openclaw.app.programs import OPEN, UNTOLD, Held, in_open
from openclaw.files.scratch import link_folder, scratch

_LINKED = frozenset((name,) for name in OPEN)
_VARIABLES = ("$OPENCLAW_HOME", "${OPENCLAW_HOME}", "$PWD", "${PWD}")


class UnsealedError(ValueError):
    """A command reaches a program of the home in a way that leads past its copy."""


@dataclass(frozen=True, slots=True)
class Sealed:
    """Copies of a home's files. `folder` is the one to run in, `apart` holds those of the folders
    that lead to the real ones."""

    root: Path
    folder: Path
    apart: Path
    names: frozenset[str]

    def command(self, command: str | Sequence[str]) -> str | tuple[str, ...]:
        """The command with the copies in the place of what it names. Raises UnsealedError."""
        found: str | tuple[str, ...] = (
            self.text(command) if isinstance(command, str) else tuple(map(self.text, command))
        )
        for word in words_of(found):
            for text in meanings(self.root, word):
                if self._leads_past(text):
                    raise UnsealedError(f"{text} has to be written as a path from the home")
        return found

    def text(self, text: str) -> str:
        """A word or a line with the copies in the place of what it names."""
        near, far = set[str](), set[str]()
        for name in self.names:
            first, _, rest = name.partition("/")
            far.add(first)
            if first in OPEN:
                far.remove(first)
                far |= (inner := {name, *_folders_above(name)})
                near |= inner
            elif rest or "." in name:  # other words may be anything
                near.add(name)
        roots = _any_of(_spelled(self.root), text)
        pattern = re.compile(
            rf"""(?:(?:{roots})(?P<quote>["']?)/(?:\./)*(?P<far>{_any_of(far, text)})"""
            rf"""|(?<![\w./~$}}\-])(?:\./)*(?P<near>{_any_of(near, text)}))(?![\w-]|\.\w)"""
        )
        return pattern.sub(self._copy_of, text)

    def place(self, name: str) -> Path:
        """Where the copy of a file or folder of the home is."""
        return self._base(name) / name

    def within(self, folder: Path) -> Path:
        """The copy of a folder below the home; any other as it is."""
        real = Path(os.path.realpath(folder))
        if in_open(self.root, real) or not real.is_relative_to(self.root):
            return folder
        return self.place(real.relative_to(self.root).as_posix())

    def _base(self, name: str) -> Path:
        return self.apart if name.partition("/")[0] in OPEN else self.folder

    def _copy_of(self, found: re.Match[str]) -> str:
        name = found["far"] or found["near"]
        return f"{self._base(name)}{found['quote'] or ''}/{name}"

    def _leads_past(self, text: str) -> bool:
        """Whether a path leads to a file of the home of which there is a copy."""
        path = Path(text)
        if not path.is_absolute() and ".." not in path.parts and path.parts[:1] not in _LINKED:
            return False
        place = Path(os.path.normpath(self.root / path))
        return place.is_relative_to(self.root) and (
            place.relative_to(self.root).as_posix() in self.names
        )


@contextmanager
def sealed(root: Path, held: Mapping[str, Held]) -> Iterator[Sealed]:
    """Write the copies; they are gone in the end. Raises OSError."""
    with scratch(root) as top:
        found = Sealed(root, top / "home", top / "apart", frozenset(held))
        found.folder.mkdir()
        for name, each in held.items():
            _write(found.place(name), each, root / name, root)
        for path in _open(root):
            link = found.folder / path.name
            with suppress(OSError):  # a file cannot be linked everywhere
                if path.is_dir():
                    link_folder(link, path)
                elif not link.exists():
                    link.symlink_to(path)
        yield found


def _write(copy: Path, held: Held, path: Path, root: Path) -> None:
    if held.data is None:
        # A link to a folder. What it holds is here already when it lies in the home.
        real = Path(os.path.realpath(path.parent / held.target))
        if held.target and real.is_dir() and not real.is_relative_to(root):
            copy.parent.mkdir(parents=True, exist_ok=True)
            link_folder(copy, real)
        return
    copy.parent.mkdir(parents=True, exist_ok=True)
    copy.write_bytes(held.data)
    copy.chmod(0o700 if held.runs else 0o600)


def _open(root: Path) -> Iterator[Path]:
    """What of the home a program works with: not what it could take code from."""
    with suppress(OSError):
        for path in root.iterdir():
            if path.name in OPEN or path.name == ".openclaw" or _is_text(path):
                yield path


def _is_text(path: Path) -> bool:
    return path.name in UNTOLD or path.suffix == ".md"


def _folders_above(name: str) -> Iterator[str]:
    """The folders that hold a file and lie below one of those at the top."""
    while name.count("/") > 1:
        name = name.rpartition("/")[0]
        yield name


def _spelled(root: Path) -> set[str]:
    """How a command may write where the home is."""
    found = {str(root), root.as_posix(), *_VARIABLES}
    with suppress(ValueError):
        below = root.relative_to(os.path.realpath(users_home())).as_posix()
        found |= {f"{user}/{below}" for user in ("~", "$HOME", "${HOME}", users_home())}
    return found


def _any_of(names: set[str], text: str) -> str:
    """A pattern for those of the names that occur in a text."""
    found = sorted((name for name in names if name in text), key=len, reverse=True)
    return "|".join(map(re.escape, found)) or r"(?!)"
