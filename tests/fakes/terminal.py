"""A Python process on a terminal of its own."""

from __future__ import annotations

import sys
from typing import Any

import pytest

terminals = pytest.mark.skipif(sys.platform == "win32", reason="pexpect needs a POSIX terminal")


def on_terminal(*words: str, pause: float = 0.5) -> Any:
    """Start Python with these words. What is sent waits so many seconds first: a reply that comes
    sooner than a question can be read does not count."""
    import pexpect

    terminal = pexpect.spawn(sys.executable, [*words], encoding="utf-8", timeout=20)
    terminal.delaybeforesend = pause
    return terminal


def exit_code(terminal: Any) -> int:
    import pexpect

    terminal.expect(pexpect.EOF)
    terminal.close()
    return int(terminal.exitstatus)
