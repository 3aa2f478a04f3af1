"""`openclaw undo` and `openclaw redo`: take back what turns did, and put it back."""

from __future__ import annotations

import sys
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from openclaw.cli.formatting import print_json, warn
from openclaw.cli.open_agent import open_history
from openclaw.cli.options import AsJson, OfSession, Unasked
from openclaw.cli.questions import require_yes
from openclaw.errors import UsageError
from openclaw.history.turns import Scope
from openclaw.inspection.turn_lines import conflict_lines, undo_lines
from openclaw.security.display import count_of

if TYPE_CHECKING:
    from openclaw.agent.undo import UndoResult


Count = Annotated[int, typer.Argument(metavar="N", min=1, help="How many.")]
Keep = Annotated[
    bool, typer.Option("--keep", help="Leave lines as they are that were changed since.")
]
CONFLICT = 1


def undo(
    ctx: typer.Context,
    count: Count = 1,
    files: Annotated[
        bool, typer.Option("--files", help="Only files; the conversation stays.")
    ] = False,
    talk: Annotated[
        bool, typer.Option("--talk", help="Only the conversation; files stay.")
    ] = False,
    session: OfSession = "",
    keep: Keep = False,
    yes: Unasked = False,
    as_json: AsJson = False,
) -> int:
    """Take back the newest turns: their files and what was said in them. A command that changes
    files, such as `openclaw todo rm`, is a turn as well.

    What others have changed since stays. Where they have changed the same lines nothing is taken
    back, and the lines are shown.
    """
    with closing(open_history(ctx)) as agent:
        warn(agent.recover())
        scope, of = scope_of(files=files, talk=talk), agent.find_session(session)
        able = [*islice(agent.undoable(scope, of), count)]
        if able and len(able) < count:
            many = len({turn.session for turn in able if turn.session})
            talks = f", of {many} conversations" if many > 1 else ""
            there, them = ("is", "it") if len(able) == 1 else ("are", "all of them")
            turns = count_of(len(able), "turn")
            question = f"There {there} only {turns} to undo{talks}. Take {them} back?"
            require_yes(question, yes=yes, otherwise="nothing was changed")
        taken = agent.undo(count, scope, of, keep)
    return _print_taken(taken, "undo", as_json=as_json)


def redo(
    ctx: typer.Context,
    count: Count = 1,
    session: OfSession = "",
    keep: Keep = False,
    as_json: AsJson = False,
) -> int:
    """Put back what the newest undo took back."""
    with closing(open_history(ctx)) as agent:
        warn(agent.recover())
        taken = agent.redo(count, agent.find_session(session), keep)
    return _print_taken(taken, "redo", as_json=as_json)


def scope_of(*, files: bool, talk: bool) -> Scope:
    """Return which part of a turn is taken back. UsageError for both options, which would mean all
    of it."""
    if files and talk:
        raise UsageError("--files and --talk exclude each other", "leave both out for all of it")
    return "files" if files else "talk" if talk else "all"


def _print_taken(taken: UndoResult, verb: str, *, as_json: bool) -> int:
    """Print the result of an undo or redo; returns the exit code."""
    if as_json:
        print_json(taken.as_json())
    elif not taken.refused:
        sys.stdout.writelines(f"{line}\n" for line in undo_lines(taken, verb))
    if taken.conflicts and not as_json:
        first, *rest = conflict_lines(taken, verb)
        warn([first])
        sys.stderr.writelines(f"{line}\n" for line in rest)
    return CONFLICT if taken.refused else 0
