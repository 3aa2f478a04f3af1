"""Runs git in a home: the user's own repository, with his settings, without his hooks and keys."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from openclaw.errors import OpenclawError

# No hook, signing key or monitor of the user's settings takes part in what the program does.
OPTIONS = (
    *("-c", f"core.hooksPath={os.devnull}"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "commit.gpgsign=false"),
    *("-c", "core.safecrlf=false"),
    *("-c", "grep.patternType=basic"),
    *("-c", "log.showSignature=false"),
)
# What a caller's environment may say that is about git itself, not about another repository.
KEPT = frozenset({
    "GIT_EXEC_PATH", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM",
    "GIT_TEMPLATE_DIR",
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
TIMEOUT_SECONDS = 60
LOOSE = 27
"""Files in one of the 256 folders of loose objects above which git itself would pack them (its
gc.auto of 6,700 objects, estimated from the folder `17` as git does)."""


class GitError(OpenclawError):
    """git is missing, fails or takes too long."""


class GitDied(GitError):
    """git was killed, also by us as it took too long: its locks may still be there."""


@dataclass(frozen=True, slots=True)
class Git:
    """git in the repository whose working tree is `root`."""

    root: Path

    def run(self, *words: str, data: bytes = b"", **env: str) -> bytes:
        """What git prints, given `data` on standard input. GitError with its last words."""
        import subprocess

        try:
            done = subprocess.run(
                self.command(*words),
                env=environ() | {"GIT_CEILING_DIRECTORIES": str(self.root.parent)} | env,
                input=data,
                capture_output=True,
                timeout=TIMEOUT_SECONDS,
                check=False,
            )
        except FileNotFoundError as error:
            raise GitError("git is not installed", "install git to keep a history") from error
        except (OSError, subprocess.SubprocessError) as error:
            kind = GitDied if isinstance(error, subprocess.TimeoutExpired) else GitError
            raise kind(f"git {words[0]} failed: {error}", f"cd {self.root}; git status") from error
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            what = next((line for line in said if line.startswith("fatal:")), (said or ["?"])[-1])
            kind = GitDied if done.returncode < 0 else GitError
            raise kind(
                f"git {words[0]} failed: {what}", f"look at it with: git -C {self.root} status"
            )
        return done.stdout

    def says(self, *words: str) -> str:
        """One line that git prints, "" when it fails."""
        try:
            return self.run(*words).decode("utf-8", "replace").strip()
        except GitError:
            return ""

    def command(self, *words: str) -> list[str]:
        """The command line for these words."""
        return ["git", "-C", str(self.root), *OPTIONS, *words]


def environ(given: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment for git: deaf to the repository that a caller's names, asking nothing."""
    given = os.environ if given is None else given
    kept = {k: v for k, v in given.items() if not k.startswith("GIT_") or k in KEPT}
    return kept | {
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "LC_ALL": "C",
    }


def first_commit(root: Path, paths: Sequence[str]) -> bool:
    """Make `root` a repository whose first commit holds `paths`.

    False, and nothing done, when it lies in a repository already or git is missing or fails.
    """
    git = Git(root)
    if _lies_in_another(git):
        return False
    identity = ("-c", "user.name=openclaw", "-c", "user.email=openclaw@localhost")
    try:
        git.run("-c", "init.defaultBranch=main", "init", "--quiet")
        git.run("add", "--force", "--", *paths)
        git.run(*identity, "commit", "--quiet", "--no-verify", "--message", "A new home")
    except GitError:
        return False
    return True


def _lies_in_another(git: Git) -> bool:
    try:
        git.run("rev-parse", "--git-dir", GIT_CEILING_DIRECTORIES="")
    except GitError:
        return False
    return True


def folder_of(root: Path) -> Path | None:
    """The folder that holds the state of the repository whose top is `root`: `.git`, or for a
    linked worktree or a submodule what the file `.git` names. None when `root` is no such top."""
    found = root / ".git"
    if found.is_dir():
        return found
    try:
        words = found.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None
    named = words.removeprefix("gitdir:").strip()
    folder = root / named
    return folder if words.startswith("gitdir:") and folder.is_dir() else None


def is_source(root: Path) -> bool:
    """Whether a home is the program's own source, where nothing is committed by itself."""
    return (root / "openclaw" / "__main__.py").is_file() and (root / "pyproject.toml").is_file()


def is_own(root: Path) -> bool:
    """Whether the home is a repository of its own that turns may be committed to, and there is a
    git to do it."""
    if folder_of(root) is None or is_source(root):
        return False
    import shutil

    return shutil.which("git") is not None


def busy(root: Path) -> str:
    """What of the user's a commit has to wait for, "" for nothing."""
    folder = folder_of(root)
    if folder is None:
        return ""
    for name, what in BUSY.items():
        if (folder / name).exists():
            return f"{what} in {root} is not finished"
    if (folder / "index.lock").exists():
        return f"another git command works in {root} (index.lock)"
    return ""


def tidy(root: Path) -> None:
    """Let git pack its loose objects, in the background, once there are many of them."""
    import subprocess

    folder = folder_of(root)
    try:
        if folder is None or len([*(folder / "objects" / "17").iterdir()]) <= LOOSE:
            return
        command = Git(root).command("gc", "--auto", "--quiet")
        subprocess.run(command, env=environ(), capture_output=True, timeout=5, check=False)
    except (OSError, subprocess.SubprocessError):
        return
