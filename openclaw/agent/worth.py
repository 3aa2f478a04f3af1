"""Of which kind a sentence of the user's is that is worth keeping."""

from __future__ import annotations

import re
from typing import Literal

from openclaw.agent import capture_bounds as b
from openclaw.agent import capture_contacts as c
from openclaw.agent import capture_words as w
from openclaw.agent.lasting import is_lasting, is_passing, is_unsure
from openclaw.agent.meant import CITED
from openclaw.agent.statement_words import CALL_ME, FORBIDS, STANDING
from openclaw.agent.statements import Stated, is_order
from openclaw.memory.category import guess_category
from openclaw.safety import secrets
from openclaw.safety.hidden import hidden

Category = Literal["preference", "fact", "decision", "entity"]

MOST_EMOJI = 3
"""A line with more was not written by hand."""
MOST_CONTACTS = 3
"""A line with more addresses is a list that was pasted."""
LEAST_DIGITS = 7

_EMOJI = re.compile("[\u2600-\u27bf\U0001f300-\U0001faff]")
_HUSHED = "xxxxx"
_NAMES_SOMEBODY = re.compile(r"[A-ZÀ-Þ]\w|\b(?:my|our|mein|unser|mon|ma|notre|mi|nuestr)")
_CLAUSE_END = re.compile(
    r", (?:so|and|but|because|which|und|aber|weil|deshalb|daher|drum|donc|du coup|et|mais|y|pero|"
    r"así que|por lo que)\b"
    r"|; |,? (?:so|also) (?:please|pls|no|nothing|don['\u2019]?t|never|only|keep|give|bitte)\b"
)


def is_foreign(quiet: str) -> bool:
    """Whether a sentence (quotations blanked) is not the user's own statement: reported, doubtful,
    about somebody it does not name, an order to write words or to an agent, markup."""
    named = FORBIDS.match(quiet) or CALL_ME.match(quiet)
    if is_order(quiet) and not named and b.WORDED.search(quiet):
        return True
    if b.DOUBTS.match(quiet) or b.NAMELESS.match(quiet) or b.REPORTED.match(quiet):
        return True
    if b.LIFTS_A_GUARD.search(quiet) or b.MARKUP.search(quiet) or b.MOOD.match(quiet):
        return True
    return len(_EMOJI.findall(quiet)) > MOST_EMOJI or _HUSHED in quiet or CITED in quiet


def is_secret(text: str) -> bool:
    """Whether a text names a password or a key, or has signs that nobody sees."""
    return bool(b.SECRET_WORD.search(text) or hidden(text) or secrets.find(text))


def is_relative(quiet: str) -> bool:
    """Whether it names a day that only the day of writing tells."""
    return bool(w.RELATIVE.search(quiet))


def category_of(quiet: str, fact: Stated) -> Category | Literal[""]:
    """Of which kind a sentence is that states `fact`; "" when it is not worth keeping."""
    if _directs(quiet):
        return ""
    if w.DECISION.search(quiet) and _decides(quiet) and not is_unsure(quiet):
        return "decision"
    if _is_contact(quiet, fact):
        return "entity"
    if w.RULE.match(quiet) or w.FORBIDDEN_FOR_GOOD.match(quiet) or w.STYLE.match(quiet):
        return "preference"
    clause = _CLAUSE_END.split(quiet, maxsplit=1)[0]
    if fact.text and (is_lasting(fact) or is_lasting(_first_clause(clause, fact))):
        rule = STANDING.search(quiet) if fact.order else STANDING.match(quiet)
        return "preference" if rule else _guessed(quiet)
    if is_order(quiet) or is_passing(w.SHIFT.sub("", clause)):
        return ""
    if w.PREFERENCE.search(clause):
        return "preference"
    if is_unsure(clause):
        return ""
    return "fact" if w.SELF.search(clause) or w.HABIT.match(clause) else ""


def _first_clause(clause: str, fact: Stated) -> Stated:
    """The first clause of a statement, when that says something by itself."""
    return Stated(clause if len(clause.split()) > 2 else "", fact.told, fact.order)


def _decides(quiet: str) -> bool:
    """Whether a sentence says what was decided, and not only that something was."""
    clause = _CLAUSE_END.split(quiet, maxsplit=1)[0]
    if w.DECIDED_ON_THIS.search(clause) or len(quiet.split()) <= 3:
        return False
    return not is_passing(w.WHEN_DECIDED.sub("", clause))


def _is_contact(quiet: str, fact: Stated) -> bool:
    """Whether a sentence says how somebody is reached, or who serves the user."""
    if is_order(quiet) and not fact.text:
        return False
    addresses, numbers = c.EMAIL.findall(quiet), _numbers(quiet)
    if not addresses and not numbers:
        return bool(c.SERVES.search(quiet)) and not is_order(quiet)
    if len(addresses) + len(numbers) > MOST_CONTACTS or not _NAMES_SOMEBODY.search(quiet):
        return False
    if not addresses and c.NO_PHONE.search(quiet):
        return False
    return bool(c.REACHED.search(quiet))


def _directs(quiet: str) -> bool:
    """Whether a sentence is an order, or a rule, that names an address: it would have something go
    there from then on."""
    told = is_order(quiet) or STANDING.search(quiet) or w.RULE.match(quiet)
    return bool(told and (c.ADDRESS.search(quiet) or _numbers(quiet)))


def _numbers(quiet: str) -> list[str]:
    """What looks like telephone numbers."""
    found = (each[0] for each in c.PHONE.finditer(quiet))
    return [
        number
        for number in found
        if sum(sign.isdigit() for sign in number) >= LEAST_DIGITS and not c.NO_PHONE.match(number)
    ]


def _guessed(text: str) -> Category:
    found = guess_category(text)
    return "fact" if found == "other" else found
