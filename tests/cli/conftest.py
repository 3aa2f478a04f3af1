"""The program on a terminal that a test types into and reads."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fakes.terminal import Terminal, kill


@pytest.fixture
def terminal(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Terminal]]:
    """Start `openclaw` on a terminal, in a new home with the fake model."""
    if sys.platform == "win32":
        pytest.skip("no pseudo-terminal here")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("COLUMNS")
    opened: list[Terminal] = []

    def start(*words: str) -> Terminal:
        opened.append(Terminal(*words, environ=dict(os.environ)))
        return opened[-1]

    yield start
    for one in opened:
        kill(one.child)
