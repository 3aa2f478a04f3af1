"""The listener for a terminal: Markdown as it streams, one folded line for each tool.

Finished blocks are printed for good; only the block that still grows is drawn anew, so that a long
answer scrolls like any other text. Everything is made harmless before it is drawn.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, TextIO

from openclaw.agent.events import (
    Compaction,
    Done,
    Error,
    Event,
    NewResponse,
    Notice,
    Thought,
    Token,
    ToolEnd,
    ToolStart,
)
from openclaw.cli.render import (
    compaction_line,
    missing_part,
    receipt_line,
    source_line,
    tool_line,
    verdict_lines,
)
from openclaw.cli.visible import harmless, main_argument, one_line

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.live import Live
    from rich.segment import Segment

REDRAW_SECONDS = 0.08
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


class Screen:
    """Draws turns on a terminal. `notes` shows tool lines, notices and the receipt."""

    def __init__(self, out: TextIO, err: TextIO, *, notes: bool) -> None:
        self._out, self._err, self._notes = out, err, notes
        self._segment = ""  # what was streamed since the last model call began
        self._settled = 0  # how much of it is printed for good
        self._printed = False  # whether a block was printed since the turn began
        self._started: dict[str, ToolStart] = {}
        self._console: Console | None = None
        self._live: Live | None = None
        self._drawn = 0.0

    def __call__(self, event: Event) -> None:
        match event:
            case Token(text):
                self._segment += text
                self._stream()
            case Thought() if not self._segment:
                self._status("thinking")
            case NewResponse():
                self._flush()
            case ToolStart():
                self._flush()
                self._started[event.id] = event
                self._status(f"{one_line(event.tool)} {main_argument(event.input)}")
            case ToolEnd():
                self._note(tool_line(self._started.pop(event.id, None), event))
            case Notice(text):
                self._note(one_line(text))
            case Compaction(before, after):
                self._note(compaction_line(before, after))
            case Error(message, hint):
                self._say(one_line(message) + (f" ({one_line(hint)})" if hint else ""))
            case Done():
                self._finish(event)

    def pause(self) -> None:
        """Take away what is drawn only for the moment."""
        if self._live:
            self._live.stop()
            self._live = None

    def close(self) -> None:
        """Print what is still open; the next turn begins anew."""
        self._flush()
        self._printed = False
        self._out.flush()

    def _stream(self) -> None:
        end = settled(self._segment)
        if end > self._settled:
            self._print(self._segment[self._settled : end])
            self._settled = end
        if time.monotonic() - self._drawn >= REDRAW_SECONDS:
            self._draw(self._segment[self._settled :])

    def _finish(self, done: Done) -> None:
        rest = missing_part(self._segment, done.answer)
        if rest and not done.answer.lstrip("\n").startswith(self._segment):
            self._flush()
        self._segment += rest
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
        self.pause()
        if not text.strip():
            return
        console = self._open()
        if self._printed:
            console.print()
        console.print(_Drawing(text, grows=False))
        self._printed = True

    def _draw(self, text: str) -> None:
        if not text.strip():
            return
        self._show(_Drawing(text, grows=True))

    def _status(self, words: str) -> None:
        from rich.text import Text

        self._show(Text(f"{words} \u2026", style="dim", no_wrap=True, overflow="ellipsis"))

    def _show(self, drawing: RenderableType) -> None:
        from rich.live import Live

        if not self._live:
            self._live = Live(console=self._open(), auto_refresh=False, transient=True)
            self._live.start()
        self._live.update(drawing, refresh=True)
        self._drawn = time.monotonic()

    def _note(self, line: str) -> None:
        if self._notes:
            self._say(line)
        else:
            self.pause()

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


class _Drawing:
    """Markdown without blank lines around it; of what `grows` only as much as there is room."""

    def __init__(self, text: str, *, grows: bool) -> None:
        self._text, self._grows = text, grows

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        from rich.markdown import Markdown
        from rich.segment import Segment

        markdown = Markdown(harmless(self._text), hyperlinks=False)
        lines = console.render_lines(markdown, options, pad=False)
        full = [n for n, line in enumerate(lines) if "".join(part.text for part in line).strip()]
        shown = lines[full[0] : full[-1] + 1] if full else []
        for line in shown[-max(console.height - 2, 1) :] if self._grows else shown:
            yield from _trimmed(line)
            yield Segment.line()


def _trimmed(line: list[Segment]) -> list[Segment]:
    """The line without the blanks that rich fills it up with, unless they have a colour. They would
    be copied along, and the ^C that a terminal echoes behind them would begin a line of its own."""
    from rich.segment import Segment

    line = list(line)
    while line and not (line[-1].style and line[-1].style.bgcolor):
        last = line.pop()
        if text := last.text.rstrip(" "):
            return [*line, Segment(text, last.style, last.control)]
    return line


def settled(text: str) -> int:
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
