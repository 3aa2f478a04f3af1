"""To-dos in a Markdown file: task lists under one heading per list.

A line is `- [ ] text ^1a2b3c4d`; an id that is missing is written with the next change. Every byte
that is not a task line stays as it is.
"""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any

from openclaw.errors import UsageError
from openclaw.frozen import frozen
from openclaw.memory.markdown import (
    DEFAULT_LIST,
    Page,
    Section,
    block_end,
    change_file,
    end_line,
    find_by_text,
    first_item_line,
    heading_lines,
    indent_width,
    insert_block,
    is_same_statement,
    next_bullet,
    read_markdown,
    read_page,
    shift_line,
)
from openclaw.nlp.dates import read_leading_day
from openclaw.storage.home import Home
from openclaw.storage.lock import hold_lock
from openclaw.storage.text import join_surrogates
from openclaw.types import BeforeWrite, ToolProblem, record_no_write

LOCK_SECONDS = 10.0
_TASK = re.compile(r"\[(?P<mark>[ xX])\][ \t]+(?P<text>\S.*)")
_ID = re.compile(r"(?:^|(?<![ \t])[ \t]+)\^(?P<id>[A-Za-z0-9-]+)$")
DUE = (
    r"(?<![\w:-])(?:(?P<opens>\(due:? ?|@due\()|due:|\U0001f4c5\ufe0f? ?)"
    r"(?P<due>\d{4}-\d{2}-\d{2})(?![\w-])(?(opens)\))"
)
"""The date of a to-do: `due:2026-12-01`, or as other programs and people write it: "(due
2026-12-01)", "@due(2026-12-01)" (TaskPaper), "\U0001f4c5 2026-12-01" (Obsidian Tasks)."""
_DUE = re.compile(DUE)
_BOX = re.compile(r"^(?:[-*]\s+)?\[[ xX]\]\s*")


@frozen
class Todo:
    """A task line.

    at: index of the line in the page
    indent: in columns
    text: as written, with `due:...` and without the id
    given: the id stands in the text; else it is computed, and is the same while the text is
    """

    at: int
    indent: int
    bullet: str
    done: bool
    text: str
    id: str
    given: bool
    list: str

    @property
    def line(self) -> int:
        """The number of its line, from 1."""
        return self.at + 1

    @property
    def due(self) -> str | None:
        """Its date, None without one or for no real date."""
        return due_of(self.text)


@dataclass(slots=True)
class TaskPage(Page):
    """A page with its task lines."""

    items: list[Todo] = field(default_factory=list)

    def items_of(self, section: Section) -> list[Todo]:
        return [item for item in self.items if section.start <= item.at < section.end]


def read_task_page(text: str) -> TaskPage:
    """Find the task lines and sections of a Markdown text."""
    page = read_page(text)
    tasks = [
        (bullet, box)
        for bullet in page.bullets
        if (box := _TASK.match(page.lines[bullet.at].rstrip(" \t\r\n"), bullet.start))
    ]
    taken = {found["id"].casefold() for _, box in tasks if (found := _ID.search(box["text"]))}
    items, used = [], set()
    starts = [section.start for section in page.sections]
    made: Counter[tuple[str, str]] = Counter()
    for bullet, box in tasks:
        name = join_surrogates(page.sections[bisect_right(starts, bullet.at) - 1].name)
        found = _ID.search(box["text"])
        given = found is not None and found["id"].casefold() not in used
        text = join_surrogates(box["text"][: found.start()] if found else box["text"])
        if found and given:
            ident = found["id"]
        else:
            ident = new_id(name, text, taken, made[name, text])
            made[name, text] += 1
        used.add(ident.casefold())
        taken.add(ident)
        done = box["mark"] != " "
        items.append(Todo(bullet.at, bullet.indent, bullet.mark, done, text, ident, given, name))
    return TaskPage(page.lines, page.bullets, page.sections, page.opaque, page.open_at, items)


def new_id(list_name: str, text: str, taken: set[str], had: int = 0) -> str:
    """Compute an id of eight hex digits from list and text that is not among `taken`.

    `had` counts the ids of the same text in `taken`; so many tries are skipped.
    """
    for count in range(had, had + len(taken) + 1):
        seed = f"{list_name}\n{text}\n{count}".encode("utf-8", "surrogatepass")
        ident = hashlib.md5(seed, usedforsecurity=False).hexdigest()[:8]
        if ident not in taken:
            return ident
    raise AssertionError("more ids than to-dos")


