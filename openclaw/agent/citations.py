"""Checks the citations in an answer against what the model saw, and finds the lines it rests on.

A citation is `[memory/people.md:12]` or `:12-14`, also in round brackets or backticks as small
models write it, or a bare path of the home with a line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from openclaw.agent.prompt import Source
from openclaw.agent.shown_lines import Place, ReadLines, ShownLine, ShownPassage
from openclaw.nlp.words import telling_words
from openclaw.storage.text import read_text, without_comments
from openclaw.types import Entry, ToolProblem, ToolUse

if TYPE_CHECKING:
    from pathlib import Path

    from openclaw.agent.request import Fitting
    from openclaw.events import Done
    from openclaw.sessions.session import Session


Spans = Mapping[str, Sequence[tuple[int, int]]]
"""By path the lines that the model saw: first and last, from 1, inclusive."""

_FENCE = re.compile(r"[ \t]*(```+|~~~+)")
_MARKED = re.compile(r"\[([^\[\]\n]{4,300})\]|`([^`\n]{4,300})`|\(([^()\n]{4,300})\)")
_LINES = r"(?P<first>\d{1,7})(?:\s?[-\u2013]\s?L?(?P<last>\d{1,7}))?"
_PLACE = re.compile(
    r"(?:(?i:source|see|from|in)\b:?\s+)?(?P<path>\S.*?\.[A-Za-z]\w{0,7})"
    rf"(?::|#L|,? (?i:lines?) )\s?L?{_LINES}"
)
_MORE = re.compile(rf"(?:(?i:lines?) |L)?{_LINES}")
_BARE = re.compile(
    r"(?<![\w/.:\\])(?P<path>(?:memory|workspace|sessions|skills)/[^\s:`\[\]()<>\"']+\.[A-Za-z]\w{0,7})"
    rf":{_LINES}(?![\w:])"
)
_TOP = ("memory/", "workspace/", "sessions/", "skills/")
_EXTENSIONS = frozenset(
    "md markdown txt json yaml yml csv log html htm pdf org rst py toml ini cfg js ts sh".split()
)
_PROSE = frozenset("md markdown txt rst org".split())
"""In other files a number beyond the end is a port or the like."""
_NUMBER = re.compile(r"\d{1,9}")
_NEAR = 24
"""Characters between a file and its line in a text that names both."""

MOST = 3
"""Lines that are reported as sources of an answer."""
MOST_LINES = 1000
"""Lines that one citation can name."""


@dataclass(frozen=True, slots=True)
class Citation:
    """Lines of a file that an answer names. `verified`: the model saw them."""

    path: str
    start_line: int
    end_line: int
    verified: bool = False


@dataclass(frozen=True, slots=True)
class SeenTexts:
    """The texts that a model saw.

    shown: lines of files, by path
    head: numbers of the lines in its head, by path
    named: texts in which the user, a summary or code may have named a place without showing it
    printed: output of programs, which names no place of memory
    """

    shown: Spans
    head: Mapping[str, Collection[int]]
    named: Sequence[str] = ()
    printed: Sequence[str] = ()


# -------- citations


def cited_places(answer: str) -> list[Place]:
    """Return the places that an answer names like a citation, in order, each once. They may not be
    files of the home."""
    return list(dict.fromkeys(_find_citations(answer))) if any(map(str.isdigit, answer)) else []


def check_citations(places: Iterable[Place], given: SeenTexts, look: ReadLines) -> list[Citation]:
    """Return the citations among the places. A place that nobody showed but somebody named is left
    out: it is neither verified nor the model's own invention."""
    known = {*given.shown, *given.head}
    named: dict[str, frozenset[int]] = {}
    found = {}
    for path, first, last in places:
        name = _full_path(path, known)
        if not _is_path(path, known) or not _is_of_a_file(name, first, known, look):
            continue
        shown = _is_shown(first, last, given.shown.get(name, ()), given.head.get(name, ()))
        right = shown and _has_line(name, last, look)
        if not shown and name not in named:
            texts = given.named if name.startswith("memory/") else (*given.named, *given.printed)
            named[name] = _named_lines(name, texts)
        if right or not (shown or first in named[name]):
            found[name, first, last] = Citation(name, first, last, right)
    return list(found.values())


