"""What is expected of a recorded conversation when it is run again: `<id>.expect.md` beside it.

A Markdown file. A list item or a table row names a turn and what is expected of it; a heading
`## Turn 2` stands for the turn of the items below it; all other text is for people:

    - turn 1: answer contains "Ferryhill"
    - turn 2: calls todo
    - every turn: does not call run_shell

What begins like an expectation and cannot be read is a problem, and so is an item that speaks of a
turn in other words or has a rule and names none: as a comment it would pass unseen.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

SUFFIX = ".expect.md"
EVERY = 0
"""In place of the number of a turn: all of them."""
Check = Literal["contains", "lacks", "matches", "calls", "calls not", "same", "same calls"]

_ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?(?P<text>.*\S)")
_ROW = re.compile(r"\s*\|?(?P<turn>[^|]*)\|(?P<text>.*?)\|?\s*$")
_TURN = re.compile(
    r"(?:\*\*|`)?(?:(?P<every>(?:every|each|all|any)(?: turns?)?)"
    r"|(?:turn|#)\s*#?(?P<number>0*[1-9]\d*))"
    r"(?:\*\*|`)?\s*(?:[:,.\u2013\u2014-]\s*)?",
    re.I,
)
_RULES: tuple[tuple[Check, re.Pattern[str]], ...] = (
    ("same calls", re.compile(r"(?:the )?same (?:tools|calls)$|calls the same tools$", re.I)),
    ("same", re.compile(r"(?:(?:the )?answer (?:is )?)?(?:the )?same(?: answer)?$", re.I)),
    ("matches", re.compile(r"(?:(?:the )?answer )?matches\s+(?P<value>.+)$", re.I)),
    (
        "lacks",
        re.compile(
            r"(?:(?:the )?answer )?(?:does not|doesn't|must not|never) contains?\s+(?P<value>.+)$"
            r"|(?:(?:the )?answer )?lacks\s+(?P<other>.+)$",
            re.I,
        ),
    ),
    ("contains", re.compile(r"(?:(?:the )?answer )?contains\s+(?P<value>.+)$", re.I)),
    (
        "calls not",
        re.compile(r"(?:does not|doesn't|must not|never) calls?\s+(?P<value>.+)$", re.I),
    ),
    ("calls", re.compile(r"(?:calls?|uses?)\s+(?P<value>.+)$", re.I)),
)
_COUNTED = r"(?:\d+|one|two|three|four|five|six|seven|eight|nine|ten)"
_ORDINAL = r"(?:\d+(?:st|nd|rd|th)|first|second|third|fourth|fifth|sixth|last|next|final)"
_STRAY = re.compile(
    r"\W*(?:(?:in|for|of|on|at|after|during)\s+)?(?:the\s+)?"
    rf"(?:turns?\s*\W{{0,3}}{_COUNTED}\b|{_ORDINAL}\s+turn\b)"
    r"|.*\b(?:contains?|matches|lacks|calls?|same\s+(?:answer|tools|calls))\b"
    r"|\W*same\W*$",
    re.I,
)
"""An item that was meant as an expectation, by the look of it."""
UNNAMED = "names no turn; write `turn N: ...` or `every turn: ...`"
_QUOTES = {'"': '"', "'": "'", "`": "`", "\u201c": "\u201d", "\u201e": "\u201c", "\u00ab": "\u00bb"}
_NOTHING = frozenset({"nothing", "no tool", "no tools", "any tool", "anything", "tools"})
_REGEX = re.compile(r"/(?P<pattern>.*)/(?P<flags>[imsx]*)$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Expectation:
    """Of turn `turn` (EVERY: of all): `value` are words, a tool's name or a pattern; "" for what
    needs none. `line` is where it stands, from 1."""

    turn: int
    check: Check
    value: str = ""
    line: int = 0

    def __str__(self) -> str:
        words = {
            "contains": f'answer contains "{self.value}"',
            "lacks": f'answer does not contain "{self.value}"',
            "matches": f"answer matches {self.value}",
            "calls": f"calls {self.value}",
            "calls not": f"does not call {self.value or 'any tool'}",
            "same": "same answer",
            "same calls": "same tools",
        }
        return words[self.check]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a turn came to, and was: answers, and the names of the tools that were called."""

    answer: str
    calls: Sequence[str]
    recorded_answer: str = ""
    recorded_calls: Sequence[str] = ()


