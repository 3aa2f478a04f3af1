"""The listener for a terminal: Markdown as it streams, one folded line for each tool.

Finished blocks are printed for good. Only the block that still grows is drawn again and again, so
that a long answer scrolls like any other text. Below it stand a status line and the text that is
typed ahead. All text is made harmless before it is drawn.
"""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TextIO

from openclaw.cli.approval import screen_size
from openclaw.cli.render import TurnText
from openclaw.cli.typeahead import SignalGuard, silence, unsilence
from openclaw.events import (
    Done,
    Event,
    NewResponse,
    Progress,
    Start,
    Thought,
    Token,
    ToolEnd,
    ToolStart,
)
from openclaw.security.display import columns, harmless, main_argument, one_line

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.segment import Segment


STATUS_SECONDS = 0.3  # a shorter wait gets no status line
PAUSE_SECONDS = 1.0  # an answer that pauses so long gets a status line too
MAX_TAIL = 3
WAITING_FOR_MODEL = "waiting for the model"
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_SPINNER = "\u280b\u2819\u2839\u2838\u283c\u2834\u2826\u2827\u2807\u280f"
_BELL = "\a"
TICK_SECONDS = 0.1
_STYLES = re.compile(r"\x1b\[[\d;]*m")


class Screen(TurnText):
    """Draws turns on a terminal.

    notes: show tool lines, notices and the receipt
    typed: returns the text that is typed ahead; without it typed text is not shown
    bell: seconds of waiting after which the bell rings, 0 for never
    """

    def __init__(
        self,
        out: TextIO,
        err: TextIO,
        *,
        notes: bool,
        typed: Callable[[], str] | None = None,
        bell: float = 0.0,
    ) -> None:
        super().__init__(tools=notes, notes=notes)
        self._out, self._err = out, err
        self._typed, self._bell = typed, bell
        self._settled = 0  # characters of it that are printed for good
        self._printed = False  # a block was printed since the turn began
        self._console: Console | None = None
        self._growing: tuple[str, int, list[str]] = ("", 0, [])
        self._activity = ""  # the present activity, "" between turns
        self._progress = Progress()
        self._since = self._attention_at = time.monotonic()
        self._token_at = 0.0
        self._live = LiveLines(out, self._lines, silent=typed is None)

    def __call__(self, event: Event) -> None:
        with self._live.lock:
            if isinstance(event, Done):
                self._ring()
            super().__call__(event)
            self._follow(event)
            if self._activity:
                self._live.start()

    def _follow(self, event: Event) -> None:
        match event:
            case Start() | NewResponse() | ToolEnd():
                self._set_activity(WAITING_FOR_MODEL)
            case Progress():
                self._set_progress(event)
            case Token():
                self._set_activity("writing")
                self._token_at = time.monotonic()
            case Thought() if not self._segment:
                self._set_activity("thinking")
            case ToolStart():
                self._set_activity(f"{one_line(event.tool)} {main_argument(event.input)}")

    def begin(self, what: str) -> None:
        with self._live.lock:
            self._set_activity(what)
            self._live.start()

    def meanwhile(self, progress: Progress) -> None:
        with self._live.lock:
            if self._activity:
                self._set_progress(progress)

    def pause(self) -> None:
        self._ring()
        self._live.stop()

    def resume(self) -> None:
        self._attention_at = self._since = time.monotonic()
        if self._activity:
            self._live.start()

    def close(self) -> None:
        """Print the rest of the turn and end it."""
        with self._live.lock:
            self._end_segment()
            self._printed = False
            self._activity = ""
            self._live.stop()
            self._out.flush()

    # -------- the lines for the moment

    def _set_activity(self, words: str) -> None:
        """Set the present activity; its seconds are counted anew when it differs."""
        if not self._activity:
            self._attention_at = time.monotonic()
        if words != self._activity or self._progress != Progress():
            self._since = time.monotonic()
        self._activity, self._progress = words, Progress()

    def _set_progress(self, progress: Progress) -> None:
        if not self._activity:
            self._set_activity(progress.what)
        if progress.what != self._progress.what:
            self._since = time.monotonic()
        self._progress = progress

    def _ring(self) -> None:
        if self._bell and self._activity and time.monotonic() - self._attention_at >= self._bell:
            self._err.write(_BELL)
            self._err.flush()

    def _lines(self, width: int, height: int) -> list[str]:
        """The lines drawn for the moment: the growing block, the status, the text typed ahead."""
        growing = self._segment[self._settled :]
        below = self._status(width) if self._activity else []
        typed = one_line(self._typed()) if self._typed else ""
        if typed:
            below.append(_dim("> " + _cut_end(typed[::-1], width - 2)[::-1]))
        lines = self._growing_lines(growing, width + 1)[-max(height - 2 - len(below), 1) :]
        return [*lines, *([""] if lines and below else []), *below]

    def _status(self, width: int) -> list[str]:
        now = time.monotonic()
        seconds = now - self._since
        if self._activity == "writing" and now - self._token_at < PAUSE_SECONDS:
            return []
        if seconds < STATUS_SECONDS:
            return []
        progress = self._progress
        details = [] if progress.share is None else [f"{progress.share:.0%}".replace("%", " %")]
        if seconds >= 1:
            minutes, rest = divmod(int(seconds), 60)
            details.append(f"{minutes} min {rest} s" if minutes else f"{rest} s")
        end = f" {', '.join(details)}" if details else ""
        sign = _SPINNER[int(now * 10) % len(_SPINNER)]
        words = f"{sign} {one_line(progress.what or self._activity)}"
        tail = [_cut_end(f"  {one_line(line)}", width) for line in progress.tail[-MAX_TAIL:]]
        return [_dim(line) for line in (_cut_end(words, width - columns(end)) + end, *tail)]

    def _growing_lines(self, text: str, width: int) -> list[str]:
        """The growing block as lines with escapes for colours; rendered anew only when it has
        changed."""
        if self._growing[:2] != (text, width):
            lines = []
            if text.strip():
                console = self._get_console()
                with console.capture() as capture:
                    console.print(_TrimmedMarkdown(text), width=width)
                lines = capture.get().rstrip("\n").split("\n")
            self._growing = (text, width, lines)
        return self._growing[2]

    # -------- the text printed for good

    def _answer(self, text: str) -> None:
        self._segment += text
        end = settled_length(self._segment)
        if end > self._settled:
            self._print(self._segment[self._settled : end])
            self._settled = end

    def _end_segment(self) -> None:
        self._settle()
        self._segment, self._settled = "", 0

    _end_text = _end_segment

    def _settle(self) -> None:
        """Print what was streamed. The text is kept, so that the end of the turn does not repeat
        it."""
        self._print(self._segment[self._settled :])
        self._settled = len(self._segment)

    def _print(self, text: str) -> None:
        """Print blocks for good, with a blank line before all but the first."""
        self._live.clear()
        if not text.strip():
            return
        console = self._get_console()
        if self._printed:
            console.print()
        console.print(_TrimmedMarkdown(text))
        self._printed = True

    def _say(self, line: str) -> None:
        from rich.console import Console
        from rich.text import Text

        self._settle()
        Console(file=self._err, highlight=False).print(Text(line, style="dim"))

    def _get_console(self) -> Console:
        from rich.console import Console

        if not self._console:
            self._console = Console(file=self._out, highlight=False)
        return self._console


