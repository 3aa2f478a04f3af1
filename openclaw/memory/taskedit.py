"""Change the task lists of a Markdown text: text in, text out, all other bytes as they were."""

from __future__ import annotations

import re
from collections.abc import Sequence

from openclaw.memory.page import Section, ending, width
from openclaw.memory.tasklist import DEFAULT_LIST, Item, TaskPage, new_id, scan, shown, stamped
from openclaw.shapes import ToolProblem

MAX_CHARS = 500

_BLANKS = " \t"
_ITEM_START = re.compile(r"^(?:[-*+]|\d{1,9}[.)])?\s*\[[ xX]?\]\s*|^[-*+]\s+")
_ID_END = re.compile(r"(?:\s+\^[0-9a-f]{8})+$")
_DUE = re.compile(r"[ \t]+due:\d{4}-\d{2}-\d{2}(?![\w-])")
_ENDS_BLOCK = re.compile(r"\s*(?:[-*+#>|`~<=]|\d+[.)])")


def added(text: str, list_name: str, texts: Sequence[str]) -> tuple[str, list[str]]:
    """The text with new to-dos at the end of a list, which is made when missing; and their ids.

    Raises ToolProblem for a text that is empty or too long.
    """
    page = scan(text)
    section = _section(page, list_name)
    name = section.name if section else _one_line(list_name.replace("#", " ")) or DEFAULT_LIST
    taken = {item.id for item in page.items}
    ids, bodies = [], []
    for body in map(clean, texts):
        ids.append(new_id(name, body, taken))
        taken.add(ids[-1])
        bodies.append(f"[ ] {body} ^{ids[-1]}")
    stamped(page)
    if section is None:
        _append_section(page, name, bodies)
    else:
        _append_items(page, section, bodies)
    return "".join(page.lines), ids


def marked(text: str, ident: str, done: bool) -> str:
    """The text with a to-do ticked or not. Raises ToolProblem for an unknown id."""
    page = scan(text)
    item = _item(page, ident)
    stamped(page)
    if item.done != done:
        line = page.lines[item.at]
        at = line.index("[") + 1
        page.lines[item.at] = line[:at] + ("x" if done else " ") + line[at + 1 :]
    return "".join(page.lines)


def with_due(text: str, ident: str, due: str) -> str:
    """The text with a to-do's date, an ISO one, in place of one it had. Raises ToolProblem for an
    unknown id."""
    page = scan(text)
    item = _item(page, ident)
    stamped(page)
    line = page.lines[item.at]
    bare = _DUE.sub("", line)
    at = bare.rindex(f" ^{item.id}")
    page.lines[item.at] = f"{bare[:at].rstrip(_BLANKS)} due:{due}{bare[at:]}"
    return "".join(page.lines)


def removed(text: str, ident: str) -> str:
    """The text without a to-do's line; to-dos below it move up to its place."""
    page = scan(text)
    item = _item(page, ident)
    stamped(page)
    _lift_children(page, item)
    del page.lines[item.at]
    return "".join(page.lines)


def without_list(text: str, list_name: str) -> tuple[str, list[Item]]:
    """The text without a list's to-dos, and these. The heading goes too, unless other text
    stands below it. Raises ToolProblem for an unknown list."""
    page = scan(text)
    section = _section(page, list_name)
    if section is None:
        names = ", ".join(list_names(page)) or "none"
        raise ToolProblem(f"There is no list {list_name}. Lists: {names}.")
    gone = page.items_of(section)
    stamped(page)
    drop = {item.at for item in gone}
    body = range(section.start + _heading_lines(page, section), section.end)
    if section.level and all(at in drop or not page.lines[at].strip() for at in body):
        drop = set(range(section.start, section.end))
    page.lines = [line for at, line in enumerate(page.lines) if at not in drop]
    return "".join(page.lines), gone


def list_names(page: TaskPage) -> list[str]:
    """The names of a page's lists: headings below a title, and any heading with tasks."""
    named = [shown(s.name) for s in page.sections if s.level > 1 or page.items_of(s)]
    return list(dict.fromkeys(named))


def clean(text: str) -> str:
    """A to-do's text as one line, without box and id. Raises ToolProblem when nothing is left or
    it is longer than 500 characters."""
    line = _ID_END.sub("", _ITEM_START.sub("", _one_line(text))).strip()
    if not line:
        raise ToolProblem("A to-do needs a text.")
    if len(line) > MAX_CHARS:
        raise ToolProblem(f"A to-do is one line of at most {MAX_CHARS} characters.")
    return line


def same_list(left: str, right: str) -> bool:
    """Whether two names mean one list: case, marks and the word "list" do not count."""
    return _plain(left) == _plain(right)


