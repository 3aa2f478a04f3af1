"""Exports a session as a Markdown document for people."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from openclaw.messages import Entry, ToolUse
from openclaw.sessions.session import ArchivePart, Session

SPEAKERS = {"user": "User", "assistant": "Assistant"}
ArchivedParts = Iterable[tuple[ArchivePart, Session | None]]


def export_markdown(session: Session, archived: ArchivedParts = ()) -> str:
    """Return the whole conversation: its messages, each call with its input and output. The parts
    of its archive, None for one that cannot be read, come first."""
    head = [f"# {session.title or session.id}", "", f"- Session: {session.id}"]
    head += [f"- Model: {session.model}"] if session.model else []
    head += [f"- From {session.created_at} to {session.updated_at}"]
    parts = ["\n".join(head)]
    for part, document in archived:
        lost = f"(Messages {part.first} to {part.last} are in the archive and cannot be read.)"
        parts += [_format_entry(entry) for entry in document.messages] if document else [lost]
    parts += _format_summary(session)
    parts += [_format_entry(entry) for entry in session.messages]
    return "\n\n".join(parts) + "\n"


def fenced(text: str) -> str:
    """Put a text into a code fence that is longer than any fence in it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text.rstrip()}\n{fence}"


def _format_summary(session: Session) -> list[str]:
    """Say where the archive ends, and show the summary that the model gets in its place."""
    parts, count = [], session.archived
    if count:
        parts = [
            "---",
            f"(Messages 1 to {count} are in the archive. The conversation goes on with message "
            f"{count + 1}.)",
        ]
    if session.compressed_context:
        parts += ["## Earlier, in short", session.compressed_context.strip()]
    return parts


def _format_entry(entry: Entry) -> str:
    when = f" ({entry.at})" if entry.at else ""
    parts = [f"## {SPEAKERS[entry.role]}{when}"]
    parts += [_format_call(call) for call in entry.tool_calls]
    if entry.content.strip():
        parts.append(entry.content.strip())
    return "\n\n".join(parts)


def _format_call(call: ToolUse) -> str:
    words = json.dumps(dict(call.input), ensure_ascii=False)
    fault = "" if call.ok else " (failed)"
    return f"**{call.tool}**{fault}\n\n{fenced(words)}\n\n{fenced(call.output)}"
