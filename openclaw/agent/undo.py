"""Undoes and redoes turns, and finishes the work of killed processes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict
from functools import partial
from itertools import islice
from typing import Any

from openclaw.agent.sync_merge import bring_in
from openclaw.errors import OpenclawError, UsageError
from openclaw.frozen import frozen
from openclaw.history.differences import turn_json
from openclaw.history.record import Journal, Record, new_turn, read
from openclaw.history.rollback import FileConflict, Plan, Undo, write_if_unchanged
from openclaw.history.turns import TALK, Kind, Scope, Turn, TurnStep, is_program
from openclaw.home.open_home import OpenHome
from openclaw.messages import Entry, ToolUse
from openclaw.receipt import FileChange, file_change
from openclaw.sessions.repair import merge_sessions, messages_in
from openclaw.sessions.session import INTERRUPTED
from openclaw.storage.lock import hold_lock
from openclaw.storage.safe_open import decode
from openclaw.tools.shell.sandbox import tidy_up
from openclaw.types import Change, FileContent, timestamp

ATTEMPTS = 5
LOCK_SECONDS = 2.0


@frozen
class UndoResult:
    """The result of an undo or a redo.

    turn: its own entry in the history, None when nothing was changed
    of: the turns that were undone, or the undos that were redone
    files: the changed files
    messages: number of messages taken out of conversations, or put back
    conversations: how many conversations these are of
    merged: files that were edited since; these edits stay
    missing: files whose earlier content is unknown; they stay as they are
    conflicts: with any, and without `keep`, nothing was changed
    notice: why it is not committed yet
    """

    turn: Turn | None
    of: tuple[Turn, ...]
    files: tuple[FileChange, ...] = ()
    messages: int = 0
    conversations: int = 0
    merged: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    conflicts: tuple[FileConflict, ...] = ()
    notice: str = ""

    @property
    def refused(self) -> bool:
        """Nothing was done because of conflicts."""
        return bool(self.conflicts) and self.turn is None

    def as_json(self) -> dict[str, Any]:
        turns = {
            "turn": self.turn and self.turn.id,
            "of": [turn_json(turn, ()) for turn in self.of],
        }
        return asdict(self) | turns


def undoable(
    open_home: OpenHome, scope: Scope, session: str, kind: Kind = "turn"
) -> Iterator[Turn]:
    """Return the turns that can be undone, or of the kind "undo" those that can be redone, the
    newest first; only those of `session` if given, and none of another device."""
    elsewhere = open_home.history.elsewhere()
    return (
        turn
        for turn in open_home.history.turns()
        if turn.kind == kind and (turn.leaves(scope) if kind == "turn" else not turn.undone)
        and session in ("", turn.session) and turn.state != "running" and turn.id not in elsewhere
    )  # fmt: skip


def undo_or_redo(
    open_home: OpenHome, kind: Kind, count: int, scope: Scope, session: str, keep: bool
) -> UndoResult:
    """Undo the newest `count` turns that are not undone yet, or redo so many undos that are not
    redone yet; only those of `session` if given.

    UsageError when there is none; OpenclawError when a session is in use or a file cannot be
    written: then nothing has changed, or the next start completes the undo.
    """
    recover(open_home)
    history = open_home.history
    root = open_home.home.real_root
    with undo_lock(open_home):
        able = undoable(open_home, scope, session, "turn" if kind == "undo" else "undo")
        turns = tuple(islice(able, count))
        if not turns:
            where = f" in conversation {session}" if session else ""
            if foreign := history.foreign():
                where += f"; {foreign} records do not count: not written by you on this machine"
            raise UsageError(
                f"there is nothing to {kind}{where}", "see what was done: openclaw log"
            )
        make_plan = partial(Undo(root, history.reader(turns), _merge).plan, turns, scope)
        with ExitStack() as locks:
            names = {session_of(step.path) for turn in turns for step in turn.within(scope)}
            for name in sorted(name for name in names if name and "/" not in name):
                locks.enter_context(open_home.sessions.writing(name, LOCK_SECONDS))
            plan = make_plan()
            if plan.conflicts and not keep:
                return _to_result(None, turns, plan)
            entry = _history_entry(kind, turns, scope)
            journal = Journal.begin(open_home.home, entry, history.head())
            _write(make_plan, journal, plan)
            journal.finish("done")
        return _to_result(journal.record.turn, turns, plan, history.publish())


def _to_result(turn: Turn | None, of: tuple[Turn, ...], plan: Plan, notice: str = "") -> UndoResult:
    changes = plan.changes if turn else []
    files = tuple(
        file_change(Change(path, _text(plan.now[path]), _text(plan.wanted[path])))
        for path in changes
        if not path.startswith(TALK)
    )
    counts = [
        abs(_count_messages(plan.now[path]) - _count_messages(plan.wanted[path]))
        for path in changes
        if session_of(path) and path.count("/") == 1
    ]
    talks = sum(count > 0 for count in counts)
    found = (tuple(plan.merged), tuple(plan.missing), tuple(plan.conflicts))
    return UndoResult(turn, of, files, sum(counts), talks, *found, notice)


def _history_entry(kind: Kind, turns: Sequence[Turn], scope: Scope) -> Turn:
    verb, first = kind.capitalize(), turns[0].subject.removeprefix("Undo: ")
    words = f"{verb}: {first}" if len(turns) == 1 else f"{verb} {len(turns)}: {first} ..."
    sessions = {turn.session for turn in turns}
    return new_turn(
        words,
        kind,
        session=sessions.pop() if len(sessions) == 1 else "",
        of=tuple(turn.id for turn in turns),
        scope=scope,
    )


def _write(make_plan: Callable[..., Plan], journal: Journal, plan: Plan) -> None:
    """Write all files as planned. When one cannot be written, restore those before it and drop the
    record; when that fails too (the disk is still full), the record stays and the next start
    completes it."""
    steps = {path: journal.intend(path, plan.now[path], plan.wanted[path]) for path in plan.changes}
    journal.record.seal()
    done: list[str] = []
    try:
        for path, number in steps.items():
            _write_one(make_plan, journal, plan, path, number)
            done.append(path)
    except (OpenclawError, OSError):
        with contextlib.suppress(OpenclawError, OSError):
            for path in reversed(done):
                write_if_unchanged(journal.root, path, plan.wanted[path], plan.now[path])
            journal.record.drop()
        raise


def _write_one(
    make_plan: Callable[..., Plan], journal: Journal, plan: Plan, path: str, number: int
) -> None:
    """Write one file. When another program saves it at this moment, plan anew with its content."""
    for _ in range(ATTEMPTS):
        if write_if_unchanged(journal.root, path, plan.now[path], plan.wanted[path]):
            return
        again = make_plan(only=path)
        plan.now[path], plan.wanted[path] = again.now[path], again.wanted[path]
        journal.replace(number, path, again.now[path], again.wanted[path])
    raise OpenclawError(
        f"{path} is written by another program all the time", "let it finish, then try again"
    )


def _text(content: FileContent) -> str | None:
    return content and decode(content[0] or b"")


def _count_messages(content: FileContent) -> int:
    return messages_in(content and content[0])


def _merge(path: str, base: bytes, ours: bytes, theirs: bytes | None) -> tuple[bytes, bool] | None:
    """Merge a file of a conversation: messages one by one; notes in conflict stay as they are."""
    if not path.startswith(TALK):
        return None
    if path.endswith(".json"):
        return merge_sessions(base, ours, theirs)
    return ours, True


def session_of(path: str) -> str:
    """Return the id of the session that a file belongs to, "" without one."""
    name = path.removeprefix(TALK)
    if not path.startswith(TALK):
        return ""
    if name.startswith("archive/"):
        return name.split("/")[1]
    return name.removesuffix(".json").removesuffix(".notes.md")


COMMANDS = frozenset({"run_shell", "run_python"})


def recover(open_home: OpenHome) -> list[str]:
    """Finish the work of killed processes: close turns with what they had done, complete undos and
    commit all. Records that others have written are set aside. Return notices for the user, but not
    that something waits to be committed: what the caller does next waits with it, and says so."""
    aside = open_home.history.set_foreign_aside()
    found = open_home.history.unfinished()
    if found:
        tidy_up(open_home.home)
    news = [aside] if aside else []
    news += [line for record in found if (line := _recover_record(open_home, record))]
    if found or open_home.history.has_waiting():
        open_home.history.publish()
    return news


def _recover_record(open_home: OpenHome, record: Record) -> str:
    """Close one record, unless its process still runs."""
    is_turn = record.turn.kind == "turn"
    try:
        with hold_lock(open_home.home.private / "locks" / f"{record.turn.lock}.lock", 0.0):
            record = read(record.folder)
            if record.finished:
                record.make_ready()
                return ""
            return _close_turn(open_home, record) if is_turn else _complete_undo(open_home, record)
    except (OpenclawError, OSError, ValueError):
        return ""


def undo_lock(open_home: OpenHome) -> AbstractContextManager[None]:
    return hold_lock(open_home.home.private / "locks" / "undo.lock", LOCK_SECONDS, what="undo")


def _close_turn(open_home: OpenHome, record: Record) -> str:
    turn, journal = record.turn, Journal(open_home.home, record)
    if record.calls:
        _add_begun_calls(open_home, record)
    journal.settle()
    journal.finish("interrupted", open_home.sessions.files_of(turn.session) if turn.session else ())
    if not journal.record.finished:
        return ""
    kept = "what it had done is kept, openclaw undo takes it back"
    if any(call.output is None and call.tool in COMMANDS for call in record.calls):
        kept += ", but for what the command changed that was running"
    what = f"a turn of conversation {turn.session}" if turn.session else "a command"
    return f"{what} was interrupted ({turn.subject}); {kept}"


def _add_begun_calls(open_home: OpenHome, record: Record) -> None:
    """Add the begun calls to the conversation, with their results so far."""
    try:
        session = open_home.sessions.load(record.turn.session)
    except UsageError:  # it was killed before the first message was saved
        return
    uses = tuple(
        ToolUse(call.id, call.tool, call.input, INTERRUPTED if call.output is None else call.output,
                call.ok)
        for call in record.calls
    )  # fmt: skip
    if session.messages and session.messages[-1].tool_calls == uses:  # saved before the kill
        return
    session.messages.append(Entry("assistant", "", tool_calls=uses, at=timestamp()))
    open_home.sessions.save(session)


def _complete_undo(open_home: OpenHome, record: Record) -> str:
    if not record.sealed:  # nothing was written yet
        record.drop()
        return ""
    journal = Journal(open_home.home, record)
    try:
        if record.turn.kind == "sync":
            bring_in(open_home.history, journal)
            return f"{record.turn.subject}: it was interrupted and is now completed"
        for number, step in enumerate(record.steps):
            if step and number not in record.done:
                _complete_file(open_home, journal, step)
                record.mark(number)
    except OpenclawError as error:
        return f"{record.turn.subject}: it was interrupted and cannot be completed: {error}"
    journal.finish("done")
    return f"{record.turn.subject}: it was interrupted and is now completed"


def _complete_file(open_home: OpenHome, journal: Journal, step: TurnStep) -> None:
    before, after = (
        None if (data := open_home.history.read(name)) is None else (data, is_program(name))
        for name in (step.before, step.after)
    )
    if (step.after is None) == (after is None):
        write_if_unchanged(journal.root, step.path, before, after)
