"""Reads and changes openclaw.yaml. An error names the line and the expected value.

PyYAML is only loaded for a file that sets something. A change is made to the lines that the nodes
name: ruamel.yaml 0.19 keeps 5 of 11 files as they were (it drops all comments of the starter).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NoReturn, get_args, get_origin

from openclaw.config.settings import (
    UNTRUSTED,
    Key,
    Settings,
    build,
    check_targets,
    find_key,
    keys,
    sections,
)
from openclaw.errors import Damaged, UsageError
from openclaw.storage.home import Home
from openclaw.storage.lock import hold_lock
from openclaw.storage.safe_open import decode, read_bytes
from openclaw.storage.text import write_text
from openclaw.types import BeforeWrite, record_no_write

if TYPE_CHECKING:
    import yaml


FILE = "openclaw.yaml"
LARGEST = 1_000_000
DURATION = re.compile(r"0|(-?\d+(\.\d+)?(ms|s|m|h))+")
ALSO = {"mcpServers": "mcp"}  # keys as other programs spell them
TEXT = "tag:yaml.org,2002:str"
NAMES = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


class MismatchError(Exception):
    """A value of the wrong type; the text is what was expected."""


def load_settings(home: Home) -> Settings:
    """The home's settings, defaults where openclaw.yaml says nothing.

    Raises UsageError that names the line and what was expected; Damaged when it cannot be read;
    Refused when they would send a key of the environment to a new address.
    """
    if not home.trusted:
        return UNTRUSTED
    settings = build({name: value for name, (value, _) in given_values(home).items()})
    check_targets(home, settings)
    return settings


def given_values(home: Home) -> dict[str, tuple[Any, int]]:
    """The values in openclaw.yaml by dotted key, each with its line."""
    return read_values(settings_text(home))


def origins(home: Home) -> list[tuple[str, Any, str]]:
    """Every key with its value and where that comes from: "default" or "openclaw.yaml:LINE"."""
    given = given_values(home)
    return [
        (key.name, given[key.name][0], f"{FILE}:{given[key.name][1]}")
        if key.name in given
        else (key.name, key.default, "default")
        for key in keys().values()
    ]


def settings_text(home: Home) -> str:
    """The text of openclaw.yaml, "" when there is none."""
    try:
        return decode(read_bytes(home.settings, LARGEST))
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise Damaged(
            f"{home.settings} cannot be read: {error.strerror}",
            "give this user access to it, or move it to go on with the defaults",
        ) from error


def read_values(text: str) -> dict[str, tuple[Any, int]]:
    """The values that a settings file gives, by dotted key, each with its line."""
    if not any(line.strip() and not line.lstrip().startswith("#") for line in text.splitlines()):
        return {}
    loader, root = compose(text)
    return dict(_read_mapping(loader, root)) if root is not None else {}


MAX_VALUES = 20_000  # that a text with aliases may stand for, each alias followed
DEEPEST = 64


def yaml_trouble(text: str) -> tuple[int, str]:
    """The line that is too much, and why; (0, "") for none, and for what is no YAML at all."""
    import yaml

    count = 0
    open_at: list[tuple[str | None, int]] = []
    sizes: dict[str, int] = {}
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            line = event.start_mark.line + 1 if event.start_mark else 0
            if isinstance(event, yaml.CollectionEndEvent):
                anchor, before = open_at.pop()
                if anchor:
                    sizes[anchor] = count - before
            if not isinstance(event, yaml.NodeEvent):
                continue
            count += 1
            if isinstance(event, yaml.AliasEvent):
                count += sizes.get(event.anchor or "", 0)
                if count > MAX_VALUES:
                    return line, f"its aliases stand for more than {MAX_VALUES:,} values"
            elif isinstance(event, yaml.CollectionStartEvent):
                open_at.append((event.anchor, count))
                if len(open_at) > DEEPEST:
                    return line, f"more than {DEEPEST} levels"
            elif event.anchor:
                sizes[event.anchor] = 1
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        mark = getattr(error, "problem_mark", None)
        if mark and "nesting depth" in str(error):  # libyaml, since PyYAML 6.0.4
            return mark.line + 1, f"more than {DEEPEST} levels"
    return 0, ""


def compose(text: str) -> tuple[Any, yaml.Node | None]:
    """PyYAML's loader and root node; UsageError with the line for no YAML, or too much of it."""
    import yaml

    line, problem = yaml_trouble(text)
    if problem:
        _refuse(line, problem)
    kind = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        loader = kind(text)
        return loader, loader.get_single_node()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        last = max(1, len(text.splitlines()))
        _refuse(
            min(mark.line + 1, last) if mark else 1, f"not YAML: {error.problem or error.context}"
        )
    except yaml.YAMLError as error:
        position = getattr(error, "position", 0)
        _refuse(text.count("\n", 0, position) + 1, "not YAML: a character that is not allowed")


