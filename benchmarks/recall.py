"""How often `memory search` finds the line that answers, on data of our own.

    python -m benchmarks.recall [--held | --tables | --compounds] [--failures]

Prints Markdown tables. First, by kind of text and by how it is asked: the share of the evidence
lines inside the first 500 and 1,000 tokens of what was returned, how often the first passage holds
one, and the mean reciprocal rank. Plain BM25 with stems, line by line, and LlamaIndex as it comes
are measured in the same run. Then what questions get that nothing answers, and what `recall` would
put into the prompt unasked.
`--held` takes the second set of questions, over a chat and talks with an assistant; `--tables`
takes those that rows of tables and of .csv files answer, `--compounds` those about a compound that
the text has in two words, or the other way round.
`--failures` lists the questions whose evidence is not all within 1,000 tokens.

`recall_data/README.md` tells what the data are. The weights were chosen with the first set in view.
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from benchmarks.recall_bm25 import PlainBM25
from benchmarks.recall_score import Corpus, Question, Score, groups, load_questions, mean, score
from openclaw.agent.memory_lookup import kind_of_prompt
from openclaw.home.search_worker import MAX_PASSAGES, MAX_TOKENS
from openclaw.models.catalog import embedding_files
from openclaw.models.token_count import count
from openclaw.nlp.intent import read_cues
from openclaw.retrieval.embedder_choice import Embedder, EmbedderChoice, choose_embedder
from openclaw.retrieval.passages import Passage
from openclaw.retrieval.scan import IndexOptions
from openclaw.retrieval.search import Search
from openclaw.storage.home import Home
from openclaw.types import PromptKind

DATA = Path(__file__).resolve().parent / "recall_data"
MORE = ("held", "tables", "compounds")
"""Further sets of questions, each with a home of its own."""
TODAY = date(2026, 6, 14)
"""The day on which the questions are asked: five days after the last entry."""

MOST = 100  # passages asked for: more than 1,000 tokens, short as they may be
SHOWN = 5  # what `memory search` returns when no number is given

Say = Callable[[str], object]


@dataclass(frozen=True)
class System:
    """Something that answers questions with passages, best first."""

    name: str
    ask: Callable[[str], Sequence[Passage]]


@dataclass(frozen=True)
class Measured:
    """A system's scores, one for each question, and the median of its times."""

    name: str
    scores: tuple[Score, ...]
    milliseconds: float


def main(say: Say = print) -> None:
    """Print the tables."""
    data = DATA / next((name for name in MORE if f"--{name}" in sys.argv[1:]), "")
    corpus = Corpus(data / "home")
    questions = load_questions(data / "questions.jsonl", corpus)
    answered = [question for question in questions if question.evidence]
    nothing = [question for question in questions if not question.evidence]
    choice = choose_embedder("embedded", minilm=embedding_files(), ollama_host="")
    if choice.embedder is None:
        say(f"Note: {choice.why_not} ({choice.advice}).\n")
    with searches(choice.embedder, data / "home") as ours:
        systems = [System(name, asks(search)) for name, search in ours.items()]
        systems.append(System("plain BM25", PlainBM25(corpus, MOST).ask))
        systems.append(stock(corpus, choice.embedder))
        results = [measured(system, answered, corpus) for system in systems]
        lines = sum(map(len, corpus.lines.values()))
        say(f"{len(answered)} questions over {len(corpus.lines)} files, {lines:,} lines\n")
        table(answered, results, say)
        unasked(ours, answered, nothing, say)
    if "--failures" in sys.argv[1:]:
        failures(answered, results[0], say)


@contextmanager
def searches(embedder: Embedder | None, files: Path) -> Iterator[dict[str, Search]]:
    """Our searches over a copy of a home, ready: hybrid if there is an embedder, and words."""
    choices = {"openclaw hybrid": EmbedderChoice(embedder)} if embedder else {}
    choices["openclaw words only"] = EmbedderChoice(None)
    with tempfile.TemporaryDirectory(prefix="openclaw-bench-") as folder:
        home = Home(Path(folder).resolve() / "home")
        shutil.copytree(files, home.root)
        ours = {name: opened(home, choice, name) for name, choice in choices.items()}
        try:
            yield ours
        finally:
            for search in ours.values():
                search.close()


