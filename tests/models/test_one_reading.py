"""With Ollama a model is loaded once and the head is read once, whatever asks and in which order.

Talks, one-shot prompts that look into the memory (for which the model reads ahead), and a second
program that uses the same model without openclaw: each is a client of the stand-in, which loads and
reads as the real server does.
"""

from __future__ import annotations

import http.client
import json
from contextlib import closing
from pathlib import Path

import pytest

from openclaw.agent.agent import Agent
from openclaw.config import load_settings
from openclaw.errors import PromptTooLarge
from openclaw.sessions.session import Session
from openclaw.storage.home import Home
from tests.fakes.ollama_server import FakeModel, FakeOllama
from tests.fakes.search_thread import SearchThread
from tests.fakes.talk import new_home

WINDOW = 8192
NOTE = "# 2026-11-18\n\n- The plumber comes on Thursday at ten.\n"
THINKER = FakeModel("fake:1b", ("completion", "tools", "thinking"))


@pytest.fixture(params=["json", "native", "thinking"])
def home(request: pytest.FixtureRequest, tmp_path: Path, fake_ollama: FakeOllama) -> Path:
    folder = new_home(tmp_path / "home")
    protocol = "native" if request.param == "native" else "json"
    settings = f"model: ollama/fake:1b\nprotocol: {protocol}\nembedding: none\nwindow: {WINDOW}\n"
    (folder / "openclaw.yaml").write_text(settings, "utf-8")
    (folder / "memory" / "2026-11-18.md").write_text(NOTE, "utf-8")
    if request.param == "thinking":
        fake_ollama.models[:] = [THINKER]
    plain = "On Thursday." if protocol == "native" else '{"kind":"answer","answer":"On Thursday."}'
    fake_ollama.say(*[plain] * 20)
    return folder


def opened(home: Path) -> Agent:
    """As a new process has it."""
    app = Agent.open(Home(home), load_settings(Home(home)))
    app.recall.launch = SearchThread
    return app


def one_shot(home: Path, text: str) -> None:
    with closing(opened(home)) as app:
        list(app.ask(text, app.sessions.new(None, "")))


def wait_ahead(app: Agent) -> None:
    while app.preloader.busy:
        pass
    app.preloader.end()


def head_was_read_once(server: FakeOllama) -> bool:
    first, *rest = server.served
    return first.read == first.tokens > 500 and max(s.read for s in rest) < first.tokens / 5


def test_a_talk_and_one_shots_over_an_index_load_and_read_the_head_once(
    home: Path, fake_ollama: FakeOllama
) -> None:
    one_shot(home, "When does the plumber come?")
    assert len(fake_ollama.ahead) == 1  # it was looked up, so the model read ahead
    one_shot(home, "Who comes on Thursday?")
    with closing(opened(home)) as app:
        session: Session = app.sessions.new(None, "")
        app.prepare_next(session)
        wait_ahead(app)
        for text in ("When does the plumber come?", "And what was it about?"):
            list(app.ask(text, session))
            app.prepare_next(session)
            wait_ahead(app)
    assert (len(fake_ollama.chats), fake_ollama.loads) == (4, 1)
    assert head_was_read_once(fake_ollama)


def test_two_clients_in_turn_share_the_model_and_what_it_has_read(
    home: Path, fake_ollama: FakeOllama
) -> None:
    for _ in range(2):
        one_shot(home, "When does the plumber come?")
        _another_program(fake_ollama)
    assert fake_ollama.loads == 1
    assert head_was_read_once(fake_ollama)


def test_what_cannot_be_sent_is_found_out_before_anything_is_read(
    home: Path, fake_ollama: FakeOllama
) -> None:
    with pytest.raises(PromptTooLarge):
        one_shot(home, "When does the plumber come? " * 3000)
    assert (fake_ollama.served, fake_ollama.ahead, fake_ollama.chats) == ([], [], [])


def _another_program(server: FakeOllama) -> None:
    """It knows nothing of `shift` or `truncate`."""
    said = [{"role": "user", "content": "Translate: house."}]
    options = {"num_ctx": WINDOW}
    body = {"model": "fake:1b", "messages": said, "stream": False, "options": options}
    host, _, port = server.host.partition(":")
    connection = http.client.HTTPConnection(host, int(port))
    connection.request("POST", "/api/chat", json.dumps(body))
    connection.getresponse().read()
    connection.close()
