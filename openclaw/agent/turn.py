"""One turn, from the words of a prompt to its commit."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from importlib import import_module
from itertools import islice
from threading import Timer
from types import ModuleType
from typing import Any

from openclaw import events
from openclaw.agent.loop import Loop, TurnLimits
from openclaw.agent.memory_lookup import (
    Found,
    find_passages,
    match_found,
    needs_recall,
    other_todos,
    show_found,
    todos_referred_to,
)
from openclaw.agent.past_conversations import find_archived
from openclaw.agent.prompt import REQUIRED, SOURCES, hard_rules, make_tail
from openclaw.agent.protocols.base import RunningTurn, StepProtocol
from openclaw.agent.protocols.native import choose_protocol
from openclaw.agent.provenance import Provenance
from openclaw.agent.recording import Recording, receipt_of, record_turn
from openclaw.agent.request import (
    RequestBuilder,
    check_images,
    head_share,
    reload_images,
    renew_fit_record,
    request_record,
)
from openclaw.agent.window import material_limits
from openclaw.errors import PromptTooLarge
from openclaw.frozen import frozen
from openclaw.history.turns import State
from openclaw.home.open_home import OpenHome
from openclaw.memory.todos import Todos
from openclaw.messages import NO_RECORD, Entry, Material, Prompt, TurnRecord
from openclaw.models.base import ModelCard
from openclaw.models.profile import reply_limits, window_notice
from openclaw.nlp.classifier import read_message
from openclaw.nlp.intent import FILE, Cues, is_small_talk, read_cues
from openclaw.nlp.several_requests import only_adds, split_request
from openclaw.receipt import NO_CHANGES, TODO_FILE, Receipt
from openclaw.security.audit import Audit
from openclaw.security.masking import disarm_masks, tell_masked
from openclaw.security.untrusted import draw_nonce
from openclaw.sessions.session import Session, mask_entry, mask_session, without
from openclaw.storage.home import Home
from openclaw.tools.paths import visible_files
from openclaw.tools.skill_tools import TurnSkills, fill_instructions, find_user_skill
from openclaw.types import Shown, ToolProblem, TurnChanges, timestamp

ELSEWHERE = "The user works in {folder}, outside the home. Name its files by their whole paths."
LARGEST_SEED = 2**31 - 1  # servers take a signed number of 32 bits
AFTER_REQUEST = ("openclaw.agent.answer_check", "openclaw.agent.after_answer")
SENT_SECONDS = 0.02  # after this time the request has been sent
MAX_EARLIER = 8  # messages of the conversation that may say which to-do is meant
MAX_LISTED = 1_000
"""Files of the workspace whose names are compared with a prompt: they take some milliseconds."""


def run_turn(open_home: OpenHome, prompt: Prompt, session: Session) -> Iterator[events.Event]:
    """Run one turn: prepare it, ask the model until it answers, save each message before it is
    shown, and commit. The caller holds the lock of `session`. See `Agent.ask`."""
    prepared = yield from prepare_turn(open_home, prompt, session)
    turn, turn_changes = prepared.turn, prepared.provenance.turn_changes
    number, new_title = prepared.provenance.audit.turn, not session.title
    loading = Timer(SENT_SECONDS, load_what_follows, [turn.user.content])
    loading.daemon = True
    with record_turn(
        open_home, session, turn_changes, turn.user.content, number, prepared.commit
    ) as recording:
        if session.messages:
            yield from map(events.Notice, update_working_notes(open_home, session))
        try:
            loading.start()
            yield from _run_and_save(prepared, recording)
        except PromptTooLarge:
            session.messages[-1] = session.messages[-1].with_record(TurnRecord(refused=True))
            open_home.sessions.save(session)
            raise
        finally:
            loading.cancel()
            prepared.builder.keep_measured()
    if new_title and session.title:
        yield events.Title(session.title)


@frozen
class PreparedTurn:
    """A turn that is ready to run.

    builder: builds its requests; it has the open home and the session
    provenance: the sources of its words
    passages: those that went with its prompt
    commit: the home's newest commit, "" without one
    """

    turn: RunningTurn
    loop: Loop
    builder: RequestBuilder
    provenance: Provenance
    passages: Sequence[Mapping[str, Any]]
    commit: str


def prepare_turn(
    open_home: OpenHome, prompt: Prompt, session: Session, *, ahead: bool = True
) -> Generator[events.Event, None, PreparedTurn]:
    """Prepare a turn; only caches in the home change. The same prompt in the same minute with the
    same conversation and files gives the same request. With `ahead` the model loads and reads
    during the search for passages."""
    # 1. No secret goes further than here.
    prompt, notice = _mask_prompt(open_home, prompt, session)
    text, settings = prompt.text, open_home.settings

    # 2. The words say what the prompt may be about.
    provenance = start_provenance(open_home, prompt, session)
    turn_skills, (todos, unreadable) = open_home.turn_skills(text), read_todos(open_home)
    earlier = "\n".join(entry.content for entry in session.messages[-MAX_EARLIER:])
    cues, instructions = find_cues(open_home, text, turn_skills, todos, earlier), ""
    if prompt.skill:  # the user has said what to do; words of the prompt do not say it again
        skill = find_user_skill(open_home.skills(), prompt.skill)
        provenance.turn_changes.allowed = skill.allowed_tools
        cues, instructions = Cues(known_lists=cues.known_lists), fill_instructions(skill, text)
    orders, questions = _split_prompt(open_home, text, cues, turn_skills, todos, earlier)

    # 3. The search starts beside the rest, so that it is ready when the model is.
    looks_up = any(needs_recall(open_home, *each) for each in ((text, cues), *questions))
    if looks_up:
        open_home.recall.start_process()
    model = open_home.model
    card = model.card
    protocol = choose_protocol(settings.protocol, card)
    yield from _start_events(open_home, session, card, protocol, notice)

    # 4. The user's programs may add texts and change files.
    images = check_images(prompt.material, card, settings.ollama.host)
    provenance.note_images(images)
    hook_texts: Sequence[tuple[Any, str]] = ()
    if hooks := open_home.hooks:
        labels = [each.label for each in prompt.material]
        hook_texts = hooks.before_turn(session.id, provenance.audit.turn, text, labels)
        yield from map(events.Trouble, hooks.take_notices())
        todos, unreadable = read_todos(open_home)

    # 5. Tools, the head of the prompt, and the conversation so far.
    yield from map(events.Notice, reload_images(open_home.home.root, session, card))
    builder = RequestBuilder.make(open_home, session, protocol, turn_skills, provenance)
    yield from _head_notices(builder, {**builder.unreadable, **unreadable})

    # 6. Texts that go along, and passages of the user's files.
    given, shown = yield from _attach_texts(builder, provenance, prompt.material, hook_texts)
    attached = "\n\n".join(filter(None, (instructions, *given)))
    asked = " ".join(words for words, _ in questions) or text
    now, shown_todos = open_home.now(), todos if open_home.use_memory else Todos()
    found, fenced = Found(cues), list[str]()
    if cues.unclear or not cues.chats:  # small talk is about nothing
        passages, left_out = yield from find_passages(
            builder, text, asked, attached, cues, looks_up=looks_up, ahead=ahead
        )
        alone = not (instructions or orders)
        cues = todos_referred_to(text, cues, shown_todos, session)
        found = match_found(open_home, text, cues, passages, left_out, shown_todos, alone=alone)
        cues, fenced = found.cues, provenance.fence_passages(show_found(open_home, text, found))
    if session.archived and (cues.asks or "?" in text):
        fenced += provenance.fence_archived(find_archived(open_home, session, text))

    # 7. The message: these facts of the moment in front of the words.
    due = shown_todos.due(now.date())
    language = settings.language
    lines = [
        *cues.lines,
        *found.due.values(),
        *other_todos(text, cues, shown_todos, {*due, *found.due}, found=bool(fenced)),
        *([f"Files: {', '.join(found.files)}"] if found.files else ()),
        *[f"Do this first: {words}" for words, _ in orders[:1]],
        *builder.toolbox.beside(native=protocol.name == "native"),
        *(ELSEWHERE.format(folder=folder) for folder in open_home.elsewhere),
        *([f"Answer in {language}."] if language != "auto" else ()),
    ]
    rules = hard_rules(builder.sources)
    tail = make_tail(now, rules, due, builder.changed, fenced, lines)
    context = open_home.masker.mask(f"{tail}\n\n{attached}" if attached else tail)
    most, think = reply_limits(settings, card)
    seed = settings.seed
    if seed is None:
        seed = int.from_bytes(_draw_bytes(open_home, text, session)[4:8], "big") & LARGEST_SEED
    limits = TurnLimits(settings.temperature, most, settings.max_steps, seed, think)
    commit = open_home.history.head()
    record = replace(
        request_record(builder, limits),
        commit=commit,
        mode=open_home.mode,
        asked=open_home.ask_user is not None,
        memory=open_home.use_memory,
        marker=provenance.turn_changes.marker,
        cues=cues.as_json(),
        found=bool(fenced),
        skill=prompt.skill,
        offered=[without(passage, "text") for passage in found.passages],
        left_out=found.left_out,
        shown=[*map(asdict, shown)],
    )
    user = Entry("user", text, context=context, at=timestamp(), images=images).with_record(record)
    provenance.inherit()
    searched = settings.recall == "auto"
    turn = RunningTurn(user, rules, cues, has_passages=bool(fenced), searched=searched)
    turn.rows, turn.files, turn.skill = found.rows, found.files, instructions
    if orders:  # one after the other, each by the words that are about it
        turn.cues, turn.orders_left = orders[0][1], orders[1:]
    receipt = partial(receipt_of, open_home.home, provenance.turn_changes)
    loop = Loop(model, protocol, builder.toolbox, builder.fit, receipt, limits, builder.meter)
    return PreparedTurn(turn, loop, builder, provenance, found.passages, commit)


# -------- while it runs


def _run_and_save(prepared: PreparedTurn, recording: Recording) -> Iterator[events.Event]:
    """Yield the events of a run, save each message at once and commit all at the end. A Ctrl-C
    during the display or saving of an event is passed to the run, which then ends as interrupted.
    """
    run = prepared.loop.run(prepared.turn)
    happening = next(run, None)
    while happening is not None:
        try:
            if isinstance(happening, Entry):
                yield from _save_message(prepared, recording, happening)
            elif isinstance(happening, events.Done):
                yield from _end_turn(prepared, recording, happening)
            else:
                recording.hear(happening)
                yield happening
        except KeyboardInterrupt as interrupt:
            if isinstance(happening, events.Done):
                raise
            happening = run.throw(interrupt)
        else:
            happening = next(run, None)


def _save_message(
    prepared: PreparedTurn, recording: Recording, message: Entry
) -> Iterator[events.Event]:
    """Add a message to the conversation, without secrets, and save it. The last one of a turn has
    its citations and sources, if any, in its record."""
    builder = prepared.builder
    open_home, session = builder.open_home, builder.session
    is_last = "stop" in message.record_json
    if is_last:
        message = _load_after_answer().add_sources(builder, message, prepared.passages)
    session.messages.append(mask_entry(open_home.masker, message))
    if message.role == "assistant":  # a compaction may have come before it
        renew_fit_record(builder)
    prepared.provenance.save()
    try:
        if is_last:  # notes first: the session says how far they go
            receipt = prepared.loop.receipt()
            yield from map(events.Notice, update_working_notes(open_home, session, receipt))
    finally:
        open_home.sessions.save(session)
    recording.journal.saved()


def _end_turn(
    prepared: PreparedTurn, recording: Recording, end: events.Done
) -> Iterator[events.Event]:
    """Remember what the turn has brought, commit it, and tell its end."""
    open_home, session = prepared.builder.open_home, prepared.builder.session
    provenance, hooks, served = prepared.provenance, open_home.hooks, open_home.mcp_tools
    yield from map(
        events.Notice, (*(served.take_notices() if served else ()), *provenance.notices())
    )
    yield from map(events.Trouble, hooks.take_notices() if hooks else ())
    state: State = "interrupted" if end.stop_reason == "interrupted" else "done"
    if state == "done" and open_home.saving:
        yield from _load_after_answer().remember(open_home, provenance)
    yield from map(events.Trouble, recording.close(state))
    record = session.messages[-1].record if session.messages else NO_RECORD
    finished = replace(
        end,
        session_id=session.id,
        refused=tuple(provenance.turn_changes.refused),
        citations=tuple(record.citations or ()),
        sources=tuple(record.sources or ()),
    )
    if hooks:
        hooks.ended(finished)
    yield finished


def update_working_notes(
    open_home: OpenHome, session: Session, receipt: Receipt = NO_CHANGES
) -> list[str]:
    """Add new messages to the working notes; return notices for the user."""
    if not open_home.saving or session.state.noted == session.archived + len(session.messages):
        return []
    notices: list[str] = _load_after_answer().update_notes(
        open_home.sessions.folder, session, receipt, open_home.masker.mask
    )
    return notices


def load_what_follows(text: str) -> None:
    """Load what follows the request, and read what a prompt states, while the model works."""
    for name in AFTER_REQUEST:
        import_module(name)
    _load_after_answer().find_additions(text, "")


def _load_after_answer() -> ModuleType:
    """Load the module when an answer comes: the request goes out sooner without it."""
    from openclaw.agent import after_answer

    return after_answer


# -------- the steps of its preparation


def _mask_prompt(open_home: OpenHome, prompt: Prompt, session: Session) -> tuple[Prompt, str]:
    """Return the prompt without secrets, and a notice about the new ones. In a foreign text nothing
    may look like a mask."""
    mask = open_home.masker.mask
    text = mask(prompt.text)
    material = [
        replace(each, text=mask(each.text if each.path else disarm_masks(each.text)))
        for each in prompt.material
    ]
    masked = replace(prompt, text=text, material=material)
    mask_session(open_home.masker, session)
    texts = (
        "\n".join((each.text, *(part.text for part in each.material))) for each in (prompt, masked)
    )
    return masked, tell_masked(*texts)


def start_provenance(open_home: OpenHome, prompt: Prompt, session: Session) -> Provenance:
    """Begin to watch whose words a turn sees."""
    turn_changes = TurnChanges(
        read=dict(session.state.read or {}),
        request=prompt.text,
        marker=_draw_bytes(open_home, prompt.text, session)[:4].hex(),
        typed=prompt.typed,
    )
    log = open_home.home.action_log
    audit = Audit(log, session.id, 1 + session.turns, open_home.masker.mask, open_home.now)
    provenance = Provenance(open_home.home, turn_changes, session, audit)
    provenance.may_translate = open_home.settings.language != "auto"
    return provenance


def _draw_bytes(open_home: OpenHome, text: str, session: Session) -> bytes:
    """Draw what no outsider can guess, the same for the same prompt in the same minute: the marker
    that fences foreign text and the seed of the model."""
    key = open_home.home.private / "cache" / "key"
    minute = open_home.now().replace(second=0, microsecond=0).isoformat()
    return draw_nonce(key, session.turns, len(session.messages), minute, text)


def read_todos(open_home: OpenHome) -> tuple[Todos, Mapping[str, str]]:
    """Read the to-dos; return them, and the reason by path when the file cannot be read."""
    try:
        return open_home.todos.read(), {}
    except OSError as error:
        reason = error.strerror or str(error)
        return Todos(), {TODO_FILE: reason} if open_home.use_memory else {}


def find_cues(
    open_home: OpenHome, text: str, turn_skills: TurnSkills, todos: Todos, earlier: str = ""
) -> Cues:
    """Return the cues of a prompt that comes after what was said `earlier`. All of the home's files
    are listed only for a prompt that may name one: there may be thousands."""
    home, files = open_home.home, []
    if FILE.search(text):
        files = [home.relative(path) for path in visible_files(home, home.root)]
    elif not is_small_talk(read_message(text)):  # it may say what a file is about
        files = _files_of_workspace(home)
    done = [todo.text for todo in todos.items if todo.done]
    skills, lists = turn_skills.blurbs, todos.lists
    guides = SOURCES.values()
    return read_cues(text, files, skills, lists, todos.open_texts(), done, earlier, guides)


def _files_of_workspace(home: Home) -> list[str]:
    """Return the paths of files in the workspace, some thousand at most; none when it is a link out
    of the home."""
    try:
        folder = home.inside("workspace")
    except ToolProblem:
        return []
    return [*map(home.relative, islice(visible_files(home, folder), MAX_LISTED))]


def _split_prompt(
    open_home: OpenHome,
    text: str,
    cues: Cues,
    turn_skills: TurnSkills,
    todos: Todos,
    earlier: str,
) -> tuple[list[tuple[str, Cues]], list[tuple[str, Cues]]]:
    """Return what a prompt that wants several things orders and asks, each with its cues."""
    if cues.done and len(cues.whole) > 1 and not cues.parts:
        return [(f"tick {each}", replace(cues, whole=(each,))) for each in cues.whole], []
    one = cues.asks or cues.skill or cues.named or cues.errands.tools
    ordered, asked = ([], []) if one else split_request(text, todos.open_texts())
    questions = [
        (words, find_cues(open_home, words, turn_skills, todos, earlier)) for words in asked
    ]
    orders = []
    for words in ordered:
        seen = find_cues(open_home, words, turn_skills, todos, earlier)
        if only_adds(words, todos.open_texts()):
            seen = replace(seen, changes=("add",))
        orders.append((words, replace(seen, todos=not seen.fact, tells=bool(questions))))
    return orders, questions


def _start_events(
    open_home: OpenHome, session: Session, card: ModelCard, protocol: StepProtocol, notice: str
) -> Iterator[events.Event]:
    """Yield the first events: the model that answers, and notices for the user."""
    session.model = card.name
    yield events.Start(session.id, card.name, card.window, protocol.name)
    news, open_home.masker.notices = open_home.masker.notices, []
    notices = (notice, *news, "" if session.messages else window_notice(card))
    yield from map(events.Notice, filter(None, notices))
    yield from map(events.Notice, open_home.reread_grants())
    if served := open_home.mcp_tools:
        yield from map(events.Notice, served.begin())


def _head_notices(builder: RequestBuilder, unreadable: Mapping[str, str]) -> Iterator[events.Event]:
    """Yield notices about files of the prompt that are missing, unreadable or cut."""
    for path, reason in unreadable.items():
        yield events.Notice(f"{path} is not read: {reason}; put the file itself in its place")
    for name in REQUIRED:
        if name not in builder.sources and SOURCES[name] not in unreadable:
            yield events.Notice(f"{SOURCES[name]} is missing; `openclaw init` puts it back")
    for part in builder.parts:
        if part.cut:
            share = head_share(part)
            yield events.Notice(
                f"{part.path} is longer than its share of the window ({share}) and was cut"
            )


def _attach_texts(
    builder: RequestBuilder,
    provenance: Provenance,
    material: Sequence[Material],
    hook_texts: Sequence[tuple[Any, str]],
) -> Generator[events.Event, None, tuple[list[str], list[Shown]]]:
    """Fence the texts that go along with a prompt, and those of hooks. Return them, and the lines
    of files that they show."""
    texts = [each for each in material if not each.image]
    if not (texts or hook_texts):
        return [], []
    parts = len(texts) + len(hook_texts)
    limits = material_limits(builder.toolbox.limits, builder.card.window, parts)
    for each in texts:
        if not limits.holds(each.text):
            yield events.Notice(f"{each.label} is too long: the model sees its beginning and end")
    hooks = builder.open_home.hooks
    beside = hooks.shown(hook_texts, provenance.turn_changes, limits) if hooks else ()
    given, shown = provenance.fence_material(texts, limits)
    return [given, *beside], shown
