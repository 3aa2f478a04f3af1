"""`openclaw context`: show the next request, where its tokens go, and what has changed."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from string import ascii_letters
from typing import Annotated, TextIO

import typer

from openclaw.agent.agent import Agent
from openclaw.cli import options
from openclaw.cli.current_home import current_home
from openclaw.cli.formatting import (
    LEAST_WIDTH,
    PIPED_WIDTH,
    has_colours,
    print_json,
    print_lines,
    print_result,
    table,
)
from openclaw.cli.history_lines import kind_of, place_of
from openclaw.cli.questions import can_ask
from openclaw.cli.standard_input import material_of, read_piped
from openclaw.config import load_settings
from openclaw.errors import UsageError
from openclaw.frozen import frozen
from openclaw.history.turns import Turn
from openclaw.inspection.context import (
    ContextReport,
    HeadChanges,
    HeadPartChange,
    RequestPart,
    context_report,
    head_changes,
    never_asked,
)
from openclaw.inspection.usage import ModelCall, cache_json, calls_of
from openclaw.messages import TurnRecord, skill_prompt
from openclaw.security.display import count_of, first_line, harmless, minute, one_line, some_of
from openclaw.sessions.store import open_store


def context(
    ctx: typer.Context,
    words: options.Words = None,
    continue_: options.Continue = False,
    session: options.SessionName = None,
    model: options.ModelName = None,
    yes: options.Yes = False,
    mode: options.ModeName = None,
    no_memory: options.NoMemory = False,
    skill: options.SkillName = "",
    as_json: options.AsJson = False,
    raw: Annotated[
        bool, typer.Option("--raw", help="Print exactly what would be sent, byte for byte.")
    ] = False,
    cache: Annotated[
        bool, typer.Option("--cache", help="Show what of each request so far was read before.")
    ] = False,
    diff: Annotated[
        bool,
        typer.Option("--diff", help="Show what changed in the head since then, and who did it."),
    ] = False,
) -> None:
    """Show what would be sent with this prompt, and what each part costs. Nothing is sent.

    Files that the prompt names with @, and what is piped in, go along as with `openclaw ask`.
    --cache and --diff are about the latest conversation, or that of --session.
    """
    if raw + cache + diff > 1 or (raw and as_json):
        raise UsageError("--raw, --cache and --diff exclude each other, and --raw is no JSON")
    home = current_home(ctx, reading=True)
    if cache:
        store = open_store(home)
        found = store.load(session or "latest")
        calls = calls_of(store.messages(found))
        print_result(cache_json(found.id, calls), *cache_lines(found.id, calls), as_json=as_json)
        return
    agent = Agent.open(
        home,
        load_settings(home),
        model=model,
        mode=mode,
        # The tools offered to a model depend on whether somebody could be asked.
        ask=never_asked if yes or can_ask() else None,
        use_memory=not no_memory,
    )
    with closing(agent):
        if diff:
            given = {"mode": mode, "asked": yes, "memory": no_memory}
            named = [name for name, value in given.items() if value]
            changes = head_changes(agent, agent.sessions.load(session or "latest"), named)
            if as_json:
                print_json(changes.as_json())
            else:
                print_lines(change_lines(changes))
            return
        words = words or []
        piped = read_piped(None) if words else ""  # a bare look waits for nobody
        prompt = " ".join(words).strip() or (skill_prompt(skill) if skill else "")
        material = material_of(prompt, piped, home, quiet=False)
        chosen = agent.sessions.choose(continue_, session, agent.model_name)
        report = context_report(agent, chosen, prompt, material, skill)
    _print(report, as_json=as_json, raw=raw)


def _print(report: ContextReport, *, as_json: bool, raw: bool) -> None:
    if raw and not sys.stdout.isatty():
        sys.stdout.flush()
        sys.stdout.buffer.write(report.raw)
    elif raw:
        sys.stdout.write(harmless(report.raw.decode(errors="replace")) + "\n")
    else:
        print_result(report.as_json(), *report_lines(report, canvas(sys.stdout)), as_json=as_json)


HUES = tuple(f"\x1b[{code}m" for code in (36, 32, 34, 35, 33, 31))
"""Cyan, green, blue, magenta, yellow, red. They read on light and dark backgrounds; white and black
do not."""
DIM = "\x1b[2m"
BLOCKS = ("\u2588", "\u00b7", "\u254c")
ASCII = ("#", ".", "-")
"""The characters that plots are drawn with: of an amount, of free columns, and of columns that are
kept free."""


@frozen
class Canvas:
    """What an output can show: its width in columns, its characters, and colours or none."""

    width: int = PIPED_WIDTH
    marks: tuple[str, str, str] = BLOCKS
    coloured: bool = False

    def paint(self, text: str, code: str) -> str:
        return f"{code}{text}\x1b[m" if self.coloured and text else text


def canvas(out: TextIO) -> Canvas:
    """The canvas for a stream. One that is no terminal has no colours, and the width in COLUMNS.
    The user's locale tells, on POSIX, whether the terminal shows block characters."""
    width = shutil.get_terminal_size((PIPED_WIDTH, 24)).columns
    locale = next(filter(None, map(os.environ.get, ("LC_ALL", "LC_CTYPE", "LANG"))), "")
    plain = locale in ("C", "POSIX") or os.environ.get("TERM") == "dumb"
    return Canvas(max(LEAST_WIDTH, width), ASCII if plain else BLOCKS, has_colours(out))


