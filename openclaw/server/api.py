"""The routes of the HTTP API: what each takes, who may call it, how it answers; as OpenAPI too."""

from __future__ import annotations

import json
import re
import traceback
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route as StarletteRoute

from openclaw import __version__
from openclaw.errors import Damaged, OpenclawError, Refused, UsageError
from openclaw.frozen import frozen
from openclaw.models.base import matches_schema, replace_surrogates
from openclaw.server.wire import Problem
from openclaw.types import ToolProblem

if TYPE_CHECKING:
    from openclaw.server.service import Service


Scope = Literal["open", "read", "chat", "files", "owner", "terminal"]
"""Who may call a route: anybody; a token for reading, for chatting or for files; the owner; the
user's terminal alone."""
Schema = Mapping[str, Any]
TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "integer"}
TRUTH: Schema = {"type": "boolean"}
OBJECT: Schema = {"type": "object"}


def an_object(
    texts: str = "", /, required: Mapping[str, Schema] | None = None, **optional: Schema
) -> Schema:
    """Return the schema of an object that must have these texts, named in one string, and the
    `required` properties, and may have the others."""
    must = {**dict.fromkeys(texts.split(), TEXT), **(required or {})}
    return {"type": "object", "properties": {**must, **optional}, "required": [*must]}


def a_list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


@frozen
class Call:
    """One call of a route: values from the path and the query, and the body as JSON."""

    server: Service
    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    scopes: frozenset[str] = frozenset()

    def number(self, name: str, default: int, most: int = 1000) -> int:
        """Return a whole number of the query, 1 to `most`. Problem for anything else."""
        said = self.query.get(name, str(default))
        if not said.isdecimal() or not 1 <= int(said) <= most:
            raise Problem(400, f"{name} is no number from 1 to {most}")
        return int(said)

    def flag(self, name: str) -> bool:
        """Tell whether the query has this parameter, with another value than 0 or false."""
        return self.query.get(name, "0").lower() not in ("", "0", "false", "no")


