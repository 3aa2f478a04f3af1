"""Holds an answer against what its model was shown: what it cites, and what it rests on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING

from openclaw.agent.citations import (
    ReadLines,
    SeenTexts,
    ShownLine,
    ShownPassage,
    check_citations,
    cited_places,
    lines_in,
    rests_on,
    spans,
    strip_comments,
)
from openclaw.agent.prompt import Source
from openclaw.storage.readers import kind_by_name
from openclaw.storage.text import read_text
from openclaw.types import NO_RECORD, Entry, ToolProblem, ToolUse, TurnRecord

if TYPE_CHECKING:
    from pathlib import Path

    from openclaw.agent.request import Fitting
    from openclaw.events import Done
    from openclaw.sessions.session import Session


REMEMBERED = "memory"
"""The part of the head that is memory; the others are instructions."""
MOST_BYTES = 10_000_000
"""Lines of a longer file are not read."""
_NAME_WHAT_THEY_WROTE = frozenset(("remember", "edit_file"))
_PROGRAMS = frozenset(("run_shell", "run_python"))
_GREP = re.compile(r"^(?P<path>memory/[^\n:]{1,300}):(?P<line>\d{1,7}):(?P<text>.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class AnswerContext:
    """An answer, and what its model saw.

    messages: the messages of the conversation that were sent
    look: returns the present lines of a file
    sources: the files of the head
    head: its text
    shortened: the first messages whose results are in one line
    summary: the summary of older messages
    """

    answer: str
    messages: Sequence[Entry]
    look: ReadLines
    sources: Mapping[str, Source] = field(default_factory=dict)
    head: str = ""
    shortened: int = 0
    summary: str = ""


@dataclass(frozen=True, slots=True)
class HomeLines:
    """Returns the masked lines of the home's files. Each file is read once; see
    `openclaw.agent.citations.ReadLines`."""

    inside: Callable[[str], Path]
    mask: Callable[[str], str]
    known: dict[str, Sequence[str] | None] = field(default_factory=dict)

    def __call__(self, path: str) -> Sequence[str] | None:
        if path not in self.known:
            try:
                self.known[path] = self._lines(path)
            except (ToolProblem, OSError, ValueError):
                self.known[path] = None
        return self.known[path]

    def _lines(self, path: str) -> Sequence[str] | None:
        file = self.inside(path)
        if not file.is_file():
            return None
        own = (
            kind_by_name(path) in ("markdown", "text", "code") and file.stat().st_size <= MOST_BYTES
        )
        text = read_text(file) if own else ""
        if "\0" in text:
            return ()
        return re.split(r"\r\n|\n|\r", self.mask(text)) if text else ()


def with_sources(fitting: Fitting, session: Session, said: Entry) -> Entry:
    """Return a new message; the last one of a turn gets its citations and sources, if any, in its
    record."""
    if said.record.stop is None or not _may_cite(fitting, session, said.content):
        return said
    rooms = fitting.rooms
    found = find_sources(
        AnswerContext(
            said.content,
            session.messages,
            HomeLines(rooms.home.inside, rooms.vault.mask),
            fitting.sources,
            fitting.head,
            session.shortened,
            session.compressed_context,
        )
    )
    return said.with_record(found)


def _may_cite(fitting: Fitting, session: Session, answer: str) -> bool:
    """Return True when an answer may have citations or sources; most short answers have none, and
    the first search costs some milliseconds."""
    if "." in answer and (":" in answer or "line" in answer) and any(c.isdigit() for c in answer):
        return True
    given = any(part.name == REMEMBERED for part in fitting.parts)
    turn = _newest_turn(session.messages)
    return given or any("<<data " in entry.context or entry.tool_calls for entry in turn)


def with_citations(done: Done, session: Session) -> Done:
    """Return the end of a turn with the citations and sources of its last message."""
    record = session.messages[-1].record if session.messages else NO_RECORD
    cited, places = record.citations or (), record.sources or ()
    return replace(done, citations=tuple(cited), sources=tuple(places))


def find_sources(said: AnswerContext) -> TurnRecord:
    """Return the `citations` of an answer and its other `sources`, None without any."""
    from openclaw.agent.citations import has_text

    def holds(line: ShownLine) -> bool:
        return has_text(said.look, (line.path, line.start_line, line.end_line), line.text)

    places = cited_places(said.answer)
    cited = check_citations(places, _seen_texts(said), said.look) if places else []
    turn = _newest_turn(said.messages)
    question = turn[0].content if turn else ""
    used = rests_on(said.answer, question, _candidate_lines(said, turn), holds)
    own = {(each.path, each.start_line) for each in cited if each.verified}
    rest = [line.place for line in used if (line.path, line.start_line) not in own]
    return TurnRecord(citations=list(map(asdict, cited)) or None, sources=rest or None)


def _newest_turn(messages: Sequence[Entry]) -> Sequence[Entry]:
    """Return the messages of the newest turn."""
    starts = [at for at, entry in enumerate(messages) if entry.role == "user"]
    return messages[starts[-1] :] if starts else ()


def _seen_texts(said: AnswerContext) -> SeenTexts:
    from openclaw.agent.citations import attached_files, beside, result_passages

    passages: list[ShownPassage] = []
    uses: list[ToolUse] = []
    for at, entry in enumerate(said.messages):
        passages += beside(entry, said.look)
        if at >= said.shortened:  # the model sees no results or attachments of the others
            passages += attached_files(entry)
            uses += entry.tool_calls
    for use in uses:
        passages += result_passages(use, said.look)
    held = {
        source.path: lines_in(source.text, said.head)
        for source in said.sources.values()
        if source.path.rpartition("/")[2] in said.answer
    }
    printed = [use.output for use in uses if use.tool in _PROGRAMS]
    named = [entry.content for entry in said.messages if entry.role == "user"]
    named += [entry.hint for entry in said.messages if entry.hint]
    named += [use.output.partition("\n")[0] for use in uses if use.tool in _NAME_WHAT_THEY_WROTE]
    named += [said.summary, *_grep_places(printed, said.look)]
    return SeenTexts(spans(passages), held, named, printed)


def _grep_places(printed: Sequence[str], look: ReadLines) -> Iterator[str]:
    """Yield the places of memory that programs printed, where the files really say that."""
    from openclaw.agent.citations import has_text

    for output in printed:
        for found in _GREP.finditer(output):
            line = int(found["line"])
            if has_text(look, (found["path"], line, line), found["text"]):
                yield f"{found['path']}:{line}"


def _candidate_lines(said: AnswerContext, turn: Sequence[Entry]) -> Iterator[ShownLine]:
    """Yield the lines that the model saw about this request, and the memory in the head."""
    from openclaw.agent.citations import ShownLine, passages_of

    for entry in turn:
        for passage in passages_of(entry, said.look):
            yield from passage.each()
    memory = said.sources.get(REMEMBERED)
    if memory:
        lines = memory.text.splitlines()
        held = lines_in(memory.text, said.head)
        yield from (
            ShownLine(memory.path, at, at, strip_comments(lines[at - 1])) for at in sorted(held)
        )
