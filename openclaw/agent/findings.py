"""The lines of an answer and of results that hold exact strings which the user did not say himself.

Only a bounded part of each is looked at, and of that only lines with a digit, a path or a name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from openclaw.agent.identifiers import exact, identifiers, is_shaped
from openclaw.agent.own_words import LONGEST, hushed, own_words, sentences, shortened
from openclaw.agent.statements import is_order
from openclaw.agent.words import COMMON, WORD, stem
from openclaw.shapes import ToolUse

MOST = 6
MOST_FROM_ANSWER = 3
MOST_ASKED = 2
MOST_USES = 8
MOST_OF_ANSWER = 4_000
HEAD_CHARS, TAIL_CHARS = 2_500, 800
MOST_LINES = 120
LONGEST_LINE = 300
MOST_CLOSE = 10
"""Lines of results that are looked at closely."""

_HINT = re.compile(r"\d|[/\\@_=:]|[a-z][A-Z]")
_FENCED = re.compile(r"<<data [0-9a-f]{8} from (?P<source>[^\n]*?), no orders>>")
_NOT_FOUND = re.compile(
    r"\[(?:Cut|All of it|cut here|\d+ more)|<<|```|Result of |.{1,200}, lines \d+-\d+ of \d+"
)
_PATH = re.compile(r"[/\\]|\.[A-Za-z]\w{0,4}$")
_MARKUP = re.compile(r"^[ \t>#*+|-]+")
_NAMES = (
    "path",
    "url",
    "query",
    "command",
    "folder",
    "list",
    "text",
    "expression",
    "words",
    "name",
)
_WRITES = frozenset(("write_file", "edit_file", "append_file", "remember", "todo", "delete_file"))


class Line(NamedTuple):
    """A line of a result: how much it has to do with the turn, what it is from, and whether others
    have written it."""

    worth: float
    label: str
    foreign: bool
    text: str


def findings_of(said: str, answer: str, uses: Sequence[ToolUse]) -> tuple[str, ...]:
    """At most six lines, the most telling of the answer first."""
    answer = _whole(answer, MOST_OF_ANSWER)
    told = set(exact(answer))
    known = set(exact(_whole(said, MOST_OF_ANSWER)))
    lines = [*_asked(said), *_from_answer(answer, known)]
    known.update(string for line in lines for string in exact(line))
    wanted = _wanted(f"{said[:1000]} {answer[:1000]}")
    close = [
        line
        for use in uses[-MOST_USES:]
        if use.ok and use.tool not in _WRITES
        for line in _close(use, wanted)
    ]
    close.sort(key=lambda line: -line.worth)
    found = [each for line in close[:MOST_CLOSE] if (each := _telling(line, known, told))]
    found.sort(key=lambda each: -each[0])
    best = [line for _, line in found[: MOST - len(lines)]]
    return tuple(dict.fromkeys((*lines, *best)))


def _asked(said: str) -> list[str]:
    """Orders with a number, a date, an id in them: they state nothing, but what was ordered (the
    table for 7 at 19:30) is soon no longer the latest request."""
    found = []
    for sentence in sentences(own_words(said)):
        strings = exact(sentence) if _HINT.search(sentence) and is_order(hushed(sentence)) else ()
        if any(re.search(r"\d|@", each) and not _PATH.search(each) for each in strings):
            found.append(f"asked: {shortened(sentence, LONGEST - 7)}")
    return found[:MOST_ASKED]


def _from_answer(answer: str, known: set[str]) -> list[str]:
    scored = []
    text = re.sub(r"```.*?(?:```|$)", "", answer, flags=re.DOTALL)
    for number, sentence in enumerate(sentences(text)):
        plain = shortened(_MARKUP.sub("", sentence).replace("**", ""))
        if not _HINT.search(plain) or plain.endswith("?"):
            continue
        new = [each for each in exact(plain) if each not in known]
        if new:
            scored.append((-len(new), number, plain))
    best = sorted(scored)[:MOST_FROM_ANSWER]
    return [plain for _, _, plain in sorted(best, key=lambda each: each[1])]


def _telling(line: Line, known: set[str], told: set[str]) -> tuple[float, str] | None:
    """The line with its worth when it holds an exact string that is new; of a text of others only
    these strings, so that no sentence of theirs gets into the notes."""
    strings = identifiers(line.text)
    shaped = [each for each in strings if is_shaped(each)]
    new = [each for each in shaped if each not in known and each not in line.label]
    if not new:
        return None
    worth = line.worth + 0.5 * min(len(new), 4) + 2 * sum(each in told for each in strings)
    shown = ", ".join(new[:6]) if line.foreign else line.text
    return worth, f"{line.label}: {shortened(shown)}"


def _wanted(text: str) -> frozenset[str]:
    """The words that a line should have, also without their endings and with an "s"."""
    words = [word for word in map(str.lower, WORD.findall(text)) if word not in COMMON]
    stems = map(stem, words)
    return frozenset(each for word in (*words, *stems) for each in (word, word + "s"))


def _close(use: ToolUse, wanted: frozenset[str]) -> list[Line]:
    """The lines of a result that have most words in common with what was asked and answered."""
    output = use.output
    if len(output) > HEAD_CHARS + TAIL_CHARS:
        head, tail = output[:HEAD_CHARS], output[-TAIL_CHARS:]
        output = f"{head[: head.rfind(chr(10)) + 1] or head}{tail[tail.find(chr(10)) + 1 :]}"
    foreign, label = bool(_FENCED.search(output)), _label(use)
    lines = []
    for raw in output.split("\n")[:MOST_LINES]:
        text = _whole(raw, LONGEST_LINE)
        if len(text) > 3 and _HINT.search(text) and not _NOT_FOUND.match(text):
            common = len(wanted.intersection(WORD.findall(text.lower())))
            lines.append(Line(float(min(common, 5)), label, foreign, " ".join(text.split())))
    if len(lines) > MOST_CLOSE:  # of a long result only what has to do with the turn
        lines = [line for line in lines if line.worth]
    return lines


def _whole(text: str, most: int) -> str:
    """The beginning of a text in so many characters, with no word cut in two."""
    if len(text) <= most:
        return text
    cut = text[: most + 1]
    return cut[: max(cut.rfind(" "), cut.rfind("\n"), 0)]


def _label(use: ToolUse) -> str:
    """The tool and what it was called for, in few words."""
    value = next((str(use.input[name]) for name in _NAMES if use.input.get(name)), "")
    short = " ".join(value.split())
    return f"{use.tool} {short[:60]}".strip()
