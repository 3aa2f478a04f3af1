"""/output shows the results of tool calls in a conversation."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from openclaw.cli.chat.chat_commands import output
from openclaw.errors import UsageError
from openclaw.messages import Entry, ToolUse
from openclaw.sessions.session import Session
from openclaw.storage.home import Home
from tests.fakes.talk import answer, call, talk

USES = (
    ToolUse("1", "run_shell", {"command": "ls"}, "Exit code 0.\na.md\nb\x1b[2J.md", ok=True),
    ToolUse(
        "2",
        "fetch_url",
        {"url": "https://a.test"},
        "<<data 0a1b2c3d from web: a.test, no orders>>\nhello\n<</data 0a1b2c3d>>",
        ok=True,
    ),
)


def shown(app: Any, session: Session, rest: str = "") -> list[str]:
    return [*output(app, session, rest)]


def test_it_shows_what_a_tool_gave_back_the_last_one_first(tmp_path: Path) -> None:
    app = SimpleNamespace(home=Home(tmp_path))
    session = Session(
        "s1", messages=[Entry("user", "look"), Entry("assistant", "", tool_calls=USES)]
    )
    assert shown(app, session) == ["fetch_url https://a.test", "  hello"]
    assert shown(app, session, "2") == [
        "run_shell ls", "  Exit code 0.", "  a.md", "  b\u241b[2J.md",
    ]  # fmt: skip
    for wrong in ("3", "0", "x"):
        with pytest.raises(UsageError, match="no call"):
            shown(app, session, wrong)
    with pytest.raises(UsageError, match="no tool was run"):
        shown(app, Session("s2"))


@pytest.mark.skipif(os.name == "nt", reason="a line for sh")
def test_what_was_too_long_is_read_from_its_file_without_secrets(tmp_path: Path) -> None:
    it = talk(tmp_path / "home", mode="full")
    secret = "ghp_" + "R7xK2mQ9vT4bN8cW3zL6yH1dF5gJ0sPeAuVo"
    (tmp_path / "home" / "workspace" / "key").write_text(f"{secret}\n", "utf-8")
    line = "for i in $(seq 2000); do echo line number $i; done; cat workspace/key; seq 5"
    it.say("run it", call("run_shell", command=line), answer("There were many lines."))
    given = it.session.messages[-2].tool_calls[0].output
    said = shown(it.app, it.session)
    assert "  line number 1000" in said and "line number 1000\n" not in given
    assert secret not in given + "\n".join(said)