def spans(passages: Iterable[ShownPassage]) -> dict[str, list[tuple[int, int]]]:
    """Return the lines of passages by their files."""
    found: dict[str, list[tuple[int, int]]] = {}
    for each in passages:
        found.setdefault(each.path, []).append((each.first, each.last))
    return found


def lines_in(text: str, head: str) -> set[int]:
    """Return the numbers of the lines of a file that are in a head, which shows no comments; blank
    lines do not count."""
    held = {line.strip() for line in head.splitlines()} - {""}
    return {at for at, line in enumerate(text.splitlines(), 1) if strip_comments(line) in held}


def strip_comments(line: str) -> str:
    """Return a line without comments and outer blanks."""
    return without_comments(line).strip()


def _find_citations(answer: str) -> Iterator[Place]:
    text = _without_code(answer)
    for marked in _MARKED.finditer(text):
        path = ""
        for piece in re.split(
            r"[;|]|,(?! ?(?i:lines?) )| and ", marked[1] or marked[2] or marked[3]
        ):
            piece = piece.strip(" \t*_\"'`")
            if found := _PLACE.fullmatch(piece):
                path = found["path"]
            else:
                found = _MORE.fullmatch(piece)
            if path and found:
                yield (path, *_span(found))
    for found in _BARE.finditer(_MARKED.sub(" ", text)):
        yield (found["path"], *_span(found))


def _without_code(answer: str) -> str:
    """Return an answer without its code blocks; an unclosed block ends with the answer."""
    kept, end = [], ""
    for line in answer.split("\n"):
        found = _FENCE.match(line)
        if end:
            end = "" if line.lstrip(" \t").startswith(end) else end
        elif found:
            end = found[1]
        else:
            kept.append(line)
    return "\n".join(kept)


def _is_path(path: str, known: Collection[str]) -> bool:
    """Return True when a path can be a file of the home: no URL, and no words before it."""
    if path in known:
        return True
    if " " in path or "://" in path or path.startswith(("/", "www.", "~")):
        return False
    return path.rpartition(".")[2].lower() in _EXTENSIONS


def _is_of_a_file(name: str, first: int, known: Collection[str], look: ReadLines) -> bool:
    """Return True when a place is in a file: a shown file, an existing one, or one below a folder
    of the home. `compose.yml:8080` names a port."""
    lines = look(name)
    if lines and first > len(lines) and name.rpartition(".")[2].lower() not in _PROSE:
        return False
    return name in known or lines is not None or name.startswith(_TOP)


def _full_path(path: str, known: Collection[str]) -> str:
    """Return the path of the shown file when its name is cited without its folder."""
    path = path.removeprefix("./")
    same = [name for name in known if name.endswith(f"/{path}")]
    return same[0] if path not in known and len(same) == 1 else path


def _is_shown(
    first: int, last: int, shown: Sequence[tuple[int, int]], held: Collection[int]
) -> bool:
    """Return True when the model saw all of the lines, or in its head the first and the last."""
    if not first <= last < first + MOST_LINES:
        return False
    if first in held and last in held:
        return True
    for begin, end in sorted(shown):
        if begin <= first <= end:
            first = end + 1
    return first > last


def _has_line(path: str, last: int, look: ReadLines) -> bool:
    """Return True when a file of the home has the line, or when its lines are unknown."""
    lines = look(path)
    return not lines or last <= len(lines)


def _named_lines(path: str, texts: Iterable[str]) -> frozenset[int]:
    """Return the lines of a file that texts name: `a.md:12`, `a.md, line 12`, `line 12 of a.md`."""
    name = path.rpartition("/")[2]
    found: set[int] = set()
    for text in texts:
        at = text.find(name)
        while at >= 0:
            end = at + len(name)
            before = text[max(at - _NEAR, 0) : at].rpartition("\n")[2]
            after = text[end : end + _NEAR].partition("\n")[0]
            found.update(int(each) for each in _NUMBER.findall(f"{before} {after}"))
            at = text.find(name, end)
    return frozenset(found)


