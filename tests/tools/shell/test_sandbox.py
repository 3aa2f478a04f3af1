"""Hostile commands in bubblewrap: they cannot read outside, write outside, reach anybody, stay, or
bring the machine down, nor change what tells the agent what to do."""

from __future__ import annotations

import http.server
import os
import shutil
import socket
import stat
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from openclaw.storage.home import Home
from openclaw.tools.file_tools import FileTools
from openclaw.tools.shell import sandbox
from openclaw.tools.shell.process import CommandLimits
from openclaw.tools.shell.shell import ProgramCall, Runner
from openclaw.types import ToolProblem, TurnChanges
from tests.fakes.files import write_files

REASON = sandbox.why_unavailable()
pytestmark = pytest.mark.skipif(REASON is not None, reason=f"no sandbox: {REASON}")

SMALL = CommandLimits(processes=48, memory_mb=200, file_mb=8, disk_mb=64)
FILES = {
    "openclaw.yaml": "mode: edit\n",
    "workspace/SOUL.md": "# Soul\n",
    "workspace/AGENTS.md": "# Agents\n",
    "workspace/USER.md": "# User\n",
    "workspace/notes.md": "one\ntwo\n",
    "memory/MEMORY.md": "# Memory\n\n- likes tea\n",
    "skills/walk/SKILL.md": "---\nname: walk\n---\nWalk.\n",
    "sessions/abc.json": "{}\n",
    ".git/config": "[core]\n",
    ".git/hooks/pre-commit": "#!/bin/sh\n",
    ".openclaw/secrets.json": '{"KEY": "geheim-4711"}\n',
    ".openclaw/logs/actions.jsonl": "geheim-log\n",
}
GUARDED = [name for name in FILES if name != "workspace/notes.md" and "MEMORY" not in name]


def make_home(root: Path) -> Home:
    return Home(write_files(root, FILES).resolve())


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return make_home(tmp_path / "home")


@pytest.fixture
def turn_changes() -> TurnChanges:
    return TurnChanges()


@pytest.fixture
def runner(home: Home, turn_changes: TurnChanges) -> Runner:
    return Runner(home, turn_changes, timeout=10, limits=SMALL)


def sh(runner: Runner, line: str) -> str:
    return runner.run(ProgramCall(("/bin/sh", "-c", line), "sh"))


def tried(runner: Runner, line: str) -> str | None:
    return runner.try_out(ProgramCall(("/bin/sh", "-c", line), "sh"))


def py(runner: Runner, code: str) -> str:
    return runner.run(ProgramCall((sys.executable, "-I", "-c", code), "python"))


def contents(home: Home) -> dict[str, str]:
    return {name: (home.root / name).read_text(encoding="utf-8") for name in FILES}


# -------- what it is for


def test_a_command_works_in_the_home_with_the_paths_of_the_file_tools(runner: Runner) -> None:
    text = sh(runner, "pwd; echo new > workspace/new.md; cat workspace/notes.md ~/workspace/new.md")
    assert text.startswith(f"Exit code 0.\n{runner.home.root}\none\ntwo\nnew\n")
    assert (runner.home.root / "workspace/new.md").read_text() == "new\n"


def test_it_may_write_at_the_top_of_the_home_and_into_tmp(runner: Runner) -> None:
    sh(runner, "echo 1 > top.md; echo 2 > /tmp/x && cp /tmp/x workspace/x; echo 3 >> ~/top.md")
    assert (runner.home.root / "top.md").read_text() == "1\n3\n"
    assert (runner.home.root / "workspace/x").read_text() == "2\n"


def test_a_home_in_tmp_and_one_behind_a_link_work(
    tmp_path: Path, turn_changes: TurnChanges
) -> None:
    make_home(tmp_path / "real")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    runner = Runner(Home(tmp_path / "link"), turn_changes, limits=SMALL)
    assert "one\n" in sh(runner, "echo 3 > workspace/notes.md.new; cat workspace/notes.md")
    assert (tmp_path / "real/workspace/notes.md.new").is_file()
    assert list(turn_changes.before) == ["workspace/notes.md.new"]


def test_python_runs_there(runner: Runner) -> None:
    assert py(runner, "print(6 * 7)") == "Exit code 0.\n42"


def test_git_reads_the_home(runner: Runner, home: Home) -> None:
    if os.system(f"cd {home.root} && rm -rf .git && git init -q . 2>/dev/null"):
        pytest.skip("git is missing")
    text = tried(runner, "git status --short") or ""
    assert text.startswith("Exit code 0.") and "workspace/" in text
    assert "HEARTBEAT" not in text


# -------- reading outside


