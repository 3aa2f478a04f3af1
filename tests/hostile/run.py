"""Open hostile homes by eight commands, each in a process of its own under limits.

    python -m tests.hostile.run [--first N] [--count N] [--keep]

Prints a JSON line for each thing that went wrong; leaves with 1 when there was one. What is
watched is the file system and a listener, not the program: no file outside of the home is made,
changed or moved, nobody connects, no command takes more than 10 s or 500 MB or ends by a trace.

Half of the homes are trusted beforehand, with the private folder that they bring: what trust keeps
out must hold there as well. Their settings then count, so that those of `homes.settings` are not
trusted. All modules are imported once, and each command is a fork: most of its time would be
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
import time
import traceback
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path

from openclaw.cli.main import run
from openclaw.files.home import Home, create_home
from openclaw.files.trust import trust_home
from tests.fakes.ollama_server import FakeModel, FakeOllama
from tests.hostile.homes import Hostile, make

SECONDS, MEGABYTES = 10, 500
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
    command: str
    what: str
    told: str = ""


def hostile_home(seed: int, place: Path, pristine: Path, url: str) -> tuple[Path, bool]:
    """The home of this seed, and whether the user has said yes to it."""
    chance = random.Random(seed)
    outside, home = place / "outside", place / "home"
    (outside / ".aws").mkdir(parents=True)
    (outside / "diary").mkdir()
    (outside / ".bashrc").write_text("export A=1\n")
    (outside / ".aws/credentials").write_text("[default]\naws_secret_access_key = CANARY\n")
    (outside / "diary/today.md").write_text("CANARY garden\n")
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


def snapshot(folder: Path) -> dict[str, tuple[int, ...]]:
    """All that lies there, by path: what kind, how large, when it was changed."""
    found = {}
    for inner, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(inner, name)
            stat = path.lstat()
            times = (stat.st_mtime_ns, stat.st_ctime_ns) if name in files else ()
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
        before = snapshot(place / "outside")
        for words in COMMANDS:
            command = " ".join(words)
            server.script.clear()
            server.say(*["Hello."] * 20)
            what, told = opened(home, words, place / "said")
            now = snapshot(place / "outside")
            if now != before:
                changed = sorted({name for name, _ in now.items() ^ before.items()})
                what, before = f"touched {', '.join(Path(n).name for n in changed)}", now
            with contextlib.suppress(BlockingIOError):
                stranger.accept()[0].close()
                what = "connected to a stranger"
            if "CANARY" in told or any(b"CANARY" in asked.raw for asked in server.requests):
                what = what or "gave away what lies outside"
            server.requests.clear()
            if what:
                yield Fault(seed, trusted, command, what, told[-1500:])
        beside = sorted(p.name for p in place.iterdir() if p.name not in BESIDE)
        if beside:
            yield Fault(seed, trusted, "", f"left {', '.join(beside)} beside the home")


BESIDE = ("home", "outside", "said")


def opened(home: Path, words: tuple[str, ...], said: Path) -> tuple[str, str]:
    """What a command did wrong in this home, "" for nothing; and what it said."""
    began = time.monotonic()
    child = os.fork()
    if not child:
        _run(home, words, said)
    while True:
        ended, status, used = os.wait4(child, os.WNOHANG)
        if ended:
            break
        if time.monotonic() - began > SECONDS:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            os.wait4(child, 0)
            return f"took more than {SECONDS} s", said.read_text("utf-8", "replace")
        time.sleep(0.002)
    told = said.read_text("utf-8", "replace")
    megabytes = used.ru_maxrss >> 10
    if os.WIFSIGNALED(status):
        return f"ended by signal {os.WTERMSIG(status)}", told
    if megabytes > MEGABYTES:
        return f"took {megabytes} MB", told
    if "Traceback" in told or "run again with --debug" in told:
        return "ended by an error that nobody foresaw", told
    return "", told


def _run(home: Path, words: tuple[str, ...], said: Path) -> None:
    """In the child: run the command and end."""
    code = 99
    try:
        os.setpgid(0, 0)
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
        out = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(out, 1)
        os.dup2(out, 2)
        os.chdir(home.parent)
        code = run(["--home", str(home), *words])
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException:  # noqa: BLE001  (whatever it is, it is told)
        os.write(2, traceback.format_exc().encode("utf-8", "replace"))
    finally:
        os._exit(code)


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
        "SECRET": "CANARY",
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
