"""An open home: its stores, model, search, MCP servers, secrets and skills, opened when needed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

from openclaw.config import Settings, add_line, load_settings
from openclaw.errors import OpenclawError, UsageError
from openclaw.events import Progress
from openclaw.history.history import History, command
from openclaw.home.search_client import SearchClient
from openclaw.memory.todos import TodoFile
from openclaw.models.base import Model, Request, without_retries
from openclaw.models.token_count import Meters
from openclaw.security.grants import Grant, read_grants
from openclaw.security.masking import Masker
from openclaw.security.policy import Ask
from openclaw.sessions.store import SessionStore, UnsavedSessions
from openclaw.skills.skill import SOURCES, Skill, list_installed
from openclaw.storage.home import Home
from openclaw.tools.skill_tools import TurnSkills
from openclaw.tools.web.web_tools import SearchFunction, SeenPages, ddgs_search
from openclaw.types import Change, Mode, local_time

if TYPE_CHECKING:
    from openclaw.hooks.hooks import Hooks
    from openclaw.tools.mcp.tools import McpServers


@dataclass(slots=True)
class Preloader:
    """At most one preloading at a time, in a thread of its own.

    Call `end` before any other use of the model. An OpenclawError and an OSError of the thread are
    ignored, since the turn will meet them too; `end` raises any other exception. A server that
    refuses the connection is not asked again, so that nobody has to wait for it.
    """

    _thread: threading.Thread | None = None
    _stopped: threading.Event = field(default_factory=threading.Event)
    _failure: BaseException | None = None

    @property
    def busy(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def begin(self, make: Callable[[], tuple[Model, Request]]) -> None:
        """Read the request that `make` returns. `make` is called in the thread: opening a model
        takes time too. Ends the last preloading first, without its exceptions."""
        with suppress(Exception):
            self.end()
        self._stopped, self._failure = threading.Event(), None
        self._thread = threading.Thread(target=self._read, args=(make,), daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Stop, and wait a moment until the model is free: it stops between two batches. Does
        nothing in the preloading thread itself. Ctrl-C ends the wait; call it again then."""
        if self._thread is None or self._thread is threading.current_thread():
            return
        self._stopped.set()
        self._thread.join()
        self._thread = None
        if self._failure is not None:
            raise self._failure

    def _read(self, make: Callable[[], tuple[Model, Request]]) -> None:
        try:
            with suppress(OpenclawError, OSError), without_retries():
                model, request = make()
                if self._stopped.is_set():
                    return
                for _ in model.warm(request):
                    if self._stopped.is_set():
                        return  # which closes the iterator, and so ends the request
        except BaseException as error:  # noqa: BLE001 - raised again by `end`
            self._failure = error


