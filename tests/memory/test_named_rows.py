"""The rows of tables that a request names, and what may be written in their place."""

from __future__ import annotations

import re
import time
from datetime import date

import pytest

from openclaw.memory.named_rows import (
    NamedRows,
    find_displaced,
    find_named_rows,
    find_rows_not_asked,
    tell_named_rows,
)

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
READINGS = "| Day | Power | Water |\n|---|---|---|\n| 2026-11-01 | 14958.1 | 835.0 |\n"
MENU = "# Menu\n\n- Monday: lentils\n- Thursday: omelette\n"
OVEN = "preheat: 25\ncroissant:\n  minutes: 16\nrye:\n  minutes: 45\n"
LOANS = """date,title,borrower,due,returned
2026-11-03,The Salt Path,Gwen Price,2026-11-24,no
2026-11-10,Middlemarch,Ann Bowen,2026-12-01,2026-11-21
2026-11-12,The Hobbit,Tomos Lewis,2026-12-03,no
"""
FIXTURES = """| Date | Opponent | Where | Kick-off |
|---|---|---|---|
| 2026-12-05 | Barnet | away | 09:30 |
| 2026-12-12 | Archway | home | 10:00 |
| 2026-12-16 | Finchley | away | 10:30 |
| 2026-12-19 | Muswell Hill | home | 11:00 |
"""
WALKS = """# Walks

| Day | Route | Miles |
|---|---|---|
| 2026-11-15 | Gower coast | 6 |
| 2026-11-22 | Taff trail | 9 |
"""
SOLD = "| No | Who | What | Price |\n|---|---|---|---|\n| 44 | Lou Ray | bunch of roses | 38 |\n"
LOG = (
    "# Log\n\n- 2026-11-24: 75 buns sold, 5 left over\n- 2026-11-25: 90 buns sold, none left over\n"
)


