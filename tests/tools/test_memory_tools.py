"""To-dos, memories and skills as the model calls them, over real files."""

from __future__ import annotations

import time
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from openclaw.memory.notes import Notes
from openclaw.memory.todos import TodoFile
from openclaw.messages import ToolCall
from openclaw.security.policy import Policy
from openclaw.storage.home import Home
from openclaw.tools.calculate import calculate
from openclaw.tools.file_tools import FileTools
from openclaw.tools.memory_tools import KnowledgeTools
from openclaw.tools.skill_tools import SkillTools, TurnSkills
from openclaw.tools.tool import tool
from openclaw.tools.toolbox import CallResult, Toolbox
from openclaw.types import Effect, TurnChanges
from tests.fakes.skills import front, put, usable_skills

TODO = """\
# To-dos

## Groceries

- [ ] bread ^0a1b2c3d
- [ ] olive oil ^11223344

## Work

- [ ] send the invoice ^deadbeef
- [x] book the train ^cafe0001
"""
ALL: frozenset[Effect] = frozenset({"read", "write", "get"})


class World:
    """A home with some to-dos and its toolbox."""

    def __init__(self, root: Path) -> None:
        (root / "memory").mkdir(parents=True)
        self.file = root / "memory" / "TODO.md"
        self.file.write_text(TODO, encoding="utf-8", newline="")
        self.turn_changes = TurnChanges()
        home = Home(root.resolve())
        notes = Notes(
            home.memory, today=lambda: date(2026, 11, 21), source=lambda: "session 4f turn 3"
        )
        for name in ("commit-message", "plan-day"):
            put(root / "skills", name, front(name=name) + f"# How to {name}\n")
        todos = TodoFile(home.memory / "TODO.md", today=lambda: date(2026, 11, 21))
        skills = TurnSkills(usable_skills(root / "skills"))
        tools = [
            *FileTools(home, self.turn_changes).tools(),
            *KnowledgeTools(home, self.turn_changes, todos, lambda: notes).tools(),
            *SkillTools(skills, self.turn_changes).tools(),
            tool(calculate),
        ]
        self.box = Toolbox(tools, Policy("edit"), self.turn_changes)

    def run(self, tool: str, /, **arguments: Any) -> CallResult:
        return self.box.run(ToolCall("1", tool, arguments))

    def todo(self, action: str, **arguments: Any) -> CallResult:
        return self.run("todo", action=action, **arguments)

    def text(self) -> str:
        return self.file.read_text("utf-8")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path / "home")


def test_all_open_to_dos_each_with_its_list_or_one_list(world: World) -> None:
    assert world.todo("list") == CallResult(
        "Open to-dos:\n- bread (Groceries)\n- olive oil (Groceries)\n- send the invoice (Work)\n"
        "(1 done)",
        True,
    )
    assert world.todo("list", list="my work list").text.startswith("Work:\n- send")
    assert "Groceries" not in world.todo("list", list="work").text
    missing = world.todo("list", list="garden")
    assert not missing.ok
    assert "no list garden" in missing.text
    assert world.text() == TODO


def test_adding_several_at_once_shows_the_list_and_is_a_change_of_the_turn(
    world: World,
) -> None:
    outcome = world.todo("add", list="groceries", items=["milk", "eggs"])
    assert outcome.ok
    assert outcome.text == (
        "Added to Groceries: milk, eggs.\nGroceries:\n- bread\n- olive oil\n- milk\n- eggs"
    )
    assert world.turn_changes.before == {"memory/TODO.md": TODO}
    assert world.text().count("- [ ]") == 5


@pytest.mark.parametrize(
    ("name", "heading"),
    [("", "## Tasks"), ("todo", "## Tasks"), ("my list", "## Tasks"), ("trip", "## Trip"),
     ("the Holiday list", "## Holiday")],
)  # fmt: skip
def test_a_list_is_made_when_missing(world: World, name: str, heading: str) -> None:
    assert world.todo("add", list=name, items=["pack"]).ok
    assert f"\n{heading}\n\n- [ ] pack ^" in world.text()
    assert world.text().startswith(TODO)


@pytest.mark.parametrize("name", ["Groceries", "GROCERIES", "my grocery list", "## Groceries"])
def test_a_list_is_found_by_any_spelling_of_its_name(world: World, name: str) -> None:
    assert world.todo("add", list=name, items=["milk"]).text.startswith("Added to Groceries:")
    assert world.text().count("## ") == 2


