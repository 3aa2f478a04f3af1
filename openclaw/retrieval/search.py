"""The search over a home's memory: refresh, look up by words and meaning, give back lines.

Importing this is cheap; numpy, LlamaIndex and the embedder come with the first search that finds
something to search in. Every search refreshes the index first, so it never answers from old text.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from openclaw.errors import UsageError
from openclaw.files.home import Home
from openclaw.retrieval.door import load_beside, load_llama
from openclaw.retrieval.embeddings import Choice, Embedder
from openclaw.retrieval.engines import ENGINE
from openclaw.retrieval.excerpt import indexed_name, numbered_lines
from openclaw.retrieval.live import LiveIndex
from openclaw.retrieval.meaning import STANDING, Progress
from openclaw.retrieval.passages import Hit, Limits, Passage, distinct, for_prompt, passage_of
from openclaw.retrieval.scan import IndexOptions
from openclaw.retrieval.upkeep import IndexReport

if TYPE_CHECKING:
    from openclaw.retrieval.engines import Engine
    from openclaw.retrieval.llama import HybridRetriever
    from openclaw.retrieval.snapshot import Snapshot
    from openclaw.retrieval.view import View

__all__ = ["IndexReport", "Passage", "Search", "load_llama"]

# What a search may spend on passages that have no vector yet; the rest waits for `memory index`.
EMBED_SECONDS = 1.5
PROMPT_EMBED_SECONDS = 0.3
# Of a longer question the beginning and the end are read: a pasted log asks for nothing itself.
LONGEST_QUESTION = 2_000
ATTEMPTS = 3
WAIT_SECONDS = 0.05


class Search:
    """Finds passages in the files of a home. May be used by several threads.

    `embedder` is asked when a search first needs it; None, or a `Choice` without one, means words
    only. `private` is the home's folder for derived files. `notices` are lines for the user, each
    told once; whoever shows them may empty the list.
    """

    def __init__(
        self,
        home: Home,
        options: IndexOptions,
        embedder: Callable[[], Embedder | Choice | None],
        private: Path,
        *,
        engine: Callable[[], Engine] | None = None,
    ) -> None:
        self._home = home
        self._index = LiveIndex(home, options, embedder, private / "index", engine)

    @property
    def notices(self) -> list[str]:
        """Lines for the user, each told once; whoever shows them may empty the list."""
        return self._index.notices

    def tell_news_only(self) -> None:
        """From now on no notice of what is so every time: no embedder, passages without vectors."""
        for key in STANDING:
            self._index.hush(key)

    def refresh(self, *, force: bool = False, on_progress: Progress | None = None) -> IndexReport:
        """Read what changed since the last time; `force` reads all files anew. `on_progress` is
        told how many files of how many are done."""
        return self._index.refresh(force=force, on_progress=on_progress)

    def embed(
        self,
        *,
        seconds: float | None = None,
        on_progress: Progress | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> int:
        """Give vectors to passages that have none, for at most `seconds` (None: to all of them).
        A failure is a notice, and what was done is kept.

        Returns how many passages still have none; 0 also when none of them could be given one.
        """
        return self._index.embed(seconds, on_progress, stop)

    def search(
        self,
        question: str,
        k: int = 5,
        *,
        path: str = "",
        since: str = "",
        today: date | None = None,
        complete: bool = False,
        on_progress: Progress | None = None,
    ) -> list[Passage]:
        """The best `k` passages, best first, of files whose path begins with `path` and of the day
        `since` (ISO) or later.

        Passages that have no vector yet are given one first, for at most `EMBED_SECONDS`, or all of
        them when `complete`. Raises UsageError for a `since` that is no day.
        """
        wanted = _Wanted(_shortened(question), today, _prefix(self._home, path), _day(since), k)
        seconds = None if complete else EMBED_SECONDS

        def choose(hits: list[Hit]) -> list[Passage]:
            return [passage_of(*hit) for hit in distinct(hits, k)]

        return self._found(wanted, choose, seconds, on_progress)

    def passages_for_prompt(
        self,
        question: str,
        skip: Collection[str],
        most: int = 3,
        tokens: int = 400,
        count: Callable[[str], int] = lambda text: len(text) // 4 + 1,
        today: date | None = None,
    ) -> list[Passage]:
        """What is worth saying to the model unasked: at most `most` passages and `tokens` in all,
        good enough each, none from the files `skip` (they stand in the prompt already)."""
        from openclaw.retrieval.ranking import RECALL_SCORE

        wanted = _Wanted(_shortened(question), today, k=most, skip=frozenset(skip))
        limits = Limits(most, tokens, RECALL_SCORE, count)
        return self._found(wanted, lambda hits: for_prompt(hits, limits), PROMPT_EMBED_SECONDS)

    def worth_asking(self, skip: Collection[str]) -> bool:
        """Whether anything is indexed beside the files `skip`; cheap, LlamaIndex stays out."""
        self._index.refresh()
        return any(file.chunks and path not in skip for path, file in self._index.files().items())

    def get(self, path: str, start: int = 1, end: int = 0) -> str:
        """Lines `start` to `end` (0: to the end) of an indexed file, with their numbers. Raises
        ToolProblem when the file is not indexed or has no such lines."""
        self._index.refresh()
        readable = [path for path, file in self._index.files().items() if not file.problem]
        name = indexed_name(path, readable)
        real = self._index.real(name)
        return numbered_lines(real, name, start, end, self._index.options.max_bytes)

    def retriever(self, k: int = 5) -> HybridRetriever:
        """The same search as a LlamaIndex retriever; it refreshes before each question."""
        return self._hybrid(self._fresh_view, self._index.meaning.embedder(), None, k)

    def close(self) -> None:
        self._index.close()

    def _found(
        self,
        wanted: _Wanted,
        choose: Callable[[list[Hit]], list[Passage]],
        seconds: float | None,
        on_progress: Progress | None = None,
    ) -> list[Passage]:
        """What `choose` takes of the hits. A file that changes while it is searched is searched
        again; one that never rests is left out."""
        found: list[Passage] = []
        for attempt in range(ATTEMPTS):
            time.sleep(WAIT_SECONDS if attempt else 0)
            try:
                found = choose(self._hits(wanted, seconds, on_progress))
            except sqlite3.Error as error:
                self._index.recover(error)
                continue
            if all(self._index.is_fresh(passage.path) for passage in found):
                break
        return [passage for passage in found if self._index.is_fresh(passage.path)]

    def _hits(
        self, wanted: _Wanted, seconds: float | None, on_progress: Progress | None
    ) -> list[Hit]:
        """The ranked chunks of the index as the files are now."""
        if self._index.files() and wanted.question.strip():
            load_beside()
        snapshot = self._index.current(seconds, on_progress)
        view = self._view(snapshot, wanted)
        if view is None:
            return []
        asked = self._index.meaning.question(wanted.question, snapshot)
        embedder, vector = asked or (None, None)
        retriever = self._hybrid(lambda: view, embedder, wanted.today, wanted.k)
        fused = retriever.fused(view, load_llama().QueryBundle(wanted.question, embedding=vector))
        return list(zip(fused, view.chunks([one.row for one in fused]), strict=True))

    def _view(self, snapshot: Snapshot, wanted: _Wanted) -> View | None:
        """The snapshot and its rows that are wanted; None when there are none."""
        from openclaw.retrieval.scope import allowed_rows
        from openclaw.retrieval.view import View

        if not snapshot.count or not wanted.question.strip():
            return None
        allowed = allowed_rows(snapshot, wanted.prefix, wanted.since, wanted.skip)
        return View(snapshot, allowed) if allowed is None or allowed.any() else None

    def _fresh_view(self) -> View:
        from openclaw.retrieval.view import View

        return View(self._index.current(EMBED_SECONDS))

    def _hybrid(
        self,
        state: Callable[[], View],
        embedder: Embedder | None,
        today: date | None,
        k: int,
    ) -> HybridRetriever:
        llama, index = load_llama(), self._index

        def trouble(what: str, error: Exception) -> None:
            if what == ENGINE:
                index.engine_failed(error)
            else:
                index.meaning.failed(error)

        retriever: HybridRetriever = llama.HybridRetriever(
            state,
            embedder,
            engine=index.engine.vectors if index.engine.is_ready else None,
            top_k=k,
            today=lambda: today or date.today(),
            on_trouble=trouble,
        )
        return retriever


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A question, and what may answer it."""

    question: str
    today: date | None
    prefix: str = ""
    since: str = ""
    k: int = 5
    skip: frozenset[str] = frozenset()


def _shortened(question: str) -> str:
    if len(question) <= LONGEST_QUESTION:
        return question
    return f"{question[: LONGEST_QUESTION - 500]} {question[-500:]}"


def _prefix(home: Home, path: str) -> str:
    """The beginning of paths that is meant: as they are shown, with slashes."""
    plain = path.strip().replace("\\", "/").removeprefix("./")
    root = home.root.as_posix().rstrip("/") + "/"
    return plain.removeprefix(root)


def _day(since: str) -> str:
    if not since:
        return ""
    try:
        return date.fromisoformat(since).isoformat()
    except ValueError as error:
        raise UsageError(f"not a day: {since!r}", "write it like 2026-11-21") from error
