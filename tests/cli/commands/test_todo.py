"""`openclaw todo` as a user types it."""

from __future__ import annotations

import os
from datetime import date, timedelta
from pathlib import Path

import pytest

from openclaw.storage.home import Home
from openclaw.storage.trust_store import trust_home
from tests.fakes.command import CommandLine
from tests.fakes.files import write_files

TODO = """\
# To-dos

## Groceries

- [ ] bread due:2026-12-01 ^0a1b2c3d
- [x] milk ^11223344
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The home that OPENCLAW_HOME names in every test."""
    files = {
        "workspace/SOUL.md": "# Soul\n",
        "memory/TODO.md": TODO,
    }
    root = write_files(tmp_path / "home", files)
    trust_home(Home(root))
    return root


@pytest.fixture
def claw(home: Path) -> Claw:
    return Claw(home)


class Claw(CommandLine):
    def __init__(self, home: Path) -> None:
        super().__init__()
        self.home = home

    def todo_file(self) -> str:
        return (self.home / "memory" / "TODO.md").read_text("utf-8")


def test_the_list_is_the_default_and_shows_what_is_open(claw: Claw) -> None:
    assert claw("todo") == claw("todo", "list")
    assert "bread" in claw("todo")
    assert "milk" not in claw("todo")
    assert "milk" in claw("todo", "--all")
    assert claw.todo_file() == TODO


def test_json_has_all_to_dos_with_path_and_line(claw: Claw) -> None:
    bread = {
        "id": "0a1b2c3d",
        "list": "Groceries",
        "text": "bread due:2026-12-01",
        "done": False,
        "due": "2026-12-01",
        "overdue": date.today() > date(2026, 12, 1),
        "path": "memory/TODO.md",
        "line": 5,
    }
    todos = claw.json("todo", "list")
    assert todos[0] == bread
    assert [todo["id"] for todo in todos] == ["0a1b2c3d", "11223344"]
    assert claw.json("todo") == todos


def test_the_day_is_shown_once(claw: Claw) -> None:
    claw("todo", "add", "call Anna", "--due", "2099-11-27")
    line = claw("todo", "list").splitlines()[-1]
    assert line.endswith("2099-11-27  call Anna")


def test_add_done_undone_and_remove(claw: Claw) -> None:
    out = claw("todo", "add", "call", "Ada", "--list", "work", "--due", "2026-12-24")
    assert out.startswith("added to work: call Ada due:2026-12-24 (")
    assert claw.json("todo")[-1]["due"] == "2026-12-24"
    assert claw("todo", "done", "call", "ada") == "done: call Ada due:2026-12-24\n"
    assert claw.json("todo")[-1]["done"]
    claw("todo", "undone", "call ada")
    assert not claw.json("todo")[-1]["done"]
    claw("todo", "rm", claw.json("todo")[-1]["id"])
    claw("todo", "add", "mail Ada", "--list", "work")
    assert claw("todo", "rm", "--list", "work") == "removed work with 1 to-do\n"
    assert claw.todo_file().rstrip("\n") == TODO.rstrip("\n")


def test_a_to_do_is_moved_to_another_list(claw: Claw) -> None:
    assert claw("todo", "move", "bread", "--list", "Bakery").startswith("moved to Bakery: bread")
    assert claw.json("todo")[-1]["list"] == "Bakery"
    claw("todo", "move", "bread", "--list", "#", code=2)


@pytest.mark.parametrize(
    "words",
    [
        ("done", "cheese"),
        ("rm", "cheese"),
        ("rm",),
        ("rm", "bread", "--list", "Groceries"),
        ("rm", "--list", "Garden"),
        ("add", " "),
        ("add", "x", "--due", "soon"),
        ("add", "x due:soon"),
        ("list", "--due", "soon"),
    ],
)
def test_wrong_words_are_usage_errors_and_change_nothing(claw: Claw, words: list[str]) -> None:
    assert claw("todo", *words, code=2) == ""
    assert claw.err.startswith("openclaw: ")
    assert claw.todo_file() == TODO


def test_an_ambiguous_text_lists_the_ids(claw: Claw) -> None:
    claw("todo", "add", "bread", "--list", "Bakery")
    claw("todo", "add", "rye bread", "--list", "Bakery")
    before = claw.todo_file()
    claw("todo", "rm", "read", code=2)
    assert "fits 2 to-dos" not in claw.err
    claw("todo", "add", "Bread", "--list", "Kitchen")
    claw("todo", "done", "bread", code=2)
    assert "fits 2 to-dos" in claw.err
    assert "(Kitchen)" in claw.err
    assert claw.todo_file().startswith(before)
    claw("todo", "done", "rye")
    assert "- [x] rye bread" in claw.todo_file()


