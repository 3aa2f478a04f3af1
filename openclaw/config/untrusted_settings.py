"""The settings of a home that need the user's consent.

These give away data or rights, or send keys of the environment to an address.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from openclaw.config.mcp_settings import VARIABLE, read_servers
from openclaw.config.settings import Memory, Settings, keys
from openclaw.errors import Refused
from openclaw.storage.home import Home, Trust, trust_file

OWN_KEY, OLLAMA_KEY = "OPENAI_API_KEY", "OLLAMA_API_KEY"
HOSTED = "https://api.openai.com"
LOOPBACK = ("localhost", "::1")
UNTRUSTED = Settings(
    mode="read-only",
    preload=False,
    recall="off",
    capture="off",
    proactive="off",
    memory=Memory(pages=False),
)
"""The settings of a home that nobody has said yes to, whatever its file says."""
Target = tuple[str, str]
"""An environment variable, and the address that its value would be sent to."""


def needing_consent(values: Mapping[str, tuple[Any, int]]) -> dict[str, Any]:
    """The values of a settings file (`read_values`) that need a yes, by dotted key."""
    return {
        name: value
        for name, (value, _) in values.items()
        if _is_path(name, value) or (keys()[name].asks and value != keys()[name].default)
    }


def _is_path(name: str, value: Any) -> bool:
    """Return True when a model is a file, which a program in C reads."""
    names = value if name == "fallbacks" else (value,) if name == "model" else ()
    return any(str(each).casefold().endswith(".gguf") for each in names)


def targets(settings: Settings) -> list[Target]:
    """The variables that the settings send, with their addresses; without the default one."""
    openai = settings.openai
    found = [(openai.api_key_env, address_of(openai.base_url or HOSTED))]
    if settings.ollama.host:
        found.append((OLLAMA_KEY, address_of(settings.ollama.host)))
    for server in read_servers(settings.mcp or {})[0] if settings.mcp else ():
        texts = (server.url, *server.headers.values()) if server.url else ()
        names = {name for text in texts for name in VARIABLE.findall(text)}
        found += [(name, address_of(server.url)) for name in sorted(names)]
    if settings.index.store:
        text = json.dumps(settings.index.store, sort_keys=True, default=str)
        # Libraries send some by themselves: PGPASSWORD, PINECONE_API_KEY, ...
        package = str(settings.index.store.get("class")).upper().split(".")[2:3]
        begins = ("PGPASSWORD", *(f"{each}_" for each in package))
        names = {*VARIABLE.findall(text), *(each for each in os.environ if each.startswith(begins))}
        found += [(name, f"index.store {text}") for name in sorted(names)]
    return [each for each in dict.fromkeys(found) if each != (OWN_KEY, HOSTED)]


def new_targets(home: Home, settings: Settings) -> list[Target]:
    """The targets that nobody has said yes to, of variables that are set."""
    trust = Trust(trust_file())
    given = [each for each in targets(settings) if os.environ.get(each[0])]
    return [each for each in given if not trust.known(home, _kind(each))]


def allow_targets(home: Home, found: list[Target]) -> None:
    """Keep a yes to these."""
    for each in found:
        Trust(trust_file()).allow(home, "yes", _kind(each))


def check_targets(home: Home, settings: Settings) -> None:
    """Raise Refused when a key of the environment would be sent to an address for the first time.

    The first address of a key needs no yes when it is this machine, which the key does not leave.
    """
    for target in new_targets(home, settings):
        variable, address = target
        known = Trust(trust_file()).kinds(home)
        first = not any(kind.startswith(f"key {variable} ") for kind in known)
        if first and _is_loopback(address):
            allow_targets(home, [target])
            continue
        raise Refused(
            f"{variable} of your environment would be sent to {address}, which is new",
            f'if that is what you want, say so: openclaw --home "{home.root}" trust',
        )


def address_of(url: str) -> str:
    """Scheme, host and port of an address, in one spelling. What is no address stays as it is."""
    text = url if "://" in url else f"http://{url}"
    try:
        parts = urlsplit(text)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return url
    host = parts.hostname or ""
    return f"{parts.scheme}://{f'[{host}]' if ':' in host else host}{port}"


def _is_loopback(address: str) -> bool:
    host = urlsplit(address).hostname or ""
    quad = host.split(".")
    is_quad = len(quad) == 4 and all(part.isdigit() for part in quad)
    return host in LOOPBACK or (is_quad and quad[0] == "127")


def _kind(target: Target) -> str:
    return f"key {target[0]} {target[1]}"
