"""Tells a value that chance made from words, names, paths, versions and placeholders.

Shannon's measure alone takes long words and file names for keys and short passwords for words, so
the form of a value counts first. The figures are our own, found with the tables of the tests;
gitleaks (config/gitleaks.toml) asks for 3 to 4.5 bits a character of most keys, detect-secrets
(high_entropy_strings) for 4.5 of base64 and 3 of hex.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import pairwise

SHORTEST = 8
LONGEST = 512
PASSWORD_BITS = 22.0
"""Bits of a whole password: eight characters that are mostly different have 22 to 24."""
KEY_BITS = 34.0
"""Bits of a whole key or token, which no person has to remember."""
MIXED = 0.2
"""Least share of neighbours that change case; letters of chance have 0.5 on average."""

_EMPTY = re.compile(
    r"[<>]|\{\{|\$[\{(]|\$\w+$|%\w{1,40}%|\{[a-z_]?[\w.!:]{0,40}\}|\(\?|\.{3}|\*{3}|\u2026|x{4}|X{4}|#\{"
    r"|^(?i:your|my[_-]|change|example|dummy|placeholder|insert|enter|replace|redacted|none$|null$)"
)
_REFERENCE = re.compile(
    r"(?i:(?:[a-z]{3,10}|[a-z0-9+.-]{1,20}:)//|data:|arn:|op:|env:|file:|vault:|ref\+|sha\d{1,3}[-:])"
    r"|[/~.]{0,2}/|[A-Za-z]:[\\/]|[!&@]\w{1,40}$"
)
_HASHED = re.compile(r"\$(?:2[abxy]?|argon2\w{0,2}|[156y])\$|\{S{0,2}(?:SHA|MD5)|pbkdf2|scrypt:")
_VERSION = re.compile(r"[\^~<>=v]{0,3}\d{1,8}(?:\.\d{1,8}){1,4}(?:[-+.][\w.+-]{0,60})?")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d(?:[T_ -]?[\d:.,+Z-]{0,30})?")
_NUMBER = re.compile(r"[-+]?[\d.,_:/ -]{1,60}")
_PIECES = re.compile(r"[-_./:+@=&,|~ ]+")
_WORD = re.compile(r"[^\W\d_]{1,40}\d{0,4}|v?\d{1,6}[a-z]{0,2}|\d{1,4}[^\W\d_]{1,12}")
_DIGEST = re.compile(r"[0-9a-f]{16,128}|[0-9A-F]{16,128}")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_PASSWORD = re.compile(r"[^\W\d_]{3,30}\d{2,6}[!?.#*$%&+]{0,3}")
_CAMEL = re.compile(
    r"[a-z]{0,40}(?:[A-Z]{1,6}[a-z]{2,40}|(?:As|At|By|Id|In|Is|No|Of|On|Or|To|Up))*[A-Z]{0,6}"
)
_LETTERS = re.compile(r"[A-Za-z]+")


def bits(text: str) -> float:
    """Shannon's bits a character, by the text's own frequencies; 0 for an empty text."""
    size = len(text)
    return -sum(n / size * math.log2(n / size) for n in Counter(text).values()) if size else 0.0


def is_secret(
    value: str, *, least: float = KEY_BITS, digests: bool = True, password: bool = False
) -> bool:
    """True when a value that stands where a secret is expected looks like one.

    `least` is what the whole value must hold, in bits. With `digests` a UUID or a plain run of hex
    digits counts too: under `api_key` it is a key, under `token` more likely an id. With `password`
    a word with a number behind it counts, as people choose them.
    """
    if not SHORTEST <= len(value) <= LONGEST or is_placeholder(value):
        return False
    if _DIGEST.fullmatch(value) or _UUID.fullmatch(value):
        return digests and len(set(value)) > 5
    if _REFERENCE.match(value) or _HASHED.match(value):
        return False
    if any(form.fullmatch(value) for form in (_VERSION, _MOMENT, _NUMBER)):
        return False
    if password and _PASSWORD.fullmatch(value):
        return True
    return not is_wordy(value) and bits(value) * len(value) >= least


def is_placeholder(value: str, *, varied: bool = True) -> bool:
    """True for what stands in a secret's place: <token>, ${TOKEN}, {{secret:x}}, your_key, ***.
    With `varied` also for fewer than four different characters."""
    return len(set(value)) < (4 if varied else 2) or _EMPTY.search(value) is not None


def is_wordy(value: str) -> bool:
    """True for what is made of words, names and small numbers: my-secret-v2, gpt-4o-2024-08-06."""
    pieces = [piece for piece in _PIECES.split(value) if piece]
    return all(_WORD.fullmatch(piece) and not is_mixed(piece) for piece in pieces)


def is_mixed(text: str) -> bool:
    """True when the letters of a text change case as only chance does; False for short ones and
    for namesLikeThis."""
    letters = "".join(_LETTERS.findall(text))
    if len(letters) < 12 or letters.islower() or letters.isupper():
        return False
    changes = sum(a.isupper() != b.isupper() for a, b in pairwise(letters))
    return changes / len(letters) >= MIXED and not _CAMEL.fullmatch(letters)
