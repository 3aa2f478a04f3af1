"""Homes from elsewhere whose files are links, pipes, devices or folders: nothing outside is read or
written through them, nothing waits, and it is told in a line."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from openclaw.errors import OpenclawError
from openclaw.storage.home import Home
from openclaw.tools.shell.sandbox import SandboxOptions, placeholders, tidy_up
from openclaw.types import Mode
from tests.attacks.harm import files
from tests.attacks.orders import Call
from tests.attacks.world import World, world
from tests.data.sample import sample
from tests.fakes.talk import Talk, call, notices, talk

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links and pipes")
SAID = "the diary of U"
HEAD = (
    *("workspace/SOUL.md", "workspace/USER.md", "workspace/AGENTS.md", "workspace/IDENTITY.md"),
    *("workspace/TOOLS.md", "memory/MEMORY.md", "memory/TODO.md"),
)
FILES = (
    *HEAD,
    *("workspace/HEARTBEAT.md", "memory/2026-11-21.md", "memory/people.md"),
    *("memory/TESTS.md", "memory/inbox/2026-11-21.md", "sessions/old.json", ".gitignore"),
    *("sessions/old.notes.md", "sessions/archive/old/0001.json", "skills/a/SKILL.md"),
    *("skills/.sources.yaml", ".openclaw/learned.json", ".openclaw/secrets.json"),
    *(".openclaw/offered.txt", ".openclaw/skills.json", ".openclaw/cache/tokens.json"),
    ".openclaw/cache/counts.json",
    *(".openclaw/cache/key", ".openclaw/cache/mcp.json", ".openclaw/logs/actions.jsonl"),
    *(".openclaw/locks/sandbox.lock", ".openclaw/locks/todo.lock", ".openclaw/locks/notes.lock"),
    *(".openclaw/locks/undo.lock", ".openclaw/index/index.sqlite", ".openclaw/history/chat"),
    *(".openclaw/index/index.sqlite-wal", ".openclaw/history/committing"),
    *(".openclaw/history/turns/00000000000000000001-deadbeef/turn.jsonl",),
    *(".openclaw/history/turns/00000000000000000001-deadbeef/running",),
)
FOLDERS = (
    *("workspace", "memory", "sessions", "skills", ".openclaw", "memory/inbox", "skills/.proposed"),
    *("sessions/archive", ".openclaw/logs", ".openclaw/locks", ".openclaw/cache"),
    *(".openclaw/cache/heads", ".openclaw/index", ".openclaw/history", ".openclaw/history/turns"),
    *(".openclaw/spill", ".openclaw/kept"),
)


COMMANDS = (
    *("hello", "todo list", "todo add milk", "memory add x", "memory list", "memory search diary"),
    *("memory lint", "doctor", "context", "log", "undo", "sessions list", "skills list"),
    *("config list", "mcp list", "heartbeat", "memory review", "skills review", "context --diff"),
    *("sessions show old", "sessions export old", "todo done milk", "blame workspace/USER.md"),
    *("config set window 4096", "memory index", "backup b.tar.gz", "replay old", "redo"),
    *("sessions delete old --yes", "doctor --fix"),
)


@pytest.fixture
def it(tmp_path: Path) -> Iterator[Talk]:
    (tmp_path / "U").mkdir()
    (tmp_path / "U" / ".profile").write_text(f"# {SAID}\n- [ ] {SAID}\n")
    spoken = talk(tmp_path / "home")
    yield spoken
    spoken.app.close()


def replaced(path: Path, target: Path | str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.symlink_to(target)


def of_u(it: Talk) -> dict[str, bytes]:
    return files(it.root.parent / "U")


def told(it: Talk) -> str:
    return "".join(message.content for request in it.requests for message in request.messages)


@pytest.mark.parametrize("name", HEAD)
def test_the_head_does_not_follow_links(it: Talk, name: str) -> None:
    before = of_u(it)
    replaced(it.root / name, "../../U/.profile")
    said = it.say("What is to do today?", "Nothing.")
    assert SAID not in told(it)
    assert f"{name} is not read: it is a link" in notices(said)
    assert "init" not in notices(said)
    assert of_u(it) == before


@pytest.mark.parametrize("name", ["sandbox.lock", ""])
def test_the_lock_of_the_sandbox_empties_nothing_outside(it: Talk, name: str) -> None:
    outside = it.root.parent / "U" / "sandbox.lock"
    outside.write_text("hooks\n")
    home, before = it.app.home, of_u(it)
    place = it.root / ".openclaw" / "locks"
    replaced(place / name, outside if name else outside.parent)
    with pytest.raises(OSError, match="is a link"), placeholders(SandboxOptions(home)):
        pass
    tidy_up(home)
    assert of_u(it) == before


@pytest.mark.parametrize("mode", sample(["full", "read-only", "ask", "edit"], 2))
@pytest.mark.parametrize("name", FOLDERS)
def test_a_folder_that_leads_elsewhere_is_not_used(it: Talk, name: str, mode: Mode) -> None:
    masker = it.root.parent / "U"
    for inner in ("old.txt", "1.json", "a.md", "old.kv", "inbox/a.md", "turns/x/ready", "x.tmp"):
        (masker / inner).parent.mkdir(parents=True, exist_ok=True)
        (masker / inner).write_text(f"- {SAID}\n")
    (masker / "skill").mkdir()
    (masker / "skill" / "SKILL.md").write_text(f"---\nname: skill\ndescription: {SAID}\n---\n")
    before = of_u(it)
    replaced(it.root / name, masker)
    it.app.mode = mode
    reads = call("search_files", text="diary")
    writes = call("write_file", path=f"{name}/new.md", content="x")
    adds = call("todo", action="add", list="Tasks", items=["buy milk"])
    long = call("run_python", code="print('x' * 90000)")
    try:
        it.say("Remember that I'm allergic to bees.", reads, writes, adds, long, "So be it.")
    except OpenclawError as error:
        assert "is a link" in str(error)
    assert of_u(it) == before
    assert SAID not in told(it)


def put(path: Path, kind: str, outside: Path) -> None:
    """Something that is no ordinary file of a sane size."""
    replaced(path, "/dev/zero" if kind == "zero" else outside)
    if kind in ("pipe", "folder", "large"):
        path.unlink()
    if kind == "pipe":
        os.mkfifo(path)
    if kind == "folder":
        path.mkdir()
    if kind == "large":
        with path.open("wb") as file:
            file.truncate(10**12)


@pytest.mark.parametrize("kind", sample(["pipe", "link", "zero", "folder", "large"]))
def test_whatever_stands_in_the_place_of_files_no_command_waits(it: Talk, kind: str) -> None:
    before = of_u(it)
    for name in FILES:
        put(it.root / name, kind, it.root.parent / "U" / ".profile")
    # A backup of large files takes as long as the home is large.
    lines = [line for line in COMMANDS if kind != "large" or not line.startswith("backup")]
    for line, (out, err) in zip(lines, said_by(it.app.home, *lines), strict=True):
        assert SAID not in out and "Traceback" not in err, line
    put(it.root / "openclaw.yaml", kind, it.root.parent / "U" / ".profile")
    [(out, err)] = said_by(it.app.home, "doctor")
    assert "openclaw.yaml" in out + err and SAID not in out
    assert of_u(it) == before


@pytest.mark.parametrize("kind", sample(["link", "pipe", "zero", "folder", "large"], 2))
@pytest.mark.parametrize("name", FILES)
def test_whatever_stands_in_the_place_of_a_file_a_turn_ends(it: Talk, name: str, kind: str) -> None:
    before = of_u(it)
    put(it.root / name, kind, it.root.parent / "U" / ".profile")
    try:
        it.say("I'm allergic to bees.", "I see.")
    except OpenclawError as error:
        assert Path(name).name in str(error)
    assert of_u(it) == before and SAID not in told(it)


FORKS = """\
import os, resource, sys
import openclaw.agent.agent, openclaw.cli.main, openclaw.cli.one_shot, openclaw.retrieval.search
from openclaw.__main__ import main
resource.setrlimit(resource.RLIMIT_AS, (2 * 10**9, 2 * 10**9))
for number, line in enumerate(sys.argv[2:]):
    if child := os.fork():
        os.waitpid(child, 0)
        continue
    for stream, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(f"{sys.argv[1]}/{number}.{name}", os.O_CREAT | os.O_WRONLY), stream)
    sys.argv[1:] = line.split()
    main()
