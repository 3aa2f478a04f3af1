"""What MCP servers run of a home: nothing that the agent wrote, and nothing without a yes."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from openclaw.agent.agent import Agent
from openclaw.cli.commands.chat import ask_for_trust
from openclaw.config import load_settings
from openclaw.config.mcp_settings import Server, read_servers
from openclaw.errors import AwayError
from openclaw.maintenance.doctor.prerequisites import check_mcp
from openclaw.storage.home import Home
from openclaw.storage.trust_store import Trust
from openclaw.tools.mcp.client import McpConnector
from openclaw.tools.mcp.schema import read_cache
from openclaw.tools.mcp.start import KIND, ServerStarter
from openclaw.tools.mcp.tools import McpServers
from tests.data.sample import sample
from tests.fakes.command import CommandLine
from tests.fakes.files import exchanged, write_file
from tests.fakes.mcp_home import HERE, as_settings, needs_mcp
from tests.fakes.talk import call, new_home, results, talk

claw = CommandLine("mcp")

pytestmark = needs_mcp

BARE = HERE / "bare_mcp_server.py"
TELLING = f"""
import json, os, runpy, sys
facts = {{"cwd": os.getcwd(), "file": __file__, "safe": os.environ.get("PYTHONSAFEPATH", "")}}
open(os.environ["FACTS"], "w").write(json.dumps(facts))
sys.argv = ["bare", "plain"]
runpy.run_path({str(BARE)!r}, run_name="__main__")
"""
PLANTED = "import os\nopen(os.environ['FACTS'] + '.rce', 'w')\nraise SystemExit\n"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(new_home(tmp_path / "home"))


def put(home: Home, path: str, text: str = TELLING) -> str:
    write_file(home.root / path, text)
    return path


def server(home: Home, *args: str, command: str = sys.executable, **more: Any) -> Server:
    facts = {"FACTS": str(home.root.parent / "facts"), **more.pop("env", {})}
    return Server("told", command=command, args=args, env=facts, **more)


def installed(home: Home, module: str = "told_server") -> dict[str, str]:
    """Variables by which a module is found that lies outside of the home, as one of pip's."""
    folder = home.root.parent / "site"
    folder.mkdir(exist_ok=True)
    (folder / f"{module}.py").write_text(TELLING, "utf-8")
    return {"PYTHONPATH": str(folder)}


@contextmanager
def used(home: Home, one: Server, *, yes: bool = False) -> Iterator[McpServers]:
    trust = Trust(home.root.parent / "trust.json")
    starts = ServerStarter(home, [one], trust)
    if yes:
        starts.allow(starts.asked())
    cache = read_cache(home.root.parent / "mcp.json")
    found = McpServers([one], cache, lambda: McpConnector(starts))
    try:
        yield found
    finally:
        found.close()


def facts(home: Home) -> dict[str, str]:
    told: dict[str, str] = json.loads((home.root.parent / "facts").read_text("utf-8"))
    return told


def started(home: Home, one: Server, *, yes: bool = False) -> dict[str, str]:
    """Start a server; what it says of how it was started."""
    with used(home, one, yes=yes) as servers:
        servers.list_missing()
        assert servers.take_notices() == []
    return facts(home)


def refused(home: Home, one: Server) -> str:
    """Why a server is not started, to which nobody has said yes."""
    with used(home, one) as servers:
        servers.list_missing()
        (why,) = servers.take_notices()
    assert not (home.root.parent / "facts").exists()
    return why


# -------- servers that name nothing of the home


def test_a_module_is_not_taken_from_what_the_agent_wrote(home: Home) -> None:
    for path in ("json/__init__.py", "workspace/json.py", "runpy.py"):
        put(home, path, PLANTED)
    told = started(home, server(home, "-m", "told_server", env=installed(home)))
    assert not (home.root.parent / "facts.rce").exists()
    assert not Path(told["cwd"]).is_relative_to(home.root)
    assert told["safe"] == "1"


