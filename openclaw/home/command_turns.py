"""Record a command as one turn, and bring the pages of persons up to date within it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from openclaw.history.history import Command, command
from openclaw.memory.pages import refresh
from openclaw.storage.home import Home
from openclaw.types import KeepsWrites


@contextmanager
def record_command(home: Home, words: str, store: KeepsWrites | None = None) -> Iterator[Command]:
    """As `openclaw.history.history.command`; what changes the memory changes its pages too. The
    turn keeps what `store` writes, and masks what it is given."""
    with command(home, words) as made:
        if store is not None:
            store.keep, store.mask = made.keep, made.mask
        yield made
        if made.in_memory:
            made.notices += refresh(home, made.keep)