def test_a_list_of_nearly_the_same_name_is_another_one(world: World) -> None:
    assert world.todo("add", list="Rome Trip 2025", items=["pack"]).ok
    assert "## Rome Trip 2025\n" in world.text()
    assert not world.todo("remove_list", list="Rome Trip 2026").ok
    assert "pack" in world.text()


def test_an_order_among_the_items_is_no_to_do(world: World) -> None:
    items = ["call the dentist", "put both on my to-do list"]
    assert world.todo("add", list="Work", items=items).ok
    assert "put both" not in world.text()
    assert world.todo("add", list="todo.md", items=["post the letter to my errands list"]).ok
    assert "## Tasks" in world.text() and "- [ ] post the letter ^" in world.text()
    assert world.todo("add", list="Work", items=["put lemons on the list"]).ok
    assert "- [ ] lemons ^" in world.text()
    assert world.todo("add", list="Work", items=["add milk to the shopping list"]).ok
    assert world.todo("add", list="Work", items=["call Bea on my todo list by noon"]).ok
    assert "- [ ] call Bea by noon ^" in world.text()


def test_what_is_there_already_is_not_added_twice(world: World) -> None:
    both = world.todo("add", list="Groceries", items=["Bread", "milk", "Milk"])
    assert both.ok
    assert "Added to Groceries: milk. Already there: Bread." in both.text
    only = world.todo("add", list="Groceries", items=["Bread!"])
    assert not only.ok
    assert "Already there: Bread!. Nothing was added." in only.text
    assert world.text().count("milk") == 1
    elsewhere = world.todo("add", items=["bread"])  # nobody has said to which list
    assert "Already there: bread, in Groceries. Nothing was added." in elsewhere.text
    assert world.todo("add", list="Party", items=["bread"]).ok


@pytest.mark.parametrize(
    ("request_", "item", "line"),
    [
        ("remind me on friday to pack the lights", "pack lights", "pack lights due:2026-11-27"),
        ("rappelle-moi demain d'acheter du pain", "acheter du pain", "pain due:2026-11-22"),
        ("pack on friday", "pack on friday", "pack on friday due:2026-11-27"),
        ("call mum tonight", "call mum tonight", "call mum tonight due:2026-11-21"),
        ("pack the lights", "pack on friday", "pack on friday"),
        ("pack the lights on friday", "pack due:2026-12-01", "pack due:2026-12-01"),
        ("pack the lights", "pack", "pack"),
        ("file the notes of 2026-03-01", "file the notes of 2026-03-01", "the notes of 2026-03-01"),
        ("add call mum, and remind me on friday to pay the rent", "call mum", "call mum"),
        (
            "remind me to call mum tomorrow and to pay the rent on friday",
            "pay the rent on Friday",
            "pay the rent on Friday due:2026-11-27",
        ),
    ],
)
def test_a_day_that_the_request_names_is_kept(
    world: World, request_: str, item: str, line: str
) -> None:
    world.turn_changes.request = request_
    assert world.todo("add", items=[item]).ok
    assert f"{line} ^" in world.text()


@pytest.mark.parametrize("item", ["0a1b2c3d", "^0a1b2c3d", "Bread", "[ ] bread."])
def test_done_takes_an_id_or_a_text(world: World, item: str) -> None:
    outcome = world.todo("done", item=item)
    assert outcome == CallResult("Marked done: bread.\nGroceries:\n- olive oil\ndone: bread", True)
    assert "- [x] bread ^0a1b2c3d" in world.text()


def test_several_can_be_done_and_undone_at_once(world: World) -> None:
    assert world.todo("done", items=["bread", "olive oil"]).ok
    assert world.todo("undone", items=["bread", "olive oil", "book the train"]).ok
    assert world.text() == TODO.replace("[x]", "[ ]")


def test_an_unknown_to_do_is_answered_with_the_list(world: World) -> None:
    outcome = world.todo("done", item="cheese")
    assert not outcome.ok
    assert outcome.text.startswith("There is no to-do cheese. To-dos:\nOpen to-dos:\n- bread")
    assert world.todo("remove", item="cheese").text.startswith("There is no to-do")
    assert world.text() == TODO
    assert world.turn_changes.before == {}


