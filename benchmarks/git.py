"""What a history costs and whether it keeps its word: a commit a turn, and the way back.

    python -m benchmarks.git [--quick] [--seed N] [COST | SAFETY | UNDO ...]

COST: milliseconds that recording and committing add to a turn which writes a file, in homes of 100
and 10,000 files and of 10,000 commits (made by `git fast-import`): medians and 90th percentiles of
the time that is spent in the engine's own calls (openclaw/history), and the difference of whole
turns with the setting `git.auto_commit` on and off. Beside it, in the same homes and in turn, what
`git add -A && git commit` of such a change takes. Aim: at most 40 ms, the median at 10,000 files.
SAFETY: random turns (seeded) beside staged and half-edited work of the user's, which has to be the
same afterwards, byte for byte. UNDO: `undo` and `redo` one by one; the tree of HEAD, and a hash of
all files, have to be what they were. Exit code 1 when an aim is missed (COST: only printed).
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from openclaw.agent.agent import Agent
from openclaw.config import Settings
from openclaw.config.settings import Git
from openclaw.events import ToolEnd
from openclaw.sessions.session import Session
from openclaw.storage.home import Home
from openclaw.storage.new_home import create_home
from tests.fakes.scripted import ScriptedModel
from tests.fakes.talk import call

AIM_MS = 40.0
PARTS = ("COST", "SAFETY", "UNDO")
FOLDER = 100
"""Files of a made-up home that are in one folder."""


@dataclass(frozen=True)
class Size:
    """How much is done: homes by name with their files and commits, runs of each cost, random
    turns, undos."""

    homes: Sequence[tuple[str, int, int]]
    runs: int
    turns: int
    undos: int


WHOLE = Size((("100 files", 100, 1), ("10,000 files", 10_000, 1), ("10,000 commits", 100, 10_000)),
             runs=40, turns=200, undos=50)  # fmt: skip
QUICK = Size((("20 files", 20, 1), ("20 commits", 20, 20)), runs=3, turns=12, undos=4)


# -------- homes and turns


def git(root: Path, *words: str, data: bytes = b"") -> bytes:
    """What git prints in a home of the benchmark, with an identity, and no packing beside it."""
    options = ("-c", "user.name=you", "-c", "user.email=you@localhost", "-c", "gc.auto=0")
    command = ["git", "-C", str(root), *options, *words]
    done = subprocess.run(command, input=data, capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(f"git {' '.join(words)}: {done.stderr.decode()}")
    return done.stdout


def make_home(root: Path, files: int, commits: int) -> Path:
    """A home with so many more files in its workspace, and so many commits."""
    create_home(root)
    for number in range(files):
        path = root / "workspace" / f"d{number // FOLDER}" / f"n{number}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"# Note {number}\n\nText of it.\n", "utf-8")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "Files")
    if commits > 1:
        head = git(root, "rev-parse", "HEAD").decode().strip()
        git(root, "fast-import", "--quiet", "--force", data=b"".join(_commits(head, commits)))
        git(root, "reset", "-q", "--hard")
    git(root, "gc", "-q")
    return root


def _commits(head: str, count: int) -> Iterator[bytes]:
    """The stream of a line of commits, each of which writes one small file."""
    for number in range(count):
        text, said = b"%d\n" % number, b"Commit %d" % number
        yield b"commit refs/heads/main\n"
        yield b"committer you <you@localhost> %d +0000\n" % (1_700_000_000 + number * 60)
        yield b"data %d\n%s\n" % (len(said), said)
        yield f"from {head}\n".encode() if not number else b""
        yield b"M 100644 inline workspace/c%d.md\ndata %d\n%s\n" % (number % 50, len(text), text)


@dataclass
class Talk:
    """A talk in a home with a model that says what it is told to."""

    app: Agent
    model: ScriptedModel
    session: Session

    def turn(self, prompt: str, tool: str, **arguments: Any) -> float:
        """One turn with one call; its seconds. AssertionError when the call fails."""
        self.model.say(call(tool, **arguments), "That was it.")
        begun = time.perf_counter()
        happened = list(self.app.ask(prompt, self.session))
        seconds = time.perf_counter() - begun
        ended = [event for event in happened if isinstance(event, ToolEnd)]
        if [event.ok for event in ended] != [True]:
            raise AssertionError(f"{tool} {arguments}: {ended}")
        return seconds


@contextmanager
def talk(root: Path, *, auto_commit: bool = True) -> Iterator[Talk]:
    settings = Settings(protocol="native", recall="tool", git=Git(auto_commit=auto_commit))
    with closing(Agent.open(Home(root), settings)) as app:
        model = ScriptedModel()
        app.model = model
        yield Talk(app, model, app.sessions.new())


# -------- cost


@dataclass
class Watch:
    """Sums up the time that is spent in some functions, of nested ones in the outermost."""

    seconds: float = 0.0
    _depth: int = 0
    _put_back: list[Callable[[], None]] = field(default_factory=list)

    def on(self, owner: Any, name: str) -> None:
        """Measure a method of a class from now on."""
        plain = owner.__dict__[name]
        inner = plain.__func__ if isinstance(plain, classmethod) else plain

        def measured(*args: Any, **named: Any) -> Any:
            begun, self._depth = time.perf_counter(), self._depth + 1
            try:
                return inner(*args, **named)
            finally:
                self._depth -= 1
                if not self._depth:
                    self.seconds += time.perf_counter() - begun

        setattr(owner, name, classmethod(measured) if inner is not plain else measured)
        self._put_back.append(lambda: setattr(owner, name, plain))

    def off(self) -> None:
        for put_back in self._put_back:
            put_back()

    def lap(self) -> float:
        """The seconds since the last lap."""
        seconds, self.seconds = self.seconds, 0.0
        return seconds


def engine_watches() -> tuple[Watch, Watch]:
    """Watches on what records a turn and on what commits it."""
    from openclaw.history.history import History
    from openclaw.history.record import Journal

    recording, committing = Watch(), Watch()
    for name, value in list(vars(Journal).items()):
        plain = getattr(value, "__func__", value)
        if callable(plain) and not name.startswith("_"):
            recording.on(Journal, name)
    committing.on(History, "publish")
    return recording, committing


@dataclass
class Costs:
    """Seconds of each run."""

    recording: list[float] = field(default_factory=list)
    committing: list[float] = field(default_factory=list)
    on: list[float] = field(default_factory=list)
    off: list[float] = field(default_factory=list)
    by_hand: list[float] = field(default_factory=list)

    @property
    def engine(self) -> list[float]:
        return [sum(pair) for pair in zip(self.recording, self.committing, strict=True)]


def measure(root: Path, runs: int) -> Costs:
    """Turns in a home, committed, not committed, and committed by hand, taking turns; each in a
    copy of its own, as the one would commit what the other has left."""
    costs = Costs()
    not_committed, manual = (Path(f"{root}-{name}") for name in ("off", "by-hand"))
    for copy in (not_committed, manual):
        shutil.copytree(root, copy, symlinks=True)
        git(copy, "update-index", "--refresh", "-q")
    recording, committing = engine_watches()
    try:
        with talk(root) as on, talk(not_committed, auto_commit=False) as off:
            for number in range(-1, runs):  # the first one warms up
                took_on = _write(on, f"on{number}")
                laps = recording.lap(), committing.lap()
                took_off = _write(off, f"off{number}")
                recording.lap(), committing.lap()
                took_by_hand = by_hand(manual, f"hand{number}")
                if number >= 0:
                    costs.on.append(took_on)
                    costs.recording.append(laps[0])
                    costs.committing.append(laps[1])
                    costs.off.append(took_off)
                    costs.by_hand.append(took_by_hand)
    finally:
        recording.off()
        committing.off()
    return costs


def _write(it: Talk, name: str) -> float:
    """A turn that writes a new file, in a conversation of one turn, so that all are alike."""
    it.session = it.app.sessions.new()
    text = f"# {name}\n" + "A line of it.\n" * 20
    return it.turn(f"Write {name}.", "write_file", path=f"workspace/{name}.md", content=text)


def by_hand(root: Path, name: str) -> float:
    """Seconds of `git add -A && git commit` for a new file and a session's."""
    (root / "workspace" / f"{name}.md").write_text(f"# {name}\n" + "A line of it.\n" * 20, "utf-8")
    (root / "sessions" / f"{name}.json").write_text('{"messages": []}\n' * 100, "utf-8")
    begun = time.perf_counter()
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", name)
    return time.perf_counter() - begun


