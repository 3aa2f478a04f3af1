"""The search over a home's memory: refresh, look up by words and meaning, give back lines.

Importing this loads numpy; the embedder comes with the first search that finds something to search
in, LlamaIndex only with another vector store and with `Search.retriever`. Every search refreshes
the index first, so it never answers from old text.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import secrets
import sqlite3
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import date
from hashlib import blake2b
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from openclaw.config import Settings
from openclaw.errors import ModelFailed
from openclaw.frozen import frozen
from openclaw.retrieval import ranking
from openclaw.retrieval.documents import Unreadable, read_document
from openclaw.retrieval.embedder_choice import Embedder, open_embedder
from openclaw.retrieval.index import LiveIndex
from openclaw.retrieval.passages import (
    ChosenPassages,
    Hit,
    Passage,
    PassageLimits,
    choose_passages,
    for_prompt,
    passage_of,
    to_passages,
)
from openclaw.retrieval.question import Query, day_of, shorten_question, to_index_path
from openclaw.retrieval.ranking import PROMPT_SCORES, FusedRow, RowScores
from openclaw.retrieval.scan import index_options
from openclaw.retrieval.shared_store import LazyStore, StoreFailed
from openclaw.retrieval.snapshot import Rows, SnapshotView, allowed_rows
from openclaw.storage.file_kinds import kind_by_name
from openclaw.storage.home import Home
from openclaw.types import PromptKind, Shown, ToolProblem

if TYPE_CHECKING:
    from openclaw.retrieval.llamaindex import FindWords, HybridRetriever
    from openclaw.retrieval.shared_vectors import SharedVectors


# Seconds that a search may spend on new vectors; the rest waits for `memory index`.
EMBED_SECONDS = 1.5
MAX_AGAIN = 2  # passages of the head that are repeated, as they are better than all others
PROMPT_EMBED_SECONDS = 0.3
ATTEMPTS = 3
MAX_RANKED = 1_000
WAIT_SECONDS = 0.05


_Lookup = Callable[[Query], "list[Hit]"]


class Search(LiveIndex):
    """The index of a home, asked for passages. Several threads may use it."""

    def search(
        self,
        question: str,
        k: int = 5,
        *,
        path: str = "",
        since: str = "",
        today: date | None = None,
    ) -> list[Passage]:
        """The best `k` passages, best first, of the file or folder `path`, or of those whose path
        begins so when there is none, dated `since` (ISO) or later.

        Embeds passages without a vector first, for at most `EMBED_SECONDS`. Raises UsageError when
        `since` is no day.
        """
        place = to_index_path(self._home, path)
        query = Query(shorten_question(question), today, place, day_of(since))

        def choose(look: _Lookup) -> ChosenPassages:
            return ChosenPassages(to_passages(look(query), k))

        return self._choose_hits(query, choose, EMBED_SECONDS).passages

    def chosen_for_prompt(
        self,
        question: str,
        skip: Collection[str],
        most: int,
        tokens: int,
        count: Callable[[str], int],
        today: date | None = None,
        *,
        kind: PromptKind = "",
    ) -> ChosenPassages:
        """Passages good enough to show the model unasked: at most `most`, at most `tokens` in all,
        of the files `skip`, which the prompt holds already, only what is better than all others: a
        small model forgets it. And the best of the others, with the reason why each is left out."""
        query = Query(
            shorten_question(question), today, skip=frozenset(skip), order=kind == "order"
        )
        in_head = replace(query, skip=frozenset(), only=query.skip)

        def choose(look: _Lookup) -> ChosenPassages:
            hits, known = look(query), look(in_head) if in_head.only else ()
            chosen = ChosenPassages([])
            for score in PROMPT_SCORES[kind]:
                again = for_prompt(known, PassageLimits(MAX_AGAIN, tokens, score, count))
                best = hits[0][0].score if hits else 0
                for repeated in (each for each in again if each.score > best):
                    hits = [*(hit for hit in known if repeated.holds(hit[1])), *hits]
                    known = [hit for hit in known if not repeated.holds(hit[1])]
                chosen = choose_passages(hits, PassageLimits(most, tokens, score, count), known)
                if chosen.passages:
                    break
            return chosen

        return self._choose_hits(query, choose, PROMPT_EMBED_SECONDS)

    def ranked(self, question: str) -> Rankings:
        """The passages that `search` finds, and all candidates of both rankings."""
        query = Query(shorten_question(question))
        look = self._open_lookup(query.question, EMBED_SECONDS)
        shown = to_passages(look(query), MAX_RANKED)
        return Rankings(shown, [passage_of(*hit) for hit in look(replace(query, whole=True))])

    def get(self, path: str, start: int = 1, end: int = 0) -> tuple[str, Shown]:
        """Numbered lines `start` to `end` (0: the last line) of an indexed file as text, and which
        they are. Raises ToolProblem when the file is not indexed or has no such lines."""
        self.refresh()
        readable = [path for path, file in self.files().items() if not file.problem]
        name = indexed_name(path, readable)
        return numbered_lines(self.real(name), name, start, end, self.options.max_bytes)

    def read_indexed(self, path: str) -> str:
        """The text of an indexed file, in the lines that passages name. Raises ToolProblem when
        the file is not indexed."""
        self.refresh()
        file = self.known(path)
        if file is None or file.problem:
            raise ToolProblem(f"{path} is not in memory.")
        return _read_text(self.real(path), path, self.options.max_bytes)

    def retriever(self, k: int = 5) -> HybridRetriever:
        """The same search as a LlamaIndex retriever; it refreshes before each question."""
        made: HybridRetriever = load_llama().HybridRetriever(self.rank, k)
        return made

    def rank(
        self, question: str, vector: list[float] | None, find_words: FindWords
    ) -> tuple[SnapshotView, list[FusedRow]]:
        """The index as the files are now, and its rows for a question, best first. `vector` is the
        question's, where it has one already."""
        view, embedder = SnapshotView(self.current(EMBED_SECONDS)), self.meaning.embedder()
        given = (embedder, vector) if embedder and vector else None
        asked = given or self.meaning.question(question, view.snapshot)
        return view, self._ranked(view, Query(question), asked, find_words)

    def _choose_hits(
        self, query: Query, choose: Callable[[_Lookup], ChosenPassages], seconds: float
    ) -> ChosenPassages:
        """Search and let `choose` pick passages. Searches again when a file changed meanwhile, and
        leaves out a file that keeps changing."""
        found = ChosenPassages([])
        for attempt in range(ATTEMPTS):
            time.sleep(WAIT_SECONDS if attempt else 0)
            try:
                found = choose(self._open_lookup(query.question, seconds))
            except sqlite3.Error as error:
                self.recover(error)
                continue
            if all(self.is_fresh(passage.path) for passage in found.passages):
                break
        fresh = [passage for passage in found.passages if self.is_fresh(passage.path)]
        return ChosenPassages(fresh, found.left_out)

    def _open_lookup(self, question: str, seconds: float) -> _Lookup:
        """A function that ranks the chunks for a query in the index as the files are now."""
        snapshot = self.current(seconds)
        asked = self.meaning.question(question, snapshot)
        whole = SnapshotView(snapshot)

        def look(query: Query) -> list[Hit]:
            view = whole.narrowed(allowed_rows(snapshot, query))
            found = self._ranked(view, query, asked, ranking.by_words)
            return list(zip(found, view.chunks([one.row for one in found]), strict=True))

        return look

    def _ranked(
        self,
        view: SnapshotView,
        query: Query,
        asked: tuple[Embedder, list[float]] | None,
        find_words: FindWords,
    ) -> list[FusedRow]:
        def by_meaning(others: Rows) -> RowScores | None:
            try:
                return self.nearest(view, *asked, others) if asked else None
            except ModelFailed as error:
                self.meaning.failed(error)
                return None

        return ranking.fused(view, query, find_words(view, query.question), by_meaning)


