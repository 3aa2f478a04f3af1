"""The text of an HTML page on the lines where it stands; headings and list items get their
Markdown marks, what is never shown (scripts, styles, comments) is left out."""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser

UNSEEN = frozenset({"script", "style", "template", "noscript", "svg", "math", "iframe", "object"})
INLINE = frozenset(
    "a abbr b bdi bdo cite code data del dfn em font i ins kbd mark q s samp small span strong sub "
    "sup time tt u var wbr".split()
)
MARKS = {"li": "- ", **{f"h{level}": "#" * level + " " for level in range(1, 7)}}
# An opening that is not closed before the next one, and an end of nothing. The parser would search
# for its end up to the end of the file, each time anew, and take hours for a page of a megabyte.
_UNCLOSED = re.compile(r"<(?=/?[A-Za-z][^<>]*(?:<|\Z)|/(?![A-Za-z>]))")
_MARKED = re.compile(r"<(?=[!?])")


def html_text(source: str) -> str:
    """The visible text; line n of it is what line n of `source` shows."""
    page = _Page(source.count("\n") + 1)
    page.feed(_UNCLOSED.sub("&lt;", _without_declarations(source)))
    page.close()
    return "\n".join(" ".join("".join(line).split()) for line in page.lines)


def _without_declarations(source: str) -> str:
    """Comments, CDATA marks, doctypes and instructions taken out; their line feeds stay."""
    kept, at = [], 0
    for match in _MARKED.finditer(source):
        start = match.start()
        if start < at:
            continue
        close = _close(source, start)
        end = source.find(close, start)
        kept.append(source[at:start])
        if end < 0:
            at = len(source)
            kept.append("\n" * source.count("\n", start))
            break
        at = end + len(close)
        kept.append("\n" * source.count("\n", start, at))
    return "".join([*kept, source[at:]])


def _close(source: str, start: int) -> str:
    if source.startswith("<!--", start):
        return "-->"
    return "]]>" if source.startswith("<![CDATA[", start) else ">"


class _Page(HTMLParser):
    """Collects what is shown, by line. References are kept apart from text, as one that stands for
    a line feed would shift all lines below."""

    def __init__(self, count: int) -> None:
        super().__init__(convert_charrefs=False)
        self.lines: list[list[str]] = [[] for _ in range(count)]
        self._unseen = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in UNSEEN:
            self._unseen += 1
        self._break(tag, MARKS.get(tag, ""))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._break(tag, "")

    def handle_endtag(self, tag: str) -> None:
        if tag in UNSEEN:
            self._unseen = max(0, self._unseen - 1)
        self._break(tag, "")

    def handle_data(self, data: str) -> None:
        if self._unseen:
            return
        first = self.getpos()[0] - 1
        for offset, line in enumerate(data.split("\n")):
            if first + offset < len(self.lines):
                self.lines[first + offset].append(line)

    def handle_entityref(self, name: str) -> None:
        self._reference(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self._reference(f"&#{name};")

    def _reference(self, text: str) -> None:
        if not self._unseen:
            self._line().append(unescape(text).replace("\n", " "))

    def _break(self, tag: str, mark: str) -> None:
        """Text on both sides of a block, a cell or an image is two words."""
        if tag not in INLINE:
            self._line().append(f" {mark}")

    def _line(self) -> list[str]:
        return self.lines[min(self.getpos()[0], len(self.lines)) - 1]
