"""Turns in a home that is a git repository, seen from outside: whatever state git is in, a turn is
one commit of its own files, and the user's work is as it was."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from openclaw.history.history import History
from openclaw.history.record import Journal, new_turn
from tests.fakes.git_home import GitTalk, git, git_talk, identity, index_untouched, snapshot, waits
from tests.fakes.needs import needs_git, posix
from tests.fakes.talk import answer, new_home, talk

pytestmark = needs_git
A = "workspace/a.md"


@pytest.fixture
def it(tmp_path: Path) -> GitTalk:
    return git_talk(tmp_path / "home")


# -------- a turn is one commit


def test_a_turn_is_one_commit_with_its_prompt_as_the_subject(it: GitTalk) -> None:
    it.write(A, "one\n")
    it.write("workspace/b.md", "two\n")
    assert it.log() == ["Write workspace/b.md.", f"Write {A}.", "A new home"]
    assert it.changed() == ["workspace/b.md"] and it.changed("HEAD~") == [A]
    assert it.dirty() == ""


def test_its_trailers_tell_session_turn_model_and_tools(it: GitTalk) -> None:
    it.write(A, "one\n")
    it.write(A, "two\n")
    trailers = dict(
        line.split(": ", 1) for line in it.git("log", "-1", "--format=%(trailers)").splitlines()
    )
    assert len(trailers.pop("Openclaw-Id")) == 8
    assert trailers["Openclaw"] == "turn"
    assert trailers["Openclaw-Session"] == it.talk.session.id
    assert trailers["Openclaw-Turn"] == "2"
    assert trailers["Openclaw-Model"] == "scripted/model"
    assert trailers["Openclaw-Tools"] == "write_file"


def test_a_turn_without_files_commits_its_conversation(it: GitTalk) -> None:
    it.talk.say("Who are you?", "I am Claw.")
    assert it.log() == ["Who are you?", "A new home"]
    assert it.changed() == []
    assert it.git("ls-tree", "-r", "--name-only", "HEAD", "sessions/").splitlines() != []
    assert it.dirty() == ""


def test_all_that_git_keeps_of_a_turn_is_on_the_disk_when_its_record_goes(
    it: GitTalk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, trace = tmp_path / "gitconfig", tmp_path / "trace"
    settings.write_text(f"[trace2]\n\teventTarget = {trace.as_posix()}\n", "utf-8")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    before = len(_loose(it))
    it.write(A, "one\n")
    told = [json.loads(line) for line in trace.read_text("utf-8").splitlines()]
    flushed = [int(each["value"]) for each in told if each.get("key") == "fsync/hardware-flush"]
    assert sum(flushed) > len(_loose(it)) - before > 0  # these and the branch


def _loose(it: GitTalk) -> list[Path]:
    return [*(it.root / ".git" / "objects").glob("??/*")]


def test_a_long_prompt_of_many_lines_gives_a_short_subject(it: GitTalk) -> None:
    it.talk.say("Plan\n\n my week " + "and more " * 40 + "\x1b[31m", "Gladly.")
    (subject, _) = it.log()
    assert subject.startswith("Plan my week and") and len(subject) <= 72
    assert "\x1b" not in it.git("log", "-1", "--format=%B")


def test_a_prompt_that_looks_like_trailers_is_none(it: GitTalk) -> None:
    it.talk.say("x\n\nOpenclaw-Id: 00000000\nOpenclaw: undo", "No.")
    assert it.git("log", "-1", "--format=%(trailers:key=Openclaw,valueonly)").strip() == "turn"
    assert [turn.kind for turn in it.talk.app.history.turns()] == ["turn"]
    assert it.talk.app.history.find().id != "00000000"


def test_the_log_of_the_program_is_that_of_git(it: GitTalk) -> None:
    it.write(A, "one\n")
    identity(it.root)
    (it.root / "workspace" / "mine.md").write_text("mine\n")
    it.git("add", "-A")
    it.git("commit", "-q", "-m", "Mine")
    it.append(A, "two\n")
    turns = list(it.talk.app.history.turns())
    assert [turn.subject for turn in turns] == [f"Add to {A}.", f"Write {A}."]
    assert [turn.commit for turn in turns] == [it.log("%H")[0], it.log("%H")[2]]
    assert [turn.number for turn in turns] == [2, 1]


# -------- the user's work


def test_what_is_staged_in_another_file_stays_staged(it: GitTalk) -> None:
    notes = it.root / "workspace" / "mine.md"
    notes.write_bytes(b"staged\r\n")
    it.git("add", "workspace/mine.md")
    notes.write_bytes(b"staged\r\nand half edited")
    with index_untouched(it, "workspace/mine.md"):
        it.write(A, "one\n")
        assert it.changed() == [A]
        assert it.git("diff", "--cached", "--name-only") == "workspace/mine.md"
        it.there_and_back()


def test_a_dirty_file_that_the_turn_leaves_alone_stays_dirty(it: GitTalk) -> None:
    soul = it.root / "workspace" / "SOUL.md"
    soul.write_bytes(soul.read_bytes() + b"mine\n")
    with index_untouched(it, "workspace/SOUL.md"):
        it.write(A, "one\n")
    assert it.dirty().strip() == "M workspace/SOUL.md"


def test_the_users_edit_of_the_same_file_is_committed_first_as_the_users(it: GitTalk) -> None:
    identity(it.root)
    it.write(A, "one\n")
    (it.root / A).write_text("one\nmine\n")
    it.append(A, "two\n")
    subjects = it.log("%s|%an|%ae")
    assert subjects[0] == f"Add to {A}.|openclaw|openclaw@localhost"
    assert subjects[1].startswith("Edited outside: workspace/a.md|Ada|ada@example.org")
    assert it.blob(A, "HEAD~") == b"one\nmine\n" and it.blob(A) == b"one\nmine\ntwo\n"
    assert it.changed("HEAD~") == [A] and it.dirty() == ""
    assert [turn.kind for turn in it.talk.app.history.turns()] == ["turn", "outside", "turn"]


def test_a_commit_of_the_user_may_have_any_words(it: GitTalk) -> None:
    identity(it.root)
    (it.root / A).write_text("one\n")
    it.git("add", A)
    it.git("commit", "--quiet", "-m", "\x03first\x03 \x02line\n\nmore")
    found = [(turn.kind, turn.subject) for turn, _ in it.talk.app.history.versions(A) if turn]
    assert found == [("outside", "\x03first\x03 \x02line")]


def test_what_is_staged_of_the_same_file_stays_staged(it: GitTalk) -> None:
    identity(it.root)
    it.write(A, "one\n")
    (it.root / A).write_text("one\nstaged\n")
    it.git("add", A)
    (it.root / A).write_text("one\nstaged\nnot staged\n")
    staged = it.staged(A)
    it.append(A, "two\n")
    assert it.blob(A) == b"one\nstaged\nnot staged\ntwo\n" and it.blob(A, "HEAD~") != it.blob(A)
    assert it.staged(A) == staged
    assert (it.root / A).read_bytes() == it.blob(A)


def test_a_file_that_the_user_added_and_did_not_commit_is_his_first(it: GitTalk) -> None:
    (it.root / A).write_text("mine\n")
    it.append(A, "two\n")
    assert it.blob(A, "HEAD~") == b"mine\n" and it.blob(A) == b"mine\ntwo\n"
    assert it.log("%an")[:2] == ["openclaw", "you"]


def test_a_file_removed_from_the_index_comes_back_with_the_turn_only(it: GitTalk) -> None:
    it.write(A, "one\n")
    it.git("rm", "--cached", "-q", "workspace/USER.md")
    it.append(A, "two\n")
    assert it.staged("workspace/USER.md") == ""
    assert it.changed() == [A]


# -------- identity, signing, hooks


def test_no_identity_is_needed(it: GitTalk) -> None:
    assert it.git("config", "user.name", fails=True) == ""
    it.write(A, "one\n")
    assert it.log("%an <%ae> %cn <%ce>")[0] == (
        "openclaw <openclaw@localhost> openclaw <openclaw@localhost>"
    )


def test_signing_that_fails_is_not_asked_for(it: GitTalk) -> None:
    for key, value in (("commit.gpgsign", "true"), ("gpg.program", "false"), ("tag.gpgSign", "1")):
        it.git("config", key, value)
    it.write(A, "one\n")
    assert it.log()[0] == f"Write {A}."
    it.there_and_back()


@posix
@pytest.mark.parametrize("elsewhere", [False, True])
def test_hooks_do_not_run(elsewhere: bool, it: GitTalk, tmp_path: Path) -> None:
    hooks = tmp_path / "hooks" if elsewhere else it.root / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    names = (
        "pre-commit", "commit-msg", "prepare-commit-msg", "post-commit", "post-rewrite",
        "reference-transaction", "post-index-change", "post-checkout", "pre-auto-gc",
    )  # fmt: skip
    for name in names:
        (hooks / name).write_text(f"#!/bin/sh\necho {name} >> '{tmp_path}/ran'\nexit 1\n")
        (hooks / name).chmod(0o755)
    if elsewhere:
        it.git("config", "core.hooksPath", str(hooks))
    it.write(A, "one\n")
    assert it.log()[0] == f"Write {A}."
    it.there_and_back()
    assert not (tmp_path / "ran").exists()


# -------- where HEAD is


def test_a_detached_head_takes_the_commit_and_no_branch_moves(it: GitTalk) -> None:
    it.write(A, "one\n")
    it.git("checkout", "-q", "--detach")
    main = it.git("rev-parse", "main")
    it.append(A, "two\n")
    assert it.git("rev-parse", "main") == main == it.git("rev-parse", "HEAD~")
    assert it.git("symbolic-ref", "-q", "HEAD", fails=True) == ""
    assert it.changed() == [A] and it.dirty() == ""
    it.there_and_back()


def test_a_branch_of_the_user_takes_the_commit(it: GitTalk) -> None:
    it.git("checkout", "-q", "-b", "try/it")
    main = it.git("rev-parse", "main")
    it.write(A, "one\n")
    assert it.git("rev-parse", "main") == main == it.git("rev-parse", "try/it~")
    it.there_and_back()


def test_the_first_commit_of_a_repository_may_be_a_turn(tmp_path: Path) -> None:
    root = new_home(tmp_path / "home")
    git(root, "init", "-q", "--initial-branch=start")
    it = git_talk(root)
    it.write(A, "one\n")
    assert it.log() == [f"Write {A}."] and it.git("branch", "--show-current") == "start"
    assert it.changed() == [A]
    assert "?? workspace/SOUL.md" in it.git("status", "--porcelain", "-uall")
    it.there_and_back()


def test_a_linked_worktree_is_a_home_of_its_own(tmp_path: Path) -> None:
    first = git_talk(tmp_path / "first")
    first.git("worktree", "add", "-q", "-b", "second", str(tmp_path / "second"))
    it = git_talk(tmp_path / "second")
    main = first.git("rev-parse", "main")
    it.write(A, "one\n")
    assert it.log()[0] == f"Write {A}." and it.changed() == [A] and it.dirty() == ""
    assert first.git("rev-parse", "main") == main and not (first.root / A).exists()
    assert first.git("rev-parse", "second~") == main
    it.there_and_back()


def _conflict(it: GitTalk, how: str) -> None:
    """Leave the repository in the middle of something of the user's."""
    identity(it.root)
    it.git("checkout", "-q", "-b", "side")
    for branch, text in (("side", "side\n"), ("main", "main\n")):
        it.git("checkout", "-q", branch)
        (it.root / "workspace" / "c.md").write_text(text)
        it.git("add", "-A", "workspace")
        it.git("commit", "-q", "-m", f"On {branch}")
    words = {
        "merge": ("merge", "side"),
        "rebase": ("rebase", "side"),
        "cherry-pick": ("cherry-pick", "side"),
        "revert": ("revert", "--no-edit", "HEAD~"),
    }[how]
    if how == "revert":
        (it.root / "workspace" / "c.md").write_text("more\n")
        it.git("commit", "-q", "-a", "-m", "More")
    it.git(*words, fails=True)


