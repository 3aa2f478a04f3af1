"""Does a reply claim that something was done? Compared with the receipt by the loop.

Small models say "I have saved it" without any call (docs/small-models.md). A claim counts only when
nothing at all was changed in the turn, so the check needs to be sure, not complete.
"""

from __future__ import annotations

import re

from openclaw.agent.cues import BEGS, only_asks

PAST = (
    "added|appended|changed|completed|corrected|created|deleted|edited|fixed|inserted|marked|moved|"
    "noted|placed|put|recorded|remembered|removed|renamed|replaced|saved|set|stored|ticked|updated|"
    "wrote|written"
)
CLAIMS = re.compile(
    rf"\bI(?:'ve|\u2019ve| have)?(?: now| just| also| already| successfully)* (?:{PAST})\b"
    r"|\b(?:has|have) (?:now |just |also |already |successfully )*been "
    rf"(?:now |successfully )*(?:{PAST})\b"
    rf"|\b(?:was|were|is now|are now) (?:successfully )?(?:{PAST})\b"
    rf"|^(?:done[.!:,]|(?!(?:set|put) )(?:{PAST}) )"
    r"|\bich habe\b.{0,80}\b(?:ge|hinzuge|er|ver|not|ab)\w+t\b"
    r"|\b(?:wurde|wurden)\b.{0,80}\b\w*(?:t|en)\b[.!]?$"
    r"|\bj['\u2019]ai (?:bien )?(?:ajout|enregistr|cr\u00e9|modifi|supprim|not)\w*"
    r"|\bhe (?:a\u00f1adido|guardado|creado|cambiado|eliminado|borrado|anotado)\b"
    r"|\bho (?:aggiunto|salvato|creato|modificato|eliminato|cancellato|aggiornato)\b",
    re.IGNORECASE | re.MULTILINE,
)
DENIED = re.compile(
    r"\b(?:not|n't|n\u2019t|cannot|never|nothing|no file|unable|failed|should|shall|would|could|"
    r"may|if|whether|until|once|after|before|when|nicht|kein\w*|ne|pas|no|non)\b",
    re.IGNORECASE,
)
SUSPECT = re.compile(rf"\b(?:{PAST}|done|habe|wurden?|j['\u2019]ai|he|ho)\b", re.IGNORECASE)
OPENING = re.compile(
    r"(?:\A|\b(?:I(?:['\u2019]\w*)?|has|have|was|were|is|are)\W"
    r"(?:(?:have|now|just|also|already|been|successfully) )*)\w*\Z",
    re.IGNORECASE,
)
TELLING = re.compile(
    r"^\W*(?:(?:please|can you|could you|bitte) )?(?:tell|say|show|read|list|give|explain|find|"
    r"look|check|compare|describe|translate|quote|summar\w+|sag|zeig|lies|erkl\u00e4r\w*|fasse?|r\u00e9sume|"
    r"explique|montre|lis|resume|muestra|lee|explica)\b",
    re.IGNORECASE,
)
CHANGING = re.compile(
    r"\b(?:add|put|write|create|make|change|set|delete|remove|save|store|edit|replace|rename|append|"
    r"remember|mark|tick|fix|correct|update|note|speicher\w*|schreib\w*|\u00e4nder\w*|l\u00f6sch\w*|f\u00fcg\w*|"
    r"ajoute\w*|enregistre\w*|cr\u00e9e\w*|a\u00f1ade\w*|guarda\w*|crea\w*)\b",
    re.IGNORECASE,
)
ABOUT_PAST = re.compile(
    r"\b(?:did|have|had) (?:you|I|we)\b|\b(?:hast du|habe ich|as-tu|ai-je|has \w+[ai]do)\b",
    re.IGNORECASE,
)
SENTENCE_END = re.compile(r"(?<=[.!?:])\s+|\n+")
FIRST_PERSON = re.compile(r"\b(?:I|ich|j['\u2019]ai|he|ho)\b", re.IGNORECASE)
LONGEST_LOOKED_AT = 50_000
"""Characters of an unfinished answer."""


def claims(answer: str, request: str) -> tuple[str, ...]:
    """The sentences of an answer that say something was changed.

    When the request only asks, a sentence such as "the file was changed on Monday" is an answer,
    not a claim: only sentences in the first person count then. None do when it asks what was done
    before ("did you save it?"): that may have been in an earlier turn.
    """
    asked = only_asks(request) or ("?" in request and not BEGS.search(request))
    if asked and ABOUT_PAST.search(request):
        return ()
    asked = asked or bool(TELLING.search(request) and not CHANGING.search(request))
    return tuple(
        sentence.strip()
        for sentence in SENTENCE_END.split(answer)
        if (found := CLAIMS.search(sentence))
        and not DENIED.search(sentence[: found.end()])
        and not sentence.rstrip().endswith("?")
        and (not asked or FIRST_PERSON.search(found.group()))
    )


def releasable(text: str, shown: int = 0) -> int:
    """How many characters of an unfinished answer can be shown before its claims are checked: all
    but a last sentence that holds a word a claim is made of, or may be about to. Of the first
    `shown` characters, which came out before, no whole sentence is looked at again. Of an endless
    answer the rest comes out when it has ended: to look at all of it with each piece takes hours.
    """
    if len(text) > LONGEST_LOOKED_AT:
        return shown
    done = 0
    for end in SENTENCE_END.finditer(text):
        if end.end() > shown and CLAIMS.search(text[done : end.start()]):
            return done
        done = end.end()
    last = text[done:]
    if SUSPECT.search(last):
        return done
    opening = OPENING.search(last)
    return done + opening.start() if opening else len(text)
