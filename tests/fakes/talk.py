"""A home with a scripted model, and what it is to talk with it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any, Literal

from openclaw.agent.agent import Agent
from openclaw.agent.turn import start_provenance
from openclaw.agent.turn_tools import make_toolbox
from openclaw.config import Settings
from openclaw.events import Done, Event, Notice, Token, ToolEnd
from openclaw.messages import Prompt, ToolCall, Usage
from openclaw.models.base import ModelCard, Reply, Request
from openclaw.sessions.session import Session
from openclaw.storage.home import Home
from openclaw.storage.new_home import create_home
from openclaw.storage.trust_store import trust_home
from openclaw.tools.toolbox import Toolbox
from openclaw.types import Mode
from tests.fakes.files import kept_folder
from tests.fakes.scripted import CARD, Line, ScriptedModel
from tests.fakes.search_thread import SearchThread

NOON = datetime(2026, 11, 21, 12, 0).astimezone()
Protocol = Literal["native", "json"]


def new_toolbox(app: Agent, request: str = "") -> Toolbox:
    """The tools of a turn with this request."""
    provenance = start_provenance(app, Prompt(request), Session("talk"))
    return make_toolbox(app, app.turn_skills(), provenance)


@dataclass
class Talk:
    """An app on a home and a session of it. `say` asks and gives the turn's events."""

    app: Agent
    model: ScriptedModel
    session: Session

    def events(self, prompt: str, *lines: Line, skill: str = "") -> Iterator[Event]:
        self.model.say(*lines)
        return self.app.ask(prompt, self.session, skill=skill)

    def say(self, prompt: str, *lines: Line, skill: str = "") -> list[Event]:
        return list(self.events(prompt, *lines, skill=skill))

    @property
    def requests(self) -> list[Request]:
        return self.model.requests

    @property
    def root(self) -> Path:
        return self.app.home.root

    @property
    def stored(self) -> dict[str, Any]:
        """The session's file as it stands on the disk."""
        path = self.app.home.sessions / f"{self.session.id}.json"
        value: dict[str, Any] = json.loads(path.read_text("utf-8"))
        return value


def talk(
    folder: Path,
    *lines: Line,
    protocol: Protocol = "native",
    card: ModelCard = CARD,
    now: Callable[[], datetime] = lambda: NOON,
    session: str | None = None,
    mode: Mode | None = None,
    **settings: Any,
) -> Talk:
    """A talk on the home in `folder`, which is made when there is none; a new process would do the
    same. `session` continues one. Prompts are looked up only with recall="auto", which starts a
    thread: close the app then."""
    new_home(folder)
    settings = {"recall": "tool", **settings}
    app = Agent.open(Home(folder), Settings(protocol=protocol, **settings), mode=mode)
    model = ScriptedModel(*lines, card=card)
    app.model, app.now = model, now
    app.recall.launch = SearchThread
    store = app.sessions
    return Talk(app, model, store.load(session) if session else store.new(None, card.name))


def new_home(folder: Path) -> Path:
    """A home as `openclaw init` makes it, without git; one that is there already is left alone."""
    if not (folder / "workspace").exists():
        shutil.copytree(_starter(), folder)
        trust_home(Home(folder))
    return folder


@cache
def _starter() -> Path:
    home = kept_folder() / "home"
    create_home(home)
    shutil.rmtree(home / ".git", ignore_errors=True)
    return home


def call(tool: str, protocol: Protocol = "native", kind: str = "look", **arguments: Any) -> Line:
    """A reply that calls a tool, in the manner of the protocol."""
    if protocol == "json":
        return json.dumps({"kind": kind, "tool": tool, **arguments}, ensure_ascii=False)
    return calls((tool, arguments))


def calls(*uses: tuple[str, dict[str, Any]], text: str = "") -> Line:
    """A reply with native calls."""

    def reply(request: Request) -> Reply:
        sent = sum(len(m.content) for m in request.messages)
        sent += sum(len(json.dumps(spec)) for spec in request.tools)
        made = tuple(ToolCall(f"id{n}", *use) for n, use in enumerate(uses))
        usage = Usage(prompt_tokens=sent // 4, generated_tokens=9, calls=1)
        return Reply(text, made, stop_reason="tool_calls", usage=usage)

    return reply


def answer(text: str, protocol: Protocol = "native") -> Line:
    """A plain answer, in the manner of the protocol."""
    if protocol == "json":
        return json.dumps({"kind": "answer", "answer": text}, ensure_ascii=False)
    return text


def done(happened: list[Event]) -> Done:
    """The event that ended the turn."""
    last = [event for event in happened if isinstance(event, Done)]
    assert len(last) == 1
    return last[0]


def notices(happened: list[Event]) -> str:
    return "\n".join(event.text for event in happened if isinstance(event, Notice))


def shown(happened: list[Event]) -> str:
    return "".join(event.text for event in happened if isinstance(event, Token))


def results(happened: list[Event]) -> list[str]:
    return [event.output for event in happened if isinstance(event, ToolEnd)]
