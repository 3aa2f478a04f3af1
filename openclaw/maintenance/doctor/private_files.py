"""Checks of private files: secrets, the record of text by others, the index, and hooks."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openclaw.config import load_settings
from openclaw.errors import Damaged, OpenclawError, Refused
from openclaw.hooks.hooks import TRUST, open_hooks
from openclaw.maintenance.doctor.finding import Finding, RepairCopies, View
from openclaw.retrieval.database import VERSION
from openclaw.retrieval.index_store import HINDRANCES
from openclaw.security import foreign_files, masking
from openclaw.security.program_trust import why_untrusted
from openclaw.storage.lock import hold_lock
from openclaw.storage.safe_open import (
    NotOrdinary,
    bytes_or_none,
    check_no_links,
    checked_database,
    remove,
)
from openclaw.storage.text import report_unwritable, write_private
from openclaw.types import local_time

if TYPE_CHECKING:
    from openclaw.config.hook_settings import Hook


LOCK_SECONDS = 5.0
_SECRET = re.compile(r'"([a-z0-9-]{1,60})"\s*:\s*(?=\{)')
SECRETS, LEARNED = "secrets.json", foreign_files.FILE
CODE = Damaged.exit_code


def files(view: View) -> Iterator[Finding]:
    """Find private files that do not load, are of a newer version, or may be read by others."""
    yield from _secrets(view)
    yield from _learned(view)


def _secrets(view: View) -> Iterator[Finding]:
    path = view.home.private / SECRETS
    data = bytes_or_none(path)
    trouble = "" if data is None else _trouble(_read_secrets, data)
    repair = partial(_mend_secrets, path)
    if trouble.startswith("it has version"):
        advice = "install a newer openclaw: without the file nothing can be said"
        yield Finding(f".openclaw/{SECRETS}: {trouble}", advice, exit_code=CODE)
    elif trouble:
        found, fix = f".openclaw/{SECRETS} does not load", "keeps the secrets that can be read"
        yield Finding(f"{found}: {trouble}", "", fix, repair, CODE)
    else:
        # A prompt moves a damaged file aside.
        known = _read_secrets(data) if data is not None else {}
        if lost := _aside(path).keys() - known.keys():
            found = f"{len(lost)} secrets are only in .openclaw/{path.stem}.damaged-*.json"
            yield Finding(found, "", "puts them back", repair, CODE)
    if data is not None and os.name != "nt" and stat.S_IMODE(path.stat().st_mode) & 0o077:
        found, fix = f".openclaw/{SECRETS} may be read by others", "lets only this user read it"
        yield Finding(found, fix=fix, repair=partial(_close, path))


def _read_secrets(data: bytes) -> Mapping[str, Any]:
    return masking.read_secrets_file(data.decode("utf-8"))


def _aside(path: Path) -> dict[str, Any]:
    """Return what can be read of the damaged files, by name."""
    found: dict[str, Any] = {}
    for each in sorted(path.parent.glob(f"{path.stem}.damaged-*.json")):
        found |= _entries((bytes_or_none(each) or b"").decode("utf-8", "replace"))
    return found


def _trouble(read: Callable[[bytes], object], data: bytes) -> str:
    """Return the reason why a file does not load, "" when it does."""
    try:
        read(data)
    except Damaged as error:
        return str(error).replace("the secrets file", "it").replace(LEARNED, "it")
    except ValueError as error:
        return str(error)
    return ""


def _mend_secrets(path: Path, kept: RepairCopies) -> str:
    with hold_lock(path.parent / "locks" / "secrets.lock", LOCK_SECONDS, "the secrets file"):
        data = bytes_or_none(path)
        text = (data or b"").decode("utf-8", "replace")
        if data is not None:
            kept.copy(path)
        if data is not None and _trouble(_read_secrets, data):
            # The masker gives none of the names in it to another secret.
            aside = f"{path.stem}.damaged-{local_time():%Y%m%d-%H%M%S-%f}.json"
            write_private(path.with_name(aside), text)
        found = _aside(path) | dict(_entries(text))
        shape = {"version": masking.VERSION, "secrets": found}
        write_private(path, json.dumps(shape, ensure_ascii=False, indent=1) + "\n")
    return f"{len(found)} secrets could be read; the others have no value now"


def _entries(text: str) -> Iterator[tuple[str, Any]]:
    decoder = json.JSONDecoder()
    for found in _SECRET.finditer(text):
        try:
            entry, _ = decoder.raw_decode(text, found.end())
        except ValueError:
            continue
        if isinstance(entry, dict) and isinstance(entry.get("value"), str) and entry["value"]:
            yield found[1], entry


def _close(path: Path, kept: RepairCopies) -> str:
    check_no_links(path).chmod(0o600)
    return f"only this user may read {kept.home.relative(path)} now"


def _learned(view: View) -> Iterator[Finding]:
    path = view.home.private / LEARNED
    if (data := bytes_or_none(path)) is None:
        return
    trouble = _trouble(foreign_files.read_sources, data)
    if trouble.startswith("it has version"):
        advice = "install a newer openclaw: without the file nobody knows whose words files hold"
        yield Finding(f".openclaw/{LEARNED}: {trouble}", advice, exit_code=CODE)
    elif trouble:
        found, fix = f".openclaw/{LEARNED} does not load", "keeps the lines that can be read"
        yield Finding(f"{found}: {trouble}", fix=fix, repair=partial(_mend_learned, path, data))


def _mend_learned(path: Path, data: bytes, kept: RepairCopies) -> str:
    with hold_lock(path.parent / "locks" / "learned.lock", LOCK_SECONDS):
        found = foreign_files.recover_sources(data)
        kept.replace(path, data, foreign_files.format_sources(found).encode("utf-8"))
    return (
        f"{len(found)} of its lines could be read; of the files in the others it is no longer known"
        " that the words of others are in them"
    )


SMALL = 20_000_000  # bytes of an index that is looked through as a whole without `deep`: 0.1 s
ROW_BYTES = 20  # of a row of openclaw.retrieval.index_writer.ROW_TYPE
MISMATCH = """
SELECT count(*) FROM files LEFT JOIN file_rows ON file_rows.file = files.id
WHERE files.chunks > 0 AND coalesce(length(file_rows.rows), 0) != files.chunks * ?
"""
NO_TEXT = "SELECT (SELECT count(*) FROM chunks) - (SELECT coalesce(sum(chunks), 0) FROM files)"


def index(view: View) -> Iterator[Finding]:
    """Find a damaged index, or one whose list of files names passages that it does not hold.

    An index older than the files is no fault: each search brings it up to date.
    """
    folder = view.home.private / "index"
    path = folder / "index.sqlite"
    if not path.is_file():
        yield Finding("not built yet")
        return
    if reason := _index_trouble(path, view.deep):
        fix = "drops it; the next search builds it again"
        repair = partial(_drop, path)
        yield Finding(f"{view.home.relative(path)}: {reason}", fix=fix, repair=repair)
        return
    files = [each for each in folder.rglob("*") if each.is_file()]
    size = sum(each.stat().st_size for each in files)
    yield Finding(f"{len(files)} files, {size:,} bytes")


def _index_trouble(path: Path, deep: bool) -> str:
    try:
        with closing(_opened(path)) as db:
            version = int(db.execute("PRAGMA user_version").fetchone()[0])
            if version > VERSION:
                return f"it has version {version}, this openclaw makes {VERSION}"
            if version < VERSION:  # the next search takes it over
                return ""
            if deep or path.stat().st_size < SMALL:
                said = str(db.execute("PRAGMA quick_check(1)").fetchone()[0])
                if said != "ok":
                    return f"it is damaged ({said.splitlines()[-1]})"
            for statement, values in ((MISMATCH, (ROW_BYTES,)), (NO_TEXT, ())):
                if db.execute(statement, values).fetchone()[0]:
                    return "it lists passages that it does not hold"
    except NotOrdinary as error:
        return str(error.strerror)
    except sqlite3.Error as error:
        name = str(getattr(error, "sqlite_errorname", ""))
        passing = any(name.startswith(prefix) for prefix in HINDRANCES)
        return "" if passing else f"it is damaged ({error})"
    return ""


def _opened(path: Path) -> sqlite3.Connection:
    """Open the index to read. Without a write-ahead log no file is made beside it, so the check
    changes nothing."""
    rest = "" if path.with_name(f"{path.name}-wal").exists() else "&immutable=1"
    checked_database(path)
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro{rest}", uri=True, timeout=1.0)


def _drop(path: Path, kept: RepairCopies) -> str:
    """Delete the log before the file: an empty file beside an old log drops the log. Derived files
    are not copied first."""
    with report_unwritable(path):
        for suffix in ("-wal", "-shm", ""):
            remove(path.with_name(path.name + suffix))
    return f"{kept.home.relative(path)} was dropped; the next search builds it again"


MEND = "fix it in openclaw.yaml (docs/hooks.md)"


def hooks(view: View) -> Iterator[Finding]:
    """Find what keeps hooks from running. A required one then refuses turns or tools: that is a
    fault.

    Settings that cannot be read have a check of their own.
    """
    try:
        settings = load_settings(view.home)
    except OpenclawError:
        return
    if not settings.hooks:
        return
    found = open_hooks(view.home, settings)
    for fault in found.faults:
        yield _finding(fault.text, MEND, required=fault.required)
    now = found.asked()
    if found.hooks and (why := why_untrusted(now, found.state(now))):
        needed = any(hook.required for hook in found.hooks)
        yield _finding(f"not run ({len(found.hooks)}): {why}", TRUST, required=needed)
    for hook in found.hooks:
        if name := now.missing(hook):
            said = f"{name}, which {hook.event} runs, is not there"
            yield _finding(said, MEND, required=hook.required)
        elif (name := _program_of(hook)) in now.programs.named and not (
            os.name == "nt" or os.access(view.home.root / name, os.X_OK)
        ):
            yield _finding(f"{name} may not be run", f"chmod +x {name}", required=hook.required)


def _program_of(hook: Hook) -> str:
    """Return the program of a hook as a path of the home, if it is one."""
    first = (hook.run.split() if isinstance(hook.run, str) else hook.run)[0]
    return os.path.normpath(first).replace(os.sep, "/")


def _finding(found: str, advice: str, *, required: bool) -> Finding:
    return Finding(found, advice, exit_code=Refused.exit_code if required else 0)
