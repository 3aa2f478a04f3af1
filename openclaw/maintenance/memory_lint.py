"""Check a home's memory with all that is known: files, git, index words and conversations.

Fixes are written as one turn of the history, which `undo` takes back.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from openclaw.errors import OpenclawError, UsageError
from openclaw.frozen import frozen
from openclaw.history.history import command
from openclaw.home.open_home import OpenHome
from openclaw.memory.findings import LEVELS, Document, LintContext, LintFinding
from openclaw.memory.lint import apply_fixes, lint, sorted_findings
from openclaw.memory.markdown import read_markdown
from openclaw.messages import TurnRecord
from openclaw.retrieval.chunking import Chunk, split
from openclaw.retrieval.ranking import BONUS_ALL, K1, KEYWORDS, B
from openclaw.retrieval.snapshot import Posting, postings
from openclaw.retrieval.tokens import words
from openclaw.security.vault import Vault, read_secrets_file
from openclaw.storage.git import Git, GitError
from openclaw.storage.home import Home
from openclaw.storage.lock import hold_lock
from openclaw.storage.safe_open import check_no_links, is_folder, is_ordinary, read_bytes
from openclaw.storage.saving import SaveConflict, save_over
from openclaw.storage.text import BOM, decode
from openclaw.types import BeforeWrite

ROUNDS = 4
"""Hidden characters, then the secrets they were in, then what is the same without them."""
LOCK_SECONDS = 10.0
SKIPPED = ("memory/TESTS.md",)


@frozen
class LintReport:
    """What was found in which files, and how many entries they have."""

    documents: Sequence[Document]
    findings: Sequence[LintFinding]
    around: LintContext

    @property
    def entries(self) -> int:
        return sum(len(document.entries) for document in self.documents)

    def within(self, paths: Collection[str]) -> LintReport:
        """Return the report with the findings of these files and folders only; all if none is
        named.
        """
        if not paths:
            return self
        chosen = [f for f in self.findings if _is_within(f.path, paths)]
        return replace(self, findings=chosen)


def lint_home(home: Home, today: date, documents: Sequence[Document] | None = None) -> LintReport:
    """Lint a home's memory, or the given texts in place of those in the files."""
    known = read(home) if documents is None else documents
    around = _around(home, today)
    found = [*lint(known, around), *_not_found(known)]
    if documents is None:
        found += never_offered(home, known, today)
    return LintReport(known, sorted_findings(found), around)


def read(home: Home) -> list[Document]:
    """The files of a memory, without links."""
    paths = []
    for folder, folders, names in os.walk(check_no_links(home.memory)):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        paths += [Path(folder, name) for name in names if name.endswith(".md")]
    documents = (
        Document(home.relative(path), read_markdown(path))
        for path in sorted(paths)
        if is_ordinary(path)
    )
    return [document for document in documents if document.path not in SKIPPED]


def chosen_paths(home: Home, named: Sequence[str]) -> list[str]:
    """Resolve files and folders of the memory as the user names them: relative to the home, to
    memory/ or to the current folder. UsageError for a path that is none of these.
    """
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


def _around(home: Home, today: date) -> LintContext:
    def files() -> list[str]:
        return [*_names(home)]

    def exists(path: str) -> bool:
        return (home.root / path).exists()

    def text(path: str) -> str:
        return read_markdown(home.root / path) if is_ordinary(home.root / path) else ""

    return LintContext(today.isoformat(), _kept_secrets(home), exists, files, text)


def _names(home: Home) -> Iterator[str]:
    """Return the files that a link may name without their folder."""
    for top in (home.memory, home.workspace, home.skills):
        for folder, folders, names in os.walk(top) if is_folder(top) else ():
            folders[:] = [name for name in folders if not name.startswith(".")]
            yield from (home.relative(Path(folder, name)) for name in names)


