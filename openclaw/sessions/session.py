"""A conversation, its JSON form, and the masking of its secrets.

The form has version 2; version 1 (a bare array) is read too.
"""

from __future__ import annotations

import json
import re
import secrets
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from openclaw.frozen import frozen
from openclaw.messages import Entry, Image, JsonFields, ToolUse, Usage
from openclaw.security.display import first_words, one_line
from openclaw.security.masking import Masker, map_texts
from openclaw.storage.safe_open import json_or_none

VERSION = 2
INTERRUPTED = "(interrupted)"
TITLE_LENGTH = 60
OPTIONAL = {"raw": "raw", "hint": "hint", "thought": "thought", "record": "record_json"}
"""Keys of a message that are left out when they are empty, and the fields that hold them. The last
two belong to somebody else when they are of another type than ours."""
MESSAGE_KEYS = ("role", "content", "context", "tool_calls", "usage", "at", "raw", "hint")
IMAGES = "images"  # key of a message for the images sent with it, each with path, kind and SHA-256
HEAD_KEYS = ("id", "title", "created_at", "updated_at", "model", "compressed_context")
ARCHIVED, SHORTENED, NOTED, FOREIGN, NAMED = "archived shortened noted foreign named".split()
"""Keys of the file that are taken out of it; `SessionState` says what they mean."""
OF_THE_REQUEST = ("head", "history_from")
"""Keys that say what the last request was made of; a compaction begins the request anew."""
PART_FILE = re.compile(r"[0-9]{4,9}\.json")


@frozen
class ArchivePart:
    """One part of a session's archive, as the session's file lists it."""

    file: str
    """Name of the file."""
    messages: int
    turns: int
    """Number of messages of the user."""
    at: str
    """When it was archived (ISO 8601)."""
    first: int
    """Number of its first message in the whole conversation, from 1."""

    @property
    def last(self) -> int:
        return self.first + self.messages - 1


@dataclass(frozen=True, slots=True, eq=False)  # nobody compares them; a start pays for it
class SessionState(JsonFields):
    """What a session's file says besides its head and messages.

    imported_from: the agent that it comes from, its id, path and SHA-256 there, and when
    forked_from: the id of the session that it is a copy of, and how many of its messages
    part, first: of a part of an archive: its number, and that of its first message, from 1
    archived: the parts of the archive as listed, oldest first (`Session.parts`)
    shortened: the index in the messages before which results are given in one line
    head: SHA-256 of the head that the conversation began with, its protocol, the MD5 of its files
        by path, and the names of its native tools
    read: MD5 by path of the files that the model has read or written, as they were then
    foreign: who else wrote in it, and the index of the newest message of the user that it came with
    named: names that the model made up unasked since it saw a foreign text
    noted: how many messages, archived ones too, are in the working notes
    captured: how many facts of the user's prompts were saved
    """

    imported_from: Mapping[str, Any] | None = None
    forked_from: Mapping[str, Any] | None = None
    part: int | None = None
    first: int | None = None
    archived: Sequence[Any] | None = None
    shortened: int | None = None
    head: Mapping[str, Any] | None = None
    read: Mapping[str, Any] | None = None
    foreign: Mapping[str, Any] | None = None
    named: Sequence[str] | None = None
    noted: int | None = None
    captured: int | None = None


