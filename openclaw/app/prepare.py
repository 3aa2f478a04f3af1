"""From a prompt to a turn that is ready to run: what `ask` then runs, and `context` shows."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from openclaw.agent import events, prompt
from openclaw.agent.cues import Cues
from openclaw.agent.loop import Limits, Loop
from openclaw.agent.progress import stamp
from openclaw.agent.protocol import Turn
from openclaw.agent.protocols import choose_protocol
from openclaw.agent.receipt import Receipt, make_receipt
from openclaw.app import apart
from openclaw.app.bounds import bounds
from openclaw.app.fitting import Fitting, fitting_of
from openclaw.app.given import REQUIRED, SOURCES, cues_of, looks_up, tail, unread
from openclaw.app.images import images_of, show_again
from openclaw.app.noting import request_record, said_of, share
from openclaw.app.provenance import Provenance
from openclaw.app.recall import long_files
from openclaw.app.rooms import Rooms
from openclaw.app.shelf import Shelf, instructions, wanted
from openclaw.app.talks import earlier
from openclaw.app.toolset import material_room, page_of
from openclaw.files.text import read_text
from openclaw.memory.todos import parse
from openclaw.models.base import ModelCard
from openclaw.models.tested import window_notice
from openclaw.safety.audit import ACTIONS, Audit
from openclaw.safety.nonce import Nonces
from openclaw.sessions.store import Session
from openclaw.shapes import Change, Entry, Ledger, Material, ToolProblem
from openclaw.tools.recall import flat, where

MOST_ON_RECEIPT = 1_000_000
"""Bytes of a file that a receipt compares."""
LARGEST_SEED = 2**31 - 1
"""Servers take a signed number of 32 bits."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A turn that is ready to run."""

    turn: Turn
    loop: Loop
    fitting: Fitting
    watch: Provenance

    @property
    def ledger(self) -> Ledger:
        return self.watch.ledger

    @property
    def commit(self) -> str:
        """The home's newest commit, "" without one."""
        return str(self.turn.user.record["commit"])


def prepare(
    rooms: Rooms,
    text: str,
    session: Session,
    material: Sequence[Material],
    skill: str,
    *,
    typed: bool = True,
    ahead: bool = True,
) -> Generator[events.Event, None, Prepared]:
    """Get a turn ready; nothing of the home is changed but caches. The same prompt in the same
    minute upon the same conversation and files becomes the same request. `ahead` lets the model
    load and read while passages are looked for."""
    text, material, told = _apart(rooms, text, session, material)
    drawn = _drawn(rooms, session, text)
    watch = _watch(rooms, text, session, drawn)
    watch.ledger.typed = typed
    shelf = rooms.shelf(text)
    seen, followed = _seen(rooms, text, shelf, skill, watch.ledger)
    if looks_up(rooms, text, seen):
        rooms.recall.start()  # first, so that it is ready when the model is
    yield from _opened(rooms, session, told)
    images = images_of(material, rooms.model.card, rooms.settings.ollama.host)
    watch.images(images)
    added: Sequence[tuple[Any, str]] = ()
    if hooks := rooms.hooks:
        labels = [each.label for each in material]
        added = hooks.before_turn(session.id, 1 + session.turns, text, labels)
        yield from map(events.Trouble, hooks.news())
    yield from map(events.Notice, show_again(rooms.home.root, session, rooms.model.card))
    material = [each for each in material if not each.image]
    protocol = choose_protocol(rooms.settings.protocol, rooms.model.card)
    fitting = fitting_of(rooms, session, protocol, shelf, watch.ledger, watch)
    yield from _of_the_head(rooms, fitting)
    watch.room = material_room(rooms, fitting.meter, len(material) + len(added))
    for each in material:
        if not watch.room.holds(each.text):
            yield events.Notice(f"{each.label} is too long: the model sees its beginning and end")
    beside = hooks.shown(added, watch.ledger, watch.room) if hooks else ()
    attached = "\n\n".join(filter(None, (followed, watch.materials(material), *beside)))
    found = yield from _recalled(rooms, text, attached, seen, fitting, ahead=ahead)
    passages = watch.passages([(p["path"], f"{where(p)}: {flat(p['text'])}") for p in found])
    if session.archived and (seen.asks or "?" in text):
        passages += watch.earlier(earlier(rooms, session, text))
    lines = [*seen.lines, *fitting.box.beside(native=protocol.name == "native")]
    context = tail(rooms, fitting.sources, fitting.changed, attached, lines, passages)
    limits = _limits(rooms, rooms.model.card, drawn)
    record = {
        **request_record(rooms.model.card, fitting, limits),
        "commit": rooms.history.head(),
        "mode": rooms.mode,
        "asked": rooms.ask_user is not None,
        "memory": rooms.use_memory,
        "marker": watch.ledger.marker,
        "cues": said_of(seen),
        "found": bool(passages),
        "skill": skill,
        "offered": [{k: v for k, v in passage.items() if k != "text"} for passage in found],
        "left_out": rooms.recall.unshown(),
    }
    user = Entry("user", text, context=context, at=stamp(), record=record, images=images)
    watch.inherit()
    rules = prompt.hard_rules(fitting.sources)
    turn = Turn(user, rules, seen, found=bool(passages), skill=followed)
    return Prepared(turn, _loop(rooms, fitting, watch.ledger, limits), fitting, watch)


