"""Tools as typed functions, and the box that the loop takes them from."""

from __future__ import annotations

import difflib
import errno
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from openclaw.errors import OpenclawError
from openclaw.shapes import Effect, Ledger, ToolCall, ToolProblem
from openclaw.tools.arguments import fit, parameters_of, signature_text
from openclaw.tools.narrowing import allows
from openclaw.tools.policy import Policy

MAX_CHARS = 12_000
MAX_ITEMS = 20
# More legal values than this make a slow grammar; then the tool matches what the model wrote.
MAX_LEGAL = 60

Legal = Callable[[], Mapping[str, Sequence[str]]]


@dataclass(frozen=True, slots=True)
class Form:
    """One legal shape of a call, e.g. `todo` with action "add": the arguments that are fixed, those
    that must be given, and what the call does to the world."""

    effect: Effect
    fixed: Mapping[str, str] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that the model may call.

    `description` is prompt text, the first paragraph of the function's docstring. `parameters` is
    a flat JSON schema object. `legal` gives the values that an argument may take now (skill names,
    to-dos), for the grammar; its keys are argument names, or `value.argument` for the form that
    fixes an argument to that value.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    forms: tuple[Form, ...]
    run: Callable[..., str]
    legal: Legal = dict


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the model is told about a call."""

    text: str
    ok: bool


def tool(
    function: Callable[..., str],
    *,
    effect: Effect = "read",
    forms: Sequence[Form] = (),
    legal: Legal = dict,
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
    )


class Toolbox:
    """The tools of one run. `ledger` gets a line for every refused call."""

    def __init__(
        self, tools: Sequence[Tool], policy: Policy, ledger: Ledger, *, max_chars: int = MAX_CHARS
    ) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._policy = policy
        self._ledger = ledger
        self._max_chars = max_chars

    @property
    def arguments(self) -> Mapping[str, tuple[str, ...]]:
        """Each tool's argument names, in order."""
        return {tool.name: tuple(tool.parameters["properties"]) for tool in self._tools.values()}

    def specs(self) -> tuple[Mapping[str, Any], ...]:
        """The tools as OpenAI-style function specs, for models with native tool calls."""
        return tuple(
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                },
            }
            for tool in self._tools.values()
        )

    def lines(self) -> str:
        """The tools as one line each (`name(arg, arg?): description`), for JSON steps."""
        return "\n".join(
            f"{signature_text(tool.name, tool.parameters)}: {tool.description}"
            for tool in self._tools.values()
        )

    def shapes(self, effects: frozenset[Effect]) -> list[dict[str, Any]]:
        """One JSON schema per form whose effect is among `effects`: an object with "tool" const
        first, then the arguments in order, all required, nothing else allowed; legal values as
        enum. A form with an argument that has no legal value now is left out, and so is one that
        the policy or the skill that is followed would refuse: a step spent on it is lost."""
        effects = frozenset(e for e in effects if not self._policy.refuses(e))
        shapes = []
        for tool in self._tools.values():
            if not allows(self._ledger.allowed, tool.name):
                continue
            legal = tool.legal()
            for form in tool.forms:
                shape = _shape(tool, form, legal) if form.effect in effects else None
                if shape is not None:
                    shapes.append(shape)
        return shapes

    def effect(self, call: ToolCall) -> Effect | None:
        """What a call would do, None for an unknown tool; "write" when its arguments do not say."""
        tool = self._find(call.name)
        if tool is None:
            return None
        try:
            return _effect(tool, fit(tool.name, tool.parameters, call.arguments))
        except ToolProblem:
            return _effect(tool, {})

    def run(self, call: ToolCall) -> Outcome:
        """Check name and arguments, ask the policy, run. Never raises for a mistake of the
        model's; raises OpenclawError for what the user must mend (a full disk)."""
        try:
            return Outcome(self._cut(self._run(call)), True)
        except ToolProblem as problem:
            return Outcome(self._cut(str(problem)), False)

    def _run(self, call: ToolCall) -> str:
        tool = self._find(call.name)
        if tool is None:
            raise ToolProblem(self._unknown(call.name))
        arguments = fit(tool.name, tool.parameters, call.arguments)
        if not allows(self._ledger.allowed, tool.name, arguments):
            names = ", ".join(self._ledger.allowed)
            raise ToolProblem(f"The skill that you follow leaves only these tools: {names}.")
        self._permit(tool, arguments)
        try:
            return tool.run(**arguments)
        except (ToolProblem, OpenclawError):
            raise
        except OSError as error:
            raise _told(error) from error
        except Exception as error:  # a tool that fails does not end the turn
            raise ToolProblem(f"{tool.name} failed: {type(error).__name__}: {error}") from error

    def _find(self, name: str) -> Tool | None:
        plain = name.strip().casefold().replace("-", "_").rpartition(".")[2]
        return self._tools.get(name) or self._tools.get(plain)

    def _unknown(self, name: str) -> str:
        near = difflib.get_close_matches(name.casefold(), self._tools, n=1, cutoff=0.5)
        meant = f" Did you mean {near[0]}?" if near else ""
        return f"No tool {name}.{meant} Tools: {', '.join(self._tools)}."

    def _permit(self, tool: Tool, arguments: Mapping[str, Any]) -> None:
        effect = _effect(tool, arguments)
        path = str(arguments.get("path", ""))
        decision = self._policy.decide(effect, path)
        ask = self._policy.ask
        if decision == "ask" and ask is not None and ask(tool.name, arguments, effect):
            return
        if decision == "allow":
            return
        why = "the user said no" if decision == "ask" and ask else f"mode {self._policy.mode}"
        self._ledger.refused.append(f"{tool.name}{f' {path}' if path else ''} ({effect}): {why}")
        raise ToolProblem(
            f"Refused ({why}): {tool.name} was not run. Do not try again; tell the user."
        )

    def _cut(self, text: str) -> str:
        if len(text) <= self._max_chars:
            return text
        kept = text[: self._max_chars]
        end = kept.rfind("\n")
        kept = kept[:end] if end > 0 else kept
        return (
            f"{kept}\n[Cut: {len(kept):,} of {len(text):,} characters shown. "
            "Ask for a smaller part, for example a later line, one folder or a rarer word.]"
        )


