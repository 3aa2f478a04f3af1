"""Memories as list items: daily notes in YYYY-MM-DD.md, lasting facts in MEMORY.md."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any, Literal

from openclaw.errors import UsageError
from openclaw.frozen import frozen
from openclaw.memory.corrections import corrects
from openclaw.memory.entries import (
    MemoryEntry,
    Meta,
    append_entry,
    break_comment_marks,
    entries_of,
    format_entry,
    insert_below,
    remove_entry,
    strike_through,
    strip_marks,
)
from openclaw.memory.markdown import (
    change_file,
    find_by_text,
    is_same_statement,
    read_markdown,
    read_page,
)
from openclaw.nlp.classifier import guess_category
from openclaw.storage.home import Home
from openclaw.storage.lock import hold_lock
from openclaw.storage.safe_open import is_ordinary
from openclaw.storage.text import remove_file
from openclaw.types import BeforeWrite, ToolProblem, record_no_write

MAX_CHARS = 500
LOCK_SECONDS = 10.0
LASTING = "MEMORY.md"
INBOX = "inbox"

Where = Literal["today", "lasting"]

_EMPTY_INBOX = re.compile(r"\s*(?:# Inbox \d{4}-\d{2}-\d{2}\s*)?")
_START = re.compile(r"^(?:[-*+#>]+\s+)+")


@frozen
class SavedNote:
    """A memory that was written, and the notes it replaced. `known`: it stood there before."""

    note: Note
    superseded: tuple[Note, ...] = ()
    known: bool = False


class AlreadyKnownError(ToolProblem):
    """The same is remembered already, as `note`."""

    def __init__(self, note: Note, folder: Path) -> None:
        place = note.path.relative_to(folder.parent).as_posix()
        super().__init__(f'Already in {place}:{note.line}: "{note.text}"')
        self.note = note


class Notes:
    """The memory folder. `source` names where a memory comes from ("session 4f2a9c turn 3"); `keep`
    is called before each change.

    Changes are made under a lock; OpenclawError when it stays held or a file cannot be written.
    """

    def __init__(
        self,
        folder: Path,
        today: Callable[[], date] = date.today,
        source: Callable[[], str] = str,
        keep: BeforeWrite = record_no_write,
    ) -> None:
        self.folder = folder
        self._today = today
        self._source = source
        self.keep = keep
        self.mask: Callable[[str], str] = str
        self._lock = folder.parent / ".openclaw" / "locks" / "notes.lock"

    def target(self, where: Where) -> Path:
        """The file that a memory goes to."""
        name = LASTING if where == "lasting" else f"{self._today().isoformat()}.md"
        return self.folder / name

    def remember(
        self, text: str, where: Where = "lasting", *, meta: Meta | None = None, replaces: str = ""
    ) -> SavedNote:
        """Write a memory as one line with its metadata; what `meta` leaves out is filled in.

        A fact that corrects a known one (see `corrections`), or the one that `replaces` names by
        its text or as path:line, goes directly below it, and that one is struck through.

        Raises ToolProblem when nothing is left of the text, when it is longer than 500 characters,
        when `replaces` is not one known line, or when the same is known (then it is
        `AlreadyKnownError`): a lasting fact need not be noted for today again.
        """
        fact = self.mask(to_one_line(text))
        full = self._fill_meta(fact, meta or Meta())
        path = self.target(where)
        with hold_lock(self._lock, LOCK_SECONDS):
            old = [self._find_replaced(replaces)] if replaces else self._find_corrected(fact, where)
            known = (*read_notes(path), *read_notes(self.target("lasting")))
            held = (note for note in known if not (note.superseded or note.depth))
            self._refuse_known(fact, (note for note in held if note not in old))
            return self._write(path, fact, full, old)

    def list(self, everything: bool = False) -> list[Note]:
        """All remembered lines: lasting facts first, then the days, newest first. Superseded ones
        only with `everything`."""
        days = self.folder.glob("*.md") if self.folder.is_dir() else ()
        named = (path for path in days if DAILY.fullmatch(path.name) and is_ordinary(path))
        daily = sorted(named, reverse=True)
        notes = [note for path in (self.folder / LASTING, *daily) for note in read_notes(path)]
        return [note for note in notes if everything or not note.superseded]

    def find(self, text: str) -> Sequence[Note]:
        """The notes that path:line, a text, or all of its words mean. Superseded ones only when
        nothing else fits."""
        return find_notes(text, self.list(everything=True))

    def lines(self, note: Note) -> Sequence[str]:
        """The lines that `forget` takes out: the note and what is indented below it."""
        text = read_markdown(note.path)
        entry = find_entry(text, note)
        lines = read_page(text).lines[entry.at : entry.below]
        return [line.rstrip("\r\n") for line in lines]

    def forget(self, note: Note) -> None:
        """Take a remembered line out again. Raises ToolProblem when it is no longer there."""
        with hold_lock(self._lock, LOCK_SECONDS):
            change_file(
                note.path, lambda text: remove_entry(text, find_entry(text, note)), self.keep
            )

    # ---- the inbox: candidates that are no memory before the user says yes

    def inbox(self) -> Path:
        """The file that today's candidates go to."""
        return self.folder / INBOX / f"{self._today().isoformat()}.md"

    def propose(self, text: str, source: str, *, meta: Meta | None = None) -> Note:
        """Put a candidate into the inbox. Raises ToolProblem as `remember`; `AlreadyKnownError`
        also for what waits there already."""
        fact = self.mask(to_one_line(text))
        day = self._today().isoformat()
        full = self._fill_meta(fact, replace(meta or Meta(), source=source))
        path = self.inbox()
        with hold_lock(self._lock, LOCK_SECONDS):
            self._refuse_known(fact, (*self.candidates(), *self.list()))
            return self._add_line(path, f"# Inbox {day}\n\n", format_entry(fact, full))

    def candidates(self) -> Sequence[Note]:
        """Return the candidates in the inbox, the oldest first."""
        folder = self.folder / INBOX
        paths = sorted(folder.glob("*.md")) if folder.is_dir() else []
        files = (path for path in paths if is_ordinary(path))
        return [note for path in files for note in read_notes(path) if not note.superseded]

    def accept(self, candidate: Note, where: Where = "lasting") -> SavedNote:
        """Move a candidate into memory, with the same checks; one that is known only leaves."""
        meta = Meta(candidate.category, candidate.date, candidate.source, candidate.importance)
        try:
            kept = self.remember(candidate.text, where, meta=meta)
        except AlreadyKnownError as known:
            kept = SavedNote(known.note, known=True)
        self.reject(candidate)
        return kept

    def reject(self, candidate: Note) -> None:
        """Take a candidate out of the inbox; a file that then holds nothing goes too."""
        self.forget(candidate)
        with hold_lock(self._lock, LOCK_SECONDS):
            if _EMPTY_INBOX.fullmatch(read_markdown(candidate.path)) and candidate.path.exists():
                remove_file(candidate.path, self.keep)

    # ----

    def decide(self, candidate: Note, yes: bool, home: Home) -> dict[str, Any] | None:
        """Accept or reject a candidate where it stands by now. Return what was done, for programs;
        None when it is gone."""
        wanted = (candidate.path, candidate.text)
        note = next((now for now in self.candidates() if (now.path, now.text) == wanted), None)
        if note is None:
            return None
        if not yes:
            self.reject(note)
            return {"did": "rejected", "text": note.text}
        kept = self.accept(note)
        did = "known" if kept.known else "accepted"
        replaced = [old.as_json(home) for old in kept.superseded]
        return {"did": did, **kept.note.as_json(home), "replaced": replaced}

    def find_one(self, text: str, home: Home) -> Note:
        """Return the one note that a text or PATH:LINE means. UsageError for none and several."""
        found = self.find(text)
        if not found:
            raise UsageError(f"nothing remembered fits {text}", "see it all: openclaw memory list")
        if len(found) > 1:
            places = "\n".join(f"{note.place(home)}  {note.text}" for note in found)
            raise UsageError(f"{text} fits {len(found)} memories", f"give path and line:\n{places}")
        return found[0]

    def _refuse_known(self, fact: str, notes: Iterable[Note]) -> None:
        for note in notes:
            if is_same_statement(note.text, fact):
                raise AlreadyKnownError(note, self.folder)

    def _fill_meta(self, fact: str, meta: Meta) -> Meta:
        return Meta(
            meta.category or guess_category(fact),
            meta.date or self._today().isoformat(),
            break_comment_marks(meta.source or self._source()),
            meta.importance,
        )

    def _find_replaced(self, replaces: str) -> Note:
        found = [note for note in self.find(replaces) if not note.superseded]
        if len(found) == 1:
            return found[0]
        if not found:
            raise ToolProblem(f'"{replaces}" is not remembered, so it cannot be replaced.')
        places = "; ".join(f'{note.path.name}:{note.line} "{note.text}"' for note in found)
        raise ToolProblem(f'"{replaces}" fits several; say which: {places}.')

    def _find_corrected(self, fact: str, where: Where) -> Sequence[Note]:
        """The notes that a fact corrects: among the lasting ones and today's, or, for a note of
        today, among today's alone: an exception of one day changes no lasting fact. Below several
        headings they tell of several things ("Car", "Bike"): then only those above the others."""
        found: list[Note] = []
        for path in dict.fromkeys((self.target(where), self.target("today"))):
            text = read_markdown(path)
            first, *others = sections = read_page(text).sections
            starts = [section.start for section in sections]
            old = [
                (bisect(starts, note.line - 1), note)
                for note in parse_notes(text, path)
                if not (note.superseded or note.depth or note.is_parent)
                and corrects(fact, note.text)
            ]
            single = len({section for section, _ in old}) == 1
            top = all(first.level < other.level for other in others)  # its heading is of them all
            found += [note for section, note in old if single or (top and section == 1)]
        return found

    def _write(self, path: Path, fact: str, meta: Meta, old: Sequence[Note]) -> SavedNote:
        day = self._today().isoformat()
        line = format_entry(fact, meta)
        title = f"# {'Memory' if path.name == LASTING else path.stem}\n\n"
        here = [note for note in old if note.path == path]
        note = self._add_line(path, title, line, here, day)
        for other in dict.fromkeys(note.path for note in old if note.path != path):
            self._strike(other, [note for note in old if note.path == other], day)
        texts = {note.text.replace("~~", "") for note in old}
        gone = {
            (note.path, note.text): note
            for place in dict.fromkeys(note.path for note in old)
            for note in read_notes(place)
            if note.until == day and note.text in texts
        }
        return SavedNote(note, tuple(gone.values()))

    def _add_line(
        self, path: Path, title: str, line: str, gone: Sequence[Note] = (), day: str = ""
    ) -> Note:
        """Write a new line into a file, below those that it strikes through."""
        number = 0

        def change(text: str) -> str:
            nonlocal number
            new, last = _strike_all(text, gone, day)
            below = [entry for entry in entries_of(new) if entry.at == last]
            if below:
                new, number = insert_below(new, below[0], line)
            else:
                new, number = append_entry(new or title, line)
            return new

        # Of the text that was written: others may have moved the line since.
        notes = parse_notes(change_file(path, change, self.keep), path)
        return next(note for note in notes if note.line == number)

    def _strike(self, path: Path, gone: Sequence[Note], day: str) -> None:
        change_file(path, lambda text: _strike_all(text, gone, day)[0], self.keep)


