"""The log of tool calls: one JSON line a call in .openclaw/logs/actions.jsonl."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from openclaw.errors import OpenclawError
from openclaw.security.secrets import without_secrets
from openclaw.storage.lock import hold_lock
from openclaw.storage.safe_open import (
    appending,
    make_folder,
    open_folder,
    parse_foreign_json,
    read_text,
)
from openclaw.types import CallRecord, local_time

MAX_BYTES = 5_000_000
"""At this size the file is renamed to .1, over the one before, and a new file is begun."""
LONGEST_TARGET = 500
LOCK_SECONDS = 1.0


@dataclass(slots=True)
class Audit:
    """The log of one turn. It never raises: `trouble` says in one line why a write failed."""

    path: Path
    session: str = ""
    turn: int = 0
    mask: Callable[[str], str] = without_secrets
    now: Callable[[], datetime] = local_time
    trouble: str = field(default="", init=False)

    def write(self, call: CallRecord) -> None:
        """Add a line in one write, so that the lines of other processes stay whole."""
        at = self.now().isoformat(timespec="milliseconds")
        line = {"at": at, "session": self.session, "turn": self.turn, **asdict(call)}
        line["seconds"] = round(call.seconds, 3)
        for name in ("target", "by"):
            try:
                line[name] = self.mask(line[name])[:LONGEST_TARGET]
            except Exception as error:  # noqa: BLE001 - masking failed: leave it out
                del line[name]
                self.trouble = f"the record of actions was written without {name}: {error}"
        try:
            self._append(json.dumps(line, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
        except (OSError, OpenclawError) as error:
            self.trouble = f"the record of actions could not be written: {error}"

    def _append(self, data: bytes) -> None:
        make_folder(self.path.parent)
        with suppress(FileNotFoundError):
            if _is_full(self.path):
                self._rotate()
        with appending(self.path, 0o600) as file:
            file.write(data)

    def _rotate(self) -> None:
        """Rename the full file, in one process only. On Windows this fails while another process
        has the file open; a later call repeats it."""
        lock = self.path.with_name(f"{self.path.name}.lock")
        with suppress(OSError, OpenclawError), hold_lock(lock, LOCK_SECONDS):
            if _is_full(self.path):
                with open_folder(self.path.parent) as folder:
                    folder.rename(self.path.name, older_path(self.path).name)


def _is_full(path: Path) -> bool:
    """Return True when the file is large enough, or has a hard link, such as one in a backup, whose
    content must not grow."""
    found = path.lstat()
    return found.st_size >= MAX_BYTES or found.st_nlink > 1


def older_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.1")


def read_actions(path: Path, most: int) -> list[dict[str, Any]]:
    """Return the newest actions, the oldest of them first. Broken lines are left out."""
    found: list[dict[str, Any]] = []
    for each in (path, older_path(path)):
        if len(found) < most:
            found = [*list(_read_lines(each))[-(most - len(found)) :], *found]
    return found


def _read_lines(path: Path) -> Iterator[dict[str, Any]]:
    try:
        text = read_text(path)
    except FileNotFoundError:
        return
    for line in text.split("\n"):  # a call may hold other line ends
        with suppress(ValueError):
            value = parse_foreign_json(line)
            if isinstance(value, dict):
                yield value
