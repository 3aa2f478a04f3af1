"""Reading ahead: it goes on while the user types, and is out of the way when a turn begins."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from openclaw.agent.agent import Agent
from openclaw.errors import ModelMissing, ServerAway
from openclaw.home.open_home import Preloader
from openclaw.messages import Message, Waiting
from openclaw.models.base import Chunk, Request
from openclaw.models.http_client import HttpClient, ServerModel
from tests.fakes.ollama_server import FakeOllama
from tests.fakes.scripted import ScriptedModel
from tests.fakes.talk import Talk, talk

REQUEST = Request((Message("system", "Be brief."),))
PATIENCE = 10.0


class Reader(ScriptedModel):
    """Reads for ever, a beat at a time, and tells what became of it. Asked while it still reads it
    fails."""

    def __init__(self, *lines: str) -> None:
        super().__init__(*lines)
        self.reading = threading.Event()
        self.left = threading.Event()
        self.threads: set[int] = set()

    def warm(self, request: Request) -> Iterator[Waiting]:
        self.warmed.append(request)
        self.threads.add(threading.get_ident())
        self.left.clear()
        try:
            while True:
                self.reading.set()
                yield Waiting("")
        finally:
            self.reading.clear()
            self.threads.add(threading.get_ident())
            self.left.set()

    def stream(self, request: Request) -> Iterator[Chunk]:
        assert not self.reading.is_set(), "asked while it reads"
        return super().stream(request)


@pytest.fixture
def reader() -> Reader:
    return Reader("Hello.", "Hello again.")


@pytest.fixture
def ahead() -> Iterator[Preloader]:
    ahead = Preloader()
    yield ahead
    ahead.end()


def test_it_reads_in_another_thread_and_is_closed_in_that_one(
    ahead: Preloader, reader: Reader
) -> None:
    ahead.begin(lambda: (reader, REQUEST))
    assert reader.reading.wait(PATIENCE)
    was_busy = ahead.busy
    ahead.end()
    assert reader.left.is_set()
    assert (was_busy, ahead.busy) == (True, False)
    assert reader.warmed == [REQUEST]
    assert len(reader.threads) == 1
    assert threading.get_ident() not in reader.threads


def test_a_reading_that_begins_ends_the_one_before(ahead: Preloader, reader: Reader) -> None:
    first = Reader()
    ahead.begin(lambda: (first, REQUEST))
    assert first.reading.wait(PATIENCE)
    ahead.begin(lambda: (reader, REQUEST))
    assert first.left.is_set()
    assert reader.reading.wait(PATIENCE)


def test_ending_what_never_began_or_has_ended_does_nothing(ahead: Preloader) -> None:
    ahead.end()
    ahead.begin(lambda: (ScriptedModel(), REQUEST))
    ahead.end()
    ahead.end()
    assert not ahead.busy


def test_a_model_that_cannot_be_opened_is_left_for_the_turn_to_tell(ahead: Preloader) -> None:
    opened = threading.Event()

    def fails() -> NoReturn:
        opened.set()
        raise ModelMissing("no model")

    ahead.begin(fails)
    assert opened.wait(PATIENCE)
    ahead.end()


def test_an_exception_that_is_a_bug_comes_out_where_it_ends(ahead: Preloader) -> None:
    ahead.begin(lambda: 1 / 0)  # type: ignore[arg-type, return-value]
    with pytest.raises(ZeroDivisionError):
        ahead.end()
    ahead.end()


def test_a_bug_in_one_reading_does_not_keep_the_next_from_beginning(
    ahead: Preloader, reader: Reader
) -> None:
    ahead.begin(lambda: 1 / 0)  # type: ignore[arg-type, return-value]
    ahead.begin(lambda: (reader, REQUEST))
    assert reader.reading.wait(PATIENCE)


def test_what_the_system_refuses_is_left_for_the_turn_to_tell(ahead: Preloader) -> None:
    ahead.begin(lambda: Path("no such file").unlink())  # type: ignore[arg-type, return-value]
    ahead.end()


def test_a_server_that_refuses_is_not_asked_again_by_a_reading(ahead: Preloader) -> None:
    asked: list[int] = []

    def attempt() -> None:
        asked.append(1)
        raise ServerAway("away") from ConnectionRefusedError()

    server = ServerModel("it", HttpClient("http://localhost", {}), (0.0, 0.0))
    ahead.begin(lambda: list(server.retry_refused(attempt)))  # type: ignore[arg-type, return-value]
    ahead.end()
    assert len(asked) == 1
    with pytest.raises(ServerAway):
        list(server.retry_refused(attempt))
    assert len(asked) == 4


def test_the_reading_thread_may_ask_for_the_model_itself(ahead: Preloader, reader: Reader) -> None:
    def make() -> tuple[Reader, Request]:
        ahead.end()
        return reader, REQUEST

    ahead.begin(make)
    assert reader.reading.wait(PATIENCE)


# -------- in an open home


@pytest.fixture
def home(tmp_path: Path, reader: Reader) -> Iterator[Talk]:
    it = talk(tmp_path / "home")
    it.app.model = it.model = reader
    yield it
    it.app.close()


def test_what_is_read_ahead_is_how_the_next_request_begins(home: Talk, reader: Reader) -> None:
    home.say("My cat is called Mia.")
    home.app.prepare_next(home.session)
    assert reader.reading.wait(PATIENCE)
    home.say("And the dog?")
    [ahead], request = reader.warmed, reader.requests[-1]
    said = ahead.messages[:-1]
    assert request.messages[: len(said)] == said
    assert [message.role for message in said] == ["system", "user", "assistant"]
    assert ahead.session == request.session == home.session.id
    assert ahead.tools == request.tools


def test_reading_ahead_changes_nothing_of_the_conversation(home: Talk, reader: Reader) -> None:
    home.say("My cat is called Mia.")
    before = home.stored
    extra = dict(home.session.extra)
    home.app.prepare_next(home.session)
    assert reader.reading.wait(PATIENCE)
    assert (home.stored, home.session.extra) == (before, extra)


@pytest.mark.parametrize(
    "leave",
    [
        lambda app: app.close(),
        lambda app: app.use_model("embedded/none"),
        lambda app: app.model,
    ],
    ids=["close", "another model", "the model is asked for"],
)
def test_it_ends_before_anything_else_gets_the_model(
    home: Talk, reader: Reader, leave: Callable[[Agent], object]
) -> None:
    home.app.prepare_next(home.session)
    assert reader.reading.wait(PATIENCE)
    leave(home.app)
    assert reader.left.is_set()


def test_a_bug_in_the_reading_leaves_nothing_open(home: Talk, reader: Reader) -> None:
    home.app.preloader.begin(lambda: 1 / 0)  # type: ignore[arg-type, return-value]
    with pytest.raises(ZeroDivisionError):
        home.app.close()
    assert reader.closed


def test_nothing_runs_before_a_prompt_without_preload(tmp_path: Path, reader: Reader) -> None:
    it = talk(tmp_path / "home", preload=False)
    it.app.model = reader
    it.app.prepare_next(it.session)
    assert not it.app.preloader.busy
    it.app.close()
    assert reader.warmed == []


def test_nothing_is_read_for_somebody_who_pipes_his_lines_in(home: Talk, reader: Reader) -> None:
    home.app.prepare_next(None)
    assert not home.app.preloader.busy
    assert reader.warmed == []


def test_a_server_that_loads_is_left_at_once_when_the_user_is_quicker(
    tmp_path: Path, fake_ollama: FakeOllama
) -> None:
    fake_ollama.ahead_stall = 30.0
    fake_ollama.say("Hello.")
    it = talk(tmp_path / "home")
    it.app.use_model("ollama/fake:1b")
    loading = threading.Event()
    it.app.prepare_next(it.session)
    while not loading.wait(0.01) and it.app.preloader.busy:
        if fake_ollama.ahead:
            loading.set()
    assert loading.is_set()
    events = list(it.app.ask("Good morning.", it.session))
    assert fake_ollama.hung_up.wait(PATIENCE)
    assert events
    assert len(fake_ollama.chats) == 1
    it.app.close()
