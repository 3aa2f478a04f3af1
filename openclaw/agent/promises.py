"""What does an answer promise for later? "I will remind you on Friday", but not "I'll read it now".

Nothing of ours runs between two prompts, so a promise is kept only when it is noted. It is found by
words alone, and it needs to be sure, not complete: a to-do that nobody promised is worse than none.
So nothing counts that depends on something ("if you like, I will ..."), is asked, denied, quoted,
repeated, drafted for the user, or names no day; a reminder alone needs none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from openclaw.agent.days import Named, day_named
from openclaw.agent.own_words import hushed, own_words, sentences
from openclaw.agent.promise_words import (
    ASKED,
    DENIES,
    DEPENDS,
    DRAFTS,
    EMPTY,
    ENGLISH,
    GERMAN,
    GERMAN_TURNED,
    JOINED,
    LEAD,
    LETTER,
    MAY_PROMISE,
    NO_FORGETTING,
    OBJECT,
    OF_A_DAY,
    OWN_CLAUSE,
    POOR,
    REMIND_ME,
    ROMANCE,
)

MOST = 3
LONGEST = 240

_EDGE = " ,.;:!-\u2013\u2014"


@dataclass(frozen=True, slots=True)
class Promise:
    """`sentence` as it stands in the answer, `what` is promised in a few words, `day` the words for
    when ("" for a reminder without one, "today" for a time of this day)."""

    sentence: str
    what: str
    day: str


def promises(answer: str, request: str = "") -> tuple[Promise, ...]:
    """What an answer to this request promises to do or to remind of later."""
    if not MAY_PROMISE.search(answer) or LETTER.search(answer):
        return ()
    if DRAFTS.search(request) and not REMIND_ME.search(request):
        return ()
    lines = _told(answer)
    if sum(_begins_with_a_day(line) for line in lines) > 1:  # a plan, day by day, for the user
        return ()
    found = (_promise(sentence, request) for sentence in lines)
    return tuple(dict.fromkeys(each for each in found if each))[:MOST]


def _told(answer: str) -> list[str]:
    """The sentences that the answer says itself: not quoted, and nothing directly below a line
    that introduces it, and no items below that: they may be of a file that it shows."""
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


def _promise(sentence: str, request: str) -> Promise | None:
    plain = sentence.replace("**", "")
    said = hushed(plain)  # of the same length
    lead = LEAD.match(said)
    own = said[lead.end() :] if lead else said
    denied = DENIES.search(NO_FORGETTING.sub("", own))
    if said.rstrip(" \"'*)").endswith("?") or DEPENDS.search(own) or denied:
        return None
    begin, found = _beginning(said, len(said) - len(own))
    if not found:
        return None
    day, in_front = _day_of(said, begin)
    if found["remind"] is not None:
        what = _reminder(plain[found.end() :], request)
        return Promise(sentence, _telling(what, plain, own), day.day if day else "")
    if day is None or day.day == "today" or not (in_front or _is_when(said, found, day)):
        return None
    return Promise(sentence, _telling(_deed(plain, begin, day, found), plain, own), day.day)


def _begins_with_a_day(sentence: str) -> bool:
    """Whether it is of the kind "On Monday I will ...", which makes a plan where two are so."""
    day = day_named(sentence[:LONGEST])
    before = sentence[: day.start].strip(" *").casefold() if day else "-"
    behind = sentence[day.end :].lstrip(" ,:*") if day else ""
    return before in ("", "on", "and on", "then on", "am", "und am", "le", "el") and bool(
        MAY_PROMISE.match(behind)
    )


def _telling(what: str, sentence: str, own: str) -> str:
    """What is promised, or the whole sentence but for its "Sure, " where the few words say too
    little; `own` is as long as what is left of it then."""
    return _capital(sentence[len(sentence) - len(own) :]) if POOR.match(what) else what


def _beginning(said: str, start: int) -> tuple[int, re.Match[str] | None]:
    """Where the promise begins: at `start`, behind a day ("On Friday I will ...") or behind a
    clause of its own ("I noted it and I will ...")."""
    day = day_named(said[start:])
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


def _day_of(said: str, begin: int) -> tuple[Named | None, bool]:
    """The day of the promise that begins there, and whether it stands in front of it."""
    if day := day_named(said[begin:]):
        return replace(day, start=day.start + begin, end=day.end + begin), False
    day = day_named(said[:begin])
    return day, bool(day and not said[day.end : begin].strip(" ,"))


def _is_when(said: str, found: re.Match[str], day: Named) -> bool:
    """Whether the day is that on which it is done, and not the day of a thing that is looked at:
    "I'll search for flights on Friday" may be done at once."""
    between = said[found.end("deed") : day.start]
    if not day.own or OF_A_DAY.search(between):
        return False
    at_once = _is_english(found) and found["now"] is not None
    return not at_once or (day.bare and not between.rstrip().endswith(","))


def _reminder(rest: str, request: str) -> str:
    """Of what the user is reminded: told by the answer, else by the request, else the request."""
    told = OBJECT.match(_without_day(rest))
    if told and told["what"].strip(_EDGE).lower() not in EMPTY:
        return _capital(re.sub(r" erinnern\W*$", "", told["what"]))
    asked = ASKED.search(request)
    what = (asked["what"] or asked["de"]) if asked else request
    return _capital(_without_day(" ".join(what.split())[:120]))


def _deed(text: str, begin: int, day: Named, found: re.Match[str]) -> str:
    """What is to be done, without the day and without "I will"."""
    start = found.start("deed") if _is_english(found) else begin
    cut = text[start : day.start] + text[day.end :] if day.start >= start else text[start:]
    return _capital(cut)


def _is_english(found: re.Match[str]) -> bool:
    """Whether what is promised stands behind "I will", and not around it."""
    return found.re is ENGLISH


def _without_day(text: str) -> str:
    day = day_named(text)
    return text[: day.start] + text[day.end :] if day else text


def _capital(text: str) -> str:
    line = " ".join(text.split()).strip(_EDGE)
    line = re.sub(r"\s+([,.;:!?])", r"\1", line)
    return line[:1].upper() + line[1:]
