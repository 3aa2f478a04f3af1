"""Brings a home and the git repository that its devices share to the same state."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import PurePosixPath
from typing import Any

from openclaw.agent.sync_merge import Keep, SyncConflict, bring_in, merge_file
from openclaw.agent.undo import recover, session_of, undo_lock
from openclaw.errors import OpenclawError, Refused, UsageError
from openclaw.history.git_log import Blob, changed_blobs, turns
from openclaw.history.record import Journal, new_turn
from openclaw.history.rollback import Plan, read_home_file
from openclaw.history.turns import FILE, PROGRAM, TALK, Turn
from openclaw.home.open_home import OpenHome
from openclaw.security.display import some_of
from openclaw.security.foreign_files import ForeignFiles
from openclaw.security.trust import is_own_remote, signers
from openclaw.sessions.session import FOREIGN
from openclaw.storage.git import Git
from openclaw.storage.git_remote import Remote, is_signed, sign_head, signs
from openclaw.storage.home import is_inside
from openclaw.storage.lock import hold_lock
from openclaw.storage.safe_open import LARGEST_KEPT, NotOrdinary, decode, parse_foreign_json
from openclaw.types import FileContent

LOCK_SECONDS = 2.0
ATTEMPTS = 8  # times that another device may push first


@dataclass(slots=True)
class SyncResult:
    """What a sync did, or with `dry_run` would do.

    own: what comes in counts as the user's words
    edits: files that the user had changed here, and that were committed as his
    received, sent: numbers of commits
    files: what was written here
    conflicts: with any, nothing was written or sent
    """

    remote: str
    branch: str
    own: bool
    edits: list[str] = field(default_factory=list)
    received: int = 0
    sent: int = 0
    files: list[str] = field(default_factory=list)
    conflicts: tuple[SyncConflict, ...] = ()
    notices: list[str] = field(default_factory=list)
    commit: str = ""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


Versions = Mapping[str, tuple[bytes | None, bytes | None]]
"""What the common commit and the other device have of each file."""


def sync(
    open_home: OpenHome, remote: Remote, *, keep: Keep = "", dry_run: bool = False
) -> SyncResult:
    """Commit what waits here, merge what other devices have pushed, and push.

    Raises Refused for files of a remote that is not the user's and that would give orders or
    rights, OpenclawError when the remote cannot be reached or something cannot be written. Nothing
    is lost then; the next sync goes on.
    """
    history = open_home.history
    if not history.in_git:
        raise UsageError(
            f"{history.root} makes no commits of its own, so there is nothing to sync",
            "a home needs a repository of its own and git.auto_commit: true (docs/history.md)",
        )
    named = is_own_remote(open_home.home, remote.url)
    result = SyncResult(remote.shown, remote.branch, named)
    with hold_lock(open_home.home.private / "locks" / "sync.lock", LOCK_SECONDS, what="sync"):
        result.notices += recover(open_home)
        if any(record.turn.kind != "turn" for record in history.unfinished()):
            raise OpenclawError("an earlier undo or sync is not complete", "openclaw doctor")
        for attempt in range(ATTEMPTS):
            if not dry_run:
                result.edits += history.commit_edits()
            other = remote.fetch()
            result.own = named or is_signed(remote.root, other, signers(open_home.home))
            _merge(open_home, other, result, keep, dry_run=dry_run)
            result.commit = history.head()
            if dry_run or result.conflicts or _push(open_home, remote, other, result):
                return result
            time.sleep(0.05 * attempt)
    raise OpenclawError(
        f"other devices push to {remote.shown} all the time",
        "what is here is committed here; sync again later",
    )


def _push(open_home: OpenHome, remote: Remote, other: str, result: SyncResult) -> bool:
    if result.commit != other:
        if signs(remote.root):
            sign_head(remote.root, result.commit)
            result.commit = open_home.history.head()
        if not remote.push(result.commit):
            return False
    result.sent = _count(Git(remote.root), other, result.commit)
    return True


def _merge(
    open_home: OpenHome, other: str, result: SyncResult, keep: Keep, *, dry_run: bool
) -> None:
    """Bring in what the other commit has and HEAD has not."""
    git, head = Git(open_home.history.root), open_home.history.head()
    _check_nothing_private(git, head, other)
    base = git.says("merge-base", head, other) if other else ""
    if other and not base:
        raise UsageError(
            "the remote holds another home, which has no commit in common with this one",
            f"make this device's home from it: git clone {result.remote} DIR",
        )
    result.sent = _count(git, other, head)
    if base == other:
        return
    with ExitStack() as locks:
        theirs = changed_blobs(git, base, other)
        if not dry_run:
            locks.enter_context(undo_lock(open_home))
            for name in sorted({session_of(path) for path in theirs} - {""}):
                locks.enter_context(open_home.sessions.writing(name, LOCK_SECONDS))
        plan, versions, conflicts = _plan(git, theirs, keep)
        if not result.own:
            _check_gives_no_orders(plan, result.remote)
        result.conflicts = tuple(conflicts)
        result.received += _count(git, base, other)
        result.files += [path for path in plan.changes if path not in result.files]
        if dry_run or conflicts:
            return
        incoming = [*turns(git.root, within=f"{base}..{other}")]
        open_home.history.note_elsewhere(incoming)
        ForeignFiles(open_home.home).note_all(
            _marks_of_sessions(git, incoming, other)
            if result.own
            else _marks(plan, versions, f"git {result.remote}")
        )
        _bring_in(open_home, plan, other)
    if notice := open_home.history.publish():
        raise OpenclawError(notice, "then sync again: nothing was sent yet")


def _bring_in(open_home: OpenHome, plan: Plan, other: str) -> None:
    turn = new_turn("Sync with another device", "sync", of=(other,))
    journal = Journal.begin(open_home.home, turn, open_home.history.head())
    for path in plan.changes:
        journal.intend(path, plan.now[path], plan.wanted[path])
    journal.record.seal()
    bring_in(open_home.history, journal)


def _plan(
    git: Git, theirs: Mapping[str, tuple[Blob, Blob]], keep: Keep
) -> tuple[Plan, Versions, list[SyncConflict]]:
    """What becomes of the files here that differ between the base and the other commit."""
    plain = {
        path: pair
        for path, pair in theirs.items()
        if is_inside(path) and all(blob.mode in ("", FILE, PROGRAM) for blob in pair)
    }
    contents = _contents(git, plain)
    plan, versions, conflicts = Plan(), {}, list[SyncConflict]()
    for path, (old, new) in plain.items():
        try:
            found = read_home_file(git.root, path)
        except NotOrdinary:
            continue
        mine, program = found or (None, False)
        if found and mine is None:
            raise _too_large(path)
        base, other = (contents.get(blob.oid) for blob in (old, new))
        merged = merge_file(path, base, mine, other, keep)
        conflicts += merged.conflicts
        plan.now[path], versions[path] = found, (base, other)
        program = new.mode == PROGRAM if new.mode not in ("", old.mode) else program
        plan.wanted[path] = None if merged.data is None else (merged.data, program)
    return plan, versions, conflicts


def _contents(git: Git, files: Mapping[str, tuple[Blob, Blob]]) -> dict[str, bytes]:
    """The contents of these blobs by id. OpenclawError for one that is too large to be kept."""
    oids = {blob.oid: path for path, pair in files.items() for blob in pair if blob.oid}
    names = "".join(f"{oid}\n" for oid in oids).encode()
    sizes = git.run("cat-file", "--batch-check=%(objectname) %(objectsize)", data=names).decode()
    for oid, size in (line.split() for line in sizes.splitlines()):
        if int(size) > LARGEST_KEPT:
            raise _too_large(oids[oid])
    return dict(zip(oids, git.blobs([*oids]), strict=True))


def _too_large(path: str) -> OpenclawError:
    return OpenclawError(
        f"{path} is larger than {LARGEST_KEPT // 1_000_000} MB, which sync does not merge",
        "bring it over by git itself",
    )


def _count(git: Git, since: str, upto: str) -> int:
    return int(git.says("rev-list", "--count", upto, *([f"^{since}"] if since else [])) or 0)


def _check_nothing_private(git: Git, head: str, other: str) -> None:
    """Raise OpenclawError where commits that would travel hold the private folder."""
    between = f"{head}...{other}" if other else head
    if git.says("rev-list", "-1", "--full-history", between, "--", ".openclaw"):
        raise OpenclawError(
            "a commit holds files of .openclaw/, which is private and must not travel",
            f"find it and take it out: git -C {git.root} log -- .openclaw",
        )


# -------- whose words these are


def _check_gives_no_orders(plan: Plan, remote: str) -> None:
    """Raise Refused where a remote that is not the user's changes more than notes."""
    paths = [path for path in plan.changes if not _is_note(path, plan.wanted[path])]
    if paths:
        raise Refused(
            f"{remote} is not named as yours, and would change {some_of(paths, 1)}",
            "if it is yours, say so: openclaw trust --remote ADDRESS; --dry-run shows all files",
        )