Handler = Callable[[Call], Any]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One route. `handle` runs in a thread and returns the JSON value of the answer, or a Response.

    query    parameters of the query, with their meaning
    body     schema of the JSON body, None without one
    answer   schema of the answer
    """

    method: str
    path: str
    scope: Scope
    about: str
    handle: Handler
    query: Mapping[str, str] = field(default_factory=dict)
    body: Schema | None = None
    answer: Schema = field(default_factory=dict)
    status: int = 200


class Routes:
    """The endpoints of a module."""

    def __init__(self) -> None:
        self.endpoints: list[Endpoint] = []

    def add(
        self, method: str, path: str, scope: Scope, *, body: Schema | None = None, **more: Any
    ) -> Callable[[Handler], Handler]:
        """Make the function an endpoint; its docstring says what it does. A method that changes
        something takes a JSON object, an empty one when no body is named."""
        if body is None and method != "GET":
            body = an_object()

        def register(handle: Handler) -> Handler:
            about = " ".join((handle.__doc__ or "").split())
            self.endpoints.append(Endpoint(method, path, scope, about, handle, body=body, **more))
            return handle

        return register


@contextmanager
def looking_up() -> Iterator[None]:
    """Turn a UsageError, for what the path names and nobody finds, into a Problem with 404."""
    try:
        yield
    except UsageError as error:
        raise Problem(404, str(error), error.hint) from error


_STATUSES: Sequence[tuple[type[Exception], int]] = (
    (UsageError, 400),
    (Refused, 403),
    (Damaged, 409),
    (OpenclawError, 503),
)


def to_response(error: Exception) -> Response:
    """Return the answer for an error of a call."""
    if isinstance(error, Problem):
        said = {"error": str(error), "hint": error.hint, **error.more}
        return JSONResponse(said, error.status)
    if isinstance(error, ToolProblem):
        return JSONResponse({"error": str(error), "hint": ""}, 400)
    if isinstance(error, OpenclawError):
        status = next(status for kind, status in _STATUSES if isinstance(error, kind))
        said = {"error": str(error), "hint": error.hint, "exit_code": error.exit_code}
        return JSONResponse(said, status)
    said = {"error": f"{type(error).__name__}: {error}", "hint": "see what the server printed"}
    return JSONResponse(said, 500)


def make_route(server: Service, endpoints: Sequence[Endpoint]) -> StarletteRoute:
    """Return the route of some endpoints with the same path, one for each method."""
    by_method = {each.method: each for each in endpoints}

    async def answer(request: Request) -> Response:
        endpoint = by_method.get(request.method)
        if endpoint is None:  # HEAD, which Starlette adds to GET
            endpoint = by_method["GET"]
        return await _answer(server, endpoint, request)

    return StarletteRoute(endpoints[0].path, answer, methods=[*by_method])


async def _answer(server: Service, endpoint: Endpoint, request: Request) -> Response:
    scopes: frozenset[str] = request.scope.get("openclaw.scopes", frozenset())
    owned = "owner" in scopes and endpoint.scope != "terminal"
    if not (owned or endpoint.scope in scopes or endpoint.scope == "open"):
        return to_response(Problem(403, f"this token may not do that ({endpoint.scope})"))
    try:
        body = await _read_body(endpoint, request)
        call = Call(
            server, request.path_params, request.query_params, body, request.headers, scopes
        )
        made = await run_in_threadpool(endpoint.handle, call)
        if isinstance(made, Awaitable):
            made = await made
    except Exception as error:  # noqa: BLE001  the one exit point of all routes
        if not isinstance(error, Problem | OpenclawError | ToolProblem):
            traceback.print_exception(error)
        return to_response(error)
    return made if isinstance(made, Response) else JSONResponse(made, endpoint.status)


async def _read_body(endpoint: Endpoint, request: Request) -> Any:
    if endpoint.body is None:
        return None
    raw = await request.body()
    body = None
    with suppress(ValueError, RecursionError):
        body = json.loads(replace_surrogates(raw.decode("utf-8", "replace") or "{}"))
    if body is None:
        raise Problem(400, "the body is no JSON")
    if not matches_schema(body, endpoint.body):
        known = ", ".join(endpoint.body.get("properties", {}))
        required = ", ".join(endpoint.body.get("required", ())) or "none"
        raise Problem(400, "the body has another form", f"keys: {known}; required: {required}")
    return body


_PARAMETER = re.compile(r"{(\w+)}")
ERROR = an_object("error hint")


def describe_api(endpoints: Iterable[Endpoint]) -> dict[str, Any]:
    """Return the OpenAPI document of these routes."""
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _describe(endpoint)
    return {
        "openapi": "3.1.0",
        "info": {"title": "openclaw", "version": __version__},
        "paths": paths,
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
    }


def _describe(endpoint: Endpoint) -> dict[str, Any]:
    named = _PARAMETER.findall(endpoint.path)
    parameters = [_parameter(name, "path", "") for name in named]
    parameters += [_parameter(name, "query", about) for name, about in endpoint.query.items()]
    described: dict[str, Any] = {
        "summary": endpoint.about,
        "parameters": parameters,
        "responses": {
            str(endpoint.status): {"description": "done", **_content(endpoint.answer)},
            "default": {"description": "why it was not done", **_content(ERROR)},
        },
        "security": [] if endpoint.scope == "open" else [{"token": [endpoint.scope]}],
    }
    if endpoint.body is not None:
        described["requestBody"] = {"required": True, **_content(endpoint.body)}
    return described


def _parameter(name: str, place: str, about: str) -> Mapping[str, Any]:
    shape = {"name": name, "in": place, "required": place == "path", "schema": TEXT}
    return shape | ({"description": about} if about else {})


def _content(schema: Schema) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": schema}}}
