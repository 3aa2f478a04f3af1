"""An HTML page as Markdown, its main content first. Imports lxml: import only lazily.

The page names its main part (<main>, <article>), or readability-lxml guesses it; markdownify
converts it. When the guess is only a small part of the page, the whole page is taken. Compared on
the pages of tests/pages with trafilatura 2.3, which loses blank lines in code, headings before the
first paragraph and authors in a forum, and needs 40 MB.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urljoin

from lxml import etree
from lxml.html import HtmlElement, HTMLParser, document_fromstring, tostring
from markdownify import MarkdownConverter

from openclaw.storage.foreign_readers import quiet
from openclaw.types import WebPage

MAX_SOURCE = 1_500_000  # characters of HTML that are read: some seconds
MAX_ELEMENTS = 50_000  # elements that are converted to Markdown: each takes 50 us
MAX_GUESSED = 300_000  # characters; for more the guess takes too long
LONGEST_LINK = 300
# Shares of all text: a smaller part is not believed to be the main one.
SAID = 0.2
GUESSED = 0.4
MAX_ATTRIBUTES = 200  # of one element: each look-up walks along all of them
MAX_COLUMNS = 100  # that one cell may take

_AROUND = frozenset({"nav", "footer", "aside", "menu"})
_ROLES = frozenset({"navigation", "banner", "contentinfo", "complementary", "search"})
_KEPT = frozenset({"href", "colspan", "rowspan", "start", "class"})
_MARKS = frozenset({"\u00b6", "\u00a7", "#", "\U0001f517"})  # links of headings to themselves
# A hundred thousand attributes take libxml2 14 s.
_HUGE_TAG = re.compile(r"<[A-Za-z][^<>]{20000,}>?")
_LANGUAGE = re.compile(r"\b(?:language|lang|highlight-source)-([A-Za-z0-9+#-]{1,20})\b")


def html_page(source: str, url: str) -> WebPage:
    """Title and Markdown of a page; its plain text when it cannot be converted to Markdown."""
    root = _parse(source)
    if root is None:
        return WebPage("", "")
    named = root.find(".//title")
    title = "" if named is None else " ".join(named.text_content().split())
    base = _base(root, url)
    drop_hidden(root)
    body = root.find("body") if root.find("body") is not None else root
    _make_links_absolute(body, base)
    chosen = _main_part(body)
    if sum(1 for _ in chosen.iter()) > MAX_ELEMENTS:
        return WebPage(title, _plain_text(chosen))
    with quiet("bs4"):
        try:
            text = _markdown(chosen)
        except RecursionError:
            text = _plain_text(chosen)
    return WebPage(title, text)


def _parse(source: str) -> HtmlElement | None:
    parser = HTMLParser(remove_comments=True, remove_pis=True, no_network=True, huge_tree=False)
    text = re.sub(r"\A\s*<\?xml[^>]*>", "", source[:MAX_SOURCE]).replace("\0", "")
    text = _HUGE_TAG.sub("", text)
    text = re.sub(r"[^\S\n]{60,}", " ", text)  # runs of blanks make regular expressions slow
    text = re.sub(r"(?:[^\S\n]*\n){30,}", "\n\n", text)
    try:
        return document_fromstring(text, parser=parser)
    except (etree.ParserError, ValueError):
        return None


def _base(root: HtmlElement, url: str) -> str:
    found = root.find(".//base[@href]")
    try:
        return urljoin(url, found.get("href")) if found is not None else url
    except ValueError:
        return url


def _make_links_absolute(body: HtmlElement, base: str) -> None:
    """Make links absolute. Links that lead nowhere (scripts, data, places in the page) or are too
    long to read lose their address, all other elements their attributes."""
    for mark in [each for each in body.iter("a") if (each.text or "").strip() in _MARKS]:
        mark.drop_tree()
    for element in body.iter():
        if not isinstance(element.tag, str):
            continue
        href = (element.get("href") or "").strip() if element.tag == "a" else ""
        if len(element.attrib) > MAX_ATTRIBUTES:
            element.attrib.clear()
        for name in set(element.attrib) - _KEPT:
            if not (name == "role" or (name == "id" and element.tag != "a")):
                del element.attrib[name]
        for name in ("colspan", "rowspan", "start"):
            number = element.get(name)
            if number and not re.fullmatch("[0-9]{1,4}", number):
                del element.attrib[name]
            elif number and name != "start":
                element.set(name, str(min(int(number), MAX_COLUMNS)))
        element.attrib.pop("href", None)
        whole = _absolute_url(href, base)
        if whole:
            element.set("href", whole)


def _absolute_url(href: str, base: str) -> str:
    if not href or href.startswith("#"):
        return ""
    try:
        whole = urljoin(base, href)
    except ValueError:
        return ""
    web = whole.lower().startswith(("http://", "https://"))
    odd = re.search(r"[\s<>\"()\x00-\x1f]", whole)
    return whole if web and not odd and len(whole) <= LONGEST_LINK else ""


def _main_part(body: HtmlElement) -> HtmlElement:
    """The main part of the page, or the whole body without navigation and the like."""
    for around in [each for each in body.iter() if _is_around(each)]:
        if around.getparent() is not None:
            around.drop_tree()
    total = _text_length(body)
    for path in (".//main", ".//*[@role='main']", ".//article"):
        found = body.findall(path)
        if len(found) == 1 and _text_length(found[0]) >= SAID * total:
            return found[0]
    guess = _guess_main_part(body)
    if guess is None or _text_length(guess) < GUESSED * total:
        return body
    # The guess looks for prose; it may lose tables and code.
    lost = any(
        len(guess.findall(path)) < len(body.findall(path)) for path in (".//table", ".//pre")
    )
    return body if lost else guess


def _is_around(element: HtmlElement) -> bool:
    if element.tag in _AROUND or element.get("role") in _ROLES:
        return True
    inside = ("article", "main", "section")
    return element.tag == "header" and next(element.iterancestors(*inside), None) is None


def _text_length(element: HtmlElement) -> int:
    """Characters of text, blanks not counted."""
    return sum(len("".join(text.split())) for text in element.itertext())


def _guess_main_part(body: HtmlElement) -> HtmlElement | None:
    from readability import Document
    from readability.readability import Unparseable

    source = tostring(body, encoding="unicode")
    if len(source) > MAX_GUESSED:
        return None
    try:
        with quiet("readability.readability"):
            summary = Document(source, min_text_length=1).summary(html_partial=True)
        return document_fromstring(summary).find("body")
    except (Unparseable, etree.ParserError, ValueError):
        return None


def _markdown(element: HtmlElement) -> str:
    converter = _Converter(
        bs4_options="lxml",
        heading_style="ATX",
        bullets="-",
        escape_asterisks=False,
        escape_underscores=False,
        table_infer_header=True,
        code_language_callback=_language,
    )
    text: str = converter.convert(tostring(element, encoding="unicode", with_tail=False))
    return re.sub(r"\n{3,}", "\n\n", re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE)).strip()


class _Converter(MarkdownConverter):
    """Avoids slow code of the library, which for each row and item looks at all earlier ones."""

    def convert_tr(self, row: Any, text: str, parent_tags: Any) -> str:
        """Only the first row of a table's first part may be a head row."""
        part = row.parent
        later = part.name == "tbody" and part.find_previous_sibling("tbody") is not None
        if later or row.find_previous_sibling() is not None:
            return f"|{text}\n"
        return str(super().convert_tr(row, text, parent_tags))  # type: ignore[misc]

    def convert_li(self, item: Any, text: str, parent_tags: Any) -> str:
        """The items of a numbered list come in their order, so they need not be counted."""
        numbered = item.parent
        if numbered is None or numbered.name != "ol":
            return str(super().convert_li(item, text, parent_tags))  # type: ignore[misc]
        number = int(numbered.get("start") or 1)
        numbered["start"] = str(number + 1)
        mark = f"{number}. "
        lines = text.strip().split("\n")
        indented = [line and " " * len(mark) + line for line in lines]
        return mark + "\n".join(indented)[len(mark) :] + "\n" if text.strip() else "\n"