def _shape(tool: Tool, form: Form, legal: Mapping[str, Sequence[str]]) -> dict[str, Any] | None:
    properties: dict[str, Any] = {"tool": {"const": tool.name}}
    properties |= {key: {"const": value} for key, value in form.fixed.items()}
    for argument in form.arguments:
        keys = [f"{value}.{argument}" for value in form.fixed.values()] + [argument]
        values = next((legal[key] for key in keys if key in legal), None)
        if values is not None and not values:
            return None
        properties[argument] = _constrained(tool.parameters["properties"][argument], values)
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
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


def _effect(tool: Tool, arguments: Mapping[str, Any]) -> Effect:
    """The effect of the form that fits; of the most serious one when none does."""
    for form in tool.forms:
        if all(arguments.get(key) == value for key, value in form.fixed.items()):
            return form.effect
    effects = {form.effect for form in tool.forms}
    return next(effect for effect in ("network", "write", "read") if effect in effects)


_USERS_TO_MEND = {errno.ENOSPC, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE} | {
    getattr(errno, "EDQUOT", errno.ENOSPC)  # not on every system
}


def _told(error: OSError) -> ToolProblem | OpenclawError:
    what = f"{error.strerror or error}".lower()
    name = str(error.filename or "").replace("\\", "/").rpartition("/")[2]
    text = f"{name}: {what}" if name else what
    if error.errno in _USERS_TO_MEND:
        return OpenclawError(text, "free some space or make the home writable, then try again")
    return ToolProblem(f"That did not work. {text}.")
