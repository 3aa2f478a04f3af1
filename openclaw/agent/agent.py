"""The agent: answers prompts in conversations, compacts them, and undoes turns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING

from openclaw import events
from openclaw.agent.memory_lookup import needs_recall
from openclaw.agent.protocols.native import choose_protocol
from openclaw.agent.recording import record_turn
from openclaw.agent.request import RequestBuilder
from openclaw.agent.turn import run_turn, start_provenance, update_working_notes
from openclaw.agent.window import KEPT
from openclaw.errors import UsageError
from openclaw.history.turns import Scope, Turn
from openclaw.home.open_home import OpenHome
from openclaw.messages import Material, Prompt
from openclaw.models.base import Request
from openclaw.nlp.intent import Cues
from openclaw.sessions.session import Session, mask_session, turn_starts
from openclaw.types import TurnChanges

if TYPE_CHECKING:
    from openclaw.agent.undo import UndoResult


@dataclass
class Agent(OpenHome):
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
        """Answer a prompt in a session, which is saved after every message.

        material: piped or attached text that goes with the prompt
        skill: the name of a skill the user asks for; its instructions go in front of the prompt
        typed: the user typed the prompt; nothing is remembered of a piped or offered one

        Raises OpenclawError (server away, model missing, prompt too large, disk full ...) after
        saving everything done until then.
        """
        yield from map(events.Trouble, self.recover())
        prompt, sessions = Prompt(text, material, skill, typed), self.sessions
        with sessions.writing(session.id, timeout=2.0):
            sessions.refresh(session)
            yield from run_turn(self, prompt, session)
        if self.hooks:  # the answer is shown and saved, the session unlocked
            yield from map(events.Trouble, self.hooks.after_turn())

    def get_ready(self) -> None:
        """Begin to load the model in the background."""
        self.preloader.begin(lambda: (self.model, Request(())))

    def prepare_next(self, session: Session | None = None) -> None:
        """Use the time until the next prompt: update the index and, with the setting `preload`, let
        the model load and read the beginning of the next request of `session`."""
        if needs_recall(self, "anything", Cues()):
            self.recall.embed_while_idle()
        if session is not None and self.settings.preload:
            seen = session.copy()
            self.preloader.begin(lambda: (self.model, self.next_request(seen)))

    def compact(
        self, session: Session, focus: str = "", *, dry_run: bool = False
    ) -> Iterator[events.Event]:
        """Archive all but the last two exchanges of a conversation and put a summary in their
        place; `focus` says what matters most in it. The last event is Compaction. With `dry_run`
        nothing is changed. UsageError when there is nothing to archive."""
        with self.sessions.writing(session.id, timeout=2.0):
            self.sessions.refresh(session)
            starts = turn_starts(session.messages)
            if len(starts) <= KEPT:
                raise UsageError(
                    f"nothing to compact: the last {KEPT} exchanges stay, and it has {len(starts)}",
                    "it is done by itself when the window is full",
                )
            builder = self._request_builder(session)
            focus = self.masker.mask(focus)
            if dry_run:
                yield from builder.compact(starts[-KEPT], focus, dry_run=True)
                builder.keep_measured()
                return
            request, session.model = f"/compact {focus}".strip(), self.model.card.name
            with record_turn(self, session, TurnChanges(), request) as recording:
                yield from map(events.Notice, update_working_notes(self, session))
                yield from builder.compact(starts[-KEPT], focus)
                builder.keep_measured()
                yield from map(events.Notice, recording.close("done"))

    def undoable(self, scope: Scope = "all", session: str = "") -> Iterator[Turn]:
        """Return the turns that `undo` can take back, the newest first."""
        found: Iterator[Turn] = _load_undo().undoable(self, scope, session)
        return found

    def undo(
        self, count: int = 1, scope: Scope = "all", session: str = "", keep: bool = False
    ) -> UndoResult:
        """Take back the newest turns, with their files and their part of the conversation; see
        `openclaw.agent.undo.undo_or_redo`."""
        made: UndoResult = _load_undo().undo_or_redo(self, "undo", count, scope, session, keep)
        return made

    def redo(self, count: int = 1, session: str = "", keep: bool = False) -> UndoResult:
        """Put back what the newest undos took; see `openclaw.agent.undo.undo_or_redo`."""
        made: UndoResult = _load_undo().undo_or_redo(self, "redo", count, "all", session, keep)
        return made

    def recover(self) -> list[str]:
        """Finish the work of killed processes; return notices for the user."""
        told: list[str] = _load_undo().recover(self) if self.history.has_work() else []
        return told

    def next_request(self, session: Session) -> Request:
        """Return the beginning of the next prompt's request, for the model to read it ahead."""
        return self._request_builder(session.copy()).beginning(".")

    def _request_builder(self, session: Session) -> RequestBuilder:
        mask_session(self.masker, session)
        protocol = choose_protocol(self.settings.protocol, self.model.card)
        provenance = start_provenance(self, Prompt("."), session)
        return RequestBuilder.make(self, session, protocol, self.turn_skills(), provenance)


def _load_undo() -> ModuleType:
    """Load the module for the few prompts before which there is something to finish."""
    from openclaw.agent import undo

    return undo
