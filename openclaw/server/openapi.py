"""The description of the API in the format of OpenAPI 3.1, made from the table of its routes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from openclaw import __version__
from openclaw.server.api import TEXT, Endpoint, Schema, an_object

_PARAMETER = re.compile(r"{(\w+)}")
ERROR = an_object({"error": TEXT, "hint": TEXT})


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
