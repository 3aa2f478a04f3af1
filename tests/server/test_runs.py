"""Prompts that a server answers: their events, questions, ends, and readers that come back."""

from __future__ import annotations

import json
import random
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from openclaw.events import Done, Event, Notice, Token
from openclaw.messages import Material
from openclaw.security.grants import Grant
from openclaw.security.policy import Declined, PermissionQuestion
from openclaw.server.server_client import KeptGrants, RunningServer, find_server
from openclaw.server.shared_home import SharedHome
from openclaw.server.wire import PromptRequest
from openclaw.storage.home import Home
from openclaw.types import Shown
from tests.data.sample import sample
from tests.fakes.git_home import copy_home
from tests.fakes.ollama_server import Answer, FakeOllama
from tests.fakes.person import Person
from tests.fakes.serving import serving

ASKED = Answer(calls=[("run_shell", {"command": "touch workspace/made.txt"})])


def ask(
    server: RunningServer,
    prompt: str,
    ask_user: Callable[[PermissionQuestion], str] | None = None,
    **options: Any,
) -> list[Event]:
    """The events of a prompt, to its end."""
    kept = KeptGrants(lambda grant: None)
    return list(server.ask(replace(PromptRequest(prompt), **options), ask_user, kept))


def test_attached_lines_of_a_file_reach_a_server_as_they_are() -> None:
    lines = Shown("memory/a.md", 3, 4)
    request = PromptRequest(
        "Sum it up", material=(Material("file a.md", "x\ny", "memory/a.md", lines=lines),)
    )
    assert PromptRequest.from_json(json.loads(json.dumps(request.to_json()))) == request


def test_wrong_settings_do_not_end_a_server_that_starts(tmp_path: Path) -> None:
    home = Home(copy_home(tmp_path / "home", "modle: x\n"))
    (told,) = SharedHome(home).recover()
    assert "modle" in told


def end_of(happened: list[Event]) -> Done:
    (end,) = [event for event in happened if isinstance(event, Done)]
    return end


def begin(http: httpx.Client, prompt: str, **body: Any) -> str:
    """The id of a new run."""
    said = http.post("/api/chat", json={"message": prompt, "stream": False, **body}).json()
    return str(said["run_id"])


def read(http: httpx.Client, run: str, after: int = 0, most: int = 0) -> list[tuple[int, Any]]:
    """Numbers and values of the events of a run, at most so many."""
    found: list[tuple[int, Any]] = []
    headers = {"Last-Event-ID": str(after)}
    with http.stream("GET", f"/api/runs/{run}/events", headers=headers) as response:
        number = 0
        for line in response.iter_lines():
            if line.startswith("id: "):
                number = int(line[4:])
            elif line.startswith("data: "):
                found.append((number, json.loads(line[6:])))
                number = 0
            if most and len(found) >= most:
                break
    return found


def wait_for(true: Callable[[], object]) -> None:
    until = time.monotonic() + 10
    while not true():
        assert time.monotonic() < until
        time.sleep(0.005)


# -------- answers


