"""The routes of the API, a module a noun; and the page, whose files hold nothing of the home and
need no token."""

from __future__ import annotations

from functools import cache
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route as StarletteRoute
from starlette.routing import Router

from openclaw import __version__
from openclaw.server.api import (
    OBJECT,
    TEXT,
    Call,
    Endpoint,
    Routes,
    a_list,
    an_object,
    describe_api,
    make_route,
)
from openclaw.server.mcp_server import McpEndpoint
from openclaw.server.routes import (
    file_routes,
    history_routes,
    memory_routes,
    openai_routes,
    prompt_routes,
    server_routes,
    session_routes,
    settings_routes,
    skill_routes,
    todo_routes,
)
from openclaw.server.service import MODES
from openclaw.server.wire import KINDS

if TYPE_CHECKING:
    from openclaw.server.service import Service

STATIC = Path(__file__).parents[1] / "static"
PAGE_KINDS = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
MODULES = (
    prompt_routes,
    session_routes,
    file_routes,
    todo_routes,
    memory_routes,
    skill_routes,
    history_routes,
    settings_routes,
    server_routes,
    openai_routes,
)
ROUTES = Routes()


@ROUTES.add("GET", "/api/openapi.json", "read", answer=OBJECT)
def describe(call: Call) -> Any:
    """This description."""
    return describe_api(ENDPOINTS)


@ROUTES.add(
    "GET",
    "/api/capabilities",
    "read",
    answer=an_object("version", required={"modes": a_list(TEXT), "events": a_list(TEXT)}),
)
def tell_capabilities(call: Call) -> Any:
    """What this server offers to clients."""
    return {
        "version": __version__,
        "scopes": sorted(call.scopes),
        "modes": list(MODES),
        "events": [*KINDS, "run", "question", "answered", "changed", "end"],
        "routes": sorted({endpoint.path for endpoint in ENDPOINTS}),
    }


ENDPOINTS: tuple[Endpoint, ...] = tuple(
    endpoint
    for routes in (*(module.ROUTES for module in MODULES), ROUTES)
    for endpoint in routes.endpoints
)


def make_router(server: Service) -> Router:
    path = attrgetter("path")
    by_path = groupby(sorted(ENDPOINTS, key=path), key=path)
    routes = [make_route(server, list(endpoints)) for _, endpoints in by_path]
    mcp = StarletteRoute("/mcp", McpEndpoint(server))
    page = [StarletteRoute(path, _send_file, methods=["GET"]) for path in ("/", "/static/{name}")]
    return Router([*page, mcp, *routes])


# -------- the page


def is_page(method: str, path: str) -> bool:
    """Tell whether a call is for a file of the page."""
    return method in ("GET", "HEAD") and (path == "/" or path.startswith("/static/"))


async def _send_file(request: Request) -> Response:
    name = request.path_params.get("name", "index.html")
    data = _files().get(name)
    if data is None:
        return PlainTextResponse("there is no such file", 404)
    return Response(data, media_type=PAGE_KINDS[Path(name).suffix])


@cache
def _files() -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in STATIC.iterdir() if file.suffix in PAGE_KINDS}
