"""Skills as tools: read, read on, and found among many."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from openclaw.messages import ToolCall
from openclaw.security.policy import Policy
from openclaw.tools.skill_tools import SkillTools, TurnSkills
from openclaw.tools.toolbox import CallResult, Toolbox
from openclaw.types import TurnChanges
from tests.fakes.files import write_file
from tests.fakes.skills import usable_skills


def put(root: Path, name: str, about: str = "Does a thing.", **files: str) -> None:
    text = f"---\nname: {name}\ndescription: {about}\n---\nDo {name}.\n"
    write_file(root / name / "SKILL.md", text)
    for path, content in files.items():
        write_file(root / name / path.replace("__", "/").replace("_md", ".md"), content)


def box(root: Path, request: str = "") -> Toolbox:
    turn_skills = TurnSkills(usable_skills(root), request)
    turn_changes = TurnChanges()
    return Toolbox(SkillTools(turn_skills, turn_changes).tools(), Policy("edit"), turn_changes)


def run(toolbox: Toolbox, tool: str, **arguments: str) -> CallResult:
    return toolbox.run(ToolCall("1", tool, arguments))


def test_a_skill_names_its_files_and_one_is_read(tmp_path: Path) -> None:
    put(tmp_path, "bake", references__dough_md="Knead.\n", assets__list_md="Flour\n")
    tools = box(tmp_path)
    read = run(tools, "read_skill", name="bake")
    assert (
        read.text
        == "Skill bake:\nDo bake.\n\nFiles of this skill: assets/list.md, references/dough.md"
    )
    for file in ("references/dough.md", "./references/dough.md", "dough.md"):
        told = run(tools, "read_skill", name="bake", file=file)
        assert told == CallResult("references/dough.md of skill bake:\nKnead.\n", True)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read")
def test_a_folder_of_a_skill_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    put(tmp_path, "bake", notes_md="x", shut__a_md="y")
    shut = tmp_path / "bake" / "shut"
    shut.chmod(0)
    told = run(box(tmp_path), "read_skill", name="bake").text
    assert told.endswith("Files of this skill: notes.md")
    shut.chmod(0o700)


@pytest.mark.parametrize("file", ["../../secret.md", "/etc/passwd", "link.md", "none.md"])
def test_only_files_of_the_skill_are_read(tmp_path: Path, file: str) -> None:
    (tmp_path / "secret.md").write_text("secret", encoding="utf-8")
    put(tmp_path / "skills", "bake", notes_md="x")
    (tmp_path / "skills" / "bake" / "link.md").symlink_to(tmp_path / "secret.md")
    told = run(box(tmp_path / "skills"), "read_skill", name="bake", file=file)
    assert not told.ok and told.text.startswith(
        f"Skill bake has no file {file}. Its files: notes.md"
    )


def test_where_no_skill_has_a_file_nothing_is_said_of_files(tmp_path: Path) -> None:
    put(tmp_path, "bake")
    (spec,) = box(tmp_path).specs()
    assert list(spec["function"]["parameters"]["properties"]) == ["name"]


def test_among_many_skills_one_is_found_by_words_and_then_may_be_read(tmp_path: Path) -> None:
    for n in range(120):
        put(tmp_path, f"skill-{n}")
    put(tmp_path, "z-bake", "Scales a sourdough recipe.")
    tools = box(tmp_path, "what is for lunch")
    assert [spec["function"]["name"] for spec in tools.specs()] == ["read_skill", "find_skill"]
    assert (
        run(tools, "find_skill", words="sourdough bread").text
        == "z-bake: Scales a sourdough recipe."
    )
    assert run(tools, "read_skill", name="z-bake").ok
    told = run(tools, "find_skill", words="zebras")
    assert not told.ok and "Go on without one" in told.text
