"""The /commands for turns: /undo, /redo, /retry, /edit, /log, /diff, /show and /blame."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from openclaw.agent.agent import Agent
from openclaw.cli.commands.log import log_lines
from openclaw.cli.commands.undo import scope_of
from openclaw.cli.formatting import for_stdout
from openclaw.cli.history_lines import blame_lines, diff_lines, show_lines
from openclaw.errors import OpenclawError, UsageError
from openclaw.frozen import frozen
from openclaw.history.differences import turn_differences
from openclaw.history.turns import Turn
from openclaw.inspection.blame import find_blame
from openclaw.inspection.turn_lines import conflict_lines, undo_lines
from openclaw.messages import Material, skill_prompt
from openclaw.security.display import one_line
from openclaw.sessions.session import Session

if TYPE_CHECKING:
    from openclaw.agent.undo import UndoResult


SHOWN_TURNS = 10
UNDO_OPTIONS = ("--files", "--talk", "--keep")


@frozen
class LastPrompt:
    """The last prompt of a conversation, as /retry and /edit ask it again.

    skill: the skill that it was for, "" for none
    material: what went along; None for the files that the prompt names
    typed: the words are surely the user's own
    is_said: the conversation holds the prompt
    """

    prompt: str
    skill: str = ""
    material: Sequence[Material] | None = None
    typed: bool = False
    is_said: bool = True

    @property
    def as_typed(self) -> str:
        if self.skill and self.prompt == skill_prompt(self.skill):
            return f"/{self.skill}"
        return f"/{self.skill} {self.prompt}" if self.skill else self.prompt


def find_last_prompt(session: Session) -> LastPrompt:
    """The last prompt of a conversation. Raises UsageError when there is none."""
    for entry in reversed(session.messages):
        if entry.role == "user":
            return LastPrompt(entry.content, entry.record.skill or "")
    raise UsageError("nothing was asked yet", "type a question first")


def take_back(agent: Agent, session: Session, say: Callable[[str], None]) -> Session:
    """Take back the last turn of this conversation, with its files, so that it can be asked in
    another way; returns the session to continue."""
    turns = agent.history.turns_of(session.id)
    turn = next((turn for turn in turns if turn.kind == "turn" and turn.leaves("all")), None)
    if turn and turn.number == session.turns:
        taken = agent.undo(1, "all", session.id)
        for line in result_lines(taken, session, "undo"):
            say(line)
        if taken.refused:
            raise OpenclawError("so the last turn stays as it is", "ask in other words")
        if agent.saving:
            return agent.sessions.reread(session)
    elif agent.saving and session.state.forked_from is None:
        raise UsageError("the last turn cannot be taken back", "see what was done: /log")
    # This one is not saved, or is a copy, whose turns belong to the original.
    while session.messages and session.messages.pop().role != "user":
        pass
    with agent.sessions.writing(session.id, timeout=2.0):
        agent.sessions.save(session)
    return session


def undo(agent: Agent, session: Session, rest: str) -> UndoResult:
    """Take back turns of this conversation."""
    count, options = _parse_words("undo", rest, UNDO_OPTIONS)
    scope = scope_of(files="--files" in options, talk="--talk" in options)
    return agent.undo(count, scope, session.id, "--keep" in options)


def redo(agent: Agent, session: Session, rest: str) -> UndoResult:
    """Put back turns of this conversation that were taken back."""
    count, options = _parse_words("redo", rest, ("--keep",))
    return agent.redo(count, session.id, "--keep" in options)


def log(agent: Agent, session: Session, rest: str) -> Iterable[str]:
    """The newest turns of the home, of all conversations."""
    count, _ = _parse_words("log", rest, (), default=SHOWN_TURNS)
    return log_lines(agent.history, islice(agent.history.turns(), count)) or ["no turns yet"]


def diff(agent: Agent, session: Session, rest: str) -> Iterable[str]:
    """What a turn changed; without words the newest one that was not taken back."""
    turn = _find_turn(agent, rest)
    found = turn_differences(agent.history, turn)
    return for_stdout(diff_lines(found)) if found else [f"{turn.id} changed no files"]


def show(agent: Agent, session: Session, rest: str) -> Iterable[str]:
    """All of a turn; without words the newest one that was not taken back."""
    return for_stdout(show_lines(agent, _find_turn(agent, rest)))


def blame(agent: Agent, session: Session, rest: str) -> Iterable[str]:
    if not rest:
        raise UsageError("which file?", "/blame FILE:LINE")
    return for_stdout(blame_lines(agent, *find_blame(agent, rest), show="/show"))


def _find_turn(agent: Agent, ref: str) -> Turn:
    """The turn that `ref` names; for "" the newest one that was not taken back. An undo is skipped,
    as nobody wants to look at it."""
    turns = () if ref else agent.history.turns()
    top = next((turn for turn in turns if turn.kind == "turn" and turn.undone != "all"), None)
    return top or agent.history.find(ref)


def _parse_words(
    name: str, rest: str, options: tuple[str, ...], default: int = 1
) -> tuple[int, list[str]]:
    """The number and the options after a /command."""
    words = rest.split()
    found = [word for word in words if word in options]
    numbers = [word for word in words if word not in options]
    if not numbers:
        return default, found
    if len(numbers) > 1 or not numbers[0].isascii() or not numbers[0].isdigit():
        usage = " ".join((f"/{name} [N]", *(f"[{option}]" for option in options)))
        raise UsageError(f"what is '{one_line(rest)}'?", usage)
    if not int(numbers[0]):
        raise UsageError("that would be none")
    return int(numbers[0]), found


def result_lines(taken: UndoResult, session: Session, verb: str) -> Iterator[str]:
    """What was taken back or put back, or why nothing was."""
    own = f"sessions/{session.id}.json"  # nobody but a /model of this conversation changed it
    taken = replace(taken, merged=tuple(path for path in taken.merged if path != own))
    if not taken.refused:
        yield from undo_lines(taken, verb, "/")
    if taken.conflicts:
        yield from conflict_lines(taken, verb, "/")
