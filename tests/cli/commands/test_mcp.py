"""`openclaw mcp` as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from openclaw.config.mcp_settings import Server
from tests.fakes.command import CommandLine
from tests.fakes.mcp_home import as_settings, bare, needs_mcp
from tests.fakes.talk import new_home

claw = CommandLine("mcp")

pytestmark = needs_mcp


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return new_home(tmp_path / "home")


def put(home: Path, *servers: Server, more: str = "") -> None:
    text = json.dumps(as_settings(*servers))
    (home / "openclaw.yaml").write_text(f"mcp: {text[:-1]}{more}}}\n", "utf-8")


def test_without_servers_the_list_says_where_to_name_one(home: Path) -> None:
    assert claw("list") == ""
    assert claw.err == "no MCP servers yet: name one below `mcp:` in openclaw.yaml\n"
    assert claw("list", "--json") == "[]\n"


def test_a_server_is_listed_tried_and_then_known(home: Path) -> None:
    put(home, bare("plain"), more=', "wrong": {"tool": 1}')
    out = claw("list")
    err = claw.err
    assert "bare  not asked yet" in out
    assert "openclaw.yaml line 1: MCP server wrong.tool: unknown key" in err
    assert not (home / ".openclaw" / "logs").exists(), "a list starts nothing"
    out = claw("test", "bare")
    assert "bare__echo      send    Say it again" in out
    (listed,) = claw.json("list")
    assert listed["state"] == "2 tools"
    assert listed["tools"][1] == {
        "name": "bare__get_time",
        "effect": "send",
        "description": "Tell the time of a town",
    }
    assert claw.json("test", "bare") == listed


def test_a_server_that_cannot_be_used_says_why_and_where_its_log_is(home: Path) -> None:
    gone = Server("gone", command="no-such-program")
    put(home, gone, bare("chatter"), more=', "wrong": {"tool": 1}')
    err = claw.error("test", "gone", code=1)
    assert err == "openclaw: gone cannot be used: there is no program no-such-program\n"
    err = claw.error("test", "bare", code=1)
    assert "bare cannot be used: it does not speak MCP" in err
    assert "mcp-bare.log" in err
    states = {each["name"]: each["state"] for each in claw.json("list")}
    assert states == {
        "gone": "not reachable when last tried",
        "bare": "not reachable when last tried",
    }
    put(home, bare("plain"))
    claw("test", "bare")
    assert "bare  2 tools  " in claw("list")


def test_a_server_that_is_written_wrongly_is_not_said_to_be_missing(home: Path) -> None:
    put(home, bare("plain"), more=', "both": {"command": "x", "url": "http://x"}')
    err = claw.error("test", "both", code=2)
    assert err.startswith("openclaw: openclaw.yaml line 1: MCP server both: expected one of")
    assert "no MCP server" not in err


def test_a_name_that_is_none_is_told_with_those_that_are(home: Path) -> None:
    put(home, bare("plain"), more=', "idle": {"command": "x", "disabled": true}')
    assert "servers: bare, idle" in claw.error("test", "nothing", code=2)
    assert "idle is disabled" in claw.error("test", "idle", code=2)
    assert "idle  disabled" in claw("list")
