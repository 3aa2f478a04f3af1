"""Decides whether a new fact corrects an old one: same subject and attribute, another value.

By code and conservatively, because what is corrected gets struck through: two facts that can both
be true ("likes tea", "likes coffee") never correct each other. Four rules, each on tokens in which
times, days, numbers and addresses are values: a value right behind a verb of state differs; a
named attribute that one thing has once (name, deadline, e-mail) differs; the place or firm behind
"lives in" and its like differs; the name differs that says where one thing is ("is with Marta").
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from openclaw.frozen import frozen
from openclaw.memory import correction_words as w
from openclaw.nlp.date_patterns import is_weekday_or_month
from openclaw.nlp.words import has_negation

_VALUE = re.compile(
    r"(?P<link>https?://\S+|[\w.+-]+@[\w-]+\.[\w.-]+\w)"
    r"|(?P<day>\d{4}-\d{2}-\d{2}|\d{1,2}\.\s?\d{1,2}\.(?:\d{4}|\d{2})?(?!\d)|\d{1,2}/\d{1,2}/\d{2,4})"
    r"|(?P<time>\d{1,2}:\d{2}(?::\d{2})?(?:\s?[ap]\.?m\b\.?)?(?:\s?(?:uhr|h)\b)?"
    r"|\d{1,2}(?:\s?[ap]m\b|\s?o'clock|\s?uhr(?:\s\d{2})?\b|h\d{0,2}\b))"
    r"|(?P<number>[\u20ac$\u00a3]?\+?\d[\d.,/-]*\d%?|[\u20ac$\u00a3]?\d%?)(?![^\W\d])"
    r"|(?P<mark>[:=])(?=\s|$)|(?P<word>[^\W_][\w'+#.&/-]*)",
    re.IGNORECASE,
)


@frozen
class _Token:
    """A word or a value of a kind; `word` is folded, `raw` as written."""

    kind: str
    word: str
    raw: str


Tokens = Sequence[_Token]


def corrects(new: str, old: str) -> bool:
    """Return True when the new fact contradicts the old one about the same thing."""
    left, right = _tokens(old), _tokens(new)
    if not left or not right or _words_of_tokens(left) == _words_of_tokens(right):
        return False
    if has_negation(old) or has_negation(new):
        return False
    if left[0].word in w.INDEFINITE or left[0].word in w.PRONOUNS:
        return False
    return (
        _has_other_value(left, right)
        or _has_other_attribute(left, right)
        or _has_other_place(left, right)
    )


def subject_keys(text: str) -> list[tuple[str, ...]]:
    """Return keys for the subject of a fact.

    Two facts share a key when one corrects the other, so only facts that share one are compared.
    """
    tokens = _tokens(text)
    words = _words_of_tokens(tokens)
    keys = [("like", *("#" if _is_value(token) else token.word for token in tokens))]
    if at := _verb_at(tokens):
        keys.append(("of", *words[:at]))
    for at, (verb, preposition) in enumerate(pairwise(words)):
        if (verb, preposition) in w.PLACES or (verb, "") in w.PLACES:
            keys.append(("at", *words[: at + 1]))
    return keys if tokens else []


@lru_cache(maxsize=4096)
def _tokens(text: str) -> Tokens:
    plain = text.replace("\u2019", "'")
    for pattern, by in w.PHRASES:
        plain = pattern.sub(by, plain)
    found = [_to_token(match) for match in _VALUE.finditer(plain)]
    kept = [token for token in found if token.word and token.word not in w.DROPPED]
    return _without_prepositions(_to_state(_merge_values(kept)))


def _to_token(match: re.Match[str]) -> _Token:
    kind, raw = str(match.lastgroup), match[0].rstrip(".,")
    word = raw.casefold()
    if kind == "word":
        if is_weekday_or_month(raw) or word in ("today", "tomorrow"):
            kind = "day"
        elif word in w.NUMBERS:
            kind = "number"
        elif word in w.TIMES:
            kind = "time"
        else:
            word = w.FORMS.get(word, word)
    return _Token(kind, word, raw)


def _is_value(token: _Token) -> bool:
    return token.kind in ("link", "day", "time", "number")


def _merge_values(tokens: Tokens) -> list[_Token]:
    """Values in a row as one: "1 December 2026", "+49 170 555". With a day in it they are a day."""
    merged: list[_Token] = []
    for token in tokens:
        if merged and _is_value(merged[-1]) and _is_value(token):
            last = merged.pop()
            kind = "day" if "day" in (last.kind, token.kind) else last.kind
            merged.append(_Token(kind, f"{last.word} {token.word}", f"{last.raw} {token.raw}"))
        else:
            merged.append(token)
    return merged


def _to_state(tokens: list[_Token]) -> list[_Token]:
    """ "S was moved from V to W" said as "S is W"."""
    for at, token in enumerate(tokens):
        if token.word not in w.CHANGED or not at:
            continue
        start = at
        while start and tokens[start - 1].word in w.AUXILIARIES:
            start -= 1
        rest = tokens[at + 1 :]
        if len(rest) > 2 and rest[0].word == "from" and _is_value(rest[1]):
            rest = rest[2:]
        if len(rest) > 1 and rest[0].word in ("to", "on") and _is_value(rest[1]):
            return [*tokens[:start], _Token("word", "be", "is"), *rest[1:]]
        before = tokens[at - 2 : at]
        if len(before) == 2 and before[0].word in ("auf", "to") and _is_value(before[1]):
            head = [t for t in tokens[: at - 2] if t.word not in w.AUXILIARIES]
            return [*head, _Token("word", "be", "is"), before[1], *rest]
    return tokens


def _without_prepositions(tokens: Tokens) -> list[_Token]:
    return [
        token
        for at, token in enumerate(tokens)
        if not (token.word in w.BEFORE_VALUES and any(map(_is_value, tokens[at + 1 : at + 2])))
    ]


def _words_of_tokens(tokens: Tokens) -> list[str]:
    return [token.word for token in tokens]


# ---- the rules


def _has_other_value(old: Tokens, new: Tokens) -> bool:
    """Equal but for values; the first that differs stands right behind a verb of state."""
    if len(old) != len(new):
        return False
    differ = [at for at, (a, b) in enumerate(zip(old, new, strict=True)) if a.word != b.word]
    if any(not _is_comparable(old[at], new[at]) for at in differ):
        return False
    verb = next((at for at, token in enumerate(old) if token.word in w.STATE), None)
    if verb is None or not verb or differ[0] <= verb:
        return False
    between = old[verb + 1 : differ[0]]
    if not all(_is_value(token) or token.word in w.FILLERS for token in between):
        return False
    if old[differ[0]].kind != "day":
        return True
    is_open = any(token.word == "open" for token in between)
    plural = old[verb].raw.casefold() in w.PLURAL
    return old[verb].word in w.ONCE and not plural and not is_open


def _is_comparable(left: _Token, right: _Token) -> bool:
    kinds = {left.kind, right.kind}
    return _is_value(left) and (len(kinds) == 1 or kinds == {"time", "number"})


def _has_other_attribute(old: Tokens, new: Tokens) -> bool:
    """ "Anna's boss is Peter" and "... is Maria": one subject and attribute, two values."""
    at, at_new = _verb_at(old), _verb_at(new)
    subject = old[:at]
    if not subject or _words_of_tokens(subject) != _words_of_tokens(new[:at_new]):
        return False
    favourite = any(w.FAVOURITE.match(each.word) for each in subject)
    return _same_shape(old[at + 1 :], new[at_new + 1 :], _head(subject), favourite)


def _verb_at(tokens: Tokens) -> int:
    """The place of "is", a colon or an equals sign, 0 without one."""
    return next((n for n, token in enumerate(tokens) if token.word in ("be", ":", "=")), 0)


def _head(subject: Tokens) -> str:
    """Return the noun of a subject: the last word before "of", "for" and their like."""
    end = next((n for n, t in enumerate(subject) if n and t.word in w.OF), len(subject))
    return subject[end - 1].word


def _same_shape(old: Tokens, new: Tokens, head: str, favourite: bool) -> bool:
    if not (0 < len(old) <= w.LONGEST_VALUE and 0 < len(new) <= w.LONGEST_VALUE):
        return False
    if any(t.word in w.INDEFINITE for t in (*old, *new)):
        return False
    shape = _shape(old)
    if shape != _shape(new):
        return False
    known = favourite or head in w.ATTRIBUTES or bool(w.COMPOUND.search(head))
    if shape == "name":
        traits = [any(t.word in w.TRAITS for t in side) for side in (old, new)]
        return known and traits[0] == traits[1]
    if shape == "value":
        return known and _same_measure(old, new)
    return head in w.WORDY and len(old) == len(new) <= 2


def _same_measure(old: Tokens, new: Tokens) -> bool:
    """Return True when only values differ: "900 euros" is not "due on 3 May"."""
    left, right = ([t.word for t in side if not _is_value(t)] for side in (old, new))
    values = [next((t for t in side if _is_value(t)), None) for side in (old, new)]
    if values[0] is None or values[1] is None:
        return len(old) == len(new) == 1
    return _is_comparable(values[0], values[1]) and left == right


def _shape(tokens: Tokens) -> str:
    if any(_is_value(t) or re.search(r"\d", t.word) for t in tokens):
        return "value"
    return "name" if _is_name(tokens) else "words"


def _is_name(tokens: Tokens) -> bool:
    return (
        0 < len(tokens) <= w.LONGEST_VALUE
        and tokens[0].raw[:1].isupper()
        and all(t.raw[:1].isupper() or t.word in w.PARTICLES for t in tokens)
    )


def _has_other_place(old: Tokens, new: Tokens) -> bool:
    """ "I live in Bonn" and "I live in Rome": a verb that one subject has one name for. "The key is
    with Marta" and "... is with Paul": one thing, which is no person, has one place."""
    words = _words_of_tokens(old)
    for at, (verb, preposition) in enumerate(pairwise(words)):
        start = at + 1 if (verb, "") in w.PLACES else at + 2
        is_verb = (verb, "") in w.PLACES or (verb, preposition) in w.PLACES
        if not at or not (is_verb or _tells_where(old, at)):
            continue
        if _words_of_tokens(new[:start]) != words[:start]:
            continue
        names = (*old[start:], *new[start:])
        if any(token.kind != "word" or token.word in w.TRAITS for token in names):
            return False
        return _is_name(old[start:]) and _is_name(new[start:])
    return False


def _tells_where(tokens: Tokens, at: int) -> bool:
    """Return True for "is with" and its like behind one thing."""
    verb, subject = tokens[at], tokens[at - 1]
    single = verb.word == "be" and verb.raw.casefold() not in w.PLURAL
    return single and subject.raw.islower() and tokens[at + 1].word in w.WHERE
