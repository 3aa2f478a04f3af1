"""Checks of the home's git repository."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from openclaw.errors import OpenclawError
from openclaw.maintenance.doctor.finding import Finding, RepairCopies, View, place_in
from openclaw.security.display import some_of
from openclaw.storage.git import BUSY, Git, GitError, folder_of, is_source, lock_files
from openclaw.storage.git_settings import common_of, find_repository_problem
from openclaw.storage.home import Home
from openclaw.storage.new_home import IGNORE
from openclaw.storage.safe_open import bytes_or_none, decode, read_bytes
from openclaw.storage.text import report_unwritable

OLD = 600  # seconds after which a lock of git's is stale, when no git is running
_NAME = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REF = re.compile(r"ref: (refs/\S+)")
_MOVED = re.compile(r"(?m)\tcheckout: moving from \S+ to (\S+)$")
_PACKED = re.compile(r"(?m)^[0-9a-f]+ (refs/heads/\S+)$")


def git(view: View) -> Iterator[Finding]:
    """Find what keeps turns from being committed, and what git should not have."""
    home = view.home
    if not shutil.which("git"):
        yield Finding("git is not installed", advice="install git to keep a history in it")
        return
    folder = folder_of(home.root)
    if folder is None:
        yield from _no_repository(home)
        return
    if why := find_repository_problem(home.root, folder):
        advice = "put a repository of its own in its place: turns are not committed here"
        yield Finding(f"git is not used in the home: {why}", advice=advice)
        return
    broken = list(_broken_head(home, folder))
    yield from broken or _state(view, folder)


def _no_repository(home: Home) -> Iterator[Finding]:
    top = b""
    with suppress(GitError):
        top = Git(home.root, around=True).run("rev-parse", "--show-toplevel")
    if top:
        where = top.decode("utf-8", "replace").strip()
        found = f"the home lies in the repository {where}; nothing is committed automatically"
        yield Finding(found)
    else:
        advice = f'openclaw init "{home.root}", or git init in it'
        yield Finding("the home is no repository", advice=advice)


def _state(view: View, folder: Path) -> Iterator[Finding]:
    home, program = view.home, Git(view.home.root)
    try:
        program.run("rev-parse", "--git-dir")
    except GitError as error:
        yield _refused(home, str(error))
        return
    own = "" if not is_source(home.root) else "; it is the program's source: nothing is committed"
    branch = program.says("symbolic-ref", "--quiet", "--short", "HEAD")
    on = f"on {branch}" if branch else "on no branch (detached HEAD): turns are committed there"
    yield Finding(f"the home is a repository, {on}{own}")
    yield from _locks(view)
    yield from _unfinished(home, program, folder)
    yield from _ignored(home, program)
    if view.deep:
        yield from _objects(program)


def _refused(home: Home, said: str) -> Finding:
    if "dubious ownership" in said:
        advice = f"if you trust it: git config --global --add safe.directory {home.root}"
        return Finding("git refuses the home: the folder is another user's", advice=advice)
    return Finding(f"git cannot use the repository: {said}", advice=f"git -C {home.root} status")


def _locks(view: View) -> Iterator[Finding]:
    """Find locks of a killed git; no commit can be made while they exist."""
    stale = []
    for path in lock_files(view.home.root):
        with suppress(OSError):  # it is gone by now
            stale += [path] if path.stat().st_mtime < view.now - OLD else []
    if stale and not _git_runs(view.home.root):
        names = ", ".join(place_in(view.home, path) for path in stale)
        fix, repair = "removes them", partial(_unlock, stale)
        yield Finding(f"locks of a git that is gone: {names}", fix=fix, repair=repair)


def _unlock(paths: list[Path], kept: RepairCopies) -> str:
    if _git_runs(kept.home.root):
        raise OpenclawError("git is running")
    kept.remove(*paths)
    return f"{', '.join(path.name for path in paths)} removed"


def _git_runs(root: Path) -> bool:
    """Tell whether a git works in the home; of another user's process the folder is unknown."""
    import psutil

    home = Path(os.path.realpath(root))
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            name = process.name().removesuffix(".exe")
            if name == "git" or name.startswith("git-"):
                place = Path(process.cwd())
                if place == home or home in place.parents:
                    return True
    return False


def _unfinished(home: Home, program: Git, folder: Path) -> Iterator[Finding]:
    entries = filter(None, program.says("ls-files", "--unmerged", "-z").split("\0"))
    unmerged = list(dict.fromkeys(entry.partition("\t")[2] for entry in entries))
    if unmerged:
        advice = f"decide on them, then: git -C {home.root} add {unmerged[0]}"
        yield Finding(f"not merged yet: {some_of(unmerged)}", advice=advice)
    what = next((what for name, what in BUSY.items() if (folder / name).exists()), "")
    if what:
        advice = f"finish or abort it (git -C {home.root} status says how)"
        yield Finding(f"{what} is not finished; turns are committed after it", advice=advice)


def _ignored(home: Home, program: Git) -> Iterator[Finding]:
    """Check that nothing of .openclaw/ is in the repository, which may be pushed somewhere."""
    tracked = [p for p in program.says("ls-files", "-z", "--", ".openclaw").split("\0") if p]
    if tracked:
        secret = any("secrets" in path for path in tracked)
        advice = "have the secrets in it replaced: earlier commits keep them" if secret else ""
        found = f"git has {len(tracked)} private files, such as {tracked[0]}"
        fix = "takes them out of the next commit; they stay on the disk"
        yield Finding(found, advice=advice, fix=fix, repair=partial(_untrack, home))
    if not _is_ignored(program, ".openclaw/secrets.json"):
        fix = "adds it to .gitignore"
        found = "git does not ignore .openclaw/, which is private"
        yield Finding(found, fix=fix, repair=_ignore)


