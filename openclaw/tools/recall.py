"""Memory search as tools. What searches comes in as a protocol."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from openclaw.files.comments import without_comments
from openclaw.shapes import ToolProblem
from openclaw.tools.toolbox import Tool, tool

RESULTS = 5
LINES = re.compile(r"\s*(?P<start>\d+)\s*(?:[-:\u2013]\s*(?P<end>\d+))?\s*")
MOST_LINES = 200


class Searcher(Protocol):
    """The index of the home. Both raise ToolProblem when they cannot."""

    def search(self, question: str, k: int, /) -> Sequence[Mapping[str, Any]]: ...
    def get(self, path: str, start: int, end: int, /) -> str: ...


@dataclass(frozen=True, slots=True)
class RecallTools:
    searcher: Searcher

    def tools(self) -> list[Tool]:
        return [tool(self.memory_search), tool(self.memory_get)]

    def memory_search(self, query: str) -> str:
        """Find what memory and notes say, by words and meaning."""
        if not query.strip():
            raise ToolProblem("query is empty: say what to look for.")
        found = self.searcher.search(query, RESULTS)
        if not found:
            return f'Nothing in memory or files is about "{query}".'
        return "\n".join(f"{where(passage)}: {flat(passage['text'])}" for passage in found)

    def memory_get(self, path: str, lines: str) -> str:
        """Read lines around a found passage, such as "10-20"."""
        found = LINES.fullmatch(lines)
        if not found:
            raise ToolProblem(f"lines is like 10-20, not {lines}.")
        start = max(1, int(found["start"]))
        end = min(int(found["end"] or start), start + MOST_LINES - 1)
        return self.searcher.get(path, start, max(start, end))


def where(passage: Mapping[str, Any]) -> str:
    """`path:line` of a passage, or `path:first-last`."""
    start, end = passage["start_line"], passage["end_line"]
    return f"{passage['path']}:{start}" + (f"-{end}" if end > start else "")


def flat(text: str) -> str:
    """A passage without the list mark and the comments that only concern its keeping."""
    return re.sub(r"^[-*+] (?:\[[ xX]\] )?", "", without_comments(text).strip())
