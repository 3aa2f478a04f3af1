"""Runs the jobs that are due. When a job ran last is read from the history: no next time is kept
anywhere, so none can be wrong.

What was missed runs once, late, and says so. A moment that is older than a day is told and not run.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from openclaw.errors import OpenclawError
from openclaw.frozen import frozen
from openclaw.history.history import History, command
from openclaw.jobs.schedule import FILE, Job, read_jobs
from openclaw.jobs.unattended import (
    Ask,
    UnattendedResult,
    prompt_of,
    read_tasks,
    run_lock,
    session_prefix,
)
from openclaw.memory.todos import is_overdue, todo_file
from openclaw.security.display import one_line
from openclaw.storage.home import Home
from openclaw.storage.safe_open import decode
from openclaw.storage.text import read_current, write_over
from openclaw.types import local_time

LATE_BY = timedelta(minutes=15)  # later than this a run says that it is late
TOO_LATE = timedelta(days=1)
LOOK_BACK = timedelta(days=31)
LONGEST_NOTE = 2000
NOTIFY = """\
on run argv
display notification (item 2 of argv) with title (item 1 of argv)
end run"""
MAX_TOLD = 3  # missed moments that are named; of more the number is told
TODO_DUE = "todo due"  # what a job does without a model
_DAY_END = re.compile(r"\d{4}-\d{2}-\d{2}$")


@frozen
class Due:
    """A job that is due: its newest moment, those before it that nobody ran, oldest first, and
    whether it may still run."""

    job: Job
    moment: datetime
    missed: Sequence[datetime] = ()
    runs: bool = True


@frozen
class JobResult:
    """What became of a job. `told`: how late it is and what was missed, "" when it is in time."""

    job: Job
    told: str
    result: UnattendedResult

    @property
    def text(self) -> str:
        """What the user should know; "" for nothing."""
        return "\n".join(filter(None, (self.told, self.result.answer)))


def find_due(job: Job, last: datetime, now: datetime) -> Due | None:
    """Return how a job is due that ran last at this time, else None. Times have zones."""
    moments = job.schedule.between(last, now)
    if not moments:
        return None
    *missed, newest = moments
    late = now - newest
    runs = late <= TOO_LATE and (job.late or late <= LATE_BY)
    return Due(job, newest, missed, runs)


def last_runs(home: Home, jobs: Iterable[Job], now: datetime) -> dict[str, datetime]:
    """Return when each job ran, or was told as missed, last; nothing for one that did neither
    within a month."""
    names = {session_prefix(job.name): job.name for job in jobs}
    names |= {note_subject(job.name): job.name for job in jobs}
    many, found = len(set(names.values())), dict[str, datetime]()
    for turn in History(home).turns():
        at = _moment_of(turn.at)
        if at is None or at > now + TOO_LATE:  # the clock was wrong then
            continue
        if at < now - LOOK_BACK or len(found) == many:
            break
        job = names.get(_DAY_END.sub("", turn.session) or turn.subject)
        if job is not None:
            found.setdefault(job, at)
    return found


def all_due(home: Home, jobs: Sequence[Job], now: datetime) -> list[Due]:
    """Return the jobs that are due. What lies before the last change of the file of jobs was not
    missed by a job that never ran."""
    changed = now
    with suppress(OSError):
        changed = datetime.fromtimestamp((home.root / FILE).stat().st_mtime).astimezone()
    ran = last_runs(home, jobs, now) if jobs else {}
    since = max(changed, now - LOOK_BACK)
    return [due for job in jobs if (due := find_due(job, ran.get(job.name, since), now))]


def describe_jobs(home: Home, jobs: Sequence[Job], now: datetime) -> list[dict[str, Any]]:
    """Return the jobs for programs: when each ran last, runs next, and whether it is due."""
    last = last_runs(home, jobs, now) if jobs else {}
    due = {each.job.name: "due" if each.runs else "missed" for each in all_due(home, jobs, now)}
    return [
        {
            "name": job.name,
            "when": job.when,
            "do": job.do,
            "tell": job.tell,
            "line": job.line,
            "last": _minute(last.get(job.name)),
            "next": _minute(job.schedule.following(now)),
            "state": due.get(job.name, ""),
        }
        for job in jobs
    ]


def _minute(moment: datetime | None) -> str | None:
    return f"{moment.astimezone():%Y-%m-%d %H:%M}" if moment else None


def run_due(home: Home, ask: Ask, now: Callable[[], datetime]) -> tuple[list[JobResult], list[str]]:
    """Run all jobs that are due; return what became of them, and what is wrong in their file."""
    jobs, faults = read_jobs(home)
    results = []
    for found in all_due(home, jobs, now()):
        with run_lock(home, found.job.name) as mine:
            # Another process may just have run it.
            for due in all_due(home, [found.job], now()) if mine else ():
                results.append(_run(home, due, ask, now()))
    return results, faults


def try_job(home: Home, job: Job, ask: Ask) -> JobResult:
    """Run a job now, whenever it is due."""
    with run_lock(home, job.name) as mine:
        if not mine:
            raise OpenclawError(f"the job {job.name} runs already")
        return JobResult(job, "", _do(home, job, ask, "", local_time()))


def note_subject(name: str) -> str:
    """What the history says of a job's line in its file."""
    return f"job {name}"


