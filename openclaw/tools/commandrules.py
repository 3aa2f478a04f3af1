"""Judges one command: is each of its words known to make the program read and nothing else?

A word that begins with "-" passes only as an option that is listed, and what may begin with "-"
once the shell has expanded it (`*`, `"$x"`) is not let through where an option could do harm.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from openclaw.tools.programs import Program
from openclaw.tools.shellwords import Unsafe, Word

_NUMBER = re.compile(r"-\d+(\.\d+)?")

_HARM = {
    ("sort", "-o"): "writes a file",
    ("sort", "--output"): "writes a file",
    ("sort", "--compress-program"): "runs a program",
    ("sort", "-T"): "writes into a folder",
    ("rg", "--pre"): "runs a program",
    ("rg", "--hostname-bin"): "runs a program",
    ("rg", "-z"): "runs programs that unpack",
    ("rg", "--search-zip"): "runs programs that unpack",
    ("rg", "-L"): "follows links out of the folder",
    ("rg", "--follow"): "follows links out of the folder",
    ("grep", "-R"): "follows links out of the folder (-r does not)",
    ("tree", "-o"): "writes a file",
    ("tree", "-R"): "writes files",
    ("tree", "-l"): "follows links out of the folder",
    ("file", "-C"): "writes a file",
    ("diff", "-l"): "runs a program",
    ("tail", "-f"): "does not end",
    ("tail", "-F"): "does not end",
    ("date", "-s"): "sets the clock",
    ("date", "--set"): "sets the clock",
    ("xxd", "-r"): "can write a file",
    ("sed", "-i"): "changes files",
    ("sed", "--in-place"): "changes files",
    ("base64", "-o"): "writes a file",
}  # fmt: skip


@dataclass(slots=True)
class Use:
    """What a command reads: `files` by name, all files of `trees` ("." is where it runs); where it
    goes (`cd`), whether it is git, and whether that shows lines of files that it keeps."""

    files: list[Word] = field(default_factory=list)
    trees: list[Word] = field(default_factory=list)
    goes: Word | None = None
    git: bool = False
    history: bool = False


@dataclass(slots=True)
class Given:
    """The arguments of a command, told apart."""

    options: list[tuple[str, str]] = field(default_factory=list)
    files: list[Word] = field(default_factory=list)
    operands: list[Word] = field(default_factory=list)

    def names(self) -> set[str]:
        return {name for name, _ in self.options}


def use(program: Program, given: Given) -> Use:
    """What a program with these arguments reads."""
    operands = given.operands
    if program.operands == "pattern" and not program.patterned & given.names():
        operands = [word for at, word in enumerate(operands) if at or word.glob or word.split]
    if program.operands == "words":
        operands = [word for word in operands if word.glob or word.split]
    found = Use(files=[*given.files, *operands])
    if program.tree or program.recursive & given.names():
        found.trees = operands or [Word(".", start=".")]
    if program.links:
        # Of a folder, also the links in it are read.
        found.files += [all_below(word) for word in operands if not word.open]
    return found


def all_below(word: Word) -> Word:
    """A pattern for all that lies in the folder that the word names."""
    name = word.pattern if word.glob else glob.escape(word.text)
    return Word(f"{word.text}/**", False, word.start, glob=True, pattern=f"{name}/**")


def tell_apart(name: str, program: Program, arguments: Sequence[Word]) -> Given:
    """Options and operands as getopt sees them; raises Unsafe for one that is not listed."""
    given = Given()
    known = program.known()
    at = 0
    while at < len(arguments):
        word = arguments[at]
        at += 1
        if word.known and word.text == "--":
            given.operands += arguments[at:]
            break
        if word.known and word.text.startswith("-") and word.text != "-":
            at += _option(name, known, word.text, arguments[at : at + 1], given)
            continue
        _check_operand(name, program, word)
        if program.most == 1 and at < len(arguments):
            raise Unsafe(f"`{name}` with something behind the file {word.text}")
        given.operands.append(word)
    several = any(word.glob or word.split for word in given.operands)
    if len(given.operands) > program.most or (several and program.most < 10):
        raise Unsafe(f"`{name}` with more than {program.most} operands")
    return given


def _check_operand(name: str, program: Program, word: Word) -> None:
    if word.known or program.any_option:
        return
    if word.split:
        raise Unsafe(f"`{name}`: {word.text} outside quotes may become an option")
    if not word.start or word.start.startswith("-"):
        advice = f" (write ./{word.text})" if word.glob and not word.start else ""
        raise Unsafe(f"`{name}`: {word.text} may become an option{advice}")


def _option(
    name: str, known: Mapping[str, str], text: str, following: Sequence[Word], given: Given
) -> int:
    """Takes one word that begins with "-"; the count of further words that it used."""
    if "-NUM" in known and _NUMBER.fullmatch(text):
        return 0
    if text.startswith("--"):
        option, equals, value = text.partition("=")
        takes = _takes(name, known, option)
        if takes == "" and equals:
            raise Unsafe(f"`{name} {text}` is not known to only read")
        attached = value if equals else None
        return _value(name, option, takes, attached, following, given)
    for at, letter in enumerate(text[1:], 2):
        takes = _takes(name, known, f"-{letter}")
        if takes:
            return _value(name, f"-{letter}", takes, text[at:] or None, following, given)
        given.options.append((f"-{letter}", ""))
    return 0


def _takes(name: str, known: Mapping[str, str], option: str) -> str:
    takes = known.get(option)
    if takes is None:
        plain = {"egrep": "grep", "fgrep": "grep"}.get(name, name)
        harm = _HARM.get((plain, option), "is not known to only read")
        raise Unsafe(f"`{name} {option}` {harm}")
    return takes


def _value(
    name: str,
    option: str,
    takes: str,
    attached: str | None,
    following: Sequence[Word],
    given: Given,
) -> int:
    used = 0
    if takes in {":", "@"} and attached is None:
        if not following:
            raise Unsafe(f"`{name} {option}` without its value")
        word = following[0]
        # To another version of the program the option may take none: this then is an option.
        if not word.known or (
            word.text.startswith("-") and word.text != "-" and not _NUMBER.fullmatch(word.text)
        ):
            raise Unsafe(f"`{name} {option} {word.text}` is not a plain value")
        attached, used = word.text, 1
    given.options.append((option, attached or ""))
    if takes == "@" and attached is not None:
        given.files.append(Word(attached, start=attached))
    return used
