"""Whether one word, by its shape, is an exact string: a path, an address, an id, a number."""

from __future__ import annotations

import re

_URL = re.compile(r"(?:[a-z][a-z0-9+.-]{1,12}://|www\.)\S{2,}|mailto:\S+", re.IGNORECASE)
_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){1,5}")
_HOST = re.compile(
    r"(?:localhost|(?:\d{1,3}\.){3}\d{1,3}|[\w-]{1,63}(?:\.[\w-]{1,63}){1,5})(?::\d{1,5}|/\d{1,2})?"
    r"|[\w-]{1,63}:\d{2,5}"
)
_IPV6 = re.compile(r"(?=[^:]*:[^:]*:)[0-9A-Fa-f:]{6,39}(?:%\w{1,8}|/\d{1,3})?")
_IPV4 = re.compile(r"(?:\d{1,3}\.){3}\d{1,3}(?::\d{1,5}|/\d{1,2})?")
_ADDRESS = re.compile(r"[\w-]{1,63}(?:\.[\w-]{1,63}){0,4}:\d{2,5}")
_SUFFIX = re.compile(r"(?:[\w@+~-][\w@+~. -]{0,80})?\.(?=\w{0,9}[A-Za-z])[A-Za-z0-9]{1,10}")
_NO_NAME = re.compile(
    r"[^\W\d_]\.(?:[^\W\d_]\.?){1,4}|.*\.\..*|\d+(?:\.\d+)*[a-z]{1,2}", re.IGNORECASE
)
_NEXT_SENTENCE = re.compile(r"[^\W\d_]{2,}\.[A-Z][a-z]+")
_VERSION = re.compile(r"v?\d{1,5}(?:\.\d{1,6}){1,4}(?:[-+.]?[A-Za-z][\w.+-]{0,20})?")
_NUMBER = re.compile(r"[-+\u2212~\u2248<>\u00b1]?\d{1,20}(?:[.,'\u2019]\d{1,20}){0,6}")
_ORDINAL = re.compile(r"\d{1,3}(?:st|nd|rd|th|er|re|e|º|ª)", re.IGNORECASE)
_TIMES = re.compile(r"\d{1,2}x")
_HEX = re.compile(r"\^?(?=[0-9a-f]{0,63}\d)(?=\d{0,63}[a-f])[0-9a-f]{6,128}", re.IGNORECASE)
_BLOCK = re.compile(r"\^[\w-]{4,40}")
_CODED = re.compile(r"(?=\D{0,60}\d)[^\W_][\w.+#:@~^-]{0,100}")
_SNAKE = re.compile(r"_{0,2}[A-Za-z]\w{0,40}_\w{1,60}|\$\w{2,60}|%\w{2,40}%|--[a-z][\w-]{1,40}")
_CAMEL = re.compile(r"[A-Za-z]{1,40}[a-z][A-Z]\w{0,60}|[A-Z]{2,10}[a-z]{2,40}[A-Z]\w{0,40}")
_CALL = re.compile(r"[A-Za-z_][\w.]{1,80}\(\)")
_HANDLE = re.compile(r"@[A-Za-z]\w{1,40}|#[A-Za-z0-9][\w-]{0,40}")
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")
_KEYED = re.compile(r"[A-Za-z_][\w.-]{0,40}=(?!=)[^\s=]{1,120}")
_TIME = re.compile(r"\d{1,2}:\d\d(?::\d\d)?(?:[ap]m)?|\d{4}-\d\d-\d\d\S{0,20}", re.IGNORECASE)
_MOST_SMALL = 10


def is_exact(word: str) -> bool:
    """Whether a word (no blanks, no marks around it) is an exact string by its shape alone."""
    if word.isalpha():
        return bool(_CAMEL.fullmatch(word)) and word.lower() not in ("macos", "iphone", "ipad")
    if _NUMBER.fullmatch(word):
        return _is_number(word)
    if word.isascii() or any(character.isdigit() or character in "/\\@._" for character in word):
        return any(shape(word) for shape in _SHAPES)
    return False


def _is_number(word: str) -> bool:
    """Whether a number is worth keeping: 0 to 10 alone are counts, not values."""
    bare = word.lstrip("-+\u2212~\u2248<>\u00b1")
    return not bare.isdigit() or len(bare) > 2 or int(bare) > _MOST_SMALL


def _is_address(word: str) -> bool:
    if _URL.fullmatch(word) or _EMAIL.fullmatch(word) or _IPV4.fullmatch(word):
        return True
    if _TIME.fullmatch(word) or _IPV6.fullmatch(word):
        return True
    return bool(_ADDRESS.fullmatch(word)) and not word[0].isdigit()


def _is_path(word: str) -> bool:
    """A path has something that no pair of words such as "and/or" has: a beginning of its own, a
    suffix, a digit, or three parts."""
    if _DRIVE.match(word) or word.startswith(("\\\\", "~/", "./", "../")):
        return True
    parts = re.split(r"[/\\]", word)
    if len(parts) < 2 or "//" in word[:-1] or not any(map(str.isalpha, word)):
        return False
    if word[0] == "/":
        return len(parts[1]) > 1
    if not parts[-1]:
        return len(parts[0]) > 1
    return len(parts) > 3 or any(_is_part(part) for part in parts)


def _is_part(part: str) -> bool:
    marked = "_" in part or "." in part.strip(".") or part.startswith(".")
    return marked or (any(map(str.isdigit, part)) and any(map(str.isalpha, part)))


def _is_file(word: str) -> bool:
    if not _SUFFIX.fullmatch(word) or _NO_NAME.fullmatch(word):
        return False
    return not _NEXT_SENTENCE.fullmatch(word)


def _is_coded(word: str) -> bool:
    """Letters and digits together: OPS-4217, a7f3c2, qwen2.5; not 2nd, 3x, 24-hour."""
    if _ORDINAL.fullmatch(word) or _TIMES.fullmatch(word):
        return False
    if _HEX.fullmatch(word) or _BLOCK.fullmatch(word) or _VERSION.fullmatch(word):
        return True
    if not _CODED.fullmatch(word):
        return False
    return not re.fullmatch(r"\d{1,3}-[a-z]+(?:-[a-z]+)?", word)


def _is_name(word: str) -> bool:
    """A name as programs have them: snake_case, CamelCase, --option, call(), @handle, key=value."""
    shapes = (_SNAKE, _CAMEL, _CALL, _HANDLE, _KEYED)
    return any(shape.fullmatch(word) for shape in shapes)


_SHAPES = (_is_address, _is_path, _is_file, _is_coded, _is_name)
