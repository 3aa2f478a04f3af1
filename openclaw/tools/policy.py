"""What a tool may do in which mode. Pure: it decides, others ask and run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from openclaw.shapes import Effect, Mode

Decision = Literal["allow", "ask", "deny"]
Ask = Callable[[str, Mapping[str, Any], Effect], bool]

_TABLE: dict[Mode, dict[Effect, Decision]] = {
    "read-only": {"read": "allow", "write": "deny", "network": "ask"},
    "ask": {"read": "allow", "write": "ask", "network": "ask"},
    "edit": {"read": "allow", "write": "allow", "network": "ask"},
    "full": {"read": "allow", "write": "allow", "network": "allow"},
}

# Files that decide who the agent is and what it may do.
_GUARDED = frozenset({"openclaw.yaml", "soul.md", "agents.md"})


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules of one run. `ask` gets tool, arguments and effect and returns the user's yes;
    None means that nobody can be asked, which is a no."""

    mode: Mode
    ask: Ask | None = None

    def decide(self, effect: Effect, path: str = "") -> Decision:
        """What happens to a call with this effect; `path` is the file it names, if any."""
        decision = _TABLE[self.mode][effect]
        if effect == "write" and decision == "allow" and self.mode != "full" and _guarded(path):
            return "ask"
        return decision

    def refuses(self, effect: Effect) -> bool:
        """True when every call with this effect is refused: nobody to ask, or forbidden."""
        decision = self.decide(effect)
        return decision == "deny" or (decision == "ask" and self.ask is None)


def _guarded(path: str) -> bool:
    name = path.replace("\\", "/").rstrip("/. ").rpartition("/")[2]
    return name.strip().casefold() in _GUARDED
