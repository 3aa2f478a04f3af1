"""Checks of the home's files and of what they lie on: access, disk, clock, kind of file system,
leftovers of killed processes, encoding, and the form of texts."""

from __future__ import annotations

import os
import re
import shutil
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path

from openclaw.agent.agent import Agent
from openclaw.agent.prompt import SOURCES
from openclaw.config import load_settings
from openclaw.config.file import yaml_trouble
from openclaw.errors import OpenclawError
from openclaw.history import record
from openclaw.history.git_log import Blob, tree_entries
from openclaw.maintenance.doctor.finding import PLACE, Finding, HomeFile, RepairCopies, View
from openclaw.memory.markdown import change_file, read_markdown
from openclaw.memory.todos import read_task_page, write_ids
from openclaw.security.display import some_of
from openclaw.sessions.session import from_json
from openclaw.sessions.store import last_updated
from openclaw.skills.frontmatter import yaml_reason
from openclaw.skills.skill import check_skill, roots, skill_files
from openclaw.storage.git import Git, GitError, is_own
from openclaw.storage.home import MARKS, Home
from openclaw.storage.lock import hold_lock, try_lock
from openclaw.storage.merge import SIGN, conflicts
from openclaw.storage.safe_open import (
    BOM,
    NotOrdinary,
    check_no_links,
    decode,
    is_ordinary,
    make_folder,
)
from openclaw.storage.text import CUT, as_utf8, encoding_of, report_unwritable, write_if_same

LOW, FULL = 100_000_000, 10_000_000
"""Free bytes on the home's disk: too few, and so few that a turn cannot be saved."""
AHEAD = 24 * 3600  # seconds that a file may be from the future: time zones, other machines
OWN = ("memory", "sessions", "openclaw.yaml")
"""What the program writes itself. In workspace/ and skills/ a file may be read-only on purpose."""


def rights(view: View) -> Iterator[Finding]:
    """Find files and folders that cannot be read, and the program's own that it cannot write."""
    for seen in view.seen:
        missing = _missing(view, seen)
        if missing:
            found = f"{seen.path} cannot be {missing}"
            if not _is_ours(seen):
                yield Finding(found, advice="it is another user's: have that one give you access")
                continue
            word = "u+rwx" if seen.is_folder else "u+rw"
            fix = f"gives this user access (chmod {word})"
            repair = partial(_give_access, view.path(seen), seen.is_folder)
            yield Finding(found, fix=fix, repair=repair)


def _missing(view: View, seen: HomeFile) -> str:
    """Return what this user may not do with a path: "read", "written" or ""."""
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


def _is_ours(seen: HomeFile) -> bool:
    return os.name == "nt" or seen.status.st_uid == os.geteuid()


def _give_access(path: Path, is_folder: bool, kept: RepairCopies) -> str:
    """Change the mode only, so no copy is needed."""
    with report_unwritable(path):
        mode = stat.S_IMODE(check_no_links(path).stat().st_mode)
        path.chmod(mode | (0o700 if is_folder else 0o600))
    return f"{kept.home.relative(path)} may be read and written again"


def disk(view: View) -> Iterator[Finding]:
    """Check that the disk has space for what the program writes."""
    yield from space(shutil.disk_usage(view.home.root).free)


def space(free: int) -> Iterator[Finding]:
    """Judge `free` bytes on the home's disk."""
    found = f"{free / 1e6:.0f} MB are free on the home's disk"
    if free < FULL:
        advice = "free some space: nothing that is said can be saved without"
        yield Finding(found, advice, exit_code=1)
    elif free < LOW:
        yield Finding(found, advice="free some space")


def network(view: View) -> Iterator[Finding]:
    """Check whether the home lies on another machine, where locks may not hold."""
    if name := network_place(view.home.root):
        advice = "use the home from one machine at a time, or move it to a disk of this one"
        found = f"the home lies on a network file system ({name}); locks may not hold"
        yield Finding(found, advice=advice)


def clock(view: View) -> Iterator[Finding]:
    """Find files, sessions or a last commit from the future: then the clock went wrong, and new
    entries would be sorted before old ones."""
    late = [seen.path for seen in view.seen if seen.status.st_mtime > view.now + AHEAD]
    for seen in view.seen:
        if _is_session(seen.path) and last_updated(view.path(seen))[0] > view.now + AHEAD:
            late += [seen.path] if seen.path not in late else []
    if is_own(view.home.root):
        at = Git(view.home.root).says("log", "-1", "--format=%ct")
        late += ["the last commit"] if at.isdigit() and int(at) > view.now + AHEAD else []
    if late:
        day = time.strftime("%Y-%m-%d", time.localtime(view.now))
        found = f"from the future, as it is {day} by this clock: {some_of(late)}"
        yield Finding(found, advice="set the clock; if it is right, touch these files")


