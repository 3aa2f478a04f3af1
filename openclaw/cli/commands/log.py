"""`openclaw log`: the turns of the home, or what tools did in them."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from itertools import islice
from typing import Annotated

import typer

from openclaw.cli.current_home import current_home
from openclaw.cli.formatting import Column, Shape, print_json, print_listing, table, warn
from openclaw.cli.history_lines import kind_of, place_of, state_words
from openclaw.cli.open_agent import open_history
from openclaw.cli.options import AsJson, OfSession
from openclaw.history.differences import turn_differences, turn_json
from openclaw.history.history import History
from openclaw.history.turns import TALK, Turn
from openclaw.security.audit import read_actions
from openclaw.security.display import minute, one_line
from openclaw.sessions.session import is_generated_id
from openclaw.sessions.store import SHORT_ID

SUBJECT = 50
HEADERS = ("ID", "AT", "KIND", "FILES", "LINES", "SESSION", "SUBJECT", "")
NARROW = 120
"""Columns of a terminal below which ids and dates are shortened, to leave room for the prompt."""
NARROW_HEADERS = ("ID", "AT", "FILES", "SESSION", "SUBJECT")
LONGEST_NAME = 12


def log(
    ctx: typer.Context,
    actions: Annotated[
        bool, typer.Option("--actions", help="What tools did, and who allowed it.")
    ] = False,
    number: Annotated[
        int, typer.Option("-n", min=1, metavar="N", help="The newest N of them.")
    ] = 20,
    session: OfSession = "",
    file: Annotated[
        str, typer.Option("--file", metavar="PATH", help="Only what changed this file.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Show the newest turns: when, what was asked, what they changed; the newest first."""
    if actions:
        home = current_home(ctx, reading=True)
        done = read_actions(home.action_log, number)
        print_listing(done, ACTION_COLUMNS, as_json=as_json, empty="no actions yet")
        return
    with closing(open_history(ctx, reading=True)) as agent:
        turns = agent.history.turns_of(agent.find_session(session), file)
        found = list(islice(turns, number))
        if as_json:
            print_json([turn_json(turn, turn_differences(agent.history, turn)) for turn in found])
            return
        if not found:
            warn([f"no turn has changed {file}" if file else "no turns yet"])
            return
        typer.echo("\n".join(log_lines(agent.history, found)))
        if (waiting := agent.history.waiting) and any(not turn.commit for turn in found):
            warn([waiting])


def log_lines(history: History, turns: Iterable[Turn]) -> list[str]:
    """Return a line for each turn, below a head."""
    waiting = history.waiting
    rows = [_turn_row(history, turn, waiting) for turn in turns]
    headers: Sequence[str] = HEADERS
    if sys.stdout.isatty() and shutil.get_terminal_size().columns < NARROW:
        rows, headers = [narrow_row(row) for row in rows], NARROW_HEADERS
    return table(rows, headers).splitlines() if rows else []


def narrow_row(row: Sequence[object]) -> tuple[str, ...]:
    """Return a turn's row for 80 columns: the day without its year, the end of a generated session
    id, and notes before the subject, which tells the turn's kind."""
    turn_id, at, _, files, lines, place, subject, noted = map(str, row)
    session, colon, number = place.rpartition(":")
    if not (colon and number.isdecimal()):
        session, colon, number = place, "", ""
    session = session[-SHORT_ID:] if is_generated_id(session) else one_line(session, LONGEST_NAME)
    named = f"({noted}) {subject}" if noted else subject
    return turn_id, at[len("2026-") :], f"{files} {lines}".strip(), session + colon + number, named


def _turn_row(history: History, turn: Turn, waiting: str) -> tuple[object, ...]:
    counts = [
        each.counts() for each in turn_differences(history, turn) if not each.path.startswith(TALK)
    ]
    added, removed = (sum(column) for column in zip(*counts, strict=True)) if counts else (0, 0)
    lines = f"+{added} -{removed}" if counts else ""
    subject = one_line(turn.subject, SUBJECT)
    fixed = (turn.id, minute(turn.at), kind_of(turn), len(counts) or "", lines)
    return (*fixed, place_of(turn), subject, state_words(turn, waiting))


# -------- what tools did


def _action_result(action: Shape) -> str:
    code = action.get("exit")
    return ("ok" if action.get("ok") else "failed") if code is None else f"exit {code}"


ACTION_COLUMNS: Mapping[str, Column] = {
    "AT": lambda action: str(action.get("at") or "")[:19].replace("T", " "),
    **{name.upper(): name for name in ("tool", "effect", "target", "decision", "by")},
    "RESULT": _action_result,
    "SECONDS": "seconds",
    "BYTES": "bytes",
}
