"""Listeners over the events of a turn: plain text, the done event, or one JSON object a line.

A listener is called with every event and closed at the end. The answer, and nothing else, goes to
`out`; what happened on the way goes to `err`. The listener for a terminal is in `terminal.py`.
"""

from __future__ import annotations

import json
import re
from typing import TextIO

from openclaw.cli.formatting import first_line, harmless, main_argument, one_line
from openclaw.events import (
    Compaction,
    Done,
    Error,
    Event,
    NewResponse,
    Notice,
    Progress,
    Receipt,
    Token,
    ToolEnd,
    ToolStart,
    to_wire,
)


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


def exit_code(done: Done) -> int:
    """The command's exit code after this turn (design section 7)."""
    if done.stop_reason == "interrupted":
        return 130
    if done.stop_reason in ("empty", "failed"):
        return 1
    if done.unbacked:
        return 3
    return 7 if done.refused else 0


class PlainText(Listener):
    """Prints the answer as it comes. `tools` shows a line for each call, `notes` shows notices and
    the receipt, `dim` prints these lines dimmed."""

    def __init__(self, out: TextIO, err: TextIO, *, tools: bool, notes: bool, dim: bool) -> None:
        self._out, self._err = out, err
        self._tools, self._notes, self._dim = tools, notes, dim
        self._segment = ""  # the text streamed since the last model call began
        self._earlier = False  # an earlier segment was printed
        self._line_open = False
        self._open_calls: dict[str, ToolStart] = {}
        self._waiting: list[str] = []  # lines that wait for the end of the answer's line

    def __call__(self, event: Event) -> None:
        match event:
            case Token(text):
                self._answer(text)
            case NewResponse():
                self._end_line()
                self._earlier = self._earlier or bool(self._segment)
                self._segment = ""
            case ToolStart():
                self._end_line()
                self._open_calls[event.id] = event
            case ToolEnd() if self._tools:
                self._say(tool_line(self._open_calls.pop(event.id, None), event))
            case Notice(text) if self._notes:
                self._say(one_line(text))
            case Compaction(before, after) if self._notes:
                self._say(compaction_line(before, after))
            case Error(message, hint):
                self._say(one_line(message) + (f" ({one_line(hint)})" if hint else ""))
            case Done():
                self._finish(event)

    def close(self) -> None:
        self._end_line()
        self._segment, self._earlier = "", False
        self._out.flush()

    def _answer(self, text: str) -> None:
        if not self._segment:
            text = text.lstrip("\n")
            if not text:
                return
            if self._earlier:
                self._end_line()
                self._out.write("\n")
        self._segment += text
        self._line_open = not text.endswith("\n")
        self._out.write(harmless(text) if self._out.isatty() else text)
        self._out.flush()

    def _finish(self, done: Done) -> None:
        rest = missing_part(self._segment, done.answer)
        if rest and not done.answer.lstrip("\n").startswith(self._segment):
            self._earlier, self._segment = True, ""
        if rest:
            self._answer(rest)
        self.close()
        if self._notes and done.receipt:
            self._say(receipt_line(done.receipt))
        if self._notes and (line := source_line(done)):
            self._say(line)
        for line in verdict_lines(done):
            self._say(line)

    def _say(self, line: str) -> None:
        if self._out.isatty():
            self._end_line()
        self._waiting.append(line)
        if not self._line_open:  # else the line would be glued to the answer
            self._write_waiting()

    def _write_waiting(self) -> None:
        for line in self._waiting:
            self._err.write(f"\x1b[2m{line}\x1b[0m\n" if self._dim else f"{line}\n")
        self._waiting.clear()
        self._err.flush()

    def _end_line(self) -> None:
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
    out.write(json.dumps(to_wire(event), ensure_ascii=False, default=str) + "\n")
    out.flush()


def write_error(out: TextIO, message: str, hint: str, exit_code: int) -> None:
    """Write an error as a line of JSON."""
    write_json(out, Error(message, hint, exit_code))


