"""The search over a home's memory: refresh, look up by words and meaning, give back lines.

Importing this is cheap; numpy, LlamaIndex and the embedder come with the first search that finds
something to search in. Every search refreshes the index first, so it never answers from old text.
"""

from __future__ import annotations

import contextlib
import difflib
import gc
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from openclaw.errors import ModelFailed
from openclaw.retrieval.documents import Unreadable, kind_of, read_document
from openclaw.retrieval.embedders import Choice, Embedder
from openclaw.retrieval.index import STANDING, LiveIndex, Progress
from openclaw.retrieval.indexer import IndexReport
from openclaw.retrieval.passages import Chosen, Hit, Limits, Passage, chosen, distinct, passage_of
from openclaw.retrieval.question import Wanted, day_of, prefix_of, shortened
from openclaw.retrieval.records import ENGINE
from openclaw.retrieval.scan import IndexOptions
from openclaw.storage.home import Home
from openclaw.types import ToolProblem

if TYPE_CHECKING:
    from openclaw.retrieval.llamaindex import HybridRetriever
    from openclaw.retrieval.ranking import Fused, Ranked
    from openclaw.retrieval.snapshot import Rows, Snapshot, View
    from openclaw.retrieval.vector_store import Engine


# What a search may spend on passages that have no vector yet; the rest waits for `memory index`.
EMBED_SECONDS = 1.5
PROMPT_EMBED_SECONDS = 0.3
ATTEMPTS = 3
MOST_RANKED = 1_000
WAIT_SECONDS = 0.05


_Look = Callable[[Wanted], "list[Hit]"]


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

    def tell_reading(self, on_progress: Progress) -> None:
        """Whenever files are read, tell how many of how many are done."""
        self._index.on_reading = on_progress

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
        wanted = Wanted(shortened(question), today, prefix_of(self._home, path), day_of(since), k)
        seconds = None if complete else EMBED_SECONDS

        def choose(look: _Look) -> Chosen:
            return Chosen([passage_of(*hit) for hit in distinct(look(wanted), k)])

        return self._found(wanted, choose, seconds, on_progress).passages

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
        return self.chosen_for_prompt(question, skip, most, tokens, count, today).passages

    def chosen_for_prompt(
        self,
        question: str,
        skip: Collection[str],
        most: int,
        tokens: int,
        count: Callable[[str], int],
        today: date | None = None,
    ) -> Chosen:
        """The same, with what was found beside it and why that is not said."""
        from openclaw.retrieval.ranking import RECALL_SCORE

        wanted = Wanted(shortened(question), today, k=most, skip=frozenset(skip))
        in_head = replace(wanted, skip=frozenset(), only=wanted.skip)
        limits = Limits(most, tokens, RECALL_SCORE, count)

        def choose(look: _Look) -> Chosen:
            return chosen(look(wanted), limits, look(in_head) if in_head.only else ())

        return self._found(wanted, choose, PROMPT_EMBED_SECONDS, quick=True)

    def ranked(self, question: str, k: int = 5, today: date | None = None) -> Rankings:
        """What `search` finds for a question, however many, and all that either ranking found."""
        wanted = Wanted(shortened(question), today, k=k)
        look = self._look(wanted.question, EMBED_SECONDS)
        shown = [passage_of(*hit) for hit in distinct(look(wanted), MOST_RANKED)]
        return Rankings(shown, [passage_of(*hit) for hit in look(replace(wanted, whole=True))])

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

    def held(self) -> tuple[int, int, int]:
        """How many files and passages the index holds as it is, and how many of those have a
        vector."""
        return self._index.held()

    def close(self) -> None:
        self._index.close()

    def _found(
        self,
        wanted: Wanted,
        choose: Callable[[_Look], Chosen],
        seconds: float | None,
        on_progress: Progress | None = None,
        *,
        quick: bool = False,
    ) -> Chosen:
        """What `choose` takes of the hits. A file that changes while it is searched is searched
        again; one that never rests is left out. `quick` goes without LlamaIndex where it can."""
        found = Chosen([])
        for attempt in range(ATTEMPTS):
            time.sleep(WAIT_SECONDS if attempt else 0)
            try:
                found = choose(self._look(wanted.question, seconds, on_progress, quick=quick))
            except sqlite3.Error as error:
                self._index.recover(error)
                continue
            if all(self._index.is_fresh(passage.path) for passage in found.passages):
                break
        fresh = [passage for passage in found.passages if self._index.is_fresh(passage.path)]
        return Chosen(fresh, found.left_out)

    def _look(
        self,
        question: str,
        seconds: float | None,
        on_progress: Progress | None = None,
        *,
        quick: bool = False,
    ) -> _Look:
        """A look into the index as the files are now: gives the ranked chunks of what is wanted."""
        quick = quick and not self._index.engine.is_ready
        if self._index.files() and question.strip() and not quick:
            load_beside()
        snapshot = self._index.current(seconds, on_progress)
        asked = self._index.meaning.question(question, snapshot) if question.strip() else None
        embedder, vector = asked or (None, None)

        def look(wanted: Wanted) -> list[Hit]:
            view = self._view(snapshot, wanted)
            if view is None:
                return []
            if quick:
                fused = self._ranked(view, wanted, embedder, vector)
            else:
                retriever = self._hybrid(lambda: view, embedder, wanted.today, wanted.k)
                bundle = load_llama().QueryBundle(wanted.question, embedding=vector)
                fused = retriever.fused(view, bundle, whole=wanted.whole)
            return list(zip(fused, view.chunks([one.row for one in fused]), strict=True))

        return look

    def _ranked(
        self, view: View, wanted: Wanted, embedder: Embedder | None, vector: list[float] | None
    ) -> list[Fused]:
        """What a retriever's `fused` gives, from our own files and without LlamaIndex."""
        from openclaw.retrieval import ranking

        def by_meaning(others: Rows) -> Ranked | None:
            if embedder is None or vector is None:
                return None
            try:
                return ranking.nearest(view, embedder, vector, others)
            except ModelFailed as error:
                self._index.meaning.failed(error)
                return None

        return ranking.fused(
            view,
            wanted.question,
            wanted.today or date.today(),
            ranking.by_words(view, wanted.question),
            by_meaning,
            lambda: ranking.scale(view, embedder, vector),
            wanted.k,
            whole=wanted.whole,
        )

    def _view(self, snapshot: Snapshot, wanted: Wanted) -> View | None:
        """The snapshot and its rows that are wanted; None when there are none."""
        from openclaw.retrieval.snapshot import View, allowed_rows

        if not snapshot.count or not wanted.question.strip():
            return None
        allowed = allowed_rows(snapshot, wanted.prefix, wanted.since, wanted.skip, wanted.only)
        return View(snapshot, allowed) if allowed is None or allowed.any() else None

    def _fresh_view(self) -> View:
        from openclaw.retrieval.snapshot import View

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
class Rankings:
    """What a question finds: `shown` as a search shows it, best first; `pool` all that words or
    meaning found, also what answers too badly to be shown."""

    shown: list[Passage]
    pool: list[Passage]


