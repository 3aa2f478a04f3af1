"""Scenarios of turns: a model that calls tools, in a home under git with work of the user's own in
it, and taking turns back."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.crash.model import ANSWER, MARK, Step, prompt
from tests.crash.run import Command, Commands, Ran, Scenario, Seen, main

TALK = "talk"
PLAN_LINES = 40


def asked(words: str, steps: Iterable[Step] = (), session: str = TALK) -> Command:
    options = ("--mode", "full", "--yes", "--output", "stream-json", "--session", session)
    return ("ask", *options, prompt(words, tuple(steps)))


# -------- what a turn does


def file_steps(chance: random.Random, number: int) -> list[Step]:
    """Calls that write files, each with something that no other call writes."""
    mark = f"{number}-{chance.randrange(10_000):04}"
    line = number * 10 + chance.randrange(8)
    steps: list[Step] = [
        ("write_file", {"path": f"workspace/page-{mark}.md", "content": f"page {mark}\n" * 30}),
        ("append_file", {"path": "workspace/diary.md", "text": f"entry {mark}\n"}),
        (
            "edit_file",
            {"path": "workspace/plan.md", "find": f"step {line:02} open", "replace": f"did {mark}"},
        ),
    ]
    chance.shuffle(steps)
    board = "workspace/board.md"
    over: list[Step] = [("read_file", {"path": board})]
    return [*steps, *over, ("write_file", {"path": board, "content": f"board {mark}\n"})]


def knowledge_steps(chance: random.Random, number: int) -> list[Step]:
    mark = f"{number}{chance.randrange(10_000):04}"
    content = f"# Fold {mark}\n\nFold the paper {mark} times.\n"
    return [
        ("todo", {"action": "add", "list": "Errands", "items": [f"fetch parcel {mark}"]}),
        ("remember", {"fact": f"Parcel {mark} weighs two kilos"}),
        ("propose_skill", {"name": f"fold-{mark}", "content": content, "description": "Folds."}),
        ("todo", {"action": "done", "item": f"fetch parcel {mark}"}),
    ]


def command_steps(chance: random.Random, number: int) -> list[Step]:
    mark = f"{number}{chance.randrange(10_000):04}"
    many = f"for n in 1 2 3; do echo {mark} > workspace/made-{mark}-$n.txt; done"
    return [
        ("run_shell", {"command": many}),
        ("run_shell", {"command": f"echo line {mark} >> workspace/diary.md"}),
    ]


Steps = Callable[[random.Random, int], list[Step]]


def turns(steps: Steps, count: int, words: str) -> Callable[[random.Random], Commands]:
    def commands(chance: random.Random) -> Commands:
        made = []
        for number in range(count):
            calls = steps(chance, number)
            facts = [str(given["fact"]) for name, given in calls if name == "remember"]
            said = words + "".join(f" Remember: {fact}." for fact in facts)
            made.append(asked(said, calls))
        return tuple(made)

    return commands


# -------- what must be there afterwards


def turns_lost(seen: Seen) -> Iterator[str]:
    from openclaw.sessions.store import SessionStore

    store, finished = SessionStore(seen.home / "sessions"), 0
    for ran in seen.ran:
        if ran.words[0] != "ask":
            continue
        events = [json.loads(line) for line in ran.lines if line.startswith("{")]
        steps = json.loads(ran.words[-1].partition(MARK)[2])
        ends = [event for event in events if event["event"] == "tool_end"]
        for (name, given), end in zip(steps, ends, strict=False):
            if end["ok"] and (missing := _effect_lost(seen, name, given)):
                yield f"{name}: {missing}"
        yield from _said_lost(store, ran, events)
        finished += any(event["event"] == "done" for event in events)
    yield from _history_lost(seen, finished)


def _effect_lost(seen: Seen, name: str, given: Mapping[str, Any]) -> str:
    """What a call did that is no longer there, "" for nothing."""
    path = str(given.get("path", ""))
    if name == "read_file":
        return ""
    if name == "write_file" and path.endswith("board.md"):
        return "" if "board" in seen.text(path) else path
    if name == "write_file":
        return "" if seen.text(path) == given["content"] else path
    if name in ("append_file", "edit_file"):
        words = str(given.get("text") or given["replace"]).strip()
    elif name == "todo":
        items = [*given.get("items", ()), *filter(None, [given.get("item", "")])]
        box = "- [x]" if given["action"] == "done" else "- ["
        lines = seen.text("memory/TODO.md").splitlines()
        found = any(line.startswith(box) and items[0] in line for line in lines)
        return "" if found else items[0]
    elif name == "remember":
        return "" if given["fact"] in seen.below("memory") else str(given["fact"])
    elif name == "propose_skill":
        return "" if seen.text(f"skills/.proposed/{given['name']}/SKILL.md") else given["name"]
    else:
        words = str(given["command"]).partition("echo ")[2].partition(" >")[0]
        return "" if words in seen.below("workspace", "*") else words
    return "" if words in seen.text(path) else words


def _said_lost(store: Any, ran: Ran, events: list[dict[str, Any]]) -> Iterator[str]:
    """Messages that the next model call, or the end of the turn, says are kept."""
    kinds = [event["event"] for event in events]
    if not {"tool_start", "new_response", "done"} & {*kinds}:
        return
    session = store.load(next(e["session_id"] for e in events if e["event"] == "start"))
    messages = [entry for _, entry in store.messages(session)]
    at = next((n for n, entry in enumerate(messages) if entry.content == ran.words[-1]), None)
    if at is None:
        yield f"prompt {ran.words[-1][:40]}"
        return
    uses = [use for entry in messages[at:] for use in entry.tool_calls]
    last = max((n for n, kind in enumerate(kinds) if kind == "new_response"), default=0)
    told = kinds[: last + 1].count("tool_end")
    if sum(bool(use.output) for use in uses) < told:
        yield f"results of {told} calls in the conversation"
    if "done" in kinds and not any(entry.content == ANSWER for entry in messages[at:]):
        yield "the answer in the conversation"


def _history_lost(seen: Seen, finished: int) -> Iterator[str]:
    """Finished turns must stand in the history, whatever came after."""
    from openclaw.agent.agent import Agent
    from openclaw.config import load_settings
    from openclaw.storage.home import Home

    app = Agent.open(Home(seen.home), load_settings(Home(seen.home)))
    known = [turn for turn in app.history.turns() if (turn.kind, turn.session) == ("turn", TALK)]
    if len(known) < finished:
        yield f"{finished - len(known)} of {finished} finished turns in the history"


# -------- homes


def worked_in(home: Path) -> None:
    """Files of the user's: committed, then one changed and staged, one changed, one new."""
    import subprocess

    plan = "".join(f"step {number:02} open\n\n" for number in range(PLAN_LINES))
    (home / "workspace" / "plan.md").write_text(plan, "utf-8")
    for name in ("staged", "dirty", "diary", "board"):
        (home / "workspace" / f"{name}.md").write_text(f"{name} before\n", "utf-8")
    if not (home / ".git").exists():
        return
    git = ["git", "-C", str(home), "-c", "user.name=u", "-c", "user.email=u@localhost"]
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-qm", "mine"], check=True)
    for name in ("staged", "dirty", "new"):
        (home / "workspace" / f"{name}.md").write_text(f"{name} by me\n", "utf-8")
    subprocess.run([*git, "add", "workspace/staged.md"], check=True)


