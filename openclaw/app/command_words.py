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
_SHELL = re.compile(
    r"sh|bash|dash|zsh|ksh|fish|pwsh|powershell|cmd|make|just|task|rake|gradle|mvn", re.IGNORECASE
)
"""Programs of which each word may say what is run."""
_LAUNCHER = re.compile(
    r"npx|npm|pnpm|pnpx|yarn|bunx|corepack|deno|tsx|ts-node|uvx?|pipx|poetry|pdm|hatch|pixi|conda"
    r"|mamba|java|dotnet|go|cargo|lua|julia|Rscript|elixir|mix|bundle"
    r"|env|sudo|nice|nohup|timeout|stdbuf|setsid|xargs|time|watch|start",
    re.IGNORECASE,
)
_ALONE = re.compile(
    r"-(?:[bBdEhiIOPqsSuvxyYmce]+|-yes|-quiet|-silent|-bun|-eval|-isolated|-offline)"
)
"""Options behind which no value comes, and those behind which the program comes."""
_SUBCOMMANDS = frozenset("run exec x dlx tool start --".split())
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


def launch_words(command: Sequence[str]) -> list[str]:
    """The words of a command that say which program is run and how: those up to its name. What
    stands behind that is what the program works on. Of a shell it is all that it is given."""
    kept = list(command[:1])
    for at, word in enumerate(command):
        name = name_of(word)
        if _SHELL.fullmatch(name):
            return list(command)
        if is_runner(word) or is_launcher(word):
            options, program = _up_to_program(command[at + 1 :])
            # A module is not looked for in folders, a bare word is the name of a package.
            is_path = options[-1:] != ["-m"] if is_runner(word) else set(program) & set("/\\.")
            kept += [*options, program] if is_path else options
    return kept


def is_launcher(word: str) -> bool:
    """Whether a word is the name of a program that looks for another in the folder it runs in."""
    return bool(_LAUNCHER.fullmatch(name_of(word)))


def _up_to_program(words: Sequence[str]) -> tuple[list[str], str]:
    """The options of a program that starts another, and the name of that, "" for none."""
    options, valued = list[str](), False
    for word in words:
        if word.startswith("-") and word != "--":
            valued = "=" not in word and not _ALONE.fullmatch(word)
        elif valued or word in _SUBCOMMANDS or re.match(r"\w+=", word):
            valued = False
        else:
            return options, word
        options.append(word)
    return options, ""


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
