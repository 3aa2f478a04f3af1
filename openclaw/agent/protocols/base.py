"""The protocol between loop and model (native calls or JSON steps); reads a reply as a step."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from openclaw.frozen import frozen
from openclaw.messages import Entry, Message, ToolCall, ToolUse
from openclaw.models.base import Reply, replace_surrogates
from openclaw.nlp.intent import Cues
from openclaw.tools.toolbox import Toolbox


@dataclass(slots=True)
class RunningTurn:
    """The state of a running turn.

    user: the user's message
    rules: rules to repeat near the end of the prompt
    cues: what the words of the request point at
    entries: the messages of the turn so far
    found: passages of the user's files stand in the message's tail
    kind: answer, look or change, as the model classified the request; "" when not asked for
    closing: "no", "may" or "must": whether the next reply is the answer
    skill: the text of a skill that was read in this turn or that the user asked for
    form: a regular expression for the next answer, when the last one was not in the skill's form
    looked: number of results that did not hold the answer
    forgotten: the results of so many first entries are shown in one line
    rest: what the request orders besides, each with its cues
    began: the number of entries when the present order began
    """

    user: Entry
    rules: tuple[str, ...] = ()
    cues: Cues = Cues()
    entries: list[Entry] = field(default_factory=list)
    found: bool = False
    kind: str = ""
    closing: str = "no"
    skill: str = ""
    form: str = ""
    looked: int = 0
    forgotten: int = 0
    rest: list[tuple[str, Cues]] = field(default_factory=list)
    began: int = 1

    @property
    def request(self) -> str:
        """The user's words, short enough to be repeated after an observation."""
        text = " ".join(self.user.content.split())
        return text if len(text) <= 600 else text[:450] + " ... " + text[-140:]


@frozen
class Demand:
    """The constraints on the next reply: tools to offer, or a JSON schema."""

    tools: tuple[Mapping[str, Any], ...] = ()
    schema: Mapping[str, Any] | None = None


class StepProtocol(Protocol):
    """A way to ask a model for a step and to read it."""

    name: str

    def rules(self, toolbox: Toolbox) -> str:
        """Return the part of the head that explains tool calls, and lists the tools if needed."""
        ...

    def wire(self, entry: Entry) -> list[Message]:
        """Return the messages of a session entry; the same ones every time."""
        ...

    def tools(self, toolbox: Toolbox) -> tuple[Mapping[str, Any], ...]:
        """Return the tools that go with each request, none where the head lists them."""
        ...

    def demand(self, turn: RunningTurn, toolbox: Toolbox) -> Demand: ...

    def read(self, reply: Reply, turn: RunningTurn, toolbox: Toolbox) -> ModelStep: ...

    def spoken(self, text: str, turn: RunningTurn) -> str:
        """Return the answer in an unfinished reply, to be shown as it comes."""
        ...

    def hint(self, turn: RunningTurn, uses: Sequence[ToolUse], toolbox: Toolbox) -> str:
        """Return the text after the results of calls; set what the turn expects next."""
        ...


def to_call(use: ToolUse) -> ToolCall:
    """Return the call of a tool use."""
    return ToolCall(use.id, use.tool, use.input)


FENCE = re.compile(r"```(?:json|tool_call|tool)?\s*\n?(.*?)```", re.DOTALL)
TAG = re.compile(r"<(tool_call|function_call)>(.*?)(?:</\1>|$)", re.DOTALL)
THINK = re.compile(r"<think>.*?(?:</think>|$)", re.DOTALL)
NAME_KEYS = ("tool", "name", "action", "function", "tool_name")
ARGUMENT_KEYS = ("arguments", "parameters", "args", "input", "action_input", "tool_input")
ANSWER_KEYS = ("answer", "final_answer", "response", "reply")
NOT_ARGUMENTS = {"thought", "kind", "type", "id", *ANSWER_KEYS, *NAME_KEYS}
STEP_KEYS = {*NOT_ARGUMENTS, *ARGUMENT_KEYS}
NO_ACTION = {"", "none", "null", "answer", "final answer", "finish"}
EMPTY_WRAP = re.compile(r"</?(?:tool_call|function_call)>|```\w*\s*```")
Span = tuple[int, int]


@frozen
class ModelStep:
    """A reply of the model as answer or calls. `kind` only where the step schema asks for it."""

    answer: str = ""
    calls: tuple[ToolCall, ...] = ()
    thought: str = ""
    kind: str = ""


