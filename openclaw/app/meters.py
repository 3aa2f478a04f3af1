"""Keeps what was learned of how models count and how quickly they read."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openclaw.agent.meter import LEAST, MOST, Meter
from openclaw.errors import OpenclawError
from openclaw.files.beneath import read_bytes
from openclaw.files.json_reading import from_json
from openclaw.files.text import write_text

VERSION = 1
"""Of the file; one of another version is measured anew."""


@dataclass(frozen=True, slots=True)
class Meters:
    """One JSON file: of each model and protocol the ratio of its tokens to those of cl100k_base,
    and how many of them it reads a second. It may be deleted at any time; then the next reply of
    the model is measured again."""

    path: Path

    def meter(self, name: str) -> Meter:
        ratio = self._read().get(name, {}).get("ratio", 0.0)
        known = isinstance(ratio, int | float) and LEAST <= ratio <= MOST
        return Meter(float(ratio) if known else 0.0)

    def keep(self, name: str, meter: Meter) -> None:
        """Write what a meter has learned, when it is something new."""
        self.set(name, "ratio", round(meter.ratio, 2))

    def get(self, name: str, key: str) -> float:
        value = self._read().get(name, {}).get(key, 0.0)
        return float(value) if isinstance(value, int | float) else 0.0

    def set(self, name: str, key: str, value: float) -> None:
        found = self._read()
        if not value or found.get(name, {}).get(key) == value:
            return
        found.setdefault(name, {})[key] = value
        with suppress(OSError, OpenclawError):  # without the file it is measured again
            shape = {"version": VERSION, **found}
            write_text(self.path, json.dumps(shape, indent=2, sort_keys=True) + "\n")

    def _read(self) -> dict[str, dict[str, Any]]:
        try:
            found = from_json(read_bytes(self.path))
        except (OSError, ValueError):
            return {}
        if not isinstance(found, dict) or found.get("version") != VERSION:
            return {}
        return {name: known for name, known in found.items() if isinstance(known, dict)}