def _is_ignored(program: Git, path: str) -> bool:
    """Ask .gitignore about a path.

    git refuses to answer with literal pathspecs, which all our calls use; this path means the same
    either way.
    """
    words = ("check-ignore", "--quiet", "--no-index", path)
    try:
        (done,) = program.call((words, b"", {"GIT_LITERAL_PATHSPECS": "0"}), seconds=10)
    except GitError:
        return True
    return done.returncode != 1


def _untrack(home: Home, kept: RepairCopies) -> str:
    folder = folder_of(home.root)
    if folder is not None and (folder / "index").is_file():
        kept.copy(folder / "index")
    git = Git(home.root)
    names = git.run("ls-files", "-z", "--", ".openclaw")
    git.run("update-index", "--force-remove", "-z", "--stdin", data=names)
    return "taken out of the next commit"


def _ignore(kept: RepairCopies) -> str:
    path = kept.home.root / ".gitignore"
    before = read_bytes(path) if path.is_file() else None
    start = before or b""
    start += b"\n" if start and not start.endswith(b"\n") else b""
    kept.replace(path, before, start + IGNORE.encode("utf-8"))
    return ".openclaw/ is ignored now"


def _objects(program: Git) -> Iterator[Finding]:
    try:
        program.run("fsck", "--connectivity-only", "--no-dangling", "--no-progress")
    except GitError as error:
        advice = "fetch them from a clone or a backup; see git fsck"
        yield Finding(f"the repository is not whole: {error}", advice=advice)


# -------- HEAD


def _broken_head(home: Home, folder: Path) -> Iterator[Finding]:
    """Find a broken HEAD: a power failure left it or its branch empty, or it names a missing
    commit. git's own log has the right value."""
    path = folder / "HEAD"
    value = _read(path)
    if value is not None and (ref := _REF.fullmatch(value)):
        path = common_of(folder) / ref[1]
        if (value := _read(path)) is None:
            return  # there is no commit yet, or the branch is packed
    if value is None:
        why = "is missing"
    elif not _NAME.fullmatch(value):
        why = "holds no commit" if value.strip("\0") else "is empty"
    else:
        program = Git(home.root)
        # Where git does not run at all, its answer about a commit means nothing.
        is_commit = program.says("cat-file", "-t", value) == "commit"
        if is_commit or not program.says("rev-parse", "--git-dir"):
            return
        why = "names a commit that is gone"
    found = f"{place_in(home, path)} {why}: git has no last commit"
    if text := _text_from_log(home, folder, path):
        fix = f"writes what git's log of it says was there ({text[:20].strip()})"
        yield Finding(found, fix=fix, repair=partial(_mend_ref, path, text))
    else:
        yield Finding(found, advice="git clone a copy of it, or restore a backup")


def _text_from_log(home: Home, folder: Path, path: Path) -> str:
    """Return the text that belongs into HEAD or a branch, "" when it is unknown."""
    common = common_of(folder)
    if path.name == "HEAD":
        branch = _checked_out(folder, common)
        return f"ref: {branch}\n" if branch else ""
    log = _read(common / "logs" / path.relative_to(common)) or _read(folder / "logs" / "HEAD") or ""
    for line in reversed(log.splitlines()):
        name = line.partition(" ")[2].partition(" ")[0]
        if _NAME.fullmatch(name) and _is_there(home, common, name):
            return f"{name}\n"
    return ""


def _checked_out(folder: Path, common: Path) -> str:
    """Return the branch that HEAD was on, by the last checkout in its log; without one the only
    branch.

    "" for what is not (or no longer) a branch, and in a rebase, when HEAD is on none.
    """
    if any((folder / name).exists() for name in ("rebase-merge", "rebase-apply")):
        return ""
    found = (each for each in (common / "refs" / "heads").rglob("*") if each.is_file())
    names = {each.relative_to(common).as_posix() for each in found}
    names |= set(_PACKED.findall(_read(common / "packed-refs") or ""))
    moves = _MOVED.findall(_read(folder / "logs" / "HEAD") or "")
    if moves:
        names &= {f"refs/heads/{moves[-1]}"}
    return names.pop() if len(names) == 1 else ""


def _is_there(home: Home, common: Path, name: str) -> bool:
    """Tell whether a commit's object exists. git itself may not run with a broken HEAD."""
    loose = common / "objects" / name[:2] / name[2:]
    if loose.is_file():
        return loose.stat().st_size > 0
    return Git(home.root).says("cat-file", "-t", name) == "commit"


def _mend_ref(path: Path, value: str, kept: RepairCopies) -> str:
    if path.with_name(f"{path.name}.lock").exists():
        raise OpenclawError("another git works on it")
    with report_unwritable(path):
        before = read_bytes(path) if path.exists() else None
        kept.replace(path, before, value.encode("ascii"))
    return f"{path.name} is {value.strip()} again"


def _read(path: Path) -> str | None:
    data = bytes_or_none(path)
    return None if data is None else decode(data).strip("\r\n ")
