"""Find what an answer promises for later: "I will remind you", not "I will read it now"."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date

from openclaw.frozen import frozen
from openclaw.nlp.dates import NamedDay, find_named_day, parse_day
from openclaw.nlp.sentences import blank_quotes, own_words, sentences

MOST_PROMISES = 3
LONGEST = 240

_EDGE = " ,.;:!-\u2013\u2014"


@frozen
class Promise:
    """A promise in an answer.

    sentence  the sentence as it is in the answer
    what      what is promised, in a few words
    day       the words for the day; "" for a reminder without one, "today" for a time of this day
    """

    sentence: str
    what: str
    day: str

    def day_from(self, today: date) -> date | None:
        """Return the promised day; None when none is said, or a past one."""
        if self.day in ("", "today"):
            return today if self.day else None
        day = parse_day(self.day, today)
        return day if day and day >= today else None


def find_promises(answer: str, request: str = "") -> tuple[Promise, ...]:
    """Return what an answer to this request promises to do, or to remind of, later."""
    if not MAY_PROMISE.search(answer) or LETTER.search(answer):
        return ()
    if DRAFTS.search(request) and not REMIND_ME.search(request):
        return ()
    lines = _answer_sentences(answer)
    if sum(_begins_with_a_day(line) for line in lines) > 1:  # a plan for the user, day by day
        return ()
    found = (_to_promise(sentence, request) for sentence in lines)
    return tuple(dict.fromkeys(each for each in found if each))[:MOST_PROMISES]


def _answer_sentences(answer: str) -> list[str]:
    """Return the sentences of the answer itself. Quotations are left out, and so are the lines and
    items below a line that ends with a colon: they may be of a file that it shows."""
    kept: list[str] = []
    listed = close = False
    for line in own_words(answer).split("\n"):
        if not line.strip():
            close = False
            continue
        item = bool(re.match(r"\s*(?:[-*+\u2022]|\d+[.)])\s", line))
        if listed and (item or close):
            continue
        close = True
        listed = line.rstrip().endswith(":")
        kept += [each for each in sentences(line) if len(each) <= LONGEST]
    return kept


def _to_promise(sentence: str, request: str) -> Promise | None:
    plain = sentence.replace("**", "")
    said = blank_quotes(plain)  # of the same length
    lead = LEAD.match(said)
    own = said[lead.end() :] if lead else said
    denied = DENIES.search(NO_FORGETTING.sub("", own))
    if said.rstrip(" \"'*)").endswith("?") or DEPENDS.search(own) or denied:
        return None
    begin, found = _find_beginning(said, len(said) - len(own))
    if not found:
        return None
    day, in_front = _day_of(said, begin)
    if found["remind"] is not None:
        what = _reminder_text(plain[found.end() :], request)
        return Promise(sentence, _text_or_sentence(what, plain, own), day.day if day else "")
    if day is None or day.day == "today" or not (in_front or _is_when(said, found, day)):
        return None
    what = _task_text(plain, begin, day, found)
    return Promise(sentence, _text_or_sentence(what, plain, own), day.day)


def _begins_with_a_day(sentence: str) -> bool:
    """Return True for "On Monday I will ..."; two such sentences make a plan."""
    day = find_named_day(sentence[:LONGEST])
    before = sentence[: day.start].strip(" *").casefold() if day else "-"
    behind = sentence[day.end :].lstrip(" ,:*") if day else ""
    return before in ("", "on", "and on", "then on", "am", "und am", "le", "el") and bool(
        MAY_PROMISE.match(behind)
    )


def _text_or_sentence(what: str, sentence: str, own: str) -> str:
    """Return what is promised or, when that says too little, the sentence without its "Sure, ".
    `own` is as long as the sentence without it."""
    return _tidy_line(sentence[len(sentence) - len(own) :]) if SAYS_TOO_LITTLE.match(what) else what


def _find_beginning(said: str, start: int) -> tuple[int, re.Match[str] | None]:
    """Return where the promise begins, and its match: at `start`, after a day ("On Friday I will
    ...") or after another clause ("I noted it and I will ...")."""
    day = find_named_day(said[start:])
    after_day = start + day.end if day and day.start == 0 else start
    after_day += len(said[after_day:]) - len(said[after_day:].lstrip(" ,"))
    for at in dict.fromkeys((start, after_day)):
        for form in (ENGLISH, GERMAN, GERMAN_TURNED, ROMANCE):
            if found := form.match(said, at):
                return at, found
    joined = JOINED.search(said, start)
    if joined and OWN_CLAUSE.match(said, start):
        at = joined.end()
        at += len(word[0]) if (word := re.match(r"(?:and |but |so )", said[at:])) else 0
        for form in (ENGLISH, GERMAN, ROMANCE):
            if found := form.match(said, at):
                return at, found
    return 0, None


def _day_of(said: str, begin: int) -> tuple[NamedDay | None, bool]:
    """Return the day of the promise that begins there, and True when it comes before it."""
    if day := find_named_day(said[begin:]):
        return replace(day, start=day.start + begin, end=day.end + begin), False
    day = find_named_day(said[:begin])
    return day, bool(day and not said[day.end : begin].strip(" ,"))


def _is_when(said: str, found: re.Match[str], day: NamedDay) -> bool:
    """Return True when something is done on the day. It may be the day of an object instead: "I'll
    search for flights on Friday" may be done at once."""
    between = said[found.end("deed") : day.start]
    if not day.own or DAY_OF_AN_OBJECT.search(between):
        return False
    at_once = _is_english(found) and found["now"] is not None
    return not at_once or (day.bare and not between.rstrip().endswith(","))


def _reminder_text(rest: str, request: str) -> str:
    """Return what to remind of: from the answer, else from the request, else the whole request."""
    stated = OBJECT.match(_without_day(rest))
    if stated and stated["what"].strip(_EDGE).lower() not in EMPTY_OBJECTS:
        return _tidy_line(re.sub(r" erinnern\W*$", "", stated["what"]))
    asked = REMINDER_REQUEST.search(request)
    what = (asked["what"] or asked["de"]) if asked else request
    return _tidy_line(_without_day(" ".join(what.split())[:120]))


def _task_text(text: str, begin: int, day: NamedDay, found: re.Match[str]) -> str:
    """Return the task without the day and without "I will"."""
    start = found.start("deed") if _is_english(found) else begin
    cut = text[start : day.start] + text[day.end :] if day.start >= start else text[start:]
    return _tidy_line(cut)


def _is_english(found: re.Match[str]) -> bool:
    """Return True when the whole task follows "I will", as in English."""
    return found.re is ENGLISH


def _without_day(text: str) -> str:
    day = find_named_day(text)
    return text[: day.start] + text[day.end :] if day else text


def _tidy_line(text: str) -> str:
    line = " ".join(text.split()).strip(_EDGE)
    line = re.sub(r"\s+([,.;:!?])", r"\1", line)
    return line[:1].upper() + line[1:]


MAY_PROMISE = re.compile(
    r"\b(?:I|we)(?: will| won['\u2019]t|['\u2019]ll| shall| am going to|['\u2019]m going to)\b"
    r"|\bich (?:werde|erinnere|melde|schaue|pr\u00fcfe|sehe|frage|schicke|\u00fcberpr\u00fcfe"
    r"|k\u00fcmmere)\b"
    r"|\b(?:werde|erinnere|melde|schaue|pr\u00fcfe) ich\b"
    r"|\bje (?:te |vous |le |la |les |l['\u2019])?\w+r?ai\b|\bte recordar\u00e9\b|\blo (?:mirar"
    r"|revisar|comprobar)\u00e9\b",
    re.IGNORECASE,
)
_I_WILL = r"(?:I|we)(?: will|['\u2019]ll| shall| am going to|['\u2019]m going to)"
_NEVER = r"(?:I|we)(?: won['\u2019]t| will not)"
NO_FORGETTING = re.compile(rf"\b{_NEVER} let you forget\b", re.IGNORECASE)
"""A promise, although it has a "not"."""
_SOON = (
    r"(?:(?: also| then| certainly| definitely| gladly| happily| be sure to| make sure to| try to"
    r"| come back and| go ahead and| keep (?:that|this|it) in mind and)*)"
)
_LATER = (
    r"check|look (?:at|into|after)|look again|follow up|get back|report back|report to you|ask|send"
    r"|review|revisit|prepare|notify|let you know|ping|call|e-?mail|message|monitor|watch|contact"
    r"|come back|return to|verify|test|try|go (?:over|through)"
    r"|renew|collect|research|investigate|nudge you|alert you|give you a (?:nudge|shout|heads-up)"
    r"|bring (?:it|this|that|them|the \w+|your \w+) up|bring up|raise (?:it|this|that)"
    r"|mention (?:it|this|that)"
)
"""Verbs of what is done when the day comes."""
_AT_ONCE = (
    r"look|compare|update|write|draft|summari[sz]e|search|find|read|run(?! \d| a (?:mile|"
    r"marathon|half))|finish|continue|download"
    r"|fetch"
    r"|clean"
    r"|sort|give you|report"
)
"""Verbs of what may be done in this turn; the day may be that of the object."""
ENGLISH = re.compile(
    rf"(?:{_I_WILL}{_SOON}|(?P<never>{_NEVER})) (?:(?P<remind>(?:remind you\b(?! that\b)"
    r"|(?(never)let you forget\b|(?!))"
    r"|(?:set|create|add|make|send)(?: you| up)? a reminder\b))"
    rf"|(?P<deed>(?:(?:{_LATER})|(?P<now>{_AT_ONCE}))\b))",
    re.IGNORECASE,
)
DAY_OF_AN_OBJECT = re.compile(
    r"\b(?:calend[ae]r|appointments?|meetings?|schedule|agenda|events?|weather|forecast|diary"
    r"|plans?"
    r"|to-?dos?|tasks?|notes?|Termine?|Kalender|Wetter|Besprechung\w*|m\u00e9t\u00e9o"
    r"|citas?)\b"
    r"|\b(?:you|we|he|she|they|I) (?:\w+ed|wrote|sent|gave|made|had|said|told)\b"
    r"|\b(?:that|which|who|because|where|whether|what|how|ob|is|was|are|were|has|had|dass|weil"
    r"|ist|war)\b|[:;]",
    re.IGNORECASE,
)
"""Words between a task and a day that make it the day of the object."""
GERMAN = re.compile(
    r"ich (?:(?P<remind>erinnere (?:dich|Sie|euch)\b|werde (?:dich|Sie|euch)\b(?=.*\berinnern\b))"
    r"|(?P<deed>werde (?!nicht\b)(?=.*\b(?:pr\u00fcfen|nachsehen|nachschauen|schauen|melden"
    r"|fragen|schicken|"
    r"senden|schreiben|suchen|vergleichen|ansehen|kontrollieren|informieren|berichten"
    r"|vorbereiten)\b)"
    r"|(?:melde mich|schaue|pr\u00fcfe|\u00fcberpr\u00fcfe|sehe|frage|schicke"
    r"|k\u00fcmmere mich)\b))",
    re.IGNORECASE,
)
GERMAN_TURNED = re.compile(
    r"(?P<remind>erinnere ich (?:dich|Sie|euch)\b|werde ich (?:dich|Sie|euch)\b(?=.*\berinnern\b))"
    r"|(?P<deed>(?:melde ich mich|schaue ich|pr\u00fcfe ich|\u00fcberpr\u00fcfe ich)\b"
    r"|werde ich (?!nicht\b)(?=.*\b(?:pr\u00fcfen|nachsehen|nachschauen|melden|fragen|schicken"
    r"|suchen|"
    r"vergleichen)\b))",
    re.IGNORECASE,
)
ROMANCE = re.compile(
    r"(?P<remind>je (?:te|vous) (?:le )?rappellerai\b|te (?:lo )?recordar\u00e9\b)"
    r"|(?P<deed>je (?:(?:te|vous|le|la|les) |l['\u2019])?(?:regarderai|v\u00e9rifierai"
    r"|chercherai|reviendrai|"
    r"enverrai|contacterai|contr\u00f4lerai|comparerai)\b|(?:lo |te )?(?:mirar|revisar|comprobar"
    r"|buscar|"
    r"enviar|avisar)\u00e9\b)",
    re.IGNORECASE,
)
LEAD = re.compile(
    r"\W*(?:(?:ok(?:ay)?|sure(?: thing)?|of course|no problem|yes|alright|all right|certainly"
    r"|noted|"
    r"got it|understood|done|great|good|fine|perfect|absolutely|will do|thanks|thank you|then|so"
    r"|and"
    r"|also|"
    r"but|in that case|for now|gut|klar|gerne|ja|nat\u00fcrlich|alles klar|dann|und"
    r"|bien s\u00fbr|d['\u2019]accord|"
    r"oui|et|claro|vale|s\u00ed|y|kein problem|keine sorge|no worries)\b\W*)*",
    re.IGNORECASE,
)
DEPENDS = re.compile(
    r"\b(?:if|unless|in case|once|whenever|when|as soon as|until then|otherwise|provided|assuming|"
    r"let me know|just (?:say|tell|ask)|would|could|might|may|maybe|perhaps|probably|(?:do "
    r"|would )?you "
    r"want|like me to|every|each|always|example|e\.g|said|says|wrote|writes|"
    r"wenn|falls|sobald|sofern|ansonsten|jede[nrs]?|immer|vielleicht|w\u00fcrde|k\u00f6nnte"
    r"|zum Beispiel|"
    r"si|quand|d\u00e8s que|chaque|toujours|peut-\u00eatre|cuando|cada|siempre|quiz\u00e1s?)\b",
    re.IGNORECASE,
)
DENIES = re.compile(
    r"\b(?:not|never|no longer|won['\u2019]t|can['\u2019]t|cannot|unable|nicht|nie|niemals"
    r"|kein\w*|ne|pas|"
    r"jamais|nunca|nobody|pretend\w*)\b|n['\u2019]t\b",
    re.IGNORECASE,
)
DRAFTS = re.compile(
    r"\b(?:write|draft|compose|translat\w+|rewrit\w*|rephras\w*|reword|proofread|correct"
    r"|summar\w+|quote|"
    r"repeat|dictate|transcribe|pretend|imagine|role-?play|act as|reply to|answer (?:to )?(?:him"
    r"|her|them)|"
    r"first person|resolutions?|vows?|affirmations?|diary|journal|script"
    r"|(?:an?|the|my|this|our) (?:[\w-]+ ){0,3}(?:plan|programme?|routine|schedule|regimen|pledge)"
    r"|(?:an?|the|my|this) (?:e-?mail|mail|letter|message|reply|text|story|poem|dialog\w*|speech"
    r"|sms|tweet)|"
    r"schreib\w*|formulier\w*|\u00fcbersetz\w*|korrigier\w*|entwurf|entwirf|brief|nachricht"
    r"|gedicht|geschichte|"
    r"zusammenfass\w*|fasse?|\u00e9cris|r\u00e9dige|tradui\w+|r\u00e9sume|escrib\w+|redacta"
    r"|traduc\w+|resume)\b",
    re.IGNORECASE,
)
LETTER = re.compile(
    r"^[^\w\n]{0,20}(?:dear|hi|hello|hey|liebe[rs]?|hallo|sehr geehrte|cher|ch\u00e8re|bonjour"
    r"|querid[oa]"
    r"|hola)\b"
    r"[^.!?\n]{0,40},[ \t]{0,9}$|^[^\w\n]{0,20}(?:(?:best|kind|warm) (?:regards|wishes)|regards"
    r"|sincerely|cheers"
    r"|love|yours"
    r"|viele gr\u00fc\u00dfe|liebe gr\u00fc\u00dfe|mit freundlichen gr\u00fc\u00dfen"
    r"|cordialement|saludos)\b[^\w\n]{0,20}$"
    r"|^[^\w\n]{0,20}(?:subject|betreff|objet|asunto):",
    re.IGNORECASE | re.MULTILINE,
)
OBJECT = re.compile(
    r"^[\s,]*(?:to |about |of |that |an |daran,? dass |daran,? |(?:de|d['\u2019])\s*"
    r"|que |(?=(?:the|your|my|this|our) \w))(?P<what>\w.*)",
    re.IGNORECASE,
)
REMINDER_REQUEST = re.compile(
    r"\bremind me\b.*?\b(?:to|about|of|that) (?P<what>.+)|\berinnere? mich\b.*?\b(?:an"
    r"|daran,?) (?P<de>.+)",
    re.IGNORECASE,
)
JOINED = re.compile(
    r"(?:,| and| but| und| aber| et| y|;|:| -| \u2013| \u2014) "
    r"(?=(?:and |but |so )?(?:I|we|ich|je|te)\b)"
)
OWN_CLAUSE = re.compile(r"(?:I|we|ich|je|it|that|the|your|done|das|der|die)\b", re.IGNORECASE)
"""The beginning of a clause after which the same speaker continues."""
REMIND_ME = re.compile(
    r"\b(?:remind me|erinnere? mich|rappelle(?:-| )moi|recu\u00e9rdame)\b", re.IGNORECASE
)
EMPTY_OBJECTS = frozenset("it that this then them das es dann ello \u00e7a".split())
SAYS_TOO_LITTLE = re.compile(
    r"(?:ping|nudge|alert|call|e-?mail|message|contact|notify|ask|send|text|let|report to"
    r"|get back to|come back to|write|give) you(?: know| again| back| then| soon| an? \w+)?$"
    r"|.*\b(?:to|for|about|with|of|on|at) (?:with|for|about|on|at|by|to|of|and)\b"
    r"|.*\b(?:to|for|about|with|of|at)$"
    r"|(?:den|dem|der|des|einen|einem|meinen|deinen|deinem|deiner)(?: \w+){1,2}$"
    r"|(?:come back|get back|return|report back|melde mich|melde ich mich)(?: (?:to|bei) \w+)?$",
    re.IGNORECASE,
)
"""The rest of a sentence that says too little without its beginning."""