def due_of(text: str) -> str | None:
    """The date of a to-do's text as in `DUE`, None without one or for no real date."""
    found = _DUE.search(text)
    if found is None:
        return None
    try:
        return date.fromisoformat(found["due"]).isoformat()
    except ValueError:
        return None


def without_due(text: str) -> str:
    """A to-do's text without the date that `due_of` finds."""
    return _DUE.sub("", text, count=1).strip() if due_of(text) else text


def write_ids(page: TaskPage) -> None:
    for item in page.items:
        if not item.given:
            line = page.lines[item.at]
            bare = line.rstrip(" \t\r\n")
            page.lines[item.at] = f"{_ID.sub('', bare)} ^{item.id}{line[len(bare) :]}"


def is_overdue(todo: Todo, today: date) -> bool:
    """Return True when a to-do is open and its day is over."""
    return not todo.done and todo.due is not None and todo.due < today.isoformat()


def parse_todos(text: str) -> list[Todo]:
    return list(_parse(text).items)


def match_todos(text: str, items: Sequence[Todo]) -> list[Todo]:
    """The to-dos that a few words mean: that id, else that text, else all words in the text.

    A misspelt text means none: `call Mario` must not tick off `call Maria`."""
    wanted = " ".join(text.split())
    ident = wanted.rpartition("^")[2].strip("() ").casefold()
    by_id = [todo for todo in items if todo.id.casefold() == ident]
    if by_id:
        return by_id[:1]
    return find_by_text(_BOX.sub("", wanted).partition(" ^")[0], items)


@frozen
class Todos:
    """All to-dos at one moment, and the names of their lists."""

    items: Sequence[Todo] = ()
    lists: Sequence[str] = ()

    def open_texts(self) -> list[str]:
        return [todo.text for todo in self.items if not todo.done]

    def due(self, today: date) -> list[str]:
        """Return the texts of the open to-dos that are due on this day or were due before."""
        open_todos = (todo for todo in self.items if not todo.done and todo.due)
        return [todo.text for todo in open_todos if str(todo.due) <= today.isoformat()]


def todo_file(home: Home) -> TodoFile:
    return TodoFile(home.memory / "TODO.md")


@lru_cache(maxsize=2)  # a turn with tools asks several times
def _parse(text: str) -> Todos:
    page = read_task_page(text)
    return Todos(tuple(page.items), tuple(list_names(page)))


