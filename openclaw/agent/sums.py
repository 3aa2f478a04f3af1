"""Finds a sum in the words of a request: small models calculate wrongly in their heads."""

from __future__ import annotations

import re

OPERATORS = {
    "+": ("+", "plus"),
    "-": ("-", "minus", "less"),
    "*": ("*", "x", "\u00d7", "times", "multiplied by", "mal", "fois", "por", "per"),
    "/": ("/", "\u00f7", "divided by", "over", "geteilt durch"),
}
NUMBER = r"(?<![\w.,:/(-])(\d+(?:\.\d+)?)"
LAST_NUMBER = r"(\d+(?:\.\d+)?)(?!\w|[.,:/-]\d)"
OPERATOR = "|".join(re.escape(word) for words in OPERATORS.values() for word in words)
# A longer sum is not cut to two of its numbers.
LONGER = re.compile(rf"\d\)?\s*(?:{OPERATOR})\s*\(?$", re.I)
SUM = re.compile(rf"{NUMBER}\s*({OPERATOR})\s*{LAST_NUMBER}(?!\)?\s*(?:{OPERATOR})\s*[\d(])", re.I)
SHARE = re.compile(rf"{NUMBER}\s*(?:%|percent|prozent)\s*(?:of|von)\s*{LAST_NUMBER}", re.I)
UNSURE_SIGNS = frozenset("- / less por per over".split())
"""What also stands in ranges, dates, telephone numbers and rates: a sum only where one is asked."""
WORK_OUT = re.compile(
    r"(?:^|\b(?:what(?:'s| is)|how much is|calculate|compute|work out|was ist|wie ?viel ist|"
    r"combien font|cu\u00e1nto es|quanto fa))\W*$",
    re.I,
)


def expression(request: str, *, only_shares: bool = False) -> str:
    """The sum that a request spells out between two numbers, for `calculate`; "" for none.
    `only_shares`: only one such as "12 % of 300", where other numbers may belong to a file."""
    share, plain = SHARE.search(request), SUM.search(request)
    if share:
        return f"{share.group(1)} / 100 * {share.group(2)}"
    if not plain or only_shares:
        return ""
    left, word, right = plain.groups()
    before = request[: plain.start()]
    spaced = before or " " in plain.group()
    unsure = word.lower() in UNSURE_SIGNS and not (spaced and WORK_OUT.search(before))
    if unsure or LONGER.search(before):
        return ""
    sign = next(sign for sign, words in OPERATORS.items() if word.lower() in words)
    return f"{left} {sign} {right}"
