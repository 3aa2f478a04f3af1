"""The days that a question names. Today is Saturday, 21 November 2026."""

from __future__ import annotations

import time
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.nlp.dates import read_days, read_past_days
from openclaw.retrieval.question import read_question

TODAY = date(2026, 11, 21)


def read(text: str, today: date = TODAY) -> str:
    """Return the spans of a question as "from to"."""
    return ", ".join(f"{first} {last}" for first, last in read_days(text, today).spans)


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (
            "first week of March|the 1st week in March 2026|in der ersten Woche im März",
            "2026-03-01 2026-03-07",
        ),
        ("second week of August 2025", "2025-08-08 2025-08-14"),
        ("the last week of May|last week in May|letzte Woche im Mai", "2026-05-25 2026-05-31"),
        ("first half of April|erste Hälfte im April", "2026-04-01 2026-04-15"),
        ("second half of April|in der zweiten Hälfte im April", "2026-04-16 2026-04-30"),
        ("first half of 2025", "2025-01-01 2025-06-30"),
        (
            "early March|in early march|beginning of March|at the start of March|Anfang März",
            "2026-03-01 2026-03-10",
        ),
        ("mid-April|in the middle of April|Mitte April", "2026-04-11 2026-04-20"),
        (
            "end of May|late May|by the end of may|Ende Mai|Ende des Monats Mai",
            "2026-05-22 2026-05-31",
        ),
        ("mid-April 2025|Mitte April 2025", "2025-04-11 2025-04-20"),
        ("at the end of last month|Ende letzten Monats", "2026-10-22 2026-10-31"),
    ],
)
def test_a_part_of_a_month_is_not_the_whole_month(texts: str, expected: str) -> None:
    assert {read(text) for text in texts.split("|")} == {expected}


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (
            "the week of 16 March|runs in the week of March 18|in der Woche vom 16. März"
            "|week of 2026-03-22|KW 12|KW 12/2026",
            "2026-03-16 2026-03-22",
        ),
        (
            "the weekend of 4 April|weekend of 2026-04-05|am Wochenende vom 4. April",
            "2026-04-04 2026-04-05",
        ),
        ("last weekend|letztes Wochenende|am letzten Wochenende", "2026-11-14 2026-11-15"),
        ("this weekend|what did we do at the weekend?|am Wochenende", "2026-11-21 2026-11-22"),
        ("last week in Rome|letzte Woche|in der letzten Woche", "2026-11-09 2026-11-15"),
    ],
)
def test_a_week_begins_on_monday(texts: str, expected: str) -> None:
    assert {read(text) for text in texts.split("|")} == {expected}


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (
            "between 3 and 9 March|between the 3rd and the 9th of March|from 3 March to 9 March"
            "|from the 3rd to the 9th of March|3-9 March|3 \u2013 9 March 2026|March 3-9, 2026"
            "|from March 3 to 9"
            "|3 March until 9 March|2026-03-03 to 2026-03-09"
            "|zwischen dem 3. und 9. März|zwischen dem 3. und dem 9. März|vom 3. bis zum 9. März"
            "|3.-9. März|vom 3. März bis zum 9. März|vom 3.3. bis 9.3.",
            "2026-03-03 2026-03-09",
        ),
        ("from 3 March to 9 March 2025|3 March 2025 to 9 March", "2025-03-03 2025-03-09"),
        (
            "28 December to 3 January|28 December 2025 to 3 January|28 December to 3 January 2026",
            "2025-12-28 2026-01-03",
        ),
        ("from March to May|between March and May|zwischen März und Mai|Q1 to Q2", None),
        ("from Monday to Wednesday|von Montag bis Mittwoch", "2026-11-16 2026-11-18"),
        ("from early March to mid-April|von Anfang März bis Mitte April", "2026-03-01 2026-04-20"),
        ("from 2019 to 2023", "2019-01-01 2023-12-31"),
        ("from October to February", "2026-10-01 2027-02-28"),
    ],
)
def test_from_one_day_to_another(texts: str, expected: str | None) -> None:
    for text in texts.split("|"):
        wanted = expected or f"2026-0{1 if 'Q' in text else 3}-01 2026-0{6 if 'Q' in text else 5}-3"
        assert read(text).startswith(wanted), text


