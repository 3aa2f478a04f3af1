"""An HTML page as Markdown, its main content first. Imports lxml: import only lazily.

Which part is the main one is said by the page (<main>, <article>) or guessed by readability-lxml;
markdownify writes it down. Where the guess is a small part of what is there, all of it is taken.
Compared on the pages of tests/pages with trafilatura 2.3, which loses blank lines in code, headings
before the first paragraph and authors in a forum, and brings 40 MB along.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urljoin

from lxml import etree
from lxml.html import HtmlElement, HTMLParser, document_fromstring, tostring
from markdownify import MarkdownConverter

from openclaw.files.quiet import quiet
from openclaw.tools.page import Page
from openclaw.tools.unseen import drop_unseen

MOST_SOURCE = 1_500_000  # characters of HTML that are read: some seconds
MOST_ELEMENTS = 50_000  # that are written as Markdown: each takes 50 us
MOST_GUESSED = 300_000  # for more the guess takes too long
LONGEST_LINK = 300
# Shares of all text: a smaller part is not believed to be the main one.
SAID = 0.2
GUESSED = 0.4
MOST_ATTRIBUTES = 200  # of one element: each look-up walks along all of them
MOST_COLUMNS = 100  # that one cell may take

_AROUND = frozenset({"nav", "footer", "aside", "menu"})
_ROLES = frozenset({"navigation", "banner", "contentinfo", "complementary", "search"})
_KEPT = frozenset({"href", "colspan", "rowspan", "start", "class"})
_MARKS = frozenset({"\u00b6", "\u00a7", "#", "\U0001f517"})  # links of headings to themselves
# A hundred thousand attributes take libxml2 14 s.
_HUGE_TAG = re.compile(r"<[A-Za-z][^<>]{20000,}>?")
_LANGUAGE = re.compile(r"\b(?:language|lang|highlight-source)-([A-Za-z0-9+#-]{1,20})\b")


def html_page(source: str, url: str) -> Page:
    """Title and Markdown of a page; its plain text where Markdown cannot be made."""
    root = _tree(source)
    if root is None:
        return Page("", "")
    title = _title(root)
    base = _base(root, url)
    drop_unseen(root)
    body = root.find("body") if root.find("body") is not None else root
    _absolute(body, base)
    chosen = _main(body)
    if sum(1 for _ in chosen.iter()) > MOST_ELEMENTS:
        return Page(title, _plain(chosen))
    with quiet("bs4"):
        try:
            text = _markdown(chosen)
        except RecursionError:
            text = _plain(chosen)
    return Page(title, text)


def _tree(source: str) -> HtmlElement | None:
    parser = HTMLParser(remove_comments=True, remove_pis=True, no_network=True, huge_tree=False)
    text = re.sub(r"\A\s*<\?xml[^>]*>", "", source[:MOST_SOURCE]).replace("\0", "")
    text = _HUGE_TAG.sub("", text)
    text = re.sub(r"[^\S\n]{60,}", " ", text)  # runs of blanks make regular expressions slow
    text = re.sub(r"(?:[^\S\n]*\n){30,}", "\n\n", text)
    try:
        return document_fromstring(text, parser=parser)
    except (etree.ParserError, ValueError):
        return None


def _title(root: HtmlElement) -> str:
    found = root.find(".//title")
    return " ".join((found.text_content() if found is not None else "").split())


def _base(root: HtmlElement, url: str) -> str:
    """What relative links are relative to."""
    found = root.find(".//base[@href]")
    try:
        return urljoin(url, found.get("href")) if found is not None else url
    except ValueError:
        return url


def _absolute(body: HtmlElement, base: str) -> None:
    """Make links whole. What leads nowhere (scripts, data, places in the page) or
    is too long to be read loses its address, all else its attributes."""
    for mark in [each for each in body.iter("a") if (each.text or "").strip() in _MARKS]:
        mark.drop_tree()
    for element in body.iter():
        if not isinstance(element.tag, str):
            continue
        href = (element.get("href") or "").strip() if element.tag == "a" else ""
        if len(element.attrib) > MOST_ATTRIBUTES:
            element.attrib.clear()
        for name in set(element.attrib) - _KEPT:
            if not (name == "role" or (name == "id" and element.tag != "a")):
                del element.attrib[name]
        for name in ("colspan", "rowspan", "start"):
            number = element.get(name)
            if number and not re.fullmatch("[0-9]{1,4}", number):
                del element.attrib[name]
            elif number and name != "start":
                element.set(name, str(min(int(number), MOST_COLUMNS)))
        element.attrib.pop("href", None)
        whole = _whole(href, base)
        if whole:
            element.set("href", whole)


def _whole(href: str, base: str) -> str:
    if not href or href.startswith("#"):
        return ""
    try:
        whole = urljoin(base, href)
    except ValueError:
        return ""
    web = whole.lower().startswith(("http://", "https://"))
    odd = re.search(r"[\s<>\"()\x00-\x1f]", whole)
    return whole if web and not odd and len(whole) <= LONGEST_LINK else ""


def _main(body: HtmlElement) -> HtmlElement:
    """The main part, or the whole without what stands around it."""
    for around in [each for each in body.iter() if _is_around(each)]:
        if around.getparent() is not None:
            around.drop_tree()
    total = _size(body)
    for path in (".//main", ".//*[@role='main']", ".//article"):
        found = body.findall(path)
        if len(found) == 1 and _size(found[0]) >= SAID * total:
            return found[0]
    guess = _guess(body)
    if guess is None or _size(guess) < GUESSED * total:
        return body
    # The guess is about prose; a page with tables or code beside it is more than that.
    lost = any(
        len(guess.findall(path)) < len(body.findall(path)) for path in (".//table", ".//pre")
    )
    return body if lost else guess


def _is_around(element: HtmlElement) -> bool:
    if element.tag in _AROUND or element.get("role") in _ROLES:
        return True
    inside = ("article", "main", "section")
    return element.tag == "header" and next(element.iterancestors(*inside), None) is None


def _size(element: HtmlElement) -> int:
    """Characters of text, blanks not counted."""
    return sum(len("".join(text.split())) for text in element.itertext())


def _guess(body: HtmlElement) -> HtmlElement | None:
    from readability import Document
    from readability.readability import Unparseable

    source = tostring(body, encoding="unicode")
    if len(source) > MOST_GUESSED:
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
    """The library looks for each row and each item at all that stand before it."""

    def convert_tr(self, row: Any, text: str, parent_tags: Any) -> str:
        """Only the first row of a table's first part may be its head."""
        part = row.parent
        later = part.name == "tbody" and part.find_previous_sibling("tbody") is not None
        if later or row.find_previous_sibling() is not None:
            return f"|{text}\n"
        return str(super().convert_tr(row, text, parent_tags))  # type: ignore[misc]

    def convert_li(self, item: Any, text: str, parent_tags: Any) -> str:
        """The items of a numbered list are told in their order, so they need not be counted."""
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
    """The language that highlighters write into the class of <pre> or the <code> in it."""
    inner = element.find("code")
    for each in (element, inner):
        found = _LANGUAGE.search(" ".join(each.get("class") or ())) if each is not None else None
        if found:
            return found[1]
    return ""


def _plain(element: HtmlElement) -> str:
    lines = (" ".join(text.split()) for text in element.itertext())
    return "\n".join(line for line in lines if line)
