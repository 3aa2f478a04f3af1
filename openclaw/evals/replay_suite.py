"""Replays a folder of recorded conversations and checks the expectations about them."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from openclaw.errors import UsageError
from openclaw.evals.recorded import RecordedTurn, recorded_turns
from openclaw.evals.replay import Replay
from openclaw.evals.replay_compare import ReplayedTurn
from openclaw.evals.replay_home import ReplayHome
from openclaw.frozen import frozen
from openclaw.sessions.archive import FOLDER
from openclaw.sessions.session import Session, from_json, to_json
from openclaw.sessions.store import SessionStore
from openclaw.storage.safe_open import read_bytes
from openclaw.storage.text import BOM, decode, write_text

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
        """Return the expectations about a turn."""
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
    """Replay and check the turns of a case with expectations."""
    replay = Replay(stage, case.session, live=live)
    wanted = [turn for turn in case.turns if case.of(turn)]
    for replayed in replay.run(wanted):
        expected = case.of(replayed.recorded)
        yield CheckedTurn(replayed, len(expected), tuple(_failures(replayed, expected)))


def _failures(replayed: ReplayedTurn, expected: Sequence[Expectation]) -> Iterator[str]:
    played, recorded = replayed.played, replayed.recorded
    if played is None:
        yield f"not run: {replayed.lost}"
        return
    outcome = TurnResult(
        played.answer,
        tuple(tool for tool, _ in played.calls),
        recorded.answer,
        tuple(use.tool for use in recorded.uses),
    )
    reasons = [reason for each in expected if (reason := failure_reason(each, outcome))]
    yield from reasons
    if reasons and played.missing is not None:
        yield f"it ended at {played.missing.name}, which was not recorded with this input"


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
EVERY = 0
"""In place of the number of a turn: all of them."""
Check = Literal["contains", "lacks", "matches", "calls", "calls not", "same", "same calls"]

_ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?(?P<text>.*\S)")
_ROW = re.compile(r"\s*\|?(?P<turn>[^|]*)\|(?P<text>.*?)\|?\s*$")
_TURN = re.compile(
    r"(?:\*\*|`)?(?:(?P<every>(?:every|each|all|any)(?: turns?)?)"
    r"|(?:turn|#)\s*#?(?P<number>0*[1-9]\d*))"
    r"(?:\*\*|`)?\s*(?:[:,.\u2013\u2014-]\s*)?",
    re.I,
)
_CHECK = re.compile(
    r"(?:(?:the )?answer )?(?P<not>(?:does not|doesn't|must not|never) )?"
    r"(?:(?:is |calls )?(?:the )?(?P<same>same(?: answer| tools| calls)?)"
    r"|(?P<verb>contain|lack|match|call|use)(?:e?s)?\s+(?P<value>.+))",
    re.I,
)
_CHECKS: dict[tuple[str, bool], Check] = {
    ("contain", False): "contains",
    ("contain", True): "lacks",
    ("lack", False): "lacks",
    ("match", False): "matches",
    ("call", False): "calls",
    ("call", True): "calls not",
    ("use", False): "calls",
    ("use", True): "calls not",
}
"""The check that a verb means, and with a "not" before it."""
_STRAY = re.compile(r"\b(?:turns?|contains?|matches|lacks|calls?|same)\b", re.I)
"""A word by which an item looks like an expectation."""
UNNAMED = "names no turn; write `turn N: ...` or `every turn: ...`"
_QUOTES = {'"': '"', "'": "'", "`": "`", "\u201c": "\u201d", "\u201e": "\u201c", "\u00ab": "\u00bb"}
_NOTHING = ("nothing", "no tool", "no tools")
_ANYTHING = ("any tool", "anything", "tools")
_REGEX = re.compile(r"/(?P<pattern>.*)/(?P<flags>[imsx]*)$", re.DOTALL)


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
        words = {
            "contains": f'answer contains "{self.value}"',
            "lacks": f'answer does not contain "{self.value}"',
            "matches": f"answer matches {self.value}",
            "calls": f"calls {self.value}",
            "calls not": f"does not call {self.value or 'any tool'}",
            "same": "same answer",
            "same calls": "same tools",
        }
        return words[self.check]


@frozen
class TurnResult:
    """The new and the recorded result of a turn: answers and names of called tools."""

    answer: str
    calls: Sequence[str]
    recorded_answer: str = ""
    recorded_calls: Sequence[str] = ()


DEFAULT = Expectation(EVERY, "same calls")
"""The expectations without a file."""


def read_expectations(text: str) -> tuple[list[Expectation], list[str]]:
    """Return the expectations of a file, and its problems, one line each."""
    found: list[Expectation] = []
    problems: list[str] = []
    heading: int | None = None
    fenced = False
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif line.startswith("#"):
            heading = _read_turn(line.lstrip("# "))[0]
        elif not fenced and (said := _read_item(line, heading)):
            turn, words = said
            if turn is None:
                problems += [f"line {number}: {UNNAMED}"] if _STRAY.search(line) else []
                continue
            made = _expectation(turn, words, number)
            if isinstance(made, str):
                problems.append(f"line {number}: {made}")
            else:
                found.append(made)
    return found, problems


def failure_reason(expected: Expectation, outcome: TurnResult) -> str:
    """Return why a turn is not as expected, "" when it is."""
    value, answer = expected.value, outcome.answer
    plain = value.casefold() in answer.casefold()
    wanted = value.strip("`()").casefold()
    called = [name for name in outcome.calls if name.casefold() == wanted]
    wrong = {
        "contains": not plain,
        "lacks": plain,
        "matches": expected.check == "matches" and not pattern(value).search(answer),
        "calls": not called,
        "calls not": bool(called if value else outcome.calls),
        "same": answer != outcome.recorded_answer,
        "same calls": list(outcome.calls) != list(outcome.recorded_calls),
    }[expected.check]
    if not wrong:
        return ""
    if expected.check == "same calls":
        return (
            f"called {_join_names(outcome.calls)} instead of {_join_names(outcome.recorded_calls)}"
        )
    if expected.check in ("calls", "calls not"):
        return f"{expected}: called {_join_names(outcome.calls)}"
    return f"not so: {expected}"


def pattern(value: str) -> re.Pattern[str]:
    """Return the pattern of /.../flags, or of a text without slashes. re.error for a bad one."""
    found = _REGEX.fullmatch(value)
    if found is None:
        return re.compile(value)
    flags = "".join(dict.fromkeys(found["flags"]))
    return re.compile(f"(?{flags}){found['pattern']}" if flags else found["pattern"])


def _read_item(line: str, heading: int | None) -> tuple[int | None, str] | None:
    """Return the turn (None: not named) and the words of an item or row; None for other lines."""
    if found := _ITEM.match(line):
        turn, rest = _read_turn(found["text"])
        return (heading if turn is None else turn), rest
    if "|" in line and (found := _ROW.match(line)):
        cell, words = found["turn"].strip(), found["text"].strip()
        turn = int(cell) or None if cell.isdecimal() else _read_turn(cell)[0]
        is_title = cell.casefold() in ("turn", "turns", "")
        return None if turn is None and is_title else (turn, words)
    return None


def _read_turn(text: str) -> tuple[int | None, str]:
    """Return the turn at the beginning of a text (None: none), and the rest."""
    found = _TURN.match(text)
    if found is None:
        return None, text.strip()
    number = EVERY if found["every"] else int(found["number"])
    return number, text[found.end() :].strip()


def _expectation(turn: int, words: str, line: int) -> Expectation | str:
    """Return the expectation that words mean, or what is wrong with them."""
    words = words.replace("\\|", "|").strip()
    unclear = f"not understood: {words or 'nothing is expected'}"
    found = _CHECK.fullmatch(words)
    if found is None:
        return unclear
    if same := found["same"]:
        what: Check = "same calls" if same.casefold().endswith(("tools", "calls")) else "same"
        return unclear if found["not"] else Expectation(turn, what, "", line)
    check = _CHECKS.get((found["verb"].casefold(), bool(found["not"])))
    value = _unquote(found["value"])
    if check == "calls" and value.casefold() in _NOTHING:
        check = "calls not"
    if check == "calls not" and value.casefold() in (*_NOTHING, *_ANYTHING):
        value = ""
    if check == "matches":
        try:
            pattern(value)
        except re.error as error:
            return f"{value} is no pattern ({error})"
    return Expectation(turn, check, value, line) if check else unclear


def _unquote(value: str) -> str:
    """Return a value without its quotes and a full stop behind them."""
    value = value.strip()
    bare = value.removesuffix(".")
    if len(bare) > 1 and _QUOTES.get(bare[0]) == bare[-1]:
        return bare[1:-1]
    return value


def _join_names(names: Sequence[str]) -> str:
    return ", ".join(names) or "nothing"
