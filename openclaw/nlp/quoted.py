"""Find the sentences that the user says himself, not those he cites, hands over or makes up."""

from __future__ import annotations

import re
from collections.abc import Sequence

from openclaw.nlp.lexicon.quote_words import (
    ABOUT_LANGUAGE,
    CITES,
    FIRST_PERSON,
    LABELS,
    LETTER,
    LONG_QUOTE,
    MATERIAL_FOLLOWS,
    PLAYS,
    SPEAKER,
    STORY,
    SUPPOSING,
    TO_SOMEBODY,
)
from openclaw.nlp.lexicon.statement_words import FORBIDS, REMEMBER, STANDING
from openclaw.nlp.sentences import drop_material, is_order, own_words, sentences, strip_lead_in

CITATION_MARK = "[...]"
"""Replaces a citation."""
FEWEST_SPEAKERS = 2

_PARAGRAPH = re.compile(r"\n[ \t]*(?:\n|-{3,}[ \t]*\n|={3,}[ \t]*\n)")


def own_sentences(said: str) -> list[str]:
    """Return the sentences that the user says himself and means, in their order."""
    own = LONG_QUOTE.sub(f" {CITATION_MARK} ", own_words(said))
    parts = [part for part in _PARAGRAPH.split(own) if part.strip()]
    found: list[str] = []
    for part in _without_material(parts):
        for line in _paragraph_sentences(part):
            body = strip_lead_in(line)
            if STORY.search(line) or SUPPOSING.match(body) or PLAYS.match(body):
                break
            if TO_SOMEBODY.match(body) or _is_cited(body):
                break
            head, handed_over = _before_colon(line)
            found.append(head)
            if handed_over:
                return found
            if LETTER.search(line):
                break
    return found


def _without_material(parts: Sequence[str]) -> list[str]:
    """Leave out the paragraphs that the user only wants to have worked on."""
    asks = [part for part in parts if MATERIAL_FOLLOWS.search(part)]
    if not asks:
        return [*parts]
    if ABOUT_LANGUAGE.search(" ".join(parts)):  # the text to correct may stand next to the order
        return []
    return [_text_before_order(part) for part in asks]


def _text_before_order(part: str) -> str:
    """Return a paragraph up to the sentence that says what to do with the material."""
    kept = ""
    for line in sentences(part):
        if MATERIAL_FOLLOWS.search(line):
            break
        kept += f"{line}\n"
    return kept


def _paragraph_sentences(part: str) -> list[str]:
    """Return the sentences of a paragraph; parts divided by a semicolon stay together. Lines of
    several speakers are a pasted conversation and are left out."""
    rows = [row for row in drop_material(part).split("\n") if row.strip()]
    speakers = {found["who"].casefold() for row in rows if (found := SPEAKER.match(row.strip()))}
    if len(speakers) >= FEWEST_SPEAKERS:
        rows = [row for row in rows if not SPEAKER.match(row.strip())]
    rows = [row for row in rows if not _is_dialogue_line(row.strip())]
    lines: list[str] = []
    for line in sentences("\n".join(rows)):
        if lines and lines[-1].endswith(";"):
            lines[-1] += f" {line}"
        else:
            lines.append(line)
    return lines


def _is_cited(line: str) -> bool:
    """Return True when a sentence says that the words after its colon are somebody else's."""
    head, colon, _ = f"{line} ".partition(": ")
    if not colon or REMEMBER.match(line):
        return False
    return bool(CITES.search(head)) and not (STANDING.search(head) or FORBIDS.match(head))


def _is_dialogue_line(row: str) -> bool:
    """Return True for a line of a dialogue, with the speaker before it ("Bob: I prefer tea.")."""
    found = SPEAKER.match(row)
    words = found["who"].split() if found else []
    if not found or len(words) > 2 or not all(word[0].isupper() for word in words):
        return False
    return not {word.strip(".").casefold() for word in words} & LABELS and bool(
        FIRST_PERSON.match(row[found.end() :])
    )


def _before_colon(line: str) -> tuple[str, bool]:
    """Return an order without the material after its colon ("Turn this into a post: ..."), and
    True when there is some. A rule or something to remember is no material."""
    body = strip_lead_in(line)
    head, colon, _ = f"{line} ".partition(": ")
    if not colon or not is_order(body) or REMEMBER.match(body) or FORBIDS.match(body):
        return line, False
    return (line, False) if STANDING.search(head) else (head, True)
