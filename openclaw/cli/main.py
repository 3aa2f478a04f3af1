"""The command line: the main command, and the one exit point for all errors."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from itertools import pairwise
from typing import Annotated, Any

import typer

from openclaw import __version__
from openclaw.cli.common import Options
from openclaw.cli.dispatch import (
    HELP,
    IMPLICIT,
    LEAST_SIMILARITY,
    CommandGroup,
    ask_instead_hint,
    skip_coercion,
)
from openclaw.cli.formatting import harmless, one_line
from openclaw.errors import OpenclawError

app = typer.Typer(
    cls=CommandGroup,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": HELP},
    subcommand_metavar='"PROMPT" | COMMAND [ARGS]...',
)


def _version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"openclaw {__version__}\n")
        raise typer.Exit


@app.callback()
def enter(
    ctx: typer.Context,
    home: Annotated[
        str | None, typer.Option("--home", metavar="DIR", help="The home to work in.")
    ] = None,
    debug: Annotated[bool, typer.Option("--debug", help="Show the trace of an error.")] = False,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """A personal agent that lives in a folder of plain files.

    Words that are piped in, and files named @path or @path:10-20 in the prompt, go along as
    material. A prompt that is the name of a command: openclaw ask WORD.

    \b
    openclaw                                      start a chat
    openclaw "what is due this week?"             ask once
    openclaw -c "and the week after?"             go on with the latest one
    git diff | openclaw "write a commit message"  with material
    openclaw todo add "call Anna" --due friday    no model is needed for commands
    """
    ctx.obj = Options(home=home, debug=debug)


def run(words: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code (design section 7)."""
    words = [_as_text(word) for word in (sys.argv[1:] if words is None else words)]
    try:
        _use_utf8()
        command = skip_coercion(typer.main.get_command(app))
        code: object = command.main(words, prog_name="openclaw", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) and not isinstance(code, bool) else 0
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except (KeyboardInterrupt, typer.Abort):
        sys.stderr.write("\nopenclaw: interrupted\n")
        return 130
    except Exception as error:  # noqa: BLE001  (the one exit point)
        return _report(error, words)


def _as_text(word: str) -> str:
    """Replace bytes that are not UTF-8 in a word, unless it is the name of a file that exists."""
    if word.isascii() or os.path.lexists(word.partition("=")[2] if word[0] == "-" else word):
        return word
    return word.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _report(error: Exception, words: Sequence[str]) -> int:
    """Print the error on stderr, and as JSON on stdout when that was asked for."""
    message, hint, code = explain(error)
    if "--debug" in words:
        import traceback

        traceback.print_exception(error)
    elif hint is None:
        hint = "run again with --debug for the whole trace"
    unfit = type(error).__name__ in ("UsageError", "BadParameter")  # typer's
    if unfit and not isinstance(error, OpenclawError) and (ask := ask_instead_hint(words)):
        hint = f"{hint}\n{ask}"
    if wants_json(words):
        from openclaw.cli.render import write_json
        from openclaw.events import Error

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
    if isinstance(error, OSError) and error.filename:
        said = one_line(f"{error.filename}: {error.strerror}")
        return said, "look at what is there and who may use it; --debug shows the trace", 1
    if isinstance(error, UnicodeEncodeError):  # whose text may hold a key
        what = f"a text holds what {error.encoding} cannot say, and can be neither sent nor kept"
        return what, "look at the words of the command and at variables such as OPENAI_API_KEY", 2
    return one_line(f"{type(error).__name__}: {error}"), None, 1


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


def _use_utf8() -> None:
    """Make stdout and stderr UTF-8, whatever the locale is, so that printing never fails."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")
