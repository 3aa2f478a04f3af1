"""Translate the tools of an MCP server for the model, and the model's arguments back.

A JSON schema becomes flat arguments: nested objects get dotted names (`note.title`), and what
cannot be flat becomes a text with JSON in it. Servers are not trusted: names are made plain,
descriptions are cut to one short line, and words that give orders are dropped. `ServerCache` keeps
the lists of tools between runs.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from openclaw.config.mcp_settings import Server, tool_name_part
from openclaw.frozen import frozen
from openclaw.security.display import value_text
from openclaw.storage.safe_open import parse_foreign_json, read_json_cache
from openclaw.storage.text import write_text
from openclaw.types import Effect, ToolProblem

Schema = Mapping[str, Any]
Follow = Callable[[str, int], Schema]
"""Returns the schema that a reference means, simplified by at most so many steps."""
SlotForm = Literal["plain", "json", "any", "choice", "list"]

MAX_ARGUMENTS = 24
MAX_CHOICES = 40
DEEPEST = 3
LONGEST_NAME = 40
LONGEST_CHOICE = 40
LONGEST_ABOUT = 100
SCALARS = ("string", "integer", "number", "boolean")
# Keys of a step in JSON, and what a wrapped call may be called (`openclaw.agent.protocols.base`).
TAKEN = frozenset(
    """kind tool thought answer function arguments parameters args input action action_input
    tool_input tool_name""".split()
)
# Words of an order to the reader that no description of a tool needs. A wrong hit costs only the
# description, which is then made from the tool's name.
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


@frozen
class Slot:
    """Where a flat argument goes: the keys of its path, and the form of its value there."""

    path: tuple[str, ...]
    form: SlotForm = "plain"
    values: tuple[Any, ...] = ()
    items: str = ""


@frozen
class FlatArguments:
    """A tool's flat arguments: a JSON schema for `openclaw.tools.tool`, and where each goes."""

    parameters: Schema
    slots: Mapping[str, Slot]


def plain_name(name: str) -> str:
    """Reduce a name to small letters, digits and single underscores; "tool" when nothing is left,
    or when it reads like an order."""
    ascii_only = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    split = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", ascii_only)
    plain = re.sub(r"[^a-z0-9]+", "_", split.casefold()).strip("_")[:LONGEST_NAME].strip("_")
    return "tool" if not plain or ORDERS_IN_NAMES.search(plain) else plain


def plain_about(text: str, name: str) -> str:
    """The first sentence of a description on one line, without hidden characters; words from the
    tool's name when the sentence is empty or gives orders."""
    seen = (" " if unicodedata.category(c)[0] in "ZC" else c for c in text[:2000])
    kept = (c for c in seen if unicodedata.category(c)[0] not in "MS" or c.isascii())
    line = " ".join("".join(kept).split())
    sentence = re.split(r"(?<=[.!?])\s", line, maxsplit=1)[0]
    if not sentence or ORDERS.search(sentence):
        return name.replace("_", " ")
    if len(sentence) > LONGEST_ABOUT:
        sentence = sentence[: LONGEST_ABOUT - 1].rsplit(" ", 1)[0] + "\u2026"
    return sentence.rstrip(".") or name.replace("_", " ")


def flatten(schema: Schema) -> FlatArguments:
    """Flatten a tool's arguments. Raises ValueError for a schema that no flat call can fill."""
    properties: dict[str, dict[str, Any]] = {}
    slots: dict[str, Slot] = {}
    required: list[str] = []

    @cache  # choices that refer to each other would be followed on all ways
    def follow(reference: str, hops: int) -> Schema:
        return _simplify(follow, _resolve_reference(schema, reference), hops)

    for path, inner, needed in islice(_arguments(follow, schema), 4 * MAX_ARGUMENTS):
        name = _argument_name(path, properties)
        properties[name], slots[name] = _flatten_argument(path, inner, follow)
        required += [name] if needed else []
    if len(required) > MAX_ARGUMENTS:
        raise ValueError(f"it needs more than {MAX_ARGUMENTS} arguments")
    kept = [*required, *(name for name in properties if name not in required)][:MAX_ARGUMENTS]
    shown = {name: properties[name] for name in kept}
    parameters = {"type": "object", "properties": shown, "required": required}
    return FlatArguments(parameters, {name: slots[name] for name in kept})


