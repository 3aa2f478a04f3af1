"""Reads the grammar of a shell line and lists its simple commands.

A line is safe when each of its commands is, whatever joins them; so the tree is kept flat. What is
understood: `;` newline `&&` `||` `|` `!` `( )` `{ ; }`, `$( )`, `<file`, `>/dev/null`, `2>&1`,
`<<<word` and here-documents. Everything else of the language (loops, functions, background jobs,
assignments, other redirections) is refused by name. POSIX.1-2024, 2.7 and 2.10.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from openclaw.tools.shellwords import ENDS, Unreadable, Unsafe, Word, Words, check_characters

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


@dataclass(frozen=True, slots=True)
class Command:
    """A simple command: its words, and the files that `<` reads for it."""

    words: tuple[Word, ...]
    inputs: tuple[Word, ...] = ()


def commands(text: str, home: str = "") -> tuple[Command, ...]:
    """All simple commands of `text`, those of substitutions too; raises `Unreadable`."""
    check_characters(text)
    return _Line(text, home).read()


@dataclass(slots=True)
class _Draft:
    words: list[Word] = field(default_factory=list)
    inputs: list[Word] = field(default_factory=list)


class _Line:
    """A recursive descent; `found` collects commands as they end.

    `waiting` is the delimiter of a here-document whose text begins behind the next newline, and
    whether it was quoted.
    """

    def __init__(self, text: str, home: str) -> None:
        self.words = Words(text, home, inner=lambda: self._list(")"))
        self.found: list[Command] = []
        self.waiting: tuple[str, bool] | None = None
        self.open = 0

    def read(self) -> tuple[Command, ...]:
        self._list("")
        if self.waiting:
            raise Unreadable("a here-document has no end")
        return tuple(self.found)

    def _list(self, end: str) -> None:
        """Reads commands up to and with `end`: ")" or "}", or "" for the end of the text."""
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
        semicolon = self._takes(";")
        return self._newlines() or semicolon

    def _at_end(self, end: str) -> bool:
        self._skip()
        if end != "}":
            return self.words.peek() == end
        after = self.words.peek(1)
        return self.words.peek() == end and (not after or after in ENDS)

    def _newlines(self) -> bool:
        """Skips newlines, and a here-document behind the first; says whether there was one."""
        any_ = False
        while self._takes("\n"):
            any_ = True
            if self.waiting:
                self._heredoc_body(*self.waiting)
                self.waiting = None
        return any_

    def _and_or(self) -> None:
        self._pipeline()
        while self._takes("&&") or self._takes("||"):
            self._newlines()
            self._pipeline()

    def _pipeline(self) -> None:
        self._skip()
        if self.words.peek() == "!" and self.words.peek(1) in {" ", "\t"}:
            self.words.at += 1
        self._command()
        while not self._sees("||") and self._takes("|"):
            if self._sees("&"):
                raise Unreadable("'|&' is not known to every shell")
            self._newlines()
            self._command()

    def _command(self) -> None:
        if self._sees("(("):
            raise Unreadable("'((' is arithmetic to some shells")
        if self._takes("("):
            self._group(")")
        elif self._sees("{") and self.words.peek(1) in {" ", "\t", "\n"}:
            self.words.at += 1
            self._group("}")
        else:
            self._simple()

    def _group(self, end: str) -> None:
        self._list(end)
        draft = _Draft([Word("true", start="true")])
        while self._redirection(draft):
            pass
        if draft.inputs:
            self._add(draft)

    def _simple(self) -> None:
        draft = _Draft()
        while self._redirection(draft) or self._argument(draft):
            pass
        if not draft.words:
            raise self._stray()
        self._add(draft)

    def _argument(self, draft: _Draft) -> bool:
        word = self._word()
        if word is None:
            return False
        if not draft.words:
            _check_first(word)
        draft.words.append(word)
        return True

    def _add(self, draft: _Draft) -> None:
        self.found.append(Command(tuple(draft.words), tuple(draft.inputs)))
        if len(self.found) > _MOST:
            raise Unreadable(f"more than {_MOST} commands in a line")

    def _skip(self) -> None:
        begin = self.words.at
        self.words.skip_blanks()
        if self.waiting and "\\\n" in self.words.text[begin : self.words.at]:
            raise Unreadable("a here-document of this form")

    def _sees(self, operator: str) -> bool:
        self._skip()
        return self.words.text.startswith(operator, self.words.at)

    def _takes(self, operator: str) -> bool:
        seen = self._sees(operator)
        self.words.at += len(operator) if seen else 0
        return seen

    def _word(self) -> Word | None:
        self._skip()
        begin, waiting = self.words.at, self.waiting
        word = self.words.word()
        # Where the here-document would begin then is a matter of the shell.
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

    def _redirection(self, draft: _Draft) -> bool:
        """Reads a redirection if one begins here."""
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

    def _input(self, draft: _Draft, operator: str) -> None:
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
            # The newline behind the delimiter stays: it ends the line of the command.
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
