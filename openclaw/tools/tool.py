"""A typed function as a tool: what a model is told of it, and what a call of it would do."""

from __future__ import annotations

import difflib
import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from openclaw.frozen import frozen
from openclaw.security.masking import MaskMode
from openclaw.storage.readers import json_or_none
from openclaw.types import Action, Change, Effect, ToolProblem

MAX_ITEMS = 20
# More legal values make a slow grammar. Then the tool itself matches what the model wrote.
MAX_LEGAL = 60

Legal = Callable[[], Mapping[str, Sequence[str]]]
Act = Callable[[Mapping[str, Any]], Action]
Preview = Callable[[Mapping[str, Any]], Change | None]

_WORST_FIRST: tuple[Effect, ...] = (
    *("send", "run", "write-elsewhere", "get", "write", "read-elsewhere", "read"),
)


@frozen
class CallForm:
    """One legal shape of a call, e.g. `todo` with action "add"."""

    effect: Effect  # what the call does to the world
    fixed: Mapping[str, str] = field(default_factory=dict)  # arguments with their only value
    arguments: tuple[str, ...] = ()  # required
    optional: tuple[str, ...] = ()


@frozen
class Tool:
    """A function that the model may call.

    description  prompt text: the first paragraph of the function's docstring
    parameters   a flat JSON schema object
    forms        the legal shapes of a call
    legal        the values that an argument may take now (skill names, to-dos), for the grammar;
                 keys are argument names, or `value.argument` for the form that fixes an argument
                 to that value
    action       tells from the checked arguments what this call would do; without it, the effect
                 of the matching form counts. It may raise ToolProblem.
    foreign      where results come from when others have written them ("web"): such results are
                 data that gives no orders
    does         the action of every call, in place of the effect of its form
    available    tells whether the tool can be called now
    masks        what happens to the names of secrets in the arguments
    listed       False for a tool that runs when called, but that no prompt mentions
    trial        runs a call where nothing that it does lasts. Returns its result, None when the
                 call would do more than read.
    preview      the change that a call would make to a file, for the user who is asked; it may
                 raise ToolProblem
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    forms: tuple[CallForm, ...]
    run: Callable[..., str]
    legal: Legal = dict
    action: Act | None = None
    foreign: str = ""
    does: Action | None = None
    available: Callable[[], bool] = lambda: True
    masks: MaskMode = "stay"
    listed: bool = True
    preview: Preview | None = None
    trial: Callable[..., str | None] | None = None


def tool(
    function: Callable[..., str],
    *,
    effect: Effect = "read",
    forms: Sequence[CallForm] = (),
    legal: Legal = dict,
    action: Act | None = None,
    foreign: str = "",
    masks: MaskMode = "stay",
    preview: Preview | None = None,
) -> Tool:
    """Make a tool from a typed function with a docstring. Its arguments are str, int, float, bool,
    list[str] and Literal, TypeError for others; one with a default is not required.

    Without `forms` it gets one form: the given effect and the arguments without a default.
    """
    hints, properties, required = get_type_hints(function), dict[str, Any](), list[str]()
    for name, parameter in inspect.signature(function).parameters.items():
        properties[name] = _type_schema(hints[name])
        if parameter.default is inspect.Parameter.empty:
            required.append(name)
    paragraph = (inspect.getdoc(function) or "").split("\n\n")[0]
    return Tool(
        name=function.__name__,
        description=" ".join(paragraph.split()),
        parameters={"type": "object", "properties": properties, "required": required},
        forms=tuple(forms) or (CallForm(effect, arguments=tuple(required)),),
        run=function,
        legal=legal,
        action=action,
        foreign=foreign,
        masks=masks,
        preview=preview,
    )


def call_schema(
    tool: Tool, form: CallForm, legal: Mapping[str, Sequence[str]]
) -> dict[str, Any] | None:
    properties: dict[str, Any] = {"tool": {"const": tool.name}}
    properties |= {key: {"const": value} for key, value in form.fixed.items()}
    for argument in (*form.arguments, *form.optional):
        keys = [f"{value}.{argument}" for value in form.fixed.values()] + [argument]
        values = next((legal[key] for key in keys if key in legal), None)
        if values is not None and not values:
            return None
        properties[argument] = _constrain(tool.parameters["properties"][argument], values)
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in form.optional],
        "additionalProperties": False,
    }


def _constrain(schema: Mapping[str, Any], values: Sequence[str] | None) -> dict[str, Any]:
    if schema["type"] == "array":
        items = _constrain(schema["items"], values)
        return {"type": "array", "items": items, "minItems": 1, "maxItems": MAX_ITEMS}
    if values is not None and len(values) <= MAX_LEGAL:
        return {"type": "string", "enum": list(dict.fromkeys(values))}
    if schema["type"] == "string" and "enum" not in schema:
        return {"type": "string", "minLength": 1}
    return dict(schema)


def effect_of(tool: Tool, arguments: Mapping[str, Any]) -> Effect:
    """The effect of the matching form; the most serious effect when no form matches."""
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


_SCALARS: dict[type, str] = {str: "string", int: "integer", bool: "boolean", float: "number"}

# Other names that small models use for an argument. The first name that the tool has counts.
_ARGUMENT_SYNONYMS: dict[str, tuple[str, ...]] = {
    "file": ("path",),
    "filename": ("path",),
    "file_name": ("path",),
    "file_path": ("path",),
    "filepath": ("path",),
    "target": ("path",),
    "name": ("path", "list"),
    "dir": ("folder",),
    "directory": ("folder",),
    "path": ("folder", "name"),
    "text": ("content", "fact", "query", "items", "item"),
    "body": ("content", "text"),
    "data": ("content", "text"),
    "content": ("text", "fact"),
    "contents": ("content", "text"),
    "old": ("find",),
    "old_text": ("find",),
    "old_string": ("find",),
    "search": ("find", "text", "query"),
    "new": ("replace",),
    "new_text": ("replace",),
    "new_string": ("replace",),
    "replacement": ("replace",),
    "replace_with": ("replace",),
    "query": ("text",),
    "pattern": ("text",),
    "keyword": ("text", "query"),
    "q": ("query", "text"),
    "line": ("from_line",),
    "start": ("from_line",),
    "start_line": ("from_line",),
    "offset": ("from_line",),
    "list_name": ("list",),
    "category": ("list",),
    "tasks": ("items",),
    "todos": ("items",),
    "item": ("items",),
    "items": ("item",),
    "task": ("items", "item"),
    "todo": ("item", "items"),
    "id": ("item",),
    "memory": ("fact",),
    "note": ("fact", "text"),
    "skill": ("name",),
    "skill_name": ("name",),
    "op": ("action",),
    "command": ("action",),
    "expr": ("expression",),
    "formula": ("expression",),
}

# Words that small models write in place of one of a few fixed words.
_VALUE_SYNONYMS: dict[str, str] = {
    "show": "list",
    "read": "list",
    "view": "list",
    "get": "list",
    "create": "add",
    "new": "add",
    "append": "add",
    "complete": "done",
    "completed": "done",
    "finish": "done",
    "check": "done",
    "tick": "done",
    "uncheck": "undone",
    "reopen": "undone",
    "delete": "remove",
    "delete_list": "remove_list",
    "memory": "lasting",
    "long-term": "lasting",
    "permanent": "lasting",
    "daily": "today",
}


def _type_schema(hint: Any) -> dict[str, Any]:
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        (hint,) = (part for part in get_args(hint) if part is not type(None))
        return _type_schema(hint)
    if origin is Literal:
        return {"type": "string", "enum": list(get_args(hint))}
    if origin is list:
        return {"type": "array", "items": _type_schema(get_args(hint)[0])}
    if hint in _SCALARS:
        return {"type": _SCALARS[hint]}
    raise TypeError(f"no JSON schema for {hint!r}")


def signature_text(name: str, parameters: Mapping[str, Any]) -> str:
    """Format a call for prompts and error texts: `todo(action=list|add, list?, items[]?)`."""
    parts = []
    for argument, schema in parameters["properties"].items():
        optional = "" if argument in parameters["required"] else "?"
        many = "[]" if schema["type"] == "array" else ""
        choices = "=" + "|".join(schema["enum"]) if "enum" in schema else ""
        parts.append(f"{argument}{many}{optional}{choices}")
    return f"{name}({', '.join(parts)})"


def parse_arguments(name: str, parameters: Mapping[str, Any], given: Any) -> dict[str, Any]:
    """Convert the arguments that a model wrote into those that the function takes.

    Raises ToolProblem, which names the right form of the call.
    """
    usage = f"Use {signature_text(name, parameters)}."
    properties = parameters["properties"]
    named = _rename_arguments(_unwrap_arguments(given, parameters), properties, usage)
    fitted = {key: _convert(key, value, properties[key], usage) for key, value in named.items()}
    missing = [key for key in parameters["required"] if key not in fitted]
    if missing:
        raise ToolProblem(f"{name} needs {', '.join(missing)}. {usage}")
    return fitted


def _unwrap_arguments(given: Any, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
    """Unwrap arguments that come as JSON in a string, as a bare string, or inside an object."""
    if isinstance(given, str):
        parsed = json_or_none(given)
        if not isinstance(parsed, Mapping):
            required = parameters["required"]
            return {required[0]: given} if len(required) == 1 and given.strip() else {}
        given = parsed
    if not isinstance(given, Mapping):
        return {}
    if len(given) == 1:
        key, inner = next(iter(given.items()))
        if key in ("arguments", "args", "parameters", "input") and isinstance(inner, Mapping):
            return inner
    return given


def _rename_arguments(
    given: Mapping[str, Any], properties: Mapping[str, Any], usage: str
) -> dict[str, Any]:
    named = {key: value for key, value in given.items() if key in properties and value is not None}
    for key, value in given.items():
        if key in properties or value is None:
            continue
        meant = _find_parameter(key, properties, named)
        if meant is None:
            raise ToolProblem(f"There is no argument {key}. {usage}")
        named[meant] = value
    return named


def _find_parameter(
    key: str, properties: Mapping[str, Any], taken: Mapping[str, Any]
) -> str | None:
    plain = key.strip().casefold().replace("-", "_")
    candidates = (plain, *_ARGUMENT_SYNONYMS.get(plain, ()))
    free = [name for name in candidates if name in properties and name not in taken]
    return free[0] if free else None


def _convert(key: str, value: Any, schema: Mapping[str, Any], usage: str) -> Any:
    wrong = ToolProblem(f"{key} is not {_describe_type(schema)}. {usage}")
    match schema["type"]:
        case "array":
            return _to_strings(value, wrong)
        case "integer" | "number":
            return _to_number(value, schema["type"], wrong)
        case "boolean":
            return _to_boolean(value, wrong)
        case "object":
            return _to_object(value, wrong)
    text = _to_string(value, wrong)
    return _to_choice(text, schema["enum"], wrong) if "enum" in schema else text


def _describe_type(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return "one of " + ", ".join(schema["enum"])
    words = {"array": "a list of texts", "integer": "a whole number", "string": "a text"}
    return (words | {"object": "an object"}).get(schema["type"], f"a {schema['type']}")


def _to_string(value: Any, wrong: ToolProblem) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(line, str) for line in value):
        return value[0] if len(value) == 1 else "\n".join(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise wrong
    return str(value)


def _to_strings(value: Any, wrong: ToolProblem) -> list[str]:
    if isinstance(value, str):
        parsed = json_or_none(value) if value.lstrip().startswith("[") else None
        value = parsed if isinstance(parsed, list) else [value]
    if not isinstance(value, list):
        raise wrong
    texts = [_to_string(_unwrap_item(part), wrong) for part in value]
    texts = [text for text in texts if text.strip()]
    if not texts:
        raise wrong
    return texts


def _unwrap_item(part: Any) -> Any:
    """Unwrap an item that is an object of its own, for example {"text": "milk"}."""
    if isinstance(part, Mapping):
        return next((value for value in part.values() if isinstance(value, str)), part)
    return part


def _to_object(value: Any, wrong: ToolProblem) -> dict[str, Any]:
    parsed = json_or_none(value) if isinstance(value, str) else value
    if not isinstance(parsed, Mapping):
        raise wrong
    return dict(parsed)


def _to_number(value: Any, kind: str, wrong: ToolProblem) -> int | float:
    try:
        number = float(str(value).strip()) if not isinstance(value, bool) else None
    except ValueError:
        raise wrong from None
    if number is None or (kind == "integer" and not number.is_integer()):
        raise wrong
    return int(number) if kind == "integer" else number


def _to_boolean(value: Any, wrong: ToolProblem) -> bool:
    words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    word = str(value).strip().casefold()
    if word not in words:
        raise wrong
    return words[word]


def _to_choice(text: str, choices: list[str], wrong: ToolProblem) -> str:
    plain = text.strip().casefold().replace(" ", "_")
    for candidate in (text, plain, _VALUE_SYNONYMS.get(plain, "")):
        if candidate in choices:
            return candidate
    near = difflib.get_close_matches(plain, choices, n=1, cutoff=0.8)
    if not near:
        raise wrong
    return near[0]
