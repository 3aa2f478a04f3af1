"""Search the lines of the home's files."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path

from openclaw.nlp.words import significant_words
from openclaw.security.secrets import find_key_begin
from openclaw.storage.home import Home
from openclaw.storage.safe_open import decode, read_bytes
from openclaw.tools.paths import visible_files
from openclaw.types import Shown, ToolProblem

MAX_HITS = 40
MAX_HITS_IN_FILE = 10
LONGEST_LINE = 200
MAX_BYTES = 10_000_000

Matches = Callable[[str], bool]
Hit = tuple[str, int, str]  # a line that was found: its path, its number and its text

# A repeated group can take for ever on a short line.
_REPEATED_GROUP = re.compile(r"(?<!\\)\)[+*{]")
_SPECIAL = re.compile(r"[\\^$.|?*+()\[\]{}]")


def search_text(
    home: Home, text: str, folder: Path, mask: Callable[[str], str]
) -> tuple[str, dict[int, Shown]]:
    """Search lines: first for the text itself in any case, then as a regular expression, then for
    all of its words, then for the lines nearest to them, then in the names of files. Sessions and
    skills, whose examples a small model takes for the user's notes, only when their folder is
    named. `mask` hides secrets. Return the result, with `path:line: text` for each line that was
    found, and these lines by their number in the result, from 0."""
    wanted = text.strip()
    if not wanted:
        raise ToolProblem("text is empty: give a word to look for.")
    files = list(_files(home, folder))
    for matches in _matchers(wanted):
        hits = list(_find_hits(home, files, matches))
        if hits:
            return _format_hits(hits, mask), _shown_lines(hits, 0)
    near = _nearest(home, files, wanted)
    if near:
        told = f'No line has all of "{wanted}"; these have some of its words:'
        return f"{told}\n{_format_hits(near, mask)}", _shown_lines(near, 1)
    named = [home.relative(file) for file in files if wanted.casefold() in file.name.casefold()]
    if named:
        return "\n".join(("No line has it, but these files are named so:", *named[:MAX_HITS])), {}
    return f'No line has "{wanted}" in {len(files)} files. Try one word or a part of a word.', {}


def files_with(home: Home, text: str) -> list[str]:
    """Return the paths of the files with a line that holds a text, in any case."""
    folded = text.strip().casefold()
    files = list(_files(home, home.root)) if folded else []
    return [path for path, *_ in _find_hits(home, files, lambda line: folded in line, 1)]


def _matchers(wanted: str) -> Iterator[Matches]:
    folded = wanted.casefold()
    yield lambda line: folded in line
    if _SPECIAL.search(wanted) and not _REPEATED_GROUP.search(wanted):
        with suppress(re.error):
            search = re.compile(wanted, re.IGNORECASE).search
            yield lambda line: search(line[: LONGEST_LINE * 5]) is not None
    words = [word for word in re.findall(r"\w+", folded) if len(word) > 1]
    if len(words) > 1:
        yield lambda line: all(word in line for word in words)


def _nearest(home: Home, files: list[Path], wanted: str) -> list[Hit]:
    """Return the lines with the rarest of the words, and the most of them: words are weighted by
    their inverse document frequency (Sparck Jones 1972), a line being a document."""
    words = [word for word in sorted(significant_words(wanted)) if len(word) > 1]

    def find_words(line: str) -> list[str]:
        return [word for word in words if word in line.casefold()]

    hits = list(_find_hits(home, files, lambda line: bool(find_words(line)), None))
    found = [find_words(line) for _, _, line in hits]
    count = Counter(chain.from_iterable(found))
    scores = [sum(math.log(1 + len(hits) / count[word]) for word in each) for each in found]
    best = max(scores, default=0)
    return [hit for hit, score in zip(hits, scores, strict=True) if score == best]


def _files(home: Home, folder: Path) -> Iterator[Path]:
    barred = {home.sessions.resolve(), home.skills.resolve()} - {folder, *folder.parents}
    for file in visible_files(home, folder, contents=True):
        if not barred.intersection(file.parents) and file.is_file():
            yield file


def _find_hits(
    home: Home, files: list[Path], matches: Matches, most: int | None = MAX_HITS_IN_FILE
) -> Iterator[Hit]:
    for file in files:
        numbered = enumerate(_lines(home, file), 1)
        found = ((number, line) for number, line in numbered if matches(line.casefold()))
        for number, line in islice(found, most):
            yield home.relative(file), number, line.strip()


def _lines(home: Home, file: Path) -> list[str]:
    """The lines of a text file; none of a file that is not text, too large or unreadable."""
    try:
        real = home.inside(home.relative(file)) if file.is_symlink() else file
        data = read_bytes(real, MAX_BYTES)
    except (OSError, ToolProblem):
        return []
    lines = [] if b"\0" in data[:8192] else re.split(r"\r\n|\n|\r", decode(data))
    if b"PRIVATE KEY" not in data:
        return lines
    return [
        "" if find_key_begin(lines, number) < number else line for number, line in enumerate(lines)
    ]


def _shown_lines(hits: list[Hit], at: int) -> dict[int, Shown]:
    """Return the lines that are listed, by their number in a result where they begin at `at`."""
    listed = enumerate(hits[:MAX_HITS], at)
    return {n: Shown(path, number, number) for n, (path, number, _) in listed}


def _format_hits(hits: list[Hit], mask: Callable[[str], str]) -> str:
    # What is left of a secret that was cut is no longer recognised.
    lines = [
        f"{path}:{number}: {mask(line[: LONGEST_LINE * 5])[:LONGEST_LINE]}"
        for path, number, line in hits[:MAX_HITS]
    ]
    if len(hits) > MAX_HITS:
        lines.append(f"[{len(hits) - MAX_HITS} more lines: search for a rarer word or in a folder]")
    return "\n".join(lines)
