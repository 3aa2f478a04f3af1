"""Import memories, which are added to our own files and nothing twice, and whole files."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date
from pathlib import PurePosixPath

from openclaw.errors import OpenclawError
from openclaw.frozen import frozen
from openclaw.maintenance.importers.source import Source
from openclaw.maintenance.importers.steps import ImportStep, SourceItem, Transfer, trim_lines
from openclaw.memory.entries import break_comment_marks, entries_of
from openclaw.memory.markdown import Page, change_file, is_same_statement, read_markdown, read_page
from openclaw.memory.todos import Todo, add_todos, mark_done, read_task_page, same_list
from openclaw.security.display import count_of
from openclaw.security.masking import disarm_masks
from openclaw.security.secrets import find_secrets
from openclaw.security.untrusted import find_hidden, strip_hidden
from openclaw.storage.home import name_trouble
from openclaw.storage.lock import hold_lock
from openclaw.storage.new_home import starter_files
from openclaw.storage.safe_open import decode, json_or_none
from openclaw.storage.text import encode, without_comments
from openclaw.types import ToolProblem

LONGEST_NAME = 180
_NOT_IN_A_NAME = re.compile(r'[\x00-\x1f\x7f<>:"|?*\\]')
_LASTING = ("identity", "memory", "daily", "to-dos")
"""What every prompt may begin with, or a tool gives without a fence: nothing unseen comes in."""


def text_of(source: Source, item: SourceItem) -> str:
    """Return the text that a file becomes, with its secrets. OpenclawError if unreadable."""
    raw = source.text(item.path)
    text = strip_hidden(raw) if item.kind in _LASTING else raw
    if item.shape == "log":
        text = "# History of a nanobot\n\n" + as_list(_log_entries(text))
    elif item.shape == "entries":
        title = "" if item.kind == "memory" else f"# {item.name.removesuffix('.md').title()}\n\n"
        text = title + as_list(entries(text))
    return disarm_masks(text)


def notes_on(source: Source, item: SourceItem, text: str) -> list[str]:
    """Return what the user should know of a text: secrets kept apart, hidden characters in it."""
    secrets = len(find_secrets(text))
    unseen = len(find_hidden(source.text(item.path))) if item.kind in _LASTING else 0
    told = [f"{count_of(secrets, 'secret')} kept apart"] if secrets else []
    return told + ([f"{unseen} hidden characters taken out"] if unseen else [])


def safe_path(path: str) -> str:
    """Return a path whose parts are valid names on every system and are closed to nobody."""
    return "/".join(_safe_name(part) for part in path.split("/"))


def _safe_name(name: str) -> str:
    shown = name.encode("utf-8", "replace").decode("utf-8")
    bare = _NOT_IN_A_NAME.sub("-", unicodedata.normalize("NFC", shown)).rstrip(" .").lstrip(" ")
    if not bare.strip("-") or bare.startswith(".") or name_trouble(bare, windows=True):
        bare = f"note-{bare.lstrip('.')}"
    if len(bare.encode()) > LONGEST_NAME:
        head = bare.encode()[: LONGEST_NAME - 30].decode("utf-8", "ignore")
        bare = head + PurePosixPath(bare).suffix[:12]
    return bare


def _log_entries(text: str) -> Iterator[str]:
    """The entries of nanobot's history.jsonl: each line with `content`."""
    for line in text.split("\n"):  # a memory may hold other line ends
        entry = json_or_none(line)
        content = entry.get("content") if isinstance(entry, dict) else None
        if isinstance(content, str) and content.strip():
            at = str(entry.get("timestamp") or "")[:16].replace("T", " ")
            dated = content.lstrip().startswith("[") or not at
            yield content.strip() if dated else f"[{at}] {content.strip()}"


SECTION = "\u00a7"
"""Stands alone on a line between two memories of Hermes (hermes-agent, tools/memory_tool.py)."""
_TEMPLATE = frozenset({
    "this file stores important information that should persist across sessions.",
    "(important facts about the user)",
    "(user preferences learned over time)",
    "(information about ongoing projects)",
    "(things to remember)",
    "*this file is automatically updated by nanobot when important information should be "
    "remembered.*",
})  # fmt: skip
"""What nanobot writes into a new MEMORY.md (nanobot/templates/memory/MEMORY.md)."""
_RULE = re.compile(r"\s*(?:[-*_]\s*){3,}")
_TITLE = re.compile(r"(?:[\w.-]+ )?memory|long-?term memory|memory\.md|\d{4}-\d{2}-\d{2}.*", re.I)


