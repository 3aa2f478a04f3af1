"""The lines at the beginning of a chat: what is due, what waits for the user, and one offer."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import date

from openclaw.agent.todo_offers import LONGEST_PROMPT, TodoOffer, offer_at_start
from openclaw.frozen import frozen
from openclaw.home.open_home import OpenHome
from openclaw.memory.entries import entries_of
from openclaw.memory.todos import Todo, plain_text
from openclaw.security.display import count_of
from openclaw.storage.home import PROPOSED, Home
from openclaw.storage.safe_open import read_text

WIDTH = 79
LONGEST_TODO = 34
SHORT_PROMPT = 48  # characters of a prompt that fit one line; longer ones take a second


@frozen
class Greeting:
    """Lines to show, and the offer in the last of them, None without one."""

    lines: tuple[str, ...] = ()
    offer: TodoOffer | None = None


def greeting(open_home: OpenHome, *, offering: bool = True) -> Greeting:
    """Make the greeting of a conversation. An offer is noted and never made again, so it is only
    made with `offering`: when somebody is there to read it."""
    if open_home.settings.proactive == "off" or not open_home.use_memory:
        return Greeting()
    todos: list[Todo] = []
    with suppress(OSError):
        todos += (todo for todo in open_home.todos.items() if not todo.done)
    found = (_due_line(todos, open_home.now().date()), _inbox_line(open_home.home))
    lines = tuple(filter(None, found))
    if not offering:
        return Greeting(lines)
    offer = offer_at_start(open_home, todos, SHORT_PROMPT if len(lines) > 1 else LONGEST_PROMPT)
    return Greeting((*lines, offer.line), offer) if offer else Greeting(lines)


def _due_line(todos: Sequence[Todo], today: date) -> str:
    """Return a line with the open to-dos of today and before, the oldest first, as many as fit."""
    late = [todo for todo in todos if todo.due and todo.due <= today.isoformat()]
    if not late:
        return ""
    late.sort(key=lambda todo: str(todo.due))
    line = f"Due: {_format_todo(late[0], today)}"
    shown = 1
    for todo in late[1:]:
        longer = f"{line}, {_format_todo(todo, today)}"
        if len(longer) > WIDTH - len(f" and {len(late)} more."):
            break
        line, shown = longer, shown + 1
    more = len(late) - shown
    return f"{line} and {more} more." if more else f"{line}."


def _format_todo(todo: Todo, today: date) -> str:
    text = plain_text(todo.text) or todo.text
    short = text if len(text) <= LONGEST_TODO else f"{text[: LONGEST_TODO - 3].rstrip()}..."
    days = (today - date.fromisoformat(str(todo.due))).days
    late = f"{count_of(days, 'day')} late" if days else "today"
    return f"{short} ({late})"


def _inbox_line(home: Home) -> str:
    """Return a line that counts what waits for the user's yes."""
    memories, skills = _count_candidates(home), _count_proposals(home)
    parts = []
    if memories:
        noun = "memory" if memories == 1 else "memories"
        parts.append(f"{memories} {noun} (openclaw memory review)")
    if skills:
        parts.append(f"{count_of(skills, 'skill')} (openclaw skills review)")
    return f"Inbox: {', '.join(parts)}" if parts else ""


def _count_candidates(home: Home) -> int:
    count = 0
    for path in (home.memory / "inbox").glob("*.md"):
        with suppress(OSError):
            count += sum(not entry.superseded for entry in entries_of(read_text(path)))
    return count


def _count_proposals(home: Home) -> int:
    with suppress(OSError):
        return sum(
            each.is_dir() and not each.is_symlink() for each in (home.root / PROPOSED).iterdir()
        )
    return 0
