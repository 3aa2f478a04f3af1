"""`openclaw backup` and `openclaw restore`: a whole home in one archive, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from openclaw.cli.current_home import current_home
from openclaw.cli.formatting import warn
from openclaw.cli.options import Replace
from openclaw.errors import UsageError
from openclaw.maintenance.backup import back_up
from openclaw.maintenance.restore import restore as put_back
from openclaw.storage.program import expand_tilde


def backup(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(help="The archive, a .tar.gz.")],
    with_secrets: Annotated[
        bool, typer.Option("--secrets", help="Take the values of masked secrets along.")
    ] = False,
    force: Replace = False,
) -> None:
    """Put the whole home into one archive, history included, and read it back.

    Indexes, caches and locks are not included: they are made again. Nothing has to be closed
    for it.
    """
    home = current_home(ctx)
    made = back_up(home, Path.cwd() / expand_tilde(file), with_secrets=with_secrets, force=force)
    warn(f"{path} is not in it: {why}" for path, why in made.left_out.items())
    typer.echo(f"{file}: {len(made.files):,} files, {_size(made.size)}, read back and verified")
    if with_secrets:
        typer.echo("it holds secrets in plain text; keep it where nobody else can read it")


def restore(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(help="What `backup` wrote.")],
    directory: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="A new or empty folder; else --home.")
    ] = None,
) -> None:
    """Make a home of an archive, in a new or empty folder. Nothing is written over.

    An archive that you have not made on this machine makes a home that waits for your yes.
    """
    named = directory or ctx.obj
    if not named:
        raise UsageError("where to? a folder is missing", f"openclaw restore {file} DIR")
    made = put_back(Path.cwd() / expand_tilde(file), Path.cwd() / expand_tilde(named))
    warn(made.notes)
    typer.echo(f"{made.root}: {made.files:,} files, {_size(made.size)}, verified")
    typer.echo(f'next: openclaw --home "{made.root}" {"doctor" if made.own else "trust"}')


def _size(count: int) -> str:
    return f"{count / 1e6:,.1f} MB" if count >= 100_000 else f"{count:,} bytes"
