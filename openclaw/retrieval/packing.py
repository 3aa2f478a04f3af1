"""Numbers of chunks as the bytes the index keeps. Imports numpy: import this module only lazily."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from openclaw.retrieval import schema

ROW_TYPE = np.dtype([("node", "<u8"), ("context", "<i8"), ("length", "<u4")])
Postings = Mapping[str, tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]]
MOST = 255

assert ROW_TYPE.itemsize == 20 and schema.ROW == "<QqI"  # noqa: S101


def pack_postings(postings: Postings) -> dict[str, bytes]:
    """Each word's ordinals and counts as `postings.data`."""
    if not postings:
        return {}
    pairs = list(postings.values())
    shifted = np.concatenate([ordinals for ordinals, _ in pairs]).astype(np.uint32) << 8
    counts = np.concatenate([counts for _, counts in pairs])
    packed = (shifted | np.clip(counts, 1, MOST).astype(np.uint32)).astype("<u4").tobytes()
    result, start = {}, 0
    for term, (ordinals, _) in postings.items():
        end = start + 4 * len(ordinals)
        result[term] = packed[start:end]
        start = end
    return result


def pack_ids(ids: list[int]) -> bytes:
    return np.array(ids, "<u4").tobytes()


def unpack_ids(data: bytes) -> list[int]:
    ids: list[int] = np.frombuffer(data, "<u4").tolist()
    return ids


def pack_rows(nodes: list[int], contexts: list[int], lengths: npt.NDArray[np.float32]) -> bytes:
    rows = np.empty(len(nodes), ROW_TYPE)
    rows["node"], rows["context"], rows["length"] = nodes, contexts, lengths
    return rows.tobytes()


def contexts_of(rows: bytes) -> set[int]:
    """The contexts of a file's chunks; chunks without one are left out."""
    found: set[int] = set(np.frombuffer(rows, ROW_TYPE)["context"].tolist())
    return found - {0}
