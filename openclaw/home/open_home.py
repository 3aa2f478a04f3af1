"""The rooms of a home: what its files, its model and its servers are reached by."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Self

from openclaw.config import Settings, add_line, load_settings
from openclaw.errors import OpenclawError
from openclaw.events import Progress
from openclaw.history.history import History, command
from openclaw.home.opening import open_model
from openclaw.home.recall import Recall
from openclaw.memory.todos import TodoFile
from openclaw.models.base import Model
from openclaw.models.preload import Ahead
from openclaw.models.token_count import Meters
from openclaw.security.grants import Grant, read_grants
from openclaw.security.policy import Ask
from openclaw.security.vault import Vault
from openclaw.sessions.store import SessionStore, UnsavedSessions
from openclaw.skills.skill import SOURCES, Skill, installed
from openclaw.storage.home import Home
from openclaw.tools.mcp.tools import Served
from openclaw.tools.skill_tools import Shelf
from openclaw.tools.web.web_search import Search, Seen, ddgs_search
from openclaw.types import Mode

if TYPE_CHECKING:
    from openclaw.hooks.hooks import Hooks


@dataclass(slots=True)
class Rooms:
    """The rooms of an open home. `notices` are one-line texts for the user, of its opening;
    `progress` is told what goes on while a tool runs, by any thread."""

    home: Home
    settings: Settings
    mode: Mode
    ask_user: Ask | None = None
    use_memory: bool = True
    saving: bool = True
    """Whether conversations are kept; see `openclaw.sessions.store`."""
    model_name: str = ""
    now: Callable[[], datetime] = lambda: datetime.now().astimezone()
    notices: list[str] = field(default_factory=list)
    grants: list[Grant] = field(default_factory=list)
    seen: Seen = field(default_factory=Seen)
    search: Search = ddgs_search
    ahead: Ahead = field(default_factory=Ahead)
    progress: Callable[[Progress], None] | None = None
    _model: Model | None = None
    _recall: Recall | None = None
    _served: Served | None = None
    _vault: Vault | None = None
    _hooks: Hooks | None = None
    _granted_at: tuple[int, int, int] | None = None

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
        saving: bool = True,
    ) -> Self:
        """The rooms of this home. Nothing is read and no model is opened before it is needed."""
        chosen: Mode = mode or settings.mode or "edit"
        app = cls(home, settings, chosen, ask, use_memory, saving, model or settings.model)
        app.grants, notices = read_grants(settings.grants)
        app.notices += notices
        app._granted_at = _settings_stamp(home)
        return app

    def grant(self, grant: Grant, *, lasting: bool) -> None:
        """Ask no more for what the user has granted: for good, or while this app is open."""
        if lasting:
            grant = replace(grant, since=self.now().date().isoformat())
            with command(self.home, f"always: {grant.kind} {grant.value}") as turn:
                add_line(self.home, "grants", str(grant), turn.keep)
        self.grants.append(grant)

    def grants_anew(self) -> list[str]:
        """Take the lasting grants from openclaw.yaml again when it was changed, so that one that
        was taken back elsewhere counts no more. Returns what the user should know."""
        stamp = _settings_stamp(self.home)
        if stamp == self._granted_at:
            return []
        self._granted_at = stamp
        of_session = [grant for grant in self.grants if not grant.since]
        try:
            lasting, notices = read_grants(load_settings(self.home).grants)
        except OpenclawError as error:
            lasting, notices = [], [f"no lasting grant counts: {error}"]
        self.grants = [*lasting, *of_session]
        return notices

    # -------- the rooms

    @property
    def sessions(self) -> SessionStore:
        kind = SessionStore if self.saving else UnsavedSessions
        return kind(self.home.sessions, self.home.private / "locks")

    @property
    def history(self) -> History:
        return History(self.home, auto_commit=self.settings.git.auto_commit)

    @property
    def meters(self) -> Meters:
        return Meters(self.home.private / "cache" / "tokens.json")

    @property
    def todos(self) -> TodoFile:
        return TodoFile(self.home.memory / "TODO.md", today=lambda: self.now().date())

    @property
    def model(self) -> Model:
        """The model that answers; opened at first use. It reads ahead no more: whoever asks for it
        will use it."""
        self.ahead.end()
        if self._model is None:
            self._model = open_model(self.model_name, self.settings, self.home, saving=self.saving)
        return self._model

    @model.setter
    def model(self, model: Model) -> None:
        self._model = model

    def use_model(self, name: str) -> None:
        """Take another model from the next turn on."""
        self.ahead.end()
        self._close_model()
        self.model_name = name

    def close(self) -> None:
        """Close what is open. Whatever one of them raises, the others are closed."""
        with ExitStack() as stack:
            stack.callback(self._close_served)
            stack.callback(self._close_recall)
            stack.callback(self._close_model)
            self.ahead.end()

    def _close_model(self) -> None:
        model, self._model = self._model, None
        if model is not None:
            model.close()

    def _close_recall(self) -> None:
        recall, self._recall = self._recall, None
        if recall is not None:
            recall.close()

    def _close_served(self) -> None:
        served, self._served = self._served, None
        if served is not None:
            served.close()

    @property
    def recall(self) -> Recall:
        """The search beside the turn; started when it is first asked."""
        if self._recall is None:
            self._recall = Recall(self.home)
        return self._recall

    @property
    def served(self) -> Served:
        """What the MCP servers offer; none is started before a turn needs it."""
        if self._served is None:
            self._served = Served(self.home, self.settings, self.tell)
        return self._served

    def tell(self, what: str) -> None:
        """Tell what is waited for, "" when it is there."""
        if self.progress:
            self.progress(Progress(what))

    @property
    def hooks(self) -> Hooks | None:
        """The user's programs around turns and tools; without one nothing is loaded."""
        if self._hooks is None and self.settings.hooks:
            from openclaw.hooks.hooks import open_hooks

            self._hooks = open_hooks(self.home, self.settings, self.vault.mask)
        return self._hooks

    @property
    def vault(self) -> Vault:
        """The secrets that are kept apart from model, sessions and memory."""
        if self._vault is None:
            self._vault = Vault(self.home.private / "secrets.json", now=self.now)
        return self._vault

    @vault.setter
    def vault(self, vault: Vault) -> None:
        self._vault = vault

    def skills(self) -> list[Skill]:
        """The skills that may be used now, by name; read anew each time."""
        listed = installed(self.home, self.settings)
        return [entry.skill for entry in listed if entry.eligible and entry.skill]

    def shelf(self, request: str = "") -> Shelf:
        """The skills that the model may take by itself, those of the home before others: the first
        ones stand in the head."""
        skills = [skill for skill in self.skills() if skill.model_invocable]
        return Shelf(sorted(skills, key=lambda skill: SOURCES.index(skill.source)), request)


def _settings_stamp(home: Home) -> tuple[int, int, int] | None:
    """What changes when openclaw.yaml does; None without one."""
    try:
        stat = home.settings.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size, stat.st_ino
