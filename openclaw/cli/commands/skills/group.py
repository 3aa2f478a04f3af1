"""`openclaw skills`: what the agent knows how to do. No model is needed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from openclaw.cli.commands.skills.install import add_commands
from openclaw.cli.common import as_turn, current_home, print_json, table
from openclaw.cli.formatting import harmless, one_line
from openclaw.cli.questions import read_reply

if TYPE_CHECKING:
    from openclaw.config import Settings
    from openclaw.evals.skill_test import Trial
    from openclaw.skills.frontmatter import Problem
    from openclaw.skills.proposals import Proposal
    from openclaw.skills.skill import Listed, Skill
    from openclaw.skills.triggers import Triggers
    from openclaw.storage.home import Home


app = typer.Typer(
    help="List, check, install and switch skills.",
    add_completion=False,
    rich_markup_mode=None,
)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="Its name.")]


@app.command("list")
def show_all(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List all skills, with the reason and the remedy for those that cannot be used."""
    home = current_home(ctx, reading=True)
    found = _list_installed(home)
    if as_json:
        print_json([_entry_json(entry, home) for entry in found])
    elif found:
        rows = [(entry.name, _state(entry), " ".join(entry.description.split())) for entry in found]
        typer.echo(table(rows, ("NAME", "STATE", "DESCRIPTION")))
        _explain(found)
    else:
        typer.echo("no skills yet", err=True)


@app.command("show")
def show(ctx: typer.Context, name: Name, as_json: AsJson = False) -> None:
    """Show the instructions of a skill, and what it asks for."""
    from openclaw.cli.formatting import harmless
    from openclaw.errors import UsageError

    home = current_home(ctx, reading=True)
    entry = _find_skill(_list_installed(home), name)
    if entry.skill is None:
        reasons = "; ".join(problem.message for problem in entry.problems)
        raise UsageError(f"the skill {name} cannot be read: {reasons}", f"edit {entry.path}")
    if as_json:
        print_json({**_entry_json(entry, home), **_details(entry.skill)})
        return
    _say_what(entry, entry.skill)
    typer.echo(harmless(entry.skill.body()))