def long_talk(home: Path) -> None:
    from openclaw.messages import Entry
    from openclaw.sessions.store import SessionStore

    worked_in(home)
    store = SessionStore(home / "sessions")
    session = store.new(TALK)
    for number in range(24):
        words = f"question {number:02} of mine about the garden " * 8
        session.messages.append(Entry("assistant" if number % 2 else "user", words))
    store.save(session)


def compaction_commands(chance: random.Random) -> Commands:
    told = asked("And now?", [("append_file", {"path": "workspace/diary.md", "text": "late\n"})])
    first: Commands = (("sessions", "compact", TALK), told)
    second: Commands = (("sessions", "restore", TALK), ("sessions", "compact", TALK), told)
    return (*first, *second) if chance.random() < 0.5 else (told, *first)


def compaction_lost(seen: Seen) -> Iterator[str]:
    from openclaw.sessions.store import SessionStore

    store = SessionStore(seen.home / "sessions")
    said = [entry.content for _, entry in store.messages(store.load(TALK))]
    for number in range(24):
        words = f"question {number:02} of mine about the garden " * 8
        if said.count(words) != 1:
            yield f"message {number} is there {said.count(words)} times"
    yield from turns_lost(seen)


# -------- taking back


def many_turns(home: Path) -> None:
    """Six turns that are done, each of several files."""
    worked_in(home)
    chance = random.Random(7)
    for number in range(4):
        assert main(asked("Do this.", file_steps(chance, number))) == 0


