"""Takes from a sentence what only leads in to it or trails behind it."""

from __future__ import annotations

import re

from openclaw.agent.statement_words import LEAD_IN

_LEADS = re.compile(
    r"^(?:(?:hm+|no|nope|yeah|ugh|um|uh|wait|listen|look|honestly|right|anyway|anyhow|morning|"
    r"evening)[,.!]+ )+(?=\S+ \S)"
    r"|^(?:.{0,60}?\b)?(?:before i forget|for the record|(?:just )?so (?:you know|you['\u2019]re "
    r"aware|we['\u2019]re clear)|one more thing|by the way|btw|fyi|quick note|note to self|to be "
    r"clear|as i said|as you know|some context|some background|for context|nur damit du es weißt|"
    r"pour info|por cierto|übrigens)\b[\s,.:;-]*(?=\S+ \S)",
    re.IGNORECASE,
)
_TRAILING = re.compile(
    r"(?:[\s,]+(?:so |and )?(?:please )?(?:keep (?:that|this|it) in mind|remember (?:that|this)|"
    r"note (?:that|this)|don['\u2019]t forget(?: (?:that|this|it))?))(?: please)?[\s.!]*$|"
    r"(?:[\s,]+(?:lol|haha+|hehe|tbh|btw|fyi|by the way|anyway|pls|:-?\)|;-?\)|:D|xD))+[\s.!]*$",
    re.IGNORECASE,
)
_ASKED = re.compile(
    r", (?:what|can you|could you|is there|are there|any ideas?|how (?:do|can|much|many|long|far)|"
    r"which (?!is|was|has|are|were|means)\w+ (?:is|are|do|does|can|would|should))\b[^.!]*$",
    re.IGNORECASE,
)
_ENDS_OPEN = " ,;:-\u2013\u2014"


def led(line: str) -> str:
    """A sentence without what leads in to it: "thanks, that worked. by the way", "just so you
    know:"."""
    return _unled(_LEADS.sub("", _unled(_LEADS.sub("", line))))


def trimmed(line: str) -> str:
    """A sentence without the question, the "lol" or the comma behind it."""
    asked = _ASKED.search(line)
    if asked and len(line[: asked.start()].split()) > 2:
        line = line[: asked.start()]
    return _TRAILING.sub("", line).strip().rstrip(_ENDS_OPEN)


def _unled(line: str) -> str:
    lead = LEAD_IN.match(line)
    return line[lead.end() :] if lead and lead.end() < len(line) else line