def find(request: str, **files: str) -> NamedRows:
    names = {
        "orders": "orders.csv",
        "meters": "meters.csv",
        "loans": "loans.csv",
        "oven": "oven.yaml",
    }
    paths = [(f"workspace/{names.get(name, name + '.md')}", text) for name, text in files.items()]
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
        (  # a day does not make it a line of the log
            "stock: butter is down to 9 kg since yesterday",
            {"log": "- 2026-11-25: 2 kg butter used\n", "stock": STOCK},
            "| butter | 18 | kg |",
            "| butter | 9 | kg |",
            "- 2026-11-27: 9 kg butter used",
        ),
        (  # a day to come
            "walks: the coast on sunday is 8 miles long",
            {"walks": WALKS + "| 2026-11-29 | Coast | 6 |\n"},
            "| 2026-11-29 | Coast | 6 |",
            "| 2026-11-29 | Coast | 8 |",
            "| 2026-11-29 | Taff trail | 8",
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
        (  # a day comes into the column of days that is still open
            "gwen brought the salt path back today",
            {"loans": LOANS},
            "2026-11-03,The Salt Path,Gwen Price,2026-11-24,no",
            "2026-11-03,The Salt Path,Gwen Price,2026-11-24,2026-11-27",
            "2026-11-27,The Salt Path,Gwen Price,2026-11-24,no",
        ),
        (  # a day to come names its row, with a value that other rows share
            "on the 19th we play away",
            {"fixtures": FIXTURES},
            "| 2026-12-19 | Muswell Hill | home | 11:00 |",
            "| 2026-12-19 | Muswell Hill | away | 11:00 |",
            "| 2026-12-19 | away | home | 11:00 |",
        ),
        (  # in a column of two values the other one, not the heading's word
            "bernd hat bezahlt",
            {"members": MEMBERS},
            "| Bernd Voss | Bass | nein |",
            "| Bernd Voss | Bass | ja |",
            "| Bernd Voss | Bass | bezahlt |",
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
    ("request_text", "files", "good", "bad"),
    [
        (  # the same again, or another number
            "put the butter up to 21",
            {"stock": STOCK},
            ["| butter | 21 | kg |"],
            ["| butter | 18 | kg |", "| butter | 180 | kg |", "| butter | 18 (21) | kg |"],
        ),
        (  # behind a name
            "opened a bottle of ear cleaner, so there is 1 left",
            {"supplies": "- towels: 24\n- ear cleaner: 2 bottles\n"},
            ["- ear cleaner: 1 bottle"],
            ["- ear cleaner: 2 bottles", "- ear cleaner: 2 bottles, 1 left"],
        ),
        (  # a day is no number, however its letters are composed
            "das Essen am 12. Ma\u0308rz hat 14 G\u00e4ste",
            {"menu": "- Essen: 10 G\u00e4ste\n- Tee: 3\n"},
            ["- Essen: 14 G\u00e4ste"],
            ["- Essen: 12 G\u00e4ste", "- Essen: 10 G\u00e4ste, 14"],
        ),
        (  # in a .csv a comma ends the cell
            "the birthday cake costs 1,200 now",
            {"orders": "item,price\nbirthday cake,900\nrye loaf,3.20\n"},
            ["birthday cake,1200"],
            ["birthday cake,1,200", "birthday cake,1.200", "birthday cake,1200,now"],
        ),
        (  # a value with several of them
            "the chess club is until 17:00 now",
            {"school": "- chess club: room 4, until 16:30\n"},
            ["- chess club: room 4, until 17:00"],
            ["- chess club: room 4, until 16:30", "- chess club: room 4, until 117:00"],
        ),
        (  # a score, where the other rows have one
            "we beat barnet 4-2",
            {
                "games": "| Game | Start | Score |\n|---|---|---|\n| Archway | 10:00 | 3-1 |\n"
                "| Barnet Juniors | 09:30 | |\n"
            },
            ["| Barnet Juniors | 09:30 | 4-2 |"],
            ["| Barnet Juniors | 4-2 | |", "| Barnet Juniors | 09:30 | 4 |"],
        ),
        (  # a day to come, where the days are to come
            "l'esame di genetica \u00e8 spostato al 25 gennaio",
            {"esami": "| Esame | Data |\n|---|---|\n| Genetica | 2027-01-18 |\n"},
            ["| Genetica | 2027-01-25 |"],
            ["| Genetica | 2026-01-25 |", "| Genetica | 2027-01-18 |"],
        ),
        (  # a day that is over, where they are
            "did bella's coat on wednesday",
            {"dogs": "| Dog | Breed | Last |\n|---|---|---|\n| Bella | Spaniel | 2026-10-30 |\n"},
            ["| Bella | Spaniel | 2026-11-25 |"],
            ["| Bella | Spaniel | 2026-12-02 |", "| Bella | Poodle | 2026-11-25 |"],
        ),
        (  # a number beside a day, which may only be when it is said
            "bella comes 8 weeks later from monday on",
            {"dogs": "| Dog | Every | Last |\n|---|---|---|\n| Bella | 6 weeks | 2026-10-30 |\n"},
            ["| Bella | 8 weeks | 2026-10-30 |", "| Bella | 8 weeks | 2026-11-23 |"],
            ["| Bella | 6 weeks | 2026-11-23 |"],
        ),
    ],
)
def test_a_number_or_a_day_that_is_said_comes_into_the_row(
    request_text: str, files: dict[str, str], good: list[str], bad: list[str]
) -> None:
    (edit,) = find(request_text, **files).edits
    assert [bool(re.fullmatch(edit.form, line)) for line in good] == [True] * len(good)
    assert [line for line in bad if re.fullmatch(edit.form, line)] == []


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
        (  # a table with more text below it, and a part of a number
            "the power is at 15190.5 and the water at 846.2",
            {"meters_in_a_page": f"{READINGS}\n## Bills\n\n- Power: Northern, 84 a month\n"},
            "| 2026-11-27 | 15190.5 | 846.2 |",
        ),
        (  # of yesterday
            "yesterday the power was at 15190 and the water at 846",
            {"meters": METERS},
            "2026-11-26,15190,846",
        ),
        (  # a row that is like one of another day
            "we walked the taff trail again today, 8 miles",
            {"walks": WALKS},
            "| 2026-11-27 | Taff trail | 8 |",
        ),
        (  # a line for today in the words of the last one
            "we sold 68 buns today and 3 were left",
            {"log": LOG, "stock": STOCK},
            "- 2026-11-27: 68 buns sold, 3 left over",
        ),
        (  # the cells of a row, behind its kind
            "neues Mitglied: frauke behn, alto, noch nicht bezahlt",
            {"mitglieder": MEMBERS},
            "| Frauke Behn | Alt | nein |",
        ),
        (  # or for the day that is said
            "yesterday we sold 68 buns and 3 were left",
            {"log": LOG},
            "- 2026-11-26: 68 buns sold, 3 left over",
        ),
    ],
)
def test_a_new_line_is_wanted(request_text: str, files: dict[str, str], good: str) -> None:
    found = find(request_text, **files)
    (new,) = found.new
    assert found.surely
    assert not found.edits
    assert re.fullmatch(new.form, good)


