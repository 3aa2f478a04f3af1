"""Embedding models of servers: of Ollama, and of those of OpenAI's kind."""

from __future__ import annotations

import hashlib
import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from http.client import HTTPException
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from openclaw.config.settings import is_loopback
from openclaw.errors import ModelFailed, ModelMissing, OpenclawError, ServerAway
from openclaw.models.embedding_models import cut, family, find, installed, preferred
from openclaw.models.http_client import (
    CONNECT_SECONDS,
    MAX_LINE,
    ConnectFailed,
    HttpClient,
    ServerRefusal,
    error_line,
)
from openclaw.models.ollama import OllamaClient, base_url
from openclaw.models.openai import HOSTED, START_IT
from openclaw.retrieval.minilm import TAKE_ANOTHER

if TYPE_CHECKING:
    import httpx
    from llama_index.embeddings.ollama import OllamaEmbedding

    from openclaw.models.embedding_models import InstalledModel


SERVER_BATCH = 16  # texts of one request; a slow processor answers it within a minute
READ_SECONDS = 120.0  # enough to load a large model from disk
SHORTEST = 32  # characters; a shorter text that is "too long" is not cut again

_TOO_LONG = re.compile(
    r"(input|prompt) (length )?(exceeds|is too (long|large))|context length", re.I
)


class TextTooLongError(ModelFailed):
    """The server refuses a text because of its length."""


