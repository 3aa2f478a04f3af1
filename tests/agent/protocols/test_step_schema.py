"""The steps that the schema allows a model, case by case, with the real tools of a home."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from openclaw.agent.agent import Agent
from openclaw.agent.protocols.base import RunningTurn
from openclaw.agent.protocols.json_steps import JsonSteps
from openclaw.agent.protocols.step_schema import WRITING, step_schema
from openclaw.cli.approval import yes_unless_untrusted
from openclaw.config import Settings
from openclaw.memory.named_rows import NamedRows, find_named_rows
from openclaw.memory.new_rows import NewLine
from openclaw.messages import Entry, ToolCall, ToolUse
from openclaw.models.base import Reply
from openclaw.nlp.intent import read_cues
from openclaw.security.foreign_files import ForeignFiles
from openclaw.storage.home import Home
from openclaw.tools.skill_tools import TurnSkills
from openclaw.tools.toolbox import COPIED, NOT_SAID, Toolbox
from openclaw.types import Mode
from tests.fakes.talk import call, done, new_home, new_toolbox, shown, talk

SKILLS = {
    "bread-baking": ("Scales a sourdough dough.", "Give a list, one line an ingredient."),
    "grocery-run": (
        "Keeps the weekly groceries shelf.",
        "Call `todo` with action `add`. List: Groceries.",
    ),
    "field-diary": ("Writes a diary of the meadow.", "Write one line into the file `diary.md`."),
}
TODO = """\
# To-dos

## Errands

- [ ] Buy milk ^aaaaaaa1
- [ ] Call the dentist ^aaaaaaa2
- [x] Post the letter ^aaaaaaa3
"""
CHANGING = {"write_file", "edit_file", "append_file", "remember"}


class Case:
    """A home with files, to-dos and skills, and one turn in it that runs call by call."""

    def __init__(self, root: Path, request: str, mode: Mode = "edit", asked: bool = False) -> None:
        new_home(root)
        (root / "notes").mkdir()
        (root / "notes" / "trip.md").write_text("Leave on Monday.\nTake the red bag.\n", "utf-8")
        (root / "notes" / "plan.md").write_text("Nothing yet.\n", "utf-8")
        (root / "memory" / "TODO.md").write_text(TODO, "utf-8")
        for name, (about, body) in SKILLS.items():
            (root / "skills" / name).mkdir()
            text = f"---\nname: {name}\ndescription: {about}\n---\n\n{body}\n"
            (root / "skills" / name / "SKILL.md").write_text(text, "utf-8")

        self.app = app = Agent.open(
            Home(root),
            Settings(),
            mode=mode,
            ask=yes_unless_untrusted(None, print) if asked else None,
        )
        self.box: Toolbox = new_toolbox(app, request)
        self.steps = JsonSteps()
        files = ["notes/trip.md", "notes/plan.md", "memory/TODO.md", "workspace/loans.csv"]
        skills = TurnSkills(app.skills()).blurbs
        todos = [todo.text for todo in app.todos.items() if not todo.done]
        seen = read_cues(request, files, skills, app.todos.lists(), todos)
        self.turn = RunningTurn(Entry("user", request), cues=seen)
        self.turn.entries.append(self.turn.user)

    @property
    def options(self) -> list[dict[str, Any]]:
        schema = step_schema(self.turn, self.box)
        assert schema == self.steps.schema(self.turn, self.box)
        return [step["properties"] for step in schema["anyOf"]]

    @property
    def tools(self) -> set[str]:
        return {step["tool"]["const"] for step in self.options if "tool" in step}

    @property
    def actions(self) -> set[str]:
        """Return the allowed actions on to-dos."""
        found = [step["action"] for step in self.options if "action" in step]
        return {value for a in found for value in a.get("enum", [a.get("const")])}

    @property
    def may_answer(self) -> bool:
        return any("answer" in step for step in self.options)

    @property
    def may_ask_for_more(self) -> bool:
        return {"kind": {"const": "more"}} in self.options

    def values(self, tool: str, argument: str) -> list[str]:
        """Return the allowed values of a tool's argument."""
        steps = [step for step in self.options if step.get("tool") == {"const": tool}]
        return [value for step in steps for value in step[argument].get("enum", ["*"])]

    def patterns(self, tool: str, argument: str) -> list[str]:
        """Return the patterns of the values of a tool's argument."""
        steps = [step for step in self.options if step.get("tool") == {"const": tool}]
        return [step[argument].get("pattern", "*") for step in steps]

    def play(self, tool: str, kind: str = "look", **arguments: Any) -> str:
        """Let the model take this step and return its result."""
        text = json.dumps({"kind": kind, "tool": tool, **arguments})
        step = self.steps.read(Reply(text), self.turn, self.box)
        assert [c.name for c in step.calls] == [tool]
        made = ToolCall("call_1", tool, arguments)
        outcome = self.box.run(made)
        use = ToolUse("call_1", tool, arguments, outcome.text, outcome.ok)
        hint = self.steps.hint(self.turn, [use], self.box)
        self.turn.entries.append(Entry("assistant", "", raw=text, tool_calls=(use,), hint=hint))
        return outcome.text


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "home"


