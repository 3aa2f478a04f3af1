"""What is wrong with a reply as a whole: it goes round in circles, or its prompt was cut."""

from __future__ import annotations

from openclaw.agent import budget
from openclaw.errors import PromptTooLarge
from openclaw.models.base import Request


def is_stuck(text: str) -> bool:
    """True when a text ends in the same 20 to 200 characters, words among them, four times over:
    a small model that has fallen into a loop goes on so to the last token."""
    tail = text[-800:]
    return any(
        tail.endswith(piece * 4)
        for size in range(20, len(tail) // 4 + 1)
        if len(set(piece := tail[-size:])) > 5
    )


def check_count(request: Request, counted: int, window: int) -> None:
    """Raise when the server read far fewer tokens than were sent: it cut the prompt in silence."""
    text = budget.flat(request.messages, request.tools)
    if not counted or counted * 8 > len(text.encode(errors="replace")):
        return  # the exact count is only worth its time when something looks wrong
    ours = budget.cost(request.messages, request.tools)
    if counted < 0.6 * ours:
        raise PromptTooLarge(
            f"the server read only {counted} of about {ours} tokens: it cut the prompt",
            f"raise the server's context size, or lower `window` (now {window}) in openclaw.yaml",
        )
