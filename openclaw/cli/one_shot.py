"""Answers one prompt of the command line: its words, what is piped in, its listener, its exit."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer

from openclaw.cli.approval import Permission, make_keep, yes_unless_untrusted
from openclaw.cli.common import current_home
from openclaw.cli.formatting import has_colours
from openclaw.cli.play import (
    bell_seconds,
    choose_listener,
    play,
    turn_exit_code,
)
from openclaw.cli.questions import can_ask
from openclaw.cli.reply import read_reply
from openclaw.cli.standard_input import material_of, read_piped
from openclaw.config import load_settings
from openclaw.errors import UsageError
from openclaw.events import Notice
from openclaw.messages import skill_prompt
from openclaw.server.server_client import KeptGrants
from openclaw.server.wire import Order

if TYPE_CHECKING:
    from openclaw.agent.agent import Agent
    from openclaw.cli.approval import Keep
    from openclaw.cli.options import Modes
    from openclaw.cli.render import Listener
    from openclaw.messages import Material
    from openclaw.security.policy import Ask
    from openclaw.server.server_client import RunningServer


def answer_once(
    ctx: typer.Context,
    words: Sequence[str],
    stdin: bool | None,
    which: tuple[bool, str | None],
    skill: str,
    output: str,
    *,
    yes: bool,
    quiet: bool,
    opening: tuple[str | None, Modes | None, bool, int | None, bool],
    server: RunningServer | None,
) -> None:
    """Ask the words, with standard input and the files they name, and show the turn.

    which: whether the latest session is continued, and the name of a session
    opening: the model, the mode, without memory, the most model calls, without saving
    server: the server that answers; None for this process

    Raises typer.Exit with the exit code.
    """
    piped = read_piped(stdin if words else stdin is not False, quiet=quiet)
    typed = " ".join(words).strip()
    prompt = typed or piped.strip() or (skill_prompt(skill) if skill else "")
    if not prompt:
        raise UsageError("no prompt given", 'openclaw "your question"')
    material = material_of(prompt, piped if words else "", current_home(ctx), quiet=quiet)
    if server is not None:
        order = _make_order((prompt, material, skill), which, opening, typed=bool(typed))
        raise typer.Exit(_answer_by_server(ctx, server, order, output, yes=yes, quiet=quiet))
    app = _open_app(ctx, *opening)
    listener = choose_listener(
        output, sys.stdout, sys.stderr, os.environ, quiet=quiet, bell=bell_seconds(app.settings)
    )
    app.progress = listener.meanwhile
    app.ask_user = _make_ask(yes, listener, make_keep(app, _say))
    raise typer.Exit(_answer(app, (prompt, material, skill), which, listener, typed=bool(typed)))


def _answer(
    app: Agent,
    asked: tuple[str, Sequence[Material], str],
    which: tuple[bool, str | None],
    listener: Listener,
    *,
    typed: bool,
) -> int:
    """Ask the prompt, with its material and skill, and show the turn; returns the exit code."""
    try:
        app.get_ready()
        session = app.sessions.choose(*which, app.model_name)
        for text in app.notices:
            listener(Notice(text))
        prompt, material, skill = asked
        return turn_exit_code(
            play(app.ask(prompt, session, material, skill, typed=typed), listener)
        )
    finally:
        app.close()


def _make_order(
    asked: tuple[str, Sequence[Material], str],
    which: tuple[bool, str | None],
    opening: tuple[str | None, Modes | None, bool, int | None, bool],
    *,
    typed: bool,
) -> Order:
    prompt, material, skill = asked
    model, mode, no_memory, max_steps, no_save = opening
    return Order(
        prompt,
        *which,
        material,
        skill,
        typed,
        model,
        mode.value if mode else None,
        use_memory=not no_memory,
        max_steps=max_steps,
        saving=not no_save,
    )


def _answer_by_server(
    ctx: typer.Context, server: RunningServer, order: Order, output: str, *, yes: bool, quiet: bool
) -> int:
    """Let a running server answer, and show the turn; returns the exit code."""
    home = current_home(ctx)
    bell = bell_seconds(load_settings(home)) if sys.stdout.isatty() else 0.0
    listener = choose_listener(output, sys.stdout, sys.stderr, os.environ, quiet=quiet, bell=bell)
    kept = KeptGrants(lambda grant: _open_app(ctx).grant(grant, lasting=True))
    ask = _make_ask(yes, listener, make_keep(kept, _say))
    return turn_exit_code(play(server.ask(order, ask, kept), listener))


def _open_app(ctx: typer.Context, *opening: Any) -> Agent:
    """Open the home as an agent, which is not even imported where a server answers."""
    from openclaw.cli.opening import open_app

    return open_app(ctx, *opening)


def _make_ask(yes: bool, listener: Listener, keep: Keep) -> Ask | None:
    """The function that asks before a tool runs; None when no terminal can answer."""
    asking = None
    if can_ask():
        asking = Permission(
            _reply,
            _say,
            listener.pause,
            keep,
            listener.resume,
            colours=has_colours(sys.stderr, os.environ),
        )
    return yes_unless_untrusted(asking, _say) if yes else asking


def _reply(question: str) -> str:
    return read_reply(question, sys.stderr)


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")
