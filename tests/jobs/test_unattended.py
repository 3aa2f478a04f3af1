"""`openclaw heartbeat`: once, unattended, and silent when there is nothing to say."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from datetime import datetime
from datetime import time as clock
from pathlib import Path
from typing import Any

import pytest

from openclaw.config import Settings
from openclaw.errors import UsageError
from openclaw.jobs.unattended import (
    is_within,
    parse_hours,
    prompt_of,
    read_tasks,
    run_lock,
    text_for_user,
    todays_session,
    unattended_mode,
    unattended_settings,
)
from openclaw.stopping import check_stop, stopped_after
from openclaw.storage.home import Home
from openclaw.storage.new_home import create_home
from tests.fakes.command import openclaw
from tests.fakes.needs import posix
from tests.fakes.ollama_server import Answer, FakeOllama, last_words
from tests.fakes.talk import Talk, call, done, talk

TASKS = "# Every morning\n\n- Say which to-dos are overdue.\n"


def write(home: Path, text: str = TASKS) -> None:
    (home / "workspace" / "HEARTBEAT.md").write_text(text, "utf-8")


def saved_sessions(home: Path) -> list[str]:
    return sorted(path.stem for path in home.glob("sessions/*.json"))


# -------- what there is to do


@pytest.mark.parametrize(
    "text",
    [
        *("", "\n\n", "# Heartbeat\n", "<!-- - Say hello. -->\n", "# A\n\n<!-- never\nclosed"),
        *("# A\n\n- \n- [ ]\n* \n1.\n", "=====\n", "---\n"),
    ],
)
def test_without_a_task_no_model_is_asked(home: Path, fake_ollama: FakeOllama, text: str) -> None:
    write(home, text)
    result = openclaw("heartbeat")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert not fake_ollama.requests and not saved_sessions(home)


def test_without_the_file_no_model_is_asked(home: Path, fake_ollama: FakeOllama) -> None:
    assert openclaw("heartbeat").returncode == 0
    told_json = json.loads(openclaw("heartbeat", "--json").stdout)
    assert told_json["silent"] and "HEARTBEAT.md" in told_json["why"]
    assert not fake_ollama.requests


@pytest.mark.skipif(sys.platform == "win32", reason="terminals")
def test_on_a_terminal_it_says_why_it_is_silent(home: Path) -> None:
    ours, theirs = os.openpty()
    words = [sys.executable, "-m", "openclaw", "heartbeat"]
    done_ = subprocess.run(words, stdout=theirs, stderr=subprocess.PIPE, timeout=60, check=False)
    for end in (ours, theirs):
        os.close(end)
    why = b"openclaw: nothing to do: workspace/HEARTBEAT.md is not there or names no task\n"
    assert (done_.returncode, done_.stderr) == (0, why)


def test_comments_are_no_tasks(tmp_path: Path) -> None:
    create_home(tmp_path)
    write(tmp_path, "# A\n<!-- an example -->\n- [ ] Look at the to-dos.\n")
    assert read_tasks(Home(tmp_path)) == "# A\n\n- [ ] Look at the to-dos."


# -------- what there is to say


def test_a_message_is_printed_and_saved_in_its_own_conversation(
    home: Path, fake_ollama: FakeOllama
) -> None:
    write(home)
    (home / "memory" / "TODO.md").write_text("- [ ] rent due:2026-01-01\n", "utf-8")
    fake_ollama.say("The rent is overdue.")
    result = openclaw("heartbeat")
    assert (result.returncode, result.stdout, result.stderr) == (0, "The rent is overdue.\n", "")
    asked = last_words(fake_ollama.chats[0])
    assert "- Say which to-dos are overdue." in asked and "rent due:2026-01-01" in asked
    [name] = saved_sessions(home)
    assert name.startswith("heartbeat-")


@pytest.mark.parametrize("answer", ["HEARTBEAT_OK", "**HEARTBEAT_OK**", "heartbeat_ok.\n"])
def test_the_silence_word_prints_nothing(home: Path, fake_ollama: FakeOllama, answer: str) -> None:
    write(home)
    fake_ollama.say(answer)
    result = openclaw("heartbeat")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        *(("HEARTBEAT_OK", ""), ("`HEARTBEAT_OK`", ""), ("", ""), (" \n", ""), ("...", "")),
        *(("HEARTBEAT_OK!", ""), ("(HEARTBEAT OK)", "")),
        ("HEARTBEAT_OK: the rent is overdue.", "the rent is overdue."),
        ("HEARTBEAT_OK but the rent is late", "HEARTBEAT_OK but the rent is late"),
        ("HEARTBEAT_OK, but it rains", "HEARTBEAT_OK, but it rains"),
        ("HEARTBEAT_OK. The rent is late.", "The rent is late."),
        ("Everything fine. I checked it, HEARTBEAT_OK", "Everything fine. I checked it"),
        ("The rent is overdue.\n\nHEARTBEAT_OK", "The rent is overdue."),
        ("Rent: 3 days late. HEARTBEAT_OK.", "Rent: 3 days late."),
        ("The word is HEARTBEAT_OKAY", "The word is HEARTBEAT_OKAY"),
        ("When HEARTBEAT_OK is said, all is well", "When HEARTBEAT_OK is said, all is well"),
        ("- rent\n- tax", "- rent\n- tax"),
    ],
)
def test_text_next_to_the_silence_word_is_printed(answer: str, said: str) -> None:
    assert text_for_user(answer) == said


def test_json_has_the_answer_or_why_it_is_silent(home: Path, fake_ollama: FakeOllama) -> None:
    write(home)
    fake_ollama.say("The rent is overdue.", "HEARTBEAT_OK")
    first = json.loads(openclaw("heartbeat", "--json").stdout)
    assert first["answer"] == "The rent is overdue." and first["silent"] is False
    assert first["session"].startswith("heartbeat-") and first["model"] == "ollama/fake:1b"
    second: dict[str, Any] = json.loads(openclaw("heartbeat", "--json").stdout)
    assert second["silent"] is True and second["why"] == "there is nothing to tell"


def test_hooks_that_do_not_run_are_named_even_in_silence(
    home: Path, fake_ollama: FakeOllama
) -> None:
    with (home / "openclaw.yaml").open("a", encoding="utf-8") as settings:
        settings.write("hooks:\n  before_turn: ./hooks/x.sh\n")
    write(home)
    fake_ollama.say("HEARTBEAT_OK")
    result = openclaw("heartbeat")
    assert (result.returncode, result.stdout) == (0, "")
    assert "hooks of this home do not run: you have not allowed it yet" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_what_needs_a_yes_is_refused_and_named(home: Path, fake_ollama: FakeOllama) -> None:
    write(home)
    run = ("run_shell", {"command": "rm -r workspace"})
    fake_ollama.say(Answer(calls=[run]), "HEARTBEAT_OK")
    result = openclaw("heartbeat")
    assert (result.returncode, result.stdout) == (7, "")
    assert "refused: run_shell" in result.stderr


def test_a_missing_model_is_reported(tmp_path: Path) -> None:
    create_home(tmp_path / "home", "model: embedded/none\n")
    write(tmp_path / "home")
    result = openclaw("heartbeat")
    assert (result.returncode, result.stdout) == (5, "")
    assert "none" in result.stderr


# -------- its conversation


def test_the_heartbeats_of_a_day_share_a_conversation_and_the_next_day_begins_another(
    tmp_path: Path,
) -> None:
    it = talk(tmp_path / "home")
    first = todays_session(it.app)
    assert first.id == "heartbeat-2026-11-21"
    Talk(it.app, it.model, first).say(prompt_of("- Look."), "HEARTBEAT_OK")
    assert todays_session(it.app).turns == 1
    it.app.now = lambda: datetime(2026, 11, 22, 7).astimezone()
    assert todays_session(it.app).turns == 0


def test_the_latest_conversation_is_never_a_heartbeats(tmp_path: Path) -> None:
    it = talk(tmp_path / "home")
    it.say("Hi.", "Hello.")
    Talk(it.app, it.model, todays_session(it.app)).say(prompt_of("- Look."), "HEARTBEAT_OK")
    assert it.app.sessions.load("latest").id == it.session.id


def test_a_heartbeat_notes_neither_facts_of_its_prompt_nor_promises(tmp_path: Path) -> None:
    it = talk(tmp_path / "home")
    it.app.settings = unattended_settings(it.app.settings)
    before = {path: path.read_bytes() for path in (it.root / "memory").rglob("*.md")}
    tasks = prompt_of("I always drink tea. My cat is called Mimi.")
    Talk(it.app, it.model, todays_session(it.app)).say(tasks, "I will remind you on Friday.")
    assert {path: path.read_bytes() for path in (it.root / "memory").rglob("*.md")} == before


@pytest.mark.parametrize(
    ("chosen", "mode"),
    [
        (None, "edit"),
        ("read-only", "read-only"),
        ("ask", "ask"),
        ("edit", "edit"),
        ("full", "edit"),
    ],
)
def test_it_never_runs_in_a_mode_that_needs_no_yes(chosen: Any, mode: str) -> None:
    assert unattended_mode(Settings(mode=chosen)) == mode


def test_in_mode_ask_a_change_is_refused_as_nobody_can_be_asked(tmp_path: Path) -> None:
    it = talk(tmp_path / "home", mode="ask")
    add = call("todo", action="add", list="Tasks", items=["milk"])
    end = done(it.say(prompt_of("- Add milk."), add, "It was refused."))
    assert end.refused


# -------- one at a time, and not for ever


def test_a_second_heartbeat_is_silent_while_one_runs(home: Path, fake_ollama: FakeOllama) -> None:
    write(home)
    with run_lock(Home(home)) as mine:
        assert mine
        holds = "import sys\nfrom openclaw.cli.main import run\nsys.exit(run(['heartbeat']))"
        second = subprocess.run(
            [sys.executable, "-c", holds], capture_output=True, timeout=60, check=False
        )
    assert (second.returncode, second.stdout, second.stderr) == (0, b"", b"")
    assert not fake_ollama.requests
    with run_lock(Home(home)) as mine:
        assert mine


def test_a_heartbeat_that_takes_too_long_is_ended_and_reported(
    home: Path, fake_ollama: FakeOllama
) -> None:
    write(home)
    (home / "openclaw.yaml").write_text(
        (home / "openclaw.yaml").read_text("utf-8") + "heartbeat:\n  timeout: 1\n", "utf-8"
    )
    fake_ollama.say(Answer(text=["Once ", *(f"a{n} time " for n in range(2000))], pause=0.05))
    result = openclaw("heartbeat")
    assert (result.returncode, result.stdout) == (1, "")
    assert "took longer than 1 s" in result.stderr and "heartbeat.timeout" in result.stderr
    [name] = saved_sessions(home)
    messages = json.loads((home / "sessions" / f"{name}.json").read_text("utf-8"))["messages"]
    assert messages[-1]["content"].startswith("Once")


@posix
def test_a_heartbeat_that_takes_too_long_before_the_model_is_asked_is_reported_too(
    home: Path, fake_ollama: FakeOllama
) -> None:
    write(home)
    slow = "heartbeat:\n  timeout: 1\nhooks:\n  before_turn: [sleep 30]\n"
    settings = (home / "openclaw.yaml").read_text("utf-8")
    (home / "openclaw.yaml").write_text(settings + slow, "utf-8")
    openclaw("hooks", "trust", "--yes")
    result = openclaw("heartbeat")
    assert (result.returncode, result.stdout) == (1, "")
    assert "took longer than 1 s" in result.stderr and not fake_ollama.chats


def test_a_limit_ends_what_looks_for_a_stop_and_nothing_after_its_end() -> None:
    with stopped_after(0.05) as over, pytest.raises(KeyboardInterrupt):
        while True:
            check_stop()
            time.sleep(0.01)
    assert over.is_set()
    with stopped_after(0.05) as over:
        pass
    time.sleep(0.1)
    check_stop()
    assert not over.is_set()


# -------- quiet hours


@pytest.mark.parametrize(
    ("hours", "quiet", "loud"),
    [
        ("22-7", ("22:00", "23:59", "00:00", "06:59"), ("07:00", "12:00", "21:59")),
        ("12-13", ("12:00", "12:59"), ("11:59", "13:00")),
        ("22:30-6:45", ("22:30", "06:44"), ("22:29", "06:45")),
        ("22-24", ("22:00", "23:59"), ("00:00", "21:00")),
    ],
)
def test_quiet_hours_go_over_midnight(
    hours: str, quiet: tuple[str, ...], loud: tuple[str, ...]
) -> None:
    for at in quiet:
        assert is_within(clock.fromisoformat(at), parse_hours(hours))
    for at in loud:
        assert not is_within(clock.fromisoformat(at), parse_hours(hours))


@pytest.mark.parametrize("hours", ["22", "a-b", "7-7", "25-3", "22-7-9", "10:75-11"])
def test_invalid_quiet_hours_are_an_error(hours: str) -> None:
    with pytest.raises(UsageError, match="no hours"):
        parse_hours(hours)


def test_in_quiet_hours_nothing_is_read_or_asked(home: Path, fake_ollama: FakeOllama) -> None:
    write(home)
    now = datetime.now()
    hours = f"{now.hour}-{(now.hour + 2) % 24}"
    result = openclaw("heartbeat", "--quiet-hours", hours)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert not fake_ollama.requests
