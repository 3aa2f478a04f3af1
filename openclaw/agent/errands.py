"""What a request asks for in the world outside its files: a page, a command, a search of the web.

The user said so himself, so that the first step is this and not a guess from memory; where the
policy refuses it, the user is to hear that, and not to be given something made up.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

URL = re.compile(r"\bhttps?://[^\s<>\"'`|\\^{}\[\]]+", re.I)
TRAILING = ".,;:!?)"
QUOTED = re.compile(
    r"\b(?:run|execute|call|start|type|f\u00fchre|starte)\b[^`.\n]{0,40}`(?P<command>[^`\n]+)`",
    re.I,
)
SHELL = re.compile(
    r"\b(?:shell|terminal|bash|command line|shell command|console)\b|"
    r"\b(?:run|execute)\b[^.\n]{0,30}\b(?:commands?|scripts?|program)\b|"
    r"\b(?:run|execute)\b[^.\n]{0,20}\.(?:sh|bash)\b",
    re.I,
)
PYTHON = re.compile(
    r"\b(?:with|in|use|using|by|run|write|mit|nimm)\b(?: (?:some|a|the|short|little))* python\b",
    re.I,
)
WEB = re.compile(
    r"\b(?:search|look|find|check|browse|ask)\b[^.\n]{0,40}\b(?:web|internet|online)\b|"
    r"\bgoogle\b(?! \w*(?:drive|docs|account))|\bim (?:web|internet|netz)\b",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Errands:
    """`urls` that the request names; `command` that it says to run; `tools` that it asks for by
    what they do, the first of them for the first step."""

    urls: tuple[str, ...] = ()
    command: str = ""
    tools: tuple[str, ...] = ()


def errands(request: str) -> Errands:
    """What the words of a request want of the world outside."""
    urls = tuple(dict.fromkeys(url.rstrip(TRAILING) for url in URL.findall(request)))
    quoted = QUOTED.search(request)
    without = URL.sub(" ", request)
    tools = {
        "fetch_url": bool(urls),
        "run_shell": bool(quoted or SHELL.search(without)),
        "run_python": bool(PYTHON.search(without)),
        "web_search": not urls and bool(WEB.search(without)),
    }
    command = quoted["command"].strip() if quoted else ""
    return Errands(urls, command, tuple(name for name, asked in tools.items() if asked))