@pytest.mark.skipif(os.name == "nt", reason="a script for sh")
@pytest.mark.parametrize("folder", ["", "."])
def test_nor_is_a_program_of_node(home: Home, folder: str, tmp_path: Path) -> None:
    npx = tmp_path / "bin" / "npx"
    npx.parent.mkdir()
    looks = f"[ -e node_modules/.bin/notes ] && touch $FACTS.rce\nexec {sys.executable} "
    npx.write_text(f"#!/bin/sh\n{looks} -m told_server\n", "utf-8")
    npx.chmod(0o755)
    put(home, "node_modules/.bin/notes", "#!/bin/sh\n")
    one = server(home, "-y", "notes", command=str(npx), env=installed(home), cwd=folder)
    if folder:  # then the user says so himself, and what lies there is under his yes
        assert "you have not allowed it yet" in refused(home, one)
    else:
        started(home, one)
        assert not (tmp_path / "facts.rce").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["npx", "-y", "@scope/files", "workspace"],
        ["npx", "-y", "@scope/files", "{home}"],
        ["npx", "memory"],
        ["uvx", "--python", "3.12", "mcp-server-git", "--repository", "."],
        ["uvx", "mcp-sqlite", "--db-path", "{home}/workspace/new.db"],
        ["uv", "run", "--directory", "/opt/srv", "server.py", "workspace"],
        ["python3", "-m", "memory"],
        ["python3", "/opt/server.py", "{home}/memory"],
        ["node", "/opt/server.js", "memory/MEMORY.md"],
        ["docker", "run", "-v", "{home}/workspace:/data", "mcp/files", "/data"],
        ["mcp-files", "workspace", "memory/MEMORY.md", "--log", "workspace/x.log"],
        ["mcp-memory", "workspace/graph.json", "{home}/workspace/graph.json"],
    ],
)
def test_what_a_server_only_works_with_needs_no_yes(home: Home, words: list[str]) -> None:
    (home.root / "memory" / "MEMORY.md").touch()
    (home.workspace / "graph.json").touch()
    filled = [word.replace("{home}", str(home.root)) for word in words]
    one = Server("x", command=filled[0], args=tuple(filled[1:]))
    assert ServerStarter(home, [one]).asked().servers == ()


def test_a_path_of_the_home_is_still_found_from_elsewhere(home: Home) -> None:
    put(home, "notes/a.txt", "hello")
    script = home.root.parent / "server.py"
    script.write_text(
        "import sys\nassert open(sys.argv[1]).read() == 'hello'\n"
        "assert open(sys.argv[2]).read() == 'there'\nopen('workspace/new.txt', 'w')\n" + TELLING
    )
    put(home, "workspace/b.txt", "there")
    started(home, server(home, str(script), "notes/a.txt", "workspace/b.txt"))
    assert (home.workspace / "new.txt").exists()


