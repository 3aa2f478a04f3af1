"""Holds an answer against what its model was shown: what it cites, and what it rests on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, field
from functools import cache
from typing import TYPE_CHECKING, Any

from openclaw.agent.citations import (
    ReadLines,
    SeenTexts,
    ShownLine,
    check_citations,
    cited_places,
    find_repeated_lines,
    lines_in,
    strip_comments,
)
from openclaw.agent.prompt import HeadFile
from openclaw.agent.recording import REMEMBERED, newest_turn
from openclaw.frozen import frozen
from openclaw.messages import Entry, ToolUse, TurnRecord
from openclaw.retrieval.documents import Unreadable, read_document
from openclaw.storage.home import Home
from openclaw.storage.readers import Kind, kind_by_name
from openclaw.types import Shown, ToolProblem

if TYPE_CHECKING:
    from openclaw.agent.request import RequestBuilder
    from openclaw.sessions.session import Session


_NAME_WHAT_THEY_WROTE = frozenset(("remember", "edit_file"))
_HAVE_LINES: frozenset[Kind] = frozenset(("markdown", "text", "code", "html"))
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
    passages: those that went with the prompt, with their text
    """

    answer: str
    messages: Sequence[Entry]
    look: ReadLines
    sources: Mapping[str, HeadFile] = field(default_factory=dict)
    head: str = ""
    shortened: int = 0
    summary: str = ""
    passages: Sequence[Mapping[str, Any]] = ()


def with_sources(
    builder: RequestBuilder, session: Session, said: Entry, passages: Sequence[Mapping[str, Any]]
) -> Entry:
    """Return the last message of a turn with its citations and sources, if any, in its record.
    `passages` went with the prompt."""
    open_home = builder.open_home
    found = find_sources(
        AnswerContext(
            said.content,
            session.messages,
            _home_lines(open_home.home, open_home.vault.mask),
            builder.sources,
            builder.head,
            session.shortened,
            session.compressed_context,
            passages,
        )
    )
    return said.with_record(found)


def _home_lines(home: Home, mask: Callable[[str], str]) -> ReadLines:
    """Return a function that reads the lines of a home's files, masked, each file once."""

    @cache
    def look(path: str) -> Sequence[str] | None:
        kind = kind_by_name(path)
        try:
            file = home.inside(path)
            if not file.is_file():
                return None
            text = read_document(file, kind).text if kind in _HAVE_LINES else ""
        except Unreadable:
            return ()
        except (ToolProblem, OSError, ValueError):
            return None
        return mask(text).split("\n") if text else ()

    return look


def find_sources(said: AnswerContext) -> TurnRecord:
    """Return the `citations` of an answer and its other `sources`, None without any."""
    places = cited_places(said.answer)
    cited = check_citations(places, _seen_texts(said), said.look) if places else []
    turn = newest_turn(said.messages)
    question = turn[0].content if turn else ""
    used = find_repeated_lines(said.answer, question, _candidate_lines(said, turn))
    own = {(each.path, each.start_line) for each in cited if each.verified}
    rest = [line.place for line in used if (line.path, line.line) not in own]
    return TurnRecord(citations=list(map(asdict, cited)) or None, sources=rest or None)


def _seen_texts(said: AnswerContext) -> SeenTexts:
    shown: list[Shown] = []
    uses: list[ToolUse] = []
    more = False
    for at, entry in enumerate(said.messages):
        record = entry.record
        shown += _read_shown(record.offered)
        if at >= said.shortened:  # the model sees no results or attachments of the others
            shown += _read_shown(record.shown)
            uses += entry.tool_calls
        if record.shown is None and (entry.role == "user" or entry.tool_calls):
            more = True  # an older version has written it
    held = {
        source.path: lines_in(source.text, said.head)
        for source in said.sources.values()
        if source.path.rpartition("/")[2] in said.answer
    }
    printed = [use.output for use in uses if use.tool in _PROGRAMS]
    named = [entry.content for entry in said.messages if entry.role == "user"]
    named += [entry.hint for entry in said.messages if entry.hint]
    named += [use.output.partition("\n")[0] for use in uses if use.tool in _NAME_WHAT_THEY_WROTE]
    named += [said.summary, *_printed_places(printed, said.look)]
    return SeenTexts(shown, held, named, printed, more)


def _printed_places(printed: Sequence[str], look: ReadLines) -> Iterator[str]:
    """Yield the places of memory that programs printed, where the files really say that."""
    for output in printed:
        for found in _GREP.finditer(output):
            lines, number = look(found["path"]) or (), int(found["line"])
            if number and found["text"].strip() in "".join(lines[number - 1 : number]):
                yield f"{found['path']}:{number}"


def _candidate_lines(said: AnswerContext, turn: Sequence[Entry]) -> Iterator[ShownLine]:
    """Yield the lines that the model was shown about this request, and the memory in the head."""
    texts = {_place_of(passage): passage["text"] for passage in said.passages}
    for entry in turn:
        record = entry.record
        for each in _read_shown(record.offered if entry.role == "user" else record.shown):
            yield from _lines_of(each, said.look(each.path), texts.get(each, ""))
    memory = said.sources.get(REMEMBERED)
    if memory:
        lines = memory.text.splitlines()
        held = lines_in(memory.text, said.head)
        yield from (
            ShownLine(memory.path, at, strip_comments(lines[at - 1])) for at in sorted(held)
        )


def _lines_of(shown: Shown, present: Sequence[str] | None, text: str) -> Iterator[ShownLine]:
    """Yield the lines that are not blank as they are in the file at present; of a file whose lines
    are unknown, such as a PDF, those of the text that was shown."""
    first = max(shown.start_line, 1)
    lines = (present or ())[first - 1 : shown.end_line]
    if present is not None and not present:
        lines = text.split("\n")
    around = "\n".join(lines) if len(lines) > 1 else ""
    for number, line in enumerate(map(strip_comments, lines), first):
        if line:
            yield ShownLine(shown.path, number, line, around)


def _read_shown(rows: Sequence[Mapping[str, Any]] | None) -> Iterator[Shown]:
    """Yield the lines that a record lists; an editor may have damaged it."""
    for row in rows or ():
        shown = _place_of(row)
        if isinstance(shown.path, str) and type(shown.start_line) is type(shown.end_line) is int:
            yield shown


def _place_of(row: Mapping[str, Any]) -> Shown:
    values: Any = (row.get(name) for name in ("path", "start_line", "end_line"))
    return Shown(*values)