def _is_note(path: str, content: FileContent) -> bool:
    """Return True for Markdown that gives no orders: those files have names in capitals."""
    pure = PurePosixPath(path)
    program = content is not None and content[1]
    plain = pure.suffix == ".md" and not program and not pure.stem.isupper()
    return plain and pure.parts[0] in ("memory", "workspace")


def _marks(plan: Plan, versions: Versions, source: str) -> Iterator[tuple[str, str, str]]:
    """What another's repository brings counts as text of others."""
    for path in plan.changes:
        base, other = versions[path]
        if other is not None:  # what is here already is not of others: a page repeats it
            now = plan.now[path]
            known = b"\n".join((base or b"", (now and now[0]) or b""))
            yield path, source, _new_lines(known, other)


def _marks_of_sessions(
    git: Git, incoming: list[Turn], other: str
) -> Iterator[tuple[str, str, str]]:
    """What the other device wrote in a conversation that had seen text of others."""
    sources: dict[str, str] = {}
    for turn in incoming:
        if turn.session and turn.session not in sources:
            sources[turn.session] = _foreign_source(git, f"{other}:{TALK}{turn.session}.json")
        if turn.session and sources[turn.session]:
            for step in turn.steps:
                names = [(name or "").rpartition(":")[2] for name in (step.before, step.after)]
                if step.after and not step.is_talk:
                    base, new = (git.blobs([oid])[0] if oid else b"" for oid in names)
                    yield step.path, sources[turn.session], _new_lines(base, new)


def _foreign_source(git: Git, name: str) -> str:
    """The text of others that a conversation has seen, "" for none."""
    try:
        session = parse_foreign_json(git.says("cat-file", "blob", name))
    except ValueError:
        return ""
    found = session.get(FOREIGN) if isinstance(session, dict) else None
    return ", ".join(map(str, found)) if isinstance(found, dict) else ""


def _new_lines(base: bytes | None, other: bytes) -> str:
    known = set(decode(base or b"").splitlines())
    return "\n".join(line for line in decode(other).splitlines() if line not in known)