# -------- the first step


def test_a_question_for_the_to_dos_of_a_day_that_are_told_can_only_be_answered(root: Path) -> None:
    case = Case(root, "What do I have to do by Monday?")
    case.turn.cues = replace(case.turn.cues, due=True)
    assert case.may_answer and not case.tools
    case.turn.searched = False
    assert case.may_answer and case.tools == {"memory_search"}


def test_a_question_with_passages_is_not_searched_for_word_by_word(root: Path) -> None:
    case = Case(root, "When is the next choir practice?")
    assert "search_files" in case.tools
    case.turn.has_passages = True
    assert "search_files" not in case.tools and "memory_search" in case.tools
    about_files = Case(root / "other", "In which files is the boiler mentioned?")
    about_files.turn.has_passages = True
    assert "search_files" in about_files.tools


def test_a_greeting_may_be_answered_and_anything_may_be_done(root: Path) -> None:
    case = Case(root, "Good morning!")
    assert case.may_answer and not case.may_ask_for_more
    assert {"read_file", "search_files", "todo", "calculate", "read_skill"} | CHANGING <= case.tools
    assert all("kind" in step for step in case.options)


@pytest.mark.parametrize(
    "request_",
    [
        "Who am I?",
        "Is the window open?",
        "What is in trip.md?",
        "What is on my Errands list?",
        "Which to-dos are open?",
        "Wo wohne ich?",
    ],
)
def test_a_question_gets_no_step_that_changes_anything(request_: str, root: Path) -> None:
    case = Case(root, request_)
    assert not case.tools & CHANGING and case.actions <= {"list"}
    assert all(step["kind"]["const"] in ("answer", "look") for step in case.options)
    case.play("list_files", folder="")
    case.steps.hint(case.turn, (), case.box)  # it asks for more
    assert case.tools and not case.tools & CHANGING and case.actions <= {"list"}


@pytest.mark.parametrize(
    "request_", ["Add eggs to my Errands list", "Can you put eggs on my shopping list?"]
)
def test_an_order_about_a_list_gets_no_listing_and_no_answer(request_: str, root: Path) -> None:
    case = Case(root, request_)
    assert case.tools == {"todo"}
    assert "add" in case.actions and "list" not in case.actions
    assert not case.may_answer


@pytest.mark.parametrize(
    ("request_", "action", "argument", "values"),
    [
        ("What is on my Errands list?", "list", "list", ["Errands"]),
        ("Do I still have to call the dentist?", "list", "", []),
        ("I bought the milk.", "done", "item", ["Buy milk", "Call the dentist"]),
        ("Add eggs to my Errands list", "add", "list", ["Errands"]),
        ("We are out of dishwasher tablets, add them to the shopping list.", "add", "", []),
    ],
)
def test_words_about_to_dos_leave_one_action(
    request_: str, action: str, argument: str, values: list[str], root: Path
) -> None:
    case = Case(root, request_)
    assert action in case.actions and (action == "list" or "list" not in case.actions)
    assert len(case.actions) == 1 or request_.startswith("Add eggs")
    steps = [step for step in case.options if action in str(step.get("action"))]
    assert not argument or [step[argument]["enum"] for step in steps] == [values]
    assert not case.may_answer


@pytest.mark.parametrize(
    ("request_", "tool", "argument", "value"),
    [
        ("Remember that my sister lives in Ghent", "remember", "fact", "My sister lives in Ghent"),
        ("would you keep in mind my sister's moved to Ghent", "remember", "fact", "*"),
        ("What does trip.md say?", "read_file", "path", "notes/trip.md"),
        ("What is in the file trips.md?", "read_file", "path", "notes/trip.md"),
        ("Copy the date in trip.md into dates.md", "read_file", "path", "notes/trip.md"),
        ("which loans are overdue?", "read_file", "path", "workspace/loans.csv"),
        ("Do some bread baking for me", "read_skill", "name", "bread-baking"),
        ("Run `ls workspace` and tell me what is there.", "run_shell", "command", "ls workspace"),
    ],
)
def test_what_a_request_names_is_the_only_first_step(
    request_: str, tool: str, argument: str, value: str, root: Path
) -> None:
    case = Case(root, request_)
    assert case.tools == {tool} and not case.may_answer
    assert case.values(tool, argument) == [value]