DEFAULT = Expectation(EVERY, "same calls")
"""What is expected where nothing is written down."""


def read_expectations(text: str) -> tuple[list[Expectation], list[str]]:
    """The expectations of a file, and its problems, one line each."""
    found: list[Expectation] = []
    problems: list[str] = []
    heading: int | None = None
    fenced = False
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif line.startswith("#"):
            heading = _turn(line.lstrip("# "))[0]
        elif not fenced and (said := _said(line, heading)):
            turn, words = said
            if turn is None:
                problems += [f"line {number}: {UNNAMED}"] if _STRAY.match(words) else []
                continue
            made = _expectation(turn, words, number)
            if isinstance(made, str):
                problems.append(f"line {number}: {made}")
            else:
                found.append(made)
    return found, problems


def failed(expected: Expectation, outcome: Outcome) -> str:
    """Why a turn is not as expected, "" when it is."""
    value, answer = expected.value, outcome.answer
    plain = value.casefold() in answer.casefold()
    called = [name for name in outcome.calls if _is_named(value, name)]
    wrong = {
        "contains": not plain,
        "lacks": plain,
        "matches": expected.check == "matches" and not pattern(value).search(answer),
        "calls": not called,
        "calls not": bool(called if value else outcome.calls),
        "same": answer != outcome.recorded_answer,
        "same calls": list(outcome.calls) != list(outcome.recorded_calls),
    }[expected.check]
    if not wrong:
        return ""
    if expected.check == "same calls":
        return f"called {_listed(outcome.calls)} instead of {_listed(outcome.recorded_calls)}"
    if expected.check in ("calls", "calls not"):
        return f"{expected}: called {_listed(outcome.calls)}"
    return f"not so: {expected}"


def pattern(value: str) -> re.Pattern[str]:
    """The pattern of /.../flags, or of a text without slashes. re.error for a bad one."""
    found = _REGEX.fullmatch(value)
    if found is None:
        return re.compile(value)
    flags = "".join(dict.fromkeys(found["flags"]))
    return re.compile(f"(?{flags}){found['pattern']}" if flags else found["pattern"])


def _said(line: str, heading: int | None) -> tuple[int | None, str] | None:
    """The turn (None: it names none) and the words of an item or row; None for other lines."""
    if found := _ITEM.match(line):
        turn, rest = _turn(found["text"])
        return (heading if turn is None else turn), rest
    if "|" in line and (found := _ROW.match(line)):
        cell, words = found["turn"].strip(), found["text"].strip()
        turn = int(cell) or None if cell.isdecimal() else _turn(cell)[0]
        is_title = cell.casefold() in ("turn", "turns", "")
        return None if turn is None and is_title else (turn, words)
    return None


def _turn(text: str) -> tuple[int | None, str]:
    """The turn that a text begins with, and the rest; None for none."""
    found = _TURN.match(text)
    if found is None:
        return None, text.strip()
    number = EVERY if found["every"] else int(found["number"])
    return number, text[found.end() :].strip()


def _expectation(turn: int, words: str, line: int) -> Expectation | str:
    words = words.replace("\\|", "|").strip()
    for check, rule in _RULES:
        found = rule.match(words)
        if found is None:
            continue
        groups = found.groupdict()
        value = _plain(groups.get("value") or groups.get("other") or "")
        if check == "calls" and value.casefold() in ("nothing", "no tool", "no tools"):
            check = "calls not"
        if check == "calls not" and value.casefold() in _NOTHING:
            value = ""
        if check == "matches":
            try:
                pattern(value)
            except re.error as error:
                return f"{value} is no pattern ({error})"
        return Expectation(turn, check, value, line)
    return f"not understood: {words or 'nothing is expected'}"


def _plain(value: str) -> str:
    """A value without its quotes, and a full stop behind them."""
    value = value.strip()
    bare = value.removesuffix(".")
    if len(bare) > 1 and _QUOTES.get(bare[0]) == bare[-1]:
        return bare[1:-1]
    return value


def _is_named(value: str, name: str) -> bool:
    return value.strip("`()").casefold() == name.casefold()


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "nothing"
