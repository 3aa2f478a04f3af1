"""Import conversations. What others may have said in them stays marked as theirs."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from openclaw.errors import OpenclawError
from openclaw.maintenance.importers.detect import Format, SourceItem
from openclaw.maintenance.importers.source import Source
from openclaw.maintenance.importers.steps import ImportStep
from openclaw.messages import Entry, ToolUse
from openclaw.security.untrusted import fence
from openclaw.security.vault import Vault, disarm_masks, map_texts
from openclaw.sessions import masking
from openclaw.sessions.session import (
    INTERRUPTED,
    NotASession,
    Session,
    SessionState,
    title_of,
    to_json,
)
from openclaw.storage.home import Home
from openclaw.storage.text import encode, read_text, write_if_same
from openclaw.types import BeforeWrite, record_no_write


@dataclass(slots=True)
class ConversationImporter:
    """Plans and writes conversations. One that is here already is never written again."""

    home: Home
    vault: Vault
    format: Format
    label: str
    now: Callable[[], datetime]
    keep: BeforeWrite = record_no_write
    _planned: dict[str, str] = field(default_factory=dict)
    _titles: dict[str, dict[str, str]] = field(default_factory=dict)

    def plan(self, source: Source, item: SourceItem) -> ImportStep:
        """Plan a file's import. OpenclawError when it cannot be read."""
        try:
            found = self._read(source, item)
        except NotASession as error:
            return ImportStep("session", item.path, "", "leave", str(error), item)
        name = home_id(self.format, found.id)
        target = f"sessions/{name}.json"
        if name in self._planned:
            told = f"the same conversation as {self._planned[name]}"
            return ImportStep("session", item.path, target, "known", told, item)
        self._planned[name] = item.path
        if (self.home.root / target).exists():
            told = "" if self._is_same(source, item, target) else "went on since it was imported"
            return ImportStep(
                "session", item.path, target, "leave" if told else "known", told, item
            )
        told = f"{len(found.session.messages)} messages"
        lost = f"; {found.unread} lines could not be read" if found.unread else ""
        return ImportStep("session", item.path, target, "write", told + lost, item)

    def carry_out(self, source: Source, step: ImportStep) -> ImportStep:
        item = step.item
        found = self._read(source, item)
        session = found.session
        session.id = home_id(self.format, found.id)
        session.messages = [self._entry(entry) for entry in session.messages]
        session.created_at = session.created_at or self._now()
        session.updated_at = session.updated_at or session.created_at
        users = [at for at, entry in enumerate(session.messages) if entry.role == "user"]
        state = SessionState(
            imported_from={
                "agent": self.format,
                "id": found.id,
                "path": item.path,
                "sha256": _sha256(source, item),
                "at": self._now(),
            },
            foreign={f"a conversation of {self.label}": users[-1] if users else 0},
        )
        session.extra = state.as_json()
        masking.mask_session(self.vault, session)
        if write_conversation(self.home.sessions, session, self.keep):
            return step
        return step.with_result("failed", "the place was taken meanwhile; import again")

    def _read(self, source: Source, item: SourceItem) -> ForeignConversation:
        place = PurePosixPath(item.path)
        found = read_foreign(source.text(item.path), place.stem)
        given = self._titles_in(source, place.parent.as_posix()).get(found.id)
        found.session.title = disarm_masks(given or found.session.title)
        return found

    def _titles_in(self, source: Source, folder: str) -> dict[str, str]:
        """Return the names that OpenClaw's sessions.json gives to conversations, by their id."""
        if folder not in self._titles:
            self._titles[folder] = _titles(source, f"{folder}/sessions.json")
        return self._titles[folder]

    def _entry(self, entry: Entry) -> Entry:
        calls = tuple(self._fence_result(use) for use in entry.tool_calls)
        return replace(entry, content=disarm_masks(entry.content), tool_calls=calls)

    def _fence_result(self, use: ToolUse) -> ToolUse:
        """Fence a call's result, as for a tool of ours."""
        by = f"{use.tool}, a tool of {self.label}"
        text = fence(disarm_masks(use.output), by, os.urandom(4).hex())
        return replace(use, input=map_texts(use.input, disarm_masks), output=text)

    def _is_same(self, source: Source, item: SourceItem, target: str) -> bool:
        """Tell whether the conversation here was made of this very file."""
        try:
            data = json.loads(read_text(self.home.root / target))
        except (OSError, ValueError, RecursionError):
            return False
        note = SessionState.from_json(data if isinstance(data, dict) else {}).imported_from or {}
        return note.get("sha256") == _sha256(source, item)

    def _now(self) -> str:
        return self.now().isoformat(timespec="milliseconds")


def _titles(source: Source, path: str) -> dict[str, str]:
    found: dict[str, str] = {}
    try:
        data: Any = json.loads(source.text(path)) if source.is_file(path) else {}
    except (OpenclawError, ValueError, RecursionError):
        return found
    for entry in data.values() if isinstance(data, dict) else ():
        if isinstance(entry, dict) and isinstance(entry.get("sessionId"), str):
            names = (entry.get(key) for key in ("label", "displayName", "subject"))
            title = next((name for name in names if isinstance(name, str) and name.strip()), "")
            found[entry["sessionId"]] = " ".join(title.split())
    return found


def _sha256(source: Source, item: SourceItem) -> str:
    return hashlib.sha256(source.held(item.path)).hexdigest()


_NOT_IN_AN_ID = re.compile(r"[^A-Za-z0-9_]+")
_HERMES_FILE = re.compile(r"session_(?P<id>.+)")


@dataclass(slots=True)
class ForeignConversation:
    """A conversation as it was read.

    `id`: the id that the other agent gave it.
    `unread`: number of lines that were not JSON or not a message.
    """

    id: str
    session: Session
    unread: int = 0


