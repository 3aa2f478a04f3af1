"""Looks over a home's memory with all that is known: files, git, index words, conversations; and
carries fixes out as one turn of the history, which `undo` takes back."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from openclaw.app.command import command
from openclaw.app.linting_offers import never_offered
from openclaw.app.rooms import Rooms
from openclaw.errors import OpenclawError, UsageError
from openclaw.files.beneath import checked, is_folder, is_ordinary, read_bytes
from openclaw.files.home import Home
from openclaw.files.lock import locked
from openclaw.files.saving import Changed, save_over
from openclaw.files.text import BOM, decode
from openclaw.memory.lint import LEVELS, Document, Finding, Surroundings, lint, sorted_findings
from openclaw.memory.lint_fixes import fixed
from openclaw.memory.rewrite import text_of
from openclaw.safety.vault import Vault, entries_in
from openclaw.shapes import Keep

ROUNDS = 4
"""Hidden characters, then the secrets they were in, then what is the same without them."""
LOCK_SECONDS = 10.0
SKIPPED = ("memory/TESTS.md",)


@dataclass(frozen=True, slots=True)
class Report:
    """What was found in which files, and how many entries they have."""

    documents: Sequence[Document]
    findings: Sequence[Finding]
    around: Surroundings

    @property
    def entries(self) -> int:
        return sum(len(document.entries) for document in self.documents)

    def within(self, paths: Collection[str]) -> Report:
        """The same with the findings of these files and folders only; all when none is named."""
        if not paths:
            return self
        chosen = [f for f in self.findings if _is_within(f.path, paths)]
        return replace(self, findings=chosen)


def look_over(home: Home, today: date, documents: Sequence[Document] | None = None) -> Report:
    """Lint a home's memory, or these texts of it in the place of what stands in the files."""
    known = read(home) if documents is None else documents
    around = _around(home, today)
    found = [*lint(known, around), *_not_found(known)]
    if documents is None:
        found += never_offered(home, known, today)
    return Report(known, sorted_findings(found), around)


def read(home: Home) -> list[Document]:
    """The files of a memory, without links."""
    paths = []
    for folder, folders, names in os.walk(checked(home.memory)):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        paths += [Path(folder, name) for name in names if name.endswith(".md")]
    documents = (
        Document(home.relative(path), text_of(path)) for path in sorted(paths) if is_ordinary(path)
    )
    return [document for document in documents if document.path not in SKIPPED]


def chosen_paths(home: Home, named: Sequence[str]) -> list[str]:
    """Files and folders of the memory as the user names them: relative to the home, to memory/ or
    to the current folder. UsageError for what is none of it."""
    return [_chosen(home, name) for name in named]


def _chosen(home: Home, name: str) -> str:
    memory = os.path.realpath(home.memory)
    for base in (home.root, home.memory, Path.cwd()):
        real = os.path.realpath(base / name)
        if Path(real).exists() and (real == memory or real.startswith(memory + os.sep)):
            inner = os.path.relpath(real, memory).replace(os.sep, "/")
            return "memory" if inner == "." else f"memory/{inner}"
    raise UsageError(f"{name} is no file of this memory", "see them: openclaw memory list")


def _is_within(path: str, chosen: Collection[str]) -> bool:
    return any(path == name or path.startswith(f"{name}/") for name in chosen)


def _around(home: Home, today: date) -> Surroundings:
    def files() -> list[str]:
        return [*_names(home)]

    def exists(path: str) -> bool:
        return (home.root / path).exists()

    def text(path: str) -> str:
        return text_of(home.root / path) if is_ordinary(home.root / path) else ""

    return Surroundings(today.isoformat(), _kept_secrets(home), exists, files, text)


def _names(home: Home) -> Iterator[str]:
    """The files that a link may name without their folder."""
    for top in (home.memory, home.workspace, home.skills):
        for folder, folders, names in os.walk(top) if is_folder(top) else ():
            folders[:] = [name for name in folders if not name.startswith(".")]
            yield from (home.relative(Path(folder, name)) for name in names)


def _kept_secrets(home: Home) -> Collection[str] | None:
    """The names of the home's secrets; None where that cannot be told, as in a fresh clone."""
    try:
        return [*entries_in(decode(read_bytes(home.private / "secrets.json")))]
    except (OSError, ValueError, OpenclawError):
        return None


