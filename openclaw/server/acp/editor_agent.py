"""The agent for editors: the Agent Client Protocol on standard input and output."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast

from acp import PROTOCOL_VERSION, RequestError, run_agent
from acp.helpers import ContentBlock
from acp.interfaces import Client
from acp.schema import (
    AgentCapabilities,
    CloseSessionResponse,
    Implementation,
    InitializeResponse,
    ListSessionsResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PromptCapabilities,
    PromptResponse,
    ResumeSessionResponse,
    SessionCapabilities,
    SessionCloseCapabilities,
    SessionInfo,
    SessionListCapabilities,
    SessionResumeCapabilities,
    SetSessionModeResponse,
)
from acp.stdio import stdio_streams

from openclaw import __version__
from openclaw.agent.agent import Agent
from openclaw.config import load_settings
from openclaw.errors import OpenclawError, UsageError
from openclaw.events import Done, Error
from openclaw.messages import skill_prompt
from openclaw.security.grants import Grant
from openclaw.security.policy import PermissionQuestion
from openclaw.security.trust import find_trusted_home
from openclaw.server.acp.prompt_blocks import read_prompt
from openclaw.server.acp.slash_commands import list_commands, read_command, run_command
from openclaw.server.acp.updates import (
    MODES,
    TurnUpdates,
    commands,
    lasting_offer,
    message_update,
    modes,
    permission_call,
    permission_options,
    read_permission,
    replay,
    stop_reason,
    thought_update,
)
from openclaw.server.runs import Run, follow
from openclaw.server.service import Service
from openclaw.server.wire import PromptRequest, value_from_json
from openclaw.sessions.session import Session
from openclaw.sessions.store import UNATTENDED
from openclaw.stopping import stopped_by
from openclaw.storage.home import nearest_home
from openclaw.types import Mode

Made = TypeVar("Made")
LISTED = 50  # conversations on one page of the list
BUSY = "this conversation is being answered; cancel that first"
REFUSED = 7
INTERRUPTED = 130


def serve_editor(named: str | None) -> None:
    """Answer an editor until its input ends. `named` is the home that the user has named."""

    async def serve() -> None:
        await answer_messages(agent, *await _open_streams())

    agent = EditorAgent(named)
    try:
        asyncio.run(serve())
    finally:
        agent.end()


async def answer_messages(
    agent: EditorAgent, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Answer an editor until its input ends, or until it no longer reads what is sent."""
    with suppress(ConnectionError):
        # Not every method of the SDK's agent is there. Resume and close are stable by now.
        await run_agent(cast(Any, agent), writer, reader, use_unstable_protocol=True)


async def _open_streams() -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Return the streams of the messages. What else is printed goes to standard error: a stray line
    among the messages would end the connection."""
    kept = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = os.fdopen(kept, "w", encoding="utf-8")
    streams = await stdio_streams()
    if os.name != "nt":  # there the SDK writes to sys.stdout itself
        sys.stdout = sys.stderr
    return streams


@dataclass(slots=True)
class EditorSession:
    """A conversation that an editor has open.

    cwd     the folder of the editor, without links
    grants  what the user has allowed in this conversation
    reads   the user has allowed to read in that folder, which lies outside the home
    run     the run that answers, None for none
    busy    a prompt or a command is being answered
    stop    the editor has cancelled it
    """

    service: Service
    session: Session
    cwd: Path
    mode: Mode
    grants: list[Grant] = field(default_factory=list)
    reads: bool = False
    run: Run | None = None
    busy: bool = False
    stop: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Answer one prompt at a time. RequestError while another one is being answered."""
        if self.busy:
            raise RequestError(-32600, BUSY)
        self.busy = True
        self.stop.clear()
        try:
            yield
        finally:
            if self.run is not None and not self.run.ended:
                self.run.stop()
            self.run, self.busy = None, False

    def start(self, request: PromptRequest) -> Run:
        return self.service.runs.start(request, session=self.session, prepare=self._prepare)

    def _prepare(self, agent: Agent) -> None:
        """Let an agent know what is allowed here, and the folder outside the home."""
        agent.grants += self.grants
        if not self.cwd.is_relative_to(os.path.realpath(agent.home.root)):
            agent.elsewhere = (self.cwd,)

    def cancel(self) -> None:
        self.stop.set()
        if self.run is not None:
            self.run.stop()


