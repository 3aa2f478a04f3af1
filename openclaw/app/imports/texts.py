"""Makes of a foreign file the text that the home is given, and finds a free place for it."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from openclaw.app.imports.sorting import Item
from openclaw.app.imports.source import Source
from openclaw.files.home import Home, name_trouble
from openclaw.files.text import decode
from openclaw.memory.foreign import as_list, entries
from openclaw.safety.hidden import hidden, strip
from openclaw.safety.secrets import find
from openclaw.safety.vault import Vault
from openclaw.tools.masks import disarmed

LONGEST_NAME = 180
_NOT_IN_A_NAME = re.compile(r'[\x00-\x1f\x7f<>:"|?*\\]')
_LASTING = ("identity", "memory", "daily", "to-dos")
"""What every prompt may begin with, or a tool gives without a fence: nothing unseen comes in."""


def text_of(source: Source, item: Item) -> str:
    """The text that a file becomes, secrets and all. OpenclawError when it cannot be read."""
    raw = source.text(item.path)
    text = strip(raw) if item.kind in _LASTING else raw
    if item.shape == "log":
        text = _log(text)
    elif item.shape == "entries":
        title = "" if item.kind == "memory" else f"# {item.name.removesuffix('.md').title()}\n\n"
        text = title + as_list(entries(text))
    return disarmed(text)


def notes_on(source: Source, item: Item, text: str) -> list[str]:
    """What the user should know of a text: secrets that are kept apart, what was hidden in it."""
    secrets = len(find(text))
    unseen = len(hidden(source.text(item.path))) if item.kind in _LASTING else 0
    told = [f"{secrets} secret{'s' if secrets > 1 else ''} kept apart"] if secrets else []
    return told + ([f"{unseen} hidden characters taken out"] if unseen else [])


@dataclass(slots=True)
class Places:
    """Which paths of the home are free. What was given out once is taken."""

    home: Home
    vault: Vault
    _taken: set[str] = field(default_factory=set)

    def find(self, path: str, text: str | bytes) -> tuple[str, bool]:
        """A place at this path or one like it, and whether the same text stands there already."""
        wanted = PurePosixPath(path)
        for number in range(1, 10_000):
            stem = wanted.stem if number == 1 else f"{wanted.stem}-{number}"
            place = str(wanted.with_name(f"{stem}{wanted.suffix}"))
            key = unicodedata.normalize("NFC", place).casefold()
            if key in self._taken:
                continue
            before = self.held(place)
            if before is None or self.is_same(before, text):
                self._taken.add(key)
                return place, before is not None
        raise AssertionError("ten thousand files of one name")

    def held(self, path: str) -> bytes | None:
        """What the home has at a path, None for nothing; b"" for what is no file."""
        real = self.home.root / path
        try:
            return real.read_bytes()
        except FileNotFoundError:
            return None
        except OSError:
            return b""

    def is_same(self, before: bytes, text: str | bytes) -> bool:
        """Whether a file holds this, with its secrets in their place again."""
        if isinstance(text, bytes):
            return before == text
        return plain(self.vault.reveal(decode(before))) == plain(text)


def plain(text: str) -> str:
    """A text without what editors change unasked: newlines, blanks at its ends."""
    return text.replace("\r\n", "\n").strip()


def safe_path(path: str) -> str:
    """A path whose parts are names on every system and closed to nobody."""
    return "/".join(_safe_name(part) for part in path.split("/"))


def _safe_name(name: str) -> str:
    shown = name.encode("utf-8", "replace").decode("utf-8")
    bare = _NOT_IN_A_NAME.sub("-", unicodedata.normalize("NFC", shown)).rstrip(" .").lstrip(" ")
    if not bare.strip("-") or bare.startswith(".") or name_trouble(bare, windows=True):
        bare = f"note-{bare.lstrip('.')}"
    if len(bare.encode()) > LONGEST_NAME:
        suffix = PurePosixPath(bare).suffix[:12]
        tail = hashlib.sha256(bare.encode()).hexdigest()[:8]
        head = bare.encode()[: LONGEST_NAME - 30].decode("utf-8", "ignore")
        bare = f"{head}-{tail}{suffix}"
    return bare


def _log(text: str) -> str:
    """nanobot's history.jsonl as a list, one item for each line with `content`."""
    return "# History of a nanobot\n\n" + as_list(_logged(text))


def _logged(text: str) -> Iterator[str]:
    for line in text.splitlines():
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            continue
        content = entry.get("content") if isinstance(entry, dict) else None
        if isinstance(content, str) and content.strip():
            at = str(entry.get("timestamp") or "")[:16].replace("T", " ")
            dated = content.lstrip().startswith("[") or not at
            yield content.strip() if dated else f"[{at}] {content.strip()}"