@dataclass(slots=True)
class _ParsedFile:
    """The content of a file: a head, messages in OpenAI's or OpenClaw's shape, lines not
    understood.
    """

    head: Mapping[str, Any] = field(default_factory=dict)
    messages: list[Mapping[str, Any]] = field(default_factory=list)
    unread: int = 0


def read_foreign(text: str, name: str) -> ForeignConversation:
    """Read a conversation from the text of a file; `name` is the file's name without its suffix.

    Its messages have only texts, tool calls and their results. Raises NotASession when there is no
    message of a user or an assistant in it.
    """
    found = _parse_text(text)
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
    return ForeignConversation(own, session, found.unread)


def home_id(label: str, own: str) -> str:
    """Return the id of another agent's conversation in the home; it is the same at every import."""
    plain = _NOT_IN_AN_ID.sub("-", own).strip("-") or "session"
    name = f"{label}-{plain}"
    if plain == own.replace(":", "-") and len(name) <= 64:
        return name

    tail = hashlib.sha256(own.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{name[:55].rstrip('-')}-{tail}"


def write_conversation(folder: Path, session: Session, keep: BeforeWrite = record_no_write) -> bool:
    """Write a new conversation, its times as they are; False when one of its id exists. `keep` is
    called before.
    """
    return write_if_same(folder / f"{session.id}.json", None, encode(to_json(session)), keep)


def _parse_text(text: str) -> _ParsedFile:
    stripped = text.strip()
    whole = _json(stripped)
    if isinstance(whole, dict) and isinstance(whole.get("messages"), list):
        messages: list[Mapping[str, Any]] = [m for m in whole["messages"] if isinstance(m, dict)]
        return _ParsedFile(whole, messages, len(whole["messages"]) - len(messages))
    if isinstance(whole, list):
        return _ParsedFile({}, [item for item in whole if isinstance(item, dict)])
    found = _ParsedFile()
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
    """Return the messages on the way from the newest entry of a tree back to its root, oldest
    first; all of them in their order where the way is broken (an entry lost, a file of version 1).
    """
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
    """Return the model of the newest answer that names one."""
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


LONGEST_RESULT = 20_000
"""Characters of a tool's result that are taken over; what a result holds beyond helps no model."""
_MILLISECONDS = 1e11  # a time in seconds is below it until the year 5138
_RESULTS = ("tool", "toolResult", "function")


def thread(messages: Iterable[Mapping[str, Any]]) -> list[Entry]:
    """Return the messages of users and assistants in their order, each call with its result.

    Messages of other roles (instructions of the system) are left out, and so are thoughts.
    """
    entries: list[Entry] = []
    for item in messages:
        role = item.get("role")
        if role in _RESULTS:
            _answer(entries, item)
        elif role == "user":
            entries.append(Entry("user", plain(item.get("content")), at=_at(item)))
        elif role == "assistant":
            said, calls = plain(item.get("content")), _calls(item)
            if said or calls:
                entries.append(Entry("assistant", said, tool_calls=calls, at=_at(item)))
    return entries


def plain(content: Any) -> str:
    """Return the text of a message's content: a text, or parts of which those with text count and
    images and files are named.
    """
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


def _at(item: Mapping[str, Any]) -> str:
    return iso_time(item.get("timestamp"))


def _part(part: Any) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return ""
    text = part.get("text")
    if isinstance(text, str):
        return text
    kind = str(part.get("type") or "")
    named = next((word for word in ("image", "audio", "file", "document") if word in kind), "")
    return f"[{named}]" if named else ""


def _calls(item: Mapping[str, Any]) -> tuple[ToolUse, ...]:
    """Return the calls of an assistant's message, none of them answered yet."""
    content = item.get("content")
    parts = content if isinstance(content, list) else []
    found = [part for part in parts if isinstance(part, dict) and part.get("type") == "toolCall"]
    listed = item.get("tool_calls")
    found += [call for call in (listed if isinstance(listed, list) else []) if call]
    return tuple(_call(call) for call in found if isinstance(call, dict))


def _call(call: Mapping[str, Any]) -> ToolUse:
    function = call.get("function")
    inner = function if isinstance(function, dict) else call
    name = str(inner.get("name") or "tool")
    own = str(call.get("id") or call.get("call_id") or "")
    return ToolUse(own, name, _arguments(inner.get("arguments")), INTERRUPTED, False)


def _arguments(value: Any) -> Mapping[str, Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value) if value.strip() else {}
        except (ValueError, RecursionError):
            return {"input": value}
    if isinstance(value, dict):
        return value
    return {} if value is None else {"input": value}


def _answer(entries: list[Entry], item: Mapping[str, Any]) -> None:
    """Give a result to the call that it names, else to the first of the last message without one;
    a result that answers nothing is dropped."""
    wanted = item.get("tool_call_id") or item.get("toolCallId")
    for at in range(len(entries) - 1, -1, -1):
        for number, call in enumerate(entries[at].tool_calls):
            if call.output == INTERRUPTED and not call.ok and wanted in (call.id, None, ""):
                calls = list(entries[at].tool_calls)
                ok = item.get("isError") is not True
                calls[number] = replace(call, output=_truncate(plain(item.get("content"))), ok=ok)
                entries[at] = replace(entries[at], tool_calls=tuple(calls))
                return
        if entries[at].role == "user":
            return


def _truncate(text: str) -> str:
    if len(text) <= LONGEST_RESULT:
        return text or "(nothing)"
    return f"{text[:LONGEST_RESULT]}\n[{len(text) - LONGEST_RESULT:,} more characters not imported]"
