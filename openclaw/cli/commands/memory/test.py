"""`openclaw memory test`: whether memory finds what it is expected to. No model is needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

import typer

from openclaw.cli.commands.memory.search import opened, update_index
from openclaw.cli.current_home import current_home, record_as_turn
from openclaw.cli.formatting import print_result, table, warn
from openclaw.cli.options import AsJson
from openclaw.errors import UsageError
from openclaw.evals.memory_test import (
    CaseResult,
    MemoryCase,
    RankingScore,
    has_table,
    insert_case,
    parse_expectation,
    rank_answer,
    read_cases,
    report_json,
    score_ranking,
)
from openclaw.memory.markdown import change_file, read_markdown
from openclaw.security.display import count_of, one_line
from openclaw.storage.home import Home
from openclaw.tools.memory_tools import clean_passage

PATH = "memory/TESTS.md"
NAMES = {"words": "BM25", "meaning": "vectors", "hybrid": "hybrid"}
SHOWN_WORDS = 70


def test(
    ctx: typer.Context,
    add: Annotated[
        str, typer.Option("--add", metavar="QUESTION", help="Add a case instead of testing.")
    ] = "",
    expect: Annotated[
        str,
        typer.Option(
            "--expect",
            metavar="WHAT",
            help="With --add: FILE, FILE:LINE, or words of the passage; several by ;",
        ),
    ] = "",
    k: Annotated[
        int,
        typer.Option(
            "-k", "--k", metavar="N", min=1, max=100, help="Found means: among the first N."
        ),
    ] = 3,
    as_json: AsJson = False,
) -> int:
    """Ask the questions of memory/TESTS.md and tell how well their answers are found: by words
    (BM25), by meaning (vectors) and by both, as a search and a prompt do.

    Exit code 1 when an answer is not among the first N, 2 when there are no cases.
    """
    adds = bool(add or expect)
    home = current_home(ctx, notes=True, reading=not adds)
    if adds:
        line = add_case(home, add, expect)
        shape = {"path": PATH, "line": line, "question": add, "expected": expect}
        print_result(shape, f"added {PATH}:{line}", as_json=as_json)
        return 0
    cases = _cases(home)
    with opened(ctx) as search:
        report = update_index(search)  # all vectors: the figures are to be the same next time
        tried = [rank_answer(search.ranked(case.question), case) for case in cases]
        notices = list(search.notices)
    if not report.chunks:
        notices.append("nothing is indexed: memory and workspace hold no text")
    by_meaning = any(each.has_meaning for each in tried)
    names = [name for name in NAMES if name != "meaning" or by_meaning]
    scores = {name: score_ranking((each.ranks[name] for each in tried), k) for name in names}
    missed = [each for each in tried if not each.is_found(k)]
    lines = _report(home, tried, missed, scores, k)
    print_result(report_json(PATH, tried, scores, k), *lines, as_json=as_json)
    warn(notices)
    return int(bool(missed))


def add_case(home: Home, question: str, expected: str) -> int:
    """Append a case to memory/TESTS.md, which is made if missing; return its line.

    UsageError when the question is there already, or question or answer is missing.
    """
    question, expected = " ".join(question.split()), " ".join(expected.split())
    if not (question and expected):
        raise UsageError(
            "a case needs a question and what is expected",
            'openclaw memory test --add "QUESTION" --expect FILE:LINE',
        )
    path = home.root / PATH
    for case in read_cases(read_markdown(path)):
        if case.question.casefold() == question.casefold():
            raise UsageError(f"{PATH}:{case.line} has this question", "change it there")
    with record_as_turn(home, f"memory test --add {question}") as turn:
        text = change_file(path, lambda text: insert_case(text, question, expected), turn.keep)
    return next((case.line for case in reversed(read_cases(text)) if case.question == question), 0)


def _cases(home: Home) -> list[MemoryCase]:
    """Return the cases that can be tried; warn of incomplete rows. UsageError for none."""
    text = read_markdown(home.root / PATH)
    found = read_cases(text)
    whole = [case for case in found if case.question and case.expected]
    for case in found:
        if case not in whole:
            lacks = "expectation" if case.question else "question"
            warn([f"{PATH}:{case.line} has no {lacks} and is skipped"])
    if not whole:
        what = "has no case yet" if has_table(text) else "has no table with question and expected"
        raise UsageError(
            f"{PATH} {what if text.strip() else 'is not there yet'}",
            'add a case: openclaw memory test --add "QUESTION" --expect FILE:LINE',
        )
    return whole


# -------- on a terminal


def _report(
    home: Home,
    tried: Sequence[CaseResult],
    missed: Sequence[CaseResult],
    scores: Mapping[str, RankingScore],
    k: int,
) -> Iterator[str]:
    count = len(tried)
    yield f"{count_of(count, 'case')} of {PATH}"
    yield ""
    rows = [
        (NAMES[name], *(f"{n}/{count}" for n in score.hits.values()), f"{score.mrr:.2f}")
        for name, score in scores.items()
    ]
    yield table(rows, ("", *(f"HIT@{top}" for top in scores["hybrid"].hits), "MRR"))
    if "meaning" not in scores:
        yield "no vectors: searched by words only"
    for each in missed:
        yield ""
        yield from _miss_lines(home, each, tuple(scores))
    yield ""
    yield f"{len(missed)} not among the first {k}" if missed else f"all among the first {k}"


def _miss_lines(home: Home, tried: CaseResult, names: Sequence[str]) -> Iterator[str]:
    case = tried.case
    yield one_line(f"missed: {case.question}  ({PATH}:{case.line})")
    yield one_line(f"  expected  {'; '.join(case.expected)}")
    ranks = ", ".join(f"{NAMES[name]} {tried.ranks[name] or 'none'}" for name in names)
    place = f"  ({tried.answer.place})" if tried.answer else ""
    yield one_line(f"  its rank  {ranks}{place}")
    if winner := tried.winner:
        words = one_line(" ".join(clean_passage(winner.text).split()), SHOWN_WORDS)
        yield one_line(f"  first     {winner.place}  {words}")
    else:
        yield "  nothing found"
    for wanted in map(parse_expectation, case.expected):
        if "/" in wanted.path and not (home.root / wanted.path).exists():
            yield one_line(f"  there is no file {wanted.path}")
