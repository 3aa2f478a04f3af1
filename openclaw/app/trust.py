"""Keeps which programs of which home the user has said yes to, outside of any home.

A home may come from elsewhere: cloned, unpacked, copied, synchronised. Its openclaw.yaml names
programs, and none of them may run because a folder was opened. The yes stands in the user's data
folder under the home's real path, with a hash of what was said yes to; for anything else it is
asked for anew.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from openclaw.app.command_words import words_of
from openclaw.app.programs import Programs, programs
from openclaw.config.hooks import Hook
from openclaw.files.home import Home
from openclaw.files.lock import locked
from openclaw.files.text import read_text, write_private

FILE = "openclaw-trust.json"
VERSION = 1
KIND = "hooks"
State = Literal["trusted", "new", "changed"]


def trust_file() -> Path:
    """Where every yes of this user is kept."""
    from platformdirs import user_data_path

    return user_data_path("openclaw", appauthor=False) / FILE


@dataclass(frozen=True, slots=True)
class Asked:
    """What a yes would be said to: the hooks of a home and the files that they run. `mark` is a
    hash of both, "" when it cannot be made."""

    hooks: tuple[Hook, ...]
    programs: Programs
    mark: str

    def missing(self, hook: Hook) -> str:
        """The program of the home that a hook names and that is not there, "" for none."""
        words = words_of(hook.run)
        return next((word for word in words if word in self.programs.missing), "")


def asked(home: Home, hooks: Sequence[Hook]) -> Asked:
    """What the hooks of a home are at this moment."""
    found = programs(home, [hook.run for hook in hooks])
    facts = json.dumps([[asdict(hook) for hook in hooks], found.hash], sort_keys=True)
    mark = hashlib.sha256(facts.encode("utf-8", "surrogatepass")).hexdigest()
    return Asked(tuple(hooks), found, "" if found.trouble else mark)


@dataclass(frozen=True, slots=True)
class Trust:
    """The list of yeses in a file."""

    file: Path

    def state(self, home: Home, mark: str) -> State:
        """Whether the user has said yes to this, or to something else of the same home."""
        known = self._known(self._read(), home)
        if mark and known == mark:
            return "trusted"
        return "changed" if known else "new"

    def allow(self, home: Home, mark: str) -> None:
        """Keep a yes. OpenclawError when it cannot be written."""
        at = datetime.now().astimezone().isoformat(timespec="seconds")
        self._change(home, {"mark": mark, "at": at})

    def revoke(self, home: Home) -> bool:
        """Take a yes back; False when there was none."""
        if not self._known(self._read(), home):
            return False
        self._change(home, None)
        return True

    def _change(self, home: Home, value: dict[str, str] | None) -> None:
        with locked(self.file.with_suffix(".lock")):
            homes = self._read()
            of_home = {k: v for k, v in homes.get(_key(home), {}).items() if k != KIND}
            if value is not None:
                of_home[KIND] = value
            homes[_key(home)] = of_home
            homes = {key: each for key, each in homes.items() if each}
            shape = {"version": VERSION, "homes": homes}
            write_private(self.file, json.dumps(shape, ensure_ascii=False, indent=2) + "\n")

    def _known(self, homes: dict[str, dict[str, Any]], home: Home) -> str:
        found = homes.get(_key(home), {}).get(KIND)
        mark = found.get("mark") if isinstance(found, dict) else ""
        return mark if isinstance(mark, str) else ""

    def _read(self) -> dict[str, dict[str, Any]]:
        """By home; nothing when the file is missing or none of ours: then all is asked anew."""
        with suppress(OSError, ValueError):
            found = json.loads(read_text(self.file))
            homes = found.get("homes") if isinstance(found, dict) else None
            if isinstance(homes, dict):
                return {key: each for key, each in homes.items() if isinstance(each, dict)}
        return {}


def _key(home: Home) -> str:
    return os.path.normcase(os.path.realpath(home.root))


def why_not(found: Asked, state: State) -> str:
    """Why the hooks do not run, "" when they do."""
    if found.programs.trouble:
        return f"they cannot be trusted: {found.programs.trouble}"
    if state == "trusted":
        return ""
    return "they have changed since you said yes" if state == "changed" else "nobody said yes yet"
