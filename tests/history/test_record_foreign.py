"""Records of turns that came with a home, and not from this user on this machine, do nothing."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import subprocess
import zlib
from pathlib import Path

import pytest

from openclaw.agent.agent import Agent
from openclaw.config import load_settings
from openclaw.errors import UsageError
from openclaw.history.record import (
    LINES,
    ForeignRecord,
    Journal,
    content,
    key_file,
    new_turn,
    place_of,
    read,
)
from openclaw.history.rollback import write_if_unchanged
from openclaw.history.turns import Kind, TurnStep
from openclaw.security.untrusted import private_key
from openclaw.storage.home import Home, is_inside
from tests.fakes.git_home import GitTalk, copy_home, git_talk, identity, snapshot
from tests.fakes.needs import needs_git

DATA = b"pwned\n"
NAME = hashlib.sha256(DATA).hexdigest()
FOLDER = "00000000000000000001-deadbeef"
OUTSIDE = [
    "../U/x", "workspace/../../U/x", "..", "/etc/x", "C:x", "C:/x", "//host/x", "~/x", "",
    "workspace//x", "./x", "workspace/..\\..\\x", "\\x", ".git/hooks/post-commit",
    ".GIT/hooks/post-commit", ".git./hooks/x", ".git /x", "git~1/hooks/x", ".g\u200bit/x",
    "workspace/.git/hooks/x", ".git::$INDEX_ALLOCATION/x", ".openclaw/secrets.json",
    ".OpenClaw/x", "workspace/x\0.md", "workspace/aux.md", "workspace/.. /x",
]  # fmt: skip
KINDS: list[Kind] = ["turn", "undo", "redo"]


@pytest.fixture(params=["git", "no git"])
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Home:
    copy_home(tmp_path / "home")
    if request.param == "no git":
        shutil.rmtree(tmp_path / "home" / ".git", ignore_errors=True)
    return Home(tmp_path / "home")


def opened(home: Home) -> Agent:
    return Agent.open(home, load_settings(home))


def crafted(home: Home, kind: Kind, path: str, *marks: str, version: int = 1) -> Path:
    """A record as a stranger would make it by hand, of a file to be written."""
    folder = place_of(home) / FOLDER
    folder.mkdir(parents=True)
    (folder / NAME).write_bytes(zlib.compress(DATA))
    lines = [
        {"version": version, "id": "deadbeef", "kind": kind, "at": "2026-01-01T00:00:00+00:00",
         "subject": "Tidy up", "session": "s", "of": ["11111111"]},
        {"path": path, "before": None, "after": f"{FOLDER}/{NAME}", "mac": "0" * 64},
        {"sealed": True},
    ]  # fmt: skip
    if marks != ("running",):
        lines.append({"state": "done", "tools": [], "finished": 2})
    (folder / LINES).write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    for mark in marks:
        (folder / mark).touch()
    return folder


@needs_git
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("marks", [("running",), ("ready",), ()], ids=["running", "ready", "kept"])
@pytest.mark.parametrize("version", [1, 2])
def test_a_record_of_a_stranger_is_not_completed_undone_or_redone(
    home: Home, kind: Kind, marks: tuple[str, ...], version: int
) -> None:
    before = snapshot(home.root)
    folder = crafted(home, kind, "workspace/new.md", *marks, version=version)
    app = opened(home)
    news = app.recover()
    for back in (app.undo, app.redo):
        with pytest.raises(UsageError, match="nothing to"):
            back()
    assert snapshot(home.root) == before and not [*app.history.turns()]
    aside = [*(home.private / "history").glob("foreign/*/turn.jsonl")]
    if marks:
        assert "not written on this machine: 1" in news[0] and aside and not folder.exists()
        assert opened(home).recover() == []
    else:
        assert news == [] and folder.exists()


@pytest.mark.parametrize("path", OUTSIDE)
def test_a_place_that_no_tool_may_write_is_none_in_a_record_either(
    path: str, home: Home, tmp_path: Path
) -> None:
    """Not even in one of our own: the second wall."""
    (tmp_path / "U").mkdir()
    before = files(home.root, tmp_path / "U")
    journal = Journal.begin(home, new_turn("", "undo", of=("11111111",)))
    journal.intend(path, None, (DATA, True))
    journal.record.seal()
    assert not is_inside(path) and read(journal.record.folder).turn.steps == ()
    opened(home).recover()
    assert files(home.root, tmp_path / "U") == before


def files(root: Path, outside: Path) -> list[Path]:
    hooks = [*(root / ".git").rglob("hooks/*")]
    return [*hooks, *outside.rglob("*"), *map(Path, snapshot(root))]


@pytest.mark.parametrize("path", ["../U/x", ".git/config", "workspace/../../U/x"])
def test_nothing_is_put_or_removed_outside_of_the_home(path: str, home: Home) -> None:
    with pytest.raises(Exception, match="no file of the home"):
        write_if_unchanged(home.root, path, None, (DATA, False))


def test_removed_folders_end_at_the_home(tmp_path: Path) -> None:
    (tmp_path / "outer" / "inner").mkdir(parents=True)
    (tmp_path / "outer" / "inner" / "x").write_bytes(DATA)
    assert write_if_unchanged(tmp_path / "outer" / "inner", "x", (DATA, False), None)
    assert (tmp_path / "outer" / "inner").is_dir()


@pytest.mark.parametrize(
    "path", ["a.md", "workspace/\u00e9 x.md", "workspace/a\\b.md", ".env", "a..b"]
)
def test_ordinary_names_are_places_of_the_home(path: str) -> None:
    assert is_inside(path)


# -------- signatures


def ours(home: Home) -> Path:
    """A record of our own that a kill has broken off: it would write a file."""
    journal = Journal.begin(home, new_turn("", "undo", of=("11111111",)))
    journal.intend("workspace/new.md", None, (DATA, False))
    journal.record.seal()
    return journal.record.folder


def test_what_this_machine_wrote_is_completed(home: Home) -> None:
    folder = ours(home)
    assert read(folder).sealed
    assert "now completed" in opened(home).recover()[0]
    assert (home.root / "workspace" / "new.md").read_bytes() == DATA


def test_what_another_process_of_the_same_user_wrote_is_completed(home: Home) -> None:
    ours(home)
    private_key.cache_clear()
    assert "now completed" in opened(home).recover()[0]


def test_a_home_that_was_moved_is_completed_too(home: Home, tmp_path: Path) -> None:
    ours(home)
    home.root.rename(tmp_path / "elsewhere")
    assert "now completed" in opened(Home(tmp_path / "elsewhere")).recover()[0]


@pytest.mark.parametrize("what", ["changed", "added", "left out", "reordered", "renamed", "no key"])
def test_what_was_changed_since_is_not(what: str, home: Home) -> None:
    folder = ours(home)
    lines = (folder / LINES).read_bytes().splitlines(keepends=True)
    if what == "changed":
        lines[1] = lines[1].replace(b"new.md", b"old.md")
    elif what == "added":
        lines.append(b'{"path":"workspace/more.md","before":null,"after":null}\n')
    elif what == "left out":
        del lines[1]
    elif what == "reordered":
        lines[1:] = reversed(lines[1:])
    elif what == "renamed":
        folder = folder.rename(folder.with_name("00000000000000000007-deadbeef"))
    else:
        other = key_file().rename(key_file().with_name("lost"))
        other.with_name(key_file().name).write_text("ab" * 32 + "\n", "ascii")
    (folder / LINES).write_bytes(b"".join(lines))
    if what == "no key":  # what another process would find
        private_key.cache_clear()
    with pytest.raises(ForeignRecord):
        read(folder)
    opened(home).recover()
    assert not (home.root / "workspace" / "new.md").exists()


def test_a_content_is_only_taken_from_its_record_by_its_hash(home: Home, tmp_path: Path) -> None:
    place = place_of(home)
    folder = crafted(home, "undo", "workspace/x.md")
    shutil.copytree(folder, tmp_path / FOLDER)
    outside = os.path.relpath(tmp_path / FOLDER, place)
    assert content(place, f"{FOLDER}/{NAME}") == DATA
    for name in (
        f"{outside}/{NAME}",
        f"{tmp_path}/{FOLDER}/{NAME}",
        NAME,
        f"{FOLDER}/../{FOLDER}/{NAME}",
    ):
        assert content(place, name) is None
    (folder / NAME).write_bytes(zlib.compress(b"other"))
    assert content(place, f"{FOLDER}/{NAME}") is None
    (folder / NAME).write_bytes(zlib.compress(b"\0" * 60_000_000))
    assert content(place, f"{FOLDER}/{NAME}") is None


@pytest.mark.skipif(os.name == "nt", reason="modes of POSIX")
def test_the_key_is_the_users_alone_and_in_no_home(home: Home) -> None:
    ours(home)
    assert stat.S_IMODE(key_file().stat().st_mode) == 0o600
    assert home.root not in key_file().parents


def test_a_line_that_did_not_fit_on_the_disk_costs_no_later_one(home: Home) -> None:
    record = Journal.begin(home, new_turn("")).record
    record.step(TurnStep("workspace/a.md", None, None))
    with (record.folder / LINES).open("ab") as file:  # what came of one that raised
        file.write(b'{"path":"works')
    record.mac = ""
    record.step(TurnStep("workspace/b.md", None, None))
    assert [step.path for step in read(record.folder).turn.steps] == [
        "workspace/a.md",
        "workspace/b.md",
    ]


def test_undo_says_that_there_are_records_that_do_not_count(home: Home) -> None:
    crafted(home, "turn", "workspace/new.md")
    with pytest.raises(UsageError, match="1 records do not count"):
        opened(home).undo()


@needs_git
def test_without_the_key_what_git_has_can_be_taken_back(tmp_path: Path) -> None:
    it: GitTalk = git_talk(tmp_path / "home")
    it.write("workspace/a.md", "one\n")
    key_file().unlink()

    private_key.cache_clear()
    assert it.talk.app.undo().turn is not None
    assert not (it.root / "workspace" / "a.md").exists()


@needs_git
@pytest.mark.parametrize("path", ["../U/x", ".git/hooks/post-commit", "workspace/.git/hooks/x"])
def test_a_commit_of_a_stranger_leads_to_no_other_place_either(path: str, tmp_path: Path) -> None:
    """A tree that git itself would not make: the turn of it took a file away there."""
    it: GitTalk = git_talk(tmp_path / "home")
    (tmp_path / "U").mkdir()
    identity(it.root)
    (it.root / "evil").write_bytes(DATA)
    tree = it.git("rev-parse", "HEAD^{tree}")
    oid, kind = it.git("hash-object", "-w", "evil"), "100644 blob"
    (it.root / "evil").unlink()
    for name in reversed(path.split("/")):
        listed = f"{kind} {oid}\t{name}\n".encode()
        words = ["git", "-C", str(it.root), "mktree"]
        made = subprocess.run(words, input=listed, check=True, capture_output=True)
        oid, kind = made.stdout.decode().strip(), "040000 tree"
    first = it.git("commit-tree", "-p", "HEAD", "-m", "x", oid)
    turn = it.git(
        *("commit-tree", "-p", first, tree, "-m", "Tidy up"),
        *("-m", "Openclaw: turn\nOpenclaw-Id: deadbeef\nOpenclaw-Session: s"),
    )
    it.git("update-ref", "HEAD", turn)
    assert path in it.git("diff-tree", "-r", "--name-only", first, turn).splitlines()
    assert opened(Home(it.root)).undo().turn is not None
    assert not [*(tmp_path / "U").iterdir()] and not (it.root / path).exists()
