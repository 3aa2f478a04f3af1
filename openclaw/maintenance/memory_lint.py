"""Check a home's memory with all that is known: files, git, index words and conversations.

Fixes are written as one turn of the history, which `undo` takes back.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from openclaw.errors import UsageError
from openclaw.frozen import frozen
from openclaw.history.git_log import index_stages
from openclaw.history.history import command
from openclaw.home.open_home import OpenHome
from openclaw.memory.lint import apply_fixes, lint
from openclaw.memory.lint_findings import Document, LintContext, LintFinding
from openclaw.memory.markdown import read_markdown
from openclaw.security.masking import Masker
from openclaw.storage.git import Git, GitError
from openclaw.storage.home import Home
from openclaw.storage.lock import hold_lock
from openclaw.storage.merged_save import SaveConflict, save_over
from openclaw.storage.safe_open import BOM, bytes_or_none, check_no_links, is_ordinary

ROUNDS = 4  # hidden characters, then the secrets they were in, then what is the same without them
LOCK_SECONDS = 10.0
SKIPPED = ("memory/TESTS.md",)


@frozen
class LintReport:
    documents: Sequence[Document]
    findings: Sequence[LintFinding]
    around: LintContext

    def within(self, paths: Collection[str]) -> LintReport:
        """Return the report with the findings of these files and folders only; all if none is
        named."""
        if not paths:
            return self
        inside = tuple(f"{path}/" for path in paths)
        chosen = [f for f in self.findings if f"{f.path}/".startswith(inside)]
        return replace(self, findings=chosen)


def lint_home(home: Home, documents: Sequence[Document] | None = None) -> LintReport:
    """Lint a home's memory, or the given texts in place of those in the files."""
    known = read(home) if documents is None else documents
    around = _around(home)
    return LintReport(known, lint(known, around), around)


def read(home: Home) -> list[Document]:
    """The files of a memory, without links."""
    paths = (path for path in _files(check_no_links(home.memory)) if path.suffix == ".md")
    named = ((home.relative(path), path) for path in sorted(filter(is_ordinary, paths)))
    return [Document(name, read_markdown(path)) for name, path in named if name not in SKIPPED]


