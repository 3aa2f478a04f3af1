"""Days in words are read; in doubt a phrase means no day."""

from __future__ import annotations

import subprocess
import sys
import time
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.memory.todos import resolve_due_dates
from openclaw.nlp.dates import find_named_day, name_days, parse_day, read_days
from openclaw.types import ToolProblem

WEDNESDAY = date(2026, 11, 18)


@pytest.mark.parametrize(
    ("words", "day"),
    [
        ("2026-12-01", "2026-12-01"), (" 2026-12-01. ", "2026-12-01"),
        ("today", "2026-11-18"), ("Tomorrow", "2026-11-19"), ("tonight", "2026-11-18"),
        ("day after tomorrow", "2026-11-20"), ("yesterday", "2026-11-17"),
        ("friday", "2026-11-20"), ("next friday", "2026-11-20"), ("this Friday", "2026-11-20"),
        ("on friday", "2026-11-20"), ("by friday", "2026-11-20"), ("fri", "2026-11-20"),
        ("friday 9:00", "2026-11-20"), ("tomorrow at 9", "2026-11-19"),
        ("wednesday", "2026-11-25"), ("monday next week", "2026-11-23"),
        ("next week friday", "2026-11-27"),
        ("this weekend", "2026-11-21"), ("weekend", "2026-11-21"), ("next weekend", "2026-11-28"),
        ("in 3 days", "2026-11-21"), ("in two weeks", "2026-12-02"), ("2 years", "2028-11-18"),
        ("next week", "2026-11-25"), ("in 1 month", "2026-12-18"), ("next month", "2026-12-18"),
        ("3 days ago", "2026-11-15"),
        ("end of month", "2026-11-30"), ("by the end of the month", "2026-11-30"),
        ("eom", "2026-11-30"), ("end of next month", "2026-12-31"),
        ("end of week", "2026-11-22"), ("end of the year", "2026-12-31"),
        ("beginning of next week", "2026-11-23"), ("start of next year", "2027-01-01"),
        ("the 15th", "2026-12-15"), ("the 31st", "2026-12-31"), ("18th", "2026-11-18"),
        ("1 dec", "2026-12-01"), ("December 1", "2026-12-01"), ("1st of december", "2026-12-01"),
        ("october 3", "2027-10-03"), ("december", "2026-12-31"), ("1 dec 2028", "2028-12-01"),
        ("1.12.", "2026-12-01"), ("7.1.", "2027-01-07"), ("1.2.2027", "2027-02-01"),
        ("1.2.27", "2027-02-01"), ("29.2.", "2028-02-29"),
        ("29 feb", "2028-02-29"), ("18 november", "2026-11-18"),
        ("december 2026", "2026-12-31"), ("in december", "2026-12-31"), ("in 2027", "2027-12-31"),
        ("tuesday the 8th", "2026-12-08"), ("tuesday, 2026-12-01", "2026-12-01"),
        ("friday 18 december", "2026-12-18"), ("Fri, 18 Dec", "2026-12-18"),
        ("24/12", "2026-12-24"), ("12/24/2026", "2026-12-24"), ("2026/12/01", "2026-12-01"),
        ("heute", "2026-11-18"), ("morgen", "2026-11-19"), ("\u00fcbermorgen", "2026-11-20"),
        ("freitag", "2026-11-20"), ("n\u00e4chsten Freitag", "2026-11-20"),
        ("am freitag", "2026-11-20"), ("n\u00e4chste woche", "2026-11-25"),
        ("in 3 tagen", "2026-11-21"), ("ende des monats", "2026-11-30"),
        ("monatsende", "2026-11-30"), ("wochenende", "2026-11-21"),
        ("demain", "2026-11-19"), ("vendredi prochain", "2026-11-20"),
        ("dans 3 jours", "2026-11-21"), ("fin du mois", "2026-11-30"),
        ("ma\u00f1ana", "2026-11-19"), ("pasado ma\u00f1ana", "2026-11-20"),
        ("el pr\u00f3ximo viernes", "2026-11-20"), ("fin de semana", "2026-11-21"),
        ("la semana que viene", "2026-11-25"), ("semaine prochaine", "2026-11-25"),
        ("fin de la semana que viene", "2026-11-29"), ("el lunes que viene", "2026-11-23"),
        ("el fin de semana que viene", "2026-11-21"), ("fin de semana próximo", "2026-11-21"),
        ("fin de mes", "2026-11-30"), ("domani", "2026-11-19"), ("amanh\u00e3", "2026-11-19"),
    ],
)  # fmt: skip
def test_these_words_mean_a_day(words: str, day: str) -> None:
    assert parse_day(words, WEDNESDAY) == date.fromisoformat(day)


