"""Walks one prompt through the rooms; the events come out, what was said is saved as it comes."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace

from openclaw.agent import events
from openclaw.agent.loop import Happening
from openclaw.agent.window import refused
from openclaw.app import apart
from openclaw.app.after import after
from openclaw.app.citing import with_citations, with_sources
from openclaw.app.noting import renew
from openclaw.app.prepare import Prepared, changes, prepare
from openclaw.app.provenance import Provenance
from openclaw.app.recording import Recording, recorded
from openclaw.app.rooms import Rooms
from openclaw.errors import PromptTooLarge
from openclaw.history.turn import State
from openclaw.sessions.session import NOTED
from openclaw.sessions.store import Session
from openclaw.shapes import Entry, Ledger, Material


def walk(
    rooms: Rooms,
    text: str,
    session: Session,
    material: Sequence[Material],
    skill: str,
    *,
    typed: bool = True,
) -> Iterator[events.Event]:
    """One turn. `session` is locked by the caller; see `App.ask`."""
    made = yield from prepare(rooms, text, session, material, skill, typed=typed)
    new_title = not session.title
    number, request = 1 + session.turns, made.turn.user.content
    with recorded(rooms, session, made.ledger, request, number, made.commit) as recording:
        if session.messages:
            yield from map(events.Notice, noted(rooms, session))
        try:
            run = made.loop.run(made.turn)
            yield from _kept(rooms, run, session, made, recording)
        except PromptTooLarge:
            session.messages[-1] = refused(session.messages[-1])
            rooms.sessions.save(session)
            raise
        finally:
            made.fitting.keep_learned()
    if new_title and session.title:
        yield events.Title(session.title)


def _kept(
    rooms: Rooms,
    run: Iterator[Happening],
    session: Session,
    made: Prepared,
    recording: Recording,
) -> Iterator[events.Event]:
    """The events of a run, its entries saved as they come, all committed at the end. A Ctrl-C that
    arrives while an event is looked at or saved goes to the run, which then ends as interrupted."""
    ledger, watch = made.ledger, made.watch
    happening = next(run, None)
    while happening is not None:
        try:
            if isinstance(happening, Entry):
                said = with_sources(made.fitting, session, happening)
                session.messages.append(apart.entry(rooms.vault, said))
                renew(session, made.fitting)
                session.extra["read"] = dict(ledger.read)
                watch.save()
                try:
                    if _is_last(happening):  # before it is saved that they were kept
                        yield from map(events.Notice, noted(rooms, session, ledger))
                finally:
                    rooms.sessions.save(session)
                recording.journal.saved()
            elif isinstance(happening, events.Done):
                yield from map(events.Notice, (*rooms.served.news(), *watch.news()))
                yield from map(events.Trouble, rooms.hooks.news() if rooms.hooks else ())
                refused = tuple(ledger.refused)
                state: State = "interrupted" if happening.stop_reason == "interrupted" else "done"
                if state == "done" and rooms.saving:
                    yield from _afterwards(rooms, watch, happening.answer)
                yield from map(events.Trouble, recording.close(state))
                finished = replace(happening, session_id=session.id, refused=refused)
                finished = with_citations(finished, session)
                if rooms.hooks:
                    rooms.hooks.ended(finished)
                yield finished
            else:
                recording.hear(happening)
                yield happening
        except KeyboardInterrupt as interrupt:
            if not isinstance(run, Generator) or isinstance(happening, events.Done):
                raise
            happening = run.throw(interrupt)
        else:
            happening = next(run, None)


def _afterwards(rooms: Rooms, watch: Provenance, answer: str) -> Iterator[events.Event]:
    session = watch.session
    known = dict(session.extra)
    yield from after(rooms, watch, answer)
    if session.extra != known:
        rooms.sessions.save(session)


def _is_last(said: Entry) -> bool:
    """Whether a message may be the turn's answer."""
    return said.role == "assistant" and not said.tool_calls and not said.hint


def noted(rooms: Rooms, session: Session, ledger: Ledger | None = None) -> list[str]:
    """Keep the working notes of all that was said and not yet noted."""
    if not rooms.saving or session.extra.get(NOTED) == session.archived + len(session.messages):
        return []
    from openclaw.app.notekeeping import keep_up

    changed = changes(rooms, ledger) if ledger else ()
    return keep_up(rooms.sessions.folder, session, changed, rooms.vault.mask)
