"""Walks one prompt through the rooms; the events come out, what was said is saved as it comes."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace

from openclaw.agent import budget, events, prompt
from openclaw.agent.cues import Cues
from openclaw.agent.loop import Happening, Limits, Loop, stamp
from openclaw.agent.protocol import StepProtocol, Turn
from openclaw.agent.protocols import choose_protocol, schemas
from openclaw.agent.receipt import Receipt, make_receipt
from openclaw.app import apart
from openclaw.app.given import REQUIRED, SOURCES, cues_of, looks_up, read_sources, tail
from openclaw.app.given import head as head_of
from openclaw.app.provenance import Provenance
from openclaw.app.recall import long_files
from openclaw.app.rooms import Rooms
from openclaw.app.shelf import instructions, wanted
from openclaw.app.toolset import toolbox
from openclaw.config import Settings
from openclaw.files.text import read_text
from openclaw.memory.todos import parse
from openclaw.models.base import Request
from openclaw.safety.audit import ACTIONS, Audit
from openclaw.sessions.store import Session
from openclaw.shapes import Change, Entry, Ledger, Material, Message, ToolProblem
from openclaw.tools.recall import flat, where
from openclaw.tools.toolbox import Toolbox

MOST_ON_RECEIPT = 1_000_000
"""Bytes of a file that a receipt compares."""


def walk(
    rooms: Rooms, text: str, session: Session, material: Sequence[Material], skill: str
) -> Iterator[events.Event]:
    """One turn. `session` is locked by the caller; see `App.ask`."""
    given = (text, *(each.text for each in material))
    text, material = rooms.vault.mask(text), apart.materials(rooms.vault, material)
    told = apart.told(given, (text, *(each.text for each in material)))
    session.messages[:] = [apart.entry(rooms.vault, said) for said in session.messages]
    ledger = Ledger(read=dict(session.extra.get("read", {})), request=text)
    turn_number = 1 + sum(entry.role == "user" for entry in session.messages)
    watch = Provenance(rooms.home, ledger, session, _audit(rooms, session.id, turn_number))
    attached = watch.materials(material)
    shelf = rooms.shelf(text)
    seen = cues_of(rooms, text, shelf)
    asked = wanted(rooms.skills(), skill) if skill else None
    followed = instructions(asked, text) if asked else ""
    if asked:  # the user has said what to do; words of the prompt do not say it again
        ledger.allowed = asked.allowed_tools
        seen = Cues(known_lists=seen.known_lists)
        attached = "\n\n".join(filter(None, (followed, attached)))
    if looks_up(rooms, text, seen):
        rooms.recall.start()  # first, so that it is ready when the model is
    card = rooms.model.card
    protocol = choose_protocol(rooms.settings.protocol, card)
    session.model = card.name
    yield events.Start(session.id, card.name, card.window, protocol.name)
    yield from map(events.Notice, filter(None, (told, *_news_of_vault(rooms))))
    yield from map(events.Notice, rooms.grants_anew())
    yield from map(events.Notice, rooms.served.begin())
    box = toolbox(rooms, ledger, shelf, f"session {session.id} turn {turn_number}", watch)
    sources = read_sources(rooms)
    for name in REQUIRED:
        if name not in sources:
            yield events.Notice(f"{SOURCES[name]} is missing; `openclaw init` puts it back")
    parts, changed = head_of(rooms, session, sources, protocol, box, shelf, card.window)
    yield from (events.Notice(_cut_notice(part)) for part in parts if part.cut)
    head = rooms.vault.mask(prompt.render(parts))
    found = yield from _recalled(rooms, text, seen, parts, head, protocol, box)
    passages = watch.passages(found)
    lines = [*seen.lines, *box.beside(native=protocol.name == "native")]
    context = tail(rooms, sources, changed, attached, lines, passages)
    user = Entry("user", text, context=context, at=stamp())
    history, dropped = _fitted(session, user, head, protocol, box, card.window)
    watch.inherit(len(session.messages) - len(history))
    if dropped:
        yield events.Notice(f"the oldest {dropped} exchanges no longer fit the window")
    limits = _limits(rooms.settings)
    loop = Loop(rooms.model, protocol, box, head, lambda: _receipt(rooms, ledger), limits)
    rules = prompt.hard_rules(sources)
    turn = Turn(user, rules, seen, found=bool(passages), skill=followed)
    new_title = not session.title
    yield from _kept(rooms, loop.run(history, turn), session, ledger, watch)
    if new_title and session.title:
        yield events.Title(session.title)


def _fitted(
    session: Session, user: Entry, head: str, protocol: StepProtocol, box: Toolbox, window: int
) -> tuple[list[Entry], int]:
    """The history as it fits beside head and message, and how many exchanges were left out of it;
    the session remembers from where it begins."""
    start = int(session.extra.get("history_from", 0))
    tools = schemas(protocol, box)
    history, dropped = budget.fit(
        session.messages[start:], protocol.wire, user, head, tools, window
    )
    session.extra["history_from"] = len(session.messages) - len(history)
    return list(history), dropped


def _limits(settings: Settings) -> Limits:
    return Limits(settings.max_steps, settings.max_tokens, settings.temperature, settings.think)


def _kept(
    rooms: Rooms, run: Iterator[Happening], session: Session, ledger: Ledger, watch: Provenance
) -> Iterator[events.Event]:
    """The events of a run, its entries saved as they come. A Ctrl-C that arrives while an event
    is looked at or saved goes to the run, which then ends as interrupted."""
    happening = next(run, None)
    while happening is not None:
        try:
            if isinstance(happening, Entry):
                session.messages.append(apart.entry(rooms.vault, happening))
                session.extra["read"] = dict(ledger.read)
                watch.save()
                rooms.sessions.save(session)
            elif isinstance(happening, events.Done):
                yield from map(events.Notice, (*rooms.served.news(), *watch.news()))
                refused = tuple(ledger.refused)
                yield replace(happening, session_id=session.id, refused=refused)
            else:
                yield happening
        except KeyboardInterrupt as interrupt:
            if not isinstance(run, Generator) or isinstance(happening, events.Done):
                raise
            happening = run.throw(interrupt)
        else:
            happening = next(run, None)


def _recalled(
    rooms: Rooms,
    text: str,
    seen: Cues,
    parts: Sequence[prompt.Part],
    head: str,
    protocol: StepProtocol,
    toolbox: Toolbox,
) -> Generator[events.Event, None, list[tuple[str, str]]]:
    """Passages for the tail, each a path and its text. While they are looked for, the model
    reads the head."""
    known = {*SOURCES.values()} - {part.path for part in parts if part.cut}
    if not looks_up(rooms, text, seen, known):
        return []
    rooms.recall.begin(text, known, long_files(rooms.home, seen))
    if not rooms.recall.answered:
        tools = protocol.demand(Turn(Entry("user", text)), toolbox).tools
        request = Request((Message("system", head), Message("user", text)), tools)
        for waiting in rooms.model.warm(request):
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


def _receipt(rooms: Rooms, ledger: Ledger) -> Receipt:
    changes = [Change(p, before, _now(rooms, p)) for p, before in ledger.before.items()]
    return make_receipt(changes, parse, ledger.searches, ledger.sent)


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
