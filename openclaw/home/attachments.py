"""Material that goes along with the prompt: the files that `@path` names in it.

The agent fences material as data. A file outside the home may be attached, because the user named
it; its text still counts as written by others.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from difflib import get_close_matches
from itertools import islice
from mimetypes import types_map
from pathlib import Path
from typing import BinaryIO

from openclaw.errors import UsageError
from openclaw.frozen import frozen
from openclaw.messages import MAX_IMAGE_BYTES, Image, Material
from openclaw.security.credentials import why_denied
from openclaw.storage.file_kinds import BEGINNING, IMAGES, SUFFIXES, kind_of
from openclaw.storage.foreign_readers import NoText, paged_text
from openclaw.storage.program import expand_tilde
from openclaw.types import Shown

MAX_BYTES = 200_000
MAX_NAMES = 200
MAX_DOCUMENT = 50_000_000
"""Bytes of a PDF. Its text is cut like that of any file."""
HOLDS_CREDENTIALS = "the agent must not see it; copy what it needs into another file"

_MENTION = re.compile(
    r'(?<![\w@.+-])@(?:"(?P<quoted>[^"\n]+)"(?P<after>:\d+(?:-\d+)?)?|(?P<bare>\S+))'
)
_RANGE = re.compile(r":(\d{1,9})(?:-(\d{1,9}))?$")
_FILE_LIKE = re.compile(r"(?:\.\w{1,5}|:\d+-\d+)$")
_CLOSING = ".,;:!?)]}>'\""


@frozen
class Mention:
    """A file or folder that the prompt names; `first` and `last` are lines, 0 for the whole."""

    path: Path
    name: str
    first: int = 0
    last: int = 0


def attach(prompt: str, piped: str, cwd: Path, home: Path) -> tuple[Material, ...]:
    """The material that goes with a prompt: `piped` and every file the prompt names. Raises
    UsageError for a file that cannot be read or a wrong range."""
    parts = [Material("standard input", piped)] if piped.strip() else []
    parts += [attach_mention(each, home) for each in dict.fromkeys(mentions(prompt, cwd, home))]
    return tuple(parts)


def attach_mention(mention: Mention, home: Path) -> Material:
    """The material of a file or folder. Raises UsageError for one that cannot be read."""
    path, name = mention.path, mention.name
    _check_open(path, name)
    inside = path_in_home(home, path)
    try:
        if path.is_dir():
            return Material(f"folder {name}", _listing(path), inside)
        if not path.is_file():
            raise UsageError(f"'{name}' is neither a file nor a folder")
        with path.open("rb") as file:
            return _read_material(file, name, path, inside, mention.first, mention.last)
    except OSError as error:
        raise UsageError(f"cannot read '{name}': {error.strerror or error}") from error


def attach_data(name: str, data: bytes, path: Path | None, home: Path, first: int = 1) -> Material:
    """The material of a file whose content another program gives, from line `first` on. `path` says
    where it lies, None for nowhere. Raises UsageError for what is neither an image nor a text, and
    for a file that holds credentials by its name."""
    if path is not None:
        _check_open(path, name)
    inside = path_in_home(home, path) if path else ""
    return _read_material(io.BytesIO(data), name, path, inside, at=first)


def _check_open(path: Path, name: str) -> None:
    if reason := why_denied(path):
        raise UsageError(f"'{name}' is not attached: {reason}", HOLDS_CREDENTIALS)


def _read_material(
    stream: BinaryIO,
    name: str,
    path: Path | None,
    inside: str,
    first: int = 0,
    last: int = 0,
    at: int = 1,
) -> Material:
    """The material of an open file, or of its lines `first` to `last`; `inside` is its path in the
    home, `at` the number of the line with which the stream begins."""
    kind = kind_of(stream.read(BEGINNING))
    stream.seek(0)
    if kind in IMAGES:
        if first:
            raise UsageError(f"'{name}' is an image, which has no lines", "attach all of it")
        data = stream.read(MAX_IMAGE_BYTES + 1)
        _check_size(f"the image '{name}'", data, MAX_IMAGE_BYTES, "attach a smaller copy of it")
        where = inside or (Path(os.path.realpath(path)).as_posix() if path else name)
        image = Image(where, kind, hashlib.sha256(data).hexdigest(), data)
        return Material(f"image {name}", "", inside, image)
    if kind == "pdf":
        stream = _open_pdf(stream, name)
    label, ends = _read_lines(stream, name, first, last) if first else (name, _read_ends(stream))
    text, count = _ends_as_text(*ends, f"'{name}'")
    at = first or at
    lines = Shown(inside or name, at, at + count - 1) if path else None
    return Material(f"file {label}", text, inside, lines=lines)


def _check_size(name: str, data: bytes, most: int, hint: str) -> None:
    if len(data) > most:
        raise UsageError(f"{name} is larger than {most // 1_000_000} MB", hint)


def path_in_home(home: Path, path: Path) -> str:
    """The path of a file or folder relative to the home, links followed. "" for a path outside, and
    for the home itself, which also holds text that others wrote."""
    root, real = Path(os.path.realpath(home)), Path(os.path.realpath(path))
    if real == root or not real.is_relative_to(root):
        return ""
    return real.relative_to(root).as_posix()


def mentions(prompt: str, cwd: Path, home: Path) -> list[Mention]:
    """The files and folders that `@path`, `@path:10-20` and `@"a path"` name, in their order.

    A path is looked up in the current folder, then in the home. Other words after an @, such as
    names and e-mail addresses, are skipped. Raises UsageError when a path does not exist although
    it is quoted or can be nothing but a path.
    """
    found = []
    for match in _MENTION.finditer(prompt):
        quoted = match["quoted"]
        words = quoted + (match["after"] or "") if quoted else match["bare"]
        mention = _find_mention(words, (cwd, home))
        if mention:
            found.append(mention)
        elif quoted or _is_path(words.rstrip(_CLOSING), (cwd, home)):
            name = quoted or words.rstrip(_CLOSING)
            raise UsageError(f"there is no file '{name}'", _advice(name, (cwd, home)))
    return found


def missing_files(prompt: str, cwd: Path, home: Path) -> list[str]:
    """Words with an @ that look like a file (@log.xyz) but name none. They are sent as plain words,
    as they may mean something else, like @app.get."""
    words = [match["bare"].rstrip(_CLOSING) for match in _MENTION.finditer(prompt) if match["bare"]]
    return [w for w in words if _FILE_LIKE.search(w) and not _find_mention(w, (cwd, home))]


def _is_path(words: str, folders: tuple[Path, ...]) -> bool:
    """Return True when words can only be a path: they begin like one, have a range of lines, begin
    with a folder that exists, or end like known files or like files in the same folder."""
    name = _RANGE.sub("", words)
    if name.startswith(("./", "../", "/", "~/")) or (name and name != words):
        return True
    if "/" in name and any(_find_existing(folder, name.partition("/")[0]) for folder in folders):
        return True
    ending = Path(name).suffix.lower()
    known = frozenset(types_map).union(*SUFFIXES.values())
    return bool(ending) and (
        ending in known or any(Path(each).suffix == ending for each in _siblings(name, folders))
    )


def _siblings(name: str, folders: tuple[Path, ...]) -> Iterator[str]:
    """The files in the folder of a path, written relative in the same way as the path."""
    for folder in folders:
        parent = _find_existing(folder, os.path.dirname(name))  # noqa: PTH120  (keeps ~)
        with suppress(OSError):  # it is no folder, or none that may be read
            found = [*parent.iterdir()] if parent else []
            yield from (name[: name.rfind("/") + 1] + each.name for each in found)


def _advice(name: str, folders: tuple[Path, ...]) -> str:
    """The hint for a file that does not exist."""
    below = (each for folder in folders for each in folder.glob("[!.]*/*"))
    names = [
        *_siblings(name, folders),
        *(f"{p.parent.name}/{p.name}" for p in islice(below, 5000)),
    ]
    by_last = {each.rpartition("/")[2]: each for each in reversed(names)}
    near = get_close_matches(_RANGE.sub("", name).rpartition("/")[2], by_last, n=1)
    if near:
        found = by_last[near[0]]
        return f'did you mean @"{found}"?' if " " in found else f"did you mean @{found}?"
    where = " and ".join(dict.fromkeys(map(str, folders)))
    return f"looked in {where}; a blank behind the @ makes it plain words"


def _find_mention(words: str, folders: tuple[Path, ...]) -> Mention | None:
    """Try the words as they are, then without closing punctuation, each with and without range."""
    while words:
        tries = [(words, 0, 0)]
        if (found := _RANGE.search(words)) and found.start():
            first, last = int(found[1]), int(found[2] or found[1])
            tries.append((words[: found.start()], first or -1, last))
        for name, first, last in tries:
            for folder in folders:
                if path := _find_existing(folder, name):
                    return Mention(path, name, first, last)
        if words[-1] not in _CLOSING:
            return None
        words = words[:-1]
    return None


def _find_existing(folder: Path, name: str) -> Path | None:
    try:
        path = folder / expand_tilde(name)
        return path if path.exists() else None
    except (OSError, ValueError):
        return None


def _open_pdf(file: BinaryIO, name: str) -> BinaryIO:
    data = file.read(MAX_DOCUMENT + 1)
    _check_size(f"'{name}'", data, MAX_DOCUMENT, "attach a smaller part of it")
    try:
        return io.BytesIO(paged_text(data).encode())
    except NoText as error:
        hint = "attach its pages as images, or text that was made of it"
        raise UsageError(f"'{name}' is {error}", hint) from error


def _listing(folder: Path) -> str:
    names = sorted(entry.name + ("/" if entry.is_dir() else "") for entry in folder.iterdir())
    if len(names) > MAX_NAMES:
        names = [*names[:MAX_NAMES], f"[{len(names) - MAX_NAMES} more names are not shown]"]
    return "\n".join(names) or "[the folder is empty]"


def _read_lines(
    stream: BinaryIO, name: str, first: int, last: int
) -> tuple[str, tuple[bytes, bytes, int]]:
    """The name of the lines `first` to `last`, and `_read_ends` of them; the file is read only as
    far as needed."""
    if first < 1 or last < first:
        shown = f"{max(first, 0)}-{last}"
        raise UsageError(f"'{name}:{shown}' is no range of lines", "write @path:10-20")
    taken: list[bytes] = []
    size = number = 0
    for number, line in enumerate(stream, 1):
        if number >= first:
            if size <= MAX_BYTES:
                taken.append(line)
            size += len(line)
        if number >= last:
            break
    if not taken:
        raise UsageError(f"'{name}' has {number} lines, so no line {first}")
    named = f"{name}, lines {first}-{min(last, number)}"
    return named, (b"".join(taken)[:MAX_BYTES], b"", size)


def read_stdin(stream: BinaryIO) -> str:
    """Standard input as text, at most 200 KB of it; a line tells where something was left out and
    how much. Raises UsageError for binary data."""
    return _ends_as_text(*_read_ends(stream), "standard input")[0]


def _read_ends(stream: BinaryIO) -> tuple[bytes, bytes, int]:
    """The first and the last 100 KB of a stream, and its size in bytes. A stream of up to 200 KB is
    wholly in the first value."""
    head, tail, size, half = b"", b"", 0, MAX_BYTES // 2
    while block := stream.read(65_536):
        room = MAX_BYTES - len(head)
        head, tail = head + block[:room], (tail + block[room:])[-half:]
        size += len(block)
    return (head[:half], (head + tail)[-half:], size) if tail else (head, b"", size)


def _ends_as_text(head: bytes, tail: bytes, size: int, name: str) -> tuple[str, int]:
    """Both ends as text, with a line between them that counts the missing bytes; and the number of
    the lines at the beginning."""
    encoding = "utf-8-sig"
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    elif b"\0" in head[:8192]:
        hint = "give it as text, for example through `strings` or a converter"
        if (kind := kind_of(head)) in (*IMAGES, "pdf"):
            hint = f"name the {kind} file in the prompt, as @path"
        raise UsageError(f"{name} is binary data, not text", hint)
    if is_whole := len(head) + len(tail) >= size:
        head += tail
    else:
        head = head[: head.rfind(b"\n") + 1] or head
        tail = tail[tail.find(b"\n") + 1 :] or tail
        if encoding == "utf-16":
            head, tail = head[: len(head) // 2 * 2], b""
    text = _decode(head, encoding)
    count = text.removesuffix("\n").count("\n") + 1
    if not is_whole:
        missing = f"[{size - len(head) - len(tail):,} of {size:,} bytes are cut here]"
        text = f"{text}\n{missing}\n{_decode(tail, 'utf-8')}".rstrip()
    return text, count


def _decode(data: bytes, encoding: str) -> str:
    return data.decode(encoding, errors="replace").replace("\r\n", "\n")
