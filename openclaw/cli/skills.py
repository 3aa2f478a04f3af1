"""`openclaw skills`: what the agent knows how to do. No model is needed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from openclaw.cli.common import current_home, print_json, table

if TYPE_CHECKING:
    from openclaw.files.home import Home
    from openclaw.skills.load import Problem

app = typer.Typer(
    help="List and show skills.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)


@app.command("list")
def show_all(
    ctx: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Answer as JSON.")] = False,
) -> None:
    """List all skills, those that cannot be used too, with the reason."""
    found = _described(current_home(ctx))
    if as_json:
        print_json(found)
    elif found:
        rows = [(entry["name"], _state(entry), entry["description"]) for entry in found]
        typer.echo(table(rows, ("NAME", "STATE", "DESCRIPTION")))
    else:
        typer.echo("no skills yet", err=True)


@app.command("show")
def show(
    ctx: typer.Context, name: Annotated[str, typer.Argument(metavar="NAME", help="Its name.")]
) -> None:
    """Show the instructions of a skill."""
    from openclaw.cli.visible import harmless
    from openclaw.errors import UsageError
    from openclaw.skills.load import read_skills

    skills, _ = read_skills(current_home(ctx).skills)
    for skill in skills:
        if skill.name == name:
            typer.echo(harmless(skill.body))
            return
    raise UsageError(f"there is no skill {name}", "see them all: openclaw skills list")


def _described(home: Home) -> list[dict[str, object]]:
    """One entry a SKILL.md, as in the JSON output; one that is not loaded has its folder's name."""
    from openclaw.skills.load import read_skills

    skills, problems = read_skills(home.skills)
    by_path: dict[Path, list[Problem]] = {}
    for problem in problems:
        by_path.setdefault(problem.path, []).append(problem)
    named = {skill.path: (skill.name, skill.description) for skill in skills}
    paths = [*named, *(path for path in by_path if path not in named)]
    return [
        {
            "name": named[path][0] if path in named else path.parent.name,
            "description": named[path][1] if path in named else "",
            "path": home.relative(path),
            "source": "home",
            "eligible": path in named,
            "problems": [
                {"level": problem.level, "code": problem.code, "message": problem.message}
                for problem in by_path.get(path, ())
            ],
        }
        for path in paths
    ]


def _state(entry: dict[str, object]) -> str:
    problems = entry["problems"]
    codes = [problem["code"] for problem in problems] if isinstance(problems, list) else []
    return ", ".join(codes) if codes else "ok"
