"""Tells the kind of a file by its first bytes or by its name."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Literal

BEGINNING = 16  # number of first bytes that tell the kind of a file
_MARKS = (
    (b"%PDF-", "pdf"),
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"\xff\xd8\xff", "jpeg"),
    (b"GIF87a", "gif"),
    (b"GIF89a", "gif"),
)
IMAGES = frozenset(("png", "jpeg", "gif", "webp"))


def kind_of(data: bytes) -> str:
    """pdf, png, jpeg, gif or webp; "" for anything else."""
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "webp"
    return next((kind for mark, kind in _MARKS if data.startswith(mark)), "")


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


def kind_by_name(path: str) -> Kind:
    """The kind of a file by its path, home-relative or absolute, with slashes."""
    pure = PurePosixPath(path.lower())
    if pure.parts[:1] == ("sessions",) and pure.suffix == ".json":
        return "session"
    if pure.name in CODE_NAMES:
        return "code"
    return next((kind for kind, known in SUFFIXES.items() if pure.suffix in known), "text")