@pytest.mark.parametrize("how", ["merge", "rebase", "cherry-pick", "revert"])
def test_during_something_of_the_users_turns_wait_and_are_committed_later(
    how: str, it: GitTalk
) -> None:
    _conflict(it, how)
    head = it.git("rev-parse", "HEAD")
    index = it.git("ls-files", "-s")
    said = waits(it.write(A, "one\n"))
    assert f"a {how}" in said or how == "revert", said
    it.append(A, "two\n")
    assert it.git("rev-parse", "HEAD") == head and it.git("ls-files", "-s") == index
    assert [turn.subject for turn in it.talk.app.history.turns()][:2] == [
        f"Add to {A}.",
        f"Write {A}.",
    ]
    it.git(how, "--abort")
    assert not waits(it.append(A, "three\n"))
    assert it.log()[:3] == [f"Add to {A}.", f"Add to {A}.", f"Write {A}."]
    assert [it.blob(A, f"HEAD~{n}") for n in (2, 1, 0)] == [
        b"one\n",
        b"one\ntwo\n",
        b"one\ntwo\nthree\n",
    ]
    assert it.dirty() == ""


def test_a_bisect_waits_too(it: GitTalk) -> None:
    identity(it.root)
    it.write(A, "one\n")
    it.git("bisect", "start")
    assert "bisect" in waits(it.append(A, "two\n"))
    it.git("bisect", "reset")
    assert not waits(it.append(A, "three\n"))
    assert len(it.log()) == 4