def test_the_folders_of_programs_are_none_of_the_home(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = home.workspace / "bin" / "notes-mcp"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\ntouch $FACTS\n", "utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}.{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(program.parent)
    assert "there is no program notes-mcp" in refused(home, server(home, command="notes-mcp"))


# -------- servers that do


@pytest.mark.skipif(os.name == "nt", reason="links")
def test_a_link_elsewhere_that_leads_into_the_home_is_in_the_home(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(home, "tools/server.py", f"#!{sys.executable}\n{TELLING}")
    (home.root / "tools" / "server.py").chmod(0o755)
    link = tmp_path / "bin" / "server.py"
    link.parent.mkdir()
    link.symlink_to(home.root / "tools" / "server.py")
    for one in (server(home, str(link)), server(home, command=str(link))):
        assert "you have not allowed it yet" in refused(home, one)
        assert not Path(started(home, one, yes=True)["file"]).is_relative_to(home.root)
        for file in ("trust.json", "facts", "mcp.json"):
            (tmp_path / file).unlink()
    monkeypatch.setenv("PATH", f"{link.parent}{os.pathsep}{os.environ['PATH']}")
    assert "server.py lies in the home" in refused(home, server(home, command="server.py"))


@pytest.mark.parametrize(
    ("words", "more"),
    [
        (["python3", "tools/server.py"], {}),
        (["python3", "-X", "dev", "tools/server.py"], {}),
        (["python3", "server.py"], {"cwd": "tools"}),
        (["python3", "-m", "server"], {"cwd": "tools"}),
        (["./tools/server.py"], {}),
        (["{home}/tools/server.py"], {}),
        (["env", "A=1", "python3", "tools/server.py"], {}),
        (["sh", "-c", "cd tools && exec python3 server.py"], {}),
        (["npx", "-y", "./tools"], {}),
        (["npx", "--package", "./tools", "x"], {}),
        (["npx", "-y", "notes"], {"cwd": "tools"}),
        (["npx", "-y", "notes"], {"cwd": "."}),
        (["npm", "start", "--prefix", "tools"], {}),
        (["uv", "--directory", "tools", "run", "srv"], {}),
        (["uv", "run", "--python", "3.12", "--directory", "{home}/tools", "srv"], {}),
        (["uvx", "--from", "./tools", "srv"], {}),
        (["node", "--require", "./tools/server.py", "/opt/x.js"], {}),
        (["deno", "run", "-A", "tools/server.py"], {}),
        (["make", "-C", "tools", "serve"], {}),
        (["mcp-x", "--plugin=tools/server.py"], {}),
        (["docker", "compose", "-f", "./compose.yml", "up"], {}),
        (["docker-compose", "--file=workspace/compose.yml", "up"], {}),
        (["mcp-proxy", "--named-server-config", "./servers.json"], {}),
        (["python3", "-m", "x"], {"env": {"PYTHONPATH": "{home}/tools"}}),
        (["python3", "-m", "x"], {"env": {"PYTHONPATH": "{home}"}}),
        (["node", "/x.js"], {"env": {"NODE_OPTIONS": "--require ./tools/server.py"}}),
        (["python3", "{home}/tools/not_yet.py"], {}),
        (["python3", "workspace/not_yet.py"], {}),
    ],
)
def test_what_runs_files_of_the_home_needs_a_yes(
    home: Home, words: list[str], more: dict[str, Any]
) -> None:
    for path in ("tools/server.py", "compose.yml", "workspace/compose.yml", "servers.json"):
        put(home, path)
    filled = json.loads(json.dumps([words, more]).replace("{home}", home.root.as_posix()))
    one = Server("told", command=filled[0][0], args=tuple(filled[0][1:]), **filled[1])
    starts = ServerStarter(home, [one], Trust(home.root.parent / "trust.json"))
    assert starts.asked().servers == (one,)
    assert "you have not allowed it yet (openclaw mcp trust)" in refused(home, one)


@pytest.mark.parametrize("path", ["tools/server.py", "workspace/srv/server.py", "workspace/x.py"])
def test_with_a_yes_it_runs_from_a_copy_until_it_changes(home: Home, path: str) -> None:
    one = server(home, put(home, path))
    told = started(home, one, yes=True)
    assert not any(Path(told[key]).is_relative_to(home.root) for key in ("cwd", "file"))
    put(home, path, PLANTED)
    (home.root.parent / "mcp.json").unlink()
    with used(home, one) as servers:
        servers.list_missing()
        assert (
            "they have changed since you allowed it (openclaw mcp trust)"
            in servers.take_notices()[0]
        )
    assert not (home.root.parent / "facts.rce").exists()


@pytest.mark.parametrize(
    ("args", "more"),
    [
        (["-m", "server"], {"cwd": "tools"}),
        (["server.py"], {"cwd": "tools"}),
        (["server.py"], {"cwd": "{home}/tools"}),
        (["-m", "server"], {"env": {"PYTHONPATH": "{home}/tools"}}),
    ],
)
def test_modules_beside_a_server_come_along(
    home: Home, args: list[str], more: dict[str, Any]
) -> None:
    put(home, "tools/helper.py", "x = 1\n")
    put(home, "tools/server.py", f"import helper\n{TELLING}")
    filled = json.loads(json.dumps(more).replace("{home}", home.root.as_posix()))
    told = started(home, server(home, *args, **filled), yes=True)
    assert not Path(told["file"]).is_relative_to(home.root)


def test_the_home_is_the_folder_where_the_settings_say_so(home: Home) -> None:
    put(home, "json/__init__.py", PLANTED)
    told = started(home, server(home, "-m", "told_server", env=installed(home), cwd="."))
    assert (told["cwd"], told["safe"]) == (str(home.root), "1")
    assert not (home.root.parent / "facts.rce").exists()


@pytest.mark.parametrize("folder", ["workspace", "memory"])
def test_no_yes_is_possible_to_a_folder_that_changes_daily(home: Home, folder: str) -> None:
    why = refused(home, server(home, "-y", "notes", command="npx", cwd=folder))
    assert "cannot be trusted" in why and "change in every turn" in why


def test_a_yes_to_hooks_is_none_to_servers(home: Home) -> None:
    one = server(home, put(home, "tools/server.py"))
    starts = ServerStarter(home, [one], Trust(home.root.parent / "trust.json"))
    starts.trust.allow(home, starts.asked().mark)
    assert starts.state(starts.asked()) == "new"
    starts.allow(starts.asked())
    assert starts.state(starts.asked()) == "trusted"
    assert starts.trust.revoke(home, KIND) and starts.state(starts.asked()) == "new"


# -------- what the agent may write, and what the user types


@pytest.mark.parametrize("mode", sample(["edit", "full"]))
@pytest.mark.parametrize(
    ("args", "path"),
    sample([
        (["tools/server.py"], "json/__init__.py"),
        (["tools/server.py"], "tools/helper.py"),
        (["workspace/srv/server.py"], "workspace/srv/helper.py"),
        (["workspace/srv/server.py"], "Workspace/SRV/server.py"),
        (["workspace/not_yet.py"], "workspace/not_yet.py"),
        (["-u", "tools/not/yet.py"], "tools/not/yet.py"),
        (["-u", "other/not_yet.py"], "other/not_yet.py"),
    ], 3),
)  # fmt: skip
def test_the_agent_asks_before_it_writes_what_a_server_runs(
    home: Home, mode: Any, args: list[str], path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("tools/server.py", "workspace/srv/server.py"):
        put(home, name)
    spoken = talk(home.root, mode=mode, mcp=as_settings(server(home, *args)))
    assert spoken.app.mcp_tools
    spoken.app.mcp_tools.close()
    learn = call("read_file", path="sessions/old.json")  # what others may have written
    put(home, "sessions/old.json", '{"id": "old", "messages": []}')
    written = spoken.say(
        "Write it.", learn, call("write_file", path=path, content="x"), "I could not."
    )
    assert "Refused" in results(written)[-1]
    spoken.app.close()
    npx = home.root.parent / "bin" / "npx"  # a real one would ask its registry
    npx.parent.mkdir()
    npx.write_text("#!/bin/sh\n", "utf-8")
    npx.chmod(0o755)
    monkeypatch.setenv("PATH", f"{npx.parent}{os.pathsep}{os.environ['PATH']}")
    free = talk(home.root, mode=mode, mcp=as_settings(Server("x", command="npx", args=("-y", "x"))))
    done = free.say("Write it.", call("write_file", path="build/a.mk", content="x"), "Done.")
    assert "Refused" not in results(done)[-1]
    free.app.close()


def test_a_server_waits_is_allowed_changes_and_is_taken_back(home: Home) -> None:
    one = server(home, put(home, "tools/server.py"))
    (home.root / "openclaw.yaml").write_text(f"mcp: {json.dumps(as_settings(one))}\n", "utf-8")
    assert "told  to review" in claw("list")
    waiting = check_mcp(home, load_settings(home))
    assert waiting.state == "warning" and "not started (told), as they run" in waiting.found
    err = claw.error("test", "told", code=1)
    assert "told cannot be used: it runs files of this home, and you have not allowed it yet" in err
    assert "tools/server.py" in claw("trust", "--yes")
    assert "told__echo" not in claw("list")
    assert "told__echo" in claw("test", "told")
    put(home, "tools/other.py", "")
    assert "told  changed, to review" in claw("list")
    assert "run no more" in claw("trust", "--revoke")
    assert "they were not allowed" in claw("trust", "--revoke")


@pytest.mark.parametrize(("reply", "state"), [("y", "trusted"), ("n", "new"), ("", "new")])
def test_a_talk_asks_for_the_yes(home: Home, reply: str, state: str) -> None:
    one = server(home, put(home, "tools/server.py"))
    (home.root / "openclaw.yaml").write_text(f"mcp: {json.dumps(as_settings(one))}\n", "utf-8")
    told: list[str] = []
    with closing(Agent.open(home, load_settings(home))) as agent:
        ask_for_trust(agent, lambda question: reply, told.append)
    assert "  tools/server.py" in told
    starts = ServerStarter(home, read_servers({"mcpServers": as_settings(one)})[0])
    assert starts.state(starts.asked()) == state


def test_where_no_server_runs_a_file_of_the_home_there_is_nothing_to_say(home: Home) -> None:
    (home.root / "openclaw.yaml").write_text("mcp: {x: {command: npx, args: [x]}}\n", "utf-8")
    refused = claw.error("trust", "--yes", code=2)
    assert "no MCP servers to allow" in refused and "docs/mcp.md" in refused


@pytest.mark.skipif(os.name == "nt", reason="files in use")
def test_a_program_that_is_exchanged_all_the_time_is_never_the_other_one(home: Home) -> None:
    one = server(home, put(home, "server.py"))
    starts = ServerStarter(home, [one], Trust(home.root.parent / "trust.json"))
    starts.allow(starts.asked())
    bad = write_file(home.root / "bad.md", PLANTED)
    ran: list[str] = []
    with exchanged(home.root / "server.py", bad):
        for number in range(10_000):
            if ran and number >= 100:
                break
            with suppress(AwayError, FileNotFoundError), starts.prepare(one) as (words, folder, _):
                ran.append((folder / words[1]).read_text("utf-8"))
    assert ran and set(ran) == {TELLING}
