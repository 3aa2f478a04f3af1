"""Checks of what lies below the files: rights, disk, clock, the kind of file system."""

from __future__ import annotations

import os
import shutil
import stat
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from openclaw.app.health.finding import Finding, Kept
from openclaw.app.health.view import Seen, View
from openclaw.files.beneath import checked
from openclaw.files.git import Git, is_own
from openclaw.files.text import unwritable
from openclaw.sessions.listing import last_updated

LOW, FULL = 100_000_000, 10_000_000
"""Free bytes on the home's disk: too few, and so few that a turn cannot be saved."""
AHEAD = 24 * 3600
"""Seconds that a file may be from the future: time zones, other machines."""
OWN = ("memory", "sessions", "openclaw.yaml")
"""What the program writes itself. In workspace/ and skills/ a file may be read-only on purpose."""


def rights(view: View) -> Iterator[Finding]:
    """Files and folders that cannot be read, and those of the program's that it cannot write."""
    for seen in view.seen:
        missing = _missing(view, seen)
        if missing:
            found = f"{seen.path} cannot be {missing}"
            if not _is_ours(seen):
                yield Finding(found, advice="it is another user's: have that one give you access")
                continue
            word = "u+rwx" if seen.is_folder else "u+rw"
            yield Finding(
                found,
                fix=f"gives this user access (chmod {word})",
                repair=partial(_give_access, view.path(seen), seen.is_folder),
            )


def _missing(view: View, seen: Seen) -> str:
    """What this user may not do with it: "read", "written" or ""."""
    mode, path = seen.status.st_mode, view.path(seen)
    listable = not seen.is_folder or mode & stat.S_IXUSR or os.name == "nt"
    if _is_ours(seen):  # by the mode: root may do everything, and its files should not mislead
        readable, writable = mode & stat.S_IRUSR and listable, mode & stat.S_IWUSR
    else:
        readable = os.access(path, os.R_OK | (os.X_OK if seen.is_folder else 0))
        writable = os.access(path, os.W_OK)
    if not readable:
        return "read"
    is_own = seen.path.split("/", 1)[0] in OWN or seen.is_folder
    return "written" if is_own and not writable else ""


def _is_ours(seen: Seen) -> bool:
    return os.name == "nt" or seen.status.st_uid == os.geteuid()


def _give_access(path: Path, is_folder: bool, kept: Kept) -> str:
    """Only the mode is changed, so there is nothing to keep a copy of."""
    try:
        mode = stat.S_IMODE(checked(path).stat().st_mode)
        path.chmod(mode | (0o700 if is_folder else 0o600))
    except OSError as error:
        raise unwritable(path, error) from error
    return f"{kept.home.relative(path)} may be read and written again"


def disk(view: View) -> Iterator[Finding]:
    """Whether there is space for what the program writes."""
    yield from space(shutil.disk_usage(view.home.root).free)


def space(free: int) -> Iterator[Finding]:
    """What `free` bytes on the home's disk mean."""
    found = f"{free / 1e6:.0f} MB are free on the home's disk"
    if free < FULL:
        advice = "free some space: nothing that is said can be saved without"
        yield Finding(found, "fault", advice, exit_code=1)
    elif free < LOW:
        yield Finding(found, advice="free some space")


def network(view: View) -> Iterator[Finding]:
    """Whether the home lies on another machine, where locks may not hold."""
    from openclaw.files.place import network_place

    if name := network_place(view.home.root):
        advice = "use the home from one machine at a time, or move it to a disk of this one"
        yield Finding(
            f"the home lies on a network file system ({name}); locks may not hold", advice=advice
        )


def clock(view: View) -> Iterator[Finding]:
    """Whether files, sessions or the last commit are from the future: then it is the clock that
    went wrong, and new entries would be sorted before old ones."""
    late = [seen.path for seen in view.seen if seen.status.st_mtime > view.now + AHEAD]
    late += [at for at in _late_sessions(view) if at not in late]
    if is_own(view.home.root):
        at = Git(view.home.root).says("log", "-1", "--format=%ct")
        late += ["the last commit"] if at.isdigit() and int(at) > view.now + AHEAD else []
    if late:
        more = f" and {len(late) - 3} more" if len(late) > 3 else ""
        day = time.strftime("%Y-%m-%d", time.localtime(view.now))
        found = f"from the future, as it is {day} by this clock: {', '.join(late[:3])}{more}"
        yield Finding(found, advice="set the clock; if it is right, touch these files")


def _late_sessions(view: View) -> Iterator[str]:
    for seen in view.seen:
        in_sessions = seen.path.startswith("sessions/") and seen.path.count("/") == 1
        if in_sessions and seen.path.endswith(".json"):
            at, _ = last_updated(view.path(seen))
            if at > view.now + AHEAD:
                yield seen.path
