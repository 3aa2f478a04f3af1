"""What MCP servers have listed, kept so that a turn starts none of them: .openclaw/cache/mcp.json.

Beside the lists stands the digest that each tool had when it was first seen. A server may describe
a tool otherwise once the user has allowed it for good; such a tool goes by a name with its new
digest, which the old grant does not cover.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from openclaw.config.servers import Server, short
from openclaw.files.beneath import read_bytes
from openclaw.files.json_reading import from_json
from openclaw.files.text import write_text
from openclaw.shapes import Effect
from openclaw.tools.mcp_schema import Flat, Slot, flatten, plain_about, plain_name

VERSION = 1
LONGEST_NAME = 64
"""Characters of a tool's name, the most that model servers take."""
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


@dataclass(frozen=True, slots=True)
class Listed:
    """A tool of a server, ready for use. `raw` is its name there, `digest` a hash of all that the
    server says of it; `reads` that it says the tool only reads, None when it says nothing."""

    raw: str
    name: str
    about: str
    flat: Flat
    digest: str
    reads: bool | None = None

    @property
    def seems(self) -> tuple[Effect, ...]:
        """What a call is good for, as far as one can tell: to look something up ("get"), to change
        something ("send"), or perhaps both. By this a step is chosen; what the tool may do is for
        the user's settings to decide."""
        words = self.name.partition("__")[2].split("_")
        first = next((word for word in words if word in LOOKS | CHANGES), "")
        if self.reads or (self.reads is None and first in LOOKS):
            return ("get",)
        return ("send",) if self.reads is False or first in CHANGES else ("send", "get")


@dataclass(slots=True)
class Cache:
    """What is known of the servers of a home, by server. `lists` go with a fingerprint of the
    server's settings; `pins` are first digests by tool name; `away` are times since 1970."""

    path: Path
    lists: dict[str, tuple[str, list[Listed]]] = field(default_factory=dict)
    pins: dict[str, str] = field(default_factory=dict)
    away: dict[str, float] = field(default_factory=dict)

    def tools(self, server: Server) -> list[Listed] | None:
        """The tools that a server last listed; None when that is not known."""
        fingerprint, tools = self.lists.get(server.name, ("", []))
        return tools if fingerprint == server.fingerprint else None

    def rests(self, server: Server) -> bool:
        """Whether a server could not be used a short while ago: the next prompt need not wait."""
        return 0 <= time.time() - self.away.get(server.name, 0) < AWAY_SECONDS

    def fail(self, server: Server, *, rests: bool = True) -> None:
        """Note that a server cannot be used now; unless it `rests`, the next prompt tries again."""
        self.away[server.name] = time.time() if rests else 0.0

    def failed(self, server: Server) -> bool:
        """Whether a server could not be used when it was last noted."""
        return server.name in self.away

    def take(self, server: Server, tools: list[Listed]) -> list[str]:
        """Keep a new list; gives the names of tools that are not what they were."""
        before = {tool.name: tool.digest for tool in self.lists.get(server.name, ("", []))[1]}
        changed = [t.name for t in tools if before.get(t.name, t.digest) != t.digest]
        for tool in tools:
            self.pins.setdefault(tool.name, tool.digest)
        self.lists[server.name] = (server.fingerprint, tools)
        self.away.pop(server.name, None)
        return changed

    def granted_as(self, tool: Listed) -> str:
        """The name by which a grant covers the tool as it is now."""
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


def read_cache(path: Path) -> Cache:
    """The cache in a file; an empty one when there is none or it cannot be read."""
    cache = Cache(path)
    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        value = from_json(read_bytes(path))
        if value["version"] == VERSION:
            cache.pins = {str(name): str(digest) for name, digest in value["pins"].items()}
            cache.away = {str(name): float(at) for name, at in value["away"].items()}
            for name, entry in value["lists"].items():
                cache.lists[name] = (entry["settings"], [_listed(t) for t in entry["tools"]])
    return cache


def read_list(server: Server, tools: Iterable[Mapping[str, Any]]) -> tuple[list[Listed], list[str]]:
    """The tools that a server lists, and the names of those that cannot be used."""
    found: dict[str, Listed] = {}
    unusable: list[str] = []
    for tool in sorted(tools, key=lambda each: str(each.get("name"))):
        raw = str(tool.get("name") or "")
        try:
            digest = _digest(tool)
            flat = flatten(tool.get("inputSchema") or {})
        except (ValueError, RecursionError, TypeError):
            unusable.append(plain_name(raw))
            continue
        name = _free_name(f"{short(server.name)}__{plain_name(raw)}", found)
        about = plain_about(str(tool.get("description") or ""), name.partition("__")[2])
        reads = (tool.get("annotations") or {}).get("readOnlyHint")
        hint = reads if isinstance(reads, bool) else None
        found[name] = Listed(raw, name, about, flat, digest, hint)
    return list(found.values()), unusable


def _free_name(wanted: str, taken: Mapping[str, Listed]) -> str:
    number, name = 2, wanted[:LONGEST_NAME].rstrip("_")
    while name in taken:
        end = f"_{number}"
        name, number = wanted[: LONGEST_NAME - len(end)] + end, number + 1
    return name


def _digest(tool: Mapping[str, Any]) -> str:
    said = {key: tool.get(key) for key in ("name", "description", "inputSchema", "annotations")}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:32]


def _listed(value: Mapping[str, Any]) -> Listed:
    flat = value["flat"]
    slots = {
        name: Slot(tuple(s["path"]), s["form"], tuple(s["values"]), s["items"])
        for name, s in flat["slots"].items()
    }
    fields = {key: value[key] for key in ("raw", "name", "about", "digest", "reads")}
    return Listed(flat=Flat(flat["parameters"], slots), **fields)


def plain_key(name: str) -> str:
    """A tool's name as it may be written in an allow list: as the server or as we spell it."""
    return re.sub(r"[^a-z0-9]+", "", name.casefold())
