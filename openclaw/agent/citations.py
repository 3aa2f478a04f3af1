"""Checks the citations in an answer against the lines that were shown, and finds those it rests on.

A citation is `[memory/people.md:12]` or `:12-14`, also in round brackets or backticks as small
models write it, or a bare path of the home with a line.

A foreign text can imitate a passage, so nothing is read out of what was shown: code notes the lines
of a file when it shows them (`openclaw.types.Shown`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, field
from functools import cache
from typing import Any

from openclaw.agent.prompt import REMEMBERED, SOURCES
from openclaw.frozen import frozen
from openclaw.messages import Entry, ToolUse, TurnRecord
from openclaw.nlp.words import significant_words
from openclaw.retrieval.documents import Unreadable, read_document
from openclaw.sessions.session import newest_turn
from openclaw.storage.file_kinds import Kind, kind_by_name
from openclaw.storage.home import Home
from openclaw.storage.text import without_comments
from openclaw.types import Shown, ToolProblem

Place = tuple[str, int, int]  # a path of the home, first and last line, from 1, inclusive
ReadLines = Callable[[str], Sequence[str] | None]
"""Returns the present lines of a file; an empty sequence when unknown, None without the file."""

_CODE_BLOCK = re.compile(r"^[ \t]*(```+|~~~+).*?(?:\n[ \t]*\1[^\n]*|\Z)", re.DOTALL | re.MULTILINE)
"""A block that is never closed ends with the answer."""
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
_NEAR = 24  # characters between a file and its line in a text that names both

MOST = 3  # lines that are reported as sources of an answer
MAX_LINES = 1000  # lines that one citation can name


@frozen
class SeenTexts:
    """What a model was shown.

    shown: lines of files
    head: numbers of the lines in its head, by path
    named: texts in which the user, a summary or code may have named a place without showing it
    printed: output of programs, which names no place of memory
    more: it was shown more that nobody has noted
    """

    shown: Sequence[Shown]
    head: Mapping[str, Collection[int]]
    named: Sequence[str] = ()
    printed: Sequence[str] = ()
    more: bool = False


@frozen
class ShownLine:
    """One line of a file that the model was shown; `around` is all that was shown with it."""

    path: str
    line: int
    text: str
    around: str = ""


# -------- citations


def cited_places(answer: str) -> list[Place]:
    """Return the places that an answer names like a citation, in order, each once. They may not be
    files of the home."""
    return list(dict.fromkeys(_find_citations(answer))) if any(map(str.isdigit, answer)) else []


def check_citations(
    places: Iterable[Place], given: SeenTexts, look: ReadLines
) -> dict[Place, bool]:
    """Return the citations among the places, and whether the model was shown their lines. A place
    that was not shown but somebody named is left out: it is not the model's own invention."""
    known = {*(each.path for each in given.shown), *given.head}
    named: dict[str, frozenset[int]] = {}
    found: dict[Place, bool] = {}
    for path, first, last in places:
        name = _full_path(path, known)
        if not _is_path(path, known):
            continue
        lines = look(name)
        if lines is None and name not in known and not name.startswith(_TOP):
            continue
        if lines and first > len(lines) and name.rpartition(".")[2].lower() not in _PROSE:
            continue  # `compose.yml:8080` names a port
        spans = [(each.start_line, each.end_line) for each in given.shown if each.path == name]
        shown = _is_shown(first, last, spans, given.head.get(name, ()))
        right = shown and not (lines and last > len(lines))
        if not shown and name not in named:
            texts = given.named if name.startswith("memory/") else (*given.named, *given.printed)
            named[name] = _named_lines(name, texts)
        if right or not (shown or given.more or first in named[name]):
            found[name, first, last] = right
    return found


def lines_in(text: str, head: str) -> set[int]:
    """Return the numbers of the lines of a file that are in a head, which shows no comments; blank
    lines do not count."""
    held = {line.strip() for line in head.splitlines()} - {""}
    return {at for at, line in enumerate(text.splitlines(), 1) if plain_line(line) in held}


def plain_line(line: str) -> str:
    """Return a line without comments and outer blanks."""
    return without_comments(line).strip()


def _find_citations(answer: str) -> Iterator[Place]:
    text = _CODE_BLOCK.sub("", answer)
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


