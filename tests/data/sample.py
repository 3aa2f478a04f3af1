"""Cases that are tried each time, and others of their kind that only `make test-all` tries."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def sample(cases: Iterable[Any], count: int = 1) -> list[Any]:
    """For `parametrize`: the first `count` cases as they are, those behind them marked `slow`."""
    made = list(cases)
    return [*made[:count], *map(_slow, made[count:])]


def _slow(case: Any) -> Any:
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=pytest.mark.slow)
