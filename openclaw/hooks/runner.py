"""Run one hook and read its reply."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from openclaw.config.hook_settings import Hook
from openclaw.frozen import frozen
from openclaw.security.credentials import user_folder
from openclaw.security.program_files import FileCopies, ProgramFile, copied_files, starts_scripts
from openclaw.security.untrusted import defuse, strip_hidden
from openclaw.storage.home import Home
from openclaw.storage.program import HOOK_VARIABLE
from openclaw.storage.safe_open import json_or_none
from openclaw.tools.shell.output import strip_terminal_codes
from openclaw.tools.shell.process import CMD, FinishedRun, run
from openclaw.tools.shell.shell import environment

MAX_CHARS = 65_536
MAX_ERRORS = 10_000_000
TOO_MUCH = "it wrote too much to standard error"
LONGEST_REASON = 200
REFUSES = 2  # the exit code that refuses, as with Claude Code
KEYS = ("refuse", "context", "focus", "notice")
OWN = ("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA")
"""Variables for the folders of the user's settings, which the agent does not write."""


@frozen
class HookReply:
    """The reply of a hook. All texts but `text` are one line."""

    text: str = ""  # text that it adds
    notice: str = ""  # for the user
    refused: str = ""  # why it refuses the event, "" to go on
    failed: str = ""  # why its reply does not count, "" when it ran correctly
    code: int | None = None  # exit code; None when it was ended or did not start
    seconds: float = 0.0


def run_hook(
    home: Home, hook: Hook, facts: Mapping[str, Any], held: Mapping[str, ProgramFile]
) -> HookReply:
    """Run a hook with these facts, from copies of the files that the yes covers, and wait for it.
    Raises nothing but an interrupt."""
    root = home.real_root
    told = json.dumps(facts, ensure_ascii=False, default=str) + "\n"
    try:
        with (
            copied_files(root, held) as copies,
            tempfile.TemporaryFile() as given,
            tempfile.TemporaryFile() as errors,
        ):
            given.write(told.encode("utf-8", "replace"))
            given.seek(0)
            finished = run(
                argv_of(hook, copies),
                cwd=copies.within(root / hook.cwd) if hook.cwd else copies.folder,
                env=hook_environment(home, hook),
                timeout=hook.timeout,
                watch=lambda _: TOO_MUCH if os.fstat(errors.fileno()).st_size > MAX_ERRORS else "",
                given=given,
                errors=errors,
            )
            errors.seek(0)
            said = strip_terminal_codes(errors.read(MAX_CHARS).decode("utf-8", "replace"))
    except (OSError, ValueError) as error:
        return HookReply(failed=f"it could not be started: {safe_line(str(error))}")
    reply = _parse_reply(finished, said)
    return replace(reply, code=finished.code, seconds=round(finished.seconds, 3))


def argv_of(hook: Hook, copies: FileCopies) -> Sequence[str]:
    """The words that start a hook. A command that is one text goes to the system's shell."""
    command = copies.command(hook.run)
    if isinstance(command, str):
        if os.name == "nt":
            return (os.environ.get("COMSPEC", "cmd.exe"), *CMD, command)
        return ("/bin/sh", "-c", command)
    first, *rest = command
    if ("/" in first or os.sep in first) and not Path(first).is_absolute():
        first = str(copies.folder / first)  # Windows would search from our own folder
    return (first, *rest)


def safe_line(text: str) -> str:
    """Shorten a program's text to one line without orders and hidden characters."""
    flat = " ".join(defuse(text).split())
    return flat if len(flat) <= LONGEST_REASON else f"{flat[: LONGEST_REASON - 3]}..."


def hook_environment(home: Home, hook: Hook) -> dict[str, str]:
    root = home.real_root
    found = environment(home, os.environ, named=hook.env)
    found |= {name: os.environ[name] for name in OWN if name in os.environ}
    found |= {"HOME": user_folder(), "PYTHONNOUSERSITE": "1"}
    if not starts_scripts(hook.run, root):
        # Python would import modules from its folder before its own, and the agent may write there.
        found["PYTHONSAFEPATH"] = "1"
    return {**found, HOOK_VARIABLE: hook.event, "OPENCLAW_HOME": str(root)}


def _parse_reply(finished: FinishedRun, errors: str) -> HookReply:
    """A hook's reply: one JSON object with keys of ours, or plain text."""
    code = finished.code
    if code is None:
        return HookReply(failed=safe_line(finished.stopped))
    text = strip_hidden(finished.text).strip()
    found = json_or_none(text) if len(text) <= MAX_CHARS else None
    # JSON without a key of ours counts as text.
    reply = found if isinstance(found, dict) and found.keys() & set(KEYS) else {}
    if len(text) > MAX_CHARS:
        text = f"{text[:MAX_CHARS]}\n[Cut: a hook may say {MAX_CHARS:,} characters]"
    if code == REFUSES:
        return HookReply(refused=_refusal_text(reply.get("refuse") or errors or text))
    if code != 0:
        end = f"it ended with exit code {code}" if code > 0 else f"it ended by signal {-code}"
        why = safe_line(errors.strip().rpartition("\n")[2])
        return HookReply(failed=f"{end}: {why}" if why else end)
    if not reply:
        return HookReply(text)
    wrong = [key for key in reply if key not in KEYS]
    wrong += [key for key in KEYS[1:] if not isinstance(reply.get(key, ""), str)]
    if wrong:
        named = safe_line(", ".join(dict.fromkeys(wrong)))
        return HookReply(failed=f"its reply has keys that mean nothing: {named}")
    return HookReply(
        (reply.get("context") or reply.get("focus") or "").strip(),
        safe_line(reply.get("notice", "")),
        _refusal_text(reply["refuse"]) if reply.get("refuse") else "",
    )


def _refusal_text(why: object) -> str:
    return safe_line(why) if isinstance(why, str) and safe_line(why) else "it gave no reason"
