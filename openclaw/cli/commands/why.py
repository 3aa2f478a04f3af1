"""`openclaw why` and /why: show step by step what an answer rests on. No model is needed."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import zip_longest
from typing import Annotated, Any

import typer

from openclaw.cli.formatting import paint, print_result, table
from openclaw.cli.open_agent import open_history
from openclaw.cli.options import AsJson, OfSession
from openclaw.home.open_home import OpenHome
from openclaw.inspection.why import NO_RECORD, Why, WhyStep, find_why
from openclaw.security.display import harmless, minute, one_line, value_text
from openclaw.sessions.session import Session

FULL = "--full"
BOLD = "\x1b[1m"


def why(
    ctx: typer.Context,
    turn: Annotated[
        str,
        typer.Argument(
            help="Its number, SESSION:N, or its id as `log` shows it. Default: the last.",
        ),
    ] = "",
    session: OfSession = "",
    full: Annotated[bool, typer.Option(FULL, help="Shorten nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show why an answer is what it is: passages offered and not used, what was cut, each step of
    the model, and what the answer rests on."""
    with closing(open_history(ctx, reading=True)) as agent:
        found = find_why(agent, turn, session)
        print_result(found.as_json(), *styled(_lines(found, full=full)), as_json=as_json)


def why_in_chat(open_home: OpenHome, session: Session, rest: str) -> Iterator[str]:
    """What /why shows in a chat: of its last answer, or of the turn that is named."""
    words = rest.split()
    ref = " ".join(word for word in words if word != FULL)
    found = find_why(open_home, ref, session.id, session)
    return styled(_lines(found, full=FULL in words))


def _lines(found: Why, *, full: bool) -> Iterator[str]:

    columns = shutil.get_terminal_size().columns
    return why_lines(found, min(columns, 140), full=full)


def styled(lines: Iterable[str]) -> Iterator[str]:
    """Return the lines, their headings bold where the terminal shows it."""
    yield from (paint(line, BOLD if line[:1] != " " else "") if line else line for line in lines)


THOUGHT_LINES, RESULT_LINES, ANSWER_LINES, PROMPT_LINES = 4, 4, 4, 3
LABEL = 9
NOT_KNOWN = "-"
WIDE = 120  # columns from which on a reason stands beside its passage


def why_lines(found: Why, width: int, *, full: bool = False) -> Iterator[str]:
    """Describe a turn on lines of at most `width` columns where they can be broken."""
    where = f"turn {found.turn} of {found.session}"
    yield one_line("  ".join(filter(None, (where, minute(found.at)))))
    if found.model:
        yield f"  {one_line(found.model)}"
    yield from _block(found.prompt, "  ", width, 0 if full else PROMPT_LINES)
    if found.recorded:
        yield from _offered(found, width)
    else:
        yield f"  ({NO_RECORD})"
    left = [(_place(each), _score(each), str(each.get("rule") or "")) for each in found.left_out]
    yield from _section("not included", ("", "SCORE", "RULE"), left)
    names = ("part", "path", "rule")
    cut = [tuple(str(each.get(name) or "") for name in names) for each in found.cut]
    yield from _section("cut", ("PART", "FILE", "RULE"), cut)
    yield ""
    yield "steps" if found.steps else "no reply was kept"
    for number, step in enumerate(found.steps, 1):
        yield from _step(number, step, width, full=full)
    yield from _rests_on(found)
    yield from _format_end(found)


# -------- what the model was given


def _offered(found: Why, width: int) -> Iterator[str]:
    """Return the passages; the scores of each beside it, or below it where space is short."""
    if not found.offered:
        yield from ("", "offered: nothing from memory")
        return
    headers = ["", "SCORE", "WORDS", "MEANING", "DATE"]
    rows = [
        [_place(each), _score(each), *_ranks(each), str(each.get("date") or "")]
        for each in found.offered
    ]
    reasons = [one_line(str(each.get("reason") or "")) for each in found.offered]
    if width >= WIDE:
        headers.append("REASON")
        rows = [[*row, reason] for row, reason in zip(rows, reasons, strict=True)]
        reasons = []
    yield from _section("offered from memory", headers, rows, reasons)


