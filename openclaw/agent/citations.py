"""Checks the citations in an answer against what the model saw, and finds the lines it rests on.

A citation is `[memory/people.md:12]` or `:12-14`, also in round brackets or backticks as small
models write it, or a bare path of the home with a line.

A foreign text can imitate a passage, so only text from our own code counts as shown: fences with
the marker of their message, results of the tools that show lines, and the heading of `read_file`
and `memory_get`, never the body.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from openclaw.frozen import frozen
from openclaw.messages import Entry, ToolUse
from openclaw.nlp.words import significant_words
from openclaw.storage.text import without_comments

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


@frozen
class Citation:
    """Lines of a file that an answer names. `verified`: the model saw them."""

    path: str
    start_line: int
    end_line: int
    verified: bool = False


@frozen
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


def find_repeated_lines(
    answer: str,
    question: str,
    offered: Iterable[ShownLine],
    holds: Callable[[ShownLine], bool] = lambda line: True,
) -> list[ShownLine]:
    """Return the offered lines that an answer repeats, at most `MOST`: a line that holds most of
    what the answer adds to the question, or a line that the answer repeats nearly whole. `holds`
    checks a line against its file. A missing source is better than a wrong one."""
    asked = significant_words(question)
    said = significant_words(answer) - asked
    found: list[tuple[frozenset[str], int, ShownLine]] = []
    for line in offered:
        words = significant_words(line.text)
        shared = (words - asked) & said
        about = len((words | significant_words(line.around)) & asked)
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


Place = tuple[str, int, int]
"""A path of the home, first and last line, from 1, inclusive."""
ReadLines = Callable[[str], Sequence[str] | None]
"""Returns the present lines of a file; an empty sequence when unknown, None without the file."""

LISTING, READING = (
    frozenset(("memory_search", "search_files")),
    frozenset(("memory_get", "read_file")),
)
END_OF_TAIL, END_OF_FENCE = "\n</context>", "<</data"
EARLIER = "earlier in this conversation, no orders"
_PLACED = re.compile(
    r"(?P<path>[^\n:]{1,300}):(?P<first>\d{1,7})(?:-(?P<last>\d{1,7}))?: (?P<text>[^\n]*)"
)
_READ = re.compile(
    r"(?P<path>[^\n]{1,300}), lines (?P<first>\d{1,7})-(?P<last>\d{1,7}) of \d+[^\n]{0,200}:"
)
_OPENING = re.compile(r"<<data (?P<marker>\w{1,64}) from (?P<label>[^\n]{1,400})>>")
_ATTACHED = re.compile(
    r"file (?P<path>[^\n]{1,120}?)(?:, lines (?P<first>\d{1,7})-\d{1,7})?(?:, [^\n]*)?"
)
_LEFT_OUT = re.compile(r"\[.{1,80} (?:left out|are cut here)\]")
_CUT = re.compile(r" \[cut: [\d,]+ characters in this line\]$")
_NUMBERED = re.compile(r" *(?P<number>\d+)  (?P<text>.*)")
_WORDS = re.compile(r"[\W_]+")


@frozen
class ShownLine:
    """One or more lines of a file as the model saw them; `around` is their passage."""

    path: str
    start_line: int
    end_line: int
    text: str
    around: str = ""

    @property
    def place(self) -> str:
        more = f"-{self.end_line}" if self.end_line > self.start_line else ""
        return f"{self.path}:{self.start_line}{more}"


@frozen
class ShownPassage:
    """Lines of a file as the model saw them; `lines` may be fewer, as comments are left out."""

    path: str
    first: int
    last: int
    lines: tuple[str, ...]

    def each(self) -> Iterator[ShownLine]:
        """Yield each line that is not blank, or all in one when some lines were left out."""
        whole = "\n".join(self.lines)
        if len(self.lines) != self.last - self.first + 1:
            found = [ShownLine(self.path, self.first, self.last, whole)]
        else:
            around = whole if len(self.lines) > 1 else ""
            found = [
                ShownLine(self.path, n, n, t, around) for n, t in enumerate(self.lines, self.first)
            ]
        yield from (line for line in found if line.text.strip())


def no_files(path: str) -> Sequence[str] | None:
    """Looks at no file."""
    return None


def passages_of(entry: Entry, look: ReadLines = no_files) -> Iterator[ShownPassage]:
    """Yield the passages in a message: those of its context and of the results of its calls."""
    yield from context_passages(entry, look)
    for use in entry.tool_calls:
        yield from result_passages(use, look)


def context_passages(entry: Entry, look: ReadLines = no_files) -> Iterator[ShownPassage]:
    """Yield the passages that a search has added to a message of the user: those of its record, or,
    without a record, all text in its fences with the form of a passage."""
    if "<<data " not in entry.context:
        return
    offered = _recorded_places(entry)
    tail = entry.context.partition(END_OF_TAIL)[0]
    for label, body in _blocks(tail, _marker(entry)):
        if label != EARLIER:
            yield from _placed_passages(body, look, offered)


def result_passages(use: ToolUse, look: ReadLines = no_files) -> Iterator[ShownPassage]:
    """Yield the passages in the result of a tool that shows lines; none for other tools."""
    if not use.ok:
        return
    if use.tool in LISTING:
        yield from _placed_passages(_without_fence(use.output.split("\n")), look)
    elif use.tool in READING:
        head, *body = use.output.split("\n")
        if found := _READ.fullmatch(head):
            first, last = int(found["first"]), int(found["last"])
            lines = [*_without_fence(body)][: max(last - first + 1, 0)]
            own = tuple(_without_number(line, n) for n, line in enumerate(lines, first))
            yield ShownPassage(found["path"], first, last, own)


def attached_files(entry: Entry) -> Iterator[ShownPassage]:
    """Yield the shown beginning of each file that the user attached."""
    material = entry.context.partition(END_OF_TAIL)[2]
    for label, body in _blocks(material, _marker(entry)):
        if found := _ATTACHED.fullmatch(label):
            first = int(found["first"] or 1)
            gap = next((n for n, line in enumerate(body) if _LEFT_OUT.fullmatch(line)), len(body))
            if gap:
                yield ShownPassage(found["path"], first, first + gap - 1, tuple(body[:gap]))


def has_text(look: ReadLines, place: Place, text: str) -> bool:
    """Return True when a file now has this text at this place, or when its lines are unknown."""
    path, first, last = place
    lines = look(path)
    if lines is None or not 0 < first <= last:
        return False
    there = "\n".join(lines[first - 1 : last])
    return not lines or (last <= len(lines) and _letters_only(text) in _letters_only(there))


# -------- fences


def _marker(entry: Entry) -> str:
    """Return the marker of a message's fences; without a record that of the first fence, since
    foreign text is always inside a fence."""
    if marker := entry.record.marker:
        return marker
    found = re.search(rf"^{_OPENING.pattern}$", entry.context, re.MULTILINE)
    return found["marker"] if found else ""


def _blocks(text: str, marker: str) -> Iterator[tuple[str, list[str]]]:
    """Yield label and lines of each fence with this marker."""
    body: list[str] | None = None
    label = ""
    for line in text.split("\n") if marker else ():
        if body is None:
            found = _OPENING.fullmatch(line) if line.startswith("<<data ") else None
            if found and found["marker"] == marker:
                label, body = found["label"], []
        elif line == f"{END_OF_FENCE} {marker}>>":
            yield label, body
            body = None
        else:
            body.append(line)


def _without_fence(lines: Iterable[str]) -> list[str]:
    """Return the lines of a result without the fence that may enclose it."""
    kept: list[str] = []
    for line in lines:
        if line.startswith(END_OF_FENCE):
            break
        if kept or not line.startswith("<<data "):
            kept.append(line)
    return kept


# -------- lines with their place


def _recorded_places(entry: Entry) -> frozenset[Place] | None:
    """Return the places that the record of a message names; None without a record."""
    listed = entry.record.offered
    if listed is None:
        return None
    keys = ("path", "start_line", "end_line")
    rows = [tuple(each.get(k) for k in keys) for each in listed]
    return frozenset(
        (path, first, last)
        for path, first, last in rows
        if isinstance(path, str) and isinstance(first, int) and isinstance(last, int)
    )


def _placed_passages(
    lines: Sequence[str], look: ReadLines, offered: frozenset[Place] | None = None
) -> Iterator[ShownPassage]:
    """Yield passages of the form `path:12-14: text`. Such a line within another passage begins a
    new one only when it was offered, or when its file has this text."""
    at: tuple[Place, str] | None = None
    body: list[str] = []
    for line in lines:
        found = _parse_place(line)
        if found and offered is not None:
            begins = found[0] in offered
        else:
            within = at is not None and len(body) < at[0][2] - at[0][1] + 1
            begins = found is not None and (not within or has_text(look, *found))
        if found and begins:
            yield from _to_passage(at, body)
            at, body = found, [found[1]]
        elif at is not None:
            body.append(line)
    yield from _to_passage(at, body)


def _parse_place(line: str) -> tuple[Place, str] | None:
    found = _PLACED.fullmatch(line)
    if not found:
        return None
    first = int(found["first"])
    return (found["path"], first, int(found["last"] or first)), found["text"]


def _to_passage(at: tuple[Place, str] | None, body: Sequence[str]) -> Iterator[ShownPassage]:
    if at is not None:
        path, first, last = at[0]
        yield ShownPassage(path, first, last, tuple(body[: max(last - first + 1, 1)]))


def _without_number(line: str, number: int) -> str:
    found = _NUMBERED.fullmatch(line)
    return found["text"] if found and int(found["number"]) == number else line


def _letters_only(text: str) -> str:
    """Return only the letters and digits of a text: a fence or a list may add blanks and marks."""
    return _WORDS.sub("", without_comments(_CUT.sub("", text))).casefold()
