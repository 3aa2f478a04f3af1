"""Makes passages of ranked chunks: lines of files without overlaps or repetitions. Pure."""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from openclaw.frozen import frozen
from openclaw.storage.text import without_comments

if TYPE_CHECKING:
    from openclaw.retrieval.database import StoredChunk
    from openclaw.retrieval.ranking import FusedRow


Hit = tuple["FusedRow", "StoredChunk"]
IN_HEAD = "stands in the head already"
STRUCK = "struck through"
AGAIN = "says nothing new"
MAX_LEFT_OUT = 5
_MARKS = re.compile(
    r"^(?:[-*+] (?:\[[ x]\] )?|\d+[.)] |#+ |> ?)?| \[\[(?:\d{4}-\d\d-\d\d|memory)\]\]$"
)
_LINK = re.compile(r" \[\[([\w-]+)\]\]$")
CUT = " [...]"
# The most lines between two chunks of one passage.
GAP = 3
NEIGHBOURHOOD = 2
# A passage cut to fewer words than these is not shown.
MIN_WORDS = 10
# A prompt gets more passages than this only where they have this share of the best one's score.
USUAL = 3
SHARE_OF_BEST = 0.8


@dataclass(frozen=True, slots=True)
class Passage:
    """Lines `start_line` to `end_line` (from 1, inclusive) of a file, as they stand in it.

    score   between 0 and 1
    ranks   by ranking ("words", "meaning"): (rank from 1, raw score)
    reason  in words, why the passage was found
    """

    path: str
    start_line: int
    end_line: int
    text: str
    score: float
    date: str = ""
    ranks: Mapping[str, tuple[int, float]] = field(default_factory=dict)
    reason: str = ""

    @property
    def place(self) -> str:
        """The path and the lines."""
        more = f"-{self.end_line}" if self.end_line > self.start_line else ""
        return f"{self.path}:{self.start_line}{more}"

    def as_json(self, *, explain: bool = False) -> dict[str, Any]:
        """Return it for programs; with `explain` why it was found."""
        shape: dict[str, Any] = {
            "path": self.path,
            "start_line": self.start_line,
            "end_line": self.end_line,
            "score": round(self.score, 4),
            "text": self.text,
        }
        if explain:
            ranks = {
                name: {"rank": rank, "score": round(score, 4)}
                for name, (rank, score) in self.ranks.items()
            }
            shape |= {"date": self.date, "ranks": ranks, "reason": self.reason}
        return shape

    def holds(self, other: StoredChunk) -> bool:
        """Return True when the passage contains these lines."""
        inside = self.start_line <= other.start_line and other.end_line <= self.end_line
        return other.path == self.path and inside


def passage_from_json(data: Mapping[str, Any]) -> Passage:
    """Return the passage that `as_json` has told with its reasons."""
    ranks = {name: (each["rank"], each["score"]) for name, each in data["ranks"].items()}
    return Passage(**{**data, "ranks": ranks})


def passage_of(fused: FusedRow, *block: StoredChunk, text: str = "") -> Passage:
    """The passage of consecutive chunks, with their lines or the `text` to which these are cut."""
    return Passage(
        block[0].path, block[0].start_line, block[-1].end_line, text or _text(block),
        fused.score, block[0].date, dict(fused.ranks), fused.reason,
    )  # fmt: skip


def distinct(hits: Iterable[Hit], most: int) -> list[Hit]:
    """The first `most` hits without lines or text of a better hit."""
    kept: list[Hit] = []
    lines: dict[str, list[tuple[int, int]]] = {}
    texts: set[str] = set()
    for fused, chunk in hits:
        if len(kept) >= most:
            break
        taken = lines.setdefault(chunk.path, [])
        text = normalize_text(chunk.text)
        overlaps = any(chunk.start_line <= end and start <= chunk.end_line for start, end in taken)
        if not (overlaps or text in texts):
            taken.append((chunk.start_line, chunk.end_line))
            texts.add(text)
            kept.append((fused, chunk))
    return kept


def to_passages(hits: Sequence[Hit], most: int) -> list[Passage]:
    """The first `most` passages without lines or text of a better one. What a page repeats with a
    link to its file is shown as it stands in that file, which costs fewer tokens."""
    said = {(chunk.path, normalize_text(chunk.text)): chunk for _, chunk in reversed(hits)}
    found = []
    for fused, chunk in distinct(hits, most):
        path = f"memory/{link[1]}.md" if (link := _LINK.search(chunk.text)) else ""
        found.append(passage_of(fused, said.get((path, normalize_text(chunk.text)), chunk)))
    return found


def normalize_text(text: str) -> str:
    """A text without list marks, comments and source, case and blanks, for comparing."""
    lines = without_comments(text).casefold().split("\n")
    return " ".join(filter(None, (_MARKS.sub("", " ".join(line.split())) for line in lines)))


