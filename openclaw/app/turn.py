"""Walks one prompt through the rooms; the events come out, what was said is saved as it comes."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace

from openclaw.agent import events, prompt
from openclaw.agent.cues import Cues
from openclaw.agent.loop import Happening, Limits, Loop, stamp
from openclaw.agent.protocol import Turn
from openclaw.agent.protocols import choose_protocol
from openclaw.agent.receipt import Receipt, make_receipt
from openclaw.app import apart
from openclaw.app.fitting import Fitting, fitting_of
from openclaw.app.given import REQUIRED, SOURCES, cues_of, looks_up, tail
from openclaw.app.provenance import Provenance
from openclaw.app.recall import long_files
from openclaw.app.recording import Recording, recorded
from openclaw.app.rooms import Rooms
from openclaw.app.shelf import instructions, wanted
from openclaw.app.talks import earlier
from openclaw.app.toolset import material_room, page_of
from openclaw.config import Settings
from openclaw.files.text import read_text
from openclaw.history.turn import State
from openclaw.memory.todos import parse
from openclaw.safety.audit import ACTIONS, Audit
from openclaw.sessions.session import NOTED
from openclaw.sessions.store import Session
from openclaw.shapes import Change, Entry, Ledger, Material, ToolProblem
from openclaw.tools.recall import flat, where

MOST_ON_RECEIPT = 1_000_000
"""Bytes of a file that a receipt compares."""


def walk(
    rooms: Rooms, text: str, session: Session, material: Sequence[Material], skill: str
) -> Iterator[events.Event]:
    """One turn. `session` is locked by the caller; see `App.ask`."""
    given = (text, *(each.text for each in material))
    text, material = rooms.vault.mask(text), apart.materials(rooms.vault, material)
    told = apart.told(given, (text, *(each.text for each in material)))
    apart.session(rooms.vault, session)
    known = session.extra.get("read")
    ledger = Ledger(read=dict(known) if isinstance(known, dict) else {}, request=text)
    number = 1 + session.turns
    watch = Provenance(rooms.home, ledger, session, _audit(rooms, session.id, number))
    shelf = rooms.shelf(text)
    seen = cues_of(rooms, text, shelf)
    asked = wanted(rooms.skills(), skill) if skill else None
    followed = instructions(asked, text) if asked else ""
    if asked:  # the user has said what to do; words of the prompt do not say it again
        ledger.allowed = asked.allowed_tools
        seen = Cues(known_lists=seen.known_lists)
    if looks_up(rooms, text, seen):
        rooms.recall.start()  # first, so that it is ready when the model is
    card = rooms.model.card
    protocol = choose_protocol(rooms.settings.protocol, card)
    session.model = card.name
    yield events.Start(session.id, card.name, card.window, protocol.name)
    yield from map(events.Notice, filter(None, (told, *_news_of_vault(rooms))))
    yield from map(events.Notice, rooms.grants_anew())
    yield from map(events.Notice, rooms.served.begin())
    fitting = fitting_of(rooms, session, protocol, shelf, ledger, watch)
    box = fitting.box
    for name in REQUIRED:
        if name not in fitting.sources:
            yield events.Notice(f"{SOURCES[name]} is missing; `openclaw init` puts it back")
    yield from (events.Notice(_cut_notice(part)) for part in fitting.parts if part.cut)
    watch.room = material_room(rooms, fitting.meter, len(material))
    for each in material:
        if not watch.room.holds(each.text):
            yield events.Notice(f"{each.label} is too long: the model sees its beginning and end")
    attached = "\n\n".join(filter(None, (followed, watch.materials(material))))
    found = yield from _recalled(rooms, text, seen, fitting)
    passages = watch.passages(found)
    if session.archived and (seen.asks or "?" in text):
        passages += watch.earlier(earlier(rooms, session, text))
    lines = [*seen.lines, *box.beside(native=protocol.name == "native")]
    context = tail(rooms, fitting.sources, fitting.changed, attached, lines, passages)
    user = Entry("user", text, context=context, at=stamp())
    watch.inherit()
    limits = _limits(rooms.settings)
    loop = Loop(
        rooms.model,
        protocol,
        box,
        fitting.fit,
        lambda: _receipt(rooms, ledger),
        limits,
        fitting.meter,
    )
    rules = prompt.hard_rules(fitting.sources)
    turn = Turn(user, rules, seen, found=bool(passages), skill=followed)
    new_title = not session.title
    with recorded(rooms, session, ledger, text, number, card.name) as recording:
        if session.messages:
            yield from map(events.Notice, noted(rooms, session))
        try:
            yield from _kept(rooms, loop.run(turn), session, ledger, watch, recording)
        finally:
            fitting.keep_learned()
    if new_title and session.title:
        yield events.Title(session.title)


def _limits(settings: Settings) -> Limits:
    return Limits(settings.max_steps, settings.max_tokens, settings.temperature, settings.think)


def _kept(
    rooms: Rooms,
    run: Iterator[Happening],
    session: Session,
    ledger: Ledger,
    watch: Provenance,
    recording: Recording,
) -> Iterator[events.Event]:
    """The events of a run, its entries saved as they come, all committed at the end. A Ctrl-C that
    arrives while an event is looked at or saved goes to the run, which then ends as interrupted."""
    happening = next(run, None)
    while happening is not None:
        try:
            if isinstance(happening, Entry):
                session.messages.append(apart.entry(rooms.vault, happening))
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
                refused = tuple(ledger.refused)
                state: State = "interrupted" if happening.stop_reason == "interrupted" else "done"
                yield from map(events.Notice, recording.close(state))
                yield replace(happening, session_id=session.id, refused=refused)
            else:
                recording.hear(happening)
                yield happening
        except KeyboardInterrupt as interrupt:
            if not isinstance(run, Generator) or isinstance(happening, events.Done):
                raise
            happening = run.throw(interrupt)
        else:
            happening = next(run, None)


def _recalled(
    rooms: Rooms, text: str, seen: Cues, fitting: Fitting
) -> Generator[events.Event, None, list[tuple[str, str]]]:
    """Passages for the tail, each a path and its text. While they are looked for, the model
    reads the head."""
    known = {*SOURCES.values()} - {part.path for part in fitting.parts if part.cut}
    if not looks_up(rooms, text, seen, known):
        return []
    page = page_of(rooms.settings.window)
    rooms.recall.begin(text, known, long_files(rooms.home, seen, page))
    if not rooms.recall.answered:
        for waiting in rooms.model.warm(fitting.beginning(text)):
            if waiting.message:
                yield events.Notice(waiting.message)
    found = rooms.recall.passages()
    yield from (events.Notice(line) for line in rooms.recall.news())
    found = [{**passage, "text": rooms.vault.mask(passage["text"])} for passage in found]
    if found:
        yield events.Retrieval(tuple(found))
    return [(p["path"], f"{where(p)}: {flat(p['text'])}") for p in found]


def _news_of_vault(rooms: Rooms) -> list[str]:
    news, rooms.vault.notices = rooms.vault.notices, []
    return news


def _audit(rooms: Rooms, session_id: str, turn: int) -> Audit:
    return Audit(
        rooms.home.private / "logs" / ACTIONS, session_id, turn, rooms.vault.mask, rooms.now
    )


def _is_last(said: Entry) -> bool:
    """Whether a message may be the turn's answer."""
    return said.role == "assistant" and not said.tool_calls and not said.hint


