"""Runs: prompts that a server answers, each in a thread of its own, detached from its clients."""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
import traceback
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from typing import Any, Literal

from openclaw import events
from openclaw.agent.agent import Agent
from openclaw.config import Settings
from openclaw.errors import OpenclawError, UsageError, describe_unexpected
from openclaw.security.display import whole_call
from openclaw.security.grants import Grant
from openclaw.security.policy import Declined, PermissionQuestion
from openclaw.server.shared_home import SharedHome
from openclaw.server.wire import PromptRequest, event_to_json
from openclaw.sessions.session import Session
from openclaw.stopping import check_stop, stopped_by

State = Literal["queued", "preparing", "reading", "writing", "tool", "asking", "done"]
KEPT_SECONDS = 600.0
"""The events of a run are kept for so long after its end; then the session has its messages."""
MAX_EVENTS = 100_000
POLL_SECONDS = 0.1
PING_SECONDS = 15.0


class Run:
    """One prompt on its way to its answer.

    events    what has happened, as JSON objects; the number of an event is its place, from 1
    progress  what goes on until the next event, None for nothing
    question  the open question to the user, with its id
    outcome   how the turn ended, None before
    key       by which a client knows it, "" for none
    listeners  called, from any thread, when something has happened
    """

    def __init__(
        self, request: PromptRequest, session: Session, agent: Agent, key: str = ""
    ) -> None:
        self.id, self.key = secrets.token_hex(8), key
        self.request, self.session, self.agent = request, session, agent
        self.events: list[dict[str, Any]] = []
        self.state: State = "preparing"
        self.outcome: events.Done | events.Error | None = None
        self.began_at, self.ended_at = time.time(), 0.0
        self.progress: dict[str, Any] | None = None
        self.question: dict[str, Any] | None = None
        self.text = ""
        self._reply: Mapping[str, Any] = {}
        self._answered = threading.Condition()
        self._stop, self._ended = threading.Event(), threading.Event()
        self.listeners: set[Callable[[], object]] = set()
        self.add({"event": "run", "id": self.id, "session_id": session.id, "state": self.state})

    def describe(self) -> dict[str, Any]:
        """Return the run's state for a client that comes back to it."""
        return {
            "id": self.id,
            "session_id": self.session.id,
            "state": self.state,
            "message": self.request.message,
            "began_at": self.began_at,
            "text": self.text,
            "question": self.question,
            "events": len(self.events),
        }

    @property
    def ended(self) -> bool:
        return self._ended.is_set()

    def add(self, event: dict[str, Any]) -> None:
        """Add an event, and wake everybody who waits for one."""
        if len(self.events) < MAX_EVENTS or event["event"] in ("done", "error"):
            self.events.append(event)
        self.progress = None
        self._wake()

    def show_progress(self, progress: events.Progress) -> None:
        """Keep what goes on, for the moment. Any thread may call this."""
        self.progress = event_to_json(progress)
        self._wake()

    def wait(self, seconds: float) -> bool:
        """Wait for the end; returns True when it has come."""
        return self._ended.wait(seconds)

    def stop(self) -> None:
        """Let the turn end as interrupted, soon."""
        self._stop.set()

    def answer(self, question: str, reply: Mapping[str, Any]) -> None:
        """Answer the open question; the first answer counts. `reply`: decision, instead, grant; see
        `_read_reply`. UsageError when the question is not open."""
        with self._answered:
            if self.question is None or self.question["id"] != question:
                raise UsageError("this question is not open", "another client may have answered")
            self.question, self._reply = None, reply
            self._answered.notify_all()

    def _wake(self) -> None:
        for wake in tuple(self.listeners):
            wake()

    # -------- in the thread of the run

    def drive(self, get_ready: Callable[[], None]) -> None:
        """Get ready, answer the prompt, and add each event. Never raises."""
        seconds = self.agent.settings.serve.turn_timeout
        clock = threading.Timer(seconds, self._stop_late)
        try:
            with stopped_by(self._stop):
                get_ready()
                if seconds:
                    clock.start()
                self._ask()
        except OpenclawError as error:
            self._hear(events.Error(str(error), error.hint, error.exit_code))
        except KeyboardInterrupt:
            self._hear(events.Error("interrupted", "", 130))
        except Exception as error:  # noqa: BLE001  a client has to be told of any end
            message, hint, exit_code = describe_unexpected(error)
            if hint is None:
                traceback.print_exception(error)
            self._hear(events.Error(message, hint or "see what the server printed", exit_code))
        finally:
            clock.cancel()

    def end(self) -> None:
        """Mark the run as ended, after its last event."""
        self.state, self.ended_at = "done", time.time()
        self._ended.set()
        self._wake()

    def _stop_late(self) -> None:
        seconds = self.agent.settings.serve.turn_timeout
        self._hear(events.Notice(f"stopped after {seconds:g} s (setting serve.turn_timeout)"))
        self.stop()

    def _ask(self) -> None:
        agent, request = self.agent, self.request
        agent.progress = self.show_progress
        agent.ask_user = self._ask_user if request.asks else None
        if request.changes:
            agent.on_change = lambda change: self.add({"event": "change", **asdict(change)})
        for text in agent.notices:
            self._hear(events.Notice(text))
        happening = agent.ask(
            request.message, self.session, request.material, request.skill, typed=request.typed
        )
        for event in happening:
            self._hear(event)

    def _hear(self, event: events.Event) -> None:
        match event:
            case events.Progress():
                self.show_progress(event)
                return
            case events.Start() | events.NewResponse():
                self.state, self.text = "reading", ""
            case events.Token(text):
                self.state = "writing"
                self.text += text
            case events.ToolStart():
                self.state = "tool"
            case events.ToolEnd():
                self.state = "reading"
            case events.Done() | events.Error():
                self.outcome = event
        self.add(event_to_json(event))
        if isinstance(event, events.Done) and event.receipt:
            paths = [change.path for change in event.receipt.files]
            self.add({"event": "changed", "paths": paths})

    def _ask_user(self, question: PermissionQuestion) -> str:
        before, self.state = self.state, "asking"
        whole = whole_call(question.action.tool, question.arguments)
        asked = {"id": secrets.token_hex(4), **asdict(question), "call": whole}
        self.question, self._reply = asked, {}
        self.add({"event": "question", **asked})
        until = time.monotonic() + (self.request.wait or float("inf"))
        try:
            with self._answered:
                while self.question and time.monotonic() < until:
                    check_stop()
                    self._answered.wait(POLL_SECONDS)
                self.question = None  # an answer after this is told that it comes too late
        finally:
            self.question, self.state = None, before
        decision = str(self._reply.get("decision") or "no")
        self.add({"event": "answered", "id": asked["id"], "decision": decision})
        return self._read_reply(question, self._reply, decision)

    def _read_reply(
        self, question: PermissionQuestion, reply: Mapping[str, Any], decision: str
    ) -> str:
        """Return how a question was allowed, as `Ask` does. A grant that is kept for the run must
        be one of those that were offered."""
        if instead := reply.get("instead"):
            raise Declined(str(instead))
        if decision == "no":
            return ""
        if (kept := reply.get("grant")) is not None:
            grant = next((each for each in question.offers if asdict(each) == kept), None)
            if grant is None:
                return ""
            self.agent.grant(Grant(grant.kind, grant.value), lasting=False)
        return decision


