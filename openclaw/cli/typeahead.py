"""Collects what is typed while an answer is made, without echoing it into the answer."""

from __future__ import annotations

import _thread
import codecs
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from openclaw.cli.questions import is_yes
from openclaw.security.display import one_line

if TYPE_CHECKING:
    from prompt_toolkit.key_binding import KeyPress

if sys.platform != "win32":
    import termios

BACKGROUND_SECONDS = 0.2
PASTES_ARE_MARKED, PASTES_ARE_NOT_MARKED = "\x1b[?2004h", "\x1b[?2004l"
ESCAPE_SECONDS = 0.05
"""An Esc that no byte follows within this time is the key, not the beginning of a key's code."""


class SignalGuard:
    """Calls `release` to give the terminal back before a signal stops or ends the process, and
    `resume` when the process goes on, after `fg` or `bg`. `release` must call `leave`."""

    def __init__(self, release: Callable[[], None], resume: Callable[[], None]) -> None:
        self._release, self._resume = release, resume
        self._before: dict[int, Any] = {}  # the signals' earlier handlers

    def catch(self) -> None:
        """Handle the signals from now on, except those that are ignored."""
        if sys.platform == "win32" or threading.current_thread() is not threading.main_thread():
            return
        for number in (signal.SIGTSTP, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            before = signal.getsignal(number)
            if before not in (signal.SIG_IGN, None):
                self._before[number] = before
                signal.signal(number, self._handle)

    def leave(self) -> None:
        """Put the earlier handlers back."""
        while self._before:
            signal.signal(*self._before.popitem())

    def _handle(self, number: int, frame: object) -> None:
        before = self._before.get(number)
        self._release()
        if callable(before):
            before(number, frame)
        else:
            os.kill(os.getpid(), number)
        self._resume()


class Typed:
    """Turns keys into text. Enter ended the `prompts`, not the `line`; `fold` shortens pastes."""

    def __init__(self, fold: Callable[[str], str]) -> None:
        self.prompts: list[str] = []
        self.line = ""
        self.leaving = False
        self.escape = False
        self._fold = fold

    def press(self, pressed: KeyPress) -> None:
        from prompt_toolkit.keys import Keys

        key, after_escape = pressed.key, self.escape
        self.escape = key is Keys.Escape
        if key in (Keys.ControlM, Keys.ControlJ):
            if after_escape or self.line.endswith("\\"):
                self.line = self.line.removesuffix("\\") + "\n"
            elif self.line.strip():
                self.prompts.append(self.line)
                self.line = ""
        elif key is Keys.BracketedPaste:
            self.line += self._fold(pressed.data)
        elif key is Keys.ControlH:
            if not self.line and self.prompts:
                self.line = self.prompts.pop()
            else:
                self.line = self.line[:-1]
        elif key is Keys.ControlU:
            self.line = ""
        elif key is Keys.ControlD:
            self.leaving = not self.line
        elif not isinstance(key, Keys) and not after_escape:
            self.line += key
            self.leaving = False

    def hold(self, before: str = "") -> None:
        """Send nothing without a look: put everything into the input line, after `before`."""
        self.line = "\n".join(filter(None, [before, *self.prompts, self.line]))
        self.prompts, self.leaving = [], False

    def take(self) -> tuple[str, bool]:
        """The next text for the input line, and True when it is sent without a look. A yes is not:
        the offer came after it was typed. Raises EOFError when Ctrl-D came last."""
        if self.prompts:
            text = self.prompts.pop(0)
            return text, not is_yes(text)
        if self.leaving:
            raise EOFError
        text, self.line = self.line, ""
        return text, False

    def preview(self) -> str:
        """All prompts and the line, on one line."""
        return one_line(" \u21b5 ".join([*self.prompts, self.line])).rstrip()


class KeyReader:
    """Reads the keys while it is entered; the terminal does not show them meanwhile. A thread
    hands them to `keys` as they come and calls `idle` when no more follow.

    Ctrl-C and Ctrl-Z work as usual. The terminal gets its modes back whenever others use it: after
    Ctrl-Z, at a question (`paused`) and when the process ends. Without a terminal, and in the
    background, it does nothing; nor on Windows, where typed text waits for the next prompt by
    itself.
    """

    def __init__(self, keys: Callable[[str], None], idle: Callable[[], None]) -> None:
        self._keys, self._idle = keys, idle
        self._before: Any = None
        self._reader: threading.Thread | None = None
        self._end = -1  # the end of a pipe; closing it ends the thread
        self._signals = SignalGuard(self._release, self._resume)

    def __enter__(self) -> None:
        try:
            with _uninterrupted():
                self._resume()
        except KeyboardInterrupt:
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        with _uninterrupted():
            self._release()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Give the terminal back for a question."""
        if not self._before:
            yield
            return
        self.__exit__()
        try:
            yield
        finally:
            self.__enter__()

    @contextmanager
    def until_now(self) -> Iterator[None]:
        """Hand over what was typed so far. A prompt in here gets all that comes later key by
        key, even before it has set the terminal's modes itself."""
        if not _has_terminal():
            yield
            return
        self._change()
        try:
            terminal = sys.stdin.fileno()
            while select.select([terminal], [], [], 0)[0] and (data := os.read(terminal, 65_536)):
                self._keys(data.decode(errors="replace"))
            yield
        finally:
            self._restore()

    def _change(self) -> None:
        self._before = silence(keys=True)
        if self._before:
            with suppress(OSError):
                os.write(sys.stdout.fileno(), PASTES_ARE_MARKED.encode())

    def _restore(self) -> None:
        before, self._before = self._before, None
        if before:
            unsilence(before)
            with suppress(OSError):
                os.write(sys.stdout.fileno(), PASTES_ARE_NOT_MARKED.encode())

    def _resume(self) -> None:
        """Begin to read, where there is a terminal."""
        if _has_terminal():
            self._change()
            end, self._end = os.pipe()
            self._reader = threading.Thread(target=self._read, args=(end,), daemon=True)
            self._reader.start()
            self._signals.catch()

    def _release(self) -> None:
        """Let the thread hand over what has come already, then restore the terminal."""
        self._signals.leave()  # first, as a signal from now on would begin to read again
        reader, self._reader = self._reader, None
        try:
            if reader:
                os.close(self._end)
                reader.join()
        finally:
            self._restore()

    def _read(self, end: int) -> None:
        """Read until the other end of the pipe `end` is closed and no input is waiting."""
        terminal = sys.stdin.fileno()
        decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        patience = None
        with suppress(OSError):
            while True:
                ready = select.select([terminal, end], [], [], patience)[0]
                patience = None
                if terminal in ready and _has_terminal():
                    if not (data := os.read(terminal, 65_536)):
                        break
                    self._keys(decode(data))
                    patience = ESCAPE_SECONDS
                elif end in ready:
                    break
                elif not ready:
                    self._idle()
                else:  # another process has the terminal
                    time.sleep(BACKGROUND_SECONDS)
        os.close(end)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Delay a Ctrl-C to the end: in between it would leave the terminal half changed."""
    pressed: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: pressed.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if pressed:
            interrupt()


def interrupt() -> None:
    """Do as Ctrl-C does."""
    if sys.platform == "win32":
        _thread.interrupt_main()
    else:  # a real signal ends a wait of the main thread too
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


def silence(*, keys: bool = False) -> Any:
    """Let the terminal echo nothing, and with `keys` give single keys. Returns its modes
    before; None without a terminal, and on Windows, whose console echoes nothing by itself."""
    if sys.platform == "win32":
        return None
    with suppress(termios.error, OSError, ValueError, AttributeError):
        before = termios.tcgetattr(sys.stdin)
        silent = [*before]
        silent[3] &= ~termios.ECHO
        if keys:
            silent[0] &= ~termios.ICRNL
            silent[3] &= ~termios.ICANON
            silent[3] |= termios.NOFLSH  # Ctrl-C leaves what was typed before it
        termios.tcsetattr(sys.stdin, termios.TCSANOW, silent)
        return before
    return None


def unsilence(before: Any) -> None:
    """Give the terminal its modes back."""
    if before and sys.platform != "win32":
        with suppress(termios.error, OSError, ValueError, AttributeError):
            termios.tcsetattr(sys.stdin, termios.TCSANOW, before)


def _has_terminal() -> bool:
    """Return True when the process may read from a terminal now."""
    try:
        return sys.stdin.isatty() and os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except (OSError, ValueError, AttributeError):
        return False


class TypedAhead(KeyReader, Typed):
    """Collects what is typed while it is entered. Esc interrupts, as Ctrl-C does."""

    def __init__(self, fold: Callable[[str], str] = lambda text: text) -> None:
        from prompt_toolkit.input.vt100_parser import Vt100Parser

        Typed.__init__(self, fold)
        self._parser = Vt100Parser(self.press)
        KeyReader.__init__(self, self._parser.feed, self._pause)

    def keep(self, text: str) -> None:
        """Add text that was typed at a question, and did not count as reply, to the line. A single
        key is dropped, as it was meant as a reply."""
        from prompt_toolkit.input.vt100_parser import Vt100Parser

        typed = Typed(self._fold)
        Vt100Parser(typed.press).feed_and_flush(text)
        typed.hold()
        if self.line or any(len(line) > 1 for line in typed.line.split("\n")):
            self.line += typed.line

    def _pause(self) -> None:
        """Finish a key's code when no more bytes follow: an Esc alone was the Esc key."""
        self._parser.flush()
        if self.escape:
            self.escape = False
            interrupt()