@dataclass(slots=True)
class Session:
    """One conversation. Times are ISO 8601 with offset.

    `extra` is `state` as it stands in the file, with keys of newer versions. `stamp` is the MD5 of
    the file as this process last saw it, "" when it was never saved.
    """

    id: str
    title: str = ""
    created_at: str = ""
    updated_at: str = ""
    model: str = ""
    compressed_context: str = ""
    messages: list[Entry] = field(default_factory=list)
    extra: dict[str, Any] = field(default_factory=dict)
    stamp: str = field(default="", repr=False, compare=False)

    @property
    def state(self) -> SessionState:
        return SessionState.from_json(self.extra)

    def update_state(self, state: SessionState) -> None:
        """Take over what is given of a state; the rest stays as it is."""
        self.extra.update(state.as_json())

    def forget(self, *names: str) -> None:
        """Take these keys out of the state."""
        for name in names:
            self.extra.pop(name, None)

    def copy(self) -> Session:
        """One that may be changed without changing this one."""
        return replace(self, extra=dict(self.extra), messages=list(self.messages))

    def compacted(self, upto: int, summary: str) -> Session:
        """One without the first `upto` messages, for which the summary stands."""
        extra = without(self.extra, *OF_THE_REQUEST)
        if SHORTENED in extra:
            extra[SHORTENED] = max(0, self.shortened - upto)
        rest = self.messages[upto:]
        return replace(self, messages=rest, compressed_context=summary, extra=extra)

    @property
    def is_foreign(self) -> bool:
        """True when others wrote in it, and when the mark that says so was damaged."""
        return bool(self.extra.get(FOREIGN))

    @property
    def parts(self) -> tuple[ArchivePart, ...]:
        """The parts of the archive, oldest first; what is no part is passed over."""
        found: dict[str, ArchivePart] = {}
        first = 1
        listed = self.extra.get(ARCHIVED)
        for item in listed if isinstance(listed, list) else ():
            part = _part(item, first)
            if part is not None and part.file not in found:
                found[part.file] = part
                first = part.last + 1
        return tuple(found.values())

    @property
    def archived(self) -> int:
        """How many messages are in the archive, 0 when nothing was ever compacted."""
        return sum(part.messages for part in self.parts)

    @property
    def turns(self) -> int:
        """Messages of the user in the whole conversation, archived ones included."""
        return count_turns(self.messages) + sum(part.turns for part in self.parts)

    @property
    def shortened(self) -> int:
        """The index in `messages` before which results are given to the model in one line."""
        return _count(self.extra.get(SHORTENED))


@frozen
class SessionSummary:
    """A session as a line of the list."""

    id: str
    title: str
    created_at: str
    updated_at: str
    model: str
    messages: int
    """Their number, archived ones included."""


def summarize(session: Session) -> SessionSummary:
    return SessionSummary(
        session.id,
        session.title,
        session.created_at,
        session.updated_at,
        session.model,
        session.archived + len(session.messages),
    )


class NotASession(ValueError):
    """The JSON has another shape; the message says what is wrong."""


class TooNew(ValueError):
    """The session was written by a later version of openclaw."""


def to_json(session: Session) -> str:
    """Return the text of the session's file: the head first, for listings without the messages."""
    head = {name: getattr(session, name) for name in HEAD_KEYS}
    token, records = secrets.token_hex(8), []
    messages = [entry_to_json(entry) for entry in session.messages]
    for message in messages:
        if message.get("record"):  # one line each: they are long, and seldom read by people
            records.append(json.dumps(message["record"], ensure_ascii=False))
            message["record"] = token
    whole = {"version": VERSION, **head, "messages": messages, **session.extra}
    first, *rest = json.dumps(whole, ensure_ascii=False, indent=2).split(f'"{token}"')
    return "".join((first, *(f"{a}{b}" for a, b in zip(records, rest, strict=True)), "\n"))


def from_json(text: str, session_id: str) -> Session:
    """Read a session from the text of its file. Calls without an end are marked interrupted.

    Raises ValueError (also NotASession and TooNew) when it is no session.
    """
    try:
        data = json.loads(text, parse_constant=str)  # NaN is no JSON for those who are sent it
    except RecursionError as error:
        raise NotASession("nested too deeply") from error
    if isinstance(data, list):
        return _from_version_1(data, session_id)
    if isinstance(data, dict) and is_newer(data.get("version")):
        raise TooNew(f"it has version {data['version']}, this openclaw knows {VERSION}")
    if not isinstance(data, dict) or not isinstance(data.get("messages"), list):
        raise NotASession("no list of messages")
    session = Session(session_id, messages=[_entry_in(item) for item in data["messages"]])
    for name in HEAD_KEYS[1:]:
        value = data.get(name) or ""
        if not isinstance(value, str):
            raise NotASession(f"{name} is not a text")
        setattr(session, name, value)
    known = {"version", "messages", *HEAD_KEYS}
    session.extra = {key: value for key, value in data.items() if key not in known}
    return session


def is_newer(version: Any) -> bool:
    """Return True when a file's version, a number or its text, is later than ours. A file without
    a version is read as it is."""
    if isinstance(version, bool) or not isinstance(version, int | float | str):
        return False
    try:
        return float(version) > VERSION
    except OverflowError:  # a number of 400 digits
        return int(version) > VERSION
    except ValueError:
        return False


