"""`openclaw doctor`: check for everything that an answer needs, and say what to do if not."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from typing import Annotated

import typer

from openclaw.cli.current_home import current_home
from openclaw.cli.formatting import line_width, paint, print_result, wrap
from openclaw.cli.options import AsJson, ModelName
from openclaw.config import Settings
from openclaw.errors import OpenclawError
from openclaw.evals.model_probes import ProbedModel, ProbeLimits, probe_schema_enforcement
from openclaw.maintenance.doctor.checkup import examine
from openclaw.maintenance.doctor.finding import Check
from openclaw.models.base import Model
from openclaw.security.display import one_line

SCHEMA_SECONDS = 20.0
"""For the one reply that is asked for; a model that has to be loaded may need longer."""
MAX_LINES = 8  # findings of one check that are printed; JSON has all
INDENT = 22  # columns before what was found
GREEN, YELLOW, RED = "\x1b[32m", "\x1b[33m", "\x1b[31m"
COLOURS = {"ok": GREEN, "fixed": GREEN, "warning": YELLOW, "fault": RED}


def doctor(
    ctx: typer.Context,
    model: ModelName = None,
    fix: Annotated[
        bool, typer.Option("--fix", help="Repair what can be; copies go to .openclaw/kept/.")
    ] = False,
    deep: Annotated[
        bool, typer.Option("--deep", help="Look through all of the index and of git's objects too.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Check the home's files, settings, models, index and git; say what to do for each fault.

    Nothing is changed without --fix. Each check has a name, explained in docs/doctor.md. Exits
    with 0, or with the code of the first fault that remains.
    """
    find = partial(current_home, ctx, reading=not fix)
    checks = list(examine(find, check_schema, model, fix=fix, deep=deep))
    code = next((check.exit_code for check in checks if check.state == "fault"), 0)
    shape = {"usable": not code, "checks": list(map(asdict, checks))}
    lines = check_lines(checks, line_width(sys.stdout))
    print_result(shape, *lines, as_json=as_json)
    return code


def check_schema(model: Model, settings: Settings) -> Check:
    """Check whether the replies of a thinking model are held to a schema: with Ollama not always.

    Only this check asks a model.
    """
    limits = ProbeLimits(reply=SCHEMA_SECONDS)
    try:
        found = next(probe_schema_enforcement(ProbedModel(model, limits), settings.think), {})
    except OpenclawError as error:
        return Check("schema", "warning", one_line(str(error)), error.hint)
    if not found:
        return Check("schema", "ok", f"not tried: no reply within {SCHEMA_SECONDS:.0f} s")
    if found["schema_holds"]:
        return Check("schema", "ok", "its replies are held to a schema (JSON steps)")
    advice = "set `think` to null in openclaw.yaml" if settings.think else "take another model"
    return Check("schema", "warning", "its replies are not held to a schema (JSON steps)", advice)


def check_lines(checks: Sequence[Check], width: int = 0) -> Iterator[str]:
    """Return the checks as lines: sound ones without notes in one line at the end, and of many
    findings of one check the first. Lines are broken at the width, 0 for no end."""
    silent = [check.name for check in checks if not check.found]
    told: dict[str, int] = {}
    for check in checks:
        told[check.name] = number = told.get(check.name, 0) + 1
        if check.found and number <= MAX_LINES:
            yield from _row("fixed" if check.fixed else check.state, check.name, check.found, width)
            for line in filter(None, [check.fixed, *check.advice.splitlines()]):
                yield from _wrap_text(f"{'':<{INDENT}}-> ", line, width)
    for name, count in told.items():
        if count > MAX_LINES:
            yield f"{'':<{INDENT}}{count - MAX_LINES} more of {name} (--json shows all)"
    if silent:
        yield from _row("ok", "other checks", f"{len(silent)} ok (--json lists them)", width)


def _row(state: str, name: str, text: str, width: int) -> Iterator[str]:
    first, *more = _wrap_text(f"{state:<8} {name:<12} ", text, width)
    yield paint(state, COLOURS[state]) + first[len(state) :]
    yield from more


def _wrap_text(front: str, text: str, width: int) -> list[str]:
    """Break text after `front` into lines that are indented by its length."""
    return wrap(front + one_line(text), width, " " * len(front))
