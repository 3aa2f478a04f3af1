"""The jobs of a home, a table in memory/JOBS.md which only a person adds to, and when each runs.

| name    | when           | do                               | tell    |
|---------|----------------|----------------------------------|---------|
| morning | weekdays 07:30 | Say what is due today.           | desktop |

A time is given in plain words, as a line of cron, or once, and is of the wall clock. One that the
clock skips in spring is an hour later; of one that comes twice in autumn the first counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Literal, get_args
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from openclaw.errors import OpenclawError, UsageError
from openclaw.frozen import frozen
from openclaw.memory.tables import table_rows
from openclaw.storage.home import Home
from openclaw.storage.safe_open import read_text

SHIFT = timedelta(hours=2)  # no clock change is longer
FAR = timedelta(days=5 * 366)  # a schedule without a moment for so long has none
DAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
_WEEKDAYS = {name: n for n, day in enumerate(DAYS) for name in (day, f"{day}s", day[:3])}
_GROUPS = {"daily": "*", "day": "*", "weekdays": "1-5", "weekday": "1-5"}
_GROUPS |= {"weekends": "0,6", "weekend": "0,6"}
_ORDINALS = {"first": "#1", "second": "#2", "third": "#3", "fourth": "#4", "last": "L"}
_CRON = re.compile(r"\S+(?:\s+\S+){4}")
_CRON_START = re.compile(r"[\d*]")
_ONCE = re.compile(r"(\d{4}-\d{2}-\d{2})[T ](\d{1,2}:\d{2})")
_STEP = re.compile(r"(?:every )?(?:(\d{1,2}) )?(minute|hour)s?|(hourly)")
_TIME = re.compile(r"(\d{1,2}):(\d{2})")
_NTH_DAY = re.compile(r"(\d{1,2})(?:st|nd|rd|th)")
HINT = "like these: weekdays 07:30; every 2 hours; last friday 16:00; 1st 09:00; 2026-12-01 09:00"


@frozen
class Schedule:
    """The moments of a job: those of some lines of cron, or one.

    zone: of the wall clock; None for that of the machine
    """

    crons: Sequence[str] = ()
    once: datetime | None = None
    zone: ZoneInfo | None = None

    def between(self, after: datetime, until: datetime) -> list[datetime]:
        """Return the moments later than `after` and not later than `until`, the oldest first. Both
        have a zone, and so have the moments."""
        ends = (after - SHIFT, until + SHIFT)
        first, last = (moment.astimezone(self.zone).replace(tzinfo=None) for moment in ends)
        found = {self._to_instant(wall) for wall in self._walls(first, last)}
        return sorted(moment for moment in found if after < moment <= until)

    def following(self, after: datetime) -> datetime | None:
        """Return the first moment later than `after`; None when there is none."""
        span = timedelta(days=1)
        while span < FAR:
            if found := self.between(after, after + span):
                return found[0]
            span *= 4
        return None

    def _walls(self, first: datetime, last: datetime) -> Iterator[datetime]:
        """The times of the wall clock, without a zone."""
        if self.once is not None:
            yield self.once
        for line in self.crons:
            for wall in CronSim(line, first - timedelta(minutes=1)):
                if wall > last:
                    break
                yield wall

    def _to_instant(self, wall: datetime) -> datetime:
        if self.zone is None:
            return wall.astimezone()
        aware = wall.replace(tzinfo=self.zone)
        return datetime.fromtimestamp(aware.timestamp(), self.zone)


def parse_schedule(text: str, zone: str = "") -> Schedule:
    """Read plain words, a line of cron, or a day and a time. UsageError for anything else."""
    words = " ".join(text.split())
    lower = words.casefold()
    try:
        place = ZoneInfo(zone) if zone else None
    except (KeyError, ValueError, OSError) as error:
        raise UsageError(f"there is no time zone '{zone}'", "like Europe/Berlin") from error
    try:
        if once := _ONCE.fullmatch(words):
            return Schedule(once=datetime.fromisoformat(f"{once[1]} {once[2]:0>5}"), zone=place)
        if _CRON.fullmatch(words) and _CRON_START.match(words) and not _NTH_DAY.match(lower):
            crons = [words]
        else:
            crons = _read_step(lower) or _read_days(lower)
        for line in crons:
            CronSim(line, datetime(2024, 1, 1))
    except (ValueError, CronSimError) as error:
        raise UsageError(f"'{words}' is no time: {error}", HINT) from error
    if not crons:
        raise UsageError(f"'{words}' is no time", HINT)
    return Schedule(tuple(crons), zone=place)


def _read_step(words: str) -> list[str]:
    """The cron of "every 2 hours", "every 15 minutes", "hourly"; none for other words."""
    found = _STEP.fullmatch(words)
    if found is None:
        return []
    step = int(found[1] or 1)
    whole = 60 if found[2] == "minute" else 24
    if not step or whole % step:
        raise UsageError(f"'{words}' does not come at the same times each day", HINT)
    if found[2] == "minute":
        return [f"*/{step} * * * *"]
    return [f"0 */{step} * * *"]


def _read_days(words: str) -> list[str]:
    """The crons of days and times like "weekdays 07:30, 18:00"; none for other words."""
    rest = re.sub(r"\b(?:every|at|on|the|and|of|month)\b|,", " ", words)
    times = [f"{int(minute)} {int(hour)}" for hour, minute in _TIME.findall(rest)]
    days = _TIME.sub(" ", rest).split()
    fields = _day_fields(days)
    return [f"{time} {fields}" for time in times] if fields else []


def _day_fields(days: Sequence[str]) -> str:
    """The last three fields of cron for days in words; "" for other words."""
    match days:
        case []:
            return "* * *"
        case ["last", "day"]:
            return "L * *"
        case [word] if nth := _NTH_DAY.fullmatch(word):
            return f"{int(nth[1])} * *"
        case [word] if word in _GROUPS:
            return f"* * {_GROUPS[word]}"
        case [which, day] if which in _ORDINALS and day in _WEEKDAYS:
            return f"* * {_WEEKDAYS[day]}{_ORDINALS[which]}"
    numbers = [_WEEKDAYS.get(day) for day in days]
    return "" if None in numbers else f"* * {','.join(map(str, numbers))}"


Tell = Literal["print", "desktop", "file"]
FILE = "memory/JOBS.md"
TELLS: Sequence[Tell] = get_args(Tell)
LONGEST_NAME = 40
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
    for at, heads, cells in table_rows(text.splitlines()):
        if not cells or not {"name", "when", "do"} <= {*heads}:
            continue
        line = at + 1
        try:
            job = _read_row(dict(zip(heads, cells, strict=False)), line)
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
