"""The listener for a terminal: Markdown as it streams, one folded line for each tool.

Finished blocks are printed for good; only the block that still grows is drawn anew, so that a long
answer scrolls like any other text. Below it stands what goes on and since when, and what is typed
ahead. Everything is made harmless before it is drawn.
"""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TextIO

from openclaw.cli.approval import screen_size
from openclaw.cli.formatting import (
    columns,
    compaction_line,
    harmless,
    main_argument,
    missing_part,
    one_line,
    receipt_line,
    source_line,
    tool_line,
    verdict_lines,
)
from openclaw.cli.render import Listener
from openclaw.events import (
    Compaction,
    Done,
    Error,
    Event,
    NewResponse,
    Notice,
    Progress,
    Start,
    Thought,
    Token,
    ToolEnd,
    ToolStart,
)

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.segment import Segment


REDRAW_SECONDS = 0.08
STATUS_SECONDS = 0.3
"""A shorter wait is not worth a status line."""
PAUSE_SECONDS = 1.0
"""An answer that stands still so long gets one too."""
MOST_TAIL = 3
WAITING_FOR_MODEL = "waiting for the model"
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_SPINNER = "\u280b\u2819\u2839\u2838\u283c\u2834\u2826\u2827\u2807\u280f"
_BELL = "\a"


