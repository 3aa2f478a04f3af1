"""`openclaw sessions compact`: the beginning of a conversation becomes a summary."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated

import typer

from openclaw.cli.commands.sessions.group import Ref
from openclaw.cli.formatting import print_json, warn
from openclaw.cli.open_agent import open_agent
from openclaw.cli.options import AsJson, ModelName
from openclaw.events import Compaction, Notice, to_wire
from openclaw.inspection.turn_lines import compaction_line
from openclaw.security.display import harmless
from openclaw.server.wire import PromptRequest


def compact(
    ctx: typer.Context,
    ref: Ref,
    focus: Annotated[
        str, typer.Option("--focus", metavar="WORDS", help="What matters most in the summary.")
    ] = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the summary and change nothing.")
    ] = False,
    model: ModelName = None,
    as_json: AsJson = False,
) -> None:
    """Put all but the last two exchanges into the archive, a summary in their place."""
    with closing(open_agent(ctx, PromptRequest("", model=model))) as agent:
        session = agent.sessions.load(ref)
        for event in agent.compact(session, focus, dry_run=dry_run):
            if isinstance(event, Notice):
                warn([event.text])
            elif isinstance(event, Compaction) and as_json:
                print_json({"id": session.id, **to_wire(event)})
            elif isinstance(event, Compaction):
                typer.echo(harmless(event.summary))
                warn([compaction_line(event.before_tokens, event.after_tokens)])
    if not dry_run:
        warn([f"take it back: openclaw sessions restore {session.id}"])