def _kept_secrets(home: Home) -> Collection[str] | None:
    """Return the names of the home's secrets; None when they are unknown, as in a fresh clone."""
    try:
        return [*read_secrets_file(decode(read_bytes(home.private / "secrets.json")))]
    except (OSError, ValueError, OpenclawError):
        return None


def _not_found(documents: Sequence[Document]) -> Iterator[LintFinding]:
    """Find lasting facts that a question made of their own words does not find.

    A note of a day is found by its day as well, so it is left out.
    """

    known = {document.path: document for document in documents if document.kind != "inbox"}
    lines = {
        path: {entry.at + 1 for entry in document.entries if not entry.superseded}
        for path, document in known.items()
        if document.kind == "lasting"
    }
    texts = {path: document.text for path, document in known.items()}
    for (path, line), (other, at) in not_found(texts, lines).items():
        yield LintFinding(
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


def apply_fixes_to_texts(
    report: LintReport, accepted: Collection[str] | None = None, vault: Vault | None = None
) -> dict[str, str]:
    """Return the new texts, by path, of the files that fixes of the report's findings change.

    With `accepted` no other file changes: a fix that needs one is left out. With `vault` secrets
    are stored in it; without it the names that they may get stand for them.
    """
    texts = {document.path: document for document in report.documents}
    asked = {finding.path for finding in report.findings}
    found: Sequence[LintFinding] = report.findings
    changed: dict[str, str] = {}
    for _ in range(ROUNDS):
        able = _in_turn([f for f in found if f.path in asked and _may(f, accepted)])
        if vault is not None:
            able = [_with_secret_names(finding, texts[finding.path], vault) for finding in able]
        new = apply_fixes(texts.values(), able)
        if not new:
            break
        changed |= new
        texts |= {path: Document(path, text) for path, text in new.items()}
        found = lint(texts.values(), report.around)
    return changed


def _in_turn(found: Sequence[LintFinding]) -> list[LintFinding]:
    """Leave out the secrets of lines that have hidden characters: a part of the value would be
    taken for the whole, or be stored with these characters in it.
    """
    hidden = {(f.path, f.line) for f in found if f.check == "hidden" and f.edits}
    return [f for f in found if f.check != "secret" or (f.path, f.line) not in hidden]


def _may(finding: LintFinding, accepted: Collection[str] | None) -> bool:
    return accepted is None or all(edit.path in accepted for edit in finding.edits)


def _with_secret_names(finding: LintFinding, document: Document, vault: Vault) -> LintFinding:
    """Return the finding with the names that its line's secrets have in the vault."""
    if finding.check != "secret" or not finding.edits:
        return finding
    edit = finding.edits[0]
    masked = vault.mask("".join(document.page.lines[edit.start : edit.end]))
    return replace(finding, edits=(replace(edit, text=masked),))


def apply(
    open_home: OpenHome, report: LintReport, accepted: Collection[str]
) -> tuple[list[str], list[str]]:
    """Write the fixes of these files as one turn. Return the changed files and notes for the user.

    What others have written meanwhile is merged. A file that cannot be merged, or that is gone,
    stays as it is. OpenclawError when a file cannot be written: the files before it are changed
    then, and undo takes them back.
    """
    new = apply_fixes_to_texts(report, accepted, open_home.vault)
    if not new:
        return [], []
    old = {document.path: document.text for document in report.documents}
    lock = open_home.home.private / "locks" / "notes.lock"
    with command(open_home.home, "memory lint --fix") as turn, hold_lock(lock, LOCK_SECONDS):
        left = _write(open_home.home, old, new, turn.keep)
    notices = [f"{path} was changed meanwhile, and left as it is" for path in left]
    return sorted({*new} - {*left}), [*notices, *turn.notices]


def _write(
    home: Home, old: Mapping[str, str], new: Mapping[str, str], keep: BeforeWrite
) -> list[str]:
    """Save the new texts. Return the paths of files in which others changed the same lines."""
    left = []
    for path in sorted(new):
        file = home.root / path
        mark = _mark(file)
        before, after = (
            mark + side[path].encode("utf-8", "surrogateescape") for side in (old, new)
        )
        try:
            save_over(file, before, after, keep)
        except SaveConflict:
            left.append(path)
    return left


def _mark(file: Path) -> bytes:
    """Return the byte order mark of a file; empty if it has none or cannot be read."""
    try:
        return BOM if read_bytes(file).startswith(BOM) else b""
    except OSError:
        return b""


OLD_DAYS = 90
LEAST_TURNS = 50
"""With fewer recorded turns nothing is said: an entry had no chance yet."""
MOST_FILES = 300
MOST_BYTES = 20_000_000
MOST_LINES = 12
LASTING = "memory/MEMORY.md"


@dataclass(slots=True)
class _Offers:
    """The number of recorded turns, the lines they offered by path, and their prompts' texts."""

    turns: int = 0
    lines: dict[str, set[int]] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)


