"""Finds the line of a text whose number a request tells anew: "the alarm code is 9035 now".

Told so, a small model remembers the new code, and the old one stays in the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import product
from pathlib import PurePath

from openclaw.frozen import frozen
from openclaw.memory.rows import DIGIT, Request, words_of
from openclaw.nlp.date_patterns import has_date
from openclaw.nlp.skill_instructions import escape_literal
from openclaw.storage.file_kinds import kind_by_name

_FIGURE = re.compile(r"(\d+(?:[ .,:/-]\d+)*) ?([^\W\d_]*)")
"""A number, or a telephone number with its blanks, and the word behind it."""
_NO_PROSE = re.compile(r'^[|#]|["\\]')  # a table, a heading, what no grammar holds
_PROSE = ("markdown", "text")
LONG = 6  # digits of a number that one word beside it tells from all others
CODE = 4  # digits of a number that is no amount


@frozen
class ChangedFigure:
    """A line of a file with a number, and the number that the request tells in its place.

    surely  the request tells the old number too, or one that is no amount
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
        return f"^{before}({self.new}){after}$"


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
    about = words_of(PurePath(path).stem)
    lines = (line for line in text.split("\n") if DIGIT.search(line) and not _NO_PROSE.search(line))
    for line, new in product(lines, figures):
        others = [each for each in figures if each != new]
        spots, unit = dict(_FIGURE.findall(line.casefold())), figures[new]
        same_unit = [spot for spot in spots if spots[spot] == unit != ""]
        alike = same_unit or [spot for spot in spots if _form(spot) == _form(new)]
        alike = [spot for spot in spots if spot in others] if others else alike
        if new in spots or len(alike) != 1 or line.count(alike[0]) > 1 or has_date(line):
            continue
        shared, digits = words & (about | words_of(line)), len(DIGIT.findall(new))
        surely = bool(others) or digits >= CODE
        if not surely and said.days:  # "we sold 68 today" is for a new line
            continue
        most = len(shared) > 1 and 2 * len(shared) >= len(words)
        if most or (shared and (others or digits >= LONG)):
            yield len(shared), ChangedFigure(path, line, alike[0], new, surely)


def _form(figure: str) -> str:
    return DIGIT.sub("0", figure)
