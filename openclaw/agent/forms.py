"""The one line with <blanks> that a skill may prescribe, as a pattern for constrained output."""

from __future__ import annotations

import re
from collections.abc import Collection

BLANK = re.compile(r"<[A-Za-z][^<>\n]{0,60}>")
CODE = re.compile(r"^ {4,}\S.*$|`[^`\n]+`", re.MULTILINE)
STEP = re.compile(r"^\d+[.)] .*(?:\n(?!\d+[.)] |#|\S).*)*", re.MULTILINE)
# A blank that may go on for ever does so: a small model that has missed the end of the form writes
# it again and again in the blank, until its tokens are used up.
MOST_FILLED = 200
SIGNS = frozenset("!#%*+/=@_|~")


def line_form(skill: str) -> str:
    """A regular expression for the only piece of code with blanks in a skill's instructions; empty
    when there are several or none, and when the code goes on in the next line."""
    found = [piece.strip().strip("`") for piece in CODE.findall(skill) if BLANK.search(piece)]
    if len(found) != 1 or _goes_on(skill, found[0]):
        return ""
    first, *rest = BLANK.split(found[0])
    return f"^{_literal(first)}{''.join(_filled(text) + _literal(text) for text in rest)}$"


def answer_form(skill: str) -> str:
    """The pieces of code in a skill's instructions that an answer is made of: with blanks, or a
    beginning such as `So: `; each on a line. Said once more at the end, small models keep to it."""
    told = skill.partition("\n## Example")[0]
    pieces = [piece.strip().strip("`") for piece in CODE.findall(told)]
    return "\n".join(p for p in pieces if BLANK.search(p) or p.rstrip().endswith(":"))


def first_tools(skill: str, tools: Collection[str]) -> frozenset[str]:
    """The tools that the first numbered step with any speaks of; all when no step has one. Left to
    itself a small model begins with the step that writes, and makes up what it should have read."""
    steps = [found for found in _step_tools(skill, tools) if found]
    return steps[0] if steps else frozenset(tools)


def later_tools(skill: str, tools: Collection[str], used: Collection[str]) -> frozenset[str]:
    """The tools that are spoken of in the steps after the last one that speaks of a used tool."""
    steps = _step_tools(skill, tools)
    done = [at for at, found in enumerate(steps) if found.intersection(used)]
    return frozenset().union(*steps[done[-1] + 1 :]) - frozenset(used) if done else frozenset()


def _step_tools(skill: str, tools: Collection[str]) -> list[frozenset[str]]:
    """For each numbered step the tools that it speaks of."""
    steps = STEP.findall(skill)
    return [frozenset(tool for tool in tools if f"`{tool}`" in step) for step in steps]


def _goes_on(skill: str, form: str) -> bool:
    lines = skill.splitlines()
    at = next(n for n, line in enumerate(lines) if form in line)
    around = lines[max(at - 1, 0) : at] + lines[at + 1 : at + 2]
    return lines[at].startswith("    ") and any(line.startswith("    ") for line in around)


def _filled(after: str) -> str:
    """What may stand in a blank before this text: what a JSON string holds as it is, on one line,
    without the sign that ends the blank: " !~~" is what comes of " !!" otherwise."""
    sign = after.strip()[:1]
    barred = sign if sign in SIGNS else ""
    return rf'[^"\\\n<>{barred}]{{1,{MOST_FILLED}}}'


def _literal(text: str) -> str:
    """Only what llama.cpp's grammars take for special is escaped: `re.escape` would break them."""
    return re.sub(r"([\^$.\[\]()|{}*+?])", r"\\\1", text)
