"""The parts of an open home that the runs of a server share."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from openclaw.agent.agent import Agent
from openclaw.config import Settings, load_settings
from openclaw.errors import OpenclawError
from openclaw.home.search_client import SearchClient
from openclaw.jobs.unattended import unattended_settings
from openclaw.messages import Waiting
from openclaw.models.base import Chunk, Model, ModelCard, Request
from openclaw.models.registry import open_model
from openclaw.retrieval.passages import Passage
from openclaw.retrieval.search import Search, open_search
from openclaw.server.wire import PromptRequest
from openclaw.stopping import check_stop
from openclaw.storage.home import Home

if TYPE_CHECKING:
    from openclaw.tools.mcp.tools import McpServers

POLL_SECONDS = 0.1
QUEUED = "another conversation uses the model"


class Queue:
    """A lock that is had in the order in which it was asked for."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: deque[object] = deque()

    def is_taken(self) -> bool:
        return bool(self._waiting)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Hold the lock. Raises KeyboardInterrupt when the turn shall stop meanwhile."""
        ticket = object()
        self._waiting.append(ticket)
        try:
            with self._changed:
                while self._waiting[0] is not ticket:
                    check_stop()
                    self._changed.wait(POLL_SECONDS)
            yield
        finally:
            with self._changed:
                self._waiting.remove(ticket)
                self._changed.notify_all()


class SharedModel:
    """A `Model` that several runs use, one request at a time. Closing it closes nothing; `end`
    does."""

    def __init__(self, model: Model) -> None:
        self._model, self._queue = model, Queue()
        self._card: ModelCard | None = None

    @property
    def reading_rate(self) -> float:
        return self._model.reading_rate

    @reading_rate.setter
    def reading_rate(self, rate: float) -> None:
        self._model.reading_rate = rate

    @property
    def card(self) -> ModelCard:
        if self._card is None or not self._queue.is_taken():  # else nobody waits for a card
            with self._queue.turn():
                self._card = self._model.card
        return self._card

    def stream(self, request: Request) -> Iterator[Chunk]:
        """See `Model`. A turn that is stopped ends with the next piece."""
        if self._queue.is_taken():
            yield Waiting(QUEUED)
        with self._queue.turn():
            for chunk in self._model.stream(request):
                check_stop()
                yield chunk

    def wire(self, request: Request) -> bytes:
        """See `Model`."""
        with self._queue.turn():
            return self._model.wire(request)

    def warm(self, request: Request) -> Iterator[Waiting]:
        """See `Model`."""
        with self._queue.turn():
            for waiting in self._model.warm(request):
                check_stop()
                yield waiting

    def close(self) -> None:
        pass

    def end(self) -> None:
        """Close the model as soon as nobody uses it."""
        with self._queue.turn():
            self._model.close()


class SharedHome:
    """Opens agents over one home, which share their models, and hand search and MCP servers on."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self._lock = threading.Lock()
        self._models: dict[str, tuple[Settings, SharedModel]] = {}
        self._recall: SearchClient | None = None
        self._served: McpServers | None = None
        self._search: tuple[Settings, Search] | None = None

    def open(self, request: PromptRequest, settings: Settings | None = None) -> Agent:
        """Open an agent for a request, with the present settings. Give it back with `close`."""
        settings = settings or load_settings(self.home)
        if request.max_steps:
            settings = replace(settings, max_steps=request.max_steps)
        with self._lock:
            recall, self._recall = self._recall, None
            served, self._served = self._served, None
        agent = Agent.open(
            self.home,
            settings,
            model=request.model,
            mode=request.mode,
            use_memory=request.use_memory,
            saving=request.saving,
            recall=recall,
        )
        if served is not None:
            if served.settings == settings.mcp:
                served.tell, agent.mcp_tools = agent.tell, served
            else:
                served.close()
        return agent

    def share_model(self, agent: Agent) -> None:
        """Let an agent use the open model of its name. Raises as opening a model does."""
        # What a request or a job has of its own is nothing to the model.
        settings = unattended_settings(replace(agent.settings, max_steps=1))
        with self._lock:
            known, old = self._models.get(agent.model_name, (None, None))
            if known != settings:
                model = open_model(agent.model_name, settings, self.home, saving=True)
                self._models[agent.model_name] = (settings, SharedModel(model))
            agent.model = self._models[agent.model_name][1]
        if old is not None and known != settings:
            old.end()

    def close(self, agent: Agent) -> None:
        """Close an agent, and keep its search and its servers for the next one."""
        recall, served = agent.hand_over()
        with self._lock:
            if self._recall is None:
                self._recall, recall = recall, None
            if self._served is None:
                self._served, served = served, None
        for spare in (recall, served):
            if spare is not None:
                spare.close()
        agent.close()

    def search(
        self, question: str, k: int, path: str, since: str
    ) -> tuple[list[Passage], list[str]]:
        """Search memory as `openclaw memory search` does; return passages and notices. Raises
        UsageError for a wrong place or day."""
        search = self._open_search()
        found = search.search(question, k, path=path, since=since)
        notices, search.notices[:] = list(search.notices), []
        return found, notices

    def read_indexed(self, path: str) -> str:
        """Return the text of a file that search finds. Raises ToolProblem for another one."""
        return self._open_search().read_indexed(path)

    def _open_search(self) -> Search:
        settings = load_settings(self.home)
        with self._lock:
            known, search = self._search or (None, None)
            if search is None or known != settings:
                search = open_search(self.home, settings)
                self._search = (settings, search)
        return search

    def recover(self) -> list[str]:
        """Finish the work of killed processes; return notices for the user."""
        try:
            agent = self.open(PromptRequest(""))
            try:
                return agent.recover()
            finally:
                self.close(agent)
        except OpenclawError as error:  # of wrong settings too, which each prompt names
            return [str(error)]

    def end(self) -> None:
        """Close everything."""
        with suppress(Exception):
            for _, shared in self._models.values():
                shared.end()
        for part in (self._recall, self._served, self._search and self._search[1]):
            if part is not None:
                part.close()
