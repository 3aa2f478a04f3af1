"""`openclaw skills install`, `remove`, `update` and `new`. Nothing of a skill runs here."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from openclaw.cli.current_home import current_home, record_as_turn
from openclaw.cli.formatting import print_json, print_result
from openclaw.cli.options import AsJson, Unasked
from openclaw.cli.questions import can_ask, confirm, read_letter, require_yes
from openclaw.config import load_settings
from openclaw.errors import OpenclawError
from openclaw.security.display import count_of, harmless, one_line, some_lines
from openclaw.skills.install import (
    StagedSkill,
    check_free,
    check_update,
    find_installed,
    install_staged,
    is_pinned,
    stage_skill,
    tracked_skills,
)
from openclaw.skills.install import remove as remove_skill
from openclaw.skills.proposals import create_skill
from openclaw.skills.skill import make_blocker_check
from openclaw.skills.sources import read_origin
from openclaw.storage.home import Home
from openclaw.storage.safe_open import read_text

MAX_LINES = 40


def install(
    ctx: typer.Context,
    source: Annotated[
        str,
        typer.Argument(
            help="A folder, a .zip, .skill or .tar.gz archive, or a git URL (URL#branch:folder).",
        ),
    ],
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", help="Which one, if it holds several skills.")
    ] = "",
    force: Annotated[bool, typer.Option("--force", help="Replace one of the same name.")] = False,
    pin: Annotated[bool, typer.Option("--pin", help="Keep it as it is at updates.")] = False,
    yes: Unasked = False,
    as_json: AsJson = False,
) -> int:
    """Install a skill after showing what it contains. Nothing of it is run."""
    home = current_home(ctx)
    with stage_skill(home, read_origin(source, Path.cwd()), choice=name) as staged:
        check_free(home, staged.name, force=force)
        _show(staged, as_json)
        lacks = make_blocker_check(load_settings(home))(staged.skill)
        _say([f"for now: {reason.message}" for reason in lacks], as_json)
        if not _ask_to_install(staged, "Install it?", yes=yes):
            typer.echo("nothing was installed", err=True)
            return 1
        with record_as_turn(home, f"skills install {staged.name}") as turn:
            folder = install_staged(home, staged, turn, force=force, pinned=pin)
    path = home.relative(folder)
    shape = {**staged.as_json(path), "turn": turn.turn}
    print_result(shape, f"installed in {path}", as_json=as_json)
    return 0


def update(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="Only this one.")] = "",
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite what was changed here, too.")
    ] = False,
    yes: Unasked = False,
    as_json: AsJson = False,
) -> int:
    """Fetch installed skills again, show what has changed, and replace them."""
    home = current_home(ctx)
    done = []
    entries = tracked_skills(home, name)
    for one, fields in entries.items():
        try:
            result = _update_one(home, one, fields, yes=yes, force=force, as_json=as_json)
        except OpenclawError as error:
            if name:
                raise
            result = {"name": one, "state": "failed", "message": str(error)}
        done.append(result)
        if not as_json:
            said = [result[key] for key in ("name", "state", "message") if result.get(key)]
            typer.echo(one_line(": ".join(said)))
    if as_json:
        print_json(done)
    elif not entries:
        typer.echo("no skill was installed by openclaw skills install", err=True)
    states = {result["state"] for result in done}
    return 2 if "waiting" in states else int(not states.isdisjoint(("failed", "edited")))


def remove(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="Its name, or its folder's.")],
    yes: Unasked = False,
    as_json: AsJson = False,
) -> None:
    """Delete a skill's folder from the home's skills folder."""
    home = current_home(ctx)
    folder = find_installed(home, name)
    path = home.relative(folder)
    require_yes(
        one_line(f"Delete {path} with all that is in it?"), yes=yes, otherwise="nothing was removed"
    )
    with record_as_turn(home, f"skills remove {name}") as turn:
        remove_skill(home, folder, turn)
    shape = {"name": name, "path": path, "removed": True, "turn": turn.turn}
    print_result(shape, one_line(f"removed {path}"), as_json=as_json, undo=True)


def new(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="Lowercase letters, digits, single hyphens.")],
    description: Annotated[
        str,
        typer.Option(
            "--description", metavar="TEXT", help="What it does and when to use it, in a line."
        ),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Write the SKILL.md of a new skill, to be filled in."""
    home = current_home(ctx)
    with record_as_turn(home, f"skills new {name}") as turn:
        path = home.relative(create_skill(home.skills, name, description, turn.keep))
    said = f"{path} is written; fill it in, it counts at once"
    print_result({"name": name, "path": path}, said, as_json=as_json)