@frozen
class Block:
    """Lines that belong together, without a newline at the end, and the heading over them."""

    heading: str
    text: str


def blocks(text: str) -> list[Block]:
    """Return the blocks of a Markdown text, without titles, rules, comments, front matter and the
    sentences of templates."""
    page = read_page(text)
    starts = {section.start: section for section in page.sections if section.level}
    tops = {bullet.at for bullet in page.bullets if bullet.depth == 0}
    found: list[Block] = []
    heading, lines = "", list[str]()
    skip = -1
    for at, raw in enumerate([*page.lines, ""]):
        line = raw.rstrip("\r\n")
        gap = not line.strip() and page.opaque.get(at, at) == at  # outside a block of code
        if at in starts or at in tops or gap:
            _close(found, heading, lines)
        if section := starts.get(at):
            first = section.level == 1 and _TITLE.fullmatch(section.name)
            heading = "" if first else section.name
            skip = at if line.lstrip().startswith("#") else at + 1
        if at > skip and not gap and not _is_matter(page, at):
            lines.append(line)
    return found


def entries(text: str) -> list[str]:
    """The memories of Hermes, each of one or more lines."""
    parts = re.split(rf"(?m)^[ \t]*{SECTION}[ \t]*\r?$", text)
    return [part.strip() for part in parts if part.strip()]


def as_list(memories: Iterable[str]) -> str:
    """Return memories as a Markdown list; further lines of one are indented below its first."""
    return "".join(f"{_as_item(one)}\n" for one in memories)


def new_blocks(text: str, known: str) -> list[Block]:
    """Return the blocks of a text that a file does not hold yet; `known` is the file's text. The
    same line under two headings of the text says two things."""
    have = {"", *(_plain(block.text) for block in blocks(known))}
    facts = [entry.text for entry in entries_of(known)]
    fresh: dict[tuple[str, str], Block] = {}
    for block in blocks(text):
        plain = _plain(block.text)
        item = entries_of(block.text) if "\n" not in block.text else []
        known_fact = item and any(is_same_statement(fact, item[0].text) for fact in facts)
        if not (plain in have or known_fact):
            fresh.setdefault((block.heading, plain), block)
    return [*fresh.values()]


def append_blocks(known: str, fresh: Sequence[Block], heading: str) -> str:
    """Return a file's text with blocks at its end, below `## heading`; their own headings one
    lower.

    A file that already ends with such a part, by the same heading, is continued.
    """
    if not fresh:
        return known
    lines: list[str] = []
    page = read_page(known)
    last = page.sections[-1] if page.sections else None
    if last is None or last.name != heading:
        lines += [f"## {heading}", ""]
    over, in_list = "", False
    for block in fresh:
        if lines and lines[-1] and not (in_list and _is_item(block.text) and block.heading == over):
            lines.append("")
        if block.heading != over:
            over = block.heading
            lines += [f"### {break_comment_marks(over)}", ""]
        in_list = _is_item(block.text)
        lines += block.text.split("\n")
    gap = "" if not known.strip() else "\n" if known.endswith("\n") else "\n\n"
    body = "\n".join(lines) + "\n"
    return known + (gap + body).replace("\n", page.newline if known else "\n")


def new_todos(text: str, known: str) -> list[Todo]:
    """Return the to-dos of a text that no list of `known` has, done or not."""
    have = read_task_page(known).items
    fresh: list[Todo] = []
    for item in read_task_page(text).items:
        alike = (one for one in [*have, *fresh] if same_list(one.list, item.list))
        if not any(is_same_statement(one.text, item.text) for one in alike):
            fresh.append(item)
    return fresh


def has_more(text: str) -> bool:
    """Tell whether a to-do file holds anything but headings and to-dos."""
    page = read_task_page(text)
    tasks = {item.at for item in page.items}
    headings = {section.start for section in page.sections if section.level}
    return any(
        line.strip() and not _is_matter(page, at)
        for at, line in enumerate(page.lines)
        if at not in tasks and at not in headings and not _RULE.fullmatch(line.rstrip("\r\n"))
    )


