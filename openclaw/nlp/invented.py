"""Finds figures, dates, addresses and names in a text that stand in none of the texts it may be
made from.

Small models fill a gap with what looks right: asked to note a number that nobody has said, one
wrote 123-456-7890. Code can tell in any language, because such values are copied, not worded.
What a person computes in the head (a sum of two numbers, a day near today) counts as said; numbers
of up to two digits are not checked, as people say them in words.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator, Sequence, Set
from datetime import date, timedelta
from itertools import permutations

from openclaw.frozen import frozen
from openclaw.nlp.classifier import language_of, read_message

_ADDRESS = re.compile(
    r"(?<![\w.+-])[\w.+-]+@[\w-]+\.[\w.-]*\w|\b(?:https?://|www\.)[\w.-]+\w", re.IGNORECASE
)
_NUMBER = re.compile(r"\d+(?:[.,:/'\u2019-]\d+)*")
_DATE = re.compile(r"(\d{4})-(\d\d?)-(\d\d?)|(\d\d?)[./-](\d\d?)[./-](\d{2}|\d{4})?")
_TIME = re.compile(r"(\d\d?):([0-5]\d)")
_WORD = re.compile(r"[^\W\d_]+")
_NAME = re.compile(r"[^\W\d_A-Z][,;]? ([A-Z][^\W\d_A-Z]{2,})\b")
_DAYS = frozenset(
    (*calendar.day_name, *calendar.day_abbr, *calendar.month_name, *calendar.month_abbr)
)
_HUNDRED = re.compile(
    r"hund|hond|thous|taus|duiz|cent|cien|cem\b|mil|[\u767e\u5343\u4e07]", re.IGNORECASE
)
"""Stands in the words for hundred and thousand in the nine languages, and in a few others."""
MAX_NUMBERS = 40
NEAR_DAYS = 15  # a day so near to today may be meant by "tomorrow" or "Friday"
SAME_BEGINNING = 4  # letters of a name that an ending does not change


@frozen
class Said:
    """What a text may be made from: the user's request, all texts that the model has read, the day
    on which it is written, and what it replaces."""

    request: str
    texts: Sequence[str]
    today: date
    replaced: str = ""


def invented_values(text: str, said: Said) -> list[str]:
    """Return the addresses, figures and dates of a text that nobody has said, in their order."""
    known = "\n".join((said.request, *said.texts))
    folded = known.casefold()
    found = [each[0] for each in _ADDRESS.finditer(text) if each[0].casefold() not in folded]
    numbers = [each[0] for each in _NUMBER.finditer(_ADDRESS.sub(" ", text))]
    new = [each for each in dict.fromkeys(numbers) if len(_digits(each)) > 2]
    if not new:
        return found
    told = [*_NUMBER.findall(known)]
    lines = [_digits(line) for line in known.splitlines()]
    values = {value for each in told for value in _values(each)}
    small = {int(part) for each in told for part in re.findall(r"\d+", each) if len(part) < 3}
    asked, replaced = (
        [value for number in _NUMBER.findall(each)[:MAX_NUMBERS] for value in _values(number)]
        for each in (said.request, said.replaced)
    )
    computed = {*_computed(asked)}
    computed |= {round(old + sign * n, 4) for old in replaced for n in asked for sign in (1, -1)}
    for each in new:
        right = (
            any(_digits(each) in line for line in lines)
            or values.intersection(_values(each))
            or computed.intersection(_values(each))
            or _may_be_day(each, small, said.today)
            or _may_be_time(each, small)
            or (not re.search(r"\d", said.request) and _may_be_words(each, said.request))
        )
        if not right:
            found.append(each)
    return found


def invented_names(text: str, said: Said) -> list[str]:
    """Return the capitalised words within the sentences of a text that nobody has said. Not for
    languages that write all nouns so, and nothing for a text that is written as a title."""
    words = _WORD.findall(text)
    if sum(word[0].isupper() for word in words) * 2 > len(words):
        return []
    known = {
        word.casefold()[:SAME_BEGINNING]
        for each in (said.request, *said.texts)
        for word in _WORD.findall(each)
    }
    return [
        name
        for name in dict.fromkeys(_NAME.findall(text))
        if name not in _DAYS and name.casefold()[:SAME_BEGINNING] not in known
    ]


def _digits(text: str) -> str:
    return "".join(filter(str.isdigit, text))


def _values(number: str) -> Iterator[float]:
    """Yield what a number may be worth: 1,250 is 1250 or 1.25."""
    plain = re.sub(r"['\u2019]", "", number)
    for form in {
        plain.replace(",", ""),
        plain.replace(".", "").replace(",", "."),
        plain.replace(",", "."),
    }:
        if re.fullmatch(r"\d+(?:\.\d+)?", form):
            yield round(float(form), 4)


def _computed(numbers: Sequence[float]) -> Iterator[float]:
    """Yield what two of the numbers give, or all together."""
    few = [*dict.fromkeys(numbers)][:MAX_NUMBERS]
    yield round(sum(few), 4)
    for one, other in permutations(few, 2):
        yield from (round(value, 4) for value in (one + other, one - other, one * other))
        yield round(one * other / 100, 4)
        if other:
            yield round(one / other, 4)


def _may_be_day(text: str, said: Set[int], today: date) -> bool:
    """Return True for a year near today, and for a date whose day was `said` or is near."""
    if re.fullmatch(r"\d{4}", text):
        return abs(int(text) - today.year) <= 1
    found = _DATE.fullmatch(text)
    if not found:
        return False
    year, month, day, first, second, last = found.groups()
    if said & set(map(int, filter(None, (day, first, second)))):
        return True
    if not year:
        year, month, day = int(last or today.year) % 100 + 2000, second, first
    try:
        meant = date(int(year), int(month), int(day))
    except ValueError:
        return False
    named_by_words = meant.day == 1 or (meant + timedelta(days=1)).day == 1  # the end of the month
    return named_by_words or abs(meant - today) <= timedelta(days=NEAR_DAYS)


def _may_be_time(text: str, said: Set[int]) -> bool:
    """Return True for a time whose hour was `said`."""
    found = _TIME.fullmatch(text)
    return found is not None and int(found[1]) % 12 in {hour % 12 for hour in said}


def _may_be_words(number: str, request: str) -> bool:
    """Return True for a time that people say in words (half past nine), and for a round number in
    hundreds, if the request has a word for these or wants a text, which may hold any."""
    if not re.fullmatch(r"\d{1,2}00(?:0)?", number):
        return bool(re.fullmatch(r"(?:[01]?\d|2[0-3]):(?:00|15|30|45)", number))
    free = not language_of(request) or not read_message(request).lacks("text")
    return free or _HUNDRED.search(request) is not None
