"""The MCP server with the SDK's own client, with ours, and with two of it on one home."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from openclaw.config.mcp_settings import Server
from openclaw.server.access_tokens import add_token, tokens_file
from openclaw.server.mcp_server import MAX_WATCHED, WatchedFiles
from openclaw.server.server_client import RunningServer
from openclaw.storage.home import Home
from tests.fakes.command import openclaw
from tests.fakes.mcp_home import needs_mcp, used

pytestmark = needs_mcp

Talk = Callable[[Any], Awaitable[Any]]
SECONDS = 60.0  # after which a server is not heard of any more


def words(home: Path, *options: str) -> list[str]:
    return ["-m", "openclaw", "--home", str(home), "mcp", "serve", *options]


def started(home: Path, *options: str) -> Any:
    """The streams of a server in a process of its own."""
    from mcp.client.stdio import StdioServerParameters, stdio_client

    args, environ = words(home, *options), dict(os.environ)
    server = StdioServerParameters(command=sys.executable, args=args, env=environ)
    # Its own default is sys.stderr of the test that imported it first, which is closed by now.
    return stdio_client(server, sys.stderr)


def over_stdio(home: Path, talk: Talk, *options: str) -> Any:
    """What `talk` returns of a session with a server in a process of its own."""
    from mcp.client.session import ClientSession
    from mcp_types import Implementation

    async def run() -> Any:
        async with started(home, *options) as (read, write):
            info = Implementation(name="Editor", version="1")
            async with ClientSession(read, write, client_info=info) as session:
                await session.initialize()
                return await talk(session)

    return asyncio.run(run())


@asynccontextmanager
async def over_http(server: RunningServer, token: str, hear: Any = None) -> AsyncIterator[Any]:
    """A session with /mcp."""
    import httpx2
    from mcp.client.session import ClientSession
    from mcp.client.streamable_http import streamable_http_client

    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as client,
        streamable_http_client(f"http://127.0.0.1:{server.port}/mcp", http_client=client) as ends,
        ClientSession(*ends[:2], message_handler=hear) as session,
    ):
        await session.initialize()
        yield session


async def names(session: Any) -> list[str]:
    return [tool.name for tool in (await session.list_tools()).tools]


async def told(session: Any, tool: str, **arguments: Any) -> str:
    result = await session.call_tool(tool, arguments)
    assert not result.is_error, result.content[0].text
    return str(result.content[0].text)


def test_an_editor_that_starts_it_reads_writes_and_is_taken_back(home: Path) -> None:
    (home / "memory/MEMORY.md").write_text("# Memory\n\n- The boat is called Tern.\n")
    before = (home / "memory/TODO.md").read_text()

    async def talk(session: Any) -> None:
        offered = (await session.list_tools()).tools
        assert [tool.name for tool in offered if not tool.annotations.read_only_hint] == [
            "remember",
            "todo_add",
            "todo_done",
        ]
        found = await session.call_tool("search", {"query": "boat"})
        assert found.structured_content == json.loads(found.content[0].text)
        place = found.structured_content["results"][0]["id"]
        assert "Tern" in await told(session, "fetch", id=place)
        await told(session, "remember", text="Ann likes tea.")
        await told(session, "todo_add", text="buy milk")
        refused = await session.call_tool("ask", {"prompt": "Hello."})
        assert refused.is_error
        uris = [str(each.uri) for each in (await session.list_resources()).resources]
        assert uris[0] == "openclaw://memory/MEMORY.md"
        [[today]] = [(await session.read_resource(uri)).contents for uri in uris[1:2]]
        assert today.text == "", "no note was made today"
        [read] = (await session.read_resource("openclaw://workspace/USER.md")).contents
        assert "from workspace/USER.md" in read.text
        assert "digest" in [each.name for each in (await session.list_prompts()).prompts]
        [message] = (await session.get_prompt("digest", {"words": "the log"})).messages
        assert "Skill digest:" in message.content.text

    over_stdio(home, talk)
    assert "program Editor -->" in next((home / "memory/inbox").iterdir()).read_text()
    assert "## From Editor" in (home / "memory/TODO.md").read_text()
    assert openclaw("--home", str(home), "undo").returncode == 0
    assert (home / "memory/TODO.md").read_text() == before


def test_the_words_for_other_programs_start_it(home: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/programs.md").read_text("utf-8")
    block = json.loads(page.partition("```json\n")[2].partition("```")[0])
    started = block["mcpServers"]["openclaw"]
    assert started["command"] == "openclaw"
    args = [str(home) if word.startswith("/path") else word for word in started["args"]]
    assert ["-m", "openclaw", *args] == words(home)
    for line in ("claude mcp add openclaw -- ", "codex mcp add openclaw -- "):
        assert f"`{line}openclaw {' '.join(started['args'])}`" in page


@pytest.mark.slow
def test_options_say_what_it_may_do(home: Path) -> None:
    offered = over_stdio(home, names, "--read-only", "--sessions", "--ask")
    assert offered == ["search", "fetch", "read", "todos", "sessions_search", "ask"]


@pytest.mark.slow
def test_our_own_client_uses_it(home: Path, tmp_path: Path) -> None:
    places = {name: value for name, value in os.environ.items() if name.startswith("XDG_")}
    args = tuple(words(home, "--trust", "openclaw"))
    server = Server("home", command=sys.executable, args=args, env=places)
    with used(tmp_path, server, seconds=SECONDS) as servers:
        servers.list_missing()
        assert servers.take_notices() == []
        tools = {tool.name: tool for tool in servers.tools()}
        tools["home__remember"].run(text="Ann likes tea.")
        assert "From" not in tools["home__todo_add"].run(text="buy milk")
    [day] = (home / "memory").glob("2*.md")
    assert "Ann likes tea." in day.read_text()


def test_a_token_over_http_does_what_its_scopes_allow(home: Path, server: RunningServer) -> None:
    async def offered(token: str) -> list[str]:
        async with over_http(server, token) as session:
            return await names(session)

    file = tokens_file(Home(home))
    tokens = {scope: add_token(file, scope, scope) for scope in ("read", "files", "chat")}
    reading, writing = ["search", "fetch", "read", "todos"], ["remember", "todo_add", "todo_done"]
    assert asyncio.run(offered(tokens["read"])) == reading
    assert sorted(asyncio.run(offered(tokens["files"]))) == sorted([*reading, *writing])
    assert asyncio.run(offered(tokens["chat"])) == ["ask"]
    with pytest.raises(BaseExceptionGroup):
        asyncio.run(offered("wrong"))


@pytest.mark.filterwarnings("ignore:resources/subscribe is removed")
def test_a_client_hears_of_a_change(home: Path, server: RunningServer) -> None:
    async def talk() -> str:
        heard: asyncio.Queue[str] = asyncio.Queue()

        async def hear(message: Any) -> None:
            await heard.put(str(message.params.uri))

        async with over_http(server, server.token, hear) as session:
            await session.subscribe_resource("openclaw://workspace/list.md")
            (home / "workspace/list.md").write_text("- buy milk\n")
            return await asyncio.wait_for(heard.get(), SECONDS)

    assert asyncio.run(talk()) == "openclaw://workspace/list.md"


def test_a_resource_that_nobody_watches_any_more_makes_room(home: Path) -> None:
    files, session = WatchedFiles(Home(home)), object()
    for number in range(MAX_WATCHED):
        files.watch(f"openclaw://workspace/{number}.md", session)
        files.forget(f"openclaw://workspace/{number}.md", session)
    uri = "openclaw://workspace/list.md"
    files.watch(uri, session)
    files.watch(uri)
    files.forget(uri)
    (home / "workspace/list.md").write_text("- buy milk\n")
    assert (files.changed(), files.subscribers(uri)) == ([uri], [session])


@pytest.mark.slow
def test_a_client_of_the_newer_protocol_hears_of_a_change(home: Path) -> None:
    from mcp.client.client import Client

    async def talk() -> str:
        uri = "openclaw://memory/todo"
        async with (
            Client(started(home)) as client,
            client.listen(resource_subscriptions=[uri]) as heard,
        ):
            (home / "memory/TODO.md").write_text("- [ ] buy milk\n")
            event: Any = await asyncio.wait_for(anext(aiter(heard)), SECONDS)
            return str(event.uri)

    assert asyncio.run(talk()) == "openclaw://memory/todo"


@pytest.mark.slow
def test_two_servers_on_one_home_lose_nothing(home: Path, calls: int = 1000) -> None:
    async def write(session: Any, who: str) -> None:
        for number in range(calls):
            if number % 2:
                await told(session, "search", query=f"{who} {number}")
            else:
                await told(session, "todo_add", text=f"{who} {number}")

    async def both(first: Any) -> None:
        from mcp.client.session import ClientSession

        async with started(home) as (read, out), ClientSession(read, out) as second:
            await second.initialize()
            await asyncio.gather(write(first, "one"), write(second, "two"))

    over_stdio(home, both)
    todos = (home / "memory/TODO.md").read_text()
    for who in ("one", "two"):
        assert all(f"{who} {number} ^" in todos for number in range(0, calls, 2))
    history = subprocess.run(
        ["git", "-C", str(home), "status", "--porcelain", "memory"], capture_output=True, check=True
    )
    assert history.stdout == b""
