"""`openclaw "prompt"`, or `openclaw ask "prompt"`: ask once and print the answer."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

import typer

from openclaw.cli import options
from openclaw.cli.current_home import SEARCH, current_home
from openclaw.cli.dispatch import IMPLICIT, check_prompt, find_function
from openclaw.home.search_client import read_early

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print the answer only.")]
Stdin = Annotated[
    bool | None,
    typer.Option(
        "--stdin/--no-stdin",
        show_default=False,
        help="Take standard input along, as - at the end does; or leave it alone.",
    ),
]


def ask(
    ctx: typer.Context,
    words: options.Words = None,
    continue_: options.Continue = False,
    session: options.SessionName = None,
    model: options.ModelName = None,
    output: Annotated[
        Literal["text", "json", "stream-json"],
        typer.Option("--output", help="What to print.", show_default=False),
    ] = "text",
    yes: options.Yes = False,
    mode: options.ModeName = None,
    no_memory: options.NoMemory = False,
    quiet: Quiet = False,
    max_steps: options.Steps = None,
    skill: options.SkillName = "",
    no_save: options.NoSave = False,
    stdin: Stdin = None,
    no_server: options.NoServer = False,
) -> int:
    """Ask once and print the answer.

    What is piped in is material for the prompt, or the prompt itself when none is given.

    \b
    openclaw "sum up @workspace/report.md:10-40"
    tail -n 50 app.log | openclaw "what failed?" --quiet
    openclaw --session trip --model ollama/qwen3:4b "which trains are there?"
    """
    words = words or []
    if ctx.meta.get(IMPLICIT):
        check_prompt(words)
    if words[-1:] == ["-"]:
        words, stdin = words[:-1], True
    if not words and not stdin and sys.stdin and sys.stdin.isatty():
        given = (continue_, session, model, yes, mode, no_memory, max_steps, skill, no_save)
        code: int = find_function("chat", "chat")(ctx, None, *given, no_server)
        return code
    home = current_home(ctx)
    served = not no_server and home.server_file.exists()
    if not served and not no_memory:
        read_early(" ".join(words), ctx.meta[SEARCH])
    from openclaw.cli.one_shot import answer_once

    return answer_once(
        ctx,
        home,
        words,
        stdin,
        output,
        yes=yes,
        quiet=quiet,
        served=served,
        latest=continue_,
        session=session,
        skill=skill,
        model=model,
        mode=mode,
        use_memory=not no_memory,
        max_steps=max_steps,
        saving=not no_save,
    )
