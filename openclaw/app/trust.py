"""What a yes to a home's hooks or MCP servers is said to: their commands, and the files that they
run.

The yes stands outside of the home (`openclaw.files.trust`) with a hash of both.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from openclaw.app.command_words import words_of
from openclaw.app.programs import Programs, programs
from openclaw.config.hooks import Hook
from openclaw.config.servers import Server
from openclaw.files.home import Home
from openclaw.files.trust import State


@dataclass(frozen=True, slots=True)
class Asked:
    """What a yes would be said to: the hooks or the MCP servers of a home and the files that they
    run. `mark` is a hash of both, "" when it cannot be made."""

    hooks: tuple[Hook, ...]
    programs: Programs
    mark: str
    servers: tuple[Server, ...] = ()

    def missing(self, hook: Hook) -> str:
        """The program of the home that a hook names and that is not there, "" for none."""
        words = words_of(hook.run)
        return next((word for word in words if word in self.programs.missing), "")


def asked(home: Home, hooks: Sequence[Hook]) -> Asked:
    """What the hooks of a home are at this moment."""
    found = programs(home, [command for hook in hooks for command in hook.commands])
    return Asked(tuple(hooks), found, marked(list(map(_facts, hooks)), found))


def marked(settings: Sequence[Mapping[str, Any]], found: Programs) -> str:
    """The hash of settings and of the files that they run, "" when it cannot be made."""
    facts = json.dumps([list(settings), found.hash], sort_keys=True)
    mark = hashlib.sha256(facts.encode("utf-8", "surrogatepass")).hexdigest()
    return "" if found.trouble else mark


def _facts(hook: Hook) -> dict[str, Any]:
    """A hook as it is in the hash; a yes of before there was a `cwd` stays good."""
    return {key: value for key, value in asdict(hook).items() if key != "cwd" or value}


def why_not(found: Asked, state: State) -> str:
    """Why hooks or servers do not run, "" when they do."""
    if found.programs.trouble:
        return f"they cannot be trusted: {found.programs.trouble}"
    if state == "trusted":
        return ""
    return (
        "they have changed since you allowed it"
        if state == "changed"
        else "you have not allowed it yet"
    )
