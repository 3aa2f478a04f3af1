"""Finds the line of a text whose number a request tells anew: "the alarm code is 9035 now".

Told so, a small model remembers the new code, and the old one stays in the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from pathlib import PurePath

from openclaw.frozen import frozen
from openclaw.memory.correction_words import ATTRIBUTES, DROPPED
from openclaw.memory.rows import DIGIT, SHORTEST_PART, Request, words_of
from openclaw.nlp.date_patterns import has_date
from openclaw.nlp.skill_instructions import escape_literal
from openclaw.nlp.words import denied_words
from openclaw.storage.file_kinds import kind_by_name

_FIGURE = re.compile(r"((?:(?<!\w)-)?\d+(?:[ .,:/-]\d+)*) ?([^\W\d_]*)")
"""A number, or a telephone number with its blanks, and the word behind it."""
_NO_PROSE = re.compile(r'^[|#]|["\\]')  # a table, a heading, what no grammar holds
_PROSE = ("markdown", "text")
LONG = 6  # digits of a number that one word beside it tells from all others
CODE = 4  # digits of a number without a unit that is no amount


@frozen
class ChangedFigure:
    """A line of a file with a number, and the number that the request tells in its place.

    surely  the request denies the old number, or tells one that is no amount, of no other thing
    """

    path: str
    line: str
    old: str
    new: str
    surely: bool

    @property
    def form(self) -> str:
        """A regular expression for the line with the new number."""
        before, after = map(escape_literal, self.line.split(self.old))
        return f"^{before}({escape_literal(self.new)}){after}$"


def find_changed_figure(said: Request, files: Iterable[tuple[str, str]]) -> ChangedFigure | None:
    """Find the only line of these files, (path, text), with most words of a request and one number
    of the form of the one that it tells, or the number that it tells beside the new one ("8, not
    6"). None where two lines have as many."""
    figures = dict(_FIGURE.findall(said.text.casefold()))
    if len(figures) not in (1, 2):
        return None
    found: dict[int, list[ChangedFigure]] = {}
    for path, text in files:
        if kind_by_name(path) in _PROSE and not path.endswith(".csv"):
            for shared, changed in _find_in(said, figures, path, text):
                found.setdefault(shared, []).append(changed)
    best = found[max(found)] if found else []
    return best[0] if len(best) == 1 else None


def _find_in(
    said: Request, figures: Mapping[str, str], path: str, text: str
) -> Iterator[tuple[int, ChangedFigure]]:
    """Yield the lines of a text that may be meant, with how many words they share."""
    words = {*filter(str.isalpha, said.words)}
    telling = {word for word in words - ATTRIBUTES - DROPPED if len(word) >= SHORTEST_PART}
    about = words_of(PurePath(path).stem)
    denied = [figure for figure, _ in _FIGURE.findall(denied_words(said.text))][:1]
    lines = (
        line for line in text.splitlines() if DIGIT.search(line) and not _NO_PROSE.search(line)
    )
    forms = {figure: _form(figure) for figure in figures}  # once: they may be very long
    for line, new in product(lines, figures):
        others = [each for each in figures if each != new]
        is_denied = others == denied != []  # "8, not 6"
        spots, unit = dict(_FIGURE.findall(line.casefold())), figures[new]
        same_unit = [spot for spot in spots if spots[spot] == unit != ""]
        alike = same_unit or [spot for spot in spots if _form(spot) == forms[new]]
        if others:
            alike = [spot for spot in (spots if is_denied else alike) if spot in others]
        if new in spots or new in denied or len(alike) != 1 or line.count(alike[0]) > 1:
            continue
        own, digits = about | words_of(line), len(DIGIT.findall(new))
        shared, named = words & own, telling & own
        is_of_other = telling > named  # "Anna's phone number" is not for the line of Paolo
        is_code = digits >= CODE and not (same_unit or is_of_other)
        is_named = digits >= LONG and bool(named)
        surely = is_denied or is_code or is_named
        if has_date(line) or (said.days and not surely):  # "we sold 68 today" is for a new line
            continue
        most = len(shared) > 1 and 2 * len(shared) >= len(words) and (named or not is_of_other)
        if most or is_named or (others and named) or (is_denied and shared):
            yield len(shared), ChangedFigure(path, line, alike[0], new, surely)


def _form(figure: str) -> str:
    return DIGIT.sub("0", figure)
