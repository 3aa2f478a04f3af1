"""Import conversations. What others may have said in them stays marked as theirs."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import Any

from openclaw.errors import OpenclawError
from openclaw.maintenance.importers.source import Source
from openclaw.maintenance.importers.steps import ImportStep, SourceItem, Transfer
from openclaw.messages import Entry, ToolUse
from openclaw.security.masking import disarm_masks, map_texts
from openclaw.security.untrusted import fence
from openclaw.sessions.session import (
    INTERRUPTED,
    NotASession,
    Session,
    SessionState,
    give_result,
    mask_session,
    read_input,
    title_of,
    to_json,
    turn_starts,
)
from openclaw.storage.safe_open import json_or_none, read_text
from openclaw.storage.text import encode
from openclaw.types import local_time


def plan_conversation(to: Transfer, item: SourceItem) -> ImportStep:
    """Plan a file's import. One that is here already is never written again. OpenclawError when it
    cannot be read."""
    try:
        session, unread = _read(to, item)
    except NotASession as error:
        return item.step("leave", detail=str(error))
    target = f"sessions/{home_id(to.format, session.id)}.json"
    if target in to.planned:
        return item.step("known", target, f"the same conversation as {to.planned[target]}")
    to.planned[target] = item.path
    if (to.home.root / target).exists():
        if _is_made_of(to, item, target):
            return item.step("known", target)
        return item.step("leave", target, "went on since it was imported")
    told = f"{len(session.messages)} messages"
    lost = f"; {unread} lines could not be read" if unread else ""
    return item.step("write", target, told + lost)


def take_conversation(to: Transfer, step: ImportStep) -> ImportStep:
    """Write the conversation. What its tools gave back is fenced, as results of our tools are."""
    session, _ = _read(to, step.item)
    own, session.id = session.id, home_id(to.format, session.id)
    session.messages = [_without_marks(entry, to.label) for entry in session.messages]
    now = local_time().isoformat(timespec="milliseconds")
    session.created_at = session.created_at or now
    session.updated_at = session.updated_at or session.created_at
    users = turn_starts(session.messages)
    state = SessionState(
        imported_from={
            "agent": to.format,
            "id": own,
            "path": step.item.path,
            "sha256": _sha256(to.source, step.item),
            "at": now,
        },
        foreign={f"a conversation of {to.label}": users[-1] if users else 0},
    )
    session.extra = state.as_json()
    mask_session(to.masker, session)
    return to.write(step, None, encode(to_json(session)))


def _read(to: Transfer, item: SourceItem) -> tuple[Session, int]:
    place = PurePosixPath(item.path)
    session, unread = read_foreign(to.source.text(item.path), place.stem)
    folder = str(place.parent)
    if folder not in to.titles:
        to.titles[folder] = _titles(to.source, f"{folder}/sessions.json")
    session.title = disarm_masks(to.titles[folder].get(session.id) or session.title)
    return session, unread


def _titles(source: Source, path: str) -> dict[str, str]:
    """Return the names that OpenClaw's sessions.json gives to conversations, by their id."""
    with suppress(OpenclawError):
        entries = [_mapping(entry) for entry in _mapping(json_or_none(source.text(path))).values()]
        names = ("label", "displayName", "subject")
        return {_text(each, "sessionId"): " ".join(_text(each, *names).split()) for each in entries}
    return {}


def _without_marks(entry: Entry, label: str) -> Entry:
    calls = []
    for use in entry.tool_calls:
        by = f"{use.tool}, a tool of {label}"
        text = fence(disarm_masks(use.output), by, os.urandom(4).hex())
        calls.append(replace(use, input=map_texts(use.input, disarm_masks), output=text))
    return replace(entry, content=disarm_masks(entry.content), tool_calls=tuple(calls))


def _is_made_of(to: Transfer, item: SourceItem, target: str) -> bool:
    """Tell whether the conversation here was made of this very file."""
    try:
        data = json_or_none(read_text(to.home.root / target))
    except (OSError, ValueError):
        return False
    note = SessionState.from_json(_mapping(data)).imported_from or {}
    return note.get("sha256") == _sha256(to.source, item)


def _sha256(source: Source, item: SourceItem) -> str:
    return hashlib.sha256(source.held(item.path)).hexdigest()


_Mapping = Mapping[str, Any]
_NOT_IN_AN_ID = re.compile(r"[^A-Za-z0-9_]+")
_HERMES_FILE = re.compile(r"session_(?P<id>.+)")


def read_foreign(text: str, name: str) -> tuple[Session, int]:
    """Read a conversation from the text of a file; `name` is the file's name without its suffix.
    Return it, under the id that the other agent gave it, and the number of lines that were not JSON
    or not a message.

    Its messages have only texts, tool calls and their results. Raises NotASession when there is no
    message of a user or an assistant in it.
    """
    head, messages, unread = _parse_text(text)
    entries = thread(messages)
    if not entries:
        raise NotASession("it holds no messages")
    hermes = _HERMES_FILE.fullmatch(name)
    answers = (item for item in reversed(messages) if item.get("role") == "assistant")
    named = (_text(item, "model") for item in answers)
    times = [entry.at for entry in entries if entry.at]
    begun = iso_time(head.get("created_at") or head.get("session_start") or head.get("timestamp"))
    ended = iso_time(head.get("updated_at") or head.get("last_updated"))
    session = Session(
        _text(head, "id", "session_id") or (hermes["id"] if hermes else name),
        title=_text(_mapping(head.get("metadata")), "title") or _text(head, "title"),
        created_at=begun or (times[0] if times else ""),
        updated_at=(times[-1] if times else "") or ended or begun,
        model=_text(head, "model") or next(filter(None, named), ""),
        messages=entries,
    )
    session.title = " ".join(session.title.split()) or title_of(entries)
    return session, unread