def _place(each: Mapping[str, Any]) -> str:
    start, end = each.get("start_line", "?"), each.get("end_line")
    more = f"-{end}" if isinstance(end, int) and isinstance(start, int) and end > start else ""
    return one_line(f"{each.get('path', '?')}:{start}{more}")


def _score(each: Mapping[str, Any]) -> str:
    score = each.get("score")
    return f"{score:.2f}" if isinstance(score, int | float) else NOT_KNOWN


def _ranks(each: Mapping[str, Any]) -> Iterator[str]:
    """Return rank and raw score by words and by meaning; an editor may have damaged the file."""
    ranks = each.get("ranks")
    for name in ("words", "meaning"):
        value = ranks.get(name) if isinstance(ranks, Mapping) else None
        rank, raw = value if isinstance(value, list | tuple) and len(value) == 2 else (None, None)
        if not isinstance(rank, int | float):
            yield NOT_KNOWN
        else:
            yield f"{rank} ({raw:.2f})" if isinstance(raw, int | float) else str(rank)


# -------- what the model did


def _step(number: int, step: WhyStep, width: int, *, full: bool) -> Iterator[str]:
    first = f"{number:>3}  "
    for label, text, lines in (
        ("thought", step.thought, THOUGHT_LINES),
        ("said" if step.calls or step.hint else "answer", step.said, ANSWER_LINES),
    ):
        if text.strip():
            yield from _labelled(first, label, text, width, 0 if full else lines)
            first = " " * len(first)
    for use in step.calls:
        given = {name: value_text(value) for name, value in use.input.items()}
        values = (f"{name}: {v if full else one_line(v, 200)}" for name, v in given.items())
        yield from _labelled(first, "action", "\n".join((use.tool, *values)), width, 0)
        first = " " * len(first)
        label = "result" if use.ok else "failed"
        yield from _labelled(first, label, use.output, width, 0 if full else RESULT_LINES)
    if step.hint.strip():
        yield from _labelled(first, "told", step.hint, width, 0 if full else THOUGHT_LINES)


def _labelled(first: str, label: str, text: str, width: int, most: int) -> Iterator[str]:
    """Put a text after its label, the next lines below its beginning."""
    indent = " " * (len(first) + LABEL)
    lines = list(_block(text, indent, width, most))
    head = f"{first}{label:<{LABEL}}"
    yield head + lines[0][len(indent) :] if lines else head.rstrip()
    yield from lines[1:]


def _block(text: str, indent: str, width: int, most: int) -> Iterator[str]:
    """Return the text's lines, broken to the width, at most so many (0: all), and the number of the
    rest."""
    lines = [
        part
        for line in harmless(text.strip("\n")).expandtabs(4).split("\n")
        for part in textwrap.wrap(line, max(width - len(indent), 20), drop_whitespace=True) or [""]
    ]
    cut = len(lines) - most if most and len(lines) > most + 1 else 0
    yield from (f"{indent}{line}".rstrip() for line in (lines[:most] if cut else lines))
    if cut:
        yield f"{indent}[{cut} more lines: --full]"


# -------- what came of it


def _rests_on(found: Why) -> Iterator[str]:
    if found.sources or found.citations:
        yield from ("", "rests on")
    yield from (f"  {one_line(place)}" for place in found.sources)
    for each in found.citations:
        seen = "cited, and shown to the model"
        yield f"  {_place(each)}  {seen if each.get('verified') else 'cited, but not shown to it'}"


def _format_end(found: Why) -> Iterator[str]:
    facts = [
        ("ended", "" if found.stop in ("", "answer") else found.stop),
        ("changed", ", ".join(found.changed)),
        ("not true", "; ".join(found.unbacked)),
    ]
    told = [one_line(f"{name}: {text}") for name, text in facts if text]
    yield from ("", *told) if told else ()


def _section(
    title: str,
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    notes: Sequence[str] = (),
) -> Iterator[str]:
    """Return aligned columns below a title, indented; each row's note on a line below it."""
    if not rows:
        return
    head, *lines = table(rows, headers, indent="  ").split("\n")
    yield from ("", title, head)
    for line, note in zip_longest(lines, notes):
        yield line
        if note:
            yield f"      {note}"
