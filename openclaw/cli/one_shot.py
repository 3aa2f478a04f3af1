"""Answers one prompt of the command line: its words, what is piped in, its listener, its exit."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, TextIO

import typer

from openclaw.cli.approval import GrantStore, Permission, yes_unless_untrusted
from openclaw.cli.formatting import has_colours
from openclaw.cli.questions import can_ask, read_reply
from openclaw.cli.render import DoneJson, JsonLines, Listener, PlainText, exit_code, show_turn
from openclaw.cli.standard_input import material_of, read_piped
from openclaw.cli.terminal import Screen
from openclaw.config import load_settings
from openclaw.errors import UsageError
from openclaw.events import Notice
from openclaw.messages import skill_prompt
from openclaw.security.policy import Ask
from openclaw.server.server_client import KeptGrants, find_server
from openclaw.server.wire import PromptRequest

if TYPE_CHECKING:
    from openclaw.agent.agent import Agent
    from openclaw.storage.home import Home


BELL_SECONDS = 10.0  # after such a wait the user may be looking elsewhere


def answer_once(
    ctx: typer.Context,
    home: Home,
    words: Sequence[str],
    stdin: bool | None,
    output: str,
    *,
    yes: bool,
    quiet: bool,
    served: bool,
    **options: Any,
) -> int:
    """Ask the words, with standard input and the files they name, and show the turn; returns the
    exit code.

    served: a server answers, if it runs
    options: those of `PromptRequest`
    """
    piped = read_piped(stdin if words else stdin is not False, quiet=quiet)
    typed = " ".join(words).strip()
    prompt = typed or piped.strip() or (skill_prompt(options["skill"]) if options["skill"] else "")
    if not prompt:
        raise UsageError("no prompt given", 'openclaw "your question"')
    material = material_of(prompt, piped if words else "", home, quiet=quiet)
    request = PromptRequest(prompt, material=material, typed=bool(typed), **options)
    if served and (server := find_server(home)):
        bell = sys.stdout.isatty() and load_settings(home).bell
        listener = choose_listener(output, sys.stdout, sys.stderr, quiet=quiet, bell=bell)
        kept = KeptGrants(lambda grant: _open_agent(ctx, request).grant(grant, lasting=True))
        run = server.ask(request, _make_ask(yes, listener, kept), kept)
        return exit_code(show_turn(run, listener))
    agent = _open_agent(ctx, request)
    bell = agent.settings.bell
    listener = choose_listener(output, sys.stdout, sys.stderr, quiet=quiet, bell=bell)
    agent.progress = listener.meanwhile
    agent.ask_user = _make_ask(yes, listener, agent)
    with closing(agent):
        agent.get_ready()
        session = agent.sessions.choose(request.latest, request.session, agent.model_name)
        for text in agent.notices:
            listener(Notice(text))
        asking = agent.ask(
            request.message, session, request.material, request.skill, typed=request.typed
        )
        return exit_code(show_turn(asking, listener))


def choose_listener(
    output: str,
    out: TextIO,
    err: TextIO,
    *,
    quiet: bool = False,
    bell: bool = False,
    typed: Callable[[], str] | None = None,
) -> Listener:
    """The listener for an output format ("text", "json", "stream-json") and these streams. With
    `bell` a terminal rings after a long wait; for `typed` see `Screen`."""
    if output == "json":
        return DoneJson(out)
    if output == "stream-json":
        return JsonLines(out)
    if out.isatty() and os.environ.get("TERM") != "dumb":
        return Screen(out, err, notes=not quiet, typed=typed, bell=BELL_SECONDS if bell else 0.0)
    tools = err.isatty() and not quiet
    return PlainText(out, err, tools=tools, notes=not quiet, dim=has_colours(err))


def _open_agent(ctx: typer.Context, request: PromptRequest) -> Agent:
    """Open the home as an agent, which is not even imported where a server answers."""
    from openclaw.cli.open_agent import open_agent

    return open_agent(ctx, request)


def _make_ask(yes: bool, listener: Listener, grants: GrantStore) -> Ask | None:
    """The function that asks before a tool runs; None when no terminal can answer."""
    asking = None
    if can_ask():
        asking = Permission(
            lambda question: read_reply(question, sys.stderr),
            _say,
            listener,
            grants,
            colours=has_colours(sys.stderr),
        )
    return yes_unless_untrusted(asking, _say) if yes else asking


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")
