"""JSON steps: for models without reliable native tool calls.

One object a step, under a JSON schema: a kind, then either a tool with its own arguments or an
answer. What was measured and why it is shaped so stands in docs/small-models.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from openclaw.agent.forms import first_tools, later_tools, line_form
from openclaw.agent.parse import Step, partial_answer, read_step
from openclaw.agent.protocol import Demand, Turn, as_call, with_context
from openclaw.models.base import Reply
from openclaw.shapes import Effect, Entry, Message, ToolUse
from openclaw.tools.toolbox import Toolbox

RULES = """\
# Tools

Reply with one JSON object. Its "kind" comes first:
- "answer": small talk, or the answer stands above. {{"kind":"answer","answer":"..."}}
- "look": the answer is in files, lists or on the web. {{"kind":"look","tool":"...", arguments}}
- "change": something is to be done or kept. {{"kind":"change","tool":"...", arguments}}

{tools}"""

LOOKED = """\
With this result, answer the user. The user asked:
{request}
(If the result does not hold the answer: {{"kind":"more"}})"""
CHANGED = "Done: {done}\nTell the user so in one plain sentence."
CHANGED_PART = """\
Done. Tell the user in one plain sentence what was done. The user asked:
{request}
(If a part is still to do: {{"kind":"more"}})"""
CHANGED_TELL = "Done. With this result, answer the user. The user asked:\n{request}"
OUTSIDE = "That is not allowed. Tell the user so, and why. The user asked:\n{request}"
NO_FILE = "There is no such file. Tell the user so. The user asked:\n{request}"
CORRECT_LINE = """\
Take one of these lines as "find", and write the same line, corrected, as "replace".
The user asked: {request}"""
NEXT = "Now the next step for: {request}"
FOLLOW = """\
Now do what the skill says with a tool, in exactly the form that it gives. The user's request:
{request}"""
IN_FORM = """\
Now give the answer in exactly the form that the skill asks for. The user's request:
{request}"""
FAILED = """\
That did not work. Take another step, or answer what is wrong. The user asked:
{request}"""
GO_ON = "Then the next step for: {request}"
ENOUGH = "Nothing new can be found. Tell the user what is known. The user asked:\n{request}"

READING: frozenset[Effect] = frozenset({"read", "network"})
ALL: frozenset[Effect] = frozenset({"read", "network", "write"})
WRITING = frozenset({"write_file", "append_file", "edit_file"})
NEAREST = re.compile(r"^\d+: (.+)$", re.MULTILINE)
OUTSIDE_HOME = "outside the home"
MORE = re.compile(r'\{\s*"kind"\s*:\s*"more"\s*\}')
WRITES_FILES = re.compile(
    r"\b(?:write|create|save|append|put)\b[^.\n]*(?:\bfile\b|`[\w./-]+\.\w+`)", re.I
)
Schema = dict[str, Any]


class JsonSteps:
    """See `openclaw.agent.protocol.StepProtocol`."""

    name = "json"

    def rules(self, toolbox: Toolbox) -> str:
        return RULES.format(tools=toolbox.lines())

    def wire(self, entry: Entry) -> list[Message]:
        if entry.role == "user":
            return [with_context(entry)]
        messages = [Message("assistant", entry.raw or _as_step(entry))]
        results = [f"Result of {use.tool}:\n{use.output}" for use in entry.tool_calls]
        after = "\n\n".join((*results, entry.hint) if entry.hint else results)
        return [*messages, Message("user", after)] if after else messages

    def demand(self, turn: Turn, toolbox: Toolbox) -> Demand:
        return Demand(schema=step_schema(turn, toolbox))

    def read(self, reply: Reply, turn: Turn, toolbox: Toolbox) -> Step:
        if turn.closing == "may" and MORE.fullmatch(reply.text.strip()):
            return Step()
        step = read_step(reply.text, toolbox.arguments)
        if not step.calls and step.answer.lstrip().startswith("{"):
            step = Step(partial_answer(reply.text))  # cut off or malformed: never shown as JSON
        if not turn.kind and step.kind:
            turn.kind = step.kind
        return step

    def spoken(self, text: str, turn: Turn) -> str:
        return partial_answer(text)

    def hint(self, turn: Turn, uses: Sequence[ToolUse], toolbox: Toolbox) -> str:
        text, turn.closing = self._hint(turn, uses, toolbox)
        rules = "".join(f"\nRule: {rule}" for rule in turn.rules) if turn.closing != "no" else ""
        done = uses[-1].output.splitlines()[0] if uses and uses[-1].output else ""
        return text.format(request=turn.request, done=done) + rules

    def _hint(self, turn: Turn, uses: Sequence[ToolUse], toolbox: Toolbox) -> tuple[str, str]:
        """What is said after these calls, and whether the next reply may or must be the answer."""
        if turn.closing == "must":
            return ENOUGH, "must"
        if not uses:
            turn.looked += 1
            return (GO_ON, "no") if turn.looked < 3 else (ENOUGH, "must")
        last = uses[-1]
        if not all(use.ok for use in uses):
            return _after_failure(last, turn)
        if last.tool == "read_skill":
            turn.skill = last.output
            return (FOLLOW, "no") if skill_forms(turn.skill, toolbox) else (IN_FORM, "must")
        if turn.skill and toolbox.effect(as_call(last)) != "write":
            return (FOLLOW, "no") if _goes_on(turn.skill, uses, toolbox) else (IN_FORM, "must")
        if toolbox.effect(as_call(last)) == "write":
            if turn.cues.parts:
                return CHANGED_PART, "may"
            return (CHANGED_TELL if turn.cues.tells and not turn.skill else CHANGED), "must"
        if turn.kind == "change" or unread(turn, uses):
            return NEXT, "no"
        return LOOKED, "may"


def _after_failure(last: ToolUse, turn: Turn) -> tuple[str, str]:
    if OUTSIDE_HOME in last.output or last.output.startswith("Refused"):
        return OUTSIDE, "must"
    alike = any("; there is" in line for line in turn.cues.lines)
    if last.tool == "read_file" and turn.cues.asks and turn.cues.missing and not alike:
        return NO_FILE, "must"
    if last.tool == "edit_file" and NEAREST.search(last.output):
        return CORRECT_LINE, "no"
    return FAILED, "no"


# -------- what the next step may be


def step_schema(turn: Turn, toolbox: Toolbox) -> Schema:
    """The schema of the next step: what fits the request, and nothing else.

    A request that only asks gets no tool that changes anything; what its words point at
    (`openclaw.agent.cues`) comes first.
    """
    if turn.closing != "no":
        return {"anyOf": [_answer("answer"), *([_object(kind="more")] * (turn.closing == "may"))]}
    steps = _first_steps(turn, toolbox) if len(turn.entries) < 2 else _next_steps(turn, toolbox)
    return {"anyOf": steps or [_answer(turn.kind or "answer")]}


def _first_steps(turn: Turn, toolbox: Toolbox) -> list[Schema]:
    cues = turn.cues
    looks = _calls("look", READING, toolbox)
    changes = [] if cues.asks else _calls("change", ALL, toolbox)
    if turn.skill:  # the user asked for it by name
        return skill_forms(turn.skill, toolbox) or [_answer("answer")]
    if cues.skill:
        return _only(looks, "read_skill", name=[cues.skill])
    if cues.fact:
        where = ["today" if cues.today else "lasting"]
        return _only(changes, "remember", fact=[cues.fact], where=where)
    if cues.done and not cues.parts:
        return _only(changes, "todo", action=["done"])
    if cues.todos:
        changing = [s for s in _only(changes, "todo") if _action(s) not in ("list", "add")]
        changing += _only(changes, "todo", action=["add"], list=cues.lists or cues.known_lists)
        if cues.orders:
            return changing
        there = [name for name in cues.lists if name in cues.known_lists]
        shown = _only(looks, "todo", action=["list"], list=there) or _only(looks, "todo")
        return shown + changing
    if cues.named and cues.missing and changes:
        # Something of a file goes into a new one: it is read first, else its content is made up.
        return _only(changes, "read_file", path=cues.named)
    if cues.named:
        known = [_answer("answer")] if turn.found else []
        return known + _only(looks, "read_file", path=cues.named) + changes
    if cues.expression:
        return _only(looks, "calculate", expression=[cues.expression])
    return [_answer("answer"), *looks, *changes]


def _next_steps(turn: Turn, toolbox: Toolbox) -> list[Schema]:
    if turn.skill:
        begun = any(use.tool != "read_skill" for use in turn.entries[-1].tool_calls)
        forms = skill_forms(turn.skill, toolbox)
        if begun:
            return [_answer("answer"), *forms]
        first = first_tools(turn.skill, {_tool(form) for form in forms})
        return [form for form in forms if _tool(form) in first]
    kind = "look" if turn.kind == "look" or turn.cues.asks else "change"
    calls = _calls(kind, READING if kind == "look" else ALL, toolbox)
    waiting = unread(turn, ())
    last = turn.entries[-1].tool_calls[-1:]
    if kind == "look":
        return _only(calls, "read_file", path=waiting) if waiting else [_answer(kind), *calls]
    if last and last[0].tool == "read_file" and last[0].ok:
        writes = _calls(kind, frozenset({"write"}), toolbox)
        return [*_only(calls, "read_file", path=waiting), *writes]
    if last and last[0].tool == "edit_file" and (lines := NEAREST.findall(last[0].output)):
        # The text to find was not in the file: it can only be one of the lines shown.
        return [_answer(kind), *_only(calls, "edit_file", find=lines)]
    return [_answer(kind), *calls]


def unread(turn: Turn, uses: Sequence[ToolUse]) -> list[str]:
    """The files that the request names and that were not read in this turn."""
    done = [*(use for entry in turn.entries for use in entry.tool_calls), *uses]
    outputs = [use.output for use in done if use.ok and use.tool == "read_file"]
    return [p for p in turn.cues.named if not any(text.startswith(p) for text in outputs)]


def skill_forms(skill: str, toolbox: Toolbox) -> list[Schema]:
    """The calls that a skill's instructions speak of; none when they only shape the answer."""
    named = {name for name in toolbox.arguments if re.search(rf"\b{name}\b", skill)}
    if WRITES_FILES.search(skill) and not named & WRITING:
        named |= WRITING | {"read_file"}
    forms = [s for s in _calls("change", ALL, toolbox) if _tool(s) in named - {"read_skill"}]
    spoken = [s for s in forms if (action := _action(s)) and re.search(rf"`{action}`", skill)]
    fitting = [s for s in forms if not _action(s)] + (spoken or [s for s in forms if _action(s)])
    return [_in_line_form(step, skill) for step in fitting]