@pytest.mark.parametrize(
    ("texts", "first"),
    [
        ("since Monday|since last Monday|seit Montag|seit letztem Montag", "2026-11-16"),
        ("since 3 March|seit dem 3. März|since the 3rd of March", "2026-03-03"),
        ("since March|seit März|since early March|seit Anfang März", "2026-03-01"),
        ("since 2024", "2024-01-01"),
        ("since last week|seit letzter Woche", "2026-11-09"),
        ("in the last three days|the past 3 days|in den letzten drei Tagen", "2026-11-18"),
        ("past two weeks|in the last 2 weeks|in den letzten zwei Wochen", "2026-11-07"),
        ("over the past six months|in den letzten sechs Monaten", "2026-05-21"),
        ("the last few days|in den letzten Tagen|the last days", "2026-11-16"),
        ("in the past week", "2026-11-14"),
    ],
)
def test_a_span_may_reach_until_today(texts: str, first: str) -> None:
    for text in texts.split("|"):
        assert read(text) == f"{first} 2026-11-21", text


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (
            "Q1 2026|Q1/2026|in Q1|first quarter of 2026|in the first quarter"
            "|1. Quartal 2026|im ersten Quartal",
            "2026-01-01 2026-03-31",
        ),
        ("in Q4|Q4 2026", "2026-10-01 2026-12-31"),
        ("last quarter|letztes Quartal|third quarter of 2026", "2026-07-01 2026-09-30"),
        ("vor drei Tagen|three days ago|on 18 November|am 18.11.", "2026-11-18 2026-11-18"),
    ],
)
def test_quarters_and_days_ago(texts: str, expected: str) -> None:
    for text in texts.split("|"):
        assert read(text) == expected, text


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (
            "que s'est-il passé la semaine dernière ?|¿qué hice la semana pasada?"
            "|la settimana scorsa|vorige week|a semana passada",
            "2026-11-09 2026-11-15",
        ),
        (
            "le mois dernier|el mes pasado|il mese scorso|vorige maand|letzten Monat",
            "2026-10-01 2026-10-31",
        ),
        ("l'année dernière|el año pasado|letztes Jahr", "2025-01-01 2025-12-31"),
        (
            "qu'ai-je fait lundi dernier ?|cosa ho fatto lunedì scorso?|afgelopen maandag"
            "|letzten Montag|last Monday|qu'est-ce qui s'est passé lundi ?|cosa ho fatto lunedi?"
            "|o que fiz na segunda-feira?|¿qué hice el lunes?",
            "2026-11-16 2026-11-16",
        ),
        ("wat deed ik gisteren?|ieri|o que fiz ontem?|ayer|gestern", "2026-11-20 2026-11-20"),
        ("il y a trois jours|hace 3 días|3 dagen geleden|3 giorni fa", "2026-11-18 2026-11-18"),
        ("le 3 mars|3 marzo|el 3 de marzo|3 maart|3 de março", "2026-03-03 2026-03-03"),
        ("en mars|en marzo|em março|in maart", "2026-03-01 2026-03-31"),
        ("depuis lundi|desde lunes|sinds maandag", "2026-11-16 2026-11-21"),
        ("a couple of weeks ago|vor zwei Wochen|2 weken geleden", "2026-11-04 2026-11-10"),
    ],
)
def test_seven_languages_are_read(texts: str, expected: str) -> None:
    for text in texts.split("|"):
        assert read(text) == expected, text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("what was in November?", "2026-11-01 2026-11-30"),
        ("what was last November?", "2025-11-01 2025-11-30"),
        ("what was in December?", "2025-12-01 2025-12-31"),
        ("what was in the last week of November?", "2025-11-24 2025-11-30"),
        ("what was on 29 February?", "2024-02-29 2024-02-29"),
    ],
)
def test_a_time_without_a_year_is_the_latest_that_has_begun(text: str, expected: str) -> None:
    assert read(text) == expected


@pytest.mark.parametrize("text", ["marmalade of 2026", "in 2026", "since 2026", "this year"])
def test_the_current_year_by_itself_names_no_days(text: str) -> None:
    assert read(text) == ""
    assert set(read_question(text, TODAY).words) & {"2026", "year"}


def test_another_year_and_a_month_of_the_current_year_name_days() -> None:
    assert read("in 2025") == read("last year") == "2025-01-01 2025-12-31"
    assert read("in March 2026") == "2026-03-01 2026-03-31"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("in March, on 9 March", "2026-03-01 2026-03-31, 2026-03-09 2026-03-09"),
        ("since March, and what is on today?", "2026-03-01 2026-11-21, 2026-11-21 2026-11-21"),
        ("on 8 May and on 9 May", "2026-05-08 2026-05-08, 2026-05-09 2026-05-09"),
        ("the day before yesterday", "2026-11-19 2026-11-19"),
    ],
)
def test_several_times_are_read(text: str, expected: str) -> None:
    assert read(text) == expected


@pytest.mark.parametrize(
    "text",
    """may I come in?|May I come in?|this may be wrong|section 3 may apply|version 3 may be newer
    |it is late, may I go|May 5 people come?|we march on 3 fronts|to march 5 miles|in the march
    |the second half of the book|the first week of school|the first quarter of the game
    |give me a second|the last days of Pompeii|the last three days of the trip|the end of the road
    |we won 3-9|3 to 4 people|1-2 weeks|from time to time|between you and me|since then
    |version 1.2.2023.4|call 2000-3|ops-2024|\u20ac2000|it cost 2000 euros|2023.4.1.2|on 31 February
    |in Spring Boot|in summer|auf jeden Fall|is 12.5.1 out?|at 10.30 or 11.15?|call +49 2015 334
    |it costs 12.50|what does sec mean?|a sunny place|to a friend on the road|was ist hier los?
    |my Audi Q3|Q1: what is it?|Monday is when?|open on Mondays|the weekend of the wedding
    |le lundi je travaille|il sabato al mercato|ce mercredi|entro martedì|lundi prochain
    |chaque lundi|ogni lunedì|tous les mardi|da lunedì|jusqu'à lundi""".split("|"),
)
def test_words_that_only_look_like_a_time_name_no_days(text: str) -> None:
    assert read(text.strip()) == ""


