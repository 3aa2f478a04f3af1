"""What a yes to a home's hooks is said to: their commands, and the files that they run.

The yes stands outside of the home (`openclaw.files.trust`) with a hash of both.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from openclaw.app.command_words import words_of
from openclaw.app.programs import Programs, programs
from openclaw.config.hooks import Hook
from openclaw.files.home import Home
from openclaw.files.trust import State


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


def why_not(found: Asked, state: State) -> str:
    """Why the hooks do not run, "" when they do."""
    if found.programs.trouble:
        return f"they cannot be trusted: {found.programs.trouble}"
    if state == "trusted":
        return ""
    return "they have changed since you said yes" if state == "changed" else "nobody said yes yet"
