"""Saves what can be read of a damaged session, and joins the two sides of a merge of one."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from openclaw.files.beneath import read_bytes
from openclaw.files.encoding import pieces
from openclaw.files.text import BOM
from openclaw.sessions.archive import Archive
from openclaw.sessions.listing import seconds
from openclaw.sessions.session import (
    ARCHIVED,
    FOREIGN,
    HEAD,
    KNOWN,
    NOTED,
    OF_THE_REQUEST,
    PART_FILE,
    SHORTENED,
    Session,
    from_json,
    without,
)
from openclaw.shapes import Entry

_MESSAGES = re.compile(r'"messages"\s*:\s*\[|\A\s*\[')
_BEGIN = rf'\{{\s*"(?:{"|".join(KNOWN)})"\s*:'
_BLANK = re.compile(r"[\s,]*")
_CLOSED = re.compile(r'\]\s*(?:,\s*"|\}|\Z)')
_WHOLE = re.compile(r"[\s\]]*\}\s*\Z")
UNKNOWN = "a damaged conversation"
"""Who else wrote in a session whose file has lost the keys that would tell it."""
_KEY = re.compile(r'\s*[\],]*\s*,\s*("(?:[^"\\]|\\.){1,100}")\s*:\s*')
_TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"')
_DECODER = json.JSONDecoder()


def rescued(data: bytes, session_id: str) -> Session | None:
    """A session of all messages that can still be read in a damaged file, None when there is none.
    Of a message in which the file breaks off, what there is of its text."""
    text = pieces(data.removeprefix(BOM).replace(b"\0", b"")).decode("utf-8", "replace")
    start = _MESSAGES.search(text)
    messages, end = _messages(text, start.end() if start else -1)
    messages = [item for item in messages if _loads(item)]
    head = text[: start.start()] if start else ""
    tail, is_whole = _tail(text, end)
    is_list = start is not None and not head and text.lstrip().startswith("[")
    for keys in ({**_head(head), **tail}, {}):
        try:
            found = from_json(json.dumps({**keys, "messages": messages}), session_id)
        except ValueError:
            continue
        if not is_list and (not keys or not is_whole or f'"{FOREIGN}"' in head):
            _mark(found)
        return found if messages else None
    return None


def _mark(session: Session) -> None:
    """Count a session as one that others wrote in: what said so may have been lost."""
    users = [at for at, entry in enumerate(session.messages) if entry.role == "user"]
    last = session.archived + (users[-1] if users else 0)
    session.extra[FOREIGN] = _marks(session) | {UNKNOWN: last}


def _marks(session: Session) -> dict[str, Any]:
    marks = session.extra.get(FOREIGN)
    return marks if isinstance(marks, dict) else {}


def best(found: Session | None, earlier: Session | None) -> Session | None:
    """The better of what was saved from a damaged file and what an earlier copy holds: the one
    with more messages, with the keys that the other has and it has not. An earlier one that was
    begun at another time is another conversation."""
    if found is None or earlier is None:
        return found or earlier
    if found.created_at and earlier.created_at and found.created_at != earlier.created_at:
        return found
    if earlier.archived + len(earlier.messages) >= found.archived + len(found.messages):
        return earlier
    for name in HEAD[1:]:
        setattr(found, name, getattr(found, name) or getattr(earlier, name))
    marks = _marks(earlier) | _marks(found)
    found.extra = without(earlier.extra, SHORTENED, NOTED, *OF_THE_REQUEST) | found.extra
    found.extra |= {FOREIGN: marks} if marks else {}
    return found


def relist(session: Session, archive: Archive) -> None:
    """Make a session whose list of archived parts was lost list those that are there: each that
    goes on where the one before ended and holds no message that the session itself has."""
    if ARCHIVED in session.extra:
        return
    listed: list[dict[str, Any]] = []
    try:
        files = sorted(path for path in archive.folder.iterdir() if PART_FILE.fullmatch(path.name))
    except OSError:
        return
    first = 1
    for path in files:
        try:
            part = from_json(read_bytes(path).decode("utf-8"), session.id)
        except (OSError, ValueError):
            break
        if part.extra.get("first", first) != first or _begins_with(session, part):
            break
        count = len(part.messages)
        turns = sum(entry.role == "user" for entry in part.messages)
        listed.append({"file": path.name, "messages": count, "turns": turns, "at": part.updated_at})
        first += count
    if listed:
        session.extra = without(session.extra, SHORTENED, NOTED) | {ARCHIVED: listed}


def joined(ours: Session, theirs: Session) -> Session | None:
    """One session of the messages of both, each once: what both begin with, then the exchanges of
    either in the order of their times. None when their archives differ, as then a message may be
    live in one and archived in the other."""
    if ours.parts != theirs.parts or ours.compressed_context != theirs.compressed_context:
        return None
    pairs = zip(ours.messages, theirs.messages, strict=False)
    same = next((at for at, (a, b) in enumerate(pairs) if a != b), None)
    same = min(len(ours.messages), len(theirs.messages)) if same is None else same
    mine, other = _exchanges(ours.messages[same:]), _exchanges(theirs.messages[same:])
    rest = sorted(mine + [each for each in other if each not in mine], key=_moment)
    kept = without(theirs.extra | ours.extra, SHORTENED, NOTED, *OF_THE_REQUEST)
    newer = max(ours, theirs, key=lambda session: seconds(session.updated_at))
    return Session(
        ours.id,
        newer.title,
        ours.created_at or theirs.created_at,
        newer.updated_at,
        newer.model,
        ours.compressed_context,
        ours.messages[:same] + [entry for each in rest for entry in each],
        kept,
    )


def _exchanges(messages: list[Entry]) -> list[list[Entry]]:
    """Messages cut before each one of the user."""
    found: list[list[Entry]] = []
    for entry in messages:
        if entry.role == "user" or not found:
            found.append([])
        found[-1].append(entry)
    return found


def _moment(exchange: list[Entry]) -> float:
    return seconds(exchange[0].at)


def _begins_with(session: Session, part: Session) -> bool:
    return session.messages[: len(part.messages)] == part.messages


def _messages(text: str, at: int) -> tuple[list[dict[str, Any]], int]:
    """The messages of the list that begins there, and where the last whole one ends; with -1 those
    of a text whose beginning is lost. After one that is broken the next is looked for."""
    found: list[dict[str, Any]] = []
    following = _following(text, at)
    at = end = _start(following, text, 0) if at < 0 else at
    while (at := _skipped(text, at)) < len(text) and not _CLOSED.match(text, at):
        begin = at
        try:
            item, at = _DECODER.raw_decode(text, at)
            end = at
        except (ValueError, RecursionError):
            at = _start(following, text, begin + 1)
            item = _partial(text[begin:at])
        if isinstance(item, dict) and isinstance(item.get("content"), str):
            found.append(item)
    return found, end


def _skipped(text: str, at: int) -> int:
    blank = _BLANK.match(text, at)
    return blank.end() if blank else at


def _following(text: str, at: int) -> re.Pattern[str]:
    """How a message begins behind one that is broken: as deep as the first one where lines tell it;
    else not as the value of a key, as what a tool was given may look like a message."""
    lead = text[at : _skipped(text, at)] if at >= 0 else ""
    _, line, blanks = lead.rpartition("\n")
    if line:
        return re.compile(rf"(?<={re.escape(line + blanks)}){_BEGIN}")
    return re.compile(rf"(?<!:)(?<!: ){_BEGIN}")


def _start(following: re.Pattern[str], text: str, at: int) -> int:
    found = following.search(text, at)
    return found.start() if found else len(text)


def _partial(text: str) -> Any:
    """A message that breaks off. One whose text is empty as far as it goes says nothing."""
    from pydantic_core import from_json as lenient

    try:
        item = lenient(text, allow_partial="trailing-strings")
    except ValueError:
        return None
    return (
        item if isinstance(item, dict) and (item.get("content") or item.get("tool_calls")) else None
    )


def _head(text: str) -> dict[str, str]:
    """What stands before the messages, as far as it can be read."""
    found = {}
    for name in HEAD[1:]:
        if key := re.search(rf'"{name}"\s*:\s*', text):
            value = _TEXT.match(text, key.end())
            if value:
                found[name] = _decoded(value[0])
    return found


def _decoded(text: str) -> str:
    try:
        value = json.loads(text, strict=False)
    except ValueError:
        return ""
    return value if isinstance(value, str) else ""


def _tail(text: str, at: int) -> tuple[dict[str, Any], bool]:
    """The keys that stand after the messages, and whether these are all."""
    found: dict[str, Any] = {}
    while key := _KEY.match(text, at):
        try:
            value, at = _DECODER.raw_decode(text, key.end())
        except (ValueError, RecursionError):
            break
        found[_decoded(key[1])] = value
    return without(found, "version", "messages", *HEAD), _WHOLE.match(text, at) is not None


def _loads(item: Mapping[str, Any]) -> bool:
    try:
        from_json(json.dumps({"messages": [item]}), "x")
    except ValueError:
        return False
    return True