def noted(rooms: Rooms, session: Session, ledger: Ledger | None = None) -> list[str]:
    """Keep the working notes of all that was said and not yet noted."""
    if session.extra.get(NOTED) == session.archived + len(session.messages):
        return []
    from openclaw.app.notekeeping import keep_up

    changes = _changes(rooms, ledger) if ledger else ()
    return keep_up(rooms.sessions.folder, session, changes, rooms.vault.mask)


def _receipt(rooms: Rooms, ledger: Ledger) -> Receipt:
    return make_receipt(_changes(rooms, ledger), parse, ledger.searches, ledger.sent)


def _changes(rooms: Rooms, ledger: Ledger) -> list[Change]:
    return [Change(p, before, _now(rooms, p)) for p, before in ledger.before.items()]


def _now(rooms: Rooms, path: str) -> str | None:
    """A file's text now (of a large one its beginning), None without one: also where a command
    has left a link that leads out of the home."""
    try:
        file = rooms.home.inside(path)
    except ToolProblem:
        return None
    return read_text(file, MOST_ON_RECEIPT) if file.is_file() else None


def _cut_notice(part: prompt.Part) -> str:
    share = round(100 * prompt.SHARES.get(part.name, 0))
    return f"{part.path} is longer than its share of the window ({share} %) and was cut"
