"""Opens the models of each provider as the settings describe it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from openclaw.errors import ModelMissing, ServerAway
from openclaw.models.base import Model
from openclaw.models.naming import split_name
from openclaw.models.ollama_found import find_chat_model


@dataclass(frozen=True, slots=True)
class Offers:
    """What the settings say about each provider. `profiles` is the folder of what tests of models
    have found, None to go without."""

    host: str
    window: int
    keep_alive: str
    openai_base_url: str
    api_key: str
    api_key_env: str
    threads: int
    kv_folder: Path | None
    kv_mb: int
    wanted: Callable[[str], bool]
    profiles: Path | None

    def opener(self, name: str) -> Callable[[], Model]:
        return lambda: self.open(name)

    def open(self, name: str) -> Model:
        provider, rest = split_name(name)
        if provider == "auto":
            return self._auto()
        if provider == "ollama":
            return self._ollama(rest)
        if provider == "openai":
            return self._openai(rest)
        return self._embedded(gguf_path(rest))

    def _auto(self) -> Model:
        try:
            name = find_chat_model(self.host)
            found = "Ollama has no chat model"
        except ServerAway as error:
            name, found = None, str(error)
        if name is not None:
            return self._ollama(name)
        from openclaw.models.catalog import default_installed

        if (path := default_installed()) is not None:
            return self._embedded(path)
        raise ModelMissing(
            f"no model to talk to: {found}, and no embedded model is installed",
            "get the embedded one with `openclaw models pull`, or start Ollama (`ollama serve`) "
            "and get one there, for example `ollama pull qwen3:4b`",
        )

    def _ollama(self, name: str) -> Model:
        from openclaw.models.ollama import OllamaModel

        return OllamaModel(
            name,
            host=self.host,
            window=self.window,
            keep_alive=self.keep_alive,
            profiles=self.profiles,
        )

    def _openai(self, name: str) -> Model:
        from openclaw.models.openai import OpenAIModel

        return OpenAIModel(
            name,
            base_url=self.openai_base_url,
            api_key=self.api_key,
            window=self.window,
            api_key_env=self.api_key_env,
            profiles=self.profiles,
        )

    def _embedded(self, path: Path) -> Model:
        from openclaw.models.embedded import EmbeddedModel

        return EmbeddedModel(
            path,
            window=self.window,
            threads=self.threads,
            cache_folder=self.kv_folder,
            cache_mb=self.kv_mb,
            wanted=self.wanted,
            profiles=self.profiles,
        )


def gguf_path(name: str) -> Path:
    """The file of an embedded model: a path, or the name of an installed one."""
    if name.lower().endswith(".gguf"):
        path = Path(name).expanduser()
        if not path.is_file():
            raise ModelMissing(f"no such model file: {path}", "look at the path after --model")
        return path
    from openclaw.models.catalog import find_entry, find_installed

    found = find_installed(name)
    if found is None:
        hint = f"openclaw models pull {name}" if find_entry(name) else "openclaw models list"
        raise ModelMissing(f"the embedded model {name} is not installed", hint)
    return found
