"""Checks of the conversations: files that do not load, and files that were moved aside earlier."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

from openclaw.errors import Damaged, OpenclawError
from openclaw.maintenance.doctor.finding import Finding, RepairCopies, View
from openclaw.sessions.repair import ASIDE, BrokenFile, SessionRepair
from openclaw.sessions.session import Session
from openclaw.storage.git import Git, GitError, is_own
from openclaw.storage.home import Home
from openclaw.storage.lock import hold_lock
from openclaw.storage.safe_open import bytes_or_none
from openclaw.storage.text import encoding_of

CODE = Damaged.exit_code


def sessions(view: View) -> Iterator[Finding]:
    """Find sessions and archived parts that do not load, except those of a newer version."""
    for case in _mending(view.home).cases():
        where = view.home.relative(case.path)
        if case.trouble == "newer":
            found = f"{where}: {case.reason}; it is left alone"
            yield Finding(found, advice="install a newer openclaw to go on with it")
        elif case.trouble == "conflict":
            yield _both_sides(view.home, where, case)
        elif encoding_of(bytes_or_none(case.path) or b"") not in ("UTF-16", "UTF-32"):
            # Another encoding has a check of its own.
            yield _damaged(view.home, where, case)


def aside(view: View) -> Iterator[Finding]:
    """Find sessions that were damaged when they were read, and were moved aside then."""
    for stem in _mending(view.home).aside():
        found = f"sessions/{stem}.json was damaged and set aside"
        fix = "puts back all messages that can be read, or keeps it apart when there are none"
        yield Finding(found, fix=fix, repair=partial(_put_back, view.home, stem))


def _both_sides(home: Home, where: str, case: BrokenFile) -> Finding:
    found = f"{where}: {case.reason}"
    advice = "choose one side in an editor, or by git checkout --ours|--theirs"
    if _mending(home).both(case.path) is None:
        return Finding(found, advice, exit_code=CODE)
    fix = "joins both sides, message by message"
    return Finding(found, advice, fix, partial(_join, home, case), CODE)


def _join(home: Home, case: BrokenFile, kept: RepairCopies) -> str:
    mending = _mending(home)
    with _writing(home, case.id):
        kept.copy(case.path)
        session = mending.both(case.path)
        if session is None or not mending.put(case.path, session):
            raise OpenclawError("another program is changing it")
    return f"both sides joined: {len(session.messages)} messages"


def _damaged(home: Home, where: str, case: BrokenFile) -> Finding:
    found = f"{where} does not load: {case.reason}"
    fix = "saves what can be read of it or of the last commit, or keeps it apart"
    repair = partial(_mend_part if case.path.parent != home.sessions else _mend, home, case)
    return Finding(found, "", fix, repair, CODE)


def _mend(home: Home, case: BrokenFile, kept: RepairCopies) -> str:
    mending = _mending(home)
    with _writing(home, case.id):
        session = mending.better(case.path, case.id, _blob(home, case.path))
        if session is None:
            kept.remove(case.path)
            return "no message of it could be read; it was taken out of sessions/"
        kept.copy(case.path)
        if not mending.put(case.path, session):
            raise OpenclawError("another program is changing it")
    return _saved(session)


def _mend_part(home: Home, case: BrokenFile, kept: RepairCopies) -> str:
    """Repair an archived part. It is only of use as a whole: its messages are counted."""
    mending = _mending(home)
    with _writing(home, case.id):
        if case.path.exists():
            kept.copy(case.path)
        kept.copy(home.sessions / f"{case.id}.json")
        part = mending.better(case.path, case.id, _blob(home, case.path))
        listed = mending.update_part(case, part)
        if part is not None:
            mending.put(case.path, part)
            if len(part.messages) == listed:
                return f"all {listed} messages are back"
            return f"{len(part.messages)} of its {listed} messages could be saved"
    return f"none of its {listed} messages could be read; the conversation no longer lists them"


def _put_back(home: Home, stem: str, kept: RepairCopies) -> str:
    mending = _mending(home)
    parts = ASIDE.fullmatch(stem)
    session_id = parts["id"] if parts else stem
    path = home.sessions / f"{stem}.json"
    with _writing(home, session_id):
        session = mending.both(path, session_id)
        if session is None:
            session = mending.better(path, session_id, _earlier(home, session_id))
        if session is None:
            kept.remove(*mending.files_of_aside(stem))
            return "no message of it could be read; it was taken out of sessions/"
        for each in mending.files_of_aside(stem):
            kept.copy(each)
        name = mending.put_back(stem, session)
    return f"conversation {name}: {_saved(session)}"


def _saved(session: Session) -> str:
    count = session.archived + len(session.messages)
    return f"{count} messages saved" if count != 1 else "1 message saved"


def _earlier(home: Home, session_id: str) -> bytes | None:
    """Return a session that was moved aside as the last commit with it has it; None when another
    session has its name by now."""
    path = home.sessions / f"{session_id}.json"
    if path.exists() or not is_own(home.root):
        return None
    named = ("-1", "--format=%H", "--diff-filter=AM", "--", home.relative(path))
    commit = Git(home.root).says("log", *named)
    return _blob(home, path, commit) if commit else None


def _blob(home: Home, path: Path, commit: str = "HEAD") -> bytes | None:
    """Return the file as a commit has it, None without one."""
    if not is_own(home.root):
        return None
    try:
        return Git(home.root).run("cat-file", "blob", f"{commit}:{home.relative(path)}")
    except GitError:
        return None


def _mending(home: Home) -> SessionRepair:
    return SessionRepair(home.sessions, home.private / "locks")


def _writing(home: Home, session_id: str) -> AbstractContextManager[None]:
    lock = home.private / "locks" / f"session-{session_id}.lock"
    return hold_lock(lock, 0.5, what=f"conversation {session_id}")
