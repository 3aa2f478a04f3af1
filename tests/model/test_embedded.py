"""The embedded engine with a real model, the smallest one that is installed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from openclaw.errors import ModelFailed, PromptTooLarge
from openclaw.messages import Message, Waiting
from openclaw.models import catalog
from openclaw.models.base import Reply, Request, Text
from openclaw.models.embedded import EmbeddedModel

pytestmark = pytest.mark.model

HEAD = "You are a short-spoken helper. " + " ".join(
    f"Rule {n}: room {n * 7} is for team {n % 5}." for n in range(40)
)


@pytest.fixture(scope="module")
def file() -> Path:
    for name in ("qwen2.5-coder-0.5b-instruct", "qwen2.5-coder-1.5b-instruct"):
        if path := catalog.find_installed(name):
            return path
    pytest.fail("no embedded model is installed: openclaw models pull", pytrace=False)


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kv")


@pytest.fixture(scope="module")
def model(file: Path, states: Path) -> Iterator[EmbeddedModel]:
    model = EmbeddedModel(file, window=2048, cache_folder=states)
    yield model
    model.close()


def _request(question: str, *, head: str = HEAD, max_tokens: int = 12) -> Request:
    return Request((Message("system", head), Message("user", question)), max_tokens=max_tokens)


def _reply(model: EmbeddedModel, request: Request) -> Reply:
    *_, last = model.stream(request)
    assert isinstance(last, Reply)
    return last


def test_the_reply_is_streamed_and_the_first_load_is_announced(model: EmbeddedModel) -> None:
    chunks = list(model.stream(_request("Say hello to Anna.")))
    assert isinstance(chunks[0], Waiting)
    assert "loading model embedded/" in chunks[0].message
    reply = chunks[-1]
    assert isinstance(reply, Reply)
    pieces = [chunk.text for chunk in chunks if isinstance(chunk, Text)]
    assert len(pieces) > 1
    assert "".join(pieces) == reply.text
    assert reply.usage.prompt_tokens > 400
    assert reply.usage.generated_tokens > 0
    assert 0 < reply.usage.first_token_seconds <= reply.usage.total_seconds


def test_the_second_request_finds_the_head_in_the_slot(model: EmbeddedModel) -> None:
    _reply(model, _request("Name a fruit."))
    usage = _reply(model, _request("Name a colour.")).usage
    assert usage.prompt_tokens - usage.cached_tokens < 40


def test_a_new_process_takes_the_head_from_the_file(
    model: EmbeddedModel, file: Path, states: Path
) -> None:
    _reply(model, _request("Name a fruit."))
    assert list(states.glob("*.kv"))
    code = (
        "import sys; from pathlib import Path\n"
        "from tests.model.test_embedded import _reply, _request\n"
        "from openclaw.models.embedded import EmbeddedModel\n"
        "model = EmbeddedModel(Path(sys.argv[1]), window=2048, cache_folder=Path(sys.argv[2]))\n"
        "usage = _reply(model, _request('Name a tree.')).usage\n"
        "print(usage.prompt_tokens, usage.cached_tokens)\n"
        "model.close()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(file), str(states)],
        capture_output=True, text=True, encoding="utf-8", check=True,
    )  # fmt: skip
    prompt, cached = map(int, done.stdout.split())
    assert 0 < prompt - cached < 40
    assert done.stderr == ""


def test_a_corrupt_state_file_is_replaced_and_no_error(
    model: EmbeddedModel, file: Path, states: Path
) -> None:
    _reply(model, _request("Name a fruit."))
    saved = list(states.glob("*.kv"))
    for path in saved:
        path.write_bytes(path.read_bytes()[:50_000])
    fresh = EmbeddedModel(file, window=2048, cache_folder=states)
    usage = _reply(fresh, _request("Name a fruit.")).usage
    fresh.close()
    assert usage.cached_tokens < 40
    assert [path for path in saved if path.exists() and path.stat().st_size > 1_000_000]


def test_the_schema_is_obeyed_in_order_and_nothing_is_added(model: EmbeddedModel) -> None:
    call = {
        "type": "object",
        "properties": {
            "thought": {"type": "string", "maxLength": 60},
            "tool": {"const": "read_file"},
            "path": {"enum": ["zebra.txt", "apple.txt"]},
        },
        "required": ["thought", "tool", "path"],
    }
    answer = {
        "type": "object",
        "properties": {"answer": {"type": "string", "minLength": 1}},
        "required": ["answer"],
    }
    asked = _request("Read apple.txt. Reply in JSON with the tool read_file.", max_tokens=100)
    request = Request(asked.messages, schema={"anyOf": [call, answer]}, max_tokens=100)
    step = json.loads(_reply(model, request).text)
    assert list(step) in (["thought", "tool", "path"], ["answer"])
    if "tool" in step:
        assert step["tool"] == "read_file"
        assert step["path"] in ("zebra.txt", "apple.txt")


def test_max_tokens_ends_the_reply_and_says_so(model: EmbeddedModel) -> None:
    reply = _reply(model, _request("Count from 1 to 100.", max_tokens=5))
    assert reply.stop_reason == "length"
    assert reply.usage.generated_tokens == 5


def test_closing_the_stream_frees_the_model_for_the_next_request(model: EmbeddedModel) -> None:
    stream = model.stream(_request("Count from 1 to 1000, one a line.", max_tokens=1200))
    for chunk in stream:
        if isinstance(chunk, Text):
            break
    began = time.perf_counter()
    stream.close()
    assert time.perf_counter() - began < 1
    _reply(model, _request("Name a fruit.", max_tokens=3))
    assert time.perf_counter() - began < 10


@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise there")
def test_ctrl_c_is_heard_while_the_head_is_read(model: EmbeddedModel) -> None:
    _reply(model, _request("Name a fruit.", max_tokens=2))
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    began = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        _reply(model, _request("Name a fruit.", head=f"Anew. {HEAD}"))
    assert time.perf_counter() - began < 1.5
    timer.join()


@pytest.mark.parametrize("head", [HEAD, "word " * 3000], ids=["in the tail", "in the head"])
def test_a_request_larger_than_the_window_is_told_with_numbers(
    model: EmbeddedModel, head: str
) -> None:
    with pytest.raises(PromptTooLarge, match=r"\d{4} tokens.*2048"):
        _reply(model, _request("word " * 3000, head=head))


def test_a_cut_model_file_is_one_line_and_no_crash(file: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.gguf"
    with file.open("rb") as whole:
        cut.write_bytes(whole.read(40_000_000))
    with pytest.raises(ModelFailed, match=r"cannot load .*cut\.gguf"):
        _reply(EmbeddedModel(cut, window=512), _request("Hello"))


def test_nobody_else_can_reach_the_engine(model: EmbeddedModel) -> None:
    _reply(model, _request("Name a fruit.", max_tokens=2))
    engine = model._engine
    address = engine.address
    if address.startswith("unix://"):
        folder = Path(address.removeprefix("unix://")).parent
        assert folder.stat().st_mode & 0o777 == 0o700
    else:
        assert address.startswith("http://127.0.0.1:")