def test_what_waits_can_be_taken_back_and_put_back(it: GitTalk) -> None:
    _conflict(it, "merge")
    it.write(A, "one\n")
    it.append(A, "two\n")
    it.there_and_back()
    it.talk.app.undo(2)
    assert not (it.root / A).exists()
    it.git("merge", "--abort")
    it.talk.app.redo()
    assert (it.root / A).read_bytes() == b"one\ntwo\n" == it.blob(A)


def test_a_locked_index_waits_and_stays(it: GitTalk) -> None:
    lock = it.root / ".git" / "index.lock"
    lock.write_bytes(b"")
    assert "index.lock" in waits(it.write(A, "one\n"))
    assert it.log() == ["A new home"] and lock.exists()
    lock.unlink()
    assert not waits(it.append(A, "two\n"))
    assert it.log()[:2] == [f"Add to {A}.", f"Write {A}."]
    assert it.dirty() == ""


# -------- settings of the user's


@pytest.mark.parametrize(
    "settings",
    [
        {
            "core.splitIndex": "true",
            "core.fsmonitor": "no-such-program",
            "core.untrackedCache": "true",
            "core.logAllRefUpdates": "false",
        },
        {"index.version": "4", "core.quotePath": "true", "core.precomposeUnicode": "false"},
        {
            "status.showUntrackedFiles": "no",
            "log.showSignature": "true",
            "log.showRoot": "false",
            "format.pretty": "oneline",
            "color.ui": "always",
            "diff.noprefix": "true",
            "diff.external": "false",
            "core.pager": "false",
        },
    ],
    ids=lambda settings: next(iter(settings)),
)
def test_settings_of_the_user_change_nothing(settings: dict[str, str], it: GitTalk) -> None:
    for key, value in settings.items():
        it.git("config", key, value)
    it.git("update-index", "--refresh")
    it.write(A, "one\n")
    it.append(A, "two\n")
    assert it.git("log", "--format=%s", "--no-color").splitlines()[:1] == [f"Add to {A}."]
    assert [turn.subject for turn in it.talk.app.history.turns()] == [
        f"Add to {A}.",
        f"Write {A}.",
    ]
    it.there_and_back()
    git(it.root, "-c", "core.fsmonitor=false", "fsck", "--strict", "--no-dangling")


