"""Writes and reads what git's plumbing takes and prints."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from openclaw.files.git import GitError, quoted
from openclaw.history.turn import Turn

TRAILER = "Openclaw"
ARGUMENTS = 20_000
"""Characters of paths that one command line gets."""
ZEROS = "0" * 40


@dataclass(frozen=True, slots=True)
class Blob:
    """A file in a tree or in the index: mode and object id, both "" where there is none."""

    mode: str = ""
    oid: str = ""


NO_BLOB = Blob()


def oid_of(data: bytes, like: str) -> str:
    """The id that git gives to these bytes as a blob, by the hash that `like` was made with."""
    made = hashlib.sha1 if len(like) == 40 else hashlib.sha256
    return made(b"blob %d\0" % len(data) + data).hexdigest()


def chunks(paths: Iterable[str]) -> Iterator[list[str]]:
    """Paths in lists that a command line can hold."""
    some: list[str] = []
    room = ARGUMENTS
    for path in paths:
        if some and room < len(path):
            yield some
            some, room = [], ARGUMENTS
        some.append(path)
        room -= len(path) + 1
    if some:
        yield some


def tree_entries(listing: bytes) -> Iterator[tuple[str, Blob]]:
    """What `git ls-tree -z` lists."""
    for entry in filter(None, listing.split(b"\0")):
        head, _, path = entry.partition(b"\t")
        mode, _, oid = head.decode().split(" ")
        yield os.fsdecode(path), Blob(mode, oid)


def index_entries(listing: bytes) -> Iterator[tuple[str, Blob]]:
    """What `git ls-files -s -z` lists. GitError for one that is in conflict."""
    for entry in filter(None, listing.split(b"\0")):
        head, _, path = entry.partition(b"\t")
        mode, oid, stage = head.decode().split(" ")
        name = os.fsdecode(path)
        if stage != "0":
            raise GitError(f"{name} has a conflict that is not resolved", f"git add {name}")
        yield name, Blob(mode, oid)


def commit_lines(
    turn: Turn, mark: int, parent: str, files: Mapping[str, Blob], who: str
) -> Iterator[bytes]:
    """A commit for `git fast-import`: of these files upon `parent` ("" for none), by `who`."""
    at = datetime.fromisoformat(turn.at) if turn.at else datetime.now().astimezone()
    when, now = (f"{int(time.timestamp())} {time:%z}" for time in (at, datetime.now().astimezone()))
    message = "\n".join([turn.subject or "(no words)", "", *trailers(turn)]).encode()
    yield b"commit HEAD\nmark :%d\n" % mark
    yield f"author {who} {when}\ncommitter {who} {now}\ndata {len(message)}\n".encode()
    yield message + b"\n"
    if parent:
        yield f"from {parent}\n".encode()
    for path, blob in sorted(files.items(), key=lambda item: bool(item[1].oid)):
        name = quoted(path)  # deletions first: a file may become a folder
        yield (
            b"M %s %s %s\n" % (blob.mode.encode(), blob.oid.encode(), name)
            if blob.oid
            else (b"D %s\n" % name)
        )
    yield b"\n"


def trailers(turn: Turn) -> list[str]:
    """What a commit's message says of a turn, by which it is found again."""
    state = "interrupted" if turn.state == "interrupted" else turn.kind
    found = {
        "": state,
        "-Id": turn.id,
        "-Session": turn.session,
        "-Turn": str(turn.number or ""),
        "-Model": turn.model,
        "-Tools": ", ".join(turn.tools),
        "-Of": ", ".join(turn.of),
        "-Scope": turn.scope if turn.of else "",
        "-At": turn.at,
    }
    return [f"{TRAILER}{name}: {' '.join(text.split())}" for name, text in found.items() if text]