def _language(element: Any) -> str:
    """The language that highlighters put into the class of <pre> or of the <code> in it."""
    inner = element.find("code")
    for each in (element, inner):
        found = _LANGUAGE.search(" ".join(each.get("class") or ())) if each is not None else None
        if found:
            return found[1]
    return ""


def _plain_text(element: HtmlElement) -> str:
    lines = (" ".join(text.split()) for text in element.itertext())
    return "\n".join(line for line in lines if line)


_TAGS = """
    script style template noscript svg iframe object embed canvas audio video img picture map input
    select textarea button datalist option noframes noembed head title meta link rp
""".split()
# A comment without an end goes to the end of the sheet, as in a browser.
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_ZERO = r"\s*:\s*[+-]?0*(?:\.0*)?(?:px|em|rem|ex|ch|pt|%|vw|vh)?\s*(?:;|!|\Z)"
_HIDING = re.compile(
    r"(?:^|[;\s{])(?:"
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|content-visibility\s*:\s*hidden"
    rf"|(?:font-size|opacity|max-height|max-width){_ZERO}"
    r"|font-size\s*:\s*(?:0?\.\d+|1)\s*px|font\s*:[^;]{0,200}\b0(?:px|em|pt)?\s*[/ ]"
    r"|(?:left|right|top|bottom|text-indent|margin-(?:left|top))\s*:\s*-\s*\d{3,}"
    r"|clip\s*:\s*rect\(\s*[01](?:px)?[\s,]|clip-path\s*:\s*(?:inset\(\s*(?:50|100)%|circle\(\s*0)"
    r"|transform\s*:\s*(?:scale[xy]?\(\s*0?\.?0*\s*[,)]|translate[xy]?\(\s*-\s*\d{4,})"
    r"|color\s*:\s*(?:transparent|rgba?\([^)]{0,200}[,/]\s*0?\.?0+%?\s*\)|#[0-9a-f]{6}00\b|#[0-9a-f]{3}0\b)"
    r")",
    re.IGNORECASE,
)
_BOX = re.compile(rf"(?:^|[;\s])(?:height|width){_ZERO}", re.IGNORECASE)
_CLIPPED = re.compile(r"overflow(?:-[xy])?\s*:\s*(?:hidden|clip)", re.IGNORECASE)
_COLOUR = re.compile(r"(?:^|[;\s])color\s*:\s*([^;!]+)", re.IGNORECASE)
_BACKGROUND = re.compile(r"(?:^|[;\s])background(?:-color)?\s*:\s*([^;!]+)", re.IGNORECASE)
_RULE = re.compile(r"([^{}]{1,300})\{([^{}]{0,2000})\}")
_SIMPLE = re.compile(r"\s*[a-z]*([.#])([\w-]+)\s*\Z", re.IGNORECASE)
_WHITES = frozenset({"white", "#fff", "#ffffff", "rgb(255,255,255)", "snow", "ivory"})
_NAMES = {"white": "#ffffff", "black": "#000000", "rgb(255,255,255)": "#ffffff"}