class Runs:
    def __init__(self, shared: SharedHome) -> None:
        self._shared = shared
        self._lock = threading.Lock()
        self._runs: dict[str, Run] = {}

    def start(
        self,
        request: PromptRequest,
        key: str = "",
        settings: Settings | None = None,
        session: Session | None = None,
        prepare: Callable[[Agent], None] = lambda agent: None,
    ) -> Run:
        """Begin a run, with other settings than those of the home where they are given, and in
        `session` where the caller has it open. `prepare` is called with the agent before it is
        asked. A `key` that was used before returns the run that it began. Raises as opening the
        home, the session or the model does; a model that does not answer is told by the run."""
        with self._lock:
            if known := self.find(key):
                return known
            self._forget_old()
            agent = self._shared.open(request, settings)
            try:
                chosen = session or agent.sessions.choose(
                    request.latest, request.session, agent.model_name
                )
                prepare(agent)
                run = Run(request, chosen, agent, key)
            except BaseException:
                self._shared.close(agent)
                raise
            self._runs[run.id] = run
        threading.Thread(target=self._drive, args=(run,), name=f"run {run.id}").start()
        return run

    def find(self, key: str) -> Run | None:
        """Return the run that was begun with this key."""
        return next((run for run in list(self._runs.values()) if key and run.key == key), None)

    def get(self, run_id: str) -> Run | None:
        return self._runs.get(run_id)

    def running(self, session_id: str = "") -> list[Run]:
        """Return the runs that have not ended, those of one session if it is named."""
        found = [run for run in list(self._runs.values()) if not run.ended]
        return [run for run in found if session_id in ("", run.session.id)]

    def stop_all(self, seconds: float) -> None:
        """Stop every run, and wait a while for their ends."""
        for run in self.running():
            run.stop()
        until = time.monotonic() + seconds
        for run in self.running():
            run.wait(max(0.0, until - time.monotonic()))

    def _drive(self, run: Run) -> None:
        try:
            run.drive(lambda: self._get_ready(run))
        finally:
            with suppress(OpenclawError, OSError):
                self._shared.close(run.agent)
            run.end()

    def _get_ready(self, run: Run) -> None:
        """Let the runs that answer this conversation already come first."""
        running = self.running(run.session.id)
        for earlier in running[: running.index(run)]:
            run.state = "queued"
            while not earlier.wait(POLL_SECONDS):
                check_stop()
        run.state = "preparing"
        with suppress(OpenclawError):  # the turn raises it again, and tells it
            self._shared.share_model(run.agent)

    def _forget_old(self) -> None:
        old = time.time() - KEPT_SECONDS
        kept = [run for run in self._runs.values() if not run.ended or run.ended_at >= old]
        self._runs = {run.id: run for run in kept}


async def follow(
    run: Run, after: int = 0, ping: float = PING_SECONDS
) -> AsyncIterator[tuple[int, Mapping[str, Any]] | None]:
    """Yield number and value of the events after number `after`, 0 for what holds for the moment
    only, and None when nothing has come for `ping` seconds. A reader that is slow delays nobody."""
    loop, changed = asyncio.get_running_loop(), asyncio.Event()
    wake = partial(loop.call_soon_threadsafe, changed.set)
    run.listeners.add(wake)
    shown = None
    try:
        while True:
            changed.clear()
            ended = run.ended
            while after < len(run.events):
                after += 1
                yield after, run.events[after - 1]
            if ended:
                return
            if run.progress not in (None, shown):
                shown = run.progress
                yield 0, shown or {}
            try:
                await asyncio.wait_for(changed.wait(), ping)
            except TimeoutError:
                yield None
    finally:
        run.listeners.discard(wake)
