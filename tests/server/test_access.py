"""Attacks on a listening server: other sites, rebound names, wrong tokens, other bodies."""

from __future__ import annotations

import http.client
import json
import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from openclaw.errors import UsageError
from openclaw.server.access import MAX_BODY
from openclaw.server.access_tokens import Tokens, add_token, remove_token, tokens_file
from openclaw.server.routes import ENDPOINTS
from openclaw.server.server_client import RunningServer
from openclaw.storage.home import Home
from openclaw.storage.new_home import create_home
from tests.fakes.ollama_server import FakeOllama
from tests.fakes.serving import serving


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("attacked") / "home"
    create_home(root, "model: ollama/fake:1b\nembedding: none\n")
    return root


@pytest.fixture(scope="module")
def attacked(root: Path) -> Iterator[RunningServer]:
    """One server for all attacks."""
    with serving(root) as (_, found):
        yield found


def send(
    server: RunningServer, method: str, path: str, body: bytes = b"", *, bearer: str = "",
    **headers: str,
) -> tuple[int, http.client.HTTPMessage, bytes]:  # fmt: skip
    """What the server answers; `Host` and the type of the body are right unless given."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.putrequest(method, path, skip_host="Host" in named, skip_accept_encoding=True)
    kind = "application/json" if body or method == "POST" else ""
    own = {"Content-Length": str(len(body)), "Content-Type": kind}
    if bearer:
        own["Authorization"] = f"Bearer {bearer}"
    for name, value in (own | named).items():
        if value:
            connection.putheader(name, value)
    connection.endheaders(body)
    answer = connection.getresponse()
    said = answer.status, answer.headers, answer.read()
    connection.close()
    return said


@pytest.mark.parametrize(
    "host",
    ["", "evil.example", "127.0.0.1", "localhost", "127.0.0.1.evil.example:{port}",
     "evil.example:{port}", "127.0.0.2:{port}", "[::1]:{port}", "0.0.0.0:{port}"],
)  # fmt: skip
def test_a_rebound_name_is_refused_with_the_right_token_too(
    attacked: RunningServer, host: str
) -> None:
    named = host.format(port=attacked.port)
    said = send(attacked, "GET", "/api/status", bearer=attacked.token, Host=named)
    assert said[0] in (400, 421)


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "LOCALHOST:{port}"])
def test_its_own_names_are_known(attacked: RunningServer, host: str) -> None:
    named = host.format(port=attacked.port)
    assert send(attacked, "GET", "/api/status", bearer=attacked.token, Host=named)[0] == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "https://127.0.0.1:{port}.evil.example"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
        {"Origin": "http://127.0.0.1:{port}", "Sec_Fetch_Site": "cross-site"},
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_another_site_is_refused_with_the_right_token_too(
    attacked: RunningServer, method: str, headers: dict[str, str]
) -> None:
    told = {name: value.format(port=attacked.port) for name, value in headers.items()}
    path = "/api/link" if method == "POST" else "/api/status"
    assert send(attacked, method, path, b"{}", bearer=attacked.token, **told)[0] == 403


@pytest.mark.parametrize(
    "kind", ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data",
             "text/plain; application/json", "application/jsonx"]
)  # fmt: skip
def test_a_body_that_a_form_can_send_is_refused(attacked: RunningServer, kind: str) -> None:
    said = send(attacked, "POST", "/api/link", b"{}", bearer=attacked.token, Content_Type=kind)
    assert said[0] == 415


def test_no_site_is_ever_allowed_in(attacked: RunningServer) -> None:
    status, headers, _ = send(
        attacked, "OPTIONS", "/api/chat", Origin=f"http://127.0.0.1:{attacked.port}",
        Access_Control_Request_Method="POST",
    )  # fmt: skip
    assert status in (401, 405)
    assert not [name for name in headers if name.lower().startswith("access-control")]


@pytest.mark.parametrize("token", ["", "wrong", "x" * 43, "Bearer", "\u00e4"])
def test_no_route_but_the_open_ones_answers_without_the_token(
    attacked: RunningServer, token: str
) -> None:
    for endpoint in ENDPOINTS if not token else ENDPOINTS[:1]:
        if endpoint.scope != "open":
            path = endpoint.path.replace("{", "").replace("}", "")
            told = {"Authorization": f"Bearer {token}"}
            status, headers, _ = send(attacked, endpoint.method, path, b"{}", **told)
            assert (status, headers["www-authenticate"]) == (401, "Bearer"), endpoint.path


def test_a_token_in_the_address_or_a_cookie_does_not_count(attacked: RunningServer) -> None:
    assert send(attacked, "GET", f"/api/status?token={attacked.token}")[0] == 401
    assert send(attacked, "GET", "/api/status", Cookie=f"token={attacked.token}")[0] == 401


def test_a_wrong_token_is_logged(root: Path, attacked: RunningServer) -> None:
    send(attacked, "GET", "/api/status", Authorization="Bearer guessed")
    lines = (root / ".openclaw/logs/actions.jsonl").read_text("utf-8").splitlines()
    assert json.loads(lines[-1])["by"] == "wrong token"
    assert "guessed" not in lines[-1]


def test_headers_that_come_twice_are_refused(attacked: RunningServer) -> None:
    with socket.create_connection(("127.0.0.1", attacked.port)) as line:
        host = f"Host: 127.0.0.1:{attacked.port}\r\n"
        line.sendall(f"GET /api/health HTTP/1.1\r\n{host}{host}\r\n".encode())
        assert line.recv(100).split()[1] in (b"400", b"421")


def test_every_answer_forbids_scripts_and_frames(attacked: RunningServer) -> None:
    for path in ("/api/health", "/api/status", "/nothing"):
        _, headers, _ = send(attacked, "GET", path)
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"


def test_a_body_that_is_too_long_is_refused(attacked: RunningServer) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", attacked.port, timeout=10)
    connection.putrequest("POST", "/api/chat")
    connection.putheader("Authorization", f"Bearer {attacked.token}")
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", str(MAX_BODY + 1))
    connection.endheaders()
    assert connection.getresponse().status == 413
    connection.close()


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"nul", b'{"message": 1}', b'{"message": "x", "y": 1}', b"[" * 100_000,
     b'{"message": "x", "mode": "full"}'],
)  # fmt: skip
def test_a_body_of_another_form_is_refused(attacked: RunningServer, body: bytes) -> None:
    assert send(attacked, "POST", "/api/chat", body, bearer=attacked.token)[0] == 400


def test_the_server_file_is_the_owners(root: Path, attacked: RunningServer) -> None:
    mode = stat.S_IMODE(Home(root).server_file.stat().st_mode)
    assert os.name == "nt" or mode == 0o600


# -------- codes and tokens


def test_a_link_works_once(attacked: RunningServer) -> None:
    code = attacked.call("POST", "/api/link", {})["code"]
    told = json.dumps({"code": code}).encode()
    first = send(attacked, "POST", "/api/login", told)
    assert json.loads(first[2])["token"] not in ("", attacked.token)
    assert send(attacked, "POST", "/api/login", told)[0] == 401


def test_the_token_of_a_page_is_not_that_of_the_terminal(attacked: RunningServer) -> None:
    code = attacked.call("POST", "/api/link", {})["code"]
    page = attacked.call("POST", "/api/login", {"code": code})["token"]
    assert send(attacked, "GET", "/api/status", bearer=page)[0] == 200
    full = b'{"message": "x", "mode": "full"}'
    assert send(attacked, "POST", "/api/runs", full, bearer=page)[0] == 403
    assert send(attacked, "POST", "/api/chat", full, bearer=page)[0] == 400


@pytest.mark.parametrize(
    ("scope", "allowed", "refused"),
    [("chat", "/api/runs", "/api/status"), ("read", "/api/health", "/api/runs"),
     ("files", "/api/health", "/api/runs")],
)  # fmt: skip
def test_a_named_token_may_do_what_its_scope_says(
    root: Path, attacked: RunningServer, scope: str, allowed: str, refused: str
) -> None:
    token = add_token(tokens_file(Home(root)), f"my {scope}", scope)
    assert send(attacked, "GET", allowed, bearer=token)[0] == 200
    assert send(attacked, "GET", refused, bearer=token)[0] == 403
    remove_token(tokens_file(Home(root)), f"my {scope}")
    assert send(attacked, "GET", refused, bearer=token)[0] == 401


def test_tokens_are_kept_as_hashes(tmp_path: Path) -> None:
    file = tmp_path / "tokens.json"
    token = add_token(file, "webui", "chat")
    assert token not in file.read_text("utf-8")
    assert Tokens(file).scopes_of(token) == frozenset({"chat"})
    with pytest.raises(UsageError, match="there is a token"):
        add_token(file, "webui", "read")
    with pytest.raises(UsageError, match="no scope"):
        add_token(file, "other", "all")
    with pytest.raises(UsageError, match="no token"):
        remove_token(file, "other")


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a": 1}', '{"a": {"scope": "owner"}}'])
def test_a_damaged_file_of_tokens_lets_nobody_in(tmp_path: Path, text: str) -> None:
    file = tmp_path / "tokens.json"
    file.write_text(text, "utf-8")
    assert Tokens(file).scopes_of("") == frozenset()
    assert Tokens(file).scopes_of("x" * 43) == frozenset()


@pytest.fixture
def named(tmp_path: Path) -> Iterator[RunningServer]:
    """A server whose /v1 the pages of one site may call."""
    create_home(tmp_path / "home", "model: ollama/fake:1b\nembedding: none\n")
    with serving(tmp_path / "home", origins=["https://chat.example"]) as (_, found):
        yield found


def test_a_named_site_may_call_v1_and_nothing_else(named: RunningServer) -> None:
    site = {"Origin": "https://chat.example", "Sec_Fetch_Site": "cross-site"}
    asked = send(named, "OPTIONS", "/v1/models", b"", **site, Access_Control_Request_Method="GET")
    assert (asked[0], asked[1]["access-control-allow-origin"]) == (200, "https://chat.example")
    answered = send(named, "GET", "/v1/models", b"", bearer=named.token, **site)
    assert (answered[0], "openclaw-plain" in answered[2].decode()) == (200, True)
    assert answered[1]["access-control-allow-origin"] == "https://chat.example"
    assert send(named, "GET", "/v1/models", b"", **site)[0] == 401
    for path, origin in (
        ("/api/status", "https://chat.example"),
        ("/v1/../api/status", "https://chat.example"),
        ("/v1/models", "https://chat.example.evil.example"),
        ("/v1/models", "http://chat.example"),
        ("/v1/models", "null"),
    ):
        told = site | {"Origin": origin}
        refused = send(named, "GET", path, b"", bearer=named.token, **told)
        assert refused[0] in (403, 404), (path, origin)
        assert path.startswith("/v1/..") or not refused[1]["access-control-allow-origin"]


@pytest.mark.parametrize(
    ("own", "asked", "status"),
    [("ask", "edit", 403), ("ask", "ask", 200), ("full", "edit", 200), ("read-only", "ask", 403)],
)
def test_a_program_does_not_go_beyond_the_mode_of_the_settings(
    home: Path, http: httpx.Client, fake_ollama: FakeOllama, own: str, asked: str, status: int
) -> None:
    settings = home / "openclaw.yaml"
    settings.write_text(f"{settings.read_text()}mode: {own}\n")
    fake_ollama.say("Yes.")
    token = add_token(tokens_file(Home(home)), "program", "chat")
    http.headers["Authorization"] = f"Bearer {token}"
    said = http.post("/api/chat", json={"message": "Are you there?", "mode": asked})
    assert said.status_code == status
    if own == "full":
        fake_ollama.say("Yes.")
        run = http.post("/api/chat", json={"message": "And now?", "stream": False}).json()
        http.get(f"/api/runs/{run['run_id']}/events")
        [session, *_] = [json.loads(p.read_text()) for p in home.glob("sessions/*.json")]
        assert session["messages"][0]["record"]["mode"] == "edit"
    fake_ollama.script.clear()
