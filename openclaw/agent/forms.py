"""The one line with <blanks> that a skill may prescribe, as a pattern for constrained output."""

from __future__ import annotations

import re

BLANK = re.compile(r"<[A-Za-z][^<>\n]{0,60}>")
CODE = re.compile(r"^ {4,}\S.*$|`[^`\n]+`", re.MULTILINE)
# What may stand in a blank: a JSON string must hold it as it is, and it ends with the line.
FILLED = r'[^"\\\n<>]+'


def line_form(skill: str) -> str:
    """A regular expression for the only piece of code with blanks in a skill's instructions; empty
    when there are several or none, and when the code goes on in the next line."""
    found = [piece.strip().strip("`") for piece in CODE.findall(skill) if BLANK.search(piece)]
    if len(found) != 1 or _goes_on(skill, found[0]):
        return ""
    return f"^{FILLED.join(map(_literal, BLANK.split(found[0])))}$"


def _goes_on(skill: str, form: str) -> bool:
    lines = skill.splitlines()
    at = next(n for n, line in enumerate(lines) if form in line)
    around = lines[max(at - 1, 0) : at] + lines[at + 1 : at + 2]
    return lines[at].startswith("    ") and any(line.startswith("    ") for line in around)


def _literal(text: str) -> str:
    """Only what llama.cpp's grammars take for special is escaped: `re.escape` would break them."""
    return re.sub(r"([\^$.\[\]()|{}*+?])", r"\\\1", text)
