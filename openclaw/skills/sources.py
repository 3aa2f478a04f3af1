"""Where a skill comes from: a folder, an archive or a git repository, as the user names it."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from openclaw.errors import OpenclawError, UsageError
from openclaw.frozen import frozen
from openclaw.skills.unpack import SUFFIXES, check_parts, make_folder, refusal, write_new_file
from openclaw.storage import git
from openclaw.storage.git_remote import without_password
from openclaw.storage.program import expand_tilde

OriginKind = Literal["folder", "archive", "git"]
KINDS = "a folder, a .zip, .skill or .tar.gz archive, or a git URL (https://, ssh://, git@)"

_SSH = re.compile(r"[\w.-]+@[\w.-]+:(?!//)[^\s]+")
_TREE = re.compile(r"(?P<url>https://[^/]+/.+?)/(?:-/)?tree/(?P<ref>[^/]+)(?:/(?P<path>.*))?")
_REF = re.compile(r"[A-Za-z0-9_][\w./+@-]{0,199}")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]+:(//|:)", re.IGNORECASE)


@frozen
class Origin:
    """Where a skill comes from.

    place: an absolute path or a URL
    ref: branch, tag or commit of a repository, "" for the default branch
    path: folder in a repository, "" for the top
    """

    kind: OriginKind
    place: str
    ref: str = ""
    path: str = ""

    def __str__(self) -> str:
        """As it is shown, stored and read again, without a password that stood in the URL."""
        tail = f"{self.ref}:{self.path}" if self.path else self.ref
        return without_password(self.place) + (f"#{tail}" if tail else "")


def read_origin(text: str, cwd: Path) -> Origin:
    """Read what the user named; UsageError when it cannot be installed."""
    if tree := _TREE.fullmatch(text):
        return _git_origin(tree["url"], tree["ref"], tree["path"] or "")
    place, _, tail = text.partition("#")
    ref, _, path = tail.partition(":")
    if place.startswith(("https://", "ssh://")) or _SSH.fullmatch(place):
        if place.lower().endswith(SUFFIXES):
            raise UsageError(
                f"an archive is not fetched from {without_password(place)}",
                "download it, look at it, then install the file",
            )
        return _git_origin(place, ref, path)
    if _SCHEME.match(place):
        raise UsageError(f"{without_password(text)} is not a source of skills", f"give {KINDS}")
    local = cwd / expand_tilde(text)
    if not local.exists() and "#" in text:
        local = cwd / expand_tilde(place)
    if local.is_dir() and local.name.endswith(".git"):
        return _git_origin(str(local.resolve()), ref, path)
    if local.is_dir():
        return Origin("folder", str(local.resolve()))
    if local.is_file():
        return Origin("archive", str(local.resolve()))
    raise UsageError(f"there is no {text}", f"give {KINDS}")


def _git_origin(place: str, ref: str, path: str) -> Origin:
    if ref and (not _REF.fullmatch(ref) or ".." in ref):
        raise UsageError(f"{ref!r} is not a branch, tag or commit", "write URL#main:folder")
    return Origin("git", place.rstrip("/"), ref, "/".join(check_parts(path)))


TIMEOUT_SECONDS = 120.0
POLL_SECONDS = 0.1
MAX_FETCHED = 300_000_000
MAX_LISTING = 8_000_000
MAX_FILES = 20_000
# Stronger than the repository's own attributes: no filter of the user's settings, no conversion.
AS_STORED = b"* -filter -text -eol -ident -working-tree-encoding\n"
OPTIONS = (
    *git.OPTIONS,
    *("-c", "core.autocrlf=false"),
    *("-c", "core.protectHFS=true"),
    *("-c", "core.protectNTFS=true"),
    *("-c", "gc.auto=0"),
    *("-c", "maintenance.auto=false"),
)
KEPT_VARIABLES = ("GIT_SSH_VARIANT", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_PROXY_SSL_CAINFO")


def fetch(origin: Origin, into: Path, seconds: float = TIMEOUT_SECONDS) -> str:
    """Check one commit out into the new folder; returns its id.

    Only the origin's folder of it when it names one. OpenclawError when git is missing, fails or
    takes too long; Refused when the repository is too large.
    """
    end = time.monotonic() + seconds

    def run(*words: str) -> bytes:
        return _run_git(words, into, origin, end)

    make_folder(into)
    run("init", "--quiet", "--template=")
    write_new_file(into / ".git" / "info" / "attributes", AS_STORED, executable=False)
    run(
        *("fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules"),
        *("--no-write-commit-graph", "--", origin.place, origin.ref or "HEAD"),
    )
    path = [origin.path] if origin.path else []
    _check_listing(run("ls-tree", "-r", "-l", "-z", "FETCH_HEAD", "--", *path), origin.path)
    run("checkout", "--quiet", "FETCH_HEAD", "--", *(path or ["."]))
    return run("rev-parse", "FETCH_HEAD").decode().strip()


def _git_environ(protocol: str) -> Mapping[str, str]:
    """Return an environment in which git ignores the caller's repository and never asks."""
    return {
        "GIT_SSH_COMMAND": "ssh -o BatchMode=yes",
        **git.environ(),
        **{name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ},
        "GIT_ASKPASS": "",
        "GIT_ALLOW_PROTOCOL": protocol,
        "GIT_LFS_SKIP_SMUDGE": "1",
    }