def is_version_1(data: bytes) -> bool:
    """Return True when a session's file is a bare array of messages."""
    return data[:64].removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"[")


def without(extra: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """The keys of a session's file but these."""
    return {name: value for name, value in extra.items() if name not in names}


def listing(parts: Iterable[ArchivePart]) -> list[dict[str, Any]]:
    """The parts of an archive as the session's file lists them."""
    return [without(asdict(part), "first") for part in parts]


def unlist(session: Session, lost: Iterable[ArchivePart]) -> None:
    """A session lists these parts of its archive no longer. The notes are then kept of what it
    still has: how far they went was counted with the lost messages."""
    gone = frozenset(lost)
    if gone:
        left = [part for part in session.parts if part not in gone]
        session.forget(ARCHIVED, NOTED)
        session.update_state(SessionState(archived=listing(left) or None))


def title_of(messages: list[Entry]) -> str:
    """Return the first words of the first message of the user, at most about 60 characters."""
    first = next((e.content for e in messages if e.role == "user" and e.content.strip()), "")
    return first_words(first, TITLE_LENGTH, 20)


def session_name(session: Session) -> str:
    """Return the name of a conversation: the one that the user gave, else its title."""
    if is_generated_id(session.id):
        return one_line(session.title or "new conversation")
    was_renamed = not session.archived and session.title != title_of(session.messages)
    return one_line(session.title if session.title and was_renamed else session.id)


def count_turns(messages: Iterable[Entry]) -> int:
    """Return how many messages are the user's."""
    return sum(entry.role == "user" for entry in messages)


def turn_starts(messages: Iterable[Entry]) -> list[int]:
    """Return the indices of the user's messages, with which turns begin."""
    return [at for at, entry in enumerate(messages) if entry.role == "user"]


def newest_turn(messages: Sequence[Entry]) -> Sequence[Entry]:
    starts = turn_starts(messages)
    return messages[starts[-1] :] if starts else ()


def _part(item: Any, first: int) -> ArchivePart | None:
    if not isinstance(item, dict) or not PART_FILE.fullmatch(str(item.get("file"))):
        return None
    messages, turns = _count(item.get("messages")), _count(item.get("turns"))
    if not messages:
        return None
    return ArchivePart(item["file"], messages, turns, str(item.get("at") or ""), first)


def _count(value: Any) -> int:
    """Return a number that somebody may have edited: 0 when it is no positive integer."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def entry_to_json(entry: Entry) -> dict[str, Any]:
    optional = {key: value for key, name in OPTIONAL.items() if (value := getattr(entry, name))}
    if entry.images:
        optional[IMAGES] = [
            {"path": each.path, "kind": each.kind, "sha256": each.sha256} for each in entry.images
        ]
    return {
        "role": entry.role,
        "content": entry.content,
        "context": entry.context,
        "tool_calls": [
            {"id": c.id, "tool": c.tool, "input": dict(c.input), "output": c.output, "ok": c.ok}
            for c in entry.tool_calls
        ],
        "usage": asdict(entry.usage) if entry.usage else None,
        "at": entry.at,
        **optional,
        **entry.extra,
    }


def _entry_in(item: Any) -> Entry:
    if not isinstance(item, dict) or item.get("role") not in ("user", "assistant"):
        raise NotASession("a message without the role user or assistant")
    calls = item.get("tool_calls") or []
    if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
        raise NotASession("tool_calls is not a list of objects")
    names = ("content", "context", "at", "raw", "hint")
    texts: dict[str, Any] = {name: item.get(name) or "" for name in names}
    if not all(isinstance(value, str) for value in texts.values()):
        raise NotASession("the content of a message is not a text")
    thought, record = item.get("thought"), item.get("record")
    own: dict[str, Any] = {"thought": thought} if isinstance(thought, str) else {}
    if isinstance(record, dict):
        own["record"] = record
    if images := _images_in(item.get(IMAGES)):
        own[IMAGES] = images
    return Entry(
        role=item["role"],
        tool_calls=tuple(_call_in(call) for call in calls),
        usage=_usage_in(item.get("usage")),
        extra={k: v for k, v in item.items() if k not in MESSAGE_KEYS and k not in own},
        **{OPTIONAL.get(k, k): v for k, v in own.items()},
        **texts,
    )


def _images_in(listed: Any) -> tuple[Image, ...]:
    """Read the images of a message; none when they have another shape than ours."""
    names = ("path", "kind", "sha256")
    items = listed if isinstance(listed, list) else []
    if not all(
        isinstance(i, dict) and all(isinstance(i.get(n), str) for n in names) for i in items
    ):
        return ()
    return tuple(Image(*(item[name] for name in names)) for item in items)


def _call_in(call: Mapping[str, Any]) -> ToolUse:
    """Read a call with our keys, those of older designs, or OpenAI's."""
    function = call.get("function")
    inner = function if isinstance(function, dict) else call
    tool = str(inner.get("tool") or inner.get("name") or "")
    output, ok = call.get("output"), call.get("ok")
    ended = output is not None and (output != "" or ok is not False)
    return ToolUse(
        id=str(call.get("id") or ""),
        tool=tool,
        input=read_input(inner.get("input", inner.get("arguments"))),
        output=str(output) if ended else INTERRUPTED,
        ok=ended and ok is not False,
    )


def read_input(value: Any) -> Mapping[str, Any]:
    """Read the arguments of a call, which may be JSON in a text."""
    given = json_or_none(value) if isinstance(value, str) else value
    if isinstance(given, dict):
        return given
    return {} if value is None else {"input": value}


def _usage_in(value: Any) -> Usage | None:
    if not isinstance(value, dict):
        return None
    known: dict[str, Any] = {item.name: type(item.default) for item in fields(Usage)}
    numbers: dict[str, Any] = {
        key: known[key](number)
        for key, number in value.items()
        if key in known and isinstance(number, int | float) and abs(number) <= sys.float_info.max
    }
    return Usage(**numbers)


def _from_version_1(items: list[Any], session_id: str) -> Session:
    """Read a bare array of messages. Results in separate messages are added to their calls;
    messages of other roles are kept under the key `version_1_other`."""
    messages: list[Entry] = []
    other = []
    for item in items:
        role = item.get("role") if isinstance(item, dict) else None
        if role == "tool" and give_result(messages, str(item.get("content") or "")):
            continue
        if role in ("user", "assistant"):
            messages.append(_entry_in(item))
        elif isinstance(role, str):
            other.append(item)
        else:
            raise NotASession("a message without a role")
    extra = {"version_1_other": other} if other else {}
    return Session(session_id, title_of(messages), messages=messages, extra=extra)


def give_result(messages: list[Entry], output: str, *, ok: bool = True, call_id: str = "") -> bool:
    """Give a result to the call of this id; without an id to the first call that waits for one in
    the newest message. False when no call waits since the last message of the user."""
    for at in reversed(range(len(messages))):
        calls = list(messages[at].tool_calls)
        for number, call in enumerate(calls):
            if call.output == INTERRUPTED and not call.ok and call_id in ("", call.id):
                calls[number] = replace(call, output=output, ok=ok)
                messages[at] = replace(messages[at], tool_calls=tuple(calls))
                return True
        if messages[at].role == "user":
            return False
    return False


_GENERATED_ID = re.compile(r"\d{4}-\d\d-\d\d-\d")


def is_generated_id(session_id: str) -> bool:
    """Return True when a session's id was made from the time, so is no name the user gave."""
    return bool(_GENERATED_ID.match(session_id))


def mask_entry(masker: Masker, said: Entry) -> Entry:
    """Mask the secrets of a message; returns the same object when there are none."""
    thought, record = masker.mask(said.thought), map_texts(said.record_json, masker.mask)
    masked = replace(_sent(masker, said), thought=thought, record_json=record)
    return said if masked == said else masked


def _sent(masker: Masker, said: Entry) -> Entry:
    """A message with all that a model may be sent of it masked."""
    calls = tuple(
        replace(use, input=map_texts(use.input, masker.mask), output=masker.mask(use.output))
        for use in said.tool_calls
    )
    names = ("content", "context", "raw", "hint")
    texts: dict[str, Any] = {name: masker.mask(getattr(said, name)) for name in names}
    return replace(said, tool_calls=calls, **texts)


def mask_session(masker: Masker, talk: Session) -> None:
    """Mask the secrets in all parts of a conversation that may still be sent."""
    talk.messages[:] = [_sent(masker, said) for said in talk.messages]
    talk.compressed_context = masker.mask(talk.compressed_context)
    talk.title = masker.mask(talk.title)