def _read_mapping(
    loader: Any, node: yaml.Node, prefix: str = ""
) -> Iterator[tuple[str, tuple[Any, int]]]:
    """Yield the values of the file, or of one section, by dotted key, each with its line."""
    if node.tag.endswith(":null"):
        return
    if not node.tag.endswith(":map"):
        name = f"{prefix.rstrip('.')}: " if prefix else ""
        _refuse(node.start_mark.line + 1, f"{name}expected keys and values, each 'key: value'")
    seen = set()
    for key_node, value in node.value:
        name, line = prefix + str(key_node.value), key_node.start_mark.line + 1
        name = ALSO.get(name, name)
        if name in seen:
            _refuse(line, f"'{name}' is given twice")
        seen.add(name)
        if not prefix and name in sections():
            yield from _read_mapping(loader, value, f"{name}.")
            continue
        key = find_key(name, f"{FILE} line {line}: ")
        try:
            yield name, (convert(loader, value, key), line)
        except MismatchError as error:
            _refuse(line, f"{name}: expected {error}, not {_describe_node(value)}")


def convert(loader: Any, node: yaml.Node, key: Key) -> Any:
    """The value of a node as the key's type; MismatchError when it does not fit."""
    import yaml

    kinds = key.kinds
    if node.tag.endswith(":null") and type(None) in kinds:
        return None
    if key.form == "grants":
        return _lines(node, key)
    if is_mapping := any(get_origin(kind) is Mapping for kind in kinds):
        _keep_text(node, set())
    try:
        value = loader.construct_object(node, deep=True)
        if is_mapping:  # it is shown as JSON, which holds no bytes, no sets and no infinity
            json.dumps(value, allow_nan=False)
    except (yaml.YAMLError, ValueError, TypeError) as error:
        raise MismatchError(expected(key)) from error
    for kind in kinds:
        fitted = _convert_to(value, node, kind)
        if fitted is not None and _is_in_range(fitted, key):
            return fitted
    raise MismatchError(expected(key))


def _keep_text(node: yaml.Node, seen: set[int]) -> None:
    """Let keys and days be what is written: YAML reads a bare off as false, and a day is no JSON. A
    node may hold itself."""
    if id(node) in seen:
        return
    seen.add(id(node))
    if node.tag.endswith(":timestamp"):
        node.tag = TEXT
    if node.tag.endswith(":seq"):
        for item in node.value:
            _keep_text(item, seen)
    if node.tag.endswith(":map"):
        for key, value in node.value:
            if isinstance(key.value, str) and not key.tag.endswith(":merge"):
                key.tag = TEXT
            _keep_text(value, seen)


def _convert_to(value: Any, node: yaml.Node, kind: Any) -> Any:
    """The value as `kind`, None when it is of another one."""
    if get_origin(kind) is Literal:  # by its text: YAML reads a bare off as false
        return node.value if node.value in get_args(kind) else None
    if get_origin(kind) is tuple:
        if not isinstance(value, list):
            return None
        texts = [_convert_to(item, part, str) for item, part in zip(value, node.value, strict=True)]
        return None if None in texts else tuple(texts)
    if get_origin(kind) is Mapping:
        return value if isinstance(value, dict) else None
    if kind is str:  # as it is written: `no`, `30` and `2026-11-21` are texts where one is wanted
        return node.value if isinstance(node.value, str) and value is not None else None
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    return value if type(value) is kind else None


def _lines(node: yaml.Node, key: Key) -> tuple[str, ...]:
    """The texts of a list of which no item may keep the file from being read: one that is not a
    text says so in its place."""
    if node.tag.endswith(":null"):
        return ()
    if not node.tag.endswith(":seq"):
        raise MismatchError(expected(key))
    return tuple(
        item.value
        if isinstance(item.value, str)
        else f"(line {item.start_mark.line + 1}: no text; put it into quotes)"
        for item in node.value
    )


