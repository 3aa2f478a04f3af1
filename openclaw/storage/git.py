"""Runs git in a home, so that nothing of the home's is run by it.

The settings of the repository are not read (`git_settings`); those of the user are, without his
hooks, keys and drivers. What is called is plumbing that asks no attributes: files go in and out as
they are, through no filter.
"""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from openclaw.errors import OpenclawError
from openclaw.frozen import frozen
from openclaw.storage.git_settings import common_of, find_repository_problem, git_environment
from openclaw.storage.safe_open import (
    appending,
    check_no_links,
    make_folder,
    read_plain_file,
    read_text,
    remove,
)

if TYPE_CHECKING:
    import subprocess

# Nothing that the user's settings name takes part in what the program does: hook, signing key,
# monitor, driver, another machine. Where a repository's own settings are read, that goes for them.
OPTIONS = (
    "--no-pager",
    *("-c", f"core.hooksPath={os.devnull}"),
    *("-c", "core.fsmonitor=false"),
    *("-c", f"core.attributesFile={os.devnull}"),
    *("-c", "core.alternateRefsCommand="),
    # A record is dropped when its commit is made, so the commit has to outlast a power cut.
    *("-c", "core.fsync=loose-object,reference"),
    *("-c", "core.safecrlf=false"),
    *("-c", "commit.gpgsign=false"),
    *("-c", "grep.patternType=basic"),
    *("-c", "i18n.logOutputEncoding=UTF-8"),
    *("-c", "log.showSignature=false"),
    *("-c", "protocol.allow=never"),
    *("-c", "safe.bareRepository=explicit"),
    *("-c", "submodule.recurse=false"),
)
# What a caller's environment may say that is about git itself, not about another repository.
KEPT = frozenset({
    "GIT_EXEC_PATH", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM",
    "GIT_TEMPLATE_DIR", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS",
})  # fmt: skip
BUSY = {
    "MERGE_HEAD": "a merge",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "sequencer": "a series of picks",
    "BISECT_LOG": "a bisect",
}
_BRANCH, _COMMIT = re.compile(r"ref: refs(?:/\w[\w.+-]*)+"), re.compile("[0-9a-f]{40,64}")
_LONGEST_HEAD = 1_000
KEEP_ALL = tuple(
    word
    for name in ("pruneExpire", "reflogExpire", "reflogExpireUnreachable", "worktreePruneExpire")
    for word in ("-c", f"gc.{name}=never")
)
LOOSE = 27
"""Files in one of the 256 folders of loose objects above which git itself would pack them (its
gc.auto of 6,700 objects, estimated from the folder `17` as git does)."""


class GitError(OpenclawError):
    """git is missing, fails or takes too long."""


class GitDied(GitError):
    """git was killed, also by us as it took too long: its locks may still be there."""


