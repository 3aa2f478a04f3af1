"""Finds secrets in a text: tokens with a known form, and values where a secret is expected.

The rules follow gitleaks (config/gitleaks.toml) and detect-secrets (plugins keyword, basic_auth,
private_key); the patterns are our own, with a bound on every repetition. No value is taken for a
secret by its looks alone: hashes, ids and encoded images look the same.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import NamedTuple
from urllib.parse import quote

from openclaw.frozen import frozen

_PEM = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PEM_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PEM_LINES = re.compile(
    r"(?:(?:\s|\\[nr]){1,8}(?:[A-Za-z0-9+/=]{16,2000}"
    r"|(?:Proc-Type|DEK-Info|Version|Comment)[^\n]{0,100})){1,400}(?:\s[A-Za-z0-9+/=]{1,76}$)?"
)
_PEM_LONGEST = 20_000
MAX_LINES = 300
_BASE64 = re.compile(r"[A-Za-z0-9+/]{16}")

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


class Secret(NamedTuple):
    """The place of a secret in a text. Start and end count characters."""

    kind: str  # the kind as the user sees it, such as github-token
    start: int
    end: int


def find_secrets(text: str) -> list[Secret]:
    """Return the secrets of a text in their order. Findings that overlap become one, of the kind
    that says more."""
    return _merge(
        [
            *_find_private_keys(text),
            *_find_tokens(text),
            *_find_header_tokens(text),
            *_find_passwords(text),
            *_find_assignments(text),
        ]
    )


def _merge(spans: Sequence[Secret]) -> list[Secret]:
    merged: list[tuple[int, int, int]] = []  # the earlier span in `spans` gives the kind
    for rank, (_, start, end) in sorted(enumerate(spans), key=lambda each: each[1][1:]):
        if merged and start < merged[-1][2]:
            best, first, last = merged[-1]
            merged[-1] = min(best, rank), first, max(last, end)
        else:
            merged.append((rank, start, end))
    return [Secret(spans[rank].kind, start, end) for rank, start, end in merged]


def _find_private_keys(text: str) -> Iterator[Secret]:
    """Find private keys, also one whose end is missing."""
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
        if past and _BASE64.search(text, begin.end(), past):
            yield Secret("private-key", begin.start(), past)


def without_secrets(text: str, mark: str = "") -> str:
    """Return the text with `mark`, or a mask that names its kind, in the place of each secret."""
    for secret in reversed(find_secrets(text)):
        mask = mark or f"{{{{secret:{secret.kind}}}}}"
        text = text[: secret.start] + mask + text[secret.end :]
    return text


def find_key_begin(lines: Sequence[str], index: int) -> int:
    """Return the index of the line where the private key around this line begins, else `index`.
    The inner lines of a key do not look like a key."""
    for near in range(min(index, len(lines)) - 1, max(index - MAX_LINES, 0) - 1, -1):
        if "PRIVATE KEY" in lines[near]:
            return near if _PEM.search(lines[near]) and not _PEM_END.search(lines[near]) else index
    return index


def _find_header_tokens(text: str) -> Iterator[Secret]:
    """Find the values after `Bearer` and `Basic`, with or without `Authorization:`."""
    for match in _HEADER.finditer(text):
        value, start, end = match["it"], *match.span("it")
        if match["name"].lower() == "basic":
            if ":" in _decode_base64(value):
                yield Secret("basic-auth", start, end)
        elif is_secret(value[:512], least=KEY_BITS if match["name"][0] in "bB" else 60):
            yield Secret("bearer-token", start, end)


def _decode_base64(value: str) -> str:
    try:
        return base64.b64decode(value + "=" * (-len(value) % 4), validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        return ""


def _find_passwords(text: str) -> Iterator[Secret]:
    """Find the passwords of addresses (scheme://user:password@host), of `curl -u user:password` and
    of .netrc lines."""
    at = text.find("://")
    while at >= 0:
        match = _LOGIN.match(text, at)
        if match and _SCHEME.search(text, max(at - 21, 0), at) and not _is_trivial(match["it"]):
            yield Secret("url-password", *match.span("it"))
        at = text.find("://", at + 3)
    for pattern, sign in ((_CURL, "-u"), (_NETRC, "assword")):
        for match in pattern.finditer(text) if sign in text else ():
            if not _is_trivial(match["it"]):
                yield Secret("password", *match.span("it"))


def _is_trivial(password: str) -> bool:
    """Return True for a password of an example. A short real one counts, because of its place."""
    return password.casefold() in _TRIVIAL or is_placeholder(password, varied=False)


Check = Callable[[str], bool]


@frozen
class TokenForm:
    kind: str
    begins: tuple[str, ...]  # the fixed texts to look for
    rest: str  # the pattern that follows one of them
    judge: Check  # decides about the whole match
    back: str = ""  # the pattern before it: a number that belongs to the token, or a lookbehind


def _is_key_like(text: str) -> bool:
    """Tell keys from words, for prefixes such as `sk-` that words begin with too."""
    body = text.partition("-")[2]
    varied = any(c.isdigit() for c in body) and any(c.isalpha() for c in body)
    return bits(body) >= 3 and not is_wordy(body) and (varied or is_mixed(body))


def _is_bot_token(text: str) -> bool:
    body = text.partition(":")[2]
    return bits(body) >= 3 and not is_wordy(body)


@cache
def _compile_form(form: TokenForm, begin: str) -> re.Pattern[str]:
    """Compile the pattern when its beginning was found first: few ever are. Neither a name before
    it nor a key after it may go on."""
    return re.compile(
        rf"(?<![A-Za-z0-9_]){form.back}{re.escape(begin)}(?>{form.rest})(?![A-Za-z0-9])"
    )


def bits(text: str) -> float:
    """Return Shannon's entropy in bits a character, by the text's own frequencies."""
    size = len(text)
    return -sum(n / size * math.log2(n / size) for n in Counter(text).values()) if size else 0.0


def is_wordy(value: str) -> bool:
    """Return True for words, names and small numbers: my-secret-v2, gpt-4o-2024-08-06."""
    pieces = [piece for piece in _SEPARATORS.split(value) if piece]
    return all(_WORD.fullmatch(piece) and not is_mixed(piece) for piece in pieces)


def is_mixed(text: str) -> bool:
    """Return True when the letters of a text change case at random; False for short texts and for
    namesLikeThis."""
    letters = "".join(_LETTERS.findall(text))
    if len(letters) < 12 or letters.islower() or letters.isupper():
        return False
    changes = sum(a.isupper() != b.isupper() for a, b in pairwise(letters))
    return changes / len(letters) >= MIXED and not _CAMEL.fullmatch(letters)


_CHECKS: dict[str, Check] = {
    "some": lambda text: bits(text) >= 2.5,
    "varied": lambda text: bits(text) >= 3,
    "key": _is_key_like,
    "bot": _is_bot_token,
    "mixed": is_mixed,
}
# A line is: kind | beginnings | rest | check | back, as in `TokenForm`; most have no last part.
_FORMS = r"""
aws-key | AKIA ASIA ABIA ACCA | [A-Z0-9]{16} | some
github-token | ghp_ gho_ ghu_ ghs_ ghr_ | [A-Za-z0-9]{20,255} | varied
github-token | github_pat_ | \w{22,255} | varied
gitlab-token | glpat- gldt- glrt- glcbt- glptt- gloas- glsoat- glft- | [\w.-]{15,200}[\w-] | key
anthropic-key | sk-ant- | [A-Za-z0-9_-]{20,250} | key
openrouter-key | sk-or- | [A-Za-z0-9_-]{20,250} | key
openai-key | sk-proj- sk-svcacct- sk-admin- | [A-Za-z0-9_-]{20,250} | key
openai-key | sk- | (?!ant-|or-|proj-|svcacct-|admin-)[A-Za-z0-9_-]{20,250} | key
google-key | AIza | [A-Za-z0-9_-]{30,45} | varied
google-secret | GOCSPX- | [A-Za-z0-9_-]{28} | some
google-token | ya29. | [\w.-]{30,2048}[\w-] | some
slack-token | xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- | [A-Za-z0-9-]{10,250} | key
slack-token | xoxe.xox | [bp]-\d-[A-Za-z0-9]{20,250} | some
slack-token | xapp- | \d-[A-Za-z0-9]{5,40}-\d{5,20}-[A-Za-z0-9]{20,100} | some
slack-webhook | hooks.slack.com/ | (?:services|workflows|triggers)/[\w/+]{20,100} | some
discord-webhook | /api/webhooks/ | \d{15,22}/[\w-]{50,100} | some
stripe-key | sk_live_ sk_test_ rk_live_ rk_test_ | [A-Za-z0-9]{10,250} | some
stripe-key | whsec_ | [A-Za-z0-9+/=]{24,100} | some
npm-token | npm_ | [A-Za-z0-9]{30,60} | varied
pypi-token | pypi- | Ag[A-Za-z0-9_-]{30,1000} | some
huggingface-token | hf_ api_org_ | [A-Za-z0-9]{20,60} | mixed
telegram-token | :A | [A-Za-z0-9_-]{30,40} | bot | (?<![\w:.-])\d{6,16}
twilio-key | SK | [0-9a-f]{32} | some | (?<![\w-])
sendgrid-key | SG. | [\w-]{16,32}\.[\w-]{16,64} | some
digitalocean-token | dop_v1_ doo_v1_ dor_v1_ | [0-9a-fA-F]{64} | some
jwt | eyJ | [\w-]{8,4000}\.[\w-]{8,8000}(?:\.[\w-]{4,4000}){1,3} | some
groq-key | gsk_ | [A-Za-z0-9]{40,60} | some
xai-key | xai- | [A-Za-z0-9]{60,100} | some
perplexity-key | pplx- | [A-Za-z0-9]{40,60} | some
replicate-token | r8_ | [A-Za-z0-9]{30,50} | some
notion-token | ntn_ | [A-Za-z0-9]{40,60} | some
linear-key | lin_api_ | [A-Za-z0-9]{32,50} | some
shopify-token | shpat_ shpca_ shppa_ shpss_ | [0-9a-fA-F]{32} | some
vault-token | hvs. hvb. | [A-Za-z0-9_-]{24,300} | some
databricks-token | dapi | [0-9a-f]{32}(?:-\d)? | some
postman-key | PMAK- | [0-9a-fA-F]{24}-[0-9a-fA-F]{34} | some
sentry-token | sntrys_ | [A-Za-z0-9+/=_]{40,500} | some
sentry-token | sntryu_ | [0-9a-f]{64} | some
rubygems-key | rubygems_ | [0-9a-f]{48} | some
pulumi-token | pul- | [0-9a-f]{40} | some | (?<![\w-])
grafana-token | glsa_ | \w{32}_[0-9a-fA-F]{8} | some
grafana-token | glc_ | [A-Za-z0-9+/=]{32,400} | some
tailscale-key | tskey- | [a-z]{3,10}-\w{6,40}-\w{16,64} | some
atlassian-token | ATATT3 | [\w=-]{50,250} | some
figma-token | figd_ | [A-Za-z0-9_-]{30,60} | some
doppler-token | dp.pt. | [A-Za-z0-9]{40,50} | some
planetscale-token | pscale_ | (?:tkn|oauth|pw)_[\w.=-]{31,64}[\w=-] | some
mailgun-key | key- | [0-9a-f]{32} | some | (?<![\w-])
square-token | sq0 | (?:atp|csp)-[\w-]{22,60} | some
1password-token | ops_eyJ | [A-Za-z0-9+/]{50,2000}={0,3} | some
age-key | AGE-SECRET-KEY-1 | [A-Z0-9]{58} | some
docker-token | dckr_pat_ | [A-Za-z0-9_-]{20,60} | some
flyio-token | fm2_ | [A-Za-z0-9+/]{100,1000}={0,3} | some
firecrawl-key | fc- | [0-9a-f]{32} | some | (?<![\w-])
tavily-key | tvly- | [A-Za-z0-9_-]{20,60} | key
"""


def _read_forms() -> Iterator[TokenForm]:
    for line in _FORMS.strip().splitlines():
        kind, begins, rest, check, *back = line.split(" | ")
        yield TokenForm(kind, tuple(begins.split()), rest, _CHECKS[check], "".join(back))


TOKEN_FORMS = tuple(_read_forms())
_BARE_NUMBER = re.compile(r"\d{6,16}$")


def _find_tokens(text: str) -> Iterator[Secret]:
    """Find the tokens that have a form of their own, and the secret half of an AWS pair, which has
    none, near the key's id."""
    for form, begin in ((each, begin) for each in TOKEN_FORMS for begin in each.begins):
        at = text.find(begin)
        while at >= 0:
            found = _match_form(form, begin, text, at)
            if found:
                yield Secret(form.kind, *found)
            at = text.find(begin, found[1] if found else at + 1)
    for key in _AWS_ID.finditer(text):
        for match in _AWS.finditer(text, key.end(), key.end() + _NEAR):
            if bits(match[0]) >= 4:
                yield Secret("aws-secret", *match.span("it"))


def _match_form(form: TokenForm, begin: str, text: str, at: int) -> tuple[int, int] | None:
    number = _BARE_NUMBER.search(text, max(at - 17, 0), at)  # no other token may follow a number
    match = _compile_form(form, begin).match(text, number.start() if number else at)
    return match.span() if match and form.judge(match[0]) else None


_SECRET_STEM = re.compile(
    r"pass|pwd|kennwort|contrase[n\u00f1]a|senha|wachtwoord|mot de passe|secret|token|credential"
    r"|geheimnis|key|schl\u00fcssel"
)
_BEFORE_KEY = re.compile(
    r"(?:api|access|auth|account|private|priv|signing|encryption|secret|master|app|shared|client"
    r"|subscription|license|deploy|service|webhook|storage|consumer|bot|wpa[23]?|wep|wi-?fi|wlan"
    r"|network|recovery)[ _.-]?$"
)
_REST_OF_NAME = re.compile(r"[\w-]{0,24}")
_SIGN = re.compile(
    r"\\?[\"'`]?\]?(?:(?P<sign>[ \t]{0,8}(?::=|=>|={1,2}|:)[ \t]{0,8})"
    r"|[ \t](?i:is|ist|lautet|was|war|est|es)[ \t]{1,2})"
    r"(?:[brfu]{0,2}\\?(?P<quote>[\"'`]))?"
)
_OWNER = re.compile(
    r" (?:of|for|to|des|der|vom|von|f\u00fcrs?|zum|zur|du|de|del|pour|para)(?: [\w'-]{1,20}){1,4}?"
    r"(?=:[ \t]| (?:is|ist|lautet|was|war|est|es) )",
    re.IGNORECASE,
)
_VALUE = re.compile(r"[^\s\"'`]{8,512}")
_QUOTED = re.compile(r"[^\"'`\s\\]{8,512}(?=\\?[\"'`])")
_NEXT_ASSIGNMENT = re.compile(r"[;,&|](?=[\w .-]{1,40}[=:]|$)|\\[nrt]|&amp;|</")
_CODE = re.compile(
    r"\{[a-z_]|[(\[!*&]{0,3}(?:[A-Za-z_$][A-Za-z_$.]{0,80}|[a-z_]\w{0,40}[._]\w{1,40})(?:\?\.|->|::|\(|\[)"
)
_NESTED = re.compile(r"[\w-]{3,40}[=:]\S")
_ANY_CODE = re.compile(r"[(\[{]|[A-Za-z_$][\w$.]{0,80}(?:\?\.|->|::|\(|\[)")
_TAIL = re.compile(r"[,;)\]}>]{1,8}:?$")
_SENTENCE_TAIL = re.compile(r"[.,;:)\]}>]{1,8}$")
_BEFORE_USE = re.compile(r"\{\{\s?$|://[^\s/@]{0,60}$")
_PASSWORD_NAME = re.compile(r"pass|pwd|kennwort|contrase|senha|wachtwoord|mot de")
_NO_PASS_BEFORE = re.compile(r"(?:com|by|tres|sur)$")
_PASS_ENDING = re.compile(r"(?i)^(?:word|wd|wort|phrase|code)")
_LONGER_WORD = re.compile(r"(?!key|value|token|text)[a-z\u00df-\u00ff]")
_NO_SECRET_ENDING = re.compile(
    r"(?i:[\w-]{0,16}[_-]|[\w-]{0,16}?(?=[A-Z]))?(?:hash|hashed|digest|ids?|names?|file|path|dir|folder|url|uri"
    r"|endpoint|counts?|len|length|limits?|types?|expiry|expires|expiration|expired|ttl|fields?"
    r"|column|hint|policy|min|max|size|version|refs?|reference|env|var|status|usage|budget|price"
    r"|cost|rate|at|date|time|manager|generator|reset|strength|rules?|tests?|check|format|pattern"
    r"|regex|label|title|prompt|placeholder|error|message|store|ring|offset|index)s?",
    re.IGNORECASE,
)


def _find_assignments(text: str) -> Iterator[Secret]:
    """Find the values assigned to names such as `password`, `token`, `secret` and `api_key`."""
    lowered = text.replace("\u0130", "i").lower()  # the one letter whose lower case is two
    past = 0
    stems = [match.span() for match in _SECRET_STEM.finditer(lowered)]
    for number, (start, end) in enumerate(stems):
        stem = lowered[start:end]
        if start < past or _BEFORE_USE.search(text, max(start - 64, 0), start):
            continue
        is_key = stem in ("key", "schl\u00fcssel")
        if is_key and not _BEFORE_KEY.search(lowered, max(start - 16, 0), start):
            continue
        more = text[end : _REST_OF_NAME.match(text, end).end()]  # type: ignore[union-attr]  # may be empty
        owner = _OWNER.match(text, end + len(more))
        sign = _SIGN.match(text, owner.end() if owner else end + len(more))
        if not sign or not _names_secret(stem, lowered[max(start - 4, 0) : start], more):
            continue
        limit = stems[number + 1][0] if number + 1 < len(stems) else len(text)
        value = _read_value(text, sign, limit, _PASSWORD_NAME.match(stem) is not None)
        if value and _is_assigned_secret(stem, value, said=not sign["sign"] or owner is not None):
            past = sign.end() + len(value)
            yield Secret(_kind(stem, more), sign.end(), past)


def _names_secret(stem: str, before: str, more: str) -> bool:
    """Return False for password_hash, tokenizer and compass. `more` is the rest of the name."""
    if stem == "pass":
        if _NO_PASS_BEFORE.search(before):
            return False
        more = _PASS_ENDING.sub("", more)
    return not _LONGER_WORD.match(more) and not _NO_SECRET_ENDING.fullmatch(more)


def _kind(stem: str, more: str) -> str:
    if _PASSWORD_NAME.match(stem):
        return "password"
    if stem in ("key", "schl\u00fcssel") or "key" in more.lower():
        return "api-key"
    return "token" if stem == "token" else "secret"


def _is_assigned_secret(stem: str, value: str, *, said: bool) -> bool:
    if said and not _is_varied(value):
        return False
    password = _PASSWORD_NAME.match(stem) is not None
    return is_secret(
        value,
        least=PASSWORD_BITS if password else KEY_BITS,
        digests=stem not in ("token", "credential"),
        password=password and not said,
    )


def _read_value(text: str, sign: re.Match[str], limit: int, password: bool) -> str:
    """Return the assigned value, without the punctuation of the text around it.

    It ends at the closing quote, or without quotes at a blank or at the next such name (`limit`).
    Only a password may have brackets in it.
    """
    if sign["quote"]:
        found = _QUOTED.match(text, sign.end())
        return found[0] if found else ""
    nested = limit < sign.end() + LONGEST_SECRET and _NESTED.match(text, limit)
    found = _VALUE.match(text, sign.end(), limit if nested else len(text))
    if not found or (_CODE if password else _ANY_CODE).match(found[0]):
        return ""
    value = _NEXT_ASSIGNMENT.split(found[0], maxsplit=1)[0]
    return (_TAIL if sign["sign"] else _SENTENCE_TAIL).sub("", value)


def _is_varied(value: str) -> bool:
    """Return True for a value that is no word of a sentence: it has three of lower case, upper
    case, digits and signs."""
    signs = any(not c.isalnum() and c not in "-_./:'\u2019," for c in value)
    kinds = (str.islower, str.isupper, str.isdigit)
    return sum(any(map(kind, value)) for kind in kinds) + signs >= 3


SHORTEST_SECRET = 8
LONGEST_SECRET = 512
PASSWORD_BITS = 22.0
"""Bits of a whole password: eight characters that are mostly different have 22 to 24."""
KEY_BITS = 34.0  # bits of a whole key or token, which no person has to remember
MIXED = 0.2  # least share of neighbours that change case; random letters have 0.5 on average

_PLACEHOLDER = re.compile(
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
_NUMBER_LIKE = re.compile(r"[-+]?[\d.,_:/ -]{1,60}")
_SEPARATORS = re.compile(r"[-_./:+@=&,|~ ]+")
_WORD = re.compile(r"[^\W\d_]{1,40}\d{0,4}|v?\d{1,6}[a-z]{0,2}|\d{1,4}[^\W\d_]{1,12}")
_DIGEST = re.compile(r"[0-9a-f]{16,128}|[0-9A-F]{16,128}")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_PASSWORD_LIKE = re.compile(r"[^\W\d_]{3,30}\d{2,6}[!?.#*$%&+]{0,3}")
_CAMEL = re.compile(
    r"[a-z]{0,40}(?:[A-Z]{1,6}[a-z]{2,40}|(?:As|At|By|Id|In|Is|No|Of|On|Or|To|Up))*[A-Z]{0,6}"
)
_LETTERS = re.compile(r"[A-Za-z]+")


def is_secret(
    value: str, *, least: float = KEY_BITS, digests: bool = True, password: bool = False
) -> bool:
    """Return True when a value at the place of a secret looks like one.

    `least` is the least entropy of the whole value, in bits. With `digests` a UUID or a run of hex
    digits counts too: under `api_key` it is a key, under `token` more likely an id. With `password`
    a word followed by a number counts, as people choose such passwords.
    """
    if not SHORTEST_SECRET <= len(value) <= LONGEST_SECRET or is_placeholder(value):
        return False
    if _DIGEST.fullmatch(value) or _UUID.fullmatch(value):
        return digests and len(set(value)) > 5
    if _REFERENCE.match(value) or _HASHED.match(value):
        return False
    if any(form.fullmatch(value) for form in (_VERSION, _MOMENT, _NUMBER_LIKE)):
        return False
    if password and _PASSWORD_LIKE.fullmatch(value):
        return True
    return not is_wordy(value) and bits(value) * len(value) >= least


def is_placeholder(value: str, *, varied: bool = True) -> bool:
    """Return True for a placeholder: <token>, ${TOKEN}, {{secret:x}}, your_key, ***. With `varied`
    also for fewer than four different characters."""
    return len(set(value)) < (4 if varied else 2) or _PLACEHOLDER.search(value) is not None


SHORTEST_ENCODED = 12  # encoded forms of shorter values occur by chance too
KEY_LINE = 32  # a line of a private key; the last one may be shorter
LONGEST_RUN = 4_000  # most characters of the same run that are added on either side
_RUNS = (re.compile(r"[A-Za-z0-9+/_=-]*"), re.compile(r"[0-9A-Fa-f]*"))


def find_encoded(text: str, values: Iterable[str]) -> list[Secret]:
    """Find encoded forms of secret values (kind "encoded-secret"), in order and without overlap.
    A span covers the whole run of characters around a form, as it belongs to the encoded text."""
    spans = (span for value in values for span in _find_encoded_spans(text, value))
    return _merge([Secret("encoded-secret", start, end) for start, end in spans])


def _find_encoded_spans(text: str, value: str) -> Iterator[tuple[int, int]]:
    for form, run in _encoded_forms(value):
        at = text.find(form)
        while at >= 0:
            start, end = at, at + len(form)
            if run:
                start -= len(run.match(text[max(at - LONGEST_RUN, 0) : at][::-1])[0])  # type: ignore[index]
                end += len(run.match(text[end : end + LONGEST_RUN])[0])  # type: ignore[index]
            yield start, end
            at = text.find(form, end)


@lru_cache(maxsize=512)
def _encoded_forms(value: str) -> tuple[tuple[str, re.Pattern[str] | None], ...]:
    """Return each encoded form, with a pattern for the characters that may continue it."""
    if len(value) < SHORTEST_ENCODED:
        return ()
    data = value.encode("utf-8", "replace")
    coded, hexed = _RUNS
    forms: dict[str, re.Pattern[str] | None] = {
        data.hex(): hexed,
        data.hex().upper(): hexed,
        value[::-1]: None,
    }
    forms |= dict.fromkeys((line for line in value.splitlines() if len(line) >= KEY_LINE), None)
    if quote(value, safe="") != value:
        forms[quote(value, safe="")] = None
    for shift in range(3):
        # Only whole groups of three bytes are encoded alike whatever stands around them.
        start = -shift % 3
        whole = data[start : start + (len(data) - start) // 3 * 3]
        if len(whole) >= SHORTEST_ENCODED - 3:
            forms[base64.b64encode(whole).decode()] = coded
            forms[base64.urlsafe_b64encode(whole).decode()] = coded
    return tuple(forms.items())


_TOLD_CODE = re.compile(
    r"\b(?:pass(?:word|code|phrase|wort)|pin(?: code| number|-?nummer)?|alarm code|door code|"
    r"security code|cvv|cvc|seed phrase|api key|kennwort|geheimzahl|mot de passe|code secret|"
    r"contrase\u00f1a|clave secreta)\b"
    r"(?=.{0,30}[\d=:]|\W{0,3}(?:is|ist|lautet|est|es)\b)|\bcode\b(?=.{0,12}\d{3})"
    r"|\b(?:social security|sozialversicherung\w*|s\u00e9curit\u00e9 sociale|seguridad social|"
    r"national insurance|ssn|iban|bank (?:details|account)|account (?:number|no)|routing number|"
    r"sort code|(?:credit|debit|bank) card|card number|kontonummer|bankverbindung|kreditkarte\w*|"
    r"passport (?:number|no)|reisepassnummer)\b(?=.{0,40}\d{2})"
    r"|(?-i:\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7} ?[A-Z0-9]{3,4}\b)"
    r"|(?<![\d-])\d{3}-\d{2}-\d{4}(?![\d-])|\b(?:\d{4}[ -]?){3}\d{1,4}\b",
    re.IGNORECASE,
)
"""Codes, cards, accounts and official papers, by their words and forms."""


def tells_code(text: str) -> bool:
    """Return True for a text that tells a code, a card, an account or an official paper."""
    return _TOLD_CODE.search(text) is not None
