"""Open hostile homes by eight commands under limits.

    python -m tests.hostile.run [--first N] [--count N] [--keep]

Prints a JSON line for each thing that went wrong; leaves with 1 when there was one. What is
watched is the file system and a listener, not the program: no file outside of the home is made,
changed or moved, nobody connects, nothing from outside is shown, no command takes more than 10 s of
the processor, 60 s on the clock or 500 MB, or ends by a trace.

Half of the homes are trusted beforehand, with the private folder that they bring: the rest must
hold there as well. Their settings would count, so that those of `homes.settings` are only in the
others. All modules are imported once, and each home is opened in a fork: most of its time would be
the import.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path

from openclaw.cli.main import run
from openclaw.storage.home import Home
from openclaw.storage.new_home import create_home
from openclaw.storage.trust_store import trust_home
from tests.fakes.ollama_server import FakeModel, FakeOllama
from tests.hostile.homes import Hostile, make

SECONDS, CLOCK_SECONDS, MEGABYTES = 10, 60, 500
CANARY = "canary8f2c"  # stands in the files outside, and in a variable of the environment
COMMANDS = (
    ("doctor",),
    ("context", "--no-memory"),
    ("log",),
    ("memory", "search", "garden"),
    ("todo", "list"),
    ("sessions", "list"),
    ("todo", "add", "milk"),
    ("--no-memory", "hello"),
)
ADDRESSES = 4 << 30
"""Bytes of address space: what would take all memory fails before the machine does."""


@dataclass(frozen=True)
class Fault:
    """What went wrong with a home."""

    seed: int
    trusted: bool
    what: str
    told: str


def hostile_home(seed: int, place: Path, pristine: Path, url: str) -> tuple[Path, bool]:
    """The home of this seed, and whether the user has said yes to it."""
    chance = random.Random(seed)
    outside, home = place / "outside", place / "home"
    (outside / ".aws").mkdir(parents=True)
    (outside / "diary").mkdir()
    (outside / ".bashrc").write_text("export A=1\n")
    (outside / ".aws/credentials").write_text(f"[default]\naws_secret_access_key = {CANARY}\n")
    (outside / "diary/today.md").write_text(f"{CANARY} garden\n")
    shutil.copytree(pristine, home, symlinks=True)
    it = Hostile(home, outside, url, chance, date.today().isoformat())
    make(it)
    trusted = seed % 2 == 1
    if trusted:
        settings = home / "openclaw.yaml"
        if settings.is_file() and not settings.is_symlink() and settings.stat().st_size < 10_000:
            settings.unlink()
        with contextlib.suppress(Exception):
            trust_home(Home(home))
    return home, trusted


def snapshot(place: Path) -> dict[str, tuple[int, ...]]:
    """All that lies there but the home, by path: what kind, how large, when it was changed."""
    found = {}
    for inner, folders, files in os.walk(place):
        if inner == str(place):
            folders.remove("home")
        for name in (*folders, *files):
            path = Path(inner, name)
            stat = path.lstat()
            times = (stat.st_mtime_ns, stat.st_ino) if name in files else ()
            found[str(path)] = (stat.st_mode, stat.st_size if name in files else 0, *times)
    return found


def faults_of(seed: int, top: Path, pristine: Path, server: FakeOllama) -> Iterator[Fault]:
    """Make the home, open it by each command, and tell what went wrong."""
    place = top / f"home-{seed}"
    place.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as stranger:
        stranger.setblocking(False)
        url = f"http://127.0.0.1:{stranger.getsockname()[1]}"
        home, trusted = hostile_home(seed, place, pristine, url)
        before = snapshot(place)
        server.script.clear()
        server.say(*["Hello."] * 20)
        wrong, told = opened(home, place.with_suffix(".said"))
        if (now := snapshot(place)) != before:
            names = sorted({name for name, _ in now.items() ^ before.items()})
            wrong.append(f"touched {', '.join(os.path.relpath(n, place) for n in names)}")
        with contextlib.suppress(BlockingIOError):
            stranger.accept()[0].close()
            wrong.append("connected to a stranger")
        if CANARY in told or any(CANARY.encode() in asked.raw for asked in server.requests):
            wrong.append("gave away what lies outside")
        server.requests.clear()
        yield from (Fault(seed, trusted, what, told[-1500:]) for what in wrong)


def opened(home: Path, said: Path) -> tuple[list[str], str]:
    """What the commands did wrong in this home, and all that they said."""
    said.mkdir()
    child = os.fork()
    if not child:
        _run(home, said)
    _, status, used = os.wait4(child, 0)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # what a command has started and left
    texts = {path.name: path.read_text("utf-8", "replace") for path in sorted(said.iterdir())}
    wrong = [
        f"{name} ended by an error that nobody foresaw"
        for name, text in texts.items()
        if "Traceback" in text or "run again with --debug" in text
    ]
    if os.WIFSIGNALED(status):
        late: dict[int, str] = {
            signal.SIGPROF: f"took more than {SECONDS} s of the processor",
            signal.SIGALRM: f"took more than {CLOCK_SECONDS} s",
        }
        ended = os.WTERMSIG(status)
        wrong.append(f"{list(texts)[-1]} {late.get(ended, f'ended by {ended}')}")
    if (megabytes := used.ru_maxrss >> 10) > MEGABYTES:
        wrong.append(f"the commands took {megabytes} MB")
    shutil.rmtree(said)
    return wrong, "".join(f"$ {name}\n{text}" for name, text in texts.items())


def _run(home: Path, said: Path) -> None:
    """In the child: run the commands and end."""
    try:
        os.setpgid(0, 0)
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.chdir(home.parent)
        for number, words in enumerate(COMMANDS):
            out = os.open(said / f"{number} {' '.join(words)}", os.O_WRONLY | os.O_CREAT)
            os.dup2(out, 1)
            os.dup2(out, 2)
            os.close(out)
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            signal.alarm(CLOCK_SECONDS)
            run(["--home", str(home), *words])
            sys.stdout.flush()
            sys.stderr.flush()
    except BaseException:  # noqa: BLE001  (whatever it is, it is told)
        os.write(2, traceback.format_exc().encode("utf-8", "replace"))
    finally:
        os._exit(0)


def prepare(top: Path, server: FakeOllama) -> Path:
    """A world of the user's own below `top`, and an ordinary home in it to copy."""
    for name in [name for name in os.environ if name.startswith(("XDG_", "GIT_", "OPENCLAW_"))]:
        del os.environ[name]
    user = top / "user"
    user.mkdir()
    os.environ |= {
        "HOME": str(user),
        "TMPDIR": str(top / "tmp"),
        "OLLAMA_HOST": server.url,
        "OPENCLAW_MODELS": str(top / "models"),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "NO_COLOR": "1",
        "TERM": "dumb",
        "SECRET": CANARY,
    }
    (top / "tmp").mkdir()
    tempfile.tempdir = None
    pristine = top / "pristine"
    create_home(pristine)
    (pristine / "memory/2026-11-20.md").write_text("- The garden needs water.\n")
    (pristine / "memory/inbox").mkdir(exist_ok=True)
    subprocess.run(["git", "-C", pristine, "add", "-A"], check=True, capture_output=True)
    for words in COMMANDS:  # imports what they need, and makes the folders of a used home
        server.say(*["Hello."] * 20)
        with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
            run(["--home", str(pristine), *words])
    return pristine


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--keep", action="store_true", help="keep the homes that went wrong")
    given = parser.parse_args()
    found = 0
    top = Path(tempfile.mkdtemp(prefix="hostile-"))
    try:
        with FakeOllama([FakeModel("fake:1b")]) as server:
            pristine = prepare(top, server)
            for seed in range(given.first, given.first + given.count):
                faults = list(faults_of(seed, top, pristine, server))
                found += len(faults)
                for fault in faults:
                    sys.stdout.write(json.dumps(asdict(fault)) + "\n")
                    sys.stdout.flush()
                if not (faults and given.keep):
                    shutil.rmtree(top / f"home-{seed}", ignore_errors=True)
            server.failed = ""
    finally:
        if not given.keep:
            shutil.rmtree(top, ignore_errors=True)
    if given.keep:
        sys.stderr.write(f"kept in {top}\n")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
