"""What an import does with each thing of its source, and the home that it writes to."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Literal, get_args

from openclaw.frozen import frozen
from openclaw.maintenance.importers.source import Source
from openclaw.security.masking import Masker
from openclaw.storage.home import Home
from openclaw.storage.safe_open import decode
from openclaw.storage.text import write_if_same
from openclaw.types import UNRECORDED, Recorder

Format = Literal["openclaw", "nanobot", "hermes", "notes"]
FORMATS: tuple[Format, ...] = get_args(Format)
LABELS: dict[Format, str] = {
    "openclaw": "OpenClaw",
    "nanobot": "nanobot",
    "hermes": "Hermes",
    "notes": "a folder of notes",
}
Kind = Literal[
    "identity", "memory", "daily", "to-dos", "note", "file", "skills", "skill", "session", ""
]
"""What an item is; "" for what is left out."""
Deed = Literal["write", "append", "install", "hold", "known", "leave", "failed"]
DOES: tuple[Deed, ...] = ("write", "append", "install", "hold")
"""The deeds that change the home; the others say why nothing is done."""


@frozen
class SourceItem:
    """A file, or folder of skills, of the source with its kind.

    `name`: its name in the home: that of an identity file or of a day, or a note's path below its
    folder.
    `shape`: the conversion of its text: "entries" for Hermes' memories, "log" for nanobot's
    history.jsonl.
    """

    kind: Kind
    path: str
    name: str = ""
    shape: Literal["", "entries", "log"] = ""

    def step(self, deed: Deed, target: str = "", detail: str = "") -> ImportStep:
        return ImportStep(self, deed, target, detail)


@frozen
class ImportStep:
    """What is done with one item of the source.

    `deed`: "write" a new file, "append" to one, "install" a skill, "hold" it until the user has
    looked at it, "known" when all of it is there already, "leave" what is not imported, "failed"
    what could not be done.
    `target`: the path in the home, "" when it goes nowhere.
    `detail`: why or how much.
    """

    item: SourceItem
    deed: Deed
    target: str = ""
    detail: str = ""

    def as_taken(self) -> ImportStep:
        """The failure of a step whose target somebody else has written by now."""
        return self.item.step("failed", self.target, "the place was taken meanwhile; import again")


@dataclass(slots=True)
class Transfer:
    """An import from one source into one home.

    `planned`: for each path that was given out, conversation and skill the item that gets it.
    `titles`: for each folder of conversations their titles by id.
    """

    source: Source
    home: Home
    format: Format
    recorder: Recorder = UNRECORDED
    planned: dict[str, str] = field(default_factory=dict)
    titles: dict[str, dict[str, str]] = field(default_factory=dict)
    masker: Masker = field(init=False)

    def __post_init__(self) -> None:
        self.masker = Masker(self.home.private / "secrets.json")

    @property
    def label(self) -> str:
        """The name of the program that the source belongs to."""
        return LABELS[self.format]

    def find_place(self, path: str, text: str | bytes) -> tuple[str, bool]:
        """Find a free place at this path or one like it; tell whether the same text stands there
        already."""
        wanted = PurePosixPath(path)
        for number in range(1, 10_000):
            stem = wanted.stem if number == 1 else f"{wanted.stem}-{number}"
            place = str(wanted.with_name(f"{stem}{wanted.suffix}"))
            key = unicodedata.normalize("NFC", place).casefold()
            if key in self.planned:
                continue
            before = self.held(place)
            if before is None or self.is_same(before, text):
                self.planned[key] = path
                return place, before is not None
        raise AssertionError("ten thousand files of one name")

    def held(self, path: str) -> bytes | None:
        """Return what the home has at a path, None for nothing; b"" for what is not a file."""
        try:
            return (self.home.root / path).read_bytes()
        except FileNotFoundError:
            return None
        except OSError:
            return b""

    def is_same(self, before: bytes, text: str | bytes) -> bool:
        """Tell whether a file holds this, with its secrets put back in place."""
        if isinstance(text, bytes):
            return before == text
        return trim_lines(self.masker.reveal(decode(before))) == trim_lines(text)

    def write(self, step: ImportStep, before: bytes | None, data: bytes) -> ImportStep:
        """Write the target as long as it holds `before`."""
        if write_if_same(self.home.root / step.target, before, data, self.recorder.keep):
            return step
        return step.as_taken()


def trim_lines(text: str) -> str:
    """A text without what editors change unasked: newlines, blanks at its ends."""
    return text.replace("\r\n", "\n").strip()