def drop_hidden(root: HtmlElement) -> None:
    """Remove hidden elements and their content from the tree. The text after them stays."""
    classes, ids = _hidden_by_rules(root)
    for element in [*root.iter(*_TAGS), *_find_hidden(root, classes, ids)]:
        if element.getparent() is not None:
            element.drop_tree()


def _find_hidden(root: HtmlElement, classes: set[str], ids: set[str]) -> Iterator[HtmlElement]:
    grounds: dict[HtmlElement, str] = {}
    for element in root.iter():
        if not isinstance(element.tag, str) or element.tag in ("html", "body"):
            continue
        named = element.get("id") in ids or not classes.isdisjoint(
            (element.get("class") or "").split()
        )
        if named or _is_hidden_by_attribute(element) or _is_hidden_by_style(element, grounds):
            yield element


def _is_hidden_by_attribute(element: HtmlElement) -> bool:
    return (
        "hidden" in element.attrib
        or element.get("aria-hidden", "").strip().lower() == "true"
        or (element.tag == "dialog" and "open" not in element.attrib)
    )


def _is_hidden_by_style(element: HtmlElement, grounds: dict[HtmlElement, str]) -> bool:
    style = _COMMENT.sub("", element.get("style") or "")
    if style and (_HIDING.search(style) or (_BOX.search(style) and _CLIPPED.search(style))):
        return True
    if element.tag == "font" and element.get("color"):
        style = f"color:{element.get('color')};{style}"
    found = _COLOUR.search(style)
    return found is not None and _has_background_colour(element, _plain_colour(found[1]), grounds)


