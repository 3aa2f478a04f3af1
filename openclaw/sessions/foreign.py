"""Reads conversations that other agents have kept as JSON or JSONL, and puts them into the home.

Three shapes. OpenClaw: a tree of entries with `id` and `parentId`, a header of type "session" first
(openclaw/openclaw, docs/reference/session-management-compaction). nanobot: messages as OpenAI's API
has them, below a line with `_type` "metadata" (HKUDS/nanobot, nanobot/session/manager.py). Hermes:
the same messages in one JSON object, or as lines below one of the role "session_meta"; that was
only seen in excerpts of third parties' parsers, not in Hermes' sources or in files of real ones.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from openclaw.files.text import encode, write_if_same
from openclaw.sessions.foreign_messages import iso_time, thread
from openclaw.sessions.session import NotASession, Session, title_of, to_json
from openclaw.shapes import Keep, keep_nothing

IMPORTED = "imported_from"
"""Of a session's file: which agent it comes from, its id there and the SHA-256 of its file."""
_NOT_IN_AN_ID = re.compile(r"[^A-Za-z0-9_]+")
_HERMES_FILE = re.compile(r"session_(?P<id>.+)")


@dataclass(slots=True)
class Foreign:
    """A conversation as it was read. `id` is the one that the other agent gave it, `unread` the
    number of lines that were no JSON or no message."""

    id: str
    session: Session
    unread: int = 0


@dataclass(slots=True)
class _Found:
    """What a file says: a head, messages in OpenAI's or OpenClaw's shape, lines not understood."""

    head: Mapping[str, Any] = field(default_factory=dict)
    messages: list[Mapping[str, Any]] = field(default_factory=list)
    unread: int = 0


def read_foreign(text: str, name: str) -> Foreign:
    """A conversation from the text of a file; `name` is the file's name without its suffix.

    Its messages have no more than was said, what tools were asked for and what they gave. Raises
    NotASession when there is no message of a user or an assistant in it.
    """
    found = _found(text)
    head = found.head
    entries = thread(found.messages)
    if not entries:
        raise NotASession("it holds no messages")
    own = _text(head, "id", "session_id") or _own_id(name)
    times = [entry.at for entry in entries if entry.at]
    begun = iso_time(head.get("created_at") or head.get("session_start") or head.get("timestamp"))
    ended = iso_time(head.get("updated_at") or head.get("last_updated"))
    session = Session(
        "",
        title=_text(_mapping(head.get("metadata")), "title") or _text(head, "title"),
        created_at=begun or (times[0] if times else ""),
        updated_at=(times[-1] if times else "") or ended or begun,
        model=_text(head, "model") or _model(found.messages),
        messages=entries,
    )
    session.title = " ".join(session.title.split()) or title_of(entries)
    return Foreign(own, session, found.unread)


def home_id(label: str, own: str) -> str:
    """The id that a conversation of another agent has here; the same one at every import."""
    plain = _NOT_IN_AN_ID.sub("-", own).strip("-") or "session"
    name = f"{label}-{plain}"
    if plain == own.replace(":", "-") and len(name) <= 64:
        return name
    import hashlib

    tail = hashlib.sha256(own.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{name[:55].rstrip('-')}-{tail}"


def put(folder: Path, session: Session, keep: Keep = keep_nothing) -> bool:
    """Write a new conversation, its times as they are; False when there is one of its id. `keep` is
    told before."""
    return write_if_same(folder / f"{session.id}.json", None, encode(to_json(session)), keep)


def _found(text: str) -> _Found:
    stripped = text.strip()
    whole = _json(stripped)
    if isinstance(whole, dict) and isinstance(whole.get("messages"), list):
        messages: list[Mapping[str, Any]] = [m for m in whole["messages"] if isinstance(m, dict)]
        return _Found(whole, messages, len(whole["messages"]) - len(messages))
    if isinstance(whole, list):
        return _Found({}, [item for item in whole if isinstance(item, dict)])
    found = _Found()
    tree: list[Mapping[str, Any]] = []
    for line in stripped.splitlines():
        item = _json(line) if line.strip() else {}
        if not isinstance(item, dict):
            found.unread += 1
        elif item.get("type") == "session":
            found.head = item
        elif item.get("_type") == "metadata":
            found.head = {**item, "id": item.get("key") or ""}
        elif item.get("role") == "session_meta":
            found.head = {**item, "id": ""}
        elif isinstance(item.get("type"), str) and ("id" in item or "message" in item):
            tree.append(item)
        elif isinstance(item.get("role"), str):
            found.messages.append(item)
    found.messages += _branch(tree)
    return found


def _branch(entries: list[Mapping[str, Any]]) -> Iterable[Mapping[str, Any]]:
    """The messages on the way from the newest entry of a tree back to its root, oldest first; all
    of them in their order where the way is broken (an entry lost, a file of version 1)."""
    known = {entry["id"]: entry for entry in entries if isinstance(entry.get("id"), str)}
    way: list[Mapping[str, Any]] = []
    at: Mapping[str, Any] | None = entries[-1] if entries else None
    while at is not None and len(way) <= len(entries):
        way.append(at)
        parent = at.get("parentId")
        if parent is None:
            break
        at = known.get(parent) if isinstance(parent, str) else None
    whole = bool(way) and way[-1].get("parentId", "") is None and len(way) <= len(entries)
    for entry in reversed(way) if whole else entries:
        message = entry.get("message")
        if entry.get("type") == "message" and isinstance(message, dict):
            yield {"timestamp": entry.get("timestamp"), **message}


def _own_id(name: str) -> str:
    found = _HERMES_FILE.fullmatch(name)
    return found["id"] if found else name


def _model(messages: Iterable[Mapping[str, Any]]) -> str:
    """The model of the newest answer that names one."""
    named = [_text(item, "model") for item in messages if item.get("role") == "assistant"]
    return next((name for name in reversed(named) if name), "")


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(data: Mapping[str, Any], *names: str) -> str:
    return next((value for name in names if isinstance(value := data.get(name), str) and value), "")
