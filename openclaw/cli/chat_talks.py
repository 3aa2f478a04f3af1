"""What /resume, /sessions, /rename, /fork, /export and /copy do in a talk."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from openclaw.cli.bar import name_of
from openclaw.cli.past_lines import minute
from openclaw.cli.visible import one_line
from openclaw.errors import OpenclawError, UsageError
from openclaw.sessions.store import UNATTENDED

if TYPE_CHECKING:
    from openclaw.cli.pick import Choice
    from openclaw.sessions.store import Session, SessionStore

Say = Callable[[str], None]
SHOWN_SESSIONS = 10
CODE = "code"
LAST_WORDS = 200
INDENT = 5
"""Columns of the number before a line."""


def begin(store: SessionStore, name: str, model: str) -> Session:
    """A new conversation, called `name` if there is one."""
    try:
        return store.new(name or None, model)
    except UsageError as error:
        raise UsageError(str(error), f"/resume {name}, or another name") from None


def choices(store: SessionStore, here: Session) -> list[Choice]:
    """The other conversations that the user has had, the last used first."""
    had = (item for item in store.list() if not item.id.startswith(UNATTENDED))
    found = (item for item in had if item.id != here.id)
    return [(item.id, _line(item.updated_at, item.id, item.title)) for item in found]


def session_lines(store: SessionStore, here: Session) -> list[str]:
    """The latest conversations, this one with a mark."""
    return [
        f"{'*' if item.id == here.id else ' '} {_line(item.updated_at, item.id, item.title)}"
        for item in store.list()[:SHOWN_SESSIONS]
    ] or ["no conversation is saved yet"]


def where_lines(session: Session) -> list[str]:
    """The session that is gone on with, and its last words."""
    said = [
        f"  {entry.role}: {one_line(' '.join(entry.content.split()), LAST_WORDS)}"
        for entry in session.messages[-2:]
    ]
    return [one_line(f"{session.id}  {session.title}"), *said]


def rename(store: SessionStore, session: Session, name: str) -> str:
    """Give this conversation another name; returns the line to say."""
    if not name:
        raise UsageError("which name?", "/rename NAME")
    if session.stamp:
        store.rename(session.id, name)
        store.refresh(session)
    else:
        session.title = name
    return f"this conversation is called {name_of(session)}"


def fork(store: SessionStore, session: Session, name: str) -> Session:
    """A new conversation that begins as this one; this one stays as it is."""
    if not session.stamp:
        is_said = "this conversation is not saved" if session.messages else "nothing was said yet"
        raise UsageError(f"there is nothing to copy: {is_said}", "/new begins another conversation")
    return store.fork(session.id, None, name or None)


def export(store: SessionStore, session: Session, name: str) -> str:
    """Write this conversation as Markdown to a new file; returns the line to say."""
    from openclaw.sessions.store import export_markdown

    if not session.messages:
        raise UsageError("there is nothing to export yet", "ask something first")
    path = Path(name or f"{session.id}.md").expanduser()
    text = export_markdown(session, store.archived(session))
    try:
        with path.open("x", encoding="utf-8", errors="replace", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        raise UsageError(f"{path} exists already", "/export with another name") from None
    except OSError as error:
        raise OpenclawError(f"{path} cannot be written: {error.strerror}") from error
    return f"wrote {path.absolute()}"


def copy(session: Session, rest: str) -> str:
    """Put the last answer, or the code in it, into the clipboard; returns the line to say."""
    from openclaw.cli import clipboard

    if rest not in ("", CODE):
        raise UsageError(f"what is '{one_line(rest)}'?", "/copy, or /copy code")
    if not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
        raise UsageError("there is no terminal with a clipboard here", "/export FILE")
    said = (entry for entry in reversed(session.messages) if entry.role == "assistant")
    text = next((entry.content for entry in said if entry.content.strip()), "")
    if not text:
        raise UsageError("there is no answer yet", "ask something first")
    if rest:
        blocks = clipboard.code_in(text)
        if not blocks:
            raise UsageError("there is no code in the last answer", "/copy copies all of it")
        text = "\n".join(blocks)
    clipboard.copy(text, sys.stdout)
    what = "the code of the last answer" if rest else "the last answer"
    return f"copied {what} ({len(text):,} characters), if the terminal allows it"


def _line(at: str, session_id: str, title: str) -> str:
    line = one_line(f"{minute(at)}  {session_id}  ")
    room = shutil.get_terminal_size().columns - len(line) - INDENT
    return line + one_line(title, min(60, max(10, room)))