def to_one_line(text: str) -> str:
    """A memory as one line. Raises ToolProblem when it is empty or too long."""
    line, before = break_comment_marks(strip_marks(text)), ""
    while line != before:
        before, line = line, break_comment_marks(strip_marks(_START.sub("", f"{line} ")))
    if not line:
        raise ToolProblem("There is nothing to remember: give the fact as one line.")
    if len(line) > MAX_CHARS:
        raise ToolProblem(f"Too long: a memory is one line of at most {MAX_CHARS} characters.")
    return line


def _strike_all(text: str, gone: Iterable[Note], day: str) -> tuple[str, int]:
    """Strike these notes through; return the text and the last one's line index (-1: none). One
    that others have moved since is the nearest of its text."""
    last, known = -1, [entry for entry in entries_of(text) if not entry.superseded]
    places = set[int]()
    for note in gone:
        same = [entry.at for entry in known if entry.text == note.text]
        places.update(sorted(same, key=lambda at: abs(at + 1 - note.line))[:1])
    for entry in reversed(known):
        if entry.at in places:
            text = strike_through(text, entry, day)
            last = entry.at if last < 0 else last - (entry.end - entry.at - 1)
    return text, last


DAILY = re.compile(r"(\d{4}-\d{2}-\d{2})\.md")
_PLACE = re.compile(r"(?P<path>\S.*\.md):(?P<line>\d{1,9})")


