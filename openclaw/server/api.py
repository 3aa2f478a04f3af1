"""The routes of the HTTP API: what each takes, who may call it, how it answers; as OpenAPI too."""

from __future__ import annotations

import inspect
import json
import re
import traceback
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from openclaw import __version__
from openclaw.errors import Damaged, OpenclawError, Refused, UsageError
from openclaw.frozen import frozen
from openclaw.models.base import matches_schema
from openclaw.server.wire import HttpError, to_json_text
from openclaw.storage.safe_open import replace_surrogates
from openclaw.types import ToolProblem

if TYPE_CHECKING:
    from openclaw.server.service import Service


Scope = Literal["open", "read", "chat", "files", "owner", "terminal"]
"""Who may call a route: anybody; a token for reading, for chatting or for files; the owner; the
user's terminal alone."""
Schema = Mapping[str, Any]
MAX_NUMBER = 1000
_PARAMETER = re.compile(r"{(\w+)}")
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


SCHEMAS: Mapping[str, Schema] = {
    "str": TEXT,
    "int": NUMBER,
    "bool": TRUTH,
    "float": {"type": "number"},
    "Scope": {"type": "string", "enum": ["all", "files", "talk"]},
    "Sequence[str]": a_list(TEXT),
    "str | None": {"type": ["string", "null"]},
    "Mode | None": {"type": ["string", "null"]},
    "int | None": {"type": ["integer", "null"]},
    "bool | None": {"type": ["boolean", "null"]},
    "Mapping[str, str] | None": {"type": ["object", "null"]},
}
"""The schema of each type that a key of a body has, as the type is written."""


@frozen
class ApiCall:
    """One call of a route, for the function that answers it."""

    server: Service
    headers: Mapping[str, str] = field(default_factory=dict)
    scopes: frozenset[str] = frozenset()


Handler = Callable[..., Any]


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
    handle: Handler
    query: Mapping[str, str]
    body: Schema | None
    answer: Schema
    status: int

    def read_query(self, given: Mapping[str, str]) -> dict[str, Any]:
        """Return the values of the query, each of the type that its default has: a whole number is
        1 to 1000, or to its default where that is more. HttpError for another number."""
        known = inspect.signature(self.handle).parameters
        named = [name for name in self.query if name in given]
        return {name: _read_value(name, given[name], known[name].default) for name in named}


def _read_value(name: str, text: str, default: Any) -> Any:
    if isinstance(default, bool):
        return text.lower() not in ("", "0", "false", "no")
    if not isinstance(default, int):
        return text
    most = max(MAX_NUMBER, default)
    if not (text.isdecimal() and len(text) < 20 and 1 <= int(text) <= most):
        raise HttpError(400, f"{name} is no number from 1 to {most}")
    return int(text)


class Routes:
    """The endpoints of a module."""

    def __init__(self) -> None:
        self.endpoints: list[Endpoint] = []

    def add(
        self,
        method: str,
        path: str,
        scope: Scope,
        *,
        query: Mapping[str, str] | None = None,
        body: Schema | None = None,
        answer: Schema | None = None,
        status: int = 200,
    ) -> Callable[[Handler], Handler]:
        """Make the function an endpoint; its docstring says what it does. Behind the call it takes
        what the path and the query name. Its other parameters are the keys of the JSON body, unless
        `body` is another form of that; those without a default are required."""

        def register(handle: Handler) -> Handler:
            elsewhere = ("call", *_PARAMETER.findall(path), *(query or ()))
            form = None if method == "GET" else body or schema_of_parameters(handle, elsewhere)
            made = Endpoint(method, path, scope, handle, query or {}, form, answer or {}, status)
            self.endpoints.append(made)
            return handle

        return register


def schema_of_parameters(handle: Handler, elsewhere: Sequence[str]) -> Schema:
    """Return the schema of an object whose keys are the parameters of a function, but for those
    that come from `elsewhere`."""
    parameters = inspect.signature(handle).parameters.values()
    keys = [each for each in parameters if each.name not in elsewhere]
    return {
        "type": "object",
        "properties": {each.name: SCHEMAS[each.annotation] for each in keys},
        "required": [each.name for each in keys if each.default is each.empty],
    }


@contextmanager
def looking_up() -> Iterator[None]:
    """Turn a UsageError, for what the path names and nobody finds, into a HttpError with 404."""
    try:
        yield
    except UsageError as error:
        raise HttpError(404, str(error), error.hint) from error


class JsonAnswer(JSONResponse):
    """An answer as `to_json_text` writes it."""

    def render(self, content: Any) -> bytes:
        return to_json_text(content, (",", ":")).encode()


_STATUSES: Sequence[tuple[type[Exception], int]] = (
    (ToolProblem, 400),
    (UsageError, 400),
    (Refused, 403),
    (Damaged, 409),
    (OpenclawError, 503),
    (Exception, 500),
)


def status_of(error: Exception) -> int:
    if isinstance(error, HttpError):
        return error.status
    return next(status for kind, status in _STATUSES if isinstance(error, kind))


def to_response(error: Exception) -> Response:
    status = status_of(error)
    said: dict[str, Any] = {"error": str(error), "hint": getattr(error, "hint", "")}
    if isinstance(error, HttpError):
        said |= error.more
    elif isinstance(error, OpenclawError):
        said["exit_code"] = error.exit_code
    elif status == 500:
        said = {"error": f"{type(error).__name__}: {error}", "hint": "see what the server printed"}
    return JsonAnswer(said, status)


def make_route(server: Service, path: str, endpoints: Iterable[Endpoint]) -> Route:
    """Return the route for those of the endpoints that have this path."""
    by_method = {each.method: each for each in endpoints if each.path == path}

    async def answer(request: Request) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        return await _answer(server, by_method[method], request)

    return Route(path, answer, methods=[*by_method])


async def _answer(server: Service, endpoint: Endpoint, request: Request) -> Response:
    scopes: frozenset[str] = request.scope.get("openclaw.scopes", frozenset())
    owned = "owner" in scopes and endpoint.scope != "terminal"
    if not (owned or endpoint.scope in scopes or endpoint.scope == "open"):
        return to_response(HttpError(403, f"this token may not do that ({endpoint.scope})"))
    try:
        body = await _read_body(endpoint, request)
        given = {**request.path_params, **endpoint.read_query(request.query_params), **body}
        call = ApiCall(server, request.headers, scopes)
        made = await run_in_threadpool(partial(endpoint.handle, call, **given))
        if isinstance(made, Awaitable):
            made = await made
    except Exception as error:  # noqa: BLE001  the one exit point of all routes
        if status_of(error) == 500:
            traceback.print_exception(error)
        return to_response(error)
    return made if isinstance(made, Response) else JsonAnswer(made, endpoint.status)


async def _read_body(endpoint: Endpoint, request: Request) -> dict[str, Any]:
    if endpoint.body is None:
        return {}
    try:
        raw = await request.body()
    except ClientDisconnect as error:  # it has gone, or sends more than it may
        raise HttpError(413, "the body did not come whole") from error
    body = None
    with suppress(ValueError, RecursionError):
        body = json.loads(replace_surrogates(raw.decode("utf-8", "replace") or "{}"))
    if body is None:
        raise HttpError(400, "the body is no JSON")
    if not matches_schema(body, endpoint.body):
        known = ", ".join(endpoint.body.get("properties", {}))
        required = ", ".join(endpoint.body.get("required", ())) or "none"
        raise HttpError(400, "the body has another form", f"keys: {known}; required: {required}")
    return dict(body)


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
        "summary": " ".join((endpoint.handle.__doc__ or "").split()),
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
