"""The files by which systemd or launchd start the server of a home, and the socket that they hand
over."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from xml.sax.saxutils import escape

from openclaw.storage.home import Home

FIRST_SOCKET = 3
"""The descriptor of the first socket that systemd hands over (sd_listen_fds(3))."""
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
PLIST = """\
<?xml version="1.0" encoding="UTF-8"?>
<plist version="1.0">
<dict>
  <key>Label</key><string>openclaw.serve</string>
  <key>ProgramArguments</key>
  <array>
{words}
  </array>
  <key>RunAtLoad</key><true/>
</dict>
</plist>
"""


def make_files(home: Home, port: int, idle: str, user: Path, platform: str) -> dict[Path, str]:
    """Return the files, by their paths below the user's folder, that start the server."""
    words = [sys.executable, "-m", "openclaw", "--home", str(home.root), "serve"]
    words += ["--port", str(port)]
    if platform == "darwin":
        rows = "\n".join(f"    <string>{escape(word)}</string>" for word in words)
        file = user / "Library" / "LaunchAgents" / "openclaw.serve.plist"
        return {file: PLIST.format(words=rows)}
    folder = user / ".config" / "systemd" / "user"
    command = " ".join(_quote(word) for word in [*words, "--idle", idle])
    return {
        folder / "openclaw.socket": SOCKET.format(port=port),
        folder / "openclaw.service": SERVICE.format(command=command),
    }


def start_command(platform: str) -> str:
    """Return the command by which the user lets the files count."""
    if platform == "darwin":
        return "launchctl load ~/Library/LaunchAgents/openclaw.serve.plist"
    return "systemctl --user daemon-reload && systemctl --user enable --now openclaw.socket"


def _quote(word: str) -> str:
    """Return a word of a command as systemd reads it (systemd.service(5))."""
    plain = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{plain}"'


def inherited_socket(environ: Mapping[str, str]) -> socket.socket | None:
    """Return the listening socket that systemd has handed over, None without one."""
    if environ.get("LISTEN_PID") != str(os.getpid()) or environ.get("LISTEN_FDS") != "1":
        return None
    return socket.socket(fileno=FIRST_SOCKET)