def cost_table(size: Size, folder: Path) -> tuple[str, bool]:
    """The table of costs, and whether the aim is reached in every home."""
    head = ("home", "recording", "committing", "both", "p90", "turn: on - off", "by hand", "p90")
    rows = [f"| {' | '.join(head)} |", "|---" + "|---:" * (len(head) - 1) + "|"]
    reached = True
    for name, files, commits in size.homes:
        root = make_home(folder / name.replace(" ", "-"), files, commits)
        costs = measure(root, size.runs)
        median = statistics.median
        difference = median(costs.on) - median(costs.off)
        cells = (
            median(costs.recording), median(costs.committing), median(costs.engine),
            p90(costs.engine), difference, median(costs.by_hand), p90(costs.by_hand),
        )  # fmt: skip
        rows.append(f"| {name} | " + " | ".join(f"{cell * 1000:.1f}" for cell in cells) + " |")
        reached = reached and median(costs.engine) * 1000 <= AIM_MS
    return "\n".join(rows), reached


def p90(values: Sequence[float]) -> float:
    return statistics.quantiles(values, n=10, method="inclusive")[-1]


# -------- safety


USERS = tuple(f"workspace/user{n}.md" for n in range(12))
SHARED = "workspace/shared.md"
"""A file that the user has staged a part of his edits of, and which the turns change too."""


