"""The command line: the main command, and the one exit point for all errors."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from openclaw import __version__
from openclaw.cli.command_line import HELP
from openclaw.cli.current_home import SEARCH
from openclaw.cli.dispatch import CommandGroup, skip_coercion
from openclaw.home.search_client import SearchClient

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
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
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
    ctx.meta[SEARCH], ctx.obj = ctx.obj, home


def run(words: Sequence[str] | None = None, search: SearchClient | None = None) -> int:
    """Run the command line; returns the exit code (README, Exit codes). `search` was started for
    its prompt."""
    words = [_as_text(word) for word in (sys.argv[1:] if words is None else words)]
    try:
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):  # so that printing never fails, whatever the locale
                stream.reconfigure(encoding="utf-8", errors="replace")
        command = skip_coercion(typer.main.get_command(app))
        code: object = command.main(words, prog_name="openclaw", standalone_mode=False, obj=search)
        sys.stdout.flush()
        return code if isinstance(code, int) and not isinstance(code, bool) else 0
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except (KeyboardInterrupt, typer.Abort):
        sys.stderr.write("\nopenclaw: interrupted\n")
        return 130
    except Exception as error:  # noqa: BLE001  (the one exit point)
        from openclaw.cli.error_report import report_error

        return report_error(error, words)
    finally:
        if search:  # which an error or another command has left
            search.close()


def _as_text(word: str) -> str:
    """Replace bytes that are not UTF-8 in a word, unless it is the name of a file that exists."""
    if word.isascii() or os.path.lexists(word.partition("=")[2] if word[0] == "-" else word):
        return word
    return word.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