class TodoFile:
    """The to-do file of a home. A missing file is an empty one; the first to-do makes it. `keep` is
    called before each change.

    Changes are made under a lock; OpenclawError when it stays held or the file cannot be written.
    """

    def __init__(self, path: Path, today: Callable[[], date] = date.today) -> None:
        self.path = path
        self._today = today
        self.lock_seconds = LOCK_SECONDS
        self.keep: BeforeWrite = record_no_write
        self.mask: Callable[[str], str] = str
        self._lock = path.parent.parent / ".openclaw" / "locks" / "todo.lock"

    def read(self) -> Todos:
        """Return the to-dos and the lists. Raises OSError when the file cannot be read."""
        return _parse(read_markdown(self.path))

    def items(self) -> list[Todo]:
        return list(self.read().items)

    def lists(self) -> list[str]:
        return list(self.read().lists)

    def find(self, text: str) -> list[Todo]:
        """The to-dos that an id, a text or some of its words mean; see `match_todos`."""
        return match_todos(text, self.items())

    def find_one(self, text: str, done: bool | None = None) -> Todo:
        """Return the one to-do that an id or a text means, of several the one whose state is not
        `done`. UsageError for none and for several."""
        found = self.find(text)
        if len(found) > 1:
            found = [todo for todo in found if todo.done != done] or found
        if not found:
            raise UsageError(f"there is no to-do {text}", "see them all: openclaw todo list --all")
        if len(found) > 1:
            ids = "\n".join(f"{todo.id}  {todo.text} ({todo.list})" for todo in found)
            raise UsageError(f"{text} fits {len(found)} to-dos", f"give the id:\n{ids}")
        return found[0]

    def as_json(self, todos: Sequence[Todo]) -> list[dict[str, Any]]:
        """Return to-dos of this file for programs."""
        today = self._today()
        return [
            {
                "id": todo.id,
                "list": todo.list,
                "text": todo.text,
                "done": todo.done,
                "due": todo.due,
                "overdue": is_overdue(todo, today),
                "path": "memory/TODO.md",
                "line": todo.line,
            }
            for todo in todos
        ]

    def add(self, list_name: str, texts: Sequence[str]) -> list[Todo]:
        """Add to-dos to a list ("" is the default one); returns them as they now stand.

        `due:tomorrow` or `due:next friday` in a text becomes an ISO date. Raises ToolProblem for a
        `due:` that is no date and for a text that is empty or too long.
        """
        ids: list[str] = []
        dated = [self._resolve_due(self.mask(text)) for text in texts]

        def change(text: str) -> str:
            new, ids[:] = add_todos(text, list_name, dated)
            return new

        new = self._change(change)
        return [todo for todo in parse_todos(new) if todo.id in ids]

    def similar(self, list_name: str, text: str) -> Todo | None:
        """The open to-do of a list that says the same as a text; of any list with ""."""
        wanted = clean_text(self._resolve_due(text))
        for todo in self.items():
            if (
                not todo.done
                and (not list_name or same_list(todo.list, list_name))
                and is_same_statement(todo.text, wanted)
            ):
                return todo
        return None

    def set_done(self, ident: str, done: bool) -> None:
        self._change(lambda text: mark_done(text, ident, done))

    def set_due(self, ident: str, due: str) -> Todo:
        """Give a to-do a date, in words or digits, instead of one it has, or none with ""; returns
        it as it now stands. Raises ToolProblem for an unknown id and for what is no date."""
        due = self._resolve_due(f"due:{due}").removeprefix("due:") if due else ""
        return self._changed(ident, lambda text: set_due_date(text, ident, due))

    def set_text(self, ident: str, words: str) -> Todo:
        """Give a to-do other words, and its date unless they have one; returns it as it now stands.
        Raises ToolProblem for an unknown id, and for a text that is empty or too long."""
        dated = self._resolve_due(self.mask(words))
        return self._changed(ident, lambda text: replace_text(text, ident, dated))

    def move(self, ident: str, list_name: str) -> Todo:
        """Move a to-do to the end of another list, made when missing; returns it as it now stands.
        Raises ToolProblem for an unknown id and for a list without a name."""
        return self._changed(ident, lambda text: move_todo(text, ident, list_name))

    def remove(self, ident: str) -> None:
        self._change(lambda text: remove_todo(text, ident))

    def remove_list(self, name: str) -> list[Todo]:
        """Remove a list; returns what was on it."""
        gone: list[Todo] = []

        def change(text: str) -> str:
            new, gone[:] = without_list(text, name)
            return new

        self._change(change)
        return gone

    def _resolve_due(self, text: str) -> str:
        return text if due_of(text) else resolve_due_dates(text, self._today())

    def _changed(self, ident: str, change: Callable[[str], str]) -> Todo:
        """Change the file; return the to-do of this id as it then stands."""
        wanted = ident.casefold()
        return next(t for t in parse_todos(self._change(change)) if t.id.casefold() == wanted)

    def _change(self, change: Callable[[str], str]) -> str:
        with hold_lock(self._lock, self.lock_seconds):
            return change_file(self.path, change, self.keep)


def resolve_due_dates(text: str, today: date) -> str:
    """Return a text with `due:tomorrow`, `due:next friday` or `due:"in 3 days"` as an ISO date.

    Raises ToolProblem for a `due:` without a day, but leaves `due: soon` alone.
    """
    found = re.search(r"(?<![\w:-])due:\s?(?P<words>\S.*)", text, re.DOTALL)
    if found is None:
        return text
    length, day = read_leading_day(found["words"], today)
    if day is not None:
        rest = found["words"][length:]
        return f"{text[: found.start()]}due:{day.isoformat()}{rest}"
    if text[found.start("words") - 1] == ":":
        said = found["words"][:length] or found["words"].split()[0]
        raise ToolProblem(f"due:{said} is no date; write due:{today.isoformat()} or due:friday.")
    return text


MAX_CHARS = 500

_BLANKS = " \t"
_ITEM_START = re.compile(r"^(?:[-*+]|\d{1,9}[.)])?\s*\[[ xX]?\]\s*|^[-*+]\s+")
_ID_END = re.compile(r"(?:\s+\^[0-9a-f]{8})+$")
_DUE_PART = re.compile(rf"(?<![ \t])[ \t]+{DUE}")


