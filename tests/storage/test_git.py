"""A repository that came from elsewhere has git run nothing, and leads it nowhere else."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from openclaw.cli.main import run
from openclaw.maintenance.restore import restore
from openclaw.storage.git import Git, is_own
from openclaw.storage.git_remote import Remote
from openclaw.storage.git_settings import find_repository_problem
from openclaw.storage.new_home import create_home
from tests.fakes.git_home import GitTalk, git, git_talk, identity
from tests.fakes.needs import needs_git

pytestmark = [needs_git, pytest.mark.skipif(os.name == "nt", reason="links of POSIX")]
A = "workspace/a.md"
HOOKS = (
    "applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit",
    "prepare-commit-msg", "commit-msg", "post-commit", "pre-rebase", "post-checkout", "post-merge",
    "pre-push", "pre-receive", "update", "proc-receive", "post-receive", "post-update",
    "reference-transaction", "push-to-checkout", "pre-auto-gc", "post-rewrite",
    "sendemail-validate", "fsmonitor-watchman", "post-index-change",
)  # fmt: skip
# Of git-config(1), gitattributes(5), githooks(5), git-hook(1): what names a command.
KEYS = (
    "alias.log", "alias.status", "browser.x.cmd", "core.alternateRefsCommand", "core.askPass",
    "core.editor", "core.fsmonitor", "core.gitProxy", "core.pager", "core.sshCommand",
    "credential.helper", "credential.https://example.org.helper", "diff.external",
    "diff.x.command", "diff.x.textconv", "difftool.x.cmd", "filter.x.clean", "filter.x.process",
    "filter.x.smudge", "gc.recentObjectsHook", "gpg.program", "gpg.openpgp.program",
    "gpg.ssh.program", "gpg.ssh.defaultKeyCommand", "gpg.x509.program", "guitool.x.cmd",
    "hook.x.command", "interactive.diffFilter", "man.x.cmd", "merge.x.driver", "mergetool.x.cmd",
    "pager.diff", "pager.log", "remote.x.receivepack", "remote.x.uploadpack",
    "sendemail.smtpServer", "sequence.editor", "tar.tar.command", "trailer.x.cmd",
    "trailer.x.command", "uploadpack.packObjectsHook", "web.browser",
)  # fmt: skip
OTHERS = {
    "commit.gpgSign": "true", "tag.gpgSign": "true", "log.showSignature": "true",
    "filter.x.required": "true", "diff.x.cachetextconv": "true", "gc.auto": "1",
    "extensions.partialClone": "x", "remote.x.promisor": "true", "protocol.allow": "always",
    "protocol.ext.allow": "always", "merge.default": "x",
}  # fmt: skip
ATTRIBUTES = "* filter=x diff=x merge=x ident text working-tree-encoding=UTF-8\n"


def marking(folder: Path, name: str) -> str:
    """A command that leaves a file with that name, and then does as the keys' commands do."""
    return f"touch '{folder}/{name.replace('/', '_').replace(':', '_')}'; cat #"


def make_hostile(top: Path, marks: Path) -> None:
    """Let everything in the repository of `top` that may name a command name one."""
    marks.mkdir(exist_ok=True)
    folder = top / ".git"
    for name in HOOKS:
        path = folder / "hooks" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\ntouch '{marks}/hook-{name}'\n")
        path.chmod(0o755)
        git(top, "config", "--add", "hook.x.event", name)
    included = top / "workspace" / "included.conf"
    git(top, "config", "--file", str(included), "filter.x.clean", marking(marks, "included"))
    git(top, "config", "core.hooksPath", ".git/hooks")
    for key in KEYS:
        program = "!" if key.startswith(("alias.", "credential.")) else ""
        git(top, "config", key, program + marking(marks, key))
    for key, value in OTHERS.items():
        git(top, "config", key, value)
    git(top, "config", "remote.x.url", f"ext::sh -c touch% {marks}/ext")
    git(top, "config", "submodule.x.update", f"!touch {marks}/submodule")
    git(top, "config", "extensions.worktreeConfig", "true")
    git(top, "config", "--file", str(folder / "config.worktree"), "diff.external", "false")
    git(top, "config", "--add", "include.path", "../workspace/included.conf")
    (top / ".gitattributes").write_text(ATTRIBUTES)
    (folder / "info").mkdir(exist_ok=True)
    (folder / "info" / "attributes").write_text(ATTRIBUTES)


def look_around(root: Path, archive: Path) -> None:
    """All that a user does in a home without a model."""
    home = ("--home", str(root))
    for words in (
        ("log",), ("log", "--file", A), ("log", "--actions"), ("diff",), ("diff", "--all"),
        ("show",), ("blame", A), ("doctor",), ("doctor", "--deep"), ("doctor", "--fix"),
        ("sessions", "list"), ("skills", "list"), ("memory", "lint", "--staged"),
        ("todo", "list"), ("todo", "add", "call"), ("context",), ("usage",),
        ("init", str(root)), ("backup", str(archive)), ("undo",), ("redo",),
    ):  # fmt: skip
        run([*home, *words])


