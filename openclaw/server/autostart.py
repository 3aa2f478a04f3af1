"""The files by which systemd or launchd start the server of a home, or its jobs every five minutes;
and the socket that they hand over."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

from openclaw.storage.home import Home

FIRST_SOCKET = 3  # the descriptor of the first socket that systemd hands over (sd_listen_fds(3))
SOCKET = """\
[Unit]
Description=The port of openclaw serve

[Socket]
ListenStream=127.0.0.1:{port}

[Install]
WantedBy=sockets.target
"""
SERVICE = """\
[Unit]
Description=openclaw serve, from the first call until it is idle

[Service]
ExecStart={command}
"""
TIMER = """\
[Unit]
Description=openclaw jobs, every five minutes

[Timer]
OnCalendar=*:0/5
Persistent=true

[Install]
WantedBy=timers.target
"""
JOBS_SERVICE = """\
[Unit]
Description=openclaw jobs

[Service]
Type=oneshot
ExecStart={command}
"""
PLIST = """\
<?xml version="1.0" encoding="UTF-8"?>
<plist version="1.0">
<dict>
  <key>Label</key><string>{label}</string>
  <key>ProgramArguments</key>
  <array>
{words}
  </array>
  {when}
</dict>
</plist>
"""


def make_files(home: Home, port: int, idle: str, user: Path, platform: str) -> dict[Path, str]:
    """Return the files, by their paths below the user's folder, that start the server."""
    words = ["serve", "--port", str(port)]
    if platform == "darwin":
        return _launchd(home, user, "openclaw.serve", words, "<key>RunAtLoad</key><true/>")
    units = {"openclaw.socket": SOCKET.format(port=port), "openclaw.service": SERVICE}
    return _systemd(home, user, [*words, "--idle", idle], units)


def make_timer_files(home: Home, user: Path, platform: str) -> dict[Path, str]:
    """Return the files, by their paths below the user's folder, that start the jobs."""
    words = ["jobs", "run"]
    if platform == "darwin":
        when = "<key>StartInterval</key><integer>300</integer>"
        return _launchd(home, user, "openclaw.jobs", words, when)
    units = {"openclaw-jobs.timer": TIMER, "openclaw-jobs.service": JOBS_SERVICE}
    return _systemd(home, user, words, units)


def start_command(platform: str, *, jobs: bool = False) -> str:
    """Return the command by which the user lets the files count."""
    if platform == "darwin":
        return f"launchctl load ~/Library/LaunchAgents/openclaw.{'jobs' if jobs else 'serve'}.plist"
    unit = "openclaw-jobs.timer" if jobs else "openclaw.socket"
    return f"systemctl --user daemon-reload && systemctl --user enable --now {unit}"


def _command(home: Home, words: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "openclaw", "--home", str(home.root), *words]


def _systemd(
    home: Home, user: Path, words: Sequence[str], units: Mapping[str, str]
) -> dict[Path, str]:
    folder = user / ".config" / "systemd" / "user"
    command = " ".join(map(_quote, _command(home, words)))
    return {folder / name: text.format(command=command) for name, text in units.items()}


def _launchd(
    home: Home, user: Path, label: str, words: Sequence[str], when: str
) -> dict[Path, str]:
    rows = "\n".join(f"    <string>{escape(word)}</string>" for word in _command(home, words))
    file = user / "Library" / "LaunchAgents" / f"{label}.plist"
    return {file: PLIST.format(label=label, words=rows, when=when)}


def _quote(word: str) -> str:
    """Return a word of a command as systemd reads it (systemd.service(5))."""
    plain = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{plain}"'


def inherited_socket(environ: Mapping[str, str]) -> socket.socket | None:
    """Return the listening socket that systemd has handed over, None without one."""
    if environ.get("LISTEN_PID") != str(os.getpid()) or environ.get("LISTEN_FDS") != "1":
        return None
    return socket.socket(fileno=FIRST_SOCKET)
