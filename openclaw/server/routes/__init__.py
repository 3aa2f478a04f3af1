"""The routes of the API, a module a noun."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from starlette.routing import Router

from openclaw.server.api import Endpoint, make_route
from openclaw.server.routes import (
    file_routes,
    history_routes,
    memory_routes,
    prompt_routes,
    server_routes,
    session_routes,
    settings_routes,
    skill_routes,
    todo_routes,
)

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
)
ENDPOINTS: tuple[Endpoint, ...] = tuple(
    endpoint for module in MODULES for endpoint in module.ROUTES.endpoints
)


def make_router(server: Service) -> Router:
    """Return the router of all routes."""
    by_path = groupby(sorted(ENDPOINTS, key=_path), key=_path)
    return Router([make_route(server, list(endpoints)) for _, endpoints in by_path])


def _path(endpoint: Endpoint) -> str:
    return endpoint.path
