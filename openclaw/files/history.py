"""git: the home's history. Silent when git is missing; never touches another repository."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

# Works without a global identity, a signing key, or hooks that ask something.
OPTIONS = (
    *("-c", "user.name=openclaw"),
    *("-c", "user.email=openclaw@localhost"),
    *("-c", "commit.gpgsign=false"),
    *("-c", "init.defaultBranch=main"),
    *("-c", f"core.hooksPath={os.devnull}"),
)
# What a caller's environment may say about another repository (git sets these in its hooks).
FOREIGN = frozenset(
    {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR"}
)
TIMEOUT_SECONDS = 30


def first_commit(root: Path, paths: Sequence[str]) -> bool:
    """Make `root` a repository whose first commit holds `paths`.

    False, and nothing done, when it lies in a repository already or git is missing or fails.
    """
    if _git(root, "rev-parse", "--git-dir"):
        return False
    return (
        _git(root, "init", "--quiet")
        and _git(root, "add", "--force", "--", *paths)
        and _git(root, "commit", "--quiet", "--no-verify", "--message", "A new home")
    )


def _git(root: Path, *words: str) -> bool:
    """Run git in `root`, deaf to the repository that a caller's environment names."""
    import subprocess

    environ = {key: value for key, value in os.environ.items() if key not in FOREIGN}
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *OPTIONS, *words],
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0
