"""Shows a turn by a listener over its events: plain text, the done event, or JSON lines.

A listener is called with every event and closed at the end. The answer, and nothing else, goes to
`out`; what happened on the way goes to `err`. The listener for a terminal is in `terminal.py`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import TextIO

from openclaw.cli.formatting import for_stream
from openclaw.errors import OpenclawError
from openclaw.events import (
    Compaction,
    Done,
    Error,
    Event,
    NewResponse,
    Notice,
    Progress,
    Token,
    ToolEnd,
    ToolStart,
    to_wire,
)
from openclaw.inspection.turn_lines import (
    call_line,
    compaction_line,
    end_lines,
    error_line,
    missing_part,
)
from openclaw.security.display import one_line


class Listener:
    """Hears every event of a turn, from `begin` to `close`. This base class shows nothing."""

    def __call__(self, event: Event) -> None:
        """Hear an event of the turn."""

    def begin(self, what: str) -> None:
        """Begin a turn, whose first event may take a while."""

    def meanwhile(self, progress: Progress) -> None:
        """Hear what goes on between events; any thread may call this."""

    def pause(self) -> None:
        """Clear the way for a question to the user."""

    def resume(self) -> None:
        """Go on after the question."""

    def close(self) -> None:
        """End the turn."""


class TurnText(Listener):
    """Tells a turn as text and lines. What it looks like is up to the classes below.

    tools: tell each call
    notes: tell notices and the receipt
    """

    def __init__(self, *, tools: bool, notes: bool) -> None:
        self._tools, self._notes = tools, notes
        self._segment = ""  # the text streamed since the last model call began
        self._open_calls: dict[str, ToolStart] = {}

    def __call__(self, event: Event) -> None:
        match event:
            case Token(text):
                self._answer(text)
            case NewResponse():
                self._end_segment()
            case ToolStart():
                self._end_text()
                self._open_calls[event.id] = event
            case ToolEnd() if self._tools:
                self._say(call_line(self._open_calls.pop(event.id, None), event))
            case Notice(text) if self._notes:
                self._say(one_line(text))
            case Compaction(before, after) if self._notes:
                self._say(compaction_line(before, after))
            case Error():
                self._say(error_line(event))
            case Done():
                rest, anew = missing_part(self._segment, event.answer)
                if anew:
                    self._end_segment()
                if rest:
                    self._answer(rest)
                self.close()
                for line in end_lines(event, notes=self._notes):
                    self._say(line)

    def _answer(self, text: str) -> None:
        raise NotImplementedError

    def _end_text(self) -> None:
        """End the text so far, as something else is shown."""
        raise NotImplementedError

    def _end_segment(self) -> None:
        raise NotImplementedError

    def _say(self, line: str) -> None:
        """Print a line of anything but the answer."""
        raise NotImplementedError


class PlainText(TurnText):
    """Prints the answer as it comes, but not again what only repeats the reply before it, which was
    asked for once more. `dim` prints the other lines dimmed."""

    def __init__(self, out: TextIO, err: TextIO, *, tools: bool, notes: bool, dim: bool) -> None:
        super().__init__(tools=tools, notes=notes)
        self._out, self._err, self._dim = out, err, dim
        self._earlier = ""  # the segment that was printed before this one
        self._held = ""  # what was not printed of this one, as it repeats that
        self._line_open = False
        self._waiting: list[str] = []  # lines that wait for the end of the answer's line

    def close(self) -> None:
        self._end_segment()
        self._earlier = ""
        self._out.flush()

    def _end_segment(self) -> None:
        if self._held not in ("", self._earlier):
            self._print_held()
        self._end_text()
        self._earlier = self._segment or self._earlier
        self._segment = self._held = ""

    def _answer(self, text: str) -> None:
        text = text if self._segment else text.lstrip("\n")
        self._segment += text
        self._held += text
        if self._held and not self._earlier.startswith(self._segment):
            self._print_held()

    def _print_held(self) -> None:
        text, self._held = self._held, ""
        if self._earlier and text == self._segment:
            self._end_text()
            self._out.write("\n")
        self._line_open = not text.endswith("\n")
        self._out.write(for_stream(text, self._out))
        self._out.flush()

    def _say(self, line: str) -> None:
        if self._out.isatty():
            self._end_text()
        self._waiting.append(line)
        if not self._line_open:  # else the line would be glued to the answer
            self._write_waiting()

    def _write_waiting(self) -> None:
        for line in self._waiting:
            self._err.write(f"\x1b[2m{line}\x1b[0m\n" if self._dim else f"{line}\n")
        self._waiting.clear()
        self._err.flush()

    def _end_text(self) -> None:
        if self._line_open:
            self._out.write("\n")
            self._out.flush()
            self._line_open = False
        self._write_waiting()


class DoneJson(Listener):
    """Prints the done event as one JSON object, or the error event when the turn failed."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def __call__(self, event: Event) -> None:
        if isinstance(event, Done | Error):
            write_json(self._out, event)


class JsonLines(DoneJson):
    """Prints every event as one JSON object on a line of its own."""

    def __call__(self, event: Event) -> None:
        write_json(self._out, event)


def write_json(out: TextIO, event: Event) -> None:
    """Write one event as a line of JSON, and send it at once."""
    text = json.dumps(to_wire(event), ensure_ascii=False, default=str)
    out.write(for_stream(text, out) + "\n")
    out.flush()


def show_turn(
    events: Iterator[Event],
    listener: Listener,
    seen: Callable[[Event], Event] = lambda event: event,
) -> Done | Error | None:
    """Show a whole turn by the listener, each event as changed by `seen`; returns the event that
    ended the turn.

    A Ctrl-C while the listener works goes to the turn, which ends as interrupted. When the turn
    raises an OpenclawError, the listener is closed and the error goes on to the caller.
    """
    end: Done | Error | None = None
    ahead: Callable[[], Event] = events.__next__
    interrupted = False
    try:
        listener.begin("getting ready")
        while True:
            try:
                event = ahead()
                ahead = events.__next__
                listener(seen(event))
            except StopIteration:
                return end
            except KeyboardInterrupt as interrupt:
                throw = getattr(events, "throw", None)
                if interrupted or not throw:
                    raise
                interrupted, ahead = True, partial(throw, interrupt)
            else:
                end = event if isinstance(event, Done | Error) else end
    finally:
        listener.close()
        if close := getattr(events, "close", None):
            close()


def exit_code(end: Done | Error | None) -> int:
    """Return the command's exit code for the event that ended a turn (README, Exit codes)."""
    if not isinstance(end, Done):
        return end.exit_code if end else OpenclawError.exit_code
    if end.stop_reason == "interrupted":
        return 130
    if end.stop_reason == "empty":
        return 1
    if end.unbacked:
        return 3
    return 7 if end.refused else 0
