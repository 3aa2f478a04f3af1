"""What of a to-do the agent could do at once: told by the to-do's first word, no model is asked.

Only where a person would welcome it, so the lists are narrow: "find a dentist" can be looked up,
"find my keys" cannot, and nobody wants to be told where to buy milk.
"""

from __future__ import annotations

import re
from functools import cache

_ASKING = r"who|what|when|where|which|whether|if|why|how"
_OWN = r"(?:my|our|his|her|their|your|mum's|dad's)\b"
_FACTS = (
    r"(?:the |current |latest )*(?:prices?|costs?|opening (?:hours|times)|weather|forecast"
    r"|timetable|"
    r"schedule|availability|reviews?|news|release|requirements|deadline|rates?|flights?|trains?|"
    r"alternatives|options)\b"
)
_LOOKS = (
    rf"(?:find(?: out)?(?= (?:{_ASKING}|a|an|some|someone|information|more|the (?:best|cheapest"
    rf"|nearest|"
    rf"right|name|address|number)|good|cheap|another|two|three|\d+)\b)"
    rf"|search (?:for(?! {_OWN})|the (?:web|internet|net)|online)\b"
    rf"|look (?:up|into|for(?! {_OWN}))\b|read up on\b"
    rf"|(?:check|compare)(?= (?:{_ASKING})\b| {_FACTS})|compare(?! {_OWN})\b"
    r"|research\b|google\b|(?:suche|finde|vergleiche|recherchiere)(?= \w)"
    r"|cherche[rz]?\b|trouve[rz]?\b|compare[rz]\b|buscar?\b|comparar\b)"
)
_LOOKS_AT_END = (
    r"(?!meine?[nmrs]? |unsere?[nmrs]? ).+ (?:suchen|finden|herausfinden|vergleichen|recherchieren|"
    r"nachschlagen|googeln)"
)
_BUYS = (
    r"(?:buy|order)(?= (?:an? (?!coffee|bread|loaf|pint|litre|bottle|carton)|new |another "
    r"|(?:\w+ )?(?:tickets|present|presents|gift|gifts)\b))"
)
_BOOKS = r"(?:book|reserve|rent|hire|renew|cancel|apply for|register)(?= \w)"
_BUYS_AT_END = (
    r"(?P<what>(?:eine?[nrsm]?|neue?[nrsm]?|(?:\w+ )?(?:Tickets|Karten|Geschenke?)) ?.*?) "
    r"(?P<verb>kaufen|bestellen|buchen|mieten|reservieren)"
)
_CALLS = re.compile(
    r"(?:call|phone|ring|text|e-?mail|write to|contact|meet|visit)(?: with| up)? (?P<who>[A-Z]\w+)"
)
_FIRST = frozenset(
    "find search look read check compare research google buy order book reserve rent hire renew "
    "cancel apply register suche finde vergleiche recherchiere cherche cherchez chercher trouve "
    "trouvez trouver comparez comparer busca buscar comparar".split()
)
_LAST = frozenset(
    "suchen finden herausfinden vergleichen recherchieren nachschlagen googeln kaufen bestellen "
    "buchen mieten reservieren".split()
)
_BESIDE = re.compile(
    r"\s*(?<![\w:-])due:\S+|\s*\((?:promised|turn) [^()]*\)|\s*(?<!\S)#[\w/-]+|\s*\^[\w-]+$"
)


def bare(text: str) -> str:
    """A to-do's text without its date, tags and what is noted of its origin."""
    return " ".join(_BESIDE.sub("", text).split()).rstrip(" .")


def suggestion(text: str) -> str:
    """The prompt that would do a to-do, or begin it; "" when there is none."""
    words = bare(text)
    first, *rest = words.casefold().split() or [""]
    if not rest or not (first in _FIRST or rest[-1] in _LAST):
        return ""
    if _compiled(_LOOKS).match(words) or _compiled(_LOOKS_AT_END).fullmatch(words):
        return words
    if _compiled(_BUYS).match(words):
        return f"Find out where to {_lower(words)}"
    if _compiled(_BOOKS).match(words):
        return f"Look up how to {_lower(words)}"
    if found := _compiled(_BUYS_AT_END).fullmatch(words):
        return f"Finde heraus, wo ich {_lower(found['what'])} {found['verb']} kann"
    return ""


def person(text: str) -> str:
    """The name of whom a to-do says to call, to write to or to meet; "" for none."""
    found = _CALLS.match(text[:1].lower() + text[1:])
    return found["who"] if found else ""


def from_notes(text: str) -> str:
    """The prompt that gets ready for such a to-do."""
    return f"Look in my notes for what I need to {_lower(bare(text))}"


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """At first use: a talk without such a to-do needs none of them."""
    return re.compile(pattern, re.IGNORECASE)


def _lower(words: str) -> str:
    return words[:1].lower() + words[1:]
