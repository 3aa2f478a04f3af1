"""What serves a home: its runs, its tokens, and its log of refused calls."""

from __future__ import annotations

import os
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from openclaw import __version__
from openclaw.security.audit import ACTIONS, Audit
from openclaw.server.access import Tokens
from openclaw.server.runs import Runs
from openclaw.server.server_client import prove
from openclaw.server.warm import WarmHome
from openclaw.storage.home import Home
from openclaw.types import CallRecord


@dataclass(slots=True)
class Service:
    """A home that is served. `end` ends the process; `port` is that on loopback."""

    home: Home
    tokens: Tokens
    warm: WarmHome
    runs: Runs
    end: Callable[[], None] = lambda: None
    port: int = 0
    began_at: float = field(default_factory=time.time)

    def describe(self) -> dict[str, Any]:
        """Return what runs, for `openclaw serve --status`."""
        return {
            "version": __version__,
            "pid": os.getpid(),
            "port": self.port,
            "home": str(self.home.root),
            "since": self.began_at,
            "runs": [run.describe() for run in self.runs.running()],
        }

    def prove(self, nonce: str) -> str:
        """Return what shows a client that this server knows the owner's token."""
        return prove(self.tokens.owner, nonce)

    def log_refusal(self, address: str, reason: str) -> None:
        """Note a refused call in the log of actions."""
        call = CallRecord("serve", "read", address, "deny", by=reason)
        Audit(self.home.private / "logs" / ACTIONS).write(call)

    def report(self, error: Exception) -> None:
        """Print an error that nobody expected."""
        traceback.print_exception(error, file=sys.stderr)
