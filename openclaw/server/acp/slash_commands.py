"""The /commands of a conversation in an editor, and the skills that the user may name."""

from __future__ import annotations

from collections.abc import Mapping

from openclaw.agent.agent import Agent
from openclaw.errors import OpenclawError, UsageError
from openclaw.events import Compaction
from openclaw.inspection.turn_lines import compaction_line, undo_lines
from openclaw.memory.todos import todo_file
from openclaw.security.display import one_line
from openclaw.server.service import Service
from openclaw.sessions.session import Session

FOUND = 5
COMMANDS: Mapping[str, tuple[str, str]] = {
    "undo": ("Take back the last turn of this conversation, with its files", ""),
    "redo": ("Put back what was taken back", ""),
    "compact": ("Archive the conversation but for the last two exchanges", "what matters most"),
    "todo": ("List the open to-dos, or add one", "a new to-do"),
    "memory": ("Search what is remembered", "words"),
}
"""What each does, and a hint at the words behind it."""


def list_commands(service: Service) -> list[tuple[str, str, str]]:
    """Return the name of each command and skill, what it does, and the hint at its words."""
    own = [(name, about, hint) for name, (about, hint) in COMMANDS.items()]
    return own + [(skill.name, skill.description, "words") for skill in service.user_skills()]


def read_command(service: Service, words: str) -> tuple[str, str, bool]:
    """Return the command or skill that a prompt begins with, the words behind it, and whether it is
    a skill; the name is "" for a prompt of another kind. A path such as /etc/hosts is none."""
    first, *rest = words.split(maxsplit=1) or [""]
    name, after = first.removeprefix("/"), "".join(rest)
    if not first.startswith("/") or not name or "/" in name:
        return "", words, False
    if name in COMMANDS:
        return name, after, False
    if any(skill.name == name for skill in service.user_skills()):
        return name, after, True
    known = ", ".join(f"/{each}" for each in COMMANDS)
    raise UsageError(f"there is no command /{name}", f"there are: {known}, and your skills")


def run_command(service: Service, session: Session, name: str, words: str) -> tuple[str, Session]:
    """Run a command; return what it says, and the conversation to go on with. Raises OpenclawError
    as the same command in the shell does, and KeyboardInterrupt when the user has stopped it."""
    match name:
        case "todo":
            return _todo(service, words), session
        case "memory":
            return _search(service, words), session
        case "compact":
            with service.agent(model=True) as agent:
                told = [*agent.compact(session, words)]
            made = next(event for event in told if isinstance(event, Compaction))
            return compaction_line(made.before_tokens, made.after_tokens), session
    with service.agent() as agent:
        return _take(agent, session, name)


def _take(agent: Agent, session: Session, name: str) -> tuple[str, Session]:
    agent.recover()
    undo = name == "undo"
    taken = agent.undo(1, "all", session.id) if undo else agent.redo(1, session.id)
    if taken.refused:
        places = ", ".join(one_line(each.path) for each in taken.conflicts)
        raise OpenclawError(
            f"the same lines were changed since: {places}", f"openclaw {name} --keep leaves these"
        )
    # An editor shows Markdown: what is no list would become one paragraph.
    lines = (f"- {line.strip()}" for line in undo_lines(taken, name, "/"))
    return "\n".join(lines), agent.sessions.reread(session)


def _todo(service: Service, words: str) -> str:
    file = todo_file(service.home)
    if words:
        with service.changing(f"todo add {words}", store=file):
            added = file.add("", [words])[0]
        return f"Added to {added.list}: {added.text}"
    still = [todo for todo in file.items() if not todo.done]
    return "\n".join(f"- {todo.text} ({todo.list})" for todo in still) or "Nothing is open."


def _search(service: Service, words: str) -> str:
    if not words:
        raise UsageError("which words?", "/memory WORDS")
    found, notices = service.shared.search(words, FOUND, "", "")
    lines = [f"- {p.path}:{p.start_line}: {one_line(p.text, 200)}" for p in found]
    return "\n".join([*map(one_line, notices), *(lines or ["Nothing was found."])])