def _update_one(
    home: Home, name: str, fields: Mapping[str, str], *, yes: bool, force: bool, as_json: bool
) -> dict[str, Any]:
    if is_pinned(fields):
        return {"name": name, "state": "pinned", "message": "install it again to change that"}
    if not (home.skills / name).is_dir():
        return {"name": name, "state": "gone", "message": "its folder is not there any more"}
    origin = read_origin(fields["source"], home.root)
    with stage_skill(home, origin, choice=fields.get("chosen", ""), name=name) as staged:
        state, changes = check_update(home, staged, fields)
        if state == "unchanged":
            return {"name": name, "state": "unchanged"}
        result = {"name": name, "state": "updated", **changes}
        _show(staged, as_json)
        _say([f"  {kind}: {one}" for kind, names in changes.items() for one in names], as_json)
        if state == "edited" and not force:
            text = "it was changed here since; --force overwrites that"
            return {**result, "state": "edited", "message": text}
        if not (yes or can_ask()):
            return {**result, "state": "waiting", "message": "this asks first; add --yes"}
        if not _ask_to_install(staged, one_line(f"Replace skills/{name}?"), yes=yes):
            return {**result, "state": "declined"}
        with record_as_turn(home, f"skills update {name}") as turn:
            install_staged(home, staged, turn, force=True)
        return result


def _ask_to_install(staged: StagedSkill, question: str, *, yes: bool) -> bool:
    """Return True with `--yes`; else ask the user, who may read the SKILL.md first."""
    if yes or not can_ask():
        return confirm(question, yes=yes)
    asked = f"{question} [y]es  [v]iew its SKILL.md  [N]o "
    with suppress(EOFError):
        while (letter := read_letter(asked, "yvn", "n")) == "v":
            typer.echo(harmless(read_text(staged.skill.path)), err=True)
        return letter == "y"
    return False


def _show(staged: StagedSkill, as_json: bool) -> None:
    """Show what was fetched, for the user's decision; on stderr when stdout is for a program."""
    about = staged.provenance
    mark = about.get("commit") or about.get("sha256") or ""
    lines = [
        f"{staged.name}: {count_of(len(staged.files), 'file')}, {staged.size:,} bytes",
        f"from {about['source']}" + (f" ({mark[:12]})" if mark else ""),
        f"  {staged.skill.description}",
    ]
    files = [(size, name, name in staged.scripts) for name, size in staged.files]
    files.sort(key=lambda file: (not file[2], file[1]))  # scripts are looked at first
    named = [f"  {size:>10,}  {name}{'  (a script)' * script}" for size, name, script in files]
    lines += some_lines(named, MAX_LINES)
    if looks := [f"  {look}" for look in staged.looks if not look.note]:
        lines += ["deserves a look:", *some_lines(looks, MAX_LINES)]
    kinds: dict[str, dict[str, None]] = {}  # what is nothing unusual, with its files
    for look in staged.looks:
        if look.note:
            kinds.setdefault(look.kind, {})[look.path] = None
    lines += [f"also: {kind}: {', '.join(files)}" for kind, files in kinds.items()]
    if staged.problems:
        lines += ["warnings:", *(f"  {each.code}: {each.message}" for each in staged.problems)]
    _say(lines, as_json)


def _say(lines: list[str], as_json: bool) -> None:
    for line in lines:
        typer.echo(one_line(line), err=as_json)