def _span(found: re.Match[str]) -> tuple[int, int]:
    first = int(found["first"])
    return first, int(found["last"] or first)


# -------- sources


def rests_on(
    answer: str,
    question: str,
    offered: Iterable[ShownLine],
    holds: Callable[[ShownLine], bool] = lambda line: True,
) -> list[ShownLine]:
    """Return the offered lines that an answer repeats, at most `MOST`: a line that holds most of
    what the answer adds to the question, or a line that the answer repeats nearly whole. `holds`
    checks a line against its file. A missing source is better than a wrong one."""
    asked = telling_words(question)
    said = telling_words(answer) - asked
    found: list[tuple[frozenset[str], int, ShownLine]] = []
    for line in offered:
        words = telling_words(line.text)
        shared = (words - asked) & said
        about = len((words | telling_words(line.around)) & asked)
        gives = about and 2 * len(shared) >= len(said)
        told = len(shared) >= 2 and 4 * len(shared) >= 3 * len(words - asked)
        if shared and (gives or (told and (about or len(shared) > 2))):
            found.append((shared, about, line))
    found.sort(key=lambda each: (-len(each[0]), -each[1]))
    kept: list[ShownLine] = []
    covered: frozenset[str] = frozenset()
    for shared, _, line in found[: 4 * MOST]:
        if shared - covered and len(kept) < MOST and holds(line):
            kept.append(line)
            covered |= shared
    return kept


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
    `openclaw.agent.shown_lines.ReadLines`."""

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
        from openclaw.retrieval.documents import kind_of

        file = self.inside(path)
        if not file.is_file():
            return None
        own = kind_of(path) in ("markdown", "text", "code") and file.stat().st_size <= MOST_BYTES
        text = read_text(file) if own else ""
        if "\0" in text:
            return ()
        return re.split(r"\r\n|\n|\r", self.mask(text)) if text else ()


def with_sources(fitting: Fitting, session: Session, said: Entry) -> Entry:
    """Return a new message; the last one of a turn gets its citations and sources, if any, in its
    record."""
    if "stop" not in said.record or not _may_cite(fitting, session, said.content):
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
    return replace(said, record={**said.record, **found}) if found else said


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
    record = session.messages[-1].record if session.messages else {}
    cited, places = record.get("citations", ()), record.get("sources", ())
    return replace(done, citations=tuple(cited), sources=tuple(places))


def find_sources(said: AnswerContext) -> dict[str, Any]:
    """Return the `citations` of an answer and its other `sources` (as path:line); a key without any
    is left out."""
    from openclaw.agent.shown_lines import has_text

    def holds(line: ShownLine) -> bool:
        return has_text(said.look, (line.path, line.start_line, line.end_line), line.text)

    places = cited_places(said.answer)
    cited = check_citations(places, _seen_texts(said), said.look) if places else []
    turn = _newest_turn(said.messages)
    question = turn[0].content if turn else ""
    used = rests_on(said.answer, question, _candidate_lines(said, turn), holds)
    own = {(each.path, each.start_line) for each in cited if each.verified}
    rest = [line.place for line in used if (line.path, line.start_line) not in own]
    found = {"citations": list(map(asdict, cited)), "sources": rest}
    return {name: each for name, each in found.items() if each}


def _newest_turn(messages: Sequence[Entry]) -> Sequence[Entry]:
    """Return the messages of the newest turn."""
    starts = [at for at, entry in enumerate(messages) if entry.role == "user"]
    return messages[starts[-1] :] if starts else ()


def _seen_texts(said: AnswerContext) -> SeenTexts:
    from openclaw.agent.shown_lines import attached_files, beside, result_passages

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
    from openclaw.agent.shown_lines import has_text

    for output in printed:
        for found in _GREP.finditer(output):
            line = int(found["line"])
            if has_text(look, (found["path"], line, line), found["text"]):
                yield f"{found['path']}:{line}"


def _candidate_lines(said: AnswerContext, turn: Sequence[Entry]) -> Iterator[ShownLine]:
    """Yield the lines that the model saw about this request, and the memory in the head."""
    from openclaw.agent.shown_lines import ShownLine, passages_of

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