def _is_in_range(value: Any, key: Key) -> bool:
    if key.form == "duration" and not DURATION.fullmatch(value):
        return False
    if value == math.inf:
        return False
    return (key.least is None or value >= key.least) and (key.most is None or value <= key.most)


def expected(key: Key) -> str:
    """Describe the values that a key takes."""
    if key.form == "duration":
        return "a time such as 30m, 2h or -1s (for ever)"
    if get_origin(key.type) is tuple:
        return "a list of texts"
    least = "" if key.least is None else f" of at least {key.least:g}"
    most = "" if key.most is None else f" and at most {key.most:g}"
    words: list[str] = []
    for kind in key.kinds:
        named = "keys and values" if get_origin(kind) is Mapping else NAMES.get(kind, "null")
        words += get_args(kind) if get_origin(kind) is Literal else named.split(" or ")
    words[0] += least + most
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def _describe_node(node: yaml.Node) -> str:
    if isinstance(node.value, str):
        return f"'{node.value}'" if node.value else "nothing"
    return "a list" if node.tag.endswith(":seq") else "keys and values"


def _refuse(line: int, problem: str) -> NoReturn:
    raise UsageError(
        f"{FILE} line {line}: {problem}",
        "fix that line; openclaw config path names the file, openclaw doctor looks at all of it",
    )


def line_of(text: str, path: Sequence[str | int]) -> int:
    """The line of a settings file to which these keys and numbers lead, or as far as they lead."""
    _, node = compose(text)
    line = 1
    for step in path:
        found = _inner_nodes(node).get(step)
        if found is None:
            return line
        line, node = found[0].start_mark.line + 1, found[1]
    return line


def _inner_nodes(node: Any) -> dict[str | int, tuple[Any, Any]]:
    """The nodes that name and hold each value of a mapping, by its key as it is written and as we
    call it, or each item of a list, by its number."""
    if node is not None and node.tag.endswith(":seq"):
        return {number: (item, item) for number, item in enumerate(node.value)}
    pairs = node.value if node is not None and node.tag.endswith(":map") else ()
    named: dict[str | int, tuple[Any, Any]] = {str(pair[0].value): pair for pair in pairs}
    return named | {ours: named[theirs] for theirs, ours in ALSO.items() if theirs in named}


PLAIN = re.compile(r"[A-Za-z_][\w./-]*(:[\w./-]+)*|[0-9]+(ms|s|m|h)")
WORDS = ("null", "true", "false")  # words that YAML does not read as text
# A day and words that every YAML reader takes for text: `- 2026-11-21 host example.org`.
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


def set_value(home: Home, name: str, text: str, keep: BeforeWrite = record_no_write) -> Any:
    """Set one key in openclaw.yaml and return its typed value; comments and other lines stay.

    `text` is what a user types: lists may be written `a, b`, null is `null`. `keep` is told before
    the file is written. Raises UsageError for an unknown key, a value that does not fit, or a file
    too unusual to be changed by a program.
    """
    value = parse_value(find_key(name), text)
    with _changing(home, name, keep) as change:
        change.value = value
        change.text = _set_key(change.text, name, render(value))
    return value


def add_line(home: Home, name: str, line: str, keep: BeforeWrite = record_no_write) -> None:
    """Add a text to the list of a key in openclaw.yaml, on a line of its own; all else stays.

    Raises UsageError for a file too unusual to be changed by a program.
    """
    with _changing(home, name, keep) as change:
        change.text = _add_item(change.text, name, change.value, line)
        change.value = (*change.value, line)


def drop_line(home: Home, name: str, line: str, keep: BeforeWrite = record_no_write) -> None:
    """Remove a text from the list of a key, the first of several that are the same.

    Raises UsageError when it is not there, or for a file too unusual to be changed by a program.
    """
    with _changing(home, name, keep) as change:
        if line not in change.value:
            raise UsageError(f"{name} has no entry '{line}'", f"openclaw config get {name}")
        number = change.value.index(line)
        change.value = change.value[:number] + change.value[number + 1 :]
        change.text = _drop_item(change.text, name, number, change.value)


@dataclass(slots=True)
class _Change:
    """The text of the settings file, and the value of one key in it."""

    text: str
    value: Any


