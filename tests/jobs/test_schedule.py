"""When jobs run: words, lines of cron, one time; and the changes of the clock."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from random import Random
from zoneinfo import ZoneInfo

import pytest

from openclaw.errors import UsageError
from openclaw.jobs.job_runs import LATE_BY, TOO_LATE, find_due
from openclaw.jobs.schedule import DAYS, Job, parse_schedule
from tests.data.sample import sample

ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata", "UTC")
NOW = datetime(2026, 11, 24, 6, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("weekdays 07:30", "2026-11-24 07:30"),
        ("30 7 * * 1-5", "2026-11-24 07:30"),
        ("every 2 hours", "2026-11-24 08:00"),
        ("hourly", "2026-11-24 08:00"),
        ("every 15 minutes", "2026-11-24 07:15"),
        ("last friday 16:00", "2026-11-27 16:00"),
        ("first monday 10:00", "2026-12-07 10:00"),
        ("on the 1st at 9:00", "2026-12-01 09:00"),
        ("last day of the month 18:00", "2026-11-30 18:00"),
        ("mon, wed and fri 8:00, 18:30", "2026-11-25 08:00"),
        ("weekends 20:00", "2026-11-28 20:00"),
        ("sundays 6:05", "2026-11-29 06:05"),
        ("daily 07:00, 07:01", "2026-11-24 07:01"),
        ("2026-12-01 9:00", "2026-12-01 09:00"),
    ],
)
def test_words_mean_times_of_the_wall_clock(words: str, first: str) -> None:
    found = parse_schedule(words, "Europe/Berlin").following(NOW)
    assert found is not None
    assert f"{found:%Y-%m-%d %H:%M}" == first


@pytest.mark.parametrize(
    "words",
    ["", "weekdays", "sometimes 9:00", "25:00", "61 * * * *", "every 7 minutes", "every 0 hours",
     "2026-02-30 09:00", "last fri", "* * *", "fifth monday 9:00"],
)  # fmt: skip
def test_other_words_are_refused_with_examples(words: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse_schedule(words)
    assert "weekdays 07:30" in refused.value.hint
    with pytest.raises(UsageError, match="no time zone 'Berlin'"):
        parse_schedule("daily 9:00", "Berlin")


@pytest.mark.parametrize(
    ("words", "day", "instants"),
    [
        ("daily 02:30", date(2026, 3, 29), ["01:30"]),  # 2:30 does not come: 3:30 in summer
        ("daily 02:30", date(2026, 10, 25), ["00:30"]),  # 2:30 comes twice: the first, in summer
        ("hourly", date(2026, 3, 29), [f"{hour:02}:00" for hour in range(22)]),
    ],
)
def test_a_skipped_time_is_an_hour_later_and_of_a_double_one_the_first_counts(
    words: str, day: date, instants: list[str]
) -> None:
    start = datetime.combine(day, time(), ZoneInfo("Europe/Berlin"))
    end = datetime.combine(day + timedelta(days=1), time(), ZoneInfo("Europe/Berlin"))
    found = parse_schedule(words, "Europe/Berlin").between(start, end - timedelta(minutes=1))
    later = [
        f"{each.astimezone(UTC):%H:%M}" for each in found if each.astimezone(UTC).date() == day
    ]
    assert later == instants


def test_a_time_that_is_over_does_not_come_again() -> None:
    assert parse_schedule("2026-11-01 09:00").following(NOW) is None
    assert parse_schedule("0 0 29 2 *").following(NOW) is not None


def moments(days: set[int], times: list[time], zone: ZoneInfo) -> Iterator[datetime]:
    """The moments of two years, found day by day."""
    for number in range(740):
        day = date(2026, 1, 1) + timedelta(days=number)
        if day.isoweekday() % 7 in days:
            for each in times:
                wall = datetime.combine(day, each, zone)
                yield datetime.fromtimestamp(wall.timestamp(), UTC)


@pytest.mark.parametrize("seed", sample(range(1000)))
def test_each_moment_gives_one_run_or_one_told_miss(seed: int) -> None:
    dice = Random(seed)
    zone = ZoneInfo(dice.choice(ZONES))
    days = set(dice.sample(range(7), dice.randint(1, 7)))
    times = [time(dice.randrange(24), dice.randrange(60)) for _ in range(dice.randint(1, 3))]
    words = f"{', '.join(DAYS[day] for day in days)} {', '.join(f'{t:%H:%M}' for t in times)}"
    late = dice.random() < 0.7
    job = Job("job", words, "Do it.", parse_schedule(words, str(zone)), late=late)
    last = now = datetime(2026, 1, 2, dice.randrange(24), tzinfo=UTC)
    began, end = now, datetime(2027, 12, 30, tzinfo=UTC)
    ran: list[datetime] = []
    missed: list[datetime] = []
    while now < end:
        off = dice.random() < 0.01  # the machine was off
        now += (
            timedelta(days=dice.uniform(0, 9)) if off else timedelta(minutes=dice.uniform(1, 300))
        )
        if due := find_due(job, last, now):
            missed += due.missed
            (ran if due.runs else missed).append(due.moment)
            assert due.runs == (now - due.moment <= (TOO_LATE if late else LATE_BY))
            last = now  # the turn that the history then holds
    wanted = sorted({each for each in moments(days, times, zone) if began < each <= last})
    told = sorted(each.astimezone(UTC) for each in (*ran, *missed))
    assert told == wanted