def told(marks: Path) -> list[str]:
    return sorted(path.name for path in marks.iterdir())


@pytest.fixture
def it(tmp_path: Path) -> GitTalk:
    it = git_talk(tmp_path / "home")
    identity(it.root)
    it.write(A, "one\n")
    return it


def test_nothing_that_a_repository_names_is_run(it: GitTalk, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    make_hostile(it.root, marks)
    (it.root / A).write_text("one\nedited\n")  # so that git has to look into it
    it.append(A, "two\n")
    it.write("workspace/b.md", "one\n")
    assert told(marks) == []
    assert Git(it.root).says("log", "-1", "--format=%s") == "Write workspace/b.md."
    it.there_and_back()
    look_around(it.root, tmp_path / "b.tar.gz")
    assert told(marks) == []
    it.talk.app.close()
    copy = restore(tmp_path / "b.tar.gz", tmp_path / "copy")
    look_around(copy.root, tmp_path / "again.tar.gz")
    assert told(marks) == []
    git(it.root, "status", fails=True)  # and yet it was a trap
    assert told(marks)


def test_what_is_missing_is_fetched_from_nobody(it: GitTalk, tmp_path: Path) -> None:
    """A partial clone asks the address that it names for what it has not, by any command."""
    it.append(A, "two\n")
    oids = [it.git("rev-parse", f"{commit}:{A}") for commit in ("HEAD", "HEAD~")]
    make_hostile(it.root, tmp_path / "marks")
    for oid in oids:
        (it.root / ".git" / "objects" / oid[:2] / oid[2:]).unlink()
    look_around(it.root, tmp_path / "b.tar.gz")
    assert told(tmp_path / "marks") == []


def test_a_repository_around_the_home_has_it_run_nothing(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    create_home(tmp_path / "home")
    assert not (tmp_path / "home" / ".git").exists()
    (tmp_path / "workspace").mkdir()
    git(tmp_path, "add", "home")
    make_hostile(tmp_path, tmp_path / "marks")
    it = git_talk(tmp_path / "home")
    it.write("memory/MEMORY.md", "- one\n")
    look_around(it.root, tmp_path / "b.tar.gz")
    assert told(tmp_path / "marks") == []


def test_a_home_that_poses_as_a_repository_is_none(tmp_path: Path) -> None:
    create_home(tmp_path / "home")
    shutil.rmtree(tmp_path / "home" / ".git")
    git(tmp_path, "init", "-q", "--bare", "bare")
    shutil.copytree(tmp_path / "bare", tmp_path / "home", dirs_exist_ok=True)
    git(tmp_path / "home", "config", "alias.x", "!true")
    it = git_talk(tmp_path / "home")
    it.write(A, "one\n")
    assert not is_own(it.root) and Git(it.root).says("rev-parse", "--git-dir") == ""


def test_a_pipe_in_place_of_the_repository_is_none(it: GitTalk) -> None:
    shutil.rmtree(it.root / ".git")
    os.mkfifo(it.root / ".git")
    again = git_talk(it.root)
    again.write(A, "two\n")
    run(["--home", str(it.root), "doctor"])
    assert not is_own(it.root)


def test_a_home_that_is_a_submodule_is_one_of_its_own(it: GitTalk, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "top")
    words = ("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(it.root), "home")
    git(tmp_path / "top", *words)
    below = git_talk(tmp_path / "top" / "home")
    below.write(A, "two\n")
    assert below.log()[0] == f"Write {A}." and below.dirty() == ""


def test_settings_of_the_repository_that_run_nothing_still_count(it: GitTalk) -> None:
    git(it.root, "config", "user.name", 'A "B" \\ C;#')
    (it.root / A).write_text("mine\n")
    it.append(A, "two\n")
    assert it.log("%an")[1] == 'A "B" \\ C;#'


# -------- where a repository may lead


def other(tmp_path: Path) -> Path:
    """A repository of the user's that is none of a home's."""
    top = tmp_path / "other"
    git(tmp_path, "init", "-q", "other")
    identity(top)
    (top / "x").write_text("x\n")
    git(top, "add", "x")
    git(top, "commit", "-q", "-m", "x")
    return top


def moved_to(root: Path, name: str, target: Path) -> None:
    """Put a link to `target` in the place of a part of the repository."""
    path = root / ".git" / name
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


def linked(name: str) -> Callable[[GitTalk, Path], None]:
    return lambda it, top: moved_to(it.root, name, top / ".git" / name)


def linked_file(name: str) -> Callable[[GitTalk, Path], None]:
    return lambda it, top: moved_to(it.root, name, top / "x")


def names_another(it: GitTalk, top: Path) -> None:
    shutil.rmtree(it.root / ".git")
    (it.root / ".git").write_text(f"gitdir: {top / '.git'}\n")


def is_another(it: GitTalk, top: Path) -> None:
    shutil.rmtree(it.root / ".git")
    (it.root / ".git").symlink_to(top / ".git")


def shares_another(it: GitTalk, top: Path) -> None:
    (it.root / ".git" / "commondir").write_text(f"{top / '.git'}\n")


def poses_as_worktree(it: GitTalk, top: Path) -> None:
    shutil.rmtree(it.root / ".git")
    fake = it.root / "workspace" / "fake"
    fake.mkdir()
    (fake / "HEAD").write_text("ref: refs/heads/main\n")
    (fake / "gitdir").write_text(f"{it.root / '.git'}\n")
    (fake / "commondir").write_text(f"{top / '.git'}\n")
    (it.root / ".git").write_text("gitdir: workspace/fake\n")


def shares_its_parent(it: GitTalk, top: Path) -> None:
    """The home lies in a bare repository."""
    for name in ("objects", "refs", "HEAD"):
        (top / ".git" / name).rename(it.root.parent / name)
    (it.root / ".git" / "commondir").write_text("../..\n")


def pipe(name: str) -> Callable[[GitTalk, Path], None]:
    def make(it: GitTalk, _: Path) -> None:
        path = it.root / ".git" / name
        path.unlink(missing_ok=True)
        os.mkfifo(path)

    return make


def large(name: str) -> Callable[[GitTalk, Path], None]:
    def make(it: GitTalk, _: Path) -> None:
        with (it.root / ".git" / name).open("ab") as file:
            file.truncate(3_000_000_000)

    return make


LEADING = {
    "refs": linked("refs"), "refs/heads": linked("refs/heads"), "objects": linked("objects"),
    "HEAD": linked("HEAD"), "logs": linked("logs"), "logs/HEAD": linked_file("logs/HEAD"),
    "logs/refs/heads/main": linked_file("logs/refs/heads/main"),
    "refs/heads/main": linked_file("refs/heads/main"), "config": linked_file("config"),
    "packed-refs": linked_file("packed-refs"), "index": linked_file("index"),
    "info/exclude": linked_file("info/exclude"), "gitdir": names_another, "a link": is_another,
    "commondir": shares_another, "worktree": poses_as_worktree,
    "large config": large("config"), "large HEAD": large("HEAD"), "parent": shares_its_parent,
    "pipe commondir": pipe("commondir"),
    "pipe config": pipe("config"), "pipe index": pipe("index"), "pipe HEAD": pipe("HEAD"),
    "pipe packed-refs": pipe("packed-refs"), "pipe refs/heads/x": pipe("refs/heads/x"),
}  # fmt: skip


@pytest.mark.parametrize("how", LEADING)
def test_a_repository_that_leads_elsewhere_is_not_used(
    how: str, it: GitTalk, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    top = other(tmp_path)
    LEADING[how](it, top)
    before = contents(top)
    branches = contents(tmp_path / "refs")
    again = git_talk(it.root)
    again.write(A, "two\n")
    again.there_and_back()
    capsys.readouterr()
    assert contents(tmp_path / "refs") == branches
    run(["--home", str(it.root), "doctor"])
    assert not is_own(it.root) and "git is not used in the home" in capsys.readouterr().out
    assert contents(top) == before


def test_a_pipe_that_git_would_read_for_ever_is_seen_before(it: GitTalk) -> None:
    (it.root / ".gitignore").unlink()
    os.mkfifo(it.root / ".gitignore")
    assert not is_own(it.root) and "no plain file" in find_repository_problem(
        it.root, it.root / ".git"
    )


@pytest.mark.parametrize("name", ["info/alternates", "pack/pack-1.idx"])
def test_nor_a_pipe_among_the_objects(it: GitTalk, name: str) -> None:
    os.mkfifo(it.root / ".git" / "objects" / name)
    assert not is_own(it.root) and "no plain file" in find_repository_problem(
        it.root, it.root / ".git"
    )


def test_a_repository_that_borrows_objects_of_another_is_not_used(
    it: GitTalk, tmp_path: Path
) -> None:
    (it.root / ".git/objects/info/alternates").write_text(f"{tmp_path}/other/.git/objects\n")
    assert not is_own(it.root) and "borrows" in find_repository_problem(it.root, it.root / ".git")


def contents(top: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in top.rglob("*") if path.is_file()}


def test_what_is_looked_at_is_the_home_whatever_the_settings_say(
    it: GitTalk, tmp_path: Path
) -> None:
    git(it.root, "config", "core.worktree", "/")
    it.append(A, "two\n")
    it.write("workspace/new.md", "one\n")
    words = ("ls-tree", "-r", "--name-only", "HEAD")
    assert "workspace/new.md" in Git(it.root).says(*words).splitlines()


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://token@example.org/claw.git", "https://example.org/claw.git"),
        ("https://me:word@example.org/claw.git", "https://example.org/claw.git"),
        ("ssh://git:word@example.org/claw.git", "ssh://git@example.org/claw.git"),
        ("ssh://git@example.org/claw.git", "ssh://git@example.org/claw.git"),
        ("git@example.org:claw.git", "git@example.org:claw.git"),
    ],
)
def test_the_address_of_a_remote_is_shown_without_secrets(
    tmp_path: Path, url: str, shown: str
) -> None:
    assert Remote(tmp_path, url, "main").shown == shown
