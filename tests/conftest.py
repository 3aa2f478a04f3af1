"""Every test runs in a home of its own and cannot reach out."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.ollama_server import FakeOllama

FOREIGN = (
    "OLLAMA_API_KEY", "OPENAI_API_KEY", "FORCE_COLOR", "CLICOLOR_FORCE", "OLLAMA_CONTEXT_LENGTH",
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy",
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE",
)  # fmt: skip

# A shell that runs the tests in the background has them ignore Ctrl-C, and so would their children.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def closed_port() -> Iterator[int]:
    """A loopback port that refuses connections: taken, but nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield int(taken.getsockname()[1])


@pytest.fixture(autouse=True)
def own_world(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    closed_port: int,
    request: pytest.FixtureRequest,
) -> None:
    """Home and all folders below `tmp_path`, no Ollama, no colours, no foreign settings. Tests
    marked `model` keep the real model folder."""
    if request.node.get_closest_marker("model"):
        from openclaw.models.catalog import models_folder

        models = models_folder()
    else:
        models = tmp_path / "models"
    user = tmp_path / "user"
    user.mkdir()
    folders = {
        "HOME": user,
        "USERPROFILE": user,
        "APPDATA": user / "appdata",
        "LOCALAPPDATA": user / "localappdata",
        "XDG_CONFIG_HOME": user / "config",
        "XDG_DATA_HOME": user / "data",
        "XDG_CACHE_HOME": user / "cache",
        "XDG_STATE_HOME": user / "state",
        "GIT_CONFIG_GLOBAL": user / "gitconfig",
        "OPENCLAW_HOME": tmp_path / "home",
        "OPENCLAW_MODELS": models,
    }
    for name, folder in folders.items():
        monkeypatch.setenv(name, str(folder))
    for name in FOREIGN:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{closed_port}")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("PYTHONUTF8", "1")
    top = str(Path(__file__).parent.parent)
    inherited = [top, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(inherited))


@pytest.fixture(autouse=True)
def loopback_only(monkeypatch: pytest.MonkeyPatch) -> None:
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

    monkeypatch.setattr(socket.socket, "connect", guarded_connect)
    monkeypatch.setattr(socket.socket, "connect_ex", guarded_connect_ex)
    monkeypatch.setattr(socket, "getaddrinfo", guarded_getaddrinfo)


@pytest.fixture
def fake_ollama(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeOllama]:
    """A running stand-in with the model fake:1b; OLLAMA_HOST names it."""
    with FakeOllama() as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        yield server


def _check(family: int, address: Any) -> None:
    if family not in (socket.AF_INET, socket.AF_INET6) or not isinstance(address, tuple):
        return
    host = address[0].decode() if isinstance(address[0], bytes) else address[0]
    if not (host in (None, "", "localhost", "::1") or str(host).startswith("127.")):
        pytest.fail(f"a test reached out to {host}", pytrace=True)
