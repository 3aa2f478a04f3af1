"""Reads JSON of files that anybody may have written."""

from __future__ import annotations

import json
from typing import Any


def from_json(text: str | bytes) -> Any:
    """What JSON says. ValueError for what is none, or is nested deeper than Python can follow."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deep") from error
