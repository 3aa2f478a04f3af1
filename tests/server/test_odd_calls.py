"""Calls with odd values: refused in words, never by an error that nobody expected."""

from __future__ import annotations

import json
import random
import socket
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from openclaw.server.access import MAX_BODY
from openclaw.server.api import Endpoint
from openclaw.server.routes import ENDPOINTS
from openclaw.server.server_client import RunningServer
from tests.data.sample import sample
from tests.fakes.ollama_server import FakeOllama

ODD: list[Any] = [
    *("", " ", "x" * 5000, "../x", "/etc/passwd", "a\0b", "\ud800", "%00", "..%2f", "\u202e", "-1"),
    *("0", "1e9", "latest", "9" * 30, "*", "[", "'", '"', "\n", "2026-13-45", "workspace"),
    *(".git/config", "{{secret:x}}", "null", -1, 0, 10**30, 1.5, float("nan"), True, None),
    *([], {}, [[]], [""], [None]),
]
LEFT_OUT = ("/api/stop", "/api/runs", "/api/chat", "/v1/chat/completions")
"""What ends the server or asks the model; their bodies are tried elsewhere."""


def draw_call(endpoint: Endpoint, drawn: random.Random) -> tuple[str, dict[str, str], bytes | None]:
    """A path, a query and a body of this form with odd values."""
    path = endpoint.path
    while "{" in path:
        before, _, rest = path.partition("{")
        value = str(drawn.choice(ODD)).encode("utf-8", "replace")
        path = before + quote(value, safe="") + rest.partition("}")[2]
    query = {
        name: str(drawn.choice(ODD)).encode("utf-8", "replace").decode()
        for name in endpoint.query
        if drawn.random() < 0.7
    }
    if endpoint.body is None:
        return path, query, None
    known = endpoint.body.get("properties") or {"temperature": {}, "model": {}, "nothing": {}}
    body = {}
    for name, shape in known.items():
        if name in endpoint.body.get("required", ()) or drawn.random() < 0.6:
            fitting = [each for each in ODD if fits(each, shape)]
            body[name] = drawn.choice(fitting if drawn.random() < 0.8 and fitting else ODD)
    return path, query, json.dumps(body).encode()


def fits(value: Any, shape: Any) -> bool:
    kinds = {"string": str, "integer": int, "boolean": bool, "number": float, "array": list}
    return isinstance(value, kinds.get(str(shape.get("type")), object))


@pytest.mark.parametrize("seed", sample(range(40)))
def test_no_call_fails_in_a_way_that_nobody_expected(
    server: RunningServer,
    http: httpx.Client,
    fake_ollama: FakeOllama,
    home: Path,
    capfd: pytest.CaptureFixture[str],
    seed: int,
) -> None:
    drawn, failed = random.Random(seed), []
    for endpoint in ENDPOINTS:
        if endpoint.path not in LEFT_OUT:
            path, query, body = draw_call(endpoint, drawn)
            said = http.request(endpoint.method, path, params=query, content=body, timeout=30)
            if said.status_code == 500:
                failed.append(ascii((said.text, endpoint.method, path, query, body)))
    assert failed == []
    assert "Traceback" not in capfd.readouterr().err
    assert http.get("/api/health").json()["ok"]


@pytest.mark.parametrize("number", ["\u00b2", "9" * 5000])
def test_a_number_that_python_does_not_read_is_none(
    http: httpx.Client, fake_ollama: FakeOllama, number: str
) -> None:
    assert http.get("/api/log", params={"n": number}).status_code == 400
    fake_ollama.say("Yes.")
    run = http.post("/api/chat", json={"message": "Are you there?", "stream": False}).json()["id"]
    events = http.get(f"/api/runs/{run}/events", params={"after": number}).text
    assert events.startswith("id: 1\n")


def test_a_wrong_method_names_all_that_there_are(http: httpx.Client) -> None:
    refused = http.put("/api/files", json={})
    allowed = {word.strip() for word in refused.headers["allow"].split(",")}
    assert (refused.status_code, allowed) == (405, {"GET", "HEAD", "POST"})
    assert http.head("/api/todos").status_code == 200


def test_a_client_that_leaves_in_mid_call_leaves_no_trace(
    server: RunningServer, http: httpx.Client, capfd: pytest.CaptureFixture[str]
) -> None:
    call = (
        f"POST /api/chat HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nContent-Length: 100\r\n"
        f"Authorization: Bearer {server.token}\r\nContent-Type: application/json\r\n\r\n{{"
    )
    with socket.create_connection(("127.0.0.1", server.port)) as leaving:
        leaving.sendall(call.encode())
        time.sleep(0.2)
    time.sleep(0.2)
    assert http.get("/api/health").status_code == 200
    assert "Traceback" not in capfd.readouterr().err


def test_a_body_without_a_length_may_not_be_too_long(http: httpx.Client) -> None:
    pieces = (b" " * 1_000_000 for _ in range(MAX_BODY // 1_000_000 + 1))
    assert http.post("/api/render", content=pieces).status_code == 413
