"""Starting by itself: the files for systemd and launchd, and the socket that systemd hands over."""

from __future__ import annotations

import plistlib
import shlex
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path

import httpx
import pytest

from openclaw.server.autostart import make_files
from openclaw.storage.home import Home
from tests.fakes.command import openclaw

STARTER = """
import os, socket, sys
listening = socket.create_server(("127.0.0.1", 0))
print(listening.getsockname()[1], flush=True)
os.dup2(listening.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_FDS="1", LISTEN_PID=str(os.getpid()))
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no systemd")
def test_the_server_answers_at_the_socket_that_it_was_handed(home: Path) -> None:
    words = ["-m", "openclaw", "--home", str(home), "serve", "--idle", "1h"]
    command = [sys.executable, "-c", STARTER, *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            port = int(process.stdout.readline())
            assert httpx.get(f"http://127.0.0.1:{port}/api/health", timeout=120).json()["ok"]
        finally:
            process.terminate()


def test_the_units_start_this_home(tmp_path: Path) -> None:
    home = tmp_path / 'my "50%" $home'
    files = make_files(Home(home), 8400, "10m", tmp_path, "linux")
    units = {}
    for path, text in files.items():
        units[path.name] = ConfigParser(interpolation=None, strict=True)
        units[path.name].optionxform = str  # type: ignore[assignment,method-assign]
        units[path.name].read_string(text)
    assert units["openclaw.socket"]["Socket"]["ListenStream"] == "127.0.0.1:8400"
    command = units["openclaw.service"]["Service"]["ExecStart"]
    words = [word.replace("%%", "%").replace("$$", "$") for word in shlex.split(command)]
    assert words[0] == sys.executable
    assert words[3:] == ["--home", str(home), "serve", "--port", "8400", "--idle", "10m"]


def test_the_property_list_starts_this_home(tmp_path: Path) -> None:
    [(path, text)] = make_files(Home(tmp_path / "a & b"), 8377, "", tmp_path, "darwin").items()
    assert path.name == "openclaw.serve.plist"
    assert str(tmp_path / "a & b") in plistlib.loads(text.encode())["ProgramArguments"]


@pytest.mark.parametrize("words", [("serve", "--install"), ("jobs", "timer", "--install")])
def test_the_files_are_shown_and_not_written_without_a_yes(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    shown = openclaw("--home", str(home), *words)
    assert (shown.returncode, str(home) in shown.stdout) == (2, True)
    assert "no terminal to ask on\n  run this in a terminal" in shown.stderr
    assert not (tmp_path / "user" / ".config").exists()