def add_todos(text: str, list_name: str, texts: Sequence[str]) -> tuple[str, list[str]]:
    """The text with new to-dos at the end of a list, which is made when missing; and their ids.

    Raises ToolProblem for a text that is empty or too long.
    """
    page = read_task_page(text)
    section = _find_section(page, list_name)
    name = section.name if section else _one_line(list_name.replace("#", " ")) or DEFAULT_LIST
    taken = {item.id for item in page.items}
    ids, bodies = [], []
    for body in map(clean_text, texts):
        ids.append(new_id(name, body, taken))
        taken.add(ids[-1])
        bodies.append(f"[ ] {body} ^{ids[-1]}")
    write_ids(page)
    _append(page, section, name, bodies)
    return "".join(page.lines), ids


def mark_done(text: str, ident: str, done: bool) -> str:
    """The text with a to-do ticked or not. Raises ToolProblem for an unknown id."""
    page, item = _open_at(text, ident)
    if item.done != done:
        line = page.lines[item.at]
        at = line.index("[") + 1
        page.lines[item.at] = line[:at] + ("x" if done else " ") + line[at + 1 :]
    return "".join(page.lines)


def set_due_date(text: str, ident: str, due: str) -> str:
    """The text with a to-do's date, an ISO one or "" for none, in place of one it had. Raises
    ToolProblem for an unknown id."""
    date = f" due:{due}" if due else ""
    return _edit(text, ident, lambda item, body: _DUE_PART.sub("", body).rstrip(_BLANKS) + date)


def replace_text(text: str, ident: str, words: str) -> str:
    """The text with other words for a to-do, which keeps its date unless they have one. Raises
    ToolProblem for an unknown id, and for words that are none or too long."""
    new = clean_text(words)

    def replace(item: Todo, body: str) -> str:
        return f" {new} due:{item.due}" if item.due and not due_of(new) else f" {new}"

    return _edit(text, ident, replace)


def _edit(text: str, ident: str, change: Callable[[Todo, str], str]) -> str:
    """The text with another body, which is what stands between the box and the id of a to-do."""
    page, item = _open_at(text, ident)
    line = page.lines[item.at]
    start, end = line.index("]") + 1, line.rindex(f"^{item.id}")
    body = change(item, line[start:end].rstrip(_BLANKS))
    page.lines[item.at] = f"{line[:start]}{body} {line[end:]}"
    return "".join(page.lines)


def move_todo(text: str, ident: str, list_name: str) -> str:
    """The text with a to-do, and what is indented below it, at the end of another list, which is
    made when missing. Raises ToolProblem for an unknown id and for a list without a name."""
    page, item = _open_at(text, ident)
    of = next(section for section in page.sections if section.start <= item.at < section.end)
    end = _block_end(page, item, of)
    end_line(page, end)
    _lift_children(page, item, end)
    first, *below = page.lines[item.at : end]
    del page.lines[item.at : end]
    page = read_task_page("".join(page.lines))
    section, name = _find_section(page, list_name), _one_line(list_name.replace("#", " "))
    if section is None and not name:
        raise ToolProblem("A list needs a name.")
    at = _append(page, section, name, [first[first.index("[") :].rstrip()])
    shift = indent_width(page.lines[at]) - item.indent
    page.lines[at + 1 : at + 1] = [shift_line(line, shift) for line in below]
    return "".join(page.lines)


def remove_todo(text: str, ident: str) -> str:
    """The text without a to-do's line; to-dos below it move up to its place."""
    page, item = _open_at(text, ident)
    _lift_children(page, item, item.at)
    del page.lines[item.at]
    return "".join(page.lines)


def without_list(text: str, list_name: str) -> tuple[str, list[Todo]]:
    """The text without a list's to-dos, and these. The heading goes too, unless other text
    stands below it. Raises ToolProblem for an unknown list."""
    page = read_task_page(text)
    section = _find_section(page, list_name)
    if section is None:
        names = ", ".join(list_names(page)) or "none"
        raise ToolProblem(f"There is no list {list_name}. Lists: {names}.")
    gone = page.items_of(section)
    write_ids(page)
    drop = {item.at for item in gone}
    body = range(section.start + heading_lines(page, section), section.end)
    if section.level and all(at in drop or not page.lines[at].strip() for at in body):
        drop = set(range(section.start, section.end))
    page.lines = [line for at, line in enumerate(page.lines) if at not in drop]
    return "".join(page.lines), gone


