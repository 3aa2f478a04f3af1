"""Runs a folder of recorded conversations against what is expected of them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from openclaw.app.replay import Replay
from openclaw.app.replay_compare import Replayed
from openclaw.app.replay_stage import Stage
from openclaw.app.replay_turns import Recorded, recorded_turns
from openclaw.errors import UsageError
from openclaw.files.beneath import read_bytes
from openclaw.files.text import BOM, decode, write_text
from openclaw.sessions.archive import FOLDER
from openclaw.sessions.expectations import (
    DEFAULT,
    EVERY,
    SUFFIX,
    Expectation,
    Outcome,
    failed,
    read_expectations,
)
from openclaw.sessions.session import Session, from_json, to_json
from openclaw.sessions.store import SessionStore

BEGINNING = """\
# {title}

What is expected of session {id} when it is run again: `openclaw sessions test`.

{turns}
"""


@dataclass(frozen=True, slots=True)
class Case:
    """A conversation of a suite. `problems` say what of it cannot be read; `written` whether
    anything is written down of it."""

    session: Session
    turns: tuple[Recorded, ...]
    expected: tuple[Expectation, ...]
    problems: tuple[str, ...] = ()
    written: bool = False

    def of(self, turn: Recorded) -> list[Expectation]:
        """What is expected of a turn."""
        return [each for each in self.expected if each.turn in (EVERY, turn.number)]


@dataclass(frozen=True, slots=True)
class Judged:
    """A turn that was run again, how many expectations there were, and those that failed."""

    replayed: Replayed
    checks: int
    failures: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return not self.failures


def read_case(path: Path) -> Case:
    """A conversation of a suite from its file; one that is none has no turns, and a problem.
    Nothing in the folder is changed."""
    try:
        session = from_json(read_bytes(path).removeprefix(BOM).decode("utf-8"), path.stem)
    except (OSError, ValueError) as error:
        told = f"{path.name} is no session: {error}; take it out of the folder"
        return Case(Session(path.stem), (), (), (told,))
    store = SessionStore(path.parent, path.parent)
    turns = recorded_turns(store, session)
    notes = path.with_name(path.stem + SUFFIX)
    if not os.path.lexists(notes):
        return Case(session, tuple(turns), (DEFAULT,), tuple(store.problems))
    try:
        expected, problems = read_expectations(decode(read_bytes(notes)))
    except OSError as error:
        expected, problems = [], [f"cannot be read: {error.strerror}"]
    if not (expected or problems):
        problems.append("holds no expectation")
    numbers = {turn.number for turn in turns}
    problems += [
        f"line {each.line}: there is no turn {each.turn}"
        for each in expected
        if each.turn not in (EVERY, *numbers)
    ]
    named = [f"{notes.name} {problem}" for problem in problems]
    return Case(session, tuple(turns), tuple(expected), (*store.problems, *named), True)


def files_of(folder: Path) -> list[Path]:
    """The files of a suite's conversations. UsageError when there are none."""
    found = []
    if folder.is_dir():
        files = folder.glob("*.json")
        found = sorted(path for path in files if "." not in path.stem and path.is_file())
    if not found:
        raise UsageError(
            f"there is no session in {folder}",
            f"put one there: openclaw sessions test {folder} --from ID",
        )
    return found


def judged(stage: Stage, case: Case, *, live: bool = False) -> Iterator[Judged]:
    """The turns of a case of which something is expected, each run again."""
    replay = Replay(stage, case.session, live=live)
    wanted = [turn for turn in case.turns if case.of(turn)]
    for replayed in replay.run(wanted):
        expected = case.of(replayed.recorded)
        yield Judged(replayed, len(expected), tuple(_failures(replayed, expected)))


def _failures(replayed: Replayed, expected: Sequence[Expectation]) -> Iterator[str]:
    played, recorded = replayed.played, replayed.recorded
    if played is None:
        yield f"not run: {replayed.lost}"
        return
    outcome = Outcome(
        played.answer,
        tuple(tool for tool, _ in played.calls),
        recorded.answer,
        tuple(use.tool for use in recorded.uses),
    )
    reasons = [reason for each in expected if (reason := failed(each, outcome))]
    yield from reasons
    if reasons and played.missing is not None:
        yield f"it ended at {played.missing.name}, which was not recorded with this input"


def put(store: SessionStore, ref: str, folder: Path) -> tuple[Path, Path | None]:
    """Put a copy of a conversation with its archive into a suite; a file that names its turns, for
    the expectations, where there is none yet. UsageError when the conversation is there already."""
    session = store.load(ref)
    target = folder / f"{session.id}.json"
    if target.exists():
        raise UsageError(f"{target} is there already", "remove it first")
    turns = recorded_turns(store, session)
    archive = store.folder / FOLDER / session.id
    if archive.is_dir():
        shutil.copytree(archive, folder / FOLDER / session.id, dirs_exist_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    write_text(target, to_json(session))
    notes = target.with_name(session.id + SUFFIX)
    if notes.exists():
        return target, None
    write_text(notes, _beginning(session, turns))
    return target, notes


def _beginning(session: Session, turns: Sequence[Recorded]) -> str:
    """A file of expectations that says what holds now: the same tools in every turn."""
    told = []
    for turn in turns:
        words = " ".join(turn.user.content.split())
        told.append(f"## Turn {turn.number}\n\n> {words[:200]}\n\n- {DEFAULT}\n")
    title = " ".join(session.title.split()) or session.id
    return BEGINNING.format(title=title, id=session.id, turns="\n".join(told).strip())