def _is_path(path: str, known: Collection[str]) -> bool:
    """Return True when a path can be a file of the home: no URL, and no words before it."""
    if path in known:
        return True
    if " " in path or "://" in path or path.startswith(("/", "www.", "~")):
        return False
    return path.rpartition(".")[2].lower() in _EXTENSIONS


def _full_path(path: str, known: Collection[str]) -> str:
    """Return the path of the shown file when its name is cited without its folder."""
    path = path.removeprefix("./")
    same = [name for name in known if name.endswith(f"/{path}")]
    return same[0] if path not in known and len(same) == 1 else path


def _is_shown(
    first: int, last: int, shown: Sequence[tuple[int, int]], held: Collection[int]
) -> bool:
    """Return True when the model saw all of the lines, or in its head the first and the last."""
    if not first <= last < first + MAX_LINES:
        return False
    if first in held and last in held:
        return True
    for begin, end in sorted(shown):
        if begin <= first <= end:
            first = end + 1
    return first > last


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


def find_repeated_lines(
    answer: str, question: str, offered: Iterable[ShownLine]
) -> list[ShownLine]:
    """Return the offered lines that an answer repeats, at most `MOST`: a line that holds most of
    what the answer adds to the question, or a line that the answer repeats nearly whole. A missing
    source is better than a wrong one."""
    asked = significant_words(question)
    said = significant_words(answer) - asked
    found: list[tuple[frozenset[str], int, ShownLine]] = []
    for line in offered:
        words = significant_words(line.text)
        shared = (words - asked) & said
        if not shared:
            continue
        about = len((words | significant_words(line.around)) & asked)
        gives = about and 2 * len(shared) >= len(said)
        told = len(shared) >= 2 and 4 * len(shared) >= 3 * len(words - asked)
        if gives or (told and (about or len(shared) > 2)):
            found.append((shared, about, line))
    found.sort(key=lambda each: (-len(each[0]), -each[1]))
    kept: list[ShownLine] = []
    covered: frozenset[str] = frozenset()
    for shared, _, line in found:
        if shared - covered and len(kept) < MOST:
            kept.append(line)
            covered |= shared
    return kept


# -------- what was shown

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
    sources: Mapping[str, str] = field(default_factory=dict)
    head: str = ""
    shortened: int = 0
    summary: str = ""
    passages: Sequence[Mapping[str, Any]] = ()


def home_lines(home: Home, mask: Callable[[str], str]) -> ReadLines:
    """Return a function that reads the lines of a home's files, masked, each file once."""

    @cache
    def look(path: str) -> Sequence[str] | None:
        kind = kind_by_name(path)
        try:
            file = home.inside(path)
            if not file.is_file():
                return None
            text = read_document(file, kind) if kind in _HAVE_LINES else ""
        except Unreadable:
            return ()
        except (ToolProblem, OSError, ValueError):
            return None
        return mask(text).split("\n") if text else ()

    return look


def find_sources(said: AnswerContext) -> TurnRecord:
    """Return the `citations` of an answer and its other `sources`, None without any."""
    places = cited_places(said.answer)
    cited = check_citations(places, _seen_texts(said), said.look) if places else {}
    turn = newest_turn(said.messages)
    question = turn[0].content if turn else ""
    used = find_repeated_lines(said.answer, question, _candidate_lines(said, turn))
    own = {place[:2] for place, is_verified in cited.items() if is_verified}
    rest = [f"{line.path}:{line.line}" for line in used if (line.path, line.line) not in own]
    rows = [{**asdict(Shown(*place)), "verified": right} for place, right in cited.items()]
    return TurnRecord(citations=rows or None, sources=rest or None)


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
        path: lines_in(said.sources[name], said.head)
        for name, path in SOURCES.items()
        if name in said.sources and path.rpartition("/")[2] in said.answer
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
        lines, path = memory.splitlines(), SOURCES[REMEMBERED]
        held = lines_in(memory, said.head)
        yield from (ShownLine(path, at, plain_line(lines[at - 1])) for at in sorted(held))


def _lines_of(shown: Shown, present: Sequence[str] | None, text: str) -> Iterator[ShownLine]:
    """Yield the lines that are not blank as they are in the file at present; of a file whose lines
    are unknown, such as a PDF, those of the text that was shown."""
    first = max(shown.start_line, 1)
    lines = (present or ())[first - 1 : shown.end_line]
    if present is not None and not present:
        lines = text.split("\n")
    around = "\n".join(lines) if len(lines) > 1 else ""
    for number, line in enumerate(map(plain_line, lines), first):
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