def test_a_number_may_be_more_or_less_than_the_one_of_the_row() -> None:
    stock = "| Item | Amount | Minimum |\n|---|---|---|\n| compresses | 120 | 50 |\n"
    (edit,) = find("j'ai utilis\u00e9 10 compresses", stock=stock).edits
    assert edit.sums == ("120 - 10 = 110", "120 + 10 = 130")
    for amount, minimum in (("10", "50"), ("110", "50"), ("130", "50"), ("120", "10")):
        assert re.fullmatch(edit.form, f"| compresses | {amount} | {minimum} |")
    for amount, minimum in (("100", "50"), ("110", "40"), ("120", "50")):
        assert not re.fullmatch(edit.form, f"| compresses | {amount} | {minimum} |")


@pytest.mark.parametrize(
    ("request_text", "line"),
    [
        ("the chess club is until 17:00", "- chess club: until 16:30\n"),
        ("the chess club has 20 members", "- chess club: 1.200 members\n"),  # or one and a fifth
        ("the chess club is 5 down", "- chess club: -3 points\n"),  # a figure is read without sign
        ("the chess club uses 1.2.4", "- chess club: version 1.2.3\n"),
        ("the chess club has 20 members", f"- chess club: {'9' * 30} members\n"),
    ],
)
def test_what_is_surely_no_plain_number_is_not_reckoned(request_text: str, line: str) -> None:
    (edit,) = find(request_text, school=line).edits
    assert edit.sums == ()


def test_of_part_of_one_a_number_is_the_hundredths() -> None:
    (edit,) = find("the fine goes up to 15p", fees="- fine: 0.10\n- card: 2.00\n").edits
    assert edit.sums == ("15 / 100 = 0.15",)
    assert re.fullmatch(edit.form, "- fine: 0.15")
    assert not re.fullmatch(edit.form, "- fine: 15.10")


def test_a_name_of_several_words_goes_before_more_words_of_another_row() -> None:
    left = "| Item | Left |\n|---|---|\n| red roses | 80 |\n"
    (edit,) = find("20 red roses for the bunch of roses of ray", stock=left, sold=SOLD).edits
    assert edit.row.line == "| red roses | 80 |"


def test_a_time_names_the_row_of_a_day_without_a_word_of_it() -> None:
    found = find("the game on 12 december starts at 11:30", fixtures=FIXTURES)
    assert [each.row.line for each in found.edits] == ["| 2026-12-12 | Archway | home | 10:00 |"]
    assert not found.surely
    assert not find("the dentist is on 12 december", fixtures=FIXTURES).edits


def test_no_row_surely_takes_two_numbers_that_it_lacks() -> None:
    request_text = "the butter buns need 8 eggs, not 6"
    assert not find(request_text, stock=STOCK.replace("butter |", "butter buns |")).surely


def test_the_number_of_a_new_row_may_be_a_value_of_another() -> None:
    ordered = ORDERS.replace("birthday cake", "315")
    assert find("new order: 315, harbour hotel, 20 white loaves", orders=ordered).surely


def test_the_cells_of_a_new_row_of_a_log_begin_with_a_day() -> None:
    (new,) = find("new loan: ann bowen, emma, 1 december to 8 december", loans=LOANS).new
    assert new.surely and re.fullmatch(new.form, "2026-12-01,Emma,Ann Bowen,2026-12-08,no")
    assert not re.fullmatch(new.form, "Ann Bowen,Emma,2026-12-01,2026-12-08,no")


def test_a_list_of_other_things_is_no_new_row() -> None:
    assert not find("stock: count, order, tell Ann", stock=STOCK).surely
    shops = "| Item | Shop | Who |\n|---|---|---|\n| soap | Lidl | Ann |\n"
    assert not find("shopping: cheese, apples, bread", shopping=shops).surely
    assert find("shopping: cheese, lidl, bob", shopping=shops).surely


def test_a_question_that_names_rows_of_a_table_gets_them_with_their_headings() -> None:
    def told(request: str, text: str = STOCK, last: int = 7) -> list[str]:
        return tell_named_rows("workspace/stock.md", text, 1, last, request)

    assert told("how much butter is there?") == ["item butter, amount 18, unit kg"]
    assert told("how much butter and rye flour?") == [
        "item rye flour, amount 35, unit kg",
        "item butter, amount 18, unit kg",
    ]
    assert told("how much butter?", f"\f\u2028{STOCK}")  # no ends of lines
    assert told("how much flour?") == told("how much butter?", last=6) == []
    assert told("how much butter?", "| Item | Amount |\n|---|---|\n| butter | 18 |\n") == []
    assert told("how much butter?", "- butter: 18\n- salt: 2\n") == []


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


