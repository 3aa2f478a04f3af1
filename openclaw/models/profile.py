"""What tests of a model have found out, kept for the choices that later depend on it.

A profile is a JSON file in the folder `profiles` of the models folder, which all homes of a user
share. Its name holds the digest of the model, and so does the file: another model that has come
under the same name has no profile until it is tested itself.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from openclaw.files.json_reading import from_json
from openclaw.models.tested import file_of, key_of

VERSION = 1
MOST_BYTES = 100_000
MOST_NUMBER = 10**15
"""What is larger than these two is no profile of ours."""
BOUND_TO_PLACE = (
    "seconds",
    "load_seconds",
    "read_rate",
    "write_rate",
    "window",
    "window_fits",
    "window_by",
    "free_bytes",
)
"""What says nothing about the model on another machine or server."""
_TYPES: dict[str, Any] = {"str": str, "bool": bool, "int": int, "float": (int, float)}


@dataclass(frozen=True, slots=True)
class Score:
    """So many of so many were right."""

    right: int
    of: int

    @property
    def is_full(self) -> bool:
        return self.of > 0 and self.right == self.of

    def __str__(self) -> str:
        return f"{self.right} of {self.of}"


@dataclass(frozen=True, slots=True)
class Profile:
    """What one test found. None, "" and 0-of-0 scores stand for what was not measured.

    `place` is where the model ran (`openclaw.models.place`); speeds and windows hold only there.
    Speeds are medians in tokens a second, `load_seconds` wall clock. `window` is the one tested
    with, `window_fits` the largest that stays in memory (0: none does), `window_by` says whether
    that was measured, computed, or is only a lower bound ("at least"). `token_bytes` is what one
    token of the window takes, `model_bytes` the model without it, `free_bytes` what was free.
    `calls` is how the model calls tools when asked natively: native, text or none, `call_shape` in
    which shape as text, `native` how often a right call came natively, `needless` whether it called
    a tool for small talk. `json_forced` and `json_free` count replies that fit a schema, with it as
    a constraint and with words alone, `json_fenced` whether a fence stood around those;
    `schema_holds` whether a schema made it say what it would not say by itself. `thinking` is
    none, tags or field; `think_off` whether it can be switched off, `only_thinks` whether it used
    up a whole reply by it. `stops` is False when a reply had to be broken off from here.
    `tasks` are the small tasks by name, `protocol` how they were asked.
    """

    model: str
    digest: str
    at: str = ""
    place: str = ""
    complete: bool = False
    seconds: float | None = None
    load_seconds: float | None = None
    read_rate: float | None = None
    write_rate: float | None = None
    window: int | None = None
    window_fits: int | None = None
    window_by: str = ""
    token_bytes: int | None = None
    model_bytes: int | None = None
    free_bytes: int | None = None
    calls: str = ""
    call_shape: str = ""
    native: Score = Score(0, 0)
    needless: bool | None = None
    json_forced: Score = Score(0, 0)
    json_free: Score = Score(0, 0)
    json_fenced: bool | None = None
    schema_holds: bool | None = None
    thinking: str = ""
    think_off: bool | None = None
    only_thinks: bool | None = None
    stops: bool | None = None
    tasks: Mapping[str, bool] = field(default_factory=dict)
    protocol: str = ""

    def at_place(self, place: str) -> Profile:
        """What of it holds at that place."""
        if place == self.place:
            return self
        blank: dict[str, Any] = {**dict.fromkeys(BOUND_TO_PLACE), "window_by": ""}
        return replace(self, **blank)

    def to_json(self) -> dict[str, Any]:
        return {"version": VERSION, **asdict(self)}


def read_profile(folder: Path, model: str, digest: str) -> Profile | None:
    """The profile of exactly this model; None without one, or when it cannot be understood: a
    profile is a help, and never in the way."""
    profile = _read(file_of(folder, model, digest)) if digest else None
    if profile is None or (key_of(profile.model), profile.digest) != (key_of(model), digest):
        return None
    return profile


def known_profiles(folder: Path) -> list[Profile]:
    """All profiles of the folder, the newest first."""
    found = [profile for path in folder.glob("*.json") if (profile := _read(path))]
    return sorted(found, key=lambda profile: profile.at, reverse=True)


def write_profile(folder: Path, profile: Profile) -> Path:
    """Keep a profile, in place of an earlier one of the same model. Of an incomplete test the
    values that were not measured stay as they were, as far as they hold where it was made.
    OSError as it comes."""
    from openclaw.files.atomic import replace as put

    known = read_profile(folder, profile.model, profile.digest)
    if known and not profile.complete:
        profile = _joined(known.at_place(profile.place), profile)
    path = file_of(folder, profile.model, profile.digest)
    put(path, (json.dumps(profile.to_json(), ensure_ascii=False, indent=2) + "\n").encode())
    return path


def _joined(known: Profile, new: Profile) -> Profile:
    """The new values where there are any, else the known ones."""
    empty: tuple[Any, ...] = (None, "", Score(0, 0), {})
    changed = {
        item.name: value
        for item in fields(new)
        if (value := getattr(new, item.name)) not in empty and item.name != "complete"
    }
    return replace(known, **changed, complete=known.complete)


def _read(path: Path) -> Profile | None:
    """None for whatever is no profile: no bytes of a file may keep a model from being used."""
    try:
        if not path.is_file() or path.stat().st_size > MOST_BYTES:
            return None
        value = from_json(path.read_bytes())
        return _profile(value) if value["version"] == VERSION else None
    except Exception:  # noqa: BLE001 - json alone raises four kinds of errors for damaged texts
        return None


def _profile(value: Mapping[str, Any]) -> Profile:
    """Raises TypeError, KeyError or ValueError for values of the wrong kind."""
    known = {item.name: item.type for item in fields(Profile)}
    given = {name: _typed(known[name], value[name]) for name in known if name in value}
    return Profile(**given)


def _typed(kind: Any, value: Any) -> Any:
    """The value, when it is of the kind that an annotation (a text, see the first import) says."""
    if kind == "Score":
        score = Score(_plain("int", value["right"]), _plain("int", value["of"]))
        if score.right > score.of:
            raise ValueError(f"not a score: {score}")
        return score
    if kind.startswith("Mapping"):
        return {_plain("str", name): _plain("bool", done) for name, done in value.items()}
    if value is None and kind.endswith("| None"):
        return None
    return _plain(kind.removesuffix(" | None"), value)


def _plain(kind: str, value: Any) -> Any:
    """The value, when it is a text that can be printed, a truth, or a number as they are measured:
    neither negative nor endless."""
    if not isinstance(value, _TYPES[kind]) or (kind != "bool" and isinstance(value, bool)):
        raise TypeError(f"not {kind}: {value!r}")
    if kind == "str":
        value.encode()  # half a pair of surrogates cannot be printed
    elif not 0 <= value <= MOST_NUMBER or not math.isfinite(value):
        raise ValueError(f"out of bounds: {value!r}")
    return value