@pytest.mark.parametrize(
    "words",
    ["", " ", ".", "a", "x", "1", "15", "2026", "20261201", "2026-02-30", "2026-13-01", "2026-12",
     "01/02/2026", "1/2", "31.11.", "30.2.", "feb 30", "soon", "later", "asap", "never", "now",
     "10:30", "3pm", "next", "call", "day", "week", "the 32nd", "24/31", "word " * 40,
     "friday at 10", "monday at 16", "freitag um 10", "fri 21st", "friday 19 december",
     "tuesday the 9th", "tuesday, 2026-12-02"],
)  # fmt: skip
def test_these_words_mean_no_certain_day(words: str) -> None:
    assert parse_day(words, WEDNESDAY) is None


@pytest.mark.parametrize(
    ("words", "day"),
    [("friday", "2026-11-13"), ("next friday", "2026-11-20"), ("last week", "2026-11-11"),
     ("3 days ago", "2026-11-15"),
     ("november", "2026-11-01"), ("2026-11-01", "2026-11-01"), ("1 dec", "2025-12-01"),
     ("yesterday", "2026-11-17"), ("2 weeks ago", "2026-11-04"),
     ("24.12.", "2025-12-24"), ("the 20th", "2026-10-20"),
     ("start of the month", "2026-11-01"), ("end of year", "2025-12-31"),
     ("weekend", "2026-11-14")],
)  # fmt: skip
def test_past_days_can_be_preferred(words: str, day: str) -> None:
    assert parse_day(words, WEDNESDAY, "past") == date.fromisoformat(day)


@given(st.dates(date(2020, 1, 1), date(2035, 1, 1)))
def test_a_weekday_is_always_in_the_next_seven_days(today: date) -> None:
    friday = parse_day("next friday", today)
    assert friday and friday.weekday() == 4
    assert timedelta(0) < friday - today <= timedelta(7)
    end, weekend = parse_day("end of month", today), parse_day("this weekend", today)
    assert end and end >= today and (end + timedelta(1)).day == 1
    assert weekend and weekend >= today and weekend.weekday() in (5, 6)
    assert parse_day("tomorrow", today) == today + timedelta(1)


@pytest.mark.parametrize(
    ("request_", "words", "days"),
    [
        ("move the dentist to monday", "monday", "2026-11-23 2026-11-23, 2026-11-16 2026-11-16"),
        ("move it to next monday.", "next monday", "2026-11-23 2026-11-23"),
        ("we sleep there from 25 to 29 July.", "25 to 29 July",
         "2027-07-25 2027-07-29, 2026-07-25 2026-07-29"),
        ("clean them at the weekend", "weekend", "2026-11-21 2026-11-22, 2026-11-14 2026-11-15"),
        ("clean them next weekend", "next weekend", "2026-11-28 2026-11-29"),
        ("the day after tomorrow, please", "the day after tomorrow", "2026-11-20 2026-11-20"),
        ("the dentist is on tuesday the 8th", "tuesday the 8th", "2026-12-08 2026-12-08"),
        ("pay the rent due:1 dec", "1 dec", "2026-12-01 2026-12-01, 2025-12-01 2025-12-01"),
        ("paint the 2nd floor", "", ""),
        ("dinner on the 19th with mum", "19th", "2026-11-19 2026-11-19, 2026-10-19 2026-10-19"),
        ("the flight is on 22.12. 6:55", "22.12.", "2026-12-22 2026-12-22, 2025-12-22 2025-12-22"),
        ("the server is at 10.0.4.7.", "", ""),
        ("upgrade it to 4.2.27", "", ""),
    ],
)  # fmt: skip
def test_a_day_of_a_request_is_to_come_or_over(request_: str, words: str, days: str) -> None:
    named = name_days(request_, WEDNESDAY)
    assert named.words == words
    assert ", ".join(f"{first} {last}" for first, last in named.marks) == days


