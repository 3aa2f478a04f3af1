"""The commands `openclaw "prompt"` and `openclaw chat`: their options, and how they start."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from openclaw.cli.attachments import material_of
from openclaw.cli.options import (
    Continue,
    ModelName,
    ModeName,
    Modes,
    NoMemory,
    SessionName,
    SkillName,
    Yes,
)
from openclaw.cli.questions import can_ask
from openclaw.errors import OpenclawError, UsageError

if TYPE_CHECKING:
    from openclaw.agent.agent import App
    from openclaw.cli.approval import Keep
    from openclaw.cli.render import Listener
    from openclaw.security.grants import Grant
    from openclaw.security.policy import Ask
    from openclaw.types import Material


BELL_SECONDS = 10.0
"""After such a wait the user may be looking elsewhere."""


class Output(StrEnum):
    text = "text"
    json = "json"
    stream_json = "stream-json"


Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print the answer only.")]
Steps = Annotated[
    int | None, typer.Option("--max-steps", min=1, metavar="N", help="Most model calls a turn.")
]
NoSave = Annotated[
    bool, typer.Option("--no-save", help="Keep nothing of what is said; changes to files are kept.")
]
Words = Annotated[list[str] | None, typer.Argument(metavar="PROMPT", show_default=False)]
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
    words: Words = None,
    continue_: Continue = False,
    session: SessionName = None,
    model: ModelName = None,
    output: Annotated[
        Output, typer.Option("--output", help="What to print.", show_default=False)
    ] = Output.text,
    yes: Yes = False,
    mode: ModeName = None,
    no_memory: NoMemory = False,
    quiet: Quiet = False,
    max_steps: Steps = None,
    skill: SkillName = "",
    no_save: NoSave = False,
    stdin: Stdin = None,
) -> None:
    """Ask once and print the answer.

    What is piped in is material for the prompt, or the prompt itself when none is given.

    \b
    openclaw "sum up @workspace/report.md:10-40"
    tail -n 50 app.log | openclaw "what failed?" --quiet
    openclaw --session trip --model ollama/qwen3:4b "which trains are there?"
    """
    from openclaw.cli.attachments import piped_in
    from openclaw.cli.dispatch import IMPLICIT, check_prompt
    from openclaw.cli.play import by_name

    words = words or []
    if ctx.meta.get(IMPLICIT):
        check_prompt(words)
    if words[-1:] == ["-"]:
        words, stdin = words[:-1], True
    if not words and not stdin and _is_terminal():
        options = (continue_, session, model, yes, mode, no_memory, max_steps, skill, no_save)
        chat(ctx, None, *options)
        return
    piped = piped_in(stdin if words else stdin is not False, quiet=quiet)
    typed = " ".join(words).strip()
    prompt = typed or piped.strip() or (by_name(skill) if skill else "")
    if not prompt:
        raise UsageError("no prompt given", 'openclaw "your question"')
    from openclaw.cli.common import current_home
    from openclaw.cli.play import choose_listener

    material = material_of(prompt, piped if words else "", current_home(ctx), quiet=quiet)
    app = _open(ctx, model, mode, no_memory, max_steps, no_save)
    listener = choose_listener(
        output.value, sys.stdout, sys.stderr, os.environ, quiet=quiet, bell=_bell_seconds(app)
    )
    app.progress = listener.meanwhile
    app.ask_user = _make_ask(yes, listener, app)
    which = (continue_, session)
    raise typer.Exit(_answer(app, (prompt, material, skill), which, listener, typed=bool(typed)))


def chat(
    ctx: typer.Context,
    words: Words = None,
    continue_: Continue = False,
    session: SessionName = None,
    model: ModelName = None,
    yes: Yes = False,
    mode: ModeName = None,
    no_memory: NoMemory = False,
    max_steps: Steps = None,
    skill: SkillName = "",
    no_save: NoSave = False,
) -> None:
    """Chat in the terminal: streaming answers, history, completion, /commands.

    With PROMPT it begins with that.
    """
    from openclaw.cli.approval import Permission, beforehand
    from openclaw.cli.chat import Chat
    from openclaw.cli.chat_commands import Answering
    from openclaw.cli.formatting import colours
    from openclaw.cli.play import choose_listener, open_session
    from openclaw.cli.prompt_line import choose_lines

    app = _open(ctx, model, mode, no_memory, max_steps, no_save)
    lines = choose_lines(app, sys.stdin, sys.stdout)
    listener = choose_listener(
        "text", sys.stdout, sys.stderr, os.environ, bell=_bell_seconds(app), typed=lines.typed
    )
    app.progress = listener.meanwhile
    if not mode and not app.settings.mode:
        app.mode = "ask"
    answering = Answering(app.model_name, app.settings.ollama.host)
    keep = _make_keep(app, _say_out)
    asking = Permission(
        lines.reply,
        _say_out,
        listener.pause,
        keep,
        listener.resume,
        colours=colours(sys.stdout, os.environ),
    )
    app.ask_user = beforehand(asking, _say_out) if yes else asking
    app.notices += app.recover()
    start = open_session(app.sessions, continue_, session, app.model_name)
    if app.settings.hooks and lines.interactive:
        from openclaw.cli.commands.hooks import ask_trust

        ask_trust(app, lines.reply, _say_out)
    if app.settings.mcp and lines.interactive:
        from openclaw.cli.commands.mcp import ask_servers_trust

        ask_servers_trust(app.home, lines.reply, _say_out)
    first = " ".join(words or []).strip()
    try:
        code = Chat(app, start, lines, listener, _say_out, answering).run(first, skill)
    finally:
        app.close()
    raise typer.Exit(code)


def _open(
    ctx: typer.Context,
    model: str | None,
    mode: Modes | None,
    no_memory: bool,
    max_steps: int | None,
    no_save: bool,
) -> App:
    from openclaw.agent.agent import App
    from openclaw.cli.common import current_home
    from openclaw.config import load_settings

    home = current_home(ctx)
    settings = load_settings(home)
    if max_steps:
        settings = replace(settings, max_steps=max_steps)
    return App.open(
        home,
        settings,
        model=model,
        mode=mode.value if mode else None,
        use_memory=not no_memory,
        saving=not no_save,
    )


def _answer(
    app: App,
    asked: tuple[str, Sequence[Material], str],
    which: tuple[bool, str | None],
    listener: Listener,
    *,
    typed: bool,
) -> int:
    """Ask the prompt, with its material and skill, and show the turn; returns the exit code."""
    from openclaw.cli.play import code_of, open_session, play
    from openclaw.events import Notice

    try:
        app.get_ready()
        session = open_session(app.sessions, *which, app.model_name)
        for text in app.notices:
            listener(Notice(text))
        prompt, material, skill = asked
        return code_of(play(app.ask(prompt, session, material, skill, typed=typed), listener))
    finally:
        app.close()


def _make_ask(yes: bool, listener: Listener, app: App) -> Ask | None:
    """The function that asks before a tool runs; None when no terminal can answer."""
    from openclaw.cli.approval import Permission, beforehand
    from openclaw.cli.formatting import colours

    asking = None
    if can_ask():
        keep = _make_keep(app, _say_err)
        coloured = colours(sys.stderr, os.environ)
        asking = Permission(
            _reply, _say_err, listener.pause, keep, listener.resume, colours=coloured
        )
    return beforehand(asking, _say_err) if yes else asking


def _bell_seconds(app: App) -> float:
    """Seconds of waiting after which the terminal's bell rings; 0 for never."""
    return BELL_SECONDS if app.settings.bell else 0.0


def _make_keep(app: App, say: Callable[[str], None]) -> Keep:
    """A function that stores grants; only for this session when openclaw.yaml cannot be written."""

    def keep(grant: Grant, lasting: bool) -> None:
        try:
            app.grant(grant, lasting=lasting)
        except OpenclawError as error:
            say(f"It is granted for this session only: {error}")
            app.grant(grant, lasting=False)

    return keep


def _reply(question: str) -> str:
    from openclaw.cli.reply import read_reply

    return read_reply(question, sys.stderr)


def _say_err(line: str) -> None:
    sys.stderr.write(line + "\n")


def _say_out(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _is_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()
