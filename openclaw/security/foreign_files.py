"""Knows which files of a home hold foreign text, by their paths and by fingerprints."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from openclaw.errors import OpenclawError
from openclaw.frozen import frozen
from openclaw.receipt import INBOX
from openclaw.storage.home import PROPOSED, Home
from openclaw.storage.lock import hold_lock
from openclaw.storage.safe_open import (
    decode,
    md5,
    parse_foreign_json,
    read_bytes,
    read_text,
    refuse_newer,
)
from openclaw.storage.text import write_if_same, write_text

FILE = "learned.json"
VERSION = 1
VERSION_KEY = "version"
FINGERPRINTS_OF = "text of "
"""Prefix of the key for a file's fingerprints. The value is the source, a newline and these."""
_PLACES: Mapping[str, str] = {
    INBOX: "the inbox",
    "sessions/": "earlier conversations",
    f"{PROPOSED}/": "a skill that nobody has accepted",
}
LOCK_SECONDS = 5.0
SHORTEST_LINE = 16
MAX_BYTES = 200_000
MAX_GONE = 1_000
"""Most missing files that are remembered: an undo may have removed them, and be undone."""
MAX_PRINTS, MAX_OF_A_FILE = 40_000, 2_000
"""Most fingerprints in all and of a file. Of a longer file the lowest are kept: a random choice."""
LARGEST = 10_000_000
_SHOWN_PLACE = re.compile(
    r"^([^\n:]{1,300}?)(?::\d+(?:-\d+)?:|, lines \d+-\d+ of \d+)", re.MULTILINE
)


