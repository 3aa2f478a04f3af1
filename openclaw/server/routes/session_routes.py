"""Conversations: their list, their messages, and what is sent of them to the model."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from starlette.responses import PlainTextResponse

from openclaw.events import Compaction, Notice, to_wire
from openclaw.inspection.context import context_report
from openclaw.inspection.usage import turns_of, usage_json
from openclaw.inspection.why import find_why
from openclaw.messages import Message
from openclaw.models.base import Model, Reply, Request
from openclaw.server.api import (
    NUMBER,
    OBJECT,
    TEXT,
    TRUTH,
    ApiCall,
    Routes,
    a_list,
    an_object,
    looking_up,
)
from openclaw.server.markup import to_html
from openclaw.server.wire import HttpError
from openclaw.sessions.export import export_markdown
from openclaw.sessions.session import Session, entry_to_json, summarize, title_of
from openclaw.sessions.store import SessionStore

ROUTES = Routes()
ONE = "/api/sessions/{session}"
TITLE = "Write a title of at most six words for this conversation. Reply with the title only."
TITLE_TOKENS = 24
LONGEST_TITLE = 60
READ = 2000  # characters of each message that a title is made from
SHOWN = {"last": "only so many messages", "html": "each with its HTML"}
SUMMARY = an_object("id title created_at updated_at model", messages=NUMBER)
CONVERSATION = an_object(
    "id title created_at updated_at model",
    compressed_context=TEXT,
    messages=a_list(OBJECT),
    left_out=NUMBER,
    run={"type": ["object", "null"]},
    queued=a_list(OBJECT),
)
NAMED = an_object("id title")


@ROUTES.add("GET", "/api/sessions", "read", answer=a_list(SUMMARY))
def list_sessions(call: ApiCall) -> Any:
    """All conversations, the last used first."""
    return [asdict(summary) for summary in call.server.sessions.list()]


@ROUTES.add("POST", "/api/sessions", "chat", answer=SUMMARY, status=201)
def create(call: ApiCall, title: str = "") -> Any:
    """Begin a conversation, which is empty until its first prompt."""
    store, title = call.server.sessions, " ".join(title.split())
    with call.server.changing(f"sessions new {title}".strip(), store=store):
        session = store.new(None, "")
        session.title = title
        store.save(session)
    return asdict(summarize(session))


@ROUTES.add("GET", ONE, "read", query=SHOWN, answer=CONVERSATION)
@ROUTES.add("GET", f"{ONE}/history", "read", query=SHOWN, answer=CONVERSATION)
def show(call: ApiCall, session: str, last: int = sys.maxsize, html: bool = False) -> Any:
    """A conversation with its messages, archived ones too, and the run that answers it."""
    store, running = call.server.sessions, call.server.runs.running(session)
    begins = running and not store.exists(running[0].session.id)  # its first prompt is being read
    found = running[0].session if begins else store.load(_find(call, session))
    said = [*store.messages(found)]
    shown = [{"number": number, **entry_to_json(entry)} for number, entry in said[-last:]]
    for message in shown if html else ():
        message["html"] = to_html(message["content"])
    running = running or call.server.runs.running(found.id)
    return asdict(summarize(found)) | {
        "compressed_context": found.compressed_context,
        "messages": shown,
        "left_out": len(said) - len(shown),
        "run": running[0].describe() if running else None,
        "queued": [run.describe() for run in running[1:]],
    }


@ROUTES.add("PUT", ONE, "owner", answer=NAMED)
def rename(call: ApiCall, session: str, title: str) -> Any:
    """Give a conversation another title."""
    with _changing(call, "rename", session, title) as (store, ref):
        renamed = store.rename(ref, title)
    return {"id": ref, "title": renamed.title}


@ROUTES.add("DELETE", ONE, "owner", answer=an_object("id", required={"ok": TRUTH}))
def delete(call: ApiCall, session: str) -> Any:
    """Remove a conversation; undo puts it back."""
    with _changing(call, "delete", session) as (store, ref):
        store.delete(ref)
    return {"id": ref, "ok": True}


@ROUTES.add(
    "GET",
    f"{ONE}/messages",
    "read",
    answer=an_object("id", required={"messages": a_list(OBJECT)}, raw=TEXT),
)
def messages(call: ApiCall, session: str) -> Any:
    """What the next prompt would send: all messages, and the request byte for byte."""
    with call.server.agent(model=True) as agent:
        found = agent.sessions.load(_find(call, session))
        report = context_report(agent, found, "")
    return {
        "id": found.id,
        "messages": [{"role": m.role, "content": m.content} for m in report.request.messages],
        "raw": report.raw.decode(errors="replace"),
    }


@ROUTES.add("POST", f"{ONE}/generate-title", "owner", answer=an_object("session_id title"))
def generate_title(call: ApiCall, session: str, with_model: bool = False) -> Any:
    """A title from the first words of a conversation, on request by the model; it is kept."""
    found = call.server.sessions.load(_find(call, session))
    title = title_of(found.messages)
    if not title:
        raise HttpError(409, "nothing was said in it yet")
    if with_model:
        with call.server.agent(model=True) as agent:
            title = _make_title(agent.model, found) or title
    if title != found.title:
        title = rename(call, found.id, title)["title"]
    return {"session_id": found.id, "title": title}


@ROUTES.add(
    "POST", f"{ONE}/compress", "owner", answer=an_object("id summary", notices=a_list(TEXT))
)
def compress(call: ApiCall, session: str, focus: str = "", dry_run: bool = False) -> Any:
    """Put all but the last two exchanges into the archive, a summary in their place; with `dry_run`
    only show the summary."""
    ref = _find(call, session)
    call.server.check_idle(ref)
    with call.server.agent(model=True) as agent:
        told = [*agent.compact(agent.sessions.load(ref), focus, dry_run=dry_run)]
    notices = [event.text for event in told if isinstance(event, Notice)]
    done = next(event for event in reversed(told) if isinstance(event, Compaction))
    return {"id": ref, **to_wire(done), "notices": notices}


def _make_title(model: Model, session: Session) -> str:
    """Return a title by the model for a conversation, "" when it says nothing of use."""
    said = [f"{entry.role}: {entry.content[:READ]}" for entry in session.messages[:2]]
    asked = (Message("system", TITLE), Message("user", "\n".join(said)))
    *_, last = model.stream(Request(asked, max_tokens=TITLE_TOKENS, think=False))
    words = last.text.strip().splitlines() if isinstance(last, Reply) else []
    return " ".join(words[0].strip(" \"'*#.").split())[:LONGEST_TITLE] if words else ""


@ROUTES.add(
    "POST", f"{ONE}/restore", "owner", answer=an_object("id", required={"messages": NUMBER})
)
def restore(call: ApiCall, session: str) -> Any:
    """Undo the last compaction of a conversation."""
    with _changing(call, "restore", session) as (store, ref), store.writing(ref, 1.0):
        count = store.restore(store.load(ref))
    return {"id": ref, "messages": count}


@ROUTES.add("POST", f"{ONE}/fork", "owner", answer=NAMED, status=201)
def fork(call: ApiCall, session: str, at: int | None = None) -> Any:
    """Begin a new conversation with the first messages of another, up to number `at`."""
    with _changing(call, "fork", session) as (store, ref):
        made = store.fork(ref, at)
    return {"id": made.id, "title": made.title}


@ROUTES.add("GET", f"{ONE}/why", "read", query={"turn": "its number; else the last"}, answer=OBJECT)
def why(call: ApiCall, session: str, turn: str = "") -> Any:
    """What an answer is made of; see docs/why.md."""
    with call.server.agent() as agent:
        return find_why(agent, turn, _find(call, session)).as_json()


@ROUTES.add("GET", f"{ONE}/usage", "read", answer=OBJECT)
def usage(call: ApiCall, session: str) -> Any:
    """Tokens and seconds of its turns."""
    store, ref = call.server.sessions, _find(call, session)
    return usage_json(turns_of(store, store.load(ref)), ref)


@ROUTES.add("GET", f"{ONE}/export", "read")
def export(call: ApiCall, session: str) -> Any:
    """The conversation as Markdown."""
    store = call.server.sessions
    found = store.load(_find(call, session))
    text = export_markdown(found, store.archived(found))
    return PlainTextResponse(text, media_type="text/markdown")


def _find(call: ApiCall, named: str) -> str:
    """Return the id of the conversation of this name. HttpError when there is none."""
    with looking_up():
        return call.server.sessions.find(named)


@contextmanager
def _changing(
    call: ApiCall, verb: str, named: str, words: str = ""
) -> Iterator[tuple[SessionStore, str]]:
    """Change the conversation of this name in one step of the history; yields store and id."""
    store, ref = call.server.sessions, _find(call, named)
    with call.server.changing(f"sessions {verb} {ref} {words}".strip(), ref, store=store):
        yield store, ref
