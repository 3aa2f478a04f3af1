"""Parse a shell line and list its simple commands.

A line is safe when each of its commands is, whatever joins them, so the result is a flat list. The
parser knows `;` newline `&&` `||` `|` `!` `( )` `{ ; }`, `$( )`, `<file`, `>/dev/null`, `2>&1`,
`<<<word` and here-documents. It refuses the rest of the language (loops, functions, background
jobs, assignments, other redirections) by name. POSIX.1-2024, 2.7 and 2.10.
"""

from __future__ import annotations

import glob
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field

from openclaw.frozen import frozen

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\[.*\])?\+?=")
_RESERVED = frozenset(
    "if then else elif fi do done case esac while until for in select function time coproc [["
    " }".split()
)
_DELIMITER = re.compile(r"(['\"]?)([A-Za-z_][A-Za-z0-9_]*)\1(?=[ \t\n;&|]|$)")
_REDIRECTION = re.compile(r"([0-9]*)(<<<|<<-|<<|<>|<&|<\(|<|>>|>\||>&|>\(|>)")
_COPY = re.compile(r"[0-9](?=[ \t\n;&|)]|$)")
_MOST = 50  # commands of one line
_DEEPEST = 20  # brackets inside each other


@frozen
class Command:
    """A simple command: its words, and the files that `<` reads for it."""

    words: tuple[Word, ...]
    inputs: tuple[Word, ...] = ()


def parse_commands(text: str, home: str = "") -> tuple[Command, ...]:
    """All simple commands of `text`, also those in substitutions; raises `Unreadable`."""
    check_characters(text)
    return _LineParser(text, home).read()


@dataclass(slots=True)
class _DraftCommand:
    words: list[Word] = field(default_factory=list)
    inputs: list[Word] = field(default_factory=list)