def _is_matter(page: Page, at: int) -> bool:
    """Tell whether a line is front matter or inside a comment."""
    began = page.opaque.get(at)
    if began is None:
        line = page.lines[at].strip() if at < len(page.lines) else ""
        return line.startswith("<!--") and line.endswith("-->")
    first = page.lines[began].lstrip() if began < len(page.lines) else ""
    return first.startswith("<!--") or (began == 0 and first.rstrip() == "---")


def _close(found: list[Block], heading: str, lines: list[str]) -> None:
    text = "\n".join(lines)
    rule = len(lines) == 1 and _RULE.fullmatch(text)
    if text.strip() and not rule and text.strip().casefold() not in _TEMPLATE:
        found.append(Block(heading, text))
    lines.clear()


def _is_item(line: str) -> bool:
    return re.match(r"\s*(?:[-*+]|\d{1,9}[.)])\s", line) is not None


def _as_item(text: str) -> str:
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    if _is_item(lines[0]):
        return "\n".join(lines)
    return "\n".join(f"  {line}" if n else f"- {line}" for n, line in enumerate(lines))


def _plain(text: str) -> str:
    return " ".join(without_comments(text).split()).casefold().lstrip("-*+ ")


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
    known = to.masker.reveal(read_markdown(to.home.root / target))
    notes = notes_on(to.source, item, text)
    if item.kind == "to-dos":
        count = len(new_todos(text, known))
        what = count_of(count, "new to-do")
    else:
        fresh = new_blocks(text, known)
        if why := _hindrance(item, fresh, known):
            of_day = item.name.removesuffix(".md") if item.kind == "daily" else "memory"
            note = replace(item, kind="note", name=f"memory/notes/imported-{of_day}.md")
            return _plan_at(to, note, note.name, text, [why, *notes])
        count = len(fresh)
        what = f"{count} new entr{'y' if count == 1 else 'ies'}"
    if not count:
        return item.step("known", target, "" if text.strip() else "holds none")
    return item.step("append", target, "; ".join([what, *notes]))


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


def add_memory(to: Transfer, step: ImportStep) -> ImportStep:
    """Add what is new to the file in its present state."""
    item = step.item
    text = text_of(to.source, item)
    left: list[str] = []

    def change(known: str) -> str:
        if item.kind != "to-dos":
            return _with_blocks(to, item, text, known)
        left.clear()
        return _with_todos(to, text, known, left)

    name = "todo.lock" if item.kind == "to-dos" else "notes.lock"
    with hold_lock(to.home.private / "locks" / name, LOCK_SECONDS):
        change_file(to.home.root / step.target, change, to.recorder.keep)
    if left:
        return replace(step, detail=f"{step.detail}; not imported, too long: {left[0][:60]}...")
    return step


def _with_blocks(to: Transfer, item: SourceItem, text: str, known: str) -> str:
    title = "Memory" if item.kind == "memory" else item.name.removesuffix(".md")
    masked = [
        Block(to.masker.mask(one.heading), to.masker.mask(one.text))
        for one in new_blocks(text, to.masker.reveal(known))
    ]
    heading = f"Imported from {to.label} ({date.today().isoformat()})"
    return append_blocks(known or f"# {title}\n", masked, heading) if masked else known


def _with_todos(to: Transfer, text: str, known: str, left: list[str]) -> str:
    """`left` gets those that are too long."""
    new = known
    for item in new_todos(text, to.masker.reveal(known)):
        words = to.masker.mask(item.text)
        try:
            new, ids = add_todos(new or "# To-dos\n", item.list, [words])
        except ToolProblem:
            left.append(words)
            continue
        new = mark_done(new, ids[0], done=True) if item.done else new
    return new


def _target(item: SourceItem) -> str:
    names = {"memory": "MEMORY.md", "to-dos": "TODO.md"}
    return f"memory/{names.get(item.kind, item.name)}"


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
        data = encode(to.masker.mask(text_of(to.source, item)))
    before = to.held(step.target)
    if before is not None and not (item.kind == "identity" and is_starters(item.name, before)):
        return step.as_taken()
    return to.write(step, before, data)


def is_starters(name: str, data: bytes) -> bool:
    """Tell whether a workspace file still has the text that a new home begins with."""
    with suppress(OSError, OpenclawError):
        starter = starter_files().get(f"workspace/{name}")
        return starter is not None and trim_lines(decode(starter)) == trim_lines(decode(data))
    return False