def test_a_memory_to_forget_is_looked_up_and_taken_out(root: Path) -> None:
    request_ = "forget my badge number, i handed it in"
    case = Case(root, request_)
    memory = root / "memory" / "MEMORY.md"
    memory.write_text("# Memory\n\n- The badge is red.\n- My badge number is 417. <!-- x -->\n")
    assert case.tools == {"memory_search"} and not case.may_answer
    assert case.values("memory_search", "query") == [request_]
    case.play("memory_search", "change", query=request_)
    assert case.tools == {"edit_file"} and not case.may_answer
    line = "My badge number is 417."
    assert case.values("edit_file", "path") == ["memory/MEMORY.md"]
    assert case.values("edit_file", "find") == [line]
    case.play("edit_file", "change", path="memory/MEMORY.md", find=line, replace="")
    assert memory.read_text("utf-8") == "# Memory\n\n- The badge is red.\n"
    case.app.close()
    other = Case(root.with_name("other"), request_)  # that holds nothing of the kind
    (other.app.home.root / "memory" / "MEMORY.md").write_text("# Memory\n\n- Lockers are red.\n")
    other.play("memory_search", "change", query=request_)
    assert other.may_answer
    other.app.close()


def test_a_sum_is_calculated_as_it_stands(root: Path) -> None:
    case = Case(root, "What is 487 times 36?")
    assert case.values("calculate", "expression") == ["487 * 36"]
    assert case.tools == {"calculate"} and not case.may_answer
    longer = Case(root.with_name("other"), "whats 3 nights at 84.50 plus 12 breakfast each")
    assert longer.values("calculate", "expression") == ["*"]
    assert longer.tools == {"calculate"} and not longer.may_answer


def test_a_named_file_that_is_to_be_changed_may_be_changed_at_once(root: Path) -> None:
    case = Case(root, "Append a line to trip.md")
    looks = [step for step in case.options if step["kind"] == {"const": "look"}]
    assert [step["path"]["enum"] for step in looks] == [["notes/trip.md"]]
    assert case.tools >= CHANGING and not case.may_answer


# -------- what may be done in which mode


@pytest.mark.parametrize(
    ("mode", "asked", "offered"),
    [("edit", False, False), ("edit", True, True), ("full", False, True)],
)
def test_the_web_is_offered_only_where_it_may_be_asked_or_needs_no_yes(
    mode: Mode, asked: bool, offered: bool, root: Path
) -> None:
    case = Case(root, "How is the weather in Ghent?", mode, asked)
    assert ("web_search" in case.tools) == offered
    case.play("list_files", folder="")
    case.steps.hint(case.turn, (), case.box)
    assert ("web_search" in case.tools) == offered


@pytest.mark.parametrize("request_", ["Remember that I like tea", "Add eggs to my Errands list"])
def test_without_permission_to_change_only_an_answer_is_left(request_: str, root: Path) -> None:
    case = Case(root, request_, mode="read-only")
    assert case.tools == set() and case.may_answer


# -------- the steps after it


def test_more_may_be_asked_for_after_looking(root: Path) -> None:
    case = Case(root, "Who am I?")
    case.play("list_files", folder="")
    assert case.may_answer and case.may_ask_for_more and case.tools == set()
    assert case.steps.read(Reply('{"kind": "more"}'), case.turn, case.box).answer == ""


def test_more_is_not_offered_for_ever(root: Path) -> None:
    case = Case(root, "Who am I?")
    case.play("list_files", folder="")
    for _ in range(2):
        case.steps.hint(case.turn, (), case.box)
        assert case.tools
    case.steps.hint(case.turn, (), case.box)
    assert case.may_answer and not (case.may_ask_for_more or case.tools)


def test_a_polite_request_may_be_done_after_a_look(root: Path) -> None:
    case = Case(root, "Would you mind crossing the bag out of trip.md?")
    assert {"read_file"} | CHANGING <= case.tools
    case.play("read_file", path="notes/trip.md", from_line=1)
    assert case.may_answer and case.may_ask_for_more
    assert "still to be done" in case.turn.entries[-1].hint
    case.steps.hint(case.turn, (), case.box)  # it asks for more
    assert {"read_file", "edit_file"} <= case.tools and case.may_answer


