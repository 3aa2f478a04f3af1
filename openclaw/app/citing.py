"""Holds an answer against what its model was shown: what it cites, and what it rests on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from openclaw.agent.prompt import Source
from openclaw.files.text import read_text
from openclaw.shapes import Entry, ToolProblem, ToolUse

if TYPE_CHECKING:
    from pathlib import Path

    from openclaw.agent.citations import Citation, Given
    from openclaw.agent.events import Done
    from openclaw.agent.shown import Line, Look, Passage, Place
    from openclaw.app.fitting import Fitting
    from openclaw.sessions.store import Session

REMEMBERED = "memory"
"""The part of the head that is memory; the others tell the model how to be."""
MOST_BYTES = 10_000_000
"""Of a longer file the lines are not looked at."""
_NAME_WHAT_THEY_WROTE = frozenset(("remember", "edit_file"))
_PROGRAMS = frozenset(("run_shell", "run_python"))
_GREP = re.compile(r"^(?P<path>memory/[^\n:]{1,300}):(?P<line>\d{1,7}):(?P<text>.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Said:
    """An answer, and what its model was given for it. `messages` are those of the conversation that
    were sent, the first `shortened` of them with their results in one line, `summary` what stands
    for older ones; `sources` are the files of the head, `head` its text; `look` tells what files
    hold now."""

    answer: str
    messages: Sequence[Entry]
    look: Look
    sources: Mapping[str, Source] = field(default_factory=dict)
    head: str = ""
    shortened: int = 0
    summary: str = ""


@dataclass(frozen=True, slots=True)
class Files:
    """Tells the lines of the home's files, masked; see `openclaw.agent.shown.Look`. Each is read
    once."""

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
        from openclaw.retrieval.readers import kind_of

        file = self.inside(path)
        if not file.is_file():
            return None
        own = kind_of(path) in ("markdown", "text", "code") and file.stat().st_size <= MOST_BYTES
        text = read_text(file) if own else ""
        if "\0" in text:
            return ()
        return re.split(r"\r\n|\n|\r", self.mask(text)) if text else ()


def with_sources(fitting: Fitting, session: Session, said: Entry) -> Entry:
    """A message that was just said; the last one of its turn with what it cites and rests on in its
    record, where there is something."""
    if "stop" not in said.record or not _worth_a_look(fitting, session, said.content):
        return said
    rooms = fitting.rooms
    found = found_sources(
        Said(
            said.content,
            session.messages,
            Files(rooms.home.inside, rooms.vault.mask),
            fitting.sources,
            fitting.head,
            session.shortened,
            session.compressed_context,
        )
    )
    return replace(said, record={**said.record, **found}) if found else said


def _worth_a_look(fitting: Fitting, session: Session, answer: str) -> bool:
    """Whether an answer may cite or rest on anything; most short talk does not, and the look costs
    some milliseconds at first."""
    if "." in answer and (":" in answer or "line" in answer) and any(c.isdigit() for c in answer):
        return True
    given = any(part.name == REMEMBERED for part in fitting.parts)
    turn = _turn(session.messages)
    return given or any("<<data " in entry.context or entry.tool_calls for entry in turn)


def with_citations(done: Done, session: Session) -> Done:
    """The end of a turn, with what its last message cites and rests on."""
    record = session.messages[-1].record if session.messages else {}
    cited, places = record.get("citations", ()), record.get("sources", ())
    return replace(done, citations=tuple(cited), sources=tuple(places))


def found_sources(said: Said) -> dict[str, Any]:
    """What an answer cites (`citations`) and rests on beside that (`sources`, as path:line); no key
    for what there is none of."""
    from openclaw.agent.citations import cited_places, rests_on
    from openclaw.agent.shown import says

    def holds(line: Line) -> bool:
        return says(said.look, (line.path, line.start_line, line.end_line), line.text)

    places = cited_places(said.answer)
    cited = _checked(said, places) if places else []
    turn = _turn(said.messages)
    question = turn[0].content if turn else ""
    used = rests_on(said.answer, question, _offered(said, turn), holds)
    own = {(each.path, each.start_line) for each in cited if each.verified}
    rest = [line.place for line in used if (line.path, line.start_line) not in own]
    found = {"citations": list(map(asdict, cited)), "sources": rest}
    return {name: each for name, each in found.items() if each}


def _turn(messages: Sequence[Entry]) -> Sequence[Entry]:
    """The messages of the newest turn."""
    starts = [at for at, entry in enumerate(messages) if entry.role == "user"]
    return messages[starts[-1] :] if starts else ()


# -------- what is cited


def _checked(said: Said, places: Sequence[Place]) -> list[Citation]:
    from openclaw.agent.citations import checked

    return checked(places, _given(said), said.look)


def _given(said: Said) -> Given:
    from openclaw.agent.citations import Given, lines_in, spans
    from openclaw.agent.shown import attached, beside, of_result

    passages: list[Passage] = []
    uses: list[ToolUse] = []
    for at, entry in enumerate(said.messages):
        passages += beside(entry, said.look)
        if at >= said.shortened:  # of the others neither results nor attachments are shown
            passages += attached(entry)
            uses += entry.tool_calls
    for use in uses:
        passages += of_result(use, said.look)
    held = {
        source.path: lines_in(source.text, said.head)
        for source in said.sources.values()
        if source.path.rpartition("/")[2] in said.answer
    }
    printed = [use.output for use in uses if use.tool in _PROGRAMS]
    named = [entry.content for entry in said.messages if entry.role == "user"]
    named += [entry.hint for entry in said.messages if entry.hint]
    named += [use.output.partition("\n")[0] for use in uses if use.tool in _NAME_WHAT_THEY_WROTE]
    named += [said.summary, *_grepped(printed, said.look)]
    return Given(spans(passages), held, named, printed)


def _grepped(printed: Sequence[str], look: Look) -> Iterator[str]:
    """The places of memory that a program has printed, where its files do say that."""
    from openclaw.agent.shown import says

    for output in printed:
        for found in _GREP.finditer(output):
            line = int(found["line"])
            if says(look, (found["path"], line, line), found["text"]):
                yield f"{found['path']}:{line}"


# -------- what an answer rests on


def _offered(said: Said, turn: Sequence[Entry]) -> Iterator[Line]:
    """The lines that the model was given about this request, and what it remembers anyway."""
    from openclaw.agent.citations import bare, lines_in
    from openclaw.agent.shown import Line, passages_of

    for entry in turn:
        for passage in passages_of(entry, said.look):
            yield from passage.each()
    memory = said.sources.get(REMEMBERED)
    if memory:
        lines = memory.text.splitlines()
        held = lines_in(memory.text, said.head)
        yield from (Line(memory.path, at, at, bare(lines[at - 1])) for at in sorted(held))
