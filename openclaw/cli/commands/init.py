"""`openclaw init`: make a home, or add what is missing to one."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from openclaw.cli.formatting import warn
from openclaw.cli.options import Unasked
from openclaw.cli.questions import can_ask, confirm
from openclaw.cli.trust_questions import ensure_trusted
from openclaw.config import load_settings, starter_text
from openclaw.errors import Damaged
from openclaw.retrieval.search import open_search
from openclaw.storage.git import is_own
from openclaw.storage.home import MARKS, Home, default_folder, find_home, holds_notes, nearest_home
from openclaw.storage.new_home import check_names, create_home
from openclaw.storage.program import expand_tilde
from openclaw.storage.trust_store import is_trusted

NO_CONTENT = frozenset({".git", ".gitignore", ".gitattributes", ".DS_Store"})
"""What an empty folder may hold."""
ALL_NOTES = """\
index:
  paths: ["."]  # all of the folder, not only memory/ and workspace/
"""


def init(
    ctx: typer.Context,
    directory: Annotated[
        Path | None,
        typer.Argument(metavar="DIR", help="Where; else --home, OPENCLAW_HOME, or here."),
    ] = None,
    yes: Unasked = False,
) -> None:
    """Make a home, or add what is missing to one. Nothing is ever overwritten."""
    target = chosen_folder(directory, ctx.obj)
    notes, versioned = holds_notes(target), is_own(target)
    _ask_about_others(target, notes=notes, yes=yes)
    created = make_home(target, notes=notes)
    for name in created:
        typer.echo(f"created {name}")
    typer.echo(f"the home is {target}" if created else f"nothing is missing in {target}")
    words = f' --home "{target}"' if _must_be_named(target) else ""
    if versioned and "openclaw.yaml" in created:
        typer.echo(
            "what openclaw changes is committed to the git repository that was here; to end that:"
            f" openclaw{words} config set git.auto_commit false"
        )
    if notes:
        typer.echo(f"your notes are as they were; {_index_notes(target)}")
    typer.echo(f"next: openclaw{words} doctor")


def _index_notes(target: Path) -> str:
    """Have all notes of a folder indexed, and say what is found in them."""
    home = Home(target.resolve())
    with closing(open_search(home, load_settings(home))) as search:
        return f"memory search finds {search.refresh().chunks:,} passages in this folder"


def _ask_about_others(target: Path, *, notes: bool, yes: bool) -> None:
    """Ask before a folder full of other files becomes a home, all of which tools may use.

    Notes are what a home is for, and a folder with parts of a home may be completed. A script that
    names a folder is only told, unless it is the user's own folder.
    """
    names = {path.name for path in target.iterdir()} if target.is_dir() else set()
    own = default_folder(os.environ).parent.resolve()
    is_users = target.resolve() in (own, *own.parents)
    if yes or (notes and not is_users) or names <= NO_CONTENT or not names.isdisjoint(MARKS):
        return
    warn(
        [
            f"{target} holds other files already; tools of the agent may read "
            "and change all that is in its home",
            f'to give it a folder of its own: openclaw init "{target / "openclaw"}"',
        ]
    )
    if not can_ask() and not is_users:
        return
    if not confirm("Make it a home all the same?", yes=False):
        raise typer.Exit(1)


def make_home(target: Path, *, notes: bool = False) -> list[str]:
    """Make a home, see `create_home`; of a folder of `notes` all files are searched. Refused for a
    home from elsewhere that nobody has trusted."""
    home = Home(target.resolve())
    check_names(home.root)
    if home.root.is_dir() and not is_trusted(home):
        ensure_trusted(home, reading=False)
    return create_home(home.root, starter_text() + (ALL_NOTES if notes else ""))


def chosen_folder(directory: Path | None, flag: str | None) -> Path:
    """Return where a home is made for this command line. Without a folder: the home that the
    current folder lies in, else that itself, but ~/openclaw in place of the user's own folder."""
    cwd = Path.cwd()
    if named := directory or flag or os.environ.get("OPENCLAW_HOME"):
        return cwd / expand_tilde(named)
    default = default_folder(os.environ)
    return nearest_home(cwd) or (default if cwd == default.parent else cwd)


def _must_be_named(target: Path) -> bool:
    """Tell whether a command run from here would not find the home by itself."""
    try:
        return find_home(None, Path.cwd(), os.environ).root != target.resolve()
    except Damaged:
        return True
