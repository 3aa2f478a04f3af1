"""openclaw.yaml: typed settings, where each comes from, and how one is changed."""

from openclaw.config.reading import load_settings, origins
from openclaw.config.settings import Settings, find_key
from openclaw.config.writing import add_line, drop_line, render, set_value, starter_text

__all__ = [
    "Settings",
    "add_line",
    "drop_line",
    "find_key",
    "load_settings",
    "origins",
    "render",
    "set_value",
    "starter_text",
]
