"""Finds secrets in a text: keys with a known form, and what stands where a secret is expected.

What counts as one follows gitleaks (config/gitleaks.toml) and detect-secrets (plugins keyword,
basic_auth, private_key); the patterns are written anew, with a bound on every repetition. Nothing
is taken for a secret by its looks alone: hashes, ids and encoded images look the same.
"""

from __future__ import annotations

import base64
import binascii
import re
from bisect import bisect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from openclaw.safety.assigned import assigned
from openclaw.safety.entropy import KEY_BITS, bits, is_placeholder, is_secret
from openclaw.safety.keys import keys

Span = tuple[str, int, int]

_PEM = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PEM_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PEM_LINES = re.compile(
    r"(?:(?:\s|\\[nr]){1,8}(?:[A-Za-z0-9+/=]{16,2000}"
    r"|(?:Proc-Type|DEK-Info|Version|Comment)[^\n]{0,100})){1,400}(?:\s[A-Za-z0-9+/=]{1,76}$)?"
)
_PEM_LONGEST = 20_000
MOST_LINES = 300
_CODED = re.compile(r"[A-Za-z0-9+/]{16}")

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,20}$")
_LOGIN = re.compile(r"://[^\s:@/\"'<>]{0,100}:(?P<it>[^\s/@\"'<>]{1,200})@")
_HEADER = re.compile(
    r"(?i:\b(?P<name>bearer|basic|token)[ \t]{1,4})(?P<it>[A-Za-z0-9._~+/-]{8,4000}={0,3})"
)
_CURL = re.compile(
    r"(?:(?<=\s)-u|--user|--proxy-user)[ =]{0,2}[\"']?[^\s:\"']{1,64}:(?P<it>[^\s\"'`]{3,200})"
)
_NETRC = re.compile(r"(?i:\blogin[ \t]{1,4}\S{1,100}\s{1,4}password[ \t]{1,4})(?P<it>\S{3,200})")
_AWS = re.compile(r"(?<![A-Za-z0-9+/=])(?P<it>[A-Za-z0-9+/]{40})(?![A-Za-z0-9+/=])")
_AWS_ID = re.compile(r"(?<![A-Za-z0-9])A[KS]IA[A-Z0-9]{16}(?![A-Za-z0-9])")
_NEAR = 200
_TRIVIAL = frozenset("pass password passwd pw pwd secret user username token key test".split())


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret in a text: `kind` is what the user is told (github-token), start and end count
    characters."""

    kind: str
    start: int
    end: int


def find(text: str) -> list[Secret]:
    """The secrets of a text in their order. They do not overlap; where two findings do, they are
    one, of the kind that says more."""
    spans: list[Span] = []
    for look in (_blocks, keys, _aws, _headers, _urls, _typed, assigned):
        spans += look(text)
    return _merged(spans)


def _merged(spans: list[Span]) -> list[Secret]:
    """Spans that overlap as one; the earlier of the list names the kind."""
    merged: list[tuple[int, int, int]] = []
    for rank, (_, start, end) in sorted(enumerate(spans), key=lambda each: each[1][1:]):
        if merged and start < merged[-1][2]:
            best, first, last = merged[-1]
            merged[-1] = min(best, rank), first, max(last, end)
        else:
            merged.append((rank, start, end))
    return [Secret(spans[rank][0], start, end) for rank, start, end in merged]


def _blocks(text: str) -> Iterator[Span]:
    """Private keys, whole; what there is of one whose end is missing."""
    begins = list(_PEM.finditer(text)) if "PRIVATE KEY" in text else []
    ends = [end.span() for end in _PEM_END.finditer(text)] if begins else []
    past = 0
    for begin in begins:
        if begin.start() < past:
            continue
        index = bisect(ends, (begin.end(), 0))
        past = ends[index][1] if index < len(ends) else 0
        if not begin.end() < past <= begin.end() + _PEM_LONGEST:
            lines = _PEM_LINES.match(text, begin.end())
            past = lines.end() if lines else 0
        if past and _CODED.search(text, begin.end(), past):
            yield "private-key", begin.start(), past


def key_begin(lines: Sequence[str], index: int) -> int:
    """The index of the line in which the private key begins that this line belongs to, else the
    same index: its lines alone do not look like a key."""
    for near in range(min(index, len(lines)) - 1, max(index - MOST_LINES, 0) - 1, -1):
        if "PRIVATE KEY" in lines[near]:
            return near if _PEM.search(lines[near]) and not _PEM_END.search(lines[near]) else index
    return index


def _aws(text: str) -> Iterator[Span]:
    """The secret half of an AWS pair, which has no form of its own, near the id of the key."""
    for key in _AWS_ID.finditer(text):
        for match in _AWS.finditer(text, key.end(), key.end() + _NEAR):
            if bits(match[0]) >= 4:
                yield "aws-secret", *match.span("it")


def _headers(text: str) -> Iterator[Span]:
    """What follows `Bearer` and `Basic`, with or without `Authorization:` before it."""
    for match in _HEADER.finditer(text):
        value, start, end = match["it"], *match.span("it")
        if match["name"].lower() == "basic":
            if ":" in _decoded(value):
                yield "basic-auth", start, end
        elif is_secret(value[:512], least=KEY_BITS if match["name"][0] in "bB" else 60):
            yield "bearer-token", start, end


def _decoded(value: str) -> str:
    try:
        return base64.b64decode(value + "=" * (-len(value) % 4), validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        return ""


def _urls(text: str) -> Iterator[Span]:
    """Passwords of addresses: scheme://user:password@host."""
    at = text.find("://")
    while at >= 0:
        match = _LOGIN.match(text, at)
        if match and _SCHEME.search(text, max(at - 21, 0), at) and not _trivial(match["it"]):
            yield "url-password", *match.span("it")
        at = text.find("://", at + 3)


def _typed(text: str) -> Iterator[Span]:
    """Passwords of `curl -u user:password` and of .netrc lines."""
    for pattern, sign in ((_CURL, "-u"), (_NETRC, "assword")):
        for match in pattern.finditer(text) if sign in text else ():
            if not _trivial(match["it"]):
                yield "password", *match.span("it")


def _trivial(password: str) -> bool:
    """True for what stands in examples; a real one that is short counts here, by its place."""
    return password.casefold() in _TRIVIAL or is_placeholder(password, varied=False)
