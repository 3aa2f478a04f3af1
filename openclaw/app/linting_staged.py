"""The memory as it stands in git's index, and which of its lines a commit would bring."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from openclaw.errors import UsageError
from openclaw.files.git import Git, GitError
from openclaw.files.home import Home
from openclaw.memory.lint import Document, Finding

_HUNK = re.compile(rb"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", re.MULTILINE)
_DIFF = (
    *("diff", "--cached", "--relative", "--no-color", "--no-ext-diff", "--no-textconv"),
    *("--no-renames", "--text"),
)
"""With --text what attributes call binary has lines as well; filters would change their numbers."""

Lines = Mapping[str, frozenset[int]]


def staged(home: Home) -> tuple[list[Document], Lines]:
    """All of memory/ as the index has it, and by path the lines (from 1) that are staged.
    UsageError without a repository."""
    git, env = Git(home.root, around=True), _surroundings()
    try:
        listed = git.run("ls-files", "--stage", "-z", "--", "memory", data=b"", **env)
        names = git.run(
            *_DIFF, "--name-only", "--diff-filter=d", "-z", "--", "memory", data=b"", **env
        )
        blobs = _blobs(git, listed)
        changed = [name for name in names.decode("utf-8", "surrogateescape").split("\0") if name]
        lines = {name: _lines(git, name, env) for name in changed if name in blobs}
    except GitError as error:
        raise UsageError(f"--staged needs git: {error}", error.hint) from error
    return [Document(path, text) for path, text in sorted(blobs.items())], lines


def of_commit(found: Iterable[Finding], lines: Lines) -> list[Finding]:
    """The findings that the staged lines have a part in."""
    return [
        finding
        for finding in found
        if any(at in lines.get(finding.path, ()) for at in range(finding.line, finding.last + 1))
        or (finding.other and finding.other[1] in lines.get(finding.other[0], ()))
    ]


def _surroundings() -> dict[str, str]:
    """A commit of some files only has an index of its own, which it names to its hooks."""
    named = os.environ.get("GIT_INDEX_FILE")
    return {"GIT_INDEX_FILE": str(Path(named).absolute())} if named else {}


def _blobs(git: Git, listed: bytes) -> dict[str, str]:
    """The Markdown files among the lines of `ls-files --stage -z`, with their texts."""
    found: dict[str, str] = {}
    for line in filter(None, listed.split(b"\0")):
        about, _, name = line.partition(b"\t")
        path = name.decode("utf-8", "surrogateescape")
        mode, sha, stage = about.decode("ascii").split()
        if path.endswith(".md") and mode.startswith("100") and stage == "0":
            found[path] = sha
    found.pop("memory/TESTS.md", None)
    blobs = git.blobs([*found.values()])
    texts = (
        blob.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape") for blob in blobs
    )
    return dict(zip(found, texts, strict=True))


def _lines(git: Git, path: str, env: Mapping[str, str]) -> frozenset[int]:
    diff = git.run(*_DIFF, "--unified=0", "--", path, data=b"", **env)
    spans = ((int(first), int(count or 1)) for first, count in _HUNK.findall(diff))
    return frozenset(at for first, count in spans for at in range(first, first + count))
