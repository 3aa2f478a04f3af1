"""What of a turn the working notes keep, found by code: no model is asked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from openclaw.agent.findings import findings_of
from openclaw.agent.own_words import hushed, own_words, sentences, shortened
from openclaw.agent.statements import is_order, stated
from openclaw.shapes import Change, ToolUse

LONGEST_REQUEST = 200
MOST_FACTS = 24
LONGEST_OWN = 2_000
"""Characters of a message that is taken for written by hand from end to end."""
SHORTEST_LASTING, LONGEST_LASTING = 10, 500
TODO_FILE = "memory/TODO.md"

_TASK = re.compile(
    r"[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]+\[([ xX])\][ \t]+(\S.*?)(?:[ \t]+\^[\w-]+)?[ \t]*$"
)
_UNKNOWN = re.compile(
    r"\b(?:I (?:do not|don['\u2019]t|could not|couldn['\u2019]t|cannot|can['\u2019]t|was unable to|"
    r"am not able to|have no|found no(?:thing)?) ?(?:know|find|tell|see|answer|determine|have|"
    r"access|information|record|say)?|no information|(?:is|was|are|were) not (?:mentioned|found|"
    r"stated|specified|given)|there is no (?:information|mention|record|note)|"
    r"not enough information|ich weiß (?:es )?nicht|(?:konnte|kann) ich nicht (?:finden|sagen)|"
    r"keine (?:Angabe|Information)\w*|nicht (?:gefunden|bekannt)|je ne sais pas|aucune information|"
    r"no (?:lo )?sé|no encuentro|non (?:lo )?so|"
    r"non trovo)\b",
    re.IGNORECASE,
)
_POLITE = re.compile(
    r"\b(?:anything else|something else|can i help|help you with|would you like (?:me|to)|"
    r"do you want me|^shall i|^should i (?:also|go)|let me know|is that (?:ok|right|correct)|"
    r"does that (?:help|work)|"
    r"how can i|what would you like|(?:can|may) i (?:do|help)|noch etwas|sonst noch|helfen|"
    r"autre chose|algo más|altro)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Additions:
    """What a turn adds to the working notes. `request` and `facts` are the user's own words,
    `findings` lines of the answer and of results, all exact; `files` and `todos` say what became of
    them ("workspace/a.md written", "added: Buy milk"); `questions` are open."""

    request: str = ""
    facts: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    todos: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()


def notable(
    said: str, answer: str, uses: Sequence[ToolUse] = (), changes: Sequence[Change] = ()
) -> Additions:
    """What is worth a note of a turn: what the user said, what was answered, the calls that were
    made and the files that were changed. Secrets are masked by the caller."""
    real = [change for change in changes if change.before != change.after]
    return Additions(
        request=request_of(said),
        facts=tuple(dict.fromkeys(shortened(fact.text) for fact in stated(said)))[:MOST_FACTS],
        findings=findings_of(said, answer, uses),
        files=tuple(
            f"{change.path} {'removed' if change.after is None else 'written'}"
            for change in real
            if change.path != TODO_FILE
        ),
        todos=tuple(line for c in real if c.path == TODO_FILE for line in _todos(c)),
        questions=_questions(said, answer),
    )


def request_of(said: str) -> str:
    """What the user said as one line of at most 200 characters."""
    line = " ".join(own_words(said).split()) or " ".join(said[: 4 * LONGEST_REQUEST].split())
    if len(line) <= LONGEST_REQUEST:
        return line
    cut = line[: LONGEST_REQUEST - 3]
    return (cut[: cut.rindex(" ")] if " " in cut[100:] else cut).rstrip(" ,;:") + "..."


@lru_cache(maxsize=1024)
def lasting(said: str) -> tuple[str, ...]:
    """What of the user's own words may be worth remembering for good: about himself, his people and
    things, standing rules, decisions. Rather too few than a wrong one: of a long message, most of
    which is likely to be pasted, only the beginning counts."""
    from openclaw.agent.lasting import is_lasting  # its patterns take 10 ms to compile

    own = said if len(said) <= LONGEST_OWN else said[: LONGEST_OWN // 2]
    found = (fact.text for fact in stated(own) if is_lasting(fact))
    return tuple(
        fact for fact in dict.fromkeys(found) if SHORTEST_LASTING <= len(fact) <= LONGEST_LASTING
    )


def _todos(change: Change) -> list[str]:
    """What became of the task lines of a to-do file, told by their text."""
    before, after = _tasks(change.before), _tasks(change.after)
    lines = []
    for text, done in after.items():
        if text not in before:
            lines.append(f"{'done' if done else 'added'}: {text}")
        elif done != before[text]:
            lines.append(f"{'done' if done else 'undone'}: {text}")
    return lines + [f"removed: {text}" for text in before if text not in after]


def _tasks(text: str | None) -> dict[str, bool]:
    found = (_TASK.match(line) for line in (text or "").splitlines() if "[" in line[:20])
    return {each[2]: each[1] != " " for each in found if each}


def _questions(said: str, answer: str) -> tuple[str, ...]:
    """What the answer asks of the user at its end, and what the user asked without being told."""
    found = []
    ending = list(sentences(answer[-600:]))[-1:]
    if ending and ending[0].endswith(("?", "\uff1f")) and not _POLITE.search(ending[0]):
        found.append(f"asked of the user: {shortened(ending[0])}")
    if _UNKNOWN.search(answer[:2000]):
        asked = [s for s in sentences(own_words(said)) if s.endswith(("?", "\uff1f"))]
        found += [shortened(each) for each in asked[:2] if not is_order(hushed(each))]
    return tuple(found)
