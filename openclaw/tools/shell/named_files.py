"""Finds the files of the home that a command line names. That decides nothing of what it may do."""

from __future__ import annotations

import glob
import os
import re
import shlex
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

LONGEST_LINE = 131_072
MAX_FILES = 5_000
MAX_FOLDERS = 8
# What the shell puts in place of these is not known, so any text may stand there.
_EXPANSION = re.compile(r"\$\{[^}]*\}|\$\([^)]*\)|`[^`]*`|\$\w+|\{[^{}]*\}")
_HOME = re.compile(r"^(?:~|\$(?:HOME|PWD)|\$\{(?:HOME|PWD)\})(?=/|$)")
_HIDDEN_NAME = re.compile(r"\$\(|`|<\(|\$['\"]|\beval\b")


def split_words(line: str) -> list[str]:
    """The words of a command line, without quotes and operators."""
    if len(line) > LONGEST_LINE:  # shlex would take minutes, and no system starts it
        return line.split()
    words = shlex.shlex(line, posix=True, punctuation_chars=True)
    words.whitespace_split, words.commenters = True, ""
    try:
        return list(words)
    except ValueError:  # a quote is not closed
        return line.split()


def hides_names(line: str) -> bool:
    """Return True when a line may name a file that does not stand in it."""
    return bool(_HIDDEN_NAME.search(line))


def named_files(root: Path, line: str) -> list[str]:
    """The files and folders of the home that a line names, also by a pattern, and links by their
    target; a folder with a slash at its end. A name may be relative to a folder that the line
    names, as there may be a `cd`."""
    words = list(dict.fromkeys(map(_as_pattern, split_words(line))))
    first = list(_expand(root, words, ""))
    folders = [name for name in first if name.endswith("/")][:MAX_FOLDERS]
    below = (found for folder in folders for found in _expand(root, words, folder))
    return list(dict.fromkeys((*first, *islice(below, MAX_FILES))))


def _as_pattern(word: str) -> str:
    """The word as a pattern of names: its part behind an option's `=`, `~` as the home."""
    word = word.partition("=")[2] if word.startswith("--") else word
    return _EXPANSION.sub("*", _HOME.sub(".", word.lstrip("@<>")))


def _expand(root: Path, patterns: list[str], folder: str) -> Iterator[str]:
    for pattern in patterns:
        if not pattern.strip("*") or len(pattern) > 1_000:
            continue
        place = os.path.join(glob.escape(folder), pattern)  # noqa: PTH118  it may be absolute
        # Not `Path.glob`, which takes no absolute pattern.
        found = glob.iglob(place, root_dir=root, include_hidden=True, recursive=True)  # noqa: PTH207
        for name in islice(found, MAX_FILES):
            real = Path(os.path.realpath(root / name))
            if real.is_relative_to(root):
                yield real.relative_to(root).as_posix() + "/" * real.is_dir()