def nest(flat: FlatArguments, given: Mapping[str, Any]) -> dict[str, Any]:
    """Turn flat arguments into those that the server wants. Raises ToolProblem for a text that
    should be JSON and is not."""
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
            return next((each for each in slot.values if value_text(each) == value), value)
        case "list" if slot.items != "string":
            return [_parse_json(name, each) for each in value]
        case "json":
            return _parse_json(name, value)
        case "any":
            with suppress(ToolProblem):
                return _parse_json(name, value)
    return value


def _parse_json(name: str, text: Any) -> Any:
    try:
        return parse_foreign_json(text) if isinstance(text, str) else text
    except ValueError:
        raise ToolProblem(f'{name} is a text that holds JSON, for example {{"key": 1}}.') from None


def _arguments(
    follow: Follow, schema: Schema, path: tuple[str, ...] = (), required: bool = True
) -> Iterator[tuple[tuple[str, ...], Schema, bool]]:
    """Yield the path and the schema of each argument, and whether it is needed."""
    properties, needed = schema.get("properties"), schema.get("required")
    for key, value in properties.items() if isinstance(properties, Mapping) else ():
        place, inner = (*path, str(key)), _simplify(follow, value)
        must = required and isinstance(needed, list) and key in needed
        below = inner.get("properties")
        if isinstance(below, Mapping) and below and len(place) < DEEPEST and not inner.get("enum"):
            yield from _arguments(follow, inner, place, must)
        else:
            yield place, inner, must


def _argument_name(path: Sequence[str], taken: Mapping[str, Any]) -> str:
    """A name that no other argument and no key of a step has."""
    plain = ".".join(re.sub(r"[^A-Za-z0-9_]+", "_", key)[:LONGEST_NAME] for key in path)
    plain = "value" if not plain or ORDERS_IN_NAMES.search(plain) else plain
    plain = f"{plain}_" if plain in TAKEN else plain
    number, name = 2, plain
    while name in taken:
        name, number = f"{plain}_{number}", number + 1
    return name


def _simplify(follow: Follow, schema: Any, hops: int = 8) -> Schema:
    """Simplify a schema: follow references, drop null and wrappers."""
    if not isinstance(schema, Mapping) or hops == 0:
        return {}
    if isinstance(reference := schema.get("$ref"), str):
        return follow(reference, hops - 1)
    for key in ("anyOf", "oneOf", "allOf"):
        if isinstance(options := schema.get(key), list) and "properties" not in schema:
            found = [_simplify(follow, each, hops - 1) for each in options[:20]]
            return _join_options(found, every=key == "allOf")
    kind = schema.get("type")
    if isinstance(kind, list):
        kinds = [each for each in kind if each != "null"]
        return {**schema, "type": kinds[0] if len(kinds) == 1 else ""}
    return schema


def _join_options(options: Sequence[Schema], *, every: bool) -> Schema:
    found = [each for each in options if each.get("type") != "null" and each]
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


def _resolve_reference(root: Schema, reference: str) -> Any:
    place: Any = root
    if not reference.startswith("#/"):
        return {}
    for key in reference[2:].split("/"):
        plain = key.replace("~1", "/").replace("~0", "~")
        place = place.get(plain) if isinstance(place, Mapping) else None
    return place


