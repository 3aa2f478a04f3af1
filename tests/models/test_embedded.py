"""EmbeddedModel, its slot and its engine's process, with a stand-in for llama.cpp in that one."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import cast

import pytest

from openclaw.config import Settings
from openclaw.errors import ModelFailed, ModelMissing, PromptTooLarge
from openclaw.messages import Message, Waiting
from openclaw.models.base import Reply, Request, Text
from openclaw.models.embedded import EmbeddedModel
from openclaw.models.registry import open_model
from openclaw.storage.home import Home
from tests.fakes.gguf import gguf

FAKE = Path(__file__).parents[1] / "fakes" / "llama"
HEAD = "You are brief. " * 60
Make = Callable[..., EmbeddedModel]


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The requests to the engine, one a line."""
    path = tmp_path / "log"
    path.touch()
    monkeypatch.setenv("FAKE_LLAMA_LOG", str(path))
    monkeypatch.syspath_prepend(FAKE)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(FAKE), os.environ["PYTHONPATH"]]))
    return path


@pytest.fixture
def make(tmp_path: Path, log: Path) -> Iterator[Make]:
    """Opens the model as a new process would, and closes what was opened."""
    made: list[EmbeddedModel] = []

    def _make(behaviour: str = "good", window: int = 8192, cache_mb: int = 10) -> EmbeddedModel:
        file = tmp_path / f"{behaviour}.gguf"
        if not file.exists():
            file.write_bytes(gguf({"general.architecture": "qwen2"}) + behaviour.encode())
        kv = tmp_path / "kv"
        made.append(EmbeddedModel(file, window=window, cache_folder=kv, cache_mb=cache_mb))
        return made[-1]

    yield _make
    for model in made:
        model.close()


def request(*said: str, session: str = "", head: str = HEAD) -> Request:
    """Said by the user and the model by turns, the user's words first."""
    roles = ("user", "assistant")
    messages = [Message(roles[n % 2], text) for n, text in enumerate(said)]  # type: ignore[arg-type]
    return Request((Message("system", head), *messages), session=session)


def ask(model: EmbeddedModel, asked: Request) -> Reply:
    *_, reply = model.stream(asked)
    assert isinstance(reply, Reply)
    return reply


def states(folder: Path) -> list[str]:
    """The names of the kept states: "head", or "s-ID"."""
    return sorted(
        p.name.rpartition(".kv")[0].rpartition(".")[0] or "head" for p in folder.iterdir()
    )


def test_a_conversation_is_resumed_by_a_new_process_where_it_stopped(
    make: Make, tmp_path: Path
) -> None:
    first = make()
    said = ask(first, request("Hello.", session="trip")).text
    first.close()
    assert states(tmp_path / "kv") == ["head", "s-trip"]
    usage = ask(make(), request("Hello.", said, "And now?", session="trip")).usage
    assert usage.prompt_tokens - usage.cached_tokens < len("\n<user>And now?\n<assistant>") + 2


def test_the_answer_is_the_same_with_and_without_a_kept_state(make: Make) -> None:
    first = make()
    said = ask(first, request("Hello.", session="trip")).text
    first.close()
    asked = request("Hello.", said, "And now?", session="trip")
    assert ask(make(), asked).text == ask(make(cache_mb=0), asked).text


def test_a_new_conversation_begins_with_the_head_that_another_has_read(make: Make) -> None:
    first = make()
    ask(first, request("Hello.", session="trip"))
    first.close()
    usage = ask(make(), request("Good morning.", session="other")).usage
    assert usage.cached_tokens >= len(HEAD)


def test_a_request_of_another_conversation_costs_this_one_nothing(make: Make, log: Path) -> None:
    model = make()
    said = ask(model, request("Hello.", session="trip")).text
    ask(model, request("A title, please.", head="Say a title." * 60))
    usage = ask(model, request("Hello.", said, "And now?", session="trip")).usage
    assert usage.prompt_tokens - usage.cached_tokens < 40
    assert log.read_text().split().count("restore") == 1


