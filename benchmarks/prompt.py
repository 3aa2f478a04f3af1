"""What a request costs in tokens, and how much of it the next request repeats.

    python -m benchmarks.prompt

Prints Markdown tables. First the first request of the starter home by part, for both protocols,
beside the bare words of the user in the same run. Then a talk with tool calls, each turn in a
process of its own, against a loopback server that speaks Ollama's API and keeps every request:
"lost" are the tokens of a request that the next one does not begin with (a server reads these
anew); of a new conversation only the head, system message and tools, is compared. Tokens are those
of cl100k_base, with ChatML around each message.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from benchmarks.long_server import segments
from benchmarks.unchanged import calling, certainly
from openclaw.agent.agent import Agent
from openclaw.config import load_settings
from openclaw.inspection.context import context_report
from openclaw.models.token_count import count
from openclaw.storage.home import Home
from openclaw.storage.new_home import create_home
from tests.fakes.ollama_server import FakeModel, FakeOllama

TOP = Path(__file__).resolve().parent.parent
QUESTION = "Say hello."
AIMS = {"native": 1500, "json": 1200}

Body = Mapping[str, Any]


@dataclass(frozen=True)
class Said:
    """A turn of the talk: the words, the call that the model is made to ask for (None: a plain
    answer), how the conversation goes on, and days after the first turn."""

    when: str
    words: str
    call: tuple[str, dict[str, Any]] | None = None
    continues: bool = True
    days: int = 0


TALK = (
    Said("new conversation", QUESTION, continues=False),
    Said(
        "next process",
        "What do the house rules say?",
        ("read_file", {"path": "workspace/AGENTS.md"}),
    ),
    Said(
        "next process",
        "Put water the plants on my Home list.",
        ("todo", {"action": "add", "list": "Home", "items": ["water the plants"]}),
    ),
    Said("new conversation", "Good morning.", continues=False),
    Said(
        "next day, same conversation",
        "Write the word ready into status.txt.",
        ("write_file", {"path": "workspace/status.txt", "content": "ready\n"}),
        days=1,
    ),
    Said("next day, new conversation", "Who are you?", continues=False, days=1),
)


@dataclass(frozen=True)
class Turned:
    """What was said, and what was sent for it: one body a model call."""

    said: Said
    bodies: tuple[Body, ...]


def main(say: Callable[[str], object] = print) -> None:
    """Print the tables."""
    for protocol in AIMS:
        with home_and_server(protocol) as (home, server):
            first_request(home, server, protocol, say)
            talk(home, server, protocol, say)


@contextmanager
def home_and_server(protocol: str) -> Iterator[tuple[Home, FakeOllama]]:
    """A fresh starter home that uses this protocol, and the server that its model is on."""
    model = FakeModel("bench:8b", parameter_size="8B", family="qwen3")
    with tempfile.TemporaryDirectory(prefix="openclaw-bench-") as folder:
        home = Home(Path(folder).resolve() / "home")
        with FakeOllama(models=[model]) as server:
            create_home(
                home.root,
                f"model: ollama/bench:8b\nprotocol: {protocol}\nollama:\n  host: {server.url}\n",
            )
            yield home, server


def first_request(
    home: Home, server: FakeOllama, protocol: str, say: Callable[[str], object]
) -> None:
    """The table of parts. The whole is counted on the request as the server received it."""
    app = Agent.open(home, load_settings(home))
    parts = [
        (part.name, part.path, part.tokens) for part in context_report(app, None, QUESTION).parts
    ]
    server.say("Hello.")
    for _ in app.ask(QUESTION, app.sessions.new(None, "")):
        pass
    app.close()
    sent = server.chats[-1]
    whole = sum(count(m["content"]) for m in sent["messages"])
    schemas = count(segments(sent)[0]) if sent.get("tools") else 0
    say(f"\nFirst request, {protocol} protocol ({len(tool_names(app))} tools)\n")
    say("| part | file | tokens |\n|---|---|---:|")
    for name, path, tokens in parts:
        say(f"| {name} | {path} | {schemas if name == 'tool schemas' else tokens:,} |")
    say(f"| whole request, as it was received | | {whole + schemas:,} |")
    say(f"| aim: at most | | {AIMS[protocol]:,} |")
    say(f"| reference: the user's words alone ({QUESTION!r}) | | {count(QUESTION)} |")


def talk(home: Home, server: FakeOllama, protocol: str, say: Callable[[str], object]) -> None:
    """The table of turns."""
    turns = [one_turn(said, home, server) for said in TALK]
    say(f"\nA talk, {protocol} protocol\n")
    say("| turn | tool | model calls | tokens of its last request | lost |")
    say("|---|---|---:|---:|---:|")
    lost_in_all = 0
    before: Body | None = None
    for turn in turns:
        lost = 0
        for index, body in enumerate(turn.bodies):
            is_new = index == 0 and not turn.said.continues
            lost += lost_tokens(before, body, head_only=is_new) if before else 0
            before = body
        lost_in_all += lost
        tool = turn.said.call[0] if turn.said.call else "none"
        size = count("".join(segments(turn.bodies[-1])))
        say(f"| {turn.said.when} | {tool} | {len(turn.bodies)} | {size:,} | {lost} |")
    plain = [len(turn.bodies) for turn in turns if turn.said.call is None]
    say(f"\nlost in all: {lost_in_all} tokens (aim 0)")
    say(f"model calls for a plain answer: {', '.join(map(str, plain))} (aim exactly 1)")


def one_turn(said: Said, home: Home, server: FakeOllama) -> Turned:
    """Say it in a process of its own, or, on another day, in this one with the clock replaced."""
    start = len(server.chats)
    server.script.clear()
    server.say(*([calling(*said.call)] if said.call else []), certainly)
    if said.days:
        in_this_process(said, home)
    else:
        words = [*(["-c"] if said.continues else []), "--mode", "edit", "--quiet", said.words]
        in_new_process([*words], home)
    if server.script:
        raise SystemExit(f"{said.words!r}: the model was not asked as often as planned")
    return Turned(said, tuple(server.chats[start:]))


def in_new_process(words: Sequence[str], home: Home) -> None:
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, PATHS)), "PYTHONUTF8": "1"}
    run = subprocess.run(
        [sys.executable, "-m", "openclaw", "--home", str(home.root), *words],
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    if run.returncode:
        raise SystemExit(f"openclaw left with {run.returncode}:\n{run.stderr}")


PATHS = (str(TOP), os.environ.get("PYTHONPATH", ""))


def in_this_process(said: Said, home: Home) -> None:
    def then() -> datetime:
        return datetime.now().astimezone() + timedelta(days=said.days)

    app = replace(Agent.open(home, load_settings(home), mode="edit"), now=then)
    session = app.sessions.load("latest") if said.continues else app.sessions.new(None, "")
    for _ in app.ask(said.words, session):
        pass
    app.close()


def lost_tokens(before: Body, after: Body, *, head_only: bool) -> int:
    """Tokens of `before` (or of its head) that `after` does not begin with."""
    old = "".join(segments(head_of(before) if head_only else before))
    new = "".join(segments(after))
    same = next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), len(new))
    return count(old[same:])


def head_of(body: Body) -> Body:
    """The part of a request that a new conversation can repeat."""
    system = [message for message in body["messages"] if message["role"] == "system"]
    return {"tools": body.get("tools"), "messages": system}


def tool_names(app: Agent) -> list[str]:
    from openclaw.agent.turn import start_provenance
    from openclaw.agent.turn_tools import make_toolbox
    from openclaw.messages import Prompt
    from openclaw.sessions.session import Session

    provenance = start_provenance(app, Prompt(""), Session("names"))
    return list(make_toolbox(app, app.turn_skills(), provenance).arguments)


if __name__ == "__main__":
    main()