def _flatten_argument(
    path: tuple[str, ...], schema: Schema, follow: Follow
) -> tuple[dict[str, Any], Slot]:
    """The flat schema of one argument, and where it goes."""
    values = _choices(schema)
    words = list(dict.fromkeys(map(value_text, values)))
    if words and len(words) <= MAX_CHOICES and all(map(_is_harmless, words)):
        return {"type": "string", "enum": words}, Slot(path, "choice", tuple(values))
    kind = schema.get("type")
    if kind in SCALARS:
        return {"type": kind}, Slot(path)
    items = _simplify(follow, schema.get("items")) if kind == "array" else {}
    if kind == "array" and items.get("type") != "array":  # a list of lists, perhaps without end
        inner, slot = _flatten_argument((), items, follow)
        if slot.form == "plain" or (slot.form == "choice" and _are_texts(slot.values)):
            return {"type": "array", "items": inner}, Slot(path, "list", items=inner["type"])
    if values and _are_texts(values):
        return {"type": "string"}, Slot(path)
    return {"type": "string"}, Slot(path, "json" if kind in ("object", "array") else "any")


def _are_texts(values: Sequence[Any]) -> bool:
    return all(isinstance(each, str) for each in values)


def _choices(schema: Schema) -> list[Any]:
    """The only values that a schema allows; none when it allows others."""
    if "const" in schema:
        return [schema["const"]]
    values = schema.get("enum")
    return [each for each in values if each is not None] if isinstance(values, list) else []


def _is_harmless(word: str) -> bool:
    """Return True for a value that may go into a prompt: short, visible, and hardly a sentence."""
    return (
        0 < len(word) <= LONGEST_CHOICE
        and word.isprintable()
        and word.count(" ") <= 2
        and not re.search(r"[<>{}\[\]|`\"\\]", word)
    )


VERSION = 1
LONGEST_LISTED_NAME = 64  # characters of a tool's name, the most that model servers take
DIGESTED = ("name", "description", "inputSchema", "annotations")
AWAY_SECONDS = 300
LOOKS = frozenset(
    """get list search find read fetch query show look lookup view check count describe browse
    download status info summarize summary compare convert calculate inspect resolve""".split()
)
CHANGES = frozenset(
    """add create new write update edit set put post send delete remove clear move rename copy
    insert append upload publish submit save store close open start stop run execute cancel archive
    merge push commit assign invite comment reply book order pay buy transfer subscribe enable
    disable approve reject reset schedule upsert patch install mark""".split()
)


@frozen
class ServerTool:
    """A tool of a server, ready for use."""

    raw: str  # its name on the server
    name: str
    about: str
    flat: FlatArguments
    digest: str  # a hash of everything that the server tells about the tool
    reads: bool | None = None  # the server's claim that it only reads, None without one

    @property
    def seems(self) -> tuple[Effect, ...]:
        """The likely effects of a call: it looks something up ("get"), changes something ("send"),
        or perhaps both. This helps to choose a step; the user's settings decide what the tool may
        do."""
        words = self.name.partition("__")[2].split("_")
        first = next((word for word in words if word in LOOKS | CHANGES), "")
        if self.reads or (self.reads is None and first in LOOKS):
            return ("get",)
        return ("send",) if self.reads is False or first in CHANGES else ("send", "get")


