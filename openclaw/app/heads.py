"""The head that a conversation began with, kept until it ends."""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from openclaw.agent import prompt
from openclaw.errors import OpenclawError
from openclaw.files.beneath import read_bytes
from openclaw.files.json_reading import from_json
from openclaw.files.text import md5, write_text
from openclaw.sessions.store import Session


@dataclass(frozen=True, slots=True)
class Heads:
    """Copies of heads by their SHA-256 in a folder that may be deleted at any time."""

    folder: Path

    def head(
        self,
        session: Session,
        sources: Mapping[str, prompt.Source],
        make: Callable[[], tuple[prompt.Part, ...]],
        protocol: str,
    ) -> tuple[tuple[prompt.Part, ...], list[str]]:
        """The head that the session began with, and what has changed in its files since.

        A conversation keeps its head, so that the model's cache of it stays good; an edit is told
        in the tail and folded in by the next conversation or compaction. `make` makes one of the
        files as they are now.
        """
        sums = {source.path: md5(source.text.encode()) for source in sources.values()}
        kept = session.extra.get("head")
        kept = kept if isinstance(kept, dict) else {}
        if session.messages and kept.get("protocol") == protocol:
            old = self.kept(str(kept.get("sha256", "")))
            if old is not None:
                files = kept.get("files")
                told = files if isinstance(files, dict) else {}
                changed = [path for path, value in sums.items() if told.get(path) != value]
                fresh = make() if changed else ()
                notes = [_difference(path, old, fresh) for path in changed]
                session.extra["head"] = {**kept, "files": sums}
                return old, [note for note in notes if note]
        fresh = make()
        key = self._save(fresh)
        session.extra["head"] = {"sha256": key, "protocol": protocol, "files": sums}
        return fresh, []

    def _save(self, parts: Sequence[prompt.Part]) -> str:
        data = json.dumps([[p.name, p.text, p.path, p.cut] for p in parts], ensure_ascii=False)
        key = hashlib.sha256(data.encode()).hexdigest()
        path = self.folder / f"{key}.json"
        if not path.exists():
            with suppress(OSError, OpenclawError):  # without the copy the head is built anew
                write_text(path, data)
        return key

    def kept(self, key: str) -> tuple[prompt.Part, ...] | None:
        """The head of this SHA-256, None when no copy is left."""
        path = self.folder / f"{key}.json"
        try:
            return tuple(prompt.Part(*part) for part in from_json(read_bytes(path)))
        except (OSError, ValueError, TypeError):
            return None


def _difference(path: str, old: Sequence[prompt.Part], new: Sequence[prompt.Part]) -> str:
    """The lines that a file of the head gained and lost, short."""

    def lines(parts: Sequence[prompt.Part]) -> list[str]:
        return [line for part in parts if part.path == path for line in part.text.splitlines()]

    diff = list(difflib.unified_diff(lines(old), lines(new), lineterm="", n=0))[2:]
    kept = [line for line in diff if line[:1] in "+-" and line[1:].strip()]
    return "\n".join((path, *kept[:12])) if kept else ""
