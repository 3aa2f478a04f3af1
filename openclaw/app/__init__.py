"""The hall: the one place that knows all rooms. Loaded when it is asked for: a command that needs
one room only (`openclaw mcp list`) does not pay for the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openclaw.app.context import ContextReport, Part
    from openclaw.app.hall import App
    from openclaw.tools.policy import Ask

__all__ = ["App", "Ask", "ContextReport", "Part"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from openclaw.app import context, hall
    from openclaw.tools import policy

    home = {"App": hall, "Ask": policy}.get(name, context)
    return getattr(home, name)
