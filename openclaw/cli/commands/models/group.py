"""`openclaw models`: which models there are, fetching one, choosing one."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from openclaw.cli.current_home import current_home, load_settings_or_defaults, record_as_turn
from openclaw.cli.formatting import print_listing
from openclaw.cli.options import AsJson
from openclaw.config import Settings, set_value
from openclaw.errors import OpenclawError, UsageError
from openclaw.models import catalog
from openclaw.models.catalog import Progress
from openclaw.models.model_names import (
    all_models,
    find_auto_model,
    is_ollama,
    resolve_installed_model,
    resolve_model,
)
from openclaw.models.ollama_models import pull_model

SECONDS_PER_LINE = 10.0  # between two lines of progress where there is no terminal


def list_(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List the models of the catalogue, of the models folder and of Ollama."""
    rows, away = all_models(load_settings_or_defaults(ctx).ollama.host)
    print_listing(
        rows,
        {
            "MODEL": "name",
            "KIND": "kind",
            "SIZE": lambda model: _gigabytes(model["size"]),
            "HERE": lambda model: "yes" if model["installed"] else "no",
            "": "about",
        },
        as_json=as_json,
    )
    if away and not as_json:
        typer.echo(away, err=True)


def pull(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="A name of the list, or ollama/NAME.")] = "",
    if_needed: Annotated[
        bool,
        typer.Option(
            "--if-needed",
            help="Only what is missing of a model to talk to and the one that searches memory by "
            "meaning; takes no NAME.",
        ),
    ] = False,
) -> None:
    """Fetch a model; without a name, the default embedded one."""
    if if_needed:
        if name:
            raise UsageError("--if-needed takes no NAME", f"openclaw models pull {name}")
        _pull_what_is_missing(load_settings_or_defaults(ctx))
        return
    if is_ollama(name):
        bare = name.removeprefix("ollama/").strip()
        if not bare:
            raise UsageError("no model is named", "openclaw models pull ollama/NAME")
        with _progress() as on_progress:
            pull_model(bare, load_settings_or_defaults(ctx).ollama.host, on_progress)
        typer.echo(f"ollama/{bare} is ready")
        return
    _fetch(name)


def use(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="PROVIDER/NAME, auto, or a path.")],
    force: Annotated[
        bool, typer.Option("--force", help="Take it even if Ollama does not have it yet.")
    ] = False,
) -> None:
    """Make a model the one that answers (`model` in openclaw.yaml)."""
    home = current_home(ctx)
    setting = (
        resolve_model(name)
        if force
        else resolve_installed_model(name, load_settings_or_defaults(ctx).ollama.host)
    )
    with record_as_turn(home, f"models use {name}") as turn:
        set_value(home, "model", setting, turn.keep)
    typer.echo(f"model: {setting}")


def _pull_what_is_missing(settings: Settings) -> None:
    """Without the embedding model search goes by words: not getting it is only a notice."""
    entry = catalog.embedding_entry()
    wanted = settings.embedding in ("auto", "embedded", f"embedded/{entry.name}")
    if wanted and catalog.embedding_files():
        typer.echo(f"nothing to fetch: embedded/{entry.name} is here", err=True)
    elif wanted:
        try:
            _fetch(entry.name)
        except OpenclawError as error:
            typer.echo(f"memory search goes by words only: {error}", err=True)
    if found := find_auto_model(settings.ollama.host):
        typer.echo(f"nothing to fetch: {found} is here", err=True)
    else:
        _fetch("")


def _fetch(name: str) -> None:
    """A model of the catalogue, the default one without a name, with its progress."""
    with _progress() as on_progress:
        path = catalog.pull(name, on_progress)
    typer.echo(f"{(catalog.find_entry(name) or catalog.default_entry()).name} is ready: {path}")


class PlainProgress:
    """Progress as plain lines, one in ten seconds at most."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._due = clock()

    def tell(self, name: str, done: int, total: int) -> None:
        if self._clock() >= self._due:
            self._due = self._clock() + SECONDS_PER_LINE
            sys.stderr.write(f"{name}: {done * 100 // max(total, 1)} % of {_gigabytes(total)}\n")
            sys.stderr.flush()


@contextmanager
def _progress() -> Iterator[Progress]:
    """Shows progress on stderr: one line that renews itself on a terminal, else plain lines."""
    if not sys.stderr.isatty():
        yield PlainProgress().tell
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TransferSpeedColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Bar(*columns, TransferSpeedColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=None)

        def tell(name: str, done: int, total: int) -> None:
            bar.update(task, completed=done, description=name, total=total)

        yield tell


def _gigabytes(size: int) -> str:
    return f"{size / 1e9:.2f} GB" if size >= 100_000_000 else f"{size / 1e6:.1f} MB"