class EditorAgent:
    """What an editor may ask, in the SDK's words (`acp.interfaces.Agent`). `named` is the home that
    the user has named."""

    def __init__(self, named: str | None) -> None:
        self._named = named
        self._services: dict[Path, Service] = {}
        self._sessions: dict[str, EditorSession] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._news: list[str] = []
        self._opening = threading.Lock()

    def on_connect(self, conn: Client) -> None:
        self._client = conn

    def end(self) -> None:
        """Stop what runs, and close the homes."""
        for service in self._services.values():
            service.close()

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:
        """See the protocol. A client of another version is told ours."""
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_capabilities=AgentCapabilities(
                load_session=True,
                prompt_capabilities=PromptCapabilities(image=True, embedded_context=True),
                session_capabilities=SessionCapabilities(
                    list=SessionListCapabilities(),
                    resume=SessionResumeCapabilities(),
                    close=SessionCloseCapabilities(),
                ),
            ),
            auth_methods=[],
            agent_info=Implementation(name="openclaw", title="openclaw", version=__version__),
        )

    # -------- conversations

    async def new_session(self, cwd: str, **_: Any) -> NewSessionResponse:
        """Begin a conversation, which is saved with its first prompt."""
        talk = await _in_thread(self._open_session, cwd)
        self._keep(talk)
        return NewSessionResponse(session_id=talk.session.id, modes=modes(talk.mode))

    async def load_session(self, cwd: str, session_id: str, **_: Any) -> LoadSessionResponse:
        """Open a stored conversation, and tell it again from its beginning."""
        talk = await self._load(cwd, session_id)
        said = talk.service.sessions.messages(talk.session)
        for update in await _in_thread(lambda: [*replay(talk.service.home, said)]):
            await self._client.session_update(session_id, update)
        self._keep(talk)
        return LoadSessionResponse(modes=modes(talk.mode))

    async def resume_session(self, cwd: str, session_id: str, **_: Any) -> ResumeSessionResponse:
        """Open a stored conversation without telling it."""
        talk = await self._load(cwd, session_id)
        self._keep(talk)
        return ResumeSessionResponse(modes=modes(talk.mode))

    async def close_session(self, session_id: str, **_: Any) -> CloseSessionResponse:
        """Stop what is being answered, and forget the conversation; it stays saved."""
        self._find(session_id).cancel()
        del self._sessions[session_id]
        return CloseSessionResponse()

    async def _load(self, cwd: str, session_id: str) -> EditorSession:
        """Open a stored conversation of the home of a folder."""
        if session_id in self._sessions and self._sessions[session_id].busy:
            raise RequestError(-32600, BUSY)
        return await _in_thread(self._open_session, cwd, session_id)

    def _open_session(self, cwd: str, session_id: str = "") -> EditorSession:
        """Open a conversation of the home of a folder, a new one when none is named."""
        service = self._open(cwd)
        store = service.sessions
        if session_id and not store.exists(session_id):
            raise UsageError(
                f"there is no conversation {session_id} in {service.home.root}",
                "openclaw sessions list",
            )
        session = store.load(session_id) if session_id else store.new()
        mode = load_settings(service.home).mode or "ask"  # as in a chat
        return EditorSession(service, session, Path(os.path.realpath(cwd)), mode)

    async def list_sessions(
        self, cwd: str | None = None, cursor: str | None = None, **_: Any
    ) -> ListSessionsResponse:
        """List the conversations of a home, the last used first, page by page."""
        first = int(cursor) if cursor and cursor.isascii() and cursor.isdigit() else 0

        def find() -> ListSessionsResponse:
            service = self._open(cwd or str(Path.cwd()))
            found = [s for s in service.sessions.list() if not s.id.startswith(UNATTENDED)]
            listed = [
                SessionInfo(
                    session_id=each.id,
                    cwd=cwd or str(service.home.root),
                    title=each.title or None,
                    updated_at=each.updated_at or None,
                )
                for each in found[first : first + LISTED]
            ]
            more = str(first + LISTED) if len(found) > first + LISTED else None
            return ListSessionsResponse(sessions=listed, next_cursor=more)

        return await _in_thread(find)

    async def set_session_mode(
        self, session_id: str, mode_id: str, **_: Any
    ) -> SetSessionModeResponse:
        """Choose what tools may do, from the next prompt on."""
        mode = next((each for each in MODES if each == mode_id), None)
        if mode is None:
            raise RequestError(
                -32602, f"there is no mode {mode_id!r}; there are: {', '.join(MODES)}"
            )
        self._find(session_id).mode = mode
        return SetSessionModeResponse()

    # -------- prompts

    async def prompt(
        self, prompt: Sequence[ContentBlock], session_id: str, **_: Any
    ) -> PromptResponse:
        """Answer a prompt, or run the /command that it is."""
        talk = self._find(session_id)
        with talk.answering():
            asked = await _in_thread(_read_prompt_request, talk, prompt)
            if isinstance(asked, PromptRequest):
                return await self._follow(talk, await _in_thread(talk.start, asked))
            said = await _in_thread(_run_stoppable, talk, *asked)
            if said is None:
                return PromptResponse(stop_reason="cancelled")
            await self._client.session_update(session_id, message_update(said))
            return PromptResponse(stop_reason="end_turn")

    async def cancel(self, session_id: str, **_: Any) -> None:
        """Stop what is being answered. An open question is then a no."""
        if session_id in self._sessions:
            self._sessions[session_id].cancel()

    async def _follow(self, talk: EditorSession, run: Run) -> PromptResponse:
        """Tell the events of a run until its end; ask its questions meanwhile."""
        talk.run = run
        if talk.stop.is_set():
            run.stop()
        updates = TurnUpdates(talk.service.home, run.id)
        asking: asyncio.Task[None] | None = None
        try:
            async for item in follow(run):
                _, data = item or (0, {"event": "ping"})
                if data["event"] == "question":
                    asking = asyncio.create_task(self._ask(talk, run, updates.call, data))
                for update in updates.read(data):
                    await self._client.session_update(talk.session.id, update)
        finally:
            if asking is not None:
                asking.cancel()
        return await self._end(talk, run.outcome)

    async def _end(self, talk: EditorSession, error: Done | Error | None) -> PromptResponse:
        cancelled = isinstance(error, Error) and error.exit_code == INTERRUPTED
        if talk.stop.is_set() or cancelled:
            return PromptResponse(stop_reason="cancelled")
        if not isinstance(error, Error):
            return PromptResponse(stop_reason=stop_reason(error))
        last = talk.session.messages[-1:]
        if error.exit_code == REFUSED or any(entry.record.refused for entry in last):
            said = f"{error.message} ({error.hint})" if error.hint else error.message
            await self._client.session_update(talk.session.id, message_update(said))
            return PromptResponse(stop_reason="refusal")
        raise _to_request_error(error.message, error.hint, error.exit_code)

    async def _ask(self, talk: EditorSession, run: Run, call: str, data: Mapping[str, Any]) -> None:
        """Ask a question of a run, and hand the answer on. Whatever is no yes is a no."""
        question: PermissionQuestion = value_from_json(PermissionQuestion, data)
        elsewhere = question.action.effect == "read-elsewhere"
        folder = str(talk.cwd) if elsewhere else ""
        options = permission_options(data["id"], question.offers, folder)
        about = permission_call(talk.service.home, call or data["id"], question, data["call"])
        how = "session" if elsewhere and talk.reads else ""
        # An answer that is none of the protocol, an error or the end of the connection is a no.
        with suppress(RequestError, ConnectionError, ValueError):
            if not how:
                response = await self._client.request_permission(talk.session.id, about, options)
                how = read_permission(response, options)
        reply: dict[str, Any] = {"decision": how or "no"}
        if how == "session" and elsewhere:
            talk.reads = True
        elif how == "session" or (how == "always" and not await _keep_grant(run, question.offers)):
            offer = question.offers[0]
            talk.grants.append(Grant(offer.kind, offer.value))
            reply["grant"] = asdict(offer)
        with suppress(UsageError):  # the run was stopped meanwhile
            run.answer(data["id"], reply)

    # -------- what is open

    def _open(self, cwd: str) -> Service:
        """Return what serves the home of a folder."""
        folder = Path(cwd)
        if not folder.is_absolute():
            raise UsageError(f"the folder {cwd!r} is no whole path", "send the whole path as cwd")
        named = self._named or nearest_home(folder)
        home = find_trusted_home(str(named) if named else None, folder)
        with self._opening:
            if home.root not in self._services:
                service = self._services[home.root] = Service(home)
                self._news += service.shared.recover()  # which may complete what is loaded next
            return self._services[home.root]

    def _find(self, session_id: str) -> EditorSession:
        if session_id not in self._sessions:
            raise RequestError(-32602, f"the conversation {session_id} is not open; load it first")
        return self._sessions[session_id]

    def _keep(self, talk: EditorSession) -> None:
        """Keep a conversation open, and tell its commands and what is new as soon as its response
        is sent: some clients stall when a notification comes before it."""
        self._sessions[talk.session.id] = talk
        task = asyncio.get_running_loop().create_task(self._tell_news(talk))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _tell_news(self, talk: EditorSession) -> None:
        with suppress(RequestError, ConnectionError):
            listed = await _in_thread(list_commands, talk.service)
            await self._client.session_update(talk.session.id, commands(listed))
            while self._news:
                await self._client.session_update(
                    talk.session.id, thought_update(f"{self._news.pop(0)}\n")
                )