@pytest.mark.parametrize(
    ("request_text", "line"),
    [
        ("spent 18.50 on treats today", "2026-11-27,treats,18.50"),
        ("segna 12,80 di cena fuori", "2026-11-27,di cena fuori,12.80"),
        ("42 euros for dinner with Imogen yesterday", "2026-11-26,dinner with Imogen,42"),
        ("paid the plumber 120", "2026-11-27,paid the plumber,120"),
        ("put 6 for tea into the spending", "2026-11-27,tea,6"),
        ("1,200 for the rent", "2026-11-27,rent,1200"),
        ("1.200,50 f\u00fcr die Miete", "2026-11-27,f\u00fcr die Miete,1200.50"),
    ],
)
def test_a_new_line_of_a_log_is_made_of_the_words_of_the_request(
    request_text: str, line: str
) -> None:
    log = {"workspace/spending.csv": "date,what,amount\n2026-11-04,shampoo,64.20\n"}
    found = find_named_rows(request_text, log.items(), TODAY)
    (new,) = found.new
    assert re.fullmatch(new.form, line)
    assert not re.fullmatch(new.form, "2026-11-27,shampoo,64.20")


def test_the_log_of_a_file_is_told_from_its_other_tables() -> None:
    budget = "| Kind | Budget |\n|---|---|\n| food | 300 |\n"
    log, other = find("spent 42 at the market", log=f"{WALKS}\n{budget}").new
    assert log.last_of_log == "| 2026-11-22 | Taff trail | 9 |"
    assert re.fullmatch(log.form, "| 2026-11-27 | market | 42 |")
    assert other.last_of_log == ""


def test_a_row_that_is_only_mentioned_is_not_surely_changed() -> None:
    found = find("buy more butter", stock=STOCK)
    assert [edit.row.line for edit in found.edits] == ["| butter | 18 | kg |"]
    assert not found.surely


def test_a_table_takes_a_row_with_as_many_cells_and_a_list_one_where_the_file_ends() -> None:
    (new,) = find("buy more butter", stock=STOCK).new
    assert new.path == "workspace/stock.md"
    assert re.fullmatch(new.form, "| salt | 5 | kg |")
    assert not re.fullmatch(new.form, "salt | 5")
    assert find("buy more butter", stock=f"{STOCK}\nCounted on Monday.\n").new
    assert not find("buy more soup", menu=f"{MENU}\nGuests on Monday\n").new
    runs = f"- 2026-11-20: ran with Ada\n\n{STOCK}"
    assert not find("today I ran with Ada", runs=runs).surely


PLANS = """| Day | Early |
|---|---|
| Monday | Lena |
| Tuesday | Omar |
"""


@pytest.mark.parametrize(
    "request_text",
    [
        "the dentist is on the 16th",  # a number beside no word of the table
        "mein beitrag: bass statt alt",  # cells of several rows
        "switch the dentist to monday",  # of a row that is named by a day no other word
        "the gas bill is paid",  # a value of numbered rows
        "the le mans race",  # a part of a name without three letters
    ],
)
def test_a_day_a_number_or_a_value_alone_names_no_row(request_text: str) -> None:
    orders = ORDERS.replace("rye loaf,open", "rye loaf,paid").replace("Mrs Whitlock", "Le Coq")
    bugs = "| No | Title |\n|---|---|\n| 1 | login |\n| 2 | search |\n"
    found = find(request_text, orders=orders, plans=PLANS, menu=MENU, bugs=bugs)
    assert not found.edits
    assert not found.surely


def test_the_name_of_another_row_does_not_make_it_sure() -> None:
    contacts = "| Name | Phone |\n|---|---|\n| Mum | 555 2222 |\n| Tom | 555 9876 |\n"
    found = find("mum met tom in town", people=contacts)
    assert len(found.edits) == 2
    assert not found.surely


@pytest.mark.parametrize(
    ("request_text", "all_meant"),
    [
        ("bernd und carla haben bezahlt", True),
        ("bernd hat bezahlt", False),  # only one
        ("bernd sagt, dass carla bezahlt hat", False),  # one tells of the other
        ("bernd und carla sind mitglieder", False),  # which column is to change?
    ],
)
def test_rows_that_are_named_one_by_one_are_all_meant(request_text: str, all_meant: bool) -> None:
    assert find(request_text, members=MEMBERS).all_meant == all_meant


