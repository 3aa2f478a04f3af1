"""openclaw.yaml: typed settings, where each comes from, and how one is changed."""

from openclaw.config.file import (
    add_line,
    drop_line,
    load_settings,
    origins,
    render,
    set_value,
    starter_text,
)
from openclaw.config.settings import Settings, find_key

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
