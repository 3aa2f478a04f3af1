"""When a job is to run: in plain words, as a line of cron, or once.

All times are of the wall clock. One that the clock skips in spring is an hour later; of one that
comes twice in autumn the first counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from openclaw.errors import UsageError
from openclaw.frozen import frozen

SHIFT = timedelta(hours=2)
"""No clock change is longer."""
FAR = timedelta(days=5 * 366)
"""A schedule without a moment for so long has none."""
DAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
_GROUPS = {"daily": "*", "day": "*", "weekdays": "1-5", "weekday": "1-5"}
_GROUPS |= {"weekends": "0,6", "weekend": "0,6"}
_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4}
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
        first, last = (self._to_wall(moment) for moment in (after - SHIFT, until + SHIFT))
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

    def _to_wall(self, moment: datetime) -> datetime:
        return moment.astimezone(self.zone).replace(tzinfo=None)

    def _to_instant(self, wall: datetime) -> datetime:
        if self.zone is None:
            return wall.astimezone()
        aware = wall.replace(tzinfo=self.zone)
        return datetime.fromtimestamp(aware.timestamp(), self.zone)


def parse_schedule(text: str, zone: str = "") -> Schedule:
    """Read plain words, a line of cron, or a day and a time. UsageError for anything else."""
    words = " ".join(text.split())
    place = _find_zone(zone)
    if once := _ONCE.fullmatch(words):
        return Schedule(once=_read_once(*once.groups()), zone=place)
    lower = words.casefold()
    if _CRON.fullmatch(words) and _CRON_START.match(words) and not _NTH_DAY.match(lower):
        crons = [words]
    else:
        crons = _read_step(lower) or _read_days(lower)
    try:
        for line in crons:
            CronSim(line, datetime(2024, 1, 1))
    except CronSimError as error:
        raise UsageError(f"'{words}' is no time: {error}", HINT) from error
    if not crons:
        raise UsageError(f"'{words}' is no time", HINT)
    return Schedule(tuple(crons), zone=place)


def _find_zone(name: str) -> ZoneInfo | None:
    if not name:
        return None
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise UsageError(f"there is no time zone '{name}'", "like Europe/Berlin") from error


def _read_once(day: str, time: str) -> datetime:
    try:
        return datetime.fromisoformat(f"{day} {time.rjust(5, '0')}")
    except ValueError as error:
        raise UsageError(f"'{day} {time}' is no time", HINT) from error


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
    if not days:
        return "* * *"
    if days == ["last", "day"]:
        return "L * *"
    if len(days) == 1 and (nth := _NTH_DAY.fullmatch(days[0])):
        return f"{int(nth[1])} * *"
    if len(days) == 1 and days[0] in _GROUPS:
        return f"* * {_GROUPS[days[0]]}"
    if len(days) == 2 and days[0] in (*_ORDINALS, "last"):
        number = _weekday(days[1])
        which = "L" if days[0] == "last" else f"#{_ORDINALS[days[0]]}"
        return "" if number is None else f"* * {number}{which}"
    numbers = [_weekday(day) for day in days]
    return "" if None in numbers else f"* * {','.join(map(str, numbers))}"


def _weekday(word: str) -> int | None:
    """The number of a day of the week, also of its first three letters or its plural."""
    found = [n for n, day in enumerate(DAYS) if word in (day, f"{day}s", day[:3])]
    return found[0] if found else None
