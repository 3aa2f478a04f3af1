"""Text files are written atomically, in the manner that they already have.

Every file of a home is written by the functions below (`atomic` is how), or by `saving` where
others may save it at the same time.

The encoding of other texts is told by their bytes and by no statistics: charset-normalizer 3.5 read
3 of 10 short notes in Windows-1252 rightly, and no file of mixed origin.
"""

from __future__ import annotations

import codecs
import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

from openclaw.errors import OpenclawError
from openclaw.storage import atomic
from openclaw.storage.safe_open import BOM, NotOrdinary, read_bytes, remove, target_of
from openclaw.types import BeforeWrite, record_no_write

UTF_16 = (b"\xff\xfe", b"\xfe\xff")  # how it begins


def with_line_ends_of(now: bytes | None, data: bytes | None) -> bytes | None:
    """A text with the line ends of `now`, where all of these are of one kind."""
    if not now or not data or b"\0" in data:
        return data
    crlf, lines = now.count(b"\r\n"), now.count(b"\n")
    if not lines or crlf not in (0, lines):
        return data
    plain = data.replace(b"\r\n", b"\n")
    return plain.replace(b"\n", b"\r\n") if crlf else plain


def write_text(path: Path, text: str, keep: BeforeWrite = record_no_write) -> bool:
    """Put `text` into the file in one step; False when it already held exactly that.

    A reader sees the old or the new file, never half of one, whenever the process dies. A symlink
    is followed outside of homes only; mode, BOM and a uniform newline style of an existing file are
    kept; missing folders are made. `keep` is told before. Raises OpenclawError when it cannot be
    written, and then nothing is changed.
    """
    before = read_current(path)
    return write_over(path, before, text, keep) != before


def read_current(path: Path) -> bytes | None:
    """The bytes of a file that is about to be replaced, None when there is none. Raises
    OpenclawError when it cannot be read or must not be replaced."""
    with report_unwritable(path):
        return atomic.current(target_of(path))


def write_over(
    path: Path, before: bytes | None, text: str, keep: BeforeWrite = record_no_write
) -> bytes:
    """`write_text` into a file that was just read and holds `before`; returns what it holds now."""
    with report_unwritable(path):
        target = target_of(path)
        data = encode_like(before, text, path)
        if data != before:
            write_kept(keep, target, before, data, partial(atomic.replace, target, data))
    return data


def write_if_same(
    path: Path, before: bytes | None, data: bytes, keep: BeforeWrite = record_no_write
) -> bool:
    """Put `data` into the file in one step if it still holds `before` (None: there is no file).

    False when another program changed it since, and then nothing is written. Bytes go as they are;
    otherwise as `write_text`. `keep` is told before.
    """
    with report_unwritable(path):
        target = target_of(path)
        write = partial(atomic.swap, target, before, data)
        return write_kept(keep, target, before, data, write)


def remove_file(path: Path, keep: BeforeWrite = record_no_write) -> None:
    """A file, or the link in its place, is gone afterwards. `keep` is told before of what a file
    held. Raises OpenclawError when it cannot be removed."""
    try:
        before = None if path.is_symlink() else read_bytes(path)
    except FileNotFoundError:
        return
    except OSError:  # what cannot be read can be removed all the same
        before = None
    keep = keep if before is not None else record_no_write
    with report_unwritable(path):
        write_kept(keep, path, before, None, partial(remove, path))


def write_kept(
    keep: BeforeWrite,
    path: Path,
    before: bytes | None,
    after: bytes | None,
    write: Callable[[], bool | None],
) -> bool:
    """Tell `keep` what `write` is about to do; `write` returns False when it has done nothing."""
    void = keep(path, before, after)
    is_written = False
    try:
        is_written = write() is not False
    finally:
        if not is_written:
            with suppress(OpenclawError):
                void()
    return is_written


def write_private(path: Path, text: str) -> None:
    """Put `text` into the file in one step, readable by this user only from the first byte on.

    A symlink in its place is replaced, not followed. On Windows the file has the rights of its
    folder. Raises OpenclawError when it cannot be written, and then nothing is changed.
    """
    with report_unwritable(path):
        atomic.replace(path, encode(text), private=True)


@contextmanager
def report_unwritable(path: Path) -> Iterator[None]:
    """Turn an error of the operating system in here into an OpenclawError about `path`."""
    try:
        yield
    except (OSError, ValueError) as error:
        raise unwritable(path, error) from error


def unwritable(path: Path, error: Exception) -> OpenclawError:
    """The error of the operating system in the user's words."""
    code = error.errno if isinstance(error, OSError) else None
    what, advice = _REASONS.get(code, ("", "look at {folder} and make it a writable folder"))
    if isinstance(error, NotOrdinary):
        what, advice = "", "put an ordinary file or folder in its place"
    what = what or getattr(error, "strerror", None) or str(error)
    return OpenclawError(f"cannot write {path}: {what}", advice.format(folder=path.parent))


_FULL = ("the disk is full", "free some space, then try again")
_READ_ONLY = (
    "it is read-only for this user",
    "make {folder} writable, or choose another home with --home DIR",
)
_REASONS: dict[int | None, tuple[str, str]] = {
    errno.ENOSPC: _FULL,
    getattr(errno, "EDQUOT", errno.ENOSPC): _FULL,
    errno.EFBIG: (
        "larger than this system allows",
        "raise the limit (ulimit -f) or free some space, then try again",
    ),
    errno.EIO: (
        "the disk reports an error",
        "make a copy of your home on another disk and have this one checked",
    ),
    **dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), _READ_ONLY),
}


