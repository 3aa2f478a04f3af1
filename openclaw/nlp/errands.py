"""Read what a request wants of the web, of programs and of the calculator."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from itertools import product
from pathlib import Path

from openclaw.frozen import frozen
from openclaw.nlp.classifier import read_message
from openclaw.nlp.sentences import BETWEEN_REQUESTS

URL = re.compile(r"\bhttps?://[^\s<>\"'`|\\^{}\[\]]+", re.I)
URL_END_MARKS = ".,;:!?)"
RUN = r"\b(?:run|execute|call|start|type|f\u00fchre|starte)\b"
QUOTED_COMMAND = re.compile(rf"{RUN}[^`.\n]{{0,40}}`(?P<command>[^`\n]+)`", re.I)
SHELL = re.compile(
    r"\b(?:shell|terminal|bash|command line|shell command|console)\b|"
    r"\b(?:run|execute)\b[^.\n]{0,30}\b(?:commands?|scripts?|program)\b|"
    r"\b(?:run|execute)\b[^.\n]{0,20}\.(?:sh|bash)\b",
    re.I,
)
PYTHON = re.compile(
    r"\b(?:with|use|using|by|run|write|mit|nimm)\b(?: (?:some|a|the|short|little))* python\b",
    re.I,
)
RUNNERS = {".py": "python3", ".sh": "bash", ".js": "node"}
WEB = re.compile(
    r"\b(?:search|look|find|check|browse|ask)\b[^.\n]{0,40}\b(?:web|internet|online)\b|"
    r"\bgoogle\b(?! \w*(?:drive|docs|account))|\bim (?:web|internet|netz)\b",
    re.I,
)


@frozen
class Errands:
    """What a request wants of the web or of programs.

    urls     addresses that it names
    command  a quoted command that it says to run
    tools    tools that it asks for by what they do; the first one is for the first step
    """

    urls: tuple[str, ...] = ()
    command: str = ""
    tools: tuple[str, ...] = ()


def read_errands(request: str) -> Errands:
    """Return what a request wants of the web or of programs."""
    urls = tuple(dict.fromkeys(url.rstrip(URL_END_MARKS) for url in URL.findall(request)))
    quoted = QUOTED_COMMAND.search(request)
    without = URL.sub(" ", request)
    tools = {
        "fetch_url": bool(urls),
        "run_shell": bool(quoted or SHELL.search(without)),
        "run_python": bool(PYTHON.search(without)),
        "web_search": not urls and bool(WEB.search(without)),
    }
    command = quoted["command"].strip() if quoted else ""
    return Errands(urls, command, tuple(name for name, asked in tools.items() if asked))


def find_command(request: str, paths: Sequence[str]) -> tuple[str, bool]:
    """Return what runs the first of these programs of the home that a request says to run, and
    whether arguments may follow, as in "run sums.py on march.csv"; "" for "run ruff on sums.py",
    and for a file that is no program or has tests."""
    clauses = BETWEEN_REQUESTS.split(request) if paths else ()
    for clause, path in product(clauses, paths):
        name = Path(path)
        runner = "" if name.stem.startswith("test") else RUNNERS.get(name.suffix.lower(), "")
        run = rf"{RUN}\W+(?:[\w.-]+/)*{re.escape(name.name)}(?![\w/])\W*(?:aus\W*)?(?P<rest>.*)"
        if runner and (found := re.search(run, clause, re.I | re.S)):
            return f"{runner} {shlex.quote(path)}", bool(found["rest"]) or len(paths) > 1
    return "", False


OPERATORS = {
    "+": ("+", "plus"),
    "-": ("-", "minus", "less"),
    "*": ("*", "x", "\u00d7", "times", "multiplied by", "mal", "fois", "por", "per"),
    "/": ("/", "\u00f7", "divided by", "over", "geteilt durch"),
}
NUMBER = r"(?<![\w.,:/(-])(\d+(?:\.\d+)?)"
LAST_NUMBER = r"(\d+(?:\.\d+)?)(?!\w|[.,:/-]\d)"
OPERATOR = "|".join(re.escape(word) for words in OPERATORS.values() for word in words)
FIGURE = re.compile(r"\d+(?:[.,]\d+)*")
SUM = re.compile(rf"{NUMBER}\s*({OPERATOR})\s*{LAST_NUMBER}", re.I)
PERCENTAGE = re.compile(rf"{NUMBER}\s*(?:%|percent|prozent)\s*(?:of|von)\s*{LAST_NUMBER}", re.I)
UNSURE_SIGNS = frozenset("- / less por per over".split())
"""Signs of ranges, dates, phone numbers and rates too: they mean a sum only when one is asked."""


def find_expression(request: str) -> str:
    """Return the sum of two numbers that a request spells out, for `calculate`; "" for none, and
    where there are other figures, which belong to the sum or mean something else."""
    percentage = PERCENTAGE.search(request)
    found = percentage or SUM.search(request)
    if not found:
        return ""
    before = request[: found.start()]
    if re.search(r"\d", before + request[found.end() :]):
        return ""
    if percentage:
        return f"{percentage.group(1)} / 100 * {percentage.group(2)}"
    left, word, right = found.groups()
    spaced = before or " " in found.group()
    if word.lower() in UNSURE_SIGNS and not (spaced and read_message(request).has("sum")):
        return ""
    sign = next(sign for sign, words in OPERATORS.items() if word.lower() in words)
    return f"{left} {sign} {right}"
