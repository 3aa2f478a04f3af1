"""After a run: the next start, as a user makes it, and what there is to complain of then."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.crash.model import ANSWER, prompt
from tests.crash.process import Told
from tests.crash.run import Scenario, Seen, main

LATER_SECONDS = 7200
KEPT = "kept"  # where the doctor puts what it takes away
PROMISES = tuple(f'{{"event": "{kind}"' for kind in ("tool_end", "new_response", "done"))
TRACE = "Traceback (most recent call last)"
MINE = "workspace/staged.md"


def said_by(words: Sequence[str]) -> tuple[int, str, str]:
    """Exit code and both streams of a command line, done in this process."""
    out, err = io.TextIOWrapper(io.BytesIO()), io.TextIOWrapper(io.BytesIO())
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(words)
    texts = []
    for stream in (out, err):
        stream.flush()
        stream.seek(0)
        texts.append(stream.read())
    return code, texts[0], texts[1]


def next_start(home: Path) -> list[str]:
    """A normal turn and what the doctor then says, two hours later; what of it needs a person."""
    troubles = []
    for path in home.rglob(".openclaw-*.tmp"):  # the doctor leaves what somebody may be writing
        os.utime(path, (0, time.time() - LATER_SECONDS))
    code, out, err = said_by(("ask", "--output", "text", prompt("Are you there?")))
    if code or out.strip() != ANSWER:
        troubles.append(f"the next turn: {code} {out.strip()} {_last(err)}")
    code, out, err = said_by(("doctor", "--fix", "--json"))
    try:
        checks = json.loads(out)["checks"]
    except (ValueError, KeyError):
        return [*troubles, f"doctor: {code} {_last(err) or out[:200]}"]
    faults = [check for check in checks if check["state"] == "fault"]
    troubles += [f"doctor: {check['name']}: {check['found']}" for check in faults]
    return troubles


def _last(err: str) -> str:
    if TRACE in err:
        return " | ".join(err.strip().splitlines()[-6:])
    return " | ".join(err.strip().splitlines()[-2:])


# -------- what does not load


def unloadable(home: Path) -> Iterator[str]:
    """Every file of the home that the program or git cannot read."""
    yield from _sessions(home)
    yield from _texts(home)
    yield from _private(home)
    yield from _records(home)
    code, out, err = said_by(("memory", "search", "--json", "walk"))
    if code or not isinstance(json.loads(out or "null"), list) or "damaged" in err:
        yield f"the index: {_last(err)}"
    yield from _git(home)


def _sessions(home: Path) -> Iterator[str]:
    from openclaw.errors import OpenclawError
    from openclaw.sessions.store import SessionStore

    store = SessionStore(home / "sessions")
    for path in sorted((home / "sessions").glob("*.json")):
        try:
            session = store.load(path.stem)
        except OpenclawError as error:
            yield f"{path.name}: {error}"
            continue
        parts = [part for part, document in store.archived(session) if document is None]
        yield from (f"{path.name}: archive {part.file}" for part in parts)
    yield from (path.name for path in (home / "sessions").glob("*.damaged-*"))


def _texts(home: Path) -> Iterator[str]:
    from openclaw.config import load_settings
    from openclaw.errors import OpenclawError
    from openclaw.storage.home import Home

    try:
        load_settings(Home(home))
    except OpenclawError as error:
        yield f"openclaw.yaml: {error}"
    for words in (("todo", "list", "--json"), ("memory", "list", "--json"), ("skills", "list")):
        code, out, err = said_by(words)
        if code or (words[-1] == "--json" and not isinstance(json.loads(out), list)):
            yield f"{' '.join(words)}: {_last(err)}"
    for folder in ("memory", "workspace", "skills"):
        for path in (home / folder).rglob("*.md"):
            if b"\0" in path.read_bytes():
                yield f"{path.relative_to(home)}: zeros"


def _private(home: Path) -> Iterator[str]:
    for name in ("learned.json", "secrets.json"):
        path = home / ".openclaw" / name
        if path.is_file():
            try:
                json.loads(path.read_bytes())
            except ValueError:
                yield f".openclaw/{name}"
    log = home / ".openclaw" / "logs" / "actions.jsonl"
    for number, line in enumerate(log.read_bytes().splitlines() if log.is_file() else (), 1):
        try:
            json.loads(line)
        except ValueError:
            yield f"actions.jsonl, line {number}"


def _records(home: Path) -> Iterator[str]:
    from openclaw.agent.agent import Agent
    from openclaw.config import load_settings
    from openclaw.errors import OpenclawError
    from openclaw.storage.home import Home

    try:
        history = Agent.open(Home(home), load_settings(Home(home))).history
        for turn in history.turns():
            for step in turn.steps:
                history.read(step.before)
                history.read(step.after)
            if turn.state == "running":
                yield f"turn {turn.id} still counts as running"
    except (OpenclawError, ValueError, KeyError) as error:
        yield f"the history: {type(error).__name__} {error}"


def _git(home: Path) -> Iterator[str]:
    if not (home / ".git").exists():
        return
    for words in (("status", "--porcelain"), ("fsck", "--connectivity-only", "--no-dangling")):
        done = git(home, *words)
        if done.returncode:
            yield f"git {words[0]}: {done.stderr.strip()[:200]}"


# -------- what a person would have to put right


def git(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environ = {key: value for key, value in os.environ.items() if key != "CRASH_FAULT"}
    command = ["git", "-C", str(home), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environ)


def leftovers(seen: Seen) -> Iterator[str]:
    """Temp files and locks that stay, and what stands in git's index that nobody has staged."""
    home = seen.home
    for path in home.rglob(".openclaw-*.tmp"):
        if KEPT in path.parts:
            continue
        yield f"temp file {path.relative_to(home)}"
    for path in (home / "workspace").rglob("*"):
        if path.is_file() and not path.stat().st_size and path.suffix != ".tmp":
            yield f"empty file {path.relative_to(home)}"
    if not (home / ".git").exists():
        return
    yield from (f"git lock {path.name}" for path in (home / ".git").rglob("*.lock"))
    staged = git(home, "diff", "--cached", "--name-only").stdout.split("\n")
    yield from (f"staged: {path}" for path in staged if path and path != MINE)
    if (home / MINE).exists():
        if MINE not in staged:
            yield f"no longer staged: {MINE}"
        for name in ("staged", "dirty", "new"):
            if seen.text(f"workspace/{name}.md") != f"{name} by me\n":
                yield f"changed: workspace/{name}.md"


