"""Which line of a text a request tells another number of."""

from __future__ import annotations

import re
from datetime import date

import pytest

from openclaw.memory.changed_figures import find_changed_figure
from openclaw.memory.rows import Request

TODAY = date(2026, 11, 28)
OPENING = """# How to open

1. Turn off the alarm, code 4471, within 30 seconds.
2. Switch on the heating, behind desk 2.
"""
SUPPLIERS = """- Sanremo: Paolo, 0184 555 21, on Tuesdays
- Gallo: Anna Gallo, 059 555 340, plants
"""
WREATH = "# Wreath\n\nStraw 30 cm, fir 400 g, eucalyptus 6 twigs, ribbon 2 m. Takes 45 minutes.\n"
FILES = {"opening.md": OPENING, "suppliers.md": SUPPLIERS, "wreath.md": WREATH}


def changed(request: str, **more: str) -> tuple[str, bool] | None:
    texts = {**FILES, **{f"{name}.md": text for name, text in more.items()}}
    files = [(f"workspace/{name}", text) for name, text in texts.items()]
    found = find_changed_figure(Request(request, TODAY), files)
    return (re.sub(r"\\(.)|[()^$]", r"\1", found.form), found.surely) if found else None


@pytest.mark.parametrize(
    ("request_", "line", "surely"),
    [
        ("alarm code is 9035 now", OPENING.split("\n")[2].replace("4471", "9035"), True),
        (
            "il numero di paolo \u00e8 0184 555 88",
            "- Sanremo: Paolo, 0184 555 88, on Tuesdays",
            True,
        ),
        ("the wreath needs 8 twigs of eucalyptus, not 6", WREATH[10:-1].replace("6", "8"), True),
        ("ribbon is 12 m a wreath now", WREATH[10:-1].replace("2 m", "12 m"), False),
        ("wreath: 50 minutes, not 45", WREATH[10:-1].replace("45", "50"), True),
        ("the wreath takes 1.5 minutes now", WREATH[10:-1].replace("45", "1.5"), False),
        ("the wreath takes 50 instead of 45", WREATH[10:-1].replace("45", "50"), False),
        ("alarm code jetzt 9035", OPENING.split("\n")[2].replace("4471", "9035"), True),
        ("the wreath takes 50 minutes", WREATH[10:-1].replace("45", "50"), False),
    ],
)
def test_the_line_with_a_number_of_its_form_and_most_words_is_meant(
    request_: str, line: str, surely: bool
) -> None:
    assert changed(request_) == (line, surely)


@pytest.mark.parametrize(
    "request_",
    [
        "the alarm is loud",  # no number
        "the code of the safe is 9035",  # too few of its words
        "the alarm code is 4471",  # it is there
        "the alarm rang 12 times at 3, 4 and 5",
        "paolo has 3 children",  # no number of this form
        "we made 50 minutes of wreath today",  # a new line of a log
        "the wreath has 6 twigs of eucalyptus, not 8",  # it has
        "turn off the alarm, it rang 3 times within 30 seconds",
        "turn off the alarm with 9035 within 30 seconds",  # neither is in place of the other
    ],
)
def test_what_may_be_another_thing_changes_no_line(request_: str) -> None:
    assert changed(request_) is None


@pytest.mark.parametrize(
    ("request_", "line", "found"),
    [
        ("Anna's phone number is 0184 555 88", "- Paolo: phone number 0184 555 21", None),
        ("il numero di Anna \u00e8 0184 555 88", "- Paolo: numero di casa 0184 555 21", None),
        ("Ann's PIN code is 9035", "PIN code of Bob: 4471", None),
        ("the pin of my visa card is 9035", "Pin of the bank card: 4471", False),
        ("the pin of my bank card is 9035", "Pin of the bank card: 4471", True),
        ("we used 1500 g flour for the bread", "Bread takes 1200 g flour", False),  # an amount
        ("it was 5 degrees outside, in the frost", "Outside: frost at -2 degrees", False),
    ],
)
def test_what_may_be_the_number_of_another_is_not_surely_meant(
    request_: str, line: str, found: bool | None
) -> None:
    meant = changed(request_, more=f"{line}\r\n")
    assert meant is None if found is None else meant and meant[1] is found


def test_of_two_lines_with_as_many_words_none_is_meant() -> None:
    assert changed("alarm code is 9035 now", shed="Alarm: code 1234.\n") is None


def test_tables_headings_and_programs_are_left_to_others() -> None:
    table = "# Alarm code 1234\n\n| alarm | code |\n|---|---|\n| front | 1234 |\n"
    assert changed("alarm code is 9035 now", shed=table)
    files = [("workspace/alarm.py", "alarm_code = 1234\n"), ("workspace/alarm.csv", "code,1234\n")]
    assert find_changed_figure(Request("alarm code is 9035 now", TODAY), files) is None
