"""Import memories, which are added to our own files and nothing twice, and whole files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from openclaw.errors import OpenclawError
from openclaw.maintenance.importers.steps import ImportStep, SourceItem, Transfer, plain
from openclaw.maintenance.importers.texts import (
    Block,
    append_blocks,
    has_more,
    new_blocks,
    new_todos,
    notes_on,
    safe_path,
    text_of,
    with_todos,
)
from openclaw.memory.markdown import change_file, read_markdown, read_page
from openclaw.storage.home import starter_files
from openclaw.storage.lock import hold_lock
from openclaw.storage.text import decode, encode

LONGEST_MEMORY = 12_000
"""Characters by which MEMORY.md may grow, which every prompt begins with. More is a file of its own
that is searched. A quarter of it is about the number of tokens."""
LOCK_SECONDS = 5.0
BESIDE = "workspace/imported"
_TELLS_OF_TOOLS = ("AGENTS.md", "TOOLS.md", "HEARTBEAT.md")


def plan_memory(to: Transfer, item: SourceItem) -> ImportStep:
    """Plan the import of a file of memories, of a day or of to-dos. OpenclawError when it cannot be
    read."""
    text = text_of(to.source, item)
    target = _target(item)
    known = to.vault.reveal(read_markdown(to.home.root / target))
    if item.kind == "to-dos":
        count, what = len(new_todos(text, known)), "to-do"
    else:
        fresh = new_blocks(text, known)
        count, what = len(fresh), "entry" if item.kind == "memory" else "part"
        if why := _hindrance(item, fresh, known):
            return _plan_own_file(to, item, text, why)
    if not count:
        return item.step("known", target, "" if text.strip() else "holds none")
    told = [_count_new(count, what), *notes_on(to.source, item, text)]
    return item.step("append", target, "; ".join(told))


def find_prose(to: Transfer, item: SourceItem) -> SourceItem | None:
    """Return a to-do file's other text as an item, to be kept as a note; None without any."""
    if item.kind != "to-dos" or not has_more(text_of(to.source, item)):
        return None
    return replace(item, kind="note", name=f"workspace/notes/{item.path}")


def _hindrance(item: SourceItem, fresh: Sequence[Block], known: str) -> str:
    """Return the reason why entries cannot be added to the file, "" when they can."""
    if fresh and read_page(known).open_at is not None:
        return f"{_target(item)} ends inside of code or a comment: close it"
    if item.kind == "memory" and sum(len(one.text) for one in fresh) > LONGEST_MEMORY:
        return "too long for MEMORY.md: searched when needed"
    return ""


def _plan_own_file(to: Transfer, item: SourceItem, text: str, why: str) -> ImportStep:
    """Plan a file of its own for a memory that cannot be added to ours."""
    of_day = item.name.removesuffix(".md") if item.kind == "daily" else "memory"
    note = replace(item, kind="note", name=f"memory/notes/imported-{of_day}.md")
    return _plan_at(to, note, note.name, text, [why, *notes_on(to.source, item, text)])


def add_memory(to: Transfer, step: ImportStep) -> ImportStep:
    """Add what is new to the file in its present state."""
    item = step.item
    text = text_of(to.source, item)
    left: list[str] = []
    change = _add_todos(to, text, left) if item.kind == "to-dos" else _add_blocks(to, item, text)
    name = "todo.lock" if item.kind == "to-dos" else "notes.lock"
    with hold_lock(to.home.private / "locks" / name, LOCK_SECONDS):
        change_file(to.home.root / step.target, change, to.recorder.keep)
    if left:
        return replace(step, detail=f"{step.detail}; not imported, too long: {left[0][:60]}...")
    return step


def _add_blocks(to: Transfer, item: SourceItem, text: str) -> Callable[[str], str]:
    title = "Memory" if item.kind == "memory" else item.name.removesuffix(".md")
    heading = f"Imported from {to.label} ({to.now().date().isoformat()})"

    def change(known: str) -> str:
        masked = [
            Block(to.vault.mask(one.heading), to.vault.mask(one.text))
            for one in new_blocks(text, to.vault.reveal(known))
        ]
        return append_blocks(known or f"# {title}\n", masked, heading) if masked else known

    return change


def _add_todos(to: Transfer, text: str, left: list[str]) -> Callable[[str], str]:
    def change(known: str) -> str:
        fresh = new_todos(text, to.vault.reveal(known))
        masked = [replace(one, text=to.vault.mask(one.text)) for one in fresh]
        new, too_long = with_todos(known or "# To-dos\n", masked)
        left[:] = [one.text for one in too_long]
        return new if fresh else known

    return change


def _target(item: SourceItem) -> str:
    names = {"memory": "MEMORY.md", "to-dos": "TODO.md"}
    return f"memory/{names.get(item.kind, item.name)}"


def _count_new(count: int, what: str) -> str:
    more = f"{what[:-1]}ies" if what.endswith("y") else f"{what}s"
    return f"{count} new {what if count == 1 else more}"


# -------- files that are taken over whole


def plan_file(to: Transfer, item: SourceItem) -> ImportStep:
    """Plan a file's import. OpenclawError when it cannot be read."""
    if item.kind == "file":
        return _plan_at(to, item, safe_path(item.name), to.source.held(item.path), [])
    text = text_of(to.source, item)
    if not text.strip():
        return item.step("leave", detail="it is empty")
    told = notes_on(to.source, item, text)
    if item.kind != "identity":
        return _plan_at(to, item, safe_path(item.name), text, told)
    own = f"workspace/{item.name}"
    before = to.held(own)
    if item.name in _TELLS_OF_TOOLS:
        told = [f"written for the tools of {to.label}: look through it", *told]
    if before is None or is_starters(item.name, before):
        return item.step("write", own, "; ".join(told))
    if to.is_same(before, text):
        return item.step("known", own)
    told = [f"beside {own}, which stays as it is", *told]
    return _plan_at(to, item, f"{BESIDE}/{item.name}", text, told)


def _plan_at(
    to: Transfer, item: SourceItem, path: str, text: str | bytes, told: Sequence[str]
) -> ImportStep:
    """Plan a file at this path, or at one like it that is free."""
    place, is_known = to.find_place(path, text)
    return item.step("known", place) if is_known else item.step("write", place, "; ".join(told))


def write_file(to: Transfer, step: ImportStep) -> ImportStep:
    """Write the file. It stays as it is when somebody has made or changed it meanwhile."""
    item = step.item
    if item.kind == "file":
        data = to.source.held(item.path)
    else:
        data = encode(to.vault.mask(text_of(to.source, item)))
    before = to.held(step.target)
    if before is not None and not (item.kind == "identity" and is_starters(item.name, before)):
        return step.as_taken()
    return to.write(step, before, data)


def is_starters(name: str, data: bytes) -> bool:
    """Tell whether a workspace file still has the text that a new home begins with."""
    with suppress(OSError, OpenclawError):
        starter = starter_files().get(f"workspace/{name}")
        return starter is not None and plain(decode(starter)) == plain(decode(data))
    return False
