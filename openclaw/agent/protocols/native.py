"""Native tool calls, as the model's own chat template writes them.

Many local models print a call as text instead; it is run as well (`openclaw.agent.protocols.base`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from openclaw.agent.protocols.base import ModelStep, RunningTurn, StepProtocol
from openclaw.agent.protocols.replies import THINK, read_step
from openclaw.messages import Entry, Message, with_context
from openclaw.models.base import Reply
from openclaw.tools.toolbox import Toolbox

RULES = """\
# Tools

Call a tool for anything that stands in files, lists or on the web, and for every change; answer
small talk and what stands above without one. When a result holds the answer, answer at once. A
plain question needs no tool that changes something."""


CALL_BEGINS = re.compile(
    r'\s*(?:^\s*[\[{`<]|\{\s*(?:"|$)|```(?:json|tool|\s*$)|<(?:tool_call|function|$))'
)


class Native(StepProtocol):
    """See `openclaw.agent.protocols.base.StepProtocol`."""

    name = "native"

    def rules(self, toolbox: Toolbox) -> str:
        return RULES

    def to_messages(self, entry: Entry) -> list[Message]:
        if entry.role == "user":
            return [with_context(entry)]
        calls = tuple(use.call for use in entry.tool_calls)
        messages = [Message("assistant", entry.content, calls)]
        messages += [
            Message("tool", use.output, tool_name=use.tool, tool_call_id=use.id)
            for use in entry.tool_calls
        ]
        return [*messages, Message("user", entry.hint)] if entry.hint else messages

    def tools(self, toolbox: Toolbox) -> tuple[Mapping[str, Any], ...]:
        return toolbox.specs()

    def read(self, reply: Reply, turn: RunningTurn, toolbox: Toolbox) -> ModelStep:
        if reply.tool_calls:
            # Templates leave out the thoughts of earlier turns, so they are not part of the answer.
            return ModelStep(answer=THINK.sub("", reply.text).strip(), calls=reply.tool_calls)
        return read_step(reply.text, toolbox.arguments)

    def answer_so_far(self, text: str) -> str:
        # Text from where a call may begin is held back until it is clear that it is none.
        begin = CALL_BEGINS.search(text)
        return text[: begin.start()] if begin else text