def report(seen: Seen, scenario: Scenario, troubles: Sequence[str]) -> dict[str, Any]:
    """Everything there is to complain of, by kind."""
    found: dict[str, Any] = {"repairs": list(troubles), "unloadable": [], "lost": []}
    looks: dict[str, Callable[[], Iterable[str]]] = {
        "unloadable": lambda: unloadable(seen.home),
        "lost": lambda: scenario.lost(seen),
        "repairs": lambda: leftovers(seen),
    }
    for kind, look in looks.items():
        try:
            found[kind] += look()
        except Exception as error:  # noqa: BLE001 - what cannot be looked at does not load
            import traceback

            place = traceback.extract_tb(error.__traceback__)[-1]
            found["unloadable"].append(
                f"{kind}: {type(error).__name__}: {error} ({place.name}:{place.lineno})"
            )
    return found


# -------- what a run told


def is_promise(line: str) -> bool:
    """Whether a line says that something is done: of a turn's events only those that do."""
    if line.startswith('{"event": "'):
        return line.startswith(PROMISES)
    return bool(line.strip()) and not line.startswith(("#", "[", "]", " ", "{", "}"))


def unclear(told: Told) -> list[str]:
    """What an error told that a user cannot use: a trace, or nothing at all."""
    err = told.err.decode("utf-8", "replace")
    if TRACE in err:
        return [" | ".join(err.strip().splitlines()[-4:])]
    if told.code not in range(9):
        return [f"exit code {told.code}"]
    named = any(line.startswith("openclaw: ") for line in err.splitlines())
    return [] if named or not told.code else [f"exit code {told.code} without a word"]
