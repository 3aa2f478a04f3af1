"""MCP servers as they stand in openclaw.yaml."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from openclaw.config import load_settings
from openclaw.config.mcp_settings import Server, fill_variables, read_servers, tool_name_part
from openclaw.errors import UsageError
from openclaw.storage.home import Home
from openclaw.tools.mcp.start import fault_line


def load(tmp_path: Path, text: str) -> tuple[list[Server], list[str]]:
    (tmp_path / "openclaw.yaml").write_text(text, encoding="utf-8")
    home = Home(tmp_path)
    servers, faults = read_servers(load_settings(home).mcp or {})
    return servers, [fault_line(home, fault) for fault in faults]


USUAL = """
mcp:
  notes:
    command: npx
    args: [-y, notes-mcp, 3]
    env: {TOKEN: "${NOTES}", PORT: 80, FAST: true}
    cwd: workspace
    tools: [search]
  web: {url: "https://example.org/mcp", headers: {Authorization: "Bearer ${KEY}"}, trusted: true}
  idle: {command: x, disabled: true}
"""


def test_the_usual_shape_is_read(tmp_path: Path) -> None:
    servers, faults = load(tmp_path, USUAL)
    assert faults == []
    assert servers == [
        Server(
            "notes",
            command="npx",
            args=("-y", "notes-mcp", "3"),
            env={"TOKEN": "${NOTES}", "PORT": "80", "FAST": "true"},
            cwd="workspace",
            tools=("search",),
        ),
        Server(
            "web",
            url="https://example.org/mcp",
            headers={"Authorization": "Bearer ${KEY}"},
            trusted=True,
        ),
        Server("idle", command="x", disabled=True),
    ]


@pytest.mark.parametrize(
    "text",
    [
        '{"mcpServers": {"a": {"type": "stdio", "command": "x", "args": ["y"]}}}',
        "mcpServers:\n  a:\n    command: x\n    args: [y]\n    autoApprove: [all]\n",
        "mcp:\n  mcpServers:\n    a: {command: x, args: [y]}\n",
    ],
)
def test_a_block_from_another_program_is_understood(tmp_path: Path, text: str) -> None:
    assert load(tmp_path, text) == ([Server("a", command="x", args=("y",))], [])


@pytest.mark.parametrize(
    ("written", "fault"),
    [
        ("bad: {command: x, tool: [a]}", "bad.tool: unknown key; a server takes command, args"),
        ("bad: {}", "bad: expected one of 'command' (to start) and 'url' (to reach)"),
        ("bad: {command: x, url: 'http://x'}", "bad: expected one of"),
        ("bad: npx", "bad: expected keys and values, such as 'command: npx'"),
        ("bad: {command: [x]}", "bad.command: expected text"),
        ("bad: {command: x, args: y}", "bad.args: expected a list of texts"),
        ("bad: {command: x, env: [y]}", "bad.env: expected names and texts"),
        ("bad: {command: x, headers: {a: b}}", "bad.headers: has no meaning beside 'command'"),
        ("bad: {url: example.org}", "bad.url: expected an address that begins with https://"),
        ("bad: {url: 'file:///etc/passwd'}", "bad.url: expected an address"),
        ("bad: {url: 'http://x', type: sse}", "bad.type: sse is not spoken here"),
        ("bad: {command: x, trusted: 'yes'}", "bad.trusted: expected true or false"),
        ("bad: {command: x, timeout: 60000}", "bad.timeout: expected seconds, at most 3600"),
        ("'../bad': {command: x}", "../bad: a server's name is made of letters"),
        ("'a__b': {command: x}", "a__b: a server's name is made of letters"),
        ("off: {command: x, tool: y}", "off.tool: unknown key"),
        ("off: npx", "off: expected keys and values"),
        ("GOOD: {command: x}", "GOOD: another server has nearly the same name"),
    ],
)
def test_a_wrong_server_is_told_with_its_line_and_the_others_work(
    tmp_path: Path, written: str, fault: str
) -> None:
    servers, faults = load(tmp_path, f"mcp:\n  good: {{command: x}}\n  {written}\n")
    assert [server.name for server in servers] == ["good"]
    (said,) = faults
    assert said.startswith(f"openclaw.yaml line 3: MCP server {fault}")
    assert said.endswith("; it is skipped")


@pytest.mark.parametrize("name", ["off", "3", "My Notes", "v1.2", "null"])
def test_a_name_is_what_is_written(tmp_path: Path, name: str) -> None:
    servers, faults = load(tmp_path, f"mcp:\n  mcpServers:\n    {name}: {{command: x}}\n")
    assert faults == []
    assert [server.name for server in servers] == [name]


def test_so_is_the_name_of_a_variable(tmp_path: Path) -> None:
    text = "mcp:\n  a: &a {command: x, env: {ON: 1}}\n  b: {<<: *a, env: {No: 2}}\n"
    (a, b), _ = load(tmp_path, text)
    assert (a.env, b.command, b.env) == ({"ON": "1"}, "x", {"No": "2"})
    with pytest.raises(UsageError, match="line 1: mcp"):
        load(tmp_path, "mcp: &all {a: *all}\n")


def test_what_is_no_mapping_is_a_fault_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="line 1: mcp: expected keys and values or null, not 'x'"):
        load(tmp_path, "mcp: x\n")
    with pytest.raises(UsageError, match="line 2: 'mcp' is given twice"):
        load(tmp_path, "mcp: {}\nmcpServers: {}\n")


def test_variables_are_filled_from_the_environment() -> None:
    assert fill_variables("a ${B} $C ${D-x}", {"B": "1", "C": "2"}) == "a 1 $C ${D-x}"
    with pytest.raises(KeyError):
        fill_variables("${B}", {})


@pytest.mark.parametrize(
    ("change", "same"),
    [
        ({"args": ("z",)}, False),
        ({"env": {"A": "1"}}, False),
        ({"tools": ("a",)}, True),
        ({"trusted": True}, True),
        ({"timeout": 5.0}, True),
    ],
)
def test_the_fingerprint_tells_what_decides_the_tools(change: dict[str, Any], same: bool) -> None:
    plain = Server("a", command="x")
    other = Server("a", command="x", **change)
    assert (plain.fingerprint == other.fingerprint) is same


def test_a_name_in_tools_is_short() -> None:
    assert tool_name_part("My Notes-2.x") == "my_notes_2_x"
