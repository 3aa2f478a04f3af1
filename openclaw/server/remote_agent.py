"""An agent of a conversation whose prompts a running server answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import quote

from openclaw.agent.agent import Agent
from openclaw.events import Event, Notice
from openclaw.messages import Material
from openclaw.security.policy import Ask, PermissionQuestion
from openclaw.server.server_client import KeptGrants, RunningServer
from openclaw.server.wire import PromptRequest, event_from_json
from openclaw.sessions.session import Session, is_generated_id


@dataclass
class RemoteAgent(Agent):
    """An open home that lets `server` answer prompts. All else happens here: questions, grants,
    files, undo."""

    server: RunningServer | None = None

    def ask(
        self,
        text: str,
        session: Session,
        material: Sequence[Material] = (),
        skill: str = "",
        *,
        typed: bool = True,
    ) -> Iterator[Event]:
        """See `Agent.ask`. A new session gets the id that the server gives it."""
        assert self.server is not None  # noqa: S101  set by whoever opens it
        kept = KeptGrants(lambda grant: None)  # a lasting one is written by this agent
        unsaved = not session.stamp and is_generated_id(session.id)
        request = PromptRequest(
            text,
            session=(session.title or None) if unsaved else session.id,
            material=material,
            skill=skill,
            typed=typed,
            model=self.model_name,
            mode=self.mode,
            use_memory=self.use_memory,
            max_steps=self.settings.max_steps,
        )
        ask_user = self._ask_here(self.ask_user, kept) if self.ask_user else None
        run = self.server.begin(request, asks=ask_user is not None)
        try:
            yield from self.server.follow(run["id"], ask_user, kept)
        finally:
            session.id = run["session_id"]
            self.sessions.refresh(session)

    def compact(
        self, session: Session, focus: str = "", *, dry_run: bool = False
    ) -> Iterator[Event]:
        assert self.server is not None  # noqa: S101  set by whoever opens it
        asked = {"focus": focus, "dry_run": dry_run}
        done = self.server.call("POST", f"/api/sessions/{quote(session.id)}/compress", asked)
        yield from map(Notice, done["notices"])
        if made := event_from_json(done):
            yield made
        self.sessions.refresh(session)

    def get_ready(self) -> None:
        """Do nothing: the server has the model."""

    def prepare_next(self, session: Session | None = None) -> None:
        """Do nothing: the server has the search too."""

    def _ask_here(self, ask_user: Ask, kept: KeptGrants) -> Ask:
        """Return what asks the user, unless a grant of this conversation covers the call."""

        def reply(question: PermissionQuestion) -> str:
            if any(grant.covers(question.action) for grant in self.grants):
                return "session"
            before = list(self.grants)
            how = ask_user(question)
            for grant in [each for each in self.grants if each not in before]:
                kept.grant(grant, lasting=False)
            return how

        return reply
