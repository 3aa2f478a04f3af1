"""A home that is a git repository of its own, a talk in it, and looks at both with the real git."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from openclaw.events import Event
from openclaw.storage.home import Home
from openclaw.storage.new_home import create_home
from openclaw.storage.trust_store import trust_home
from tests.fakes.files import kept_folder
from tests.fakes.talk import Talk, call, notices, talk

UNSEEN = (".git", ".openclaw")
Snapshot = dict[str, tuple[int, bytes]]


@dataclass
class GitTalk:
    """A talk whose turns change files, and what git says of its home."""

    talk: Talk

    @property
    def root(self) -> Path:
        return self.talk.root

    def write(self, path: str, content: str) -> list[Event]:
        """A turn that writes a file whole."""
        tool = call("write_file", path=path, content=content)
        return self.talk.say(f"Write {path}.", tool, "It is written.")

    def append(self, path: str, text: str) -> list[Event]:
        """A turn that adds to the end of a file."""
        return self.talk.say(f"Add to {path}.", call("append_file", path=path, text=text), "Added.")

    def shell(self, command: str) -> list[Event]:
        """A turn that runs a command."""
        self.talk.app.mode = "full"
        return self.talk.say("Run it.", call("run_shell", command=command), "It ran.")

    def git(self, *words: str, fails: bool = False) -> str:
        return git(self.root, *words, fails=fails)

    def log(self, fields: str = "%s") -> list[str]:
        """A line for each commit of HEAD, newest first."""
        return self.git("log", f"--format={fields}").splitlines()

    def changed(self, commit: str = "HEAD") -> list[str]:
        """The files that a commit changed, those of conversations not."""
        words = ("show", "--format=", "--name-only", "-z", "--no-renames", commit)
        names = sorted(filter(None, self.git(*words).split("\0")))
        return [name for name in names if not name.startswith("sessions/")]

    def staged(self, path: str) -> str:
        """The entry of a file in the index: mode, object, stage."""
        return self.git("--literal-pathspecs", "ls-files", "-s", "--", path)

    def dirty(self) -> str:
        return self.git("status", "--porcelain")

    def blob(self, path: str, commit: str = "HEAD") -> bytes:
        words = ["git", "-C", str(self.root), "cat-file", "blob", f"{commit}:{path}"]
        return subprocess.run(words, check=True, capture_output=True).stdout

    def there_and_back(self) -> None:
        """The newest turn is taken back and put back again: all files are then as they were."""
        after = snapshot(self.root)
        taken = self.talk.app.undo()
        assert taken.turn is not None and not taken.conflicts
        assert snapshot(self.root) != after
        back = self.talk.app.redo()
        assert back.turn is not None and not back.conflicts
        assert snapshot(self.root) == after


def git_talk(folder: Path, **settings: Any) -> GitTalk:
    """A talk in a new home that is a repository, as `openclaw init` makes it."""
    if not folder.exists():
        copy_home(folder)
    return GitTalk(talk(folder, **settings))


def copy_home(folder: Path, settings: str = "", *, in_git: bool = True) -> Path:
    """The home that `create_home` makes, copied from one that it made for another test. Without
    git its turns are not committed, which takes longer than all the rest of them."""
    left_out = None if in_git else shutil.ignore_patterns(".git")
    shutil.copytree(_made(settings), folder, symlinks=True, ignore=left_out)
    trust_home(Home(folder))
    return folder


def git(folder: Path, *words: str, fails: bool = False) -> str:
    """What the real git prints. A failure fails the test, unless it is expected."""
    done = subprocess.run(
        ["git", "-c", "init.defaultBranch=main", "-C", str(folder), *words],
        stdin=subprocess.DEVNULL, capture_output=True, check=False,
    )  # fmt: skip
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done.stdout.decode("utf-8", "surrogateescape").rstrip("\n")


def identity(folder: Path, name: str = "Ada", mail: str = "ada@example.org") -> None:
    git(folder, "config", "user.name", name)
    git(folder, "config", "user.email", mail)


def make_repository(folder: Path) -> None:
    """Let git hold what is there."""
    git(folder, "init", "--quiet")
    identity(folder)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "mine")


def snapshot(root: Path) -> Snapshot:
    """Every file of the home with mode and bytes; of a link where it leads."""
    return {path.relative_to(root).as_posix(): _state(path) for path in _files(root)}


def waits(events: list[Event]) -> str:
    """What was said about a commit that has to wait, "" for nothing."""
    told = [line for line in notices(events).splitlines() if "not committed yet" in line]
    return told[0] if told else ""


@contextmanager
def index_untouched(it: GitTalk, *paths: str) -> Iterator[None]:
    """The user's own work in these files is the same before and after, byte for byte."""
    before = [(it.staged(path), _state(it.root / path)) for path in paths]
    yield
    assert [(it.staged(path), _state(it.root / path)) for path in paths] == before


def _files(root: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(set(folders) - set(UNSEEN))
        yield from (Path(folder, name) for name in sorted(names))


def _state(path: Path) -> tuple[int, bytes]:
    if path.is_symlink():
        return 0, os.fsencode(path.readlink())
    return stat.S_IMODE(path.stat().st_mode), path.read_bytes()


@cache
def _made(settings: str) -> Path:
    home = kept_folder() / "home"
    create_home(home, settings)
    git(home, "repack", "-adq")  # one pack is copied sooner than forty objects
    return home