@frozen
class Rankings:
    """The passages for a question.

    shown  the passages that a search shows, best first
    pool   all candidates of both rankings, including those with too low a score
    """

    shown: list[Passage]
    pool: list[Passage]


MAX_LINES = 120
LONGEST_LINE = 1_000


def indexed_name(path: str, known: Collection[str]) -> str:
    """The indexed file of a path. Raises ToolProblem that names similar files."""
    query = path.strip().replace("\\", "/").removeprefix("./")
    if query in known:
        return query
    same_name = [name for name in known if name.rpartition("/")[2] == query.rpartition("/")[2]]
    if len(same_name) == 1 and same_name[0].endswith("/" + query):
        return same_name[0]
    near = same_name or difflib.get_close_matches(query, sorted(known), n=3, cutoff=0.5)
    hint = f" Did you mean {' or '.join(sorted(near)[:3])}?" if near else ""
    raise ToolProblem(f"{path} is not in memory.{hint}")


def _read_text(file: Path, name: str, max_bytes: int) -> str:
    try:
        return read_document(file, kind_by_name(name), max_bytes)
    except (Unreadable, OSError) as error:
        raise ToolProblem(f"{name} cannot be read: {error}") from error


def numbered_lines(
    file: Path, name: str, start: int, end: int, max_bytes: int
) -> tuple[str, Shown]:
    """Numbered lines `start` to `end` (from 1, inclusive; 0: the last line), at most `MAX_LINES`,
    below a heading, and which they are. Raises ToolProblem when the file cannot be read or has no
    such lines."""
    lines = _read_text(file, name, max_bytes).removesuffix("\n").split("\n")
    first = max(start, 1)
    if first > len(lines):
        raise ToolProblem(f"{name} has only {len(lines)} lines.")
    query = min(end if end >= first else len(lines) if end <= 0 else first, len(lines))
    last = min(query, first + MAX_LINES - 1)
    width = len(str(last))
    shown = [f"{at:>{width}}  {_shorten_line(lines[at - 1])}" for at in range(first, last + 1)]
    if last < query:
        shown.append(f"[{query - last} more lines: ask for {last + 1} to {query}]")
    head = f"{name}, lines {first}-{last} of {len(lines)}:"
    return "\n".join((head, *shown)), Shown(name, first, last)


