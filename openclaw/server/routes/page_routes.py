"""The files of the page, which hold nothing of the home and need no token."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

STATIC = Path(__file__).parents[1] / "static"
PAGE_KINDS = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}


def is_page(method: str, path: str) -> bool:
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


PAGE_ROUTES = [Route(path, _send_file, methods=["GET"]) for path in ("/", "/static/{name}")]
