"""Fetches from and pushes to another repository, and runs nothing that either repository names.

What `.git/config` says of a remote is its address, no more. Programs for the way there (ssh,
credential helpers) are those of the user's own settings. A repository on this machine is opened by
a git that is told the same as ours: its hooks do not run. On a server they run there, not here.
"""

from __future__ import annotations

import os
import re
import shlex
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from openclaw.errors import OpenclawError, UsageError
from openclaw.frozen import frozen
from openclaw.storage.git import OPTIONS, Git, folder_of
from openclaw.storage.git_settings import common_of

if TYPE_CHECKING:
    import subprocess

FETCHED = "refs/openclaw/sync"  # keeps what was fetched until a commit holds it
PROTOCOLS = "file:ssh:https"
"""Those that know whom they speak to; others, and those of any program (`ext::`), are not used."""
SECONDS = 600.0
QUIET = ("-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "receive.autogc=false")
_ADDRESS = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*)://|(?P<scp>[^/:]+):(?!:)")
_LATE = re.compile(r"\[rejected\]|fetch first|non-fast-forward|lock|incorrect old value", re.I)


@frozen
class Remote:
    """A branch of the repository at `url`, for the one whose working tree is `root`."""

    root: Path
    url: str
    branch: str

    @property
    def shown(self) -> str:
        return without_password(self.url)

    def fetch(self) -> str:
        """Get the branch; returns its commit, "" when there is none yet. OpenclawError when the
        repository cannot be reached."""
        ref = f"refs/heads/{self.branch}"
        found = self._run("ls-remote", "--quiet", *self._program("upload"), "--", self.url, ref)
        if not found:
            return ""
        options = ("--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head")
        words = ("fetch", *options, *self._program("upload"), "--", self.url)
        self._run(*words, f"+{ref}:{FETCHED}")
        return Git(self.root).run("rev-parse", "--verify", f"{FETCHED}^{{commit}}").decode().strip()

    def push(self, commit: str) -> bool:
        """Let the branch be at this commit; False when somebody else was quicker. OpenclawError
        when it is refused."""
        options = ("--porcelain", "--no-verify", "--no-signed", "--no-recurse-submodules")
        words = ("push", *options, "--no-follow-tags", *self._program("receive"), "--", self.url)
        done = self._call(*words, f"{commit}:refs/heads/{self.branch}")
        if not done.returncode:
            return True
        said = done.stdout.decode("utf-8", "replace")
        refused = next((line[2:] for line in said.splitlines() if line.startswith("!")), "")
        if _LATE.search(refused):
            return False
        raise self._problem(refused.replace("\t", " ") or done.stderr.decode("utf-8", "replace"))

    def _program(self, kind: str) -> tuple[str, ...]:
        """The git that opens a repository on this machine."""
        far = _ADDRESS.match(self.url)
        if far and far["scheme"] != "file":
            return ()
        return (f"--{kind}-pack={shlex.join(['git', *OPTIONS, *QUIET, f'{kind}-pack'])}",)

    def _run(self, *words: str) -> bytes:
        done = self._call(*words)
        if done.returncode:
            raise self._problem(done.stderr.decode("utf-8", "replace"))
        return done.stdout

    def _call(self, *words: str) -> subprocess.CompletedProcess[bytes]:
        env = {"GIT_ALLOW_PROTOCOL": PROTOCOLS}
        return Git(self.root).call(([*QUIET, *words], b"", env), seconds=SECONDS)[0]

    def _problem(self, said: str) -> OpenclawError:
        lines = [line for line in said.replace(self.url, self.shown).splitlines() if line.strip()]
        what = lines[0].removeprefix("fatal: ") if lines else "git says no more"
        return OpenclawError(
            f"no sync with {self.shown}: {what}",
            "what is here is committed here; say openclaw sync again when it can be reached",
        )


def without_password(url: str) -> str:
    """The address without a password, and but for ssh without a name: it may be a token."""
    pattern = r"(?i)^((?!\w*\+?ssh)[\w+.-]+://)[^/?#]*@|^([\w+.-]+://[^/@:]*):[^/]*(?=@)"
    return re.sub(pattern, lambda found: found[1] or found[2], url)


def is_signed(root: Path, commit: str, keys: Sequence[str]) -> bool:
    """Return True when one of these ssh keys has signed the commit, and thereby all before it."""
    if not keys or not commit:
        return False
    with tempfile.TemporaryDirectory() as folder:
        allowed = Path(folder, "allowed_signers")
        allowed.write_text("".join(f'* namespaces="git" {key}\n' for key in keys))
        options = ("-c", f"gpg.ssh.allowedSignersFile={allowed}", "-c", "gpg.format=ssh")
        words = (*options, "-c", "gpg.ssh.program=ssh-keygen", "-c", "gpg.minTrustLevel=fully")
        return Git(root).says(*words, "log", "-1", "--format=%G?", commit, "--") == "G"


def signs(root: Path) -> bool:
    """Return True when the user's own settings of git sign commits."""
    return Git(root).says("config", "--global", "--type=bool", "commit.gpgsign") == "true"


def sign_head(root: Path, head: str) -> None:
    """Put a commit without changes, signed as the user's settings say, upon HEAD. GitError when it
    cannot be signed."""
    words = ("commit-tree", "-S", "-p", head, "-m", "Signed by this device", f"{head}^{{tree}}")
    name, mail = "openclaw", "openclaw@localhost"
    signed = Git(root).run(
        *words, GIT_AUTHOR_NAME=name, GIT_AUTHOR_EMAIL=mail, GIT_COMMITTER_NAME=name,
        GIT_COMMITTER_EMAIL=mail,
    ).decode().strip()  # fmt: skip
    Git(root).run("update-ref", "-m", "Sync", "HEAD", signed, head)


def find_remote(root: Path, named: str) -> Remote:
    """The remote that a user names: one of `.git/config` ("" is origin), an address, or a folder.
    UsageError when there is none."""
    if os.name == "nt":
        raise UsageError(
            "sync does not work on Windows yet: git would run what .git/config names",
            "use git itself there",
        )
    git = Git(root)
    branch = git.says("symbolic-ref", "--quiet", "--short", "HEAD")
    if not branch:
        raise UsageError("HEAD is on no branch", f"git -C {root} switch BRANCH")
    url = _configured(git, root, named or "origin")
    if not url and named and Path(named).is_dir():
        url = str(Path(named).resolve())
    if not url and _ADDRESS.match(named):
        url = named
    if not url and not named:
        raise UsageError(
            "there is no remote to sync with",
            f"name one: git -C {root} remote add origin URL, or openclaw sync URL",
        )
    if not url or url.startswith("-"):
        raise UsageError(f"'{named}' is no remote", f"see them: git -C {root} remote -v")
    scheme, separator, _ = url.partition("://")
    if separator and scheme.lower() not in PROTOCOLS.split(":"):
        raise UsageError(
            f"an address may be of ssh or https, not {scheme}", "or a folder of this machine"
        )
    return Remote(root, url, branch)


def _configured(git: Git, root: Path, name: str) -> str:
    """The address of a remote in the repository's own settings, of which nothing else is read."""
    folder = folder_of(root)
    config = common_of(folder) / "config" if folder else None
    if config is None or not config.is_file() or "\n" in name:
        return ""
    words = ("config", "--file", str(config), "--no-includes", "--get", f"remote.{name}.url")
    return git.says(*words)
