"""Runs one hook and reads what it says."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from openclaw.config.hook_settings import Hook
from openclaw.security.program_files import Held, Sealed, sealed, starts_scripts, users_home
from openclaw.security.untrusted import defused, strip
from openclaw.storage.home import Home
from openclaw.storage.program import HOOK_VARIABLE
from openclaw.tools.shell.output import KEPT, plain
from openclaw.tools.shell.process import CMD, Finished, run
from openclaw.tools.shell.shell import environment

"""Environment variable that tells openclaw that a hook has started it: it then runs none."""
MOST_CHARS = 65_536
MOST_ERRORS = 10_000_000
LONGEST_REASON = 200
REFUSES = 2
"""The exit code that refuses, as with Claude Code."""
KEYS = ("refuse", "context", "focus", "notice")
OWN = ("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA")
"""Where programs look for what the user has set: not in a folder into which the agent writes."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of a hook: `text` it adds, `notice` for the user, `refused` why what was about to
    happen is not to ("" to go on), `failed` why it has no say ("" when it ran as it should). All
    but the text are one line. `code` is its exit code, None when it was ended or did not start."""

    text: str = ""
    notice: str = ""
    refused: str = ""
    failed: str = ""
    code: int | None = None
    seconds: float = 0.0


def run_hook(home: Home, hook: Hook, facts: Mapping[str, Any], held: Mapping[str, Held]) -> Reply:
    """Run a hook over these facts, from copies of the files that its yes is for, and wait for it.
    Raises nothing but what interrupts."""
    root = Path(os.path.realpath(home.root))
    told = json.dumps(facts, ensure_ascii=False, default=str) + "\n"
    try:
        with (
            sealed(root, held) as copies,
            tempfile.TemporaryFile() as given,
            tempfile.TemporaryFile() as errors,
        ):
            given.write(told.encode("utf-8", "replace"))
            given.seek(0)
            finished = run(
                argv_of(hook, copies),
                cwd=copies.within(root / hook.cwd) if hook.cwd else copies.folder,
                env=variables(home, hook),
                timeout=hook.timeout,
                max_chars=2 * KEPT,
                spill=root,  # nothing is longer
                watch=lambda _: _too_much(errors),
                given=given,
                errors=errors,
            )
            errors.seek(0)
            said = plain(errors.read(MOST_CHARS).decode("utf-8", "replace"))
    except (OSError, ValueError) as error:
        return Reply(failed=f"it could not be started: {line(str(error))}")
    return _read(finished, said)


def argv_of(hook: Hook, copies: Sealed) -> Sequence[str]:
    """The words that start a hook: a text goes to the shell of the system."""
    command = copies.command(hook.run)
    if isinstance(command, str):
        if os.name == "nt":
            return (os.environ.get("COMSPEC", "cmd.exe"), *CMD, command)
        return ("/bin/sh", "-c", command)
    first, *rest = command
    if ("/" in first or os.sep in first) and not Path(first).is_absolute():
        first = str(copies.folder / first)  # Windows would look from our own folder
    return (first, *rest)


def line(text: str) -> str:
    """What a program said as one short line that gives no orders and hides nothing."""
    flat = " ".join(defused(text).split())
    return flat if len(flat) <= LONGEST_REASON else f"{flat[: LONGEST_REASON - 3]}..."


def variables(home: Home, hook: Hook) -> dict[str, str]:
    """The environment of a hook."""
    root = Path(os.path.realpath(home.root))
    found = environment(home, os.environ, named=hook.env, confined=False, reading=False)
    found |= {name: os.environ[name] for name in OWN if name in os.environ}
    found |= {"HOME": users_home(), "PYTHONNOUSERSITE": "1"}
    if not starts_scripts(hook.run, root):
        # Python would take modules from its folder before its own, and the agent may write there.
        found["PYTHONSAFEPATH"] = "1"
    return {**found, HOOK_VARIABLE: hook.event, "OPENCLAW_HOME": str(root)}


def _too_much(errors: BinaryIO) -> str:
    size = os.fstat(errors.fileno()).st_size
    return "it wrote too much to standard error" if size > MOST_ERRORS else ""


def _read(finished: Finished, errors: str) -> Reply:
    """A hook's reply: one JSON object with keys of ours, or plain text."""
    seconds, code = round(finished.seconds, 3), finished.code
    if code is None:
        return Reply(failed=line(finished.stopped), seconds=seconds)
    text = strip(finished.text).strip()
    reply = _object(text) if len(text) <= MOST_CHARS else {}
    if not reply and len(text) > MOST_CHARS:
        text = f"{text[:MOST_CHARS]}\n[Cut: a hook may say {MOST_CHARS:,} characters]"
    if code == REFUSES:
        why = reply.get("refuse") or errors or text
        return Reply(refused=_reason(why), code=code, seconds=seconds)
    if code != 0:
        end = f"it ended with exit code {code}" if code > 0 else f"it ended by signal {-code}"
        why = line(errors.strip().rpartition("\n")[2])
        return Reply(failed=f"{end}: {why}" if why else end, code=code, seconds=seconds)
    if not reply:
        return Reply(text, code=code, seconds=seconds)
    return _told(reply, seconds)


def _told(reply: Mapping[str, Any], seconds: float) -> Reply:
    wrong = [key for key in reply if key not in KEYS]
    wrong += [key for key in KEYS[1:] if not isinstance(reply.get(key, ""), str)]
    if wrong:
        named = line(", ".join(dict.fromkeys(wrong)))
        return Reply(failed=f"its reply has keys that mean nothing: {named}", code=0)
    return Reply(
        (reply.get("context") or reply.get("focus") or "").strip(),
        line(reply.get("notice", "")),
        _reason(reply["refuse"]) if reply.get("refuse") else "",
        code=0,
        seconds=seconds,
    )


def _object(text: str) -> dict[str, Any]:
    """The object that a reply is, if it has a key of ours: other JSON is text like any."""
    if not text.startswith("{"):
        return {}
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) and set(KEYS) & found.keys() else {}


def _reason(why: object) -> str:
    return line(why) if isinstance(why, str) and line(why) else "it gave no reason"
