"""Holds an answer against what its model was shown: what it cites, and what it rests on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, field
from typing import TYPE_CHECKING

from openclaw.agent.citations import (
    ReadLines,
    SeenTexts,
    ShownLine,
    ShownPassage,
    attached_files,
    check_citations,
    cited_places,
    context_passages,
    find_repeated_lines,
    has_text,
    lines_in,
    passages_of,
    result_passages,
    spans,
    strip_comments,
)
from openclaw.agent.prompt import HeadFile
from openclaw.agent.recording import REMEMBERED, newest_turn
from openclaw.frozen import frozen
from openclaw.messages import Entry, ToolUse, TurnRecord
from openclaw.storage.readers import kind_by_name
from openclaw.storage.text import read_text
from openclaw.types import ToolProblem

if TYPE_CHECKING:
    from pathlib import Path

    from openclaw.agent.request import RequestBuilder
    from openclaw.sessions.session import Session


MOST_BYTES = 10_000_000
"""Lines of a longer file are not read."""
_NAME_WHAT_THEY_WROTE = frozenset(("remember", "edit_file"))
_PROGRAMS = frozenset(("run_shell", "run_python"))
_GREP = re.compile(r"^(?P<path>memory/[^\n:]{1,300}):(?P<line>\d{1,7}):(?P<text>.+)$", re.MULTILINE)


@frozen
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
    sources: Mapping[str, HeadFile] = field(default_factory=dict)
    head: str = ""
    shortened: int = 0
    summary: str = ""


@frozen
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


def with_sources(builder: RequestBuilder, session: Session, said: Entry) -> Entry:
    """Return the last message of a turn with its citations and sources, if any, in its record."""
    open_home = builder.open_home
    found = find_sources(
        AnswerContext(
            said.content,
            session.messages,
            HomeLines(open_home.home.inside, open_home.vault.mask),
            builder.sources,
            builder.head,
            session.shortened,
            session.compressed_context,
        )
    )
    return said.with_record(found)


def find_sources(said: AnswerContext) -> TurnRecord:
    """Return the `citations` of an answer and its other `sources`, None without any."""

    def holds(line: ShownLine) -> bool:
        return has_text(said.look, (line.path, line.start_line, line.end_line), line.text)

    places = cited_places(said.answer)
    cited = check_citations(places, _seen_texts(said), said.look) if places else []
    turn = newest_turn(said.messages)
    question = turn[0].content if turn else ""
    used = find_repeated_lines(said.answer, question, _candidate_lines(said, turn), holds)
    own = {(each.path, each.start_line) for each in cited if each.verified}
    rest = [line.place for line in used if (line.path, line.start_line) not in own]
    return TurnRecord(citations=list(map(asdict, cited)) or None, sources=rest or None)


def _seen_texts(said: AnswerContext) -> SeenTexts:
    passages: list[ShownPassage] = []
    uses: list[ToolUse] = []
    for at, entry in enumerate(said.messages):
        passages += context_passages(entry, said.look)
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
    for output in printed:
        for found in _GREP.finditer(output):
            line = int(found["line"])
            if has_text(look, (found["path"], line, line), found["text"]):
                yield f"{found['path']}:{line}"


def _candidate_lines(said: AnswerContext, turn: Sequence[Entry]) -> Iterator[ShownLine]:
    """Yield the lines that the model saw about this request, and the memory in the head."""
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
