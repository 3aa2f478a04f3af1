"""`openclaw skills`: what the agent knows how to do. No model is needed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from openclaw.cli.current_home import current_home, record_as_turn
from openclaw.cli.formatting import Shape, print_json, print_listing, print_result, warn
from openclaw.cli.options import AsJson
from openclaw.config import load_settings, set_value
from openclaw.errors import OpenclawError, UsageError
from openclaw.security.display import harmless, one_line
from openclaw.skills.skill import ListedSkill, Skill, check_skill, find_skill, list_installed
from openclaw.storage.home import Home

Name = Annotated[str, typer.Argument(help="Its name.")]


def list_(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List all skills, with the reason and the remedy for those that cannot be used."""
    home = current_home(ctx, reading=True)
    found = [entry.as_json(home) for entry in _list_installed(home)]
    print_listing(
        found,
        {
            "NAME": "name",
            "STATE": _state,
            "DESCRIPTION": lambda skill: " ".join(skill["description"].split()),
        },
        as_json=as_json,
        empty="no skills yet",
    )
    if not as_json:
        _explain(found)


def show(ctx: typer.Context, name: Name, as_json: AsJson = False) -> None:
    """Show the instructions of a skill, and what it asks for."""
    home = current_home(ctx, reading=True)
    entry = find_skill(_list_installed(home), name)
    if entry.skill is None:
        reasons = "; ".join(problem.message for problem in entry.problems)
        raise UsageError(f"the skill {name} cannot be read: {reasons}", f"edit {entry.path}")
    if as_json:
        print_json(entry.as_json(home, whole=True))
        return
    _say_what(entry, entry.skill)
    typer.echo(harmless(entry.skill.body()))


def validate(
    ctx: typer.Context,
    path: Annotated[
        Path, typer.Argument(metavar="PATH|NAME", help="Its folder, its SKILL.md, or its name.")
    ],
    strict: Annotated[
        bool, typer.Option("--strict", help="A warning makes it invalid too.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Check a skill against the standard, rule by rule. It is valid when it would be loaded; what
    else breaks a rule is a warning. Exits with 1 when it is not valid."""
    if len(path.parts) == 1 and not os.path.lexists(path):
        with suppress(OpenclawError):  # no home is needed, and what is missing is told by `check`
            path = find_skill(_list_installed(current_home(ctx, reading=True)), str(path)).path
    problems = check_skill(path)
    loads = all(problem.level != "error" for problem in problems)
    valid = loads and not (strict and problems)
    listed = [problem.as_json() for problem in problems]
    said = [one_line(f"{each.level}: {each.message} ({each.code})") for each in problems]
    print_result(
        {"valid": valid, "loads": loads, "problems": listed},
        *said,
        "valid" if valid else "not valid",
        as_json=as_json,
    )
    return int(not valid)


def enable(ctx: typer.Context, name: Name, as_json: AsJson = False) -> None:
    """Use a skill again that was switched off."""
    _switch(current_home(ctx), name, on=True, as_json=as_json)


def disable(ctx: typer.Context, name: Name, as_json: AsJson = False) -> None:
    """Keep a skill, but do not use it: its name goes to skills.off in openclaw.yaml."""
    _switch(current_home(ctx), name, on=False, as_json=as_json)


def _list_installed(home: Home) -> list[ListedSkill]:
    return list_installed(home, load_settings(home))


def _state(skill: Shape) -> str:
    codes = ", ".join(dict.fromkeys(problem["code"] for problem in skill["problems"]))
    if skill["eligible"]:
        return f"ok ({codes})" if codes else "ok"
    return codes


def _explain(found: Iterable[Shape]) -> None:
    """One line for each reason why a skill cannot be used."""
    lines = [
        one_line(f"{skill['name']}: {problem['message']}")
        for skill in found
        if not skill["eligible"]
        for problem in skill["problems"]
        if problem["level"] == "error" or problem["code"] in ("requires", "shadowed", "off")
    ]
    if lines:
        typer.echo("\nNot used:\n" + "\n".join(f"  {line}" for line in lines))


def _say_what(entry: ListedSkill, skill: Skill) -> None:
    """Print on stderr what exists besides the instructions."""
    lines = [f"{problem.level}: {problem.message} ({problem.code})" for problem in entry.problems]
    if skill.compatibility:
        lines.append(f"it is made for: {skill.compatibility}")
    if skill.allowed_tools:
        lines.append(f"it may use: {', '.join(skill.allowed_tools)}")
    if not skill.model_invocable:
        lines.append("the model does not choose it by itself")
    warn(lines)


def _switch(home: Home, name: str, *, on: bool, as_json: bool) -> None:
    """Remove a skill's name from skills.off, or add it. Nothing changes if it is so already."""
    off = load_settings(home).skills.off
    if not (on and name in off):
        find_skill(_list_installed(home), name)
    changed = (name in off) == on
    if changed:
        names = [known for known in off if known != name] if on else [*off, name]
        with record_as_turn(home, f"skills {'enable' if on else 'disable'} {name}") as turn:
            set_value(home, "skills.off", json.dumps(names), turn.keep)
    said = one_line(f"{name} is {'' if changed else 'already '}{'on' if on else 'off'}")
    print_result({"name": name, "enabled": on, "changed": changed}, said, as_json=as_json)