def _has_background_colour(
    element: HtmlElement, colour: str, grounds: dict[HtmlElement, str]
) -> bool:
    """Return True when text has the colour of its background. White text without any background
    counts when no class or id could give it one. `grounds` are the known backgrounds."""
    for each in (element, *element.iterancestors()):
        if each not in grounds:
            found = _BACKGROUND.search(each.get("style") or "")
            grounds[each] = found[1] if found else each.get("bgcolor") or ""
        if ground := grounds[each]:
            return _plain_colour(ground) == colour
        if each.get("class") or each.get("id"):
            return False
    return colour in _WHITES


def _plain_colour(colour: str) -> str:
    """Convert a colour to one spelling, in the simple cases."""
    text = re.sub(r"\s+", "", colour).lower()
    if re.fullmatch(r"#[0-9a-f]{3}", text):
        text = "#" + "".join(digit * 2 for digit in text[1:])
    return _NAMES.get(text, text)


def _hidden_by_rules(root: HtmlElement) -> tuple[set[str], set[str]]:
    """The classes and ids that the page's own style sheets hide in every medium."""
    classes: set[str] = set()
    ids: set[str] = set()
    for sheet in root.iter("style"):
        if "print" in (sheet.get("media") or ""):
            continue
        for selectors, rules in _RULE.findall(_strip_nested_rules(sheet.text or "")):
            if not _HIDING.search(rules):
                continue
            for selector in selectors.split(","):
                if simple := _SIMPLE.fullmatch(selector):
                    (classes if simple[1] == "." else ids).add(simple[2])
    return classes, ids


def _strip_nested_rules(sheet: str) -> str:
    """A style sheet without comments and without the content of @media and similar blocks."""
    text = _COMMENT.sub("", sheet[:200_000])
    kept: list[str] = []
    depth = nested = 0
    for piece in re.split(r"([{}])", text):
        if piece == "{":
            depth += 1
        elif piece == "}":
            depth = max(depth - 1, 0)
            if nested and depth < nested:
                nested = 0
                continue
        elif depth == 0 and "@" in piece:
            nested = 1
            continue
        if not nested:
            kept.append(piece)
    return "".join(kept)


MAX_ITEMS = 100
_DATES = ("pubDate", "published", "updated", "date")


def feed_page(body: bytes, url: str) -> WebPage | None:
    """Titles, dates and links of a feed's entries; None when the body is not a feed.

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
    (channel,) = _named(root, "channel", "feed")[:1] or [root]
    items = _named(root, "item", "entry")
    lines: list[str] = []
    for item in items[:MAX_ITEMS]:
        title, link = _child(item, "title") or "(no title)", _link(item, url)
        date = next(filter(None, (_child(item, name) for name in _DATES)), "")
        lines.append(
            f"- {title}" + (f" ({date})" if date else "") + (f"\n  {link}" if link else "")
        )
    if len(items) > MAX_ITEMS:
        lines.append(f"[{len(items) - MAX_ITEMS} more entries are left out.]")
    text = "\n".join(lines) or "The feed has no entries."
    return WebPage(_child(channel, "title"), text)


def _named(root: etree._Element, *names: str) -> list[etree._Element]:
    """The elements with these names, in any namespace."""
    return [each for each in root.iter("{*}*") if each.tag.rpartition("}")[2] in names]


def _child(element: etree._Element, name: str) -> str:
    child = element.find(f"{{*}}{name}")
    return "" if child is None else " ".join("".join(child.itertext()).split())[:300]


def _link(item: etree._Element, url: str) -> str:
    """RSS has the link as text, Atom as an attribute."""
    for child in item.iterchildren("{*}link"):
        if child.get("rel", "alternate") == "alternate":
            found = (child.get("href") or child.text or "").strip()
            try:
                whole = urljoin(url, found) if found else ""
            except ValueError:
                continue
            if whole.startswith(("http://", "https://")) and not set(whole) & set(' \n<>"'):
                return whole
    return ""
