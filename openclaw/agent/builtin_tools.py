"""All built-in tools of a home, in the order of the prompt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from openclaw.security.vault import Vault
from openclaw.storage.home import Home
from openclaw.tools.calculate import calculate
from openclaw.tools.file_tools import FileTools
from openclaw.tools.folders_elsewhere import with_folders
from openclaw.tools.memory_tools import KnowledgeTools, RecallTools, Searcher
from openclaw.tools.results import DEFAULT_LIMITS, ResultLimits
from openclaw.tools.session_tools import ConversationSearch, SessionTools
from openclaw.tools.shell.shell import Runner, ShellTools
from openclaw.tools.skill_tools import ProposeTools, SkillTools, TurnSkills
from openclaw.tools.tool import Tool, tool
from openclaw.tools.web.fetch import WebPages
from openclaw.tools.web.web_search import SearchFunction, SeenPages, WebTools, ddgs_search
from openclaw.types import TurnChanges

if TYPE_CHECKING:
    from openclaw.memory.notes import Notes
    from openclaw.memory.todos import TodoFile


def build_tools(
    home: Home,
    turn_changes: TurnChanges,
    *,
    todos: TodoFile,
    open_notes: Callable[[], Notes],
    skills: TurnSkills,
    searcher: Searcher | None = None,
    talks: ConversationSearch | None = None,
    search: SearchFunction = ddgs_search,
    region: str = "wt-wt",
    results: int = 3,
    seen: SeenPages | None = None,
    allow_hosts: Sequence[str] = (),
    origin: Callable[[str], str] = lambda text: "",
    vault: Vault | None = None,
    runner: Runner | None = None,
    room: ResultLimits = DEFAULT_LIMITS,
    elsewhere: Sequence[Path] = (),
) -> list[Tool]:
    """Return the tools for one home; they record what they change. Without a searcher no tool
    searches memory, without `talks` none searches conversations, without a runner none runs
    commands. `seen` is what the conversation has seen of the web, `elsewhere` are folders outside
    the home in which the user works."""
    seen = seen or SeenPages()
    files = FileTools(home, turn_changes, vault, room)
    return [
        *with_folders(files, elsewhere),
        *(RecallTools(searcher, turn_changes).tools() if searcher else ()),
        *(SessionTools(talks, turn_changes, room).tools() if talks else ()),
        *KnowledgeTools(home, turn_changes, todos, open_notes, origin).tools(),
        *SkillTools(skills, turn_changes).tools(),
        tool(calculate),
        *WebTools(turn_changes, region, results, search, seen).tools(),
        *WebPages(turn_changes, seen, allow_hosts, page_chars=room.page * 4 // 3).tools(),
        *(ShellTools(runner, vault).tools() if runner else ()),
        *ProposeTools(files).tools(),
    ]
