"""Checks of what killed processes left: half-written files, names of lock holders, open turns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from openclaw.app.health.finding import Finding, Kept, NotRepaired
from openclaw.app.health.view import View
from openclaw.errors import OpenclawError
from openclaw.files.beneath import checked, remove
from openclaw.files.home import Home
from openclaw.history import journal, record

OLD = 3600
"""Seconds after which nobody is still writing a file."""
YOUNG = 60
"""Seconds in which the first line of a record may still be on its way."""
_TEMP = re.compile(r"\.openclaw-[0-9a-f]{6,}\.tmp")


def files(view: View) -> Iterator[Finding]:
    """Files that were being written by a process that is gone."""
    old = [
        view.path(seen)
        for seen in view.seen
        if _TEMP.fullmatch(seen.path.rpartition("/")[2]) and seen.status.st_mtime < view.now - OLD
    ]
    if old:
        names = ", ".join(view.home.relative(path) for path in old[:3])
        more = f" and {len(old) - 3} more" if len(old) > 3 else ""
        found = f"half-written files of killed processes: {names}{more}"
        yield Finding(found, fix="removes them", repair=partial(_take_away, old))


def _take_away(paths: list[Path], kept: Kept) -> str:
    for path in paths:
        if path.exists():
            kept.move(path)
    return f"{len(paths)} removed"


def locks(view: View) -> Iterator[Finding]:
    """Notes beside locks on who holds them, of processes that are gone. They hinder nobody."""
    folder = view.home.private / "locks"
    stale = [path for path in sorted(folder.glob("*.lock.*")) if _is_free(path)]
    if stale:
        found = f"{len(stale)} notes of processes that are gone beside their locks; they do no harm"
        yield Finding(found, "ok", fix="removes them", repair=partial(_drop, stale))


def _is_free(note: Path) -> bool:
    lock = note.with_name(note.name.partition(".lock")[0] + ".lock")
    try:
        return note.stat().st_size >= 0 and not _is_held(lock)
    except OSError:
        return False


def _is_held(lock: Path) -> bool:
    from filelock import FileLock, Timeout

    if not lock.exists():
        return False
    try:
        free = FileLock(checked(lock))
        free.acquire(timeout=0)
    except (Timeout, OSError, NotImplementedError, RuntimeError):
        return True
    free.release()
    return False


def _drop(notes: list[Path], kept: Kept) -> str:
    for note in notes:
        if _is_free(note):
            remove(note)
    return f"{len(notes)} removed"


def turns(view: View) -> Iterator[Finding]:
    """Turns of processes that were killed, and records of turns that cannot be read."""
    place = journal.place_of(view.home)
    open_ones = record.marked(place, record.RUNNING)
    ended = [each for each in open_ones if _is_dead(view.home, each)]
    if ended:
        found = f"{len(ended)} turns were interrupted (the newest: {ended[-1].turn.subject!r})"
        fix = "marks what was half done and closes them, as the next prompt does by itself"
        yield Finding(found, fix=fix, repair=_recover)
    for folder in record.unreadable(place):
        finding = _unreadable(view.home, folder)
        if not finding.repair or abs(_age(folder, view.now)) > YOUNG:
            yield finding


def _unreadable(home: Home, folder: Path) -> Finding:
    where = home.relative(folder)
    what = "is no record of a turn"
    try:
        record.read(folder)
    except OpenclawError as error:
        return Finding(f"{where}: {error}; it is left alone", advice=error.hint)
    except record.Foreign:
        what = "was not written by you on this machine, or by an older openclaw: it does not count"
    except (OSError, ValueError, LookupError, TypeError):
        pass
    fix = "takes it out of the history"
    return Finding(f"{where} {what}", fix=fix, repair=partial(_take_out, folder))


def _age(folder: Path, now: float) -> float:
    """Seconds since something was written into a record, 0 for one that is gone."""
    try:
        paths = [folder, *folder.iterdir()]
        return now - max(path.stat().st_mtime for path in paths)
    except OSError:
        return 0


def _take_out(folder: Path, kept: Kept) -> str:
    try:
        record.read(folder)
    except (OSError, ValueError, LookupError, TypeError):
        pass
    else:
        raise NotRepaired("it can be read by now")
    locks = sorted((kept.home.private / "locks").glob("*-*.lock"))
    if (folder / record.RUNNING).exists() and any(map(_is_held, locks)):
        raise NotRepaired("a conversation is in use, and the record may be of its turn")
    kept.move(folder)
    return "taken out of the history"


def _is_dead(home: Home, found: record.Record) -> bool:
    """Whether nobody holds the lock under which a turn, or an undo, runs."""
    return not _is_held(home.private / "locks" / f"{found.turn.lock}.lock")


def _recover(kept: Kept) -> str:
    from openclaw.app import App
    from openclaw.config import load_settings

    app = App.open(kept.home, load_settings(kept.home))
    try:
        said = app.recover()
    finally:
        app.close()
    return "; ".join(said) or "nothing was left to repair"
