"""What commands change is a turn of the history: taken back by undo, put back by redo."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from openclaw.agent.agent import Agent
from openclaw.cli.main import run
from openclaw.config import load_settings
from openclaw.history.history import History, command
from openclaw.history.turns import Turn
from openclaw.messages import Entry
from openclaw.security.grants import Grant
from openclaw.sessions.store import SessionStore
from openclaw.storage.home import Home
from openclaw.storage.trust_store import trust_home
from tests.fakes.command import CommandLine
from tests.fakes.files import kept_folder, write_files
from tests.fakes.git_home import Snapshot, git, make_repository, snapshot
from tests.fakes.needs import needs_git, posix
from tests.fakes.skill_home import SKILL

claw = CommandLine()

TODO = "# To-dos\n\n## Home\n\n- [ ] paint the fence ^0a0a0a0a\n- [x] fix the tap ^0b0b0b0b\n"
FILES = {
    "workspace/SOUL.md": "# Soul\n",
    "memory/TODO.md": TODO,
    "memory/MEMORY.md": "# Memory\n\n- The key is with Marta\n",
    "memory/inbox/2026-01-01.md": "# Inbox 2026-01-01\n\n- Ada likes tea\n",
    "skills/weather/SKILL.md": SKILL.format("weather"),
    "skills/weather/run.sh": "echo sun\n",
    "skills/.proposed/fold/SKILL.md": SKILL.format("fold"),
    "openclaw.yaml": "# mine\nmodel: ollama/fake:1b\ngrants:\n  - 2026-01-01 host example.org\n",
}
AGENT = {
    "SOUL.md": "# Other\n",
    "MEMORY.md": "# Memory\n\n- Bo plays chess\n",
    "memory/2026-02-01.md": "# Day\n\n- A day\n",
    "skills/fish/SKILL.md": SKILL.format("fish"),
    "skills/with-program/SKILL.md": SKILL.format("with-program"),
    "skills/with-program/go.sh": "echo go\n",
}
COMMANDS = (
    "todo add buy milk --list Home",
    "todo done paint the fence",
    "todo undone fix the tap",
    "todo rm paint the fence",
    "todo rm --list Home",
    "memory add The bins go out on Monday",
    "memory add Note of today --today",
    "memory add The key is with Paul --replaces key",
    "memory forget The key is with Marta --yes",
    "memory review --accept all",
    "memory review --reject all",
    "sessions rename talk Garden",
    "sessions restore talk",
    "sessions fork talk",
    "sessions delete talk --yes",
    "config set model ollama/other:1b",
    "models use ollama/third:1b",
    "policy allow command make test",
    "policy revoke 1",
    "skills disable weather",
    "skills remove weather --yes",
    "skills new knots",
    "skills install {new} --yes",
    "skills install {again} --yes --force",
    "skills review --accept fold",
    "skills review --reject fold",
    "import {notes} --yes",
    "import {agent} --as openclaw --yes",
)


class Place:
    """A home with something of everything, under git or not."""

    def __init__(self, root: Path, *, in_git: bool) -> None:
        shutil.copytree(_made(in_git), root, dirs_exist_ok=True)
        self.home, self.in_git = Home(root / "home"), in_git
        self.new, self.again, self.notes, self.agent = (
            root / name for name in ("weather", "again", "vault", "agent")
        )
        trust_home(self.home)

    def files(self) -> Snapshot:
        return snapshot(self.home.root)

    def do(self, words: str) -> str:
        said = words.format(new=self.new, again=self.again, notes=self.notes, agent=self.agent)
        return claw(*said.split())

    def turns(self) -> list[Turn]:
        return [turn for turn in self.history.turns() if turn.kind != "outside"]

    @property
    def history(self) -> History:
        return History(self.home)

    def check_clean(self) -> None:
        if self.in_git:
            assert git(self.home.root, "status", "--porcelain") == ""


@cache
def _made(in_git: bool) -> Path:
    """The folders of a place, to be copied."""
    root = kept_folder()
    home = Home(root / "home")
    write_files(home.root, FILES)
    (home.skills / "weather" / "run.sh").chmod(0o755)
    store = SessionStore(home.sessions)
    session = store.new("talk")
    session.messages += [Entry(role, f"{n}") for n in range(8) for role in ("user", "assistant")]
    store.save(session)
    store.compact(session, 8, "in short")
    (home.sessions / "talk.notes.md").write_text("# Notes\n", "utf-8")
    new = {"SKILL.md": SKILL.format("storms"), "bin/gust.sh": "echo gust\n"}
    write_files(root / "weather", new)
    (root / "weather" / "bin" / "gust.sh").chmod(0o755)
    write_files(root / "again", {"SKILL.md": SKILL.format("weather"), "new.txt": "new"})
    write_files(root / "vault", {f"page{n}.md": f"# Page {n}\n" for n in range(3)})
    write_files(root / "agent", AGENT)
    if in_git:
        (home.root / ".gitignore").write_text(".openclaw/\n", "utf-8")
        make_repository(home.root)
    return root


@pytest.fixture(params=[pytest.param(True, marks=needs_git, id="git"), False])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return Place(tmp_path, in_git=request.param)


@pytest.mark.parametrize(
    ("place", "words"),
    [*((False, words) for words in COMMANDS), *((True, words) for words in COMMANDS[::4])],
    indirect=["place"],
)
def test_what_a_command_changes_is_a_turn_that_can_be_taken_back(place: Place, words: str) -> None:
    before = place.files()
    place.do(words)
    after = place.files()
    assert after != before
    place.check_clean()
    (turn,) = place.turns()
    noun, verb = words.split()[:2]
    assert turn.subject.startswith(noun if noun == "import" else f"{noun} {verb}")
    assert (turn.kind, turn.session, turn.state) == ("turn", "", "done")
    assert bool(turn.commit) == place.in_git
    assert run(["undo"]) == 0
    assert place.files() == before
    place.check_clean()
    assert run(["redo"]) == 0
    assert place.files() == after
    place.check_clean()


def test_a_command_that_changes_nothing_is_no_turn(place: Place) -> None:
    place.do("skills disable weather")
    before = place.files()
    place.do("skills disable weather")
    assert run(["todo", "rm", "nothing of that name"]) == 2
    assert run(["todo", "add", ""]) == 2
    assert run(["memory", "add", "The key is with Marta"]) == 0
    assert run(["import", str(place.notes), "--dry-run"]) == 0
    assert len(place.turns()) == 1 and place.files() == before
    assert not list((place.home.private / "locks").glob("command-*"))


def test_a_command_has_no_number_by_which_it_is_found(place: Place) -> None:
    place.do("todo add buy milk")
    for ref in ("0", ":0"):
        assert f"there is no turn '{ref}'" in claw.error("show", ref, code=2)


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("todo add", "memory/TODO.md"),
        ("memory add", "memory/MEMORY.md"),
        ("sessions rename talk", "sessions/talk.json"),
    ],
)
def test_a_secret_in_what_was_typed_is_kept_apart(place: Place, command: str, file: str) -> None:
    key = "ghp_" + "aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zC2eF5"
    claw(*command.split(), f"renew {key} soon")
    assert claw.err == "openclaw: kept apart: github-token-1 (the model sees only the name)\n"
    masked = "renew {{secret:github-token-1}} soon"
    assert masked in (place.home.root / file).read_text("utf-8")
    assert [turn.subject for turn in place.turns()] == [f"{command} {masked}"]


@needs_git
def test_what_the_user_has_not_committed_stays_out_of_it(tmp_path: Path) -> None:
    place = Place(tmp_path, in_git=True)
    root = place.home.root
    (root / "workspace" / "SOUL.md").write_text("# Mine\n", "utf-8")
    (root / "memory" / "TODO.md").write_text(TODO + "- [ ] by hand ^0c0c0c0c\n", "utf-8")
    git(root, "add", "workspace/SOUL.md")
    place.do("todo add buy milk")
    assert git(root, "status", "--porcelain") == "M  workspace/SOUL.md"
    subjects = git(root, "log", "--format=%s", "-2").splitlines()
    assert subjects == ["todo add buy milk", "Edited outside: memory/TODO.md"]
    assert run(["undo"]) == 0
    assert "by hand" in (root / "memory" / "TODO.md").read_text("utf-8")


@needs_git
def test_a_command_in_the_middle_of_a_merge_is_committed_afterwards(tmp_path: Path) -> None:
    place = Place(tmp_path, in_git=True)
    (place.home.root / ".git" / "MERGE_HEAD").write_text(git(place.home.root, "rev-parse", "HEAD"))
    place.do("todo add buy milk")
    assert "not committed yet: a merge" in claw.err
    (place.home.root / ".git" / "MERGE_HEAD").unlink()
    place.do("todo add buy bread")
    place.check_clean()
    assert [turn.subject for turn in place.turns()] == ["todo add buy bread", "todo add buy milk"]


def test_a_command_works_while_the_settings_cannot_be_read(place: Place) -> None:
    good = place.home.settings.read_text("utf-8")
    place.home.settings.write_text("model: [\n", "utf-8")
    place.do("todo add buy milk")
    assert "not committed yet: " in claw.err
    place.home.settings.write_text(good, "utf-8")
    place.do("todo add buy bread")
    place.check_clean()
    assert run(["undo", "2"]) == 0
    assert (place.home.memory / "TODO.md").read_text("utf-8") == TODO


@posix
def test_a_home_that_is_reached_through_a_link_is_recorded_too(place: Place) -> None:
    before = place.files()
    link = place.home.root.parent / "link"
    link.symlink_to(place.home.root)
    for words in COMMANDS:
        if "{" not in words and "fold" not in words:
            run(["--home", str(link), *words.split()])
    place.check_clean()
    assert len(place.turns()) > 10
    assert run(["--home", str(link), "undo", str(len(place.turns()))]) == 0
    assert place.files() == before


def test_an_import_of_many_notes_is_one_turn(place: Place) -> None:
    write_files(place.notes, {f"many/{n}.md": f"# {n}\n" for n in range(60)})
    before = place.files()
    place.do("import {notes} --yes")
    assert len(place.turns()) == 1 and len(place.files()) == len(before) + 63
    place.check_clean()
    told = claw("undo").splitlines()
    assert place.files() == before and len(told) < 30 and "  and 43 more files" in told


def test_a_grant_for_good_in_a_turn_is_a_turn_of_its_own(place: Place) -> None:
    before = place.files()
    app = Agent.open(place.home, load_settings(place.home))
    app.grant(Grant("command", "make test"), lasting=True)
    (turn,) = place.turns()
    assert turn.subject == "always: command make test"
    place.check_clean()
    assert run(["undo"]) == 0 and place.files() == before
    assert not [grant for grant in load_settings(place.home).grants if "make" in grant]


def test_objects_as_json_name_the_turn(place: Place) -> None:
    for words in (
        "memory add Ada sings --json",
        "skills install {new} --yes --json",
        "skills remove storms --yes --json",
        "import {notes} --yes --json",
    ):
        assert json.loads(place.do(words))["turn"] == place.turns()[0].id


def test_history_tells_of_a_command(place: Place) -> None:
    place.do("todo add buy milk --list Home")
    (turn,) = place.turns()
    for words, expected in {
        "log": f"{turn.id}  ",
        "show": "- [ ] buy milk",
        "diff": "+- [ ] buy milk",
        "blame memory/TODO.md:7": "todo add buy milk",
    }.items():
        assert expected in place.do(words)


# -------- a kill in the middle of a command


KILLED = """\
import os, sys
from pathlib import Path
from openclaw.history.history import command
from openclaw.storage.home import Home
from openclaw.memory.todos import TodoFile
home = Home(Path(sys.argv[1]))
with command(home, "todo add buy milk") as turn:
    file = TodoFile(home.memory / "TODO.md")
    file.keep = turn.keep
    file.add("Home", ["buy milk"])
    os._exit(9)