def test_a_text_that_fits_several_is_not_guessed(world: World) -> None:
    world.todo("add", list="Work", items=["bread"])
    outcome = world.todo("done", item="bread")
    assert not outcome.ok
    assert "fits several" in outcome.text
    assert "bread ^0a1b2c3d" in outcome.text
    assert world.todo("done", item="bread", list="Groceries").ok
    assert world.todo("done", item="bread").text.startswith("Marked done: bread.\nWork:")


def test_what_is_done_already_says_so(world: World) -> None:
    outcome = world.todo("done", item="book the train")
    assert not outcome.ok
    assert "book the train is done already" in outcome.text


def test_changing_the_words_of_one(world: World) -> None:
    outcome = world.todo("change", item="olive oil", items=["sesame oil"])
    assert outcome.text == (
        "Changed: olive oil is now sesame oil.\nGroceries:\n- bread\n- sesame oil"
    )
    assert not world.todo("change", item="bread").ok
    same = world.todo("change", item="bread", items=["bread "])
    assert (same.ok, same.text) == (False, "bread stands there already; nothing would change.")


@pytest.mark.parametrize(
    ("request_", "words", "line"),
    [
        ("move the oil to 4 december", "Move the oil to 4 December", "olive oil due:2026-12-04"),
        ("move the oil to 4 december", "olive oil on 4 december", "olive oil due:2026-12-04"),
        ("it is sesame oil, by 4 december", "sesame seed oil", "sesame seed oil"),
        ("call it oil for cooking", "cooking oil", "cooking oil"),
    ],
)
def test_a_to_do_that_is_moved_to_another_day_keeps_its_words(
    world: World, request_: str, words: str, line: str
) -> None:
    world.turn_changes.request = request_
    assert world.todo("change", item="olive oil", items=[words]).ok
    assert line in world.text()


def test_another_day_takes_the_place_of_one_in_the_words_of_another_program(world: World) -> None:
    world.todo("add", list="Work", items=["tune the organ (due 2026-12-01)"])
    world.turn_changes.request = "move the organ to 4 december"
    item = "tune the organ (due 2026-12-01)"
    assert world.todo("change", item=item, items=["move the organ"]).ok
    assert "- [ ] tune the organ due:2026-12-04" in world.text()


def test_removing_one_and_a_list(world: World) -> None:
    outcome = world.todo("remove", item="invoice")
    assert outcome.text == "Removed: send the invoice.\nWork:\ndone: book the train"
    assert world.todo("remove_list", list="work").text == (
        "Removed the list Work with 1 to-dos.\n"
        "Open to-dos:\n- bread (Groceries)\n- olive oil (Groceries)"
    )
    assert "Work" not in world.text()
    assert not world.todo("remove_list", list="Garden").ok
    assert not world.todo("remove_list").ok


def test_a_to_do_that_is_named_twice_is_removed_once(world: World) -> None:
    outcome = world.todo("remove", items=["bread", "Bread"])
    assert outcome.ok and outcome.text == "Removed: bread.\nGroceries:\n- olive oil"


def test_the_grammar_offers_what_can_be_changed_now(world: World) -> None:
    def offered() -> dict[str, Any]:
        shapes = [s["properties"] for s in world.box.shapes(ALL)]
        return {s["action"]["const"]: s for s in shapes if s["tool"]["const"] == "todo"}

    todo = offered()
    assert todo["done"]["item"]["enum"] == ["bread", "olive oil", "send the invoice"]
    assert todo["undone"]["item"]["enum"] == ["book the train"]
    assert todo["remove_list"]["list"]["enum"] == ["Groceries", "Work"]
    assert "enum" not in todo["add"]["list"]
    assert todo["change"]["items"]["maxItems"] == 1  # its new words
    world.todo("undone", item="train")
    assert "undone" not in offered()


def test_each_action_has_its_effect(world: World) -> None:
    assert world.box.effect(ToolCall("1", "todo", {"action": "list"})) == "read"
    for action in ("add", "done", "undone", "change", "remove", "remove_list"):
        assert world.box.effect(ToolCall("1", "todo", {"action": action})) == "write"


def test_a_damaged_call_for_to_dos_is_explained(world: World) -> None:
    assert "add needs items" in world.todo("add", list="x").text
    assert "done needs item" in world.todo("done").text
    assert world.run("todo").text.startswith("todo needs action.")


