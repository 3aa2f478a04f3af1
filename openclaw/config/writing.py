"""Writing openclaw.yaml: the commented starter, and one value changed with all else kept."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, get_origin

from openclaw.config.reading import (
    FILE,
    MismatchError,
    compose,
    convert,
    expected,
    read_values,
    settings_text,
)
from openclaw.config.settings import Key, find_key, keys
from openclaw.errors import UsageError
from openclaw.files.home import Home
from openclaw.files.lock import locked
from openclaw.files.text import write_text
from openclaw.shapes import Keep, keep_nothing

PLAIN = re.compile(r"[A-Za-z_][\w./-]*(:[\w./-]+)*|[0-9]+(ms|s|m|h)")
# A day and words that no YAML reader takes for anything else, so `- 2026-11-21 host example.org`.
WORDS = ("null", "true", "false")
"""What YAML takes for something else than a text."""
BARE = re.compile(r"\d{4}-\d\d-\d\d [a-z]+ [\w./=@%+,-]+(?: [\w./=@%+,-]+)*")
HEADING = """\
## Settings of this openclaw home. Every key is optional: what stands behind a # is the default.
## To change one, remove the # (and that of its section), or: openclaw config set KEY VALUE
"""


def starter_text() -> str:
    """A new openclaw.yaml: every key commented out, with its default and what it is for."""
    lines = [HEADING]
    section = ""
    for key in keys().values():
        head, _, leaf = key.name.rpartition(".")
        if head != section:
            lines.append(f"# {head}:\n")
            section = head
        line = f"{'  ' if head else ''}{leaf}: {render(key.default)}"
        lines.append(f"# {line:<28}  # {key.about}\n")
    return "".join(lines)


def set_value(home: Home, name: str, text: str, keep: Keep = keep_nothing) -> Any:
    """Set one key in openclaw.yaml and return its typed value; comments and other lines stay.

    `text` is what a user types: lists may be written `a, b`, null is `null`. `keep` is told before
    the file is written. Raises UsageError for an unknown key, a value that does not fit, or a file
    too unusual to be changed by a program.
    """
    key = find_key(name)
    value = parse_value(key, text)
    with _alone(home):
        old = settings_text(home)
        wanted = _wanted(old) | {name: value}
        _write(home, name, _changed(old, name, render(value)), wanted, keep)
    return value


def add_line(home: Home, name: str, line: str, keep: Keep = keep_nothing) -> None:
    """Add a text to the list of a key in openclaw.yaml, on a line of its own; all else stays.

    Raises UsageError for a file too unusual to be changed by a program.
    """
    with _alone(home):
        old, lines = _list_of(home, name)
        wanted = _wanted(old) | {name: (*lines, line)}
        _write(home, name, _with_line(old, name, lines, line), wanted, keep)


def drop_line(home: Home, name: str, line: str, keep: Keep = keep_nothing) -> None:
    """Remove a text from the list of a key, the first of several that are the same.

    Raises UsageError when it is not there, or for a file too unusual to be changed by a program.
    """
    with _alone(home):
        old, lines = _list_of(home, name)
        if line not in lines:
            raise UsageError(f"{name} has no entry '{line}'", f"openclaw config get {name}")
        number = lines.index(line)
        left = lines[:number] + lines[number + 1 :]
        wanted = _wanted(old) | {name: left}
        _write(home, name, _without_line(old, name, number, left), wanted, keep)


@contextmanager
def _alone(home: Home) -> Iterator[None]:
    """Nobody else changes the settings between reading and writing them."""
    with locked(home.private / "locks" / "settings.lock", what=FILE):
        yield


def _list_of(home: Home, name: str) -> tuple[str, tuple[str, ...]]:
    """The text of the settings file, and what the list of this key holds in it."""
    key, text = find_key(name), settings_text(home)
    return text, tuple(read_values(text).get(name, (key.default, 0))[0])


def _wanted(text: str) -> dict[str, Any]:
    return {known: given for known, (given, _) in read_values(text).items()}


def _write(home: Home, name: str, text: str, wanted: dict[str, Any], keep: Keep) -> None:
    """Write the settings, unless another program would not read what is wanted out of them."""
    try:
        got = _wanted(text)
    except UsageError:
        got = {}
    if got != wanted:
        raise UsageError(
            f"{FILE} is written in a way that '{name}' cannot be changed in by a command",
            f"edit {home.settings} by hand: {name.replace('.', ': {')}: {render(wanted[name])}"
            + ("}" if "." in name else ""),
        )
    write_text(home.settings, text, keep)


def _with_line(text: str, name: str, lines: tuple[str, ...], line: str) -> str:
    """The file with one more item in the list of a top key: below the others, or as a new list."""
    pair = _pairs(compose(text)[1]).get(name)
    if pair and pair[1].tag.endswith(":seq") and pair[1].flow_style and lines:
        return _changed(text, name, render((*lines, line)))
    rows = text.splitlines()
    if pair and lines:
        last = pair[1].value[-1]
        indent = " " * pair[1].start_mark.column
        rows.insert(last.end_mark.line + 1, f"{indent}- {_item(line)}")
    else:
        if pair:
            _replace(rows, *pair, "")
            at = pair[0].start_mark.line
            rows[at] = rows[at].replace(": ", ":", 1).rstrip()
        else:
            at = _place(rows, name)
            rows.insert(at, f"{name}:")
        rows.insert(at + 1, f"  - {_item(line)}")
    newline = "\r\n" if "\r\n" in text else "\n"
    return newline.join(rows) + newline


def _without_line(text: str, name: str, number: int, left: tuple[str, ...]) -> str:
    """The file without one item of the list of a top key."""
    value = _pairs(compose(text)[1])[name][1]
    if value.flow_style or not left:
        return _changed(text, name, render(left))
    rows = text.splitlines()
    item = value.value[number]
    del rows[item.start_mark.line : item.end_mark.line + 1]
    newline = "\r\n" if "\r\n" in text else "\n"
    return newline.join(rows) + newline


def _item(line: str) -> str:
    """A text as an item of a list, bare where YAML and a reader take it as it stands."""
    return line if BARE.fullmatch(line) else render(line)


def parse_value(key: Key, text: str) -> Any:
    """What a user typed, as the key's type; UsageError when it does not fit."""
    if key.type is str and text.strip().lower() == "null":  # no text of the user's
        return key.default
    written = text
    if get_origin(key.type) is tuple and not text.lstrip().startswith("["):
        written = json.dumps([item.strip() for item in text.split(",") if item.strip()])
    elif key.type is str:
        written = json.dumps(text)
    problem = UsageError(
        f"{key.name}: expected {expected(key)}, not '{text}'",
        f"current value: openclaw config get {key.name}",
    )
    try:
        loader, node = compose(written)
        if node is None:
            raise problem
        return convert(loader, node, key)
    except (UsageError, MismatchError) as error:
        raise problem from error


