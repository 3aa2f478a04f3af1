"""The jobs of a home: a table in memory/JOBS.md, which only a person adds to.

| name    | when           | do                               | tell    |
|---------|----------------|----------------------------------|---------|
| morning | weekdays 07:30 | Say what is due today.           | desktop |
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, get_args

from openclaw.errors import OpenclawError, UsageError
from openclaw.frozen import frozen
from openclaw.jobs.schedule import Schedule, parse_schedule
from openclaw.storage.home import Home
from openclaw.storage.text import read_text

Tell = Literal["print", "desktop", "file"]
FILE = "memory/JOBS.md"
TELLS: Sequence[Tell] = get_args(Tell)
LONGEST_NAME = 40
_CELL = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r"[ :|-]+")
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


@frozen
class Job:
    """A row of the table.

    do: the prompt; "" for the tasks of workspace/HEARTBEAT.md
    late: run what was missed by up to a day
    line: in the file, from 1
    """

    name: str
    when: str
    do: str
    schedule: Schedule
    tell: Tell = "print"
    late: bool = True
    line: int = 0


def read_jobs(home: Home) -> tuple[list[Job], list[str]]:
    """Return the jobs, and a line for each row that is written wrongly. No file is no jobs; one
    that cannot be read is an OpenclawError."""
    try:
        text = read_text(home.root / FILE)
    except FileNotFoundError:
        return [], []
    except OSError as error:
        raise OpenclawError(f"{FILE} cannot be read: {error.strerror}") from error
    jobs: dict[str, Job] = {}
    faults = []
    for line, row in _rows(text):
        try:
            job = _read_row(row, line)
            if job.name in jobs:
                raise UsageError(f"there are two jobs {job.name}")
            jobs[job.name] = job
        except UsageError as error:
            faults.append(f"{FILE}:{line}: {error}" + (f" ({error.hint})" if error.hint else ""))
    return list(jobs.values()), faults


def find_job(jobs: Sequence[Job], name: str) -> Job:
    """Return the job of this name. UsageError when there is none."""
    job = next((job for job in jobs if job.name == name.casefold()), None)
    if job is None:
        known = ", ".join(job.name for job in jobs) or "none yet"
        raise UsageError(f"there is no job {name}", f"jobs: {known}; they stand in {FILE}")
    return job


def _rows(text: str) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of all tables that have the columns name, when and do, with their lines."""
    heads: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        bare = line.strip()
        if not bare.startswith("|"):
            heads = []
            continue
        cells = [cell.strip().replace("\\|", "|") for cell in _CELL.split(bare.strip("|"))]
        if not heads:
            heads = [cell.casefold() for cell in cells]
        elif not _RULE.fullmatch(bare) and {"name", "when", "do"} <= {*heads}:
            yield number, dict(zip(heads, cells, strict=False))


def _read_row(row: dict[str, str], line: int) -> Job:
    name = row.get("name", "").casefold()
    if not _NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        raise UsageError(f"'{name}' is no name", "letters without marks, digits and single hyphens")
    tell = row.get("tell", "").casefold() or "print"
    found = next((each for each in TELLS if each == tell), None)
    if found is None:
        raise UsageError(f"'{tell}' is no way to tell", f"there are: {', '.join(TELLS)}")
    do = row.get("do", "")
    if not do and name != "heartbeat":
        raise UsageError(f"the job {name} does nothing", "fill its column do")
    schedule = parse_schedule(row.get("when", ""), row.get("zone", ""))
    late = row.get("late", "").casefold() not in ("no", "never")
    return Job(name, row["when"], do, schedule, found, late, line)
