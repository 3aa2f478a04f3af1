"""The hall: the one place that knows all rooms."""

from openclaw.app.context import ContextReport, Part
from openclaw.app.hall import App
from openclaw.tools.policy import Ask

__all__ = ["App", "Ask", "ContextReport", "Part"]
