"""Which files of a home hold text that others wrote, so that reading them counts as that.

Some do by their place; those that were written in a turn that had seen such text are kept in
.openclaw/learned.json, by their path, beside the file's version. An openclaw that knows no version
of it reads it all the same: sources are texts, and a version is a number.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from openclaw.errors import Damaged, OpenclawError
from openclaw.files.home import PROPOSED, Home
from openclaw.files.lock import locked
from openclaw.files.text import decode, md5, read_text, write_if_same, write_text

FILE = "learned.json"
VERSION = 1
VERSION_KEY = "version"
INBOX = "memory/inbox/"
_PLACES: Mapping[str, str] = {
    INBOX: "the inbox",
    "sessions/": "earlier conversations",
    f"{PROPOSED}/": "a skill that nobody has accepted",
}
LOCK_SECONDS = 5.0
SHORTEST_LINE = 16
MOST_BYTES = 200_000
_PLACE = re.compile(r"^([^\n:]{1,300}?)(?::\d+(?:-\d+)?:|, lines \d+-\d+ of \d+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Learned:
    """What is known of the files of one home. Nothing is held: another process may add to it."""

    home: Home

    def source(self, path: str) -> str:
        """Where the text of a file (relative to the home) is from, "" for what is the user's."""
        return _source(path, self._noted())

    def note(self, path: str, source: str) -> None:
        """Remember that a file holds text from there. Raises OpenclawError when it cannot be
        written."""
        path = _key(path)
        known = self._noted().get(path)
        if known == source or self.source(path) not in ("", known):
            return
        with locked(self.home.private / "locks" / "learned.lock", LOCK_SECONDS):
            kept = {p: s for p, s in self._noted().items() if (self.home.root / p).exists()}
            kept[path] = source
            self._keep_damaged()
            write_text(self.home.private / FILE, as_text(kept))

    def named_in(self, line: str) -> str:
        """Whose text a command line may show that has the name of a file or folder in it, "" for
        none."""
        known = {**_PLACES, **self._noted()}
        names = ((path.rstrip("/").rpartition("/")[2], source) for path, source in known.items())
        return next((source for name, source in names if name in line), "")

    def shown_in(self, text: str) -> str:
        """Whose text a result shows: of a file that it names with a line number, as our own tools
        do, or one of whose lines stands in it. "" for none."""
        noted = self._noted()
        for name in dict.fromkeys(_PLACE.findall(text)):
            if source := _source(name.strip(), noted):
                return source
        for path, source in self._files(noted):
            if any(line in text for line in _telling_lines(path)):
                return source
        return ""

    def _files(self, noted: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
        for place in (INBOX, f"{PROPOSED}/"):
            for path in sorted((self.home.root / place).rglob("*")):
                yield path, _PLACES[place]
        for name, source in noted.items():
            yield self.home.root / name, source

    def _noted(self) -> dict[str, str]:
        """Raises Damaged for a file of a newer version: nobody knows then whose words files hold,
        and nothing may be written over it."""
        try:
            data = (self.home.private / FILE).read_bytes()
        except OSError:
            return {}
        try:
            return entries_in(data)
        except ValueError:
            return saved_from(data)

    def _keep_damaged(self) -> None:
        """Keep a copy of a file that can only be read in part, before it is written anew."""
        path = self.home.private / FILE
        try:
            data = path.read_bytes()
            entries_in(data)
        except FileNotFoundError:
            return
        except ValueError:
            aside = path.with_name(f"learned.damaged-{md5(data)[:8]}.json")
            write_if_same(aside, None, data)


def entries_in(data: bytes) -> dict[str, str]:
    """What the file says, by path. Damaged for one of a newer version, ValueError for what is none
    of ours."""
    found = json.loads(decode(data))
    if not isinstance(found, dict):
        raise ValueError("not a list of files")
    version = found.get(VERSION_KEY)
    if isinstance(version, int | float) and version > VERSION:
        raise Damaged(
            f"{FILE} has version {version}, this openclaw knows {VERSION}",
            "install a newer openclaw",
        )
    return {path: source for path, source in found.items() if isinstance(source, str)}


def saved_from(data: bytes) -> dict[str, str]:
    """The whole lines of a damaged file: each is a path and its source."""
    lines = (line.strip().rstrip(",") for line in decode(data).splitlines())
    found: dict[str, str] = {}
    for line in lines:
        with suppress(ValueError):
            found |= {p: s for p, s in json.loads(f"{{{line}}}").items() if isinstance(s, str)}
    return found


def as_text(noted: Mapping[str, str]) -> str:
    """The text of the file."""
    shape = {**noted, VERSION_KEY: VERSION}
    return json.dumps(shape, ensure_ascii=False, indent=2, sort_keys=True) + "\n"


def _key(path: str) -> str:
    """How a path stands in the file: one of the home's root that is called as our own key is has
    its folder with it."""
    return f"./{path}" if path == VERSION_KEY else path


def _source(path: str, noted: Mapping[str, str]) -> str:
    path = _key(path)
    places = (source for place, source in _PLACES.items() if path.startswith(place))
    return next(places, "") or noted.get(path, "")


def _telling_lines(path: Path) -> list[str]:
    """The lines of a file that hardly stand in another one by chance."""
    with suppress(OSError, OpenclawError):
        if path.is_file() and path.stat().st_size <= MOST_BYTES:
            lines = (line.strip() for line in read_text(path).splitlines())
            return [line for line in lines if len(line) >= SHORTEST_LINE]
    return []
