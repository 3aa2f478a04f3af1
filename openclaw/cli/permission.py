"""The question whether a tool may run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from openclaw.cli.visible import whole_call
from openclaw.shapes import Effect

MAX_LINES = 60


class Permission:
    """Asks a person before a tool runs; "a" allows the tool until the program ends.

    `read` shows a question and returns the reply; `say` prints a line; `pause` clears the screen of
    what is drawn only for the moment. No reply (end of input) means no.
    """

    def __init__(
        self,
        read: Callable[[str], str],
        say: Callable[[str], None],
        pause: Callable[[], None],
    ) -> None:
        self._read, self._say, self._pause = read, say, pause
        self._allowed: set[tuple[str, Effect]] = set()

    def __call__(self, tool: str, arguments: Mapping[str, Any], effect: Effect) -> bool:
        if (tool, effect) in self._allowed:
            return True
        self._pause()
        lines = whole_call(tool, arguments).splitlines()
        self._show(lines[:MAX_LINES], len(lines) - MAX_LINES)
        return self._decide((tool, effect), lines)

    def _decide(self, wish: tuple[str, Effect], lines: list[str]) -> bool:
        more = ", v = view all of it" if len(lines) > MAX_LINES else ""
        while True:
            reply = self._reply(f"Allow? y = once, a = for this session, n = no{more} [n] ")
            if reply in ("a", "always"):
                self._allowed.add(wish)
            if reply in ("y", "yes", "a", "always"):
                return True
            if reply == "v":
                self._show(lines, 0)
            elif reply in ("", "n", "no"):
                return False

    def _show(self, lines: list[str], hidden: int) -> None:
        for line in lines:
            self._say(line)
        if hidden > 0:
            self._say(f"[{hidden} more lines are not shown]")

    def _reply(self, question: str) -> str:
        try:
            return self._read(question).strip().lower()
        except EOFError:
            return ""


def always(tool: str, arguments: Mapping[str, Any], effect: Effect) -> bool:
    """The reply of `--yes`."""
    return True
