"""Lines at the bottom of a terminal that are drawn anew while work goes on, and leave no trace.

A thread draws them, as the one who works has no time. On POSIX the terminal does not echo what is
typed meanwhile, which would move the cursor, and a signal that stops or ends us takes the lines
away first.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, TextIO

from openclaw.cli.permission import screen
from openclaw.cli.visible import columns

TICK_SECONDS = 0.1
_STYLES = re.compile(r"\x1b\[[\d;]*m")
_HIDE, _SHOW, _ERASE = "\x1b[?25l", "\x1b[?25h", "\x1b[J"


class LiveLines:
    """`lines` gives what is to be seen on so many columns and rows: lines with colours and nothing
    else that a terminal obeys. It is called under `lock`, by any thread. One that is not `animated`
    is drawn by `draw` only. With `silent` the terminal does not echo what is typed."""

    def __init__(
        self,
        out: TextIO,
        lines: Callable[[int, int], Sequence[str]],
        *,
        animated: bool = True,
        silent: bool = True,
    ) -> None:
        self._out, self._lines = out, lines
        self._animated, self._silent = animated, silent
        self.lock = threading.RLock()
        self._drawn: Sequence[str] = ()
        self._ended: threading.Event | None = None  # of the thread that draws
        self._echo = Echo()
        self._handlers: dict[int, Any] = {}  # what handled the signals before

    def start(self) -> None:
        """Draw from now on; nothing happens when that is done already."""
        with self.lock:
            if self._ended is not None or not _obeys():
                return
            self._ended = threading.Event()
            if self._silent:
                self._echo.off()
            self._catch_signals()
            if self._animated:
                threading.Thread(target=self._run, args=(self._ended,), daemon=True).start()

    def stop(self) -> None:
        """Take the lines away and draw no more."""
        with self.lock:
            if self._ended is None:
                return
            self._ended.set()
            self._ended = None
            self._leave_signals()
            self._echo.on()
            self.clear()

    def clear(self) -> None:
        """Take the lines away, to print something in their place; the next draw is below that."""
        with self.lock:
            if self._drawn:
                self._out.write(self._erased(screen()[0] + 1) + _SHOW)
                self._out.flush()
                self._drawn = ()

    def draw(self) -> None:
        """Draw the lines as they are now."""
        with self.lock:
            if self._ended is None:
                return
            width, height = screen()
            lines = self._lines(width, height)
            if lines != self._drawn:
                shown = _HIDE + "\r\n".join(lines) if lines else _SHOW
                self._out.write(self._erased(width + 1) + shown)
                self._out.flush()
                self._drawn = lines

    def _run(self, ended: threading.Event) -> None:
        with suppress(OSError, ValueError):  # the terminal is gone
            while not ended.wait(TICK_SECONDS):
                with self.lock:
                    if not ended.is_set():
                        self.draw()

    def _erased(self, width: int) -> str:
        """What erases the drawn lines. A terminal that became narrower has wrapped them."""
        if not self._drawn:
            return ""
        rows = sum(max(1, -(-columns(_STYLES.sub("", line)) // width)) for line in self._drawn)
        return "\r" + (f"\x1b[{rows - 1}A" if rows > 1 else "") + _ERASE

    # -------- signals

    def _catch_signals(self) -> None:
        if sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
            return
        for number in (signal.SIGTSTP, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            before = signal.getsignal(number)
            if before not in (signal.SIG_IGN, None):
                self._handlers[number] = before
                signal.signal(number, self._leave)

    def _leave_signals(self) -> None:
        while self._handlers:
            signal.signal(*self._handlers.popitem())

    def _leave(self, number: int, frame: object) -> None:
        """Give the terminal back before a signal stops or ends the process."""
        before = self._handlers.get(number)
        with suppress(RuntimeError, OSError):  # a write was interrupted, or the terminal is gone
            self.stop()
        if callable(before):
            before(number, frame)
        else:
            os.kill(os.getpid(), number)
        self.start()  # here it goes on after `fg`


class Echo:
    """Whether the terminal shows what is typed. Only what was switched off is switched on again."""

    def __init__(self) -> None:
        self._off = False

    def off(self) -> None:
        self._off = self._off or _set_echo(False)

    def on(self) -> None:
        if self._off:
            self._off = False
            _set_echo(True)


if sys.platform == "win32":
    import ctypes

    def _obeys() -> bool:
        """Whether the console can be made to obey escape sequences, which it does not by itself."""
        system, mode = ctypes.windll.kernel32, ctypes.c_ulong()
        console = system.GetStdHandle(-11)
        found = system.GetConsoleMode(console, ctypes.byref(mode))
        return bool(found and system.SetConsoleMode(console, mode.value | 4))

    def _set_echo(on: bool) -> bool:
        return False

else:
    import termios

    def _obeys() -> bool:
        return True

    def _set_echo(on: bool) -> bool:
        """Whether that has changed something."""
        with suppress(termios.error, OSError, ValueError, AttributeError):
            terminal = sys.stdin.fileno()
            modes = termios.tcgetattr(terminal)
            if bool(modes[3] & termios.ECHO) != on:
                modes[3] ^= termios.ECHO
                termios.tcsetattr(terminal, termios.TCSANOW, modes)
                return True
        return False
