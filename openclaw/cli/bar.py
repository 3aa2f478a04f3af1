"""The lines that say what a talk is: the first one on the screen, and the bar at the bottom."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from openclaw import __version__
from openclaw.cli.turn import is_made_id
from openclaw.cli.visible import columns, one_line
from openclaw.sessions.session import title_of

if TYPE_CHECKING:
    from openclaw.sessions.session import Session

SHORTEST = 8
"""Characters that are left of the longest part of a line that is too narrow for all."""
HELP = "/help lists commands, Ctrl-D leaves"


def first_line(model: str, home: Path, width: int) -> str:
    """What a talk begins with on a terminal."""
    return fit((f"openclaw {__version__}", model, _short(home), HELP), width, (2, 1))


def bar(session: Session, model: str, mode: str, used: str, width: int) -> str:
    """The line at the bottom. The title is the first to be shortened, then the model."""
    return fit((name_of(session), model, f"mode {mode}", used), width, (0, 1))


def name_of(session: Session) -> str:
    """What a conversation is called: as the user has named it, else by its first words."""
    if is_made_id(session.id):
        return one_line(session.title or "new conversation")
    was_renamed = not session.archived and session.title != title_of(session.messages)
    return one_line(session.title if session.title and was_renamed else session.id)


def window_used(session: Session, window: int) -> str:
    """How much of the window the last request and its reply took, "" when that is not known."""
    said = next((entry for entry in reversed(session.messages) if entry.role == "user"), None)
    used = session.messages[-1].usage if said else None
    window = window or _number(said and said.record.get("window"))
    if not (used and window):
        return ""
    # A turn that was stopped has the usage of all its calls on its last message.
    tokens = (used.prompt_tokens + used.generated_tokens) / max(1, used.calls)
    return f"{min(100, round(100 * tokens / window))} % of {window:,}"


def fit(parts: Sequence[str], width: int, shrinking: Sequence[int]) -> str:
    """The parts on one line of so many columns; those at `shrinking` get shorter, in that order."""
    left = list(parts)
    for at in shrinking:
        over = columns(_joined(left)) - width
        if over > 0:
            left[at] = one_line(left[at], max(SHORTEST, len(left[at]) - over))
    return one_line(_joined(left), width)


def _joined(parts: Sequence[str]) -> str:
    return "  ".join(filter(None, parts))


def _short(path: Path) -> str:
    """A path below the user's own folder as the shell has it."""
    try:
        return f"~/{path.relative_to(Path.home()).as_posix()}".removesuffix("/.")
    except (ValueError, RuntimeError):
        return str(path)


def _number(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
