"""The needle test: which facts of a long conversation can still be told, and from where."""

from __future__ import annotations

import contextlib
import io
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.long_plan import Needle, Plan, Turn
from benchmarks.long_server import LongServer, Sent
from openclaw.agent.agent import Agent
from openclaw.errors import OpenclawError
from openclaw.events import Event, ToolEnd
from openclaw.sessions.session import Session

NEAR = 200
"""Characters within which a value's subject must stand."""
ORDINARY = "What do you think, is it time for a break?"
PLACES = ("request", "asked", "search_sessions", "sessions search", "memory")


@dataclass(frozen=True, slots=True)
class Found:
    """Where a needle was found; `stale` says that the request tells what it was before."""

    needle: Needle
    places: frozenset[str]
    stale: bool = False


def look(app: Agent, server: LongServer, session: Session, plan: Plan) -> list[Found]:
    """Look for every needle of the plan after its last turn. The session is as before after it."""
    request = _next_request(app, server, session)
    memory = "\n".join(p.read_text("utf-8") for p in sorted(app.home.memory.rglob("*.md")))
    found = []
    for needle in plan.needles:
        asked, hits = _asked(app, server, session, needle)
        texts = {
            "request": request,
            "asked": asked,
            "search_sessions": hits,
            "sessions search": _by_command(app, needle),
            "memory": memory,
        }
        places = frozenset(name for name, text in texts.items() if holds(text, needle))
        stale = bool(needle.outdated) and "request" not in places and needle.outdated in request
        found.append(Found(needle, places, stale))
    return found


def holds(text: str, needle: Needle) -> bool:
    """Whether the value stands in the text with one of its words near it."""
    flat = " ".join(text.split()).casefold()
    value = needle.value.casefold()
    start = flat.find(value)
    while start >= 0:
        around = flat[max(start - NEAR, 0) : start + len(value) + NEAR]
        if any(word.casefold() in around for word in needle.about):
            return True
        start = flat.find(value, start + 1)
    return False


def _next_request(app: Agent, server: LongServer, session: Session) -> str:
    """All that the model is sent for a question about nothing that was said."""
    with _undone(app, session):
        server.play(Turn(0, ORDINARY, (), "A short one does no harm."))
        start = len(server.sent)
        for _ in app.ask(ORDINARY, session):
            pass
        return _first_step(server.sent[start:])


def _first_step(sent: Sequence[Sent]) -> str:
    steps = [each for each in sent if each.kind == "step"]
    return text_of(steps[0]) if steps else ""


def text_of(sent: Sent) -> str:
    """The contents of a request's messages."""
    return "\n\n".join(str(m.get("content") or "") for m in sent.body["messages"])


def _asked(app: Agent, server: LongServer, session: Session, needle: Needle) -> tuple[str, str]:
    """What the model is sent when the user asks for the fact in the conversation as it was after
    its last turn, and what the tool gives back when the model then searches with the words of the
    question."""
    call = ("search_sessions", {"words": needle.question})
    start, happened = len(server.sent), list[Event]()
    with _undone(app, session), contextlib.suppress(OpenclawError):
        server.play(Turn(0, needle.question, (call,), "It stands there."))
        happened.extend(app.ask(needle.question, session))
    results = [e for e in happened if isinstance(e, ToolEnd) and e.tool == "search_sessions"]
    hits = "\n".join(each.output for each in results if each.ok)
    return _first_step(server.sent[start:]), hits


def _by_command(app: Agent, needle: Needle) -> str:
    """What `openclaw sessions search` prints for the question."""
    from openclaw.cli.main import run

    told = io.StringIO()
    words = ["--home", str(app.home.root), "sessions", "search", needle.question, "--json"]
    with contextlib.redirect_stdout(told):
        run(words)
    return told.getvalue()


@contextmanager
def _undone(app: Agent, session: Session) -> Iterator[None]:
    """Put the sessions back afterwards as they were."""
    folder = app.home.sessions
    kept = app.home.private / "before-the-question"
    shutil.copytree(folder, kept)
    try:
        yield
    finally:
        shutil.rmtree(folder)
        shutil.copytree(kept, folder)
        shutil.rmtree(kept)
        app.sessions.refresh(session)


def count_in(found: Sequence[Found], place: str) -> int:
    return sum(place in each.places for each in found)


def misses(found: Sequence[Found]) -> list[str]:
    """A line for each needle that was not found everywhere it should be."""
    lines = []
    for each in found:
        lacks = [name for name in PLACES[:4] if name not in each.places]
        if lacks:
            needle = each.needle
            stale = " (the request holds the outdated value)" if each.stale else ""
            lines.append(
                f"turn {needle.turn}, {needle.by}: {needle.value!r} "
                f"({needle.question}) not in: {', '.join(lacks)}{stale}"
            )
    return lines


def memory_lines(folder: Path) -> int:
    """List items that wait in the inbox."""
    files = (folder / "inbox").glob("*.md")
    return sum(line.startswith("- ") for f in files for line in f.read_text("utf-8").splitlines())
