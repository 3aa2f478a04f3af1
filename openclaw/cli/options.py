"""Options that several commands have in common."""

from __future__ import annotations

from typing import Annotated

import typer

from openclaw.types import Mode

Continue = Annotated[
    bool, typer.Option("-c", "--continue", help="Continue the latest conversation.")
]
SessionName = Annotated[
    str | None,
    typer.Option(
        "--session", "-s", metavar="NAME", help="Continue a named one, made when missing."
    ),
]
ModelName = Annotated[
    str | None,
    typer.Option("--model", "-m", metavar="NAME", help="The model, e.g. ollama/qwen3:4b."),
]
ModeName = Annotated[Mode | None, typer.Option("--mode", help="What tools may do.")]
Yes = Annotated[bool, typer.Option("--yes", help="Answer every question of a tool with yes.")]
NoMemory = Annotated[bool, typer.Option("--no-memory", help="Without memory and to-dos.")]
SkillName = Annotated[str, typer.Option("--skill", metavar="NAME", help="Follow this skill.")]
Steps = Annotated[
    int | None, typer.Option("--max-steps", min=1, metavar="N", help="Most model calls a turn.")
]
NoSave = Annotated[
    bool, typer.Option("--no-save", help="Keep nothing of what is said; changes to files are kept.")
]
NoServer = Annotated[
    bool, typer.Option("--no-server", help="Do it in this process, not in a running server.")
]
Words = Annotated[list[str] | None, typer.Argument(metavar="PROMPT")]
OfSession = Annotated[
    str, typer.Option("--session", "-s", metavar="ID", help="Of this conversation only.")
]
Since = Annotated[str, typer.Option("--since", metavar="DATE", help="Only from this day on.")]
Revoke = Annotated[bool, typer.Option("--revoke", help="Stop allowing them.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Replace = Annotated[bool, typer.Option("--force", help="Replace a file of that name.")]
Unasked = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
