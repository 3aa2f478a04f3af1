"""Where a skill comes from: a folder, an archive or a git repository, as the user names it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit, urlunsplit

from openclaw.errors import UsageError
from openclaw.skills.archive import SUFFIXES
from openclaw.skills.intake import checked_parts

Kind = Literal["folder", "archive", "git"]
KINDS = "a folder, a .zip, .skill or .tar.gz archive, or a git URL (https://, ssh://, git@)"

_SSH = re.compile(r"[\w.-]+@[\w.-]+:(?!//)[^\s]+")
_TREE = re.compile(r"(?P<url>https://[^/]+/.+?)/(?:-/)?tree/(?P<ref>[^/]+)(?:/(?P<path>.*))?")
_REF = re.compile(r"[A-Za-z0-9_][\w./+@-]{0,199}")
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]+:(//|:)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Origin:
    """`place` is an absolute path or a URL; `ref` ("" for the default branch) and `path` ("" for
    the top) are of a repository."""

    kind: Kind
    place: str
    ref: str = ""
    path: str = ""

    def __str__(self) -> str:
        """As it is shown, stored and read again, without a password that stood in the URL."""
        tail = f"{self.ref}:{self.path}" if self.path else self.ref
        return without_password(self.place) + (f"#{tail}" if tail else "")


def read_origin(text: str, cwd: Path) -> Origin:
    """What the words mean; UsageError when they name nothing that can be installed."""
    if tree := _TREE.fullmatch(text):
        return _git(tree["url"], tree["ref"], tree["path"] or "")
    place, _, tail = text.partition("#")
    ref, _, path = tail.partition(":")
    if place.startswith(("https://", "ssh://")) or _SSH.fullmatch(place):
        if place.lower().endswith(SUFFIXES):
            raise UsageError(
                f"an archive is not fetched from {without_password(place)}",
                "download it, look at it, then install the file",
            )
        return _git(place, ref, path)
    if _SCHEME.match(place):
        raise UsageError(f"{without_password(text)} is not a source of skills", f"give {KINDS}")
    local = cwd / Path(text).expanduser()
    if not local.exists() and "#" in text:
        local = cwd / Path(place).expanduser()
    if local.is_dir() and local.name.endswith(".git"):
        return _git(str(local.resolve()), ref, path)
    if local.is_dir():
        return Origin("folder", str(local.resolve()))
    if local.is_file():
        return Origin("archive", str(local.resolve()))
    raise UsageError(f"there is no {text}", f"give {KINDS}")


def without_password(place: str) -> str:
    """The place without a user's name (https) or password (ssh) in its URL."""
    try:
        parts = urlsplit(place)
    except ValueError:
        return place
    if not parts.scheme or "@" not in parts.netloc:
        return place
    user, _, host = parts.netloc.rpartition("@")
    kept = f"{user.partition(':')[0]}@" if parts.scheme == "ssh" else ""
    return urlunsplit(parts._replace(netloc=kept + host))


def _git(place: str, ref: str, path: str) -> Origin:
    if ref and (not _REF.fullmatch(ref) or ".." in ref):
        raise UsageError(f"{ref!r} is not a branch, tag or commit", "write URL#main:folder")
    return Origin("git", place.rstrip("/"), ref, "/".join(checked_parts(path)))
