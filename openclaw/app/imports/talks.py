"""Imports conversations. What others may have said in them stays marked as that."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any

from openclaw.app import apart
from openclaw.app.imports.formats import Format
from openclaw.app.imports.sorting import Item
from openclaw.app.imports.source import Source
from openclaw.app.imports.steps import Step
from openclaw.app.provenance import KEY
from openclaw.errors import OpenclawError
from openclaw.files.home import Home
from openclaw.files.text import read_text
from openclaw.safety.fence import fence
from openclaw.safety.vault import Vault
from openclaw.sessions.foreign import IMPORTED, Foreign, home_id, put, read_foreign
from openclaw.sessions.session import NotASession
from openclaw.shapes import Entry, Keep, ToolUse, keep_nothing
from openclaw.tools.masks import disarmed, in_texts


@dataclass(slots=True)
class Talks:
    """Plans and writes conversations. One that is here already is never written again."""

    home: Home
    vault: Vault
    format: Format
    label: str
    now: Callable[[], datetime]
    keep: Keep = keep_nothing
    _planned: dict[str, str] = field(default_factory=dict)
    _titles: dict[str, dict[str, str]] = field(default_factory=dict)

    def plan(self, source: Source, item: Item) -> Step:
        """What is done with a file. OpenclawError when it cannot be read."""
        try:
            found = self._read(source, item)
        except NotASession as error:
            return Step("session", item.path, "", "leave", str(error), item)
        name = home_id(self.format, found.id)
        target = f"sessions/{name}.json"
        if name in self._planned:
            told = f"the same conversation as {self._planned[name]}"
            return Step("session", item.path, target, "known", told, item)
        self._planned[name] = item.path
        if (self.home.root / target).exists():
            told = "" if self._is_same(source, item, target) else "went on since it was imported"
            return Step("session", item.path, target, "leave" if told else "known", told, item)
        told = f"{len(found.session.messages)} messages"
        lost = f"; {found.unread} lines could not be read" if found.unread else ""
        return Step("session", item.path, target, "write", told + lost, item)

    def carry_out(self, source: Source, step: Step) -> Step:
        item = step.item
        found = self._read(source, item)
        session = found.session
        session.id = home_id(self.format, found.id)
        session.messages = [self._entry(entry) for entry in session.messages]
        session.created_at = session.created_at or self._now()
        session.updated_at = session.updated_at or session.created_at
        users = [at for at, entry in enumerate(session.messages) if entry.role == "user"]
        session.extra = {
            IMPORTED: {
                "agent": self.format,
                "id": found.id,
                "path": item.path,
                "sha256": _sha256(source, item),
                "at": self._now(),
            },
            KEY: {f"a conversation of {self.label}": users[-1] if users else 0},
        }
        apart.session(self.vault, session)
        if put(self.home.sessions, session, self.keep):
            return step
        return step.with_result("failed", "the place was taken meanwhile; import again")

    def _read(self, source: Source, item: Item) -> Foreign:
        place = PurePosixPath(item.path)
        found = read_foreign(source.text(item.path), place.stem)
        given = self._given(source, place.parent.as_posix()).get(found.id)
        found.session.title = disarmed(given or found.session.title)
        return found

    def _given(self, source: Source, folder: str) -> dict[str, str]:
        """The names that OpenClaw's sessions.json gives to conversations, by their id."""
        if folder not in self._titles:
            self._titles[folder] = _titles(source, f"{folder}/sessions.json")
        return self._titles[folder]

    def _entry(self, entry: Entry) -> Entry:
        calls = tuple(self._use(use) for use in entry.tool_calls)
        return replace(entry, content=disarmed(entry.content), tool_calls=calls)

    def _use(self, use: ToolUse) -> ToolUse:
        """A call with its result fenced, as that of a tool of ours would be."""
        by = f"{use.tool}, a tool of {self.label}"
        text = fence(disarmed(use.output), by, os.urandom(4).hex())
        return replace(use, input=in_texts(use.input, disarmed), output=text)

    def _is_same(self, source: Source, item: Item, target: str) -> bool:
        """Whether the conversation here was made of this very file."""
        try:
            data = json.loads(read_text(self.home.root / target))
        except (OSError, ValueError, RecursionError):
            return False
        note = data.get(IMPORTED) if isinstance(data, dict) else None
        return isinstance(note, dict) and note.get("sha256") == _sha256(source, item)

    def _now(self) -> str:
        return self.now().isoformat(timespec="milliseconds")


def _titles(source: Source, path: str) -> dict[str, str]:
    found: dict[str, str] = {}
    try:
        data: Any = json.loads(source.text(path)) if source.is_file(path) else {}
    except (OpenclawError, ValueError, RecursionError):
        return found
    for entry in data.values() if isinstance(data, dict) else ():
        if isinstance(entry, dict) and isinstance(entry.get("sessionId"), str):
            names = (entry.get(key) for key in ("label", "displayName", "subject"))
            title = next((name for name in names if isinstance(name, str) and name.strip()), "")
            found[entry["sessionId"]] = " ".join(title.split())
    return found


def _sha256(source: Source, item: Item) -> str:
    return hashlib.sha256(source.held(item.path)).hexdigest()