"""


def test_a_command_that_was_killed_is_closed_and_can_be_taken_back(place: Place) -> None:
    before = place.files()
    words = [sys.executable, "-c", KILLED, str(place.home.root)]
    assert subprocess.run(words, check=False).returncode == 9
    assert place.turns()[0].state == "running"
    place.do("todo add buy bread")
    claw("undo")
    assert "a command was interrupted (todo add buy milk)" in claw.err
    states = {turn.subject: turn.state for turn in place.turns()}
    assert states["todo add buy milk"] == "interrupted"
    assert states["todo add buy bread"] == "done"
    claw("undo")
    assert place.files() == before
    place.check_clean()


def test_a_command_that_still_runs_is_not_taken_for_a_killed_one(place: Place) -> None:
    with command(place.home, "config set model ollama/other:1b") as turn:
        before = (place.home.root / "workspace" / "SOUL.md").read_bytes()
        turn.keep(place.home.root / "workspace" / "SOUL.md", before, b"new\n")
        place.do("todo add buy milk")
        assert run(["undo"]) == 0
        (place.home.root / "workspace" / "SOUL.md").write_bytes(b"new\n")
    subjects = {turn.subject: turn.state for turn in place.turns()}
    assert subjects["config set model ollama/other:1b"] == "done"
    place.check_clean()


def test_what_a_command_did_before_it_failed_can_be_taken_back(place: Place) -> None:
    path = place.home.root / "workspace" / "SOUL.md"
    with pytest.raises(RuntimeError), command(place.home, "import notes") as turn:
        turn.keep(path, path.read_bytes(), b"new\n")
        path.write_bytes(b"new\n")
        raise RuntimeError
    (turn_of_it,) = place.turns()
    assert turn_of_it.state == "interrupted"
    assert run(["undo"]) == 0 and path.read_text("utf-8") == "# Soul\n"
