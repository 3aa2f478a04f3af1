"""Cuts a shell line into words: the quoting rules on which dash, bash 3.2 and bash 5 agree.

What the three read differently, or what makes a word depend on more than the line, is refused
(`Unreadable`) rather than guessed: `$'...'`, backticks, braces, `${x...}` with an operator.
POSIX.1-2024, "Shell Command Language", sections 2.2 (quoting) and 2.6 (word expansions).
"""

from __future__ import annotations

import glob
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

LONGEST = 8_000  # characters; nobody reads more than that before saying yes

_NAME = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))")
_SUM = re.compile(r"\$\(\([0-9+\-*/% ]+\)\)")
_PLAIN_BRACES = re.compile(r"\{[A-Za-z0-9]*\}")
ENDS = " \t\n;&|()<>"


class Unsafe(Exception):
    """The line may do more than read; the text says what, in a few words."""


class Unreadable(Unsafe):
    """What the line does cannot be read from it with certainty; the text says why."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a command. `text` is what the program is given when `known`, else as written.

    `start` is the known text before the first part that is not. `split`: an expansion outside
    quotes, which may become several words or none; `glob`: a pattern, which may become several
    names that begin with `start`; `open`: has an expansion, within quotes or not. `quoted`: some
    part was quoted. `pattern` matches, by Python's glob, at least what a shell's `glob` does.
    """

    text: str
    known: bool = True
    start: str = ""
    split: bool = False
    glob: bool = False
    open: bool = False
    quoted: bool = False
    pattern: str = ""


@dataclass(slots=True)
class _Draft:
    """The word that is being read: pieces of (text, kind), kind in "literal", "glob", "unknown",
    "number"."""

    pieces: list[tuple[str, str]]
    split: bool = False
    quoted: bool = False

    def add(self, text: str, kind: str = "literal") -> None:
        self.pieces.append((text, kind))

    def word(self) -> Word:
        opened = any(kind == "unknown" for _, kind in self.pieces)
        closing = max((at for at, (text, _) in enumerate(self.pieces) if "]" in text), default=-1)
        known, some = True, False
        start = ""
        for at, (text, kind) in enumerate(self.pieces):
            pattern = kind == "glob" and (text != "[" or at < closing)
            some = some or pattern
            known = known and kind in {"literal", "glob"} and not pattern
            start += text if known else ""
        written = "".join(text for text, _ in self.pieces)
        return Word(
            written, known, start, self.split, some, opened, self.quoted, self._pattern(closing)
        )

    def _pattern(self, closing: int) -> str:
        """What Python's brackets read differently becomes `*`, to the end of the name."""
        found: list[str] = []
        bracket = False
        for at, (text, kind) in enumerate(self.pieces):
            if bracket:
                _, slash, text = text.partition("/")
                bracket = not slash
                found.append(slash)
            if kind == "glob" and text == "[" and at < closing:
                bracket = True
                found.append("*")
            elif not bracket:
                found.append(text if kind == "glob" else glob.escape(text))
        return "".join(found)


def check_characters(text: str) -> None:
    """Refuses what a reader cannot see, or sees as something else than the shell does."""
    if len(text) > LONGEST:
        raise Unreadable(f"the line is longer than {LONGEST} characters")
    for char in text:
        if char in "\n\t" or " " <= char <= "~":
            continue
        kind = unicodedata.category(char)
        if kind[0] == "C" or kind in {"Zs", "Zl", "Zp"}:
            raise Unreadable(f"it holds a character that nobody sees, U+{ord(char):04X}")
        plain = unicodedata.normalize("NFKC", char)
        if any(" " <= one <= "~" and not one.isalnum() for one in plain):
            raise Unreadable(f"it holds a character that looks like another, U+{ord(char):04X}")