def _goes_on(skill: str, uses: Sequence[ToolUse], toolbox: Toolbox) -> bool:
    """True when the skill has steps left for a tool after these calls that only looked."""
    tools = {_tool(form) for form in skill_forms(skill, toolbox)}
    return writes(skill, toolbox) or bool(later_tools(skill, tools, {use.tool for use in uses}))


def _in_line_form(step: Schema, skill: str) -> Schema:
    """A step that appends text, held to the one line with blanks that a skill prescribes: a small
    model reads "LOG <what> / <who>" and leaves the slash out."""
    form = line_form(skill)
    if not form or _tool(step) != "append_file":
        return step
    properties = step["properties"]
    return _closed({**properties, "text": {**properties["text"], "pattern": form}})


def writes(skill: str, toolbox: Toolbox) -> bool:
    """True when the skill's instructions speak of a call that changes something."""
    changing = _calls("change", frozenset({"write"}), toolbox)
    return any(form in changing for form in skill_forms(skill, toolbox))


# -------- schemas


def _object(**constants: str) -> Schema:
    properties: Schema = {name: {"const": value} for name, value in constants.items()}
    return _closed(properties)


def _closed(properties: Schema) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _answer(kind: str) -> Schema:
    return _closed({"kind": {"const": kind}, "answer": {"type": "string", "minLength": 1}})