class _LineParser:
    """A recursive descent parser; `found` collects commands as they end.

    `waiting` is the delimiter of a here-document whose text begins after the next newline, and
    whether it was quoted.
    """

    def __init__(self, text: str, home: str) -> None:
        self.words = WordReader(text, home, inner=lambda: self._list(")"))
        self.found: list[Command] = []
        self.waiting: tuple[str, bool] | None = None
        self.open = 0

    def read(self) -> tuple[Command, ...]:
        self._list("")
        if self.waiting:
            raise Unreadable("a here-document has no end")
        return tuple(self.found)

    def _list(self, end: str) -> None:
        """Read commands up to and including `end`: ")" or "}", or "" for the end of the text."""
        self.open += 1
        if self.open > _DEEPEST:
            raise Unreadable("too many brackets inside each other")
        self._newlines()
        while True:
            self._and_or()
            separated = self._separator()
            if self._at_end(end) and (separated or end != "}"):
                break
            if not separated:
                raise self._stray()
        self.words.at += len(end)
        self.open -= 1

    def _separator(self) -> bool:
        semicolon = self._accept(";")
        return self._newlines() or semicolon

    def _at_end(self, end: str) -> bool:
        self._skip()
        if end != "}":
            return self.words.peek() == end
        after = self.words.peek(1)
        return self.words.peek() == end and (not after or after in ENDS)

    def _newlines(self) -> bool:
        """Skip newlines, and a here-document after the first; return True when there was one."""
        any_ = False
        while self._accept("\n"):
            any_ = True
            if self.waiting:
                self._heredoc_body(*self.waiting)
                self.waiting = None
        return any_

    def _and_or(self) -> None:
        self._pipeline()
        while self._accept("&&") or self._accept("||"):
            self._newlines()
            self._pipeline()

    def _pipeline(self) -> None:
        self._skip()
        if self.words.peek() == "!" and self.words.peek(1) in {" ", "\t"}:
            self.words.at += 1
        self._command()
        while not self._is_next("||") and self._accept("|"):
            if self._is_next("&"):
                raise Unreadable("'|&' is not known to every shell")
            self._newlines()
            self._command()

    def _command(self) -> None:
        if self._is_next("(("):
            raise Unreadable("'((' is arithmetic to some shells")
        if self._accept("("):
            self._group(")")
        elif self._is_next("{") and self.words.peek(1) in {" ", "\t", "\n"}:
            self.words.at += 1
            self._group("}")
        else:
            self._simple()

    def _group(self, end: str) -> None:
        self._list(end)
        draft = _DraftCommand([Word("true", start="true")])
        while self._redirection(draft):
            pass
        if draft.inputs:
            self._add(draft)

    def _simple(self) -> None:
        draft = _DraftCommand()
        while self._redirection(draft) or self._argument(draft):
            pass
        if not draft.words:
            raise self._stray()
        self._add(draft)

    def _argument(self, draft: _DraftCommand) -> bool:
        word = self._word()
        if word is None:
            return False
        if not draft.words:
            _check_first(word)
        draft.words.append(word)
        return True

    def _add(self, draft: _DraftCommand) -> None:
        self.found.append(Command(tuple(draft.words), tuple(draft.inputs)))
        if len(self.found) > _MOST:
            raise Unreadable(f"more than {_MOST} commands in a line")

    def _skip(self) -> None:
        begin = self.words.at
        self.words.skip_blanks()
        if self.waiting and "\\\n" in self.words.text[begin : self.words.at]:
            raise Unreadable("a here-document of this form")

    def _is_next(self, operator: str) -> bool:
        self._skip()
        return self.words.text.startswith(operator, self.words.at)

    def _accept(self, operator: str) -> bool:
        seen = self._is_next(operator)
        self.words.at += len(operator) if seen else 0
        return seen

    def _word(self) -> Word | None:
        self._skip()
        begin, waiting = self.words.at, self.waiting
        word = self.words.word()
        # Shells differ in where the here-document would then begin.
        if waiting and "\n" in self.words.text[begin : self.words.at]:
            raise Unreadable("a here-document of this form")
        return word

    def _stray(self) -> Unsafe:
        here, after = self.words.peek(), self.words.peek(1)
        if here == "&" and after == ">":
            return Unreadable("'&>' is not known to every shell (write >/dev/null 2>&1)")
        if here == "&" and after != "&":
            return Unsafe("'&' leaves a command running")
        if here == "(":
            return Unsafe("a function, or a bracket out of place")
        return Unreadable(f"'{here}' out of place" if here.strip() else "it is not complete")

    def _redirection(self, draft: _DraftCommand) -> bool:
        """Read a redirection if one begins here."""
        self._skip()
        found = _REDIRECTION.match(self.words.text, self.words.at)
        if not found:
            return False
        operator = found[2]
        if len(found[1]) > 1:
            raise Unreadable(f"a redirection of {found[1]}")
        self.words.at = found.end()
        if operator == "<<":
            self._heredoc()
        elif operator in {"<", "<<<"}:
            self._input(draft, operator)
        elif operator in {">", ">>"}:
            self._output()
        elif operator == ">&" and (copy := _COPY.match(self.words.text, self.words.at)):
            self.words.at = copy.end()
        else:
            raise Unreadable(f"the redirection '{operator}'")
        return True

    def _target(self) -> Word:
        word = self._word()
        if word is None:
            raise Unreadable("a redirection without a file")
        return word

    def _output(self) -> None:
        word = self._target()
        if not word.known or word.text != "/dev/null":
            raise Unsafe(f"'>' writes {word.text}")

    def _input(self, draft: _DraftCommand, operator: str) -> None:
        word = self._target()
        if operator == "<<<":
            return
        if not word.known:
            raise Unreadable(f"'<' from {word.text}, which is not a plain name")
        draft.inputs.append(word)

    def _heredoc(self) -> None:
        self._skip()
        found = _DELIMITER.match(self.words.text, self.words.at)
        if not found or self.waiting or self.words.depth:
            raise Unreadable("a here-document of this form")
        self.words.at = found.end()
        self.waiting = found[2], bool(found[1])

    def _heredoc_body(self, delimiter: str, quoted: bool) -> None:
        words = self.words
        while words.at < len(words.text):
            end = words.text.find("\n", words.at)
            end = end if end >= 0 else len(words.text)
            line = words.text[words.at : end]
            # The newline after the delimiter stays: it ends the line of the command.
            words.at = end
            if line == delimiter:
                return
            if not quoted and re.search(r"[$`\\]", line):
                raise Unreadable("a here-document that the shell expands")
            words.at = min(end + 1, len(words.text))
        raise Unreadable("a here-document has no end")