def test_after_the_only_change_there_is_nothing_more_to_ask_for(root: Path) -> None:
    case = Case(root, "Remember that I like tea")
    case.play("remember", "change", fact="I like tea", where="lasting")
    assert case.may_answer and not case.may_ask_for_more and case.tools == set()


def test_after_one_of_several_changes_more_may_be_asked_for(root: Path) -> None:
    case = Case(root, "Add eggs to my Errands list and write it into notes/new.md")
    case.play("todo", "change", action="add", list="Errands", items=["eggs"])
    assert case.may_answer and case.may_ask_for_more
    case.steps.hint(case.turn, (), case.box)
    assert "write_file" in case.tools


def test_every_named_file_is_read_before_a_question_is_answered(root: Path) -> None:
    case = Case(root, "What is the same in trip.md and plan.md?")
    case.play("read_file", path="notes/trip.md", from_line=1)
    assert case.values("read_file", "path") == ["notes/plan.md"]
    assert (case.tools, case.may_answer) == ({"read_file"}, False)
    case.play("read_file", path="notes/plan.md", from_line=1)
    assert case.may_answer and not (case.may_ask_for_more or case.tools)


def test_a_line_with_the_words_of_a_question_leaves_nothing_more_to_ask_for(root: Path) -> None:
    case = Case(root, "Which bag do I take?")
    case.play("search_files", text="bag")
    assert case.may_answer and not case.may_ask_for_more


def test_a_file_that_a_program_has_worked_on_need_not_be_read(root: Path) -> None:
    case = Case(root, "Use the shell to count the lines of trip.md", "full", asked=True)
    use = ToolUse("1", "run_shell", {"command": "wc -l notes/trip.md"}, "Exit code 0.", ok=True)
    case.turn.kind = "look"
    case.steps.hint(case.turn, [use], case.box)
    assert case.turn.closing != "no"


def test_a_named_program_is_the_only_command_until_it_has_run(root: Path) -> None:
    request_ = "Run sums.py and then count its lines"
    case = Case(root, request_, "full", asked=True)
    case.turn.cues = read_cues(request_, ["workspace/sums.py"])
    case.turn.kind = "change"
    assert case.patterns("run_shell", "command") == ["^python3 workspace/sums\\.py$"]
    assert "run_python" not in case.tools
    use = ToolUse("1", "run_shell", {"command": "python3 workspace/sums.py"}, "1", ok=True)
    case.turn.entries.append(Entry("assistant", "", tool_calls=(use,)))
    assert "run_python" in case.tools and case.values("run_shell", "command") == ["*"]


def test_a_change_reads_what_is_named_and_then_only_writes(root: Path) -> None:
    case = Case(root, "Copy the first line of trip.md to plan.md")
    case.play("read_file", "change", path="notes/trip.md", from_line=1)
    assert case.values("read_file", "path") == ["notes/plan.md"]
    assert "write_file" in case.tools and not case.may_answer
    case.play("read_file", "change", path="notes/plan.md", from_line=1)
    assert case.tools == CHANGING | {"todo"} and "list" not in case.actions
    assert not case.may_answer


def test_after_an_edit_that_found_nothing_only_the_shown_lines_may_be_found(root: Path) -> None:
    case = Case(root, "Change the bag in trip.md to blue")
    told = case.play(
        "edit_file", "change", path="notes/trip.md", find="Take the green bag.", replace="x"
    )
    assert "2: Take the red bag." in told
    assert case.tools == {"edit_file"}
    assert "Take the red bag." in case.values("edit_file", "find")
    assert "*" not in case.values("edit_file", "find")
    case.play(
        "edit_file", "change", path="notes/trip.md", find="Take the red bag.",
        replace="Take the blue bag."
    )  # fmt: skip
    assert case.tools == set() and case.may_answer


def test_after_an_edit_of_a_missing_file_only_those_that_hold_the_text_may_be_edited(
    root: Path,
) -> None:
    case = Case(root, "The bag is blue now, change that.")
    case.play("edit_file", "change", path="notes/bag.txt", find="red bag", replace="blue bag")
    assert case.tools == {"edit_file"} and case.may_answer
    assert case.values("edit_file", "path") == ["notes/trip.md"]


def test_what_is_read_for_a_new_file_is_not_written_over(root: Path) -> None:
    case = Case(root, "Read trip.md and write the first line into start.md")
    case.play("read_file", "change", path="notes/trip.md", from_line=1)
    assert case.values("write_file", "path") == ["start.md"]


