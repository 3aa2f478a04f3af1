"""What follows an answer: its sources, the working notes and lasting facts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openclaw import events
from openclaw.agent.citations import AnswerContext, find_sources, home_lines
from openclaw.agent.provenance import Provenance
from openclaw.agent.recording import list_changes
from openclaw.agent.request import RequestBuilder
from openclaw.agent.turn_tools import open_notes
from openclaw.errors import OpenclawError
from openclaw.home.open_home import OpenHome
from openclaw.memory.entries import Meta, entries_of
from openclaw.memory.markdown import is_same_statement, read_markdown
from openclaw.memory.pages import refresh
from openclaw.messages import Entry
from openclaw.nlp.note_additions import NoteAdditions, find_additions, shorten_request
from openclaw.nlp.statements import FactCandidate, find_candidates
from openclaw.nlp.words import has_negation, significant_words
from openclaw.receipt import NO_CHANGES, TODO_FILE, Receipt, changed_lines
from openclaw.security.display import first_words
from openclaw.security.masking import map_texts
from openclaw.security.untrusted import defuse, plain_source
from openclaw.sessions.session import Session, SessionState, turn_starts
from openclaw.sessions.store import notes_path
from openclaw.sessions.working_notes import WorkingNotes
from openclaw.storage.home import Home
from openclaw.storage.safe_open import NotOrdinary, check_no_links, is_ordinary, text_or_none
from openclaw.types import ToolProblem, TurnChanges

if TYPE_CHECKING:
    from openclaw.memory.notes import Notes


def add_sources(
    builder: RequestBuilder, message: Entry, passages: Sequence[Mapping[str, Any]]
) -> Entry:
    """Return the last message of a turn with its citations and sources, if any, in its record.
    `passages` went with the prompt."""
    open_home, session = builder.open_home, builder.session
    found = find_sources(
        AnswerContext(
            message.content,
            session.messages,
            home_lines(open_home.home, open_home.masker.mask),
            builder.sources,
            builder.head,
            session.shortened,
            session.compressed_context,
            passages,
        )
    )
    return message.with_record(found)


def remember(open_home: OpenHome, provenance: Provenance) -> Iterator[events.Event]:
    """Remember lasting facts from the prompt. An error becomes a notice: the turn itself is done
    and saved."""
    session = provenance.session
    captured = session.state.captured
    try:
        yield from capture(open_home, provenance)
    except (OpenclawError, OSError, ToolProblem) as error:
        yield events.Notice(str(error))
    if session.state.captured != captured:
        open_home.sessions.save(session)
    if open_home.mode != "read-only" and open_home.use_memory:
        yield from map(events.Notice, refresh(open_home.home, provenance.turn_changes.keep))


def update_notes(
    sessions: Path,
    session: Session,
    receipt: Receipt = NO_CHANGES,
    mask: Callable[[str], str] = str,
) -> list[str]:
    """Add all messages since the last update to the notes, also of killed turns; return notices.

    `receipt` is that of the newest turn; `mask` replaces secrets by their names. The session then
    holds the number of noted messages, and the caller saves it: a note that the user has deleted
    does not come back.
    """
    start = max(0, (session.state.noted or 0) - session.archived)
    notes = WorkingNotes.read(notes_path(sessions, session.id))
    messages, previous = session.messages, None
    for first, end in pairwise((*turn_starts(messages), len(messages))):
        said = messages[first].content
        if end > start:
            answer = messages[end - 1].content if end - 1 > first else ""
            found = find_additions(said, answer, receipt if end == len(messages) else NO_CHANGES)
            notes.add(**map_texts(_to_lines(found, previous), mask))
        previous = said
    try:
        notes.save()
    except OpenclawError as error:
        return [f"the working notes were not kept: {error}"]
    session.update_state(SessionState(noted=session.archived + len(session.messages)))
    return []


def _to_lines(found: NoteAdditions, previous: str | None) -> dict[str, Any]:
    """Return the arguments of `WorkingNotes.add`. `previous` is the prompt of the turn before, None
    when unknown: it shows whether the user has rewritten the goal."""
    return {
        **asdict(found),
        "findings": _defuse_lines(found.findings),
        "questions": _defuse_lines(found.questions),
        "previous": None if previous is None else shorten_request(previous),
    }


def _defuse_lines(lines: Sequence[str]) -> list[str]:
    """Remove all that a chat template would read from lines that others may have written."""
    return [" ".join(defuse(line).split()) for line in lines]


# -------- facts that the user has said; they belong to the turn, so an undo takes them back

MOST = 3
HEAD_FILES = ("USER.md", "SOUL.md", "AGENTS.md", "IDENTITY.md", "TOOLS.md")
SAID_AGAIN = 0.5
"""A candidate is known when more than this part of its telling words is in a line just saved."""
LONGEST_SMALL = 3
LONGEST_RECEIPT = 72
CLUES = 3


def capture(open_home: OpenHome, provenance: Provenance) -> Iterator[events.Event]:
    """Save lasting facts from the user's prompt, at most three in a conversation; each gives one
    Notice. A fact goes to today's note in every mode, as it is in the user's own words; after a
    foreign text was read, and from a prompt that may be pasted, it goes to the inbox. Nothing is
    saved in mode read-only, without memory, with the setting `capture: off`, or from a prompt that
    the user did not type."""
    session, turn_changes = provenance.session, provenance.turn_changes
    had = max(0, session.state.captured or 0)
    off = open_home.settings.capture == "off" or open_home.mode == "read-only"
    if off or not open_home.use_memory or not turn_changes.typed or had >= MOST:
        return
    found = find_candidates(turn_changes.request)
    if not found:
        return
    source = provenance.turn_name
    notes = open_notes(open_home, source, turn_changes.keep)
    changes = list_changes(open_home.home, turn_changes)
    # A to-do is no fact, and goes when it is done.
    saved = [line for each in changes if each.path != TODO_FILE for line in changed_lines(each)[0]]
    for candidate in found:
        waits = turn_changes.tainted or not candidate.sure  # for the user's yes
        if waits and candidate.relative:
            continue  # "tomorrow" in the inbox is another day at the user's yes
        if _is_known(open_home, notes, candidate.text, saved):
            continue
        notice = _keep(open_home, notes, turn_changes, candidate, plain_source(source) * waits)
        if notice:
            had += 1
            session.update_state(SessionState(captured=had))
            yield events.Notice(notice)
        if had >= MOST:
            return


def why_not_writable(home: Home, path: Path) -> str:
    """Return why a file of the home may not be written, "" when it may."""
    name = home.relative(path)
    try:
        check_no_links(path)
    except NotOrdinary as error:
        return f"{name} is left alone: {error.strerror}"
    return f"{name} is a folder" if path.is_dir() else ""


def _is_known(open_home: OpenHome, notes: Notes, text: str, saved: Sequence[str]) -> bool:
    """Return True for a text with a secret, or that memory holds, or one of the lines that the
    turn's own calls have just saved."""
    masked = open_home.masker.mask(text) != text
    return masked or _is_said(text, saved) or any(_is_same(x, text) for x in _near(notes, text))