def test_rows_of_several_files_are_not_all_meant() -> None:
    head = "| Name | Phone |\n|---|---|\n"
    found = find("mum and tom, new phone", a=f"{head}| Mum | 555 |\n", b=f"{head}| Tom | 987 |\n")
    assert len(found.edits) == 2
    assert not found.all_meant


ORDERED = "order,item,state\n12,cake,paid\n13,rye loaf,open\n14,bun,open\n"


@pytest.mark.parametrize(
    ("request_text", "path", "text", "told"),
    [
        ("wer hat noch nicht bezahlt?", "chor.md", MEMBERS, "rows with beitrag bezahlt nein: 1"),
        ("which orders aren't paid?", "orders.csv", ORDERED, "rows with state open: 2"),
        ("which orders are paid?", "orders.csv", ORDERED, ""),
        ("why has the bun not been paid?", "orders.csv", ORDERED, ""),  # it is in question itself
        ("warum hat carla nicht bezahlt?", "chor.md", MEMBERS, ""),
        ("which open orders have no date?", "orders.csv", ORDERED, ""),  # the no is of another word
        ("non ho capito, which orders are open?", "orders.csv", ORDERED, ""),
        ("qui n'a pas encore open?", "orders.csv", ORDERED, "rows with state paid: 1"),
        ("which orders are not paid?", "orders.csv", f'{ORDERED}15,"a, b",open\n', ""),  # not all
        ("who has not paid?", "fees.md", MEMBERS.replace("Beitrag bezahlt", "Not paid"), ""),
        ("wer singt nicht alt?", "chor.md", MEMBERS, ""),
        ("why is it not there?", "orders.csv", "", ""),
    ],
)
def test_a_question_with_a_no_asks_for_the_rows_with_one_of_two_values(
    request_text: str, path: str, text: str, told: str
) -> None:
    left_out, found = find_rows_not_asked(f"workspace/{path}", text, request_text)
    assert found == told
    assert bool(left_out) == bool(told)


def test_the_numbers_of_a_score_name_no_row() -> None:
    squad = "| No | Player |\n|---|---|\n| 4 | Kieran |\n| 2 | Theo |\n"
    assert not find("we won 4-2", squad=squad).edits


def test_what_stands_in_several_files_is_not_surely_meant() -> None:
    card = "# {}\n\nContact: {}\n"
    cards = {f"clients/{name}": card.format(name, "Ruth") for name in ("harbour", "oakfield")}
    found = find("start a file for a new client, contact is Joe", **cards)
    assert len(found.edits) == 2
    assert not found.surely


def test_the_name_of_a_page_with_more_than_a_table_means_no_row_of_it() -> None:
    page = f"{READINGS}\n## Guests\n\nAnn, Bob\n"
    assert not find("the garden party has 12 guests", garden=page).surely
    assert find("12 in the garden today", garden=READINGS).surely


def test_a_table_without_headings_to_name_takes_no_row_for_sure() -> None:
    days = "| Day |\n|---|\n| 2026-11-01 |\n"
    counts = "| Day | # |\n|---|---|\n| 2026-11-01 | 7 |\n"
    assert not find("the bill is 42 euros", closed=days, count=counts).surely


def test_many_rows_are_no_reason_to_only_add_one() -> None:
    rows = "".join(f"| {kind} flour | 5 |\n" for kind in ("rye", "wheat", "oat", "corn"))
    found = find("the flour amounts are in kg", stock=f"| Item | Amount |\n|---|---|\n{rows}")
    assert not found.edits
    assert not found.surely


@pytest.mark.parametrize("row", ['314,"Hotel, Harbour",loaf,open', '314,the "big" one,loaf,open'])
def test_the_number_of_a_row_that_cannot_be_read_is_not_new(row: str) -> None:
    assert not find("order 314 has been delivered", orders=f"{ORDERS}{row}\n").surely


def test_a_line_that_stands_twice_is_no_edit() -> None:
    oven = "croissant:\n  minutes: 45\nrye:\n  minutes: 45\n"  # which one, `find` cannot say
    assert not find("bake the rye for 50 minutes", oven=oven).edits