@frozen
class PassageLimits:
    """Limits of the passages in a prompt.

    most    the most passages, those after `USUAL` only with `SHARE_OF_BEST`
    tokens  the most tokens in all
    score   the least score of a hit
    count   counts tokens
    """

    most: int
    tokens: int
    score: float
    count: Callable[[str], int]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Lines that a search found but does not show; `rule` says why in words."""

    path: str
    start_line: int
    end_line: int
    score: float
    rule: str


@frozen
class ChosenPassages:
    """The passages that a search shows, best first, and at most `MAX_LEFT_OUT` others."""

    passages: list[Passage]
    left_out: list[LeftOut] = field(default_factory=list)


def for_prompt(hits: Sequence[Hit], limits: PassageLimits) -> list[Passage]:
    """The passages to show unasked, best first.

    Adjacent good hits become one passage, since lines in their order say more than fragments; only
    the first `NEIGHBOURHOOD * most` hits are joined. Struck lines are no longer true and left out.
    Of a section whose heading is good all lines are: a heading alone answers nothing.
    """
    good = _with_sections(_filter_good(hits, limits), hits)
    found: list[Passage] = []
    room = limits.tokens
    for group in _neighbours(distinct(good, NEIGHBOURHOOD * limits.most))[: limits.most]:
        if len(found) >= USUAL and group[0][0].score < SHARE_OF_BEST * found[0].score:
            break
        if passage := _fit_group(group, room, limits.count):
            room -= limits.count(passage.text)
            found.append(passage)
    return found


def _filter_good(hits: Iterable[Hit], limits: PassageLimits) -> list[Hit]:
    return [hit for hit in hits if hit[0].score >= limits.score and not hit[1].struck]


def _with_sections(good: Sequence[Hit], hits: Sequence[Hit]) -> list[Hit]:
    """The good hits, with all hits below their headings, in the order of `hits`."""
    chunks = {chunk.row: chunk for _, chunk in hits if not chunk.struck}
    wanted = {chunk.row for _, chunk in good}
    for _, heading in good:
        row = heading.row + 1 if heading.is_heading else -1
        section = (heading.path, heading.headings)
        while (below := chunks.get(row)) and (below.path, below.headings) == section:
            wanted.add(row)
            row += 1
    return [hit for hit in hits if hit[1].row in wanted]


def choose_passages(
    hits: Sequence[Hit], limits: PassageLimits, known: Sequence[Hit] = ()
) -> ChosenPassages:
    """The passages of `for_prompt`, and why the best of the other hits are left out. `known` are
    hits in files that the prompt holds already."""
    found = for_prompt(hits, limits)
    others = [hit for hit in hits if not any(passage.holds(hit[1]) for passage in found)]
    in_head = [(hit, IN_HEAD) for hit in known if hit[0].score >= limits.score]
    rules = [*in_head, *_reasons(others, _filter_good(hits, limits), found, limits)]
    rules.sort(key=lambda pair: -pair[0][0].score)
    left_out = [
        LeftOut(chunk.path, chunk.start_line, chunk.end_line, round(fused.score, 4), rule)
        for (fused, chunk), rule in rules[:MAX_LEFT_OUT]
    ]
    return ChosenPassages(found, left_out)


def _reasons(
    others: Iterable[Hit], good: Sequence[Hit], found: Sequence[Passage], limits: PassageLimits
) -> Iterator[tuple[Hit, str]]:
    """Each hit that is not shown, with the rule that excludes it."""
    fresh = {chunk.row for _, chunk in distinct(good, len(good))}
    room = limits.tokens - sum(limits.count(passage.text) for passage in found)
    for hit in others:
        fused, chunk = hit
        if chunk.struck:
            yield hit, STRUCK
        elif fused.score < limits.score:
            yield hit, f"its score is below {limits.score:.2f}"
        elif chunk.row not in fresh:
            yield hit, AGAIN
        elif limits.count(chunk.text) > room:
            yield hit, f"over {limits.tokens} tokens in all"
        else:
            weak = len(found) < limits.most and fused.score < SHARE_OF_BEST * good[0][0].score
            most = f"{USUAL} passages and below {SHARE_OF_BEST} of the best score"
            yield hit, f"over {most if weak else f'{limits.most} passages'}"


def _neighbours(hits: Sequence[Hit]) -> list[list[Hit]]:
    """Groups of adjacent hits, in the order of the hits."""
    order = {chunk.row: at for at, (_, chunk) in enumerate(hits)}
    groups: list[list[Hit]] = []
    for row in sorted(order):
        hit = hits[order[row]]
        if groups and _adjacent(groups[-1][-1][1], hit[1]):
            groups[-1].append(hit)
        else:
            groups.append([hit])
    best_first = (sorted(group, key=lambda hit: order[hit[1].row]) for group in groups)
    return sorted(best_first, key=lambda group: order[group[0][1].row])


def _adjacent(one: StoredChunk, other: StoredChunk) -> bool:
    """Return True when two chunks of a file follow each other with only blank lines between."""
    first, second = (one, other) if one.row < other.row else (other, one)
    gap = second.start_line - first.end_line
    return one.path == other.path and second.row == first.row + 1 and 0 < gap <= GAP


def _fit_group(group: Sequence[Hit], room: int, count: Callable[[str], int]) -> Passage | None:
    """The group's best hit, with as many adjacent hits as fit."""
    (fused, chunk), *others = group
    block = [chunk]
    if count(chunk.text) > room:
        text = _truncate(chunk.text, room, count)
        return passage_of(fused, chunk, text=text) if text else None
    waiting = [other for _, other in others]
    while beside := [each for each in waiting if any(_adjacent(each, own) for own in block)]:
        waiting.remove(beside[0])
        wider = sorted([*block, beside[0]], key=lambda each: each.row)
        if count(_text(wider)) <= room:
            block = wider
    return passage_of(fused, *block)


def _text(block: Sequence[StoredChunk]) -> str:
    """The lines of consecutive chunks, with the blank lines between them."""
    text = block[0].text
    for before, chunk in itertools.pairwise(block):
        text += "\n" * (chunk.start_line - before.end_line) + chunk.text
    return text


def _truncate(text: str, room: int, count: Callable[[str], int]) -> str:
    """The beginning of a text that is too long, up to the end of a word; "" when it has fewer than
    `MIN_WORDS` words."""
    words = text.split(" ")
    ends = range(1, len(words) + 1)
    most = bisect_right(ends, room, key=lambda end: count(" ".join(words[:end]) + CUT))
    return " ".join(words[:most]) + CUT if most >= MIN_WORDS else ""
