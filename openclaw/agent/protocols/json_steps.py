"""JSON steps: for models without reliable native tool calls.

One object a step, under a JSON schema: a kind, then either a tool with its own arguments or an
answer. docs/small-models.md has the measurements and reasons.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from openclaw.agent.protocols.base import ModelStep, RunningTurn, StepProtocol
from openclaw.agent.protocols.replies import partial_answer, read_step
from openclaw.agent.protocols.step_schema import (
    NEAREST,
    PROGRAMS,
    skill_calls,
    skill_goes_on,
    step_schema,
    unread_names,
)
from openclaw.memory.tables import ADDED_UP
from openclaw.messages import Entry, Message, ToolUse, with_context
from openclaw.models.base import Reply
from openclaw.nlp.skill_instructions import answer_form
from openclaw.nlp.words import content_words
from openclaw.receipt import TODO_FILE
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
LOOKED_TO_DO = """\
With this result, answer the user. The user asked:
{request}
(If it does not hold the answer, or something is still to be done: {{"kind":"more"}})"""
LOOKED_AT_ALL = "With this result, answer the user. The user asked:\n{request}"
CHANGED = "{done}\nTell the user so in one plain sentence."
CHANGED_PART = """\
Done. Tell the user in one plain sentence what was done. The user asked:
{request}
(If a part is still to do: {{"kind":"more"}})"""
NEXT_PART = "{done}\nThe user also wants: {part}"
NEXT_ROW = """\
{done}
Now the same with the next row that the user named:
{request}"""
ALL_DONE = """\
{all}
That is all that was to be done. Tell the user so in plain sentences. The user asked:
{request}"""
RAN = """\
It was run. With this result, answer the user. The user asked:
{request}
(If a part is still to do: {{"kind":"more"}})"""
CHANGED_TELL = "Done. With this result, answer the user. The user asked:\n{request}"
OUTSIDE = """\
{done}
Tell the user in one sentence that it was not done, with that reason and no other. The user asked:
{request}"""
NO_FILE = "Tell the user that there is no such file. The user asked:\n{request}"
CORRECT_LINE = """\
Take one of these lines as "find", and write the same line, corrected, as "replace".
The user asked: {request}"""
NEXT = "Now the next step for: {request}"
FOLLOW = """\
Now do what the skill says with a tool, in exactly the form that it gives. The user's request:
{request}"""
IN_FORM = """\
Now give the answer in exactly the form that the skill asks for{form}The user's request:
{request}"""
FAILED = """\
That did not work. Take another step, or answer what is wrong. The user asked:
{request}"""
GO_ON = "Then the next step for: {request}"
ENOUGH = "Nothing new can be found. Tell the user what is known. The user asked:\n{request}"

OUTSIDE_HOME = "outside the home"
MORE = re.compile(r'\{\s*"kind"\s*:\s*"more"\s*\}')


class JsonSteps(StepProtocol):
    """See `openclaw.agent.protocols.base.StepProtocol`."""

    name = "json"
    ends_at_no = True

    def rules(self, toolbox: Toolbox) -> str:
        return RULES.format(tools=toolbox.lines())

    def to_messages(self, entry: Entry) -> list[Message]:
        if entry.role == "user":
            return [with_context(entry)]
        messages = [Message("assistant", entry.raw or _to_json_steps(entry))]
        results = [f"Result of {use.tool}:\n{use.output}" for use in entry.tool_calls]
        after = "\n\n".join((*results, entry.hint) if entry.hint else results)
        return [*messages, Message("user", after)] if after else messages

    def schema(self, turn: RunningTurn, toolbox: Toolbox) -> Mapping[str, Any]:
        return step_schema(turn, toolbox)

    def read(self, reply: Reply, turn: RunningTurn, toolbox: Toolbox) -> ModelStep:
        if turn.closing == "may" and MORE.fullmatch(reply.text.strip()):
            return ModelStep()
        if reply.tool_calls and not reply.text.strip():
            return ModelStep(calls=reply.tool_calls)  # some models call natively nevertheless
        step = read_step(reply.text, toolbox.arguments)
        if not step.calls and step.answer.lstrip().startswith("{"):
            step = ModelStep(
                partial_answer(reply.text)
            )  # cut off or malformed: never shown as JSON
        if not turn.kind and step.kind:
            turn.kind = step.kind
        return step

    def answer_so_far(self, text: str) -> str:
        return partial_answer(text)

    def hint(self, turn: RunningTurn, uses: Sequence[ToolUse], toolbox: Toolbox) -> str:
        part = turn.orders_left[0][0] if turn.orders_left else ""
        text, turn.closing = self._hint(turn, uses, toolbox)
        rules = "".join(f"\nRule: {rule}" for rule in turn.rules) if turn.closing != "no" else ""
        done = first_line(uses[-1].output) if uses else ""
        form = f":\n{told}\n" if (told := answer_form(turn.skill)) else ". "
        every = "\n".join(first_line(use.output) for use in (*turn.uses, *uses) if use.ok)
        return text.format(request=turn.request, done=done, form=form, part=part, all=every) + rules

    def _hint(
        self, turn: RunningTurn, uses: Sequence[ToolUse], toolbox: Toolbox
    ) -> tuple[str, str]:
        """Return the text after these calls, and the turn's next value of `closing`."""
        if turn.closing == "must":
            if turn.repeats == 1 and skill_goes_on(turn.skill, uses, toolbox):
                return FOLLOW, "no"
            return ENOUGH, "must"
        if not uses:
            turn.looked += 1
            return (GO_ON, "no") if turn.looked < 3 else (ENOUGH, "must")
        last = uses[-1]
        if not all(use.ok for use in uses):
            return _after_failure(last, turn)
        if last.tool == "read_skill":
            turn.skill = last.output
            return (FOLLOW, "no") if skill_calls(turn.skill, toolbox) else (IN_FORM, "must")
        effect = toolbox.effect(last.call)
        if turn.skill and effect != "write":
            if ADDED_UP in last.output and not skill_goes_on(
                turn.skill, uses, toolbox, "calculate"
            ):
                return LOOKED, "may"  # told to calculate, a small model makes up another sum
            return (FOLLOW, "no") if skill_goes_on(turn.skill, uses, toolbox) else (IN_FORM, "must")
        if effect == "write":
            if turn.rows.all_meant and last.tool == "edit_file":
                left = [each for each in turn.rows.edits if each.row.line != last.input.get("find")]
                turn.rows = replace(turn.rows, edits=tuple(left))
                return (NEXT_ROW, "no") if left else (ALL_DONE, "must")
            if turn.orders_left:
                turn.cues, turn.order_began = turn.orders_left.pop(0)[1], len(turn.entries) + 1
                return NEXT_PART, "no"
            if turn.order_began > 1:
                return ALL_DONE, "may" if turn.cues.tells else "must"
            if turn.cues.parts:
                return CHANGED_PART, "may"
            return (CHANGED_TELL if turn.cues.tells and not turn.skill else CHANGED), "must"
        if effect == "send":
            return (CHANGED_PART, "may") if turn.cues.parts else (CHANGED_TELL, "must")
        if last.tool in PROGRAMS and turn.kind == "change":
            return RAN, "may"
        if turn.kind == "change" or unread_names(turn, uses):
            return NEXT, "no"
        if turn.cues.begs:
            return LOOKED_TO_DO, "may"
        # A very small model asks for more, to look the same up again.
        return (LOOKED_AT_ALL, "must") if _is_found(turn, last) else (LOOKED, "may")