def test_a_repository_of_sha256_is_one(tmp_path: Path) -> None:
    root = new_home(tmp_path / "home")
    git(root, "init", "-q", "--object-format=sha256")
    git(root, "add", "-A")
    identity(root)
    git(root, "commit", "-q", "-m", "A home")
    it = git_talk(root)
    it.write(A, "one\n")
    it.append(A, "two\n")
    it.there_and_back()
    assert len(it.log("%H")[0]) == 64 and it.dirty() == ""


# -------- homes that are not committed to


def _kept_in_the_home(it: GitTalk) -> None:
    """Turns leave no commit, and the same commands work."""
    head = git(it.root, "rev-parse", "-q", "--verify", "HEAD") if _in_git(it.root) else ""
    before = snapshot(it.root)
    it.write(A, "one\n")
    it.append(A, "two\n")
    if _in_git(it.root):
        assert git(it.root, "rev-parse", "-q", "--verify", "HEAD") == head
    subjects = [turn.subject for turn in it.talk.app.history.turns()]
    assert subjects == [f"Add to {A}.", f"Write {A}."]
    it.there_and_back()
    it.talk.app.undo(2)
    assert snapshot(it.root) == before
    it.talk.app.redo()
    assert (it.root / A).read_bytes() == b"one\ntwo\n"


