"""`openclaw skills test`: whether a skill is taken for what it is for, and for nothing else."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated

import typer

from openclaw.agent.agent import Agent
from openclaw.cli.current_home import current_home
from openclaw.cli.formatting import Shape, print_each, print_result
from openclaw.cli.options import AsJson, ModelName
from openclaw.config import Settings, load_settings
from openclaw.errors import UsageError
from openclaw.evals.skill_test import Trial, guess_trials, run_trials, summarize
from openclaw.security.display import one_line
from openclaw.skills.skill import Skill, list_installed
from openclaw.skills.trigger_tests import read_triggers
from openclaw.storage.home import Home


def test(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="Its name.")],
    model: ModelName = None,
    no_model: Annotated[
        bool, typer.Option("--no-model", help="Show what code alone offers by the words.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Say the prompts of a skill's evals/triggers.yaml to the model; exits with 1 when the skill
    is not read for one that it is for, or is for another one.

    Each prompt has a copy of the home of its own, which is thrown away.
    """
    home = current_home(ctx)
    settings = load_settings(home)
    skills = _usable(home, settings, name)
    skill = next(each for each in skills if each.name == name)
    triggers = read_triggers(skill.folder)
    if no_model:
        done = print_each(guess_trials(skills, skill, triggers), _line, as_json=as_json)
    else:
        with closing(Agent.open(home, settings, model=model)) as agent:
            done = print_each(run_trials(agent, skill, triggers), _line, as_json=as_json)
    summary = summarize(name, done)
    print_result(summary, _closing(summary), as_json=as_json)
    return int(not summary["passed"])


def _usable(home: Home, settings: Settings, name: str) -> list[Skill]:
    """Return the skills that may be used now, with this one. UsageError when it may not."""
    listed = list_installed(home, settings)
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


def _line(trial: Trial) -> str:
    others = [name for name in trial.read if name != trial.skill]
    notes = [f"read {', '.join(others)}"] if others else []
    notes += [f"the answer lacks {', '.join(trial.missing)}"] if trial.missing else []
    return one_line(
        f"{trial.verdict:11}  {trial.prompt}" + (f"  ({'; '.join(notes)})" if notes else "")
    )


def _closing(summary: Shape) -> str:
    hits, misses, quiet, alarms, lacking = (
        summary[name] for name in ("hits", "misses", "quiet", "false_alarms", "missing_words")
    )
    words = f", {lacking} without the expected words" if lacking else ""
    return (
        f"{hits} of {hits + misses} hit, {misses} missed, "
        f"{alarms} of {alarms + quiet} false alarms{words}"
    )