@frozen
class Note:
    """A remembered line of a file.

    line: counted from 1
    named_category: as the line names it, "" for none
    date: an ISO day
    importance: 0 to 1
    until: the day until which a superseded note held
    depth: in its list, 0 at the top
    is_parent: other lines are indented below it
    """

    path: Path
    line: int
    text: str
    named_category: str = ""
    date: str = ""
    source: str = ""
    importance: float | None = None
    superseded: bool = False
    until: str = ""
    depth: int = 0
    is_parent: bool = False

    @property
    def category(self) -> str:
        """The category, guessed where the line names none: only then, as that takes 0.4 ms."""
        return self.named_category or guess_category(self.text)

    def place(self, home: Home) -> str:
        """Return PATH:LINE."""
        return f"{home.relative(self.path)}:{self.line}"

    def as_json(self, home: Home) -> dict[str, Any]:
        return {
            "path": home.relative(self.path),
            "line": self.line,
            "text": self.text,
            "category": self.category,
            "date": self.date or None,
            "source": self.source or None,
            "importance": self.importance,
            "superseded": self.superseded,
            "until": self.until or None,
        }


def read_notes(path: Path) -> list[Note]:
    """The notes of one file, superseded ones too."""
    return parse_notes(read_markdown(path), path)


def find_notes(text: str, notes: Iterable[Note]) -> Sequence[Note]:
    """Return the notes that path:line, a text, or all of its words mean."""
    known = [*notes]
    wanted = " ".join(text.split())
    if place := _PLACE.fullmatch(wanted):
        tail = Path(place["path"]).parts
        return [
            note
            for note in known
            if note.line == int(place["line"]) and note.path.parts[-len(tail) :] == tail
        ]
    found = find_by_text(wanted, known)
    return [note for note in found if not note.superseded] or found


