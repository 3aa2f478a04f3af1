"""Find claims in a reply that something was done or will be done now, and the days it names.

Small models say "I have saved it", or "Sure, I'll save it", without any call
(docs/small-models.md). The loop compares the claims with the receipt: they count only when the
turn changed nothing at all, so the check must be sure, not complete.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from openclaw.nlp.intent import BEGS, QUESTION_MARK, only_asks
from openclaw.nlp.words import content_words

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
_WILL = (
    r"\b(?:(?:I|we)(?:['\u2019]ll| will| am going to|['\u2019]m going to)|let me|ich werde|je vais|"
    r"voy a|vado a)\b"
)
_CAN = r"\b(?P<can>(?:I|we) can)\b"
WILL = re.compile(
    rf"^\W*(?:[\w' \u2019]{{1,20}}[,.!:\u2013\u2014-]+ *)?(?:{_WILL}|(?<=[,.!:] ){_CAN})"
    # Not help that is offered, needs, and what needs no tool.
    r"(?! (?:\w+ )?(?:be|need|have|help|assist|try|wait|know|remember|keep|note|see|talk)\b)",
    re.IGNORECASE,
)
"""A sentence that promises something at once ("yes, I can add it" too)."""
PROMISE_WORDS = re.compile(rf"{_WILL}|{_CAN}|\bwe\s*\Z", re.IGNORECASE)
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
ABOUT_PAST = re.compile(
    r"\b(?:did|have|had) (?:you|I|we)\b|\b(?:hast du|habe ich|as-tu|ai-je|has \w+[ai]do)\b",
    re.IGNORECASE,
)
LATER = re.compile(
    r"\b(?:remind\w*|later|soon|every|always|like|want|erinner\w*|sp\u00e4ter|helfen|brauch\w*|"
    r"ben\u00f6tig\w*|merken|wenn|falls|sobald|rappel\w*|aider|besoin|si|recordar\w*|ayudar\w*|"
    r"necesitar|aiutar\w*)\b",
    re.IGNORECASE,
)
FEWEST_SHARED = 3
"""Words that "yes, I can ..." must share with the request: "can you edit files?" asks what is
possible."""
LONGEST_PROMISE = 300
"""Characters of an answer that only promises; a longer one may already be what was promised."""
SENTENCE_END = re.compile(r"(?<=[.!?:])\s+|\n+")
FIRST_PERSON = re.compile(r"\b(?:I|ich|j['\u2019]ai|he|ho)\b", re.IGNORECASE)
LONGEST_UNFINISHED = 50_000
"""Characters; a longer unfinished answer is not checked until it has ended."""


def claims(answer: str, request: str) -> tuple[str, ...]:
    """Return the sentences of an answer that say something was changed, or will be at once.

    When the request only asks, "the file was changed on Monday" is an answer, not a claim: then
    only sentences in the first person count. None count when it asks what was done before ("did
    you save it?"): an earlier turn may have done it.
    """
    asked = only_asks(request) or bool(QUESTION_MARK.search(request) and not BEGS.search(request))
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
    return done if done or tells or only_asks(request) else _find_promises(answer, request)


def _find_promises(answer: str, request: str) -> tuple[str, ...]:
    """Return the sentences of a short answer that promise something at once: they share words with
    the request or have a verb of changing. With a day in it, a promise may be for that day."""
    if not _may_promise(answer):
        return ()
    ends = SENTENCE_END.split(answer.strip())[-2:]  # text after a promise may fulfil it
    promising = [(each, will) for each in ends if (will := WILL.search(each)) and each[-1] != ":"]
    if not promising:
        return ()
    wanted, found = set(content_words(request)), []
    for sentence, will in promising:
        if DENIAL.search(sentence) or LATER.search(sentence) or day_named(sentence):
            continue
        said = wanted.intersection(content_words(sentence[will.end() :]))
        sure = len(said) >= FEWEST_SHARED if will["can"] else said or CHANGE_VERB.search(sentence)
        if sure:
            found.append(sentence.strip())
    return tuple(found)


def _may_promise(answer: str) -> bool:
    short = len(answer) <= LONGEST_PROMISE
    return short and "\n" not in answer.strip() and not QUESTION_MARK.search(answer)


def releasable(text: str, shown: int = 0) -> int:
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
        if end.end() > shown and (CLAIMS.search(sentence) or (promise and WILL.search(sentence))):
            return done
        done = end.end()
    last = text[done:]
    if CLAIM_WORD.search(last) or (promise and PROMISE_WORDS.search(last)):
        return done
    opening = CLAIM_OPENING.search(last)
    return done + opening.start() if opening else len(text)


_WEEKDAYS = (
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch"
    r"|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche"
    r"|lunes|martes|mi\u00e9rcoles|jueves|viernes|s\u00e1bado|domingo"
)
_MONTHS = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?|januar|februar|m\u00e4rz|mai|juni|juli|oktober"
    r"|dezember"
    r"|janvier|f\u00e9vrier|mars|avril|juin|juillet|ao\u00fbt|septembre|octobre|novembre"
    r"|d\u00e9cembre"
    r"|enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre)"
)
_COUNT = (
    r"(?:\d{1,3}|an?|one|two|three|four|five|six|ten|eine[mrn]?|zwei|drei|vier|f\u00fcnf|sechs|zehn"
)
_COUNT += r"|une?|deux|trois|quatre|un|una|dos|tres)"
_UNIT_WORDS = (
    r"(?:days?|weeks?|months?|tag(?:en?)?|wochen?|monat(?:en?)?|jours?|semaines?|mois|d\u00edas?"
    r"|semanas?|mes(?:es)?)"
)
_PARTS = (
    r"(?: (?:morning|afternoon|evening|night|vormittag|nachmittag|abend|mittag|fr\u00fch|matin|soir"
    r"))?"
)
_DAY = re.compile(
    rf"(?<![\w-])(?P<lead>(?:(?:on|at|by|until|before|for|this|am|bis|bis zum|zum|f\u00fcr|le|el"
    rf"|pour|para)"
    rf" )*)(?P<day>"
    rf"\d{{4}}-\d\d-\d\d"
    rf"|(?:the )?day after tomorrow|\u00fcbermorgen|apr\u00e8s-demain|pasado ma\u00f1ana"
    rf"|tomorrow|morgen(?! (?:gut|sch\u00f6n))|demain|(?<!de la )(?<!la )ma\u00f1ana"
    rf"|(?:(?:next|coming|this|n\u00e4chste[nrs]?|kommende[nrs]?|diese[nrs]?|pr\u00f3ximo) )?"
    rf"(?:{_WEEKDAYS})(?:(?! prochaine)(?: prochain)?)"
    rf"|(?:next|coming|n\u00e4chste[nrs]?|kommende[nrs]?) (?:week|month|year|woche|monat|jahr)"
    rf"|la semaine prochaine|le mois prochain|la pr\u00f3xima semana|el pr\u00f3ximo mes"
    rf"|(?:the |this |next )?weekend|wochenende"
    rf"|(?:the )?end of (?:the |this |next )?(?:week|month|year)|ende der woche|monatsende"
    rf"|in {_COUNT} {_UNIT_WORDS}|dans {_COUNT} {_UNIT_WORDS}|en {_COUNT} {_UNIT_WORDS}"
    rf"|(?:the )?\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTHS}(?: \d{{4}})?"
    rf"|{_MONTHS} \d{{1,2}}(?:st|nd|rd|th)?(?:,? \d{{4}})?"
    rf"|\d{{1,2}}\. ?(?:{_MONTHS}|\d{{1,2}}\.)(?: ?\d{{4}})?"
    rf"|(?:the )\d{{1,2}}(?:st|nd|rd|th)"
    rf")(?P<part>{_PARTS}(?: (?:at|um) \d{{1,2}}(?:[:.]\d\d)?(?: ?[ap]\.?m\.?| uhr)?)?)"
    rf"(?![\w-]|['\u2019]s|['\u2019]s\b)",
    re.IGNORECASE,
)
_DAY_OF_A_THING = re.compile(
    r"\b(?:for|from|of|since|dated?|f\u00fcr|vom|von|seit|pour|du|de|para)(?: the)? $",
    re.IGNORECASE,
)
_TODAY = re.compile(
    r"(?<![\w-])(?:(?:later )?today|tonight|this (?:afternoon|evening)|heute(?: abend| nachmittag)?"
    r"|ce soir|esta (?:tarde|noche)|in (?:an|one|two|\d{1,2}) (?:hours?|minutes?)"
    r"|in (?:einer|\d{1,2}) (?:Stunden?|Minuten?)|at \d{1,2}(?:[:.]\d\d)? ?(?:[ap]\.?m\b\.?"
    r"|o'clock)"
    r"|at \d{1,2}:\d\d|um \d{1,2}(?:[:.]\d\d)? Uhr)(?![\w-])",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class NamedDay:
    """A day that a sentence names.

    day    its words, "today" for a time of this day
    start  where they begin, with a word before them such as "on"
    end    where they end, with the time of the day
    bare   no such word is before them
    own    something is done on that day; it is no part of a thing ("the plan for Friday")
    """

    day: str
    start: int
    end: int
    bare: bool = False
    own: bool = True


def day_named(sentence: str) -> NamedDay | None:
    """Return the first later day that a sentence names, else a time of today, else None."""
    if found := _DAY.search(sentence):
        of_thing = _DAY_OF_A_THING.search(sentence[: found.start("day")])
        bare = not found["lead"].strip() and not of_thing
        return NamedDay(found["day"], found.start(), found.end(), bare, of_thing is None)
    if found := _TODAY.search(sentence):
        return NamedDay("today", found.start(), found.end())
    return None
