"""The test cases of a memory: a Markdown table of questions and the places of their answers.

Pure functions on text. A table counts when it has a column for the question and one for the
expectation, in any order and among any others; all else in the file is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from openclaw.frozen import frozen
from openclaw.memory.markdown import Page, read_page
from openclaw.memory.tables import is_table_rule, table_rows

if TYPE_CHECKING:
    from openclaw.retrieval.passages import Passage
    from openclaw.retrieval.search import Rankings


FILE = "TESTS.md"
NEW = """\
# Memory tests

What memory must find: a question, and where the answer stands (a file, `file:line`, or words of the
passage; when there are several, separated by `;`, one of them is enough). Run them:
`openclaw memory test`.

| question | expected |
| --- | --- |
"""

_TABLE = NEW[NEW.index("|") :]
_SEVERAL = re.compile(r';(?=(?:[^"]*"[^"]*")*[^"]*$)')  # a semicolon outside quotes


@frozen
class MemoryCase:
    """A question and the expectations, one of which is enough. `line` in the file, from 1. Either
    may be empty where a row is not filled in."""

    question: str
    expected: tuple[str, ...]
    line: int


def read_cases(text: str) -> list[MemoryCase]:
    """Return the cases of a file in order, including rows that are not filled in."""
    found = []
    for at, columns, cells in _rows(read_page(text)):
        question, expected = (cells[n] if n < len(cells) else "" for n in columns)
        if question or expected:
            parts = tuple(part for part in map(_bare, _SEVERAL.split(expected)) if part)
            found.append(MemoryCase(question, parts, at + 1))
    return found


def has_table(text: str) -> bool:
    """Return True when there is a table of cases, even an empty one."""
    return any(_rows(read_page(text)))


def insert_case(text: str, question: str, expected: str) -> str:
    """Add a case to the text: below the last row of a table of cases, or in a new one."""
    text = text if text.strip() else NEW
    page = read_page(text)
    rows = list(_rows(page))
    if not rows:
        return text.rstrip() + 2 * page.newline + _TABLE + _line(2, (0, 1), question, expected)
    at, columns, cells = rows[-1]
    lines = list(page.lines)
    at += 1
    if not cells and at < len(lines) and is_table_rule(lines[at]):
        at += 1  # a table without rows: below its rule
    lines[at - 1] = lines[at - 1].rstrip("\r\n") + page.newline
    row = _line(max(len(cells), *(n + 1 for n in columns)), columns, question, expected)
    lines.insert(at, row.rstrip("\n") + page.newline)
    return "".join(lines)


def _line(width: int, columns: tuple[int, int], question: str, expected: str) -> str:
    cells = [""] * width
    for at, text in zip(columns, (question, expected), strict=True):
        cells[at] = " ".join(text.split()).replace("|", "\\|")
    return f"| {' | '.join(cells)} |\n"


def _rows(page: Page) -> Iterator[tuple[int, tuple[int, int], list[str]]]:
    """Yield the headings and rows of all tables of cases: line index, the columns of question and
    expectation, and the cells."""
    lines = ["" if at in page.opaque else line for at, line in enumerate(page.lines)]
    for at, heads, cells in table_rows(lines):
        if {"question", "expected"} <= {*heads}:
            yield at, (heads.index("question"), heads.index("expected")), cells


def _bare(text: str) -> str:
    """Return an expectation without marks of emphasis and code; a link becomes its target."""
    text = text.replace("`", "").strip()
    link = re.fullmatch(r"\[[^\]]*\]\(([^)\s]+)\)", text)
    return link[1] if link else text.strip("*_ \t")


WORDS, MEANING, BOTH = "words", "meaning", "hybrid"
_PLACE = re.compile(
    r"(?P<path>[^\s:]*/[^:]*|[^\s:/]+\.(?i:md|markdown|txt|json|ya?ml|csv|log|html?|pdf|org|rst|py))"
    r"(?::(?P<first>\d{1,7})(?:\s*[-\u2013]\s*(?P<last>\d{1,7}))?)?"
)


@frozen
class Expected:
    """An expected passage: lines `first` to `last` of a file (0: any), or all `words`; words in
    quotes must match exactly. A path that ends with / is a folder, a bare file name one in any
    folder."""

    path: str = ""
    first: int = 0
    last: int = 0
    words: str = ""

    def answered_by(self, passage: Passage) -> bool:
        if self.words:
            return _holds(passage.text, self.words)
        path = passage.path
        if self.path.endswith("/"):
            return path.startswith(self.path)
        if path != self.path and ("/" in self.path or path.rpartition("/")[2] != self.path):
            return False
        if not self.first:
            return True
        return passage.start_line <= self.last and self.first <= passage.end_line


@frozen
class CaseResult:
    """The result of one case: the rank of the answer in each ranking, from 1; 0: not found.

    winner: the passage that came first
    answer: the expected passage
    has_meaning: there were vectors to search in
    """

    case: MemoryCase
    ranks: Mapping[str, int]
    winner: Passage | None
    answer: Passage | None
    has_meaning: bool

    def is_found(self, k: int) -> bool:
        """Return True when the answer is among the first `k` passages of a search."""
        return 0 < self.ranks[BOTH] <= k


@frozen
class RankingScore:
    """How many questions a ranking answers by its first passages, for several numbers of these;
    and its mean reciprocal rank."""

    hits: Mapping[int, int]
    mrr: float


def parse_expectation(text: str) -> Expected:
    """Read an expectation: a path, `path:line`, or words."""
    found = _PLACE.fullmatch(text.strip())
    if not found:
        return Expected(words=text.strip())
    first = int(found["first"] or 0)
    path = found["path"].replace("\\", "/").removeprefix("./")
    return Expected(path, first, max(int(found["last"] or 0), first))


def rank_answer(found: Rankings, case: MemoryCase) -> CaseResult:
    """Return the rank of the answer in each ranking. `memory search --explain` shows the same ranks
    of words and meaning; the hybrid rank is the place in the list of passages."""

    expected = [parse_expectation(text) for text in case.expected]

    def answers(passage: Passage) -> bool:
        return any(each.answered_by(passage) for each in expected)

    ranks = {BOTH: next((at for at, p in enumerate(found.shown, 1) if answers(p)), 0)}
    for name in (WORDS, MEANING):
        places = [p.ranks[name][0] for p in found.pool if name in p.ranks and answers(p)]
        ranks[name] = min(places, default=0)
    winner = found.shown[0] if found.shown else None
    answer = next(filter(answers, (*found.shown, *found.pool)), None)
    has_meaning = any(MEANING in passage.ranks for passage in found.pool)
    return CaseResult(case, ranks, winner, answer, has_meaning)


def score_ranking(ranks: Iterable[int], k: int = 3) -> RankingScore:
    """Return the figures of one ranking from the answers' ranks."""
    places = list(ranks)
    hits = {most: sum(0 < rank <= most for rank in places) for most in (1, 3, k)}
    return RankingScore(hits, sum(1 / rank for rank in places if rank) / max(len(places), 1))


