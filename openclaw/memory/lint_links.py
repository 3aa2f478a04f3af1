"""Finds links to files, headings and blocks of the home that are not there. Nothing is fetched.

Markdown links and images, link definitions, and wiki links as Obsidian writes them; headings are
named as on GitHub (github-slugger) or by their words.
"""

from __future__ import annotations

import difflib
import posixpath
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import unquote

from openclaw.memory.lint import Document, Finding, Surroundings, quoted
from openclaw.memory.page import read_page

_CODE = re.compile(r"(`{1,5})(?:(?!\1).){1,300}?\1")
_COMMENT = re.compile(r"<!--.*?(?:-->|$)")
_LINK = re.compile(
    r"!?\[[^\[\]]{0,300}\]\([ \t]*<?(?P<to>[^()\s<>]{1,300}(?:\([^()\s]*\))?[^()\s<>]{0,300})>?"
    r"(?:[ \t]+[\"'(][^\"')]*[\"')])?[ \t]*\)"
)
_DEFINED = re.compile(r"[ ]{0,3}\[[^\]^]{1,100}\]:[ \t]*<?(?P<to>[^\s<>]{1,300})>?")
_WIKI = re.compile(r"(?<!\w)!?\[\[(?P<to>[^\[\]|\n]{1,200})(?:\|[^\[\]\n]{0,200})?\]\]")
_SCHEME = re.compile(r"[A-Za-z][\w+.-]*:|//|\{|\$|~")
_LINES = re.compile(r"L\d+(?:-L?\d+)?")
_SLUG = re.compile(r"[^\w\- ]")
_CLOSE = 0.75


@dataclass(frozen=True, slots=True)
class _Link:
    at: int
    target: str
    wiki: bool
    start: int


