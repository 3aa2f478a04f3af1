"""Every call of a tool is on record, without secrets, and the record never fails a turn."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from datetime import datetime
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from openclaw.cli.main import app as cli
from openclaw.events import ToolEnd
from openclaw.security import audit
from openclaw.security.audit import Audit, older_path, read_actions
from openclaw.security.grants import read_grants
from openclaw.security.policy import PermissionQuestion
from openclaw.types import CallRecord
from tests.fakes.talk import NOON, Talk, call, done, notices

TOKEN = "ghp_" + "a8Fk2LmQ9zXw4TbV7nRc1YpD6sHj3GuE0oKi"


def record(it: Talk) -> list[dict[str, Any]]:
    path = it.app.home.action_log
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_a_call_is_one_line_that_says_all_of_it(it: Talk) -> None:
    it.say("Write.", call("write_file", path="workspace/a.md", content="text\n"), "Written.")
    (line,) = record(it)
    assert line.pop("seconds") < 5
    assert line == {
        "at": NOON.isoformat(timespec="milliseconds"),
        "session": it.session.id,
        "turn": 1,
        "tool": "write_file",
        "effect": "write",
        "target": "workspace/a.md",
        "decision": "allow",
        "by": "policy",
        "ok": True,
        "exit": None,
        "bytes": len("Created workspace/a.md (1 line)."),
    }


def test_what_was_asked_refused_or_no_call_at_all_is_there_too(it: Talk) -> None:
    soul = call("append_file", path="workspace/SOUL.md", text="x\n")
    it.say("Do.", soul, call("fly", to="moon"), call("read_file", path="no.md"), "Failed.")
    it.app.ask_user = lambda question: ""
    it.say("Do.", soul, "No.")
    it.app.ask_user = lambda question: "once"
    it.say("Do.", soul, "Done.")
    it.app.mode = "read-only"
    it.say("Do.", call("write_file", path="workspace/b.md", content="x"), "No.")
    found = [(line["tool"], line["decision"], line["by"], line["ok"]) for line in record(it)]
    assert found == [
        ("append_file", "deny", "nobody", False),
        ("fly", "", "", False),
        ("read_file", "", "", False),
        ("append_file", "deny", "user", False),
        ("append_file", "allow", "user", True),
        ("write_file", "deny", "policy", False),
    ]
    assert [line["turn"] for line in record(it)] == [1, 1, 1, 2, 3, 4]


def test_a_grant_is_named_by_its_line(it: Talk) -> None:
    it.app.grants, _ = read_grants(("2026-11-01 tool write_file",))
    it.app.mode = "ask"
    it.say("Write.", call("write_file", path="workspace/a.md", content="x"), "Written.")
    assert record(it)[0]["by"] == "2026-11-01 tool write_file"
    assert record(it)[0]["decision"] == "allow"


def test_no_secret_is_on_record(it: Talk) -> None:
    it.say("Read.", call("read_file", path=f"workspace/{TOKEN}.md"), "There is none.")
    writer = Audit(it.app.home.action_log)
    writer.write(
        CallRecord("run_shell", "run", f"curl -H 'Authorization: Bearer {TOKEN}' x.example")
    )
    text = it.app.home.action_log.read_text("utf-8")
    assert TOKEN not in text and "{{secret:" in text and "x.example" in text


def test_a_record_that_cannot_be_written_is_a_notice_and_nothing_more(it: Talk) -> None:
    (it.root / ".openclaw").mkdir(exist_ok=True)
    (it.root / ".openclaw" / "logs").write_text("in the way", "utf-8")
    happened = it.say("Write.", call("write_file", path="workspace/a.md", content="x"), "Written.")
    assert done(happened).answer == "Written." and (it.root / "workspace" / "a.md").exists()
    assert notices(happened).count("record of actions") == 1


def test_only_its_owner_may_read_it(it: Talk) -> None:
    it.say("Look.", call("list_files"), "Looked.")
    mode = it.app.home.action_log.stat().st_mode
    assert sys.platform == "win32" or not mode & 0o077


def test_many_writers_leave_whole_lines(tmp_path: Path) -> None:
    def write(number: int) -> None:
        writer = Audit(tmp_path / "actions.jsonl", session=f"s{number}")
        for turn in range(50):
            writer.write(CallRecord("run_shell", target=f"{turn} " + "x" * 300))

    threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = (tmp_path / "actions.jsonl").read_text("utf-8").splitlines()
    assert len(lines) == 200 == len([json.loads(line) for line in lines])


def test_a_large_record_begins_anew_and_keeps_the_one_before(tmp_path: Path) -> None:
    path = tmp_path / "actions.jsonl"
    for content in ("first", "second"):
        path.write_text(f'{{"tool": "{content}"}}\n' + " " * audit.MAX_BYTES, "utf-8")
        Audit(path).write(CallRecord("newest"))
        assert path.stat().st_size < 1000
        assert older_path(path).read_text("utf-8").startswith(f'{{"tool": "{content}"}}')
    assert [action["tool"] for action in read_actions(path, 9)] == ["second", "newest"]
    assert [action["tool"] for action in read_actions(path, 1)] == ["newest"]


def test_lines_that_are_none_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "actions.jsonl"
    path.write_bytes(b'{"tool": "a"}\n\xff\xfe\n[1]\n{"tool": \n{"tool": "b"}')
    assert [action["tool"] for action in read_actions(path, 9)] == ["a", "b"]


def test_no_action_is_hidden_by_a_line_end_of_unicode(tmp_path: Path) -> None:
    Audit(tmp_path / "actions.jsonl").write(CallRecord("run_shell", target="curl x\u2028 \x85 y"))
    assert [action["target"] for action in read_actions(tmp_path / "actions.jsonl", 9)] == [
        "curl x\u2028 \x85 y"
    ]


def test_the_seconds_are_those_of_the_call_and_not_of_the_answer(it: Talk) -> None:
    def slow(question: PermissionQuestion) -> str:
        time.sleep(0.3)
        return "once"

    it.app.ask_user = slow
    happened = it.say("Do.", call("append_file", path="workspace/SOUL.md", text="x\n"), "Done.")
    (ended,) = (event for event in happened if isinstance(event, ToolEnd))
    assert ended.ok and 0 < ended.seconds < 0.3
    assert 0 < record(it)[0]["seconds"] < 0.3


def test_what_cannot_be_masked_is_left_out_and_told(tmp_path: Path) -> None:
    def fails(text: str) -> str:
        if text == "curl x":
            raise OSError("disk full")
        return text

    record = Audit(tmp_path / "actions.jsonl", mask=fails)
    record.write(CallRecord("run_shell", target="curl x", by="user"))
    (line,) = read_actions(tmp_path / "actions.jsonl", 9)
    assert "target" not in line and line["by"] == "user"
    assert record.trouble == "the record of actions was written without target: disk full"


def test_a_line_stays_short_and_on_one_line(tmp_path: Path) -> None:
    Audit(tmp_path / "actions.jsonl", now=lambda: datetime(2026, 11, 21)).write(
        CallRecord("run_shell", target="a\nb\u2028" + "x" * 100_000)
    )
    text = (tmp_path / "actions.jsonl").read_bytes()
    assert text.count(b"\n") == 1 and len(text) < 1500


# -------- openclaw log


def log(it: Talk, *words: str) -> str:
    result = CliRunner().invoke(cli, ["--home", os.fspath(it.root), "log", *words])
    assert result.exit_code == 0, result.output
    return result.output


def test_the_log_shows_the_newest_actions(it: Talk) -> None:
    it.say("Write.", call("write_file", path="workspace/a.md", content="x"), "Written.")
    it.say("Read.", call("read_file", path="workspace/\u202ea.md"), "There is none.")
    shown = log(it, "--actions")
    lines = shown.splitlines()
    assert lines[0].split()[:3] == ["AT", "TOOL", "EFFECT"]
    assert "2026-11-21 12:00:00" in lines[1] and "workspace/a.md" in lines[1]
    assert "failed" in lines[2] and "\u202e" not in shown
    assert [action["tool"] for action in json.loads(log(it, "--actions", "--json"))] == [
        "write_file",
        "read_file",
    ]
    assert [action["tool"] for action in json.loads(log(it, "--actions", "--json", "-n", "1"))] == [
        "read_file"
    ]


def test_a_log_without_actions_says_so(it: Talk) -> None:
    assert log(it, "--actions") == "no actions yet\n"
    assert json.loads(log(it, "--actions", "--json")) == []