def opened(home: Home, choice: EmbedderChoice, name: str) -> Search:
    """A search with an index of its own that has all words and vectors."""
    search = Search(home, IndexOptions(), lambda: choice, home.private / name)
    problems = search.refresh().problems
    missing = search.embed()
    if problems or missing or search.notices:
        raise SystemExit(f"{name}: {problems} {missing} without a vector {search.notices}")
    return search


def asks(search: Search) -> Callable[[str], list[Passage]]:
    return lambda question: search.search(question, MOST, today=TODAY)


def stock(corpus: Corpus, embedder: Embedder | None) -> System:
    from benchmarks.recall_llama import Stock

    parts = "BM25 and MiniLM" if embedder else "BM25"
    return System(f"LlamaIndex stock, {parts}", Stock(corpus, embedder, MOST).ask)


def measured(system: System, questions: Sequence[Question], corpus: Corpus) -> Measured:
    """Ask everything once, after one question for warmth."""
    system.ask("warm")
    scores, seconds = [], []
    for question in questions:
        began = time.perf_counter()
        passages = system.ask(question.text)
        seconds.append(time.perf_counter() - began)
        scores.append(score(question, passages, corpus))
    return Measured(system.name, tuple(scores), 1000 * statistics.median(seconds))


def table(questions: Sequence[Question], results: Sequence[Measured], say: Say) -> None:
    """Each cell: R<=500 / R<=1000 / hit@1 / MRR in percent."""
    say("R<=500 / R<=1000 / hit@1 / MRR, percent\n")
    say("| | questions | " + " | ".join(result.name for result in results) + " |")
    say("|---|---:|" + "---:|" * len(results))
    for name, places in groups(questions).items():
        cells = (str(mean([result.scores[n] for n in places])) for result in results)
        say(f"| {name} | {len(places)} | " + " | ".join(cells) + " |")
    times = (f"{result.milliseconds:.1f} ms" for result in results)
    say("| median time of a question | | " + " | ".join(times) + " |")


def unasked(
    ours: dict[str, Search],
    answered: Sequence[Question],
    nothing: Sequence[Question],
    say: Say,
) -> None:
    """What is returned where nothing answers, and what would go into a prompt unasked."""
    say("\nQuestions that nothing answers, and what goes into a prompt unasked\n")
    say("| | questions | search | nothing returned | passages in the prompt | of the evidence |")
    say("|---|---:|---|---:|---:|---:|")
    sets = {
        category: [question for question in nothing if question.category == category]
        for category in dict.fromkeys(question.category for question in nothing)
    }
    for label, questions in {**sets, "none, all": nothing, "answered, all": answered}.items():
        for name, search in ours.items():
            empty = share(not search.search(q.text, SHOWN, today=TODAY) for q in questions)
            given = [
                search.chosen_for_prompt(
                    q.text, (), MAX_PASSAGES, MAX_TOKENS, count, kind=kind(q)
                ).passages
                for q in questions
            ]
            told = [covered(q, found) for q, found in zip(questions, given, strict=True)]
            evidence = share(told) if questions is answered else "-"
            say(
                f"| {label} | {len(questions)} | {name} | {empty} | {share(map(bool, given))} "
                f"| {evidence} |"
            )


def kind(question: Question) -> PromptKind:
    return kind_of_prompt(question.text, read_cues(question.text, ()))


def covered(question: Question, passages: Sequence[Passage]) -> float:
    """The share of the evidence lines that stand in the passages."""
    told = sum(
        any(p.path == line.path and p.start_line <= line.number <= p.end_line for p in passages)
        for line in question.evidence
    )
    return told / max(1, len(question.evidence))


def share(values: Iterator[bool] | Sequence[float]) -> str:
    """The mean in percent."""
    return f"{100 * statistics.fmean(values):.1f}"


def failures(questions: Sequence[Question], result: Measured, say: Say) -> None:
    say(f"\nNot all evidence within 1,000 tokens, {result.name}\n")
    for question, found in zip(questions, result.scores, strict=True):
        if found.within_1000 < 1:
            lines = ", ".join(f"{line.path}:{line.number}" for line in sorted(question.evidence))
            got = f"{100 * found.within_1000:.0f} %"
            say(f"- {got}, {question.category}: {question.text} ({lines})")


if __name__ == "__main__":
    main()