def test_nothing_outside_can_be_read(runner: Runner, tmp_path: Path) -> None:
    other = tmp_path / "otherhome"
    make_home(other)
    (tmp_path / "user/.ssh").mkdir()
    (tmp_path / "user/.ssh/id_ed25519").write_text("geheim-key")
    (tmp_path / "tmpfile").write_text("geheim-tmp")
    real = Path("~root").expanduser() if os.getuid() == 0 else Path("/home")
    places = (
        "/etc/shadow", "/etc/passwd", "/etc/hosts", real / ".bashrc", real / ".ssh",
        tmp_path / "user/.ssh/id_ed25519", tmp_path / "tmpfile", other / "workspace/notes.md",
        Path("/proc/1/root", "etc", "shadow"), f"/proc/{os.getpid()}/environ", "/proc/kcore",
        "/dev/sda", "/dev/vda", "/dev/mem", "/var/log", "/run", "/sys/kernel", "/home",
        "/mnt", "/srv",
    )  # fmt: skip
    for place in places:
        text = sh(runner, f"cat {place} || ls {place}")
        assert "geheim" not in text and "root:" not in text
        assert "No such file" in text or "denied" in text or "Permission" in text, text


def test_the_tmp_of_the_machine_is_not_there(runner: Runner, tmp_path: Path) -> None:
    assert sh(runner, "ls -A /tmp /dev/shm /var/tmp; true").count("geheim") == 0
    (tmp_path / "beside").mkdir()
    assert "beside" not in sh(runner, f"ls {tmp_path}")


def test_what_is_private_in_the_home_is_not_there(runner: Runner) -> None:
    text = sh(
        runner, "cat .openclaw/secrets.json .openclaw/logs/*; grep -r geheim . ; ls .openclaw"
    )
    assert "4711" not in text and "geheim-log" not in text
    assert "4711" not in (tried(runner, "cat .openclaw/secrets.json; grep -r 4711 .") or "")