class Links:
    """The links of a memory, and what they may lead to."""

    def __init__(self, documents: Sequence[Document], around: Surroundings) -> None:
        self._around = around
        self._documents = {document.path: document for document in documents}
        self._anchors: dict[str, Collection[str]] = {}

    @cached_property
    def _files(self) -> list[str]:
        return sorted({*self._around.files(), *self._documents})

    @cached_property
    def _by_name(self) -> dict[str, str]:
        """Files by what a wiki link may call them."""
        named: dict[str, str] = {}
        for path in reversed(self._files):
            bare = path.casefold()
            while bare:
                named[bare] = path
                named[bare.removesuffix(".md")] = path
                bare = bare.partition("/")[2]
        return named

    def dead(self, document: Document) -> Iterator[Finding]:
        """The links of a document that lead nowhere."""
        struck = {at for e in document.entries if e.superseded for at in range(e.at, e.end)}
        for link in _links(document):
            if link.at in struck:
                continue
            path, anchor = self._target(document, link)
            if path is None:
                yield self._missing(document, link)
            elif anchor and path.endswith(".md") and not self._has(path, anchor):
                yield self._no_heading(document, link, path, anchor)

    def _target(self, document: Document, link: _Link) -> tuple[str | None, str]:
        """The path that a link leads to (None: to nothing, "": not to be looked at), its anchor."""
        name, _, anchor = link.target.partition("#")
        name, anchor = unquote(name.partition("?")[0]).strip(), unquote(anchor).strip()
        if not name:
            return document.path, anchor
        if link.wiki:
            return self._by_name.get(name.casefold().removeprefix("./")), anchor
        folder = "" if name.startswith("/") else posixpath.dirname(document.path)
        path = posixpath.normpath(posixpath.join(folder, name.lstrip("/")))
        if path.startswith(".."):
            return "", ""
        return (path if path in self._documents or self._around.exists(path) else None), anchor

    def _has(self, path: str, anchor: str) -> bool:
        if _LINES.fullmatch(anchor):
            return True
        last = anchor.rpartition("#")[2].strip()
        return last.casefold() in self._named(path) or _slug(last) in self._named(path)

    def _named(self, path: str) -> Collection[str]:
        """What an anchor may name in a file: headings, their slugs, blocks."""
        if path not in self._anchors:
            known = self._documents.get(path)
            text = known.text if known else self._around.read(path)
            page = known.page if known else read_page(text)
            names: dict[str, None] = {}
            for section in page.sections:
                slug, number = _slug(section.name), 0
                while slug in names:
                    number += 1
                    slug = f"{_slug(section.name)}-{number}"
                names |= dict.fromkeys((section.name.casefold(), slug))
            blocks = re.findall(r"\s(\^[A-Za-z0-9-]+)[ \t]*$", text, re.MULTILINE)
            ids = re.findall(r"\b(?:id|name)=[\"']([^\"']+)", text)
            self._anchors[path] = {*names, *map(str.casefold, (*blocks, *ids))}
        return self._anchors[path]

    def _missing(self, document: Document, link: _Link) -> Finding:
        name, mark, anchor = link.target.partition("#")
        found = self._near(name)
        new = _as_written(document, link, found) + mark + anchor if found else ""
        return self._finding(document, link, "leads to no file", new)

    def _no_heading(self, document: Document, link: _Link, path: str, anchor: str) -> Finding:
        names = [name for name in self._named(path) if link.wiki or " " not in name]
        wanted = anchor.casefold() if link.wiki else _slug(anchor)
        close = difflib.get_close_matches(wanted, names, n=1, cutoff=_CLOSE)
        new = link.target.partition("#")[0] + "#" + close[0] if close else ""
        return self._finding(document, link, f"has no such heading in {path}", new)

    def _near(self, name: str) -> str:
        """The one file that was meant by a name, "" when that is not sure."""
        wanted = unquote(name).rpartition("/")[2].casefold()
        wanted = wanted if "." in wanted else f"{wanted}.md"
        names: dict[str, list[str]] = {}
        for path in self._files:
            names.setdefault(path.rpartition("/")[2].casefold(), []).append(path)
        found = [*names.get(wanted, ())]
        if not found and not re.search(r"\d", wanted):
            close = difflib.get_close_matches(wanted, names, n=2, cutoff=_CLOSE)
            found = names[close[0]] if len(close) == 1 else []
        return found[0] if len(found) == 1 else ""

    def _finding(self, document: Document, link: _Link, what: str, new: str) -> Finding:
        line = document.page.lines[link.at].rstrip("\r\n")
        edit = line[: link.start] + new + line[link.start + len(link.target) :] if new else None
        advice = f"write {new}" if new else "fix the link, or remove it"
        return document.finding(
            "dead-link", link.at, f"{quoted(link.target)} {what}", advice=advice, edit=edit
        )


def _links(document: Document) -> Iterator[_Link]:
    """The links into the home that a document holds, outside of code and comments."""
    if "[" not in document.text:
        return
    for at, line in enumerate(document.page.lines):
        if "[" not in line or at in document.page.opaque:
            continue
        plain = line
        for pattern in (_CODE, _COMMENT):
            plain = pattern.sub(lambda found: " " * len(found[0]), plain)
        for pattern in (_LINK, _WIKI, _DEFINED):
            for found in (
                filter(None, [pattern.match(plain)])
                if pattern is _DEFINED
                else pattern.finditer(plain)
            ):
                if not _SCHEME.match(found["to"]):
                    yield _Link(at, found["to"], pattern is _WIKI, found.start("to"))


def _as_written(document: Document, link: _Link, path: str) -> str:
    """How a link of this kind names a file."""
    if link.wiki:
        return path.rpartition("/")[2].removesuffix(".md")
    return posixpath.relpath(path, posixpath.dirname(document.path))


def _slug(heading: str) -> str:
    """The anchor that GitHub gives to a heading."""
    return _SLUG.sub("", heading.strip().casefold()).replace(" ", "-")