def test_tables_of_one_file_may_have_different_columns() -> None:
    small = "\n| Item | Price |\n|---|---|\n| bun | 2 |\n"
    (edit,) = find("butter amount is 9 kg", stock=f"{STOCK}{small}").edits
    assert edit.row.line == "| butter | 18 | kg |"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (
            "stock.md",
            STOCK
            + "".join(
                f"| flour {chr(97 + n % 26) * (n // 26 + 2)} | {n} | kg |\n" for n in range(1000)
            ),
        ),
        ("deep.yaml", "".join(f"{' ' * n}k{n}:\n" for n in range(400))),
        ("blank.md", f"-{' ' * 90_000}: x"),
    ],
)
def test_the_time_grows_with_the_length_only(path: str, text: str) -> None:
    began = time.process_time()
    find_named_rows("the flour amount is 9", [(f"workspace/{path}", text)], TODAY)
    assert time.process_time() - began < 0.2


@pytest.mark.parametrize(
    ("old", "new", "request_text"),
    [
        ("| teh | 5 | kg |", "| the | 5 | kg |", "correct the typos"),
        ("| butter | 18 | kg |", "| | 18 | kg |", "leave the first cell empty"),
    ],
)
def test_a_name_without_words_displaces_no_row(old: str, new: str, request_text: str) -> None:
    before = STOCK.replace("| butter | 18 | kg |", old)
    assert not find_displaced("workspace/stock.md", before, before.replace(old, new), request_text)


def test_a_small_word_does_not_mention_a_row() -> None:
    before = "| Patient | Jour |\n|---|---|\n| M. Riou | lun |\n| M. Le Bihan | mar |\n"
    after, row = before.replace("M. Le Bihan", "M. Jaouen"), "| M. Le Bihan | mar |"
    new = "nouveau patient : m. jaouen, le mercredi"
    assert find_displaced("workspace/patients.md", before, after, new) == row


@pytest.mark.parametrize(
    ("request_text", "line", "displaced"),
    [
        ("bought a new ice spray, 6.80", "- ice spray 6.80", True),
        ("the ice spray is full again", "- first-aid bag, ice spray full", False),
        ("replace the empty first-aid bag by an ice spray", "- ice spray", False),
        ("shorten the line of the bag", "- first-aid bag", False),
    ],
)
def test_an_item_of_a_list_that_was_not_mentioned_is_not_to_become_another(
    request_text: str, line: str, displaced: bool
) -> None:
    item, kit = "- first-aid bag, ice spray empty", "# Kit\n\n- 20 cones\n{}\n"
    found = find_displaced("workspace/kit.md", kit.format(item), kit.format(line), request_text)
    assert found == (item if displaced else "")


def test_an_item_of_a_list_may_get_another_day_and_hour() -> None:
    before = "- dentist Monday 10:00\n"
    after, request_text = "- dentist Friday at 11\n", "the dentist is on Friday at 11 now"
    assert find_displaced("workspace/week.md", before, after, request_text) == ""


def test_a_row_does_not_become_another_one_with_the_name_of_a_third() -> None:
    after = STOCK.replace("| butter | 18 | kg |", "| rye flour | 18 | kg |")
    request_text = "the butter buns need 18 kg of rye flour"
    assert find_displaced("workspace/stock.md", STOCK, after, request_text)


def test_another_name_for_a_value_displaces_no_row() -> None:
    before, after = "x: first, second\n", "total: first, second\n"
    assert not find_displaced("workspace/sum.md", before, after, "put the result into total")


@pytest.mark.parametrize("line", ["return first + second", "limit = 10"])
def test_a_line_of_a_program_may_become_any_other(line: str) -> None:
    before, after = "x = y\n", f"{line}\n"
    request_text = "return first plus second, with a limit of 10"
    assert not find_displaced("workspace/sum.py", before, after, request_text)
    assert find_displaced("workspace/sum.md", before, after, request_text)


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


@pytest.mark.parametrize(
    ("request_text", "line", "displaced"),
    [
        ("dove lavora luca", "- luca lavora a Torino", True),
        ("giulia non fa niente in casa", "- Giulia non fa niente", False),
        ("nessuno fa la spazzatura", "- nessuno", False),
        ("make the list shorter", "", False),
    ],
)
def test_a_line_that_was_not_mentioned_is_not_to_become_a_sentence(
    request_text: str, line: str, displaced: bool
) -> None:
    home = "- spazzatura: Giulia\n- bagno: Luca\n"
    changed = home.replace("- spazzatura: Giulia", line)
    found = find_displaced("workspace/casa.md", home, changed, request_text)
    assert found == ("- spazzatura: Giulia" if displaced else "")