def render(value: Any) -> str:
    """A value as YAML on one line."""
    if isinstance(value, tuple):
        return "[" + ", ".join(render(item) for item in value) + "]"
    if isinstance(value, str) and PLAIN.fullmatch(value) and value.lower() not in WORDS:
        return value
    written = json.dumps(value, ensure_ascii=False)
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in written)


def _changed(text: str, name: str, written: str) -> str:
    """The file with `name` set to `written`: replaced where it stands, else added."""
    section, _, leaf = name.rpartition(".")
    _, root = compose(text)
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = text.splitlines()
    pairs = _pairs(root)
    head = pairs.get(section)
    inner = _pairs(head[1]) if head else {}
    if leaf in (inner if section else pairs):
        _replace(lines, *(inner if section else pairs)[leaf], written)
    elif head:
        _add_to_section(lines, *head, f"{leaf}: {written}")
    elif section:
        lines += [f"{section}:", f"  {leaf}: {written}"]
    else:
        lines.insert(_place(lines, leaf), f"{leaf}: {written}")
    return newline.join(lines) + newline


def _pairs(node: Any) -> dict[str, tuple[Any, Any]]:
    """Key and value node of each pair of a mapping, by the key's text."""
    if node is None or not node.tag.endswith(":map"):
        return {}
    return {str(key.value): (key, value) for key, value in node.value}


def _replace(lines: list[str], key: Any, value: Any, written: str) -> None:
    """Put `written` after the key; of a value on lines of its own only the comments stay."""
    first, column = key.end_mark.line, key.end_mark.column
    last = value
    while last.tag.endswith(":seq") and not last.flow_style and last.value:
        last = last.value[-1]
    start, end = value.start_mark, last.end_mark
    head = lines[first][:column] + ": " + written
    if start.line == end.line == first:
        lines[first] = head + lines[first][end.column :]
        return
    if getattr(last, "style", "") in ("|", ">"):  # ends where the next line begins
        lines[first : end.line] = [head]
        return
    colon = lines[first].index(":", column)
    comment = lines[first][colon + 1 :].strip() if start.line > first else ""
    after = lines[end.line][end.column :].strip()
    kept = [line for line in lines[first + 1 : end.line] if line.lstrip().startswith("#")]
    tail = "  ".join(part for part in (comment, after) if part.startswith("#"))
    lines[first : end.line + 1] = [f"{head}  {tail}" if tail else head, *kept]


def _add_to_section(lines: list[str], key: Any, value: Any, pair: str) -> None:
    line, start = key.start_mark.line, value.start_mark
    if value.tag.endswith(":map") and value.flow_style:
        row, comma = lines[start.line], ", " if value.value else ""
        lines[start.line] = row[: start.column + 1] + pair + comma + row[start.column + 1 :]
        return
    indent = value.value[0][0].start_mark.column if value.tag.endswith(":map") else 2
    lines.insert(line + 1, " " * indent + pair)


def _place(lines: list[str], leaf: str) -> int:
    """Below the commented default of the key, else at the end."""
    for number, line in enumerate(lines):
        if re.match(rf"#\s?{leaf}:", line):
            return number + 1
    return len(lines)