def _in_git(root: Path) -> bool:
    words = ["git", "-C", str(root), "rev-parse", "--git-dir"]
    done = subprocess.run(words, capture_output=True, check=False)
    return done.returncode == 0


def test_a_home_inside_another_repository_is_not_committed_to(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    identity(tmp_path)
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "Outer")
    it = GitTalk(talk(tmp_path / "home"))
    _kept_in_the_home(it)
    assert git(tmp_path, "log", "--format=%s") == "Outer"
    assert git(tmp_path, "diff", "--cached", "--name-only") == ""


def test_the_source_of_the_program_is_not_committed_to(it: GitTalk) -> None:
    (it.root / "openclaw").mkdir()
    (it.root / "openclaw" / "__main__.py").touch()
    (it.root / "pyproject.toml").write_text('[project]\nname = "openclaw"\n')
    _kept_in_the_home(git_talk(it.root))
    assert it.log() == ["A new home"]


def test_committing_can_be_switched_off(it: GitTalk) -> None:
    from openclaw.config.settings import Git

    _kept_in_the_home(git_talk(it.root, git=Git(auto_commit=False)))
    assert it.log() == ["A new home"]


def test_a_home_without_git_keeps_the_same_history(tmp_path: Path) -> None:
    _kept_in_the_home(GitTalk(talk(tmp_path / "home")))


def test_where_git_is_not_installed_the_same_commands_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    it = git_talk(tmp_path / "home")
    before = snapshot(it.root)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    it.write(A, "one\n")
    it.append(A, "two\n")
    assert [t.subject for t in it.talk.app.history.turns()] == [f"Add to {A}.", f"Write {A}."]
    it.there_and_back()
    it.talk.app.undo(2)
    assert snapshot(it.root) == before


