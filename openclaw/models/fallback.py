"""A list of models as one: the first that can be asked."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress

from openclaw.errors import ModelFailed, ModelMissing, OpenclawError, PromptTooLarge, ServerAway
from openclaw.models import remote
from openclaw.models.base import Chunk, Model, ModelCard, Request, Waiting


class FallbackModel:
    """The first model of a list that can be asked.

    The next one is taken when a model is away, missing, or fails before its first token, with a
    Waiting chunk that says so; it stays taken. A prompt that is too large is not the model's
    fault and is raised. `ways` are (name, function that opens the model).
    """

    def __init__(self, ways: Sequence[tuple[str, Callable[[], Model]]]) -> None:
        self._ways = ways
        self._at = 0
        self._model: Model | None = None
        self._failures: list[OpenclawError] = []
        self._notices: list[str] = []

    @property
    def card(self) -> ModelCard:
        """The card of the first model that answers. Raises what the first one raised."""
        while True:
            try:
                return self._opened().card
            except (ServerAway, ModelMissing, ModelFailed) as error:
                self._go_on(error)

    @property
    def reading_rate(self) -> float:
        """That of the model whose turn it is; it can be set once that one is open."""
        return self._model.reading_rate if self._model else 0.0

    @reading_rate.setter
    def reading_rate(self, rate: float) -> None:
        if self._model:
            self._model.reading_rate = rate

    def stream(self, request: Request) -> Iterator[Chunk]:
        """See `Model`."""
        while True:
            _ = self.card  # goes past models that are away
            yield from self._news()
            if (yield from self._tell(request)):
                return

    def wire(self, request: Request) -> bytes:
        """See `Model`: the first model that answers."""
        _ = self.card
        return self._opened().wire(request)

    def warm(self, request: Request) -> Iterator[Waiting]:
        """See `Model`: the model whose turn it is."""
        with suppress(OpenclawError):
            yield from self._opened().warm(request)

    def close(self) -> None:
        if self._model is not None:
            self._model.close()
            self._model = None

    def _tell(self, request: Request) -> Generator[Chunk, None, bool]:
        """Streams from the present model; returns whether its reply came (or began) there."""
        chunks = self._opened().stream(request)
        began = False
        try:
            for chunk in chunks:
                began = began or not isinstance(chunk, Waiting)
                yield chunk
        except PromptTooLarge:
            raise
        except (ServerAway, ModelMissing, ModelFailed) as error:
            if began:
                raise
            self._go_on(error)
            return False
        finally:
            if close := getattr(chunks, "close", None):
                close()
        return True

    def _news(self) -> Iterator[Chunk]:
        while self._notices:
            yield Waiting(self._notices.pop(0))

    def _opened(self) -> Model:
        if self._model is None:
            self._model = self._ways[self._at][1]()
        return self._model

    def _go_on(self, error: OpenclawError) -> None:
        """Take the next model; after the last, raise the first failure and name the others. Whoever
        reads ahead has not asked patiently, and takes none: that is for the turn."""
        if not remote.is_patient():
            raise error
        self._failures.append(error)
        if self._at + 1 == len(self._ways):
            failures, self._failures = self._failures, self._failures[:-1]
            first, *rest = failures
            also = "".join(f"; fallback: {failure}" for failure in rest)
            raise type(first)(f"{first}{also}", first.hint) from error
        self.close()
        self._at += 1
        self._notices.append(f"{error}; taking {self._ways[self._at][0]} instead")
