"""A toolbox that plays recorded results back instead of running its tools."""

from __future__ import annotations

import json
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from openclaw.errors import OpenclawError
from openclaw.messages import ToolCall, ToolUse
from openclaw.security.masking import map_texts
from openclaw.security.policy import EFFECTS
from openclaw.tools.toolbox import CallResult, Toolbox
from openclaw.types import CHANGING, Action, Effect, ToolProblem

FOLLOWED = frozenset({"todo", "read_skill", "find_skill", "more_tools"})
"""Calls of these tools change the tools on offer, or the values of their arguments. So they really
run too, on the copy of the home."""
SERVED = "__"
"""Part of the name of a server's tool, which acts on the world and not on a copy of the home."""


OUTSIDE: frozenset[Effect] = frozenset({"run", "get", "send", "read-elsewhere", "write-elsewhere"})
"""Effects outside the copy, which a replay never has, whatever was recorded or is allowed."""


class CopyOnly:
    """Allows calls to change only the copy."""

    def before(self, action: Action, *_: Any) -> str:
        """See `openclaw.tools.toolbox.CallHooks`."""
        if action.effect not in OUTSIDE:
            return ""
        return f"a replay does without {EFFECTS[action.effect]}"

    def after(self, *_: Any) -> str:
        """See `openclaw.tools.toolbox.CallHooks`."""
        return ""


class NotRecorded(OpenclawError):
    """The requested `call` has no recorded result (left)."""

    def __init__(self, call: ToolCall) -> None:
        super().__init__(f"{call.name} has no recorded result for this input")
        self.call = call


class Playback(Toolbox):
    """A toolbox that returns the recorded results of these calls. `box` is the real toolbox of a
    copy of the home.

    A call gets the result recorded for the same tool and input; each is used once, in order. A call
    without one raises NotRecorded; with `live` it runs on the copy, where nobody is asked for a yes
    and nothing outside changes. `mask` replaces secrets by their names, as in the recorded inputs.
    """

    def __init__(
        self,
        box: Toolbox,
        recorded: Iterable[ToolUse],
        *,
        live: bool = False,
        mask: Callable[[str], str] = str,
    ) -> None:
        vars(self).update(vars(box))  # all of the toolbox but its methods
        self._live = live
        if live:
            self._hooks = CopyOnly()
            self._policy = replace(self._policy, ask=None, grants=())
        self._mask = mask
        self._left: dict[str, deque[ToolUse]] = defaultdict(deque)
        for use in recorded:
            self._left[call_key(use.tool, use.input)].append(use)
        self.played: list[ToolUse] = []
        self.changes = 0

    def run(self, call: ToolCall, share: int = 1) -> CallResult:
        """See `Toolbox.run`. `changes` counts successful calls that may have changed something."""
        left = self._left[call_key(call.name, map_texts(call.arguments, self._mask))]
        if left:
            use = left.popleft()
            outcome = CallResult(use.output, use.ok)
            self.played.append(use)
            if call.name in FOLLOWED:
                with suppress(OpenclawError, OSError):
                    super().run(call, share)
        elif self._live and not self._is_served(call):
            outcome = super().run(call, share)
        else:
            raise NotRecorded(call)
        self.changes += outcome.ok and self.effect(call) in CHANGING
        return outcome

    def is_changing(self, use: ToolUse) -> bool:
        """Return True when a recorded call may have changed something."""
        return self.effect(use.call) in CHANGING

    def _is_served(self, call: ToolCall) -> bool:
        with suppress(ToolProblem):
            return SERVED in self._resolve(call).name
        return False


def call_key(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return the same text for the same call."""
    return json.dumps([tool, dict(arguments)], sort_keys=True, default=str)
