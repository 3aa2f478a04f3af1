"""The rows of tables that a request names, and what may be written in their place."""

from __future__ import annotations

import re
from datetime import date

import pytest

from openclaw.memory.named_rows import NamedRows, find_displaced, find_named_rows

TODAY = date(2026, 11, 27)
STOCK = """# Stock

| Item | Amount | Unit |
|---|---|---|
| wheat flour | 140 | kg |
| rye flour | 35 | kg |
| butter | 18 | kg |
"""
MEMBERS = """| Name | Stimme | Beitrag bezahlt |
|---|---|---|
| Bernd Voss | Bass | nein |
| Carla Timm | Alt | ja |
| Emmi Lorenz | Sopran | ja |
"""
ORDERS = """number,customer,item,status
312,Mrs Whitlock,birthday cake,open
313,Harbour Hotel,rye loaf,open
"""
METERS = """day,power,water
2026-10-01,14731,823
2026-11-01,14958,835
"""
MENU = "# Menu\n\n- Monday: lentils\n- Thursday: omelette\n"
OVEN = "preheat: 25\ncroissant:\n  minutes: 16\nrye:\n  minutes: 45\n"
LOG = (
    "# Log\n\n- 2026-11-24: 75 buns sold, 5 left over\n- 2026-11-25: 90 buns sold, none left over\n"
)


def find(request: str, **files: str) -> NamedRows:
    names = {"orders": "orders.csv", "meters": "meters.csv", "oven": "oven.yaml"}
    paths = ((f"workspace/{names.get(name, name + '.md')}", text) for name, text in files.items())
    return find_named_rows(request, paths, TODAY)


@pytest.mark.parametrize(
    ("request_text", "files", "line", "good", "bad"),
    [
        (
            "butter is down to 9 kg",
            {"stock": STOCK},
            "| butter | 18 | kg |",
            "| butter | 9 | kg |",
            "| butter (9 kg) | 18 | kg |",
        ),
        (  # a heading is named: only this column changes
            "bernd hat jetzt bezahlt",
            {"members": MEMBERS},
            "| Bernd Voss | Bass | nein |",
            "| Bernd Voss | Bass | ja |",
            "| Bernd Voss | ja | nein |",
        ),
        (  # so it is when a value of another row is named
            "carla singt jetzt sopran",
            {"members": MEMBERS},
            "| Carla Timm | Alt | ja |",
            "| Carla Timm | Sopran | ja |",
            "| Carla Timm | Alt | Sopran |",
        ),
        (
            "order 313 has been delivered",
            {"orders": ORDERS},
            "313,Harbour Hotel,rye loaf,open",
            "313,Harbour Hotel,rye loaf,delivered",
            "313,Harbour Hotel,rye loaf,delivered,open",
        ),
        (
            "we have soup instead of the omelette on thursday",
            {"menu": MENU},
            "- Thursday: omelette",
            "- Thursday: soup",
            "- Friday: soup",
        ),
        (  # of YAML the names above count too
            "bake the rye for 50 minutes",
            {"oven": OVEN},
            "  minutes: 45",
            "  minutes: 50",
            "minutes: 50",
        ),
    ],
)
def test_a_named_row_may_only_become_a_row_of_the_same_form(
    request_text: str, files: dict[str, str], line: str, good: str, bad: str
) -> None:
    found = find(request_text, **files)
    assert found.surely
    (edit,) = found.edits
    assert edit.row.line == line
    assert re.fullmatch(edit.form, good)
    assert not re.fullmatch(edit.form, bad)


@pytest.mark.parametrize(
    ("request_text", "files", "good"),
    [
        (  # a number that no row has yet
            "new order: 315, harbour hotel, 20 white loaves",
            {"orders": ORDERS},
            "315,Harbour Hotel,20 white loaves,open",
        ),
        (  # all headings of a table of days
            "today's meters: power 15190, water 846",
            {"meters": METERS},
            "2026-11-27,15190,846",
        ),
        (  # a line for today in the words of the last one
            "we sold 68 buns today and 3 were left",
            {"log": LOG, "stock": STOCK},
            "- 2026-11-27: 68 buns sold, 3 left over",
        ),
    ],
)
def test_a_new_line_is_wanted_where_rows_are_numbered_or_dated(
    request_text: str, files: dict[str, str], good: str
) -> None:
    found = find(request_text, **files)
    ((_, form),) = found.new
    assert found.surely
    assert not found.edits
    assert re.fullmatch(form, good)


@pytest.mark.parametrize(
    "request_text",
    [
        "how is the weather",
        "a new product for 3.20",
        "call the insurance",
        "for orders they have another telephone now, 0113 555 314",
        "it cost us 314 euros",
    ],
)
def test_nothing_is_named_by_words_of_several_rows_or_of_none(request_text: str) -> None:
    found = find(request_text, stock=STOCK, members=MEMBERS, orders=ORDERS, log=LOG)
    assert not found.edits
    assert not found.surely


def test_a_row_that_is_only_mentioned_is_not_surely_changed() -> None:
    found = find("buy more butter", stock=STOCK)
    assert [edit.row.line for edit in found.edits] == ["| butter | 18 | kg |"]
    assert not found.surely


def test_a_table_at_the_end_of_a_file_takes_a_row_with_as_many_cells() -> None:
    ((path, form),) = find("buy more butter", stock=STOCK).new
    assert path == "workspace/stock.md"
    assert re.fullmatch(form, "| salt | 5 | kg |")
    assert not re.fullmatch(form, "salt | 5")
    assert not find("buy more butter", stock=f"{STOCK}\nCounted on Monday.\n").new


@pytest.mark.parametrize(
    ("request_text", "line", "displaced"),
    [
        ("new member: frauke behn, alto", "| Frauke Behn | Alt | nein |", True),
        ("emmi lorenz left, frauke behn comes", "| Frauke Behn | Alt | nein |", False),
        ("correct the names", "| Emmi Lorentz | Sopran | ja |", False),
        ("emmi sings alto now", "| Emmi Lorenz | Alt | ja |", False),
    ],
)
def test_a_row_that_was_not_mentioned_is_not_to_become_another(
    request_text: str, line: str, displaced: bool
) -> None:
    row = "| Emmi Lorenz | Sopran | ja |"
    changed = MEMBERS.replace(row, line)
    found = find_displaced("workspace/members.md", MEMBERS, changed, request_text)
    assert found == (row if displaced else "")
