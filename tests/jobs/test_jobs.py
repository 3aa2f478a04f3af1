"""`openclaw jobs`: what is due runs once, what was missed is told, and a person adds jobs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from openclaw.history.record import Journal, new_turn
from openclaw.jobs.schedule import read_jobs
from openclaw.jobs.unattended import run_lock
from openclaw.server.served_jobs import ServedJobs
from openclaw.server.wire import PromptRequest
from openclaw.storage.home import Home
from tests.fakes.command import openclaw
from tests.fakes.ollama_server import Answer, FakeOllama
from tests.fakes.serving import serving

HOURLY = "| dues | hourly | Say what is due. | |\n"
WRITE = Answer(calls=[("write_file", {"path": "workspace/a.md", "content": "one\n"})])


def write(home: Path, *rows: str, ago: timedelta = timedelta(minutes=61)) -> None:
    """Write the table; it was changed so long ago."""
    file = home / "memory/JOBS.md"
    head = "# Jobs\n\n| name | when | do | tell |\n|---|---|---|---|\n"
    file.write_text(head + "".join(rows))
    at = time.time() - ago.total_seconds()
    os.utime(file, (at, at))


def jobs(home: Path, *words: str) -> Any:
    done = openclaw("--home", str(home), "jobs", *words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def in_past(ago: timedelta) -> str:
    return f"{datetime.now() - ago:%Y-%m-%d %H:%M}"


def test_what_is_due_runs_once_and_alone(home: Path, fake_ollama: FakeOllama) -> None:
    write(home, HOURLY)
    [listed] = jobs(home, "list")
    assert (listed["state"], listed["last"]) == ("due", None)
    fake_ollama.say("The rent.")
    [result] = jobs(home, "run")
    assert (result["name"], result["answer"]) == ("dues", "The rent.")
    assert result["session"].startswith("heartbeat-dues-")
    prompt = fake_ollama.chats[0]["messages"][-1]["content"]
    assert "Job dues, a scheduled run: nobody is here" in prompt
    assert jobs(home, "run") == []  # asks no model: the script has run out
    assert jobs(home, "list")[0]["state"] == ""


def test_one_job_can_be_tried_before_its_time(home: Path, fake_ollama: FakeOllama) -> None:
    write(home, HOURLY, ago=timedelta())
    assert jobs(home, "list")[0]["state"] == ""
    fake_ollama.say("The rent.")
    [result] = jobs(home, "try", "dues")
    assert (result["name"], result["answer"]) == ("dues", "The rent.")


def test_a_run_that_is_undone_is_not_repeated(home: Path, fake_ollama: FakeOllama) -> None:
    write(home, f"| one | {in_past(timedelta(minutes=1))} | Write it. | |\n")
    fake_ollama.say(WRITE, "Done.")
    jobs(home, "run")
    assert (home / "workspace/a.md").exists()
    assert openclaw("--home", str(home), "undo").returncode == 0
    assert not (home / "workspace/a.md").exists()
    assert jobs(home, "run") == []


def test_what_was_missed_runs_late_and_says_so(home: Path, fake_ollama: FakeOllama) -> None:
    write(home, "| dues | hourly | Say it. | |\n", ago=timedelta(hours=5, minutes=1))
    fake_ollama.say("The rent.")
    [result] = jobs(home, "run")
    assert result["answer"] == "The rent."
    assert result["told"].partition("missed before: ")[2].count(":00") == 3
    assert "and 1 more" in result["told"] or "and 2 more" in result["told"]


def test_what_is_older_than_a_day_is_told_once_and_not_run(home: Path) -> None:
    at = in_past(timedelta(days=2))
    write(home, f"| old | {at} | Say it. | |\n", ago=timedelta(days=3))
    [result] = jobs(home, "run")
    assert result["told"] == f"not run: it was due {at}"
    assert f"not run: it was due {at}" in (home / "workspace/jobs/old.md").read_text()
    assert jobs(home, "run") == []


def test_a_run_from_the_future_of_a_wrong_clock_does_not_count(
    home: Path, fake_ollama: FakeOllama
) -> None:
    turn = replace(new_turn("job dues"), at="2031-01-01T00:00:00+00:00")
    journal = Journal.begin(Home(home), turn)
    journal.writes(home / "workspace/a.md", None, b"a")
    journal.finish("done")
    write(home, HOURLY)
    fake_ollama.say("The rent.")
    assert [result["answer"] for result in jobs(home, "run")] == ["The rent."]


def test_a_job_that_was_never_there_misses_nothing(home: Path) -> None:
    write(home, "| new | daily 00:00, 12:00 | Say it. | |\n", ago=timedelta(0))
    assert jobs(home, "run") == []


def test_what_needs_a_yes_is_refused(home: Path, fake_ollama: FakeOllama) -> None:
    with (home / "openclaw.yaml").open("a") as settings:
        settings.write("mode: ask\n")
    write(home, HOURLY)
    fake_ollama.say(WRITE, "I may not.")
    done = openclaw("--home", str(home), "jobs", "run", "--json")
    assert json.loads(done.stdout)[0]["refused"]
    assert done.returncode != 0
    assert not (home / "workspace/a.md").exists()


def test_a_model_that_is_away_is_told_and_the_job_stays_due(
    home: Path, closed_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{closed_port}")
    write(home, HOURLY, "| list | hourly | todo due | file |\n")
    done = openclaw("--home", str(home), "jobs", "run")
    assert done.returncode == 4
    assert "job dues" in done.stderr
    assert "nothing is due" in (home / "workspace/jobs/list.md").read_text()
    assert [each["state"] for each in jobs(home, "list")] == ["due", ""]


@pytest.mark.parametrize("tell", ["print", "file"])
def test_a_line_that_cannot_be_written_keeps_no_other_job_from_running(
    home: Path, fake_ollama: FakeOllama, tell: str
) -> None:
    (home / "workspace/jobs").mkdir()
    (home / "workspace/jobs/list.md").write_bytes(b"caf\xe9\n")
    (home / "workspace/jobs/dues.md").mkdir()
    write(home, f"| list | hourly | todo due | {tell} |\n", "| dues | hourly | Say it. | file |\n")
    fake_ollama.say("The rent.")
    done = openclaw("--home", str(home), "jobs", "run")
    assert done.returncode == 1
    assert "list.md is not UTF-8 text" in done.stderr
    assert "The rent. (cannot write " in done.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="macOS has another program")
@pytest.mark.parametrize("program", ["no program", "#!/bin/sh\nexit 1\n"])
def test_what_the_desktop_does_not_show_is_printed(
    home: Path, tmp_path: Path, program: str
) -> None:
    write(home, "| list | hourly | todo due | desktop |\n", ago=timedelta(hours=5, minutes=1))
    (tmp_path / "notify-send").write_text(program)
    (tmp_path / "notify-send").chmod(0o755)
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    done = openclaw("--home", str(home), "jobs", "run", environ={"PATH": path})
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("list: ") and "missed before: " in done.stdout


def test_a_list_that_is_tried_stands_in_its_file(home: Path) -> None:
    write(home, "| list | hourly | todo due | file |\n")
    jobs(home, "try", "list")
    assert "nothing is due" in (home / "workspace/jobs/list.md").read_text()
    assert jobs(home, "run") == []


def test_rows_that_are_wrong_are_named_and_the_others_count(home: Path) -> None:
    write(
        home,
        "| Bad Name | hourly | x | |\n",
        "| time | 27:00 | x | |\n",
        "| nothing | hourly | | |\n",
        "| shout | hourly | x | loudly |\n",
        "| twice | hourly | a \\| b | |\n",
        "| twice | hourly | x | |\n",
        "| heartbeat | hourly | | |\n",
    )
    found, faults = read_jobs(Home(home))
    assert [(job.name, job.do) for job in found] == [("twice", "a | b"), ("heartbeat", "")]
    assert [fault.partition(" ")[0] for fault in faults] == [
        f"memory/JOBS.md:{line}:" for line in (5, 6, 7, 8, 10)
    ]


def test_the_job_heartbeat_does_what_its_file_says(home: Path, fake_ollama: FakeOllama) -> None:
    write(home, "| heartbeat | hourly | | |\n")
    assert jobs(home, "run")[0]["answer"] == ""
    (home / "workspace/HEARTBEAT.md").write_text("- Look at the rent.\n")
    fake_ollama.say("HEARTBEAT_OK")
    [result] = jobs(home, "run")
    assert (result["answer"], result["why"]) == ("", "there is nothing to tell")
    assert result["session"] == f"heartbeat-{datetime.now():%Y-%m-%d}"


def test_a_job_that_runs_elsewhere_is_left_to_it(home: Path) -> None:
    write(home, HOURLY)
    with run_lock(Home(home), "dues") as mine:
        assert mine
        assert jobs(home, "run") == []


@pytest.mark.slow
def test_two_programs_at_once_run_a_job_once(home: Path, fake_ollama: FakeOllama) -> None:
    write(home, f"| one | {in_past(timedelta(minutes=1))} | Say it. | |\n")
    fake_ollama.say(Answer(["slow ", "answer"], pause=0.5))
    words = [sys.executable, "-m", "openclaw", "--home", str(home), "jobs", "run", "--json"]
    running = [subprocess.Popen(words, stdout=subprocess.PIPE) for _ in range(2)]
    results = [json.loads(each.communicate()[0]) for each in running]
    assert sorted(map(len, results)) == [0, 1]


def test_the_server_runs_them_by_the_same_rules(home: Path, fake_ollama: FakeOllama) -> None:
    write(home, f"| one | {in_past(timedelta(minutes=1))} | Write it. | file |\n")
    fake_ollama.say(WRITE, "Done,\nas asked.")
    with serving(home) as (server, _):
        served = ServedJobs(server.service)
        served.look()
        served.look()
        [talk] = server.service.sessions.list()
    assert talk.title == f"Job one {datetime.now():%Y-%m-%d}"
    assert "Done, as asked." in (home / "workspace/jobs/one.md").read_text()
    assert (home / "workspace/a.md").read_text() == "one\n"
    assert jobs(home, "run") == []


def test_a_job_of_the_server_leaves_the_model_open(home: Path, fake_ollama: FakeOllama) -> None:
    write(home, f"| one | {in_past(timedelta(minutes=1))} | Say it. | |\n")
    fake_ollama.say("Hello.", "Said.", "Hello again.")
    with serving(home) as (server, _):
        for prompt in ("Say hello.", "Say it again."):
            server.service.runs.start(PromptRequest(prompt)).wait(10)
            ServedJobs(server.service).look()
    assert len(fake_ollama.chats) == 3
    assert [asked.path for asked in fake_ollama.requests].count("/api/show") == 1


def test_the_agent_does_not_add_a_job_without_a_yes(home: Path, fake_ollama: FakeOllama) -> None:
    fake_ollama.say(
        Answer(calls=[("write_file", {"path": "memory/JOBS.md", "content": "| x |\n"})]),
        "I may not.",
    )
    done = openclaw("--home", str(home), "Add a job to memory/JOBS.md")
    assert not (home / "memory/JOBS.md").exists(), done.stdout
    assert "JOBS.md" in done.stderr


def test_the_timer_starts_the_jobs_of_this_home(home: Path) -> None:
    done = openclaw("--home", str(home), "jobs", "timer")
    assert "OnCalendar=*:0/5" in done.stdout or "StartInterval" in done.stdout
    assert str(home) in done.stdout
