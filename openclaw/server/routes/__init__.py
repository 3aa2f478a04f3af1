"""The routes of the server, a module a noun."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.routing import Route, Router

from openclaw import __version__
from openclaw.server.api import (
    OBJECT,
    TEXT,
    ApiCall,
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
    page_routes,
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
def describe(call: ApiCall) -> Any:
    """This description."""
    return describe_api(ENDPOINTS)


@ROUTES.add(
    "GET",
    "/api/capabilities",
    "read",
    answer=an_object("version", required={"modes": a_list(TEXT), "events": a_list(TEXT)}),
)
def tell_capabilities(call: ApiCall) -> Any:
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


def is_open(method: str, path: str) -> bool:
    """Tell whether a call needs no token."""
    opened = any(e.scope == "open" and (e.method, e.path) == (method, path) for e in ENDPOINTS)
    return opened or page_routes.is_page(method, path)


def make_router(server: Service) -> Router:
    paths = dict.fromkeys(endpoint.path for endpoint in ENDPOINTS)
    routes = [make_route(server, path, ENDPOINTS) for path in paths]
    return Router([*page_routes.PAGE_ROUTES, Route("/mcp", McpEndpoint(server)), *routes])
