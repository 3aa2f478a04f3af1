"""A typed function as a tool: what a model is told of it, and what a call of it would do."""

from __future__ import annotations

import difflib
import inspect
import re
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from openclaw.frozen import frozen
from openclaw.security.masking import MaskMode
from openclaw.storage.safe_open import json_or_none
from openclaw.types import Action, Change, Effect, ToolProblem

MAX_ITEMS = 20
# More legal values make a slow grammar. Then the tool itself matches what the model wrote.
MAX_LEGAL = 60

Legal = Callable[[], Mapping[str, Sequence[str]]]
Act = Callable[[Mapping[str, Any]], Action]
Preview = Callable[[Mapping[str, Any]], Change | None]

_WORST_FIRST: tuple[Effect, ...] = (
    "send", "run", "write-elsewhere", "get", "write", "read-elsewhere", "read",
)  # fmt: skip


@frozen
class CallForm:
    """One legal shape of a call, e.g. `todo` with action "add"."""

    effect: Effect  # what the call does to the world
    fixed: Mapping[str, str] = field(default_factory=dict)  # arguments with their only value
    arguments: tuple[str, ...] = ()  # required
    optional: tuple[str, ...] = ()
    most: int = MAX_ITEMS  # of a list of texts: a small model writes the same one again and again


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
    description, parameters = _describe(getattr(function, "__func__", function))
    return Tool(
        name=function.__name__,
        description=description,
        parameters=parameters,
        forms=tuple(forms) or (CallForm(effect, arguments=tuple(parameters["required"])),),
        run=function,
        legal=legal,
        action=action,
        foreign=foreign,
        masks=masks,
        preview=preview,
    )


@lru_cache(256)  # each turn makes its tools anew, from the same methods of other objects
def _describe(function: Callable[..., str]) -> tuple[str, Mapping[str, Any]]:
    """Return the description of a function or method, and the JSON schema of its arguments."""
    hints, properties, required = get_type_hints(function), dict[str, Any](), list[str]()
    for name, parameter in inspect.signature(function).parameters.items():
        if name == "self":
            continue
        properties[name] = _type_schema(hints[name])
        if parameter.default is inspect.Parameter.empty:
            required.append(name)
    paragraph = (inspect.getdoc(function) or "").split("\n\n")[0]
    schema = {"type": "object", "properties": properties, "required": required}
    return " ".join(paragraph.split()), schema


def legal_shapes(tool: Tool) -> Iterator[tuple[Effect, dict[str, Any]]]:
    """Yield effect and JSON schema of each form of a call that is legal now; a form with an
    argument that has no legal value is left out."""
    legal = tool.legal()
    for form in tool.forms:
        properties: dict[str, Any] = {"tool": {"const": tool.name}}
        properties |= {key: {"const": value} for key, value in form.fixed.items()}
        for argument in (*form.arguments, *form.optional):
            keys = [f"{value}.{argument}" for value in form.fixed.values()] + [argument]
            values = next((legal[key] for key in keys if key in legal), None)
            if values is not None and not values:
                break
            schema = tool.parameters["properties"][argument]
            properties[argument] = _constrain(schema, values, form.most)
        else:
            required = [name for name in properties if name not in form.optional]
            yield form.effect, closed_object(properties, required)


