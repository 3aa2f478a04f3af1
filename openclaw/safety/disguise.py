"""Finds known secrets in the forms that a command gives them: base64, hex, percent signs, reversed,
and single lines of a key.

Only whole values in one piece are found. What cuts a secret up or encrypts it hides it; that is for
the policy, which asks before anything leaves the machine.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from urllib.parse import quote

SHORTEST = 12
"""Shorter values have encoded forms that chance makes too."""
LINE = 32
"""A line of a private key; the last one may be shorter."""
AROUND = 4_000
"""Characters of a run that are taken along on either side, at most."""
_RUNS = (re.compile(r"[A-Za-z0-9+/_=-]*"), re.compile(r"[0-9A-Fa-f]*"))


def disguised(text: str, values: Iterable[str]) -> list[tuple[str, int, int]]:
    """Kind ("encoded-secret"), start and end of each such place, in order and without overlap. The
    whole run of characters around it is taken, as the rest of the encoded text belongs to it."""
    spans = sorted({span for value in values for span in _of(text, value)})
    kept: list[tuple[int, int]] = []
    for start, end in spans:
        if kept and start < kept[-1][1]:
            kept[-1] = kept[-1][0], max(end, kept[-1][1])
        else:
            kept.append((start, end))
    return [("encoded-secret", start, end) for start, end in kept]


def _of(text: str, value: str) -> Iterator[tuple[int, int]]:
    for form, run in _forms(value):
        at = text.find(form)
        while at >= 0:
            start, end = at, at + len(form)
            if run:
                start -= len(run.match(text[max(at - AROUND, 0) : at][::-1])[0])  # type: ignore[index]
                end += len(run.match(text[end : end + AROUND])[0])  # type: ignore[index]
            yield start, end
            at = text.find(form, end)


@lru_cache(maxsize=512)
def _forms(value: str) -> tuple[tuple[str, re.Pattern[str] | None], ...]:
    """Each form with the characters that go on with it."""
    if len(value) < SHORTEST:
        return ()
    data = value.encode("utf-8", "replace")
    coded, hexed = _RUNS
    forms: dict[str, re.Pattern[str] | None] = {
        data.hex(): hexed,
        data.hex().upper(): hexed,
        value[::-1]: None,
    }
    forms |= dict.fromkeys((line for line in value.splitlines() if len(line) >= LINE), None)
    if quote(value, safe="") != value:
        forms[quote(value, safe="")] = None
    for shift in range(3):
        # Of three bytes' code only the whole groups are the same whatever stands around them.
        start = -shift % 3
        whole = data[start : start + (len(data) - start) // 3 * 3]
        if len(whole) >= SHORTEST - 3:
            forms[base64.b64encode(whole).decode()] = coded
            forms[base64.urlsafe_b64encode(whole).decode()] = coded
    return tuple(forms.items())
