"""Puts names in the place of secrets that a tool shows, and secrets in the place of names that a
permitted call uses. What keeps them is `openclaw.safety.vault`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, Protocol
from urllib.parse import quote

from openclaw.safety.vault import MASK, mask_of, masked_names

Masks = Literal["stay", "own", "code", "url", "text"]
"""What becomes of a name such as {{secret:github-token-1}} in the arguments of a tool.

stay: it stays, and secrets become names (memories, a search in the web). own: the tool sees to it
(files). Else the secret takes its place: code, where it must not be taken for a command; url, where
its characters are escaped; text, as it is.
"""


class Apart(Protocol):
    """Keeps secrets apart from what the model sees."""

    def mask(self, text: str, /) -> str: ...
    def reveal(self, text: str, /, *, plain: bool = False) -> str: ...


class AsItIs:
    """Nothing is kept apart."""

    def mask(self, text: str, /) -> str:
        return text

    def reveal(self, text: str, /, *, plain: bool = False) -> str:
        return text


def for_call(apart: Apart, masks: Masks, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as a permitted call is run with them. ToolProblem for a secret that would be
    taken for a command."""
    if masks == "own":
        return dict(arguments)
    change: Callable[[str], str] = {
        "stay": apart.mask,
        "code": lambda text: apart.reveal(text, plain=True),
        "url": lambda text: _in_url(apart, text),
        "text": apart.reveal,
    }[masks]
    return {name: in_texts(value, change) for name, value in arguments.items()}


def secrets_used(apart: Apart, masks: Masks, arguments: Mapping[str, Any]) -> frozenset[str]:
    """The names of the secrets that a call would be run with, also of those that stand in its
    arguments as they are."""
    found: list[str] = []

    def look(text: str) -> str:
        found.extend(masked_names(apart.mask(text)))
        return text

    if masks in ("code", "url", "text"):
        in_texts(arguments, look)
    return frozenset(name for name in found if apart.reveal(mask_of(name)) != mask_of(name))


def disarmed(text: str) -> str:
    """Somebody else's text in which nothing looks like one of our names for a secret."""
    return MASK.sub(lambda match: match[0].replace("{{", "{ {", 1), text)


def in_texts(value: Any, change: Callable[[str], str]) -> Any:
    """The value with each text in it changed, names of fields excepted."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {name: in_texts(each, change) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [in_texts(each, change) for each in value]
    return value


def _in_url(apart: Apart, text: str) -> str:
    """Each secret escaped, so that it can neither name another host nor begin another part."""

    def escaped(match: Any) -> str:
        value = apart.reveal(match[0])
        return match[0] if value == match[0] else quote(value, safe="")

    return MASK.sub(escaped, text)
