"""`openclaw trust`: the yes that a home from elsewhere needs before it may do anything."""

from __future__ import annotations

from typing import Annotated

import typer

from openclaw.cli.current_home import current_home, find_named_home
from openclaw.cli.options import Unasked
from openclaw.cli.questions import confirm, refuse_inside_agent
from openclaw.cli.trust_questions import confirm_trust
from openclaw.errors import Refused
from openclaw.security.trust import allow_signer, own_remote, revoke
from openclaw.storage.git_remote import find_remote


def trust(
    ctx: typer.Context,
    yes: Unasked = False,
    keep_private: Annotated[
        bool,
        typer.Option(
            "--keep-private", help="Keep its .openclaw/: the home is mine, I moved or copied it."
        ),
    ] = False,
    remote: Annotated[
        str,
        typer.Option(
            "--remote", metavar="REMOTE", help="This git remote is mine: it brings my own words."
        ),
    ] = "",
    signer: Annotated[
        str,
        typer.Option("--signer", metavar="KEY", help="This public ssh key is of my other device."),
    ] = "",
    take_back: Annotated[bool, typer.Option("--revoke", help="Stop trusting it.")] = False,
) -> int:
    """Say that this home is yours: its settings count, and the agent may work in it.

    A home that was cloned, unpacked or copied is only read until then. Your trust is kept
    outside of it and holds for this folder; a new address for a key of the environment needs
    another yes.
    """
    home = find_named_home(ctx)
    if take_back:
        typer.echo("the home is not trusted any more" if revoke(home) else "it was not trusted")
        return 0
    refuse_inside_agent("a home")
    if signer:
        agreed = confirm("Is this the key of a device of yours?", yes=yes)
        if agreed:
            allow_signer(current_home(ctx), signer)
            typer.echo("what this key has signed counts as yours from now on")
    elif remote:
        found = find_remote(home.root, remote)
        agreed = confirm(f"Is {found.shown} yours, and all that push to it?", yes=yes)
        if agreed:
            own_remote(current_home(ctx), found.url)
            typer.echo(f"what comes from {found.shown} counts as yours from now on")
    else:
        agreed = confirm_trust(home, yes=yes, keep_private=keep_private)
    return 0 if agreed else Refused.exit_code
