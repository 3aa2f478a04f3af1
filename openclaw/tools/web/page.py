"""Convert the body of a web page into Markdown for the model."""

from __future__ import annotations

import codecs
import json
import re
from dataclasses import asdict

from openclaw.storage.foreign_readers import ReadingError, extract, read_in_child
from openclaw.types import ToolProblem, WebPage

LONGEST = 400_000  # characters of a page; the rest is not even shown on later pages
PDF_PAGES = 100
SECONDS = 10.0  # the time to convert a page into text; the time to fetch it is counted apart
INSTEAD = "Try another address, or tell the user."

_META = re.compile(
    rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([A-Za-z0-9_.:-]{2,40})""", re.IGNORECASE
)
_XML = re.compile(rb"""\A\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9_.:-]{2,40})""")
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_HTML = re.compile(
    rb"\A\s*(?:<!--.{0,500}?-->\s*)?<(?:!doctype\s+html|html|head|body)\b", re.I | re.S
)
_FEED = re.compile(rb"<(?:rss|feed|rdf:RDF)[\s>]")
# Browsers and pages take these names for Windows-1252 (WHATWG Encoding, 4.2).
_AS_WINDOWS = frozenset({"iso8859-1", "ascii"})
_NEVER = frozenset({"idna", "punycode", "undefined", "utf-7"})


def read_page_in_child(
    body: bytes, content_type: str, url: str, seconds: float = SECONDS
) -> WebPage:
    """See `read_page`; also raises ToolProblem for a page that takes too much work."""
    arguments = {"content_type": content_type, "url": url}
    try:
        found = read_in_child(f"{__name__}:page_as_json", body, arguments, seconds)
    except ReadingError as error:
        raise ToolProblem(f"It is too much work, {_size_of(body)}: {error}. {INSTEAD}") from None
    if "problem" in found:
        raise ToolProblem(found["problem"])
    return WebPage(**found)


def page_as_json(body: bytes, content_type: str, url: str) -> dict[str, str]:
    """The result of `read_page` as plain JSON, for another process."""
    try:
        return asdict(read_page(body, content_type, url))
    except ToolProblem as problem:
        return {"problem": str(problem)}


def read_page(body: bytes, content_type: str, url: str) -> WebPage:
    """The text of a body. Raises ToolProblem, with type and size, for a body without text."""
    page = _read_whole(body, content_type, url)
    text = page.text.strip("\n")
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]}\n[The rest is left out.]"
    return WebPage(" ".join(page.title.split())[:200], text)


def _read_whole(body: bytes, content_type: str, url: str) -> WebPage:
    kind, charset = _parse_content_type(content_type)
    if body.startswith(b"%PDF-") or kind == "application/pdf":
        return _pdf(body)
    is_html = kind in ("text/html", "application/xhtml+xml") or (not kind and _HTML.match(body))
    is_xml = kind.endswith(("/xml", "+xml")) and not kind.startswith("image/")
    if is_html or (is_xml and _FEED.search(body[:4096])):
        from openclaw.tools.web import html

        if is_html:
            return html.html_page(decode_text(body, charset), url)
        if feed := html.feed_page(body, url):
            return feed
    if kind.endswith(("/json", "+json")):
        return WebPage("", _json(decode_text(body, charset)))
    if is_xml:
        return WebPage("", decode_text(body, charset))
    text = _text_or_none(body, charset, sure=kind.startswith("text/"))
    if text is None:
        raise ToolProblem(f"It is {kind or 'no text'}, {_size_of(body)}: nothing to read.")
    return WebPage("", text)


def decode_text(body: bytes, charset: str = "") -> str:
    """Decode bytes by, in this order: byte order mark, header, the page's own declaration, UTF-8,
    Windows-1252. Never raises; unreadable bytes become U+FFFD."""
    for mark, name in _MARKS:
        if body.startswith(mark):
            return body.decode(name, "replace")
    said = _XML.match(body) or _META.search(body[:4096])
    for name in (charset, said[1].decode("ascii") if said else ""):
        if codec := _find_codec(name):
            return body.decode(codec, "replace")
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        cut = error.reason == "unexpected end of data"  # in the middle of a character
        return body.decode("utf-8" if cut else "cp1252", "replace")


def _find_codec(name: str) -> str:
    """The codec for a charset's name on pages, "" when there is no text codec."""
    plain = name.strip("\"' ").lower().removeprefix("x-")  # x-sjis
    try:
        b"ab\0\0".decode(plain, "replace")  # refuses what does not decode to text (zlib, rot13)
        codec = codecs.lookup(plain).name
    except (LookupError, ValueError):
        return ""
    if codec in _NEVER or "escape" in codec:
        return ""
    return "cp1252" if codec in _AS_WINDOWS else codec


def _parse_content_type(content_type: str) -> tuple[str, str]:
    kind, _, rest = content_type.partition(";")
    found = re.search(r"charset\s*=\s*[\"']?([A-Za-z0-9_.:-]{2,40})", rest, re.IGNORECASE)
    return kind.strip().lower()[:60], found[1] if found else ""


def _json(text: str) -> str:
    """Indent JSON, up to the shown length: the indents of deep lists would fill the memory."""
    shown: list[str] = []
    size = 0
    try:
        for piece in json.JSONEncoder(ensure_ascii=False, indent=1).iterencode(json.loads(text)):
            shown.append(piece)
            size += len(piece)
            if size > LONGEST:
                break
    except (ValueError, RecursionError):
        return text
    return "".join(shown)


def _pdf(body: bytes) -> WebPage:
    found = extract(body, PDF_PAGES)
    if "reason" in found:
        raise ToolProblem(f"It is {found['reason']}, {_size_of(body)}: nothing to read.")
    return WebPage("", "\n\n".join(found["text"].split("\n\f")))


def _text_or_none(body: bytes, charset: str, *, sure: bool) -> str | None:
    """The text of a body that is declared as text or looks like text; None for any other."""
    if b"\0" in body[:8192] and not body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return None
    if not sure:
        try:
            body.decode("utf-8")
        except UnicodeDecodeError:
            return None
    return decode_text(body, charset)


def _size_of(body: bytes) -> str:
    count = len(body)
    return f"{count:,} bytes" if count < 10_000 else f"{count / 1e6:.2f} MB"
