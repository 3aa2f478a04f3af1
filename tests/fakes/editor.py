"""An editor, made of the SDK's own client, that checks every message it gets.

async with editing() as editor:
    talk = await editor.begin(home)
    assert await editor.say(talk, "Hello.") == "end_turn"
    assert editor.answer == "Good day."
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, cast

from acp import connect_to_agent, spawn_agent_process, text_block
from acp.connection import StreamDirection, StreamEvent
from acp.schema import (
    CloseSessionResponse,
    InitializeResponse,
    ListSessionsResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PromptResponse,
    RequestPermissionRequest,
    ResumeSessionResponse,
    SessionNotification,
    SetSessionModeResponse,
)

from openclaw.server.acp.editor_agent import EditorAgent, answer_messages

ANSWERS = (
    NewSessionResponse, InitializeResponse, PromptResponse, ListSessionsResponse,
    LoadSessionResponse, SetSessionModeResponse, ResumeSessionResponse, CloseSessionResponse,
)  # fmt: skip
Decide = Callable[[Any, list[Any]], Awaitable[str]]
"""Returns the id of an answer to the question about a call, from its options."""


class Editor:
    """What it was told and asked, as JSON in the order of the messages.

    told      the updates of the conversations
    asked     the calls that it was asked about, with their options
    messages  every message of the agent
    """

    def __init__(self, decide: Decide | None = None) -> None:
        self.told: list[dict[str, Any]] = []
        self.asked: list[tuple[Any, list[Any]]] = []
        self.messages: list[dict[str, Any]] = []
        self.process: Any = None
        self._decide = decide
        self.agent: Any = None

    def on_connect(self, agent: Any) -> None:
        pass

    # what the agent may ask of an editor

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        pass  # `hear` has it already

    async def request_permission(
        self, session_id: str, tool_call: Any, options: list[Any], **_: Any
    ) -> dict[str, Any]:
        self.asked.append((tool_call, options))
        assert self._decide is not None, f"nobody was expected to ask about {tool_call.title}"
        chosen = await self._decide(tool_call, options)
        return {"outcome": {"outcome": "selected", "optionId": chosen}}

    # what an editor does

    async def begin(self, folder: Path) -> str:
        """A new conversation in a folder; its id."""
        made = await self.agent.new_session(cwd=str(folder), mcp_servers=[])
        return str(made.session_id)

    async def say(self, talk: str, *blocks: Any) -> str:
        """Send a prompt of words and other blocks; why its answer ended."""
        prompt = [text_block(each) if isinstance(each, str) else each for each in blocks]
        return str((await self.agent.prompt(session_id=talk, prompt=prompt)).stop_reason)

    async def until(self, is_so: Callable[[], Any]) -> None:
        """Wait until something is so, for at most ten seconds."""
        for _ in range(1000):
            if is_so():
                return
            await asyncio.sleep(0.01)
        raise AssertionError("it did not come to that")

    def hear(self, event: StreamEvent) -> None:
        if event.direction != StreamDirection.INCOMING:
            return
        check(event.message)
        self.messages.append(event.message)
        if event.message.get("method") == "session/update":
            self.told.append(event.message["params"]["update"])

    def kinds(self) -> list[str]:
        """What kinds of updates came, each once if it came several times in a row."""
        kinds = [each["sessionUpdate"] for each in self.told]
        return [k for at, k in enumerate(kinds) if not at or kinds[at - 1] != k]

    def text(self, kind: str = "agent_message_chunk") -> str:
        """All that was said, thought or replayed, as one text."""
        return "".join(
            each["content"]["text"] for each in self.told if each["sessionUpdate"] == kind
        )

    def calls(self) -> list[dict[str, Any]]:
        """The calls, each as it is in the end."""
        found: dict[str, dict[str, Any]] = {}
        for each in self.told:
            if each["sessionUpdate"].startswith("tool_call"):
                found.setdefault(each["toolCallId"], {}).update(each)
        return [*found.values()]


def check(message: dict[str, Any]) -> None:
    """Fail for a message that is not of the schema. The SDK's models drop what they cannot read, so
    what they have read must be all that was sent."""
    assert message["jsonrpc"] == "2.0"
    if "method" in message:
        kind: Any = {
            "session/update": SessionNotification,
            "session/request_permission": RequestPermissionRequest,
        }[message["method"]]
        _check_same(kind, message["params"])
    elif "error" in message:
        assert isinstance(message["error"]["code"], int)
        assert "\n" not in message["error"]["message"]
    else:
        assert any(_is_same(kind, message["result"]) for kind in ANSWERS), message


def _check_same(kind: Any, sent: dict[str, Any]) -> None:
    read = kind.model_validate(sent)
    assert read.model_dump(mode="json", by_alias=True, exclude_unset=True) == sent


def _is_same(kind: Any, sent: dict[str, Any]) -> bool:
    try:
        _check_same(kind, sent)
    except (ValueError, AssertionError):
        return False
    return True


@asynccontextmanager
async def editing(decide: Decide | None = None) -> AsyncIterator[Editor]:
    """An editor and the agent in one process, with a pipe between them."""
    editor, agent = Editor(decide), EditorAgent(None)
    mine, its = [await asyncio.open_connection(sock=end) for end in socket.socketpair()]
    answering = asyncio.create_task(answer_messages(agent, *its))
    editor.agent = connect_to_agent(
        cast(Any, editor), *mine[::-1], observers=[editor.hear], use_unstable_protocol=True
    )
    try:
        await editor.agent.initialize(protocol_version=1)
        yield editor
    finally:
        await editor.agent.close()
        for _, writer in (mine, its):
            writer.close()
            await writer.wait_closed()
        await answering
        agent.end()


@asynccontextmanager
async def starting(decide: Decide | None = None) -> AsyncIterator[Editor]:
    """An editor that has started `openclaw acp`."""
    editor = Editor(decide)
    client: Any = editor  # an editor without files and terminals of its own
    started = spawn_agent_process(
        client,
        *(sys.executable, "-m", "openclaw", "acp"),
        env=dict(os.environ),
        use_unstable_protocol=True,
        transport_kwargs={"stderr": None},
        observers=[editor.hear],
    )
    async with started as (agent, process):
        editor.agent, editor.process = agent, process
        await agent.initialize(protocol_version=1)
        yield editor


def in_editor(
    use: Callable[[Editor], Coroutine[Any, Any, None]],
    decide: Decide | None = None,
    start: Callable[[Decide | None], AbstractAsyncContextManager[Editor]] = editing,
) -> None:
    """Use an editor."""

    async def run() -> None:
        async with start(decide) as editor:
            await use(editor)

    asyncio.run(run())