def test_a_home_without_to_dos_says_so_on_stderr(claw: Claw) -> None:
    (claw.home / "memory" / "TODO.md").unlink()
    assert claw("todo") == ""
    assert "nothing to do" in claw.err
    assert claw.json("todo") == []
    claw("todo", "add", "first")
    assert claw.todo_file().startswith("## Tasks\n\n- [ ] first ^")


def test_a_date_may_be_given_in_words(claw: Claw) -> None:
    tomorrow = str(date.today() + timedelta(1))
    assert f"rent due:{tomorrow} (" in claw("todo", "add", "rent", "--due", "tomorrow")
    assert f"call due:{tomorrow} (" in claw("todo", "add", "call due:tomorrow")
    friday = date.fromisoformat(claw.json("todo", "add", "x", "--due", "next friday")[0]["due"])
    assert friday.weekday() == 4
    assert timedelta(0) < friday - date.today() <= timedelta(7)


def test_what_is_due_can_be_chosen(claw: Claw) -> None:
    today = date.today()
    days = {"late": -1, "now": 0, "soon": 6, "later": 7}
    for text, ahead in days.items():
        claw("todo", "add", text, "--due", str(today + timedelta(ahead)), "--list", "Due")
    claw("todo", "add", "ticked", "--due", str(today))
    claw("todo", "done", "ticked")

    def texts(*words: str) -> list[str]:
        todos = claw.json("todo", "list", *words)
        return [t["text"].partition(" ")[0] for t in todos if t["list"] != "Groceries"]

    assert texts("--due", "today") == ["now"]
    assert texts("--due", "today", "--all") == ["now", "ticked"]
    assert texts("--due", "week") == ["now", "soon"]
    assert texts("--due", "overdue") == texts("--overdue") == ["late"]
    assert texts("--due", "today", "--overdue") == ["late", "now"]
    assert texts("--due", str(today + timedelta(7))) == ["later"]
    assert texts("--due", "tomorrow") == []
    assert [t["overdue"] for t in claw.json("todo", "list", "--overdue")] == [True]


def test_an_empty_list_says_what_was_looked_for(claw: Claw) -> None:
    for words in (["--overdue"], ["--due", "overdue"]):
        assert claw("todo", "list", *words) == "" and claw.err == "nothing is overdue\n"
    claw("todo", "list", "--overdue", "--due", "2031-01-01")
    assert claw.err == "nothing is due then\n"


def test_the_table_marks_what_is_overdue(claw: Claw) -> None:
    claw("todo", "add", "late", "--due", "2020-01-01")
    lines = claw("todo").splitlines()
    assert [line for line in lines if "2020-01-01 overdue" in line]
    assert "late" in claw("todo", "--overdue") and "bread" not in claw("todo", "--overdue")
    assert claw("todo", "--due", "2020-01-02") == ""
    assert "nothing" in claw.err


def test_each_change_can_answer_as_json(claw: Claw) -> None:
    (added,) = claw.json("todo", "add", "rent due:2099-12-01", "--list", "Home")
    assert added["list"] == "Home" and added in claw.json("todo", "list")
    (done,) = claw.json("todo", "done", added["id"])
    assert done == {**added, "done": True} and done in claw.json("todo")
    assert claw.json("todo", "undone", "rent") == [added]
    assert claw.json("todo", "rm", "rent") == [added]
    gone = claw.json("todo", "rm", "--list", "Groceries")
    assert [todo["id"] for todo in gone] == ["0a1b2c3d", "11223344"]
    assert claw.json("todo") == []


def test_escape_sequences_of_a_to_do_do_not_reach_the_terminal(claw: Claw) -> None:
    file = claw.home / "memory" / "TODO.md"
    file.write_text("- [ ] buy \x1b[31mred paint ^aabbccdd\n", encoding="utf-8")
    for words in (("list",), ("done", "aabbccdd"), ("undone", "aabbccdd"), ("rm", "aabbccdd")):
        assert "buy \u241b[31mred paint" in claw("todo", *words)


def test_a_file_that_cannot_be_read_is_named(claw: Claw) -> None:
    (claw.home / "memory" / "TODO.md").unlink()
    (claw.home / "memory" / "TODO.md").mkdir()
    claw("todo", "list", code=1)
    assert "TODO.md: Is a directory" in claw.err or os.name == "nt"
    assert "Error" not in claw.err
