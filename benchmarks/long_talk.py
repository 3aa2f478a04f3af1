"""Plays a plan with the program, in one process, and keeps what is needed to judge it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.long_plan import Plan, Turn
from benchmarks.long_server import LongServer, Sent
from openclaw.agent.agent import Agent
from openclaw.config import load_settings
from openclaw.errors import OpenclawError
from openclaw.events import Compaction, Notice, ToolEnd
from openclaw.sessions.session import Session
from openclaw.storage.home import Home
from openclaw.storage.new_home import create_home
from openclaw.storage.text import write_text

PERSONA = "You are Moss: calm, exact, friendly, brief."
SOUL_RULE = "- When a price is named, name the currency too; the word for the till is ZIBELLINE."
AGENTS_RULE = "- Before the folder of the books is touched, the agent says the word KALAMATA."
SIZES_AT = (10, 100, 300)
SETTINGS = """\
model: ollama/bench:8b
protocol: {protocol}
window: {window}
recall: {recall}
embedding: none
ollama:
  host: {url}
"""


@dataclass(slots=True)
class Talked:
    """What came of a talk. `seconds` are wall clock by turn, `notices` counts of the lines told to
    the user, without their numbers; `files` bytes of session, notes and archive by turn; `results`
    characters of the tools' results; `errors` what turns failed with; `write` seconds of a durable
    write of the session's file."""

    window: int
    sent: list[Sent]
    seconds: dict[int, float] = field(default_factory=dict)
    wire: dict[int, float] = field(default_factory=dict)
    compactions: list[tuple[int, int, int]] = field(default_factory=list)
    results: list[int] = field(default_factory=list)
    notices: dict[str, int] = field(default_factory=dict)
    files: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    write: float = 0.0


@contextmanager
def opened(
    plan: Plan, window: int, protocol: str, recall: str = "tool"
) -> Iterator[tuple[Agent, LongServer]]:
    """An app on a fresh home with the plan's files, whose model is the scripted server."""
    with TemporaryDirectory(prefix="openclaw-bench-", ignore_cleanup_errors=True) as folder:
        home = Home(Path(folder).resolve() / "home")
        with LongServer() as server:
            text = SETTINGS.format(protocol=protocol, window=window, recall=recall, url=server.url)
            create_home(home.root, text)
            furnish(home.root, plan.files)
            app = Agent.open(home, load_settings(home), mode="edit")
            try:
                yield app, server
            finally:
                app.close()


def furnish(root: Path, files: Mapping[str, str]) -> None:
    """Put persona, rules and files into a home."""
    soul, agents = root / "workspace" / "SOUL.md", root / "workspace" / "AGENTS.md"
    text = soul.read_text("utf-8")
    start = text.index("You are ")
    rest = text[text.index("\n", start) :].rstrip()
    soul.write_text(f"{text[:start]}{PERSONA}{rest}\n{SOUL_RULE}\n", "utf-8", newline="\n")
    agents.write_text(
        f"{agents.read_text('utf-8').rstrip()}\n{AGENTS_RULE}\n", "utf-8", newline="\n"
    )
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content, "utf-8", newline="\n")


def play(app: Agent, server: LongServer, plan: Plan, window: int) -> tuple[Talked, Session]:
    """Say the whole plan in one conversation."""
    session = app.sessions.new("long", "")
    talked = Talked(window, server.sent)
    for turn in plan.turns:
        server.play(turn)
        began = time.perf_counter()
        _say(app, session, turn, talked)
        talked.seconds[turn.number] = time.perf_counter() - began
        if turn.number in SIZES_AT or turn is plan.turns[-1]:
            talked.files[turn.number] = sizes(app.home, session.id)
    return talked, session


def _say(app: Agent, session: Session, turn: Turn, talked: Talked) -> None:
    try:
        for event in app.ask(turn.words, session):
            if isinstance(event, Compaction):
                talked.compactions.append((turn.number, event.before_tokens, event.after_tokens))
            elif isinstance(event, ToolEnd):
                talked.results.append(len(event.output))
            elif isinstance(event, Notice):
                kind = "".join("#" if c.isdigit() else c for c in event.text)
                talked.notices[kind] = talked.notices.get(kind, 0) + 1
    except OpenclawError as error:
        talked.errors.append(f"turn {turn.number}: {type(error).__name__}: {error}")


def sizes(home: Home, session_id: str) -> tuple[int, int, int]:
    """Bytes of a session's file, its notes and its archive."""
    notes = home.sessions / f"{session_id}.notes.md"
    archive = home.sessions / "archive" / session_id
    return (
        (home.sessions / f"{session_id}.json").stat().st_size,
        notes.stat().st_size if notes.exists() else 0,
        sum(path.stat().st_size for path in archive.glob("*.json")),
    )


def seconds_of_a_write(home: Home, session_id: str, times: int = 9) -> float:
    """The median of some writes of a text as long as the session's file: text, flush, rename."""
    text = (home.sessions / f"{session_id}.json").read_text("utf-8")
    spent = []
    for number in range(times):
        began = time.perf_counter()
        write_text(home.private / "a-write", f"{text}{number}")
        spent.append(time.perf_counter() - began)
    return median(spent)


def measure_wire(server: LongServer, talked: Talked) -> None:
    """Send the same bodies once more, with nothing around them, and note the seconds by turn."""
    import httpx

    sent = list(talked.sent)
    server.replaying = [each.answer for each in sent]
    with httpx.Client(timeout=60.0, trust_env=False) as client:
        for each in sent:
            began = time.perf_counter()
            body = {**each.body, "stream": True}
            with client.stream("POST", f"{server.url}/api/chat", json=body) as reply:
                for _ in reply.iter_lines():
                    pass
            spent = time.perf_counter() - began
            talked.wire[each.turn] = talked.wire.get(each.turn, 0.0) + spent