def undo_commands(chance: random.Random) -> Commands:
    made: list[Command] = []
    depth = 0
    for _ in range(6):
        if depth and chance.random() < 0.4:
            made.append(("redo",))
            depth -= 1
        elif depth < 4:
            made.append(("undo",))
            depth += 1
    return tuple(made)


def files_of(home: Path) -> dict[str, str]:
    """What undo and redo change: the texts of the files, and what was said."""
    found = {}
    for path in sorted((home / "workspace").rglob("*")):
        if path.is_file() and path.suffix != ".tmp":
            found[path.relative_to(home).as_posix()] = path.read_text("utf-8")
    for path in sorted((home / "sessions").glob("*.json")):
        messages = json.loads(path.read_text("utf-8"))["messages"]
        found[f"sessions/{path.name}"] = json.dumps([m["content"] for m in messages])
    return found


def undo_states(commands: Commands, home: Path) -> list[dict[str, str]]:
    """The files before the first and after each command, by doing them."""
    states = [files_of(home)]
    for words in commands:
        assert main(words) == 0
        states.append(files_of(home))
    return states


def undo_lost(seen: Seen) -> Iterator[str]:
    """After a command that was told done the files are as it leaves them; in the middle of one they
    are all as before or all as after it."""
    states = json.loads((seen.home.parent / "states.json").read_text("utf-8"))
    done = sum(ran.done for ran in seen.ran)
    now = files_of(seen.home)
    for state in states:  # the next start has said something in a new conversation
        now = {path: text for path, text in now.items() if not path.startswith("sessions/2")}
        state.update({p: t for p, t in state.items() if not p.startswith("sessions/2")})
    allowed = states[done : done + 1 + (done < len(seen.ran))]
    if now not in allowed:
        paths = sorted({*now}.union(*allowed))
        fits = {p: [n for n, s in enumerate(allowed) if s.get(p) == now.get(p)] for p in paths}
        odd = {path: which for path, which in fits.items() if len(which) < len(allowed)}
        yield f"after {done} of {len(seen.ran)} commands, as before (0) or after (1) one: {odd}"


TURNS: Iterable[Scenario] = (
    Scenario("files", 70, 30, turns(file_steps, 2, "Do this."), turns_lost, worked_in),
    Scenario("knowledge", 45, 20, turns(knowledge_steps, 2, "Do this."), turns_lost, worked_in),
    Scenario("commands", 50, 12, turns(command_steps, 2, "Do this."), turns_lost, worked_in),
    Scenario("short", 50, 16, turns(lambda *_: [], 5, "Say so."), turns_lost, worked_in),
    Scenario("compaction", 60, 16, compaction_commands, compaction_lost, long_talk),
    Scenario("undo", 70, 20, undo_commands, undo_lost, many_turns, stops=True),
    Scenario("no git", 30, 10, turns(file_steps, 2, "Do this."), turns_lost, worked_in, git=False),
    Scenario("whole", 40, 0, turns(file_steps, 1, "Do this."), turns_lost, worked_in, start=True),
)
