"""What /todo, /memory, /skills, /policy and /sessions do in a talk: what the commands do that have
these names in the shell."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import typer

from openclaw.cli import door
from openclaw.cli.common import Options
from openclaw.cli.main import explain
from openclaw.errors import OpenclawError, UsageError

GROUPS = {
    "todo": ("list", ""),
    "memory": ("list", "search"),
    "skills": ("list", "show"),
    "policy": ("show", ""),
    "sessions": ("list", "search"),
}
"""What each does without words, and with words that begin with none of its commands."""
IN_SHELL = ("undo", "redo", "log", "diff", "show", "blame", "why", "context", "usage", *GROUPS)
_COMMAND = re.compile(rf"\bopenclaw ({'|'.join(IN_SHELL)})\b")


def run(name: str, rest: str, home: Path) -> int:
    """Run the command of a group in this home; what it says goes to the terminal. Returns its exit
    code."""
    try:
        words = shlex.split(rest)
    except ValueError:  # an apostrophe is no quote: /todo add don't forget
        words = rest.split()
    command = door.load(name)
    plain, with_words = GROUPS[name]
    known = getattr(command, "commands", {})
    if not words:
        words = [plain]
    elif words[0] not in known and not words[0].startswith("-"):
        if not with_words:
            raise UsageError(f"/{name} has no command {words[0]}", f"it has: {', '.join(known)}")
        words = [with_words, *words]
    sys.stdout.flush()
    try:
        code = command.main(
            words, prog_name=f"/{name}", standalone_mode=False, obj=Options(str(home))
        )
    except typer.Abort:
        raise KeyboardInterrupt from None
    except OpenclawError:
        raise
    except Exception as error:
        message, hint, _ = explain(error)
        if hint is None:
            raise
        raise UsageError(message, hint) from error
    return code if isinstance(code, int) else 0


def for_talk(text: str) -> str:
    """A text for the user with /commands in the place of those of the shell."""
    return _COMMAND.sub(r"/\1", text)