def closed_object(
    properties: Mapping[str, Any], required: Sequence[str] | None = None
) -> dict[str, Any]:
    """Return the JSON schema of an object with these properties and no others. All are required
    unless it is said which ones are."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties) if required is None else list(required),
        "additionalProperties": False,
    }


def _constrain(
    schema: Mapping[str, Any], values: Sequence[str] | None, most: int
) -> dict[str, Any]:
    if schema["type"] == "array":
        items = _constrain(schema["items"], values, most)
        return {"type": "array", "items": items, "minItems": 1, "maxItems": most}
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
    other: tuple(names.split())
    for names, others in {
        "path": "file filename file_name file_path filepath target",
        "path list": "name",
        "folder": "dir directory",
        "folder name": "path",
        "content fact query items item": "text",
        "content text": "body data contents",
        "text fact": "content",
        "find": "old old_text old_string",
        "find text query": "search",
        "replace": "new new_text new_string replacement replace_with",
        "text": "query pattern",
        "text query": "keyword",
        "query text": "q",
        "from_line": "line start start_line offset",
        "list": "list_name category",
        "items": "tasks todos item",
        "item": "items id",
        "items item": "task",
        "item items": "todo",
        "fact": "memory",
        "fact text": "note",
        "name": "skill skill_name",
        "action": "op command",
        "expression": "expr formula",
    }.items()
    for other in others.split()
}

# Words that small models write in place of one of a few fixed words.
_VALUE_SYNONYMS: dict[str, str] = {
    other: word
    for word, others in {
        "list": "show read view get",
        "add": "create new append",
        "done": "complete completed finish check tick",
        "undone": "uncheck reopen",
        "remove": "delete",
        "remove_list": "delete_list",
        "lasting": "memory long-term permanent",
        "today": "daily",
    }.items()
    for other in others.split()
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


def tool_line(tool: Tool) -> str:
    return f"{signature_text(tool.name, tool.parameters)}: {tool.description}"


def parse_arguments(name: str, parameters: Mapping[str, Any], given: Any) -> dict[str, Any]:
    """Convert the arguments that a model wrote into those that the function takes.

    Raises ToolProblem, which names the right form of the call.
    """
    usage = f"Use {signature_text(name, parameters)}."
    properties = parameters["properties"]
    named = _rename_arguments(_unwrap_arguments(given, parameters), properties, usage)
    fitted = {
        key: _without_call(name, _convert(key, value, properties[key], usage))
        for key, value in named.items()
    }
    missing = [key for key in parameters["required"] if key not in fitted]
    if missing:
        raise ToolProblem(f"{name} needs {', '.join(missing)}. {usage}")
    return fitted


def _without_call(name: str, value: Any) -> Any:
    """The text of a call that a very small model writes in place of its argument:
    "search_files('card declined', server.log)"."""
    call = re.fullmatch(rf"{name}\((.+)\)", value) if isinstance(value, str) else None
    quoted = re.search(r"(['\"])(.+?)\1", call[1]) if call else None
    return quoted[2] if quoted else call[1] if call else value


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
    given = {key: value for key, value in given.items() if value is not None}
    named = {key: value for key, value in given.items() if key in properties}
    for key in (key for key in given if key not in properties):
        plain = key.strip().casefold().replace("-", "_")
        meant = [name for name in (plain, *_ARGUMENT_SYNONYMS.get(plain, ())) if name in properties]
        free = [name for name in meant if name not in named]
        if not free:
            raise ToolProblem(f"There is no argument {key}. {usage}")
        named[free[0]] = given[key]
    return named


def _convert(key: str, value: Any, schema: Mapping[str, Any], usage: str) -> Any:
    try:
        match schema["type"]:
            case "array":
                return _to_strings(value)
            case "integer" | "number":
                return _to_number(value, schema["type"])
            case "boolean":
                return _BOOLEANS[str(value).strip().casefold()]
            case "object":
                parsed = json_or_none(value) if isinstance(value, str) else value
                return dict(_check(parsed, Mapping))
        text = _to_string(value)
        return _to_choice(text, schema["enum"]) if "enum" in schema else text
    except (ValueError, LookupError):
        raise ToolProblem(f"{key} is not {_describe_type(schema)}. {usage}") from None


def _describe_type(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return "one of " + ", ".join(schema["enum"])
    words = {"array": "a list of texts", "integer": "a whole number", "string": "a text"}
    return (words | {"object": "an object"}).get(schema["type"], f"a {schema['type']}")


def _check(value: Any, kinds: Any) -> Any:
    """Return the value; ValueError when it is of none of these kinds."""
    if not isinstance(value, kinds) or isinstance(value, bool):
        raise ValueError
    return value


def _to_string(value: Any) -> str:
    if isinstance(value, list) and all(isinstance(line, str) for line in value):
        return value[0] if len(value) == 1 else "\n".join(value)
    return str(_check(value, str | int | float))


def _to_strings(value: Any) -> list[str]:
    if isinstance(value, str):
        parsed = json_or_none(value) if value.lstrip().startswith("[") else None
        value = parsed if isinstance(parsed, list) else [value]
    texts = [_to_string(_unwrap_item(part)) for part in _check(value, list)]
    texts = [text for text in texts if text.strip()]
    if not texts:
        raise ValueError
    return texts


def _unwrap_item(part: Any) -> Any:
    """Unwrap an item that is an object of its own, for example {"text": "milk"}."""
    if isinstance(part, Mapping):
        return next((value for value in part.values() if isinstance(value, str)), part)
    return part


def _to_number(value: Any, kind: str) -> int | float:
    number = float(str(_check(value, str | int | float)).strip())
    if kind == "integer" and not number.is_integer():
        raise ValueError
    return int(number) if kind == "integer" else number


_BOOLEANS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def _to_choice(text: str, choices: list[str]) -> str:
    plain = text.strip().casefold().replace(" ", "_")
    for candidate in (text, plain, _VALUE_SYNONYMS.get(plain, "")):
        if candidate in choices:
            return candidate
    return difflib.get_close_matches(plain, choices, n=1, cutoff=0.8)[0]
