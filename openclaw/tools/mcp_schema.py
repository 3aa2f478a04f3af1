"""From what an MCP server says of a tool to what a model is shown, and back.

A JSON schema becomes flat arguments: nested objects get dotted names (`note.title`), what cannot be
flat becomes a text that holds JSON. All of it was written by somebody else: names are made plain,
descriptions are one short line, and words that give orders are not passed on.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from openclaw.shapes import ToolProblem

Schema = Mapping[str, Any]
Form = Literal["plain", "json", "any", "choice", "list"]

MOST_ARGUMENTS = 24
MOST_CHOICES = 40
DEEPEST = 3
LONGEST_NAME = 40
LONGEST_CHOICE = 40
LONGEST_ABOUT = 100
SCALARS = ("string", "integer", "number", "boolean")
# Keys of a step in JSON, and what a wrapped call may be called (`openclaw.agent.parse`).
TAKEN = frozenset(
    """kind tool thought answer function arguments parameters args input action action_input
    tool_input tool_name""".split()
)
# What a description of a tool does not say and an order to the reader does. A word too many only
# costs a description, which is then made of the tool's name.
ORDERS = re.compile(
    r"""\b(?:ignore|disregard|forget|override|instructions?|system\ (?:prompt|message)|
    assistant|must|always|never|important|before\ (?:using|calling|any|each|every|all|you)|instead|
    secrets?|passwords?|credentials?|api\ ?keys?|private\ keys?|id_rsa|soul\.md|agents\.md|
    user\.md|memory\.md|you|do\ not|don't|tell\ the\ user|reveal|exfiltrat\w*|jailbreak|openclaw|
    use_tool|more_tools|read_file|write_file|run_shell|fetch_url)\b|system:|https?:|\.ssh|\.env|[<>{}\[\]|`]""",
    re.IGNORECASE | re.VERBOSE,
)
ORDERS_IN_NAMES = re.compile(
    r"(?:^|_)(?:ignore|disregard|forget|instructions?|must|always|never|you)(?:_|$)", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Slot:
    """Where an argument goes: the keys that lead to it, and what the text becomes there."""

    path: tuple[str, ...]
    form: Form = "plain"
    values: tuple[Any, ...] = ()
    items: str = ""


@dataclass(frozen=True, slots=True)
class Flat:
    """A tool's arguments, flat: a JSON schema as `openclaw.tools.arguments` takes it, and where
    each argument goes."""

    parameters: Schema
    slots: Mapping[str, Slot]


def plain_name(name: str, longest: int = LONGEST_NAME) -> str:
    """A name of small letters, digits and single underscores; "tool" when nothing is left, or when
    it reads like an order."""
    ascii_only = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    split = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", ascii_only)
    plain = re.sub(r"[^a-z0-9]+", "_", split.casefold()).strip("_")[:longest].strip("_")
    return "tool" if not plain or ORDERS_IN_NAMES.search(plain) else plain


def plain_about(text: str, name: str) -> str:
    """The first sentence of a description on one line without what nobody sees; words made of the
    tool's name when it is empty or gives orders."""
    seen = (" " if unicodedata.category(c)[0] in "ZC" else c for c in text[:2000])
    kept = (c for c in seen if unicodedata.category(c)[0] not in "MS" or c.isascii())
    line = " ".join("".join(kept).split())
    sentence = re.split(r"(?<=[.!?])\s", line, maxsplit=1)[0]
    if not sentence or ORDERS.search(sentence):
        return name.replace("_", " ")
    if len(sentence) > LONGEST_ABOUT:
        sentence = sentence[: LONGEST_ABOUT - 1].rsplit(" ", 1)[0] + "\u2026"
    return sentence.rstrip(".") or name.replace("_", " ")


def flatten(schema: Schema) -> Flat:
    """The arguments of a tool. Raises ValueError for a schema that no flat call can fill."""
    walk = _Walk(schema)
    walk.object(schema, (), required=True, depth=0)
    required = [name for name in walk.properties if name in walk.required]
    if len(required) > MOST_ARGUMENTS:
        raise ValueError(f"it needs more than {MOST_ARGUMENTS} arguments")
    optional = [name for name in walk.properties if name not in walk.required]
    kept = [*required, *optional][:MOST_ARGUMENTS]
    properties = {name: walk.properties[name] for name in kept}
    parameters = {"type": "object", "properties": properties, "required": required}
    return Flat(parameters, {name: walk.slots[name] for name in kept})


def nest(flat: Flat, given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as the server wants them, from flat ones. Raises ToolProblem for a text that
    should hold JSON and does not."""
    whole: dict[str, Any] = {}
    for name, value in given.items():
        slot = flat.slots[name]
        place = whole
        for key in slot.path[:-1]:
            place = place.setdefault(key, {})
        place[slot.path[-1]] = _value(name, slot, value)
    return whole


def _value(name: str, slot: Slot, value: Any) -> Any:
    match slot.form:
        case "choice":
            return next((each for each in slot.values if _word(each) == value), value)
        case "list":
            return [_item(name, slot.items, each) for each in value]
        case "json":
            return _loaded(name, value)
        case "any":
            with suppress(ToolProblem):
                return _loaded(name, value)
    return value


def _item(name: str, kind: str, text: Any) -> Any:
    return text if kind == "string" else _loaded(name, text)


def _loaded(name: str, text: Any) -> Any:
    try:
        return json.loads(text) if isinstance(text, str) else text
    except (ValueError, RecursionError):
        raise ToolProblem(f'{name} is a text that holds JSON, for example {{"key": 1}}.') from None


class _Walk:
    """One way through a schema; it collects the flat arguments."""

    def __init__(self, root: Schema) -> None:
        self.root = root
        self.properties: dict[str, dict[str, Any]] = {}
        self.required: set[str] = set()
        self.slots: dict[str, Slot] = {}

    def object(self, schema: Schema, path: tuple[str, ...], *, required: bool, depth: int) -> None:
        properties = schema.get("properties")
        needed = schema.get("required")
        needed = needed if isinstance(needed, list) else []
        for key, inner in properties.items() if isinstance(properties, Mapping) else ():
            if len(self.properties) < 4 * MOST_ARGUMENTS:
                must = required and key in needed
                self.argument((*path, str(key)), self.meant(inner), must, depth)

    def argument(self, path: tuple[str, ...], schema: Schema, required: bool, depth: int) -> None:
        inner = schema.get("properties")
        if isinstance(inner, Mapping) and inner and depth + 1 < DEEPEST and not schema.get("enum"):
            self.object(schema, path, required=required, depth=depth + 1)
            return
        name = self.name(path)
        self.properties[name], self.slots[name] = _argument(path, schema, self)
        if required:
            self.required.add(name)

    def name(self, path: Sequence[str]) -> str:
        """A name for an argument that no other one and no key of a step has."""
        plain = ".".join(re.sub(r"[^A-Za-z0-9_]+", "_", key)[:LONGEST_NAME] for key in path)
        plain = "value" if not plain or ORDERS_IN_NAMES.search(plain) else plain
        plain = f"{plain}_" if plain in TAKEN else plain
        number, name = 2, plain
        while name in self.properties:
            name, number = f"{plain}_{number}", number + 1
        return name

    def meant(self, schema: Any, hops: int = 8) -> Schema:
        """What a schema comes down to: references followed, null and wrappings left out."""
        if not isinstance(schema, Mapping) or hops == 0:
            return {}
        if isinstance(reference := schema.get("$ref"), str):
            return self.meant(self.referred(reference), hops - 1)
        for key in ("anyOf", "oneOf", "allOf"):
            if isinstance(options := schema.get(key), list) and "properties" not in schema:
                return self.one(options[:20], hops, every=key == "allOf")
        kind = schema.get("type")
        if isinstance(kind, list):
            kinds = [each for each in kind if each != "null"]
            return {**schema, "type": kinds[0] if len(kinds) == 1 else ""}
        return schema

    def one(self, options: Sequence[Any], hops: int, *, every: bool) -> Schema:
        found = [self.meant(each, hops - 1) for each in options]
        found = [each for each in found if each.get("type") != "null" and each]
        if len(found) == 1:
            return found[0]
        if every:
            return {key: value for each in found for key, value in each.items()}
        choices = [_choices(each) for each in found]
        if found and all(choices):
            return {"enum": [value for values in choices for value in values]}
        if found and {each.get("type") for each in found} <= {"integer", "number"}:
            return {"type": "number"}
        return {}

    def referred(self, reference: str) -> Any:
        place: Any = self.root
        if not reference.startswith("#/"):
            return {}
        for key in reference[2:].split("/"):
            plain = key.replace("~1", "/").replace("~0", "~")
            place = place.get(plain) if isinstance(place, Mapping) else None
        return place


def _argument(path: tuple[str, ...], schema: Schema, walk: _Walk) -> tuple[dict[str, Any], Slot]:
    """The flat schema of one argument, and where it goes."""
    values = _choices(schema)
    words = list(dict.fromkeys(map(_word, values)))
    if words and len(words) <= MOST_CHOICES and all(map(_harmless, words)):
        return {"type": "string", "enum": words}, Slot(path, "choice", tuple(values))
    kind = schema.get("type")
    if kind in SCALARS:
        return {"type": kind}, Slot(path)
    if kind == "array":
        items = walk.meant(schema.get("items"))
        inner, slot = _argument((), items, walk)
        if slot.form == "plain" and inner["type"] in SCALARS:
            return {"type": "array", "items": inner}, Slot(path, "list", items=inner["type"])
        if slot.form == "choice" and all(isinstance(each, str) for each in slot.values):
            return {"type": "array", "items": inner}, Slot(path, "list", items="string")
    if kind == "string" or (values and all(isinstance(each, str) for each in values)):
        return {"type": "string"}, Slot(path)
    return {"type": "string"}, Slot(path, "json" if kind in ("object", "array") else "any")


def _choices(schema: Schema) -> list[Any]:
    """The only values that a schema takes; none when it takes others."""
    if "const" in schema:
        return [schema["const"]]
    values = schema.get("enum")
    return [each for each in values if each is not None] if isinstance(values, list) else []


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _harmless(word: str) -> bool:
    """Whether a value may stand in a prompt: short, visible, and hardly a sentence."""
    return (
        0 < len(word) <= LONGEST_CHOICE
        and word.isprintable()
        and word.count(" ") <= 2
        and not re.search(r"[<>{}\[\]|`\"\\]", word)
    )