def users_work(root: Path, chance: random.Random) -> None:
    """Leave files staged, half-edited after that, dirty, new, deleted, and meant to be added."""
    for path in (*USERS, SHARED):
        (root / path).write_text(_lines(chance, 30), "utf-8")
    git(root, "add", "--", *USERS[:8], SHARED)
    git(root, "commit", "-q", "-m", "Mine")
    for number, path in enumerate(USERS):
        with (root / path).open("a", encoding="utf-8", newline="") as file:
            file.write(_lines(chance, 3) + ("\r\nno end" if number % 2 else ""))
    (root / SHARED).write_text("staged\n" + (root / SHARED).read_text("utf-8"), "utf-8")
    git(root, "add", "--", *USERS[2:5], SHARED)
    with (root / SHARED).open("a", encoding="utf-8", newline="") as file:
        file.write("not staged\n")
    for path in USERS[3:5]:
        (root / path).write_text(_lines(chance, 9), "utf-8")
    git(root, "rm", "-q", "--cached", "--", USERS[5])
    (root / USERS[6]).unlink()
    git(root, "add", "--intent-to-add", "--", USERS[9])
    git(root, "update-index", "--chmod=+x", "--", USERS[7])


def _lines(chance: random.Random, count: int) -> str:
    return "".join(f"line {chance.randrange(10**9)}\n" for _ in range(count))


def seen_of_user(root: Path) -> str:
    """A hash of the user's files, of the whole index as far as it is his, and of what git shows of
    both."""
    made = hashlib.sha256()
    for path in USERS:
        file = root / path
        made.update(file.read_bytes() if file.exists() else b"gone")
    made.update(git(root, "ls-files", "-s", "-z", "--", *USERS, SHARED))
    for options in (("--cached",), ()):
        made.update(git(root, "diff", "--binary", *options, "--", *USERS))
    return made.hexdigest()


def random_turns(root: Path, turns: int, chance: random.Random) -> list[str]:
    """Turns that write, add to and remove files, and touch to-dos; the files of each."""
    names = [f"workspace/t{n}.md" for n in range(10)]
    touched: list[str] = []
    with talk(root) as it:
        it.app.mode = "full"
        for number in range(turns):
            path = chance.choice([*names, SHARED])
            kind = chance.choice(("append", "append", "write", "todo", "remove"))
            if chance.random() < 0.1:
                it.session = it.app.sessions.new()
            touched.append(_one(it, kind, path, number, chance))
    return touched


def _one(it: Talk, kind: str, path: str, number: int, chance: random.Random) -> str:
    prompt = f"Turn {number}."
    if kind == "todo":
        it.turn(prompt, "todo", action="add", items=[f"thing {number}"], list="Tasks")
        return "memory/TODO.md"
    if kind == "write" and path != SHARED:
        path, text = path.replace(".md", f"-{number}.md"), _lines(chance, 5)
        it.turn(f"{prompt} Write {text}", "write_file", path=path, content=text)
    elif kind == "remove" and path != SHARED and (it.app.home.root / path).exists():
        it.turn(prompt, "run_shell", command=f"rm {path}")
    else:
        text = _lines(chance, 1)
        it.turn(f"{prompt} Add {text}", "append_file", path=path, text=text)
    return path