def _is_found(turn: RunningTurn, last: ToolUse) -> bool:
    """Return True when the files that a request names have been read, or when a line of the last
    result has two thirds of its words."""
    if turn.cues.named:
        return True
    words = {*content_words(turn.request)}
    shared = (len(words.intersection(content_words(line))) for line in last.output.splitlines())
    return len(words) > 1 and max(shared, default=0) * 3 >= len(words) * 2


def first_line(output: str) -> str:
    """Return the first line of a result as a sentence: a small model repeats it as its answer."""
    line = output.partition("\n")[0]
    return f"{line[:-1]}." if line.endswith(":") else line


def _after_failure(last: ToolUse, turn: RunningTurn) -> tuple[str, str]:
    if OUTSIDE_HOME in last.output or last.output.startswith("Refused"):
        return OUTSIDE, "must"
    cues = turn.cues
    if last.tool == "read_file" and cues.asks and cues.missing and not cues.similar:
        return NO_FILE, "must"
    in_file = last.tool == "edit_file" and last.input.get("path") != TODO_FILE
    return CORRECT_LINE if in_file and NEAREST.search(last.output) else FAILED, "no"


def _to_json_steps(entry: Entry) -> str:
    """Return an entry of another protocol as JSON steps: old conversations stay readable."""
    if not entry.tool_calls:
        return entry.content
    steps = [{"tool": use.tool, **use.input} for use in entry.tool_calls]
    return "\n".join(json.dumps(step, ensure_ascii=False) for step in steps)
