"""The embedder of a search: chosen when first needed, given up for a while when it fails.

Whatever goes wrong with it is told once and never stops a search, which then goes by words.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from openclaw.errors import OpenclawError
from openclaw.retrieval.embeddings import Choice, Embedder

if TYPE_CHECKING:
    from openclaw.retrieval.snapshot import Snapshot
    from openclaw.retrieval.store import Store
    from openclaw.retrieval.upkeep import Upkeep

# After a failure the embedder is not asked for this long.
REST_SECONDS = 30.0
LAST_NAME = "embedder"
# Keys of what is so until somebody changes it, and need not be said with every prompt.
NONE, MISSING = STANDING = ("no embedder", "no vectors yet")

Tell = Callable[[str, str], None]
Progress = Callable[[int, int], None]


def told(error: Exception) -> str:
    """What happened and what to do, in a line."""
    hint = f" ({error.hint})" if isinstance(error, OpenclawError) and error.hint else ""
    return " ".join((str(error) or type(error).__name__).split())[:300] + hint


class Meaning:
    """`choose` gives the embedder, None or a `Choice` without one for words only. `tell` takes a
    line for the user, with a key: of each key only the first line is shown."""

    def __init__(self, choose: Callable[[], Embedder | Choice | None], tell: Tell) -> None:
        self._choose, self._tell = choose, tell
        self._lock = threading.RLock()
        self._filling = threading.Lock()
        self._choice: Choice | None = None
        self._rest_until = 0.0

    def embedder(self) -> Embedder | None:
        """The embedder, None when there is none or it failed a moment ago."""
        with self._lock:
            if time.monotonic() < self._rest_until:
                return None
            if self._choice is None:
                choice = self._chosen()
                if choice.why_not:
                    self._rest_until = time.monotonic() + REST_SECONDS
                    return None
                self._choice = choice
            return self._choice.embedder

    def question(self, text: str, snapshot: Snapshot) -> tuple[Embedder, list[float]] | None:
        """The embedder and the question's vector; None when that, or any other vector, is
        missing."""
        embedder = self.embedder()
        if embedder is None or not snapshot.known(embedder.name).any():
            return None
        from openclaw.retrieval.vectors import question_vector

        try:
            return embedder, question_vector(embedder, text).tolist()
        except Exception as error:  # noqa: BLE001 - whatever an embedder raises: the words answer
            self.failed(error)
            return None

    def fill(
        self,
        store: Store,
        upkeep: Upkeep,
        seconds: float | None = None,
        on_progress: Progress | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> int:
        """Give vectors to the passages without one, for at most `seconds` (None: all of them), and
        return how many are left, as far as they can be given one now.

        When another thread is at it already, only a call for all of them waits for it.
        """
        embedder = self.embedder()
        if embedder is None or not self._filling.acquire(blocking=seconds is None):
            return 0
        try:
            self._notice_change(store, embedder.name)
            return upkeep.embed_pending(
                embedder, seconds=seconds, on_progress=on_progress, stop=stop
            )
        except sqlite3.Error:
            raise
        except Exception as error:  # noqa: BLE001 - whatever an embedder raises: the words answer
            self.failed(error)
            return 0
        finally:
            self._filling.release()

    def counts(self, snapshot: Snapshot) -> tuple[int, int]:
        """How many passages have a vector, and how many should; (0, 0) without an embedder."""
        embedder = self.embedder()
        if embedder is None:
            return 0, 0
        wanted = snapshot.contexts != 0
        return int((wanted & snapshot.known(embedder.name)).sum()), int(wanted.sum())

    def tell_missing(self, snapshot: Snapshot) -> None:
        """Say how many passages have no vector yet."""
        have, wanted = self.counts(snapshot)
        if have < wanted:
            self._tell(
                MISSING,
                f"{have:,} of {wanted:,} passages have vectors, the others are found by their "
                "words only; all get one with: openclaw memory index",
            )

    def failed(self, error: Exception) -> None:
        """Rest the embedder for a while and say why."""
        with self._lock:
            self._rest_until = time.monotonic() + REST_SECONDS
        self._tell("embedder", f"search goes by words only: {told(error)}")

    def close(self) -> None:
        with self._lock:
            if self._choice and self._choice.embedder:
                self._choice.embedder.close()

    def _chosen(self) -> Choice:
        try:
            chosen = self._choose()
        except OpenclawError as error:
            chosen = Choice(None, f"search goes by words only: {error}", error.hint)
        choice = chosen if isinstance(chosen, Choice) else Choice(chosen)
        if choice.why_not:
            advice = f" ({choice.advice})" if choice.advice else ""
            self._tell(NONE, f"{choice.why_not}{advice}")
        return choice

    def _notice_change(self, store: Store, name: str) -> None:
        """Say that the passages are embedded again when the model is another than before."""
        last = store.recall(LAST_NAME)
        if last == name:
            return
        if last:
            self._tell(f"model {name}", f"the embedding model is now {name}, before it was {last}: "
                       "all passages are embedded again")  # fmt: skip
        with store.write() as writer:
            writer.remember(LAST_NAME, name)