@dataclass(slots=True)
class ServerCache:
    """The knowledge about the servers of a home, by the server's name."""

    path: Path
    # A fingerprint of the server's settings, and its tools.
    lists: dict[str, tuple[str, list[ServerTool]]] = field(default_factory=dict)
    pins: dict[str, str] = field(default_factory=dict)  # the first digests, by tool name
    away: dict[str, float] = field(default_factory=dict)  # seconds since 1970

    def tools(self, server: Server) -> list[ServerTool] | None:
        """The tools that a server last listed; None when they are not known."""
        fingerprint, tools = self.lists.get(server.name, ("", []))
        return tools if fingerprint == server.fingerprint else None

    def rests(self, server: Server) -> bool:
        """Return True when a server failed a short while ago: the next prompt need not wait."""
        return 0 <= time.time() - self.away.get(server.name, 0) < AWAY_SECONDS

    def fail(self, server: Server, *, rests: bool = True) -> None:
        """Note that a server cannot be used now; unless it `rests`, the next prompt tries again."""
        self.away[server.name] = time.time() if rests else 0.0

    def failed(self, server: Server) -> bool:
        """Return True when the last note about a server is a failure."""
        return server.name in self.away

    def take(self, server: Server, tools: list[ServerTool]) -> list[str]:
        """Keep a new list; returns the names of tools that have changed."""
        before = {tool.name: tool.digest for tool in self.lists.get(server.name, ("", []))[1]}
        changed = [t.name for t in tools if before.get(t.name, t.digest) != t.digest]
        for tool in tools:
            self.pins.setdefault(tool.name, tool.digest)
        self.lists[server.name] = (server.fingerprint, tools)
        self.away.pop(server.name, None)
        return changed

    def granted_as(self, tool: ServerTool) -> str:
        """The name under which a grant covers the tool in its present form."""
        same = self.pins.get(tool.name, tool.digest) == tool.digest
        return tool.name if same else f"{tool.name}.{tool.digest[:8]}"

    def save(self) -> None:
        value = {
            "version": VERSION,
            "lists": {
                name: {"settings": settings, "tools": [asdict(tool) for tool in tools]}
                for name, (settings, tools) in self.lists.items()
            },
            "pins": self.pins,
            "away": self.away,
        }
        write_text(self.path, json.dumps(value, ensure_ascii=False) + "\n")


def read_cache(path: Path) -> ServerCache:
    """Read the cache; an empty one when there is no file or it cannot be read."""
    cache = ServerCache(path)
    if value := read_json_cache(path, VERSION):
        with suppress(ValueError, KeyError, TypeError, AttributeError):
            cache.pins = {str(name): str(digest) for name, digest in value["pins"].items()}
            cache.away = {str(name): float(at) for name, at in value["away"].items()}
            for name, entry in value["lists"].items():
                cache.lists[name] = (
                    entry["settings"],
                    [_tool_from_json(t) for t in entry["tools"]],
                )
    return cache


def read_list(
    server: Server, tools: Iterable[Mapping[str, Any]]
) -> tuple[list[ServerTool], list[str]]:
    """The tools that a server lists, and the names of those that cannot be used."""
    found: dict[str, ServerTool] = {}
    unusable: list[str] = []
    for tool in sorted(tools, key=lambda each: str(each.get("name"))):
        raw = str(tool.get("name") or "")
        try:
            said = {key: tool.get(key) for key in DIGESTED}
            digest = hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:32]
            flat = flatten(tool.get("inputSchema") or {})
        except (ValueError, RecursionError, TypeError):
            unusable.append(plain_name(raw))
            continue
        name = _free_name(f"{tool_name_part(server.name)}__{plain_name(raw)}", found)
        about = plain_about(str(tool.get("description") or ""), name.partition("__")[2])
        reads = (tool.get("annotations") or {}).get("readOnlyHint")
        hint = reads if isinstance(reads, bool) else None
        found[name] = ServerTool(raw, name, about, flat, digest, hint)
    return list(found.values()), unusable


def _free_name(wanted: str, taken: Mapping[str, ServerTool]) -> str:
    number, name = 2, wanted[:LONGEST_LISTED_NAME].rstrip("_")
    while name in taken:
        end = f"_{number}"
        name, number = wanted[: LONGEST_LISTED_NAME - len(end)] + end, number + 1
    return name


def _tool_from_json(value: Mapping[str, Any]) -> ServerTool:
    flat = value["flat"]
    slots = {
        name: Slot(tuple(s["path"]), s["form"], tuple(s["values"]), s["items"])
        for name, s in flat["slots"].items()
    }
    fields = {key: value[key] for key in ("raw", "name", "about", "digest", "reads")}
    return ServerTool(flat=FlatArguments(flat["parameters"], slots), **fields)


def plain_key(name: str) -> str:
    """A tool's name in one spelling: an allow list may have the server's or ours."""
    return re.sub(r"[^a-z0-9]+", "", name.casefold())
