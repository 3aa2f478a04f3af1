"""Finds what a test of a model has found, and puts it on the model's card.

Apart from `openclaw.models.profile`, which is loaded only when there is a profile.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openclaw.models.base import ModelCard

LEAST_WINDOW = 2048
"""Tokens below which a window is not lowered: with less there is no talk to be had."""


def key_of(model: str) -> str:
    """The one name of a model: a model of Ollama without a tag is its `latest`."""
    is_bare = model.startswith("ollama/") and ":" not in model.rpartition("/")[2]
    return f"{model}:latest" if is_bare else model


def file_of(folder: Path, model: str, digest: str) -> Path:
    """Where the profile of a model is kept."""
    slug = re.sub(r"[^a-z0-9._-]+", "-", key_of(model).lower()).strip("-.")[:80]
    return folder / f"{slug}.{digest[:16]}.json"


def with_profile(card: ModelCard, folder: Path | None) -> ModelCard:
    """The card with what is known of the model, as far as it holds where the model runs. Its window
    is lowered to what stays in memory; when none does, to the least."""
    if folder is None or not _is_file(file_of(folder, card.name, card.digest)):
        return card
    from openclaw.models.place import place_of
    from openclaw.models.profile import read_profile

    profile = read_profile(folder, card.name, card.digest)
    if profile is None:
        return card
    profile = profile.at_place(place_of(card.server))
    fits = profile.window_fits if profile.window_by != "at least" else None
    window = card.window if fits is None else min(card.window, max(fits, LEAST_WINDOW))
    return replace(card, profile=profile, window=window, wished=card.window)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a folder that must not be entered
        return False


def window_notice(card: ModelCard) -> str:
    """What the user is told of a window that was lowered, "" when it was not."""
    if not card.wished or card.wished == card.window:
        return ""
    return (
        f"the window is {card.window:,} tokens instead of {card.wished:,}: more would not stay in "
        f"memory (openclaw models test {card.name} tries it again)"
    )
