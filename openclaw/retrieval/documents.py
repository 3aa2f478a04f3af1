"""Files as text whose line numbers are the file's own.

HTML loses its tags and keeps its lines. A session keeps its messages on their lines. A PDF has no
lines, so lines of its text count, with a form feed before each page but the first.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from openclaw.storage.file_kinds import Kind
from openclaw.storage.foreign_readers import NoText, pdf_text
from openclaw.storage.safe_open import BOM, decode, reading
from openclaw.storage.text import join_surrogates

UTF_16 = (b"\xff\xfe", b"\xfe\xff")
UNDECODABLE_SHARE = 0.1
CONTROL_SHARE = 0.1
SAMPLE = 64 * 1024
PRINTABLE = bytes(range(32, 256)) + b"\t\n\r\f\b\x1b"


class Unreadable(Exception):
    """A file that gives no text; `str(error)` is the reason in a few words."""


def read_document(path: Path, kind: Kind, max_bytes: int = 10_000_000) -> str:
    """The text of a file. Raises Unreadable (binary, larger than `max_bytes`, damaged, encrypted)
    or OSError."""
    with reading(path) as file:
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise too_large(max_bytes)
    return read_data(data, kind)


def too_large(max_bytes: int) -> Unreadable:
    return Unreadable(f"larger than {max_bytes / 1e6:g} MB (index.max_file_mb)")


def read_data(data: bytes, kind: Kind) -> str:
    """The text of a file's bytes: lines end with a line feed, and there is no byte order mark.
    Raises Unreadable."""
    if kind == "pdf":
        try:
            return pdf_text(data)
        except NoText as error:
            raise Unreadable(str(error)) from error
    text = _text(data)
    if kind == "html":
        return html_text(text)
    return session_text(text) if kind == "session" else text


def _text(data: bytes) -> str:
    """The text of UTF-8, or of UTF-16 with a byte order mark; other bytes become U+FFFD."""
    if data.startswith(UTF_16):
        text = data.decode("utf-16", errors="replace")
    elif b"\0" in data:
        raise Unreadable("binary, not text")
    else:
        sample = data.removeprefix(BOM)[:SAMPLE]
        if len(sample.translate(None, PRINTABLE)) > CONTROL_SHARE * len(sample):
            raise Unreadable("binary, not text")
        text = decode(data)
    if text.count("\ufffd") > max(8, UNDECODABLE_SHARE * len(text)):
        raise Unreadable("neither UTF-8 nor UTF-16 text")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text


HIDDEN_TAGS = frozenset(
    {"script", "style", "template", "noscript", "svg", "math", "iframe", "object"}
)
INLINE = frozenset(
    "a abbr b bdi bdo cite code data del dfn em font i ins kbd mark q s samp small span strong sub "
    "sup time tt u var wbr".split()
)
MARKS = {"li": "- ", **{f"h{level}": "#" * level + " " for level in range(1, 7)}}
# A tag that is not closed before the next one, and an end tag without a name. The parser would
# search the rest of the file for the end of each, and take hours for a page of a megabyte.
_UNCLOSED = re.compile(r"<(?=/?[A-Za-z][^<>]*(?:<|\Z)|/(?![A-Za-z>]))")
# Comments, CDATA marks, doctypes and instructions.
_DECLARATION = re.compile(
    r"<(?:!(?=--).*?(?:-->|\Z)|!(?=\[CDATA\[).*?(?:\]\]>|\Z)|[!?].*?(?:>|\Z))", re.S
)


def html_text(source: str) -> str:
    """The visible text. Its line n is the visible part of line n of `source`."""
    page = _Page(source.count("\n") + 1)
    shown = _DECLARATION.sub(lambda found: "\n" * found[0].count("\n"), source)
    page.feed(_UNCLOSED.sub("&lt;", shown))
    page.close()
    return "\n".join(" ".join("".join(line).split()) for line in page.lines)


class _Page(HTMLParser):
    """Collects the visible text by line. References are decoded separately, since a decoded line
    feed would shift all lines below."""

    def __init__(self, count: int) -> None:
        super().__init__(convert_charrefs=False)
        self.lines: list[list[str]] = [[] for _ in range(count)]
        self._hidden_depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in HIDDEN_TAGS:
            self._hidden_depth += 1
        self._break(tag, MARKS.get(tag, ""))

    def handle_endtag(self, tag: str) -> None:
        if tag in HIDDEN_TAGS:
            self._hidden_depth = max(0, self._hidden_depth - 1)
        self._break(tag, "")

    def handle_data(self, data: str) -> None:
        if self._hidden_depth:
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
        if not self._hidden_depth:
            self._line().append(unescape(text).replace("\n", " "))

    def _break(self, tag: str, mark: str) -> None:
        """Separate the words on both sides of a block, a cell or an image."""
        if tag not in INLINE:
            self._line().append(f" {mark}")

    def _line(self) -> list[str]:
        return self.lines[min(self.getpos()[0], len(self.lines)) - 1]


_STRINGS = re.compile(
    r'"(?P<key>title|compressed_context|content)"\s*:\s*(?P<value>"(?:[^"\\]|\\.)*+")'
)


def session_text(source: str) -> str:
    """A text of as many lines as `source`: the title, the summary of compacted messages, and each
    message as "role: content" (its line feeds as blanks); other lines are blank.

    Left out as copies: tool results, recalled passages, and the summary in a part of the archive,
    whose messages are in earlier parts. Raises Unreadable for JSON that is no session.
    """
    lines: list[list[str]] = [[] for _ in range(source.count("\n") + 1)]
    line, counted = 0, 0
    for at, said in sorted(_find_texts(source, _load(source))):
        line, counted = line + source.count("\n", counted, at), at
        lines[line].append(" ".join(join_surrogates(said).split()))
    return "\n".join(" ".join(line) for line in lines)


def _load(source: str) -> Any:
    try:
        data = json.loads(source)
    except (ValueError, RecursionError) as error:
        raise Unreadable("not a session: no valid JSON") from error
    messages = data.get("messages") if isinstance(data, dict) else data
    if not isinstance(messages, list):
        raise Unreadable("not a session: no list of messages")
    return data


def _find_texts(source: str, data: Any) -> Iterator[tuple[int, str]]:
    """The title, summary and messages, each with the offset of its string in the JSON. Comparing
    the values skips keys of the same name in a tool's input."""
    heads, messages = {}, data
    if isinstance(data, dict):
        messages = data["messages"]
        names = ("title",) if "part" in data else ("title", "compressed_context")
        heads = {name: data[name] for name in names if data.get(name)}
    said = deque(
        (message["role"], content)
        for message in messages
        if isinstance(message, dict) and message.get("role") in ("user", "assistant")
        if isinstance(content := message.get("content"), str) and content.strip()
    )
    for found in _STRINGS.finditer(source):
        try:
            value = json.loads(found["value"], strict=False)
        except ValueError:
            continue
        if heads.get(found["key"]) == value:
            yield found.start(), heads.pop(found["key"])
        elif found["key"] == "content" and said and said[0][1] == value:
            yield found.start(), f"{said.popleft()[0]}: {value}"
