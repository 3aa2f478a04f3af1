"""What one search sees of the index. Imports numpy: import this module only lazily."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from openclaw.retrieval.vectors import Floats, Mask, Rows

if TYPE_CHECKING:
    from openclaw.retrieval.records import StoredChunk
    from openclaw.retrieval.snapshot import Snapshot


class View:
    """A snapshot as one search sees it; each row and each word is read once.

    `allowed` narrows the search to those rows (bool[count]); None allows all.
    """

    def __init__(self, snapshot: Snapshot, allowed: Mask | None = None) -> None:
        self.snapshot = snapshot
        self.allowed = allowed
        self._chunks: dict[int, StoredChunk] = {}
        self._rows: dict[str, int] = {}
        self._postings: dict[str, tuple[Rows, Floats]] = {}

    def postings(self, word: str) -> tuple[Rows, Floats]:
        """The rows that hold a word (int64[n]) and how often (float32[n])."""
        if word not in self._postings:
            self._postings[word] = self.snapshot.postings(word)
        return self._postings[word]

    def chunks(self, rows: Sequence[int]) -> list[StoredChunk]:
        """The chunks of these rows, in the order asked for."""
        missing = [row for row in rows if row not in self._chunks]
        for chunk in self.snapshot.rows(missing) if missing else ():
            self._chunks[chunk.row] = chunk
            self._rows[chunk.node_id] = chunk.row
        return [self._chunks[row] for row in rows]

    def rows_of(self, spans: Sequence[tuple[str, str]]) -> Rows:
        """The rows (int64[n]) whose day lies in one of the spans of ISO days, ends included."""
        if not spans:
            return np.empty(0, np.int64)
        days = np.array(self.snapshot.dates(), dtype="U10")
        within = np.any([(first <= days) & (days <= last) for first, last in spans], axis=0)
        if self.allowed is not None:
            within &= self.allowed
        return np.flatnonzero(within)

    def row_of(self, node_id: str) -> int | None:
        """The row of a node, None when there is none (any more)."""
        row = self._rows.get(node_id)
        return self.snapshot.row_of(node_id) if row is None else row