def test_remembering_writes_one_line_and_not_twice(world: World) -> None:
    outcome = world.run("remember", fact="The user likes tea.")
    assert outcome == CallResult("Remembered in memory/MEMORY.md, line 3.", True)
    assert world.turn_changes.before == {"memory/MEMORY.md": None}
    again = world.run("remember", fact="user likes tea", where="today")
    assert not again.ok
    assert '"The user likes tea."' in again.text
    assert world.run("remember", fact="met Ada", where="today").text == (
        "Remembered in memory/2026-11-21.md, line 3."
    )


def test_a_memory_names_the_turn_that_it_comes_from(world: World) -> None:
    world.run("remember", fact="I like tea. <!-- other -->")
    file = world.file.parent / "MEMORY.md"
    assert file.read_text("utf-8") == (
        "# Memory\n\n- I like tea. <!-- preference, 2026-11-21, session 4f turn 3 -->\n"
    )


def test_a_corrected_fact_is_told_and_both_files_are_in_what_the_turn_changed(world: World) -> None:
    world.run("remember", fact="The standup is at 9:30", where="today")
    world.turn_changes.before.clear()
    day = (world.file.parent / "2026-11-21.md").read_text("utf-8")
    outcome = world.run("remember", fact="The standup is now at 10:00")
    assert outcome == CallResult(
        "Remembered in memory/MEMORY.md, line 3."
        " It replaces, struck through: The standup is at 9:30",
        True,
    )
    assert world.turn_changes.before == {"memory/MEMORY.md": None, "memory/2026-11-21.md": day}
    again = world.run("remember", fact="The standup is at 10:30")
    assert again.text.endswith("It replaces, struck through: The standup is now at 10:00")


@pytest.mark.parametrize(
    "name", ["commit-message", "read commit-message", "Commit Message", "`commit_message`",
             "commit-message skill", "skills/commit-message/SKILL.md", "comit-message"]
)  # fmt: skip
def test_a_skill_is_read_by_any_spelling_of_its_name(world: World, name: str) -> None:
    assert world.run("read_skill", name=name) == CallResult(
        "Skill commit-message:\n# How to commit-message", True
    )


def test_an_unknown_skill_names_the_known_ones(world: World) -> None:
    outcome = world.run("read_skill", name="cooking")
    assert not outcome.ok
    assert outcome.text == "There is no skill cooking. Skills: commit-message, plan-day."


def test_the_tools_stay_cheap(world: World) -> None:
    assert len(world.box.lines()) < 900
    assert all("\n" not in spec["function"]["description"] for spec in world.box.specs())
    assert all(0 < len(spec["function"]["description"]) < 80 for spec in world.box.specs())


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("2+2", "4"),
        ("0.1 + 0.2", "0.3"),
        ("(3 + 4.5) * 12", "90"),
        ("7 // 2 - -1", "4"),
        ("15% of 80", "12"),
        ("1,234.5 * 2 =", "2469"),
        ("2^10", "1024"),
        ("17 % 5", "2"),
        ("sum([1, 2, 3]) / 3", "2"),
        ("round(2/3, 2)", "0.67"),
        ("round(2.6)", "3"),
        ("round(1234, -2)", "1200"),
        ("round(5, -10**9)", "0"),
        ("max(1, 2.5)", "2.5"),
        ("10**20", "1" + "0" * 20),
        ("640 \u20ac / 5", "128"),
    ],
)
def test_numbers_are_computed(world: World, expression: str, value: str) -> None:
    outcome = world.run("calculate", expression=expression)
    assert outcome.ok
    assert outcome.text.endswith(f" = {value}")


def test_many_blanks_in_a_to_do_take_no_time(world: World) -> None:
    began = time.process_time()
    text = world.run("todo", action="add", items=["buy" + " " * 10_000 + "oats"]).text
    assert text.startswith("Added to Tasks: buy oats.")
    assert time.process_time() - began < 1


def test_a_long_row_of_digits_is_refused_at_once(world: World) -> None:
    began = time.process_time()
    assert "longer than" in world.run("calculate", expression="1" * 20_000).text
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    "expression",
    ["", "x + 1", "__import__('os')", "9**9**9", "10**2000", "1/0", "2+", "'a'*9", "(1).real",
     "[1]", "True", "(-8)**0.5", "1e400", "max()", "9" * 600, "(" * 300 + ")" * 300,
     "1 | 2", "8 << 1"],
)  # fmt: skip
def test_anything_else_is_refused(world: World, expression: str) -> None:
    outcome = world.run("calculate", expression=expression)
    assert not outcome.ok and "failed" not in outcome.text