def share_columns(amounts: Sequence[int], columns: int) -> list[int]:
    """Share out columns among the amounts. Each amount above 0 gets at least one; the widest ones
    give what is missing then, and get what is left."""
    total = sum(amounts)
    if not total:
        return [0] * len(amounts)
    given = [max(round(amount * columns / total), int(amount > 0)) for amount in amounts]
    while over := sum(given) - columns:
        given[given.index(max(given))] -= 1 if over > 0 else -1
    return given


CUT_AS = {"earlier": "history", "history": "results"}
"""What the record of a cut calls these parts: a summary stands for what was cut of the history."""


def report_lines(report: ContextReport, on: Canvas) -> list[str]:
    """Return the picture: its title, the bar, the table, and notes."""
    full, free, kept = on.marks
    rows = [
        (ascii_letters[number % len(ascii_letters)], part.name, part.tokens, _path(report, part))
        for number, part in enumerate(report.parts)
    ]
    count = len(rows)
    rows += [(free, "free", report.free, ""), (kept, "for the reply", report.reply, "")]

    def paint(text: str, number: int) -> str:
        return on.paint(text, HUES[number % len(HUES)] if number < count else DIM)

    bar = ""
    sizes = share_columns([tokens for _, _, tokens, _ in rows], on.width)
    for number, (size, (mark, *_)) in enumerate(zip(sizes, rows, strict=True)):
        fill = full if number < count else mark
        bar += paint((mark + fill * (size - 1))[:size], number)
    rows.insert(count, ("", "together", report.used, ""))
    rows.append(("", "window", report.window, ""))
    whole = report.window or 1
    cells = [
        (mark, name, f"{tokens:,}", f"{tokens / whole:.1%}", path)
        for mark, name, tokens, path in rows
    ]
    head, *lines = table(cells, ("", "PART", "TOKENS", "SHARE", "FILE"), (2, 3)).split("\n")
    lines = [
        (paint(mark, number) or " ") + line[1:]
        for number, ((mark, *_), line) in enumerate(zip(rows, lines, strict=True))
    ]
    record = report.record
    named = (record.model, record.protocol and f"protocol {record.protocol}")
    title = one_line(", ".join(filter(None, (*named, f"window {report.window:,} tokens"))))
    cuts = [
        one_line(f"{part.name} cut: {rule}")
        for part in report.parts
        if (rule := _cut_rule(record, part))
    ]
    notes = []
    if report.compacted:
        compacted = f"{report.compacted} messages would be compacted first"
        notes = [f"{compacted}; the summary that then stands for them is not counted here"]
    return [title, bar, "", head, *lines, *cuts, *notes, *map(one_line, report.notices)]


