"""Hear the complaint that something was said before or was forgotten.

By patterns: the model of sentences (`nlp/classifier.py`), tried for it, hears three complaints in
ten at a precision of 0.9.
"""

from __future__ import annotations

import re

from openclaw.nlp.sentences import blank_quotes, own_words, sentences

LONGEST_COMPLAINT = 240
"""Characters; a longer message is about something else."""

_THAT = r"(?:(?:that|this|it|again|about)\b|(?:i|my|our)\b)"
_ALREADY = r"(?:already |just |clearly )?"
_COMPLAINTS = (
    rf"\byou(?: have|'ve)? {_ALREADY}(?:forgot|forgotten) {_THAT}",
    r"\byou (?:forgot|keep forgetting)\s*[.!]*$",
    r"\byou(?: do not|'t| don't)? keep forgetting\b",
    rf"\bi(?: have|'ve|'d| had)? {_ALREADY}(?:told|said to|mentioned to) you"
    r" (?:that|this|so|already|before|about (?:that|this|it|my)|(?:what|when|where) my)\b",
    r"\bi(?: have|'ve| had)? (?:already|just) (?:told you|said (?:that|so|this)|mentioned)\b",
    r"\byou (?:should|ought to) (?:know|remember|have known|have remembered)"
    r" (?:that|this|it|my|what|where|when|who)\b",
    r"\b(?:why )?(?:don't|didn't|do not|did not|can't) you remember (?:that|this|it|what i|my)\b",
    r"\bdas (?:hattest|hast) du (?:wohl |schon wieder |wieder |etwa )?vergessen\b",
    r"\bdu (?:hast|hattest) (?:das|es|schon wieder|wieder|meine?n?\b.*) ?.{0,30}vergessen\b",
    r"\bdas (?:habe|hab|hatte) ich dir (?:\w+ ){0,3}(?:gesagt|erz\u00e4hlt|geschrieben)\b",
    r"\b(?:ich (?:habe|hab|hatte) (?:es |das )?dir|habe? ich dir) (?:\w+ ){0,4}gesagt\b",
    r"\bdas (?:solltest|m\u00fcsstest) du (?:\w+ )?wissen\b",
    r"\btu (?:as|avais) (?:d\u00e9j\u00e0 |encore )?oubli\u00e9\b",
    r"\bje te l'(?:ai|avais) (?:d\u00e9j\u00e0 |pourtant )?dit\b",
    r"\b(?:lo |te )?(?:has olvidado|olvidaste)\b",
    r"\bya te lo (?:dije|hab\u00eda dicho|he dicho)\b",
)
_COMPLAINT = re.compile("|".join(_COMPLAINTS), re.IGNORECASE)
_NOT_A_COMPLAINT = re.compile(
    r"^\s*(?:if|when(?:ever)?|in case|did|do|have|has|had|wenn|falls|habe? ich|hast du|si|cuando)\b"
    r"|\b(?:if|wenn|falls) (?:you|du)\b|[\"\u201c\u201e]"
    r"|\b(?:pretend|imagine|suppose|stell dir|translate|write|rephrase|correct|\u00fcbersetze)\b",
    re.IGNORECASE,
)


def is_complaint(message: str) -> bool:
    """Return True when the user complains that he had said this before or that it was forgotten,
    in English, German, French or Spanish."""
    if len(message) > LONGEST_COMPLAINT:
        return False
    own = own_words(message.replace("\u2019", "'"))
    said = map(blank_quotes, sentences(own))
    return any(_COMPLAINT.search(each) and not _NOT_A_COMPLAINT.search(each) for each in said)
