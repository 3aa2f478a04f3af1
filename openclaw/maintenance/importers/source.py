"""Read the folder that is imported from, without changing it.

Links are followed only to files of the folder itself. A file with a name typical of credentials is
never opened.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from openclaw.errors import OpenclawError
from openclaw.security.credentials import why_name_denied
from openclaw.storage.home import PROGRAM_FOLDERS
from openclaw.storage.safe_open import decode
from openclaw.storage.text import as_utf8

MAX_BYTES = 10_000_000
DATABASES = (".db", ".sqlite", ".sqlite3")
OUTSIDE = "a link out of the folder, which is not followed"
_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)


@dataclass(slots=True)
class Source:
    """A folder to import from. Paths are relative to it, with slashes. `left` is the
    reason for each path that was found and not taken."""

    root: Path
    left: dict[str, str] = field(default_factory=dict)

    def leave(self, path: str, reason: str) -> None:
        self.left.setdefault(path, reason)

    def is_file(self, path: str) -> bool:
        return os.path.isfile(self.root / path)  # noqa: PTH113 - not for a name of any bytes

    def is_folder(self, path: str) -> bool:
        """Tell whether it is a folder, and no link to one."""
        real = self.root / path
        return os.path.isdir(real) and not os.path.islink(real)  # noqa: PTH112, PTH114 - as above

    def names(self, folder: str = "") -> list[str]:
        """Return the names in a folder, sorted; none for a missing one."""
        try:
            return sorted(os.listdir(self.root / folder))  # noqa: PTH208 - names only
        except FileNotFoundError:
            return []
        except OSError as error:
            self.leave(f"{folder}/", f"cannot be opened: {error.strerror}")
            return []

    def files(self, folder: str = "", *, but: frozenset[str] = frozenset()) -> Iterator[str]:
        """Return the files of a folder and of those below it that may be read, in their order.
        `but` are paths to leave out."""
        if folder and os.path.realpath(self.root / folder) != str(self.root / folder):
            self.leave(folder, "a link, which is not followed")
            return
        waiting = [folder]
        while waiting:
            at = waiting.pop()
            below = []
            for name in self.names(at):
                path = f"{at}/{name}" if at else name
                if name.startswith(".") or name in PROGRAM_FOLDERS or path in but:
                    continue
                if not self.is_folder(path):
                    if self.takes(path):
                        yield path
                elif reason := why_name_denied(path):
                    self.leave(f"{path}/", f"not read: {reason}")
                else:
                    below.append(path)
            waiting += reversed(below)

    def takes(self, path: str) -> bool:
        """Tell whether a file may be read; one that may not is left with its reason."""
        reason = self._reason(path)
        if reason:
            self.leave(path, reason)
        return not reason

    def held(self, path: str) -> bytes:
        """Return a file's bytes. OpenclawError when it cannot be read, or is a link out."""
        real = Path(os.path.realpath(self.root / path))
        if not real.is_relative_to(self.root):
            raise OpenclawError(OUTSIDE)
        try:
            with open(os.open(real, _FLAGS), "rb") as file:  # noqa: PTH123 - of a descriptor
                return file.read(MAX_BYTES + 1)
        except OSError as error:
            raise OpenclawError(f"cannot be read: {error.strerror or error}") from error

    def text(self, path: str) -> str:
        """Return a file as text with plain newlines: UTF-16 by its mark, else UTF-8, else
        Windows-1252 with Latin-1 for the bytes that it does not know. OpenclawError when it is not
        text."""
        return decode_text(self.held(path)).replace("\r\n", "\n").replace("\r", "\n")

    def _reason(self, path: str) -> str:
        real = self.root / path
        try:
            is_link = real.is_symlink()
            target = Path(os.path.realpath(real))
            info = target.stat()
        except (OSError, ValueError) as error:
            return f"cannot be read: {getattr(error, 'strerror', None) or error}"
        if is_link and not target.is_relative_to(self.root):
            return OUTSIDE
        if is_link and stat.S_ISDIR(info.st_mode):
            return "a link to a folder, which is not followed"
        if reason := why_name_denied(path) or why_name_denied(os.path.relpath(target, self.root)):
            return f"not read: {reason}"
        if not stat.S_ISREG(info.st_mode):
            return "no regular file"
        if info.st_size > MAX_BYTES:
            return f"larger than {MAX_BYTES // 1_000_000} MB"
        return "" if os.access(target, os.R_OK) else "cannot be read: no permission"


def decode_text(data: bytes) -> str:
    """Decode bytes in the manner of `HeadFile.text`, newlines as they are."""
    if (text := as_utf8(data)) is None:
        raise OpenclawError("no text: it holds NUL bytes")
    return decode(text)


def find_databases(source: Source) -> Iterator[str]:
    """Return the SQLite files at the top and below agents/ and state/."""
    yield from (n for n in source.names() if n.endswith(DATABASES) and source.is_file(n))
    for folder in ("agents", "state"):
        if source.is_folder(folder):
            below = Source(source.root).files(folder)
            yield from (path for path in below if path.endswith(DATABASES))
