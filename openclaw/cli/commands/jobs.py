"""`openclaw jobs`: what memory/JOBS.md has done by the clock."""

from __future__ import annotations

import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from openclaw.cli.current_home import current_home
from openclaw.cli.formatting import print_json, print_listing, warn
from openclaw.cli.options import AsJson
from openclaw.cli.questions import write_after_yes
from openclaw.cli.unattended_prompt import ask_unattended
from openclaw.jobs.job_runs import JobResult, describe_jobs, run_due, tell, try_job
from openclaw.jobs.schedule import FILE, find_job, read_jobs
from openclaw.security.display import harmless
from openclaw.server.autostart import make_timer_files, start_command
from openclaw.storage.home import Home
from openclaw.types import local_time


def list_(ctx: typer.Context, as_json: AsJson = False) -> None:
    """List the jobs: when each ran last, when it runs next, and whether it is due."""
    home = current_home(ctx, reading=True)
    jobs, faults = read_jobs(home)
    warn(faults)
    none = f"no jobs yet: {FILE} is a table with the columns name, when and do"
    print_listing(
        describe_jobs(home, jobs, local_time()),
        {name.upper(): name for name in ("name", "when", "last", "next", "state", "do")},
        as_json=as_json,
        empty="" if faults else none,
    )


def run(ctx: typer.Context, as_json: AsJson = False) -> int:
    """Run what is due, and end. Cron or a timer starts this every few minutes.

    Nobody is asked: what needs a yes is refused and named. What was missed runs once, late; what
    is older than a day is told and not run.
    """
    home = current_home(ctx)
    results, faults = run_due(home, partial(ask_unattended, home), local_time)
    warn(faults)
    return _report(home, results, as_json=as_json)


def try_(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="The job.")],
    as_json: AsJson = False,
) -> int:
    """Run one job now. Its next time stays, unless it was due."""
    home = current_home(ctx)
    jobs, faults = read_jobs(home)
    warn(faults)
    result = try_job(home, find_job(jobs, name), partial(ask_unattended, home))
    return _report(home, [result], as_json=as_json)


def timer(
    ctx: typer.Context,
    install: Annotated[bool, typer.Option("--install", help="Write them after a yes.")] = False,
) -> None:
    """Print the files by which systemd or launchd start `openclaw jobs run` every five minutes."""
    home = current_home(ctx, reading=True)
    files = make_timer_files(home, Path.home(), sys.platform)
    write_after_yes(files, start_command(sys.platform, jobs=True), ask=install)


def _report(home: Home, results: list[JobResult], *, as_json: bool) -> int:
    """Tell what became of jobs; returns the highest exit code."""
    if as_json:
        print_json(
            [{"name": each.job.name, "told": each.told, **asdict(each.result)} for each in results]
        )
    for each in results:
        if not as_json:
            tell(home, each, lambda text: typer.echo(harmless(text)))
        if each.result.code and not each.result.answer:
            warn([f"job {each.job.name}: {each.result.why}"])
    return max((each.result.code for each in results), default=0)
