"""The hall: opens a home, hands the rooms to each other, and walks one prompt through them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from openclaw.agent import budget, events, prompt
from openclaw.agent.cues import Cues, cues
from openclaw.agent.loop import Happening, Limits, Loop, stamp
from openclaw.agent.protocol import StepProtocol, Turn
from openclaw.agent.protocols import choose_protocol, schemas
from openclaw.agent.receipt import Receipt, make_receipt
from openclaw.app.context import ContextReport, report
from openclaw.app.heads import Heads
from openclaw.app.opening import open_model
from openclaw.app.recall import Recall, has_more, long_files, worth_looking_up
from openclaw.app.shelf import Shelf, instructions, wanted
from openclaw.config import Settings
from openclaw.files.home import Home
from openclaw.files.text import read_text
from openclaw.memory.notes import Notes
from openclaw.memory.todos import TodoFile, parse
from openclaw.models.base import Model, Request
from openclaw.sessions.store import Session, SessionStore
from openclaw.shapes import Change, Effect, Entry, Ledger, Message, Mode
from openclaw.skills.installed import installed
from openclaw.skills.load import Skill
from openclaw.tools.policy import Policy
from openclaw.tools.recall import flat, where
from openclaw.tools.toolbox import Toolbox

Ask = Callable[[str, Mapping[str, Any], Effect], bool]

SOURCES = {
    "identity": "workspace/IDENTITY.md",
    "soul": "workspace/SOUL.md",
    "agents": "workspace/AGENTS.md",
    "user": "workspace/USER.md",
    "tools_md": "workspace/TOOLS.md",
    "memory": "memory/MEMORY.md",
}
REQUIRED = ("soul", "agents", "user")


@dataclass(slots=True)
class App:
    """An open home. `notices` are one-line texts for the user that came up while opening."""

    home: Home
    settings: Settings
    mode: Mode
    ask_user: Ask | None = None
    use_memory: bool = True
    model_name: str = ""
    now: Callable[[], datetime] = lambda: datetime.now().astimezone()
    notices: list[str] = field(default_factory=list)
    _model: Model | None = None
    _recall: Recall | None = None

    @classmethod
    def open(
        cls,
        home: Home,
        settings: Settings,
        *,
        model: str | None = None,
        mode: Mode | None = None,
        ask: Ask | None = None,
        use_memory: bool = True,
    ) -> App:
        """An app on this home. Nothing is read and no model is opened before it is needed."""
        chosen: Mode = mode or settings.mode or "edit"
        return cls(home, settings, chosen, ask, use_memory, model or settings.model)

    # -------- the rooms

    @property
    def sessions(self) -> SessionStore:
        return SessionStore(self.home.sessions, self.home.private / "locks")

    @property
    def todos(self) -> TodoFile:
        return TodoFile(self.home.memory / "TODO.md", today=lambda: self.now().date())

    @property
    def model(self) -> Model:
        """The model that answers; opened at first use."""
        if self._model is None:
            self._model = open_model(self.model_name, self.settings, self.home)
        return self._model

    @model.setter
    def model(self, model: Model) -> None:
        self._model = model

    def use_model(self, name: str) -> None:
        """Take another model from the next turn on."""
        if self._model is not None:
            self._model.close()
            self._model = None
        self.model_name = name

    def close(self) -> None:
        if self._model is not None:
            self._model.close()
            self._model = None
        if self._recall is not None:
            self._recall.close()
            self._recall = None

    @property
    def recall(self) -> Recall:
        """The search beside the turn; started when it is first asked."""
        if self._recall is None:
            self._recall = Recall(self.home)
        return self._recall

    def skills(self) -> list[Skill]:
        """The skills that may be used now, by name; read anew each time."""
        listed = installed(self.home, self.settings)
        return [entry.skill for entry in listed if entry.eligible and entry.skill]

    def _shelf(self, request: str = "") -> Shelf:
        """The skills that the model may take by itself."""
        return Shelf([skill for skill in self.skills() if skill.model_invocable], request)

    def toolbox(self, ledger: Ledger, shelf: Shelf | None = None, source: str = "") -> Toolbox:
        from openclaw.tools.build import build_tools

        tools = build_tools(
            self.home,
            ledger,
            todos=self.todos,
            notes=Notes(self.home.memory, today=lambda: self.now().date(), source=lambda: source),
            skills=shelf or self._shelf(),
            searcher=self.recall if self.settings.recall != "off" and self.use_memory else None,
            region=self.settings.web.region,
            results=self.settings.web.results,
        )
        return Toolbox(tools, Policy(self.mode, self.ask_user), ledger)

    # -------- one prompt

    def ask(
        self, text: str, session: Session, material: str = "", skill: str = ""
    ) -> Iterator[events.Event]:
        """Answer a prompt in a session; `material` is piped or attached text for it, `skill` the
        name of one that the user asks for: its instructions go in front of the prompt.

        The session is saved after every message. Raises OpenclawError (server away, model missing,
        prompt too large, disk full ...) with everything done until then saved.
        """
        with self.sessions.writing(session.id, timeout=2.0):
            self.sessions.refresh(session)
            yield from self._turn(text, session, material, skill)

    def _turn(
        self, text: str, session: Session, material: str, skill: str
    ) -> Iterator[events.Event]:
        ledger = Ledger(read=dict(session.extra.get("read", {})))
        turn_number = 1 + sum(entry.role == "user" for entry in session.messages)
        shelf = self._shelf(text)
        toolbox = self.toolbox(ledger, shelf, f"session {session.id} turn {turn_number}")
        seen = self._cues(text, shelf)
        asked = wanted(self.skills(), skill) if skill else None
        followed = instructions(asked, text) if asked else ""
        if asked:  # the user has said what to do; words of the prompt do not say it again
            ledger.allowed = asked.allowed_tools
            seen = Cues(known_lists=seen.known_lists)
            material = "\n\n".join(filter(None, (followed, material)))
        if self._looks_up(text, seen):
            self.recall.start()  # first, so that it is ready when the model is
        card = self.model.card
        protocol = choose_protocol(self.settings.protocol, card)
        session.model = card.name
        yield events.Start(session.id, card.name, card.window, protocol.name)
        sources = self._sources()
        for name in REQUIRED:
            if name not in sources:
                yield events.Notice(f"{SOURCES[name]} is missing; `openclaw init` puts it back")
        parts, changed = self._head(session, sources, protocol, toolbox, shelf, card.window)
        yield from (events.Notice(_cut_notice(part)) for part in parts if part.cut)
        head = prompt.render(parts)
        passages = yield from self._recalled(text, seen, parts, head, protocol, toolbox)
        context = self._context_block(sources, changed, material, seen.lines, passages)
        user = Entry("user", text, context=context, at=stamp())
        start = int(session.extra.get("history_from", 0))
        history, dropped = budget.fit(
            session.messages[start:],
            protocol.wire,
            user,
            head,
            schemas(protocol, toolbox),
            card.window,
        )
        session.extra["history_from"] = len(session.messages) - len(history)
        if dropped:
            yield events.Notice(f"the oldest {dropped} exchanges no longer fit the window")
        settings = self.settings
        limits = Limits(
            settings.max_steps, settings.max_tokens, settings.temperature, settings.think
        )
        loop = Loop(self.model, protocol, toolbox, head, lambda: self._receipt(ledger), limits)
        rules = prompt.hard_rules(sources)
        turn = Turn(user, rules, seen, found=bool(passages), skill=followed)
        new_title = not session.title
        yield from self._kept(loop.run(history, turn), session, ledger)
        if new_title and session.title:
            yield events.Title(session.title)

    def _kept(
        self, run: Iterator[Happening], session: Session, ledger: Ledger
    ) -> Iterator[events.Event]:
        """The events of a run, its entries saved as they come. A Ctrl-C that arrives while an event
        is looked at or saved goes to the run, which then ends as interrupted."""
        happening = next(run, None)
        while happening is not None:
            try:
                if isinstance(happening, Entry):
                    session.messages.append(happening)
                    session.extra["read"] = dict(ledger.read)
                    self.sessions.save(session)
                elif isinstance(happening, events.Done):
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

    def _cues(self, text: str, shelf: Shelf) -> Cues:
        lists: list[str] = []
        open_todos: list[str] = []
        with suppress(OSError):
            lists = self.todos.lists()
            open_todos = [todo.text for todo in self.todos.items() if not todo.done]
        from openclaw.tools.paths import visible_files

        files = [self.home.relative(path) for path in visible_files(self.home, self.home.root)]
        return cues(text, files, shelf.blurbs, lists, open_todos)

    def _recalled(
        self,
        text: str,
        seen: Cues,
        parts: Sequence[prompt.Part],
        head: str,
        protocol: StepProtocol,
        toolbox: Toolbox,
    ) -> Generator[events.Event, None, list[str]]:
        """Passages for the tail. While they are looked for, the model reads the head."""
        known = {*SOURCES.values()} - {part.path for part in parts if part.cut}
        if not self._looks_up(text, seen, known):
            return []
        self.recall.begin(text, known, long_files(self.home, seen))
        if not self.recall.answered:
            tools = protocol.demand(Turn(Entry("user", text)), toolbox).tools
            request = Request((Message("system", head), Message("user", text)), tools)
            for waiting in self.model.warm(request):
                yield events.Notice(waiting.message)
        found = self.recall.passages()
        yield from (events.Notice(line) for line in self.recall.news())
        if found:
            yield events.Retrieval(tuple(found))
        return [f"{where(passage)}: {flat(passage['text'])}" for passage in found]

    def _looks_up(
        self, text: str, seen: Cues, known: Collection[str] = tuple(SOURCES.values())
    ) -> bool:
        """Whether a prompt is looked up, as there may be more about it than in these files."""
        if self.settings.recall != "auto" or not self.use_memory:
            return False
        if long_files(self.home, seen):
            return True
        return worth_looking_up(text, seen) and has_more(self.home, self.settings, known)

    def rest(self) -> None:
        """Use the time until the next prompt for the index."""
        if self._looks_up("anything", Cues()):
            self.recall.rest()

    def _context_block(
        self,
        sources: Mapping[str, prompt.Source],
        changed: Sequence[str],
        material: str,
        notes: Sequence[str],
        passages: Sequence[str] = (),
    ) -> str:
        if self.settings.language != "auto":
            notes = [*notes, f"Answer in {self.settings.language}."]
        block = prompt.tail(
            self.now().replace(second=0),
            prompt.hard_rules(sources),
            [todo.text for todo in self._due()] if self.use_memory else [],
            changed,
            passages,
            notes,
        )
        return f"{block}\n\n{material}" if material else block

    # -------- the head

    def _sources(self) -> dict[str, prompt.Source]:
        found = {}
        for name, path in SOURCES.items():
            if name == "memory" and not self.use_memory:
                continue
            with suppress(OSError):
                found[name] = prompt.Source(path, read_text(self.home.root / path))
        return found

    def _head(
        self,
        session: Session,
        sources: Mapping[str, prompt.Source],
        protocol: StepProtocol,
        toolbox: Toolbox,
        shelf: Shelf,
        window: int,
    ) -> tuple[tuple[prompt.Part, ...], list[str]]:
        fresh = prompt.head(sources, protocol.rules(toolbox), shelf.blurbs, window)
        heads = Heads(self.home.private / "cache" / "heads")
        return heads.head(session, sources, fresh, protocol.name)

    # -------- what is seen from outside

    def _receipt(self, ledger: Ledger) -> Receipt:
        changes = []
        for path, before in ledger.before.items():
            file = self.home.root / path
            changes.append(Change(path, before, read_text(file) if file.is_file() else None))
        return make_receipt(changes, parse, ledger.searches)

    def _due(self) -> list[Any]:
        try:
            items = self.todos.items()
        except OSError:
            return []
        today = self.now().date().isoformat()
        return [todo for todo in items if not todo.done and todo.due and str(todo.due) <= today]

    def greeting(self) -> list[str]:
        """Open and due to-dos for the start of a talk; no model is asked."""
        try:
            todos = [todo for todo in self.todos.items() if not todo.done]
        except OSError:
            return []
        due = self._due()
        if not todos:
            return ["No open to-dos."]
        lines = [f"{len(todos)} open to-do{'s' if len(todos) > 1 else ''}, {len(due)} due."]
        return lines + [f"  {todo.text}" for todo in due[:5]]

    def context(self, session: Session | None, text: str = "") -> ContextReport:
        """What the next request would be, part by part. Nothing is sent or saved."""
        card = self.model.card
        protocol = choose_protocol(self.settings.protocol, card)
        shelf = self._shelf(text)
        toolbox = self.toolbox(Ledger(), shelf)
        sources = self._sources()
        seen = session or self.sessions.new(None, card.name)
        scratch = replace(seen, extra=dict(seen.extra), messages=list(seen.messages))
        head, changed = self._head(scratch, sources, protocol, toolbox, shelf, card.window)
        lines = self._cues(text, shelf).lines
        user = Entry("user", text, context=self._context_block(sources, changed, "", lines))
        start = int(scratch.extra.get("history_from", 0))
        history = [m for entry in scratch.messages[start:] for m in protocol.wire(entry)]
        return report(
            card.window,
            head,
            schemas(protocol, toolbox),
            history,
            f"sessions/{seen.id}.json",
            protocol.wire(user),
        )


def _cut_notice(part: prompt.Part) -> str:
    share = round(100 * prompt.SHARES.get(part.name, 0))
    return f"{part.path} is longer than its share of the window ({share} %) and was cut"
