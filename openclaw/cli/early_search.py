"""Starts the search for a prompt before typer is loaded, which takes as long as its own imports."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from openclaw.cli.command_names import COMMANDS, HOME_OPTION, OWN_OPTIONS, split_global_options
from openclaw.errors import OpenclawError
from openclaw.home.search_client import SearchClient, start_early
from openclaw.storage.home import find_home
from openclaw.storage.safe_open import is_ordinary
from openclaw.storage.trust_store import is_trusted


def search_early(words: Sequence[str]) -> SearchClient | None:
    """Start the search of the home for which a command line has a prompt; None when it has none, or
    when something else comes first: a question to the user, a server, an error."""
    options, rest = split_global_options(words)
    if not _is_prompt(rest) or "--no-memory" in rest:
        return None
    named = [word for word in options if word not in (HOME_OPTION, "--debug")]
    try:
        home = find_home(
            named[-1].removeprefix(f"{HOME_OPTION}=") if named else None, Path.cwd(), os.environ
        )
        served = "--no-server" not in rest and is_ordinary(home.server_file)
        return start_early(home) if is_trusted(home) and not served else None
    except (OpenclawError, OSError):
        return None


def _is_prompt(words: Sequence[str]) -> bool:
    if not words:
        return not sys.stdin.isatty()
    first = words[0]
    return first == "ask" or not (first in (*COMMANDS, "help") or first.startswith(OWN_OPTIONS))
