"""A text in which the times that were read are marks, so that a later rule reads "week of <day>".

A mark is two private characters: the kind of a time, and its place among all that were read.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from functools import cache

from openclaw.retrieval.spans import Time

# A bare month, weekday, year or season only counts with other words ("in", "since").
DAYS, MONTH, BARE, WEEKDAY, YEAR, SEASON = map(chr, range(0xE000, 0xE006))
_FIRST, _LAST = 0xE100, 0xF8FF
_MARK = re.compile(f"[{DAYS}-{SEASON}][{chr(_FIRST)}-{chr(_LAST)}]")
_PRIVATE = re.compile("[\ue000-\uf8ff]")


def mark_of(*kinds: str) -> str:
    """The pattern of a mark of one of these kinds."""
    return f"(?:[{''.join(kinds)}][{chr(_FIRST)}-{chr(_LAST)}])"


@dataclass(frozen=True, slots=True)
class Read:
    """A time and the words it was read from; `said`: an entry may say these words as well."""

    time: Time
    text: str
    said: bool


class Marked:
    """A text with marks for the times that rules have found in it."""

    def __init__(self, text: str, today: date) -> None:
        self.text = _PRIVATE.sub(" ", unicodedata.normalize("NFC", text))
        self.today = today
        self._read: list[Read] = []

    def apply(self, rule: Rule) -> None:
        """Mark all that a rule finds; what it cannot make days of stays as it is."""
        self.text = _compiled(rule.pattern).sub(lambda found: self._marked(rule, found), self.text)

    def _marked(self, rule: Rule, found: re.Match[str]) -> str:
        place = _FIRST + len(self._read)
        if place > _LAST:
            return found[0]
        try:
            time = rule.time(self, found)
        except (ValueError, LookupError):
            return found[0]
        if time is None or time.settled(self.today) is None:
            return found[0]
        self._read.append(Read(time, self.written(found[0]), rule.said))
        return rule.kind + chr(place)

    @property
    def empty(self) -> bool:
        """Whether nothing was read yet."""
        return not self._read

    def time(self, mark: str) -> Time:
        """The time of a mark."""
        return self._at(mark).time

    def counted(self) -> list[Read]:
        """What was read and is a time by itself, in the order of the text."""
        return [self._at(mark[0]) for mark in _MARK.finditer(self.text) if self._counts(mark[0])]

    def rest(self, *, said: bool) -> str:
        """The text without what is counted; `said` leaves what an entry may say as well."""

        def text(mark: re.Match[str]) -> str:
            gone = self._counts(mark[0]) and not (said and self._at(mark[0]).said)
            return " " if gone else self._at(mark[0]).text

        return _MARK.sub(text, self.text)

    def written(self, text: str) -> str:
        """A text with its marks as they were written."""
        return _MARK.sub(lambda mark: self._at(mark[0]).text, text)

    def _at(self, mark: str) -> Read:
        return self._read[ord(mark[1]) - _FIRST]

    def _counts(self, mark: str) -> bool:
        if mark[0] == YEAR:
            return self.time(mark).year != self.today.year
        return mark[0] in (DAYS, MONTH)


ToTime = Callable[[Marked, re.Match[str]], Time | None]


@dataclass(frozen=True, slots=True)
class Rule:
    """A kind of time, its pattern, and what makes a time of what the pattern finds.

    `time` returns None, or raises ValueError or LookupError, for what is no time after all.
    `said`: see `Read`.
    """

    kind: str
    pattern: str
    time: ToTime
    said: bool = False


def rules(kind: str, time: ToTime, *patterns: str, said: bool = False) -> tuple[Rule, ...]:
    """A rule for each pattern; capitals and small letters are the same."""
    return tuple(Rule(kind, pattern, time, said) for pattern in patterns)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """When it is needed: all rules together take 60 ms."""
    return re.compile(pattern, re.IGNORECASE)