def safety(size: Size, folder: Path, seed: int) -> tuple[str, bool]:
    """A line about the random turns, and whether all was as it has to be."""
    chance = random.Random(seed)
    root = make_home(folder / "safety", 50, 1)
    users_work(root, chance)
    before, first = seen_of_user(root), _count(root)
    touched = random_turns(root, size.turns, chance)
    same = seen_of_user(root) == before
    wrong = _wrong(root, touched)
    commits = _count(root, "--grep=^Openclaw: turn") if touched else 0
    sound = not git(root, "fsck", "--strict", "--no-dangling", "--no-progress")
    outside = _count(root) - first - commits
    line = (
        f"{len(touched)} turns, {commits} commits of turns and {outside} of edits outside; staged"
        f" and dirty work of the user {'the same' if same else 'CHANGED'}; {wrong} commits with"
        f" files of another turn; git fsck {'finds nothing' if sound else 'FINDS DAMAGE'}"
    )
    return line, same and sound and not wrong and commits == len(touched)


def _count(root: Path, *words: str) -> int:
    return int(git(root, "rev-list", "--count", *words, "HEAD"))


def _wrong(root: Path, touched: Sequence[str]) -> int:
    """How many commits of turns hold another file than their turn's and the conversation's."""
    said = git(root, "log", "--reverse", "--grep=^Openclaw: turn", "--format=%x00", "--name-only")
    commits = [part.decode().split() for part in said.split(b"\0")[1:]]
    return sum(
        any(name != path and not name.startswith("sessions/") for name in names)
        for names, path in zip(commits, touched, strict=True)
    )


# -------- undo and redo


def state(root: Path) -> tuple[str, str]:
    """The tree of HEAD, and a hash of all files with their names but what is private."""
    made = hashlib.sha256()
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in (".git", ".openclaw"))
        for name in sorted(names):
            path = Path(folder, name)
            made.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes() + b"\0")
    return git(root, "rev-parse", "HEAD^{tree}").decode().strip(), made.hexdigest()


def there_and_back(size: Size, folder: Path, seed: int) -> tuple[str, bool]:
    """A line about as many undos and redos, and whether all was as before."""
    root = make_home(folder / "undo", 50, 1)
    empty = state(root)
    chance = random.Random(seed)
    random_turns_of_one(root, size.undos, chance)
    full = state(root)
    times: dict[str, list[float]] = {"undo": [], "redo": []}
    with talk(root) as it:
        for name in ("undo", "redo"):
            for _ in range(size.undos):
                begun = time.perf_counter()
                getattr(it.app, name)()
                times[name].append(time.perf_counter() - begun)
            if name == "undo":
                first = state(root) == empty
    last = state(root) == full
    medians = ", ".join(f"{n} {statistics.median(t) * 1000:.0f} ms" for n, t in times.items())
    line = (
        f"{size.undos} undos {'lead' if first else 'DO NOT LEAD'} back to the tree before the"
        f" turns, {size.undos} redos {'lead' if last else 'DO NOT LEAD'} to the tree after them"
        f" (HEAD^{{tree}} {full[0][:12]} and all files; medians: {medians})"
    )
    return line, first and last


def random_turns_of_one(root: Path, turns: int, chance: random.Random) -> None:
    """Turns of several conversations that change few files again and again."""
    with talk(root) as it:
        it.app.mode = "full"
        for number in range(turns):
            if number % 7 == 6:
                it.session = it.app.sessions.new()
            kind = chance.choice(("append", "append", "write", "todo", "remove"))
            _one(it, kind, f"workspace/t{chance.randrange(4)}.md", number, chance)


# -------- all of it


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help="COST, SAFETY, UNDO; else all")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--seed", type=int, default=7)
    given = parser.parse_args(words)
    size = QUICK if given.quick else WHOLE
    wanted = [part for part in PARTS if not given.parts or part in map(str.upper, given.parts)]
    fine = True
    with tempfile.TemporaryDirectory() as top:
        folder = Path(top)
        if "COST" in wanted:
            table, reached = cost_table(size, folder)
            print(f"Milliseconds a turn, medians of {size.runs} runs\n\n{table}\n")
            print(f"aim of {AIM_MS:.0f} ms: {'reached' if reached else 'missed'}\n")
        for part, run in (("SAFETY", safety), ("UNDO", there_and_back)):
            if part in wanted:
                line, good = run(size, folder, given.seed)
                print(f"{part.lower()} (seed {given.seed}): {line}\n", flush=True)
                fine = fine and good
    return 0 if fine else 1


if __name__ == "__main__":
    os.environ |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    sys.exit(main())