FOLDERS = ("workspace", "memory", "skills", "sessions")
FILES = {"100644": 0o644, "100755": 0o755}  # the modes of ordinary files in git


def folders(view: View) -> Iterator[Finding]:
    """Find missing folders of which git has files, and a memory folder that is missing."""
    for name in FOLDERS:
        if os.path.lexists(view.home.root / name):
            continue
        if committed := _committed(view.home, name):
            found = f"{name}/ is not there; the last commit has {len(committed)} files of it"
            repair = partial(_bring_back, view.home, name)
            yield Finding(found, fix="brings these files back", repair=repair)
        elif name == "memory":
            found = "memory/ is not there: nothing is remembered"
            repair = partial(_make, view.home, name)
            yield Finding(found, fix="makes the folder", repair=repair)


def _committed(home: Home, name: str) -> list[tuple[str, Blob]]:
    """Return the ordinary files of a folder in the last commit."""
    try:
        listing = Git(home.root).run("ls-tree", "-r", "-z", "HEAD", "--", f"{name}/")
    except GitError:
        return []
    return [(path, blob) for path, blob in tree_entries(listing) if blob.mode in FILES]


def _bring_back(home: Home, name: str, kept: RepairCopies) -> str:
    committed = _committed(home, name)
    contents = Git(home.root).blobs([blob.oid for _, blob in committed])
    with report_unwritable(home.root / name):
        for (path, blob), data in zip(committed, contents, strict=True):
            if write_if_same(home.root / path, None, data) and blob.mode != "100644":
                (home.root / path).chmod(FILES[blob.mode])
    return f"{name}/ is back with {len(committed)} files"


def _make(home: Home, name: str, kept: RepairCopies) -> str:
    with report_unwritable(home.root / name):
        make_folder(home.root / name)
    return f"made {name}/"


NAMED = (*MARKS, ".openclaw", ".gitignore", "workspace/HEARTBEAT.md", *SOURCES.values())
WHOLE = ("memory", "sessions", ".openclaw")  # folders of which every file is the program's to read
MOST = 20


def links(view: View) -> Iterator[Finding]:
    """Find links, pipes and devices; of workspace/ only among the files that the program itself
    reads."""
    places = dict.fromkeys(map(view.home.root.joinpath, NAMED)) | dict.fromkeys(_odd(view.home))
    yield from islice((found for path in places for found in _looked_at(view.home, path)), MOST)


def _looked_at(home: Home, path: Path) -> Iterator[Finding]:
    try:
        check_no_links(path)
    except NotOrdinary as error:
        if error.filename == str(path) and "its folder" not in str(error.strerror):
            advice = "put the file or folder itself there; a folder elsewhere may be named in links"
            yield Finding(f"{home.relative(path)} is not read: {error.strerror}", advice=advice)


def _odd(home: Home) -> Iterator[Path]:
    """Yield what is neither file nor folder in the program's folders."""
    waiting = [home.root / name for name in WHOLE]
    while waiting:
        folder = waiting.pop()
        try:
            check_no_links(folder)
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if Path(entry.path) != home.private / PLACE:
                    waiting.append(Path(entry.path))
            elif not entry.is_file(follow_symlinks=False):
                yield Path(entry.path)


OLD = 3600  # seconds after which nobody is still writing a file
YOUNG = 60  # seconds in which the first line of a record may still be on its way
_TEMP = re.compile(r"\.openclaw-[0-9a-f]{6,}\.tmp")


def files(view: View) -> Iterator[Finding]:
    """Find unfinished files of writers that no longer run."""
    temporary = (each for each in view.seen if _TEMP.fullmatch(each.path.rpartition("/")[2]))
    old = [each for each in temporary if each.status.st_mtime < view.now - OLD]
    if old:
        found = f"half-written files of killed processes: {some_of([each.path for each in old])}"
        repair = partial(_take_away, [view.path(each) for each in old])
        yield Finding(found, fix="removes them", repair=repair)


def _take_away(paths: list[Path], kept: RepairCopies) -> str:
    kept.remove(*paths)
    return f"{len(paths)} removed"


