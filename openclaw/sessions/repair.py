"""Repairs sessions: reads damaged files as far as possible, joins conflicts, merges undo."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from openclaw.frozen import frozen
from openclaw.messages import Entry
from openclaw.sessions.archive import Archive, name_parts
from openclaw.sessions.session import (
    ARCHIVED,
    FOREIGN,
    HEAD_KEYS,
    MESSAGE_KEYS,
    NOTED,
    OF_THE_REQUEST,
    PART_FILE,
    SHORTENED,
    ArchivePart,
    Session,
    SessionState,
    TooNew,
    count_turns,
    from_json,
    is_newer,
    listing,
    to_json,
    turn_starts,
    unlist,
    without,
)
from openclaw.sessions.store import SessionStore
from openclaw.storage.merge import Merged, conflicts, merge, sides
from openclaw.storage.safe_open import (
    BOM,
    bytes_or_none,
    check_no_links,
    parse_foreign_json,
    read_bytes,
    remove,
)
from openclaw.storage.text import encode, pieces, write_if_same
from openclaw.types import to_timestamp

_MESSAGES = re.compile(r'"messages"\s*:\s*\[|\A\s*\[')
_BEGIN = rf'\{{\s*"(?:{"|".join(MESSAGE_KEYS)})"\s*:'
_CLOSED = re.compile(r'\s*\]\s*(?:,\s*"|\}|\Z)')
_BLANKS = re.compile(r"\s*")
_WHOLE = re.compile(r"[\s\]]*\}\s*\Z")
UNKNOWN = "a damaged conversation"
"""The source that is noted when a damaged file no longer names its foreign sources."""
_KEY = re.compile(r'\s*[\],]*\s*,\s*("(?:[^"\\]|\\.){1,100}")\s*:\s*')
_DECODER = json.JSONDecoder()


def rescue(data: bytes, session_id: str) -> Session | None:
    """Read all readable messages of a damaged file, None when there is none. The last one may be
    cut off."""
    text = pieces(data.removeprefix(BOM).replace(b"\0", b"")).decode("utf-8", "replace")
    start = _MESSAGES.search(text)
    messages, end = _read_messages(text, start)
    messages = [item for item in messages if _is_message(item)]
    if not messages:
        return None
    head = text[: start.start()] if start else ""
    tail, is_whole = _read_tail(text, end)
    is_list = start is not None and not head and text.lstrip().startswith("[")
    for keys in ({**_read_head(head), **tail}, {}):
        try:
            found = from_json(json.dumps({**keys, "messages": messages}), session_id)
        except ValueError:
            continue
        if not is_list and (not keys or not is_whole or f'"{FOREIGN}"' in head):
            _mark(found)
        return found
    return None


def _mark(session: Session) -> None:
    """Mark a session as one with foreign text: an earlier mark may have been lost."""
    users = turn_starts(session.messages)
    last = session.archived + (users[-1] if users else 0)
    session.update_state(SessionState(foreign={**(session.state.foreign or {}), UNKNOWN: last}))


def choose_better(found: Session | None, earlier: Session | None) -> Session | None:
    """Return the session with more messages: the one read from a damaged file or an earlier copy.

    A damaged file's session gets the keys that it lacks from the earlier copy. A copy that was
    created at another time is another conversation and is ignored.
    """
    if found is None or earlier is None:
        return found or earlier
    if found.created_at and earlier.created_at and found.created_at != earlier.created_at:
        return found
    if earlier.archived + len(earlier.messages) >= found.archived + len(found.messages):
        return earlier
    for name in HEAD_KEYS[1:]:
        setattr(found, name, getattr(found, name) or getattr(earlier, name))
    marks = {**(earlier.state.foreign or {}), **(found.state.foreign or {})}
    found.extra = without(earlier.extra, SHORTENED, NOTED, *OF_THE_REQUEST) | found.extra
    found.update_state(SessionState(foreign=marks or None))
    return found


def relist(session: Session, archive: Archive) -> None:
    """Restore the lost list of archived parts of a session from the existing files.

    A part counts when it continues the one before and has no message that the session has.
    """
    if session.state.archived is not None:
        return
    listed: list[ArchivePart] = []
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
        count, turns = len(part.messages), count_turns(part.messages)
        is_left_over = session.messages[:count] == part.messages
        if part.state.first not in (None, first) or is_left_over:
            break
        listed.append(ArchivePart(path.name, count, turns, part.updated_at, first))
        first += count
    if listed:
        session.forget(SHORTENED, NOTED)
        session.update_state(SessionState(archived=listing(listed)))


def join_sessions(ours: Session, theirs: Session) -> Session | None:
    """Join two sessions: their common beginning, then the exchanges of both, each once, by time.

    None when their archives differ, as a message may then be live in one and archived in the other.
    """
    if ours.parts != theirs.parts or ours.compressed_context != theirs.compressed_context:
        return None
    pairs = zip(ours.messages, theirs.messages, strict=False)
    same = next((at for at, (a, b) in enumerate(pairs) if a != b), None)
    same = min(len(ours.messages), len(theirs.messages)) if same is None else same
    mine, other = _split_exchanges(ours.messages[same:]), _split_exchanges(theirs.messages[same:])
    both = mine + [each for each in other if each not in mine]
    rest = sorted(both, key=lambda exchange: to_timestamp(exchange[0].at))
    kept = without(theirs.extra | ours.extra, SHORTENED, NOTED, *OF_THE_REQUEST)
    newer = max(ours, theirs, key=lambda session: to_timestamp(session.updated_at))
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


def _split_exchanges(messages: list[Entry]) -> list[list[Entry]]:
    """Split messages before each message of the user."""
    found: list[list[Entry]] = []
    for entry in messages:
        if entry.role == "user" or not found:
            found.append([])
        found[-1].append(entry)
    return found


def _read_messages(text: str, start: re.Match[str] | None) -> tuple[list[dict[str, Any]], int]:
    """Read the messages of a list; returns them and the end of the last one, or of the list where
    that is broken. Without its start the beginning of the text is lost.

    After a broken message the next one has the same indentation as the first, and a bracket with
    less ends the list. In a file without line ends it must not be the value of a key, as the input
    of a tool may look like a message.
    """
    end = start.end() if start else 0
    blanks = _BLANKS.match(text, end) if start else None
    lead = blanks[0] if blanks else ""
    before = rf"(?<={re.escape(lead)})" if "\n" in lead else "(?<!:)(?<!: )"
    pattern = re.compile(before + _BEGIN)
    indent = len(lead.rpartition("\n")[2]) if "\n" in lead else 0
    close = re.compile(rf"\n {{0,{indent - 1}}}\]").search(text, end) if indent else None
    last = close.start() if close else len(text)
    found: list[dict[str, Any]] = []
    place = pattern.search(text, end, last)
    while place:
        begin = place.start()
        try:
            item, end = _DECODER.raw_decode(text, begin)
            place = None if _CLOSED.match(text, end) else pattern.search(text, end, last)
        except (ValueError, RecursionError):
            place = pattern.search(text, begin + 1, last)
            item = _read_partial(text[begin : place.start() if place else last])
            end = end if place or not close else last
        if isinstance(item, dict) and isinstance(item.get("content"), str):
            found.append(item)
    return found, end


def _read_partial(text: str) -> Any:
    """A message that breaks off. One whose text is empty as far as it goes says nothing."""
    from pydantic_core import from_json as lenient

    try:
        item = lenient(text, allow_partial="trailing-strings")
    except ValueError:
        return None
    return (
        item if isinstance(item, dict) and (item.get("content") or item.get("tool_calls")) else None
    )


def _read_head(text: str) -> dict[str, str]:
    """Read the keys before the messages as far as possible."""
    found = {}
    for name in HEAD_KEYS[1:]:
        if key := re.search(rf'"{name}"\s*:\s*(?=")', text):
            with suppress(ValueError):
                found[name] = _DECODER.raw_decode(text, key.end())[0]
    return found


def _read_tail(text: str, at: int) -> tuple[dict[str, Any], bool]:
    """Read the keys after the messages; the bool is True when the file is complete there."""
    found: dict[str, Any] = {}
    with suppress(ValueError, RecursionError):
        while key := _KEY.match(text, at):
            name = _DECODER.decode(key[1])
            found[name], at = _DECODER.raw_decode(text, key.end())
    return without(found, "version", "messages", *HEAD_KEYS), _WHOLE.match(text, at) is not None


def _is_message(item: Mapping[str, Any]) -> bool:
    try:
        from_json(json.dumps({"messages": [item]}), "x")
    except ValueError:
        return False
    return True


ASIDE = re.compile(r"(?P<id>[^.]+)\.damaged-[0-9]{8}-[0-9]{6}(?:-[0-9]+)?")
Trouble = Literal["newer", "conflict", "damaged"]


@frozen
class BrokenFile:
    """A file of a session or of its archive that does not load."""

    path: Path
    id: str
    trouble: Trouble
    reason: str


class SessionRepair(SessionStore):
    """The sessions of one home, for finding and repairing broken files."""

    def cases(self) -> Iterator[BrokenFile]:
        """Yield the files of conversations and archives that do not load. Files that raise OSError
        are skipped: their content is unknown."""
        for path in self._files():
            data = bytes_or_none(path)
            case = _find_trouble(path, path.stem, data) if data is not None else None
            if case:
                yield case
            elif data is not None and ARCHIVED.encode() in data:
                yield from self._broken_parts(from_json(_decode(data), path.stem))

    def _broken_parts(self, session: Session) -> Iterator[BrokenFile]:
        for part in session.parts:
            path = self.part(session.id, part)
            data = bytes_or_none(path)
            if data is None and not path.exists():
                reason = f"{name_parts([part])} of conversation {session.id} are missing"
                yield BrokenFile(path, session.id, "damaged", reason)
            elif data is not None and (case := _find_trouble(path, session.id, data)):
                yield case

    def part(self, session_id: str, part: ArchivePart) -> Path:
        return self._archive(session_id).folder / part.file

    # -------- files in their place

    def better(self, path: Path, session_id: str, earlier: bytes | None) -> Session | None:
        """Return the best version of a file that does not load, in its place or moved aside: made
        of the file or of an earlier copy (from git). None when neither has a message."""
        data = bytes_or_none(path)
        found = rescue(data, session_id) if data is not None else None
        before = None
        if earlier is not None:
            try:
                before = from_json(_decode(earlier), session_id)
            except ValueError:
                before = rescue(earlier, session_id)
        for session in (found, before):
            if session is not None and path.parent == self.folder:
                relist(session, self._archive(path.stem))
        return choose_better(found, before)

    def both(self, path: Path, session_id: str = "") -> Session | None:
        """Join both sides of a session with conflict markers. None without markers, when one side
        does not load or when the sides cannot be joined."""
        try:
            text = _decode(bytes_or_none(path) or b"")
            if not conflicts(text):
                return None
            ours, theirs = (from_json(side, session_id or path.stem) for side in sides(text))
        except ValueError:
            return None
        return join_sessions(ours, theirs)

    def put(self, path: Path, session: Session) -> bool:
        """Replace a file that does not load; False when it has changed meanwhile."""
        return write_if_same(path, bytes_or_none(path), to_json(session).encode("utf-8"))

    def update_part(self, case: BrokenFile, document: Session | None) -> int:
        """Change a session's list of its archive to what could be read of a part, None for
        nothing. Returns how many messages it had listed."""
        session = self._read(self._path(case.id))
        mine = [part for part in session.parts if part.file == case.path.name]
        count = sum(part.messages for part in mine)
        if document is None:
            unlist(session, mine)
        elif len(document.messages) != count:
            saved = (len(document.messages), count_turns(document.messages))
            listed = [
                replace(part, messages=saved[0], turns=saved[1]) if part in mine else part
                for part in session.parts
            ]
            session.forget(NOTED)
            session.update_state(SessionState(archived=listing(listed)))
        else:
            return count
        self._write(session)
        return count

    # -------- files that were moved aside

    def aside(self) -> list[str]:
        """Return the stems of the files that were moved aside."""
        stems = (path.stem for path in self.folder.glob("*.damaged-*.json"))
        return sorted(stem for stem in stems if ASIDE.fullmatch(stem))

    def files_of_aside(self, stem: str) -> list[Path]:
        """Return the archive, the notes and the file that were moved aside together."""
        return [path for path in self._paths_of(stem) if path.exists()]

    def put_back(self, stem: str, session: Session) -> str:
        """Save a session that was moved aside under its old id, or a new one when the old is taken.
        Its archive and notes move with it. Returns the id."""
        if any(path.exists() for path in self._paths_of(session.id)):
            session.title = f"{session.title or session.id} (saved)"
            session.id = self.new(None).id
        *others, aside = self._paths_of(stem)
        *homes, path = self._paths_of(session.id)
        for old, new in zip(others, homes, strict=True):
            if old.exists():
                check_no_links(old).rename(check_no_links(new))
        relist(session, self._archive(session.id))
        write_if_same(path, None, to_json(session).encode("utf-8"))
        remove(aside)
        return session.id


def _find_trouble(path: Path, session_id: str, data: bytes) -> BrokenFile | None:
    try:
        from_json(_decode(data), session_id)
    except TooNew as error:
        return BrokenFile(path, session_id, "newer", str(error))
    except ValueError as error:
        if found := conflicts(data.decode("utf-8", "replace")):
            where = f"conflict markers in line {found[0].line}"
            return BrokenFile(path, session_id, "conflict", where)
        return BrokenFile(path, session_id, "damaged", str(error) if data else "the file is empty")
    return None


def _decode(data: bytes) -> str:
    return data.removeprefix(BOM).decode("utf-8")


SessionJson = dict[str, Any]


def merge_sessions(base: bytes, ours: bytes, theirs: bytes | None) -> tuple[bytes, bool] | None:
    """Apply the change from `base` to `theirs` to `ours`; returns the new file and True when all of
    it fits. Where it does not fit, ours stays. A file of a newer version never fits.

    `theirs` None is a session without messages, an empty `base` a file that did not exist. Messages
    that both added at the same place stay, theirs first, as they are older. Returns None when one
    of the files is no session.
    """
    old, now = _read_document(base or _EMPTY), _read_document(ours)
    new = _read_document(theirs) if theirs is not None else old and {**old, "messages": []}
    if old is None or now is None or new is None:
        return None
    if _is_any_newer(now, new):
        return ours, False  # it may have more keys that belong to its messages
    made, fits = _merge_documents(old, now, new)
    return _to_bytes(made), fits


def merge_devices(base: bytes | None, ours: bytes, theirs: bytes) -> bytes | None:
    """Merge a session with which two devices went on since `base`. None when it cannot be done: a
    side is no session, both changed the same messages, or both archived some."""
    old, now, new = map(_read_document, (base or _EMPTY, ours, theirs))
    if old is None or now is None or new is None or _is_any_newer(now, new):
        return None
    merged, fits = _merge_documents(old, now, new)
    if not fits or any(
        old.get(key) != now.get(key) != new.get(key) != old.get(key)
        for key in (ARCHIVED, "compressed_context")
    ):
        return None
    if merged["messages"] not in (now["messages"], new["messages"]):
        merged = without(merged, SHORTENED, NOTED, *OF_THE_REQUEST)
    foreign = [side[FOREIGN] for side in (new, now) if isinstance(side.get(FOREIGN), dict)]
    if foreign:
        merged[FOREIGN] = {source: at for side in foreign for source, at in side.items()}
    times = [str(side.get("updated_at") or "") for side in (now, new)]
    merged["updated_at"] = max(times, key=to_timestamp)
    return _to_bytes(merged)


def _merge_documents(
    old: SessionJson, now: SessionJson, new: SessionJson
) -> tuple[SessionJson, bool]:
    said, fits = _merge_messages(
        merge(_message_texts(old), _message_texts(now), _message_texts(new), touching=True)
    )
    made = {key: _choose(key, old, now, new) for key in {**now, **new}}
    made = {key: value for key, value in made.items() if value is not _GONE}
    return {**made, "messages": [parse_foreign_json(text) for text in said]}, fits


def _is_any_newer(*documents: SessionJson) -> bool:
    return any(is_newer(each.get("version")) for each in documents)


def _to_bytes(document: SessionJson) -> bytes:
    return encode(json.dumps(document, ensure_ascii=False, indent=2) + "\n")


def _merge_messages(merged: Merged) -> tuple[list[str], bool]:
    """Return the messages with all additions of both, and True when nothing else conflicts."""
    lines, fits = list(merged.lines), True
    for conflict in reversed(merged.conflicts):
        if conflict.base:
            fits = False
        else:
            lines[conflict.at : conflict.at] = conflict.theirs
    return lines, fits


def messages_in(data: bytes | None) -> int:
    """Count the messages of a session's file."""
    document = _read_document(data) if data else None
    return len(document["messages"]) if document else 0


_GONE = object()
_EMPTY = b'{"messages": []}'


def _choose(key: str, old: SessionJson, now: SessionJson, new: SessionJson) -> Any:
    """Choose a value of the head: theirs unless ours has changed since."""
    before, mine, other = (part.get(key, _GONE) for part in (old, now, new))
    return other if mine == before else mine


def _read_document(data: bytes) -> SessionJson | None:
    try:
        found = parse_foreign_json(data.removeprefix(BOM))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and isinstance(found.get("messages"), list) else None


def _message_texts(document: SessionJson) -> list[str]:
    return [json.dumps(message, ensure_ascii=False) for message in document["messages"]]
