"""Masks secrets in prompts, material and the messages of a session."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from openclaw.messages import Entry, Material, ToolUse
from openclaw.security.vault import Vault, disarm_masks, map_texts, masked_names
from openclaw.sessions.session import Session


def mask_materials(vault: Vault, given: Sequence[Material]) -> tuple[Material, ...]:
    """Mask the secrets in material. In a foreign text nothing may look like a mask."""
    return tuple(
        replace(each, text=vault.mask(each.text if each.path else disarm_masks(each.text)))
        for each in given
    )


def mask_entry(vault: Vault, said: Entry) -> Entry:
    """Mask the secrets of a message; returns the same object when there are none."""
    thought, record = vault.mask(said.thought), map_texts(said.record_json, vault.mask)
    masked = replace(_sent(vault, said), thought=thought, record_json=record)
    return said if masked == said else masked


def _sent(vault: Vault, said: Entry) -> Entry:
    """A message with all that a model may be sent of it masked."""
    return replace(
        said,
        content=vault.mask(said.content),
        context=vault.mask(said.context),
        raw=vault.mask(said.raw),
        hint=vault.mask(said.hint),
        tool_calls=tuple(_mask_call(vault, use) for use in said.tool_calls),
    )


def _mask_call(vault: Vault, use: ToolUse) -> ToolUse:
    made = map_texts(use.input, vault.mask)
    return replace(use, input=made, output=vault.mask(use.output))


def mask_session(vault: Vault, talk: Session) -> None:
    """Mask the secrets in all parts of a conversation that may still be sent."""
    talk.messages[:] = [_sent(vault, said) for said in talk.messages]
    talk.compressed_context = vault.mask(talk.compressed_context)
    talk.title = vault.mask(talk.title)


def format_masked_notice(before: Iterable[str], after: Iterable[str]) -> str:
    """Return the notice for the user about newly masked secrets, "" when there are none."""
    known = set(masked_names("\n".join(before)))
    names = [name for name in masked_names("\n".join(after)) if name not in known]
    return f"kept apart: {', '.join(names)} (the model sees only the name)" if names else ""