def _files(top: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(top):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (Path(folder, name) for name in names)


def chosen_paths(home: Home, named: Sequence[str]) -> list[str]:
    """Resolve files and folders of the memory as the user names them: relative to the home, to
    memory/ or to the current folder. UsageError for a path that is none of these."""
    memory = os.path.realpath(home.memory)
    chosen = []
    for name in named:
        for base in (home.root, home.memory, Path.cwd()):
            real = Path(os.path.realpath(base / name))
            if real.exists() and real.is_relative_to(memory):
                chosen.append(("memory" / real.relative_to(memory)).as_posix())
                break
        else:
            raise UsageError(f"{name} is no file of this memory", "see them: openclaw memory list")
    return chosen


def _around(home: Home) -> LintContext:
    def files() -> list[str]:
        """The files that a link may name without their folder; a vault has them anywhere."""
        return [home.relative(path) for path in _files(home.root)]

    def text(path: str) -> str:
        return read_markdown(home.root / path) if is_ordinary(home.root / path) else ""

    def exists(path: str) -> bool:
        return os.path.exists(home.root / path)  # noqa: PTH110 - Path raises for a name too long

    return LintContext(exists, files, text)


# ---- fixes


def apply_fixes_to_texts(
    report: LintReport, accepted: Collection[str] | None = None, masker: Masker | None = None
) -> dict[str, str]:
    """Return the new texts, by path, of the files that fixes of the report's findings change.

    With `accepted` no other file changes: a fix that needs one is left out. With `masker` secrets
    are stored in it; without it the names that they may get stand for them.
    """
    texts = {document.path: document for document in report.documents}
    asked = {finding.path for finding in report.findings}
    found: Sequence[LintFinding] = report.findings
    changed: dict[str, str] = {}
    for _ in range(ROUNDS):
        # A secret with hidden characters in it waits for the round after they have gone.
        hidden = {(f.path, f.line) for f in found if f.check == "hidden" and f.edits}
        able = [
            finding if masker is None else _with_secret_names(finding, texts, masker)
            for finding in found
            if finding.path in asked
            and (finding.check != "secret" or (finding.path, finding.line) not in hidden)
            and (accepted is None or all(edit.path in accepted for edit in finding.edits))
        ]
        new = apply_fixes(texts.values(), able)
        if not new:
            break
        changed |= new
        texts |= {path: Document(path, text) for path, text in new.items()}
        found = lint(texts.values(), report.around)
    return changed


def _with_secret_names(
    finding: LintFinding, texts: Mapping[str, Document], masker: Masker
) -> LintFinding:
    """Return the finding with the names that its line's secrets have in the masker."""
    if finding.check != "secret" or not finding.edits:
        return finding
    edit = finding.edits[0]
    masked = masker.mask("".join(texts[edit.path].page.lines[edit.start : edit.end]))
    return replace(finding, edits=(replace(edit, text=masked),))


def apply(
    open_home: OpenHome, report: LintReport, accepted: Collection[str]
) -> tuple[list[str], list[str]]:
    """Write the fixes of these files as one turn. Return the changed files and notes for the user.

    What others have written meanwhile is merged. A file that cannot be merged, or that is gone,
    stays as it is. OpenclawError when a file cannot be written: the files before it are changed
    then, and undo takes them back.
    """
    new = apply_fixes_to_texts(report, accepted, open_home.masker)
    if not new:
        return [], []
    old = {document.path: document.text for document in report.documents}
    lock = open_home.home.private / "locks" / "notes.lock"
    left = []
    with command(open_home.home, "memory lint --fix") as turn, hold_lock(lock, LOCK_SECONDS):
        for path in sorted(new):
            file = open_home.home.root / path
            mark = BOM if (bytes_or_none(file) or b"").startswith(BOM) else b""
            before, after = (
                mark + side[path].encode("utf-8", "surrogateescape") for side in (old, new)
            )
            try:
                save_over(file, before, after, turn.keep)
            except SaveConflict:
                left.append(path)
    notices = [f"{path} was changed meanwhile, and left as it is" for path in left]
    return sorted({*new} - {*left}), [*notices, *turn.notices]


_HUNK = re.compile(rb"^@@ -\S+ \+(\d+)(?:,(\d+))? @@", re.MULTILINE)
_DIFF = (
    *("diff", "--cached", "--relative", "--no-color", "--no-ext-diff", "--no-textconv"),
    *("--no-renames", "--text"),
)
"""With --text what attributes call binary has lines as well; filters would change their numbers."""

Lines = Mapping[str, frozenset[int]]


def staged_lines(home: Home) -> tuple[list[Document], Lines]:
    """Return memory/ as git's index has it, and the staged lines (from 1) by path.

    UsageError without a repository.
    """
    # A commit of some files only has an index of its own, which it names to its hooks.
    named = os.environ.get("GIT_INDEX_FILE")
    env = {"GIT_INDEX_FILE": str(Path(named).absolute())} if named else {}
    git = Git(home.root, around=True)
    try:
        listed = git.run("ls-files", "--stage", "-z", "--", "memory", data=b"", **env)
        names = git.run(
            *_DIFF, "--name-only", "--diff-filter=d", "-z", "--", "memory", data=b"", **env
        )
        blobs = _blobs(git, listed)
        changed = names.decode("utf-8", "surrogateescape").split("\0")
        lines = {name: _lines(git, name, env) for name in changed if name in blobs}
    except GitError as error:
        raise UsageError(f"--staged needs git: {error}", error.hint) from error
    return [Document(path, text) for path, text in sorted(blobs.items())], lines


def staged_findings(found: Iterable[LintFinding], lines: Lines) -> list[LintFinding]:
    return [
        finding
        for finding in found
        if any(at in lines.get(finding.path, ()) for at in range(finding.line, finding.last + 1))
        or (finding.other and finding.other[1] in lines.get(finding.other[0], ()))
    ]


def _blobs(git: Git, listed: bytes) -> dict[str, str]:
    """Return the texts of the Markdown files among the lines of `ls-files --stage -z`, but not of
    those with a conflict."""
    found = {
        path: blob.oid
        for path, blob, stage in index_stages(listed)
        if path.endswith(".md") and path not in SKIPPED
        if blob.mode.startswith("100") and stage == "0"
    }
    blobs = git.blobs([*found.values()])
    texts = (blob.removeprefix(BOM).decode("utf-8", "surrogateescape") for blob in blobs)
    return dict(zip(found, texts, strict=True))


def _lines(git: Git, path: str, env: Mapping[str, str]) -> frozenset[int]:
    diff = git.run(*_DIFF, "--unified=0", "--", path, data=b"", **env)
    spans = ((int(first), int(count or 1)) for first, count in _HUNK.findall(diff))
    return frozenset(at for first, count in spans for at in range(first, first + count))