MOST_LINES = 120
LONGEST_LINE = 1_000


def indexed_name(path: str, known: Collection[str]) -> str:
    """The indexed file that a path means. Raises ToolProblem that names the nearest ones."""
    wanted = path.strip().replace("\\", "/").removeprefix("./")
    if wanted in known:
        return wanted
    same_name = [name for name in known if name.rpartition("/")[2] == wanted.rpartition("/")[2]]
    if len(same_name) == 1 and same_name[0].endswith("/" + wanted):
        return same_name[0]
    near = same_name or difflib.get_close_matches(wanted, sorted(known), n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(sorted(near)[:3])}?" if near else ""
    raise ToolProblem(f"{path} is not in memory.{hint}")


def numbered_lines(file: Path, name: str, start: int, end: int, max_bytes: int) -> str:
    """Lines `start` to `end` (from 1, inclusive; 0: to the end), at most `MOST_LINES` of them, each
    with its number. Raises ToolProblem for a file that cannot be read or has no such lines."""
    try:
        text = read_document(file, kind_of(name), max_bytes).text
    except (Unreadable, OSError) as error:
        raise ToolProblem(f"{name} cannot be read: {error}") from error
    lines = text.removesuffix("\n").split("\n")
    first = max(start, 1)
    if first > len(lines):
        raise ToolProblem(f"{name} has only {len(lines)} lines.")
    wanted = min(end if end >= first else len(lines) if end <= 0 else first, len(lines))
    last = min(wanted, first + MOST_LINES - 1)
    width = len(str(last))
    shown = [f"{at:>{width}}  {_short(lines[at - 1])}" for at in range(first, last + 1)]
    if last < wanted:
        shown.append(f"[{wanted - last} more lines: ask for {last + 1} to {wanted}]")
    return f"{name}, lines {first}-{last} of {len(lines)}:\n" + "\n".join(shown)


def _short(line: str) -> str:
    if len(line) <= LONGEST_LINE:
        return line
    return f"{line[:LONGEST_LINE]} [cut: {len(line):,} characters in this line]"


LLAMA = "openclaw.retrieval.llamaindex"


def load_llama() -> ModuleType:
    """`openclaw.retrieval.llamaindex`.

    The import makes a million objects that stay, so the collector, which would walk through them
    again and again, is off meanwhile (17 % less, measured).
    """
    was_on = gc.isenabled()
    first = LLAMA not in sys.modules
    if first:
        gc.disable()
    try:
        from openclaw.retrieval import llamaindex
    finally:
        if was_on:
            gc.enable()
    if first:
        gc.freeze()
    return llamaindex


def load_beside() -> None:
    """Begin the import in a thread of its own, while something else is made ready."""
    if LLAMA not in sys.modules:
        threading.Thread(target=_load, name="llama-import", daemon=True).start()


def _load() -> None:
    with contextlib.suppress(Exception):  # raised again where it is waited for
        load_llama()
