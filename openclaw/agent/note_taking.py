"""Keeps the working notes of a conversation at the end of each turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openclaw import events
from openclaw.errors import OpenclawError
from openclaw.nlp.notable import Additions, notable, request_of
from openclaw.security.untrusted import defused
from openclaw.sessions.session import NOTED, Session
from openclaw.sessions.working_notes import WorkingNotes, notes_path
from openclaw.storage.safe_open import NotOrdinary, checked, is_ordinary
from openclaw.types import Change, Entry, ToolProblem

if TYPE_CHECKING:
    from openclaw.agent.provenance import Provenance
    from openclaw.home.open_home import Rooms
    from openclaw.memory.notes import Notes
    from openclaw.nlp.facts import Candidate
    from openclaw.storage.home import Home
    from openclaw.types import Ledger


def keep_up(
    sessions: Path,
    session: Session,
    changes: Sequence[Change] = (),
    mask: Callable[[str], str] = str,
) -> list[str]:
    """Add what was said since the notes were last kept, also in turns that a kill ended; notices.

    `changes` are those of the newest turn; `mask` puts names in the place of secrets. How far the
    notes go stands in the session afterwards, which the caller saves: a note that the user has
    deleted does not come back.
    """
    value = session.extra.get(NOTED, 0)
    start = max(0, (value if isinstance(value, int) else 0) - session.archived)
    talk = exchanges(session.messages)
    notes = WorkingNotes.read(notes_path(sessions, session.id))
    for at, (first, exchange) in enumerate(talk):
        if first + len(exchange) <= start:
            continue
        said, *after = exchange
        answer = after[-1].content if after else ""
        uses = [use for entry in after for use in entry.tool_calls]
        found = notable(said.content, answer, uses, changes if at == len(talk) - 1 else ())
        _add(notes, found, mask, talk[at - 1][1][0].content if at else None)
    told = _saved(notes)
    if not told:
        session.extra[NOTED] = session.archived + len(session.messages)
    return [told] if told else []


def _add(
    notes: WorkingNotes, found: Additions, mask: Callable[[str], str], previous: str | None
) -> None:
    """`previous` is what the user said in the turn before, None when that is not known, by which a
    goal that he has rewritten is told from ours."""
    notes.add(
        request=mask(found.request),
        facts=[mask(fact) for fact in found.facts],
        findings=_harmless(found.findings, mask),
        files=found.files,
        todos=[mask(todo) for todo in found.todos],
        questions=_harmless(found.questions, mask),
        previous=None if previous is None else mask(request_of(previous)),
    )


def _saved(notes: WorkingNotes) -> str:
    try:
        notes.save()
    except OpenclawError as error:
        return f"the working notes were not kept: {error}"
    return ""


def exchanges(messages: Sequence[Entry]) -> list[tuple[int, Sequence[Entry]]]:
    """A conversation as exchanges, each with the index of its first message, the user's."""
    starts = [at for at, entry in enumerate(messages) if entry.role == "user"]
    ends = [*starts[1:], len(messages)]
    return [(start, messages[start:end]) for start, end in zip(starts, ends, strict=True)]


def _harmless(lines: Sequence[str], mask: Callable[[str], str]) -> list[str]:
    """Lines that others may have written, with nothing in them that a chat template would read."""
    return [mask(" ".join(defused(line).split())) for line in lines]


CAPTURED = "captured"
"""Key of the session's file: how many were kept in this conversation."""
MOST = 3
HEAD_FILES = ("USER.md", "SOUL.md", "AGENTS.md", "IDENTITY.md", "TOOLS.md")
SAID_AGAIN = 0.6
"""The part of the telling words of a candidate that stand in what the turn has just saved."""
LONGEST_RECEIPT = 72
CLUES = 3
MOST_WRAPPED = 300
"""Characters of an entry that may stand on further lines."""
LONGER = 2
"""A line of more than so many times the words (and as many words) says something else."""


def capture(rooms: Rooms, watch: Provenance, answer: str) -> Iterator[events.Event]:
    """Keep what the user's prompt says that is worth it, at most three times in a conversation;
    each gives one Notice. It goes to today's note, whatever the mode asks of the model: they are
    the user's own words; after text of others was read, and of a prompt that may be pasted, it
    goes to the inbox. Nothing is kept in mode read-only, without memory, with the setting
    `capture: off`, and of a prompt that he did not type."""
    if rooms.settings.capture == "off" or rooms.mode == "read-only" or not rooms.use_memory:
        return
    session, ledger = watch.session, watch.ledger
    if not ledger.typed:
        return
    had = _count(session.extra.get(CAPTURED))
    if had >= MOST:
        return
    from openclaw.nlp.facts import candidates

    found = candidates(ledger.request)
    if not found:
        return
    keeping = _Keeping(rooms, session, ledger)
    for candidate in found:
        if had >= MOST:
            return
        told = "" if keeping.is_known(candidate) else keeping.keep(candidate)
        if told:
            had += 1
            session.extra[CAPTURED] = had
            yield events.Notice(told)


def no_place(home: Home, path: Path) -> str:
    """Why nothing is to be written to a file of the home, "" when it may be."""
    name = home.relative(path)
    try:
        checked(path)
    except NotOrdinary as error:
        return f"{name} is left alone: {error.strerror}"
    return f"{name} is a folder" if path.is_dir() else ""


