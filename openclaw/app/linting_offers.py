"""Which old entries no turn was ever given, by what conversations have recorded."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from openclaw.files.beneath import read_bytes
from openclaw.files.home import Home
from openclaw.memory.lint import LEVELS, Document, Finding

OLD_DAYS = 90
LEAST_TURNS = 50
"""With fewer recorded turns nothing is said: an entry had no chance yet."""
MOST_FILES = 300
MOST_BYTES = 20_000_000
MOST_LINES = 12
LASTING = "memory/MEMORY.md"


@dataclass(slots=True)
class _Offers:
    """Over how many turns, which lines were offered by path, and what stood in the prompts."""

    turns: int = 0
    lines: dict[str, set[int]] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)


def never_offered(home: Home, documents: Sequence[Document], today: date) -> Iterator[Finding]:
    """One piece of advice for each file with entries older than `OLD_DAYS` that no recorded turn
    was given. MEMORY.md is given to every turn and is left out."""
    offers = _offers(home)
    if offers.turns < LEAST_TURNS:
        return
    said, limit = "\n".join(offers.texts), (today - timedelta(days=OLD_DAYS)).isoformat()
    for document in documents:
        if document.kind not in ("lasting", "daily") or document.path == LASTING:
            continue
        old = [e for e in document.entries if not e.superseded and "" < document.date(e) < limit]
        given = offers.lines.get(document.path, set())
        unseen = [e.at + 1 for e in old if e.at + 1 not in given and e.text not in said]
        if unseen:
            yield _finding(document, unseen, len(old), offers.turns)


def _finding(document: Document, unseen: Sequence[int], old: int, turns: int) -> Finding:
    more = f" and {len(unseen) - MOST_LINES} more" if len(unseen) > MOST_LINES else ""
    lines = ", ".join(map(str, unseen[:MOST_LINES])) + more
    return Finding(
        "never-offered",
        LEVELS["never-offered"],
        document.path,
        unseen[0],
        f"{len(unseen)} of {old} entries older than {OLD_DAYS} days were never given to any of"
        f" {turns} turns: line{'s' * (len(unseen) > 1)} {lines}",
        "see whether they still matter",
        unseen[0],
    )


def _offers(home: Home) -> _Offers:
    offers = _Offers()
    for message in _messages(home):
        record = message.get("record")
        if not isinstance(record, dict) or not {"found", "offered"} & {*record}:
            continue
        offers.turns += 1
        offers.texts.append(str(message.get("context", "")))
        for passage in _dicts(record.get("offered")):
            first, last = passage.get("start_line"), passage.get("end_line")
            if isinstance(first, int) and isinstance(last, int):
                lines = offers.lines.setdefault(str(passage.get("path")), set())
                lines.update(range(first, min(last, first + 1000) + 1))
    return offers


def _messages(home: Home) -> Iterator[Mapping[str, Any]]:
    """The messages of the newest conversations, as far as they can be read."""
    left = MOST_BYTES
    paths = [*home.sessions.glob("*.json"), *home.sessions.glob("archive/*/*.json")]
    for path in sorted(paths, key=_changed, reverse=True)[:MOST_FILES]:
        try:
            data = read_bytes(path)
            left -= len(data)
            if left < 0:
                return
            shape = json.loads(data) if b'"record"' in data else {}
        except (OSError, ValueError, RecursionError):
            continue
        messages = shape.get("messages") if isinstance(shape, dict) else shape
        yield from _dicts(messages)


def _changed(path: Path) -> float:
    """When a file was changed; 0 for a link to nothing and what is gone meanwhile."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _dicts(value: Any) -> Iterable[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
