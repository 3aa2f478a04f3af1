"""Import memories: they are added to our own files, and nothing twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date

from openclaw.errors import OpenclawError
from openclaw.frozen import frozen
from openclaw.maintenance.importers.detect import SourceItem
from openclaw.maintenance.importers.source import Source
from openclaw.maintenance.importers.steps import Deed, ImportStep
from openclaw.maintenance.importers.texts import (
    Block,
    Places,
    append_blocks,
    has_more,
    new_blocks,
    new_todos,
    notes_on,
    plain,
    safe_path,
    text_of,
    with_todos,
)
from openclaw.memory.markdown import change_file, read_page
from openclaw.memory.markdown import read_markdown as home_text
from openclaw.security.vault import Vault
from openclaw.storage.home import Home, starter_files
from openclaw.storage.lock import hold_lock
from openclaw.storage.text import decode, encode, write_if_same
from openclaw.types import BeforeWrite, record_no_write

LONGEST_MEMORY = 12_000
"""Characters by which MEMORY.md may grow, which every prompt begins with. More is a file of its own
that is searched. A quarter of it is about the number of tokens."""
LOCK_SECONDS = 5.0


@frozen
class Memories:
    """Plans and writes memories, notes of days and to-dos. `today` stands in the heading."""

    home: Home
    vault: Vault
    places: Places
    label: str
    today: date
    keep: BeforeWrite = record_no_write

    @property
    def heading(self) -> str:
        return f"Imported from {self.label} ({self.today.isoformat()})"

    def plan(self, source: Source, item: SourceItem) -> ImportStep:
        """Plan the import of a file of memories. OpenclawError when it cannot be read."""
        text = text_of(source, item)
        target = _target(item)
        known = self._known(target)
        if item.kind == "to-dos":
            count, what = len(new_todos(text, known)), "to-do"
        else:
            fresh = new_blocks(text, known)
            count, what = len(fresh), "entry" if item.kind == "memory" else "part"
            if why := self._hindrance(item, fresh, known):
                return self._plan_own_file(source, item, text, why)
        if not count:
            empty = "holds none" if not text.strip() else ""
            return ImportStep(item.kind, item.path, target, "known", empty, item)
        told = [_count_new(count, what), *notes_on(source, item, text)]
        return ImportStep(item.kind, item.path, target, "append", "; ".join(told), item)

    def prose(self, source: Source, item: SourceItem) -> SourceItem | None:
        """Return a to-do file's other text as an item, to be kept as a note; None without any."""
        if item.kind != "to-dos" or not has_more(text_of(source, item)):
            return None
        return replace(item, kind="note", name=f"workspace/notes/{item.path}")

    def _hindrance(self, item: SourceItem, fresh: Sequence[Block], known: str) -> str:
        """Return the reason why entries cannot be added to the file, "" when they can."""
        if fresh and read_page(known).open_at is not None:
            return f"{_target(item)} ends inside of code or a comment: close it"
        if item.kind == "memory" and sum(len(one.text) for one in fresh) > LONGEST_MEMORY:
            return "too long for MEMORY.md: searched when needed"
        return ""

    def _plan_own_file(self, source: Source, item: SourceItem, text: str, why: str) -> ImportStep:
        """Plan a file of its own for a memory that cannot be added to ours."""
        of_day = item.name.removesuffix(".md") if item.kind == "daily" else "memory"
        name = f"memory/notes/imported-{of_day}.md"
        place, known = self.places.find(name, text)
        note = replace(item, kind="note", name=name)
        told = [why, *notes_on(source, item, text)]
        deed: Deed = "known" if known else "write"
        return ImportStep("note", item.path, place, deed, "" if known else "; ".join(told), note)

    def carry_out(self, source: Source, step: ImportStep) -> ImportStep:
        """Add what is new to the file in its present state."""
        item = step.item
        text = text_of(source, item)
        left: list[str] = []
        change = self._todos(text, left) if item.kind == "to-dos" else self._blocks(item, text)
        name = "todo.lock" if item.kind == "to-dos" else "notes.lock"
        with hold_lock(self.home.private / "locks" / name, LOCK_SECONDS):
            change_file(self.home.root / step.target, change, self.keep)
        if left:
            return replace(step, detail=f"{step.detail}; not imported, too long: {left[0][:60]}...")
        return step

    def _blocks(self, item: SourceItem, text: str) -> Callable[[str], str]:
        title = "Memory" if item.kind == "memory" else item.name.removesuffix(".md")

        def change(known: str) -> str:
            fresh = new_blocks(text, self.vault.reveal(known))
            masked = [
                replace(one, heading=self.vault.mask(one.heading), text=self.vault.mask(one.text))
                for one in fresh
            ]
            return append_blocks(known or f"# {title}\n", masked, self.heading) if masked else known

        return change

    def _todos(self, text: str, left: list[str]) -> Callable[[str], str]:
        def change(known: str) -> str:
            fresh = new_todos(text, self.vault.reveal(known))
            masked = [replace(one, text=self.vault.mask(one.text)) for one in fresh]
            new, too_long = with_todos(known or "# To-dos\n", masked)
            left[:] = [one.text for one in too_long]
            return new if fresh else known

        return change

    def _known(self, target: str) -> str:
        return self.vault.reveal(home_text(self.home.root / target))