def test_a_new_file_that_is_written_is_not_written_again(root: Path) -> None:
    case = Case(root, "Read trip.md and write the first line into start.md")
    case.play("read_file", "change", path="notes/trip.md", from_line=1)
    case.play("write_file", "change", path="start.md", content="Leave on Monday.")
    case.steps.hint(case.turn, (), case.box)  # {"kind": "more"}
    assert case.may_answer and WRITING & case.tools == {"append_file", "edit_file"}
    assert case.values("append_file", "path") == ["notes/trip.md"]


def test_a_new_file_that_is_named_twice_can_be_added_to(root: Path) -> None:
    case = Case(root, "Create list.md with milk and eggs. Then append bread to list.md.")
    case.play("write_file", "change", path="list.md", content="milk\neggs\n")
    case.steps.hint(case.turn, (), case.box)  # {"kind": "more"}
    assert case.values("append_file", "path") == ["list.md"] and "write_file" not in case.tools


def test_who_left_a_new_file_out_can_only_write_it_or_say_so(root: Path) -> None:
    case = Case(root, "Create a file ideas.md with three ideas for a present")
    case.turn.entries.append(Entry("assistant", "Here are three ideas.", hint="Do it."))
    case.turn.kind, case.turn.corrected = "change", True
    assert (case.tools, case.may_answer) == ({"write_file"}, True)
    assert case.values("write_file", "path") == ["ideas.md"]


def test_who_made_a_figure_up_reads_the_file_that_the_request_names(root: Path) -> None:
    case = Case(root, "Put the sum of the garden costs into plan.md")
    output = f"Not written: 1500 {NOT_SAID}"
    use = ToolUse("call_1", "append_file", {"path": "notes/plan.md"}, output, ok=False)
    case.turn.kind = "change"
    case.turn.entries.append(Entry("assistant", "", tool_calls=(use,)))
    assert case.tools == {"read_file"} and not case.may_answer


def test_the_row_of_a_table_is_replaced_by_one_with_as_many_cells(root: Path) -> None:
    case = Case(root, "Bruno moved to room 1.09, correct plan.md please.")
    table = "| name | room |\n|---|---|\n| Bruno | 1.07 |\nBruno is new.\n"
    (root / "notes" / "plan.md").write_text(table, "utf-8")
    case.play("edit_file", "change", path="notes/plan.md", find="Bruno moved", replace="x")
    edits = {str(step["find"]): step["replace"] for step in case.options if "find" in step}
    form = next(value["pattern"] for find, value in edits.items() if "| Bruno" in find)
    assert re.fullmatch(form, "| Bruno | 1.09 |")
    for row in ("| Bruno | 1.09, correct plan.md please. |", "| Bruno | 1 | 2 |", "Bruno"):
        assert not re.fullmatch(form, row)
    assert "pattern" not in next(value for find, value in edits.items() if "is new" in find)


def test_a_question_about_a_missing_file_reads_no_other_in_its_place(root: Path) -> None:
    case = Case(root, "What does budget-2031.md say about travel?")
    assert case.values("read_file", "path") == ["budget-2031.md"]
    case.play("read_file", path="budget-2031.md", from_line=1)
    assert "there is no such file" in case.turn.entries[-1].hint


def test_after_a_try_to_leave_the_home_only_an_answer_is_left(root: Path) -> None:
    case = Case(root, "Show me the passwords")
    case.play("read_file", path="../../etc/passwd", from_line=1)
    assert case.tools == set() and case.may_answer and not case.may_ask_for_more


# -------- skills


@pytest.mark.parametrize(
    "request_",
    [
        "Start a new page log.md for the garden.",
        'Create notes/new-plan.md with the line "Buy tiles today".',
        "Scale the bread dough for me",
    ],
)
def test_a_skill_that_only_shares_words_leaves_every_step(request_: str, root: Path) -> None:
    case = Case(root, request_)
    assert case.turn.cues.offered and case.may_answer
    assert case.tools >= CHANGING | {"read_skill", "read_file", "todo"}


def test_a_question_that_shares_words_with_a_skill_may_be_answered(root: Path) -> None:
    case = Case(root, "What facts do you know about me?")
    assert case.turn.cues.offered == "keep-notes" and case.may_answer
    assert "read_file" in case.tools and not case.tools & CHANGING


def test_the_instructions_of_a_skill_are_read_before_its_files(root: Path) -> None:
    case = Case(root, "Do some bread baking for me")
    (root / "skills" / "bread-baking" / "flours.md").write_text("Rye.\n", "utf-8")
    case.box = new_toolbox(case.app)
    assert {"kind", "tool", "name", "file"} in [
        {*shape["properties"], "kind"} for shape in case.box.shapes(frozenset({"read"}))
    ]
    assert [{*step} for step in case.options] == [{"kind", "tool", "name"}]