def never_offered(home: Home, documents: Sequence[Document], today: date) -> Iterator[LintFinding]:
    """Return one piece of advice for each file with entries older than `OLD_DAYS` that were given
    to no recorded turn. MEMORY.md is given to every turn and is left out.
    """
    offers = _offers(home)
    if offers.turns < LEAST_TURNS:
        return
    said, limit = "\n".join(offers.texts), (today - timedelta(days=OLD_DAYS)).isoformat()
    for document in documents:
        if document.kind not in ("lasting", "daily") or document.path == LASTING:
            continue
        old = [e for e in document.entries if not e.superseded and "" < document.date(e) < limit]
        given = offers.lines.get(document.path, set())
        unseen = [e.at + 1 for e in old if e.at + 1 not in given and e.text not in said]
        if unseen:
            yield _finding(document, unseen, len(old), offers.turns)


def _finding(document: Document, unseen: Sequence[int], old: int, turns: int) -> LintFinding:
    more = f" and {len(unseen) - MOST_LINES} more" if len(unseen) > MOST_LINES else ""
    lines = ", ".join(map(str, unseen[:MOST_LINES])) + more
    return LintFinding(
        "never-offered",
        LEVELS["never-offered"],
        document.path,
        unseen[0],
        f"{len(unseen)} of {old} entries older than {OLD_DAYS} days were never given to any of"
        f" {turns} turns: line{'s' * (len(unseen) > 1)} {lines}",
        "see whether they still matter",
        unseen[0],
    )


def _offers(home: Home) -> _Offers:
    offers = _Offers()
    for message in _messages(home):
        noted = message.get("record")
        record = TurnRecord.from_json(noted if isinstance(noted, dict) else {})
        if record.found is None and record.offered is None:
            continue
        offers.turns += 1
        offers.texts.append(str(message.get("context", "")))
        for passage in record.offered or ():
            first, last = passage.get("start_line"), passage.get("end_line")
            if isinstance(first, int) and isinstance(last, int):
                lines = offers.lines.setdefault(str(passage.get("path")), set())
                lines.update(range(first, min(last, first + 1000) + 1))
    return offers


def _messages(home: Home) -> Iterator[Mapping[str, Any]]:
    """Yield the messages of the newest conversations that can be read."""
    left = MOST_BYTES
    paths = [*home.sessions.glob("*.json"), *home.sessions.glob("archive/*/*.json")]
    for path in sorted(paths, key=_changed, reverse=True)[:MOST_FILES]:
        try:
            data = read_bytes(path)
            left -= len(data)
            if left < 0:
                return
            shape = json.loads(data) if b'"record"' in data else {}
        except (OSError, ValueError, RecursionError):
            continue
        messages = shape.get("messages") if isinstance(shape, dict) else shape
        yield from _dicts(messages)