@dataclass(slots=True)
class Words:
    """Reads words from `text` at `at`. `home` is the value of HOME ("" when it is not known).
    `inner` reads the commands of a substitution with its closing bracket; `depth` counts those
    that are open."""

    text: str
    home: str
    inner: Callable[[], None]
    at: int = 0
    depth: int = 0

    def peek(self, ahead: int = 0) -> str:
        return self.text[self.at + ahead : self.at + ahead + 1]

    def skip_blanks(self) -> None:
        """Skips blanks, comments, and a backslash that continues the line after a blank."""
        while True:
            if self.peek() in {" ", "\t"} or self._continues():
                self.at += 1 if self.peek() != "\\" else 2
            elif self.peek() == "#":
                if self.depth:
                    raise Unreadable("shells disagree on a comment inside $( )")
                end = self.text.find("\n", self.at)
                self.at = end if end >= 0 else len(self.text)
            else:
                return

    def _continues(self) -> bool:
        before = self.text[self.at - 1 : self.at] if self.at else " "
        return self.text.startswith("\\\n", self.at) and before in {" ", "\t"}

    def word(self) -> Word | None:
        """The word that begins here, or None where an operator or the end is."""
        if not self.peek() or self.peek() in ENDS:
            return None
        draft = _Draft([])
        while (char := self.peek()) and char not in ENDS:
            self._piece(draft, char)
        return draft.word()

    def _piece(self, draft: _Draft, char: str) -> None:
        if char == "\\":
            self._escape(draft)
        elif char == "'":
            self._single(draft)
        elif char == '"':
            self._double(draft)
        elif char == "$":
            self._dollar(draft, quoted=False)
        elif char == "`":
            raise Unreadable("backticks (write $( ) instead)")
        elif char in "*?[":
            draft.add(char, "glob")
            self.at += 1
        elif char in "{}":
            self._brace(draft)
        elif char == "~":
            self._tilde(draft)
        else:
            self._plain(draft, char)

    def _plain(self, draft: _Draft, char: str) -> None:
        # Some shells take single bytes for blanks: 0x85 and 0xA0 end many a letter (Å, à).
        if char > "~" and {0x85, 0xA0} & set(char.encode()):
            raise Unreadable(f"'{char}' outside quotes is read differently by some shells")
        draft.add(char)
        self.at += 1

    def _escape(self, draft: _Draft) -> None:
        char = self.peek(1)
        if not char or char == "\n":
            raise Unreadable("a backslash at the end of a line inside a word")
        self._no_brackets(char)
        draft.add(char)
        draft.quoted = True
        self.at += 2

    def _no_brackets(self, text: str) -> None:
        if self.depth and ("(" in text or ")" in text):
            raise Unreadable("a quoted bracket inside $( )")

    def _single(self, draft: _Draft) -> None:
        end = self.text.find("'", self.at + 1)
        if end < 0:
            raise Unreadable("a quote is not closed")
        inside = self.text[self.at + 1 : end]
        self._no_brackets(inside)
        draft.add(inside)
        draft.quoted = True
        self.at = end + 1

    def _double(self, draft: _Draft) -> None:
        draft.quoted = True
        draft.add("")
        self.at += 1
        while (char := self.peek()) != '"':
            if not char:
                raise Unreadable("a quote is not closed")
            if char == "`":
                raise Unreadable("backticks (write $( ) instead)")
            if char == "$":
                self._dollar(draft, quoted=True)
                continue
            if char == "\\" and self.peek(1) == "\n":
                raise Unreadable("a backslash at the end of a line inside a word")
            if char == "\\" and self.peek(1) and self.peek(1) in '$`"\\':
                self.at += 1
                char = self.peek()
            self._no_brackets(char)
            draft.add(char)
            self.at += 1
        self.at += 1

    def _dollar(self, draft: _Draft, *, quoted: bool) -> None:
        if found := _NAME.match(self.text, self.at):
            self.at = found.end()
            self._variable(draft, found[1] or found[2], found[0], quoted)
        elif found := _SUM.match(self.text, self.at):
            self.at = found.end()
            draft.add(found[0], "number")
        elif self.text.startswith("$((", self.at):
            raise Unreadable("$(( )) with more than numbers")
        elif self.peek(1) == "(":
            self._substitution(draft, quoted)
        elif self.peek(1) == "?":
            self.at += 2
            draft.add("$?", "number")
        elif self.peek(1) in (set("\"' |),./") if quoted else {"", " ", "\t", "\n"}):
            draft.add("$")
            self.at += 1
        else:
            raise Unreadable(f"the expansion {self.text[self.at : self.at + 12].split()[0]}")

    def _substitution(self, draft: _Draft, quoted: bool) -> None:
        begin = self.at
        self.at += 2
        self.depth += 1
        if self.depth > 8:
            raise Unreadable("too many $( ) inside each other")
        self.inner()
        self.depth -= 1
        self._unknown(draft, self.text[begin : self.at], quoted)

    def _variable(self, draft: _Draft, name: str, written: str, quoted: bool) -> None:
        value = self.home if name == "HOME" else ""
        if value and (quoted or re.fullmatch(r"[A-Za-z0-9_/.,:@+-]+", value)):
            draft.add(value)
            draft.quoted = True
        else:
            self._unknown(draft, written, quoted)

    def _unknown(self, draft: _Draft, written: str, quoted: bool) -> None:
        draft.add(written, "unknown")
        draft.quoted = True
        draft.split = draft.split or not quoted

    def _brace(self, draft: _Draft) -> None:
        found = _PLAIN_BRACES.match(self.text, self.at)
        if found and not self.text.startswith(("<", ">"), found.end()):
            draft.add(found[0])
            self.at = found.end()
            return
        after = self.peek(1)
        if draft.pieces or draft.quoted or (after and after not in ENDS):
            raise Unreadable("brace expansion")
        draft.add(self.peek())
        self.at += 1

    def _tilde(self, draft: _Draft) -> None:
        before = draft.pieces[-1][0] if draft.pieces else ""
        if before.endswith(("=", ":")):
            raise Unreadable("a ~ after = or :")
        after = self.peek(1)
        if draft.pieces:
            draft.add("~")
        elif after and after != "/" and after not in ENDS:
            raise Unreadable("the home of another user (~name)")
        elif self.home:
            draft.add(self.home)
            draft.quoted = True
        else:
            draft.add("~", "unknown")
        self.at += 1
