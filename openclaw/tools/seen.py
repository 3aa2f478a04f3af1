"""What a conversation has seen of the web: the last pages, and the addresses that stood in them."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

from openclaw.safety.url import Url, urls_in

MOST_PAGES = 10
MOST_LINKS = 2_000


@dataclass(frozen=True, slots=True)
class Fetched:
    """A page as it was fetched: where it was in the end, and its text cut into parts."""

    url: Url
    title: str
    parts: tuple[str, ...]


@dataclass(slots=True)
class Seen:
    """Kept in memory only, while the program runs. `links` are what others wrote and the model
    read: such an address carries nothing of the home (see `safety.url.effect_of`)."""

    links: dict[str, None] = field(default_factory=dict)
    _pages: OrderedDict[Url, Fetched] = field(default_factory=OrderedDict)

    def page(self, url: Url) -> Fetched | None:
        """The page that was fetched from this URL lately."""
        if url in self._pages:
            self._pages.move_to_end(url)
        return self._pages.get(url)

    def keep(self, url: Url, page: Fetched) -> None:
        self._pages[url] = page
        self._pages.move_to_end(url)
        while len(self._pages) > MOST_PAGES:
            self._pages.popitem(last=False)

    def read(self, text: str) -> None:
        """Note the URLs of a text that the model is given."""
        for url in urls_in(text):
            self.links.pop(url, None)
            self.links[url] = None
        while len(self.links) > MOST_LINKS:
            del self.links[next(iter(self.links))]