def home_id(label: str, own: str) -> str:
    """Return the id of another agent's conversation in the home; it is the same at every import."""
    plain = _NOT_IN_AN_ID.sub("-", own).strip("-") or "session"
    name = f"{label}-{plain}"
    if plain == own.replace(":", "-") and len(name) <= 64:
        return name

    tail = hashlib.sha256(own.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{name[:55].rstrip('-')}-{tail}"


def _parse_text(text: str) -> tuple[_Mapping, list[_Mapping], int]:
    """Return the head of a file, its messages in OpenAI's or OpenClaw's shape, and the number of
    those that were not understood."""
    stripped = text.strip()
    whole = json_or_none(stripped)
    if isinstance(whole, dict) and isinstance(whole.get("messages"), list):
        messages: list[_Mapping] = [m for m in whole["messages"] if isinstance(m, dict)]
        return whole, messages, len(whole["messages"]) - len(messages)
    if isinstance(whole, list):
        return {}, [item for item in whole if isinstance(item, dict)], 0
    head: _Mapping = {}
    messages, tree, unread = [], list[_Mapping](), 0
    for line in stripped.split("\n"):  # a text may hold other line ends
        item = json_or_none(line) if line.strip() else {}
        if not isinstance(item, dict):
            unread += 1
        elif item.get("type") == "session":
            head = item
        elif item.get("_type") == "metadata":
            head = {**item, "id": item.get("key") or ""}
        elif item.get("role") == "session_meta":
            head = {**item, "id": ""}
        elif isinstance(item.get("type"), str) and ("id" in item or "message" in item):
            tree.append(item)
        elif isinstance(item.get("role"), str):
            messages.append(item)
    return head, [*messages, *_branch(tree)], unread


def _branch(entries: list[_Mapping]) -> Iterable[_Mapping]:
    """Return the messages on the way from the newest entry of a tree back to its root, oldest
    first; all of them in their order where the way is broken (an entry lost, a file of version 1).
    """
    known = {entry["id"]: entry for entry in entries if isinstance(entry.get("id"), str)}
    way: list[_Mapping] = []
    at: _Mapping | None = entries[-1] if entries else None
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


def _mapping(value: Any) -> _Mapping:
    return value if isinstance(value, dict) else {}


def _text(data: _Mapping, *names: str) -> str:
    return next((value for name in names if isinstance(value := data.get(name), str) and value), "")


LONGEST_RESULT = 20_000
"""Characters of a tool's result that are taken over; what a result holds beyond helps no model."""
_MILLISECONDS = 1e11  # a time in seconds is below it until the year 5138
_RESULTS = ("tool", "toolResult", "function")


def thread(messages: Iterable[_Mapping]) -> list[Entry]:
    """Return the messages of users and assistants in their order, each call with its result.

    Messages of other roles (instructions of the system) are left out, and so are thoughts.
    """
    entries: list[Entry] = []
    for item in messages:
        role = item.get("role")
        if role in _RESULTS:
            wanted = str(item.get("tool_call_id") or item.get("toolCallId") or "")
            said, ok = _truncate(content_text(item.get("content"))), item.get("isError") is not True
            give_result(entries, said, ok=ok, call_id=wanted)
        elif role == "user":
            entries.append(Entry("user", content_text(item.get("content")), at=_at(item)))
        elif role == "assistant":
            said, calls = content_text(item.get("content")), _calls(item)
            if said or calls:
                entries.append(Entry("assistant", said, tool_calls=calls, at=_at(item)))
    return entries


def content_text(content: Any) -> str:
    """Return the text of a message's content: a text, or parts of which those with text count and
    images and files are named."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(filter(None, map(_part, parts)))


def iso_time(value: Any) -> str:
    """Return a time as ISO 8601 with offset, "" for what is not a time.

    Reads ISO text (without an offset local time), and seconds or milliseconds since 1970.
    """
    try:
        if isinstance(value, str) and value:
            when = datetime.fromisoformat(value)
        elif isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
            seconds = value / 1000 if value > _MILLISECONDS else value
            when = datetime.fromtimestamp(seconds, UTC)
        else:
            return ""
        return when.astimezone().isoformat(timespec="milliseconds")
    except (ValueError, OverflowError, OSError):
        return ""


def _at(item: _Mapping) -> str:
    return iso_time(item.get("timestamp"))


def _part(part: Any) -> str:
    if isinstance(part, str):
        return part
    part = _mapping(part)
    if isinstance(text := part.get("text"), str):
        return text
    kind = str(part.get("type") or "")
    named = ("image", "audio", "file", "document")
    return next((f"[{word}]" for word in named if word in kind), "")


def _calls(item: _Mapping) -> tuple[ToolUse, ...]:
    """Return the calls of an assistant's message, none of them answered yet."""
    content, listed = item.get("content"), item.get("tool_calls")
    parts = map(_mapping, content if isinstance(content, list) else [])
    found = [part for part in parts if part.get("type") == "toolCall"]
    found += filter(None, map(_mapping, listed if isinstance(listed, list) else []))
    uses = []
    for call in found:
        inner = _mapping(call.get("function")) or call
        name, given = _text(inner, "name") or "tool", read_input(inner.get("arguments") or {})
        uses.append(ToolUse(_text(call, "id", "call_id"), name, given, INTERRUPTED, False))
    return tuple(uses)


def _truncate(text: str) -> str:
    if len(text) <= LONGEST_RESULT:
        return text or "(nothing)"
    return f"{text[:LONGEST_RESULT]}\n[{len(text) - LONGEST_RESULT:,} more characters not imported]"
