"""Every test runs in a home of its own and cannot reach out."""

from __future__ import annotations

import gc
import importlib
import itertools
import os
import signal
import socket
from collections.abc import Generator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from openclaw.sessions.store import SessionStore
from openclaw.storage.home import Home
from tests.fakes.git_home import copy_home
from tests.fakes.ollama_server import FakeOllama
from tests.fakes.talk import Talk, talk

FOREIGN = (
    "OLLAMA_API_KEY", "OPENAI_API_KEY", "FORCE_COLOR", "CLICOLOR_FORCE", "OLLAMA_CONTEXT_LENGTH",
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy",
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE",
)  # fmt: skip

# Few cases and the same ones each time; `--hypothesis-profile=thorough` has many, drawn anew.
settings.register_profile(
    "quick", max_examples=10, deadline=None, derandomize=True, database=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
settings.register_profile(
    "thorough", max_examples=200, deadline=None, suppress_health_check=list(HealthCheck)
)
settings.load_profile("quick")

FOLDERS = {
    "HOME": "user",
    "USERPROFILE": "user",
    "APPDATA": "user/appdata",
    "LOCALAPPDATA": "user/localappdata",
    "XDG_CONFIG_HOME": "user/config",
    "XDG_DATA_HOME": "user/data",
    "XDG_CACHE_HOME": "user/cache",
    "XDG_STATE_HOME": "user/state",
    "GIT_CONFIG_GLOBAL": "user/gitconfig",
    "OPENCLAW_HOME": "home",
}
# A shell that runs the tests in the background has them ignore Ctrl-C, and so would their children.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Of `-n auto`: one more than there are cores, as many a test waits for a server or a lock."""
    return (os.cpu_count() or 1) + 1


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    gc.disable()  # what collecting makes stays to the end
    _compile_share(session.config)
    found = yield
    gc.freeze()
    gc.enable()
    return found


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make no long cases where only the others are wanted: there are thousands of them."""
    if "not slow" not in metafunc.config.option.markexpr:
        return
    for mark in metafunc.definition.iter_markers("parametrize"):
        cases = mark.args[1] if len(mark.args) > 1 and "ids" not in mark.kwargs else None
        if isinstance(cases, list) and (short := [each for each in cases if not _is_long(each)]):
            cases[:] = short


def _is_long(case: object) -> bool:
    return any(getattr(mark, "name", "") == "slow" for mark in getattr(case, "marks", ()))


def _compile_share(config: pytest.Config) -> None:
    """In a new clone each worker would compile all test files. So each imports a share of its own
    first, and then finds the shares of the others compiled."""
    worker = getattr(config, "workerinput", None)
    if worker is None or config.args != config.getini("testpaths"):
        return
    top = Path(__file__).parent
    files = [path.relative_to(top.parent) for path in sorted(top.rglob("test_*.py"))]
    for file in files[int(worker["workerid"].removeprefix("gw")) :: worker["workercount"]]:
        with suppress(Exception, pytest.skip.Exception):  # which the collection tells
            importlib.import_module(".".join(file.with_suffix("").parts))


@pytest.fixture(scope="session")
def closed_port() -> Iterator[int]:
    """A loopback port that refuses connections: taken, but nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield int(taken.getsockname()[1])


@pytest.fixture(scope="session", autouse=True)
def plain_world(closed_port: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No Ollama, no colours, no foreign settings, and no connection to another machine."""
    templates = tmp_path_factory.mktemp("templates")
    for folder in ("hooks", "info"):
        (templates / folder).mkdir()
    top = str(Path(__file__).parent.parent)
    inherited = [top, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    values = {
        "OLLAMA_HOST": f"127.0.0.1:{closed_port}",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TEMPLATE_DIR": str(templates),  # a new repository without a dozen sample hooks
        "NO_COLOR": "1",
        "TERM": "dumb",
        "COLUMNS": "100",
        "PYTHONUTF8": "1",
        "PIP_NO_INDEX": "1",
        "PYTHONPATH": os.pathsep.join(inherited),
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in values.items():
            patch.setenv(name, value)
        for name in FOREIGN:
            patch.delenv(name, raising=False)
        _forbid_other_machines(patch)
        yield


@pytest.fixture(scope="session")
def new_places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A new path at each step, for the tests that ask for no `tmp_path`, which takes longer."""
    top = tmp_path_factory.mktemp("places")
    return (top / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def own_world(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, new_places: Iterator[Path]
) -> None:
    """Home and all folders below `tmp_path`. Tests marked `model` keep the real model folder."""
    has_own = "tmp_path" in request.fixturenames
    place: Path = request.getfixturevalue("tmp_path") if has_own else next(new_places)
    (place / "user").mkdir(parents=True)
    models = place / "models"
    if request.node.get_closest_marker("model"):
        from openclaw.storage.program import models_folder

        models = models_folder()
    for name, folder in FOLDERS.items():
        monkeypatch.setenv(name, f"{place}{os.sep}{folder}")
    monkeypatch.setenv("OPENCLAW_MODELS", str(models))


def _forbid_other_machines(patch: pytest.MonkeyPatch) -> None:
    """A connection to any other machine fails the test, and so does looking up its name."""
    connect, connect_ex = socket.socket.connect, socket.socket.connect_ex
    getaddrinfo = socket.getaddrinfo

    def guarded_connect(self: socket.socket, address: Any) -> None:
        _check(self.family, address)
        connect(self, address)

    def guarded_connect_ex(self: socket.socket, address: Any) -> int:
        _check(self.family, address)
        return connect_ex(self, address)

    def guarded_getaddrinfo(host: Any, *args: Any, **kwargs: Any) -> Any:
        _check(socket.AF_INET, (host,))
        return getaddrinfo(host, *args, **kwargs)

    patch.setattr(socket.socket, "connect", guarded_connect)
    patch.setattr(socket.socket, "connect_ex", guarded_connect_ex)
    patch.setattr(socket, "getaddrinfo", guarded_getaddrinfo)


@pytest.fixture
def fake_ollama(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeOllama]:
    """A running stand-in with the model fake:1b; OLLAMA_HOST names it."""
    with FakeOllama() as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        yield server


@pytest.fixture
def home(tmp_path: Path, fake_ollama: FakeOllama) -> Path:
    """A new home that talks to the fake model with native tool calls."""
    settings = "model: ollama/fake:1b\nprotocol: native\nrecall: tool\n"
    return copy_home(tmp_path / "home", settings, in_git=False)


@pytest.fixture
def it(tmp_path: Path) -> Talk:
    """A talk with a scripted model in a new home."""
    return talk(tmp_path / "home")


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    """The conversations of a new home, which has none yet."""
    home = Home(tmp_path / "home")
    home.workspace.mkdir(parents=True)
    (home.workspace / "SOUL.md").write_text("You are Moss.\n", "utf-8")
    return SessionStore(home.sessions, home.private / "locks")


def _check(family: int, address: Any) -> None:
    if family not in (socket.AF_INET, socket.AF_INET6) or not isinstance(address, tuple):
        return
    host = address[0].decode() if isinstance(address[0], bytes) else address[0]
    if not (host in (None, "", "localhost", "::1") or str(host).startswith("127.")):
        pytest.fail(f"a test reached out to {host}", pytrace=True)