def changes(rooms: Rooms, ledger: Ledger) -> list[Change]:
    """The files that the tools of a turn have written, as they were and are."""
    return [Change(p, before, _now(rooms, p)) for p, before in ledger.before.items()]


def _apart(
    rooms: Rooms, text: str, session: Session, material: Sequence[Material]
) -> tuple[str, Sequence[Material], str]:
    """Prompt and material without secrets, and what the user is told of them."""
    given = (text, *(each.text for each in material))
    text, material = rooms.vault.mask(text), apart.materials(rooms.vault, material)
    apart.session(rooms.vault, session)
    return text, material, apart.told(given, (text, *(each.text for each in material)))


def _watch(rooms: Rooms, text: str, session: Session, drawn: bytes) -> Provenance:
    known = session.extra.get("read")
    read = dict(known) if isinstance(known, dict) else {}
    ledger = Ledger(read=read, request=text, marker=drawn[:4].hex())
    log = rooms.home.private / "logs" / ACTIONS
    audit = Audit(log, session.id, 1 + session.turns, rooms.vault.mask, rooms.now)
    return Provenance(rooms.home, ledger, session, audit)


def _seen(rooms: Rooms, text: str, shelf: Shelf, skill: str, ledger: Ledger) -> tuple[Cues, str]:
    """What the words point at, and the instructions of the skill that the user asks for."""
    seen = cues_of(rooms, text, shelf)
    if not skill:
        return seen, ""
    asked = wanted(rooms.skills(), skill)
    ledger.allowed = asked.allowed_tools
    # The user has said what to do; words of the prompt do not say it again.
    return Cues(known_lists=seen.known_lists), instructions(asked, text)


def _opened(rooms: Rooms, session: Session, told: str) -> Iterator[events.Event]:
    """The model that answers, and what the user should know beforehand."""
    card = rooms.model.card
    protocol = choose_protocol(rooms.settings.protocol, card)
    session.model = card.name
    yield events.Start(session.id, card.name, card.window, protocol.name)
    news, rooms.vault.notices = rooms.vault.notices, []
    notices = (told, *news, "" if session.messages else window_notice(card))
    yield from map(events.Notice, filter(None, notices))
    yield from map(events.Notice, rooms.grants_anew())
    yield from map(events.Notice, rooms.served.begin())


def _of_the_head(rooms: Rooms, fitting: Fitting) -> Iterator[events.Event]:
    """What is missing in the head, what cannot be read, and what had to be cut."""
    left = unread(rooms)
    for path, reason in left.items():
        yield events.Notice(f"{path} is not read: {reason}; put the file itself in its place")
    for name in REQUIRED:
        if name not in fitting.sources and SOURCES[name] not in left:
            yield events.Notice(f"{SOURCES[name]} is missing; `openclaw init` puts it back")
    for part in fitting.parts:
        if part.cut:
            yield events.Notice(
                f"{part.path} is longer than its share of the window ({share(part)}) and was cut"
            )


def _loop(rooms: Rooms, fitting: Fitting, ledger: Ledger, limits: Limits) -> Loop:
    def receipt() -> Receipt:
        return make_receipt(changes(rooms, ledger), parse, ledger.searches, ledger.sent)

    return Loop(
        rooms.model, fitting.protocol, fitting.box, fitting.fit, receipt, limits, fitting.meter
    )


def _drawn(rooms: Rooms, session: Session, text: str) -> bytes:
    """Bytes that nobody outside can guess: for the fence of untrusted text and the seed."""
    nonces = Nonces(rooms.home.private / "cache" / "key")
    minute = rooms.now().replace(second=0, microsecond=0).isoformat()
    return nonces.draw(session.turns, len(session.messages), minute, text)


def _limits(rooms: Rooms, card: ModelCard, drawn: bytes) -> Limits:
    settings = rooms.settings
    seed = settings.seed
    if seed is None:
        seed = int.from_bytes(drawn[4:8], "big") & LARGEST_SEED
    most, think = bounds(settings, card)
    return Limits(settings.max_steps, most, settings.temperature, think, seed)


def _recalled(
    rooms: Rooms, text: str, attached: str, seen: Cues, fitting: Fitting, *, ahead: bool
) -> Generator[events.Event, None, list[Mapping[str, Any]]]:
    """Passages for the tail. While they are looked for, the model reads the head, `ahead` of it;
    none for a prompt that is too long to be sent, of which the loop tells."""
    known = {*SOURCES.values()} - {part.path for part in fitting.parts if part.cut}
    if not looks_up(rooms, text, seen, known) or not fitting.can_send(text, attached):
        return []
    page = page_of(rooms.model.card.window)
    rooms.recall.begin(text, known, long_files(rooms.home, seen, page))
    if ahead and not rooms.recall.answered:
        for waiting in rooms.model.warm(fitting.beginning(text)):
            if waiting.message:
                yield events.waited(waiting)
    rooms.tell("searching memory")
    found = rooms.recall.passages(rooms.settings.recall_wait)
    rooms.tell("")
    yield from map(events.Trouble, rooms.recall.news())
    masked = [{**passage, "text": rooms.vault.mask(passage["text"])} for passage in found]
    if masked:
        yield events.Retrieval(tuple(masked))
    return list(masked)


def _now(rooms: Rooms, path: str) -> str | None:
    """A file's text now (of a large one its beginning), None without one: also where a command
    has left a link that leads out of the home."""
    try:
        file = rooms.home.inside(path)
    except ToolProblem:
        return None
    return read_text(file, MOST_ON_RECEIPT) if file.is_file() else None
