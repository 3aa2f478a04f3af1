"""Reads the turns of a home out of git's log."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any

from openclaw.frozen import frozen
from openclaw.history.turns import GIT, Turn, TurnStep
from openclaw.storage.git import Git, GitError, quoted
from openclaw.storage.home import is_inside
from openclaw.types import local_time

TRAILER = "Openclaw"
ARGUMENTS = 20_000  # characters of paths that one command line gets
ZEROS = "0" * 40


@frozen
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
    """The paths and blobs in the output of `git ls-tree -z`."""
    for entry in filter(None, listing.split(b"\0")):
        head, _, path = entry.partition(b"\t")
        mode, _, oid = head.decode().split(" ")
        yield os.fsdecode(path), Blob(mode, oid)


def changed_blobs(git: Git, old: str, new: str) -> dict[str, tuple[Blob, Blob]]:
    """The files that differ between two commits: what each holds of them."""
    said = git.run("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", old, new)
    return dict(_raw_entries(said))


def _raw_entries(listing: bytes) -> Iterator[tuple[str, tuple[Blob, Blob]]]:
    """The paths, and what they were and are, in the output of `git diff-tree -z --raw`."""
    fields = listing.split(b"\0")
    for entry, name in zip(fields[::2], fields[1::2], strict=False):
        old_mode, new_mode, old, new, _ = entry.lstrip(b"\n:").decode().split(" ")
        yield os.fsdecode(name), (_blob(old_mode, old), _blob(new_mode, new))


def _blob(mode: str, oid: str) -> Blob:
    return Blob(mode, oid) if oid.strip("0") else NO_BLOB


def index_entries(listing: bytes) -> Iterator[tuple[str, Blob]]:
    """The paths and blobs in the output of `git ls-files -s -z`. GitError for a conflict."""
    for name, blob, stage in index_stages(listing):
        if stage != "0":
            raise GitError(f"{name} has a conflict that is not resolved", f"git add {name}")
        yield name, blob


def index_stages(listing: bytes) -> Iterator[tuple[str, Blob, str]]:
    """The same with their stages: "0", of a file with a conflict others."""
    for entry in filter(None, listing.split(b"\0")):
        head, _, path = entry.partition(b"\t")
        mode, oid, stage = head.decode().split(" ")
        yield os.fsdecode(path), Blob(mode, oid), stage


def commit_lines(
    turn: Turn, mark: int, parent: str, files: Mapping[str, Blob], who: str
) -> Iterator[bytes]:
    """A commit for `git fast-import`: of these files upon `parent` ("" for none), by `who`."""
    at = datetime.fromisoformat(turn.at) if turn.at else local_time()
    when, now = (f"{int(time.timestamp())} {time:%z}" for time in (at, local_time()))
    message = "\n".join([turn.subject or "(no words)", "", *trailers(turn)]).encode()
    yield b"commit HEAD\nmark :%d\n" % mark
    yield f"author {who} {when}\ncommitter {who} {now}\ndata {len(message)}\n".encode()
    yield message + b"\n"
    if parent:
        yield f"from {parent}\n".encode()
    if turn.kind == "sync":
        yield f"merge {turn.of[0]}\n".encode()
    for path, blob in sorted(files.items(), key=lambda item: bool(item[1].oid)):
        name = quoted(path)  # deletions first: a file may become a folder
        write = b"M %s %s " % (blob.mode.encode(), blob.oid.encode())
        yield (write if blob.oid else b"D ") + name + b"\n"
    yield b"\n"


FIELDS = {
    "Id": "id", "Session": "session", "Turn": "number", "Model": "model", "Tools": "tools",
    "Of": "of", "Scope": "scope", "At": "at",
}  # fmt: skip
"""The fields of a turn by the names of their trailers, in the order of the lines."""


def trailers(turn: Turn) -> list[str]:
    """The lines of a commit's message that describe a turn, and by which it is found again."""
    found: dict[str, str] = {"": "interrupted" if turn.state == "interrupted" else turn.kind}
    for name, field in FIELDS.items():
        value = getattr(turn, field)
        found[f"-{name}"] = ", ".join(value) if isinstance(value, tuple) else str(value or "")
    if not turn.of:
        del found["-Scope"]
    return [f"{TRAILER}{name}: {' '.join(text.split())}" for name, text in found.items() if text]


