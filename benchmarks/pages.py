"""What gathered pages (`memory/people/`) are worth: answers to list questions, and their precision.

    python -m benchmarks.pages [--failures]

Half a year of notes of a person who does not exist, laid out over days from `pages_data/`: facts
about twelve persons, everyday lines with their names, lines with words that look like these names,
and lines without any. The truth is known line by line. Printed are the share of the answers within
the first 500 and 1,000 tokens (as `benchmarks.recall` counts them, on the same home without pages
and with them), and how many of the gathered lines really tell of the person, and of the topic.
`--failures` lists the wrong lines, and the questions that lose by the pages.
"""

from __future__ import annotations

import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from benchmarks.recall import kind, opened
from benchmarks.recall_score import Corpus, Line, Question, Score, mean, score
from openclaw.home.search_worker import MAX_PASSAGES, MAX_TOKENS
from openclaw.memory.pages import PEOPLE, gather, gathered_lines
from openclaw.models.catalog import embedding_files
from openclaw.models.token_count import count
from openclaw.retrieval.embedder_choice import EmbedderChoice, choose_embedder
from openclaw.retrieval.passages import Passage
from openclaw.storage.home import Home

DATA = Path(__file__).resolve().parent / "pages_data"
FIRST, DAYS = date(2026, 1, 1), 182
TODAY = FIRST + timedelta(DAYS)
EVERYDAY, NOISE, LOOKALIKES = 460, 720, 3
SETS = ("bremen", "leeds", "hobart")
SEED = 26
MOST = 100
EVERY_PLAIN = 9
"""One day in so many is written as plain lines, no list."""

Say = Callable[[str], object]


@dataclass(frozen=True)
class Told:
    """A line of the notes, of whom it tells, and what."""

    text: str
    persons: frozenset[str]
    topics: frozenset[str]


@dataclass(frozen=True)
class HalfYear:
    """The home's notes with what each line tells; the questions with their answers."""

    told: Mapping[Line, Told]
    questions: Sequence[Question]


def main(say: Say = print) -> None:
    """Print the tables."""
    choice = choose_embedder("embedded", minilm=embedding_files(), ollama_host="")
    for name in SETS:
        report(name, choice, say)


def report(name: str, choice: EmbedderChoice, say: Say) -> None:
    """Print the tables of one set."""
    with tempfile.TemporaryDirectory(prefix="openclaw-bench-") as folder:
        plain, paged = (Home(Path(folder).resolve() / each) for each in ("plain", "paged"))
        year = write_half_year(plain, DATA / name)
        shutil.copytree(plain.root, paged.root)
        gather(paged)
        lines = f"{len(year.told):,} lines of {DAYS} days"
        say(f"\n{name}: {len(year.questions)} questions over {lines}\n")
        report_precision(paged, year, say)
        choices = {"hybrid": choice} if choice.embedder else {}
        report_recall(plain, paged, year, {**choices, "words only": EmbedderChoice(None)}, say)


def report_precision(home: Home, year: HalfYear, say: Say) -> None:
    """How many gathered lines tell of the person whose page it is, and how many of those are found
    that tell of one."""
    gathered = {line: source for line, source in repeats_in(home, year).items() if source}
    told = [(line.path.rpartition("/")[2][:-3], year.told[s]) for line, s in gathered.items()]
    right = [(name, each) for name, each in told if name in each.persons]
    wanted = {(n, line) for line, each in year.told.items() if each.topics for n in each.persons}
    found = {(Path(line.path).stem, source) for line, source in gathered.items()}
    say(f"gathered lines {len(told)}, of the person {len(right) / max(1, len(told)):.3f}")
    say(f"facts on their pages: {len(wanted & found)} of {len(wanted)}\n")
    if "--failures" in sys.argv[1:]:
        for name, each in told:
            if name not in each.persons:
                say(f"- wrong, {name}: {each.text}")


def report_recall(
    plain: Home, paged: Home, year: HalfYear, choices: Mapping[str, EmbedderChoice], say: Say
) -> None:
    say("R<=500 / R<=1000 / hit@1 / MRR, percent; in the prompt: answers that recall puts there\n")
    say("| | without pages | with pages | in the prompt | with pages |")
    say("|---|---:|---:|---:|---:|")
    for name, choice in choices.items():
        without, unasked = ask_all(plain, choice, year)
        with_pages, unasked_pages = ask_all(paged, choice, year)
        cells = (
            str(mean(without)),
            str(mean(with_pages)),
            percent(unasked),
            percent(unasked_pages),
        )
        say(f"| {name} | {' | '.join(cells)} |")
        if "--failures" in sys.argv[1:]:
            for question, old, new in zip(year.questions, without, with_pages, strict=True):
                say(f"- {old.within_500:.2f} {new.within_500:.2f} {question.text}")