def _path(report: ContextReport, part: RequestPart) -> str:
    """Return where a part comes from: of passages the first file, and how many more."""
    if part.path or part.name != "passages":
        return part.path
    paths = dict.fromkeys(str(each.get("path", "")) for each in report.record.offered or ())
    return some_of(list(paths), 1)


def _cut_rule(record: TurnRecord, part: RequestPart) -> str:
    """Return the rule by which a part was cut, "" when it was not."""
    if part.name == "passages" and record.left_out:
        return f"{len(record.left_out)} more not included"
    name = CUT_AS.get(part.name, part.name)
    rules = (str(cut.get("rule", "")) for cut in record.cut or () if cut.get("part") == name)
    return next(rules, "its share of the window" if part.cut else "")


_SUBJECT = 50
NOT_RECORDED = "an edit that no turn or commit holds yet"


def change_lines(found: HeadChanges) -> Iterator[str]:
    """Return the changes as a diff of each part, with its writers in front."""
    yield f"conversation {one_line(found.session)}, turn {found.turn} of {minute(found.at)}"
    if not found.known:
        yield "the head that it was sent is no longer kept; the next request begins with a new one"
        return
    if not found.changes and not found.tools and not found.described:
        yield "nothing has changed in the head since it was sent"
    for change in found.changes:
        yield ""
        yield _change_title(change)
        yield from (f"  by {who(writer)}" for writer in change.writers)
        yield from change.unified()
    if found.tools or found.described:
        yield ""
        named = ", ".join(map(one_line, found.tools)) or "their descriptions or arguments"
        yield f"tools: {named}"


def _change_title(change: HeadPartChange) -> str:
    told = "the model knows it" if change.told else "the model does not know it yet"
    if change.name == "skills":
        told = "they can be used now, this list changes with the next conversation"
    elif not change.path:
        told = "it counts from the next conversation on"
    return one_line(f"{change.name}: {change.path or 'made by code'} ({told})")


def who(turn: Turn | None) -> str:
    """Describe on one line who made a change."""
    if turn is None:
        return NOT_RECORDED
    subject = first_line(turn.subject, _SUBJECT)
    if turn.kind == "outside":
        commit = f", commit {turn.commit[:8]}" if turn.commit else ", before a turn"
        return f"you, {minute(turn.at)}{commit}: {subject}".rstrip(": ")
    place = one_line(place_of(turn))
    named = f"{kind_of(turn)} {turn.id}, {minute(turn.at)}" + (f", {place}" if place else "")
    return f"{named}: {subject}".rstrip(": ")


HEADS = ("MESSAGE", "AT", "TOKENS", "CACHED", "SHARE", "FIRST TOKEN")


def cache_lines(session: str, calls: Sequence[ModelCall]) -> list[str]:
    """Return a line for each call, and at the end what the cache saved in all."""
    if not calls:
        return [f"{session}: no questions asked yet"]
    rows = [
        (
            f"#{call.message}",
            minute(call.at),
            f"{call.tokens:,}",
            f"{call.reused:,}",
            f"{call.share:.1%}",
            f"{call.first_token_seconds:.2f} s",
        )
        for call in calls
    ]
    sums = cache_json(session, calls)["together"]
    spent = f"{count_of(sums['calls'], 'call')}, {sums['tokens']:,} tokens"
    lines = table(rows, HEADS, range(len(HEADS))).split("\n")
    lines.append(f"{session}: {spent}, {sums['reused']:,} cached ({sums['share']:.1%})")
    if rate := sums["reading_rate"]:
        seconds = sums["saved_seconds"]
        lines.append(f"{seconds:,.1f} s of reading saved at {rate:,.0f} tokens a second")
    return lines
