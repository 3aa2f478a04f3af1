"""The hall: opens a home, hands the rooms to each other, and walks prompts through them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from openclaw.agent import events
from openclaw.agent.cues import Cues
from openclaw.agent.protocols import choose_protocol, schemas
from openclaw.app.context import ContextReport, report
from openclaw.app.given import cues_of, due, looks_up, read_sources, tail
from openclaw.app.given import head as head_of
from openclaw.app.rooms import Rooms
from openclaw.app.shelf import Shelf
from openclaw.app.toolset import toolbox
from openclaw.app.turn import walk
from openclaw.sessions.store import Session
from openclaw.shapes import Entry, Ledger, Material
from openclaw.tools.toolbox import Toolbox


@dataclass(slots=True)
class App(Rooms):
    """An open home that answers prompts."""

    def ask(
        self, text: str, session: Session, material: Sequence[Material] = (), skill: str = ""
    ) -> Iterator[events.Event]:
        """Answer a prompt in a session; `material` is piped or attached text for it, `skill` the
        name of one that the user asks for: its instructions go in front of the prompt.

        The session is saved after every message. Raises OpenclawError (server away, model missing,
        prompt too large, disk full ...) with everything done until then saved.
        """
        with self.sessions.writing(session.id, timeout=2.0):
            self.sessions.refresh(session)
            yield from walk(self, text, session, material, skill)

    def rest(self) -> None:
        """Use the time until the next prompt for the index."""
        if looks_up(self, "anything", Cues()):
            self.recall.rest()

    def greeting(self) -> list[str]:
        """Open and due to-dos for the start of a talk; no model is asked."""
        try:
            todos = [todo for todo in self.todos.items() if not todo.done]
        except OSError:
            return []
        soon = due(self)
        if not todos:
            return ["No open to-dos."]
        lines = [f"{len(todos)} open to-do{'s' if len(todos) > 1 else ''}, {len(soon)} due."]
        return lines + [f"  {todo.text}" for todo in soon[:5]]

    def toolbox(self, ledger: Ledger, shelf: Shelf | None = None) -> Toolbox:
        """The tools as a turn would have them."""
        return toolbox(self, ledger, shelf or self.shelf())

    def context(self, session: Session | None, text: str = "") -> ContextReport:
        """What the next request would be, part by part. Nothing is sent or saved."""
        card = self.model.card
        protocol = choose_protocol(self.settings.protocol, card)
        shelf = self.shelf(text)
        box = self.toolbox(Ledger(), shelf)
        sources = read_sources(self)
        seen = session or self.sessions.new(None, card.name)
        scratch = replace(seen, extra=dict(seen.extra), messages=list(seen.messages))
        head, changed = head_of(self, scratch, sources, protocol, box, shelf, card.window)
        beside = box.beside(native=protocol.name == "native")
        lines = [*cues_of(self, text, shelf).lines, *beside]
        text = self.vault.mask(text)
        user = Entry("user", text, context=tail(self, sources, changed, "", lines))
        start = int(scratch.extra.get("history_from", 0))
        history = [m for entry in scratch.messages[start:] for m in protocol.wire(entry)]
        return report(
            card.window,
            head,
            schemas(protocol, box),
            history,
            f"sessions/{seen.id}.json",
            protocol.wire(user),
        )
