"""A session as a Markdown document for people."""

from __future__ import annotations

import json
import re

from openclaw.sessions.session import Session
from openclaw.shapes import Entry, ToolUse

SPEAKERS = {"user": "User", "assistant": "Assistant"}


def export_markdown(session: Session) -> str:
    """The whole conversation: what was said, each call with its input and output."""
    head = [f"# {session.title or session.id}", "", f"- Session: {session.id}"]
    head += [f"- Model: {session.model}"] if session.model else []
    head += [f"- From {session.created_at} to {session.updated_at}"]
    if session.compressed_context:
        head += ["", "## Earlier, in short", "", session.compressed_context.strip()]
    parts = ["\n".join(head), *(_entry(entry) for entry in session.messages)]
    return "\n\n".join(parts) + "\n"


def fenced(text: str) -> str:
    """Text in a code fence longer than any that stands in it."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text.rstrip()}\n{fence}"


def _entry(entry: Entry) -> str:
    when = f" ({entry.at})" if entry.at else ""
    parts = [f"## {SPEAKERS[entry.role]}{when}"]
    parts += [_call(call) for call in entry.tool_calls]
    if entry.content.strip():
        parts.append(entry.content.strip())
    return "\n\n".join(parts)


def _call(call: ToolUse) -> str:
    words = json.dumps(dict(call.input), ensure_ascii=False)
    fault = "" if call.ok else " (failed)"
    return f"**{call.tool}**{fault}\n\n{fenced(words)}\n\n{fenced(call.output)}"
