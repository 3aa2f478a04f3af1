"""Asking the model itself, without tools, memory or a conversation that is kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from openclaw.messages import Message
from openclaw.models.base import Model, Reply, Request, Text
from openclaw.sessions.session import Session

TITLE = "Write a title of at most six words for this conversation. Reply with the title only."
TITLE_TOKENS = 24
LONGEST_TITLE = 60
READ = 2000
"""Characters of each message that a title is made from."""


def stream_plain(
    model: Model, messages: Sequence[Message], max_tokens: int
) -> Iterator[Text | Reply]:
    """Yield the pieces of a reply, and the whole reply at the end. Raises as the model does."""
    for chunk in model.stream(Request(tuple(messages), max_tokens=max_tokens, think=False)):
        if isinstance(chunk, Text | Reply):
            yield chunk


def make_title(model: Model, session: Session) -> str:
    """Return a title by the model for a conversation, "" when it says nothing of use."""
    said = [f"{entry.role}: {entry.content[:READ]}" for entry in session.messages[:2]]
    asked = [Message("system", TITLE), Message("user", "\n".join(said))]
    *_, last = stream_plain(model, asked, TITLE_TOKENS)
    words = last.text.strip().splitlines() or [""]
    return " ".join(words[0].strip(" \"'*#.").split())[:LONGEST_TITLE]
