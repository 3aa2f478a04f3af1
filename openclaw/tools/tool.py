"""A typed function as a tool: what a model is told of it, and what a call of it would do."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from openclaw.shapes import Action, Change, Effect
from openclaw.tools.arguments import parameters_of
from openclaw.tools.masks import Masks

MAX_ITEMS = 20
# More legal values than this make a slow grammar; then the tool matches what the model wrote.
MAX_LEGAL = 60

Legal = Callable[[], Mapping[str, Sequence[str]]]
Act = Callable[[Mapping[str, Any]], Action]
Preview = Callable[[Mapping[str, Any]], Change | None]

_WORST_FIRST: tuple[Effect, ...] = (
    *("send", "run", "write-elsewhere", "get", "write", "read-elsewhere", "read"),
)


@dataclass(frozen=True, slots=True)
class Form:
    """One legal shape of a call, e.g. `todo` with action "add": the arguments that are fixed, those
    that must be given, those that may be, and what the call does to the world."""

    effect: Effect
    fixed: Mapping[str, str] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that the model may call.

    `description` is prompt text, the first paragraph of the function's docstring. `parameters` is
    a flat JSON schema object. `legal` gives the values that an argument may take now (skill names,
    to-dos), for the grammar; its keys are argument names, or `value.argument` for the form that
    fixes an argument to that value.

    `action` tells from the checked arguments what this very call would do; without it that is the
    effect of the form that fits. It may raise ToolProblem. `foreign` names where results come from
    when others have written them ("web"): they are data that gives no orders. `does` is what every
    call does where that is not what its form says, and `available` whether it can be called now.
    `masks` says what becomes of the names of secrets in its arguments. One that is not `listed` is
    run when it is called, but no prompt tells of it. `preview` tells what a call would make of a
    file, for the user who is asked; it may raise ToolProblem.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    forms: tuple[Form, ...]
    run: Callable[..., str]
    legal: Legal = dict
    action: Act | None = None
    foreign: str = ""
    does: Action | None = None
    available: Callable[[], bool] = lambda: True
    masks: Masks = "stay"
    listed: bool = True
    preview: Preview | None = None


def tool(
    function: Callable[..., str],
    *,
    effect: Effect = "read",
    forms: Sequence[Form] = (),
    legal: Legal = dict,
    action: Act | None = None,
    foreign: str = "",
    masks: Masks = "stay",
    preview: Preview | None = None,
) -> Tool:
    """A tool from a typed function with a docstring.

    Without `forms` there is one, with the given effect and the arguments that have no default.
    """
    parameters = parameters_of(function)
    paragraph = (inspect.getdoc(function) or "").split("\n\n")[0]
    return Tool(
        name=function.__name__,
        description=" ".join(paragraph.split()),
        parameters=parameters,
        forms=tuple(forms) or (Form(effect, arguments=tuple(parameters["required"])),),
        run=function,
        legal=legal,
        action=action,
        foreign=foreign,
        masks=masks,
        preview=preview,
    )


def shape_of(tool: Tool, form: Form, legal: Mapping[str, Sequence[str]]) -> dict[str, Any] | None:
    properties: dict[str, Any] = {"tool": {"const": tool.name}}
    properties |= {key: {"const": value} for key, value in form.fixed.items()}
    for argument in (*form.arguments, *form.optional):
        keys = [f"{value}.{argument}" for value in form.fixed.values()] + [argument]
        values = next((legal[key] for key in keys if key in legal), None)
        if values is not None and not values:
            return None
        properties[argument] = _constrained(tool.parameters["properties"][argument], values)
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in form.optional],
        "additionalProperties": False,
    }


def _constrained(schema: Mapping[str, Any], values: Sequence[str] | None) -> dict[str, Any]:
    if schema["type"] == "array":
        items = _constrained(schema["items"], values)
        return {"type": "array", "items": items, "minItems": 1, "maxItems": MAX_ITEMS}
    if values is not None and len(values) <= MAX_LEGAL:
        return {"type": "string", "enum": list(dict.fromkeys(values))}
    if schema["type"] == "string" and "enum" not in schema:
        return {"type": "string", "minLength": 1}
    return dict(schema)


def effect_of(tool: Tool, arguments: Mapping[str, Any]) -> Effect:
    """The effect of the form that fits; of the most serious one when none does."""
    for form in tool.forms:
        if all(arguments.get(key) == value for key, value in form.fixed.items()):
            return form.effect
    return worst_of(tool)


def worst_of(tool: Tool) -> Effect:
    effects = {form.effect for form in tool.forms}
    return next(effect for effect in _WORST_FIRST if effect in effects)


def action_of(tool: Tool, arguments: Mapping[str, Any]) -> Action:
    if tool.does is not None:
        return tool.does
    if tool.action is not None:
        return tool.action(arguments)
    return Action(tool.name, effect_of(tool, arguments), str(arguments.get("path", "")))
