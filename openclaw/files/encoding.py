"""Tells in which encoding a text file was written, and reads it whatever that is."""

from __future__ import annotations

import codecs
import re

_BOMS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)
SAMPLE = 4096
CUT = "broken-off UTF-8"
_MORE = rb"[\x80-\xbf]"
_SEVERAL = (
    rb"[\xc2-\xdf]" + _MORE,
    rb"(?:\xe0[\xa0-\xbf]|[\xe1-\xec\xee\xef]" + _MORE + rb"|\xed[\x80-\x9f])" + _MORE,
    rb"(?:\xf0[\x90-\xbf]|[\xf1-\xf3]" + _MORE + rb"|\xf4[\x80-\x8f])" + _MORE + rb"{2}",
)
_BYTES = re.compile(rb"(?P<several>" + rb"|".join(_SEVERAL) + rb")|(?P<other>[\x80-\xff])")
"""Characters of several bytes (the Unicode Standard, table 3-7), and bytes that belong to none."""
_BEGUN = re.compile(rb"(?:[\xc2-\xdf]|[\xe0-\xef][\x80-\xbf]?|[\xf0-\xf4][\x80-\xbf]{0,2})\Z")


def encoding_of(data: bytes) -> str:
    """ "UTF-8", "UTF-16", "UTF-32", CUT for UTF-8 that ends inside a character, "Latin-1" for other
    bytes that can be text, "" for none."""
    named = next((name for bom, name in _BOMS if data.startswith(bom)), "")
    if named:
        return named
    if b"\0" in data:
        return "UTF-16" if _without_bom(data) else ""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return "Latin-1" if _whole(data) is None else CUT
    return "UTF-8"


def as_utf8(data: bytes) -> bytes | None:
    """The same text in UTF-8, None when the bytes are no text.

    In a file of mixed origin what is UTF-8 stays as it is; other bytes are read as Windows-1252, of
    which Latin-1's letters are a part. The beginning of a character at the end is dropped.
    """
    encoding = encoding_of(data)
    try:
        if encoding in ("UTF-16", "UTF-32"):
            name = encoding if any(map(data.startswith, _boms())) else _without_bom(data)
            return data.decode(name).removeprefix("\ufeff").encode("utf-8")
    except UnicodeError:
        return None
    return pieces(data) if encoding else None


def pieces(data: bytes) -> bytes:
    """Bytes that are UTF-8 for the most part, or in parts, as UTF-8."""
    whole = _whole(data)
    return b"".join(map(_line, data.splitlines(keepends=True))) if whole is None else whole


def _whole(data: bytes) -> bytes | None:
    """The text before a character that is broken off at its end; None where that is not what is
    wrong: a text with no other such character may as well end with a letter of Latin-1."""
    begun = _BEGUN.search(data)
    whole = data[: begun.start()] if begun else data
    try:
        whole.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if begun and whole.isascii() else whole


def _line(line: bytes) -> bytes:
    """A line in which most of the characters are no UTF-8 has none of it but by chance."""
    kinds = [found.lastgroup for found in _BYTES.finditer(line)]
    if kinds.count("other") > kinds.count("several"):
        return _windows(line)
    return _BYTES.sub(lambda found: found["several"] or _windows(found[0]), line)


def _windows(data: bytes) -> bytes:
    try:
        return data.decode("cp1252").encode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1").encode("utf-8")


def _without_bom(data: bytes) -> str:
    """The name of UTF-16 in one of its byte orders when mostly one byte of two is zero, else ""."""
    sample = data[:SAMPLE]
    half = len(sample) // 2
    if len(data) % 2 or half < 2:
        return ""
    for start, name in ((1, "utf-16-le"), (0, "utf-16-be")):
        zeros, others = sample[start::2].count(0), sample[1 - start :: 2].count(0)
        if zeros > 0.7 * half and not others:
            return name
    return ""


def _boms() -> tuple[bytes, ...]:
    return tuple(bom for bom, _ in _BOMS)
