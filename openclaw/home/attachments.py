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
from openclaw.storage.foreign_readers import NoText, paged_text
from openclaw.storage.readers import BEGINNING, IMAGES, SUFFIXES, kind_of
from openclaw.types import Shown

MAX_BYTES = 200_000
MAX_NAMES = 200
MAX_DOCUMENT = 50_000_000
"""Bytes of a PDF. Its text is cut like that of any file."""
HOLDS_CREDENTIALS = "the agent must not see it; copy what it needs into another file"

_MENTION = re.compile(
    r'(?<![\w@.+-])@(?:"(?P<quoted>[^"\n]+)"(?P<after>:\d+(?:-\d+)?)?|(?P<bare>\S+))'
)
_RANGE = re.compile(r":(\d+)(?:-(\d+))?$")
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
    inside = path_in_home(home, mention.path)
    return _read_image(mention, inside) or _read_mention(mention, inside)


def attach_data(name: str, data: bytes, path: Path | None, home: Path, first: int = 1) -> Material:
    """The material of a file whose content another program gives: an image or a text, from line
    `first` on. `path` says where it lies, None for nowhere. Raises UsageError for other data, and
    for a file that holds credentials by its name."""
    if path is not None and (reason := why_denied(path)):
        raise UsageError(f"'{name}' is not attached: {reason}", HOLDS_CREDENTIALS)
    inside = path_in_home(home, path) if path is not None else ""
    kind = kind_of(data[:BEGINNING])
    if kind not in IMAGES:
        text, count = _ends_as_text(*_read_ends(io.BytesIO(data)), f"'{name}'")
        lines = Shown(inside, first, first + count - 1) if inside else None
        return Material(f"file {name}", text, inside, lines=lines)
    where = inside or (Path(os.path.realpath(path)).as_posix() if path is not None else name)
    return Material(f"image {name}", "", inside, _make_image(name, where, kind, data))


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
        for name, first, last in _spellings(words):
            for folder in folders:
                path = _find_existing(folder, name)
                if path:
                    return Mention(path, name, first, last)
        if words[-1] not in _CLOSING:
            return None
        words = words[:-1]
    return None


def _spellings(words: str) -> list[tuple[str, int, int]]:
    whole = [(words, 0, 0)]
    match = _RANGE.search(words)
    if not match or match.start() == 0:
        return whole
    first = int(match[1])
    return [*whole, (words[: match.start()], first or -1, int(match[2] or first))]


def _find_existing(folder: Path, name: str) -> Path | None:
    try:
        path = folder / Path(name).expanduser()
        return path if path.exists() else None
    except (OSError, ValueError, RuntimeError):
        return None


def _read_mention(mention: Mention, inside: str) -> Material:
    """One attachment; `inside` is its path in the home."""
    path = mention.path
    if reason := why_denied(path):
        raise UsageError(f"'{mention.name}' is not attached: {reason}", HOLDS_CREDENTIALS)
    try:
        if path.is_dir():
            return Material(f"folder {mention.name}", _listing(path), inside)
        if not path.is_file():
            raise UsageError(f"'{mention.name}' is neither a file nor a folder")
        with path.open("rb") as file:
            stream = _open_as_text(mention, file)
            if mention.first:
                label, (text, count) = _read_lines(mention, stream)
            else:
                label = f"file {mention.name}"
                text, count = _ends_as_text(*_read_ends(stream), f"'{mention.name}'")
            first = mention.first or 1
            lines = Shown(inside or mention.name, first, first + count - 1)
            return Material(label, text, inside, lines=lines)
    except OSError as error:
        raise UsageError(f"cannot read '{mention.name}': {error.strerror or error}") from error


def _read_image(mention: Mention, inside: str) -> Material | None:
    """The material of an image; None for a file that is no image or cannot be read."""
    path = mention.path
    try:
        if not path.is_file() or why_denied(path):
            return None
        with path.open("rb") as file:
            kind = kind_of(file.read(BEGINNING))
            file.seek(0)
            data = file.read(MAX_IMAGE_BYTES + 1) if kind in IMAGES else b""
    except OSError:
        return None
    if not data:
        return None
    if mention.first:
        raise UsageError(f"'{mention.name}' is an image, which has no lines", "attach all of it")
    where = inside or Path(os.path.realpath(path)).as_posix()
    image = _make_image(mention.name, where, kind, data)
    return Material(f"image {mention.name}", "", inside, image)


def _make_image(name: str, where: str, kind: str, data: bytes) -> Image:
    if len(data) > MAX_IMAGE_BYTES:
        most = f"larger than {MAX_IMAGE_BYTES // 1_000_000} MB"
        raise UsageError(f"the image '{name}' is {most}", "attach a smaller copy of it")
    return Image(where, kind, hashlib.sha256(data).hexdigest(), data)


def _open_as_text(mention: Mention, file: BinaryIO) -> BinaryIO:
    """The file; for a PDF a stream of its text instead."""
    beginning = file.read(BEGINNING)
    file.seek(0)
    if kind_of(beginning) != "pdf":
        return file
    data = file.read(MAX_DOCUMENT + 1)
    if len(data) > MAX_DOCUMENT:
        most = f"larger than {MAX_DOCUMENT // 1_000_000} MB"
        raise UsageError(f"'{mention.name}' is {most}", "attach a smaller part of it")
    try:
        return io.BytesIO(paged_text(data).encode())
    except NoText as error:
        hint = "attach its pages as images, or text that was made of it"
        raise UsageError(f"'{mention.name}' is {error}", hint) from error


def _listing(folder: Path) -> str:
    names = sorted(entry.name + ("/" if entry.is_dir() else "") for entry in folder.iterdir())
    if len(names) > MAX_NAMES:
        names = [*names[:MAX_NAMES], f"[{len(names) - MAX_NAMES} more names are not shown]"]
    return "\n".join(names) or "[the folder is empty]"


def _read_lines(mention: Mention, stream: BinaryIO) -> tuple[str, tuple[str, int]]:
    """Heading of the lines `first` to `last`, and `_ends_as_text` of them; the file is read only as
    far as needed."""
    first, last = mention.first, mention.last
    if first < 1 or last < first:
        shown = f"{max(first, 0)}-{last}"
        raise UsageError(f"'{mention.name}:{shown}' is no range of lines", "write @path:10-20")
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
        raise UsageError(f"'{mention.name}' has {number} lines, so no line {first}")
    text = _ends_as_text(b"".join(taken)[:MAX_BYTES], b"", size, f"'{mention.name}'")
    return f"file {mention.name}, lines {first}-{min(last, number)}", text


def read_stdin(stream: BinaryIO) -> str:
    """Standard input as text, at most 200 KB of it; a line tells where something was left out and
    how much. Raises UsageError for binary data."""
    return _ends_as_text(*_read_ends(stream), "standard input")[0]


def _read_ends(stream: BinaryIO) -> tuple[bytes, bytes, int]:
    """The first and the last 100 KB of a stream, and its size in bytes. A stream of up to 200 KB is
    wholly in the first value."""
    head, tail, size = b"", b"", 0
    while block := stream.read(65_536):
        room = MAX_BYTES - len(head)
        head, tail = head + block[:room], (tail + block[room:])[-MAX_BYTES // 2 :]
        size += len(block)
    if not tail:
        return head, b"", size
    joined = head + tail if size <= len(head) + len(tail) else b""
    tail = joined[-MAX_BYTES // 2 :] or tail[-MAX_BYTES // 2 :]
    return head[: MAX_BYTES // 2], tail, size


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
