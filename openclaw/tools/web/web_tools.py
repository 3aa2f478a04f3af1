"""The tools for the web: a search by DuckDuckGo through the ddgs library, and pages as text."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from openclaw.frozen import frozen
from openclaw.security.display import count_of
from openclaw.security.masking import MASK
from openclaw.security.network import (
    Resolve,
    Url,
    check_url_allowed,
    effect_of,
    read_url,
    system_resolve,
    urls_in,
)
from openclaw.tools.tool import CallForm, Tool, tool
from openclaw.tools.web.page import INSTEAD, read_page_in_child
from openclaw.types import Action, ForeignProblem, ToolProblem, TurnChanges, WebPage

if TYPE_CHECKING:
    from openclaw.tools.web.http_get import HttpReply


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
    _pages: dict[Url, Fetched] = field(default_factory=dict)

    def page(self, url: Url) -> Fetched | None:
        """The page that was recently fetched from this URL."""
        if page := self._pages.pop(url, None):
            self._pages[url] = page
        return page

    def keep(self, url: Url, page: Fetched) -> None:
        self._pages[url] = page
        _drop_oldest(self._pages, MAX_PAGES)

    def read(self, text: str) -> None:
        """Note the URLs of a text that the model gets."""
        for url in urls_in(text):
            self.links.pop(url, None)
            self.links[url] = None
        _drop_oldest(self.links, MAX_LINKS)


def _drop_oldest(kept: dict[Any, Any], most: int) -> None:
    while len(kept) > most:
        del kept[next(iter(kept))]


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


MAX_PAGES = 10
MAX_LINKS = 2_000


@frozen
class Fetched:
    """A fetched page: its final URL, and its text cut into parts."""

    url: Url
    title: str
    parts: tuple[str, ...]


PAGE_CHARS = 8_000
LONGEST_ERROR = 300
SECONDS = 15.0


@frozen
class WebPages:
    """The tool `fetch_url`. `allow_hosts` are hosts that may be local (`localhost:8080`). A page is
    shown in parts of `page_chars` characters."""

    turn_changes: TurnChanges
    seen: SeenPages = field(default_factory=SeenPages)
    allow_hosts: Collection[str] = ()
    resolve: Resolve = system_resolve
    seconds: float = SECONDS
    page_chars: int = PAGE_CHARS

    def tools(self) -> list[Tool]:
        forms = (CallForm("get", arguments=("url",)), CallForm("get", arguments=("url", "page")))
        return [tool(self.fetch_url, forms=forms, action=self.action, foreign="web", masks="url")]

    def action(self, arguments: Mapping[str, Any]) -> Action:
        """The action of a call. A kept page is read again without the network. Raises ToolProblem
        for an address that can never be fetched, so that the user is not asked."""
        text = str(arguments.get("url", ""))
        url = read_url(text)
        if self.seen.page(url) is not None:
            return Action("fetch_url", "read", url.host, str(url))
        check_url_allowed(url, self.allow_hosts, self.resolve)
        if MASK.search(text):  # a secret replaces it before the page is fetched
            return Action("fetch_url", "send", url.host, text.strip())
        typed = urls_in(self.turn_changes.request) if self.turn_changes.typed else ()
        known = (*self.seen.links, *typed)
        return Action("fetch_url", effect_of(text, known), url.host, str(url))

    def fetch_url(self, url: str, page: int = 1) -> str:
        """Read a web page."""
        asked = read_url(url)
        fetched = self.seen.page(asked)
        if fetched is None:
            fetched = self._fetched(asked)
            self.seen.keep(asked, fetched)
        number = max(page, 1)
        if number > len(fetched.parts):
            raise ToolProblem(f"{asked} has only {count_of(len(fetched.parts), 'page')}.")
        self.seen.read(fetched.parts[number - 1])
        return _format_part(fetched, asked, number)

    def _fetched(self, url: Url) -> Fetched:
        from openclaw.tools.web.http_get import FetchOptions, fetch

        try:
            way = FetchOptions(tuple(self.allow_hosts), self.resolve, self.seconds)
            reply = fetch(url, way)
        except ForeignProblem as problem:
            self.seen.read(str(problem))
            raise
        if not 200 <= reply.status < 300:
            raise ForeignProblem(_failure_line(reply))
        page = _read_reply(reply)
        if not page.text.strip():
            raise ToolProblem(
                f"{reply.url.host} sent a page without text that can be read here: it may need a "
                f"browser, or be nested too deep. {INSTEAD}"
            )
        return Fetched(reply.url, page.title, parts_of(page.text, self.page_chars))


def parts_of(text: str, most: int = PAGE_CHARS) -> tuple[str, ...]:
    """Cut a text into parts of at most `most` characters, at line ends, else at blanks."""
    parts = []
    while len(text) > most:
        end = text.rfind("\n", most // 2, most)
        end = end if end > 0 else text.rfind(" ", most // 2, most)
        end = end if end > 0 else most
        parts.append(text[:end].rstrip())
        text = text[end:].lstrip("\n")
    return (*parts, text)


def _format_part(fetched: Fetched, asked: Url, number: int) -> str:
    count = len(fetched.parts)
    head = [f"Title: {fetched.title}"] if fetched.title else []
    lines = [*head, f"URL: {fetched.url}", "", fetched.parts[number - 1]]
    if number < count:
        lines.append(f'[Page {number} of {count}. Next: fetch_url("{asked}", page={number + 1})]')
    elif count > 1:
        lines.append(f"[Page {number} of {count}, the last.]")
    return "\n".join(lines)


def _read_reply(reply: HttpReply) -> WebPage:
    return read_page_in_child(reply.body, reply.headers.get("content-type", ""), str(reply.url))


def _failure_line(reply: HttpReply) -> str:
    """The status and the server's explanation in one line."""
    phrase = next((f" {each.phrase}" for each in HTTPStatus if each == reply.status), "")
    try:
        page = _read_reply(reply)
        said = " ".join(f"{page.title} {page.text}".split())[:LONGEST_ERROR]
    except ToolProblem:
        said = ""
    answer = f"{reply.url} answers {reply.status}{phrase}. {INSTEAD}"
    return f"{answer} It says: {said}" if said else answer
