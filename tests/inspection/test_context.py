"""What `context --raw` prints is, byte for byte, what the server then receives."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from openclaw.cli.main import run
from openclaw.inspection.context import context_report
from tests.data.sample import sample
from tests.fakes.homes import CASES, Case, make, opened, talk_before
from tests.fakes.ollama_server import CHAT_PATHS, FakeOllama


@pytest.fixture(
    params=sample([*CASES[::2], *CASES[1::2]], len(CASES) // 2),
    ids=lambda case: case.name.replace(" ", "-"),
)
def case(request: pytest.FixtureRequest) -> Case:
    found: Case = request.param
    return found


def received(server: FakeOllama) -> list[bytes]:
    """The bodies of all chat requests, as they came."""
    return [each.raw for each in server.requests if each.path.endswith(CHAT_PATHS)]


def test_the_raw_context_is_byte_for_byte_what_the_server_receives(
    case: Case, tmp_path: Path, fake_ollama: FakeOllama
) -> None:
    home = make(case, tmp_path / "home", fake_ollama)
    talk_before(home, case, fake_ollama)
    asked = len(fake_ollama.chats)
    with opened(home, case) as (app, session):
        told = context_report(app, session, case.prompt, case.material, case.skill)
    assert len(fake_ollama.chats) == asked
    with opened(home, case) as (app, session):
        fake_ollama.say("Hello.")
        happening = app.ask(case.prompt, session, case.material, case.skill)
        while len(fake_ollama.chats) == asked:
            next(happening)
        happening.close()  # type: ignore[attr-defined]
        fake_ollama.script.clear()
    assert told.raw == received(fake_ollama)[asked]
    text = told.raw.decode()
    assert [shown for shown in case.shows if shown not in text] == []
    assert [hidden for hidden in case.hides if hidden in text] == []


def test_there_are_twenty_homes_and_more() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 20


@pytest.mark.parametrize(
    "options", [["--no-memory"], ["--mode", "full"], ["--mode", "read-only"], ["--yes"]]
)
def test_the_command_prints_these_bytes_and_nothing_else(
    options: list[str],
    tmp_path: Path,
    fake_ollama: FakeOllama,
    capfdbinary: pytest.CaptureFixture[bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO()))
    case = CASES[1]  # in JSON steps the tools that may be called stand in the schema
    make(case, tmp_path / "home", fake_ollama)
    said = ["Say hello.", *options]
    for _ in range(2):  # once more when a minute ends in between: the tail tells the time
        assert run(["context", "--raw", *said]) == 0
        printed = capfdbinary.readouterr().out
        fake_ollama.say("Hello.")
        assert run([*said, "--quiet"]) == 0
        capfdbinary.readouterr()
        sent = received(fake_ollama)[-1]
        if printed == sent:
            break
    assert printed == sent
