"""A home that is served on loopback, answered by a fake model."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from openclaw.server.server_client import RunningServer
from tests.fakes.git_home import copy_home
from tests.fakes.ollama_server import FakeOllama
from tests.fakes.serving import serving


@pytest.fixture
def home(tmp_path: Path, fake_ollama: FakeOllama) -> Path:
    """A new home that talks to the fake model with native tool calls, and whose search may take
    its time: on a busy machine its process needs more than the 4 s of a prompt."""
    settings = "model: ollama/fake:1b\nprotocol: native\nembedding: none\nrecall_wait: 60\n"
    return copy_home(tmp_path / "home", settings, in_git=False)


@pytest.fixture
def server(home: Path) -> Iterator[RunningServer]:
    with serving(home) as (_, found):
        yield found


@pytest.fixture
def http(server: RunningServer) -> Iterator[httpx.Client]:
    """The owner's client, without the certificates of the machine, which take 30 ms to load."""
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}
    url, tls = f"http://127.0.0.1:{server.port}", ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    with httpx.Client(base_url=url, headers=headers, timeout=30, verify=tls) as client:
        yield client
