"""Skills are read tolerantly; a bad one is a problem in the result."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from openclaw.skills.load import Skill, read_skills

GOOD = "---\nname: {0}\ndescription: Does {0}.\n---\n\n# {0}\n\n---\n\nBody.\n"


def put(folder: Path, name: str, text: str | bytes, file: str = "SKILL.md") -> Path:
    path = folder / name / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def codes(folder: Path) -> list[tuple[str, str]]:
    return [(problem.level, problem.code) for problem in read_skills(folder)[1]]


def test_good_skills_are_read_in_the_order_of_their_names(tmp_path: Path) -> None:
    second = put(tmp_path, "deep/er/b", GOOD.format("b"))
    put(tmp_path, "a", GOOD.format("a"))
    put(tmp_path, "a/inner", GOOD.format("inner"))
    put(tmp_path, ".hidden", GOOD.format("hidden"))
    put(tmp_path, "node_modules/x", GOOD.format("x"))
    skills, problems = read_skills(tmp_path)
    assert [skill.name for skill in skills] == ["a", "b"]
    assert skills[1] == Skill("b", "Does b.", second, "# b\n\n---\n\nBody.")
    assert problems == []
    assert read_skills(tmp_path / "nowhere") == ([], [])


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("# No frontmatter\n", "frontmatter-missing"),
        ("", "frontmatter-missing"),
        ("---\nname: s\ndescription: x\n", "frontmatter-unclosed"),
        ("---\nname: s\n---\n", "description-missing"),
        ("---\nname: s\ndescription: ' '\n---\n", "description-missing"),
        ("---\nname: s\ndescription: [a]\n---\n", "description-missing"),
        ("---\n- a\n---\n", "yaml-invalid"),
        ("---\nname: &a s\ndescription: *a\n---\n", "yaml-unsafe"),
        ("---\nname: s\ndescription: !!python/name:os.system x\n---\n", "yaml-unsafe"),
        ("---\ndescription: " + "x" * 17_000 + "\n---\n", "frontmatter-too-large"),
        ("x" * (1024 * 1024 + 1), "file-too-large"),
        (b"---\0", "encoding"),
        ("---\n".encode("utf-16"), "encoding"),
    ],
)
def test_a_broken_skill_is_an_error_and_the_others_are_read(
    tmp_path: Path, text: str | bytes, code: str
) -> None:
    put(tmp_path, "good", GOOD.format("good"))
    put(tmp_path, "s", text)
    assert [skill.name for skill in read_skills(tmp_path)[0]] == ["good"]
    assert codes(tmp_path) == [("error", code)]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("---\ndescription: x\n---\n", "name-missing"),
        ("---\nname: ../up\ndescription: x\n---\n", "name-unsafe"),
        ("---\nname: s\ndescription: caf\u00e9\n---\n".encode("latin-1"), "encoding"),
        ("---\nname: s\ndescription: Use it: now\n---\n", "yaml-repaired"),
    ],
)
def test_a_doubtful_skill_is_read_with_a_warning(
    tmp_path: Path, text: str | bytes, code: str
) -> None:
    put(tmp_path, "s", text)
    assert [skill.name for skill in read_skills(tmp_path)[0]] == ["s"]
    assert codes(tmp_path) == [("warning", code)]


def test_scalars_stay_as_they_are_written_and_newlines_are_plain(tmp_path: Path) -> None:
    put(tmp_path, "2048", "\ufeff---\r\nname: 2048\r\ndescription: on\r\n---\r\na\r\nb\r\n")
    (skill,) = read_skills(tmp_path)[0]
    assert (skill.name, skill.description, skill.body) == ("2048", "on", "a\nb")


def test_a_description_over_several_lines_is_one_line(tmp_path: Path) -> None:
    put(tmp_path, "s", "---\nname: s\ndescription: >\n  a\n  b\nmetadata:\n  x: 1\n---\n")
    assert read_skills(tmp_path)[0][0].description == "a b"


def test_a_broken_line_is_repaired_with_its_followers(tmp_path: Path) -> None:
    put(tmp_path, "s", "---\nname: s\ndescription: Use it: now\n  and then\n---\n")
    assert read_skills(tmp_path)[0][0].description == "Use it: now and then"


def test_of_two_with_one_name_the_first_by_path_counts(tmp_path: Path) -> None:
    first = put(tmp_path, "a/s", GOOD.format("s"))
    put(tmp_path, "b/s", GOOD.format("s"))
    skills, problems = read_skills(tmp_path)
    assert [skill.path for skill in skills] == [first]
    assert [(p.level, p.code, p.path.parent.parent.name) for p in problems] == [
        ("error", "shadowed", "b")
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="links and pipes need POSIX")
def test_links_and_pipes_are_not_opened(tmp_path: Path) -> None:
    outside = put(tmp_path, "outside", GOOD.format("outside"))
    home = tmp_path / "skills"
    (home / "link").mkdir(parents=True)
    (home / "link" / "SKILL.md").symlink_to(outside)
    (home / "pipe").mkdir()
    os.mkfifo(home / "pipe" / "SKILL.md")
    (home / "folder").symlink_to(outside.parent)
    assert read_skills(home)[0] == []
    assert sorted(codes(home)) == [("error", "not-a-file"), ("error", "symlink-escape")]


def test_another_spelling_of_the_file_is_accepted(tmp_path: Path) -> None:
    put(tmp_path, "s", GOOD.format("s"), file="skill.md")
    assert [skill.name for skill in read_skills(tmp_path)[0]] == ["s"]
    assert codes(tmp_path) == [("warning", "filename-case")]