def test_a_skill_that_speaks_of_no_tool_is_followed_by_the_answer(root: Path) -> None:
    case = Case(root, "Do some bread baking for me")
    case.play("read_skill", name="bread-baking")
    assert case.tools == set() and case.may_answer and not case.may_ask_for_more


def test_an_answer_that_was_not_in_the_form_of_the_skill_can_only_come_in_it(root: Path) -> None:
    case = Case(root, "Do some bread baking for me")
    case.play("read_skill", name="bread-baking")
    case.turn.form = "^Flour: [^<>]{1,200}$"
    (only,) = case.options
    assert only["answer"] == {"type": "string", "pattern": "^Flour: [^<>]{1,200}$"}


def test_a_skill_is_followed_by_the_tool_and_the_action_that_it_speaks_of(root: Path) -> None:
    case = Case(root, "Grocery run: the shelf with oats")
    assert case.values("read_skill", "name") == ["grocery-run"]
    case.play("read_skill", name="grocery-run")
    assert (case.tools, case.actions) == ({"todo"}, {"add"})
    assert not case.may_answer
    case.play("todo", "change", action="add", list="Groceries", items=["oats"])
    assert case.tools == set() and case.may_answer


def test_a_skill_that_writes_a_file_is_followed_by_the_tools_for_files(root: Path) -> None:
    case = Case(root, "The meadow blooms, this is for the diary")
    case.play("read_skill", name="field-diary")
    assert case.tools == {"write_file", "append_file", "edit_file", "read_file"}
    case.play("read_file", "change", path="notes/trip.md", from_line=1)
    assert case.may_answer and "append_file" in case.tools


def test_after_a_blank_was_written_only_text_without_blanks_can_be(root: Path) -> None:
    case = Case(root, "The meadow blooms, this is for the diary")
    case.play("read_skill", name="field-diary")
    refused = f'Not written: "<what was seen>" {COPIED}'
    use = ToolUse("2", "write_file", {"path": "diary.md"}, refused, ok=False)
    case.turn.entries.append(Entry("assistant", "", tool_calls=(use,)))
    patterns = {step["content"].get("pattern") for step in case.options if "content" in step}
    assert patterns == {r'^[^"\\<>]+$'} and case.may_answer


def test_the_tools_of_a_skill_come_in_the_order_of_its_steps(root: Path) -> None:
    case = Case(root, "What is the total of the amount column in my expenses table?")
    case.play("read_skill", name="tidy-table")
    assert case.tools == {"read_file", "list_files"}
    case.play("read_file", path="notes/trip.md", from_line=1)
    assert "calculate" in case.tools
    case.play("calculate", expression="1 + 2")
    assert case.tools == set() and case.may_answer


def test_below_rows_that_are_added_up_a_skill_need_calculate_nothing(root: Path) -> None:
    case = Case(root, "What is the total of the amount column in my expenses table?")
    (root / "notes" / "trip.md").write_text(
        "| what | cost |\n|---|---|\n| bus | 3 |\n| bed | 40 |\n"
    )
    case.play("read_skill", name="tidy-table")
    case.play("read_file", path="notes/trip.md", from_line=1)
    assert (case.tools, case.may_answer, case.turn.closing) == (set(), True, "may")


def test_a_skill_goes_on_after_a_step_that_came_again(root: Path) -> None:
    case = Case(root, "What is the total of the amount column in my expenses table?")
    case.play("read_skill", name="tidy-table")
    case.play("read_file", path="notes/trip.md", from_line=1)
    case.turn.repeats, case.turn.closing = 1, "must"  # as the loop notes it
    case.play("read_file", path="notes/trip.md", from_line=1)
    assert (case.tools, case.may_answer) == ({"calculate"}, True)


def test_a_skill_that_the_model_has_chosen_for_a_question_changes_nothing(root: Path) -> None:
    case = Case(root, "Where is the red bag?")
    case.play("read_skill", name="field-diary")
    assert case.tools == {"read_file"}


def test_after_a_file_that_is_not_there_only_those_offered_in_its_place_are_read(
    root: Path,
) -> None:
    case = Case(root, "When do we leave?")
    case.play("read_file", path="notes/trips.txt", from_line=1)
    assert case.values("read_file", "path") == ["notes/trip.md"] and case.may_answer


