"""Where an Ollama server is, and what it tells about a model."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from openclaw.errors import UsageError
from openclaw.models.base import ModelCard

if TYPE_CHECKING:
    import ollama

DEFAULT_PORT = 11434
SCALES = {"K": 1e-6, "M": 1e-3, "B": 1.0, "T": 1e3}


def base_url(host: str) -> str:
    """The URL of an Ollama host as `OLLAMA_HOST` may be written; "" means that variable, else the
    default. An address that servers listen on (0.0.0.0) is called at loopback."""
    given = host or os.environ.get("OLLAMA_HOST", "")
    scheme, separator, rest = given.strip().partition("://")
    if not separator:
        scheme, rest = "http", scheme
    try:
        given.encode("utf-8")  # a variable may hold any bytes
        parts = urlsplit(f"{scheme}://{rest}")
        port = parts.port or (DEFAULT_PORT if not separator else 443 if scheme == "https" else 80)
    except ValueError as error:
        raise UsageError(f"not a host: {given!r} ({error})", "write HOST:PORT or a URL") from error
    if re.search(r"\s", given.strip()):
        raise UsageError(f"not a host: {given!r} (it holds a blank)", "write HOST:PORT or a URL")
    if scheme not in ("http", "https"):
        raise UsageError(f"not a host: {given!r}", "write HOST:PORT or an http:// or https:// URL")
    name = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(  # noqa: S104
        parts.hostname or "", parts.hostname or ""
    )
    path = parts.path.rstrip("/")
    return f"{scheme}://{f'[{name}]' if ':' in name else name}:{port}{path}"


def read_card(name: str, window: int, shown: ollama.ShowResponse) -> ModelCard:
    """The card from the answer of `/api/show`; `window` is the configured one."""
    facts = shown.modelinfo or {}
    own = next((n for key, n in facts.items() if key.endswith(".context_length")), 0) or window
    template = shown.template or ""
    capabilities = shown.capabilities
    if capabilities is None:  # servers before 0.6.4
        capabilities = ["tools"] if ".Tools" in template else []
    return ModelCard(
        name=f"ollama/{name}",
        window=min(window, int(own)),
        tools="tools" in capabilities,
        thinking="thinking" in capabilities,
        family=(shown.details.family if shown.details else None) or "",
        parameters=_billions(facts, shown.details.parameter_size if shown.details else None),
        digest=_identity(shown),
        vision="vision" in capabilities,
    )


def _identity(shown: ollama.ShowResponse) -> str:
    """16 hex digits for exactly this model: the blob of its weights, which its Modelfile names, and
    what else decides on its replies; of a server that names no blob, the time of change."""
    blobs = re.findall(r"sha256[-:]([0-9a-f]{64})", shown.modelfile or "")
    changed = [] if blobs else [str(shown.modified_at)]
    told = [*blobs, *changed, shown.template or "", shown.parameters or ""]
    return hashlib.sha256("\0".join(told).encode()).hexdigest()[:16]


def _billions(facts: Mapping[str, Any], size: str | None) -> float:
    """The number of parameters, from the exact count or a text such as "1.5B" or "494.03M"."""
    if count := facts.get("general.parameter_count"):
        return float(count) / 1e9
    found = re.match(r"([\d.]+)\s*([KMBT])", size or "", re.IGNORECASE)
    return float(found[1]) * SCALES[found[2].upper()] if found else 0.0
