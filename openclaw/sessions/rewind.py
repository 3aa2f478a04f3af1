"""Merges three states of a session's file message by message, where lines of JSON would not do."""

from __future__ import annotations

import json
from typing import Any

from openclaw.files.json_reading import from_json
from openclaw.files.merge import Merged, merge
from openclaw.files.text import BOM, encode
from openclaw.sessions.session import is_newer

Document = dict[str, Any]


def merge_sessions(base: bytes, ours: bytes, theirs: bytes | None) -> tuple[bytes, bool] | None:
    """The session file with the change from `base` to `theirs` made to `ours`, and whether that
    fits; where it does not, ours stands. `theirs` None is a session without messages, an empty
    `base` one that was not there. One of a newer version fits nothing.

    What both have added at the same place stays, theirs first: it was said earlier. None when one
    of them is no session.
    """
    old, now = _document(base) if base else {"messages": []}, _document(ours)
    if old is None or now is None:
        return None
    new = {**old, "messages": []} if theirs is None else _document(theirs)
    if new is None:
        return None
    if any(is_newer(part.get("version")) for part in (now, new)):
        return ours, False  # what else belongs to its messages is not known
    said, fits = _said(merge(_texts(old), _texts(now), _texts(new), touching=True))
    made = {key: _chosen(key, old, now, new) for key in {**now, **new}}
    made = {key: value for key, value in made.items() if value is not _GONE}
    made["messages"] = [from_json(text) for text in said]
    text = json.dumps(made, ensure_ascii=False, indent=2) + "\n"
    return encode(text), fits


def _said(merged: Merged) -> tuple[list[str], bool]:
    """The messages with all that was added, and whether nothing else is in conflict."""
    lines, fits = list(merged.lines), True
    for conflict in reversed(merged.conflicts):
        if conflict.base:
            fits = False
        else:
            lines[conflict.at : conflict.at] = conflict.theirs
    return lines, fits


def messages_in(data: bytes | None) -> int:
    """How many messages a session's file holds."""
    document = _document(data) if data else None
    return len(document["messages"]) if document else 0


_GONE = object()


def _chosen(key: str, old: Document, now: Document, new: Document) -> Any:
    """A value of the head: theirs where ours has not changed since."""
    before, mine, other = (part.get(key, _GONE) for part in (old, now, new))
    return other if mine == before else mine


def _document(data: bytes) -> Document | None:
    try:
        found = from_json(data.removeprefix(BOM))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and isinstance(found.get("messages"), list) else None


def _texts(document: Document) -> list[str]:
    return [json.dumps(message, ensure_ascii=False) for message in document["messages"]]
