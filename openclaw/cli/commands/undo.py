"""`openclaw undo` and `openclaw redo`: take back what turns did, and put it back."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from openclaw.cli.formatting import minute, print_json, warn
from openclaw.cli.open_agent import open_agent
from openclaw.cli.options import AsJson, OfSession, Unasked
from openclaw.cli.questions import require_yes
from openclaw.errors import UsageError
from openclaw.history.turns import Scope
from openclaw.security.display import count_of, harmless, one_line, some_lines

if TYPE_CHECKING:
    from openclaw.agent.undo import UndoResult


Count = Annotated[int, typer.Argument(metavar="N", min=1, help="How many.")]
Keep = Annotated[
    bool, typer.Option("--keep", help="Leave lines as they are that were changed since.")
]
CONFLICT = 1
MAX_FILES = 20
"""Files that are named; an import may have made thousands."""


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
    with closing(open_agent(ctx)) as agent:
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
    with closing(open_agent(ctx)) as agent:
        warn(agent.recover())
        taken = agent.redo(count, agent.find_session(session), keep)
    return _print_taken(taken, "redo", as_json=as_json)


def scope_of(*, files: bool, talk: bool) -> Scope:
    """Return which part of a turn is taken back. UsageError for both options, which would mean all
    of it."""
    if files and talk:
        raise UsageError("--files and --talk exclude each other", "leave both out for all of it")
    return "files" if files else "talk" if talk else "all"


def undo_lines(taken: UndoResult, verb: str, front: str = "openclaw ") -> Iterator[str]:
    """Describe the result of an undo or redo; for conflicts see `conflict_lines`. `front` stands
    before the name of a command."""
    talks = {turn.session for turn in taken.of}
    for turn in taken.of:
        place = f"  ({turn.session or 'a command'})" if len(talks) > 1 and verb == "undo" else ""
        subject = turn.subject.removeprefix("Undo: ")  # a redo is of undos
        yield f"{turn.id}  {minute(turn.at)}  {one_line(subject, 60)}{place}"
    files = [f"  {one_line(f.path)} {f.action} (+{f.added} -{f.removed})" for f in taken.files]
    yield from some_lines(files, MAX_FILES, "more files")
    if taken.messages:
        many = len(talks - {""})
        of = f"{many} conversations" if many > 1 else "the conversation"
        yield f"  {count_of(taken.messages, 'message')} of {of}"
    yield from (f"  {one_line(path)}: later changes of others are kept" for path in taken.merged)
    for path in taken.missing:
        yield f"  {one_line(path)}: left as it is, its earlier content was not kept"
    if taken.turn is None:
        yield "nothing was changed"
    elif verb == "undo":
        yield f"taken back; {front}redo puts it back"
    else:
        yield f"put back; {front}undo takes it back"
    if taken.notice:
        yield one_line(taken.notice)


def conflict_lines(taken: UndoResult, verb: str, front: str = "openclaw ") -> Iterator[str]:
    """Return the lines that others changed since, and what became of the rest."""
    for conflict in taken.conflicts:
        yield f"{one_line(conflict.path)}: the same lines were changed since"
        yield from (f"  {line}" for line in harmless(conflict.text).splitlines())
    done, does = ("taken back", "takes back") if verb == "undo" else ("put back", "puts back")
    if taken.turn is None:
        yield f"nothing was {done}; {front}{verb} --keep {does} the rest and leaves these lines"
    else:
        yield "these lines stay as they are"


def refused(taken: UndoResult) -> bool:
    """Tell whether nothing was done because of conflicts."""
    return bool(taken.conflicts) and taken.turn is None


def _print_taken(taken: UndoResult, verb: str, *, as_json: bool) -> int:
    """Print the result of an undo or redo; returns the exit code."""
    if as_json:
        print_json(taken.as_json())
    elif not refused(taken):
        sys.stdout.writelines(f"{line}\n" for line in undo_lines(taken, verb))
    if taken.conflicts and not as_json:
        first, *rest = conflict_lines(taken, verb)
        warn([first])
        sys.stderr.writelines(f"{line}\n" for line in rest)
    return CONFLICT if refused(taken) else 0