def read_step(text: str, tools: Mapping[str, Collection[str]]) -> ModelStep:
    """Read the step in a text. `tools` maps each tool's name to its argument names."""
    text = THINK.sub("", text).strip()
    whole = _load(text)
    if isinstance(whole, (dict, list)):
        step = _from_value(whole, tools)
        return step or ModelStep(answer=text)
    for found in _embedded(text):
        steps = [(s, span) for value, span in found if (s := _from_value(value, tools))]
        called = [(s, span) for s, span in steps if s.calls]
        if called:
            first, calls = called[0][0], [call for s, _ in called for call in s.calls]
            numbered = tuple(replace(c, id=f"call_{n}") for n, c in enumerate(calls, 1))
            rest = _without(text, [span for _, span in called])
            return ModelStep(rest, numbered, first.thought, first.kind)
        if len(steps) == 1 and not _without(text, [steps[0][1]]):
            return steps[0][0]
    return ModelStep(answer=text)


def _embedded(text: str) -> Iterator[list[tuple[Any, Span]]]:
    """Yield the JSON values inside a text with their places, one list for each way to find them."""
    for pattern, group in ((TAG, 2), (FENCE, 1)):
        yield [(_load(m.group(group).strip()), m.span()) for m in pattern.finditer(text)]
    yield list(_objects(text))


def _objects(text: str) -> Iterator[tuple[Any, Span]]:
    text = replace_surrogates(text)
    decoder, at = json.JSONDecoder(strict=False), text.find("{")
    while at >= 0:
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at = text.find("{", at + 1)
            continue
        yield value, (at, end)
        at = text.find("{", end)


def _without(text: str, spans: list[Span]) -> str:
    """Return the text without these spans."""
    for start, end in reversed(spans):
        text = text[:start] + text[end:]
    return EMPTY_WRAP.sub("", text).strip()


def _load(text: str) -> Any:
    try:
        return json.loads(replace_surrogates(text), strict=False)
    except (ValueError, RecursionError):
        return None


def _from_value(value: Any, tools: Mapping[str, Collection[str]]) -> ModelStep | None:
    if isinstance(value, list):
        calls = [c for i, v in enumerate(value) if (c := _call(v, tools, i))]
        return ModelStep(calls=tuple(calls)) if calls else None
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("tool_calls"), list):
        return _from_value(value["tool_calls"], tools)
    thought, kind = str(value.get("thought") or ""), str(value.get("kind") or "")
    call = _call(value, tools, 0)
    if call:
        return ModelStep(calls=(call,), thought=thought, kind=kind)
    given = next((v for k in ANSWER_KEYS if (v := value.get(k)) not in (None, "")), None)
    if isinstance(given, str):
        return ModelStep(given, thought=thought, kind=kind)
    says_nothing = "answer" in value or value == {"kind": "more"}
    if not says_nothing or not STEP_KEYS.issuperset(value):
        return None
    text = "" if given is None else json.dumps(given, ensure_ascii=False)
    return ModelStep(text, thought=thought, kind=kind)


def _call(value: Any, tools: Mapping[str, Collection[str]], index: int) -> ToolCall | None:
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("function"), dict):
        value = value["function"]
    name = next((v for k in NAME_KEYS if isinstance(v := value.get(k), str) and v in tools), "")
    name = name or _unknown(value)
    if not name:
        return None
    known = tools.get(name, ())
    given = next((value[k] for k in ARGUMENT_KEYS if k in value), None)
    if isinstance(given, str):
        loaded = _load(given)
        given = loaded if isinstance(loaded, dict) else _single(given, known)
    if not isinstance(given, dict):
        given = {k: v for k, v in value.items() if k not in STEP_KEYS or k in known}
        given.pop("action" if value.get("action") == name else "", None)
    return ToolCall(f"call_{index + 1}", name, given)


def _unknown(value: Mapping[str, Any]) -> str:
    """Return the unknown tool's name in what is clearly a step, so that the model learns of it and
    the user does not see the step."""
    if value.get("kind") in ("look", "change") and isinstance(value.get("tool"), str):
        return str(value["tool"])
    action = value.get("action")
    if "action_input" in value and isinstance(action, str) and not value.get("answer"):
        return "" if action.strip().lower() in NO_ACTION else action
    return ""


def _single(text: str, arguments: Collection[str]) -> dict[str, Any]:
    """Return the arguments of a call with only one string: it is the tool's first argument."""
    first = next(iter(arguments), None)
    return {first: text} if first and text else {}


def partial_answer(text: str) -> str:
    """Return the answer so far in a JSON step that is still being generated."""
    if '"answer"' not in text:
        return ""
    from pydantic_core import from_json

    try:
        value = from_json(text.encode(errors="replace"), allow_partial="trailing-strings")
    except ValueError:
        return ""
    answer = value.get("answer") if isinstance(value, dict) else None
    return answer if isinstance(answer, str) else ""
