"""Which conversation a client means that sends the whole talk and names none."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Sequence
from pathlib import Path

from openclaw.storage.text import read_text, write_text

MOST_TALKS = 2000
_LOCK = threading.Lock()
Talk = Sequence[tuple[str, str]]
"""Role and text of each message."""


class KnownTalks:
    """Which conversation, up to which message, a client has when it has been told a talk; and which
    one a client's own name for a talk leads to. Kept in a file, the newest `MOST_TALKS`."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def find(self, key: str) -> tuple[str, int] | None:
        return self._read().get(key)

    def note(self, session: str, count: int, *keys: str) -> None:
        """Keep that these keys lead to a conversation with so many messages."""
        with _LOCK:
            known = self._read()
            for key in keys:
                known.pop(key, None)
                known[key] = (session, count)
            newest = dict([*known.items()][-MOST_TALKS:])
            write_text(self._file, json.dumps(newest, indent=0) + "\n")

    def _read(self) -> dict[str, tuple[str, int]]:
        try:
            found = json.loads(read_text(self._file))
            return {key: (str(name), int(count)) for key, (name, count) in found.items()}
        except (OSError, ValueError, TypeError, AttributeError):
            return {}  # it can be made again: a talk that is not known is material


def key_of(talk: Talk) -> str:
    """Return the key of a talk: clients may change blanks in what they were told."""
    said = [(role, " ".join(text.split())) for role, text in talk]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()
