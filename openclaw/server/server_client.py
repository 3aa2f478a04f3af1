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
from openclaw.security.policy import Ask, Declined
from openclaw.server.wire import PromptRequest, event_from_json, question_from_json, to_error
from openclaw.storage.home import Home
from openclaw.storage.text import read_text

CONNECT_SECONDS = 0.5
SILENT_SECONDS = 60.0
"""A stream says something every 15 seconds."""
BROKEN = "openclaw log shows how far it went; without a server: --no-server"


@frozen
class RunningServer:
    """A server that answers for a home."""

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

    def ask(self, request: PromptRequest, ask_user: Ask | None, kept: KeptGrants) -> Answering:
        """Begin a run. `ask_user` answers its questions; `kept` has the grants of its replies."""
        run = self.call("POST", "/api/runs", {**request.to_json(), "asks": ask_user is not None})
        return Answering(self, run["id"], ask_user, kept)

    def _connect(self, seconds: float | None = None) -> HTTPConnection:
        return HTTPConnection("127.0.0.1", self.port, timeout=seconds)

    def _send(
        self, connection: HTTPConnection, method: str, path: str, body: object, **headers: str
    ) -> HTTPResponse:
        sent = {
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/json",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        data = None if body is None else json.dumps(body).encode()
        try:
            connection.request(method, path, data if method != "GET" else None, sent)
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


class Answering:
    """The events of a run, as `Agent.ask` yields them. A KeyboardInterrupt, raised while an event
    is waited for or thrown in, stops the run, whose last events still come."""

    def __init__(
        self,
        server: RunningServer,
        run: str,
        ask_user: Ask | None,
        kept: KeptGrants,
    ) -> None:
        self._server, self._run = server, run
        self._ask_user, self._kept = ask_user, kept
        self._seen = 0
        self._ended = False
        self._events = self._read()
        self.session_id = ""

    def __iter__(self) -> Answering:
        return self

    def __next__(self) -> Event:
        while not self._ended:
            try:
                return next(self._events)
            except KeyboardInterrupt:
                if self._ended:
                    raise
                self._stop()
        raise StopIteration

    def throw(self, interrupt: KeyboardInterrupt) -> Event:
        """Stop the run, and return its next event."""
        self._stop()
        return next(self)

    def close(self) -> None:
        """Leave the run alone: it goes on without us."""
        self._events.close()

    def _stop(self) -> None:
        self._server.call("POST", f"/api/runs/{self._run}/stop", {})
        self._events.close()
        self._events = self._read()  # what was cut off is read again, from the number seen last

    def _read(self) -> Generator[Event]:
        path = f"/api/runs/{self._run}/events"
        lost = ServerAway("the openclaw server ended in mid-turn", BROKEN)
        with closing(self._server._connect(SILENT_SECONDS)) as connection:
            response = self._server._send(
                connection, "GET", path, None, Last_Event_ID=str(self._seen)
            )
            if response.status != 200:
                _read_answer(response)
            try:
                for number, data in read_stream(response):
                    self._seen = number or self._seen
                    if data["event"] == "run":
                        self.session_id = data["session_id"]
                    elif data["event"] == "question":
                        self._reply(data)
                    elif data["event"] in ("end", "error"):
                        self._ended = True
                        return _raise_error(data)
                    elif (event := event_from_json(data)) is not None:
                        yield event
            except (OSError, HTTPException) as error:
                raise lost from error
        raise lost

    def _reply(self, data: Mapping[str, Any]) -> None:
        """Ask the user here, and send the reply. Another client may have been quicker."""
        if self._ask_user is None:
            return
        reply: dict[str, Any] = {}
        try:
            reply["decision"] = self._ask_user(question_from_json(data)) or "no"
        except Declined as declined:
            reply["instead"] = str(declined)
        if (grant := self._kept.take()) is not None:
            reply["grant"] = asdict(Grant(grant.kind, grant.value))
        with suppress(Exception):
            path = f"/api/runs/{self._run}/answer"
            self._server.call("POST", path, {"question": data["id"], **reply})


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


def _raise_error(data: Mapping[str, Any]) -> None:
    """Raise the error that ended a run, if the event is one."""
    if data["event"] == "error" and data["exit_code"] == 130:
        raise KeyboardInterrupt
    if data["event"] == "error":
        raise to_error(data["message"], data["hint"], data["exit_code"])


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
        proof = str(answer["proof"])
    except (OSError, HTTPException, ValueError, KeyError, TypeError):
        return None
    return found if hmac.compare_digest(proof, prove(found.token, nonce)) else None


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
