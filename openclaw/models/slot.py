"""The slot of the embedded engine: what it holds, and how that comes there and outlives a process.

llama.cpp reads of a request only what follows the beginning that its slot holds already. So before
a request the slot is given the state of its conversation as an earlier process left it, else that
of the head (the system message, which all conversations share), else the head is read and saved.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from openclaw.models.base import Waiting
from openclaw.models.llama import Engine, EngineError
from openclaw.models.prefix import PrefixStates, session_key, state_key

# A shorter head is read again sooner than its file is checked.
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
Wanted = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Read:
    """What was read into the slot: tokens that were not there yet, and the seconds it took."""

    tokens: int = 0
    seconds: float = 0.0


class Slot:
    """The slot of a loaded engine. `model` are the texts that tell its states from those of other
    models and windows; without `states` nothing outlives the process. `wanted` tells whether the
    state of a conversation is to be kept at all: not when it was deleted meanwhile.

    `used` is to be called when a request is about to be read into it.
    """

    def __init__(
        self, engine: Engine, states: PrefixStates | None, wanted: Wanted, *model: str
    ) -> None:
        self._engine, self._states, self._wanted = engine, states, wanted
        self._model = (*model, engine.version)
        self._head: tuple[Any, ...] | None = None
        self._session = ""
        self._key = ""
        self._is_new = False

    def prepare(self, body: Mapping[str, Any], session: str) -> Generator[Waiting, None, Read]:
        """Bring the slot to the furthest state that is kept for requests that begin like `body`.
        Returns what had to be read for it."""
        head = (_leading(body), body.get("tools"), body.get("chat_template_kwargs"))
        same = head == self._head
        if self._states is None or (same and session == self._session):
            return Read()
        self.keep()
        # An interrupted reading leaves the slot in between: it is prepared again next time.
        self._head, self._session, self._key = None, "", ""
        text = self._common(body, _leading(body))
        key, fresh = session_key(session, *self._model, text), Read()
        if self._restored(self._states, key):
            self._states.touch(state_key(*self._model, text))
        elif not same and len(text) >= _SHORTEST_HEAD:
            fresh = yield from self._restore_or_read(self._states, text)
        self._head, self._session, self._key = head, session, key
        return fresh

    def read(self, body: Mapping[str, Any]) -> Iterator[Waiting]:
        """Read all of `body` that its next request will begin with: everything but the newest
        messages of the user. Yields only beats."""
        said = list(body["messages"])
        while said and said[-1]["role"] == "user":
            said.pop()
        if len(said) > len(_leading(body)) or self._states is None:
            self.used()
            yield from self._read(self._common(body, said))

    def used(self) -> None:
        """What the slot holds is no more what was saved."""
        self._is_new = True

    def keep(self) -> None:
        """Save the state of the conversation that the slot holds, if there is anything new."""
        is_new = self._is_new and bool(self._key)
        if self._states is not None and is_new and self._wanted(self._session):
            self._save(self._states, self._key)
        self._is_new = False

    def _restore_or_read(self, states: PrefixStates, head: str) -> Generator[Waiting, None, Read]:
        key = state_key(*self._model, head)
        if self._restored(states, key):
            return Read()
        yield Waiting(INSTRUCTIONS)
        fresh = yield from self._read(head, INSTRUCTIONS)
        self._save(states, key)
        return fresh

    def _restored(self, states: PrefixStates, key: str) -> bool:
        name = states.find(key) if key else None
        if name is None:
            return False
        try:
            self._engine.post("/slots/0?action=restore", {"filename": name})
        except EngineError:
            states.discard(key)
            return False
        return True

    def _save(self, states: PrefixStates, key: str) -> None:
        if not states.has_room():
            return
        name = states.new_name()
        try:
            self._engine.post("/slots/0?action=save", {"filename": name})
        except EngineError:  # of a full disk, for one: then as much of it as fitted is there
            states.drop(name)
        else:
            states.accept(key, name)

    def _common(self, body: Mapping[str, Any], messages: list[Any]) -> str:
        """The text that every request begins with that goes on from these messages, as the model's
        own template writes it: what two requests with different users' texts have in common."""
        kept = {key: body[key] for key in ("tools", "chat_template_kwargs") if key in body}
        texts = [
            str(self._engine.post("/apply-template", {"messages": asked, **kept})["prompt"])
            for asked in ([*messages, {"role": "user", "content": text}] for text in ("0", "A"))
        ]
        return _common_start(*texts)

    def _read(self, text: str, what: str = "") -> Generator[Waiting, None, Read]:
        """Read a text into the slot; `what` is told with the share that is read."""
        timings: Mapping[str, Any] = {}
        body = {"prompt": text, "n_predict": 0, "temperature": 0.0, **STREAMED}
        with closing(self._engine.complete(body)) as chunks:
            for chunk in chunks:
                timings = chunk.get("timings", timings)
                share = share_read(chunk) if what else None
                yield BEAT if share is None else Waiting(what, share)
        return Read(int(timings.get("prompt_n", 0)), float(timings.get("prompt_ms", 0.0)) / 1000)


def share_read(chunk: Mapping[str, Any]) -> float | None:
    """How much is read of what was not read before, None for a chunk that says nothing of it."""
    told = chunk.get("prompt_progress") or {}
    cached = told.get("cache", 0)
    new = told.get("total", 0) - cached
    return (told.get("processed", 0) - cached) / new if new > 0 else None


def _leading(body: Mapping[str, Any]) -> list[Any]:
    """The system messages that a request begins with."""
    messages = body["messages"]
    return list(itertools.takewhile(lambda message: message["role"] == "system", messages))


def _common_start(first: str, second: str) -> str:
    pairs = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False))
    return first[: sum(1 for _ in pairs)]