@frozen
class ForeignFiles:
    """The known foreign files of one home, read each time: another process may change them."""

    home: Home

    def source(self, path: str) -> str:
        """Return the source of the text of a file of the home, "" for the user's own."""
        return _find_source(path, self._read_sources())

    def note(self, path: str, source: str, text: str | None = None) -> None:
        """Remember the source of a file's text. `text` is the foreign part, by default the whole
        file. Raises OpenclawError when it cannot be saved."""
        self.note_all([(path, source, text)])

    def note_all(self, files: Iterable[tuple[str, str, str | None]]) -> None:
        """Remember the sources of several files at once, as `note` does."""
        with hold_lock(self.home.private / "locks" / "learned.lock", LOCK_SECONDS):
            noted = self._read_sources()
            kept = dict(noted)
            for path, source, text in files:
                self._add_source(kept, path, source, text)
            if kept != noted:
                self._keep_damaged()
                write_text(self.home.private / FILE, format_sources(self._limit(kept)))

    def _add_source(self, kept: dict[str, str], path: str, source: str, text: str | None) -> None:
        if text is None:
            text = _read_start(self.home.root / path)
        path = _key(path)
        if _find_source(path, kept) in ("", kept.get(path)):
            kept[path] = source
        known = _prints_of(kept.pop(FINGERPRINTS_OF + path, ""))
        if prints := sorted({*known, *fingerprints(text)})[:MAX_OF_A_FILE]:
            kept[FINGERPRINTS_OF + path] = "\n".join((source, " ".join(prints)))

    def source_named_in(self, line: str) -> str:
        """Return the source of a foreign file or folder that a command line names, "" for none."""
        known = {**_PLACES, **_paths(self._read_sources())}
        names = ((path.rstrip("/").rpartition("/")[2], source) for path, source in known.items())
        return next((source for name, source in names if name in line), "")

    def any_source(self) -> str:
        """Return the source of any foreign file there is, but for conversations, "" for none."""
        places = [(place, source) for place, source in _PLACES.items() if place != "sessions/"]
        known = (*places, *_paths(self._read_sources()).items())
        files = ((self.home.root / path, source) for path, source in known)
        return next((s for file, s in files if file.is_file() or any(file.rglob("*"))), "")

    def source_shown_in(self, text: str) -> str:
        """Return the source of foreign text in a result, "" for none. The result names a file with
        a line number, as our own tools do, or holds known words."""
        noted = self._read_sources()
        for name in dict.fromkeys(_SHOWN_PLACE.findall(text)):
            if source := _find_source(name.strip(), noted):
                return source
        return self.known(text)

    def known(self, text: str) -> str:
        """Return the source of foreign text in a text, "" for none. It is found by fingerprints, or
        by a whole line of a foreign file without fingerprints."""
        if source := self.copied(text):
            return source
        for path, source in self._files(self._read_sources()):
            if any(line in text for line in _distinct_lines(path)):
                return source
        return ""

    def copied(self, text: str) -> str:
        """Do the same by fingerprints alone: no other file is read."""
        kept = [
            value for key, value in self._read_sources().items() if key.startswith(FINGERPRINTS_OF)
        ]
        found = set(all_fingerprints(text)) if kept else set()
        same = (value for value in kept if not found.isdisjoint(_prints_of(value)))
        return next(same, "").partition("\n")[0]

    def own_lines(self, files: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
        """Return the lines of files, by their paths, with an empty one for each with foreign text;
        nothing of a file that is foreign."""
        noted = self._read_sources()
        values = (value for key, value in noted.items() if key.startswith(FINGERPRINTS_OF))
        prints = {each for value in values for each in _prints_of(value)}

        def is_own(line: str) -> bool:
            return not prints or prints.isdisjoint(all_fingerprints(line))

        return {
            path: [line if is_own(line) else "" for line in lines]
            for path, lines in files.items()
            if not _find_source(path, noted)
        }

    def _files(self, noted: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
        for place in (INBOX, f"{PROPOSED}/"):
            for path in sorted((self.home.root / place).rglob("*")):
                yield path, _PLACES[place]
        for name, source in _paths(noted).items():
            if FINGERPRINTS_OF + name not in noted:
                yield self.home.root / name, source

    def _read_sources(self) -> dict[str, str]:
        """Read the saved sources. Damaged for a newer version of the file: the sources are then
        unknown, and the file must not be overwritten."""
        try:
            data = read_bytes(self.home.private / FILE, LARGEST)
        except OSError:
            return {}
        try:
            return read_sources(data)
        except ValueError:
            return recover_sources(data)

    def _limit(self, noted: dict[str, str]) -> dict[str, str]:
        """Drop the oldest entries without a file and the oldest fingerprints beyond the limits."""
        gone = [path for path in _paths(noted) if not (self.home.root / path).exists()]
        left = MAX_PRINTS
        over = set(gone[:-MAX_GONE])
        for key in reversed(noted):
            if key.startswith(FINGERPRINTS_OF):
                left -= len(_prints_of(noted[key]))
                over |= {key} if left < 0 else set()
        return {key: value for key, value in noted.items() if key not in over}

    def _keep_damaged(self) -> None:
        """Copy a damaged file before it is overwritten."""
        path = self.home.private / FILE
        try:
            data = read_bytes(path)
            read_sources(data)
        except FileNotFoundError:
            return
        except ValueError:
            aside = path.with_name(f"learned.damaged-{md5(data)[:8]}.json")
            write_if_same(aside, None, data)


def read_sources(data: bytes) -> dict[str, str]:
    """Read the sources by path. Damaged for a newer version, ValueError for another file."""
    found = parse_foreign_json(decode(data))
    if not isinstance(found, dict):
        raise ValueError("not a list of files")
    refuse_newer(found.get(VERSION_KEY), VERSION, FILE)
    return {path: source for path, source in found.items() if isinstance(source, str)}


def recover_sources(data: bytes) -> dict[str, str]:
    """Read the whole lines of a damaged file: each is a path and its source."""
    lines = (line.strip().rstrip(",") for line in decode(data).split("\n"))
    found: dict[str, str] = {}
    for line in lines:
        with suppress(ValueError):
            found |= {
                p: s for p, s in parse_foreign_json(f"{{{line}}}").items() if isinstance(s, str)
            }
    return found


def format_sources(noted: Mapping[str, str]) -> str:
    """Return the text of the file, with the newest entry last."""
    shape = {VERSION_KEY: VERSION, **noted}
    return json.dumps(shape, ensure_ascii=False, indent=2) + "\n"


def _key(path: str) -> str:
    """Return the key of a path. A path that looks like one of our own keys begins with "./"."""
    return f"./{path}" if path == VERSION_KEY or path.startswith(FINGERPRINTS_OF) else path


def _paths(noted: Mapping[str, str]) -> dict[str, str]:
    return {key: source for key, source in noted.items() if not key.startswith(FINGERPRINTS_OF)}


def _prints_of(value: str) -> list[str]:
    return value.partition("\n")[2].split()


def _find_source(path: str, noted: Mapping[str, str]) -> str:
    path = _key(path)
    places = (source for place, source in _PLACES.items() if path.startswith(place))
    return next(places, "") or noted.get(path, "")


def _distinct_lines(path: Path) -> list[str]:
    """Return the lines of a file that hardly occur in another one by chance."""
    with suppress(OSError):
        if path.stat().st_size <= MAX_BYTES:
            lines = (line.strip() for line in _read_start(path).splitlines())
            return [line for line in lines if len(line) >= SHORTEST_LINE]
    return []


def _read_start(path: Path) -> str:
    """Read the beginning of a file; "" when there is none."""
    with suppress(OSError, OpenclawError):
        return read_text(path, MAX_BYTES) if path.is_file() else ""
    return ""


RUN_WORDS = 8
FEWEST_WORDS, SHORTEST_RUN = 4, 16
"""Least words and characters of a line that hardly occurs in another text by chance."""
FINGERPRINT_DIGITS = 12
"""Hex digits: of a million pairs of different runs, one in 280 million is taken for the same."""

_WORD = re.compile(r"[^\W_]+")
_FIRST, _LAST = "\u3040", "\u9fff"
"""Range of the scripts without blanks: each character counts as a word."""


def fingerprints(text: str) -> Iterator[str]:
    """Yield the fingerprints that are kept of a text, some more than once."""
    yield from _runs(_words(text), RUN_WORDS)
    for line in text.splitlines():
        words = _words(line)
        if FEWEST_WORDS <= len(words) < RUN_WORDS:
            yield from _runs(words, len(words))


def all_fingerprints(text: str) -> Iterator[str]:
    """Yield the fingerprints that a text may share with the kept ones of another text."""
    words = _words(text)
    for length in range(FEWEST_WORDS, RUN_WORDS + 1):
        yield from _runs(words, length)


def _runs(words: list[str], length: int) -> Iterator[str]:
    for at in range(len(words) - length + 1):
        run = " ".join(words[at : at + length])
        if length == RUN_WORDS or len(run) >= SHORTEST_RUN:
            yield md5(run.encode(errors="replace"))[:FINGERPRINT_DIGITS]


def _words(text: str) -> list[str]:
    found: list[str] = []
    for word in _WORD.findall(text.casefold()):
        signs = not word.isascii() and any(_FIRST <= sign <= _LAST for sign in word)
        found += word if signs else [word]
    return found
