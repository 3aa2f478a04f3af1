"""What !COMMAND does in a talk: the user runs a command, and its output goes to the next prompt."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable

from openclaw.cli.visible import harmless
from openclaw.errors import OpenclawError, UsageError
from openclaw.shapes import Material

MARK = "!"
MOST_OUTPUT = 1_000_000
"""Characters of an output that are kept, from its end."""


def is_shell_line(text: str) -> bool:
    """Whether an input is a command for the shell: one line, so that no pasted text is one."""
    return text.startswith(MARK) and "\n" not in text


def run_line(text: str, say: Callable[[str], None]) -> Material:
    """Run the command in the current folder, with the user's shell and rights, and show its output
    as it comes. UsageError for no command; KeyboardInterrupt ends the command too."""
    command = text.removeprefix(MARK).strip()
    if not command:
        raise UsageError("which command?", "!ls")
    shell = ["cmd", "/c"] if os.name == "nt" else [os.environ.get("SHELL") or "/bin/sh", "-c"]
    output = ""
    try:
        with subprocess.Popen(
            [*shell, command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as process:
            for line in process.stdout or ():
                say(harmless(line.rstrip("\n")))
                output = (output + line)[-MOST_OUTPUT:]
    except OSError as error:
        raise OpenclawError(f"{shell[0]} cannot be started: {error.strerror}") from error
    if process.returncode:
        output += f"exit code {process.returncode}\n"
        say(f"exit code {process.returncode}")
    return Material(f"output of: {command}", output or "(nothing)\n")
