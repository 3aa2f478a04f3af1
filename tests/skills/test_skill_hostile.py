"""Files that somebody wrote to do harm cost a line in the list, and neither time nor memory."""

from __future__ import annotations

import os
import shutil
import sys
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from openclaw.skills.skill import ListedSkill, Root, check_skill, list_skills
from tests.fakes.needs import posix
from tests.fakes.skills import GOOD, front, put


@pytest.fixture
def skills(tmp_path: Path) -> Iterator[Path]:
    """A folder that has one good skill, which must still be there at the end."""
    folder = tmp_path / "skills"
    put(folder, "good")
    yield folder
    assert [entry.name for entry in listed(folder) if entry.eligible] == ["good"]


def listed(folder: Path) -> list[ListedSkill]:
    return list_skills([Root(folder, "home")])


def broken(folder: Path) -> dict[str, str]:
    """The code of each broken skill by its folder."""
    entries = [entry for entry in listed(folder) if not entry.eligible]
    assert all(entry.skill is None and entry.description == "" for entry in entries)
    return {entry.name: entry.problems[-1].code for entry in entries}


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "frontmatter-missing"),
        (b"---\nname: s\ndescription: a\0b\n---\n", "encoding"),
        (front().encode() + b"body \0 body", "encoding"),
        (front().encode("utf-16"), "encoding"),
        (front().encode("utf-16-be"), "encoding"),
        (b"\xff\xfe" + "\u2d2d\u2d2d".encode("utf-16-le"), "encoding"),
        (front().encode("utf-32"), "encoding"),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(1, 256)) * 20, "frontmatter-missing"),
        (b"---\n" * 1, "frontmatter-unclosed"),
        (b"---\n" + b"[" * 30_000 + b"\n---\n", "frontmatter-too-large"),
        (b"---\ndescription: " + b"[" * 16_000 + b"\n---\n", "yaml-unsafe"),
        (b"---\ndescription: " + b"[" * 8_000 + b"]" * 8_000 + b"\n---\n", "yaml-unsafe"),
        (b"---\na: &a [x]\nb: [*a, *a]\ndescription: x\n---\n", "yaml-unsafe"),
        (b"---\ndescription: !!python/object/apply:os.system [x]\n---\n", "yaml-unsafe"),
        (front().encode() + b"x" * 1024 * 1024, "file-too-large"),
        (b"---\n" + b"\n" * 1_000_000, "frontmatter-unclosed"),
    ],
)
def test_hostile_contents_are_one_line_in_the_list(skills: Path, content: bytes, code: str) -> None:
    path = put(skills, "s")
    path.write_bytes(content)
    began = time.process_time()
    assert broken(skills) == {"s": code}
    assert [problem.code for problem in check_skill(path)] == [code]
    assert time.process_time() - began < 10


def test_a_file_of_exactly_one_mebibyte_is_read(tmp_path: Path) -> None:
    text = front()
    put(tmp_path, "s", text + "x" * (1024 * 1024 - len(text)))
    assert listed(tmp_path)[0].eligible


def test_a_file_of_fifty_megabytes_is_not_read(skills: Path) -> None:
    path = put(skills, "s")
    with path.open("r+b") as file:
        file.truncate(50_000_000)
    tracemalloc.start()
    assert broken(skills) == {"s": "file-too-large"}
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5_000_000


def test_a_folder_in_place_of_the_file_is_no_skill(skills: Path) -> None:
    (skills / "s" / "SKILL.md").mkdir(parents=True)
    (skills / "SKILL.md").mkdir()
    assert broken(skills) == {"s": "not-a-file", "skills": "not-a-file"}
    assert [problem.code for problem in check_skill(skills / "s")] == ["not-a-file"]
    assert [problem.code for problem in check_skill(skills / "s" / "SKILL.md")] == ["not-a-file"]


@posix
def test_links_out_of_the_folder_are_not_followed(skills: Path, tmp_path: Path) -> None:
    outside = put(tmp_path, "outside")
    for name in ("file", "device"):
        (skills / name).mkdir()
    (skills / "file" / "SKILL.md").symlink_to(outside)
    (skills / "device" / "SKILL.md").symlink_to("/dev/zero")
    (skills / "folder").symlink_to(outside.parent)
    (skills / "loop").symlink_to(skills)
    assert broken(skills) == dict.fromkeys(("file", "device", "folder", "loop"), "symlink-escape")


@posix
def test_a_link_that_leads_nowhere_is_not_opened(skills: Path) -> None:
    for name in ("self", "gone"):
        (skills / name).mkdir()
    (skills / "self" / "SKILL.md").symlink_to("SKILL.md")
    (skills / "gone" / "SKILL.md").symlink_to("gone.md")
    (skills / "dangling").symlink_to(skills / "nowhere")
    assert broken(skills) == {"self": "not-a-file", "gone": "unreadable"}


@posix
def test_a_link_inside_the_folder_is_followed(tmp_path: Path) -> None:
    put(tmp_path, "s", file="doc/real.md", text=GOOD.format("s"))
    (tmp_path / "s" / "SKILL.md").symlink_to("doc/real.md")
    (entry,) = listed(tmp_path)
    assert (entry.name, entry.eligible, entry.problems) == ("s", True, ())
    assert entry.skill and entry.skill.body() == "# s\n\nBody."


@posix
def test_a_pipe_does_not_hold_us(skills: Path) -> None:
    for name in ("pipe", "linked"):
        (skills / name).mkdir()
    os.mkfifo(skills / "pipe" / "SKILL.md")
    os.mkfifo(skills / "linked" / "other")
    (skills / "linked" / "SKILL.md").symlink_to("other")
    assert broken(skills) == {"pipe": "not-a-file", "linked": "not-a-file"}


@posix
def test_what_may_not_be_opened_is_said(skills: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("the superuser may open everything")
    file, folder = put(skills, "file"), put(skills, "folder").parent
    file.chmod(0)
    folder.chmod(0)
    try:
        assert broken(skills) == {"file": "unreadable", "folder": "unreadable"}
    finally:
        folder.chmod(0o700)
        shutil.rmtree(folder)
        file.unlink()


def test_a_root_that_is_a_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "skills").write_text("x", encoding="utf-8")
    (entry,) = listed(tmp_path / "skills")
    assert (entry.eligible, entry.problems[0].code) == (False, "unreadable")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems want UTF-8 in names")
def test_a_folder_name_that_is_no_text_can_be_printed(tmp_path: Path) -> None:
    put(tmp_path, os.fsdecode(b"\xff\xfe"), "---\ndescription: x\n---\n")
    (entry,) = listed(tmp_path)
    assert entry.name.encode() == b"\xef\xbf\xbd\xef\xbf\xbd"
    assert entry.eligible and entry.skill and entry.skill.body() == ""


def test_a_thousand_skills_of_one_name_leave_one(tmp_path: Path) -> None:
    for number in range(1_000):
        put(tmp_path, f"n{number:03}", front(name="same"))
    entries = listed(tmp_path)
    assert [entry.path.parent.name for entry in entries if entry.eligible] == ["n000"]
    assert sum(problem.code == "shadowed" for e in entries for problem in e.problems) == 999


def test_folders_deeper_than_any_skill_end_the_walk(skills: Path) -> None:
    deep = skills
    for _ in range(60):
        deep = deep / "d"
    deep.mkdir(parents=True)
    (deep / "SKILL.md").write_text(front(), encoding="utf-8")
    assert broken(skills) == {}