@dataclass
class OpenHome:
    """An open home with its stores, its model and its servers.

    ask_user    asks the user for a permission
    saving      save conversations; see `openclaw.sessions.store`
    model_name  the model that answers, or "auto"
    notices     lines for the user from the opening of the home
    grants      lasting permissions, and those of this session
    progress    called by any thread with what a tool or a server does
    elsewhere   folders outside the home in which the user works, whole and without links
    on_change   called with each change of a file by a tool, just before it is made
    """

    home: Home
    settings: Settings
    mode: Mode
    ask_user: Ask | None = None
    use_memory: bool = True
    saving: bool = True
    model_name: str = ""
    now: Callable[[], datetime] = local_time
    notices: list[str] = field(default_factory=list)
    grants: list[Grant] = field(default_factory=list)
    seen_pages: SeenPages = field(default_factory=SeenPages)
    web_search: SearchFunction = ddgs_search
    preloader: Preloader = field(default_factory=Preloader)
    progress: Callable[[Progress], None] | None = None
    elsewhere: Sequence[Path] = ()
    on_change: Callable[[Change], None] | None = None
    _model: Model | None = None
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
        recall: SearchClient | None = None,
    ) -> Self:
        """Open a home. Model, servers and files are opened only when they are needed; `recall` is a
        search that was started already."""
        chosen: Mode = mode or settings.mode or "edit"
        opened = cls(home, settings, chosen, ask, use_memory, saving, model or settings.model)
        opened.grants, notices = read_grants(settings.grants)
        opened.notices += notices
        opened._granted_at = _settings_stamp(home)
        if recall is not None:
            opened.recall = recall
        return opened

    def grant(self, grant: Grant, *, lasting: bool) -> None:
        """Add a permission: lasting, in openclaw.yaml, or while this home is open."""
        if lasting:
            grant = replace(grant, since=self.now().date().isoformat())
            with command(self.home, f"always: {grant.kind} {grant.value}") as turn:
                add_line(self.home, "grants", str(grant), turn.keep)
        self.grants.append(grant)

    def reread_grants(self) -> list[str]:
        """Read the lasting grants again when openclaw.yaml has changed, so that a grant deleted
        there no longer counts. Returns notices for the user."""
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

    @property
    def sessions(self) -> SessionStore:
        kind = SessionStore if self.saving else UnsavedSessions
        return kind(self.home.sessions, self.home.private / "locks")

    def find_session(self, ref: str) -> str:
        """Return the id of the conversation that the user names, "" for none; the whole id of one
        that is gone. UsageError when there was none."""
        if not ref:
            return ""
        try:
            return self.sessions.find(ref)
        except UsageError:
            if any(turn.session == ref for turn in self.history.turns()):
                return ref
            raise

    @property
    def history(self) -> History:
        return History(self.home, auto_commit=self.settings.git.auto_commit)

    @cached_property
    def meters(self) -> Meters:
        return Meters(self.home.private / "cache" / "tokens.json")

    @property
    def todos(self) -> TodoFile:
        return TodoFile(self.home.memory / "TODO.md", today=lambda: self.now().date())

    @property
    def model(self) -> Model:
        """The model that answers, opened at first use. Ends its preloading."""
        self.preloader.end()
        if self._model is None:
            from openclaw.models.registry import open_model

            self._model = open_model(self.model_name, self.settings, self.home, saving=self.saving)
        return self._model

    @model.setter
    def model(self, model: Model) -> None:
        self._model = model

    def use_model(self, name: str) -> None:
        """Use another model from the next turn on."""
        self.preloader.end()
        self._close_model()
        self.model_name = name

    def close(self) -> None:
        """Close servers, search and model. When closing one fails, the others are still closed."""
        recall, mcp_tools = self.hand_over()
        with ExitStack() as stack:
            for part in (mcp_tools, recall):
                if part is not None:
                    stack.callback(part.close)
            stack.callback(self._close_model)
            self.preloader.end()

    def _close_model(self) -> None:
        model, self._model = self._model, None
        if model is not None:
            model.close()

    @cached_property
    def recall(self) -> SearchClient:
        """The search, in a process of its own that starts with the first question."""
        return SearchClient(self.home)

    @cached_property
    def mcp_tools(self) -> McpServers | None:
        """The tools of the MCP servers, which start when a turn first needs them; None when the
        settings name none."""
        if not self.settings.mcp:
            return None
        from openclaw.tools.mcp.tools import open_servers

        return open_servers(self.home, self.settings, self.tell)

    def hand_over(self) -> tuple[SearchClient | None, McpServers | None]:
        """Return the search and the servers, if open, to be used by another open home."""
        return self.__dict__.pop("recall", None), self.__dict__.pop("mcp_tools", None)

    def tell(self, what: str) -> None:
        """Report what is waited for, "" at the end of the wait."""
        if self.progress:
            self.progress(Progress(what))

    @cached_property
    def hooks(self) -> Hooks | None:
        """The user's programs around turns and tools; None when the settings name none."""
        if not self.settings.hooks:
            return None
        from openclaw.hooks.hooks import open_hooks

        return open_hooks(self.home, self.settings, self.masker.mask)

    @cached_property
    def masker(self) -> Masker:
        """The secrets, which model, sessions and memory never see."""
        return Masker(self.home.private / "secrets.json", now=self.now)

    def skills(self) -> list[Skill]:
        """The usable skills by name, read again at each call."""
        listed = list_installed(self.home, self.settings)
        return [entry.skill for entry in listed if entry.eligible and entry.skill]

    def turn_skills(self, request: str = "") -> TurnSkills:
        """The skills that the model may use by itself, those of the home first: the first ones are
        listed in the head of the prompt."""
        skills = [skill for skill in self.skills() if skill.model_invocable]
        return TurnSkills(sorted(skills, key=lambda skill: SOURCES.index(skill.source)), request)


def _settings_stamp(home: Home) -> tuple[int, int, int] | None:
    """Time of change, size and inode of openclaw.yaml; None without the file."""
    try:
        stat = home.settings.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size, stat.st_ino