def test_a_prompt_yields_the_events_of_a_turn(
    server: RunningServer, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say("Hello there.")
    happened = ask(server, "Say hello.")
    assert "".join(e.text for e in happened if isinstance(e, Token)) == "Hello there."
    end = end_of(happened)
    assert (end.answer, end.stop_reason) == ("Hello there.", "answer")


def test_the_model_is_opened_once(server: RunningServer, fake_ollama: FakeOllama) -> None:
    fake_ollama.say("One.", "Two.")
    ask(server, "Say one.")
    ask(server, "Say two.")
    assert [asked.path for asked in fake_ollama.requests].count("/api/show") == 1


def test_settings_count_from_the_next_prompt_on(
    server: RunningServer, home: Path, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say("One.", "Two.")
    ask(server, "Say one.")
    settings = home / "openclaw.yaml"
    settings.write_text(settings.read_text("utf-8") + "window: 2048\n", "utf-8")
    ask(server, "Say two.")
    assert [chat["options"]["num_ctx"] for chat in fake_ollama.chats] == [8192, 2048]


def test_a_session_goes_on_by_its_name(server: RunningServer, fake_ollama: FakeOllama) -> None:
    fake_ollama.say("Noted.", "Blue.")
    ask(server, "My colour is blue.", session="colours")
    ask(server, "Which colour?", session="colours")
    assert "My colour is blue." in json.dumps(fake_ollama.chats[-1]["messages"])


def test_what_goes_wrong_is_raised_here(server: RunningServer) -> None:
    from openclaw.errors import UsageError

    with pytest.raises(UsageError, match="there is no conversation"):
        ask(server, "Hello.", session="2026-01-01-000000-abcd")


def test_two_conversations_share_the_model_one_after_the_other(
    server: RunningServer, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say(Answer("First.", stall=0.3), "Second.")
    happened: dict[str, list[Event]] = {}
    first = threading.Thread(target=lambda: happened.update(first=ask(server, "Say first.")))
    first.start()
    wait_for(lambda: fake_ollama.chats)
    second = ask(server, "Say second.")
    first.join()
    assert Notice("another conversation uses the model") in second
    answers = [e.answer for events in (happened["first"], second) for e in events
               if isinstance(e, Done)]  # fmt: skip
    assert answers == ["First.", "Second."]


def test_an_argument_that_is_no_number_ends_no_conversation(
    http: httpx.Client, fake_ollama: FakeOllama
) -> None:
    call = '{"name": "calculate", "arguments": {"expression": NaN}}'
    fake_ollama.say(call, "I cannot.", "Still here.")
    first = read(http, begin(http, "Sum it up.", session_id="talk"))
    assert [v["input"] for _, v in first if v["event"] == "tool_start"] == [{"expression": "NaN"}]
    second = read(http, begin(http, "And now?", session_id="talk"))
    assert [v["answer"] for _, v in second if v["event"] == "done"] == ["Still here."]


# -------- questions


def test_a_question_is_answered_where_it_is_asked(
    server: RunningServer, home: Path, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say(ASKED, "Done.")
    yes = Person("once")
    ask(server, "Touch workspace/made.txt", yes, mode="ask")
    assert yes.asked[0].action.target == "touch workspace/made.txt"
    assert (home / "workspace/made.txt").exists()


@pytest.mark.parametrize("reply", ["", "no"])
def test_a_no_is_told_to_the_model(
    server: RunningServer, home: Path, fake_ollama: FakeOllama, reply: str
) -> None:
    fake_ollama.say(ASKED, "I may not.")
    happened = ask(server, "Touch workspace/made.txt", lambda question: reply, mode="ask")
    assert not (home / "workspace/made.txt").exists()
    assert end_of(happened).refused


def test_what_the_user_wants_instead_reaches_the_model(
    server: RunningServer, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say(ASKED, "As you like.")

    def decline(question: PermissionQuestion) -> str:
        raise Declined("write a note instead")

    ask(server, "Touch workspace/made.txt", decline, mode="ask")
    assert "write a note instead" in json.dumps(fake_ollama.chats[-1]["messages"])


def test_without_somebody_to_ask_it_is_a_no(
    server: RunningServer, home: Path, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say(ASKED, "I may not.")
    happened = ask(server, "Touch workspace/made.txt", None, mode="ask")
    assert end_of(happened).refused


def test_a_grant_that_was_not_offered_is_a_no(
    server: RunningServer, http: httpx.Client, home: Path, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say(ASKED, "I may not.")
    run = begin(http, "Touch workspace/made.txt", mode="ask")
    wait_for(lambda: http.get(f"/api/runs/{run}").json()["question"])
    question = http.get(f"/api/runs/{run}").json()["question"]
    grant = {"kind": "prefix", "value": "rm", "since": ""}
    reply = {"question": question["id"], "decision": "session", "grant": grant}
    assert http.post(f"/api/runs/{run}/answer", json=reply).status_code == 200
    assert read(http, run)[-1][1]["event"] == "end"
    assert not (home / "workspace/made.txt").exists()


def test_the_first_answer_counts(http: httpx.Client, fake_ollama: FakeOllama) -> None:
    fake_ollama.say(ASKED, "I may not.")
    run = begin(http, "Touch workspace/made.txt", mode="ask")
    wait_for(lambda: http.get(f"/api/runs/{run}").json()["question"])
    reply = {"question": http.get(f"/api/runs/{run}").json()["question"]["id"], "decision": "no"}
    statuses = [http.post(f"/api/runs/{run}/answer", json=reply).status_code for _ in range(2)]
    assert statuses == [200, 400]


def test_a_lasting_grant_is_kept_by_the_client(
    server: RunningServer, home: Path, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say(ASKED, ASKED, "Done twice.")
    written: list[Grant] = []
    kept = KeptGrants(written.append)
    asked = []

    def always(question: PermissionQuestion) -> str:
        asked.append(question)
        kept.grant(question.offers[0], lasting=True)
        return "always"

    list(server.ask(PromptRequest("Touch it", mode="ask"), always, kept))
    assert len(asked) == 1  # the second call is covered by the grant
    assert [grant.value for grant in written] == ["touch workspace/made.txt"]
    assert "touch" not in (home / "openclaw.yaml").read_text("utf-8")


# -------- stopping


def test_a_silent_model_is_stopped(http: httpx.Client, fake_ollama: FakeOllama) -> None:
    fake_ollama.say(Answer("Never.", stall=30))
    run = begin(http, "Tell a story.")
    wait_for(lambda: fake_ollama.chats)
    http.post(f"/api/runs/{run}/stop", json={})
    done = next(value for _, value in read(http, run) if value["event"] == "done")
    assert done["stop_reason"] == "interrupted"


def test_what_was_written_until_the_stop_is_kept(
    http: httpx.Client, home: Path, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say(Answer([f"word{number} " for number in range(500)], pause=0.02))
    run = begin(http, "Tell a story.")
    wait_for(lambda: "word2" in http.get(f"/api/runs/{run}").json()["text"])
    http.post(f"/api/runs/{run}/stop", json={})
    done = next(value for _, value in read(http, run) if value["event"] == "done")
    assert done["answer"].startswith("word0 word1 word2")
    (saved,) = home.glob("sessions/*.json")
    assert "word0 word1 word2" in saved.read_text("utf-8")


def test_a_program_is_stopped(http: httpx.Client, home: Path, fake_ollama: FakeOllama) -> None:
    fake_ollama.say(Answer(calls=[("run_shell", {"command": "sleep 30"})]))
    run = begin(http, "Sleep.", mode="edit")

    def is_open() -> Any:
        state = http.get(f"/api/runs/{run}").json()
        if question := state["question"]:
            reply = {"question": question["id"], "decision": "once"}
            http.post(f"/api/runs/{run}/answer", json=reply)
        return state["state"] == "tool"

    wait_for(is_open)
    http.post(f"/api/runs/{run}/stop", json={})
    done = next(value for _, value in read(http, run) if value["event"] == "done")
    assert done["stop_reason"] == "interrupted"


def test_a_turn_that_takes_too_long_is_stopped(
    http: httpx.Client, home: Path, fake_ollama: FakeOllama
) -> None:
    settings = home / "openclaw.yaml"
    settings.write_text(settings.read_text() + "serve: {turn_timeout: 1}\n")
    fake_ollama.say(Answer("Never.", stall=30))
    told = [value for _, value in read(http, begin(http, "Tell a story."))]
    # A second may be over before the turn has begun, which then has no reason to end.
    [end] = [value for value in told if value["event"] in ("done", "error")]
    assert "interrupted" in (end.get("stop_reason"), end.get("message"))
    assert "stopped after 1 s (setting serve.turn_timeout)" in [v.get("text") for v in told]


def test_the_end_of_the_server_ends_its_runs(home: Path, fake_ollama: FakeOllama) -> None:
    fake_ollama.say(Answer("Never.", stall=30))
    happened: list[Event] = []
    with serving(home) as (_, found):
        reader = threading.Thread(target=lambda: happened.extend(ask(found, "Tell a story.")))
        reader.start()
        wait_for(lambda: fake_ollama.chats)
    reader.join()
    assert end_of(happened).stop_reason == "interrupted"
    assert not Home(home).server_file.exists()


# -------- readers


@pytest.mark.parametrize("seed", sample(range(30)))
def test_readers_that_are_cut_off_miss_nothing(
    http: httpx.Client, fake_ollama: FakeOllama, seed: int
) -> None:
    """In 30 runs more than 500 connections are cut at random moments."""
    words = [f"word{number} " for number in range(120)]
    fake_ollama.say(Answer(words, pause=0.002))
    run, drawn = begin(http, "Tell a story."), random.Random(seed)
    with ThreadPoolExecutor() as threads:
        other = threads.submit(read, http, run)  # and one that is never cut
        seen: list[tuple[int, Any]] = []
        while not seen or seen[-1][1]["event"] != "end":
            after = max((number for number, _ in seen), default=0)
            time.sleep(drawn.choice([0, 0, 0.01]))  # a slow reader now and then
            seen += read(http, run, after, drawn.randint(1, 12))
        assert [each for each in seen if each[0]] == [each for each in other.result() if each[0]]
    numbers = [number for number, _ in seen if number]
    assert numbers == [*range(1, len(numbers) + 1)]
    text = "".join(value["text"] for _, value in seen if value["event"] == "token")
    assert text.split() == [word.strip() for word in words]


def test_a_reader_that_comes_after_the_end_gets_all(
    http: httpx.Client, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say("Hello there.")
    run = begin(http, "Say hello.")
    first = read(http, run)
    assert read(http, run) == first
    assert first[0][1]["event"] == "run"
    assert first[-1][1]["event"] == "end"


def test_the_run_goes_on_when_its_reader_leaves(
    http: httpx.Client, home: Path, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say(Answer("Hello there.", stall=0.1))
    with http.stream("POST", "/api/chat", json={"message": "Say hello."}) as response:
        next(response.iter_lines())
    wait_for(lambda: "Hello there." in "".join(p.read_text("utf-8")
                                              for p in home.glob("sessions/*.json")))  # fmt: skip


def test_the_same_key_is_the_same_run(http: httpx.Client, fake_ollama: FakeOllama) -> None:
    fake_ollama.say("Hello there.")
    http.headers["Idempotency-Key"] = "click-1"
    assert begin(http, "Say hello.") == begin(http, "Say hello.")


def test_a_conversation_is_answered_once_at_a_time(
    http: httpx.Client, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say(Answer("First.", stall=0.3))
    run = begin(http, "Say first.", session_id="talk")
    said = http.post("/api/chat", json={"message": "And?", "session_id": "talk"})
    assert (said.status_code, said.json()["run_id"]) == (409, run)
    read(http, run)


def test_a_changed_file_is_told(http: httpx.Client, home: Path, fake_ollama: FakeOllama) -> None:
    fake_ollama.say(Answer(calls=[("todo", {"action": "add", "text": "buy milk"})]), "Added.")
    seen = read(http, begin(http, "Add milk to my to-dos."))
    (changed,) = [value for _, value in seen if value["event"] == "changed"]
    assert changed["paths"] == ["memory/TODO.md"]


# -------- finding the server


def test_another_version_is_left_alone(server: RunningServer, home: Path) -> None:
    file = Home(home).server_file
    said = json.loads(file.read_text("utf-8"))
    file.write_text(json.dumps({**said, "version": "0.0.1"}), "utf-8")
    assert find_server(Home(home)) is None


@pytest.mark.parametrize("token", ["x" * 43, "\ud800"])
def test_a_program_that_does_not_know_the_token_is_no_server(
    server: RunningServer, home: Path, token: str
) -> None:
    file = Home(home).server_file
    said = json.loads(file.read_text("utf-8"))
    file.write_text(json.dumps({**said, "token": token}), "utf-8")
    assert find_server(Home(home)) is None


def test_a_server_that_died_is_not_waited_for(home: Path, closed_port: int) -> None:
    said = {"version": "0.1.0", "pid": 1, "port": closed_port, "token": "x" * 43}
    Home(home).private.mkdir(exist_ok=True)
    Home(home).server_file.write_text(json.dumps(said), "utf-8")
    assert find_server(Home(home)) is None


def test_an_idle_server_ends(home: Path) -> None:
    with serving(home, idle=0.2):
        wait_for(lambda: not Home(home).server_file.exists())


def test_the_end_of_an_older_server_leaves_the_newer_one_to_be_found(home: Path) -> None:
    with ExitStack() as later:
        with serving(home):
            Home(home).server_file.unlink()  # as one of an older version, which does not count
            _, newer = later.enter_context(serving(home))
        assert find_server(Home(home)) == newer


def test_a_conversation_comes_back_to_its_model(
    http: httpx.Client, fake_ollama: FakeOllama
) -> None:
    fake_ollama.models.append(replace(fake_ollama.models[0], name="other:2b"))
    fake_ollama.say("One.", "Two.", "Three.")
    other = {"session_id": "talk", "model": "ollama/other:2b"}
    read(http, begin(http, "Say one.", **other))
    read(http, begin(http, "Say two.", session_id="talk"))
    read(http, begin(http, "Say three."))
    assert [chat["model"] for chat in fake_ollama.chats] == ["other:2b", "other:2b", "fake:1b"]


def test_a_queued_prompt_waits_for_the_end_of_the_first(
    http: httpx.Client, fake_ollama: FakeOllama
) -> None:
    fake_ollama.say(Answer("First.", stall=2.5), "Second.")  # longer than a lock is waited for
    begin(http, "Say first.", session_id="talk")
    second = begin(http, "And second?", session_id="talk", queue=True)
    wait_for(lambda: http.get(f"/api/runs/{second}").json()["state"] == "queued")
    [queued] = http.get("/api/sessions/talk").json()["queued"]
    assert queued["id"] == second
    assert [v["answer"] for _, v in read(http, second) if v["event"] == "done"] == ["Second."]


def test_a_queued_prompt_is_stopped_at_once(http: httpx.Client, fake_ollama: FakeOllama) -> None:
    fake_ollama.say(Answer("First.", stall=30))
    first = begin(http, "Say first.", session_id="talk")
    second = begin(http, "And second?", session_id="talk", queue=True)
    wait_for(lambda: http.get(f"/api/runs/{second}").json()["state"] == "queued")
    http.post(f"/api/runs/{second}/stop", json={})
    *_, (_, ended), _ = read(http, second)
    assert (ended["event"], ended["exit_code"]) == ("error", 130)
    assert http.get(f"/api/runs/{first}").json()["state"] != "done"


@pytest.mark.skipif(sys.platform != "linux", reason="needs names of bytes")
def test_a_file_whose_name_is_no_text_breaks_no_answer(
    http: httpx.Client, home: Path, fake_ollama: FakeOllama
) -> None:
    command = {"command": "printf x > workspace/$(printf 'a\\377').txt"}
    fake_ollama.say(Answer(calls=[("run_shell", command)]), "Done.")
    run = begin(http, "Run the command.")

    def state() -> dict[str, Any]:
        return dict(http.get(f"/api/runs/{run}").json())

    wait_for(lambda: state()["question"] or state()["state"] == "done")
    if asked := state()["question"]:  # without bubblewrap
        reply = {"question": asked["id"], "decision": "once"}
        http.post(f"/api/runs/{run}/answer", json=reply)
    done = next(each for _, each in read(http, run) if each["event"] == "done")
    assert done["receipt"]["files"][0]["path"] == "workspace/a\ufffd.txt"
    assert "workspace/a\ufffd.txt" in [each["path"] for each in http.get("/api/tree").json()]
    talk = {"model": "openclaw", "messages": [{"role": "user", "content": "Run it again."}]}
    fake_ollama.say("It was run.")
    assert http.post("/v1/chat/completions", json=talk).status_code == 200
