"""The faults that `benchmarks.lint_data` plants, 44 in all, each with where it may be reported.

There are two sets of wordings: `lint_words.TUNED`, which the checks were written with, and `HELD`,
whose lines they had not seen.
"""

from __future__ import annotations

import random
import string
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from benchmarks.lint_words import Words

Line = tuple[str, str]

MEMORY, HOUSE, PEOPLE = "memory/MEMORY.md", "memory/household.md", "memory/people.md"
PROJECTS, INBOX = "memory/projects.md", "memory/inbox/2026-03-20.md"
PLANTED = 44
SPAN = 80


@dataclass(frozen=True, slots=True)
class Plant:
    """One fault: the name of the check that has to find it, and its lines as (path, line). A report
    of any of them counts."""

    check: str
    lines: tuple[Line, ...]


def plants(chance: random.Random, first_day: date, words: Words) -> list[Plant]:
    """The faults of one memory."""
    makers = (
        *(_duplicates, _contradictions, _relative, _long, _secrets, _hidden, _orders),
        _links,
    )
    found = [plant for make in makers for plant in make(chance, first_day, words)]
    if len(found) != PLANTED:
        raise AssertionError(f"{len(found)} faults are planted")
    return found


def _dated(text: str, day: date, category: str = "fact") -> str:
    return f"- {text} <!-- {category}, {day} -->"


def _days(chance: random.Random, first: date) -> tuple[date, date]:
    one, two = sorted(chance.sample(range(SPAN), 2))
    return first + timedelta(days=one), first + timedelta(days=two)


def _duplicates(chance: random.Random, first: date, words: Words) -> Iterator[Plant]:
    for pair in words.duplicates:
        older, newer = _days(chance, first)
        day = f"memory/{newer}.md"
        paths = chance.choice((MEMORY, HOUSE)), chance.choice((MEMORY, HOUSE, day))
        one, other = chance.sample(pair, 2)
        new = f"- {other}" if paths[1] == day else _dated(other, newer)
        yield Plant("duplicate", ((paths[0], _dated(one, older)), (paths[1], new)))


def _contradictions(chance: random.Random, first: date, words: Words) -> Iterator[Plant]:
    for pattern, values in words.contradictions:
        older, newer = _days(chance, first)
        one, other = (pattern.format(value) for value in chance.sample(values, 2))
        paths = chance.choice(((MEMORY, MEMORY), (MEMORY, HOUSE), (HOUSE, MEMORY)))
        lines = (paths[0], _dated(one, older)), (paths[1], _dated(other, newer))
        yield Plant("contradiction", lines)


def _relative(chance: random.Random, _: date, words: Words) -> Iterator[Plant]:
    whens = chance.sample(words.when, len(words.relative))
    for pattern, when in zip(words.relative, whens, strict=True):
        text = pattern.format(when)
        path = chance.choice((MEMORY, HOUSE, PROJECTS))
        yield Plant("relative-date", ((path, f"- {text[0].upper()}{text[1:]}"),))


def _long(chance: random.Random, first: date, words: Words) -> Iterator[Plant]:
    for number in (11, 12, 13):
        said = " ".join(chance.choice(words.talk) for _ in range(chance.randrange(120, 190)))
        path = chance.choice((MEMORY, HOUSE, PROJECTS))
        yield Plant("too-long", ((path, _dated(f"Meeting {number}: {said}.", first)),))


def _secrets(chance: random.Random, first: date, words: Words) -> Iterator[Plant]:
    signs = string.ascii_letters + string.digits
    for text in words.secrets:
        while "@@" in text:
            count = int(text.partition("@@")[2][:2])
            value = "".join(chance.choice(signs) for _ in range(count))
            text = text.replace(f"@@{count}", value, 1)
        yield Plant("secret", ((chance.choice((MEMORY, HOUSE, PROJECTS)), _dated(text, first)),))


def _hidden(chance: random.Random, first: date, words: Words) -> Iterator[Plant]:
    for at, sign in enumerate(words.hidden):
        said = f"The shutter number {at + 40} of the workshop gets stuck in wet weather.".split()
        where = chance.randrange(1, len(said))
        said[where] = said[where][:2] + sign + said[where][2:]
        path = chance.choice((MEMORY, HOUSE, f"memory/{first + timedelta(days=at)}.md"))
        line = " ".join(said)
        yield Plant("hidden", ((path, f"- {line}" if path[7].isdigit() else _dated(line, first)),))


def _orders(chance: random.Random, first: date, words: Words) -> Iterator[Plant]:
    for text in words.orders:
        yield Plant("order", ((chance.choice((MEMORY, HOUSE, INBOX)), _dated(text, first)),))


def _links(chance: random.Random, first: date, words: Words) -> Iterator[Plant]:
    for text in words.links:
        yield Plant("dead-link", ((chance.choice((MEMORY, HOUSE)), _dated(text, first)),))
