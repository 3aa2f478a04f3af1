"""LlamaIndex as it comes, to compare with: sentence splitter, BM25, vectors, rank fusion.

Imports llama_index, about a second: import it when it is used. The chunks have 400 tokens, the
overlap is LlamaIndex's default; the embedding model is ours behind our adaptor, so that only the
cutting and the ranking differ.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING, Any, cast

from llama_index.core import Document, VectorStoreIndex
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.callbacks.base import CallbackManager
from llama_index.core.constants import DEFAULT_CHUNK_OVERLAP
from llama_index.core.llms import MockLLM
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.retrievers.fusion_retriever import FUSION_MODES
from llama_index.core.schema import BaseNode, NodeWithScore, TextNode
from llama_index.retrievers.bm25 import BM25Retriever

from openclaw.retrieval.passages import Passage
from openclaw.retrieval.snapshot import question_vector

if TYPE_CHECKING:
    from benchmarks.recall_score import Corpus
    from openclaw.retrieval.embedder_choice import Embedder

CHUNK_TOKENS = 400


class TextEmbedding(BaseEmbedding):
    """Our embedder as a LlamaIndex embedding model. It cuts texts to its own window."""

    _embedder: Any = PrivateAttr()

    def __init__(self, embedder: Embedder) -> None:
        super().__init__(model_name=embedder.name, callback_manager=CallbackManager([]))
        self._embedder = embedder

    def _get_query_embedding(self, query: str) -> list[float]:
        numbers: list[float] = question_vector(self._embedder, query).tolist()
        return numbers

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return self._get_query_embedding(query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        rows: list[list[float]] = self._embedder.documents(texts).tolist()
        return rows


class Stock:
    """A LlamaIndex of a corpus in memory; without an embedder BM25 alone."""

    def __init__(self, corpus: Corpus, embedder: Embedder | None, most: int) -> None:
        texts = {path: "\n".join(lines) for path, lines in corpus.lines.items()}
        # LlamaIndex's own reader puts the path beside the text in the same way.
        documents = [Document(text=texts[path], metadata={"file_path": path}) for path in texts]
        splitter = SentenceSplitter(chunk_size=CHUNK_TOKENS, chunk_overlap=DEFAULT_CHUNK_OVERLAP)
        nodes = splitter.get_nodes_from_documents(documents)
        self._starts = {path: _starts(corpus.lines[path]) for path in texts}
        self._retriever = _retriever(nodes, embedder, min(most, len(nodes)))

    def ask(self, question: str) -> list[Passage]:
        """The chunks, best first, as the lines that they lie on."""
        return [self._passage(found) for found in self._retriever.retrieve(question)]

    def _passage(self, found: NodeWithScore) -> Passage:
        node = cast(TextNode, found.node)
        path = node.metadata["file_path"]
        if node.start_char_idx is None or node.end_char_idx is None:
            raise ValueError(f"a chunk of {path} does not know where it stands")
        start = bisect_right(self._starts[path], node.start_char_idx)
        end = bisect_right(self._starts[path], node.end_char_idx - 1)
        return Passage(path, start, end, node.text, found.score or 0.0)


def _starts(lines: list[str]) -> list[int]:
    """Where each line begins in the text, in characters."""
    return [0, *accumulate(len(line) + 1 for line in lines[:-1])]


def _retriever(nodes: list[BaseNode], embedder: Embedder | None, most: int) -> BaseRetriever:
    words: BaseRetriever = BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=most)
    if embedder is None:
        return words
    index = VectorStoreIndex(nodes, embed_model=TextEmbedding(embedder))
    return QueryFusionRetriever(
        [index.as_retriever(similarity_top_k=most), words],
        llm=MockLLM(),
        mode=FUSION_MODES.RECIPROCAL_RANK,  # its constant is k = 60
        num_queries=1,
        similarity_top_k=most,
        use_async=False,
    )
