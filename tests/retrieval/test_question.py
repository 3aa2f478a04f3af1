"""Reading a question: words, phrases, days, names."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openclaw.retrieval.question import read_question, topic_words

TODAY = date(2026, 11, 21)  # a Saturday


@pytest.mark.parametrize(
    "text",
    [
        'who said "see you soon"?',
        "who said \u201csee you soon\u201d?",
        "wer sagte \u201esee you soon\u201c?",
        "qui a dit \u00ab\u00a0see you soon\u00a0\u00bb ?",
        "wer sagte \u00bbsee you soon\u00ab?",
        "who said `see you soon`",
        "who said 'see you soon'?",
    ],
)
def test_a_quoted_phrase_is_read_in_every_typographic_form(text: str) -> None:
    assert read_question(text, TODAY).phrases == ("see you soon",)


def test_an_apostrophe_quotes_nothing() -> None:
    assert read_question("What's Anna's and Ben's plan?", TODAY).phrases == ()


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("what was on 2023-05-08?", "2023-05-08", "2023-05-08"),
        ("what was on 8 May 2023?", "2023-05-08", "2023-05-08"),
        ("what was on the 8th of May 2023?", "2023-05-08", "2023-05-08"),
        ("what was on May 8, 2023?", "2023-05-08", "2023-05-08"),
        ("was war am 8. Mai 2023?", "2023-05-08", "2023-05-08"),
        ("was war am 08.05.2023?", "2023-05-08", "2023-05-08"),
        ("qu'y avait-il le 8 mai 2023 ?", "2023-05-08", "2023-05-08"),
        ("\u00bfqu\u00e9 pas\u00f3 el 8 de mayo de 2023?", "2023-05-08", "2023-05-08"),
        ("what was on 8 May?", "2026-05-08", "2026-05-08"),
        ("what was on 8 December?", "2025-12-08", "2025-12-08"),
        ("what was in May 2023?", "2023-05-01", "2023-05-31"),
        ("what was in 2023-02?", "2023-02-01", "2023-02-28"),
        ("what was in February?", "2026-02-01", "2026-02-28"),
        ("what was in 2023?", "2023-01-01", "2023-12-31"),
        ("what did I do yesterday?", "2026-11-20", "2026-11-20"),
        ("was habe ich gestern gemacht?", "2026-11-20", "2026-11-20"),
        ("what is today?", "2026-11-21", "2026-11-21"),
        ("what did I do last week?", "2026-11-09", "2026-11-15"),
        ("what did I do last month?", "2026-10-01", "2026-10-31"),
        ("what did I do last year?", "2025-01-01", "2025-12-31"),
        ("what did I do on Monday?", "2026-11-16", "2026-11-16"),
        ("what did I do last Saturday?", "2026-11-14", "2026-11-14"),
        ("what did I do 3 days ago?", "2026-11-18", "2026-11-18"),
    ],
)
def test_a_day_month_or_year_is_read(text: str, first: str, last: str) -> None:
    assert read_question(text, TODAY).dates[0] == (first, last)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("who comes on Monday?", ("come",)),
        ("who comes next week?", ("come",)),
        ("what is on tomorrow?", ()),
        ("what is due by the end of the month?", ("due",)),
        ("what about tomorrow in Tomorrowland?", ("about", "tomorrowland")),
    ],
)
def test_the_words_of_a_day_are_not_searched(text: str, words: tuple[str, ...]) -> None:
    assert read_question(text, TODAY).words == words


@pytest.mark.parametrize(
    ("text", "dates"),
    [
        ("what is on 8 December?", ["2025-12-08", "2026-12-08"]),
        ("what have I got on Tuesday?", ["2026-11-17", "2026-11-24"]),
        ("what's in the diary for tuesday?", ["2026-11-24"]),
        ("was ist morgen?", ["2026-11-22"]),
        ("what did I do yesterday?", ["2026-11-20"]),
        (  # however their letters are composed
            "wer kommt am 12. Ma\u0308rz und am 14. Ma\u0308rz?",
            ["2026-03-12", "2026-03-14", "2027-03-12", "2027-03-14"],
        ),
    ],
)
def test_a_day_is_also_the_next_one(text: str, dates: list[str]) -> None:
    assert [first for first, _ in read_question(text, TODAY).dates] == dates


@pytest.mark.parametrize(
    "text",
    ["may I come in?", "march on", "version 1.2.2023.4", "call 2000-3", "build 2023.4.1.2"],
)
def test_what_is_no_date_gives_no_day(text: str) -> None:
    assert all(first[4:] == "-01-01" for first, _ in read_question(text, TODAY).dates)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("what is the latest on the boiler?", True),
        ("what was the last thing Anna said?", True),
        ("most recent release?", True),
        ("where do I currently live?", True),
        ("was habe ich zuletzt gelesen?", True),
        ("what does a wash cost now?", True),
        ("what does a wash cost these days?", True),
        ("where does she live at the moment?", True),
        ("in May, what was the last reading?", True),
        ("was kostet eine Wäsche momentan?", True),
        ("wo wohnt sie inzwischen?", True),
        ("wie heißt der jetzige Hausmeister?", True),
        ("quel est le prix actuellement ?", True),
        ("what does a wash cost?", False),
        ("where do I live?", False),
        ("how long does the battery last?", False),
        ("what happened in the last week of May?", False),
        ("what did I note in the last three days?", False),
        ("what did I do last summer?", False),
        ("was war am letzten Montag?", False),
        ("by Friday at the latest", False),
        ("what is my last name?", False),
        ("what did I do last week?", False),
        ("where did I live in 2019?", False),
    ],
)
def test_a_question_for_the_latest_is_known(text: str, wanted: bool) -> None:
    assert read_question(text, TODAY).wants_latest is wanted


def test_names_are_words_with_a_capital_but_for_the_question_word() -> None:
    question = read_question("What did Caroline's friend say to Mel?", TODAY)
    assert question.names == ("caroline", "mel")


def test_identifiers_are_keys_and_plain_words_and_numbers_are_not() -> None:
    question = read_question("Is OPS-4217 in v1.2.3 for a.b@c.de or 42 well-known men?", TODAY)
    assert {"ops-4217", "v1.2.3", "a.b@c.de"} <= set(question.keys)
    assert not {"42", "men", "well-known", "wellknown"} & set(question.keys)


def test_words_are_told_once_in_their_order() -> None:
    assert read_question("port, Ports and host", TODAY).words == ("port", "host")


@given(st.text(), st.dates(min_value=date(2, 1, 1)))
def test_any_text_is_a_question(text: str, today: date) -> None:
    for first, last in read_question(text, today).dates:
        assert date.fromisoformat(first) <= date.fromisoformat(last)


@pytest.mark.parametrize(
    "text, topic",
    [
        ("List all hostels near the wall", "all hostel near wall"),
        ("Please list in order the hostels. Mention only the prices.", "hostel price"),
        ("Could you tell me briefly, throughout our conversations, which hostel", "hostel"),
        ("Kannst du mir bitte eine kurze Übersicht der Hütten geben?", "mir hutten hutt geben geb"),
        ("Mention only and only three items about the hostel", "about hostel"),
        ("Walk me through the order in which I brought up hostels", "hostel"),
        ("What did I want to change at the hostel?", "want chang hostel"),
        ("the shopping list for Easter", "shop list easter"),
        ("a cat in order of size, and a name for it", "cat size name"),
        ("list", "list"),
    ],
)
def test_words_that_instruct_do_not_count(text: str, topic: str) -> None:
    assert " ".join(dict.fromkeys(topic_words(text))) == topic
