"""Files of all kinds in a home that is a git repository: each is committed as git would have it,
and taken back as it was."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest

from tests.fakes.git_home import GitTalk, git, git_talk, identity
from tests.fakes.needs import needs_git, posix
from tests.fakes.talk import call, calls

pytestmark = needs_git
A = "workspace/a.md"


@pytest.fixture
def it(tmp_path: Path) -> GitTalk:
    return git_talk(tmp_path / "home")


# -------- what git does to files


@pytest.mark.parametrize(
    "settings, attributes",
    [
        ({"core.autocrlf": "true"}, ""),
        ({"core.autocrlf": "input"}, ""),
        ({}, "*.md text=auto\n"),
        ({"core.safecrlf": "true", "core.autocrlf": "true"}, ""),
    ],
)
def test_line_ends_in_the_folder_stay_and_git_sees_no_change(
    settings: dict[str, str], attributes: str, it: GitTalk
) -> None:
    for key, value in settings.items():
        it.git("config", key, value)
    if attributes:
        (it.root / ".gitattributes").write_text(attributes)
    (it.root / "workspace" / "dos.md").write_bytes(b"one\r\ntwo\r\n")
    (it.root / "workspace" / "unix.md").write_bytes(b"one\ntwo\n")
    for name in ("dos.md", "unix.md"):
        it.append(f"workspace/{name}", "three\n")
    assert (it.root / "workspace" / "dos.md").read_bytes() == b"one\r\ntwo\r\nthree\r\n"
    assert (it.root / "workspace" / "unix.md").read_bytes() == b"one\ntwo\nthree\n"
    assert b"\r" not in it.blob("workspace/unix.md")
    assert "workspace" not in it.git("status", "--porcelain")
    it.talk.app.undo(2)
    assert (it.root / "workspace" / "dos.md").read_bytes() == b"one\r\ntwo\r\n"


@pytest.mark.parametrize(
    "settings, attributes",
    [
        ({"core.autocrlf": "true"}, ""),
        ({"core.autocrlf": "input"}, "*.bin -text\n"),
        ({}, "*.md text eol=crlf\n"),
        ({}, "* text=auto\n"),
    ],
)
def test_where_git_has_other_line_ends_than_the_folder_it_keeps_them(
    settings: dict[str, str], attributes: str, it: GitTalk
) -> None:
    for key, value in settings.items():
        it.git("config", key, value)
    (it.root / ".gitattributes").write_text(attributes)
    dos = it.root / "workspace" / "dos.md"
    dos.write_bytes(b"one\r\ntwo\r\n")
    identity(it.root)
    it.git("add", "-A")
    it.git("commit", "-q", "-m", "Mine")
    it.append("workspace/dos.md", "three\n")
    assert it.blob("workspace/dos.md") == b"one\ntwo\nthree\n" and it.dirty() == ""
    assert it.log()[1] == "Mine" and dos.read_bytes() == b"one\r\ntwo\r\nthree\r\n"
    it.talk.app.undo()
    assert dos.read_bytes() == b"one\r\ntwo\r\n" and it.dirty() == ""


@posix
def test_files_are_committed_as_they_are_past_any_filter(it: GitTalk) -> None:
    it.git("config", "filter.upper.clean", "tr a-z A-Z")
    it.git("config", "filter.upper.smudge", "tr A-Z a-z")
    (it.root / ".gitattributes").write_text("*.txt filter=upper\n")
    it.write("workspace/a.txt", "one\n")
    assert it.blob("workspace/a.txt") == b"one\n"
    it.append("workspace/a.txt", "two\n")
    it.there_and_back()
    it.talk.app.undo()
    assert (it.root / "workspace" / "a.txt").read_bytes() == b"one\n"


# -------- files of all kinds


NAMES = [
    "with space.md", "quo'te.md", "-leading.md", "--help.md", "#hash.md", "per%cent.md",
    "\u00e9.md", "o\u0301.md", "\u65e5\u672c.md", "a & b; c.md", "[brackets]{x}.md", "!no.md",
]  # fmt: skip
ODD = [*NAMES, 'dou"ble.md', "*star?.md", ":(glob)x.md", "<less>|more.md", "$HOME `x`.md"]


def test_files_of_any_name_are_committed_and_taken_back(it: GitTalk) -> None:
    (it.root / "workspace" / "x.md").write_text("beside\n")
    paths = [f"workspace/{name}" for name in (ODD if os.name != "nt" else NAMES)]
    made = [("write_file", {"path": path, "content": "one\n"}) for path in paths]
    it.talk.say("Write all.", calls(*made), "It is written.")
    assert it.changed() == sorted(paths)
    more = [("append_file", {"path": path, "text": "two\n"}) for path in paths]
    it.talk.say("Add to all.", calls(*more), "Added.")
    assert {it.blob(path) for path in paths} == {b"one\ntwo\n"}
    it.there_and_back()
    it.talk.app.undo(2)
    assert not any((it.root / path).exists() for path in paths)
    assert it.dirty() == "?? workspace/x.md"


def test_two_ways_to_write_one_letter_are_two_files_where_they_are(it: GitTalk) -> None:
    for form in ("NFC", "NFD"):
        name = unicodedata.normalize(form, "caf\u00e9")
        it.write(f"workspace/{name}.md", f"{form}\n")
    assert len(list(it.root.glob("workspace/caf*"))) in (1, 2)
    assert len({turn.id for turn in it.talk.app.history.turns()}) == 2
    it.there_and_back()


@posix
def test_names_that_only_a_command_can_make(it: GitTalk) -> None:
    it.shell("printf one > \"$(printf 'workspace/new\\nline\\ttab.md')\"")
    assert it.changed() == ["workspace/new\nline\ttab.md"]
    it.there_and_back()
    it.talk.app.undo()
    assert it.dirty() == ""


@posix
def test_a_name_that_is_no_text_does_no_harm(it: GitTalk) -> None:
    it.shell("printf one > \"$(printf 'workspace/b\\377d.md')\"; printf two > workspace/good.md")
    assert "workspace/good.md" in it.changed()
    assert it.git("status", "--porcelain", "-uno") == ""


@posix
def test_a_program_stays_one(it: GitTalk) -> None:
    it.shell("printf '#!/bin/sh\\n' > workspace/run.sh; chmod 755 workspace/run.sh")
    entry = it.git("ls-tree", "HEAD", "workspace/run.sh")
    assert entry.startswith("100755") and it.dirty() == ""
    it.append("workspace/run.sh", "echo hi\n")
    assert it.git("ls-tree", "HEAD", "workspace/run.sh").startswith("100755")
    it.talk.app.undo(2)
    it.talk.app.redo()
    assert os.access(it.root / "workspace" / "run.sh", os.X_OK)


@posix
def test_a_link_is_left_to_the_user(it: GitTalk) -> None:
    (it.root / "workspace" / "real.md").write_text("one\n")
    (it.root / "workspace" / "link.md").symlink_to("real.md")
    it.append("workspace/link.md", "two\n")
    assert (it.root / "workspace" / "link.md").is_symlink()
    assert it.blob("workspace/real.md") == b"one\ntwo\n"
    assert "workspace/link.md" not in it.git("ls-tree", "-r", "--name-only", "HEAD")
    it.there_and_back()


@posix
def test_a_folder_that_leads_elsewhere_is_left_to_the_user(it: GitTalk, tmp_path: Path) -> None:
    (it.root / "workspace" / "deep").mkdir()
    (it.root / "workspace" / "way").symlink_to("deep")
    it.write("workspace/way/x.md", "one\n")
    assert it.blob("workspace/deep/x.md") == b"one\n" and it.dirty() == "?? workspace/way"
    it.there_and_back()


@posix
def test_a_file_that_a_command_deletes_comes_back(it: GitTalk) -> None:
    it.write(A, "one\n")
    it.shell(f"rm {A}")
    assert it.git("ls-tree", "HEAD", A) == "" and it.dirty() == ""
    it.there_and_back()
    it.talk.app.undo()
    assert (it.root / A).read_bytes() == b"one\n" and it.dirty() == ""


@posix
def test_a_file_that_a_command_moves_comes_back(it: GitTalk) -> None:
    it.write(A, "one\n")
    it.shell(f"mkdir workspace/d; mv {A} workspace/d/b.md")
    assert it.changed() == [A, "workspace/d/b.md"]
    it.there_and_back()
    it.talk.app.undo()
    assert (it.root / A).exists() and not (it.root / "workspace" / "d" / "b.md").exists()


@posix
def test_a_file_becomes_a_folder_and_back(it: GitTalk) -> None:
    it.write("workspace/x", "one\n")
    it.shell("rm workspace/x; mkdir workspace/x; echo in > workspace/x/y")
    assert it.dirty() == "" and it.changed() == ["workspace/x", "workspace/x/y"]
    it.talk.app.undo()
    assert (it.root / "workspace" / "x").read_bytes() == b"one\n" and it.dirty() == ""
    it.talk.app.redo()
    assert (it.root / "workspace" / "x" / "y").read_bytes() == b"in\n" and it.dirty() == ""


@posix
def test_a_file_too_large_to_keep_is_named_and_left(it: GitTalk) -> None:
    it.shell("truncate -s 60M workspace/big.bin; echo small > workspace/small.md")
    assert "workspace/small.md" in it.changed() and "workspace/big.bin" not in it.changed()
    taken = it.talk.app.undo()
    assert taken.missing == ("workspace/big.bin",)
    assert (it.root / "workspace" / "big.bin").stat().st_size == 60 * 1024 * 1024
    assert not (it.root / "workspace" / "small.md").exists()


def test_an_ignored_file_is_not_committed_and_can_be_taken_back(it: GitTalk) -> None:
    (it.root / ".git" / "info" / "exclude").write_text("*.secret\n")
    it.write("workspace/a.secret", "one\n")
    it.append("workspace/a.secret", "two\n")
    assert "a.secret" not in it.git("log", "--all", "--name-only", "--format=")
    it.there_and_back()
    it.talk.app.undo(2)
    assert not (it.root / "workspace" / "a.secret").exists()


def test_nothing_private_is_ever_committed(it: GitTalk) -> None:
    (it.root / ".gitignore").unlink()
    (it.root / ".openclaw" / ".gitignore").unlink()
    token = "ghp_" + "a8Fk2LmQ9zXw4TbV7nRc1YpD6sHj3GuE0oKi"
    it.talk.say(f"My token is {token}; write it.", call("list_files"), "It is kept.")
    it.write(A, "one\n")
    assert ".openclaw/" not in it.git("log", "--all", "--name-only", "--format=")
    assert token not in it.git("log", "--all", "-p")
    assert (it.root / ".openclaw" / "secrets.json").exists()


def test_a_repository_inside_the_workspace_is_left_alone(it: GitTalk) -> None:
    inner = it.root / "workspace" / "project"
    inner.mkdir()
    git(inner, "init", "-q")
    it.write("workspace/project/x.md", "one\n")
    assert "project" not in it.git("log", "--all", "--name-only", "--format=")
    assert git(inner, "rev-parse", "--verify", "-q", "HEAD", fails=True) == ""
    it.there_and_back()
    it.talk.app.undo()
    assert not (inner / "x.md").exists() and (inner / ".git").is_dir()


def test_many_files_come_back_byte_for_byte(it: GitTalk) -> None:
    (it.root / ".gitattributes").write_text("*.txt text eol=crlf\n")
    names = [f"workspace/{number}.txt" for number in range(30)]
    for name in names:
        (it.root / name).write_bytes(f"\r\n{name} missing\r\n".encode())
    it.shell("rm workspace/*.txt")
    assert not any((it.root / name).exists() for name in names)
    it.talk.app.undo(scope="files")
    for name in names:
        assert (it.root / name).read_bytes() == f"\r\n{name} missing\r\n".encode()
