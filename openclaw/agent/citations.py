"""Citations in an answer, held against what the model was shown; and the lines an answer rests on.

Pure functions on texts. A citation is `[memory/people.md:12]` or `:12-14`, also in round brackets
or backticks as small models write it, and a path of the home that stands by itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from openclaw.agent.shown import Line, Look, Passage, Place
from openclaw.agent.words import telling_words
from openclaw.files.comments import without_comments

Spans = Mapping[str, Sequence[tuple[int, int]]]
"""By path the lines that were shown: first and last, from 1, inclusive."""

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
"""Of a file that is none of these a number beyond its end is a port or the like."""
_NUMBER = re.compile(r"\d{1,9}")
_NEAR = 24
"""Characters between a file and its line where somebody names them in words."""

MOST = 3
"""Lines that an answer is said to rest on."""
MOST_LINES = 1000
"""Lines that one citation can name."""


@dataclass(frozen=True, slots=True)
class Citation:
    """Lines of a file that an answer names. `verified`: they stood in what the model was shown."""

    path: str
    start_line: int
    end_line: int
    verified: bool = False


@dataclass(frozen=True, slots=True)
class Given:
    """What a model was given: `shown` lines of files, by path; `head` the numbers of the lines that
    stand in its head, by path; `named` the texts in which the user, a summary or code may have
    named a place without showing it; `printed` what programs printed, which names no memory."""

    shown: Spans
    head: Mapping[str, Collection[int]]
    named: Sequence[str] = ()
    printed: Sequence[str] = ()


# -------- what is cited


def cited_places(answer: str) -> list[Place]:
    """What an answer names in the manner of a citation, in its order, each once. Whether it is one
    is told by the files that there are."""
    return list(dict.fromkeys(_cited(answer))) if any(map(str.isdigit, answer)) else []


def checked(places: Iterable[Place], given: Given, look: Look) -> list[Citation]:
    """The citations among the places. What nobody showed but somebody named is left out: it is
    neither verified nor the model's own invention."""
    known = {*given.shown, *given.head}
    named: dict[str, frozenset[int]] = {}
    found = {}
    for path, first, last in places:
        name = _known_as(path, known)
        if not _is_path(path, known) or not _is_of_a_file(name, first, known, look):
            continue
        shown = _is_shown(first, last, given.shown.get(name, ()), given.head.get(name, ()))
        right = shown and _exists(name, last, look)
        if not shown and name not in named:
            texts = given.named if name.startswith("memory/") else (*given.named, *given.printed)
            named[name] = _named_lines(name, texts)
        if right or not (shown or first in named[name]):
            found[name, first, last] = Citation(name, first, last, right)
    return list(found.values())


def spans(passages: Iterable[Passage]) -> dict[str, list[tuple[int, int]]]:
    """The lines of passages by their files."""
    found: dict[str, list[tuple[int, int]]] = {}
    for each in passages:
        found.setdefault(each.path, []).append((each.first, each.last))
    return found


def lines_in(text: str, head: str) -> set[int]:
    """The numbers of the lines of a file that stand in a head, which shows no comments; blank ones
    do not count."""
    held = {line.strip() for line in head.splitlines()} - {""}
    return {at for at, line in enumerate(text.splitlines(), 1) if bare(line) in held}


def bare(line: str) -> str:
    """A line without the comments that only concern its keeping."""
    return without_comments(line).strip()


def _cited(answer: str) -> Iterator[Place]:
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
    """An answer without its blocks of code; one without an end goes on to the answer's."""
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
    """Whether it can be a file of the home: no address, and no words before it."""
    if path in known:
        return True
    if " " in path or "://" in path or path.startswith(("/", "www.", "~")):
        return False
    return path.rpartition(".")[2].lower() in _EXTENSIONS


def _is_of_a_file(name: str, first: int, known: Collection[str], look: Look) -> bool:
    """Whether a file is meant: one that was shown, that there is, or that would stand in a folder
    of the home. In `compose.yml:8080` a port is meant."""
    lines = look(name)
    if lines and first > len(lines) and name.rpartition(".")[2].lower() not in _PROSE:
        return False
    return name in known or lines is not None or name.startswith(_TOP)


def _known_as(path: str, known: Collection[str]) -> str:
    """The file that was shown, when its name is cited without its folder."""
    path = path.removeprefix("./")
    same = [name for name in known if name.endswith(f"/{path}")]
    return same[0] if path not in known and len(same) == 1 else path


def _is_shown(
    first: int, last: int, shown: Sequence[tuple[int, int]], held: Collection[int]
) -> bool:
    """Whether all of the lines were shown, or, of the head, the first and the last."""
    if not first <= last < first + MOST_LINES:
        return False
    if first in held and last in held:
        return True
    for begin, end in sorted(shown):
        if begin <= first <= end:
            first = end + 1
    return first > last


def _exists(path: str, last: int, look: Look) -> bool:
    """Whether a file of the home has the line; of others that cannot be told."""
    lines = look(path)
    return not lines or last <= len(lines)


def _named_lines(path: str, texts: Iterable[str]) -> frozenset[int]:
    """The lines of a file that texts name, as `a.md:12`, `a.md, line 12` or `line 12 of a.md`."""
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


# -------- what an answer rests on


def rests_on(
    answer: str,
    question: str,
    offered: Iterable[Line],
    holds: Callable[[Line], bool] = lambda line: True,
) -> list[Line]:
    """The offered lines that an answer repeats, at most `MOST`: those that give most of what it
    says beyond the question, or that it says nearly all of; `holds` tells of a line whether its
    file says so. Rather none than a wrong one."""
    asked = telling_words(question)
    said = telling_words(answer) - asked
    found: list[tuple[frozenset[str], int, Line]] = []
    for line in offered:
        words = telling_words(line.text)
        shared = (words - asked) & said
        about = len((words | telling_words(line.around)) & asked)
        gives = about and 2 * len(shared) >= len(said)
        told = len(shared) >= 2 and 4 * len(shared) >= 3 * len(words - asked)
        if shared and (gives or (told and (about or len(shared) > 2))):
            found.append((shared, about, line))
    found.sort(key=lambda each: (-len(each[0]), -each[1]))
    kept: list[Line] = []
    covered: frozenset[str] = frozenset()
    for shared, _, line in found[: 4 * MOST]:
        if shared - covered and len(kept) < MOST and holds(line):
            kept.append(line)
            covered |= shared
    return kept
