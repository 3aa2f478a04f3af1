"""The page: its files, which hold nothing of the home and need no token."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

STATIC = Path(__file__).parent / "static"
KINDS = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}


def is_page(method: str, path: str) -> bool:
    """Tell whether a call is for a file of the page."""
    return method in ("GET", "HEAD") and (path == "/" or path.startswith("/static/"))


def make_routes() -> list[Route]:
    """Return the routes of the page."""
    return [Route("/", _send, methods=["GET"]), Route("/static/{name}", _send, methods=["GET"])]


async def _send(request: Request) -> Response:
    name = request.path_params.get("name", "index.html")
    data = _files().get(name)
    if data is None:
        return PlainTextResponse("there is no such file", 404)
    return Response(data, media_type=KINDS[Path(name).suffix])


@cache
def _files() -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in STATIC.iterdir() if file.suffix in KINDS}