class ServerEmbedder(ABC):
    """A model of a server, by the name that this server has for it. A failure is raised at once and
    not tried again: the search goes on by words. Several threads may use it; questions do not wait
    for passages, which have a connection of their own.

    server   its name for the user
    path     what embeds, below the address of the clients that `connect` makes
    advice   what to do when the server is away
    """

    advice = ""

    def __init__(
        self, model: str, server: str, path: str, connect: Callable[[], HttpClient]
    ) -> None:
        self._family = family(model)
        self._model_name, self._server, self._path = model, server, path
        self._clients = [(connect(), threading.Lock()) for _ in range(2)]
        self._dimensions = 0

    @abstractmethod
    def _read_rows(self, answer: Mapping[str, Any]) -> Any:
        """The vectors in an answer. Raises ValueError, TypeError or KeyError without them."""

    @abstractmethod
    def _to_openclaw_error(self, said: str, status: int) -> OpenclawError:
        """The error for a refusal that is not about length."""

    def _fetch(self, texts: list[str], *, asked: bool) -> Any:
        """Return the vectors of passages, or of questions. Raises TextTooLongError, ServerAway,
        ModelMissing or ModelFailed."""
        mark = self._family.query if asked else self._family.document
        told = [f"{mark} {text.strip()}".strip() for text in texts]
        try:
            with self._clients[asked][1]:
                return self._ask(told, asked=asked)
        except ServerRefusal as refusal:
            said = error_line(str(refusal))
            if _TOO_LONG.search(said):
                refuses = f"{self._model_name} refuses a text as too long"
                raise TextTooLongError(refuses, "") from refusal
            raise self._to_openclaw_error(said, refusal.status) from refusal
        except ConnectFailed as error:
            raise ServerAway(f"{self._server} does not answer", self.advice) from error
        except (HTTPException, OSError) as error:
            why = str(error) or type(error).__name__
            raise ServerAway(
                f"{self._server} broke off while embedding ({why})", "see the server's own log"
            ) from error
        except (ValueError, TypeError, KeyError) as error:
            raise self._unusable_vectors("what is no vector") from error

    def _ask(self, texts: list[str], *, asked: bool) -> Any:
        """The vectors of these texts. Raises as `HttpClient` does, and as `_read_rows` does."""
        body = {"model": self._model_name, "input": texts}
        return self._read_rows(self._clients[asked][0].ask("POST", self._path, body))

    def close(self) -> None:
        for client, _ in self._clients:
            client.close()

    def load(self) -> None:  # noqa: B027 - nothing to do is right for all of them
        """Does nothing: the server loads its model with the first text."""

    def documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Shape (n, d). Raises ServerAway, ModelMissing, or ModelFailed for unusable vectors."""
        left = [cut(text, self._family.window) for text in texts]
        if not left:
            return np.empty((0, self._dimensions), np.float32)
        starts = range(0, len(left), SERVER_BATCH)
        return np.concatenate([self._embed(left[n : n + SERVER_BATCH]) for n in starts])

    def query(self, text: str) -> NDArray[np.float32]:
        """Shape (d,). Raises as `documents` does."""
        vector: NDArray[np.float32] = self._embed([cut(text, self._family.window)], asked=True)[0]
        return vector

    def _embed(self, texts: list[str], *, asked: bool = False) -> NDArray[np.float32]:
        """Embed passages, or a question. Ollama since 0.13.5 refuses a text that is too long
        instead of cutting it (ollama/ollama issue 14186): then each text is sent alone, and a
        refused one cut in half."""
        try:
            return self._check_vectors(self._fetch(texts, asked=asked), len(texts))
        except TextTooLongError:
            if len(texts) == 1:
                return self._embed([_shorter(texts[0])], asked=asked)
        return np.concatenate([self._embed([text]) for text in texts])

    def _check_vectors(self, found: Any, count: int) -> NDArray[np.float32]:
        """The vectors with length 1. Raises ModelFailed when they are unusable."""
        try:
            vectors = np.asarray(found, np.float32)
        except (ValueError, TypeError) as error:
            raise self._unusable_vectors("rows of different lengths") from error
        if vectors.ndim != 2 or len(vectors) != count or not vectors.shape[1]:
            raise self._unusable_vectors(f"vectors of shape {vectors.shape} for {count} texts")
        if self._dimensions not in (0, vectors.shape[1]):
            before = self._dimensions
            raise self._unusable_vectors(f"{vectors.shape[1]} dimensions where there were {before}")
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or not lengths.all():
            raise self._unusable_vectors("a vector that is zero or no number")
        self._dimensions = vectors.shape[1]
        normalised: NDArray[np.float32] = vectors / lengths
        return normalised

    def _unusable_vectors(self, what: str) -> ModelFailed:
        return ModelFailed(f"{self._model_name} gave {what}", TAKE_ANOTHER)


class OllamaEmbedder(ServerEmbedder):
    """One model of one server. Connects with the first text."""

    advice = "start it with `ollama serve`"

    def __init__(self, model: InstalledModel, url: str) -> None:
        super().__init__(
            model.name,
            f"Ollama at {url}",
            "/api/embed",
            lambda: OllamaClient(url, CONNECT_SECONDS, READ_SECONDS),
        )
        self._digest, self._url = model.digest, url

    @property
    def name(self) -> str:
        """The name with the digest, which differs for another model of the same name."""
        return f"ollama/{self._model_name}@{self._digest[:12]}"

    def _ask(self, texts: list[str], *, asked: bool) -> Any:
        """Full batches go by LlamaIndex's class, whose import takes a second of processor time: so
        much is embedded only where nobody waits. A question or a few new lines do without it."""
        if asked or len(texts) < SERVER_BATCH:
            return super()._ask(texts, asked=asked)
        import httpx
        import ollama

        try:
            return self._batches.get_text_embedding_batch(texts)
        except ollama.ResponseError as error:
            raise ServerRefusal(error.error, error.status_code) from error
        except (ConnectionError, httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise ConnectFailed(str(error)) from error
        except httpx.HTTPError as error:
            raise HTTPException(str(error)) from error
        except (AttributeError, IndexError) as error:
            raise ValueError(str(error)) from error

    @cached_property
    def _batches(self) -> OllamaEmbedding:
        from llama_index.embeddings.ollama import OllamaEmbedding

        server: dict[str, Any] = {"base_url": self._url, "client_kwargs": _httpx_options(self._url)}
        return OllamaEmbedding(self._model_name, embed_batch_size=SERVER_BATCH, **server)

    def close(self) -> None:
        super().close()
        if "_batches" in self.__dict__:
            client: Any = self._batches._client
            client.close()
            del self._batches

    def _read_rows(self, answer: Mapping[str, Any]) -> Any:
        return answer["embeddings"]

    def _to_openclaw_error(self, said: str, status: int) -> OpenclawError:
        if status == 404 and "page not found" not in said:
            missing = f"{self._server} has no model {self._model_name}"
            return ModelMissing(missing, f"ollama pull {self._model_name}")
        hint = "take an embedding model" if "support" in said else "see the server's own log"
        return ModelFailed(f"{self._model_name} cannot embed (HTTP {status}): {said}", hint)


def find_ollama_embedder(host: str, name: str = "") -> OllamaEmbedder | None:
    """The embedder `name` of an Ollama, or the best one that it has; None when it has none. Raises
    ServerAway."""
    url = base_url(host)
    models = installed(url)
    found = find(name, models) if name else preferred(models)
    return OllamaEmbedder(found, url) if found else None


class OpenAIEmbedder(ServerEmbedder):
    """One model of a server with an OpenAI-compatible `/embeddings`: vLLM, llama.cpp, hosted ones.
    Connects with the first text.

    base_url  the part before `/embeddings`; "" is OpenAI's own
    """

    advice = START_IT

    def __init__(self, model: str, base_url: str, api_key: str) -> None:
        self._url = url = (base_url or HOSTED).rstrip("/")
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        super().__init__(
            model,
            f"the server at {url}",
            "/embeddings",
            lambda: HttpClient(url, headers, CONNECT_SECONDS, READ_SECONDS),
        )

    @property
    def name(self) -> str:
        """The name with a hash of the address, as these servers do not tell a model's digest."""
        return f"openai/{self._model_name}@{hashlib.sha256(self._url.encode()).hexdigest()[:12]}"

    def _read_rows(self, answer: Mapping[str, Any]) -> Any:
        rows = sorted(answer["data"], key=lambda row: int(row["index"]))
        return [row["embedding"] for row in rows]

    def _to_openclaw_error(self, said: str, status: int) -> OpenclawError:
        if status == 404:
            hint = "name one that the server has: openclaw config set embedding openai/NAME"
            return ModelMissing(f"{self._url} has no embedding model {self._model_name}", hint)
        hint = "look at `openai.base_url` and the variable of `openai.api_key_env`"
        return ModelFailed(f"{self._model_name} cannot embed (HTTP {status}): {said}", hint)