# Ends of a turn that the answer itself does not mention.
_REASONS = {
    "failed": "the turn failed",
    "length": "the answer was cut at the limit of its length (setting max_tokens)",
    "interrupted": "interrupted; what was done so far is kept",
}

# Text that others wrote stands between these lines (openclaw.security.untrusted).
_FENCE = re.compile(r"^<</?data [0-9a-f]{8}(?: from .*)?>>$\n?", re.MULTILINE)
_SENTENCE = re.compile(r"(?<=[.!?])\s")
_PROCESS_END = re.compile(
    r"(Exit code \d+|Ended by signal \d+|Stopped after \d+ s: .*)\.(?: It printed nothing\.)?"
)


def compaction_line(before: int, after: int) -> str:
    """The line about a compaction; `before` and `after` in tokens."""
    return f"conversation compacted: {before:,} to {after:,} tokens"


def receipt_line(receipt: Receipt) -> str:
    """The changes of a turn on one line; "" when there are none."""
    files = [f"{f.path} {f.action} +{f.added} -{f.removed}" for f in receipt.files]
    todos = [f"to-do {what}: {text}" for what, text in receipt.todos]
    notes = [f"remembered: {text}" for text in receipt.memories]
    notes += [f"done elsewhere by {tool}" for tool in receipt.sent]
    return one_line("; ".join([*files, *todos, *notes]))


def source_line(done: Done) -> str:
    """The sources of an answer; "" when the program cannot tell them."""
    return one_line(f"from {', '.join(done.sources)}") if done.sources else ""


def verdict_lines(done: Done) -> list[str]:
    """What the user must know about an answer before trusting it."""
    lines = [_REASONS[done.stop_reason]] if done.stop_reason in _REASONS else []
    lines += [f"not true, nothing of the kind happened: {one_line(c)}" for c in done.unbacked]
    unseen = [f"{c['path']}:{c['start_line']}" for c in done.citations if not c["verified"]]
    lines += [f"cited, but the model was not shown it: {one_line(where)}" for where in unseen]
    return lines + [f"refused: {one_line(what)}" for what in done.refused]


def tool_line(start: ToolStart | None, end: ToolEnd) -> str:
    """A call and its result on one line."""
    tool = one_line(end.tool)
    seconds = f", {end.seconds:.1f} s" if end.seconds >= 0.05 else ""
    if end.said:
        return f"{tool}: {one_line(end.said, 100)}{seconds}"
    call = f"{tool} {main_argument(start.input, 48) if start else ''}".rstrip()
    return f"{call}: {_result(end) or 'nothing'}{seconds}"


def _result(end: ToolEnd) -> str:
    """A result in a few words. Of a problem the first sentence: the rest is for the model."""
    output = strip_fences(end.output)
    if not end.ok:
        return one_line(_SENTENCE.split(first_line(output, 0), maxsplit=1)[0].rstrip(".:"), 100)
    lines = output.splitlines()
    if not lines or not (ended := _PROCESS_END.fullmatch(lines[0])):
        return first_line(output, 60) if len(lines) <= 1 else f"{len(lines)} lines"
    printed = lines[1:] or ["nothing printed"]
    size = first_line(printed[0], 60) if len(printed) == 1 else f"{len(printed)} lines"
    return size if ended[1] == "Exit code 0" else f"{one_line(ended[1].lower(), 100)}, {size}"


def strip_fences(output: str) -> str:
    """A result without the lines that tell the model where parts of it come from."""
    return _FENCE.sub("", output)


def missing_part(printed: str, answer: str) -> str:
    """The text that is still to be printed after `printed` was streamed: the rest of the answer
    when `printed` is its beginning, else the whole answer."""
    answer = answer.lstrip("\n")
    if answer.strip() == printed.strip():
        return ""
    return answer[len(printed) :] if answer.startswith(printed) else answer
