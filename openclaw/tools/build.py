"""All built-in tools of a home, in the order of the prompt."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from openclaw.files.home import Home
from openclaw.safety.vault import Vault
from openclaw.shapes import Ledger
from openclaw.tools.calculate import calculate
from openclaw.tools.fetch import WebPages
from openclaw.tools.files import FileTools
from openclaw.tools.knowledge import KnowledgeTools, NoteStore, TodoStore
from openclaw.tools.propose import ProposeTools
from openclaw.tools.recall import RecallTools, Searcher
from openclaw.tools.results import USUAL, Room
from openclaw.tools.runner import Runner
from openclaw.tools.seen import Seen
from openclaw.tools.sessions import SessionTools, Talks
from openclaw.tools.shell import ShellTools
from openclaw.tools.skills import SkillShelf, SkillTools
from openclaw.tools.toolbox import Tool, tool
from openclaw.tools.web import Search, WebTools, ddgs_search


def build_tools(
    home: Home,
    ledger: Ledger,
    *,
    todos: TodoStore,
    notes: NoteStore,
    skills: SkillShelf,
    searcher: Searcher | None = None,
    talks: Talks | None = None,
    search: Search = ddgs_search,
    region: str = "wt-wt",
    results: int = 3,
    seen: Seen | None = None,
    allow_hosts: Sequence[str] = (),
    origin: Callable[[str], str] = lambda text: "",
    vault: Vault | None = None,
    runner: Runner | None = None,
    room: Room = USUAL,
) -> list[Tool]:
    """The tools over one home; what they do is written into the ledger. Without a searcher there
    are no tools that search memory, without `talks` none that searches conversations, without a
    runner none that run commands. `seen` is what the conversation has seen of the web."""
    seen = seen or Seen()
    files = FileTools(home, ledger, vault, room)
    return [
        *files.tools(),
        *(RecallTools(searcher).tools() if searcher else ()),
        *(SessionTools(talks, ledger, room).tools() if talks else ()),
        *KnowledgeTools(home, ledger, todos, notes, origin).tools(),
        *SkillTools(skills, ledger).tools(),
        tool(calculate),
        *WebTools(ledger, region, results, search, seen).tools(),
        *WebPages(ledger, seen, allow_hosts, page_chars=room.page * 4 // 3).tools(),
        *(ShellTools(runner, vault).tools() if runner else ()),
        *ProposeTools(files).tools(),
    ]
