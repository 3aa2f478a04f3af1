"""Questions with known answers, and how well ranked passages answer them.

A question's evidence are lines of files. Systems return passages of very different size, so the
figure that compares them is R<=B: the share of the evidence lines that stand inside the first B
tokens (cl100k_base) of what was returned. A passage is charged what its lines cost on disk, and
before them what its text is longer than that.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openclaw.models.token_count import count
from openclaw.retrieval.passages import Passage

KINDS = {
    "memory/": "daily notes",
    "workspace/diary/": "diary",
    "workspace/chat/": "chat",
    "workspace/assistant/": "technical talks",
    "workspace/heron/": "manual",
    "workspace/gannet/": "manual",
    "workspace/minutes/": "minutes",
    "workspace/home/": "household, travel",
    "workspace/notizen/": "German notes",
    "workspace/verein/": "German compounds",
    "workspace/huis/": "Dutch compounds",
    "workspace/allotment/": "English compounds",
    "workspace/": "tables",
}
"""What a file is, by the beginning of its path."""


@dataclass(frozen=True, slots=True, order=True)
class Line:
    """A line of a file; `number` counts from 1."""

    path: str
    number: int


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, and the lines that answer it; none when nothing in the files does."""

    text: str
    category: str
    evidence: frozenset[Line]

    @property
    def kind(self) -> str:
        """The kind of the text that answers; of several files the first counts."""
        path = min(self.evidence).path
        return next(kind for start, kind in KINDS.items() if path.startswith(start))


@dataclass(frozen=True, slots=True)
class Score:
    """Shares between 0 and 1 of one question, or their means over several."""

    within_500: float
    within_1000: float
    hit_at_1: float
    reciprocal_rank: float

    def __str__(self) -> str:
        shares = (self.within_500, self.within_1000, self.hit_at_1, self.reciprocal_rank)
        return " / ".join(f"{100 * share:.1f}" for share in shares)


class Corpus:
    """The files of a folder, by their paths below it."""

    def __init__(self, root: Path) -> None:
        self.lines = {
            path.relative_to(root).as_posix(): path.read_text(encoding="utf-8").splitlines()
            for path in sorted(root.rglob("*.*"))
            if path.suffix in (".md", ".csv")
        }
        self._costs = {
            path: [count(f"{line}\n") for line in self.lines[path]] for path in self.lines
        }

    def find(self, path: str, snippet: str) -> Line:
        """The one line that contains a snippet. Raises ValueError when it is not exactly one."""
        found = [n for n, line in enumerate(self.lines.get(path, ()), 1) if snippet in line]
        if len(found) != 1:
            raise ValueError(f"{path}: {snippet!r} stands in {len(found)} lines, not in one")
        return Line(path, found[0])

    def costs(self, path: str, start: int, end: int) -> list[int]:
        """The tokens of each line from `start` to `end`, inclusive."""
        return self._costs[path][start - 1 : end]


def load_questions(file: Path, corpus: Corpus) -> list[Question]:
    """The questions of a file of JSON lines. Raises ValueError for evidence that is not there."""
    rows = (json.loads(line) for line in file.read_text(encoding="utf-8").splitlines())
    return [_question(row, corpus) for row in rows]


def _question(row: dict[str, Any], corpus: Corpus) -> Question:
    evidence = frozenset(corpus.find(each["path"], each["snippet"]) for each in row["evidence"])
    if bool(evidence) == row["category"].startswith("none"):
        raise ValueError(f"{row['question']!r}: category and evidence do not fit together")
    return Question(row["question"], row["category"], evidence)


def score(
    question: Question,
    passages: Sequence[Passage],
    corpus: Corpus,
    repeats: Mapping[Line, Line] | None = None,
) -> Score:
    """How well these passages, best first, answer a question that has evidence. `repeats` are lines
    that say the same as another one."""
    spent: dict[Line, int] = {}
    first = 0
    for rank, read, tokens in _read(passages, corpus):
        line = (repeats or {}).get(read, read)
        if line in question.evidence:
            spent.setdefault(line, tokens)
            first = first or rank
    within_500, within_1000 = (
        sum(tokens <= budget for tokens in spent.values()) / len(question.evidence)
        for budget in (500, 1000)
    )
    return Score(within_500, within_1000, float(first == 1), 1 / first if first else 0.0)


def _read(passages: Iterable[Passage], corpus: Corpus) -> Iterator[tuple[int, Line, int]]:
    """Each line as it is read: the rank of its passage from 1, and the tokens spent by its end."""
    spent = 0
    for rank, passage in enumerate(passages, 1):
        costs = corpus.costs(passage.path, passage.start_line, passage.end_line)
        spent += max(0, count(passage.text) - sum(costs))
        for number, cost in enumerate(costs, passage.start_line):
            spent += cost
            yield rank, Line(passage.path, number), spent


def mean(scores: Sequence[Score]) -> Score:
    """The mean of each share. There must be at least one score."""
    columns = zip(
        *((s.within_500, s.within_1000, s.hit_at_1, s.reciprocal_rank) for s in scores),
        strict=True,
    )
    return Score(*(sum(column) / len(scores) for column in columns))


def groups(questions: Sequence[Question]) -> dict[str, list[int]]:
    """The places of the questions of each kind of text, then of each category, then of all."""
    found: dict[str, list[int]] = {}
    names = itertools.chain(
        ((q.kind, n) for n, q in enumerate(questions)),
        ((f"asked: {q.category}", n) for n, q in enumerate(questions)),
        (("all", n) for n in range(len(questions))),
    )
    for name, place in names:
        found.setdefault(name, []).append(place)
    return found
