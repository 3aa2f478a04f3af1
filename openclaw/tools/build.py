"""All built-in tools of a home, in the order of the prompt."""

from __future__ import annotations

from openclaw.files.home import Home
from openclaw.shapes import Ledger
from openclaw.tools.calculate import calculate
from openclaw.tools.files import FileTools
from openclaw.tools.knowledge import KnowledgeTools, NoteStore, TodoStore
from openclaw.tools.recall import RecallTools, Searcher
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
    search: Search = ddgs_search,
    region: str = "wt-wt",
    results: int = 3,
) -> list[Tool]:
    """The tools over one home; what they do is written into the ledger. Without a searcher there
    are no tools that search memory."""
    return [
        *FileTools(home, ledger).tools(),
        *(RecallTools(searcher).tools() if searcher else ()),
        *KnowledgeTools(home, ledger, todos, notes).tools(),
        *SkillTools(skills, ledger).tools(),
        tool(calculate),
        *WebTools(ledger, region, results, search).tools(),
    ]