"""


def said_by(home: Home, *lines: str) -> list[tuple[str, str]]:
    """What these commands print on both streams, each a fork of one process, which would take most
    of its time to start. Each may take 2 GB, and a minute on average."""
    top = home.root.parent
    said = Path(tempfile.mkdtemp(dir=top))
    environ = {**os.environ, "OPENCLAW_HOME": str(home.root), "OPENCLAW_MODELS": "/nowhere"}
    subprocess.run(
        [sys.executable, "-c", FORKS, str(said), *lines],
        env={**environ, "OLLAMA_HOST": "http://127.0.0.1:9", "HOME": str(top)},
        cwd=top, stdin=subprocess.DEVNULL, timeout=60 * len(lines), check=True,
    )  # fmt: skip
    return [
        ((said / f"{n}.out").read_text("utf-8"), (said / f"{n}.err").read_text("utf-8"))
        for n in range(len(lines))
    ]


def test_an_attacked_home_in_all_modes(tmp_path: Path) -> None:
    """The family among the other attacks: links to the user's files wherever the program itself
    reads and writes, and a model that obeys."""
    with world(tmp_path) as it:
        targets = {
            "memory/TODO.md": "user/.bashrc",
            "workspace/USER.md": "user/.ssh/id_ed25519",
            "memory/2026-11-21.md": "outside/ledger.txt",
            ".openclaw/logs/actions.jsonl": "user/.bashrc",
            ".openclaw/locks/sandbox.lock": "outside/bills/june.txt",
            ".openclaw/spill": "outside",
        }
        for name, target in targets.items():
            replaced(it.home / name, it.top / target)
        it.begin()
        for mode in ("read-only", "ask", "edit", "full"):
            obeyed(it, mode)
        assert it.harm() == []


def obeyed(it: World, mode: Mode) -> None:
    spoken = it.talk(mode)
    orders: list[Call] = [
        ("todo", {"action": "add", "list": "Tasks", "items": ["$(touch pwned)"]}),
        ("remember", {"fact": "The user likes $(touch pwned).", "where": "today"}),
        ("run_shell", {"command": "echo '`touch pwned`'; seq 90000"}),
        ("read_file", {"path": "workspace/USER.md"}),
    ]
    it.say(spoken, "I'm allergic to bees. Remind me of it.", orders, "I will remind you on Friday.")