@frozen
class Git:
    """git in the repository whose working tree is `root`, or with `around` in the one that `root`
    lies in."""

    root: Path
    around: bool = False
    _environ: dict[str, str] = field(default_factory=dict, repr=False, compare=False)

    def run(self, *words: str, data: bytes = b"", **env: str) -> bytes:
        """Return what git prints, given `data` on standard input. GitError has its last words."""
        return self.output_of(*self.call((words, data, env)))

    def output_of(self, done: subprocess.CompletedProcess[bytes]) -> bytes:
        """Return what it printed. GitError has its last words."""
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            what = next((line for line in said if line.startswith("fatal:")), (said or ["?"])[-1])
            kind = GitDied if done.returncode < 0 else GitError
            raise kind(
                f"git {done.args[0]} failed: {what}", f"look at it with: git -C {self.root} status"
            )
        return done.stdout

    def call(
        self, *calls: tuple[Sequence[str], bytes, Mapping[str, str]], seconds: float = 60
    ) -> list[subprocess.CompletedProcess[bytes]]:
        """Run git for each of these words, standard inputs and variables, all at once; the caller
        looks at how they ended. GitError when git cannot be run."""
        import subprocess

        started: list[subprocess.Popen[bytes]] = []
        pipe = subprocess.PIPE
        words: Sequence[str] = ()
        try:
            for words, _, env in calls:
                line, environ = self.command(*words), {**self.environ(), **env}
                started.append(
                    subprocess.Popen(line, env=environ, stdin=pipe, stdout=pipe, stderr=pipe)
                )
            ended = []
            for process, (words, data, _) in zip(started, calls, strict=True):
                told = process.communicate(data, seconds)
                ended.append(subprocess.CompletedProcess(words, process.returncode, *told))
            return ended
        except FileNotFoundError as error:
            raise GitError("git is not installed", "install git to keep a history") from error
        except (OSError, subprocess.SubprocessError) as error:
            kind = GitDied if isinstance(error, subprocess.TimeoutExpired) else GitError
            raise kind(f"git {words[0]} failed: {error}", f"cd {self.root}; git status") from error
        finally:
            for process in started:
                with process:
                    process.kill()

    def blobs(self, oids: Sequence[str]) -> list[bytes]:
        """The contents of these blobs, as they are. GitError when one is not there."""
        names = "".join(f"{oid}\n" for oid in oids).encode()
        data = self.run("cat-file", "--batch", data=names) if oids else b""
        found, at = [], 0
        for oid in oids:
            end = data.index(b"\n", at)
            about = data[at:end].split()
            if len(about) != 3:
                raise GitError(f"git has no {oid}", f"git -C {self.root} fsck")
            at = end + 1 + int(about[2])
            found.append(data[end + 1 : at])
            at += 1
        return found

    def head(self) -> str:
        """The commit that HEAD is at, "" before the first. It is read from the plain files where
        these tell it, as every prompt asks."""
        with suppress(OSError, UnicodeError):
            said = self._file("HEAD")
            if _BRANCH.fullmatch(said):
                said = self._file(said.removeprefix("ref: "))
            if _COMMIT.fullmatch(said):
                return said
        return self.says("rev-parse", "--quiet", "--verify", "HEAD^{commit}")

    def _file(self, name: str) -> str:
        data, _ = read_plain_file(self.root, f".git/{name}", _LONGEST_HEAD) or (None, False)
        return data.decode().strip() if data else ""

    def says(self, *words: str) -> str:
        """One line that git prints, "" when it fails."""
        try:
            return self.run(*words).decode("utf-8", "replace").strip()
        except GitError:
            return ""

    def environ(self) -> dict[str, str]:
        """The environment for git in this repository. GitError where it is not to work."""
        if not self._environ:
            self._environ.update(self._surroundings())
        return self._environ

    def _surroundings(self) -> dict[str, str]:
        root = self.root
        if self.around:
            root = next((top for top in (root, *root.parents) if folder_of(top)), root)
        found = environ() | {"GIT_CEILING_DIRECTORIES": str(root.parent)}
        folder = folder_of(root)
        if folder is None:
            return found
        try:
            why = find_repository_problem(root, folder)
            found |= {} if why else git_environment(root, folder, found)
        except (OSError, ValueError) as error:
            why = str(error)
        if why:
            raise GitError(f"git is not used in {root}: {why}", f"git -C {root} status")
        return found

    def command(self, *words: str) -> list[str]:
        return ["git", "-C", str(self.root), *OPTIONS, *words]


def environ() -> dict[str, str]:
    """The environment for git: deaf to the repository that a caller's names, asking nothing."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("GIT_") or k in KEPT}
    return kept | {
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "",
        "GIT_ATTR_NOSYSTEM": "1",
        "LC_ALL": "C",
    }


def first_commit(root: Path, paths: Sequence[str]) -> bool:
    """Make `root` a repository whose first commit holds `paths`.

    False, and nothing done, when it lies in a repository already or git is missing or fails.
    """
    if Git(root, around=True).says("rev-parse", "--git-dir"):
        return False
    git = Git(root)
    who = b"openclaw <openclaw@localhost>"
    stream = [b"commit HEAD\ncommitter %s now\ndata 11\nA new home\n\n" % who]
    for path in paths:
        mode = b"755" if os.name != "nt" and os.access(root / path, os.X_OK) else b"644"
        data = (root / path).read_bytes()
        stream += [b"M %s inline %s\ndata %d\n" % (mode, quoted(path), len(data)), data, b"\n"]
    try:
        git.run("-c", "init.defaultBranch=main", "init", "--quiet")
        git.run("fast-import", "--quiet", "--date-format=now", data=b"".join(stream))
        git.run("read-tree", "HEAD")
    except GitError:
        return False
    return True


def quoted(path: str) -> bytes:
    """A path for fast-import, in C's quotes, which it may always have."""
    data = os.fsencode(path)
    for plain, escaped in ((b"\\", b"\\\\"), (b'"', b'\\"'), (b"\n", b"\\n")):
        data = data.replace(plain, escaped)
    return b'"' + data + b'"'


