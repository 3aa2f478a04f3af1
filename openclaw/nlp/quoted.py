"""Takes out of a message what the user only cites, hands over or makes up; what he says stays."""

from __future__ import annotations

import re
from collections.abc import Sequence

from openclaw.nlp.lexicon import quote_words as b
from openclaw.nlp.lexicon.statement_words import FORBIDS, REMEMBER, STANDING
from openclaw.nlp.sentences import before_material, is_order, led, own_words, sentences

CITED = "[...]"
"""Stands where something was cited."""
FEWEST_SPEAKERS = 2

_PARAGRAPH = re.compile(r"\n[ \t]*(?:\n|-{3,}[ \t]*\n|={3,}[ \t]*\n)")


def meant(said: str) -> list[str]:
    """The sentences that the user says himself and means, in their order."""
    own = b.LONG_QUOTE.sub(f" {CITED} ", own_words(said))
    parts = [part for part in _PARAGRAPH.split(own) if part.strip()]
    found: list[str] = []
    for part in _without_material(parts):
        for line in _lines(part):
            own = led(line)
            if b.STORY.search(line) or b.SUPPOSING.match(own) or b.PLAYS.match(own):
                break
            if b.TO_SOMEBODY.match(own) or _is_cited(own):
                break
            head, handed_over = _before_colon(line)
            found.append(head)
            if handed_over:
                return found
            if b.LETTER.search(line):
                break
    return found


def _without_material(parts: Sequence[str]) -> list[str]:
    """The paragraphs without those that are only to be worked on."""
    asks = [part for part in parts if b.MATERIAL_FOLLOWS.search(part)]
    if not asks:
        return [*parts]
    if b.ABOUT_LANGUAGE.search(" ".join(parts)):  # what is to be mended may stand beside the order
        return []
    return [_up_to_order(part) for part in asks]


def _up_to_order(part: str) -> str:
    """A paragraph up to the sentence that says what is to be done."""
    kept = ""
    for line in sentences(part):
        if b.MATERIAL_FOLLOWS.search(line):
            break
        kept += f"{line}\n"
    return kept


def _lines(part: str) -> list[str]:
    """The sentences of a paragraph; what a semicolon divides belongs together. Where several speak
    in turn it is a conversation that was pasted."""
    rows = [row for row in before_material(part).split("\n") if row.strip()]
    speakers = {found["who"].casefold() for row in rows if (found := b.SPEAKER.match(row.strip()))}
    if len(speakers) >= FEWEST_SPEAKERS:
        rows = [row for row in rows if not b.SPEAKER.match(row.strip())]
    rows = [row for row in rows if not _is_spoken(row.strip())]
    lines: list[str] = []
    for line in sentences("\n".join(rows)):
        if lines and lines[-1].endswith(";"):
            lines[-1] += f" {line}"
        else:
            lines.append(line)
    return lines


def _is_cited(line: str) -> bool:
    """Whether a sentence says that the words behind its colon are somebody else's."""
    head, colon, _ = f"{line} ".partition(": ")
    if not colon or REMEMBER.match(line):
        return False
    return bool(b.CITES.search(head)) and not (STANDING.search(head) or FORBIDS.match(head))


def _is_spoken(row: str) -> bool:
    """Whether a row is what somebody says who is named before it ("Bob: I prefer tea.")."""
    found = b.SPEAKER.match(row)
    words = found["who"].split() if found else []
    if not found or len(words) > 2 or not all(word[0].isupper() for word in words):
        return False
    return not {word.strip(".").casefold() for word in words} & b.LABELS and bool(
        b.FIRST_PERSON.match(row[found.end() :])
    )


def _before_colon(line: str) -> tuple[str, bool]:
    """An order without the material behind its colon ("Turn this into a post: ..."), and whether
    there is some. A rule or what is to be remembered is no material."""
    body = led(line)
    head, colon, _ = f"{line} ".partition(": ")
    if not colon or not is_order(body) or REMEMBER.match(body) or FORBIDS.match(body):
        return line, False
    return (line, False) if STANDING.search(head) else (head, True)
