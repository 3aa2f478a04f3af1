"""Guess the category of a memory from a few words of four languages.

By patterns: a memory of thousands of entries is read at once, and the model of sentences
(`nlp/classifier.py`) needs 0.4 ms for each and knows no label for people ("Anna is my sister").
"""

from __future__ import annotations

import re
from functools import lru_cache

from openclaw.types import Category

_PREFERENCE_VERB = re.compile(
    r"\b(?:likes?|loves?|prefers?|preferred|favou?rites?|hates?|dislikes?|enjoys?|rather"
    r"|can(?:no|')t stand|mag|mögen|liebt|liebe|lieber|bevorzugt?|hasst?|lieblings\w*"
    r"|aimes?|adore|préfère|préférée?s?|déteste"
    r"|gustan?|encantan?|prefiere|prefiero|favorit[oa]s?|odia|odio)\b",
    re.IGNORECASE,
)
_DECISION = re.compile(
    r"\b(?:decided|decision|agreed|chose|chosen|going with|from now on|settled on"
    r"|entschieden|entscheidung|beschlossen|vereinbart|ab jetzt"
    r"|décidé|décision|convenu|désormais|decidido|decidimos|decisión|acordado|acordamos)\b",
    re.IGNORECASE,
)
_ENTITY = re.compile(
    r"(?!(?:The|This|That|It|There|My|Our|Die|Der|Das|Le|La|Les|El|Los|Las|User)\b)"
    r"[A-ZÀ-Þ][\w.-]*(?: [A-ZÀ-Þ][\w.-]*){0,3}(?:,| (?:is|was|ist|est|es)) "
    r"(?:an?|the|my|our|his|her|their|ein|eine|der|die|das|mein|meine|unser|unsere"
    r"|une?|le|la|mon|ma|notre|una?|el|mi|nuestr[oa])\b"
)


@lru_cache(maxsize=4096)
def guess_category(text: str) -> Category:
    """Return preference, decision or entity ("Anna is my sister"), else fact."""
    if _PREFERENCE_VERB.search(text):
        return "preference"
    if _DECISION.search(text):
        return "decision"
    return "entity" if _ENTITY.match(text) else "fact"