def _target(item: SourceItem) -> str:
    names = {"memory": "MEMORY.md", "to-dos": "TODO.md"}
    return f"memory/{names.get(item.kind, item.name)}"


def _count_new(count: int, what: str) -> str:
    more = f"{what[:-1]}ies" if what.endswith("y") else f"{what}s"
    return f"{count} new {what if count == 1 else more}"


BESIDE = "workspace/imported"
_TELLS_OF_TOOLS = ("AGENTS.md", "TOOLS.md", "HEARTBEAT.md")


@frozen
class Files:
    """Plans and writes files that are taken over whole."""

    home: Home
    vault: Vault
    places: Places
    label: str
    keep: BeforeWrite = record_no_write

    def plan(self, source: Source, item: SourceItem) -> ImportStep:
        """Plan a file's import. OpenclawError when it cannot be read."""
        if item.kind == "file":
            data = source.held(item.path)
            place, known = self.places.find(safe_path(item.name), data)
            return ImportStep("file", item.path, place, "known" if known else "write", "", item)
        text = text_of(source, item)
        if not text.strip():
            return ImportStep(item.kind, item.path, "", "leave", "it is empty", item)
        told = notes_on(source, item, text)
        if item.kind == "identity":
            return self._identity(item, text, told)
        place, known = self.places.find(safe_path(item.name), text)
        return _step(item, place, known, told)

    def _identity(self, item: SourceItem, text: str, told: list[str]) -> ImportStep:
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

    def carry_out(self, source: Source, step: ImportStep) -> ImportStep:
        """Write the file. It stays as it is when somebody has made or changed it meanwhile."""
        item = step.item
        data = source.held(item.path) if item.kind == "file" else self._masked_bytes(source, item)
        before = self.places.held(step.target)
        starters = before is not None and is_starters(item.name, before)
        free = before is None or (item.kind == "identity" and starters)
        path = self.home.root / step.target
        if free and write_if_same(path, before, data, self.keep):
            return step
        return step.with_result("failed", "the place was taken meanwhile; import again")

    def _masked_bytes(self, source: Source, item: SourceItem) -> bytes:
        return encode(self.vault.mask(text_of(source, item)))


def is_starters(name: str, data: bytes) -> bool:
    """Tell whether a workspace file still has the text that a new home begins with."""
    with suppress(OSError, OpenclawError):
        starter = starter_files().get(f"workspace/{name}")
        return starter is not None and plain(decode(starter)) == plain(decode(data))
    return False


def _step(item: SourceItem, place: str, known: bool, told: list[str]) -> ImportStep:
    detail = "" if known else "; ".join(told)
    return ImportStep(item.kind, item.path, place, "known" if known else "write", detail, item)
