"""Checks of the memory: links that lead nowhere."""

from __future__ import annotations

import difflib
import posixpath
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from urllib.parse import unquote

from openclaw.frozen import frozen
from openclaw.memory.lint_findings import Document, LintContext, LintFinding, quote
from openclaw.memory.markdown import read_page

_UNREAD = re.compile(r"(`{1,5})(?:(?!\1).){1,300}?\1|<!--.*?(?:-->|$)")  # code and comments
_LINK = re.compile(
    r"!?\[[^\[\]]{0,300}\]\([ \t]*<?(?P<to>[^()\s<>]{1,300}(?:\([^()\s]*\))?[^()\s<>]{0,300})>?"
    r"(?:[ \t]+[\"'(][^\"')]*[\"')])?[ \t]*\)"
)
_DEFINED = re.compile(r"^[ ]{0,3}\[[^\]^]{1,100}\]:[ \t]*<?(?P<to>[^\s<>]{1,300})>?")
_WIKI = re.compile(r"(?<!\w)!?\[\[(?P<to>[^\[\]|\n]{1,200}?)(?:\\?\|[^\[\]\n]{0,200})?\]\]")
_SCHEME = re.compile(r"[A-Za-z][\w+.-]*:|//|\{|\$|~")
_LINES = re.compile(r"L\d+(?:-L?\d+)?")
_SLUG = re.compile(r"[^\w\- ]")
_CLOSE = 0.75


@frozen
class _Link:
    at: int
    target: str
    wiki: bool
    start: int


class LinkChecker:
    def __init__(self, documents: Sequence[Document], around: LintContext) -> None:
        self._around = around
        self._documents = {document.path: document for document in documents}
        self._anchors: dict[str, set[str]] = {}

    @cached_property
    def _files(self) -> list[str]:
        return sorted({*self._around.files(), *self._documents})

    @cached_property
    def _by_name(self) -> dict[str, str]:
        """The files by each name that a wiki link may use."""
        named: dict[str, str] = {}
        for path in reversed(self._files):
            bare = path.casefold()
            while bare:
                named[bare] = path
                named[bare.removesuffix(".md")] = path
                bare = bare.partition("/")[2]
        return named

    def find_dead(self, document: Document) -> Iterator[LintFinding]:
        """Find the links of a document that lead nowhere."""
        struck = {at for e in document.entries if e.superseded for at in range(e.at, e.end)}
        for link in _find_links(document):
            if link.at in struck:
                continue
            path, anchor = self._target(document, link)
            if path is None:
                yield self._no_file(document, link)
            elif anchor and path.endswith(".md") and not self._has_anchor(path, anchor):
                yield self._no_heading(document, link, path, anchor)

    def _target(self, document: Document, link: _Link) -> tuple[str | None, str]:
        """Return the path (None: no file, "": not checked) and the anchor that a link leads to."""
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

    def _has_anchor(self, path: str, anchor: str) -> bool:
        if _LINES.fullmatch(anchor):
            return True
        last = anchor.rpartition("#")[2].strip()
        first = re.sub(r"-\d+$", "", last)  # GitHub numbers headings of one name
        return not self._anchors_of(path).isdisjoint((last.casefold(), _slug(last), _slug(first)))

    def _anchors_of(self, path: str) -> set[str]:
        """Return the names that an anchor may use in a file: headings, their slugs, blocks."""
        if path not in self._anchors:
            known = self._documents.get(path)
            text = known.text if known else self._around.read(path)
            page = known.page if known else read_page(text)
            headings = [section.name for section in page.sections]
            blocks = re.findall(r"\s(\^[A-Za-z0-9-]+)[ \t]*$", text, re.MULTILINE)
            ids = re.findall(r"\b(?:id|name)=[\"']([^\"']+)", text)
            names = map(str.casefold, (*headings, *blocks, *ids))
            self._anchors[path] = {*names, *map(_slug, headings)}
        return self._anchors[path]

    def _no_file(self, document: Document, link: _Link) -> LintFinding:
        name, mark, anchor = link.target.partition("#")
        found = self._closest_file(name)
        new = _link_to(document, link, found) + mark + anchor if found else ""
        return self._finding(document, link, "leads to no file", new)

    def _no_heading(self, document: Document, link: _Link, path: str, anchor: str) -> LintFinding:
        names = [name for name in self._anchors_of(path) if link.wiki or " " not in name]
        wanted = anchor.casefold() if link.wiki else _slug(anchor)
        close = difflib.get_close_matches(wanted, names, n=1, cutoff=_CLOSE)
        new = link.target.partition("#")[0] + "#" + close[0] if close else ""
        return self._finding(document, link, f"has no such heading in {path}", new)

    def _closest_file(self, name: str) -> str:
        """Return the one file that a wrong name means, "" when that is not sure."""
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

    def _finding(self, document: Document, link: _Link, what: str, new: str) -> LintFinding:
        line = document.page.lines[link.at].rstrip("\r\n")
        edit = line[: link.start] + new + line[link.start + len(link.target) :] if new else None
        advice = f"write {new}" if new else "fix the link, or remove it"
        return document.finding(
            "dead-link", link.at, f"{quote(link.target)} {what}", advice, edit=edit
        )


def _find_links(document: Document) -> Iterator[_Link]:
    """Find the links into the home, outside of code and comments."""
    if "[" not in document.text:
        return
    for at, line in enumerate(document.page.lines):
        if "[" not in line or at in document.page.opaque:
            continue
        plain = _UNREAD.sub(lambda found: " " * len(found[0]), line)
        for pattern in (_LINK, _WIKI, _DEFINED):
            for found in pattern.finditer(plain):
                if not _SCHEME.match(found["to"]):
                    yield _Link(at, found["to"], pattern is _WIKI, found.start("to"))


def _link_to(document: Document, link: _Link, path: str) -> str:
    """Return how a link of this kind names a file."""
    if link.wiki:
        return path.rpartition("/")[2].removesuffix(".md")
    return posixpath.relpath(path, posixpath.dirname(document.path))


def _slug(heading: str) -> str:
    """Return the anchor that GitHub gives to a heading."""
    return _SLUG.sub("", heading.strip().casefold()).replace(" ", "-")