def _read_prompt_request(
    talk: EditorSession, blocks: Sequence[ContentBlock]
) -> PromptRequest | tuple[str, str]:
    """Return what a prompt asks of the model; of a /command its name and the words behind it."""
    words, material = read_prompt(blocks, talk.cwd, talk.service.home.root)
    name, rest, is_skill = read_command(talk.service, words)
    if name and not is_skill:
        return name, rest
    message = rest or (skill_prompt(name) if is_skill else "")
    if not message:
        raise UsageError("the prompt has no words", "say what to do")
    return PromptRequest(message, material=material, skill=name, mode=talk.mode, changes=True)


def _run_stoppable(talk: EditorSession, name: str, words: str) -> str | None:
    """Run a /command; return what it says, None when it was cancelled."""
    try:
        with stopped_by(talk.stop):
            said, talk.session = run_command(talk.service, talk.session, name, words)
    except KeyboardInterrupt:
        return None
    return said


async def _keep_grant(run: Run, offers: Sequence[Grant]) -> bool:
    """Keep a permission for good. Return False when openclaw.yaml cannot be written."""
    lasting = lasting_offer(offers)
    try:
        if lasting is not None:
            await asyncio.to_thread(run.agent.grant, lasting, lasting=True)
    except OpenclawError:
        return False
    return True


async def _in_thread(work: Callable[..., Made], *given: Any) -> Made:
    """Return what slow work makes. RequestError for its OpenclawError."""
    try:
        return await asyncio.to_thread(work, *given)
    except OpenclawError as error:
        raise _to_request_error(str(error), error.hint, error.exit_code) from error


def _to_request_error(message: str, hint: str, exit_code: int) -> RequestError:
    """Return the error of a request: what happened and what to do, in one line."""
    said = f"{message}: {hint}" if hint else message
    return RequestError(-32602 if exit_code == 2 else -32603, said, {"exit_code": exit_code})
