"""Which rows of the index a search may return. Imports numpy: import this module only lazily."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date, datetime
from typing import TYPE_CHECKING

import numpy as np

from openclaw.retrieval.vectors import Mask

if TYPE_CHECKING:
    from openclaw.retrieval.snapshot import Snapshot


def allowed_rows(
    snapshot: Snapshot,
    prefix: str = "",
    since: str = "",
    skip: Collection[str] = (),
    only: Collection[str] = (),
) -> Mask | None:
    """The rows (bool[count]) of files whose path begins with `prefix`, is not in `skip` and, when
    there are `only` some, is one of these, that are of the day `since` or later; None when all are.

    The day of a row is its own date, else the day on which its file was last changed.
    """
    if not (prefix or since or skip or only):
        return None
    mask = np.zeros(snapshot.count, np.bool_)
    for file in snapshot.files():
        wanted = file.path not in skip and (not only or file.path in only)
        if wanted and file.path.startswith(prefix):
            mask[file.first_row : file.first_row + file.count] = True
    if since:
        mask &= _since(snapshot, since)
    return mask


def _since(snapshot: Snapshot, day: str) -> Mask:
    dates = np.array(snapshot.dates(), dtype="U10")
    recent = dates >= day
    midnight = datetime.combine(date.fromisoformat(day), datetime.min.time())
    start_ns = int(midnight.timestamp()) * 1_000_000_000
    for file in snapshot.files():
        rows = slice(file.first_row, file.first_row + file.count)
        if file.mtime_ns >= start_ns:
            recent[rows] |= dates[rows] == ""
    return recent
