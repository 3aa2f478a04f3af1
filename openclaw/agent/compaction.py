"""Compaction: archives the older part of a conversation, proposes facts for the memory, and makes a
summary from the model's outline and the working notes."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from openclaw import events
from openclaw.agent.turn_tools import open_notes
from openclaw.frozen import frozen
from openclaw.home.open_home import OpenHome
from openclaw.nlp.identifiers import has_identifier, identifiers
from openclaw.nlp.sentences import sentences
from openclaw.nlp.statements import lasting_facts
from openclaw.nlp.words import has_negation, missing_words, significant_words
from openclaw.sessions.session import Session
from openclaw.sessions.store import notes_path
from openclaw.sessions.working_notes import WorkingNotes
from openclaw.tools.tool import closed_object
from openclaw.types import ToolProblem

Count = Callable[[str], int]
Ask = Callable[[str, dict[str, Any], int], Generator[events.Event, None, str]]
"""Asks the model about the conversation, with the words, the JSON schema and the tokens of its
reply; returns the text, "" when there is none."""

OUTLINE_SHARE = 0.4
"""The part of a summary that the model's words may take; the rest is for the working notes."""
MAX_PROPOSED = 20  # facts that one compaction proposes
LEAST_EXCHANGES = 3
"""For fewer exchanges the model is asked only on the user's order: it is slow and would say little.
"""


def summarize(
    open_home: OpenHome,
    session: Session,
    upto: int,
    room: int,
    focus: str | None,
    ask: Ask,
    count: Count,
) -> Generator[events.Event, None, tuple[str, tuple[str, ...]]]:
    """Return the summary of the first `upto` messages, in at most `room` tokens, and candidates for
    the memory; change nothing yet. The summary is the outline, merged with the one before it, and
    the working notes. `focus` is None unless the user ordered the compaction."""
    yield events.Notice(f"summing up the older {upto} messages of this conversation")
    mask, remembers = open_home.masker.mask, open_home.use_memory and open_home.saving
    said = [entry.content for entry in session.messages[:upto] if entry.role == "user"]
    found = dict.fromkeys(fact for words in said for fact in lasting_facts(words))
    facts = [*found][:MAX_PROPOSED] if remembers else []
    new = Outline()
    if focus is not None or len(said) >= LEAST_EXCHANGES:
        new = yield from _ask_outline(ask, session, focus or "")
    both = merge_outlines(parse_outline(session.compressed_context), new)
    made = shorten_outline(both, int(room * OUTLINE_SHARE), count)
    frame = count(render_outline(made, "x"))
    notes = WorkingNotes.read(notes_path(open_home.sessions.folder, session.id))
    # The user may have written secrets into the notes.
    brief = mask(notes.brief(max(0, room - frame), count, lasting_facts))
    block = render_outline(without_known(made, brief), brief, WHERE if remembers else "")
    return mask(block), tuple(map(mask, facts))


def put_away(
    open_home: OpenHome, session: Session, upto: int, summary: str, facts: Sequence[str]
) -> Iterator[events.Event]:
    """Propose the facts to the user, archive the messages and put the summary in their place. All
    is on the disk at the end."""
    proposed = 0
    for fact in facts:
        with suppress(ToolProblem):  # it is known
            open_notes(open_home).propose(fact, f"session {session.id}")
            proposed += 1
    open_home.sessions.compact(session, upto, summary)
    if proposed:
        yield events.Notice(f"for your memory: {proposed} (openclaw memory review)")


# -------- the question to the model

SUMMARY_TOKENS = 400

ASK_SUMMARY = """\
The conversation has become too long. Write down what must be known to go on with it, and reply \
with one JSON object: "goal": what the user wants; "done": what was done; "decisions": what was \
decided; "open": what is still to do; "identifiers": exact names, paths and numbers that matter. \
Short lines, nothing that was not said."""
FOCUS = " What matters most: {focus}"


def _ask_outline(ask: Ask, session: Session, focus: str) -> Generator[events.Event, None, Outline]:
    """Return the outline from the model, checked; an empty one when it fails."""
    words = ASK_SUMMARY + (FOCUS.format(focus=focus) if focus else "")
    text = yield from ask(words, outline_schema(), SUMMARY_TOKENS)
    contents = (entry.content for entry in session.messages)
    said = "\n".join((session.compressed_context, *contents, focus))
    uses = (f"{dict(use.input)}\n{use.output}" for e in session.messages for use in e.tool_calls)
    shown = "\n".join((*(entry.context for entry in session.messages), *uses))
    return keep_supported(read_outline(text), said, shown)


# -------- the outline

LONGEST_LINE = 140  # characters of a line

LISTS: Mapping[str, int] = {"done": 6, "decisions": 6, "open": 3, "identifiers": 8}
"""The lists of an outline and how many lines each keeps."""

OPENING = "<earlier>"
CLOSING = "</earlier>"
NOTES = "Notes, in the words that were used:"
WHERE = "What was said then is kept whole: search_sessions finds it."


@frozen
class Outline:
    """The facts needed to go on with a conversation, a line an item."""

    goal: str = ""
    done: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self != Outline()


def outline_schema() -> dict[str, Any]:
    """Return the JSON schema of an outline, with bounds that stop a small model that goes on for
    ever."""
    line = {"type": "string", "minLength": 1, "maxLength": LONGEST_LINE}
    properties: dict[str, Any] = {"goal": {**line, "minLength": 3}}
    for name, most in LISTS.items():
        properties[name] = {"type": "array", "items": line, "maxItems": most}
    return closed_object(properties)


