"""The choice between native tool calls and JSON steps."""

from __future__ import annotations

from openclaw.agent.protocols.base import StepProtocol
from openclaw.agent.protocols.json_steps import JsonSteps
from openclaw.agent.protocols.native import Native
from openclaw.models.base import ModelCard

CALLS_AS_TEXT = ("qwen2.5-coder", "qwen2.5coder")
"""Families that print their native calls as text, whatever their size."""
SMALL = 3.0
"""Billions of parameters below which native tool calls fail too often (docs/small-models.md)."""
LEAST_CALLS = 3
"""A test counts only when it asked for so many calls."""
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
