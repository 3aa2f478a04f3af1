"""The values that a server and its clients exchange, as JSON and back."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass
from functools import cache
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

from openclaw import errors, events
from openclaw.frozen import frozen
from openclaw.messages import Material
from openclaw.storage.text import join_surrogates
from openclaw.types import Mode


@frozen
class PromptRequest:
    """A prompt for a server, with the options of the command line.

    latest   go on with the latest conversation
    session  the id, name or title of a conversation, made when missing; None for a new one
    typed    the user typed the prompt; see `Agent.ask`
    asks     somebody answers questions; without it each question is a no
    wait     a question is a no after so many seconds; 0: it waits for ever
    changes  each change of a file is an event too
    """

    message: str
    latest: bool = False
    session: str | None = None
    material: Sequence[Material] = ()
    skill: str = ""
    typed: bool = True
    model: str | None = None
    mode: Mode | None = None
    use_memory: bool = True
    max_steps: int | None = None
    saving: bool = True
    asks: bool = True
    wait: float = 0.0
    changes: bool = False

    def to_json(self) -> dict[str, Any]:
        shape = asdict(self)
        for material in shape["material"]:
            if material["image"] and material["image"]["data"] is not None:
                material["image"]["data"] = base64.b64encode(material["image"]["data"]).decode()
        return shape

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> PromptRequest:
        made: PromptRequest = value_from_json(cls, data)
        return made


def value_from_json(hint: Any, value: Any) -> Any:
    """Return a JSON value as the type that `asdict` made it of; keys of no field are left out."""
    inner = get_args(hint)
    if value is None:
        return None
    if NoneType in inner:
        return value_from_json(inner[0], value)
    if get_origin(hint) in (tuple, Sequence):
        return tuple(value_from_json(inner[0], each) for each in value)
    if is_dataclass(hint):
        make: Any = hint
        hints, names = _hints_of(make), [each.name for each in fields(hint) if each.name in value]
        return make(**{name: value_from_json(hints[name], value[name]) for name in names})
    return base64.b64decode(value) if hint is bytes else value


_hints_of = cache(get_type_hints)


class HttpError(Exception):
    """A call that fails with this status."""

    def __init__(self, status: int, message: str, hint: str = "", **more: Any) -> None:
        super().__init__(message)
        self.status, self.hint, self.more = status, hint, more


def to_json_text(value: Any, separators: tuple[str, str] | None = None) -> str:
    """Return a value as JSON. Bytes of file names that are no text are U+FFFD, as no client takes
    others."""
    text = json.dumps(value, ensure_ascii=False, default=str, separators=separators)
    return join_surrogates(text)


# -------- events

KINDS: Mapping[str, Any] = {kind.kind: kind for kind in get_args(events.Event)}


def event_to_json(event: events.Event) -> dict[str, Any]:
    """Return an event as `events.to_wire` has it; a Trouble is marked, to be told from a Notice."""
    mark = {"trouble": True} if isinstance(event, events.Trouble) else {}
    return {**events.to_wire(event), **mark}


def event_from_json(data: Mapping[str, Any]) -> events.Event | None:
    """Return the event of a JSON object; None for one of the server's own, such as `run`."""
    kind = events.Trouble if data.get("trouble") else KINDS.get(data.get("event", ""))
    made: events.Event | None = value_from_json(kind, data) if kind else None
    return made


_ERRORS: Mapping[int, type[errors.OpenclawError]] = {
    kind.exit_code: kind
    for kind in (
        errors.OpenclawError,
        errors.UsageError,
        errors.ServerAway,
        errors.ModelMissing,
        errors.Damaged,
        errors.Refused,
    )
}


def to_error(message: str, hint: str, exit_code: int) -> errors.OpenclawError:
    """Return the error of the family that has this exit code."""
    return _ERRORS.get(exit_code, errors.OpenclawError)(message, hint)