def _keep(
    open_home: OpenHome,
    notes: Notes,
    turn_changes: TurnChanges,
    candidate: FactCandidate,
    source: str,
) -> str:
    """Write the candidate, with a source into the inbox; return a notice for the user, "" when it
    was known after all."""
    meta = Meta(category=candidate.category)
    path = notes.inbox() if source else notes.target("today")
    if reason := why_not_writable(open_home.home, path):
        raise ToolProblem(f"nothing was kept: {reason}")
    before = text_or_none(path)
    try:
        if source:
            notes.propose(defuse(candidate.text), source, meta=meta)
        else:
            notes.remember(candidate.text, "today", meta=meta)
    except ToolProblem:
        return ""
    name = open_home.home.relative(path)
    turn_changes.before.setdefault(name, before)
    words = first_words(candidate.text, LONGEST_RECEIPT, LONGEST_RECEIPT // 2)
    if source:
        return f"for your memory: {words} (openclaw memory review)"
    return f"kept in {name}: {words} (openclaw undo takes it back)"


def _near(notes: Notes, text: str) -> Iterator[str]:
    """Yield the lines of memory and of the head's files that may say the same: those with the
    longest words of the text, which are probably its rarest."""
    words = sorted(significant_words(text), key=len)
    clues = [word[:4] for word in words[-CLUES:]]
    for path in _files(notes):
        held = read_markdown(path)
        if all(clue in held.casefold() for clue in clues):  # far cheaper than reading its entries
            for entry in entries_of(held):
                folded = entry.text.casefold()
                if not entry.superseded and all(clue in folded for clue in clues):
                    yield entry.text


def _files(notes: Notes) -> Iterator[Path]:
    paths = sorted(notes.folder.glob("*.md"), reverse=True)
    paths += sorted(notes.inbox().parent.glob("*.md"))
    paths += (notes.folder.parent / "workspace" / name for name in HEAD_FILES)
    yield from filter(is_ordinary, paths)


def _is_said(text: str, lines: Sequence[str]) -> bool:
    """Return True when a line says the text in other words ("The user is vegetarian."). Short words
    do not count: in most languages they are small."""
    all_words = significant_words(text)
    words = {word for word in all_words if len(word) > LONGEST_SMALL or word.isdigit()} or all_words
    return any(len(words & significant_words(line)) > SAID_AGAIN * len(words) for line in lines)


def _is_same(known: str, text: str) -> bool:
    """Return True when two lines have nearly the same words, or the same telling words."""
    if is_same_statement(known, text):
        return True
    words = significant_words(text)
    return (
        bool(words)
        and words == significant_words(known)
        and has_negation(known) == has_negation(text)
    )
