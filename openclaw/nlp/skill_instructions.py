"""Reads a skill's instructions: the tools of its steps, and the form of what it wants written."""

from __future__ import annotations

import re
from collections.abc import Collection

BLANK = re.compile(r"<[A-Za-z][^<>\n]{0,60}>")
"""What a skill's instructions leave to be filled in: `<what was finished>`."""
WRITES_FILES = re.compile(
    r"\b(?:write|create|save|append|put)\b[^.\n]*(?:\bfile\b|`[\w./-]+\.\w+`)", re.I
)
CODE = re.compile(r"^ {4,}\S.*$|`[^`\n]+`", re.MULTILINE)
STEP = re.compile(r"^\d+[.)] .*(?:\n(?!\d+[.)] |#|\S).*)*", re.MULTILINE)
# A blank needs a limit: a small model that misses the end of the form repeats the form in the blank
# until its tokens are used up.
MAX_FILLED = 200
SIGNS = frozenset("!#%*+/=@_|~")


def line_form(skill: str) -> str:
    """Return a regular expression for the only piece of code with blanks in a skill's instructions;
    "" when there are several or none, and when the code goes on in the next line."""
    found = [piece for piece in _code_in(skill) if BLANK.search(piece)]
    if len(found) != 1 or _goes_on(skill, found[0]):
        return ""
    first, *rest = BLANK.split(found[0])
    blanks = (_blank_pattern(text) + escape_literal(text) for text in rest)
    return f"^{escape_literal(first)}{''.join(blanks)}$"


def answer_form(skill: str) -> str:
    """Return the pieces of code in a skill's instructions that form the answer, one a line: with
    blanks, or a beginning such as `So: `. Small models follow a form that is repeated at the end.
    """
    pieces = _code_in(skill.partition("\n## Example")[0])
    return "\n".join(p for p in pieces if BLANK.search(p) or p.rstrip().endswith(":"))


def _code_in(skill: str) -> list[str]:
    return [piece.strip().strip("`") for piece in CODE.findall(skill)]


def first_tools(skill: str, tools: Collection[str]) -> frozenset[str]:
    """Return the tools in the first numbered step with any; all when no step has one. Without this
    a small model begins with the step that writes, and makes up what it should have read."""
    steps = [found for found in _step_tools(skill, tools) if found]
    return steps[0] if steps else frozenset(tools)


def later_tools(skill: str, tools: Collection[str], used: Collection[str]) -> frozenset[str]:
    """Return the tools in the steps after the last step with a used tool."""
    steps = _step_tools(skill, tools)
    done = [at for at, found in enumerate(steps) if found.intersection(used)]
    return frozenset().union(*steps[done[-1] + 1 :]) - frozenset(used) if done else frozenset()


def _step_tools(skill: str, tools: Collection[str]) -> list[frozenset[str]]:
    steps = STEP.findall(skill)
    return [frozenset(tool for tool in tools if f"`{tool}`" in step) for step in steps]


def _goes_on(skill: str, form: str) -> bool:
    lines = skill.splitlines()
    at = next(n for n, line in enumerate(lines) if form in line)
    around = lines[max(at - 1, 0) : at] + lines[at + 1 : at + 2]
    return lines[at].startswith("    ") and any(line.startswith("    ") for line in around)


def _blank_pattern(after: str) -> str:
    """Return the pattern of a blank before this text: characters that need no escape in JSON, on
    one line, without the sign that ends the blank: else " !!" becomes " !~~"."""
    sign = after.strip()[:1]
    barred = sign if sign in SIGNS else ""
    return rf'[^"\\\n<>{barred}]{{1,{MAX_FILLED}}}'


def escape_literal(text: str) -> str:
    """Escape only the special characters of llama.cpp's grammars: `re.escape` breaks them."""
    return re.sub(r"([\^$.\[\]()|{}*+?])", r"\\\1", text)


def left_blanks(text: str, skill: str) -> list[str]:
    """Return the blanks of a skill's instructions that stand in a text unfilled. In a skill with
    markup they may be its elements."""
    return [] if "</" in skill else [blank for blank in BLANK.findall(text) if blank in skill]
