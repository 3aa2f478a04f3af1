"""Reading openclaw.yaml: every fault names its line and what was expected there.

PyYAML is only loaded for a file that sets something.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Union, get_args, get_origin

from openclaw.config.settings import Key, Settings, build, find_key, keys, sections
from openclaw.config.trust import UNTRUSTED, check_targets
from openclaw.errors import Damaged, UsageError
from openclaw.files.beneath import read_bytes
from openclaw.files.home import Home
from openclaw.files.text import decode
from openclaw.files.yaml_bounds import yaml_trouble

if TYPE_CHECKING:
    import yaml

FILE = "openclaw.yaml"
LARGEST = 1_000_000
DURATION = re.compile(r"0|(-?\d+(\.\d+)?(ms|s|m|h))+")
ALSO = {"mcpServers": "mcp"}
"""Keys as other programs spell them."""
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
    """What openclaw.yaml gives, by dotted key, each with its line."""
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
    """What stands in openclaw.yaml, "" when there is none."""
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
    if root is None:
        return {}
    found: dict[str, tuple[Any, int]] = {}
    _read_mapping(loader, root, "", found)
    return found


def compose(text: str) -> tuple[Any, yaml.Node | None]:
    """PyYAML's loader and root node; UsageError with the line for text that is not
    YAML, or too much of it."""
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
    loader: Any, node: yaml.Node, prefix: str, found: dict[str, tuple[Any, int]]
) -> None:
    if not prefix and node.tag.endswith(":null"):
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
            if not value.tag.endswith(":null"):
                _read_mapping(loader, value, f"{name}.", found)
            continue
        key = find_key(name, f"{FILE} line {line}: ")
        try:
            found[name] = (convert(loader, value, key), line)
        except MismatchError as error:
            _refuse(line, f"{name}: expected {error}, not {_shown(value)}")


def convert(loader: Any, node: yaml.Node, key: Key) -> Any:
    """The value of a node as the key's type; MismatchError when it does not fit."""
    import yaml

    kinds = get_args(key.type) if get_origin(key.type) in (Union, UnionType) else (key.type,)
    if node.tag.endswith(":null") and type(None) in kinds:
        return None
    if key.form == "grants":
        return _lines(node, key)
    if any(get_origin(kind) is Mapping for kind in kinds):
        _name_by_text(node, set())
    try:
        value = loader.construct_object(node, deep=True)
    except (yaml.YAMLError, ValueError, TypeError) as error:
        raise MismatchError(expected(key)) from error
    for kind in kinds:
        fitted = _fit(value, node, kind)
        if fitted is not None and _narrow(fitted, key):
            return fitted
    raise MismatchError(expected(key))


def _name_by_text(node: yaml.Node, seen: set[int]) -> None:
    """Let keys be what is written: YAML reads a bare off as false. A node may hold itself."""
    if id(node) in seen or not node.tag.endswith(":map"):
        return
    seen.add(id(node))
    for key, value in node.value:
        if isinstance(key.value, str) and not key.tag.endswith(":merge"):
            key.tag = "tag:yaml.org,2002:str"
        _name_by_text(value, seen)


def _fit(value: Any, node: yaml.Node, kind: Any) -> Any:
    """The value as `kind`, None when it is of another one."""
    if get_origin(kind) is Literal:  # by its text: YAML reads a bare off as false
        return node.value if node.value in get_args(kind) else None
    if get_origin(kind) is tuple:
        if not isinstance(value, list):
            return None
        texts = [_fit(item, part, str) for item, part in zip(value, node.value, strict=True)]
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


def _narrow(value: Any, key: Key) -> bool:
    if key.form == "duration" and not DURATION.fullmatch(value):
        return False
    return (key.least is None or value >= key.least) and (key.most is None or value <= key.most)


def expected(key: Key) -> str:
    """What a key takes, in words."""
    if key.form == "duration":
        return "a time such as 30m, 2h or -1s (for ever)"
    if get_origin(key.type) is tuple:
        return "a list of texts"
    kinds = get_args(key.type) if get_origin(key.type) in (Union, UnionType) else (key.type,)
    words: list[str] = []
    for kind in kinds:
        named = "keys and values" if get_origin(kind) is Mapping else NAMES.get(kind, "null")
        words += get_args(kind) if get_origin(kind) is Literal else [named]
    text = words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
    if key.least is not None:
        text += f" of at least {key.least:g}"
    return text if key.most is None else f"{text} and at most {key.most:g}"


def _shown(node: yaml.Node) -> str:
    if isinstance(node.value, str):
        return f"'{node.value}'" if node.value else "nothing"
    return "a list" if node.tag.endswith(":seq") else "keys and values"


def _refuse(line: int, problem: str) -> NoReturn:
    raise UsageError(
        f"{FILE} line {line}: {problem}",
        "fix that line; openclaw config path names the file, openclaw doctor looks at all of it",
    )


def line_of(text: str, path: Sequence[str]) -> int:
    """The line of a settings file on which these keys lead to, or as far as they lead."""
    _, node = compose(text)
    line = 1
    for name in path:
        pairs = node.value if node is not None and node.tag.endswith(":map") else ()
        found = next((p for p in pairs if name in (p[0].value, ALSO.get(p[0].value))), None)
        if found is None:
            return line
        line, node = found[0].start_mark.line + 1, found[1]
    return line