FORMAT = "--format=%H%n%aI%n%B%x00"
LINE = re.compile(rf"(?m)^{TRAILER}(-[A-Z][a-z]+)?: (.*)$")
CHUNK = 40
LONGEST_NUMBER = 9
"""Digits. A commit of others may say anything, and Python reads no number of thousands of them."""


def turns(root: Path, *, path: str = "", ours: bool = True, within: str = "HEAD") -> Iterator[Turn]:
    """The turns in what HEAD is made of, newest first, or in another range of commits; with `path`
    the commits that changed this file, and with `ours` false the user's own commits too: kind
    "outside", id ""."""
    words = ["log", FORMAT, within]
    words += [f"--grep=^{TRAILER}-Id: "] if ours else []
    heads = _heads(root, [*words, "--", *([path] if path else [])])
    while some := list(islice(heads, CHUNK)):
        yield from _with_steps(root, some)


def _heads(root: Path, words: Sequence[str]) -> Iterator[Turn]:
    """Commits as git prints them, one by one, so that a long history is not read to its end."""
    try:
        process = subprocess.Popen(
            Git(root).command(*words),
            env=Git(root).environ(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except (OSError, GitError):
        return
    with process:
        rest = b""
        try:
            while data := process.stdout.read(65_536) if process.stdout else b"":
                *whole, rest = (rest + data).split(b"\0")
                yield from (_head(part) for part in whole)
        finally:
            process.kill()


def _head(part: bytes) -> Turn:
    oid, at, message = part.lstrip(b"\n").decode("utf-8", "replace").split("\n", 2)
    said = {name.removeprefix("-"): text for name, text in LINE.findall(message)}
    subject = message.partition("\n")[0]
    if not said.get("Id"):
        return Turn("", "outside", at, subject, commit=oid)
    known: dict[str, Any] = {"at": at, "kind": said.get("", "turn")}
    for name in FIELDS.keys() & said.keys():
        text = said[name]
        if name in ("Tools", "Of"):
            known[FIELDS[name]] = tuple(filter(None, text.split(", ")))
        elif name != "Turn":
            known[FIELDS[name]] = text
        elif text.isdecimal() and len(text) <= LONGEST_NUMBER:
            known["number"] = int(text)
    if known["kind"] == "interrupted":
        known |= {"kind": "turn", "state": "interrupted"}
    return Turn(**known, subject=subject, commit=oid)


def _with_steps(root: Path, heads: Sequence[Turn]) -> Iterator[Turn]:
    data = "".join(f"{turn.commit}\n" for turn in heads).encode()
    said = Git(root).run(
        *("diff-tree", "--stdin", "--root", "-m", "--first-parent", "-r", "-z"),
        *("--raw", "--no-renames", "--no-abbrev", "--format=%x02%H"),
        data=data,
    )
    raw: dict[str, bytes] = {}
    for part in said.split(b"\x02")[1:]:
        oid, _, rest = part.partition(b"\0")
        raw.setdefault(oid.decode().strip(), rest)  # of a merge the first is what came in
    for turn in heads:
        entries = _raw_entries(raw.get(turn.commit, b""))
        # A tree that was not made by git may name any place.
        inside = ((path, blobs) for path, blobs in entries if is_inside(path))
        steps = (TurnStep(path, _name(old), _name(new)) for path, (old, new) in inside)
        yield replace(turn, steps=tuple(steps))


def _name(blob: Blob) -> str | None:
    """The name of a blob's content; None for no file. Links and other repositories have none that
    could be put back."""
    return f"{GIT}{blob.mode}:{blob.oid}" if blob.oid else None


def blob_content(root: Path, name: str) -> bytes | None:
    """The bytes of a blob, None when it cannot be read."""
    try:
        return Git(root).run("cat-file", "blob", name.rpartition(":")[2])
    except GitError:
        return None


def contents(root: Path, names: Iterable[str]) -> Iterator[tuple[str, bytes]]:
    """Those of many blobs that git can give at once, as `content` gives each; none when one of them
    is not there."""
    asked = list(names)
    with suppress(GitError):
        oids = [name.rpartition(":")[2] for name in asked]
        yield from zip(asked, Git(root).blobs(oids), strict=True)