def test_a_long_text_is_searched_quickly() -> None:
    for words in ("a ", "on the ", "end of ", "in a ", "3 March and ", " "):
        began = time.process_time()
        find_named_day(words * 1000)
        read_days(words * 2000, WEDNESDAY)
        assert time.process_time() - began < 5


@given(st.text(max_size=20))
def test_no_text_raises_an_error(text: str) -> None:
    parse_day(text, WEDNESDAY)


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("call Anna due:tomorrow", "call Anna due:2026-11-19"),
        ("due:friday so that", "due:2026-11-20 so that"),
        ("due:next friday call Anna", "due:2026-11-20 call Anna"),
        ("call due:in 3 days, at home", "call due:2026-11-21, at home"),
        ('call due:"in 3 days" at home', "call due:2026-11-21 at home"),
        ("call due:in-3-days", "call due:2026-11-21"),
        ("call due:the day after tomorrow", "call due:2026-11-20"),
        ("call due:tuesday, 2026-12-01 at 9", "call due:2026-12-01 at 9"),
        ("call due:next_friday", "call due:2026-11-20"),
        ("call (due:friday)", "call (due:2026-11-20)"),
        ("pay due:end of month.", "pay due:2026-11-30."),
        ("pay due:1 dec at home", "pay due:2026-12-01 at home"),
        ("pay due:friday 18 december, cash", "pay due:2026-12-18, cash"),
        ("pay due:february 29", "pay due:2028-02-29"),
        ("pay due: friday", "pay due:2026-11-20"),
        ("pay due:2026-12-01 x", "pay due:2026-12-01 x"),
        ("anruf due:\u00fcbermorgen", "anruf due:2026-11-20"),
        ("the report is due: soon", "the report is due: soon"),
        ("the rent is due", "the rent is due"),
        ("overdue:friday", "overdue:friday"),
        ("call Anna by friday", "call Anna by friday"),
    ],
)
def test_a_due_in_words_becomes_a_date(text: str, stored: str) -> None:
    assert resolve_due_dates(text, WEDNESDAY) == stored


@pytest.mark.parametrize(
    "text", ["due:soon", "x due:01/02/2026", "due:", "due:2026-02-30", "due:friday 19 december"]
)
def test_a_due_without_a_date_is_refused_with_an_example(text: str) -> None:
    if text == "due:":
        assert resolve_due_dates(text, WEDNESDAY) == text
        return
    with pytest.raises(ToolProblem, match=r"is no date; write due:2026-11-18"):
        resolve_due_dates(text, WEDNESDAY)


def test_a_weekday_a_date_and_a_text_without_a_day_do_not_load_the_library() -> None:
    program = (
        "import sys; from datetime import date; from openclaw.nlp import dates;"
        "today = date(2026, 1, 1);"
        "assert all(dates.parse_day(words, today) for words in ('2026-12-01', 'end of week',"
        " 'friday', 'tomorrow', 'next week', '3 March'));"
        "assert dates.read_days('since 2026-01-01, and last week', today).spans;"
        "assert not dates.read_days('to a sunny place, may I, at 10:30 for 5 sec?', today).spans;"
        "assert dates.name_days('move it to Friday', today).words == 'Friday';"
        "assert 'dateparser' not in sys.modules;"
        "assert dates.parse_day('in three days', today); assert 'dateparser' in sys.modules"
    )
    words = [sys.executable, "-W", "error", "-c", program]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
