"""RSS and Atom feeds as a list of links. Imports lxml: import this module only lazily."""

from __future__ import annotations

from urllib.parse import urljoin

from lxml import etree

from openclaw.tools.page import Page

MOST_ITEMS = 100
_DATES = ("pubDate", "published", "updated", "date")


def feed_page(body: bytes, url: str) -> Page | None:
    """Titles, dates and links of a feed's entries; None for what is none.

    Entities are not resolved and nothing is loaded.
    """
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=True
    )
    try:
        root = etree.fromstring(body, parser)
    except (etree.XMLSyntaxError, ValueError):
        return None
    if root is None:
        return None
    channel = next((item for item in root.iter() if _name(item) in ("channel", "feed")), root)
    items = [item for item in root.iter() if _name(item) in ("item", "entry")]
    lines: list[str] = []
    for item in items[:MOST_ITEMS]:
        title, link = _child(item, "title") or "(no title)", _link(item, url)
        date = next(filter(None, (_child(item, name) for name in _DATES)), "")
        lines.append(
            f"- {title}" + (f" ({date})" if date else "") + (f"\n  {link}" if link else "")
        )
    if len(items) > MOST_ITEMS:
        lines.append(f"[{len(items) - MOST_ITEMS} more entries are left out.]")
    text = "\n".join(lines) or "The feed has no entries."
    return Page(_child(channel, "title"), text)


def _name(element: etree._Element) -> str:
    """A tag without its namespace; "" for a comment."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def _child(element: etree._Element, name: str) -> str:
    for child in element:
        if _name(child) == name:
            return " ".join("".join(child.itertext()).split())[:300]
    return ""


def _link(item: etree._Element, url: str) -> str:
    """RSS has the link as text, Atom as an attribute."""
    for child in item:
        if _name(child) == "link" and child.get("rel", "alternate") == "alternate":
            found = (child.get("href") or child.text or "").strip()
            try:
                whole = urljoin(url, found) if found else ""
            except ValueError:
                continue
            if whole.startswith(("http://", "https://")) and not set(whole) & set(' \n<>"'):
                return whole
    return ""