def _run(home: Home, due: Due, ask: Ask, now: datetime) -> JobResult:
    job, told = due.job, _tell_lateness(due, now)
    try:
        if due.runs:
            return JobResult(job, told, _do(home, job, ask, told, now))
        _note(home, job, told, now)
        return JobResult(job, told, UnattendedResult(why=told))
    except OpenclawError as error:  # the other jobs run nevertheless
        return JobResult(job, told, UnattendedResult(why=str(error), code=error.exit_code))


def _do(home: Home, job: Job, ask: Ask, told: str, now: datetime) -> UnattendedResult:
    if job.do.casefold() == TODO_DUE:
        today = datetime.now().date()
        todos = [t for t in todo_file(home).items() if not t.done and t.due]
        due = [t.text for t in todos if t.due == today.isoformat() or is_overdue(t, today)]
        done = UnattendedResult("; ".join(due), "" if due else "nothing is due")
        # No turn of a model says that it ran.
        _note(home, job, "; ".join(filter(None, (told, done.answer or done.why))), now)
        return done
    tasks = job.do or read_tasks(home)
    if not tasks:
        return UnattendedResult(why="workspace/HEARTBEAT.md is not there or names no task")
    return ask(job.name, prompt_of(tasks, job.name))


def _tell_lateness(due: Due, now: datetime) -> str:
    late = now - due.moment
    parts = []
    if not due.runs:
        parts.append(f"not run: it was due {due.moment:%Y-%m-%d %H:%M}")
    elif late > LATE_BY:
        parts.append(f"late: it was due {due.moment:%Y-%m-%d %H:%M}")
    if due.missed:
        named = ", ".join(f"{moment:%Y-%m-%d %H:%M}" for moment in due.missed[-MAX_TOLD:])
        more = len(due.missed) - MAX_TOLD
        parts.append(f"missed before: {named}" + (f" and {more} more" if more > 0 else ""))
    return "; ".join(parts)


def _note(home: Home, job: Job, text: str, now: datetime) -> None:
    """Append a line to workspace/jobs/NAME.md, as one step of the history."""
    file = home.workspace / "jobs" / f"{job.name}.md"
    before = read_current(file)
    above = f"# Job {job.name}\n\n" if before is None else f"{decode(before).rstrip()}\n"
    line = f"- {now:%Y-%m-%d %H:%M} {one_line(' '.join(text.split()), LONGEST_NOTE)}\n"
    with command(home, note_subject(job.name)) as turn:
        write_over(file, before, above + line, turn.keep)


def tell(home: Home, result: JobResult, write: Callable[[str], object]) -> None:
    """Tell the user what a job found: on the desktop, in its file, or by `write`."""
    job, text = result.job, result.text
    if not text:
        return
    if job.tell == "file":
        if job.do.casefold() == TODO_DUE:
            return  # it stands there already
        try:
            _note(home, job, text, datetime.now())
            return
        except OpenclawError as error:
            text = f"{text} ({error})"
    if job.tell != "desktop" or not _show_on_desktop(job.name, text):
        write(f"{job.name}: {text}")


def _show_on_desktop(title: str, text: str) -> bool:
    if sys.platform == "darwin":
        words = ["osascript", "-e", NOTIFY, title, text]
    else:
        words = ["notify-send", "--", title, text]
    program = shutil.which(words[0])
    if program is None:
        return False
    with suppress(OSError, subprocess.SubprocessError):
        subprocess.run([program, *words[1:]], capture_output=True, check=True, timeout=20)
        return True
    return False


def _moment_of(at: str) -> datetime | None:
    with suppress(ValueError):
        return datetime.fromisoformat(at).astimezone()
    return None