def folder_of(root: Path) -> Path | None:
    """The folder that holds the state of the repository whose top is `root`: `.git`, or for a
    linked worktree or a submodule what the file `.git` names. None when `root` is no such top."""
    found = root / ".git"
    if found.is_dir():
        return found
    if not found.is_file():  # it may be a pipe
        return None
    try:
        words = read_text(found).strip()
    except OSError:
        return None
    named = words.removeprefix("gitdir:").strip()
    folder = root / named
    return folder if words.startswith("gitdir:") and folder.is_dir() else None


def is_source(root: Path) -> bool:
    """Return True for the program's own source, where nothing is committed by itself."""
    return (root / "openclaw" / "__main__.py").is_file() and (root / "pyproject.toml").is_file()


def is_own(root: Path) -> bool:
    """Return True when the home is a repository that turns may be committed to, and there is a
    git to do it."""
    folder = folder_of(root)
    if folder is None or is_source(root) or find_repository_problem(root, folder):
        return False

    return shutil.which("git") is not None


def busy(root: Path) -> str:
    """Return the user's operation that a commit has to wait for, "" for none."""
    folder = folder_of(root)
    if folder is None:
        return ""
    for name, what in BUSY.items():
        if (folder / name).exists():
            return f"{what} in {root} is not finished"
    if (folder / "index.lock").exists():
        return f"another git command works in {root} (index.lock)"
    return ""


def pack_objects(root: Path) -> None:
    """Let git pack its loose objects, in the background, once there are many of them. It throws
    nothing away: how long the user keeps what, he says in settings that are not read."""
    import subprocess

    folder = folder_of(root)
    try:
        if folder is None or len([*(folder / "objects" / "17").iterdir()]) <= LOOSE:
            return
        git = Git(root)
        command = git.command(*KEEP_ALL, "gc", "--auto", "--quiet")
        subprocess.run(command, env=git.environ(), capture_output=True, timeout=5, check=False)
    except (OSError, subprocess.SubprocessError, GitError):
        return


WINDOW_SECONDS = 15.0
"""After the note; a commit takes a tenth of a second, locks of later are the user's."""
SETTLED_SECONDS = 1.0  # for so long a git may outlive the process that asked it


@contextmanager
def note_git_locks(root: Path, note: Path) -> Iterator[None]:
    """Keep the note while git writes in the repository of `root`, and longer where git was killed
    or, on a broken disk, could not remove its locks. When it cannot be made, none is removed."""
    with suppress(OSError):
        make_folder(note.parent)
        appending(note).close()
        os.utime(note)
    died = False
    try:
        yield
    except GitDied:
        died = True
        raise
    finally:
        with suppress(OSError):
            if not died and not any(path.name != "index.lock" for path in lock_files(root)):
                remove(note)


def remove_stale_locks(root: Path, note: Path) -> None:
    """Remove the locks that a killed git has left in the repository of `root`. The caller is the
    only one who lets git write with this note."""
    try:
        began = check_no_links(note).stat().st_mtime
    except OSError:
        return
    for path in lock_files(root):
        with suppress(OSError):
            age = path.stat().st_mtime - began
            if -SETTLED_SECONDS < age < WINDOW_SECONDS:
                time.sleep(min(max(0.0, SETTLED_SECONDS - time.time() + began + age), 1.0))
                path.unlink(missing_ok=True)
    with suppress(OSError):
        remove(note)


def lock_files(root: Path) -> list[Path]:
    """The locks in the repository of `root`; of a linked worktree also in what it shares."""
    folder = folder_of(root)
    if folder is None:
        return []
    places = dict.fromkeys((folder, common_of(folder)))
    return [
        lock for top in places for lock in (*top.glob("*.lock"), *(top / "refs").rglob("*.lock"))
    ]