def _is_held(lock: Path) -> bool:
    if not lock.exists():
        return False
    try:
        with try_lock(lock) as held:
            return not held
    except OpenclawError:
        return True


def turns(view: View) -> Iterator[Finding]:
    """Find turns of killed processes, and records of turns that cannot be read."""
    place = record.place_of(view.home)
    open_ones = record.records(place, record.RUNNING)
    # A turn, or an undo, whose lock nobody holds is dead.
    folder = view.home.private / "locks"
    ended = [each for each in open_ones if not _is_held(folder / f"{each.turn.lock}.lock")]
    if ended:
        found = f"{len(ended)} turns were interrupted (the newest: {ended[-1].turn.subject!r})"
        fix = "marks what was half done and closes them, as the next prompt does by itself"
        yield Finding(found, fix=fix, repair=_recover)
    for folder, why in record.unreadable(place):
        where = view.home.relative(folder)
        if isinstance(why, OpenclawError):
            yield Finding(f"{where}: {why}; it is left alone", advice=why.hint)
            continue
        what = "is no record of a turn"
        if isinstance(why, record.ForeignRecord):
            what = "was not written by you on this machine, or by an older openclaw"
            what += ": it does not count"
        with suppress(OSError):  # it is gone by now
            written = max(path.stat().st_mtime for path in (folder, *folder.iterdir()))
            if abs(view.now - written) > YOUNG:
                fix, repair = "takes it out of the history", partial(_take_out, folder)
                yield Finding(f"{where} {what}", fix=fix, repair=repair)


def _take_out(folder: Path, kept: RepairCopies) -> str:
    if all(folder != unread for unread, _ in record.unreadable(folder.parent)):
        raise OpenclawError("it can be read by now")
    locks = sorted((kept.home.private / "locks").glob("*-*.lock"))
    if (folder / record.RUNNING).exists() and any(map(_is_held, locks)):
        raise OpenclawError("a conversation is in use, and the record may be of its turn")
    kept.remove(folder)
    return "taken out of the history"


def _recover(kept: RepairCopies) -> str:
    agent = Agent.open(kept.home, load_settings(kept.home))
    try:
        said = agent.recover()
    finally:
        agent.close()
    return "; ".join(said) or "nothing was left to repair"


LOCK_SECONDS = 5.0
_GIVEN = re.compile(r"\s\^[A-Za-z0-9-]+\s*$")
_HEAD = re.compile(
    r"---[^\S\n]*\n(?P<head>[\w-]+[ \t]*:(?:\s.*?)?)(?:^(?P<end>---|\.\.\.)[^\S\n]*$|\Z)",
    re.DOTALL | re.MULTILINE,
)


def encoding(view: View) -> Iterator[Finding]:
    """Find texts that are not UTF-8: the program would misread them, and refuses to write them."""
    for seen, data in view.texts:
        if (found := encoding_of(data)) == "UTF-8" or _is_anothers(seen.path, found, data):
            continue
        if found and as_utf8(data) is not None:
            fix, repair = "converts it to UTF-8", partial(_convert, view.path(seen), data)
            how = found if found == CUT else f"{found}, not UTF-8"
            yield Finding(f"{seen.path} is {how}", fix=fix, repair=repair)
        else:
            advice = "restore it from a backup or from git, or remove it"
            yield Finding(f"{seen.path} holds bytes that are no text", advice=advice)


def _is_anothers(path: str, found: str, data: bytes) -> bool:
    """Tell whether a file is a damaged session as well, which the session checks repair."""
    is_json = path.startswith("sessions/") and path.endswith(".json")
    if not is_json or found in ("UTF-16", "UTF-32"):
        return False
    try:
        from_json((as_utf8(data) or b"").removeprefix(BOM).decode("utf-8"), "")
    except ValueError:
        return True
    return ".damaged-" in path


def _convert(path: Path, data: bytes, kept: RepairCopies) -> str:
    kept.replace(path, data, as_utf8(data) or data)
    return f"converted from {encoding_of(data)} to UTF-8"


def conflict_markers(view: View) -> Iterator[Finding]:
    """Find marks that a merge left for the user to resolve; sessions have a check of their own."""
    for seen, data in view.texts:
        if SIGN in data and not _is_session(seen.path) and (found := conflicts(decode(data))):
            lines = some_of([str(each.line) for each in found], 5)
            advice = "decide there what should stand, and take the markers out"
            said = f"{seen.path} has conflict markers in line {lines}"
            yield Finding(said, advice=advice)


