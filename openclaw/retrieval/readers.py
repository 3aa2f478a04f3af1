"""Files as text whose line numbers are the file's own.

HTML loses its tags and keeps its lines; a session gives what was said on the lines where it stands;
a PDF has no lines, so its text counts, a form feed before each page but the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from openclaw.files.beneath import reading
from openclaw.files.text import BOM, decode

Kind = Literal["markdown", "text", "code", "html", "pdf", "session"]

SUFFIXES: dict[Kind, frozenset[str]] = {
    "markdown": frozenset(".md .markdown .mdown .mkd .mdx .qmd .rmd".split()),
    "html": frozenset(".html .htm .xhtml .xht".split()),
    "pdf": frozenset({".pdf"}),
    "code": frozenset(
        ".bash .bat .c .cc .clj .cljs .cmake .cmd .cpp .cs .css .cxx .dart .el .elm .erl .ex .exs "
        ".f90 .fish .fs .go .gradle .groovy .h .hcl .hh .hpp .hs .java .jl .js .jsx .kt .kts .less "
        ".lisp .lua .m .mjs .ml .mm .nim .nix .pas .php .pl .pm .proto .ps1 .py .pyi .r .rb .rkt "
        ".rs .sass .scala .scm .scss .sh .sol .sql .svelte .swift .tcl .tf .ts .tsx .v .vb .vhd "
        ".vim .vue .zig .zsh".split()
    ),
}
CODE_NAMES = frozenset({"dockerfile", "makefile", "rakefile", "gemfile", "cmakelists.txt"})
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
UNDECODABLE_SHARE = 0.1
CONTROL_SHARE = 0.1
SAMPLE = 64 * 1024
PRINTABLE = bytes(range(32, 256)) + b"\t\n\r\f\b\x1b"


@dataclass(frozen=True, slots=True)
class Document:
    """The text of a file, lines separated by a line feed, without a byte order mark."""

    text: str
    kind: Kind


class Unreadable(Exception):
    """A file that gives no text; `str(error)` is the reason in a few words."""


def kind_of(path: str) -> Kind:
    """The kind of a home-relative (or absolute) path with slashes, by its name."""
    pure = PurePosixPath(path.lower())
    if pure.parts[:1] == ("sessions",) and pure.suffix == ".json":
        return "session"
    if pure.name in CODE_NAMES:
        return "code"
    return next((kind for kind, known in SUFFIXES.items() if pure.suffix in known), "text")


def read_document(path: Path, kind: Kind, max_bytes: int = 10 * 1024 * 1024) -> Document:
    """The document of a file. Raises Unreadable (binary, larger than `max_bytes`, damaged,
    encrypted) or OSError."""
    with reading(path) as file:
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise too_large(max_bytes)
    return read_data(data, kind)


def too_large(max_bytes: int) -> Unreadable:
    return Unreadable(f"larger than {max_bytes / 2**20:g} MB (index.max_file_mb)")


def read_data(data: bytes, kind: Kind) -> Document:
    """The document of a file's bytes. Raises Unreadable."""
    if kind == "pdf":
        from openclaw.files.pdf import NoText, pdf_text

        try:
            return Document(pdf_text(data), kind)
        except NoText as error:
            raise Unreadable(str(error)) from error
    text = _text(data)
    if kind == "html":
        from openclaw.retrieval.webpage import html_text

        text = html_text(text)
    elif kind == "session":
        from openclaw.retrieval.conversation import session_text

        text = session_text(text)
    return Document(text, kind)


def _text(data: bytes) -> str:
    """Text of bytes: UTF-8, or UTF-16 with its mark; what cannot be decoded becomes U+FFFD."""
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
