"""The summary of a conversation's older part: a fixed outline, which code fills in, checks, merges.

The model fills it in under a schema. What it says is held against what was said: a line with a
number, a path or a name that occurs nowhere is left out, and the facts that the working notes hold
stand in it whatever the model wrote.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from openclaw.agent.identifiers import holds, identifiers
from openclaw.agent.words import denies, missing_words, telling_words

LONGEST = 140
"""Characters of a line."""

LISTS: Mapping[str, int] = {"done": 6, "decisions": 6, "open": 3, "identifiers": 8}
"""The lists of an outline and how many lines each keeps."""

TITLES = {
    "goal": "Goal",
    "done": "Done",
    "decisions": "Decisions",
    "open": "Open",
    "identifiers": "Identifiers",
}
SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
OPENING = "<earlier>"
CLOSING = "</earlier>"
NOTES = "Notes, in the words that were used:"
WHERE = "What was said then is kept whole: search_sessions finds it."

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Outline:
    """What has to be known to go on, a line an item."""

    goal: str = ""
    done: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.goal or self.done or self.decisions or self.open or self.identifiers)


def schema() -> dict[str, Any]:
    """The JSON schema of an outline, with bounds that keep a small model from going on for ever."""
    line = {"type": "string", "minLength": 1, "maxLength": LONGEST}
    properties: dict[str, Any] = {"goal": {**line, "minLength": 3}}
    for name, most in LISTS.items():
        properties[name] = {"type": "array", "items": line, "maxItems": most}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def read_outline(text: str) -> Outline:
    """The outline in a model's reply; an empty one when there is none. A reply that was cut off
    gives what was complete."""
    from pydantic_core import from_json

    begin = text.find("{")
    try:
        data = from_json(text[begin:], allow_partial=True) if begin >= 0 else {}
    except ValueError:
        return Outline()
    if not isinstance(data, dict):
        return Outline()
    lists = {name: _lines(data.get(name), most) for name, most in LISTS.items()}
    goal = _lines([data.get("goal")], 1)
    return Outline(goal[0] if goal else "", **lists)


def checked(outline: Outline, said: str, shown: str = "") -> Outline:
    """The outline without lines that what user and assistant said does not bear out. Of what tools
    and attached texts have `shown`, others may have written it, only exact strings count, and only
    as identifiers."""
    sentences = [(words, telling_words(words)) for words in SENTENCE.split(said) if words.strip()]
    folded, everything = said.casefold(), f"{said}\n{shown}".casefold()

    def true(lines: Iterable[str]) -> tuple[str, ...]:
        return tuple(line for line in lines if _borne_out(line, said, folded, sentences))

    lists = {name: true(getattr(outline, name)) for name in LISTS if name != "identifiers"}
    exact = (each for line in outline.identifiers for each in identifiers(line))
    held = tuple(dict.fromkeys(each for each in exact if holds(everything, each.casefold())))
    return Outline(
        " ".join(true([outline.goal])), identifiers=held[: LISTS["identifiers"]], **lists
    )


def _borne_out(
    line: str, said: str, folded: str, sentences: Sequence[tuple[str, frozenset[str]]]
) -> bool:
    """Whether a text has every identifier of a line and half of its telling words, and the sentence
    that is most like it denies what the line denies: small models copy lines out of the
    instructions as well, and drop a "not" (docs/small-models.md)."""
    if any(not holds(folded, each.casefold()) for each in identifiers(line)):
        return False
    words = telling_words(line)
    if len(missing_words(line, said)) > len(words) / 2:
        return False
    like = max(sentences, key=lambda each: len(words & each[1]), default=("", frozenset()))
    return 2 * len(words & like[1]) <= len(words) or denies(line) == denies(like[0])


def merged(old: Outline, new: Outline) -> Outline:
    """One outline of an older and a newer one: what was done and decided adds up, the newest first
    to stay; goal, and what is open, are the newer one's."""
    lists = {
        name: _together(getattr(old, name), getattr(new, name), LISTS[name])
        for name in ("done", "decisions", "identifiers")
    }
    return Outline(new.goal or old.goal, open=new.open or old.open, **lists)


def render(outline: Outline, notes: str, found: str = WHERE) -> str:
    """The block that stands for the older part in the prompt; `found` says where the whole is."""
    lines = [OPENING, *_rendered(outline)]
    if notes.strip():
        lines += [NOTES, notes.strip()]
    return "\n".join(filter(None, (*lines, found, CLOSING)))


def parse(text: str) -> Outline:
    """The outline of a rendered block, however an editor has changed it."""
    body = text.partition(NOTES)[0]
    found: dict[str, list[str]] = {name: [] for name in TITLES}
    by_title = {title: name for name, title in TITLES.items()}
    current = ""
    for line in body.splitlines():
        title, colon, rest = line.partition(":")
        if colon and title in by_title:
            current = by_title[title]
            found[current] += [rest.strip()] if rest.strip() else []
        elif current and line.startswith("- "):
            found[current].append(line[2:].strip())
    lists = {name: tuple(found[name]) for name in LISTS}
    return Outline(" ".join(found["goal"]), **lists)


def within(outline: Outline, tokens: int, count: Count) -> Outline:
    """The outline in at most so many tokens: the longest list gives way first, its oldest line
    first, the goal last."""
    while outline and count("\n".join(_rendered(outline))) > tokens:
        longest = max(LISTS, key=lambda name: len("\n".join(getattr(outline, name))))
        if not getattr(outline, longest):
            return Outline()
        outline = replace(outline, **{longest: getattr(outline, longest)[1:]})
    return outline


def without_known(outline: Outline, notes: str) -> Outline:
    """The outline without identifiers that the notes show anyway."""
    left = tuple(i for i in outline.identifiers if not holds(notes, i))
    return replace(outline, identifiers=left)


def _rendered(outline: Outline) -> list[str]:
    lines = [f"{TITLES['goal']}: {outline.goal}"] if outline.goal else []
    for name in LISTS:
        items: Sequence[str] = getattr(outline, name)
        if items:
            lines += [f"{TITLES[name]}:", *(f"- {item}" for item in items)]
    return lines


def _lines(value: Any, most: int) -> tuple[str, ...]:
    """Texts on one line each, without duplicates and without what would look like our block."""
    found: dict[str, str] = {}
    for item in value if isinstance(value, list) else ():
        line = re.sub(r"[<>]+", " ", str(item)) if isinstance(item, str) else ""
        line = " ".join(line.split())[:LONGEST].strip()
        if line:
            found.setdefault(line.casefold(), line)
    return tuple(found.values())[:most]


def _together(old: Sequence[str], new: Sequence[str], most: int) -> tuple[str, ...]:
    lines = {line.casefold(): line for line in (*old, *new)}
    return tuple(lines.values())[-most:]