def _dim(line: str) -> str:
    return f"\x1b[2m{line}\x1b[0m"


def _cut_end(line: str, width: int) -> str:
    if columns(line) <= width:
        return line
    while line and columns(line) > width - 1:
        line = line[:-1]
    return f"{line}\u2026"


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
    """The line without the blanks that rich adds at its end, unless they have a colour. They would
    be copied along, and a ^C that the terminal echoes after them would begin a new line."""
    from rich.segment import Segment

    line = list(line)
    while line and not (line[-1].style and line[-1].style.bgcolor):
        last = line.pop()
        if text := last.text.rstrip(" "):
            return [*line, Segment(text, last.style, last.control)]
    return line


def settled_length(text: str) -> int:
    """The number of characters at the beginning of a growing Markdown text that are whole blocks:
    up to the last blank line that is outside a code fence and before a line without indent."""
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


_HIDE, _SHOW, _ERASE = "\x1b[?25l", "\x1b[?25h", "\x1b[J"


class LiveLines:
    """Lines at the bottom of the terminal that are drawn again as they change.

    lines: returns the lines for a number of columns and rows. They may hold escapes for colours and
        no others. Any thread calls it, under `lock`.
    silent: the terminal does not echo what is typed
    """

    def __init__(
        self, out: TextIO, lines: Callable[[int, int], Sequence[str]], *, silent: bool = True
    ) -> None:
        self._out, self._lines, self._silent = out, lines, silent
        self.lock = threading.RLock()
        self._drawn: Sequence[str] = ()
        self._ended: threading.Event | None = None  # of the thread that draws
        self._before: Any = None  # the modes of a silenced terminal
        self._signals = SignalGuard(self._release, self.start)

    def start(self) -> None:
        """Begin to draw; do nothing when that has begun already."""
        with self.lock:
            if self._ended is not None or not _obeys_escapes():
                return
            self._ended = threading.Event()
            self._before = silence() if self._silent else None
            self._signals.catch()
            threading.Thread(target=self._run, args=(self._ended,), daemon=True).start()

    def stop(self) -> None:
        """Remove the lines and stop drawing."""
        with self.lock:
            if self._ended is None:
                return
            self._ended.set()
            self._ended = None
            self._signals.leave()
            unsilence(self._before)
            self.clear()

    def clear(self) -> None:
        """Remove the lines, so that text can be printed there; the next draw is below that text."""
        with self.lock:
            if self._drawn:
                self._out.write(self._erase_codes(screen_size()[0] + 1) + _SHOW)
                self._out.flush()
                self._drawn = ()

    def draw(self) -> None:
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
        """The codes that erase the drawn lines. A terminal that got narrower has wrapped them."""
        if not self._drawn:
            return ""
        rows = sum(max(1, -(-columns(_STYLES.sub("", line)) // width)) for line in self._drawn)
        return "\r" + (f"\x1b[{rows - 1}A" if rows > 1 else "") + _ERASE

    def _release(self) -> None:
        with suppress(RuntimeError, OSError):  # a write was interrupted, or the terminal is gone
            self.stop()


if sys.platform == "win32":
    import ctypes

    def _obeys_escapes() -> bool:
        """Make the console obey escape sequences. Return True when it does."""
        system, mode = ctypes.windll.kernel32, ctypes.c_ulong()
        console = system.GetStdHandle(-11)
        found = system.GetConsoleMode(console, ctypes.byref(mode))
        return bool(found and system.SetConsoleMode(console, mode.value | 4))

else:

    def _obeys_escapes() -> bool:
        return True