def report_json(
    path: str, tried: Sequence[CaseResult], scores: Mapping[str, RankingScore], k: int
) -> dict[str, Any]:
    measures = {
        name: {
            **{f"hit@{top}": round(hits / len(tried), 4) for top, hits in score.hits.items()},
            "mrr": round(score.mrr, 4),
        }
        for name, score in scores.items()
    }
    results = [
        {
            **asdict(each.case),
            "found": each.is_found(k),
            "ranks": {name: rank or None for name, rank in each.ranks.items()},
            "first": _passage_json(each.winner),
            "answer": _passage_json(each.answer),
        }
        for each in tried
    ]
    return {
        "path": path,
        "k": k,
        "cases": len(tried),
        "failed": sum(not each.is_found(k) for each in tried),
        "measures": measures,
        "results": results,
    }


def _passage_json(passage: Passage | None) -> dict[str, Any] | None:
    if passage is None:
        return None
    place = {name: getattr(passage, name) for name in ("path", "start_line", "end_line")}
    return {**place, "score": round(passage.score, 4)}


def _holds(text: str, words: str) -> bool:
    """Return True when a text has all of the words; words in quotes must match exactly."""
    flat = " ".join(text.casefold().split())
    wanted = " ".join(words.casefold().split())
    if len(wanted) > 2 and wanted[0] == wanted[-1] and wanted[0] in "\"'":
        return wanted[1:-1] in flat
    bare = [part for word in wanted.split() if (part := word.strip(".,;:!?\"'()"))] or [wanted]
    return all(re.search(rf"(?<!\w){re.escape(word)}(?!\w)", flat) for word in bare)