def _item(page: TaskPage, ident: str) -> Item:
    wanted = ident.strip().lstrip("^").casefold()
    for item in page.items:
        if item.id.casefold() == wanted:
            return item
    raise ToolProblem(f"There is no to-do {ident}.")


def _one_line(text: str) -> str:
    return " ".join(shown(text).split())


def _plain(name: str) -> str:
    words = re.findall(r"\w+", name.casefold())
    if len(words) > 1 and words[-1] in ("list", "todos"):
        words.pop()
    return " ".join(words) or DEFAULT_LIST.casefold()


def _section(page: TaskPage, name: str) -> Section | None:
    """The section of a list: the one with tasks if several have the name, never a bare title."""
    found = [s for s in page.sections if same_list(s.name, name)]
    filled = [s for s in found if page.items_of(s)]
    return next(iter(filled + [s for s in found if s.level > 1]), None)


def _append_section(page: TaskPage, name: str, bodies: Sequence[str]) -> None:
    newline = page.newline
    at = len(page.lines) if page.open_at is None else page.open_at
    before = _closed_line(page, at, newline)
    block = [f"## {name}{newline}", newline, *(f"- {body}{newline}" for body in bodies)]
    if before:
        block.insert(0, newline)
    if at < len(page.lines):
        block.append(newline)
    page.lines[at:at] = block


def _append_items(page: TaskPage, section: Section, bodies: Sequence[str]) -> None:
    newline = page.newline
    items = page.items_of(section)
    if not items:
        at = _first_place(page, section)
        _closed_line(page, at, newline)
        block = [newline, *(f"- {body}{newline}" for body in bodies)]
        following = page.lines[at] if at < len(page.lines) else ""
        if following.strip():
            block.append(newline)
        elif following:
            block = block[1:]
            at += 1
            if at < len(page.lines) and page.lines[at].strip():
                block.append(newline)
        page.lines[at:at] = block
        return
    least = min(item.indent for item in items)
    last = [item for item in items if item.indent == least][-1]
    at = _block_end(page, last, section)
    _closed_line(page, at, newline)
    line = page.lines[last.at]
    indent = line[: len(line) - len(line.lstrip(_BLANKS))]
    bullets = [_next_bullet(last.bullet, step) for step in range(1, len(bodies) + 1)]
    page.lines[at:at] = [
        f"{indent}{bullet} {body}{newline}" for bullet, body in zip(bullets, bodies, strict=True)
    ]


def _first_place(page: TaskPage, section: Section) -> int:
    """The line where a section's first to-do goes: below the heading, but behind a text that is
    indented, which would become a part of the to-do before it."""
    top = section.start + _heading_lines(page, section)
    below = next((line for line in page.lines[top : section.end] if line.strip()), "")
    if not below.startswith(tuple(_BLANKS)):
        return top
    end = section.end if page.open_at is None else max(top, min(section.end, page.open_at))
    while end > top and not page.lines[end - 1].strip():
        end -= 1
    return end


def _next_bullet(bullet: str, step: int) -> str:
    return bullet if bullet in "-*+" else f"{int(bullet[:-1]) + step}{bullet[-1]}"


def _block_end(page: TaskPage, item: Item, section: Section) -> int:
    """The line after an item and what is indented below it, without the blank lines at the end."""
    end = item.at + 1
    stop = section.end if page.open_at is None else min(section.end, max(page.open_at, end))
    for at in range(item.at + 1, stop):
        line = page.lines[at].rstrip("\r\n")
        if not line.strip():
            continue
        continues = at == end and not _ENDS_BLOCK.match(line)
        goes_on = item.at < page.opaque.get(at, at) < at  # inside of code that began below it
        if width(line) <= item.indent and not continues and not goes_on:
            break
        end = at + 1
    return end


def _heading_lines(page: TaskPage, section: Section) -> int:
    if not section.level:
        return 0
    return 1 if page.lines[section.start].lstrip().startswith("#") else 2


def _closed_line(page: TaskPage, at: int, newline: str) -> str:
    """Give the line before `at` a newline if it has none; returns that line, "" at the top."""
    if not at:
        return ""
    if not ending(page.lines[at - 1]):
        page.lines[at - 1] += newline
    return page.lines[at - 1]


def _lift_children(page: TaskPage, item: Item) -> None:
    """Take the indent that an item's own to-dos have beyond it, so that they stay to-dos."""
    shift = None
    for child in page.items:
        if child.at <= item.at:
            continue
        if child.indent <= item.indent:
            break
        shift = child.indent - item.indent if shift is None else shift
        line = page.lines[child.at].lstrip(_BLANKS)
        page.lines[child.at] = " " * max(child.indent - shift, 0) + line