def test_no_secret_of_the_environment_goes_in(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-geheim")
    monkeypatch.setenv("SSH_AUTH_SOCK", "/tmp/agent")
    text = sh(runner, "env; cat /proc/*/environ | tr '\\0' '\\n'")
    assert "sk-geheim" not in text and "SSH_AUTH_SOCK" not in text


def test_a_long_output_can_be_looked_into_afterwards(
    runner: Runner, turn_changes: TurnChanges
) -> None:
    text = sh(runner, "seq 1 9000")
    line = next(line for line in text.splitlines() if line.startswith("[All of it: read_file "))
    path = line.split()[4].rstrip(",")
    files = FileTools(runner.home, turn_changes)
    assert "\n3500\n" in files.read_file(path, 3500)
    assert f"{path}:7777: 7777" in files.search_files("7777", ".openclaw/spill")
    assert "\n4711\n" in sh(runner, f"grep -x 4711 {path}") + "\n"
    with pytest.raises(ToolProblem):
        files.read_file(".openclaw/secrets.json")
    with pytest.raises(ToolProblem):
        files.read_file(".openclaw/spill/../secrets.json")
    with pytest.raises(ToolProblem):
        files.write_file(path, "no")


# -------- writing outside


def test_nothing_outside_can_be_written(runner: Runner, tmp_path: Path) -> None:
    for place in (tmp_path / "x", "/x", "/etc/x", "/usr/bin/x", "/var/tmp/x", "/srv/x", "/home/x"):
        sh(runner, f"mkdir -p $(dirname {place}); echo x > {place}")
        assert not Path(place).exists()
    sh(runner, f"mv workspace/notes.md {tmp_path}/stolen")
    assert not (tmp_path / "stolen").exists()


@pytest.mark.parametrize("name", GUARDED)
def test_what_guides_the_agent_cannot_be_changed(runner: Runner, home: Home, name: str) -> None:
    before = contents(home)
    folder = Path(name).parts[0]
    sh(
        runner,
        f"echo evil >> {name}; rm -rf {name}; mv {name} {name}.old; cp /dev/null {name};"
        f"ln -f {name} workspace/hard && echo evil >> workspace/hard; chmod 777 {name};"
        f"mv {folder} moved && mkdir -p $(dirname {name}) && echo evil > {name};"
        f"sed -i s/a/evil/ {name}; mount -o remount,rw {home.root}/{name}; umount {name};"
        f"echo evil >> {name}; rm -rf {folder}",
    )
    after = contents_left(home)
    assert {k: v for k, v in after.items() if k in GUARDED} == {k: before[k] for k in GUARDED}


def contents_left(home: Home) -> dict[str, str]:
    return {
        name: (home.root / name).read_text(encoding="utf-8") if (home.root / name).exists() else ""
        for name in FILES
    }


@pytest.mark.parametrize(
    "name",
    ["openclaw.yaml", "workspace/SOUL.md", "workspace/HEARTBEAT.md", ".git", "sessions", "hooks"],
)
def test_what_is_missing_cannot_be_made(
    tmp_path: Path, turn_changes: TurnChanges, name: str
) -> None:
    root = tmp_path / "bare"
    (root / "workspace").mkdir(parents=True)
    runner = Runner(Home(root), turn_changes, limits=SMALL)
    sh(
        runner,
        f"echo 'mode: full' > {name}; mkdir -p {name}; echo x > {name}/config; rm -rf {name};"
        f"ln -s /etc {name}; mv workspace w; mkdir workspace; echo x > {name}; echo 1 > made.md",
    )
    assert not (root / name).exists() and not (root / name).is_symlink()
    assert (root / "made.md").is_file()
    assert {path.name for path in root.iterdir()} <= {"workspace", "made.md", ".openclaw"}


def test_a_link_in_the_place_of_a_guarded_file_cannot_be_replaced(
    runner: Runner, home: Home, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "dotfiles.md"
    elsewhere.write_text("# Mine\n")
    soul = home.root / "workspace/SOUL.md"
    soul.unlink()
    soul.symlink_to(elsewhere)
    sh(runner, "rm -f workspace/SOUL.md; echo evil > workspace/SOUL.md")
    assert soul.is_symlink() and elsewhere.read_text() == "# Mine\n"


def test_memory_is_fixed_once_untrusted_text_was_read(runner: Runner, home: Home) -> None:
    sh(runner, "echo '- good' >> memory/MEMORY.md")
    runner.turn_changes.foreign.append("web: evil.example")
    sh(runner, "echo '- evil' >> memory/MEMORY.md; echo x > memory/2026-01-01.md; mv memory m")
    assert (home.memory / "MEMORY.md").read_text().endswith("- likes tea\n- good\n")
    assert not (home.memory / "2026-01-01.md").exists()


def test_memory_is_fixed_where_there_is_none_yet_and_no_layer(
    home: Home, turn_changes: TurnChanges
) -> None:
    runner = Runner(home, turn_changes, timeout=10, limits=SMALL, layered=lambda root: False)
    shutil.rmtree(home.memory)
    turn_changes.foreign.append("web: evil.example")
    sh(runner, "mkdir -p memory; echo '- evil' > memory/MEMORY.md")
    assert not home.memory.exists()


def test_no_file_that_acts_as_its_owner_is_left(runner: Runner, home: Home) -> None:
    sh(runner, "cp /bin/sh workspace/.sh; chmod 6755 workspace/.sh")
    mode = (home.root / "workspace/.sh").stat().st_mode
    assert not mode & (stat.S_ISUID | stat.S_ISGID) and mode & stat.S_IXUSR


# -------- reaching anybody


@pytest.fixture
def server() -> Iterator[tuple[int, list[str]]]:
    seen: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            seen.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"reached")

        def log_message(self, *args: object) -> None:
            return

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as web:
        threading.Thread(target=web.serve_forever, daemon=True).start()
        yield web.server_port, seen
        web.shutdown()


def asks(port: int) -> str:
    return (
        "import urllib.request\n"
        f"for host in ('127.0.0.1', 'localhost', '[::1]', '0.0.0.0'):\n"
        f"    try: print(urllib.request.urlopen(f'http://{{host}}:{port}/', timeout=2).read())\n"
        "    except OSError as error: print(error)\n"
    )


def test_no_server_can_be_reached(runner: Runner, server: tuple[int, list[str]]) -> None:
    port, seen = server
    assert "reached" not in py(runner, asks(port))
    assert seen == []
    text = py(runner, "import socket; socket.create_connection(('192.0.2.1', 80), 2)")
    assert "unreachable" in text and "[Commands have no network" in text


def test_a_setting_lets_commands_into_the_network_until_untrusted_text_is_read(
    runner: Runner, server: tuple[int, list[str]]
) -> None:
    port, seen = server
    runner.network = True
    text = py(runner, asks(port))
    assert "reached" in text and len(seen) >= 1
    assert runner.turn_changes.foreign == ["command: python"]  # what it printed may be anybody's
    seen.clear()
    assert "reached" not in py(runner, asks(port))
    assert seen == []


def test_sockets_of_the_machine_cannot_be_reached(
    runner: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket(socket.AF_UNIX) as outside, socket.socket(socket.AF_UNIX) as nameless:
        monkeypatch.chdir(tmp_path)  # a socket's path is short
        outside.bind("s")
        outside.listen()
        nameless.bind("\0openclaw-test")
        nameless.listen()
        names = [
            f"{tmp_path}/s",
            "\0openclaw-test",
            "/run/docker.sock",
            "/run/dbus/system_bus_socket",
        ]
        code = (
            "import socket\n"
            f"for name in {names}:\n"
            "    try: socket.socket(socket.AF_UNIX).connect(name); print('reached')\n"
            "    except OSError as error: print(error.errno)\n"
        )
        text = py(runner, code)
    assert len(text.splitlines()) == 1 + len(names)
    assert "reached" not in text


# -------- staying


def alive(word: str) -> bool:
    return any(word in line for line in _commands())


def test_nothing_outlives_the_call(runner: Runner, home: Home) -> None:
    started = time.monotonic()
    sh(
        runner,
        "(setsid nohup sh -c 'sleep 0.6; touch workspace/late; sleep 31.4159' >/dev/null 2>&1 &);"
        "nohup env -i /bin/sh -c 'exec sleep 31.4159' >/dev/null 2>&1 & sleep 0.1",
    )
    assert time.monotonic() - started < 5
    time.sleep(0.8)
    assert not (home.root / "workspace/late").exists()
    assert not alive("31.4159")


def test_what_takes_too_long_is_ended_with_all_it_started(
    home: Home, turn_changes: TurnChanges
) -> None:
    runner = Runner(home, turn_changes, timeout=0.5, limits=SMALL)
    line = "setsid sleep 27.1828 & echo begun; trap '' TERM INT HUP; sleep 27.1828"
    assert sh(runner, line).startswith("Stopped after 1 s: it took longer than 0.5 s.\nbegun")
    time.sleep(0.2)
    assert not alive("27.1828")


# -------- bringing the machine down


def test_a_fork_bomb_is_stopped(runner: Runner) -> None:
    started = time.monotonic()
    runner.run(ProgramCall(("/bin/sh", "-c", "b() { b | b & }; b; sleep 20"), "sh"))
    assert time.monotonic() - started < 11
    time.sleep(0.3)
    assert sum("b() { b" in name for name in _commands()) == 0


def _commands() -> list[str]:
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            found.append(" ".join(process.cmdline()))
    return found


def test_a_process_that_fills_the_memory_is_refused_more(runner: Runner) -> None:
    text = py(runner, "x = []\nwhile True: x.append(bytes(range(256)) * 100_000)")
    assert "MemoryError" in text


def test_a_large_file_is_refused(runner: Runner, home: Home) -> None:
    sh(runner, "head -c 1G /dev/zero > workspace/big")
    assert (home.root / "workspace/big").stat().st_size <= SMALL.file_mb << 20


def test_many_large_files_are_stopped(runner: Runner) -> None:
    line = "i=0; while :; do i=$((i+1)); head -c 7M /dev/zero > workspace/$i; done"
    assert "it wrote more than 64 MB" in sh(runner, line)


def test_it_can_kill_nobody(runner: Runner) -> None:
    text = sh(runner, f"kill -9 -1; kill -9 {os.getpid()}; kill -9 {os.getppid()}; echo still here")
    assert "still here" in text


def test_it_can_neither_mount_nor_look_into_others_nor_type_for_the_user(runner: Runner) -> None:
    text = sh(
        runner,
        "mount -t tmpfs x /tmp && echo mounted; unshare -Ur mount -t tmpfs x /tmp && echo mounted;"
        "unshare -U true && echo unshared; chroot / true && echo chrooted; true",
    )
    assert "mounted" not in text and "unshared" not in text and "chrooted" not in text
    code = (
        "import ctypes, fcntl, os, termios\n"
        f"libc = ctypes.CDLL(None)\nfor pid in ({os.getpid()}, {os.getppid()}):\n"
        "    print('attached' if libc.ptrace(16, pid, 0, 0) == 0 else 'refused')\n"
        "for name in ('/dev/tty', '/dev/pts/0', '/dev/console', '/dev/stdin'):\n"
        "    try: fcntl.ioctl(os.open(name, os.O_RDWR), termios.TIOCSTI, b'x'); print('typed')\n"
        "    except OSError: pass\n"
    )
    text = py(runner, code)
    assert text.count("refused") == 2 and "typed" not in text


def test_it_has_no_rights_of_the_administrator(runner: Runner) -> None:
    text = sh(runner, "grep -E '^(CapEff|CapBnd|NoNewPrivs)' /proc/self/status")
    assert "CapEff:\t0000000000000000" in text and "NoNewPrivs:\t1" in text


# -------- whether there is one


def test_the_reason_is_named_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    sandbox.why_unavailable()
    monkeypatch.setenv("PATH", "/nowhere")
    sandbox.probe.cache_clear()
    try:
        assert sandbox.why_unavailable() == "bubblewrap is not installed"
    finally:
        sandbox.probe.cache_clear()
        monkeypatch.undo()


def test_one_that_does_not_work_counts_as_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho 'bwrap: setting up uid map: Permission denied' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    sandbox.probe.cache_clear()
    try:
        assert sandbox.why_unavailable() == (
            "bubblewrap does not work here (bwrap: setting up uid map: Permission denied)"
        )
    finally:
        sandbox.probe.cache_clear()
        monkeypatch.undo()
