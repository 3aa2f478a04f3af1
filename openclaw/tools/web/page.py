"""What a server sent, as text that a model reads: bytes and content type to Markdown."""

from __future__ import annotations

import codecs
import json
import re
from dataclasses import asdict

from openclaw.storage.child import ReadingError, extract, read_in_child
from openclaw.types import Page, ToolProblem

LONGEST = 400_000  # characters of a page; what is beyond is not even shown on later pages
PDF_PAGES = 100
SECONDS = 10.0
"""To make text of a page, beside those to fetch it."""
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
# Browsers read these as Windows does, and so do the pages (WHATWG Encoding, 4.2).
_AS_WINDOWS = frozenset({"iso8859-1", "ascii"})
_NEVER = frozenset({"idna", "punycode", "undefined", "utf-7"})


def read_page_in_child(body: bytes, content_type: str, url: str, seconds: float = SECONDS) -> Page:
    """See `read_page`; raises ToolProblem also for what is too much work."""
    arguments = {"content_type": content_type, "url": url}
    try:
        told = read_in_child(f"{__name__}:told", body, arguments, seconds)
    except ReadingError as error:
        raise ToolProblem(f"It is too much work, {_size(len(body))}: {error}. {INSTEAD}") from None
    if "problem" in told:
        raise ToolProblem(told["problem"])
    return Page(**told)


def told(body: bytes, content_type: str, url: str) -> dict[str, str]:
    """What `read_page` says, for another process."""
    try:
        return asdict(read_page(body, content_type, url))
    except ToolProblem as problem:
        return {"problem": str(problem)}


def read_page(body: bytes, content_type: str, url: str) -> Page:
    """The text of a body. Raises ToolProblem for what has none, with its type and size."""
    kind, charset = _kind(content_type)
    if body.startswith(b"%PDF-") or kind == "application/pdf":
        return _cut(_pdf(body))
    is_html = kind in ("text/html", "application/xhtml+xml") or (not kind and _HTML.match(body))
    is_xml = kind.endswith(("/xml", "+xml")) and not kind.startswith("image/")
    if is_html or (is_xml and _FEED.search(body[:4096])):
        from openclaw.tools.web import html

        page = html.html_page(decoded(body, charset), url) if is_html else html.feed_page(body, url)
        if page is not None:
            return _cut(page)
    if kind.endswith(("/json", "+json")):
        return _cut(Page("", _json(decoded(body, charset))))
    if is_xml:
        return _cut(Page("", decoded(body, charset)))
    text = _text(body, charset, sure=kind.startswith("text/"))
    if text is None:
        raise ToolProblem(f"It is {kind or 'no text'}, {_size(len(body))}: nothing to read.")
    return _cut(Page("", text))


def decoded(body: bytes, charset: str = "") -> str:
    """Text of bytes: by its byte order mark, by the header, by what it says of itself, as UTF-8,
    as Windows does. Never raises; what cannot be read becomes U+FFFD."""
    for mark, name in _MARKS:
        if body.startswith(mark):
            return body.decode(name, "replace")
    said = _XML.match(body) or _META.search(body[:4096])
    for name in (charset, said[1].decode("ascii") if said else ""):
        if codec := _codec(name):
            return body.decode(codec, "replace")
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        cut = error.reason == "unexpected end of data"  # in the middle of a character
        return body.decode("utf-8" if cut else "cp1252", "replace")


def _codec(name: str) -> str:
    """The codec of a charset as pages name it, "" for one that is none for text."""
    try:
        b"ab\0\0".decode(
            name.strip("\"' "), "replace"
        )  # also refuses codecs that do not make text (zlib, rot13)
        codec = codecs.lookup(name.strip("\"' ")).name
    except (LookupError, ValueError):
        return ""
    if codec in _NEVER or "escape" in codec:
        return ""
    return "cp1252" if codec in _AS_WINDOWS else codec


def _kind(content_type: str) -> tuple[str, str]:
    kind, _, rest = content_type.partition(";")
    found = re.search(r"charset\s*=\s*[\"']?([A-Za-z0-9_.:-]{2,40})", rest, re.IGNORECASE)
    return kind.strip().lower()[:60], found[1] if found else ""


def _json(text: str) -> str:
    """Laid out, as far as it is shown: the indents of deep lists would fill the memory."""
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


def _pdf(body: bytes) -> Page:
    told = extract(body, PDF_PAGES)
    if "reason" in told:
        raise ToolProblem(f"It is {told['reason']}, {_size(len(body))}: nothing to read.")
    return Page("", "\n\n".join(told["text"].split("\n\f")))


def _text(body: bytes, charset: str, *, sure: bool) -> str | None:
    """Text of what is said to be text, or is it by its bytes; None for the rest."""
    if b"\0" in body[:8192] and not body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return None
    if not sure:
        try:
            body.decode("utf-8")
        except UnicodeDecodeError:
            return None
    return decoded(body, charset)


def _cut(page: Page) -> Page:
    text = page.text.strip("\n")
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]}\n[The rest is left out.]"
    return Page(" ".join(page.title.split())[:200], text)


def _size(count: int) -> str:
    return f"{count:,} bytes" if count < 10_000 else f"{count / 1e6:.2f} MB"
