"""Find claims in a reply that something was done or will be done now.

Small models say "I have saved it", or "Sure, I'll save it", without any call
(docs/small-models.md). The loop compares the claims with the receipt: they count only when the
turn changed nothing at all, so the check must be sure, not complete. What was done is told by
patterns: the model of answers takes "Your notes are in notes.md." for an act too.
"""

from __future__ import annotations

import re

from openclaw.nlp.classifier import read_answer, read_message
from openclaw.nlp.dates import find_named_day
from openclaw.nlp.intent import ABOUT_PAST, QUESTION_MARK, may_order

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
DENIAL = re.compile(
    r"\b(?:not|n't|n\u2019t|cannot|never|nothing|no file|unable|failed|should|shall|would|could|"
    r"may|if|whether|until|once|after|before|when|nicht|kein\w*|ne|pas|no|non)\b",
    re.IGNORECASE,
)
CLAIM_WORD = re.compile(rf"\b(?:{PAST}|done|habe|wurden?|j['\u2019]ai|he|ho)\b", re.IGNORECASE)
PROMISE_WORDS = re.compile(
    r"\b(?:(?:I|we)(?:['\u2019]ll| will| can| am going to|['\u2019]m going to)|let me|ich werde"
    r"|je vais|voy a|vado a)\b|\bwe\s*\Z",
    re.IGNORECASE,
)
"""A sentence with one of them may announce an act, and so is not shown before it is checked."""
CLAIM_OPENING = re.compile(
    r"(?:\A|\b(?:I(?:['\u2019]\w*)?|has|have|was|were|is|are)\W"
    r"(?:(?:have|now|just|also|already|been|successfully) )*)\w*\Z",
    re.IGNORECASE,
)
ASKS_TO_TELL = re.compile(
    r"^\W*(?:(?:please|can you|could you|bitte) )?(?:tell|say|show|read|list|give|explain|find|"
    r"look|check|compare|describe|translate|quote|summar\w+|sag|zeig|lies|erkl\u00e4r\w*|fasse?|r\u00e9sume|"
    r"explique|montre|lis|resume|muestra|lee|explica)\b",
    re.IGNORECASE,
)
CHANGE_VERB = re.compile(
    r"\b(?:add|put|write|create|make|change|set|delete|remove|save|store|edit|replace|rename|append|"
    r"remember|mark|tick|fix|correct|update|note|speicher\w*|schreib\w*|\u00e4nder\w*|l\u00f6sch\w*|f\u00fcg\w*|"
    r"ajoute\w*|enregistre\w*|cr\u00e9e\w*|a\u00f1ade\w*|guarda\w*|crea\w*)\b",
    re.IGNORECASE,
)
LIKELY = 0.85  # so probably announced is a promise to a request that surely orders something
LONGEST_PROMISE = 300
"""Characters of an answer that only promises; a longer one may already be what was promised."""
SENTENCE_END = re.compile(r"(?<=[.!?:])\s+|\n+")
FIRST_PERSON = re.compile(r"\b(?:I|ich|j['\u2019]ai|he|ho)\b", re.IGNORECASE)
SENTENCE_MARKS = frozenset(".!\u3002\uff01")
SHORTEST_CLAIM = 12  # characters; the model has too little to go by in a shorter sentence
LONGEST_UNFINISHED = 50_000
"""Characters; a longer unfinished answer is not checked until it has ended."""


def find_claims(answer: str, request: str) -> tuple[str, ...]:
    """Return the sentences of an answer that say something was changed, or will be at once.

    When the request only asks, "the file was changed on Monday" is an answer, not a claim: then
    only sentences in the first person count. None count when it asks what was done before ("did
    you save it?"): an earlier turn may have done it.
    """
    read = read_message(request)
    asked = read.has("asks") and not may_order(read)
    if asked and ABOUT_PAST.search(request):
        return ()
    tells = bool(ASKS_TO_TELL.search(request) and not CHANGE_VERB.search(request))
    done = tuple(
        sentence.strip()
        for sentence in SENTENCE_END.split(answer)
        if (found := CLAIMS.search(sentence))
        and not DENIAL.search(sentence[: found.end()])
        and not sentence.rstrip().endswith("?")
        and (not (asked or tells) or FIRST_PERSON.search(found.group()))
    )
    return done if done or tells or asked else _find_announced(answer, request)


def _find_announced(answer: str, request: str) -> tuple[str, ...]:
    """Return the last sentence of a short answer to a request when it surely announces an act, in
    any language; text after such a sentence may be what it announces. "How are you today?" is not.
    """
    *before, last = SENTENCE_END.split(answer.strip())
    if before and QUESTION_MARK.search(last) and not read_answer(last).lacks("smalltalk"):
        answer = last = before[-1]
    if not _may_promise(answer) or last[-1:] not in SENTENCE_MARKS or len(last) < SHORTEST_CLAIM:
        return ()
    if DENIAL.search(last) or find_named_day(last):
        return ()
    asked, read = read_message(request), read_answer(last)
    orders = asked.has("orders") and asked.lacks("text")  # of a letter it may be the last line
    announces = read.probabilities["announces"] >= LIKELY if orders else read.has("announces")
    return (last,) if announces and not asked.lacks("orders", "asks") else ()


def _may_promise(answer: str) -> bool:
    short = len(answer) <= LONGEST_PROMISE
    return short and "\n" not in answer.strip() and not QUESTION_MARK.search(answer)


def count_releasable(text: str, shown: int = 0) -> int:
    """Return how many characters of an unfinished answer can be shown before its claims are
    checked: all but a last sentence that has a word of a claim or may be about to have one.

    Sentences within the first `shown` characters, shown before, are not checked again. The rest of
    an endless answer is shown when it has ended: checking all of it with each piece takes hours.
    """
    if len(text) > LONGEST_UNFINISHED:
        return shown
    done, promise = 0, _may_promise(text)
    for end in SENTENCE_END.finditer(text):
        sentence = text[done : end.start()]
        claims = CLAIMS.search(sentence) or (promise and PROMISE_WORDS.search(sentence))
        if claims and end.end() > shown:
            return done
        done = end.end()
    last = text[done:]
    if CLAIM_WORD.search(last) or (promise and PROMISE_WORDS.search(last)):
        return done
    opening = CLAIM_OPENING.search(last)
    return done + opening.start() if opening else len(text)
