"""The record of a turn that runs or waits to be committed: a folder with its lines and contents.

`.openclaw/history/turns/<when>-<id>/turn.jsonl` has a first line that says what turn it is
(version 2), then one for each file that was written and each call that was begun, each on the disk
before it happens. Contents stand beside it, compressed, named by their SHA-256. Every line is
signed (`sign`): what another user or machine wrote is no record, nor is one of version
1, which was not signed.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import os
import re
import secrets
import shutil
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

from openclaw.errors import Damaged, OpenclawError
from openclaw.frozen import frozen
from openclaw.history.turns import EXECUTABLE, UNKNOWN, Kind, State, Turn, TurnStep
from openclaw.security.display import first_words
from openclaw.security.untrusted import private_key
from openclaw.storage.home import Home, is_inside
from openclaw.storage.program import data_folder
from openclaw.storage.safe_open import (
    LARGEST_KEPT,
    appending,
    check_no_links,
    make_folder,
    open_folder,
    parse_foreign_json,
    read_bytes,
    read_content,
    refuse_newer,
    remove,
    writing,
)
from openclaw.storage.text import report_unwritable, write_if_same
from openclaw.types import FileContent, local_time

VERSION = 2
LINES = "turn.jsonl"
RUNNING, READY = "running", "ready"
"""Empty files that say so without the lines being read: it is not finished, not committed."""
DROPPED = "dropped"  # the folder of records that are being removed, beside that of records
PLACE = "history/turns"
ARCHIVE = "sessions/archive/"
SUBJECT = 72  # characters of a prompt that stand for it, as many as a line of git's log should have
DIGITS = 20
CONTENT = re.compile(r"[0-9]+-[0-9a-f]+/[0-9a-f]{64}")
"""How the name of a content looks: that of its record and its SHA-256."""
SIGNED = re.compile(rb'(\{.+),"mac":"([0-9a-f]{64})"\}')
HEADER = ("id", "kind", "at", "subject", "session", "number", "model", "of", "scope")


class ForeignRecord(ValueError):
    """A record that this user did not write on this machine, or that was changed since."""


@frozen
class Call:
    """A call of a tool that was begun; `output` is None when its end was never seen."""

    id: str
    tool: str
    input: Mapping[str, Any]
    output: str | None = None
    ok: bool = False


@dataclass(slots=True)
class Record:
    """One record as it is on the disk.

    steps: the turn's steps in the order of their lines, None for a voided one
    calls: the tool calls that no saved message holds
    head: the commit of HEAD when the turn began, "" when unknown
    talk: the earlier contents of the conversation's files, by path
    finished: the time of its end in ns, 0 while it runs
    sealed: for an undo, all its steps are noted; it writes no file before that
    done: the numbers of the undo's steps that were taken
    commit: the commit that holds all paths but `left`
    left: paths that git does not hold
    mac: the signature of the last line, "" where it may not have reached the disk
    """

    folder: Path
    turn: Turn
    steps: list[TurnStep | None] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    head: str = ""
    talk: dict[str, str | None] = field(default_factory=dict)
    finished: int = 0
    sealed: bool = False
    done: set[int] = field(default_factory=set)
    commit: str = ""
    left: frozenset[str] = frozenset()
    mac: str = ""

    # -------- contents

    def put(
        self, data: bytes | None, *, executable: bool = False, at_once: bool = True
    ) -> str | None:
        """Keep a content; returns its name. When this returns it is on the disk, unless it need not
        be there at once."""
        if data is None:
            return None
        if len(data) > LARGEST_KEPT:
            return UNKNOWN
        name = hashlib.sha256(data).hexdigest()
        if not (self.folder / name).exists():
            self._write(self.folder / name, zlib.compress(data, 1), at_once)
        return f"{self.folder.name}/{name}{EXECUTABLE if executable else ''}"

    def _write(self, path: Path, data: bytes, at_once: bool) -> None:
        if at_once:
            write_if_same(path, None, data)
            return
        with report_unwritable(path), writing(path) as file:
            file.write(data)

    # -------- lines

    def add(self, *lines: Mapping[str, Any], at_once: bool = True) -> None:
        """Append lines; when this returns they are on the disk. Those that need not be at once are
        there after the next line that has to be. OpenclawError when they cannot be written."""
        self.append(*lines, at_once=at_once)
        self.take(lines)

    def take(self, lines: Iterable[Mapping[str, Any]]) -> None:
        """Let the record be as these lines say."""
        for line in lines:
            self._take(line)
        self.turn = replace(self.turn, steps=tuple(step for step in self.steps if step))

    def _take(self, line: Mapping[str, Any]) -> None:
        if "path" in line:
            step = TurnStep(line["path"], line.get("before"), line.get("after"))
            if "swap" in line:
                self.steps[line["swap"]] = step
            else:
                self.steps.append(step)
        elif "void" in line:
            self.steps[line["void"]] = None
        elif "talk" in line:
            self.talk[line["talk"]] = line.get("before")
        elif "call" in line:
            self.calls.append(Call(line["call"], line.get("tool", ""), line.get("input", {})))
        elif "ended" in line:
            self.calls = [
                replace(call, output=line.get("output", ""), ok=bool(line.get("ok")))
                if call.id == line["ended"] and call.output is None
                else call
                for call in self.calls
            ]
        elif "done" in line:
            self.done.add(line["done"])
        elif "sealed" in line:
            self.sealed = True
        elif "saved" in line:
            self.calls = []
        elif "state" in line:
            tools = tuple(line.get("tools", ()))
            self.turn = replace(self.turn, state=line["state"], tools=tools)
            self.finished = int(line.get("finished", 0))
        elif "commit" in line:
            self.commit, self.left = line["commit"], frozenset(line.get("left", ()))

    def append(self, *lines: Mapping[str, Any], at_once: bool) -> None:
        """Write lines without looking at what they say."""
        path = self.folder / LINES
        with report_unwritable(path):
            mac, self.mac = self.mac or _signed(self.folder)[1], ""
            data = b""
            for line in lines:
                # ASCII, because names may be no text.
                text = json.dumps(line, separators=(",", ":")).encode("ascii")
                mac = sign(mac, text)
                data += b'%s,"mac":"%s"}\n' % (text[:-1], mac.encode())
            with appending(path) as file:
                if _is_cut(file):  # a line that did not fit on the disk, or was cut off by a kill
                    data = b"\n" + data
                file.write(data)
                file.flush()
                if at_once:
                    os.fsync(file.fileno())
        self.mac = mac

    def step(self, *steps: TurnStep, at_once: bool = True) -> int:
        """Note files that are about to be written; the number of the last voids it."""
        self.add(*map(asdict, steps), at_once=at_once)
        return len(self.steps) - 1

    def swap(self, number: int, step: TurnStep) -> None:
        """Something else is about to be written to that file."""
        self.add({"swap": number, **asdict(step)})

    def void(self, number: int) -> None:
        """Note that an announced write was not made."""
        self.add({"void": number})

    def seal(self) -> None:
        """All that an undo is to write is noted; from here on it can be completed."""
        self.add({"sealed": True})

    def mark(self, number: int) -> None:
        """That step of an undo is done."""
        self.add({"done": number})

    def finish(self, state: State, tools: Sequence[str]) -> None:
        self.add({"state": state, "tools": list(tools), "finished": time.time_ns()})
        self.make_ready()

    def make_ready(self) -> None:
        """Let it be found as one that is finished and not committed."""
        with contextlib.suppress(OSError):
            appending(self.folder / READY).close()
            remove(self.folder / RUNNING)

    def committed(self, commit: str, left: Sequence[str]) -> None:
        """It is in git but for the files `left`."""
        self.add({"commit": commit, "left": list(left)})
        with contextlib.suppress(OSError):
            remove(self.folder / READY)

    def drop(self) -> None:
        """Remove it, with what a kill has left of others. Of one that cannot be removed the lines
        go first, so that it is none."""
        aside = self.folder.parent.parent / DROPPED
        with contextlib.suppress(OSError):
            make_folder(aside, 0o700)
            self.folder = check_no_links(self.folder).rename(
                check_no_links(aside) / self.folder.name
            )
        with contextlib.suppress(OSError):
            remove(self.folder / LINES)
            shutil.rmtree(check_no_links(self.folder), ignore_errors=True)
        with contextlib.suppress(OSError):
            shutil.rmtree(check_no_links(aside), ignore_errors=True)


def _number(place: Path) -> int:
    """The time, or more than the newest record's where the clock has gone back: records stand in
    the order in which they were begun."""
    numbers = (Path(name).name.partition("-")[0] for name in folders(place))
    newest = max((int(n) for n in numbers if n.isdecimal() and len(n) == DIGITS), default=0)
    return max(time.time_ns(), min(newest + 1, int("9" * DIGITS)))


def records(place: Path, *marks: str) -> list[Record]:
    """All records, or those that have one of these marks, the oldest first; a folder without a
    readable first line is none, nor is one that was not written here."""
    return [found for _, found in _read_all(place, *marks) if isinstance(found, Record)]


def unreadable(place: Path) -> list[tuple[Path, Exception]]:
    """Folders that hold lines which are no record of this version, each with the reason."""
    return [(folder, why) for folder, why in _read_all(place) if isinstance(why, Exception)]


def foreign(place: Path, *marks: str) -> list[Path]:
    """Folders with lines that were not written here; with `marks` those that have one of them."""
    return [
        folder for folder, found in _read_all(place, *marks) if isinstance(found, ForeignRecord)
    ]


def folders(place: Path, *marks: str) -> list[str]:
    """The folders of records, or those that have one of these marks, whatever else is in them."""
    try:
        found = sorted(entry.path for entry in os.scandir(place) if entry.is_dir())
    except OSError:
        return []
    if not marks:
        return found
    return [each for each in found if any(os.path.exists(f"{each}/{mark}") for mark in marks)]  # noqa: PTH110


def _read_all(place: Path, *marks: str) -> Iterator[tuple[Path, Record | Exception]]:
    for folder in map(Path, folders(place, *marks)):
        try:
            yield folder, read(folder)
        except FileNotFoundError:
            continue
        except (OSError, ValueError, Damaged) as error:
            yield folder, error


def read(folder: Path) -> Record:
    """A record from its lines. A last line that was cut off by a kill is none. ValueError for what
    is no record, Foreign for one that was not written here, Damaged for one of a newer version."""
    lines, mac = _signed(folder)
    if not lines:
        raise ValueError("no record")
    known = {name: lines[0][name] for name in HEADER if name in lines[0]}
    turn = Turn(**{**known, "of": tuple(known.get("of", ()))}, state="running")
    record = Record(folder, turn, head=str(lines[0].get("head") or ""), mac=mac)
    record.take(lines[1:])
    # A file that no tool may write either is of no step.
    record.steps = [step if step and is_inside(step.path) else None for step in record.steps]
    record.take(())
    return record


def _signed(folder: Path) -> tuple[list[dict[str, Any]], str]:
    """The lines of a record and the signature of the last one; raises as `read`. No line is looked
    into before its signature, but for the version."""
    found: list[dict[str, Any]] = []
    mac = folder.name
    for text in read_bytes(folder / LINES).split(b"\n"):
        line = _line(text)
        if not line:  # cut off
            continue
        if not found:
            refuse_newer(line.get("version"), VERSION, str(folder / LINES))
        parts = SIGNED.fullmatch(text)
        if not parts or not hmac.compare_digest(parts[2], sign(mac, parts[1] + b"}").encode()):
            raise ForeignRecord("not written here")
        mac = parts[2].decode()
        found.append(line)
    return found, mac


def _is_cut(file: BinaryIO) -> bool:
    """Return True when the last line has no end."""
    if not file.seek(0, os.SEEK_END):
        return False
    file.seek(-1, os.SEEK_END)
    return file.read(1) != b"\n"


def _line(text: bytes) -> dict[str, Any]:
    """A line as an object; an empty one for what is cut off or damaged."""
    try:
        value = parse_foreign_json(text) if text.strip() else {}
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def content(place: Path, name: str) -> bytes | None:
    """The content of that name, None when it is not there or damaged."""
    name = name.removesuffix(EXECUTABLE)
    if not CONTENT.fullmatch(name):
        return None
    try:
        data = zlib.decompressobj().decompress(read_bytes(place / name), LARGEST_KEPT + 1)
    except (OSError, zlib.error):
        return None
    return data if hashlib.sha256(data).hexdigest() == name.rpartition("/")[2] else None


FILE = "openclaw-history.key"


def key_file() -> Path:
    """Where this user's key is kept. Without it the records until then do not count any more, and
    what a process with a key of its own has left is not completed."""
    return data_folder() / FILE


def sign(before: str, line: bytes) -> str:
    """The signature of a line that follows the one with the signature `before`."""
    data = b"%s\0%s" % (before.encode(), line)
    return hmac.digest(private_key(key_file()), data, hashlib.sha256).hex()


# -------- the record of a running turn


def place_of(home: Home) -> Path:
    """The folder of the home's records."""
    return home.private / PLACE


