"""Reads a model's reply as a step: calls and answers in whatever form a model writes them."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from openclaw.agent.protocols.base import ModelStep
from openclaw.messages import ToolCall
from openclaw.storage.safe_open import replace_surrogates

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
            first, calls = called[0][0], tuple(call for s, _ in called for call in s.calls)
            rest = _without(text, [span for _, span in called])
            return ModelStep(rest, calls, first.thought, first.kind)
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
    at = text.find("{")
    while at >= 0:
        try:
            value, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            at = text.find("{", at + 1)
            continue
        yield value, (at, end)
        at = text.find("{", end)


def _without(text: str, spans: list[Span]) -> str:
    for start, end in reversed(spans):
        text = text[:start] + text[end:]
    return EMPTY_WRAP.sub("", text).strip()


_DECODER = json.JSONDecoder(strict=False, parse_constant=str)  # a NaN could not be sent back


def _load(text: str) -> Any:
    try:
        return _DECODER.decode(replace_surrogates(text))
    except (ValueError, RecursionError):
        return None


def _from_value(value: Any, tools: Mapping[str, Collection[str]]) -> ModelStep | None:
    if isinstance(value, list):
        calls = tuple(call for each in value if (call := _call(each, tools)))
        return ModelStep(calls=calls) if calls else None
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("tool_calls"), list):
        return _from_value(value["tool_calls"], tools)
    thought, kind = str(value.get("thought") or ""), str(value.get("kind") or "")
    if call := _call(value, tools):
        return ModelStep(calls=(call,), thought=thought, kind=kind)
    given = next((v for k in ANSWER_KEYS if (v := value.get(k)) not in (None, "")), None)
    if isinstance(given, str):
        return ModelStep(given, thought=thought, kind=kind)
    says_nothing = "answer" in value or value == {"kind": "more"}
    if not says_nothing or not STEP_KEYS.issuperset(value):
        return None
    text = "" if given is None else json.dumps(given, ensure_ascii=False)
    return ModelStep(text, thought=thought, kind=kind)


def _call(value: Any, tools: Mapping[str, Collection[str]]) -> ToolCall | None:
    """Return the call in a value. It has no id: the loop numbers the calls of a turn."""
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
        text, given = given, _load(given)
        if not isinstance(given, dict):  # only one string: it is the tool's first argument
            given = dict.fromkeys([*known][:1], text) if text else {}
    if not isinstance(given, dict):
        given = {k: v for k, v in value.items() if k not in STEP_KEYS or k in known}
        given.pop("action" if value.get("action") == name else "", None)
    return ToolCall("", name, given)


def _unknown(value: Mapping[str, Any]) -> str:
    """Return the unknown tool's name in what is clearly a step, so that the model learns of it and
    the user does not see the step."""
    if value.get("kind") in ("look", "change") and isinstance(value.get("tool"), str):
        return str(value["tool"])
    action = value.get("action")
    if "action_input" in value and isinstance(action, str) and not value.get("answer"):
        return "" if action.strip().lower() in NO_ACTION else action
    return ""


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