class Screen(Listener):
    """Draws turns on a terminal. `notes` shows tool lines, notices and the receipt; `animated` lets
    the status line live; `bell` rings after a wait of so many seconds, 0 never. `typed` gives what
    is typed ahead; without it what is typed meanwhile is not shown."""

    def __init__(
        self,
        out: TextIO,
        err: TextIO,
        *,
        notes: bool,
        typed: Callable[[], str] | None = None,
        animated: bool = True,
        bell: float = 0.0,
    ) -> None:
        self._out, self._err, self._notes = out, err, notes
        self._typed, self._bell = typed, bell
        self._segment = ""  # what was streamed since the last model call began
        self._settled = 0  # how much of it is printed for good
        self._printed = False  # whether a block was printed since the turn began
        self._started: dict[str, ToolStart] = {}
        self._console: Console | None = None
        self._growing: tuple[str, int, list[str]] = ("", 0, [])
        self._doing = ""  # what goes on, "" between turns
        self._progress = Progress()
        self._since = self._attended = time.monotonic()
        self._heard = self._drawn_at = 0.0
        self._animated = animated
        self._live = LiveLines(out, self._lines, animated=animated, silent=typed is None)

    def __call__(self, event: Event) -> None:
        with self._live.lock:
            self._hear(event)
            if self._doing:
                self._live.start()
            often = isinstance(event, Token) and time.monotonic() - self._drawn_at < REDRAW_SECONDS
            if not self._animated and not often:
                self._live.draw()
                self._drawn_at = time.monotonic()

    def _hear(self, event: Event) -> None:
        match event:
            case Start():
                self._set_doing(WAITING_FOR_MODEL)
            case Progress():
                self._set_progress(event)
            case Token(text):
                self._set_doing("writing")
                self._segment += text
                self._heard = time.monotonic()
                self._print_settled()
            case Thought() if not self._segment:
                self._set_doing("thinking")
            case NewResponse():
                self._flush()
                self._set_doing(WAITING_FOR_MODEL)
            case ToolStart():
                self._flush()
                self._started[event.id] = event
                self._set_doing(f"{one_line(event.tool)} {main_argument(event.input)}")
            case ToolEnd():
                self._note(tool_line(self._started.pop(event.id, None), event))
                self._set_doing(WAITING_FOR_MODEL)
            case Notice(text):
                self._note(one_line(text))
            case Compaction(before, after):
                self._note(compaction_line(before, after))
            case Error(message, hint):
                self._say(one_line(message) + (f" ({one_line(hint)})" if hint else ""))
            case Done():
                self._finish(event)

    def begin(self, what: str) -> None:
        with self._live.lock:
            self._set_doing(what)
            self._live.start()

    def meanwhile(self, progress: Progress) -> None:
        with self._live.lock:
            if self._doing:
                self._set_progress(progress)

    def pause(self) -> None:
        self._ring()
        self._live.stop()

    def resume(self) -> None:
        self._attended = self._since = time.monotonic()
        if self._doing:
            self._live.start()

    def close(self) -> None:
        """Print what is still open; the next turn begins anew."""
        with self._live.lock:
            self._flush()
            self._printed = False
            self._doing = ""
            self._live.stop()
            self._out.flush()

    # -------- what goes on

    def _set_doing(self, words: str) -> None:
        """What is done from now on, if it is something else than before."""
        if not self._doing:
            self._attended = time.monotonic()
        if words != self._doing or self._progress != Progress():
            self._since = time.monotonic()
        self._doing, self._progress = words, Progress()

    def _set_progress(self, progress: Progress) -> None:
        if not self._doing:
            self._set_doing(progress.what)
        if progress.what != self._progress.what:
            self._since = time.monotonic()
        self._progress = progress

    def _ring(self) -> None:
        if self._bell and self._doing and time.monotonic() - self._attended >= self._bell:
            self._err.write(_BELL)
            self._err.flush()

    def _lines(self, width: int, height: int) -> list[str]:
        """What is drawn for the moment."""
        growing = self._segment[self._settled :]
        below = self._status(width) if self._doing else []
        typed = one_line(self._typed()) if self._typed else ""
        if typed:
            below.append(_dim("> " + _keep_end(typed, width - 2)))
        lines = self._growing_lines(growing, width + 1)[-max(height - 2 - len(below), 1) :]
        return [*lines, *([""] if lines and below else []), *below]

    def _status(self, width: int) -> list[str]:
        now = time.monotonic()
        seconds = now - self._since
        if self._doing == "writing" and now - self._heard < PAUSE_SECONDS:
            return []
        if self._animated and seconds < STATUS_SECONDS:
            return []
        progress = self._progress
        details = [] if progress.share is None else [f"{progress.share:.0%}".replace("%", " %")]
        if self._animated and seconds >= 1:
            details.append(_format_seconds(int(seconds)))
        words = one_line(progress.what or self._doing)
        end = f" {', '.join(details)}" if details else " \u2026" if not self._animated else ""
        sign = f"{self._sign(now)} " if self._animated else ""
        words = _keep_beginning(words, width - columns(sign) - columns(end))
        tail = [
            _keep_beginning(f"  {one_line(line)}", width) for line in progress.tail[-MOST_TAIL:]
        ]
        return [_dim(line) for line in (f"{sign}{words}{end}", *tail)]

    def _sign(self, now: float) -> str:
        signs = _SPINNER
        try:
            signs.encode(self._out.encoding or "utf-8")
        except UnicodeEncodeError:
            signs = "|/-\\"
        return signs[int(now * 10) % len(signs)]

    def _growing_lines(self, text: str, width: int) -> list[str]:
        """The lines of the block that grows; drawn anew only when there is more of it."""
        if self._growing[:2] != (text, width):
            self._growing = (text, width, _render_lines(text, self._open(), width))
        return self._growing[2]

    # -------- what stays

    def _print_settled(self) -> None:
        end = settled_length(self._segment)
        if end > self._settled:
            self._print(self._segment[self._settled : end])
            self._settled = end

    def _finish(self, done: Done) -> None:
        rest = missing_part(self._segment, done.answer)
        if rest and not done.answer.lstrip("\n").startswith(self._segment):
            self._flush()
        self._segment += rest
        self._ring()
        self.close()
        if done.receipt:
            self._note(receipt_line(done.receipt))
        if line := source_line(done):
            self._note(line)
        for line in verdict_lines(done):
            self._say(line)

    def _flush(self) -> None:
        self._settle()
        self._segment, self._settled = "", 0

    def _settle(self) -> None:
        """Print what was streamed, and know it still: the end of the turn does not repeat it."""
        self._print(self._segment[self._settled :])
        self._settled = len(self._segment)

    def _print(self, text: str) -> None:
        """Print blocks for good, with a blank line before all but the first."""
        self._live.clear()
        if not text.strip():
            return
        console = self._open()
        if self._printed:
            console.print()
        console.print(_TrimmedMarkdown(text))
        self._printed = True

    def _note(self, line: str) -> None:
        if self._notes:
            self._say(line)

    def _say(self, line: str) -> None:
        from rich.console import Console
        from rich.text import Text

        self._settle()
        Console(file=self._err, highlight=False).print(Text(line, style="dim"))

    def _open(self) -> Console:
        from rich.console import Console

        if not self._console:
            self._console = Console(file=self._out, highlight=False)
        return self._console