def list_names(page: TaskPage) -> list[str]:
    """The names of a page's lists: headings below a title, and any heading with tasks."""
    named = [join_surrogates(s.name) for s in page.sections if s.level > 1 or page.items_of(s)]
    return list(dict.fromkeys(named))


def clean_text(text: str) -> str:
    """A to-do's text as one line, without box and id. Raises ToolProblem when nothing is left or
    it is longer than 500 characters."""
    line = _ID_END.sub("", _ITEM_START.sub("", _one_line(text))).strip()
    if not line:
        raise ToolProblem("A to-do needs a text.")
    if len(line) > MAX_CHARS:
        raise ToolProblem(f"A to-do is one line of at most {MAX_CHARS} characters.")
    return line


def same_list(left: str, right: str) -> bool:
    """Return True when two names mean one list. Case, marks and the word "list" do not count."""
    return _plain_name(left) == _plain_name(right)


def _open_at(text: str, ident: str) -> tuple[TaskPage, Todo]:
    """The page of a text, with all ids written into it, and the to-do of this id."""
    page = read_task_page(text)
    wanted = ident.strip().lstrip("^").casefold()
    for item in page.items:
        if item.id.casefold() == wanted:
            write_ids(page)
            return page, item
    raise ToolProblem(f"There is no to-do {ident}.")


def _one_line(text: str) -> str:
    return " ".join(join_surrogates(text).split())


def _plain_name(name: str) -> str:
    words = re.findall(r"\w+", name.casefold())
    if len(words) > 1 and words[-1] in ("list", "todos"):
        words.pop()
    return " ".join(words) or DEFAULT_LIST.casefold()


def _find_section(page: TaskPage, name: str) -> Section | None:
    """The section of a list: the one with tasks if several have the name, never a bare title."""
    found = [s for s in page.sections if same_list(s.name, name)]
    filled = [s for s in found if page.items_of(s)]
    return next(iter(filled + [s for s in found if s.level > 1]), None)


def _append(page: TaskPage, section: Section | None, name: str, bodies: Sequence[str]) -> int:
    """Append items to a section, or to a new one of that name; returns the first one's line."""
    newline = page.newline
    plain = [f"- {body}{newline}" for body in bodies]
    if section is None:
        at = len(page.lines) if page.open_at is None else page.open_at
        return insert_block(page, at, [f"## {name}{newline}", newline, *plain]) + 2
    items = page.items_of(section)
    if not items:
        return insert_block(page, first_item_line(page, section), plain)
    least = min(item.indent for item in items)
    last = [item for item in items if item.indent == least][-1]
    at = _block_end(page, last, section)
    end_line(page, at)
    line = page.lines[last.at]
    indent = line[: len(line) - len(line.lstrip(_BLANKS))]
    bullets = [next_bullet(last.bullet, step) for step in range(1, len(bodies) + 1)]
    page.lines[at:at] = [
        f"{indent}{bullet} {body}{newline}" for bullet, body in zip(bullets, bodies, strict=True)
    ]
    return at


def _block_end(page: TaskPage, item: Todo, section: Section) -> int:
    """The line after an item and what is indented below it, without the blank lines at the end."""
    end = item.at + 1
    stop = section.end if page.open_at is None else min(section.end, max(page.open_at, end))
    return block_end(page, item.at, item.indent, end, stop, lazy=True)


def _lift_children(page: TaskPage, item: Todo, start: int) -> None:
    """Let an item's own to-dos, from line `start` on, stay to-dos: take out their extra indent."""
    shift = None
    for child in page.items:
        if child.at <= item.at:
            continue
        if child.indent <= item.indent:
            break
        shift = child.indent - item.indent if shift is None else shift
        if child.at >= start:
            page.lines[child.at] = shift_line(page.lines[child.at], -shift)


_TODO_MARKS = re.compile(
    rf"\s*{DUE}|"
    r"\s*(?<![\w:-])due:\S+|\s*\((?:promised|turn) [^()]*\)|\s*(?<!\S)#[\w/-]+|\s*\^[\w-]+$"
)


def plain_text(text: str) -> str:
    """Return a to-do's text without its date, tags and the note of its origin."""
    one_blank = " ".join(text.split())  # of many the marks would be looked for behind each
    return " ".join(_TODO_MARKS.sub("", one_blank).split()).rstrip(" .")