def _is_session(path: str) -> bool:
    return path.startswith("sessions/") and path.endswith(".json") and path.count("/") == 1


def todo_ids(view: View) -> Iterator[Finding]:
    """Find to-dos that share an id: it is then chance which one a command means."""
    path = view.home.memory / "TODO.md"
    lines = _repeated_ids(read_markdown(path)) if is_ordinary(path) else []
    if lines:
        where = some_of([str(line) for line in lines], 5)
        found = f"memory/TODO.md: the id of another to-do in line {where}"
        fix = "gives each but the first an id of its own"
        yield Finding(found, fix=fix, repair=partial(_new_ids, view.home))


def _repeated_ids(text: str) -> list[int]:
    """Return the lines (from 1) of to-dos whose id an earlier one has."""
    page = read_task_page(text)
    return [i.at + 1 for i in page.items if not i.given and _GIVEN.search(page.lines[i.at])]


def _new_ids(home: Home, kept: RepairCopies) -> str:
    changed: list[int] = []

    def change(text: str) -> str:
        changed[:] = _repeated_ids(text)
        page = read_task_page(text)
        write_ids(page)
        return "".join(page.lines)

    with hold_lock(home.private / "locks" / "todo.lock", LOCK_SECONDS, what="the to-dos"):
        kept.copy(home.memory / "TODO.md")
        change_file(home.memory / "TODO.md", change)
    return f"new ids: {len(changed)}"


def front_matter(view: View) -> Iterator[Finding]:
    """Find skills that their front matter keeps from loading, and front matter of memories and of
    workspace files that is not valid YAML."""
    for file in (Path(path) for root in roots(view.home) for path, _ in skill_files(root.folder)):
        found = [p for p in check_skill(file) if p.level == "error" or p.code == "yaml-repaired"]
        if found:
            path, worst = view.home.relative(file), min(found, key=lambda problem: problem.level)
            what = "is not loaded" if worst.level == "error" else "can only just be read"
            advice = f"fix it: openclaw skills validate {path}"
            yield Finding(f"{path} {what}: {worst.message}", advice=advice)
    for seen, data in view.texts:
        plain = seen.path.startswith(("memory/", "workspace/")) and seen.path.endswith(".md")
        if plain and (reason := _broken_head(data)):
            advice = "fix the lines between the two ---"
            yield Finding(f"{seen.path}: its front matter {reason}", advice=advice)


def _broken_head(data: bytes) -> str:
    """Return the fault in a Markdown file's front matter, "" for none."""
    found = _HEAD.match(decode(data[:20_000]).replace("\r\n", "\n"))
    if not found or not found["end"]:
        return "is never closed" if found and len(data) < 20_000 else ""
    import yaml

    line, trouble = yaml_trouble(found["head"])
    if trouble:
        return f"is too much YAML in line {line + 1} ({trouble})"
    try:
        yaml.safe_load(found["head"])
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return f"is no YAML: {yaml_reason(error, 1)}"
    return ""


_NETWORK = frozenset(
    """nfs nfs4 cifs smb2 smb3 smbfs fuse.sshfs fuse.rclone fuse.s3fs fuse.davfs fuse.gvfsd-fuse
    fuse.glusterfs davfs webdav 9p afs afpfs ceph lustre ncpfs vboxsf drvfs""".split()
)
"""Kinds of file systems on other machines, or shared with one, as the system names them."""
REMOTE = "a network share"


def network_place(path: Path) -> str:
    """The name of the network file system that `path` lies on, "" when it lies on none or nobody
    knows. A path that does not exist is judged by the nearest folder above that does."""
    import psutil

    here = Path(os.path.realpath(path))
    drive = here.drive.removeprefix("\\\\?\\UNC")
    if drive != here.drive or (drive.startswith("\\\\") and drive[2:3] not in "?."):
        return REMOTE
    try:
        mounted = psutil.disk_partitions(all=True)
    except (OSError, psutil.Error):
        return ""
    # Of several at one place the last counts. Windows names no kind of drive but says "remote".
    kinds = {
        each.mountpoint: REMOTE if "remote" in each.opts.split(",") else each.fstype
        for each in mounted
    }
    return of_mounts(kinds, here)


def of_mounts(kinds: Mapping[str, str], here: Path) -> str:
    """By the kinds of file systems by mount point: the nearest one above `here` counts."""
    nearest = next((str(at) for at in (here, *here.parents) if str(at) in kinds), "")
    kind = kinds.get(nearest, "")
    return kind if kind in (REMOTE, *_NETWORK) else ""