@contextmanager
def _changing(home: Home, name: str, keep: BeforeWrite) -> Iterator[_Change]:
    """Write what a key and the text are changed to in here, but only if reading the new text gives
    exactly that value, and all others as before. Other processes wait meanwhile."""
    with hold_lock(home.private / "locks" / "settings.lock", what=FILE):
        text = settings_text(home)
        before = _plain_values(text)
        change = _Change(text, before.get(name, find_key(name).default))
        yield change
        with suppress(UsageError):
            if _plain_values(change.text) == before | {name: change.value}:
                write_text(home.settings, change.text, keep)
                return
        raise UsageError(
            f"{FILE} is written in a way that '{name}' cannot be changed in by a command",
            f"edit {home.settings} by hand: {name.replace('.', ': {')}: {render(change.value)}"
            + ("}" if "." in name else ""),
        )


def _plain_values(text: str) -> dict[str, Any]:
    return {known: given for known, (given, _) in read_values(text).items()}


def _add_item(text: str, name: str, lines: tuple[str, ...], line: str) -> str:
    """The file with one more item in the list of a top key: below the others, or as a new list."""
    indent, at = 2, 0
    if lines:
        value = _inner_nodes(compose(text)[1])[name][1]
        if value.flow_style:
            return _set_key(text, name, render((*lines, line)))
        indent, at = value.start_mark.column, value.value[-1].end_mark.line
    else:
        text = _set_key(text, name, "")
        with suppress(UsageError):  # then it is no YAML any more, and is not written
            at = line_of(text, [name]) - 1
    rows = text.splitlines()
    item = line if BARE.fullmatch(line) else render(line)
    rows.insert(at + 1, f"{' ' * indent}- {item}")
    return "\n".join(rows) + "\n"


def _drop_item(text: str, name: str, number: int, left: tuple[str, ...]) -> str:
    """The file without one item of the list of a top key."""
    value = _inner_nodes(compose(text)[1])[name][1]
    if value.flow_style or not left:
        return _set_key(text, name, render(left))
    rows = text.splitlines()
    item = value.value[number]
    del rows[item.start_mark.line : item.end_mark.line + 1]
    return "\n".join(rows) + "\n"


def parse_value(key: Key, text: str) -> Any:
    """Convert what a user typed to the key's type. Raises UsageError for a wrong value."""
    is_list = get_origin(key.type) is tuple
    if (key.type is str or is_list) and text.strip().lower() == "null":  # no text of the user's
        return key.default
    written = text
    if is_list and not text.lstrip().startswith("["):
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


def _set_key(text: str, name: str, written: str) -> str:
    """The file with `name` set to `written`: replaced where it stands, else added."""
    section, _, leaf = name.rpartition(".")
    lines = text.splitlines()
    nodes = _inner_nodes(compose(text)[1])
    head = nodes.get(section)
    inner = _inner_nodes(head[1]) if head else nodes if not section else {}
    line = f"{leaf}: {written}".rstrip()
    if leaf in inner:
        _replace(lines, *inner[leaf], written)
    elif head:
        _add_to_section(lines, *head, line)
    elif section:
        lines += [f"{section}:", f"  {line}"]
    else:
        lines.insert(_place(lines, leaf), line)
    return "\n".join(lines) + "\n"


def _replace(lines: list[str], key: Any, value: Any, written: str) -> None:
    """Put `written` after the key; of a value on lines of its own only the comments stay."""
    first, column = key.end_mark.line, key.end_mark.column
    last, begin = value, -1
    while last.value and getattr(last, "flow_style", None) is False:
        if last.start_mark.index <= begin:  # an alias leads back
            break
        begin = last.start_mark.index
        last = last.value[-1] if last.tag.endswith(":seq") else last.value[-1][1]
    start, end = value.start_mark, last.end_mark
    head = f"{lines[first][:column]}: {written}".rstrip()
    if start.line == end.line == first:
        lines[first] = head + lines[first][end.column :]
        return
    if getattr(last, "style", "") in ("|", ">"):  # ends where the next line begins
        lines[first : end.line] = [head]
        return
    colon = lines[first].find(":", column)
    comment = lines[first][colon + 1 :].strip() if start.line > first else ""
    after = "".join(lines[end.line : end.line + 1])[end.column :].strip()
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
    found = (number for number, line in enumerate(lines, 1) if re.match(rf"#\s?{leaf}:", line))
    return next(found, len(lines))
