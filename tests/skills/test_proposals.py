"""Skills that the agent writes: nothing of them counts before the user accepts it."""

from __future__ import annotations

from pathlib import Path

import pytest

from openclaw.messages import ToolCall
from openclaw.security.policy import Policy
from openclaw.skills.proposals import proposals
from openclaw.skills.skill import list_installed
from openclaw.storage.home import Home
from openclaw.storage.new_home import create_home
from openclaw.tools.file_tools import FileTools
from openclaw.tools.skill_tools import ProposeTools
from openclaw.tools.toolbox import CallResult, Toolbox
from openclaw.types import TurnChanges
from tests.fakes.command import CommandLine

claw = CommandLine("skills", "review")

TEXT = "---\nname: bake\ndescription: Bakes bread.\n---\n\nKnead it.\n"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    create_home(tmp_path / "home")
    return Home(tmp_path / "home")


def write(home: Home, path: str = "skills/bake/SKILL.md", text: str = TEXT) -> CallResult:
    tools = Toolbox(FileTools(home, TurnChanges()).tools(), Policy("edit"), TurnChanges())
    return tools.run(ToolCall("1", "write_file", {"path": path, "content": text}))


def names(home: Home) -> set[str]:
    from openclaw.config import load_settings

    return {entry.name for entry in list_installed(home, load_settings(home)) if entry.eligible}


def test_what_the_agent_writes_waits_apart(home: Home) -> None:
    told = write(home)
    assert told.ok and "skills/.proposed/bake/SKILL.md" in told.text
    assert told.text.endswith("It counts once the user accepts it: openclaw skills review")
    assert "bake" not in names(home) and [each.name for each in proposals(home)] == ["bake"]


def test_a_spelling_that_macos_takes_for_skills_is_a_proposal_too(home: Home) -> None:
    tools = Toolbox(FileTools(home, TurnChanges()).tools(), Policy("edit"), TurnChanges())
    for path in ("Skills/bake/SKILL.md", "SKILLS/.proposed/bake/SKILL.md"):
        told = tools.run(ToolCall("1", "write_file", {"path": path, "content": TEXT}))
        assert told.ok and "/.proposed/bake/SKILL.md" in told.text
    assert not (home.root / "Skills").exists()


def test_a_skill_in_use_is_not_edited_but_proposed_anew(home: Home) -> None:
    (home.skills / "bake").mkdir()
    (home.skills / "bake" / "SKILL.md").write_text(TEXT, encoding="utf-8")
    tools = Toolbox(FileTools(home, TurnChanges()).tools(), Policy("edit"), TurnChanges())
    edit = {"path": "skills/bake/SKILL.md", "find": "Knead", "replace": "Burn"}
    told = tools.run(ToolCall("1", "edit_file", edit))
    assert not told.ok and "only changed by a proposal" in told.text
    assert write(home, text=TEXT.replace("Knead", "Fold")).ok
    (proposal,) = proposals(home)
    assert proposal.diff[-2:] == ("-Knead it.", "+Fold it.")
    assert (home.skills / "bake" / "SKILL.md").read_text(encoding="utf-8") == TEXT


def test_the_user_sees_and_accepts_it(home: Home) -> None:
    write(home)
    assert "+Knead it." in claw()
    told = claw.json("--accept", "bake")
    assert told == [{"name": "bake", "state": "accepted", "path": "skills/bake"}]
    assert "bake" in names(home) and proposals(home) == []
    assert not (home.skills / ".sources.yaml").exists()  # there is nothing to update it from


def test_an_accepted_proposal_keeps_where_the_skill_came_from(home: Home, tmp_path: Path) -> None:
    (tmp_path / "bake").mkdir()
    (tmp_path / "bake" / "SKILL.md").write_text(TEXT, encoding="utf-8")
    CommandLine("skills", "install")(str(tmp_path / "bake"), "--yes")
    source = (home.skills / ".sources.yaml").read_text(encoding="utf-8")
    write(home, text=TEXT.replace("Knead", "Fold"))
    claw("--accept", "bake")
    assert (home.skills / ".sources.yaml").read_text(encoding="utf-8") == source


def test_the_user_deletes_it(home: Home) -> None:
    write(home)
    claw("--reject", "bake")
    assert proposals(home) == [] and "bake" not in names(home)


def test_one_that_was_not_proposed_is_an_error_and_nothing_is_done(home: Home) -> None:
    write(home)
    error = claw.error("--accept", "bake", "--reject", "none", code=2)
    assert "no skill none was proposed" in error
    assert [each.name for each in proposals(home)] == ["bake"]


def test_one_that_is_no_skill_is_not_accepted(home: Home) -> None:
    write(home, text="no frontmatter\n")
    claw("--accept", "bake", code=1)
    assert [each.name for each in proposals(home)] == ["bake"]


def test_a_proposal_may_be_made_by_name_and_is_listed_nowhere(home: Home) -> None:
    files = FileTools(home, TurnChanges())
    tools = Toolbox(ProposeTools(files).tools(), Policy("edit"), TurnChanges())
    assert tools.lines() == "" and tools.specs() == () and tools.shapes(frozenset({"write"})) == []
    given = {"name": "Water Plants!", "content": "1. Pour.\n", "description": 'Pours: "much"'}
    told = tools.run(ToolCall("1", "propose_skill", given))
    assert told.ok and "skills/.proposed/water-plants/SKILL.md" in told.text
    assert tools.run(ToolCall("2", "propose_skill", {"name": "bake", "content": TEXT})).ok
    assert "water-plants" not in names(home)
    claw("--accept", "water-plants")
    claw("--accept", "bake")
    assert {"water-plants", "bake"} <= names(home)
    nothing = tools.run(ToolCall("3", "propose_skill", {"name": "../..", "content": "x"}))
    assert not nothing.ok and "letters or digits" in nothing.text
