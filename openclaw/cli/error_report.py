"""Tells the user of an error that ends a command: one line, a hint, and the exit code."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from difflib import get_close_matches
from itertools import pairwise
from typing import Any

from openclaw.cli.dispatch import IMPLICIT, LEAST_SIMILARITY, ask_instead_hint
from openclaw.cli.render import write_json
from openclaw.errors import OpenclawError, describe_unexpected
from openclaw.events import Error
from openclaw.security.display import harmless, one_line


def report_error(error: Exception, words: Sequence[str]) -> int:
    """Print the error on stderr, and as JSON on stdout when that was asked for."""
    message, hint, code = explain(error)
    if "--debug" in words:
        traceback.print_exception(error)
    elif hint is None:
        hint = "run again with --debug for the whole trace"
    unfit = type(error).__name__ in ("UsageError", "BadParameter")  # typer's
    if unfit and not isinstance(error, OpenclawError) and (ask := ask_instead_hint(words)):
        hint = f"{hint}\n{ask}"
    if wants_json(words):
        write_json(sys.stdout, Error(message, hint or "", code))
    lines = [f"openclaw: {message}", *(f"  {line}" for line in (hint or "").splitlines())]
    sys.stderr.write("\n".join(lines) + "\n")
    sys.stderr.flush()
    return code


def explain(error: Exception) -> tuple[str, str | None, int]:
    """Message, hint and exit code of an error; the hint is None for an unexpected one."""
    if isinstance(error, OpenclawError):
        return one_line(str(error)), harmless(error.hint), error.exit_code
    typers: Any = error
    if hasattr(error, "format_message") and hasattr(error, "exit_code"):  # typer's own family
        typers.possibilities = ()  # Typer's suggestions are often not similar at all
        said = one_line(typers.format_message()).replace(
            ": Value error, ", ": "
        )  # pydantic's words
        return said, _help_hint(error), int(typers.exit_code)
    said, hint, code = describe_unexpected(error)
    return one_line(said), hint, code


def _help_hint(error: Any) -> str:
    """The hint for a wrong command line: its --help, and an option similar to a misspelt one."""
    context = getattr(error, "ctx", None)
    if context is None:
        return "see: openclaw --help"
    where = "openclaw" if context.meta.get(IMPLICIT) else context.command_path
    params = (*context.command.params, *context.find_root().command.params)
    options = [name for param in params for name in param.opts]
    near = get_close_matches(
        getattr(error, "option_name", ""), options, n=1, cutoff=LEAST_SIMILARITY
    )
    return "".join(f"did you mean {name}? " for name in near) + f"see: {where} --help"


def wants_json(words: Sequence[str]) -> bool:
    """Return True when the words ask for JSON events on stdout."""
    formats = [word.removeprefix("--output=") for word in words if word.startswith("--output=")]
    formats += [value for word, value in pairwise(words) if word == "--output"]
    return any(value in ("json", "stream-json") for value in formats)
