"""Takes a command line apart: its words, its single commands, and the paths that a word may mean.

It is read as a shell would, as far as that can be known without running it.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

EXPANDED = frozenset("$`*?{}<>|&;~= ")
"""What a shell makes something else of."""
PYTHON = re.compile(r"(?:python|pypy)[\d.]*w?", re.IGNORECASE)
_RUNNER = re.compile(
    r"(?:python|pypy)[\d.]*w?|node|bun|ruby|perl|php|sh|bash|dash|zsh|ksh|fish|pwsh|powershell",
    re.IGNORECASE,
)
DEEPEST = 4
"""Texts in texts that are read."""
_PUNCTUATION = "();<>|&\n"
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)[^}]*\})")
_PATTERN = re.compile(r"[*?\[{]")


def words_of(command: str | Sequence[str]) -> list[str]:
    """The words of a command, those of texts within it (`sh -c "..."`, `"$(...)"`) too."""
    words = list(command) if not isinstance(command, str) else _split(command)
    found, inner = list(words), words
    for _ in range(DEEPEST):
        texts = [word for word in inner if len(word.split()) > 1 or set(word) & set("(`;|&<>")]
        inner = [each for text in texts for each in _split(text) if each != text]
        found += inner
    return found


def commands_of(command: str | Sequence[str]) -> list[list[str]]:
    """The single commands of a line, each as its words; a list of words is one."""
    if not isinstance(command, str):
        return [list(command)]
    found: list[list[str]] = [[]]
    for word in _split(command):
        if not word or not set(word) <= set(_PUNCTUATION):
            found[-1].append(word)
        elif not set(word) & set("<>") or "(" in word:  # no mere redirection
            found.append([])
    return [words for words in found if words]


def is_runner(word: str) -> bool:
    """Whether a word is the name of an interpreter."""
    return bool(_RUNNER.fullmatch(name_of(word)))


def name_of(word: str) -> str:
    """The name of a program without its folder and ending."""
    name = word.replace("\\", "/").rpartition("/")[2]
    return name[:-4] if name.lower().endswith(".exe") else name


def meanings(root: Path, word: str) -> Iterator[str]:
    """The paths that a word may mean: itself, what stands behind a `=` or between colons, what is
    glued to an option, a Python module, the folder of a pattern. Variables are set in."""
    parts = [word, *re.split("[=:,]", word)]
    parts += [word[2:]] if word.startswith("-") else []
    if word.replace(".", "").isidentifier():
        parts.append(f"{word.replace('.', '/')}.py")
    for part in filter(None, dict.fromkeys(parts)):
        text = _expanded(root, part)
        yield text
        if pattern := _PATTERN.search(text):
            yield text[: pattern.start()].rpartition("/")[0]


def _expanded(root: Path, text: str) -> str:
    """A word with the variables that a hook is given; others count as nothing."""
    own = users_home()
    known = {**os.environ, "HOME": own, "OPENCLAW_HOME": str(root), "PWD": str(root)}
    if text == "~" or text.startswith(("~/", "~\\")):
        text = own + text[1:]
    return _VARIABLE.sub(lambda found: known.get(found[1] or found[2], ""), text)


def users_home() -> str:
    """The user's own home folder; "~" where it cannot be known."""
    return os.path.expanduser("~")  # noqa: PTH111  that of pathlib may raise


def _split(text: str) -> list[str]:
    # Not the escapes of POSIX on Windows, where a backslash divides a path.
    lexer = shlex.shlex(text, posix=os.name != "nt", punctuation_chars=_PUNCTUATION)
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    lexer.commenters = ""
    try:
        return [word.strip("\"'`") for word in lexer]
    except ValueError:
        return text.split()
