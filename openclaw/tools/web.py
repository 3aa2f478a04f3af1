"""Web search with DuckDuckGo through the ddgs library."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from openclaw.shapes import Action, Ledger, ToolProblem
from openclaw.tools.seen import Seen
from openclaw.tools.toolbox import Tool, tool

TIMEOUT_SECONDS = 10
LONGEST_SNIPPET = 300
# A word that always has results: when it has none either, the search engine shuts us out.
CONTROL = "weather"
HOST = "duckduckgo.com"  # what a grant names; ddgs may ask engines beside it

Search = Callable[[str, str, int], Sequence[Mapping[str, str]]]
"""Query, region and number of results to results with title, href and body. Raises what ddgs
raises: no result and a shut door look alike there."""


def ddgs_search(query: str, region: str, count: int) -> Sequence[Mapping[str, str]]:
    """Ask the real search engines."""
    from ddgs import DDGS

    results: Sequence[Mapping[str, str]] = DDGS(timeout=TIMEOUT_SECONDS).text(
        query, region=region, max_results=count
    )
    return results


@dataclass(frozen=True, slots=True)
class WebTools:
    """The web tools. `region` as DuckDuckGo writes it ("wt-wt" for no region)."""

    ledger: Ledger
    region: str = "wt-wt"
    results: int = 3
    search: Search = ddgs_search
    seen: Seen = field(default_factory=Seen)

    def tools(self) -> list[Tool]:
        return [tool(self.web_search, effect="get", action=_action, foreign="web")]

    def web_search(self, query: str) -> str:
        """Search the web."""
        words = " ".join(query.split())
        if not words:
            raise ToolProblem("query is empty: give words to search for.")
        self.ledger.searches.append(words)
        found = self._found(words)
        if not found:
            if not self._found(CONTROL):
                raise ToolProblem(_SHUT)
            return f'The web has no results for "{words}". Try fewer or other words.'
        text = "\n\n".join(_entry(number, hit) for number, hit in enumerate(found, 1))
        self.seen.read(text)
        return text

    def _found(self, query: str) -> Sequence[Mapping[str, str]]:
        """Results, none when the engine says so. Raises ToolProblem when it cannot be asked."""
        from ddgs.exceptions import DDGSException, RatelimitException, TimeoutException

        try:
            return self.search(query, self.region, self.results)[: self.results]
        except RatelimitException:
            raise ToolProblem(_SHUT) from None
        except (TimeoutException, OSError):
            raise ToolProblem(_AWAY) from None
        except DDGSException as error:
            if "no results" in str(error).casefold():
                return ()
            raise ToolProblem(_AWAY) from None


def _action(arguments: Mapping[str, Any]) -> Action:
    return Action("web_search", "get", HOST, str(arguments.get("query", "")))


_SHUT = "The search engine refuses searches for now (rate limit). Tell the user; do not guess."
_AWAY = "The search engine cannot be reached. Tell the user; do not guess."


def _entry(number: int, hit: Mapping[str, str]) -> str:
    body = " ".join(hit.get("body", "").split())
    if len(body) > LONGEST_SNIPPET:
        body = body[:LONGEST_SNIPPET].rsplit(" ", 1)[0] + " ..."
    return f"{number}. {hit.get('title', '')}\n{hit.get('href', '')}\n{body}".rstrip()
