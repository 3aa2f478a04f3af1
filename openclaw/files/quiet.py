"""Keep a library from telling the terminal of every oddity of a foreign file."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet(logger: str) -> Iterator[None]:
    """Neither warnings nor this logger's lines (nor those of loggers below it) come through."""
    log = logging.getLogger(logger)
    level = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(level)
