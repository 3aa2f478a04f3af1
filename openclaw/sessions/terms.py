"""The words of a search, and how well a text has one of them."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

MOST_PLACES = 64
MOST_TERMS = 40
LONGEST_QUERY = 2_000
HALF = 0.5
_PHRASE = re.compile(r'"([^"]+)"|\u201c([^\u201d]+)\u201d|\u201e([^\u201c]+)\u201c')
_EDGES = "".join(chr(c) for c in range(33, 127) if not chr(c).isalnum() and chr(c) not in "+#")
_EDGES += "\u2026\u201c\u201d\u201e\u2018\u2019\u00ab\u00bb\u00bf\u00a1\u3002\u3001\uff1f\uff01"
_KEPT_IN_FRONT = "./~@$"
_NUMBER = re.compile(r"(\d{1,3}(?:,\d{3}){1,6}|\d{4,20})(\.\d+)?")
_INNER = re.compile(r"[^\W_]+")
_SUFFIXES = ("ing", "ed", "er", "en", "ly", "e")

# What questions are made of: it says little about where the answer stands.
_SMALL = frozenset(
    """a about again all also am an and any are as at be been but by can could did do does for from
    get give had has have he her his how i if in into is it its just know many may me might mine
    much must my no not of on or our please remind said say she should so some tell that the their
    them then there they this to told up us was we were what when where which who whom whose why
    will with would you your
    aber als am an auf aus bei bin bitte da das dass dein dem den der des die du ein eine einem
    einen einer er es f\u00fcr gibt habe haben hast hat hatte ich im in ist ja kann kein mein meine
    mich mir mit nach nicht noch nun oder sag sagte sich sie sind so um und uns unser unsere vom von
    vor war waren warum was welche welchem welchen welcher welches wer wie wir wird wo wurde zu zum
    zur le la les un une des du de est et que qui quel quelle o\u00f9 el los las es y en
    cu\u00e1l qu\u00e9 d\u00f3nde""".split()
)


@dataclass(frozen=True, slots=True)
class Term:
    """A word of a search, or a phrase. `forms` are folded texts by which it is found, each with
    what a hit of it is worth (0 to 1), the word itself first; `small` says that it tells little."""

    word: str
    forms: tuple[tuple[str, float], ...]
    small: bool = False
    phrase: re.Pattern[str] | None = None

    def worth(self, text: str) -> float:
        """How well a folded text has it: 1.0 as a whole word, less at the beginning of one or in
        another form, little within one, 0.0 not at all."""
        if self.phrase is not None:
            return float(bool(self.phrase.search(text)))
        best = 0.0
        for form, value in self.forms:
            if value > best and form in text:
                best = max(best, value * _as_a_word(form, text))
        return best

    def within(self, text: str) -> bool:
        """Whether a folded text has the word, also as a part of another."""
        if self.phrase is not None:
            return bool(self.phrase.search(text))
        return any(form in text for form, value in self.forms if value > HALF)

    def maybe(self, text: str) -> bool:
        """False where a folded text cannot have it; quick."""
        return any(form in text for form, _ in self.forms)


def fold(text: str) -> str:
    """A text as it is compared: without case, composed characters."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text)
    return text.casefold()


def terms(query: str) -> list[Term]:
    """The words and "phrases" of a search, each once, the first 40. When all are small, none counts
    as small."""
    query = query[:LONGEST_QUERY]
    found: dict[str, Term] = {}
    for match in _PHRASE.finditer(query):
        words = fold(next(filter(None, match.groups()))).split()
        if words:
            pattern = re.compile(r"\s+".join(map(re.escape, words)))
            found[" ".join(words)] = Term(" ".join(words), ((words[0], 1.0),), phrase=pattern)
    for raw in _PHRASE.sub(" ", query).split():
        word = bare(fold(raw))
        if word and word not in found:
            found[word] = Term(word, _forms(word), word in _SMALL)
    every = list(found.values())[:MOST_TERMS]
    if all(term.small for term in every):
        return [Term(term.word, term.forms) for term in every]
    return every


def bare(word: str) -> str:
    """A word without the punctuation around it; what has only punctuation stays."""
    plain = word.rstrip(_EDGES).lstrip("".join(set(_EDGES) - set(_KEPT_IN_FRONT)))
    if not plain.strip(_KEPT_IN_FRONT):
        return plain or word
    return plain if plain.startswith(("./", "/", "~/", "@", "$")) else plain.lstrip(_EDGES)


def _forms(word: str) -> tuple[tuple[str, float], ...]:
    forms = {word: 1.0}
    if number := _NUMBER.fullmatch(word):
        whole = int(number[1].replace(",", ""))
        forms |= {f"{whole}{number[2] or ''}": 1.0, f"{whole:,}{number[2] or ''}": 1.0}
    if word.isalpha():
        for form, value in (*_singular(word), *_stem(word)):
            forms.setdefault(form, value)
    if word.endswith(("'s", "\u2019s")):
        forms.setdefault(word[:-2], 0.95)
    parts = _INNER.findall(word)
    if len(parts) > 1:
        longest = max(parts, key=len)
        if len(longest) >= 4 or (longest.isdigit() and len(longest) >= 3):
            forms.setdefault(longest, HALF)
        forms.setdefault("".join(parts), 0.9)
        forms.setdefault(" ".join(parts), 0.9)
    return tuple(forms.items())


def _singular(word: str) -> list[tuple[str, float]]:
    if len(word) > 4 and word.endswith("ies"):
        return [(word[:-3] + "y", 0.95)]
    if len(word) > 4 and word.endswith(("ches", "shes", "xes", "sses", "zes")):
        return [(word[:-2], 0.95)]
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        return [(word[:-1], 0.95)]
    return []


def _stem(word: str) -> list[tuple[str, float]]:
    """What other forms of a word begin with; it must be long enough to mean the same."""
    for end in _SUFFIXES:
        if word.endswith(end) and len(word) - len(end) >= 4:
            return [(word[: -len(end)], HALF)]
    return [(word[:-2], HALF)] if len(word) >= 8 else []


def _as_a_word(form: str, text: str) -> float:
    """1.0 where it stands as a whole word, 0.8 at the beginning of one, 0.25 within one. Scripts
    that do not part words by blanks have no within."""
    best, at = 0.0, text.find(form)
    for _ in range(MOST_PLACES):
        if at < 0 or best == 1.0:
            break
        end = at + len(form)
        begins = at == 0 or not (text[at - 1].isalnum() and form[0].isalnum())
        ends = end == len(text) or not (text[end].isalnum() and form[-1].isalnum())
        best = max(best, 1.0 if begins and ends else 0.8 if begins else 0.25)
        at = text.find(form, at + 1)
    if 0.0 < best < 1.0 and unicodedata.category(form[0]) == "Lo":
        return 0.9
    return best
