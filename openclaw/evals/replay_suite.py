"""Replays a folder of recorded conversations and checks the expectations about them."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from openclaw.errors import UsageError
from openclaw.evals.recorded_turns import RecordedTurn, recorded_turns
from openclaw.evals.replay import Replay
from openclaw.evals.replay_compare import ReplayedTurn
from openclaw.evals.replay_home import ReplayHome
from openclaw.frozen import frozen
from openclaw.sessions.archive import FOLDER
from openclaw.sessions.session import Session, from_json, to_json
from openclaw.sessions.store import SessionStore
from openclaw.storage.safe_open import BOM, decode, read_bytes
from openclaw.storage.text import write_text

BEGINNING = """\
# {title}

What is expected of session {id} when it is run again: `openclaw sessions test`.

{turns}
"""


@frozen
class SuiteCase:
    """A conversation of a suite. `problems` are its unreadable parts."""

    session: Session
    turns: tuple[RecordedTurn, ...]
    expected: tuple[Expectation, ...]
    problems: tuple[str, ...] = ()

    def of(self, turn: RecordedTurn) -> list[Expectation]:
        return [each for each in self.expected if each.turn in (EVERY, turn.number)]


@frozen
class CheckedTurn:
    """A replayed turn, the number of expectations, and those that failed."""

    replayed: ReplayedTurn
    checks: int
    failures: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return not self.failures

    def as_json(self) -> dict[str, Any]:
        judged = {"passed": self.passed, "checks": self.checks, "failures": list(self.failures)}
        return self.replayed.as_json() | judged


def read_case(path: Path) -> SuiteCase:
    """Read a conversation of a suite; an invalid file gives no turns, and a problem. Nothing in the
    folder changes."""
    try:
        session = from_json(read_bytes(path).removeprefix(BOM).decode("utf-8"), path.stem)
    except (OSError, ValueError) as error:
        told = f"{path.name} is no session: {error}; take it out of the folder"
        return SuiteCase(Session(path.stem), (), (), (told,))
    store = SessionStore(path.parent, path.parent)
    turns = recorded_turns(store, session)
    notes = path.with_name(path.stem + SUFFIX)
    if not os.path.lexists(notes):
        return SuiteCase(session, tuple(turns), (DEFAULT,), tuple(store.problems))
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
    return SuiteCase(session, tuple(turns), tuple(expected), (*store.problems, *named))


def files_of(folder: Path) -> list[Path]:
    """Return the files of a suite's conversations. UsageError when there are none."""
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


def check_case(stage: ReplayHome, case: SuiteCase, *, live: bool = False) -> Iterator[CheckedTurn]:
    replay = Replay(stage, case.session, live=live)
    wanted = [turn for turn in case.turns if case.of(turn)]
    for replayed in replay.run(wanted):
        expected = case.of(replayed.recorded)
        yield CheckedTurn(replayed, len(expected), tuple(_failures(replayed, expected)))


def suite_json(done: Sequence[tuple[SuiteCase, Sequence[CheckedTurn]]]) -> dict[str, Any]:
    return {
        "passed": not any(case.problems for case, _ in done)
        and all(each.passed for _, turns in done for each in turns),
        "sessions": [
            {
                "id": case.session.id,
                "title": case.session.title,
                "problems": list(case.problems),
                "turns": [each.as_json() for each in turns],
            }
            for case, turns in done
        ],
    }


def _failures(replayed: ReplayedTurn, expected: Sequence[Expectation]) -> Iterator[str]:
    if replayed.played is None:
        yield f"not run: {replayed.lost}"
        return
    reasons = [reason for each in expected if (reason := failure_reason(each, replayed))]
    yield from reasons
    missing = replayed.played.missing
    if reasons and missing is not None:
        yield f"it ended at {missing.name}, which was not recorded with this input"


def add_to_suite(store: SessionStore, ref: str, folder: Path) -> tuple[Path, Path | None]:
    """Copy a conversation with its archive into a suite; add a file of expectations that names its
    turns, where there is none yet. UsageError when the conversation is there already."""
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
    told = []
    for turn in turns:
        words = " ".join(turn.user.content.split())
        told.append(f"## Turn {turn.number}\n\n> {words[:200]}\n\n- {DEFAULT}\n")
    title = " ".join(session.title.split()) or session.id
    write_text(notes, BEGINNING.format(title=title, id=session.id, turns="\n".join(told).strip()))
    return target, notes


SUFFIX = ".expect.md"
EVERY = 0  # in place of the number of a turn: all of them
Check = Literal["contains", "lacks", "matches", "calls", "calls not", "same", "same calls"]

_ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?(.*\S)")
_ROW = re.compile(r"\s*\|\s*(\d+(?=\s*\|))?([^|]*)\|(.*?)\|?\s*$")
_TURN = re.compile(
    r"[*`]*(?:every turn|turn #?0*([1-9]\d*))\b[*`\s:,.\u2013\u2014-]*", re.IGNORECASE
)
_CHECKS: Mapping[Check, tuple[str, str]] = {
    "same": ("same(?: answer)?", "same answer"),
    "same calls": ("same tools", "same tools"),
    "contains": ("(?:answer )?contains (.+)", 'answer contains "{}"'),
    "lacks": ("(?:answer )?does(?: not|n't) contain (.+)", 'answer does not contain "{}"'),
    "matches": ("(?:answer )?matches (.+)", "answer matches {}"),
    "calls not": (
        "calls nothing|does(?: not|n't) call (?:any tool|(.+))",
        "does not call {}",
    ),
    "calls": ("calls (.+)", "calls {}"),
}
"""The checks, each with the words for it: to be read, and to be shown."""
_STRAY = re.compile(r"\b(?:turns?|contains?|matches|lacks|calls?|same)\b", re.IGNORECASE)
"""A word by which an item looks like an expectation."""
UNNAMED = "names no turn; write `turn N: ...` or `every turn: ...`"
_QUOTED = re.compile(r"[\"'`\u201c\u201e\u00ab](.+)[\"'`\u201c\u201d\u00bb]\.?")
_REGEX = re.compile(r"/(.*)/([imsx]*)", re.DOTALL)


@frozen
class Expectation:
    """An expectation about a turn.

    turn: its number; EVERY: all turns
    value: words, a tool's name or a pattern; "" when none is needed
    line: its line in the file, from 1
    """

    turn: int
    check: Check
    value: str = ""
    line: int = 0

    def __str__(self) -> str:
        return _CHECKS[self.check][1].format(self.value or "any tool")


DEFAULT = Expectation(EVERY, "same calls")  # the expectations without a file


def read_expectations(text: str) -> tuple[list[Expectation], list[str]]:
    """Return the expectations of a file, and its problems, one line each."""
    found: list[Expectation] = []
    problems: list[str] = []
    above, fenced = None, False
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif line.startswith("#"):
            above = _TURN.match(line.lstrip("# "))
        elif not fenced and (words := _read_item(line)):
            named = _TURN.match(words) or above
            try:
                if named:
                    found.append(_read_expectation(named, words, number))
                elif _STRAY.search(words):
                    raise ValueError(UNNAMED)
            except ValueError as error:
                problems.append(f"line {number}: {error}")
    return found, problems


def _read_item(line: str) -> str:
    """Return the words of an item or row, "" for other lines and the title of a table."""
    if found := _ITEM.match(line):
        return found[1]
    if not (found := _ROW.match(line)) or found[2].strip().casefold() == "turn":
        return ""
    number, name, words = found.groups()
    return f"turn {number}: {words.strip()}" if number else f"{name.strip()}: {words.strip()}"


def _read_expectation(named: re.Match[str], words: str, line: int) -> Expectation:
    """Return the expectation that words mean. ValueError for others."""
    turn = int(named[1] or EVERY)
    words = words.removeprefix(named[0]).replace("\\|", "|").strip()
    for check, (form, _) in _CHECKS.items():
        if found := re.fullmatch(form, words, re.IGNORECASE):
            value = "".join(filter(None, found.groups())).strip()
            value = quoted[1] if (quoted := _QUOTED.fullmatch(value)) else value
            if check == "matches":
                _pattern(value)
            return Expectation(turn, check, value, line)
    raise ValueError(f"not understood: {words or 'nothing is expected'}")


def failure_reason(expected: Expectation, replayed: ReplayedTurn) -> str:
    """Return why a turn that was run is not as expected, "" when it is."""
    played, recorded, value = replayed.played, replayed.recorded, expected.value
    answer = played.answer if played else ""
    calls = [tool for tool, _ in played.calls] if played else []
    then = [use.tool for use in recorded.uses]
    called = [name for name in calls if name.casefold() == value.casefold()]
    contained = value.casefold() in answer.casefold()
    right: dict[Check, object] = {
        "contains": contained,
        "lacks": not contained,
        "matches": expected.check == "matches" and _pattern(value).search(answer),
        "calls": called,
        "calls not": not (called if value else calls),
        "same": answer == recorded.answer,
        "same calls": calls == then,
    }
    if right[expected.check]:
        return ""
    names = ", ".join(calls) or "nothing"
    if expected.check == "same calls":
        return f"called {names} instead of {', '.join(then) or 'nothing'}"
    if "calls" in expected.check:
        return f"{expected}: called {names}"
    return f"not so: {expected}"


def _pattern(value: str) -> re.Pattern[str]:
    """Return the pattern of /.../flags, or of a text without slashes. ValueError for a bad one."""
    found = _REGEX.fullmatch(value)
    body, flags = found.groups() if found else (value, "")
    try:
        return re.compile(f"(?{flags}){body}" if flags else body)
    except re.error as error:
        raise ValueError(f"{value} is no pattern ({error})") from None
