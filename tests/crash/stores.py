"""Scenarios without a turn: to-dos, memories, the inbox, conversations, index, settings."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from tests.crash.run import Commands, Ran, Scenario, Seen

ADDED = re.compile(r"added to .+?: (?P<text>.+) \((?P<id>[0-9a-f]{8})\)$")
FILES = 150


def _words(ran: Ran) -> str:
    return ran.words[-1]


def _of(seen: Seen, *verb: str) -> Iterator[Ran]:
    return (ran for ran in seen.ran if ran.words[: len(verb)] == verb)


def _unrecorded(seen: Seen, *verb: str) -> Iterator[str]:
    """Commands that told what they did and that no turn of the history is of."""
    from openclaw.history.history import History
    from openclaw.storage.home import Home

    subjects = {turn.subject for turn in History(Home(seen.home)).turns()}
    for ran in _of(seen, *verb):
        if ran.lines and f"{' '.join(verb)} {_words(ran)}" not in subjects:
            yield f"the turn of {' '.join(ran.words)}"


# -------- to-dos


def todo_commands(chance: random.Random) -> Commands:
    made: list[tuple[str, ...]] = []
    for number in range(9):
        text = f"water plant {number}{chance.randrange(1000):03}"
        made.append(("todo", "add", "--list", f"Room {number % 3}", text))
        if chance.random() < 0.4:
            made.append(("todo", chance.choice(("done", "rm")), text))
    return tuple(made)


def todo_lost(seen: Seen) -> Iterator[str]:
    from openclaw.memory.todos import parse_todos

    items = {todo.text: todo for todo in parse_todos(seen.text("memory/TODO.md"))}
    begun = {_words(ran) for ran in _of(seen, "todo", "rm")}
    removed = {_words(ran) for ran in _of(seen, "todo", "rm") if ran.done or ran.lines}
    for ran in _of(seen, "todo", "add"):
        for line in ran.lines:
            said = ADDED.match(line)
            there = items.get(_words(ran))
            if said and _words(ran) not in begun and (not there or there.id != said["id"]):
                yield f"to-do {said['id']} {said['text']}"
    yield from (f"removal of to-do {text}" for text in removed & items.keys())
    for ran in _of(seen, "todo", "done"):
        if ran.lines and not items[_words(ran)].done:
            yield f"to-do {_words(ran)} is open again"
    for verb in ("add", "done", "rm"):
        yield from _unrecorded(seen, "todo", verb)


# -------- memories


def memory_commands(chance: random.Random) -> Commands:
    made: list[tuple[str, ...]] = []
    for number in range(8):
        text = f"Neighbour{number}{chance.randrange(1000):03} grows vegetable{number}"
        where = ("--today",) if chance.random() < 0.4 else ()
        made.append(("memory", "add", *where, text))
        if chance.random() < 0.3:
            made.append(("memory", "forget", "--yes", text))
        elif chance.random() < 0.3:
            made.append(("memory", "add", "--replaces", text, f"{text} no more"))
    return tuple(made)


def memory_lost(seen: Seen) -> Iterator[str]:
    lines = seen.below("memory").splitlines()
    forgotten = {_words(ran) for ran in _of(seen, "memory", "forget")}
    for ran in _of(seen, "memory", "add"):
        known = any(_words(ran) in line for line in lines)
        if ran.lines and not known and _words(ran) not in forgotten:
            yield f"memory {_words(ran)}"
    for ran in _of(seen, "memory", "forget"):
        if ran.lines and any(_words(ran) in line for line in lines):
            yield f"the forgetting of {_words(ran)}"


def inbox_prepared(home: Path) -> None:
    from openclaw.memory.notes import Notes

    notes = Notes(home / "memory")
    for number in range(10):
        notes.propose(f"Cousin{number} collects stamp{number}", "session 1a2b3c turn 1")


def inbox_commands(chance: random.Random) -> Commands:
    numbers = chance.sample(range(10), 7)
    verbs = [chance.choice(("--accept", "--accept", "--reject")) for _ in numbers]
    return tuple(
        ("memory", "review", verb, f"Cousin{number} collects stamp{number}")
        for verb, number in zip(verbs, numbers, strict=True)
    )


def inbox_lost(seen: Seen) -> Iterator[str]:
    kept, waiting = seen.text("memory/MEMORY.md"), seen.below("memory/inbox")
    decided = {_words(ran): ran for ran in seen.ran}
    for number in range(10):
        text = f"Cousin{number} collects stamp{number}"
        ran = decided.get(text)
        rejected = ran is not None and "--reject" in ran.words
        if text not in kept and text not in waiting and not rejected:
            yield f"candidate {text}"
        if ran and ran.lines and text in waiting:
            yield f"the decision on {text}"
        if ran and ran.lines and not rejected and text not in kept:
            yield f"memory {text}"


# -------- conversations


def talks_prepared(home: Path) -> None:
    """Six conversations of 16 messages, the first two compacted once."""
    from openclaw.messages import Entry
    from openclaw.sessions.store import SessionStore

    store = SessionStore(home / "sessions")
    for number in range(6):
        session = store.new(f"talk{number}")
        for at in range(16):
            role = "assistant" if at % 2 else "user"
            said = Entry("user" if role == "user" else "assistant", f"{role} {number}:{at:02}")
            session.messages.append(said)
        store.save(session)
        if number < 2:
            store.compact(session, 8, "in short")


def talk_commands(chance: random.Random) -> Commands:
    made: list[tuple[str, ...]] = [
        ("sessions", "restore", "talk0"),
        ("sessions", "fork", "talk1"),
        ("sessions", "fork", "talk3", "--at", "5"),
        ("sessions", "rename", "talk2", f"Garden {chance.randrange(100)}"),
        ("sessions", "delete", "--yes", "talk5"),
        ("sessions", "compact", "talk4"),
        ("sessions", "compact", "talk3"),
        ("sessions", "restore", "talk3"),
    ]
    chance.shuffle(made)
    at = [index for index, words in enumerate(made) if words[2:] == ("talk3",)]
    made[at[0]], made[at[1]] = ("sessions", "compact", "talk3"), ("sessions", "restore", "talk3")
    return tuple(made)


def talks_lost(seen: Seen) -> Iterator[str]:
    from openclaw.sessions.store import SessionStore

    store = SessionStore(seen.home / "sessions")
    known = {summary.id: summary.title for summary in store.list()}
    deleting = list(_of(seen, "sessions", "delete"))
    for number in range(6):
        name = f"talk{number}"
        if name not in known:
            if not (number == 5 and deleting):
                yield f"conversation {name}"
            continue
        if number == 5 and deleting:
            if deleting[0].lines:
                yield "the deletion of talk5"
            continue
        yield from _messages_lost(store, name, number, 16)
    for ran in _of(seen, "sessions", "fork"):
        for line in ran.lines:
            source = int(ran.words[2][-1])
            yield from _messages_lost(
                store, line.partition(":")[0], source, 5 if source == 3 else 16
            )
    for ran in _of(seen, "sessions", "rename"):
        if ran.lines and known.get("talk2") != _words(ran):
            yield "the new title of talk2"
    yield from _unrecorded(seen, "sessions", "delete")


def _messages_lost(store: object, name: str, number: int, count: int) -> Iterator[str]:
    """Those of a conversation that are missing, double or in another order."""
    from openclaw.errors import OpenclawError
    from openclaw.sessions.store import SessionStore

    assert isinstance(store, SessionStore)
    try:
        said = [entry.content for _, entry in store.messages(store.load(name))]
    except OpenclawError as error:
        yield f"conversation {name}: {error}"
        return
    if said != [f"{('user', 'assistant')[at % 2]} {number}:{at:02}" for at in range(count)]:
        yield f"messages of {name}: {said}"


# -------- the index


def index_prepared(home: Path) -> None:
    for number in range(FILES):
        lines = [f"## Part {at}\n\nword{number}x{at} and more of it\n" for at in range(6)]
        folder = home / ("memory" if number % 2 else "workspace")
        (folder / f"page{number:03}.md").write_text("\n".join(lines), "utf-8")


def index_commands(chance: random.Random) -> Commands:
    first, second = chance.sample(range(FILES), 2)
    return (
        ("memory", "reindex"),
        ("memory", "search", "--json", f"word{first}x3"),
        ("memory", "add", "the ferry leaves at 7:45 from pier 9"),
        ("memory", "search", "--json", "ferry pier"),
        ("memory", "reindex"),
        ("memory", "search", "--json", f"word{second}x1"),
    )


def index_lost(seen: Seen) -> Iterator[str]:
    told = any(ran.lines for ran in _of(seen, "memory", "add"))
    if told and "the ferry leaves at 7:45" not in seen.text("memory/MEMORY.md"):
        yield "memory of the ferry"


# -------- settings


def settings_commands(chance: random.Random) -> Commands:
    made: list[tuple[str, ...]] = []
    for number in range(6):
        made.append(("config", "set", "max_steps", str(10 + number)))
        made.append(("policy", "allow", "command", f"make target{number}{chance.randrange(100)}"))
    return tuple(made)


def settings_lost(seen: Seen) -> Iterator[str]:
    from openclaw.config import load_settings
    from openclaw.storage.home import Home

    settings = load_settings(Home(seen.home))
    steps = [int(_words(ran)) for ran in _of(seen, "config", "set") if ran.done]
    if steps and settings.max_steps < max(steps):
        yield f"max_steps {max(steps)}"
    for ran in _of(seen, "policy", "allow"):
        if ran.done and not any(_words(ran) in grant for grant in settings.grants):
            yield f"grant {_words(ran)}"


STORES: Iterable[Scenario] = (
    Scenario("todo", 40, 18, todo_commands, todo_lost),
    Scenario("memory", 45, 18, memory_commands, memory_lost),
    Scenario("inbox", 30, 12, inbox_commands, inbox_lost, inbox_prepared),
    Scenario("talks", 45, 18, talk_commands, talks_lost, talks_prepared),
    Scenario("index", 30, 16, index_commands, index_lost, index_prepared),
    Scenario("settings", 20, 8, settings_commands, settings_lost),
)
