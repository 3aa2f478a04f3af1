"""The values that a server and its clients exchange, as JSON and back."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from typing import Any, get_args

from openclaw import errors, events
from openclaw.frozen import frozen
from openclaw.messages import Image, Material, Usage
from openclaw.receipt import FileChange, Receipt
from openclaw.security.grants import Grant
from openclaw.security.policy import PermissionQuestion
from openclaw.types import Action, Change, Mode, Shown


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
        material = tuple(_material_from_json(**each) for each in data.get("material", ()))
        return cls(**{**data, "material": material})


def _material_from_json(
    image: Mapping[str, Any] | None = None, lines: Mapping[str, Any] | None = None, **rest: str
) -> Material:
    if image and image.get("data") is not None:
        image = {**image, "data": base64.b64decode(image["data"])}
    held, shown = Image(**image) if image else None, Shown(**lines) if lines else None
    return Material(**rest, image=held, lines=shown)


class Problem(Exception):
    """A call that fails with this status."""

    def __init__(self, status: int, message: str, hint: str = "", **more: Any) -> None:
        super().__init__(message)
        self.status, self.hint, self.more = status, hint, more


# -------- events

KINDS: Mapping[str, Any] = {kind.kind: kind for kind in get_args(events.Event)}


def event_to_json(event: events.Event) -> dict[str, Any]:
    """Return an event as `events.to_wire` has it; a Trouble is marked, to be told from a Notice."""
    mark = {"trouble": True} if isinstance(event, events.Trouble) else {}
    return {**events.to_wire(event), **mark}


def event_from_json(data: Mapping[str, Any]) -> events.Event | None:
    """Return the event of a JSON object; None for one of the server's own, such as `run`."""
    values = dict(data)
    name = values.pop("event", "")
    kind = events.Trouble if values.pop("trouble", False) else KINDS.get(name)
    if kind is None:
        return None
    if "receipt" in values:
        values["receipt"] = _receipt_from_json(values["receipt"])
    if "usage" in values:
        values["usage"] = Usage(**values["usage"])
    known = {field.name for field in fields(kind)}  # a stream has other names beside them
    taken = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in values.items()
        if key in known
    }
    make: Any = kind
    made: events.Event = make(**taken)
    return made


def _receipt_from_json(data: Mapping[str, Any]) -> Receipt:
    return Receipt(
        tuple(FileChange(**each) for each in data["files"]),
        tuple((what, text) for what, text in data["todos"]),
        tuple(data["memories"]),
        tuple(data["searches"]),
        tuple(data["sent"]),
    )


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


# -------- questions


def question_from_json(data: Mapping[str, Any]) -> PermissionQuestion:
    change = data["change"]
    return PermissionQuestion(
        Action(**data["action"]),
        data["arguments"],
        data["reason"],
        tuple(Grant(**each) for each in data["offers"]),
        tuple(data["sources"]),
        None if change is None else Change(**change),
    )