def _calls(kind: str, effects: frozenset[Effect], toolbox: Toolbox) -> list[Schema]:
    return [
        _closed({"kind": {"const": kind}, **shape["properties"]})
        for shape in toolbox.shapes(effects)
    ]


def _only(steps: list[Schema], tool: str, **values: Sequence[str]) -> list[Schema]:
    """The steps with this tool, arguments narrowed to these values; none when there is no value."""
    found = []
    for step in steps:
        properties = step["properties"]
        fits = all(_allows(properties.get(name), given) for name, given in values.items())
        if _tool(step) == tool and fits:
            narrow = {name: {"enum": list(given)} for name, given in values.items()}
            found.append(_closed({**properties, **narrow}))
    return found


def _tool(step: Schema) -> str:
    return str(step["properties"].get("tool", {}).get("const", ""))


def _allows(schema: Schema | None, values: Sequence[str]) -> bool:
    return schema is not None and bool(values) and schema.get("const") in (None, *values)


def _action(step: Schema) -> str:
    return str(step["properties"].get("action", {}).get("const", ""))


def _as_step(entry: Entry) -> str:
    """The step of an entry that came from another protocol, so that old talks stay readable."""
    if not entry.tool_calls:
        return entry.content
    steps = [{"tool": use.tool, **use.input} for use in entry.tool_calls]
    return "\n".join(json.dumps(step, ensure_ascii=False) for step in steps)