def _check_first(word: Word) -> None:
    if not word.quoted and word.text in _RESERVED:
        raise Unsafe(f"'{word.text}' begins a loop, a condition or the like")
    if _ASSIGNMENT.match(word.text):
        raise Unsafe(f"it sets {word.text.partition('=')[0].rstrip('+')}")
    if not word.known:
        raise Unreadable(f"the command {word.text} is not a plain name")


LONGEST = 8_000  # characters; nobody reads more than that before saying yes

_NAME = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))")
_SUM = re.compile(r"\$\(\([0-9+\-*/% ]+\)\)")
_PLAIN_BRACES = re.compile(r"\{[A-Za-z0-9]*\}")
ENDS = " \t\n;&|()<>"


class Unsafe(Exception):
    """The line may do more than read; the text tells what, in a few words."""


class Unreadable(Unsafe):
    """The line is ambiguous or beyond this parser; the text tells why."""


@frozen
class Word:
    """One word of a command.

    text     the text that the program gets when `known`, else the text as written
    start    the known text before the first unknown part
    split    has an expansion outside quotes, which may become several words or none
    glob     is a pattern, which may become several names that begin with `start`
    open     has an expansion, inside quotes or not
    quoted   some part is quoted
    pattern  matches, by Python's glob, at least what the shell's pattern matches
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
class _DraftWord:
    """A word during parsing: pieces of (text, kind), kind in "literal", "glob", "unknown",
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
        """From brackets that Python reads differently, `*` replaces the rest of the name."""
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
    """Refuse characters that a reader cannot see, or sees as something else than the shell does."""
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
class WordReader:
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
        """Skip blanks, comments, and a backslash that continues the line after a blank."""
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
        """The word that begins here, or None at an operator or at the end."""
        if not self.peek() or self.peek() in ENDS:
            return None
        draft = _DraftWord([])
        while (char := self.peek()) and char not in ENDS:
            self._piece(draft, char)
        return draft.word()

    def _piece(self, draft: _DraftWord, char: str) -> None:
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

    def _plain(self, draft: _DraftWord, char: str) -> None:
        # Some shells take single bytes for blanks: 0x85 and 0xA0 end many a letter (Å, à).
        if char > "~" and {0x85, 0xA0} & set(char.encode()):
            raise Unreadable(f"'{char}' outside quotes is read differently by some shells")
        draft.add(char)
        self.at += 1

    def _escape(self, draft: _DraftWord) -> None:
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

    def _single(self, draft: _DraftWord) -> None:
        end = self.text.find("'", self.at + 1)
        if end < 0:
            raise Unreadable("a quote is not closed")
        inside = self.text[self.at + 1 : end]
        self._no_brackets(inside)
        draft.add(inside)
        draft.quoted = True
        self.at = end + 1

    def _double(self, draft: _DraftWord) -> None:
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

    def _dollar(self, draft: _DraftWord, *, quoted: bool) -> None:
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

    def _substitution(self, draft: _DraftWord, quoted: bool) -> None:
        begin = self.at
        self.at += 2
        self.depth += 1
        if self.depth > 8:
            raise Unreadable("too many $( ) inside each other")
        self.inner()
        self.depth -= 1
        self._unknown(draft, self.text[begin : self.at], quoted)

    def _variable(self, draft: _DraftWord, name: str, written: str, quoted: bool) -> None:
        value = self.home if name == "HOME" else ""
        if value and (quoted or re.fullmatch(r"[A-Za-z0-9_/.,:@+-]+", value)):
            draft.add(value)
            draft.quoted = True
        else:
            self._unknown(draft, written, quoted)

    def _unknown(self, draft: _DraftWord, written: str, quoted: bool) -> None:
        draft.add(written, "unknown")
        draft.quoted = True
        draft.split = draft.split or not quoted

    def _brace(self, draft: _DraftWord) -> None:
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

    def _tilde(self, draft: _DraftWord) -> None:
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