def test_a_head_that_has_changed_is_read_anew(make: Make) -> None:
    first = make()
    said = ask(first, request("Hello.", session="trip")).text
    first.close()
    asked = request("Hello.", said, "And now?", session="trip", head="Anew. " + HEAD)
    second = make()
    assert ask(second, asked).usage.cached_tokens == 0
    second.close()
    assert ask(make(), asked).usage.cached_tokens > len(HEAD)


@pytest.mark.parametrize("changed", ["window", "version"])
def test_states_of_another_window_or_engine_are_not_used(
    make: Make, changed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = make()
    ask(first, request("Hello.", session="trip"))
    first.close()
    monkeypatch.setenv("FAKE_LLAMA_VERSION", "2.0" if changed == "version" else "1.0")
    second = make(window=4096 if changed == "window" else 8192)
    assert ask(second, request("Hello.", session="trip")).usage.cached_tokens == 0


def test_between_two_turns_nothing_is_saved(make: Make, log: Path) -> None:
    model = make()
    said = ask(model, request("Hello.", session="trip")).text
    saved = log.read_text().count("save")
    ask(model, request("Hello.", said, "And now?", session="trip"))
    assert log.read_text().count("save") == saved
    model.close()
    assert log.read_text().count("save") == saved + 1


def test_what_was_restored_and_not_used_is_not_saved_again(make: Make, log: Path) -> None:
    first = make()
    said = ask(first, request("Hello.", session="trip")).text
    first.close()
    saved = log.read_text().count("save")
    second = make()
    for _ in second.warm(request("x", session="trip")):
        pass
    second.close()
    assert said
    assert log.read_text().count("save") == saved


def test_nothing_is_kept_when_the_cache_may_have_no_size(make: Make, tmp_path: Path) -> None:
    model = make(cache_mb=0)
    ask(model, request("Hello.", session="trip"))
    model.close()
    assert not (tmp_path / "kv").exists()


def test_a_state_that_does_not_fit_the_disk_leaves_nothing_of_it(
    make: Make, tmp_path: Path, log: Path
) -> None:
    model = make("full")
    assert ask(model, request("Hello.", session="trip")).text
    model.close()
    assert log.read_text().count("save") == 2
    assert states(tmp_path / "kv") == []


def test_on_a_disk_without_room_for_all_states_none_is_written(make: Make, log: Path) -> None:
    model = make(cache_mb=10**9)
    assert ask(model, request("Hello.", session="trip")).text
    model.close()
    assert "save" not in log.read_text()


def test_of_a_conversation_that_was_deleted_meanwhile_no_state_is_kept(
    make: Make, tmp_path: Path
) -> None:
    make().close()
    home = Home(tmp_path / "home")
    home.sessions.mkdir(parents=True)
    (home.sessions / "here.json").write_text("{}")
    for session in ("here", "deleted"):
        model = open_model(str(tmp_path / "good.gguf"), Settings(), home)
        ask(cast(EmbeddedModel, model), request("Hello.", session=session))
        model.close()
    assert states(home.private / "cache" / "kv") == ["head", "s-here"]


def test_reading_ahead_leaves_only_the_new_message_to_be_read(make: Make) -> None:
    model = make()
    history = ("Hello.", "Good day.", "Which port?", "8080.")
    for _ in model.warm(request(*history, ".", session="trip")):
        pass
    usage = ask(model, request(*history, "And now?", session="trip")).usage
    assert usage.prompt_tokens - usage.cached_tokens == len("And now?\n<assistant>")


def test_a_load_that_was_left_goes_on_and_is_not_begun_again(make: Make, log: Path) -> None:
    model = make("lag")
    waiting = cast("Generator[Waiting]", model.warm(Request(())))
    assert "loading model" in next(waiting).message
    assert next(waiting) == Waiting("")
    waiting.close()
    engine = model._engine
    process = engine._process
    ask(model, request("Hello."))
    assert engine._process is process


def test_closing_while_it_loads_does_not_wait_for_the_model(make: Make) -> None:
    model = make("slow")
    waiting = cast("Generator[Waiting]", model.warm(Request(())))
    next(waiting), next(waiting)
    process = model._engine._process
    assert process is not None
    waiting.close()
    model.close()
    assert process.poll() is not None


def test_leaving_a_reply_hangs_up_and_the_next_one_is_whole(make: Make, log: Path) -> None:
    model = make()
    stream = model.stream(request("go on"))
    while not isinstance(next(stream), Text):
        pass
    stream.close()
    assert ask(model, request("Hello.")).text.startswith("I know")
    while "hung up" not in log.read_text():
        time.sleep(0.01)


def test_a_model_that_cannot_be_loaded_is_one_line(make: Make) -> None:
    with pytest.raises(ModelFailed, match=r"cannot load .*broken\.gguf with a window of 8,192"):
        ask(make("broken"), request("Hello."))


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [("broken", "tokens: not a model"), ("crash", r"the engine process died at once \(exit 3\)")],
)
def test_why_a_model_cannot_be_loaded_is_told(make: Make, behaviour: str, reason: str) -> None:
    with pytest.raises(ModelFailed, match=reason):
        ask(make(behaviour), request("Hello."))