def test_a_caller_in_another_repository_is_not_written_to(
    it: GitTalk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    for name, value in (
        ("GIT_DIR", other / ".git"),
        ("GIT_WORK_TREE", other),
        ("GIT_INDEX_FILE", other / "index"),
        ("GIT_OBJECT_DIRECTORY", other / "objects"),
        ("GIT_AUTHOR_NAME", "somebody"),
        ("GIT_COMMITTER_DATE", "2001-01-01T00:00:00Z"),
        ("GIT_NAMESPACE", "x"),
        ("GIT_CONFIG_COUNT", "nonsense"),
        ("GIT_TRACE", "1"),
        ("GIT_CEILING_DIRECTORIES", it.root.parent),
    ):
        monkeypatch.setenv(name, str(value))
    it.write(A, "one\n")
    it.there_and_back()
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        if name not in ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM"):
            monkeypatch.delenv(name)
    assert not (other / "index").exists() and not (other / "objects").exists()
    assert git(other, "rev-parse", "-q", "--verify", "HEAD", fails=True) == ""
    assert it.log()[-2:] == [f"Write {A}.", "A new home"] and it.log("%an")[0] == "openclaw"
    assert it.dirty() == ""


def test_a_pushed_branch_with_a_merge_of_the_users_is_read_along_its_own_line(it: GitTalk) -> None:
    identity(it.root)
    it.write(A, "one\n")
    it.git("checkout", "-q", "-b", "side", "HEAD~")
    (it.root / "workspace" / "side.md").write_text("side\n")
    it.git("add", "-A", "workspace")
    it.git("commit", "-q", "-m", "Side")
    it.git("checkout", "-q", "main")
    it.git("merge", "-q", "--no-edit", "side")
    it.append(A, "two\n")
    assert it.talk.app.history.find().subject == f"Add to {A}."
    it.there_and_back()
    it.talk.app.undo(2)
    assert not (it.root / A).exists() and (it.root / "workspace" / "side.md").exists()


def test_a_turn_that_the_user_amended_or_squashed_away_does_no_harm(it: GitTalk) -> None:
    identity(it.root)
    it.write(A, "one\n")
    it.append(A, "two\n")
    it.git("reset", "-q", "--soft", "HEAD~2")
    it.git("commit", "-q", "-m", "All of it, by me")
    assert list(it.talk.app.history.turns()) == []
    it.append(A, "three\n")
    assert [turn.number for turn in it.talk.app.history.turns()] == [3]
    it.there_and_back()


def test_an_answer_that_changes_nothing_twice_is_two_commits(it: GitTalk) -> None:
    it.talk.say("Hi.", answer("Hello."))
    it.talk.say("Hi.", answer("Hello."))
    assert it.log() == ["Hi.", "Hi.", "A new home"]


@pytest.mark.parametrize("now", ["new\n", "old\n", "newest\n"])
def test_what_others_committed_since_the_turn_began_is_not_put_back(it: GitTalk, now: str) -> None:
    home = it.talk.app.home
    history = History(home)
    it.write(A, "first\n")
    turn = new_turn("Run it.", session="other")
    journal = Journal.begin(home, turn, history.head())
    name = "workspace/by-hand.bin"
    journal.changed([name], lambda _: None, lambda _: (b"old\n", False))
    (it.root / name).write_text("new\n")
    identity(it.root)
    it.git("add", name)
    it.git("commit", "-qm", "by hand")
    (it.root / name).write_text(now)
    journal.finish("done")
    assert history.publish() == ""
    assert it.blob(name) == (b"old\n" if now == "old\n" else b"new\n")
    (step,) = [step for step in history.find(turn.id).steps if step.path == name]
    assert history.read(step.after) == b"old\n"


@pytest.mark.parametrize(
    "words", [(), ("pack-refs", "--all"), ("checkout", "-q", "--detach"), ("switch", "-qc", "a/b")]
)
def test_a_turn_knows_the_commit_that_it_finds(it: GitTalk, words: tuple[str, ...]) -> None:
    if words:
        it.git(*words)
    assert History(it.talk.app.home).head() == it.git("rev-parse", "HEAD").strip()


def test_there_is_no_commit_before_the_first_one(it: GitTalk) -> None:
    it.git("checkout", "-q", "--orphan", "new")
    assert History(it.talk.app.home).head() == ""
    assert History(it.talk.app.home, auto_commit=False).head() == ""