def new_turn(words: str, kind: Kind = "turn", **given: Any) -> Turn:
    """A turn that begins now, with the first of these words as its subject."""
    at = local_time().isoformat(timespec="milliseconds")  # many begin in a second
    return Turn(secrets.token_hex(4), kind, at, first_words(words, SUBJECT, SUBJECT // 2), **given)


class Journal:
    """The record of one running turn. `unknown` are files of which not all is kept; `show` is told
    of each change that a tool makes, also elsewhere, before it is recorded."""

    def __init__(self, home: Home, record: Record) -> None:
        self.home, self.record = home, record
        self.root = home.real_root
        self.unknown: list[str] = []
        self.show: Callable[[str, bytes | None, bytes | None], object]
        self.show = lambda name, before, after: None
        self._tools = {call.tool: None for call in record.calls}

    @classmethod
    def begin(cls, home: Home, turn: Turn, head: str = "", talk: Iterable[Path] = ()) -> Journal:
        """Begin the record of a running turn; `head` is the commit that it finds, `talk` are the
        files of its conversation, which are kept as they are before it. Without any the record is
        on the disk with the next line that has to be. OpenclawError when it cannot be written."""
        place = place_of(home)
        folder = place / f"{_number(place):0{DIGITS}d}-{turn.id}"
        record = Record(folder, replace(turn, state="running"), head=head, mac=folder.name)
        journal = cls(home, record)
        try:
            with report_unwritable(folder):
                make_folder(place, 0o700)
                with open_folder(place) as above:
                    above.make(folder.name, 0o700)
                appending(folder / RUNNING).close()
            header = {name: getattr(turn, name) for name in HEADER}
            lines = [journal._as_before(path) for path in talk]
            record.append({"version": VERSION, "head": head, **header}, *lines, at_once=bool(lines))
            record.take(lines)
        except OpenclawError:
            record.drop()
            raise
        return journal

    def writes(
        self, path: Path, before: bytes | None, after: bytes | None, *, at_once: bool = True
    ) -> Callable[[], None]:
        """A file of the home is about to be written. What is returned is called when it was not.
        Without `at_once` only what would be lost is on the disk by then: a power cut may leave a
        new file that is in no record."""
        try:
            name = path.relative_to(self.root).as_posix()
        except ValueError:
            self.show(str(path), before, after)
            return lambda: None
        if name.startswith((".openclaw/", ".git/")):
            return lambda: None
        self.show(name, before, after)
        mode = is_executable(path)
        step = TurnStep(
            name,
            self.record.put(before, executable=mode),
            self.record.put(after, executable=mode, at_once=at_once),
        )
        number = self.record.step(step, at_once=at_once or before is not None)
        return lambda: self.record.void(number)

    def intend(self, path: str, before: FileContent, after: FileContent) -> int:
        """A file will go from one content to another as a part of an undo; a number by which to
        replace that. It is on the disk when the record is sealed."""
        return self.record.step(self._step(path, before, after), at_once=False)

    def replace(self, number: int, path: str, before: FileContent, after: FileContent) -> None:
        """Something else will be written to that file, as it was changed meanwhile."""
        self.record.swap(number, self._step(path, before, after))

    def _step(self, path: str, before: FileContent, after: FileContent) -> TurnStep:
        was, new = (self._keep(held, at_once=True) for held in (before, after))
        return TurnStep(path, was, new)

    def changed(
        self,
        names: Iterable[str],
        before: Callable[[str], FileContent],
        after: Callable[[str], FileContent],
    ) -> Callable[[str], None]:
        """A command changes these files. What is returned is called with one that it did not."""
        steps = []
        for name in names:
            held = before(name), after(name)
            if not any(each and each[0] is None for each in held):  # their bytes are known
                self.show(name, *(each and each[0] for each in held))
            was, new = map(self._keep, held)
            if was != new or was == UNKNOWN:
                steps.append(TurnStep(name, was, new))
                self.unknown += [name] if UNKNOWN in (was, new) else []
        first = len(self.record.steps)
        self.record.step(*steps)
        numbers = {step.path: number for number, step in enumerate(steps, first)}

        def void(name: str) -> None:
            if name in numbers:
                self.record.void(numbers.pop(name))

        return void

    # -------- calls and the conversation

    def call(self, call_id: str, tool: str, given: Mapping[str, Any]) -> None:
        """A call begins."""
        self._tools[tool] = None
        self.record.add({"call": call_id, "tool": tool, "input": dict(given)})

    def ended(self, call_id: str, output: str, ok: bool) -> None:
        """A call has ended; no saved message holds it yet."""
        self.record.add({"ended": call_id, "output": output, "ok": ok})

    def saved(self) -> None:
        """The conversation is saved with all calls until now."""
        if self.record.calls:
            self.record.add({"saved": True})

    def _as_before(self, path: Path) -> dict[str, str | None]:
        """The line of a file of the conversation. What is in the archive never changes, so that it
        is enough to know that it was there."""
        name = self.home.relative(path)
        is_archived = ARCHIVE in name and path.exists()
        return {"talk": name, "before": UNKNOWN if is_archived else self._put(name)}

    def forget_talk(self) -> None:
        """The conversation goes on in other files; what became of these is not of this turn."""
        self.record.talk.clear()

    def finish(self, state: State, talk: Iterable[Path] = ()) -> None:
        """The turn is over. `talk` are the files of the conversation as it is now. A turn that
        changed nothing leaves no record."""
        now = dict.fromkeys((*self.record.talk, *(self.home.relative(path) for path in talk)))
        for name in now:
            before = self.record.talk.get(name)
            after = self._put(name) if before != UNKNOWN else UNKNOWN
            if after != before:  # on the disk with the last line
                self.record.step(TurnStep(name, before, after), at_once=False)
        if self.record.turn.steps or self.record.turn.kind != "turn":
            self.record.finish(state, list(self._tools))
        else:
            self.record.drop()

    def settle(self) -> None:
        """After a kill, void the steps that were announced but not written."""
        newest = {step.path: number for number, step in enumerate(self.record.steps) if step}
        for path, number in newest.items():
            step = self.record.steps[number]
            if step and step.before != step.after and self._put(path) == step.before:
                self.record.void(number)

    def _put(self, name: str) -> str | None:
        """Keep the content of a file; UNKNOWN when it is too large, unreadable or not a file."""
        return self._keep(read_content(self.root, name), at_once=True)

    def _keep(self, held: FileContent, *, at_once: bool = False) -> str | None:
        if held is None:
            return None
        data, program = held
        if data is None:
            return UNKNOWN
        return self.record.put(data, executable=program, at_once=at_once)


def is_executable(path: Path) -> bool:
    if os.name == "nt":
        return False
    with contextlib.suppress(OSError):
        return bool(path.stat().st_mode & 0o100)
    return False