def _shorten_line(line: str) -> str:
    if len(line) <= LONGEST_LINE:
        return line
    return f"{line[:LONGEST_LINE]} [cut: {len(line):,} characters in this line]"


def load_llama() -> ModuleType:
    """`openclaw.retrieval.llamaindex`, whose import takes a second."""
    from openclaw.retrieval import llamaindex

    return llamaindex


def open_search(home: Home, settings: Settings) -> Search:
    """The search of a home. It reads nothing before the first question."""
    shared = choose_store(settings.index.store, settings.index.id, keeps=settings.index.keep)
    return Search(
        home,
        index_options(settings),
        lambda: open_embedder(settings),
        home.private,
        shared=shared,
    )


def choose_store(
    given: Mapping[str, Any] | None, home: str, *, keeps: bool
) -> LazyStore[SharedVectors]:
    """The vector store of the settings `index.store`, `index.id` (`home`) and `index.keep`."""
    if not given:
        return LazyStore()

    def make(embedder: Embedder) -> SharedVectors:
        if not re.fullmatch(r"[A-Za-z0-9_]{1,32}", home):
            raise StoreFailed(
                "index.id, by which all clones of a home find their vectors, is no name of letters "
                "and digits",
                f"openclaw config set index.id {secrets.token_hex(4)}, once for all clones",
            )
        from openclaw.retrieval.shared_vectors import open_shared

        return open_shared(given, home, embedder, os.environ)

    named = json.dumps([home, given], sort_keys=True, default=str)
    place = blake2b(named.encode(), digest_size=8).hexdigest()
    return LazyStore(make, place, keeps=keeps)