def _changed(path: Path) -> float:
    """Return the time of a file's last change; 0 for a broken link or a file that is gone."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _dicts(value: Any) -> Iterable[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


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


def staged_findings(found: Iterable[LintFinding], lines: Lines) -> list[LintFinding]:
    """Return the findings that involve staged lines."""
    return [
        finding
        for finding in found
        if any(at in lines.get(finding.path, ()) for at in range(finding.line, finding.last + 1))
        or (finding.other and finding.other[1] in lines.get(finding.other[0], ()))
    ]


def _surroundings() -> dict[str, str]:
    """Return the environment for git: a commit of some files only has an index of its own, which it
    names to its hooks.
    """
    named = os.environ.get("GIT_INDEX_FILE")
    return {"GIT_INDEX_FILE": str(Path(named).absolute())} if named else {}


def _blobs(git: Git, listed: bytes) -> dict[str, str]:
    """Return the texts of the Markdown files among the lines of `ls-files --stage -z`."""
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


FIRST = 3
"""Among so many passages a line has to be: as many as a turn is usually given."""
_EQUAL = 1e-4


def not_found(
    texts: Mapping[str, str], lines: Mapping[str, Collection[int]], first: int = FIRST
) -> dict[tuple[str, int], tuple[str, int]]:
    """Find lines that a question of their own words does not bring among the `first` passages.

    Lines count from 1, by path. Each comes with the passage (path, line) that ranks first. Lines
    that say the same as a better one are duplicates and are not counted.
    """
    places, chunks = [], []
    for path, text in texts.items():
        for chunk in split(text, "markdown", path):
            places.append((path, chunk.start_line))
            chunks.append(chunk)
    if not chunks:
        return {}
    ranks = _Ranks(chunks)
    lost = {}
    for row, (path, line) in enumerate(places):
        if line in lines.get(path, ()) and chunks[row].context:
            best = ranks.before(row, first)
            if best is not None:
                lost[path, line] = places[best]
    return lost


class _Ranks:
    """BM25 over chunks, all in memory; formula and weights as in `llama_words`."""

    def __init__(self, chunks: list[Chunk]) -> None:
        self._said = [chunk.parts[0] if chunk.parts else "" for chunk in chunks]
        self._own = [tuple(dict.fromkeys(words(said))) for said in self._said]
        self._postings, lengths = postings(chunks)
        mean = float(lengths.mean()) or 1.0
        self._norm = K1 * ((1 - B) + B * lengths / mean)
        self._count = len(chunks)
        self._weights: dict[str, Posting] = {}
        self._struck = np.array([chunk.struck for chunk in chunks])

    def before(self, row: int, first: int) -> int | None:
        """The best row when `first` or more others come before this one, else None."""
        terms = self._own[row]
        if not terms:
            return None
        scores = np.zeros(self._count, np.float32)
        for term in terms:
            rows, weights = self._weight(term)
            scores[rows] += weights
        scores[self._struck] = 0
        if len(terms) <= KEYWORDS:
            self._add_look_up(scores, row)
        ahead = np.flatnonzero(scores > scores[row] + _EQUAL)
        if len(ahead) < first:
            return None
        order = ahead[np.argsort(-scores[ahead], kind="stable")].tolist()
        texts = list(dict.fromkeys(self._said[at] for at in order))[:first]
        return order[0] if len(texts) == first and self._said[row] not in texts else None

    def _add_look_up(self, scores: npt.NDArray[np.float32], row: int) -> None:
        """A question of few words is a look-up: lines that hold all of them come first."""
        wanted, high = set(self._own[row]), float(scores.max()) or 1.0
        for at in np.flatnonzero(scores).tolist():
            if wanted.issubset(self._own[at]):
                scores[at] += BONUS_ALL * high

    def _weight(self, term: str) -> Posting:
        """Return the rows that hold a word, and what it adds to their scores."""
        if term not in self._weights:
            rows, counts = self._postings.get(
                term, (np.empty(0, np.int32), np.empty(0, np.float32))
            )
            idf = np.log(1 + (self._count - len(rows) + 0.5) / (len(rows) + 0.5))
            weights = (idf * counts / (self._norm[rows] + counts)).astype(np.float32)
            self._weights[term] = rows, weights
        return self._weights[term]