def test_an_engine_that_cannot_be_imported_is_missing_and_says_what_it_lacks(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_LLAMA_LACKS", "libgomp.so.1")
    with pytest.raises(ModelMissing, match=r"cannot be used: libgomp\.so\.1: cannot open"):
        ask(make(), request("Hello."))


@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="needs no temporary folder")
def test_without_a_place_for_its_socket_the_engine_is_not_started(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: Path
) -> None:
    model = make()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    with pytest.raises(ModelFailed, match=r"cannot be started: .*No such file"):
        ask(model, request("Hello."))
    assert log.read_text() == ""


def test_a_request_that_is_too_large_is_told_with_its_numbers(make: Make) -> None:
    with pytest.raises(PromptTooLarge, match=r"\d{4} tokens, the window of .* holds 1200"):
        ask(make(window=1200), request("word " * 300))


def test_an_engine_that_dies_costs_one_reply(make: Make) -> None:
    model = make()
    with pytest.raises(ModelFailed):
        ask(model, request("die"))
    assert ask(model, request("Hello.")).text.startswith("I know")


PARENT = """
import sys, time
from pathlib import Path
from openclaw.models.base import Request
from openclaw.models.embedded import EmbeddedModel
model = EmbeddedModel(Path(sys.argv[1]), window=2048)
if "late" in sys.argv[1]:
    beats = model.warm(Request(()))
    next(beats), next(beats)
else:
    model.load()
print(model._engine._process.pid, flush=True)
time.sleep(60)
"""


@pytest.mark.skipif(os.name == "nt", reason="asks for the process as POSIX does")
@pytest.mark.parametrize("behaviour", ["good", "late"])
def test_the_engine_ends_with_a_parent_that_is_killed_and_leaves_no_folder(
    make: Make, tmp_path: Path, log: Path, behaviour: str
) -> None:
    make(behaviour).close()
    command = [sys.executable, "-c", PARENT, str(tmp_path / f"{behaviour}.gguf")]
    places = tmp_path / "t"
    places.mkdir()
    environ = {**os.environ, "TMPDIR": str(places)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ) as parent:
        assert parent.stdout is not None
        engine = int(parent.stdout.readline())
        until = time.monotonic() + 10
        while behaviour == "late" and time.monotonic() < until and "loading" not in log.read_text():
            time.sleep(0.01)
        os.kill(engine, 0)
        parent.send_signal(signal.SIGKILL)
    until = time.monotonic() + 10
    while time.monotonic() < until and _is_running(engine):
        time.sleep(0.02)
    assert not _is_running(engine)
    assert list(places.iterdir()) == []


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = Path(f"/proc/{pid}/stat")
    return not (state.exists() and state.read_text().rpartition(")")[2].split()[0] == "Z")
