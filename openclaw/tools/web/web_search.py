"""Web search with DuckDuckGo through the ddgs library."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from openclaw.frozen import frozen
from openclaw.security.network import Url, urls_in
from openclaw.tools.tool import Tool, tool
from openclaw.types import Action, ToolProblem, TurnChanges

TIMEOUT_SECONDS = 10
LONGEST_SNIPPET = 300
# A word that always has results. Without results for it too, the search engine is blocking us.
CONTROL = "weather"
HOST = "duckduckgo.com"  # the host in a grant; ddgs may ask other engines too

SearchFunction = Callable[[str, str, int], Sequence[Mapping[str, str]]]
"""Takes query, region and number of results; returns results with title, href and body. Raises
what ddgs raises: no result and a blocked client look alike there."""


def ddgs_search(query: str, region: str, count: int) -> Sequence[Mapping[str, str]]:
    """Ask the real search engines."""
    from ddgs import DDGS

    results: Sequence[Mapping[str, str]] = DDGS(timeout=TIMEOUT_SECONDS).text(
        query, region=region, max_results=count
    )
    return results


@dataclass(slots=True)
class SeenPages:
    """Fetched pages and links, in memory only. `links` are addresses that others wrote and the
    model read: such an address carries nothing of the home (see `security.network.effect_of`)."""

    links: dict[str, None] = field(default_factory=dict)
    _pages: OrderedDict[Url, Fetched] = field(default_factory=OrderedDict)

    def page(self, url: Url) -> Fetched | None:
        """The page that was recently fetched from this URL."""
        if url in self._pages:
            self._pages.move_to_end(url)
        return self._pages.get(url)

    def keep(self, url: Url, page: Fetched) -> None:
        self._pages[url] = page
        self._pages.move_to_end(url)
        while len(self._pages) > MOST_PAGES:
            self._pages.popitem(last=False)

    def read(self, text: str) -> None:
        """Note the URLs of a text that the model gets."""
        for url in urls_in(text):
            self.links.pop(url, None)
            self.links[url] = None
        while len(self.links) > MOST_LINKS:
            del self.links[next(iter(self.links))]


@frozen
class WebTools:
    """The web tools. `region` as DuckDuckGo writes it ("wt-wt" for no region)."""

    turn_changes: TurnChanges
    region: str = "wt-wt"
    results: int = 3
    search: SearchFunction = ddgs_search
    seen: SeenPages = field(default_factory=SeenPages)

    def tools(self) -> list[Tool]:
        return [tool(self.web_search, effect="get", action=_action, foreign="web")]

    def web_search(self, query: str) -> str:
        """Search the web."""
        words = " ".join(query.split())
        if not words:
            raise ToolProblem("query is empty: give words to search for.")
        self.turn_changes.searches.append(words)
        found = self._search_or_refuse(words)
        if not found:
            if not self._search_or_refuse(CONTROL):
                raise ToolProblem(_SHUT)
            return f'The web has no results for "{words}". Try fewer or other words.'
        text = "\n\n".join(_format_hit(number, hit) for number, hit in enumerate(found, 1))
        self.seen.read(text)
        return text

    def _search_or_refuse(self, query: str) -> Sequence[Mapping[str, str]]:
        """The results, none when there are none. Raises ToolProblem when the search fails."""
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


def _format_hit(number: int, hit: Mapping[str, str]) -> str:
    body = " ".join(hit.get("body", "").split())
    if len(body) > LONGEST_SNIPPET:
        body = body[:LONGEST_SNIPPET].rsplit(" ", 1)[0] + " ..."
    return f"{number}. {hit.get('title', '')}\n{hit.get('href', '')}\n{body}".rstrip()


MOST_PAGES = 10
MOST_LINKS = 2_000


@frozen
class Fetched:
    """A fetched page: its final URL, and its text cut into parts."""

    url: Url
    title: str
    parts: tuple[str, ...]
