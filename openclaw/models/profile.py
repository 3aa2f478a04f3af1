"""Reads and writes profiles: the results of model tests, for later choices.

A profile is a JSON file in the folder `profiles` of the models folder, which all homes of a user
share. File name and content hold the digest of the model: another model of the same name has no
profile until it is tested itself.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openclaw.config import Settings
from openclaw.models.base import VERSION, Profile, Score
from openclaw.models.machine import place_of
from openclaw.storage.atomic import replace as put
from openclaw.storage.safe_open import parse_foreign_json

if TYPE_CHECKING:
    from openclaw.models.base import ModelCard


MAX_BYTES = 100_000
MAX_NUMBER = 10**15  # a larger file, or one with a larger number, is no profile of ours
_TYPES: dict[str, Any] = {"str": str, "bool": bool, "int": int, "float": (int, float)}


def read_profile(folder: Path, model: str, digest: str) -> Profile | None:
    """The profile of exactly this model; None without one, or when it is damaged."""
    profile = _read(file_of(folder, model, digest)) if digest else None
    if profile is None or (full_name(profile.model), profile.digest) != (full_name(model), digest):
        return None
    return profile


def known_profiles(folder: Path) -> list[Profile]:
    """All profiles of the folder, the newest first."""
    found = [profile for path in folder.glob("*.json") if (profile := _read(path))]
    return sorted(found, key=lambda profile: profile.at, reverse=True)


def write_profile(folder: Path, profile: Profile) -> Path:
    """Save a profile in place of an earlier one of the same model. After an incomplete test, values
    that were not measured keep their old value if it holds at the new place. Raises OSError."""
    known = read_profile(folder, profile.model, profile.digest)
    if known and not profile.complete:
        profile = _merge(known.at_place(profile.place), profile)
    path = file_of(folder, profile.model, profile.digest)
    put(path, (json.dumps(profile.to_json(), ensure_ascii=False, indent=2) + "\n").encode())
    return path


def _merge(known: Profile, new: Profile) -> Profile:
    """The new values where there are any, else the known ones."""
    empty: tuple[Any, ...] = (None, "", Score(0, 0), {})
    changed = {
        item.name: value
        for item in fields(new)
        if (value := getattr(new, item.name)) not in empty and item.name != "complete"
    }
    return replace(known, **changed, complete=known.complete)


def _read(path: Path) -> Profile | None:
    """Read a profile; None for any damaged file, so that no file can block a model."""
    try:
        if not path.is_file() or path.stat().st_size > MAX_BYTES:
            return None
        value = parse_foreign_json(path.read_bytes())
        if value["version"] != VERSION:
            return None
        known = {item.name: item.type for item in fields(Profile) if item.name in value}
        return Profile(**{name: _check_type(kind, value[name]) for name, kind in known.items()})
    except Exception:  # noqa: BLE001 - json alone raises four kinds of errors for damaged texts
        return None


def _check_type(kind: Any, value: Any) -> Any:
    """The value, if its type is that of the annotation (a text, see the first import)."""
    if kind == "Score":
        score = Score(_check_plain("int", value["right"]), _check_plain("int", value["of"]))
        if score.right > score.of:
            raise ValueError(f"not a score: {score}")
        return score
    if kind.startswith("Mapping"):
        return {
            _check_plain("str", name): _check_plain("bool", done) for name, done in value.items()
        }
    if value is None and kind.endswith("| None"):
        return None
    return _check_plain(kind.removesuffix(" | None"), value)


def _check_plain(kind: str, value: Any) -> Any:
    """The value, if it is a printable text, a boolean, or a finite number from 0 on."""
    if not isinstance(value, _TYPES[kind]) or (kind != "bool" and isinstance(value, bool)):
        raise TypeError(f"not {kind}: {value!r}")
    if kind == "str":
        value.encode()  # half a pair of surrogates cannot be printed
    elif not 0 <= value <= MAX_NUMBER or not math.isfinite(value):
        raise ValueError(f"out of bounds: {value!r}")
    return value


LEAST_WINDOW = 2048  # tokens below which a window is not lowered: a conversation needs this much


def full_name(model: str) -> str:
    """The full name of a model: an Ollama model without a tag gets the tag `latest`."""
    is_bare = model.startswith("ollama/") and ":" not in model.rpartition("/")[2]
    return f"{model}:latest" if is_bare else model


def file_of(folder: Path, model: str, digest: str) -> Path:
    slug = re.sub(r"[^a-z0-9._-]+", "-", full_name(model).lower()).strip("-.")[:80]
    return folder / f"{slug}.{digest[:16]}.json"


def with_profile(card: ModelCard, folder: Path | None) -> ModelCard:
    """The card with the model's profile, as far as it holds where the model runs. Its window is
    lowered to the largest that stays in memory, or to `LEAST_WINDOW`."""
    profile = read_profile(folder, card.name, card.digest) if folder else None
    if profile is None:
        return card
    profile = profile.at_place(place_of(card.server))
    fits = profile.window_fits if profile.window_by != "at least" else None
    window = card.window if fits is None else min(card.window, max(fits, LEAST_WINDOW))
    return replace(card, profile=profile, window=window, wished=card.window)


def window_notice(card: ModelCard) -> str:
    """The notice for the user about a lowered window, "" when it was not lowered."""
    if not card.wished or card.wished == card.window:
        return ""
    return (
        f"the window is {card.window:,} tokens instead of {card.wished:,}: more would not stay in "
        f"memory (openclaw models test {card.name} tries it again)"
    )


ROOM_TO_THINK = 4096  # tokens of a reply for a model whose thinking cannot be switched off


def reply_limits(settings: Settings, card: ModelCard) -> tuple[int, bool | None]:
    """(most tokens of a reply, `think` of the request: True, False, or None for the default).

    For a model that used up a whole reply by thinking in its test, thinking is switched off; where
    that is impossible, replies may be longer, at most half of the window. Settings that are not
    the default stay.
    """
    profile, most, think = card.profile, settings.max_tokens, settings.think
    if profile is None or not profile.only_thinks or think is not None:
        return most, think
    if profile.think_off:
        return most, False
    if most == Settings().max_tokens:
        most = max(most, min(ROOM_TO_THINK, card.window // 2))
    return most, None
