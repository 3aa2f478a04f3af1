"""The hall: opens a home, hands the rooms to each other, and walks prompts through them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from openclaw.agent import events
from openclaw.agent.cues import Cues
from openclaw.agent.protocols import choose_protocol
from openclaw.agent.window import KEPT
from openclaw.app import apart
from openclaw.app.context import ContextReport, report
from openclaw.app.fitting import Fitting, fitting_of
from openclaw.app.given import looks_up
from openclaw.app.prepare import prepare
from openclaw.app.recording import recorded
from openclaw.app.rooms import Rooms
from openclaw.app.shelf import Shelf
from openclaw.app.toolset import toolbox
from openclaw.app.turn import noted, walk
from openclaw.errors import UsageError
from openclaw.history.turn import Scope, Turn
from openclaw.models.base import Request
from openclaw.sessions.store import Session
from openclaw.shapes import Ledger, Material
from openclaw.tools.toolbox import Toolbox

if TYPE_CHECKING:
    from openclaw.agent.receipt import Receipt
    from openclaw.app.greeting import Greeting
    from openclaw.app.offers import Offer
    from openclaw.app.past import TakenBack


@dataclass(slots=True)
class App(Rooms):
    """An open home that answers prompts."""

    def ask(
        self,
        text: str,
        session: Session,
        material: Sequence[Material] = (),
        skill: str = "",
        *,
        typed: bool = True,
    ) -> Iterator[events.Event]:
        """Answer a prompt in a session; `material` is piped or attached text for it, `skill` the
        name of one that the user asks for: its instructions go in front of the prompt. `typed`:
        the user typed the prompt; nothing is kept of one that was piped in or offered.

        The session is saved after every message. Raises OpenclawError (server away, model missing,
        prompt too large, disk full ...) with everything done until then saved.
        """
        yield from map(events.Trouble, self.recover())
        with self.sessions.writing(session.id, timeout=2.0):
            self.sessions.refresh(session)
            yield from walk(self, text, session, material, skill, typed=typed)
        if self.hooks:  # the answer is shown and saved, the conversation is free
            yield from map(events.Trouble, self.hooks.after_turn())

    def get_ready(self) -> None:
        """Let the model begin to load beside whatever comes before it is asked."""
        self.ahead.begin(lambda: (self.model, Request(())))

    def rest(self, session: Session | None = None) -> None:
        """Use the time until the next prompt for the index, and for the model: it loads and reads
        what the next request of `session` begins with (the setting `preload`)."""
        if looks_up(self, "anything", Cues()):
            self.recall.rest()
        if session is not None and self.settings.preload:
            seen = replace(session, extra=dict(session.extra), messages=list(session.messages))
            self.ahead.begin(lambda: (self.model, self.next_request(seen)))

    def greeting(self, *, offering: bool = True) -> Greeting:
        """What there is to say at the start of a talk; see `openclaw.app.greeting`."""
        from openclaw.app.greeting import greeting

        return greeting(self, offering=offering)

    def offer(self, session: Session, receipt: Receipt) -> Offer | None:
        """What to offer after a turn that changed to-dos; see `openclaw.app.offers`."""
        if not receipt.todos:
            return None
        from openclaw.app.offers import after_change

        return after_change(self, session, receipt)

    def accept(self, offer: Offer, session: Session) -> Iterator[events.Event]:
        """Do what a yes to an offer of a date means."""
        from openclaw.app.offers import accept_date

        return accept_date(self, session, offer)

    def toolbox(self, ledger: Ledger, shelf: Shelf | None = None) -> Toolbox:
        """The tools as a turn would have them."""
        return toolbox(self, ledger, shelf or self.shelf())

    def context(
        self,
        session: Session | None,
        text: str = "",
        material: Sequence[Material] = (),
        skill: str = "",
    ) -> ContextReport:
        """What the next request would be, part by part and byte by byte, made as `ask` makes it.
        Nothing is sent to the model or saved, but for a secret in the text: it is kept apart."""
        seen = session or self.sessions.new(None, self.model_name)
        scratch = replace(seen, extra=dict(seen.extra), messages=list(seen.messages))
        return report(self, prepare(self, text, scratch, material, skill, ahead=False))

    def compact(
        self, session: Session, focus: str = "", *, dry_run: bool = False
    ) -> Iterator[events.Event]:
        """Put all but the last two exchanges of a conversation into the archive, a summary in their
        place; `focus` says what matters most in it. The last event is Compaction. With `dry_run`
        nothing is changed. UsageError when there is nothing to put away."""
        with self.sessions.writing(session.id, timeout=2.0):
            self.sessions.refresh(session)
            starts = [at for at, entry in enumerate(session.messages) if entry.role == "user"]
            if len(starts) <= KEPT:
                raise UsageError(
                    f"nothing to compact: the last {KEPT} exchanges stay, and there are"
                    f" {len(starts)}",
                    "it is done by itself when the window is full",
                )
            fitting = self._fitting(session, self.shelf())
            focus = self.vault.mask(focus)
            if dry_run:
                yield from fitting.compact(starts[-KEPT], fitting.tools, focus, dry_run=True)
                fitting.keep_learned()
                return
            request, session.model = f"/compact {focus}".strip(), self.model.card.name
            commit = self.history.head()
            with recorded(self, session, Ledger(), request, 0, commit) as recording:
                yield from map(events.Notice, noted(self, session))
                yield from fitting.compact(starts[-KEPT], fitting.tools, focus)
                fitting.keep_learned()
                yield from map(events.Notice, recording.close("done"))

    def undoable(self, scope: Scope = "all", session: str = "") -> Iterator[Turn]:
        """The turns that `undo` would take back one by one."""
        from openclaw.app.past import undoable

        return undoable(self, scope, session)

    def undo(
        self, count: int = 1, scope: Scope = "all", session: str = "", keep: bool = False
    ) -> TakenBack:
        """Take back the newest turns, with their files and their part of the conversation; see
        `openclaw.app.past.undo`."""
        from openclaw.app.past import undo

        return undo(self, count, scope, session, keep)

    def redo(self, count: int = 1, session: str = "", keep: bool = False) -> TakenBack:
        """Put back what the newest undos took; see `openclaw.app.past.redo`."""
        from openclaw.app.past import redo

        return redo(self, count, session, keep)

    def recover(self) -> list[str]:
        """Finish what killed processes have left; what the user should know of it."""
        if not self.history.has_work():
            return []
        from openclaw.app.recovery import recover

        return recover(self)

    def next_request(self, session: Session) -> Request:
        """What the next prompt's request will begin with, for the model to read it ahead."""
        session = replace(session, extra=dict(session.extra), messages=list(session.messages))
        return self._fitting(session, self.shelf()).beginning(".")

    def _fitting(self, session: Session, shelf: Shelf) -> Fitting:
        apart.session(self.vault, session)
        protocol = choose_protocol(self.settings.protocol, self.model.card)
        return fitting_of(self, session, protocol, shelf, Ledger())
