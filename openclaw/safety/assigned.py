"""Finds what is assigned to the name of a secret: `api_key: ...`, `"password": "..."`, and in a
sentence `the password is ...`. The words are those of detect-secrets (keyword.py) and some more."""

from __future__ import annotations

import re
from collections.abc import Iterator

from openclaw.safety.entropy import KEY_BITS, LONGEST, PASSWORD_BITS, is_secret

_STEM = re.compile(
    r"pass|pwd|kennwort|contrase[n\u00f1]a|senha|wachtwoord|mot de passe|secret|token|credential"
    r"|geheimnis|key|schl\u00fcssel"
)
_KEY_OF = re.compile(
    r"(?:api|access|auth|account|private|priv|signing|encryption|secret|master|app|shared|client"
    r"|subscription|license|deploy|service|webhook|storage|consumer|bot|wpa[23]?|wep|wi-?fi|wlan"
    r"|network|recovery)[ _.-]?$"
)
_MORE = re.compile(r"[\w-]{0,24}")
_SIGN = re.compile(
    r"\\?[\"'`]?\]?(?:(?P<sign>[ \t]{0,8}(?::=|=>|={1,2}|:)[ \t]{0,8})"
    r"|[ \t](?i:is|ist|lautet|was|war|est|es)[ \t]{1,2})"
    r"(?:[brfu]{0,2}\\?(?P<quote>[\"'`]))?"
)
_OF = re.compile(
    r" (?:of|for|to|des|der|vom|von|f\u00fcrs?|zum|zur|du|de|del|pour|para)(?: [\w'-]{1,20}){1,4}?"
    r"(?=:[ \t]| (?:is|ist|lautet|was|war|est|es) )",
    re.IGNORECASE,
)
_VALUE = re.compile(r"[^\s\"'`]{8,512}")
_QUOTED = re.compile(r"[^\"'`\s\\]{8,512}(?=\\?[\"'`])")
_NEXT = re.compile(r"[;,&|](?=[\w .-]{1,40}[=:]|$)|\\[nrt]|&amp;|</")
_CODE = re.compile(
    r"\{[a-z_]|[(\[!*&]{0,3}(?:[A-Za-z_$][A-Za-z_$.]{0,80}|[a-z_]\w{0,40}[._]\w{1,40})(?:\?\.|->|::|\(|\[)"
)
_NESTED = re.compile(r"[\w-]{3,40}[=:]\S")
_ANY_CODE = re.compile(r"[(\[{]|[A-Za-z_$][\w$.]{0,80}(?:\?\.|->|::|\(|\[)")
_TAIL = re.compile(r"[,;)\]}>]{1,8}:?$")
_SENTENCE_TAIL = re.compile(r"[.,;:)\]}>]{1,8}$")
_IN_USE = re.compile(r"\{\{\s?$|://[^\s/@]{0,60}$")
_PASSWORD = re.compile(r"pass|pwd|kennwort|contrase|senha|wachtwoord|mot de")
_NO_PASS = re.compile(r"(?:com|by|tres|sur)$")
_PASS_MORE = re.compile(r"(?i)^(?:word|wd|wort|phrase|code)")
_GOES_ON = re.compile(r"(?!key|value|token|text)[a-z\u00df-\u00ff]")
_NO_SECRET = re.compile(
    r"(?i:[\w-]{0,16}[_-]|[\w-]{0,16}?(?=[A-Z]))?(?:hash|hashed|digest|ids?|names?|file|path|dir|folder|url|uri"
    r"|endpoint|counts?|len|length|limits?|types?|expiry|expires|expiration|expired|ttl|fields?"
    r"|column|hint|policy|min|max|size|version|refs?|reference|env|var|status|usage|budget|price"
    r"|cost|rate|at|date|time|manager|generator|reset|strength|rules?|tests?|check|format|pattern"
    r"|regex|label|title|prompt|placeholder|error|message|store|ring|offset|index)s?",
    re.IGNORECASE,
)


def assigned(text: str) -> Iterator[tuple[str, int, int]]:
    """Kind (password, token, secret, api-key), start and end of each value."""
    lowered = text.replace("\u0130", "i").lower()  # the one letter whose lower case is two
    past = 0
    stems = [match.span() for match in _STEM.finditer(lowered)]
    for number, (start, end) in enumerate(stems):
        stem = lowered[start:end]
        if start < past or _IN_USE.search(text, max(start - 64, 0), start):
            continue
        if stem in ("key", "schl\u00fcssel") and not _is_key(lowered, start):
            continue
        more = text[end : _MORE.match(text, end).end()]  # type: ignore[union-attr]  # may be empty
        owner = _OF.match(text, end + len(more))
        sign = _SIGN.match(text, owner.end() if owner else end + len(more))
        if not sign or not _names_secret(stem, lowered[max(start - 4, 0) : start], more):
            continue
        limit = stems[number + 1][0] if number + 1 < len(stems) else len(text)
        value = _value(text, sign, limit, _PASSWORD.match(stem) is not None)
        if value and _counts(stem, value, said=not sign["sign"] or owner is not None):
            past = sign.end() + len(value)
            yield _kind(stem, more), sign.end(), past


def _is_key(lowered: str, start: int) -> bool:
    return _KEY_OF.search(lowered, max(start - 16, 0), start) is not None


def _names_secret(stem: str, before: str, more: str) -> bool:
    """False for password_hash, tokenizer, passive and compass. `more` is the rest of the name."""
    if stem == "pass":
        if _NO_PASS.search(before):
            return False
        more = _PASS_MORE.sub("", more)
    return not _GOES_ON.match(more) and not _NO_SECRET.fullmatch(more)


def _kind(stem: str, more: str) -> str:
    if _PASSWORD.match(stem):
        return "password"
    if stem in ("key", "schl\u00fcssel") or "key" in more.lower():
        return "api-key"
    return "token" if stem == "token" else "secret"


def _counts(stem: str, value: str, *, said: bool) -> bool:
    if said and not _varied(value):
        return False
    password = _PASSWORD.match(stem) is not None
    return is_secret(
        value,
        least=PASSWORD_BITS if password else KEY_BITS,
        digests=stem not in ("token", "credential"),
        password=password and not said,
    )


def _value(text: str, sign: re.Match[str], limit: int, password: bool) -> str:
    """What is assigned: up to the closing quote, or without quotes up to a blank or the next such
    name at `limit`, less what belongs to the text around it. Only a password has brackets in it."""
    if sign["quote"]:
        found = _QUOTED.match(text, sign.end())
        return found[0] if found else ""
    nested = limit < sign.end() + LONGEST and _NESTED.match(text, limit)
    found = _VALUE.match(text, sign.end(), limit if nested else len(text))
    if not found or (_CODE if password else _ANY_CODE).match(found[0]):
        return ""
    value = _NEXT.split(found[0], maxsplit=1)[0]
    return (_TAIL if sign["sign"] else _SENTENCE_TAIL).sub("", value)


def _varied(value: str) -> bool:
    """True for a value that no word of a sentence looks like: three of lower case, upper case,
    digits and signs."""
    signs = any(not c.isalnum() and c not in "-_./:'\u2019," for c in value)
    kinds = (str.islower, str.isupper, str.isdigit)
    return sum(any(map(kind, value)) for kind in kinds) + signs >= 3
