"""Imports identity files, notes and what lies beside them: each goes to a place of its own."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from openclaw.app.imports.sorting import Item
from openclaw.app.imports.source import Source
from openclaw.app.imports.steps import Step
from openclaw.app.imports.texts import Places, notes_on, plain, safe_path, text_of
from openclaw.errors import OpenclawError
from openclaw.files.home import Home
from openclaw.files.starter import starter_files
from openclaw.files.text import decode, encode, write_if_same
from openclaw.safety.vault import Vault
from openclaw.shapes import Keep, keep_nothing

BESIDE = "workspace/imported"
_TELLS_OF_TOOLS = ("AGENTS.md", "TOOLS.md", "HEARTBEAT.md")


@dataclass(frozen=True, slots=True)
class Files:
    """Plans and writes files that are taken over as a whole."""

    home: Home
    vault: Vault
    places: Places
    label: str
    keep: Keep = keep_nothing

    def plan(self, source: Source, item: Item) -> Step:
        """What is done with a file. OpenclawError when it cannot be read."""
        if item.kind == "file":
            data = source.held(item.path)
            place, known = self.places.find(safe_path(item.name), data)
            return Step("file", item.path, place, "known" if known else "write", "", item)
        text = text_of(source, item)
        if not text.strip():
            return Step(item.kind, item.path, "", "leave", "it is empty", item)
        told = notes_on(source, item, text)
        if item.kind == "identity":
            return self._identity(item, text, told)
        place, known = self.places.find(safe_path(item.name), text)
        return _step(item, place, known, told)

    def _identity(self, item: Item, text: str, told: list[str]) -> Step:
        own = f"workspace/{item.name}"
        before = self.places.held(own)
        if item.name in _TELLS_OF_TOOLS:
            told = [f"written for the tools of {self.label}: look through it", *told]
        if before is None or is_starters(item.name, before):
            return _step(item, own, False, told)
        if self.places.is_same(before, text):
            return _step(item, own, True, told)
        place, known = self.places.find(f"{BESIDE}/{item.name}", text)
        return _step(item, place, known, [f"beside {own}, which stays as it is", *told])

    def carry_out(self, source: Source, step: Step) -> Step:
        """Write the file. It stays as it is when somebody has made or changed it meanwhile."""
        item = step.item
        data = source.held(item.path) if item.kind == "file" else self._masked(source, item)
        before = self.places.held(step.target)
        starters = before is not None and is_starters(item.name, before)
        free = before is None or (item.kind == "identity" and starters)
        path = self.home.root / step.target
        if free and write_if_same(path, before, data, self.keep):
            return step
        return step.with_result("failed", "the place was taken meanwhile; import again")

    def _masked(self, source: Source, item: Item) -> bytes:
        return encode(self.vault.mask(text_of(source, item)))


def is_starters(name: str, data: bytes) -> bool:
    """Whether a file of the workspace still has the text that a new home begins with."""
    with suppress(OSError, OpenclawError):
        starter = starter_files().get(f"workspace/{name}")
        return starter is not None and plain(decode(starter)) == plain(decode(data))
    return False


def _step(item: Item, place: str, known: bool, told: list[str]) -> Step:
    detail = "" if known else "; ".join(told)
    return Step(item.kind, item.path, place, "known" if known else "write", detail, item)
