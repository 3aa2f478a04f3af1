"""A Python process on a terminal of its own."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

terminals = pytest.mark.skipif(sys.platform == "win32", reason="pexpect needs a POSIX terminal")
TIMEOUT = 60.0
READ = 0.6  # seconds after which a question was read: a reply counts


def on_terminal(*words: str, pause: float = 0.5) -> Any:
    """Start Python with these words. What is sent waits so many seconds first: a reply that comes
    sooner than a question can be read does not count."""
    import pexpect

    terminal = pexpect.spawn(sys.executable, [*words], encoding="utf-8", timeout=TIMEOUT)
    terminal.delaybeforesend = pause
    return terminal


def exit_code(terminal: Any) -> int:
    import pexpect

    terminal.expect(pexpect.EOF)
    terminal.close()
    return int(terminal.exitstatus)


def kill(terminal: Any) -> None:
    """End the process now; `close(force=True)` of pexpect gives it but a tenth of a second."""
    terminal.kill(signal.SIGKILL)
    terminal.wait()
    terminal.close()


class Terminal:
    """`openclaw` on a pseudo-terminal of 80 x 24, and the text on its screen."""

    def __init__(self, *words: str, environ: dict[str, str]) -> None:
        import pexpect
        import pyte

        child = pexpect.spawn(
            sys.executable, ["-m", "openclaw", *words], env=environ, dimensions=(24, 80),
            encoding="utf-8", timeout=TIMEOUT,
        )  # fmt: skip

        class Screen(pyte.Screen):  # type: ignore[misc,unused-ignore]
            def write_process_input(self, data: str) -> None:
                child.send(data)

        self.child: Any = child
        self._screen = Screen(80, 24)
        self._stream = pyte.Stream(self._screen)

    def lines(self) -> list[str]:
        return [line.rstrip() for line in self._screen.display]

    def wait(self, seen: Callable[[str], bool], seconds: float = TIMEOUT) -> str:
        """Read until the screen satisfies `seen`; else fail and show the screen."""
        import pexpect

        until = time.monotonic() + seconds
        while not seen(text := "\n".join(self.lines())):
            if time.monotonic() > until:
                pytest.fail(f"the screen never showed it:\n{text}")
            try:
                self._stream.feed(self.child.read_nonblocking(65536, timeout=0.1))
            except pexpect.TIMEOUT:
                continue
            except pexpect.EOF:
                if not seen(text := "\n".join(self.lines())):
                    pytest.fail(f"it ended with this screen:\n{text}")
        return text

    def send(self, keys: str) -> None:
        self.child.send(keys)

    def end(self) -> int:
        import pexpect

        self.child.expect(pexpect.EOF)
        self.child.close()
        return int(self.child.exitstatus)