def test_the_words_of_a_span_are_not_searched_for() -> None:
    def words(text: str) -> tuple[str, ...]:
        return read_question(text, TODAY).words

    for text in ("in the first week of March", "in the last three days", "last weekend"):
        assert words(f"boiler repair {text}") == ("boiler", "repair")
    assert words("boiler, may I?") == ("boiler", "may")


def test_a_question_with_only_a_day_has_no_words() -> None:
    assert read_question("What did I do on 7 March?", TODAY).words == ()


FRAGMENTS = """first|second|last|erste|letzten|1.|week|weeks|half|weekend|Woche|Hälfte|Tage|of|in|im
|the|between|and|zwischen|und|from|to|vom|bis|since|seit|March|may|May|März|apr\u0131l|augu\u017ft
|Februar|29|31|3|9.|2026|0000|0001|9999|2025-02-30|9.3.|Q1|Q4|spring|fall|winter|Monday|Montag
|yesterday|heute|early|mid-|end of|Mitte|past|999|few|an|days|years|months|ago|vor|Jahren|KW 53|-
|\u2013|/|,|?|\ue000\ue100|woche|last week|this year|on|quarter|Quartal|before|before last|fifth
|fourth""".replace("\n", "").split("|")


@given(
    st.lists(st.sampled_from(FRAGMENTS), max_size=9).map(" ".join) | st.text(),
    st.dates() | st.sampled_from([date.min, date.max, date(2024, 2, 29)]),
)
def test_any_text_gives_ordered_days(text: str, today: date) -> None:
    days = read_days(text, today)
    assert all(first <= last for first, last in days.spans)
    assert len(set(days.spans)) == len(days.spans)


@given(st.dates(date(1980, 1, 1), TODAY), st.dates(date(1980, 1, 1), TODAY))
def test_a_range_of_two_full_dates_is_read_in_every_notation(one: date, other: date) -> None:
    first, last = sorted((one, other))
    for form in ("%Y-%m-%d", "%-d %B %Y", "%d.%m.%Y", "%B %-d, %Y"):
        text = f"between {format_day(first, form)} and {format_day(last, form)}"
        assert read_days(text, TODAY).spans == ((first, last),), text


def format_day(day: date, form: str) -> str:
    """`strftime`, with days without a leading zero on every system."""
    return day.strftime(form.replace("%-d", str(day.day)))


@given(st.dates(date(2, 1, 1), date(9998, 1, 1)))
def test_weeks_weekends_and_weekdays(today: date) -> None:
    def days(text: str) -> tuple[date, date]:
        return read_days(text, today).spans[0]

    monday, sunday = days("this week")
    assert (monday.weekday(), sunday - monday) == (0, timedelta(6)) and monday <= today <= sunday
    assert days("last week") == (monday - timedelta(7), monday - timedelta(1))
    saturday, end = days("this weekend")
    assert (saturday.weekday(), end - saturday) == (5, timedelta(1)) and saturday <= today
    before, _ = days("on Friday")
    assert before.weekday() == 4 and 1 <= (today - before).days <= 7


@given(st.integers(1, 12), st.integers(1900, 2100))
def test_the_parts_of_a_month_fill_it(month: int, year: int) -> None:
    def days(text: str) -> tuple[date, date]:
        return read_days(f"{text} {date(year, month, 1):%B} {year}", date(2200, 1, 1)).spans[0]

    whole = days("in")
    early, middle, late = days("early"), days("mid"), days("late")
    assert (early[0], late[1]) == whole
    assert middle == (early[1] + timedelta(1), late[0] - timedelta(1))
    first, second = days("first half of"), days("second half of")
    assert (first[0], second[1], second[0] - first[1]) == (*whole, timedelta(1))


def test_a_day_that_is_told_without_a_year_is_the_nearest() -> None:
    written = date(2026, 11, 21)
    spans = {
        "on 14 January": date(2027, 1, 14),
        "on 14 October": date(2026, 10, 14),
        "on 14 January 2026": date(2026, 1, 14),
    }
    for text, day in spans.items():
        assert read_days(text, written, told=True).spans == ((day, day),)


def test_of_a_pasted_log_no_more_days_are_read_than_at_its_beginning() -> None:
    line = "2026-11-20 10:22 The server said on Monday 3 March 2026 that the pump was off.\n"
    began = time.process_time()
    named = read_past_days(f"yesterday:\n{line * 4_000}on Tuesday", TODAY)
    assert time.process_time() - began < 5
    assert named.words == "yesterday"
    assert read_days("on Tuesday", TODAY).spans[0] not in named.spans