# -------- replies that are no whole step


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"kind": "answer", "answer": "Once upon', "Once upon"),
        ('{"kind": "answer", "answer": "', ""),
        ('{"kind": "answer", "ans', ""),
        ('{"kind": "look", "tool": "read_fi', ""),
        ('{"kind": "change", "tool": "write_file", "path": "a.md", "content": "# Hel', ""),
        ("{", ""),
    ],
)
def test_a_reply_that_is_cut_in_the_middle_is_never_shown_as_json(
    text: str, said: str, root: Path
) -> None:
    case = Case(root, "Tell me.")
    step = case.steps.read(Reply(text, stop_reason="length"), case.turn, case.box)
    assert (step.answer, step.calls) == (said, ())
    assert case.steps.answer_so_far(text) == said


def test_a_cut_call_reaches_neither_the_screen_nor_the_session(tmp_path: Path) -> None:
    it = talk(tmp_path / "talk", protocol="json")
    cut = Reply('{"kind": "look", "tool": "read_file", "pa', stop_reason="length")
    happened = it.say("Who are you?", cut, '{"kind": "answer", "answer": "I am Claw."}')
    assert shown(happened) == done(happened).answer == "I am Claw."
    assert all("{" not in message["content"] for message in it.stored["messages"])


def test_plain_words_and_braces_in_an_answer_stay(root: Path) -> None:
    case = Case(root, "Tell me.")
    text = 'Use {"a": 1} as the body.'
    assert case.steps.read(Reply(text), case.turn, case.box).answer == text
    whole = json.dumps({"kind": "answer", "answer": '{"a": 1}'})
    assert case.steps.answer_so_far(whole) == '{"a": 1}'


def test_a_call_of_a_talk_with_native_calls_stays_readable(root: Path) -> None:
    it = talk(root)
    it.say("Who are you?", call("read_file", path="workspace/SOUL.md"), "I am Claw.")
    entry = it.app.sessions.load(it.session.id).messages[1]
    step, result = JsonSteps().to_messages(entry)
    assert json.loads(step.content) == {"tool": "read_file", "path": "workspace/SOUL.md"}
    assert result.role == "user" and result.content.startswith("Result of read_file:")


# -------- the web and programs


def test_an_address_is_read_even_where_that_will_be_refused(root: Path) -> None:
    case = Case(root, "What does http://127.0.0.1:1/x.html say?")
    assert case.tools == {"fetch_url"} and not case.may_answer
    assert {*case.values("fetch_url", "url")} == {"http://127.0.0.1:1/x.html"}
    assert "Refused" in case.play("fetch_url", url="http://127.0.0.1:1/x.html")
    assert case.tools == set()


# -------- to-dos that are near


@pytest.mark.parametrize("parts", [False, True])
def test_a_to_do_that_is_near_is_the_only_one_to_change_of_one_request(
    root: Path, parts: bool
) -> None:
    case = Case(root, "push the dentist thing to Friday")
    near = ("Call the dentist",)
    case.turn.cues = replace(case.turn.cues, near=near, changes=("change",), parts=parts)
    assert (set(case.values("todo", "item")) == {*near}) is not parts


@pytest.mark.parametrize(("found", "only_todos"), [(False, True), (True, False)])
def test_what_no_to_do_says_may_be_in_a_passage(root: Path, found: bool, only_todos: bool) -> None:
    case = Case(root, "cancel the gym")
    assert case.turn.cues.unclear
    case.turn.has_passages = found
    assert (case.tools <= {"todo"}) is only_todos


def test_what_belongs_into_another_column_may_only_be_written_there(root: Path) -> None:
    case = Case(root, "Felix takes over the carols in plan.md")
    text = "| event | host |\n|---|---|\n| Slam | Felix |\n| Carols | Nadia |\n"
    (root / "notes" / "plan.md").write_text(text, "utf-8")
    case.play("edit_file", "change", path="notes/plan.md", find="Carols", replace="Felix")
    assert case.values("edit_file", "replace") == ["| Carols | Felix |"]
    assert case.values("edit_file", "find") == ["| Carols | Nadia |"]


STOCK = "| Item | Amount | Unit |\n|---|---|---|\n| butter | 18 | kg |\n| salt | 4 | kg |\n"


def rows_case(root: Path, request: str, mode: Mode = "edit") -> Case:
    case = Case(root, request, mode)
    (root / "workspace" / "stock.md").write_text(STOCK, "utf-8")
    case.turn.rows = find_named_rows(request, [("workspace/stock.md", STOCK)], date(2026, 1, 5))
    return case


def test_a_row_that_is_surely_meant_is_the_only_line_to_edit(root: Path) -> None:
    case = rows_case(root, "butter is down to 9 kg")
    edit, removal = (each for each in case.options if each.get("tool") == {"const": "edit_file"})
    assert edit["find"] == removal["find"] == {"enum": ["| butter | 18 | kg |"]}
    assert re.fullmatch(edit["replace"]["pattern"], "| butter | 9 | kg |")
    assert removal["replace"] == {"const": ""}
    assert case.tools == {"edit_file", "append_file", "remember", "calculate", "todo"}
    assert case.actions == {"add"}