def ask_all(home: Home, choice: EmbedderChoice, year: HalfYear) -> tuple[list[Score], list[float]]:
    """The scores of all questions, and the shares of the answers that stand in the prompt."""
    corpus, repeats = Corpus(home.root), repeats_in(home, year)
    search = opened(home, choice, choice.embedder.name if choice.embedder else "words")
    try:
        scores = [
            score(q, search.search(q.text, MOST, today=TODAY), corpus, repeats)
            for q in year.questions
        ]
        given = [
            search.chosen_for_prompt(
                q.text, (), MAX_PASSAGES, MAX_TOKENS, count, TODAY, kind=kind(q)
            ).passages
            for q in year.questions
        ]
    finally:
        search.close()
    shares = [covered(q, g, repeats) for q, g in zip(year.questions, given, strict=True)]
    return scores, shares


def covered(question: Question, passages: Sequence[Passage], repeats: Mapping[Line, Line]) -> float:
    lines = {Line(p.path, n) for p in passages for n in range(p.start_line, p.end_line + 1)}
    return len({repeats.get(line, line) for line in lines} & question.evidence) / len(
        question.evidence
    )


def percent(shares: Sequence[float]) -> str:
    return f"{100 * sum(shares) / len(shares):.1f}"


def repeats_in(home: Home, year: HalfYear) -> dict[Line, Line]:
    """The gathered lines of a home's pages, each with the line that it repeats."""
    sources = {(Path(line.path).stem, told.text): line for line, told in year.told.items()}
    found = {}
    for path in sorted((home.memory / PEOPLE).glob("*.md")):
        for at, source in gathered_lines(path.read_text(encoding="utf-8")).items():
            found[Line(home.relative(path), at + 1)] = sources[source.file, source.text]
    return found


# ---- the half year


def write_half_year(home: Home, data: Path) -> HalfYear:
    """Write the daily notes of a set into a home."""
    draw = random.Random(SEED)
    home.memory.mkdir(parents=True)
    days: list[list[list[Told]]] = [[] for _ in range(DAYS)]
    for block in [*fact_blocks(data), *([each] for each in fill_lines(draw, data))]:
        draw.choice(days).append(block)
    told: dict[Line, Told] = {}
    for n, blocks in enumerate(days):
        day = (FIRST + timedelta(n)).isoformat()
        mark = "" if n % EVERY_PLAIN == EVERY_PLAIN - 1 else "- "
        draw.shuffle(blocks)
        lines = [f"# {day}", ""]
        for each in (line for block in blocks for line in block):
            lines += [f"{mark}{each.text}", *([] if mark else [""])]
            told[Line(f"memory/{day}.md", len(lines) if mark else len(lines) - 1)] = each
        text = "\n".join([*lines, ""])
        (home.memory / f"{day}.md").write_text(text, encoding="utf-8")
    return HalfYear(told, [make_question(row, told) for row in rows(data / "questions.txt")])


def fact_blocks(data: Path) -> list[list[Told]]:
    """The facts; what belongs together stays together."""
    text = (data / "facts.txt").read_text(encoding="utf-8")
    blocks = [block.splitlines() for block in text.split("\n\n")]
    found = [
        [make_told(*row.split("|")) for row in block if not row.startswith("#")] for block in blocks
    ]
    return [block for block in found if block]


def fill_lines(draw: random.Random, data: Path) -> list[Told]:
    """Everyday lines with names, each look-alike three times, and lines without a name."""
    names = sorted({name for block in fact_blocks(data) for each in block for name in each.persons})
    with_names, without = rows(DATA / "everyday.txt"), rows(DATA / "noise.txt")
    alike = [text for (text,) in rows(data / "alike.txt")]
    found = [Told(text, frozenset(), frozenset()) for text in alike]
    found *= LOOKALIKES
    for _ in range(EVERYDAY):
        text, placed = draw.choice(with_names)
        chosen = draw.sample(names, len(placed.split()))
        shown = [each.capitalize() for each in chosen]
        filled = text.replace("{P}", shown[0]).replace("{Q}", shown[-1])
        found.append(Told(filled, frozenset(chosen), frozenset()))
    for _ in range(NOISE):
        text = draw.choice(without)[0].replace("{N}", str(draw.randint(2, 29)))
        found.append(Told(text, frozenset(), frozenset()))
    return found


def rows(path: Path) -> list[list[str]]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [
        [cell.strip() for cell in line.split("|")]
        for line in lines
        if line.strip() and not line.startswith("#")
    ]


def make_told(text: str, persons: str, topics: str) -> Told:
    return Told(text.strip(), frozenset(persons.split()), frozenset(topics.split()))


def make_question(row: Sequence[str], told: Mapping[Line, Told]) -> Question:
    text, person, topics = row
    evidence = frozenset(
        line
        for line, each in told.items()
        if each.topics & set(topics.split()) and (person == "*" or person in each.persons)
    )
    if not evidence:
        raise ValueError(f"nothing answers {text!r}")
    return Question(text, "list", evidence)


if __name__ == "__main__":
    main()