def _dim(line: str) -> str:
    return f"\x1b[2m{line}\x1b[0m"


def _keep_beginning(line: str, width: int) -> str:
    """As much of a line as there is room for."""
    if columns(line) <= width:
        return line
    while line and columns(line) > width - 1:
        line = line[:-1]
    return f"{line}\u2026"


def _keep_end(line: str, width: int) -> str:
    """As much of the end of a line as there is room for."""
    if columns(line) <= width:
        return line
    while line and columns(line) > width - 1:
        line = line[1:]
    return f"\u2026{line}"


def _format_seconds(seconds: int) -> str:
    minutes, rest = divmod(seconds, 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _render_lines(text: str, console: Console, width: int) -> list[str]:
    """Markdown as lines with the escapes of colours."""
    if not text.strip():
        return []
    with console.capture() as capture:
        console.print(_TrimmedMarkdown(text), width=width)
    return capture.get().rstrip("\n").split("\n")


class _TrimmedMarkdown:
    """Markdown without blank lines around it."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.markdown import Markdown
        from rich.segment import Segment

        markdown = Markdown(harmless(self._text), hyperlinks=False)
        lines = console.render_lines(markdown, options, pad=False)
        full = [n for n, line in enumerate(lines) if "".join(part.text for part in line).strip()]
        shown = lines[full[0] : full[-1] + 1] if full else []
        for line in shown:
            yield from _trim_blanks(line)
            yield Segment.line()


def _trim_blanks(line: list[Segment]) -> list[Segment]:
    """The line without the blanks that rich fills it up with, unless they have a colour. They would
    be copied along, and the ^C that a terminal echoes behind them would begin a line of its own."""
    from rich.segment import Segment

    line = list(line)
    while line and not (line[-1].style and line[-1].style.bgcolor):
        last = line.pop()
        if text := last.text.rstrip(" "):
            return [*line, Segment(text, last.style, last.control)]
    return line


def settled_length(text: str) -> int:
    """How many characters of a growing Markdown text are whole blocks that stay as they are: up to
    the last blank line outside a code fence that is followed by a line that is not indented."""
    end, position, blank, fence = 0, 0, False, ""
    for line in text.splitlines(keepends=True):
        if blank and not fence and line[0] not in " \t\n":
            end = position
        match = _FENCE.match(line)
        if match and not fence:
            fence = match[1]
        elif match and match[1].startswith(fence) and not line[match.end() :].strip():
            fence = ""
        blank = not line.strip()
        position += len(line)
    return end


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
            if self._ended is not None or not _obeys_escapes():
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
                self._out.write(self._erase_codes(screen_size()[0] + 1) + _SHOW)
                self._out.flush()
                self._drawn = ()

    def draw(self) -> None:
        """Draw the lines as they are now."""
        with self.lock:
            if self._ended is None:
                return
            width, height = screen_size()
            lines = self._lines(width, height)
            if lines != self._drawn:
                shown = _HIDE + "\r\n".join(lines) if lines else _SHOW
                self._out.write(self._erase_codes(width + 1) + shown)
                self._out.flush()
                self._drawn = lines

    def _run(self, ended: threading.Event) -> None:
        with suppress(OSError, ValueError):  # the terminal is gone
            while not ended.wait(TICK_SECONDS):
                with self.lock:
                    if not ended.is_set():
                        self.draw()

    def _erase_codes(self, width: int) -> str:
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

    def _obeys_escapes() -> bool:
        """Whether the console can be made to obey escape sequences, which it does not by itself."""
        system, mode = ctypes.windll.kernel32, ctypes.c_ulong()
        console = system.GetStdHandle(-11)
        found = system.GetConsoleMode(console, ctypes.byref(mode))
        return bool(found and system.SetConsoleMode(console, mode.value | 4))

    def _set_echo(on: bool) -> bool:
        return False

else:
    import termios

    def _obeys_escapes() -> bool:
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
