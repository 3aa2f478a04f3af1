"""Options that the commands for a prompt, for a chat and for the context have in common."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class Modes(StrEnum):
    read_only = "read-only"
    ask = "ask"
    edit = "edit"
    full = "full"


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
ModeName = Annotated[Modes | None, typer.Option("--mode", help="What tools may do.")]
Yes = Annotated[bool, typer.Option("--yes", help="Answer every question of a tool with yes.")]
NoMemory = Annotated[bool, typer.Option("--no-memory", help="Without memory and to-dos.")]
SkillName = Annotated[
    str, typer.Option("--skill", metavar="NAME", help="Follow this skill.", show_default=False)
]