def _httpx_options(url: str) -> dict[str, Any]:
    """Arguments for `httpx.Client`. A proxy of the environment is not used for loopback; the
    certificate store (35 ms, twice) is not read without TLS."""
    import httpx

    return {
        "timeout": httpx.Timeout(READ_SECONDS, connect=CONNECT_SECONDS),
        "verify": url.startswith("https://"),
        # A compressed reply may expand a thousand times.
        "headers": {"Accept-Encoding": "identity"},
        "event_hooks": {"response": [_limit_size]},
        "trust_env": not is_loopback(url),
    }


def _limit_size(response: httpx.Response) -> None:
    """Make a reply fail when it gets too long, or is compressed nevertheless."""
    import httpx

    if response.headers.get("content-encoding", "identity").lower() != "identity":
        raise httpx.DecodingError("it packs its reply, which was not asked for")

    class Bounded(httpx.SyncByteStream):
        def __init__(self, stream: httpx.SyncByteStream) -> None:
            self._stream = stream

        def __iter__(self) -> Iterator[bytes]:
            total = 0
            for chunk in self._stream:
                total += len(chunk)
                if total > MAX_LINE:
                    raise httpx.ReadError(f"it sent more than {MAX_LINE:,} bytes")
                yield chunk

        def close(self) -> None:
            self._stream.close()

    response.stream = Bounded(response.stream)  # type: ignore[arg-type]


def _shorter(text: str) -> str:
    if len(text) <= SHORTEST:
        raise ModelFailed(
            "the embedding model refuses even the shortest texts as too long", TAKE_ANOTHER
        )
    return text[: len(text) // 2]
