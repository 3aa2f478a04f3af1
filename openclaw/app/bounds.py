"""What bounds the replies of a model: the settings, and what a test of it has found."""

from __future__ import annotations

from openclaw.config import Settings
from openclaw.models.base import ModelCard

ROOM_TO_THINK = 4096
"""Tokens of a reply for a model that cannot be kept from thinking."""


def bounds(settings: Settings, card: ModelCard) -> tuple[int, bool | None]:
    """(longest reply in tokens, whether the model is to think; None: as it likes).

    A model that used up a whole reply by thinking when it was tested is kept from it; one that
    cannot be kept from it gets longer replies, at most half of its window. A setting that is not
    the default stays as it is.
    """
    profile, most, think = card.profile, settings.max_tokens, settings.think
    if profile is None or not profile.only_thinks or think is not None:
        return most, think
    if profile.think_off:
        return most, False
    if most == Settings().max_tokens:
        most = max(most, min(ROOM_TO_THINK, card.window // 2))
    return most, None
