"""The slot of the embedded engine, and the files that save its states between processes.

llama.cpp reads only the part of a request that follows the beginning in its slot. So before a
request the slot loads the state of the conversation that an earlier process saved, else that of the
head (the system message, which all conversations share); else the head is read and saved.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import os
import re
import secrets
import shutil
import struct
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, BinaryIO

from openclaw.frozen import frozen
from openclaw.messages import Waiting
from openclaw.models.llama_server import Engine, EngineError
from openclaw.storage.lock import is_running
from openclaw.storage.safe_open import check_no_links, make_folder, open_file, reading, remove

# Reading a shorter head takes less time than checking its file.
_SHORTEST_HEAD = 600
STREAMED: Mapping[str, Any] = {
    "stream": True,
    "stream_options": {"include_usage": True},
    "return_progress": True,
    "cache_prompt": True,
    "id_slot": 0,
}
BEAT = Waiting("")
INSTRUCTIONS = "reading the instructions, once for this model"
KeepsState = Callable[[str], bool]


@frozen
class ReadCost:
    """New tokens that were read into the slot, and the seconds it took."""

    tokens: int = 0
    seconds: float = 0.0


class EngineSlot:
    """The slot of a loaded engine. Call `used` before a request is read into it.

    states  the saved states; None saves nothing
    wanted  returns True when the state of a conversation may be saved: it was not deleted meanwhile
    model   texts that distinguish its states from those of other models and windows
    """

    def __init__(
        self, engine: Engine, states: PrefixStates | None, wanted: KeepsState, *model: str
    ) -> None:
        self._engine, self._states, self._wanted = engine, states, wanted
        self._model = (*model, engine.version)
        self._head: tuple[Any, ...] | None = None
        self._session = ""
        self._key = ""
        self._is_new = False

    def prepare(self, body: Mapping[str, Any], session: str) -> Generator[Waiting, None, ReadCost]:
        """Load the longest saved state for requests that begin like `body`. Returns what had to be
        read for it."""
        head = (_leading(body), body.get("tools"), body.get("chat_template_kwargs"))
        same = head == self._head
        if self._states is None or (same and session == self._session):
            return ReadCost()
        self.keep()
        # After an interrupted reading the slot is prepared again next time.
        self._head, self._session, self._key = None, "", ""
        text = self._common(body, _leading(body))
        key, fresh = session_key(session, *self._model, text), ReadCost()
        if self._restore(self._states, key):
            self._states.touch(state_key(*self._model, text))
        elif not same and len(text) >= _SHORTEST_HEAD:
            fresh = yield from self._restore_or_read(self._states, text)
        self._head, self._session, self._key = head, session, key
        return fresh

    def read(self, body: Mapping[str, Any]) -> Iterator[Waiting]:
        """Read the part of `body` with which the next request will begin: all but the user's newest
        messages. Yields only beats."""
        said = list(body["messages"])
        while said and said[-1]["role"] == "user":
            said.pop()
        if len(said) > len(_leading(body)) or self._states is None:
            self.used()
            yield from self._read(self._common(body, said))

    def used(self) -> None:
        """Note that the slot no longer equals a saved state."""
        self._is_new = True

    def keep(self) -> None:
        """Save the state of the conversation in the slot, if it has changed."""
        is_new = self._is_new and bool(self._key)
        if self._states is not None and is_new and self._wanted(self._session):
            self._save(self._states, self._key)
        self._is_new = False

    def _restore_or_read(
        self, states: PrefixStates, head: str
    ) -> Generator[Waiting, None, ReadCost]:
        key = state_key(*self._model, head)
        if self._restore(states, key):
            return ReadCost()
        yield Waiting(INSTRUCTIONS)
        fresh = yield from self._read(head, INSTRUCTIONS)
        self._save(states, key)
        return fresh

    def _restore(self, states: PrefixStates, key: str) -> bool:
        name = states.find(key) if key else None
        if name is None:
            return False
        try:
            self._engine.post("/slots/0?action=restore", {"filename": name})
        except EngineError:
            states.discard(name)
            return False
        return True

    def _save(self, states: PrefixStates, key: str) -> None:
        if not states.has_room():
            return
        name = states.new_name()
        try:
            self._engine.post("/slots/0?action=save", {"filename": name})
        except EngineError:  # for example a full disk, with a part of the file written
            states.discard(name)
        else:
            states.accept(key, name)

    def _common(self, body: Mapping[str, Any], messages: list[Any]) -> str:
        """The text, by the model's template, with which every request after these messages begins:
        the common start of two requests with different user messages."""
        kept = {key: body[key] for key in ("tools", "chat_template_kwargs") if key in body}
        texts = [
            str(self._engine.post("/apply-template", {"messages": asked, **kept})["prompt"])
            for asked in ([*messages, {"role": "user", "content": text}] for text in ("0", "A"))
        ]
        return _common_start(*texts)

    def _read(self, text: str, what: str = "") -> Generator[Waiting, None, ReadCost]:
        """Read a text into the slot; yields `what` with the share that is read."""
        timings: Mapping[str, Any] = {}
        body = {"prompt": text, "n_predict": 0, "temperature": 0.0, **STREAMED}
        with closing(self._engine.complete(body)) as chunks:
            for chunk in chunks:
                timings = chunk.get("timings", timings)
                share = share_read(chunk) if what else None
                yield BEAT if share is None else Waiting(what, share)
        return ReadCost(
            int(timings.get("prompt_n", 0)), float(timings.get("prompt_ms", 0.0)) / 1000
        )


def share_read(chunk: Mapping[str, Any]) -> float | None:
    """The share of the new tokens that is read; None for a chunk without progress."""
    told = chunk.get("prompt_progress") or {}
    cached = told.get("cache", 0)
    new = told.get("total", 0) - cached
    return (told.get("processed", 0) - cached) / new if new > 0 else None


def _leading(body: Mapping[str, Any]) -> list[Any]:
    """The system messages at the beginning of a request."""
    messages = body["messages"]
    return list(itertools.takewhile(lambda message: message["role"] == "system", messages))


def _common_start(first: str, second: str) -> str:
    pairs = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False))
    return first[: sum(1 for _ in pairs)]


_SEAL = struct.Struct("<16sQ32s")
_MAGIC = b"openclaw-kv-2\0\0\0"
_SUFFIX = ".kv"
_SPARE = 200_000_000  # bytes of the disk that states must leave free
_STALE_SECONDS = 3600.0
_PART = ".part"
_PIECE = 1 << 20  # bytes
_UNFIT_FOR_NAMES = re.compile(r'[\x00-\x1f/\\:*?"<>|]|^[ .]|[ .]$|\.\.')


def state_key(*parts: str) -> str:
    """The file name (without suffix) of a state that depends on all of `parts`."""
    return hashlib.sha256("\0".join(parts).encode("utf-8")).hexdigest()[:40]


def session_key(session: str, *parts: str) -> str:
    """The file name of a conversation's state; "" for an id that cannot be part of a file name. The
    engine opens files by narrow names, which are not UTF-8 on Windows."""
    if (
        not session
        or _UNFIT_FOR_NAMES.search(session)
        or (os.name == "nt" and not session.isascii())
    ):
        return ""
    return f"s-{session}.{state_key(session, *parts)}"


class PrefixStates:
    """The folder of saved states, at most `megabytes` large; the least recently used are deleted.

    Several processes may share it: a state appears complete, by a rename, or not at all. No method
    raises for a bad file or a full disk, since a state only saves time.
    """

    def __init__(self, folder: Path, megabytes: int) -> None:
        self.folder = folder
        self.limit = megabytes * 1_000_000

    def prepare(self) -> bool:
        """Create the folder, for this user only, and remove files of killed processes. Returns
        False when the folder cannot be used."""
        try:
            make_folder(self.folder, 0o700)
        except OSError:
            return False
        with contextlib.suppress(OSError):
            for path in self.folder.glob(f"*{_PART}"):
                _remove_leaving(path)
        return os.access(self.folder, os.W_OK)

    def has_room(self) -> bool:
        """Return True when the disk has room for the folder at its full size, and 200 MB besides:
        the size of a state is not known in advance."""
        try:
            return shutil.disk_usage(self.folder).free >= self.limit + _SPARE
        except OSError:
            return False

    def find(self, key: str) -> str | None:
        """The file name of a complete state; None without one. Deletes a damaged file."""
        name = f"{key}{_SUFFIX}"
        try:
            if _is_whole(self.folder / name):
                os.utime(self.folder / name)
                return name
        except OSError:
            return None
        self.discard(name)
        return None

    def touch(self, key: str) -> None:
        """Mark a state as used now, if it exists."""
        with contextlib.suppress(OSError):
            os.utime(check_no_links(self.folder / f"{key}{_SUFFIX}"))

    def new_name(self) -> str:
        """A file name that no other process uses, for the engine to write to."""
        return f"{os.getpid()}-{secrets.token_hex(8)}{_PART}"

    def discard(self, name: str) -> None:
        """Remove the file `name`, unfinished or not."""
        with contextlib.suppress(OSError):
            remove(self.folder / name)

    def accept(self, key: str, name: str) -> None:
        """Seal the file that the engine wrote to `name`, rename it, and delete old states. Only the
        newest state of a conversation is kept."""
        part, whole = self.folder / name, f"{key}{_SUFFIX}"
        try:
            _seal(part)
            part.replace(self.folder / whole)
        except OSError:
            self.discard(name)
        self._make_room(keep=whole)

    def _make_room(self, keep: str) -> None:
        used, session = 0, _session_of(keep)
        for size, path in self._newest_first(keep):
            older = bool(session) and path.name != keep and _session_of(path.name) == session
            used += 0 if older else size
            if older or used > self.limit:
                self.discard(path.name)

    def _newest_first(self, keep: str) -> Iterator[tuple[int, Path]]:
        found = []
        with contextlib.suppress(OSError):
            for path in check_no_links(self.folder).glob(f"*{_SUFFIX}"):
                with contextlib.suppress(OSError):
                    state = path.stat()
                    found.append((path.name == keep, state.st_mtime, state.st_size, path))
        for _, _, size, path in sorted(found, reverse=True):
            yield size, path


def _session_of(name: str) -> str:
    """`s-ID` for the state of a conversation, "" for that of a head."""
    return name.removesuffix(_SUFFIX).rpartition(".")[0]


def _remove_leaving(part: Path) -> None:
    """Remove an unfinished file when its process has ended or has not touched it for an hour. A
    process that still runs, in another container, then loses a state."""
    number = part.name.partition("-")[0]
    is_gone = number.isdecimal() and not is_running(int(number))
    with contextlib.suppress(OSError):
        if is_gone or time.time() - part.stat().st_mtime > _STALE_SECONDS:
            remove(part)


def _seal(path: Path) -> None:
    """Add the seal, without a flush to disk: a file cut by a crash does not match its seal."""
    with os.fdopen(open_file(path, os.O_RDWR), "r+b") as file:
        length = os.fstat(file.fileno()).st_size
        digest = _digest(file, length)
        file.seek(length)
        file.write(_SEAL.pack(_MAGIC, length, digest))


def _is_whole(path: Path) -> bool:
    with reading(path) as file:
        length = os.fstat(file.fileno()).st_size - _SEAL.size
        if length < 0:
            return False
        digest = _digest(file, length)
        return _SEAL.unpack(file.read(_SEAL.size)) == (_MAGIC, length, digest)


def _digest(file: BinaryIO, length: int) -> bytes:
    """BLAKE2b of the next `length` bytes, which is fast on any processor (96 MB in 0.08 s,
    measured). Read in pieces, since a state may have 100 MB."""
    digest = hashlib.blake2b(digest_size=32)
    while length > 0 and (piece := file.read(min(length, _PIECE))):
        digest.update(piece)
        length -= len(piece)
    return digest.digest()
