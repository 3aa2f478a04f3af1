"""`openclaw sync`: the same home on several devices, over a git repository that they share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Annotated, Literal

import typer

from openclaw.agent.sync import SyncResult
from openclaw.agent.sync import sync as sync_home
from openclaw.agent.sync_merge import SyncConflict
from openclaw.cli.formatting import print_json, warn
from openclaw.cli.open_agent import open_agent
from openclaw.cli.options import AsJson
from openclaw.cli.questions import can_ask, confirm
from openclaw.security.display import count_of, one_line, some_lines
from openclaw.security.trust import is_own_remote, own_remote
from openclaw.storage.git_remote import find_remote
from openclaw.storage.program import is_started_by_agent

CONFLICT = 1
MAX_FILES = 20


def sync(
    ctx: typer.Context,
    remote: Annotated[str, typer.Argument(help="A git remote, or its address; else origin.")] = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would come in; change nothing here.")
    ] = False,
    keep: Annotated[
        Literal["mine", "theirs", "both"] | None,
        typer.Option("--keep", help="What stays where both changed the same line."),
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Commit what was changed here, merge what your other devices have pushed, and push.

    Where both changed the same line nothing is written, and the line is shown.
    """
    with closing(open_agent(ctx)) as agent:
        found = find_remote(agent.history.root, remote)
        if not is_own_remote(agent.home, found.url) and can_ask() and not is_started_by_agent():
            question = f"Is {found.shown} yours? What comes from it then counts as your words."
            if confirm(question, yes=False):
                own_remote(agent.home, found.url)
        result = sync_home(agent, found, keep=keep or "", dry_run=dry_run)
    warn(result.notices)
    if as_json:
        print_json(result.as_json())
    elif result.conflicts:
        warn([f"changed here and elsewhere: {count_of(len(result.conflicts), 'place')}"])
        for line in _conflict_lines(result.conflicts):
            typer.echo(line, err=True)
    else:
        for line in _lines(result, dry_run=dry_run):
            typer.echo(line)
    return CONFLICT if result.conflicts else 0


def _lines(result: SyncResult, *, dry_run: bool) -> Iterator[str]:
    files = [f"  {one_line(path)}" for path in result.files]
    yield from some_lines(files, MAX_FILES, "more files")
    received, sent = (count_of(number, "commit") for number in (result.received, result.sent))
    done = "would come in" if dry_run else "came in"
    yield f"{received} {done}, {sent} {'would be sent' if dry_run else 'sent'} ({result.remote})"
    if result.files and not result.own:
        yield "this remote is not named as yours: what came in counts as text of others"


def _conflict_lines(conflicts: tuple[SyncConflict, ...]) -> Iterator[str]:
    for each in conflicts:
        place = f"{one_line(each.path)}:{each.line}" if each.line else one_line(each.path)
        yield f"{place}: changed here and on another device"
        if each.line:
            for side, text in (("here", each.mine), ("there", each.theirs)):
                yield from (f"  {side:>5}: {one_line(line)}" for line in text.splitlines())
    yield "nothing was written or sent; make the lines alike, or choose: openclaw sync --keep mine"
    yield "(or theirs; both keeps both lines)"
