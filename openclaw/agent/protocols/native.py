"""Native tool calls, as the model's own chat template writes them, and which models get them.

Many local models print a call as text instead; it is run as well (`openclaw.agent.protocols.base`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from openclaw.agent.protocols.base import ModelStep, RunningTurn, StepProtocol
from openclaw.agent.protocols.json_steps import JsonSteps
from openclaw.agent.protocols.replies import THINK, read_step
from openclaw.messages import Entry, Message, with_context
from openclaw.models.base import ModelCard, Reply
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


CALLS_AS_TEXT = ("qwen2.5-coder", "qwen2.5coder")
"""Families that print their native calls as text, whatever their size."""
SMALL = 3.0
"""Billions of parameters below which native tool calls fail too often (docs/small-models.md)."""
LEAST_CALLS = 3  # a test counts only when it asked for so many calls
NARROW = 4096
"""In a window of fewer tokens the schemas of native tools leave too little for the conversation."""


def choose_protocol(setting: str, card: ModelCard) -> StepProtocol:
    """Choose native tool calls for models that are known to be good at them, else JSON steps.

    `setting` is auto, native or json. The result of a test (`models.profile`) counts more than the
    model's name and its own claims, but not more than its size: a few calls of a test do not show
    what goes wrong in long conversations.
    """
    if setting == "auto":
        name = card.name.lower()
        if card.window < NARROW:
            return JsonSteps()
        small = 0 < card.parameters < SMALL
        good = card.tools and not any(text in name for text in CALLS_AS_TEXT)
        setting = "native" if not small and _calls_natively(card, known=good) else "json"
    return Native() if setting == "native" else JsonSteps()


def _calls_natively(card: ModelCard, *, known: bool) -> bool:
    """Return True when native calls are reliable; `known` is the answer without a test. A model
    that misses some calls still gets them when its server does not enforce a schema."""
    profile = card.profile
    if profile is None or profile.native.of < LEAST_CALLS:
        return known
    held = profile.json_forced.is_full or not profile.json_forced.of
    return profile.native.is_full or (profile.native.right > 0 and not held)
