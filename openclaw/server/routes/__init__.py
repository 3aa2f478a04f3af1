"""The routes of the API, a module a noun."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from starlette.routing import Router

from openclaw.server.api import Endpoint, make_route
from openclaw.server.routes import lifecycle, prompts

if TYPE_CHECKING:
    from openclaw.server.service import Service

ENDPOINTS: tuple[Endpoint, ...] = (*prompts.ENDPOINTS, *lifecycle.ENDPOINTS)


def make_router(server: Service) -> Router:
    """Return the router of all routes."""
    by_path = groupby(sorted(ENDPOINTS, key=_path), key=_path)
    return Router([make_route(server, list(endpoints)) for _, endpoints in by_path])


def _path(endpoint: Endpoint) -> str:
    return endpoint.path
