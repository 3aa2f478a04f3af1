"""Chunks as LlamaIndex nodes, and back. Imports llama_index: see `llama`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from llama_index.core.schema import NodeWithScore, TextNode

from openclaw.retrieval.ranking import Ranked
from openclaw.retrieval.view import View

if TYPE_CHECKING:
    from openclaw.retrieval.records import StoredChunk


def node_of(chunk: StoredChunk) -> TextNode:
    """A chunk as a node; what stands where is metadata, and no part of the text."""
    place = {
        "path": chunk.path,
        "start_line": chunk.start_line,
        "end_line": chunk.end_line,
        "date": chunk.date,
        "headings": " > ".join(chunk.headings),
    }
    return TextNode(
        id_=chunk.node_id,
        text=chunk.text,
        metadata=place,
        excluded_embed_metadata_keys=list(place),
        excluded_llm_metadata_keys=["date", "headings"],
    )


def nodes_of(view: View, rows: Sequence[int]) -> list[TextNode]:
    """The chunks of these rows as nodes, in the order asked for."""
    return [node_of(chunk) for chunk in view.chunks(rows)]


def scored(nodes: Sequence[TextNode], scores: Sequence[float]) -> list[NodeWithScore]:
    return [NodeWithScore(node=n, score=s) for n, s in zip(nodes, scores, strict=True)]


def ranked(view: View, found: Sequence[NodeWithScore]) -> Ranked:
    """Nodes as rows and scores; what the snapshot does not know or may not show is left out."""
    pairs = [
        (row, each.score or 0.0)
        for each in found
        if (row := view.row_of(each.node.node_id)) is not None
        and (view.allowed is None or view.allowed[row])
    ]
    rows = np.array([row for row, _ in pairs], np.int64)
    return Ranked(rows, np.array([score for _, score in pairs], np.float32))