def test_of_rows_that_are_named_one_by_one_each_is_changed(root: Path) -> None:
    case = rows_case(root, "the amounts of butter and salt are wrong")
    lines = ["| butter | 18 | kg |", "| salt | 4 | kg |"]
    assert sorted({*case.values("edit_file", "find")}) == lines
    row = {"path": "workspace/stock.md", "find": lines[0], "replace": "| butter | 17 | kg |"}
    assert case.play("edit_file", "change", **row).startswith("Changed")
    assert case.tools == {"edit_file"} and not case.may_answer
    assert {*case.values("edit_file", "find")} == {lines[1]}
    row = {"path": "workspace/stock.md", "find": lines[1], "replace": "| salt | 3 | kg |"}
    case.play("edit_file", "change", **row)
    assert not case.tools and case.may_answer


def test_a_row_that_is_surely_meant_is_no_to_do_where_that_is_improbable(root: Path) -> None:
    case = rows_case(root, "butter amount is 9")
    assert "edit_file" in case.tools and "todo" not in case.tools


def test_of_files_that_may_be_meant_one_is_read_before_it_is_changed(root: Path) -> None:
    case = Case(root, "the bag costs 18 now")
    case.turn.files = ("notes/trip.md", "notes/plan.md")
    assert case.values("read_file", "path") == [*case.turn.files]
    assert case.tools == {"read_file", "remember"} and case.may_answer
    lines = case.play("read_file", "change", path="notes/trip.md").splitlines()[1:]
    assert case.values("edit_file", "find") == [each for each in lines if each]
    assert case.values("append_file", "path") == ["notes/trip.md"]
    assert case.values("read_file", "path") == ["notes/plan.md"]


def test_a_new_file_may_be_wanted_where_others_are_offered(root: Path) -> None:
    case = Case(root, "please start a new page for the 2027 budget")
    case.turn.files = ("notes/trip.md", "notes/plan.md")
    assert case.tools == {"read_file", "write_file", "todo", "remember"}


def test_of_files_that_may_be_meant_only_a_log_gets_a_line_unread(root: Path) -> None:
    case = Case(root, "spent 18.50 on treats")
    case.turn.files = ("notes/trip.md", "workspace/loans.csv")
    log, list_of_it = (
        NewLine("notes/trip.md", "^log$", "- 2026-01-04: tea"),
        NewLine("notes/trip.md", "^item$"),
    )
    case.turn.rows = NamedRows(new=(log, list_of_it))
    assert case.patterns("append_file", "text") == ["^log$"]
    case.play("read_file", "change", path="notes/trip.md")
    assert case.patterns("append_file", "text") == ["^log$", "^item$"]


@pytest.mark.parametrize("is_foreign", [True, False])
def test_only_lines_of_the_file_that_was_read_may_be_replaced(root: Path, is_foreign: bool) -> None:
    case = Case(root, "the bag costs 18 now")
    table = ["what,price", "bag,20", "tent,90"]
    (root / "workspace" / "prices.csv").write_text("\n".join(table), "utf-8")
    if is_foreign:
        ForeignFiles(case.app.home).note("workspace/prices.csv", "page https://example.org")
    case.turn.files = ("workspace/prices.csv",)
    output = case.play("read_file", "change", path="workspace/prices.csv")
    assert "[added up: price: 110" in output and ("<<data" in output) == is_foreign
    assert case.values("edit_file", "find") == table


def test_a_row_that_may_not_be_changed_narrows_nothing(root: Path) -> None:
    case = rows_case(root, "butter is down to 9 kg", "read-only")
    new = NamedRows(new=(NewLine("workspace/stock.md", "^.+$"),), surely=True)
    for rows in (case.turn.rows, new):
        case.turn.rows = rows
        narrowed = case.options
        case.turn.rows = NamedRows()
        assert narrowed == case.options
        assert {"const": "answer"} in [each["kind"] for each in narrowed]


def test_a_row_that_is_only_mentioned_leaves_the_other_tools(root: Path) -> None:
    case = rows_case(root, "think about the butter")
    assert {"write_file", "read_file", "todo"} <= case.tools
    finds = [each["find"] for each in case.options if "find" in each]
    assert finds == [{"enum": ["| butter | 18 | kg |"]}] * 2
    case.play("list_files", "change")
    assert case.values("edit_file", "find") == ["*"]