def choose_candidates(waiting: Sequence[Note], word: str) -> Sequence[Note]:
    """Return the candidates that a number, a text or "all" means. UsageError unless one or all."""
    if word == "all":
        return waiting
    if word.isdecimal():
        found = [note for n, note in enumerate(waiting, 1) if n == int(word)]
    else:
        found = [*find_notes(word, waiting)]
    if not found:
        raise UsageError(f"there is no {word} to review", "see them all: openclaw memory review")
    if len(found) > 1:
        lines = "\n".join(f"{waiting.index(note) + 1}  {note.text}" for note in found)
        raise UsageError(f"{word} fits {len(found)} of them", f"give the number:\n{lines}")
    return found


def typed_notes(home: Home) -> Notes:
    """Return the notes of a home; those that are added have the source "typed"."""
    return Notes(home.memory, source=lambda: "typed")


def parse_notes(text: str, path: Path) -> list[Note]:
    """The notes of a text that stands in the file `path`."""
    daily = DAILY.fullmatch(path.name)
    return [
        Note(
            path,
            entry.at + 1,
            entry.text,
            entry.meta.category,
            entry.meta.date or (daily[1] if daily else ""),
            entry.meta.source,
            entry.meta.importance,
            entry.superseded,
            entry.until,
            entry.depth,
            entry.below > entry.end,
        )
        for entry in entries_of(text)
    ]


def find_entry(text: str, note: Note) -> MemoryEntry:
    """The note's entry in the text as it is now. Raises ToolProblem when it is not there."""
    for entry in entries_of(text):
        if (entry.at + 1, entry.text) == (note.line, note.text):
            return entry
    raise ToolProblem(f"{note.path.name}:{note.line} has changed; list them again.")
