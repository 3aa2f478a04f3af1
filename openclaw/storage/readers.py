"""Reads foreign files and data: plain files without following links, file kinds, JSON, YAML size.

What a command leaves in a folder may lead anywhere, or never end.
"""

from __future__ import annotations

import json
import os
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from openclaw.errors import Damaged
from openclaw.storage.safe_open import NotOrdinary, descend, read_bytes
from openclaw.types import FileContent

LARGEST_KEPT = 50_000_000
"""Bytes of the largest content that is recorded."""


class NotPlain(Exception):
    """A link, a pipe or a device stands in the way; the text is the path."""


def read_plain_file(root: Path, name: str, most: int) -> FileContent:
    """The content of the file `name` (relative, with slashes) below `root`, up to `most` bytes.
    Raises NotPlain, and OSError for what cannot be read."""
    *folders, last = name.split("/")
    try:
        with descend(str(root), folders) as folder:
            number = folder.open(last)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    except NotOrdinary as error:
        raise NotPlain(name) from error
    with os.fdopen(number, "rb") as file:
        found = os.fstat(number)
        data = file.read(most + 1) if found.st_size <= most else None
        if data is not None and len(data) > most:
            data = None
        return data, os.name != "nt" and bool(found.st_mode & 0o100)


def read_content(root: Path, name: str, most: int = LARGEST_KEPT) -> FileContent:
    """The content of a file below `root`, up to `most` bytes; no link is followed."""
    try:
        return read_plain_file(root, name, most)
    except (NotPlain, OSError):
        return None, False


BEGINNING = 16
"""Number of first bytes that tell the kind of a file."""
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


def parse_foreign_json(text: str | bytes) -> Any:
    """Parse JSON. Raises ValueError for invalid JSON, and for nesting too deep for Python."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deep") from error


def json_or_none(text: str | bytes) -> Any:
    """Parse JSON from elsewhere; None for what is none."""
    try:
        return parse_foreign_json(text)
    except ValueError:
        return None


def refuse_newer(version: object, known: int, what: str) -> None:
    """Raise Damaged when a file has a version that only a newer openclaw writes."""
    if isinstance(version, int | float) and version > known:
        said = f"{what} has version {version}, this openclaw knows {known}"
        raise Damaged(said, "install a newer openclaw")


def read_json_cache(path: Path, version: object = None) -> dict[str, Any]:
    """Read the object of a JSON file that may be deleted at any time; {} for one that is missing,
    damaged, or of another version."""
    try:
        found = parse_foreign_json(read_bytes(path))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) and found.get("version") == version else {}


MAX_VALUES = 20_000
"""That a text with aliases may stand for, each alias followed."""
DEEPEST = 64


def yaml_trouble(text: str) -> tuple[int, str]:
    """The line that is too much, and why; (0, "") for none, and for what is no YAML at all."""
    import yaml

    count = 0
    open_at: list[tuple[str | None, int]] = []
    sizes: dict[str, int] = {}
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            line = event.start_mark.line + 1 if event.start_mark else 0
            if isinstance(event, yaml.CollectionEndEvent):
                anchor, before = open_at.pop()
                if anchor:
                    sizes[anchor] = count - before
            if not isinstance(event, yaml.NodeEvent):
                continue
            count += 1
            if isinstance(event, yaml.AliasEvent):
                count += sizes.get(event.anchor or "", 0)
                if count > MAX_VALUES:
                    return line, f"its aliases stand for more than {MAX_VALUES:,} values"
            elif isinstance(event, yaml.CollectionStartEvent):
                open_at.append((event.anchor, count))
                if len(open_at) > DEEPEST:
                    return line, f"more than {DEEPEST} levels"
            elif event.anchor:
                sizes[event.anchor] = 1
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        mark = getattr(error, "problem_mark", None)
        if mark and "nesting depth" in str(error):  # libyaml, since PyYAML 6.0.4
            return mark.line + 1, f"more than {DEEPEST} levels"
    return 0, ""


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
