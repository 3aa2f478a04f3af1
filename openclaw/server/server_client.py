"""A client of a running server, for the command line. It imports nothing that takes long."""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import asdict
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Any
from urllib.parse import urlencode

from openclaw import __version__
from openclaw.errors import ServerAway
from openclaw.events import Event
from openclaw.frozen import frozen
from openclaw.retrieval.passages import Passage, passage_from_json
from openclaw.security.grants import Grant
from openclaw.security.policy import Ask, Declined, PermissionQuestion
from openclaw.server.wire import PromptRequest, event_from_json, to_error, value_from_json
from openclaw.storage.home import Home
from openclaw.storage.safe_open import read_text

CONNECT_SECONDS = 0.5
SILENT_SECONDS = 60.0  # a stream says something every 15 seconds
ENDED = "the openclaw server ended in mid-turn"
BROKEN = "openclaw log shows how far it went; without a server: --no-server"


@frozen
class RunningServer:
    port: int
    token: str
    pid: int

    def call(self, method: str, path: str, body: object = None) -> Any:
        """Return the JSON answer of a call. Raises the error that the server tells."""
        with closing(self._connect()) as connection:
            return _read_answer(self._send(connection, method, path, body))

    def search(
        self, question: str, k: int, path: str, since: str
    ) -> tuple[list[Passage], list[str]]:
        """Search memory; return passages and notices. Raises the error that the server tells."""
        asked = {"q": question, "k": k, "path": path, "since": since, "explain": 1}
        found = self.call("GET", f"/api/search?{urlencode(asked)}")
        return [passage_from_json(each) for each in found["passages"]], found["notices"]

    def begin(self, request: PromptRequest, *, asks: bool) -> dict[str, Any]:
        """Begin a run, and return its state. `asks`: somebody answers its questions."""
        run: dict[str, Any] = self.call("POST", "/api/runs", {**request.to_json(), "asks": asks})
        return run

    def ask(
        self, request: PromptRequest, ask_user: Ask | None, kept: KeptGrants
    ) -> Generator[Event]:
        """Begin a run, and return its events; see `follow`."""
        run = self.begin(request, asks=ask_user is not None)
        return self.follow(run["id"], ask_user, kept)

    def follow(self, run: str, ask_user: Ask | None, kept: KeptGrants) -> Generator[Event]:
        """Yield the events of a run, as `Agent.ask` does. `ask_user` answers its questions, `kept`
        has the grants of the replies. A KeyboardInterrupt, raised while an event is waited for or
        thrown in, stops the run, whose last events still come. Who leaves it leaves it alone."""
        seen, ended = 0, False
        while not ended:
            try:
                for number, data in self._read(f"/api/runs/{run}/events?after={seen}"):
                    seen = number or seen
                    ended = data["event"] in ("end", "error")
                    if data["event"] == "end":
                        break
                    if data["event"] == "question" and ask_user:
                        self._reply(run, data, ask_user, kept)
                    elif data["event"] == "error":
                        if data["exit_code"] == 130:
                            raise KeyboardInterrupt
                        raise to_error(data["message"], data["hint"], data["exit_code"])
                    elif (event := event_from_json(data)) is not None:
                        yield event
                if not ended:
                    raise ServerAway(ENDED, BROKEN)
            except KeyboardInterrupt:
                if ended:
                    raise
                self.call("POST", f"/api/runs/{run}/stop", {})

    def _read(self, path: str) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the events of a stream, each with its number."""
        with closing(self._connect(SILENT_SECONDS)) as connection:
            response = self._send(connection, "GET", path)
            if response.status != 200:
                _read_answer(response)
            try:
                yield from read_stream(response)
            except (OSError, HTTPException) as error:
                raise ServerAway(ENDED, BROKEN) from error

    def _reply(
        self, run: str, question: Mapping[str, Any], ask_user: Ask, kept: KeptGrants
    ) -> None:
        """Ask the user here, and send the reply. Another client may have been quicker."""
        reply: dict[str, Any] = {"question": question["id"]}
        try:
            reply["decision"] = ask_user(value_from_json(PermissionQuestion, question)) or "no"
        except Declined as declined:
            reply["instead"] = str(declined)
        if (grant := kept.take()) is not None:
            reply["grant"] = asdict(Grant(grant.kind, grant.value))
        with suppress(Exception):
            self.call("POST", f"/api/runs/{run}/answer", reply)

    def _connect(self, seconds: float | None = None) -> HTTPConnection:
        return HTTPConnection("127.0.0.1", self.port, timeout=seconds)

    def _send(
        self, connection: HTTPConnection, method: str, path: str, body: object = None
    ) -> HTTPResponse:
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        data = None if body is None else json.dumps(body).encode()
        try:
            connection.request(method, path, data, headers)
            return connection.getresponse()
        except (OSError, HTTPException) as error:
            raise ServerAway(f"the openclaw server does not answer ({error})", BROKEN) from error


class KeptGrants:
    """The grants that the user gives while a server answers. A lasting one is written here, by
    `keep`: the server writes none for a program."""

    def __init__(self, keep: Callable[[Grant], None]) -> None:
        self._keep = keep
        self._newest: Grant | None = None

    def grant(self, grant: Grant, *, lasting: bool) -> None:
        """Keep a grant for the run, and for good when it is lasting."""
        if lasting:
            self._keep(grant)
        self._newest = grant

    def take(self) -> Grant | None:
        """Return the newest grant, once."""
        newest, self._newest = self._newest, None
        return newest


def read_stream(response: HTTPResponse) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield number and data of the events of a stream; the number is 0 for one without."""
    number, data = 0, ""
    while line := response.readline():
        text = line.decode("utf-8").rstrip("\r\n")
        name, _, value = text.partition(": ")
        if name == "id":
            number = int(value)
        elif name == "data":
            data += value
        elif not text and data:
            yield number, json.loads(data)
            number, data = 0, ""


def find_server(home: Home) -> RunningServer | None:
    """Return the server that runs for a home, None without one of this very version. It must show
    that it knows the token before it gets it: another program may have the port by now."""
    try:
        said = json.loads(read_text(home.server_file))
        found = RunningServer(int(said["port"]), str(said["token"]), int(said["pid"]))
        if said["version"] != __version__:
            return None
        nonce = secrets.token_hex(16)
        with closing(found._connect(CONNECT_SECONDS)) as connection:
            connection.request("GET", f"/api/health?nonce={nonce}")
            answer = json.loads(connection.getresponse().read(10_000))
        is_ours = hmac.compare_digest(str(answer["proof"]), prove(found.token, nonce))
    except (OSError, HTTPException, ValueError, KeyError, TypeError):
        return None
    return found if is_ours else None


def prove(token: str, nonce: str) -> str:
    """Return what only a holder of the token can say about a nonce."""
    return hmac.new(token.encode(), nonce.encode(), hashlib.sha256).hexdigest()


def _read_answer(response: HTTPResponse) -> Any:
    """Return the JSON of an answer. Raises the error that it tells."""
    try:
        said = json.loads(response.read() or b"null")
    except (OSError, HTTPException, ValueError) as error:
        raise ServerAway(f"the openclaw server answers in no known form ({error})") from error
    if response.status < 400:
        return said
    message = str(said.get("error", f"status {response.status}"))
    raise to_error(message, str(said.get("hint", "")), int(said.get("exit_code", 1)))
