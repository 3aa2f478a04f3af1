"""Finishes what killed processes have left."""

from __future__ import annotations

from contextlib import AbstractContextManager

from openclaw.agent.progress import stamp
from openclaw.app.rooms import Rooms
from openclaw.errors import OpenclawError, UsageError
from openclaw.files.lock import locked
from openclaw.history.journal import Journal
from openclaw.history.putting import put
from openclaw.history.record import Record, read
from openclaw.history.turn import Step, is_program
from openclaw.sessions.session import INTERRUPTED
from openclaw.shapes import Entry, ToolUse

COMMANDS = frozenset({"run_shell", "run_python"})


def recover(rooms: Rooms) -> list[str]:
    """Finish what killed processes have left: turns are closed with what they had done, undos are
    completed; all is committed. What others have written is set aside. Returns what the user should
    know, one line each."""
    aside = rooms.history.set_foreign_aside()
    found = rooms.history.unfinished()
    if found:
        from openclaw.tools.sandbox import tidy_up

        tidy_up(rooms.home)
    news = [aside] if aside else []
    news += [line for record in found if (line := _recovered(rooms, record))]
    if found or rooms.history.has_waiting():
        news += filter(None, [rooms.history.publish()])
    return news


def _recovered(rooms: Rooms, record: Record) -> str:
    """Close one record, unless its process still runs."""
    is_turn = record.turn.kind == "turn"
    try:
        with locked(rooms.home.private / "locks" / f"{record.turn.lock}.lock", 0.0):
            record = read(record.folder)
            if record.finished:
                record.make_ready()
                return ""
            return _close(rooms, record) if is_turn else _complete(rooms, record)
    except (OpenclawError, OSError, ValueError):
        return ""


def one_at_a_time(rooms: Rooms, seconds: float) -> AbstractContextManager[None]:
    """Be the one who takes turns back."""
    return locked(rooms.home.private / "locks" / "undo.lock", seconds, what="undo")


def _close(rooms: Rooms, record: Record) -> str:
    turn, journal = record.turn, Journal(rooms.home, record)
    if record.calls:
        _mark(rooms, record)
    journal.settle()
    journal.finish("interrupted", rooms.sessions.files_of(turn.session) if turn.session else ())
    if not journal.record.finished:
        return ""
    kept = "what it had done is kept, openclaw undo takes it back"
    if any(call.output is None and call.tool in COMMANDS for call in record.calls):
        kept += ", but for what the command changed that was running"
    what = f"a turn of conversation {turn.session}" if turn.session else "a command"
    return f"{what} was interrupted ({turn.subject}); {kept}"


def _mark(rooms: Rooms, record: Record) -> None:
    """Put calls that were begun into the conversation, as far as they came."""
    try:
        session = rooms.sessions.load(record.turn.session)
    except UsageError:  # it was killed before the first message was saved
        return
    uses = tuple(
        ToolUse(call.id, call.tool, call.input, INTERRUPTED if call.output is None else call.output,
                call.ok)
        for call in record.calls
    )  # fmt: skip
    if session.messages and session.messages[-1].tool_calls == uses:  # we were killed after this
        return
    session.messages.append(Entry("assistant", "", tool_calls=uses, at=stamp()))
    rooms.sessions.save(session)


def _complete(rooms: Rooms, record: Record) -> str:
    if not record.sealed:  # nothing was written yet
        record.drop()
        return ""
    journal = Journal(rooms.home, record)
    try:
        for number, step in enumerate(record.steps):
            if step and number not in record.done:
                _complete_one(rooms, journal, step)
                record.mark(number)
    except OpenclawError as error:
        return f"{record.turn.subject}: it was interrupted and cannot be completed: {error}"
    journal.finish("done")
    return f"{record.turn.subject}: it was interrupted and is now completed"


def _complete_one(rooms: Rooms, journal: Journal, step: Step) -> None:
    before, after = rooms.history.read(step.before), rooms.history.read(step.after)
    if (step.after is None) == (after is None):
        put(journal.root, step.path, before, after, program=is_program(step.after))
