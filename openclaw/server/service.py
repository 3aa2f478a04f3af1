"""What serves a home: its runs, its tokens, and its log of refused calls."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

from openclaw.agent.agent import Agent
from openclaw.config import load_settings
from openclaw.history.history import Command
from openclaw.home.command_turns import record_command
from openclaw.security.audit import Audit
from openclaw.server.access_tokens import Tokens, tokens_file
from openclaw.server.runs import Runs
from openclaw.server.shared_home import SharedHome
from openclaw.server.wire import HttpError, PromptRequest
from openclaw.sessions.store import SessionStore, open_store
from openclaw.skills.skill import Skill
from openclaw.storage.home import Home
from openclaw.types import CallRecord, KeepsWrites, Mode

STOP_SECONDS = 5.0
MODES: tuple[Mode, ...] = ("read-only", "ask", "edit")
"""What a turn over HTTP may be, the strictest first. `full` belongs to the terminal."""


class Service:
    """A home that is served. `end` ends the process; `port` is that on loopback; `token` is the
    owner's, "" makes one."""

    def __init__(self, home: Home, token: str = "", end: Callable[[], None] = lambda: None) -> None:
        self.home, self.end, self.port = home, end, 0
        self.tokens = Tokens(tokens_file(home), token)
        self.shared = SharedHome(home)
        self.runs = Runs(self.shared)
        self.began_at = time.time()

    def close(self) -> None:
        """Stop what runs, and close the home."""
        self.runs.stop_all(STOP_SECONDS)
        self.shared.end()

    @property
    def sessions(self) -> SessionStore:
        return open_store(self.home)

    @contextmanager
    def agent(self, *, model: bool = False) -> Iterator[Agent]:
        """Open an agent over the home, on request with the shared model and search. Raises as
        opening them does."""
        if not model:
            with closing(Agent.open(self.home, load_settings(self.home))) as agent:
                yield agent
            return
        agent = self.shared.open(PromptRequest(""))
        try:
            self.shared.share_model(agent)
            yield agent
        finally:
            self.shared.close(agent)

    def user_skills(self) -> list[Skill]:
        with self.agent() as agent:
            return [skill for skill in agent.skills() if skill.user_invocable]

    def choose_mode(self, asked: str | None, scopes: frozenset[str]) -> Mode | None:
        """Return the mode of a turn over HTTP, None for that of the settings; never `full`.
        HttpError for an unknown mode, and for one that lets a program do more than the settings."""
        own = load_settings(self.home).mode or "edit"
        own = "edit" if own == "full" else own
        if asked is None:
            return own
        if asked not in MODES:
            raise HttpError(
                400, f"there is no mode '{asked}' here", f"there are: {', '.join(MODES)}"
            )
        mode = MODES[MODES.index(asked)]
        if "owner" not in scopes and MODES.index(mode) > MODES.index(own):
            raise HttpError(403, f"this token may not go beyond the mode {own}")
        return mode

    @contextmanager
    def changing(
        self, words: str, session: str = "", *, store: KeepsWrites | None = None
    ) -> Iterator[Command]:
        """Make what is changed in here, such as by `store`, one turn of the history. HttpError when
        this conversation is being answered."""
        if session:
            self.check_idle(session)
        with record_command(self.home, words, store) as turn:
            yield turn

    def check_idle(self, session: str = "") -> None:
        """Raise an HttpError when this conversation, or any, is being answered."""
        for run in self.runs.running(session):
            hint = "stop it, or wait for its end"
            raise HttpError(409, f"{run.session.id} is being answered", hint, run_id=run.id)

    def log_refusal(self, address: str, reason: str) -> None:
        """Note a refused call in the log of actions."""
        call = CallRecord("serve", "read", address, "deny", by=reason)
        Audit(self.home.action_log).write(call)