class _Keeping:
    """Writes the candidates of one turn into the memory folder."""

    def __init__(self, rooms: Rooms, session: Session, ledger: Ledger) -> None:
        from openclaw.memory.notes import Notes

        self._rooms, self._ledger = rooms, ledger
        self._source = f"session {session.id} turn {session.turns}"
        self._notes = Notes(
            rooms.home.memory,
            today=lambda: rooms.now().date(),
            source=lambda: self._source,
            keep=ledger.keep,
        )
        self._saved = _new_lines(rooms, ledger)

    def _waits(self, candidate: Candidate) -> bool:
        """Whether it needs a yes."""
        return self._ledger.tainted or not candidate.sure

    def is_known(self, candidate: Candidate) -> bool:
        """Whether memory holds it, the turn's own calls have just saved it, or it cannot wait:
        "tomorrow" in the inbox means another day when the user says yes."""
        if self._waits(candidate) and candidate.relative:
            return True
        text = self._rooms.vault.mask(candidate.text)
        if text != candidate.text or _is_said(candidate.text, self._saved):
            return True
        return any(_alike(known, candidate.text) for known in self._near(candidate.text))

    def keep(self, candidate: Candidate) -> str:
        """Write it; what the user is told, "" when it was known after all."""
        from openclaw.memory.entries import Meta
        from openclaw.security.untrusted import defused, plain_source

        meta = Meta(category=candidate.category)
        home, notes, waits = self._rooms.home, self._notes, self._waits(candidate)
        path = notes.inbox() if waits else notes.target("today")
        if reason := no_place(home, path):
            raise ToolProblem(f"nothing was kept: {reason}")
        before = _text(path)
        try:
            if waits:
                source = plain_source(self._source)
                notes.propose(defused(candidate.text), source, meta=meta)
            else:
                notes.remember(candidate.text, "today", meta=meta)
        except ToolProblem:
            return ""
        name = home.relative(path)
        self._ledger.before.setdefault(name, before)
        if waits:
            return f"for your memory: {_short(candidate.text)} (openclaw memory review)"
        return f"kept in {name}: {_short(candidate.text)} (openclaw undo takes it back)"

    def _near(self, text: str) -> Iterator[str]:
        """What memory and the head's files hold that may say the same: of lines without the
        rarest-looking words of the text, or far longer than it, nothing."""
        from openclaw.memory.entries import entries_of
        from openclaw.memory.markdown import text_of
        from openclaw.nlp.words import telling_words

        words = sorted(telling_words(text), key=len)
        clues = [word[:4] for word in words[: -CLUES - 1 : -1]] or [""]
        most = LONGER * len(text.split()) + LONGER
        for path in _files(self._rooms, self._notes):
            held = text_of(path)
            if not _has_near(held, clues, most):
                continue
            for entry in entries_of(held):
                folded = entry.text.casefold()
                if not entry.superseded and all(clue in folded for clue in clues):
                    yield entry.text


def _has_near(held: str, clues: Sequence[str], most: int) -> bool:
    """Whether a file has a line with the first clue and of few enough words, and the others there
    or close behind; far cheaper than to read its entries."""
    folded = held.casefold()
    if not all(clue in folded for clue in clues):
        return False
    clue, *others = clues
    at = folded.find(clue)
    while at >= 0:
        start, end = folded.rfind("\n", 0, at) + 1, folded.find("\n", at)
        end = end if end >= 0 else len(folded)
        block = folded[start : end + MOST_WRAPPED]
        words = folded[start:end].partition("<!--")[0].split()
        if len(words) <= most and all(other in block for other in others):
            return True
        at = folded.find(clue, end)
    return False


def _files(rooms: Rooms, notes: Notes) -> Iterator[Path]:
    folder, workspace = notes.folder, rooms.home.root / "workspace"
    paths = sorted(folder.glob("*.md"), reverse=True) if folder.is_dir() else []
    inbox = notes.inbox().parent
    paths += sorted(inbox.glob("*.md")) if inbox.is_dir() else []
    paths += (workspace / name for name in HEAD_FILES)
    yield from (path for path in paths if is_ordinary(path))


def _new_lines(rooms: Rooms, ledger: Ledger) -> Sequence[str]:
    """What the calls of this turn have added to memory and to the files of the head."""
    added: list[str] = []
    for name, before in ledger.before.items():
        if name.startswith("memory/") or name.removeprefix("workspace/") in HEAD_FILES:
            known = set((before or "").splitlines())
            now = _text(rooms.home.root / name) or ""
            added += [line for line in now.splitlines() if line not in known]
    return added


def _is_said(text: str, lines: Sequence[str]) -> bool:
    """Whether one of these lines says a text in other words ("The user is vegetarian.")."""
    from openclaw.nlp.words import telling_words

    words = telling_words(text)
    return any(len(words & telling_words(line)) >= SAID_AGAIN * len(words) for line in lines)


def _alike(known: str, text: str) -> bool:
    """Whether two lines say the same: in nearly the same words, or of the same telling ones."""
    from openclaw.memory.corrections import same
    from openclaw.nlp.words import denies, telling_words

    if same(known, text):
        return True
    words = telling_words(text)
    return bool(words) and words == telling_words(known) and denies(known) == denies(text)


def _text(path: Path) -> str | None:
    from openclaw.storage.text import read_text

    try:
        return read_text(path)
    except FileNotFoundError:
        return None


def _count(value: Any) -> int:
    """What a session's file says; an editor may have been at it."""
    return value if isinstance(value, int) and value > 0 else 0


def _short(text: str) -> str:
    if len(text) <= LONGEST_RECEIPT:
        return text
    cut = text[: LONGEST_RECEIPT - 3]
    return f"{cut[: cut.rfind(' ')] if ' ' in cut[40:] else cut}..."