def _check_listing(listing: bytes, path: str) -> None:
    """Check the tree's files and sizes before one is written: a small tree can name millions."""
    rows = listing.split(b"\0")[:-1]
    if path and not rows:
        raise UsageError(f"there is no folder {path} in the repository")
    sizes = [row.split(b"\t", 1)[0].split()[-1] for row in rows]
    total = sum(int(size) for size in sizes if size.isdigit())
    if len(rows) > MAX_FILES or total > MAX_FETCHED:
        raise too_large()


def too_large() -> OpenclawError:
    error = refusal("the repository is too large to be taken whole")
    error.hint = "name the skill's folder in it: URL#main:path/to/skill"
    return error


def _run_git(words: Sequence[str], folder: Path, origin: Origin, end: float) -> bytes:
    """Return the output of git, which runs until `end` (time.monotonic) at most and may not write
    more than is taken over."""
    address = without_password(origin.place)
    protocol = "file" if Path(origin.place).is_absolute() else "https:ssh"
    # Pipes would stay open in a killed git's children.
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                ["git", "-C", str(folder), *OPTIONS, *words],
                env=_git_environ(protocol),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=errors,
                start_new_session=os.name != "nt",
            )
        except OSError as error:
            raise OpenclawError(
                f"git cannot be started: {error.strerror}", "install git, or give an archive"
            ) from error
        try:
            while process.poll() is None:
                if time.monotonic() > end:
                    raise OpenclawError(
                        f"{address} took longer than {TIMEOUT_SECONDS:g} s",
                        "try again, or fetch it yourself and install the folder",
                    )
                fetched = _folder_size(folder / ".git" / "objects" / "pack")
                if fetched > MAX_FETCHED or os.fstat(out.fileno()).st_size > MAX_LISTING:
                    raise too_large()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(POLL_SECONDS)
        finally:
            _stop(process)
        errors.seek(0)
        out.seek(0)
        if process.returncode:
            said = errors.read(10_000).decode("utf-8", "replace").strip().splitlines()
            told = (line for line in said if line and not line.startswith(("warning:", "hint:")))
            reason = next(told, "git failed").replace(origin.place, address)
            raise OpenclawError(
                f"{address} cannot be fetched: {reason}",
                "check the address, the branch after # and your access to it (git asks nothing "
                "here: a private repository needs a key or stored credentials)",
            )
        return out.read()


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Make sure that git and the programs it started are gone."""
    if process.poll() is None:
        with contextlib.suppress(OSError):
            if os.name == "nt":
                process.kill()
            else:
                os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _folder_size(folder: Path) -> int:
    with contextlib.suppress(OSError):
        return sum(entry.stat(follow_symlinks=False).st_size for entry in os.scandir(folder))
    return 0
