"""Progress of a running tool: the tail of a command's output, the start of a server."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from openclaw.events import Notice, Progress, to_wire, waiting_event
from openclaw.messages import Waiting
from tests.fakes.mcp_home import as_settings, bare
from tests.fakes.talk import answer, call, talk


@pytest.mark.skipif(os.name == "nt", reason="a line for sh")
def test_the_tail_of_a_command_is_shown_in_whole_lines_without_secrets(tmp_path: Path) -> None:
    it = talk(tmp_path / "home", mode="full")
    secret = "ghp_" + "a8Fk2LmQ9zXw4TbV7nRc1YpD6sHj3GuE0oKi"
    (tmp_path / "home" / "workspace" / "key").write_text(f"{secret}\n", "utf-8")
    told: list[Progress] = []
    it.app.progress = told.append
    # One write: on a busy machine a look would else come between two lines.
    line = 'printf "one\\n%s\\nthree\\nfour\\nhalf" "$(cat workspace/key)"; sleep 0.7'
    it.say("run it", call("run_shell", command=line), answer("There were lines."))
    tails = [each.tail for each in told if each.tail]
    assert tails == [("{{secret:github-token-1}}", "three", "four")]


def test_a_server_start_is_shown(tmp_path: Path) -> None:
    pytest.importorskip("mcp")
    it = talk(tmp_path / "home", mcp=as_settings(bare("plain")))
    told: list[Progress] = []
    it.app.progress = told.append
    try:
        it.say("hello", answer("Hello."))
    finally:
        it.app.close()
    assert told == [Progress("starting MCP server bare"), Progress()]


def test_a_local_server_is_handed_data_and_is_not_the_network(tmp_path: Path) -> None:
    pytest.importorskip("mcp")
    it = talk(tmp_path / "home", mcp=as_settings(bare("plain")))
    try:
        it.say("hello", answer("Hello."))
        it.say("echo it", call("bare__echo", words="it"), answer("I was not allowed to."))
    finally:
        it.app.close()
    told = it.session.messages[-2].tool_calls[0].output
    assert 'mode "edit": handing data to the program bare needs your OK' in told


def test_a_wait_with_a_share_is_overwritten_and_one_without_is_a_line() -> None:
    assert waiting_event(Waiting("loading model")) == Notice("loading model")
    reading = waiting_event(Waiting("reading the instructions", 0.5))
    assert reading == Progress("reading the instructions", 0.5)
    assert to_wire(reading) == {
        "event": "progress", "what": "reading the instructions", "share": 0.5, "tail": (),
    }  # fmt: skip
