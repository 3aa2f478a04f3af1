"""Which of the two protocols a model is asked by."""

from __future__ import annotations

from openclaw.agent.budget import compact
from openclaw.agent.json_steps import JsonSteps
from openclaw.agent.native import Native
from openclaw.agent.protocol import StepProtocol
from openclaw.models.base import ModelCard
from openclaw.tools.toolbox import Toolbox

CALLS_AS_TEXT = ("qwen2.5-coder", "qwen2.5coder")
"""Families that print their native calls as text, whatever their size."""

SMALL = 3.0
"""Billions of parameters below which native tool calls fail too often (docs/small-models.md)."""

NARROW = 4096
"""Tokens of a window below which the schemas of native tools leave too little for the talk."""


def choose_protocol(setting: str, card: ModelCard) -> StepProtocol:
    """Native tool calls for models that are known to be good at them, else JSON steps.

    `setting` is auto, native or json.
    """
    if setting == "auto":
        name = card.name.lower()
        if card.window < NARROW:
            return JsonSteps()
        weak = 0 < card.parameters < SMALL or any(text in name for text in CALLS_AS_TEXT)
        setting = "native" if card.tools and not weak else "json"
    return Native() if setting == "native" else JsonSteps()


def schemas(protocol: StepProtocol, toolbox: Toolbox) -> str:
    """The tool schemas that go beside the messages, as JSON; empty when there are none."""
    if protocol.name != "native":
        return ""
    return compact([dict(spec) for spec in toolbox.specs()])