def _not_found(documents: Sequence[Document]) -> Iterator[Finding]:
    """Lasting facts that a question of their own words does not find. A note of a day is found by
    its day as well."""
    from openclaw.retrieval.selfcheck import FIRST, not_found

    known = {document.path: document for document in documents if document.kind != "inbox"}
    lines = {
        path: {entry.at + 1 for entry in document.entries if not entry.superseded}
        for path, document in known.items()
        if document.kind == "lasting"
    }
    texts = {path: document.text for path, document in known.items()}
    for (path, line), (other, at) in not_found(texts, lines).items():
        yield Finding(
            "not-found",
            LEVELS["not-found"],
            path,
            line,
            f"its own words find {FIRST} others before it, first {other}:{at}",
            "name what it is about: who, which, where",
            line,
            (other, at),
        )


# ---- fixes


def repaired(
    report: Report, accepted: Collection[str] | None = None, vault: Vault | None = None
) -> dict[str, str]:
    """The new texts, by path, of the files that fixes of the report's findings change. With
    `accepted` no other file changes: what would need one is left as it is. With `vault` secrets are
    kept in it; else a name stands for them that they may get."""
    texts = {document.path: document for document in report.documents}
    asked = {finding.path for finding in report.findings}
    found: Sequence[Finding] = report.findings
    changed: dict[str, str] = {}
    for _ in range(ROUNDS):
        able = _in_turn([f for f in found if f.path in asked and _may(f, accepted)])
        if vault is not None:
            able = [_named(finding, texts[finding.path], vault) for finding in able]
        new = fixed(texts.values(), able)
        if not new:
            break
        changed |= new
        texts |= {path: Document(path, text) for path, text in new.items()}
        found = lint(texts.values(), report.around)
    return changed


def _in_turn(found: Sequence[Finding]) -> list[Finding]:
    """Without the secrets of lines that have hidden characters: a part of the value would be taken
    for the whole, or kept with them in it."""
    hidden = {(f.path, f.line) for f in found if f.check == "hidden" and f.edits}
    return [f for f in found if f.check != "secret" or (f.path, f.line) not in hidden]


def _may(finding: Finding, accepted: Collection[str] | None) -> bool:
    return accepted is None or all(edit.path in accepted for edit in finding.edits)


def _named(finding: Finding, document: Document, vault: Vault) -> Finding:
    """The finding with the names that its line's secrets have in the vault."""
    if finding.check != "secret" or not finding.edits:
        return finding
    edit = finding.edits[0]
    masked = vault.mask("".join(document.page.lines[edit.start : edit.end]))
    return replace(finding, edits=(replace(edit, text=masked),))


def apply(rooms: Rooms, report: Report, accepted: Collection[str]) -> tuple[list[str], list[str]]:
    """Write the fixes of these files as one turn. Returns the files that were changed, and what the
    user should know.

    What others have written meanwhile is merged; a file where that cannot be done, or that is gone,
    is left as it is. OpenclawError when a file cannot be written: the files before it are changed
    then, and undo takes them back.
    """
    new = repaired(report, accepted, rooms.vault)
    if not new:
        return [], []
    old = {document.path: document.text for document in report.documents}
    lock = rooms.home.private / "locks" / "notes.lock"
    with command(rooms.home, "memory lint --fix") as turn, locked(lock, LOCK_SECONDS):
        left = _write(rooms.home, old, new, turn.keep)
    notices = [f"{path} was changed meanwhile, and left as it is" for path in left]
    return sorted({*new} - {*left}), [*notices, *turn.notices]


def _write(home: Home, old: Mapping[str, str], new: Mapping[str, str], keep: Keep) -> list[str]:
    """Save the new texts. Returns the paths of those that others have changed in the same lines."""
    left = []
    for path in sorted(new):
        file = home.root / path
        mark = _mark(file)
        before, after = (
            mark + side[path].encode("utf-8", "surrogateescape") for side in (old, new)
        )
        try:
            save_over(file, before, after, keep)
        except Changed:
            left.append(path)
    return left


def _mark(file: Path) -> bytes:
    """The byte order mark that a file begins with, if it does and can be read."""
    try:
        return BOM if read_bytes(file).startswith(BOM) else b""
    except OSError:
        return b""