@app.command("validate")
def validate(
    ctx: typer.Context,
    path: Annotated[
        Path, typer.Argument(metavar="PATH|NAME", help="Its folder, its SKILL.md, or its name.")
    ],
    strict: Annotated[
        bool, typer.Option("--strict", help="A warning makes it invalid too.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check a skill against the standard, rule by rule. It is valid when it would be loaded; what
    else breaks a rule is a warning. Exits with 1 when it is not valid."""
    from openclaw.cli.formatting import one_line
    from openclaw.errors import OpenclawError
    from openclaw.skills.skill import check

    if len(path.parts) == 1 and not os.path.lexists(path):
        with suppress(OpenclawError):  # no home is needed, and what is missing is told by `check`
            path = _find_skill(_list_installed(current_home(ctx, reading=True)), str(path)).path
    problems = check(path)
    loads = all(problem.level != "error" for problem in problems)
    valid = loads and not (strict and problems)
    if as_json:
        listed = [_plain(problem) for problem in problems]
        print_json({"valid": valid, "loads": loads, "problems": listed})
    else:
        for problem in problems:
            typer.echo(one_line(f"{problem.level}: {problem.message} ({problem.code})"))
        typer.echo("valid" if valid else "not valid")
    if not valid:
        raise typer.Exit(1)


@app.command("enable")
def enable(ctx: typer.Context, name: Name, as_json: AsJson = False) -> None:
    """Use a skill again that was switched off."""
    _switch(current_home(ctx), name, on=True, as_json=as_json)


@app.command("disable")
def disable(ctx: typer.Context, name: Name, as_json: AsJson = False) -> None:
    """Keep a skill, but do not use it: its name goes to skills.off in openclaw.yaml."""
    _switch(current_home(ctx), name, on=False, as_json=as_json)


def _list_installed(home: Home) -> list[Listed]:
    from openclaw.config import load_settings
    from openclaw.skills.skill import installed

    return installed(home, load_settings(home))


def _find_skill(found: Iterable[Listed], name: str) -> Listed:
    """Return the entry of this name, a usable one first; UsageError when there is none."""
    from difflib import get_close_matches

    from openclaw.errors import UsageError

    by_name: dict[str, Listed] = {}
    for entry in found:
        by_name.setdefault(entry.name, entry)
    if name not in by_name:
        near = get_close_matches(name, by_name, n=1)
        guess = f"did you mean {near[0]}? " if near else ""
        raise UsageError(f"there is no skill {name}", f"{guess}see them all: openclaw skills list")
    return by_name[name]


def _entry_json(entry: Listed, home: Home) -> dict[str, Any]:
    """Return an entry as in the JSON output."""
    return {
        "name": entry.name,
        "description": entry.description,
        "path": _path(entry, home),
        "source": entry.source,
        "eligible": entry.eligible,
        "problems": [_plain(problem) for problem in entry.problems],
    }


def _path(entry: Listed, home: Home) -> str:
    from openclaw.skills.skill import shown_path

    if entry.source in ("home", "agents"):
        return shown_path(entry.path.relative_to(home.root))
    return shown_path(entry.path)


def _plain(problem: Problem) -> dict[str, str]:
    return {"level": problem.level, "code": problem.code, "message": problem.message}


def _details(skill: Skill) -> dict[str, Any]:
    return {
        "compatibility": skill.compatibility,
        "allowed_tools": list(skill.allowed_tools),
        "model_invocable": skill.model_invocable,
        "user_invocable": skill.user_invocable,
        "body": skill.body(),
    }


def _state(entry: Listed) -> str:
    codes = ", ".join(dict.fromkeys(problem.code for problem in entry.problems))
    if entry.eligible:
        return f"ok ({codes})" if codes else "ok"
    return codes


def _explain(found: Iterable[Listed]) -> None:
    """One line for each reason why a skill cannot be used."""
    from openclaw.cli.formatting import one_line

    lines = [
        one_line(f"{entry.name}: {problem.message}")
        for entry in found
        if not entry.eligible
        for problem in entry.problems
        if problem.level == "error" or problem.code in ("requires", "shadowed", "off")
    ]
    if lines:
        typer.echo("\nNot used:\n" + "\n".join(f"  {line}" for line in lines))


def _say_what(entry: Listed, skill: Skill) -> None:
    """Print on stderr what exists besides the instructions."""
    from openclaw.cli.formatting import warn

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
    import json

    from openclaw.cli.formatting import one_line
    from openclaw.config import load_settings, set_value

    off = load_settings(home).skills.off
    if not (on and name in off):
        _find_skill(_list_installed(home), name)
    changed = (name in off) == on
    if changed:
        names = [known for known in off if known != name] if on else [*off, name]
        with as_turn(home, f"skills {'enable' if on else 'disable'} {name}") as turn:
            set_value(home, "skills.off", json.dumps(names), turn.keep)
    if as_json:
        print_json({"name": name, "enabled": on, "changed": changed})
        return
    typer.echo(one_line(f"{name} is {'' if changed else 'already '}{'on' if on else 'off'}"))


add_commands(app)


def review(
    ctx: typer.Context,
    accept: Annotated[
        list[str] | None,
        typer.Option("--accept", metavar="NAME", help="Use this one; repeatable."),
    ] = None,
    reject: Annotated[
        list[str] | None,
        typer.Option("--reject", metavar="NAME", help="Delete this one; repeatable."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show the skills that the agent has written. On a terminal it asks for each one."""
    from openclaw.skills.proposals import find, proposals

    home = current_home(ctx)
    chosen = [(name, "accept") for name in accept or ()] + [(n, "reject") for n in reject or ()]
    for name, _ in chosen:
        find(home, name)  # before anything is done
    if chosen:
        done = [_apply_verdict(home, name, verdict) for name, verdict in chosen]
        _print_results(done, as_json)
        return
    waiting = proposals(home)
    if as_json:
        print_json([_shape(home, proposal) for proposal in waiting])
    elif not waiting:
        typer.echo("nothing to review", err=True)
    for proposal in () if as_json else waiting:
        _show(proposal)
        if sys.stdin.isatty() and sys.stdout.isatty():
            verdict = REPLIES.get(_answer())
            _print_results(
                [_apply_verdict(home, proposal.name, verdict)] if verdict else [], as_json
            )


app.command("review")(review)


def try_skill(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its name.")],
    model: Annotated[
        str | None, typer.Option("--model", "-m", metavar="NAME", help="Not the configured model.")
    ] = None,
    no_model: Annotated[
        bool, typer.Option("--no-model", help="Show what code alone offers by the words.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say the prompts of a skill's evals/triggers.yaml to the model; exits with 1 when the skill
    is not read for one that it is for, or is for another one.

    Each prompt has a copy of the home of its own, which is thrown away.
    """
    from openclaw.config import load_settings
    from openclaw.skills.triggers import read_triggers

    home = current_home(ctx)
    settings = load_settings(home)
    skills = _usable(home, settings, name)
    skill = next(each for each in skills if each.name == name)
    triggers = read_triggers(skill.folder)
    if no_model:
        from openclaw.evals.skill_test import guesses

        done = _print_trials(guesses(skills, skill, triggers), as_json)
    else:
        done = _with_model(home, settings, model, skill, triggers, as_json)
    if as_json:
        print_json(_summary(name, done))
    else:
        typer.echo(_closing(done))
    if not all(trial.ok for trial in done):
        raise typer.Exit(1)


app.command("test")(try_skill)

QUESTION = "Use it from now on? [y]es  [n]o, delete it  [S]kip for now "
REPLIES = {"y": "accept", "yes": "accept", "n": "reject", "no": "reject"}


def _apply_verdict(home: Home, name: str, verdict: str) -> dict[str, Any]:
    from openclaw.skills import proposals

    with as_turn(home, f"skills review --{verdict} {name}") as turn:
        if verdict == "reject":
            proposals.reject(home, name, turn)
            return {"name": name, "state": "deleted"}
        folder = proposals.accept(home, name, turn)
    return {"name": name, "state": "accepted", "path": home.relative(folder)}


def _print_results(done: Sequence[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        print_json(list(done))
    for one in () if as_json else done:
        typer.echo(one_line(f"{one['state']}: {one.get('path', one['name'])}"))


def _show(proposal: Proposal) -> None:
    typer.echo(one_line(f"skill {proposal.name}:"))
    for line in proposal.diff:
        typer.echo(f"  {harmless(line)}")
    for problem in proposal.problems:
        typer.echo(one_line(f"  {problem.level}: {problem.message}"))
    for look in proposal.looks:
        typer.echo(one_line(f"  look: {look}"))


def _answer() -> str:
    with suppress(EOFError):
        return read_reply(QUESTION, sys.stderr).strip().lower()
    return ""


def _shape(home: Home, proposal: Proposal) -> dict[str, Any]:
    return {
        "name": proposal.name,
        "path": home.relative(proposal.folder),
        "diff": list(proposal.diff),
        "problems": [
            {"level": each.level, "code": each.code, "message": each.message}
            for each in proposal.problems
        ],
        "looks": [str(look) for look in proposal.looks],
    }


VERDICTS = ("hit", "miss", "quiet", "false alarm")


def _with_model(
    home: Home,
    settings: Settings,
    model: str | None,
    skill: Skill,
    triggers: Triggers,
    as_json: bool,
) -> list[Trial]:
    from openclaw.agent.agent import App
    from openclaw.evals.skill_test import trials

    app = App.open(home, settings, model=model)
    try:
        return _print_trials(trials(app, skill, triggers), as_json)
    finally:
        app.close()


def _usable(home: Home, settings: Settings, name: str) -> list[Skill]:
    """Return the skills that may be used now, with this one. UsageError when it may not."""
    from openclaw.errors import UsageError
    from openclaw.skills.skill import installed

    listed = installed(home, settings)
    found = [entry.skill for entry in listed if entry.eligible and entry.skill]
    mine = next((skill for skill in found if skill.name == name), None)
    if mine and mine.model_invocable:
        return found
    if mine:
        advice = f"call it by hand, or look at its frontmatter: openclaw skills show {name}"
        raise UsageError(f"the skill {name} is not for the model to choose", advice)
    known = any(entry.name == name for entry in listed)
    state = f"the skill {name} cannot be used" if known else f"there is no skill {name}"
    raise UsageError(state, "see them all: openclaw skills list")


def _print_trials(trials: Iterable[Trial], as_json: bool) -> list[Trial]:
    """Return all trials; each is printed as it comes, because a model takes its time."""
    from openclaw.cli.formatting import one_line

    done = []
    for trial in trials:
        done.append(trial)
        if not as_json:
            typer.echo(one_line(_line(trial)))
    return done


def _line(trial: Trial) -> str:
    others = [name for name in trial.read if name != trial.skill]
    notes = [f"read {', '.join(others)}"] if others else []
    notes += [f"the answer lacks {', '.join(trial.missing)}"] if trial.missing else []
    return f"{trial.verdict:11}  {trial.prompt}" + (f"  ({'; '.join(notes)})" if notes else "")


def _counts(done: Sequence[Trial]) -> dict[str, int]:
    return {verdict: sum(trial.verdict == verdict for trial in done) for verdict in VERDICTS}


def _closing(done: Sequence[Trial]) -> str:
    count = _counts(done)
    lacking = sum(bool(trial.missing) for trial in done)
    words = f", {lacking} without the expected words" if lacking else ""
    return (
        f"{count['hit']} of {count['hit'] + count['miss']} hit, {count['miss']} missed, "
        f"{count['false alarm']} of {count['false alarm'] + count['quiet']} false alarms{words}"
    )


def _summary(name: str, done: Sequence[Trial]) -> dict[str, Any]:
    count = _counts(done)
    return {
        "name": name,
        "passed": all(trial.ok for trial in done),
        "hits": count["hit"],
        "misses": count["miss"],
        "quiet": count["quiet"],
        "false_alarms": count["false alarm"],
        "missing_words": sum(bool(trial.missing) for trial in done),
        "prompts": [
            {
                "prompt": trial.prompt,
                "should": trial.should,
                "verdict": trial.verdict,
                "read": list(trial.read),
                "missing": list(trial.missing),
                "answer": trial.answer,
                "seconds": round(trial.seconds, 3),
                "ok": trial.ok,
            }
            for trial in done
        ],
    }
