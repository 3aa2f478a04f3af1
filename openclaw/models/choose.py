"""From the name in the settings to a model that can be asked.

`provider/name` is `ollama/qwen3:4b`, `embedded/qwen2.5-coder-1.5b-instruct` or `openai/gpt-x`; a
path that ends in `.gguf` is run embedded; `auto` takes what is there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from openclaw.models.base import Model
from openclaw.models.fallback import FallbackModel
from openclaw.models.naming import split_name
from openclaw.models.offers import Offers
from openclaw.models.ollama_found import find_chat_model

__all__ = ["FallbackModel", "choose", "find_chat_model", "split_name"]


def choose(
    settings_model: str,
    *,
    host: str,
    window: int,
    keep_alive: str,
    openai_base_url: str,
    api_key: str,
    threads: int,
    kv_folder: Path | None,
    kv_mb: int,
    fallbacks: Sequence[str] = (),
    api_key_env: str = "OPENAI_API_KEY",
    wanted: Callable[[str], bool] = lambda _: True,
    profiles: Path | None = None,
) -> Model:
    """The model named by the settings, with its fallbacks behind it. Only `auto` looks for a
    server now (0.3 s at most on this machine). Raises UsageError for a name that is none,
    ModelMissing when a file is not there or `auto` finds nothing and there is no fallback.
    `wanted` tells whether what was computed for a conversation is to be kept; `profiles` is the
    folder of what tests of models have found (`openclaw.models.profile`), None to go without."""
    offers = Offers(
        host,
        window,
        keep_alive,
        openai_base_url,
        api_key,
        api_key_env,
        threads,
        kv_folder,
        kv_mb,
        wanted,
        profiles,
    )
    split_name(settings_model)
    for name in fallbacks:
        split_name(name, "in the setting `fallbacks`")
    if not fallbacks:
        return offers.open(settings_model)
    return FallbackModel([(name, offers.opener(name)) for name in (settings_model, *fallbacks)])
