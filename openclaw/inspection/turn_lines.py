"""What happened in a turn as lines for a person: calls, changes, sources, and what is not true."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from openclaw.events import Done, Error, ToolEnd, ToolStart
from openclaw.receipt import Receipt
from openclaw.security.display import (
    count_of,
    first_line,
    harmless,
    main_argument,
    minute,
    one_line,
    some_lines,
)

if TYPE_CHECKING:
    from openclaw.agent.undo import UndoResult


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
    interrupted = done.stop_reason == "interrupted"
    lines = ["interrupted; what was done so far is kept"] if interrupted else []
    lines += [f"not true, nothing of the kind happened: {one_line(c)}" for c in done.unbacked]
    unseen = [f"{c['path']}:{c['start_line']}" for c in done.citations if not c["verified"]]
    lines += [f"cited, but the model was not shown it: {one_line(where)}" for where in unseen]
    return lines + [f"refused: {one_line(what)}" for what in done.refused]


def end_lines(done: Done, *, notes: bool) -> list[str]:
    """The lines below an answer: with `notes` its changes and sources, and what must be known."""
    told = [receipt_line(done.receipt), source_line(done)] if notes else []
    return [*filter(None, told), *verdict_lines(done)]


def error_line(error: Error) -> str:
    return one_line(error.message) + (f" ({one_line(error.hint)})" if error.hint else "")


def call_line(start: ToolStart | None, end: ToolEnd) -> str:
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


def missing_part(printed: str, answer: str) -> tuple[str, bool]:
    """The text that is still to be printed after `printed` was streamed: the rest of the answer
    when `printed` is its beginning, else the whole answer; and True for that, as it begins anew."""
    answer = answer.lstrip("\n")
    if answer.strip() == printed.strip():
        return "", False
    if answer.startswith(printed):
        return answer[len(printed) :], False
    return answer, bool(answer)


# -------- an undo or a redo

MAX_FILES = 20  # files that are named; an import may have made thousands


def undo_lines(taken: UndoResult, verb: str, front: str = "openclaw ") -> Iterator[str]:
    """Describe the result of an undo or redo; for conflicts see `conflict_lines`. `front` stands
    before the name of a command."""
    talks = {turn.session for turn in taken.of}
    for turn in taken.of:
        place = f"  ({turn.session or 'a command'})" if len(talks) > 1 and verb == "undo" else ""
        subject = turn.subject.removeprefix("Undo: ")  # a redo is of undos
        yield f"{turn.id}  {minute(turn.at)}  {one_line(subject, 60)}{place}"
    files = [f"  {one_line(f.path)} {f.action} (+{f.added} -{f.removed})" for f in taken.files]
    yield from some_lines(files, MAX_FILES, "more files")
    if taken.messages:
        many = taken.conversations
        of = f"{many} conversations" if many > 1 else "the conversation"
        yield f"  {count_of(taken.messages, 'message')} of {of}"
    yield from (f"  {one_line(path)}: later changes of others are kept" for path in taken.merged)
    for path in taken.missing:
        yield f"  {one_line(path)}: left as it is, its earlier content was not kept"
    if taken.turn is None:
        yield "nothing was changed"
    elif verb == "undo":
        yield f"taken back; {front}redo puts it back"
    else:
        yield f"put back; {front}undo takes it back"
    if taken.notice:
        yield one_line(taken.notice)


def conflict_lines(taken: UndoResult, verb: str, front: str = "openclaw ") -> Iterator[str]:
    """Return the lines that others changed since, and what became of the rest."""
    for conflict in taken.conflicts:
        yield f"{one_line(conflict.path)}: the same lines were changed since"
        yield from (f"  {line}" for line in harmless(conflict.text).splitlines())
    done, does = ("taken back", "takes back") if verb == "undo" else ("put back", "puts back")
    if taken.turn is None:
        yield f"nothing was {done}; {front}{verb} --keep {does} the rest and leaves these lines"
    else:
        yield "these lines stay as they are"
