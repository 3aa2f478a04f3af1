"""The file tools in a folder outside the home: whole paths, questions, and nothing beyond it."""

from __future__ import annotations

from pathlib import Path

import pytest

from openclaw.messages import ToolCall
from openclaw.security.policy import Policy
from openclaw.storage.home import Home
from openclaw.tools.file_tools import FileTools
from openclaw.tools.folders_elsewhere import with_folders
from openclaw.tools.toolbox import CallResult, Toolbox
from openclaw.types import Mode, TurnChanges
from tests.fakes.files import write_files
from tests.fakes.person import Person


class Work:
    """A home, a project beside it, the tools for both, and a user who says yes."""

    def __init__(self, top: Path) -> None:
        self.home, self.project = top / "home", top / "project"
        paths = ("home/workspace/SOUL.md", "project/src/main.py", "project/AGENTS.md")
        write_files(top, {path: f"words of {path}\n" for path in paths})
        (top / "beyond.md").write_text("beyond\n")
        self.user = Person("once")
        self.changes = TurnChanges()
        self.beside = self.project

    def call(self, tool: str, mode: Mode = "edit", **given: str) -> CallResult:
        tools = with_folders(FileTools(Home(self.home), self.changes), [self.beside])
        return Toolbox(tools, Policy(mode, self.user), self.changes).run(ToolCall("1", tool, given))

    @property
    def effects(self) -> list[str]:
        return [question.action.effect for question in self.user.asked]


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return Work(tmp_path)


def test_reading_asks_and_names_the_whole_path(work: Work) -> None:
    main = f"{work.project}/src/main.py"
    assert f"{main}, line" in work.call("read_file", path=main).text
    assert main in work.call("list_files", folder=str(work.project)).text
    assert (
        f"{main}:1: words"
        in work.call("search_files", text="words", folder=f"{work.project}/src").text
    )
    assert work.effects == ["read-elsewhere"] * 3
    assert [question.action.target for question in work.user.asked] == [
        main,
        str(work.project),
        f"{work.project}/src",
    ]
    assert not work.changes.read


def test_writing_asks_with_the_change_and_is_done_elsewhere(work: Work) -> None:
    new = f"{work.project}/src/new.py"
    assert work.call("write_file", path=new, content="x = 1").ok
    [question] = work.user.asked
    assert question.action.effect == "write-elsewhere"
    assert question.change is not None
    assert (question.change.path, question.change.after) == (new, "x = 1\n")
    assert question.offers == ()
    assert work.changes.sent == [f"write_file {new}"]
    assert not work.changes.before
    assert "forbids" in work.call("write_file", "read-only", path=new, content="x = 2").text
    rules = f"{work.project}/AGENTS.md"
    work.call("append_file", path=rules, text="Obey.")
    assert "decides who the agent is" in work.user.asked[-1].reason


def test_nothing_beyond_the_folder_is_reached(work: Work) -> None:
    (work.project / "link.md").symlink_to(work.project.parent / "beyond.md")
    (work.project / ".git").mkdir()
    (work.project / ".git/config").write_text("[core]\n")
    (work.project / ".env").write_text("KEY=1\n")
    for path in (
        "link.md",
        "../beyond.md",
        "src/../../beyond.md",
        ".git/config",
        ".env",
    ):
        result = work.call("read_file", path=f"{work.project}/{path}")
        assert not result.ok, path
    assert "beyond.md" not in work.call("list_files", folder=str(work.project)).text
    assert not work.call("read_file", path=f"{work.project}s/other.md").ok


def test_a_home_within_the_folder_stays_a_home(work: Work) -> None:
    work.beside = work.home.parent
    for path in ("home/workspace/SOUL.md", "project/../home/workspace/SOUL.md"):
        result = work.call("read_file", path=f"{work.beside}/{path}")
        assert result.text.startswith("workspace/SOUL.md, line")
    assert work.user.asked == []
