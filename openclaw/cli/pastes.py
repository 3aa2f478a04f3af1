"""Long texts that are pasted into the input line: a few words stand for each of them there."""

from __future__ import annotations

import io
import re

from openclaw.cli.attach import read_stdin
from openclaw.errors import UsageError
from openclaw.shapes import Material

MOST_LINES, MOST_CHARACTERS = 10, 1_000
"""What is pasted is shown as it is up to here."""
LONGEST_PROMPT = 4_000
"""Characters up to which a pasted text with no words beside it is the prompt itself."""
_MARK = re.compile(r"\[pasted [\d,]+ (?:lines|characters) #\d+\]")


class Pastes:
    """The texts that were pasted in this talk, each under the words that stand for it."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def fold(self, text: str) -> str:
        """What stands in the input line for a pasted text; the text itself when it is short."""
        text = text.replace("\r\n", "\n").replace("\r", "\n")
        lines = len(text.splitlines())
        if lines <= MOST_LINES and len(text) <= MOST_CHARACTERS:
            return text
        size = f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"
        mark = f"[pasted {size} #{len(self._texts) + 1}]"
        self._texts[mark] = text
        return mark

    def prompt(self, text: str) -> str:
        """What is asked: the pasted text where a short one stands there alone, else the words."""
        alone = self._texts.get(text.strip(), "")
        return alone if 0 < len(alone) <= LONGEST_PROMPT else text

    def material(self, text: str) -> tuple[Material, ...]:
        """The pasted texts that the words stand for, cut as standard input is."""
        marks = dict.fromkeys(_MARK.findall(text))
        for mark in marks:
            if mark not in self._texts:
                raise UsageError(f"the text of {mark} is no longer here", "paste it again")
        return tuple(
            Material(mark[1:-1], read_stdin(io.BytesIO(self._texts[mark].encode())))
            for mark in marks
        )


def mark_before(text: str) -> str:
    """The words for a pasted text that a text ends with, "" when it ends otherwise."""
    return next((m[0] for m in _MARK.finditer(text) if m.end() == len(text)), "")
