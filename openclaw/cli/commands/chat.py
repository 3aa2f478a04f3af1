"""`openclaw chat`: a conversation in the terminal."""

from __future__ import annotations

import sys
from contextlib import closing

import typer

from openclaw.agent.agent import Agent
from openclaw.cli import options
from openclaw.cli.approval import Permission, yes_unless_untrusted
from openclaw.cli.chat.chat import Chat
from openclaw.cli.chat.prompt_line import choose_lines
from openclaw.cli.current_home import current_home
from openclaw.cli.formatting import has_colours
from openclaw.cli.one_shot import choose_listener
from openclaw.cli.open_agent import open_agent
from openclaw.cli.trust_questions import Read, Say, ask_for_programs
from openclaw.config.mcp_settings import read_servers
from openclaw.models.model_names import Answering
from openclaw.server.server_client import find_server
from openclaw.server.wire import PromptRequest
from openclaw.tools.mcp.start import ServerStarter


def chat(
    ctx: typer.Context,
    words: options.Words = None,
    continue_: options.Continue = False,
    session: options.SessionName = None,
    model: options.ModelName = None,
    yes: options.Yes = False,
    mode: options.ModeName = None,
    no_memory: options.NoMemory = False,
    max_steps: options.Steps = None,
    skill: options.SkillName = "",
    no_save: options.NoSave = False,
    no_server: options.NoServer = False,
) -> int:
    """Chat in the terminal: streaming answers, history, completion, /commands.

    With PROMPT it begins with that.
    """
    server = None if no_server or no_save else find_server(current_home(ctx))
    request = PromptRequest(
        "",
        model=model,
        mode=mode,
        use_memory=not no_memory,
        max_steps=max_steps,
        saving=not no_save,
    )
    agent = open_agent(ctx, request, server=server)
    lines = choose_lines(agent, sys.stdin, sys.stdout)
    bell = agent.settings.bell
    listener = choose_listener("text", sys.stdout, sys.stderr, bell=bell, typed=lines.typed)
    agent.progress = listener.meanwhile
    if not mode and not agent.settings.mode:
        agent.mode = "ask"
    answering = Answering(agent.model_name, agent.settings.ollama.host)
    colours = has_colours(sys.stdout)
    asking = Permission(lines.reply, _say, listener, agent, colours=colours)
    agent.ask_user = yes_unless_untrusted(asking, _say) if yes else asking
    agent.notices += agent.recover()
    start = agent.sessions.choose(continue_, session, agent.model_name)
    if lines.interactive:
        ask_for_trust(agent, lines.reply, _say)
    first = " ".join(words or []).strip()
    with closing(agent):
        return Chat(agent, start, lines, listener, _say, answering).run(first, skill)


def ask_for_trust(agent: Agent, read: Read, say: Say) -> None:
    """Ask, at the start of a chat, for the trust that its hooks and its MCP servers lack."""
    settings = agent.settings
    if settings.hooks and agent.hooks and agent.hooks.hooks:
        ask_for_programs("hooks", agent.hooks, read, say)
    if settings.mcp:
        servers, _ = read_servers(settings.mcp)
        ask_for_programs("MCP servers", ServerStarter(agent.home, servers), read, say)


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