def read_outline(text: str) -> Outline:
    """Read the outline in a model's reply; an empty one when there is none. A reply that was cut
    off gives its complete part."""
    from pydantic_core import from_json

    data: Any = {}
    with suppress(ValueError):
        data = from_json(text[text.index("{") :], allow_partial=True)
    lists = {name: _clean_lines(data.get(name), most) for name, most in LISTS.items()}
    goal = _clean_lines([data.get("goal")], 1)
    return Outline(goal[0] if goal else "", **lists)


def keep_supported(outline: Outline, said: str, shown: str = "") -> Outline:
    """Drop the lines of an outline that the words of user and assistant (`said`) do not support.
    Others may have written the texts in `shown` (tools, attachments): of these only exact strings
    count, and only as identifiers."""
    known = [(sentence, significant_words(sentence)) for sentence in sentences(said)]
    folded, everything = said.casefold(), f"{said}\n{shown}".casefold()

    def true(lines: Iterable[str]) -> tuple[str, ...]:
        return tuple(line for line in lines if _is_supported(line, said, folded, known))

    lists = {name: true(getattr(outline, name)) for name in LISTS if name != "identifiers"}
    exact = (each for line in outline.identifiers for each in identifiers(line))
    held = tuple(
        dict.fromkeys(each for each in exact if has_identifier(everything, each.casefold()))
    )
    return Outline(
        " ".join(true([outline.goal])), identifiers=held[: LISTS["identifiers"]], **lists
    )


def _is_supported(
    line: str, said: str, folded: str, known: Sequence[tuple[str, frozenset[str]]]
) -> bool:
    """Return True when a text has every identifier of a line and half of its telling words, and the
    most similar sentence denies what the line denies: small models also copy lines from the
    instructions, and drop a "not" (docs/small-models.md)."""
    if any(not has_identifier(folded, each.casefold()) for each in identifiers(line)):
        return False
    words = significant_words(line)
    if len(missing_words(line, said)) > len(words) / 2:
        return False
    like = max(known, key=lambda each: len(words & each[1]), default=("", frozenset()))
    return 2 * len(words & like[1]) <= len(words) or has_negation(line) == has_negation(like[0])


def merge_outlines(old: Outline, new: Outline) -> Outline:
    """Merge an older and a newer outline: done, decisions and identifiers add up, the oldest lines
    go first; goal and open items are those of the newer one."""
    lists = {}
    for name in ("done", "decisions", "identifiers"):
        lines = {line.casefold(): line for line in (*getattr(old, name), *getattr(new, name))}
        lists[name] = tuple(lines.values())[-LISTS[name] :]
    return Outline(new.goal or old.goal, open=new.open or old.open, **lists)


def render_outline(outline: Outline, notes: str, found: str = WHERE) -> str:
    """Return the block that replaces the older part in the prompt; `found` tells where that is."""
    lines = [OPENING, *_outline_lines(outline)]
    if notes.strip():
        lines += [NOTES, notes.strip()]
    return "\n".join(filter(None, (*lines, found, CLOSING)))


def parse_outline(text: str) -> Outline:
    """Read the outline of a rendered block, which an editor may have changed."""
    found: dict[str, list[str]] = {name: [] for name in ("goal", *LISTS)}
    lines: list[str] = []
    for line in text.partition(NOTES)[0].splitlines():
        title, _, rest = line.partition(":")
        if line.startswith("- "):
            lines.append(line[2:].strip())
        elif title.istitle() and title.lower() in found and ":" in line:
            lines = found[title.lower()]
            lines += [rest.strip()] if rest.strip() else []
    lists = {name: tuple(found[name]) for name in LISTS}
    return Outline(" ".join(found["goal"]), **lists)


def shorten_outline(outline: Outline, tokens: int, count: Count) -> Outline:
    """Shorten the outline to so many tokens: drop the oldest line of the longest list first, the
    goal last."""
    while outline and count("\n".join(_outline_lines(outline))) > tokens:
        longest = max(LISTS, key=lambda name: len("\n".join(getattr(outline, name))))
        if not getattr(outline, longest):
            return Outline()
        outline = replace(outline, **{longest: getattr(outline, longest)[1:]})
    return outline


def without_known(outline: Outline, notes: str) -> Outline:
    """Return the outline without identifiers that the notes show anyway."""
    left = tuple(i for i in outline.identifiers if not has_identifier(notes, i))
    return replace(outline, identifiers=left)


def _outline_lines(outline: Outline) -> list[str]:
    lines = [f"Goal: {outline.goal}"] if outline.goal else []
    for name in LISTS:
        if items := getattr(outline, name):
            lines += [f"{name.capitalize()}:", *(f"- {item}" for item in items)]
    return lines


def _clean_lines(value: Any, most: int) -> tuple[str, ...]:
    """Return the texts on one line each, without duplicates and without angle brackets, which would
    look like our block."""
    found: dict[str, str] = {}
    for item in value if isinstance(value, list) else ():
        line = re.sub(r"[<>]+", " ", str(item)) if isinstance(item, str) else ""
        line = " ".join(line.split())[:LONGEST_LINE].strip()
        if line:
            found.setdefault(line.casefold(), line)
    return tuple(found.values())[:most]
