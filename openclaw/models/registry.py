"""Opens the model that a name in the settings means, with its fallbacks.

`provider/name` is `ollama/qwen3:4b`, `embedded/qwen2.5-coder-1.5b-instruct` or `openai/gpt-x`; a
path that ends in `.gguf` is run embedded; `auto` takes what is there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from openclaw.config import Settings, find_key
from openclaw.config.file import parse_value
from openclaw.errors import (
    ModelFailed,
    ModelMissing,
    OpenclawError,
    PromptTooLarge,
    ServerAway,
    UsageError,
)
from openclaw.messages import Waiting
from openclaw.models.base import Chunk, Model, ModelCard, Request, is_patient
from openclaw.models.ollama import OllamaModel
from openclaw.models.ollama_models import find_chat_model
from openclaw.models.openai import OpenAIModel
from openclaw.storage.home import Home
from openclaw.storage.program import profiles_folder


def open_one(
    name: str,
    settings: Settings,
    *,
    kv_folder: Path | None = None,
    wanted: Callable[[str], bool] = lambda _: True,
    profiles: Path | None = None,
) -> Model:
    """The model of that name, with the settings of its provider. Only `auto` looks for a server now
    (0.3 s at most on this machine).

    kv_folder  the folder for saved states of conversations; None saves none
    wanted     returns True when the state of a conversation may be saved
    profiles   the folder of test results (`openclaw.models.profile`); None uses none
    """
    provider, rest = split_name(name)
    found: str | None = rest
    away = ""
    if provider == "auto":
        try:
            found, away = find_chat_model(settings.ollama.host), "Ollama has no chat model"
        except ServerAway as error:
            found, away = None, str(error)
        provider = "embedded" if found is None else "ollama"
    if provider == "ollama":
        return OllamaModel(
            found or "",
            host=settings.ollama.host,
            window=settings.window,
            keep_alive=settings.keep_alive,
            profiles=profiles,
        )
    if provider == "openai":
        return OpenAIModel(
            rest,
            base_url=settings.openai.base_url,
            api_key=os.environ.get(settings.openai.api_key_env, ""),
            window=settings.window,
            api_key_env=settings.openai.api_key_env,
            profiles=profiles,
        )
    from openclaw.models import catalog, embedded

    path = catalog.gguf_path(rest) if rest else catalog.default_installed()
    if path is None:
        raise ModelMissing(
            f"no model to talk to: {away}, and no embedded model is installed",
            "get the embedded one with `openclaw models pull`, or start Ollama (`ollama serve`)"
            " and get one there, for example `ollama pull qwen3:4b`",
        )
    return embedded.EmbeddedModel(
        path,
        window=settings.window,
        threads=settings.embedded.threads,
        cache_folder=kv_folder,
        cache_mb=settings.embedded.kv_cache_mb,
        wanted=wanted,
        profiles=profiles,
    )


PROVIDERS = ("ollama", "openai", "embedded")


def split_name(name: str, where: str = "") -> tuple[str, str]:
    """(provider, name at that provider): ("auto", ""), ("embedded", "PATH.gguf"),
    ("ollama", "qwen3:4b"). Raises UsageError; its text contains `where`, the place of the name."""
    if name == "auto":
        return "auto", ""
    provider, _, rest = name.partition("/")
    if provider in PROVIDERS and rest:
        return provider, rest
    if name.lower().endswith(".gguf"):
        return "embedded", name
    raise UsageError(
        f"not a model: {name!r}" + (f" ({where})" if where else ""),
        f"write `auto`, PROVIDER/NAME with {', '.join(PROVIDERS)} as provider, for example "
        f"ollama/{name or 'qwen3:4b'}, or a path to a .gguf file",
    )


def check_setting(key: str, text: str) -> None:
    """Raise UsageError unless a setting may become what this text says. A name that is no model's
    would end each prompt."""
    value = parse_value(find_key(key), text)
    for name in (value,) if key == "model" else value if key == "fallbacks" else ():
        split_name(name)


class FallbackModel:
    """The first model of a list that answers.

    When a model cannot be reached, is missing, or fails before its first token, the next one
    replaces it from then on, and a Waiting chunk says so. PromptTooLarge is raised instead. `ways`
    are (name, function that opens the model).
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
                return self._current().card
            except (ServerAway, ModelMissing, ModelFailed) as error:
                self._use_next(error)

    @property
    def reading_rate(self) -> float:
        """The rate of the present model; it can be set once that model is open."""
        return self._model.reading_rate if self._model else 0.0

    @reading_rate.setter
    def reading_rate(self, rate: float) -> None:
        if self._model:
            self._model.reading_rate = rate

    def stream(self, request: Request) -> Iterator[Chunk]:
        """See `Model`."""
        while True:
            _ = self.card  # skips models that cannot be reached
            while self._notices:
                yield Waiting(self._notices.pop(0))
            if (yield from self._stream_current(request)):
                return

    def wire(self, request: Request) -> bytes:
        """See `Model`; of the first model that answers."""
        _ = self.card
        return self._current().wire(request)

    def warm(self, request: Request) -> Iterator[Waiting]:
        """See `Model`; of the present model."""
        with suppress(OpenclawError):
            yield from self._current().warm(request)

    def close(self) -> None:
        if self._model is not None:
            self._model.close()
            self._model = None

    def _stream_current(self, request: Request) -> Generator[Chunk, None, bool]:
        """Stream from the present model. Returns True when its reply came or began."""
        chunks = self._current().stream(request)
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
            self._use_next(error)
            return False
        finally:
            if close := getattr(chunks, "close", None):
                close()
        return True

    def _current(self) -> Model:
        if self._model is None:
            self._model = self._ways[self._at][1]()
        return self._model

    def _use_next(self, error: OpenclawError) -> None:
        """Take the next model; after the last, raise the first failure and name the others. While
        preloading, raise `error` instead: only a turn changes the model."""
        if not is_patient():
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


def open_model(
    name: str, settings: Settings, home: Home, *, as_tested: bool = True, saving: bool = True
) -> Model:
    """The model of that name, or of "auto", with the fallbacks of the settings. `as_tested` adds
    the results of its test to its card. Without `saving` it stores no state of a conversation.
    Raises UsageError for an invalid name, ModelMissing when a file is missing or `auto` finds
    nothing, and there is no fallback."""
    split_name(name)
    for other in settings.fallbacks:
        split_name(other, "in the setting `fallbacks`")
    opened = [
        partial(
            open_one,
            each,
            settings,
            kv_folder=home.private / "cache" / "kv",
            wanted=lambda session: saving and (home.sessions / f"{session}.json").exists(),
            profiles=profiles_folder() if as_tested else None,
        )
        for each in (name, *settings.fallbacks)
    ]
    if not settings.fallbacks:
        return opened[0]()
    return FallbackModel([*zip((name, *settings.fallbacks), opened, strict=True)])