def encode_like(before: bytes | None, text: str, path: Path) -> bytes:
    """A text as bytes with BOM and newline style of those that stood there (None: no file).

    Raises OpenclawError, naming `path`, for what is not UTF-8 and would be lost.
    """
    if before is None:
        return encode(text)
    check_not_utf_16(before, path)
    if "\ufffd" in text and _is_undecodable(before):
        raise OpenclawError(
            f"{path} is not UTF-8 text; writing it would lose what could not be read",
            f"convert it first, for example: iconv -f latin1 -t utf-8 {path.name}",
        )
    data = with_line_ends_of(before, encode(text)) or b""
    if b"\n" not in before and b"\r" in before:
        data = data.replace(b"\r\n", b"\r").replace(b"\n", b"\r")
    if before.startswith(BOM) and not data.startswith(BOM):
        data = BOM + data
    return data


def check_not_utf_16(data: bytes | None, path: Path) -> None:
    """Raises OpenclawError, naming `path`, for the bytes of a UTF-16 file."""
    if data and data.startswith(UTF_16):
        raise OpenclawError(
            f"{path} is UTF-16, not UTF-8 text",
            f"convert it first, for example: iconv -f utf-16 -t utf-8 {path.name}",
        )


def join_surrogates(text: str) -> str:
    """Return a text whose halves of surrogate pairs, which models print and `decode` leaves for bad
    bytes, are joined; a lone one becomes U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def encode(text: str) -> bytes:
    """UTF-8, with surrogates as `join_surrogates` has them."""
    return join_surrogates(text).encode("utf-8")


def _is_undecodable(data: bytes) -> bool:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return True
    return False


CUT = "broken-off UTF-8"
SAMPLE = 4096


def encoding_of(data: bytes) -> str:
    """ "UTF-8", "UTF-16", "UTF-32", CUT for UTF-8 that ends inside a character, "Latin-1" for other
    bytes that can be text, "" for none."""
    if codec := _find_wide_codec(data):
        return codec[:6].upper()
    if b"\0" in data:
        return ""
    if not _is_undecodable(data):
        return "UTF-8"
    return "Latin-1" if _drop_cut_character(data) is None else CUT


def as_utf8(data: bytes) -> bytes | None:
    """The same text in UTF-8, None when the bytes are no text.

    In a file of mixed origin what is UTF-8 stays as it is; other bytes are read as Windows-1252, of
    which Latin-1's letters are a part. The beginning of a character at the end is dropped.
    """
    if codec := _find_wide_codec(data):
        try:
            return data.decode(codec).encode("utf-8")
        except UnicodeError:
            return None
    return None if b"\0" in data else pieces(data)


def pieces(data: bytes) -> bytes:
    """Bytes that are UTF-8 for the most part, or in parts, as UTF-8."""
    whole = _drop_cut_character(data)
    if whole is not None:
        return whole
    codecs.register_error("as Windows-1252", _decode_rest)
    return data.decode("utf-8", "as Windows-1252").encode("utf-8")


def _decode_rest(error: UnicodeError) -> tuple[str, int]:
    """What stands at a place that is no UTF-8, and where to go on."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    data = error.object[error.start : error.end]
    try:
        return data.decode("cp1252"), error.end
    except UnicodeDecodeError:
        return data.decode("latin-1"), error.end


def _drop_cut_character(data: bytes) -> bytes | None:
    """The text before a character that is broken off at its end; None where that is not what is
    wrong: a text with no other such character may as well end with a letter of Latin-1."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        decoder.decode(data)
    except UnicodeDecodeError:
        return None
    begun = decoder.getstate()[0]
    whole = data[: len(data) - len(begun)]
    return None if begun and whole.isascii() else whole


def _find_wide_codec(data: bytes) -> str:
    """The codec of UTF-16 or UTF-32, "" for other bytes. Without a mark it is UTF-16 in one of its
    byte orders when mostly one byte of two is zero."""
    if data.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return "utf-32"
    if data.startswith(UTF_16):
        return "utf-16"
    sample = data[:SAMPLE]
    half = len(sample) // 2
    if len(data) % 2 or half < 2:
        return ""
    for start, codec in ((1, "utf-16-le"), (0, "utf-16-be")):
        zeros, others = sample[start::2].count(0), sample[1 - start :: 2].count(0)
        if zeros > 0.7 * half and not others:
            return codec
    return ""


OPEN, CLOSE = "<!--", "-->"


class Comment(NamedTuple):
    """Where a comment begins, with the blanks before it, and ends; `inner` is what it says."""

    start: int
    end: int
    inner: str


def comments(text: str) -> Iterator[Comment]:
    """The comments of a text in their order; one without an end is none."""
    end = 0
    while (at := text.find(OPEN, end)) >= 0:
        close = text.find(CLOSE, at + len(OPEN))
        if close < 0:
            return
        start = end + len(text[end:at].rstrip(" \t"))
        end = close + len(CLOSE)
        yield Comment(start, end, text[at + len(OPEN) : close])


def without_comments(text: str) -> str:
    """The text without its comments and the blanks before them."""
    kept, end = [], 0
    for comment in comments(text):
        kept.append(text[end : comment.start])
        end = comment.end
    return "".join((*kept, text[end:]))


def replace_bad_bytes(line: str) -> str:
    """Return a text, such as a line of a diff, with U+FFFD for bytes that are not UTF-8."""
    return line.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
