"""The tools of one turn: the built-in ones, those of MCP servers, and the limits of a result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from openclaw.agent.past_conversations import PastConversations
from openclaw.agent.provenance import Provenance
from openclaw.agent.window import page_chars, result_tokens
from openclaw.errors import OpenclawError
from openclaw.events import Progress
from openclaw.home.open_home import OpenHome
from openclaw.models.token_count import Meter
from openclaw.security.credentials import why_denied, why_name_denied
from openclaw.security.policy import Policy
from openclaw.security.untrusted import strip_hidden
from openclaw.storage.home import Home
from openclaw.tools.calculate import calculate
from openclaw.tools.file_tools import FileTools
from openclaw.tools.folders_elsewhere import with_folders
from openclaw.tools.memory_tools import KnowledgeTools, RecallTools, SessionTools
from openclaw.tools.results import DEFAULT_LIMITS, MAX_CHARS, ResultLimits, spill
from openclaw.tools.shell.process import ShowOutput
from openclaw.tools.shell.sandbox import why_unavailable
from openclaw.tools.shell.shell import Runner, ShellTools
from openclaw.tools.shortlist import split_tools
from openclaw.tools.skill_tools import ProposeTools, SkillTools, TurnSkills
from openclaw.tools.tool import Tool, tool
from openclaw.tools.toolbox import Toolbox
from openclaw.tools.web.web_tools import WebPages, WebTools
from openclaw.types import BeforeWrite, record_no_write

if TYPE_CHECKING:
    from openclaw.memory.notes import Notes

TAIL_LINES = 3  # last lines of a command's output that are shown while it runs


def make_toolbox(
    open_home: OpenHome,
    turn_skills: TurnSkills,
    provenance: Provenance,
    limits: ResultLimits = DEFAULT_LIMITS,
) -> Toolbox:
    """Return the tools under the policy. `provenance` watches the calls, `limits` are those of a
    result."""
    settings = open_home.settings
    programs: tuple[bool, Sequence[str]] = (False, ())
    if settings.hooks or settings.mcp:  # they may run files of the home
        from openclaw.security.program_trust import home_programs

        programs = home_programs(open_home.home, settings.hooks or {}, settings.mcp or {})
    policy = Policy(
        open_home.mode, open_home.ask_user, open_home.grants, why_unavailable, _denied, *programs
    )
    turn_changes = provenance.turn_changes
    tools = _home_tools(open_home, turn_skills, provenance, limits)
    listed, shortlist = tools, None
    if served := open_home.mcp_tools:
        listed, shortlist = split_tools(tools, served.tools(), turn_skills.request)
        if shortlist:
            shortlist.show = provenance.fence_tools
        else:
            provenance.fence_tools(listed[len(tools) :])
    return Toolbox(
        listed,
        policy,
        turn_changes,
        shortlist=shortlist,
        limits=limits,
        watch=provenance,
        masking=open_home.masker,
        hooks=open_home.hooks.tool_hooks(turn_changes) if open_home.hooks else None,
    )


def result_limits(home: Home, meter: Meter, window: int) -> ResultLimits:
    """Return the limits of a result; the meter decides which one fits a window of these tokens."""
    tokens = result_tokens(window)
    return ResultLimits(
        chars=min(MAX_CHARS, tokens * 4),
        tokens=tokens,
        within=meter.fits,
        keep=partial(spill, home),
        page=page_chars(window),
    )


def _home_tools(
    open_home: OpenHome, turn_skills: TurnSkills, provenance: Provenance, limits: ResultLimits
) -> list[Tool]:
    """The built-in tools in the order of the prompt."""
    home, settings, turn_changes = open_home.home, open_home.settings, provenance.turn_changes
    todos, shell, web = open_home.todos, settings.shell, settings.web
    todos.keep = turn_changes.keep
    files = FileTools(home, turn_changes, open_home.masker, limits)
    runner = Runner(
        home,
        turn_changes,
        shell.timeout,
        shell.env,
        shell.network,
        page=limits.page,
        show=_show_tail(open_home, open_home.progress) if open_home.progress else None,
    )
    looks_up = open_home.use_memory and settings.recall != "off"
    tools = [
        *(with_folders(files, open_home.elsewhere) if open_home.elsewhere else files.tools()),
        *(RecallTools(open_home.recall, turn_changes).tools() if looks_up else ()),
    ]
    if open_home.use_memory:
        talks = PastConversations(open_home, provenance)
        tools += SessionTools(talks, turn_changes, limits).tools()
    seen, page = open_home.seen_pages, limits.page * 4 // 3
    return [
        *tools,
        *KnowledgeTools(
            home,
            turn_changes,
            todos,
            lambda: open_notes(open_home, provenance.turn_name, turn_changes.keep),
            provenance.origin,
        ).tools(),
        *SkillTools(turn_skills, turn_changes).tools(),
        tool(calculate),
        *WebTools(turn_changes, web.region, web.results, open_home.web_search, seen).tools(),
        *WebPages(turn_changes, seen, web.allow_hosts, page_chars=page).tools(),
        *ShellTools(runner, open_home.masker).tools(),
        *ProposeTools(files).tools(),
    ]


def open_notes(open_home: OpenHome, source: str = "", keep: BeforeWrite = record_no_write) -> Notes:
    """Return the notes. A prompt's request does not need them, so they are loaded here."""
    from openclaw.memory.notes import Notes

    return Notes(
        open_home.home.memory,
        today=lambda: open_home.now().date(),
        source=lambda: source,
        keep=keep,
    )


def _show_tail(open_home: OpenHome, tell: Callable[[Progress], None]) -> ShowOutput:
    """Return a function that shows the last lines of a command's output, without secrets."""

    def show(text: str) -> None:
        with suppress(OpenclawError):  # what cannot be masked is not shown
            lines = [
                line
                for line in open_home.masker.mask_for_display(strip_hidden(text)).split("\n")
                if line.strip()
            ]
            tell(Progress(tail=tuple(lines[-TAIL_LINES:])))

    return show


def _denied(path: str) -> str:
    """Return why a file is closed, "" if it is not; the folders above the home do not count."""
    return why_denied(Path(path)) if Path(path).is_absolute() else why_name_denied(path)
