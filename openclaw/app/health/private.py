"""Checks of the private files that last: secrets and whose words files hold."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from openclaw.app.health.finding import Finding, Kept, NotRepaired
from openclaw.app.health.view import View, bytes_of
from openclaw.errors import Damaged
from openclaw.files.beneath import checked
from openclaw.files.lock import locked
from openclaw.files.text import write_if_same, write_private
from openclaw.safety import learned, vault

LOCK_SECONDS = 5.0
_SECRET = re.compile(r'"([a-z0-9-]{1,60})"\s*:\s*(?=\{)')
SECRETS, LEARNED = "secrets.json", learned.FILE


def files(view: View) -> Iterator[Finding]:
    """What of them does not load, is of a newer version, or may be read by others."""
    yield from _secrets(view)
    yield from _learned(view)


def _secrets(view: View) -> Iterator[Finding]:
    path = view.home.private / SECRETS
    where = f".openclaw/{SECRETS}"
    data = bytes_of(path)
    if data is None:
        yield from _lost(path, set())
        return
    if trouble := _trouble(lambda: vault.entries_in(data.decode("utf-8"))):
        if trouble.startswith("it has version"):
            advice = "install a newer openclaw: without the file nothing can be said"
            yield Finding(f"{where}: {trouble}", "fault", advice, exit_code=Damaged.exit_code)
        else:
            fix = "keeps the secrets that can be read"
            found = f"{where} does not load: {trouble}"
            yield Finding(found, "fault", "", fix, partial(_mend_secrets, path), Damaged.exit_code)
    else:
        yield from _lost(path, set(vault.entries_in(data.decode("utf-8"))))
    if os.name != "nt" and stat.S_IMODE(path.stat().st_mode) & 0o077:
        fix = "lets only this user read it"
        yield Finding(f"{where} may be read by others", fix=fix, repair=partial(_close, path))


def _lost(path: Path, known: set[str]) -> Iterator[Finding]:
    """Secrets of a damaged file that a prompt has moved aside, which the file of today has not."""
    lost = [name for name in _aside(path) if name not in known]
    if lost:
        found = f"{len(lost)} secrets are only in .openclaw/{path.stem}.damaged-*.json"
        fix = "puts them back"
        yield Finding(found, "fault", "", fix, partial(_mend_secrets, path), Damaged.exit_code)


def _aside(path: Path) -> dict[str, Any]:
    """What can be read of the damaged files, by name."""
    found: dict[str, Any] = {}
    for each in sorted(path.parent.glob(f"{path.stem}.damaged-*.json")):
        found |= _entries((bytes_of(each) or b"").decode("utf-8", "replace"))
    return found


def _trouble(read: Any) -> str:
    """Why something does not load, "" when it does."""
    try:
        read()
    except Damaged as error:
        return str(error).replace("the secrets file", "it").replace(f"{LEARNED}", "it")
    except ValueError as error:
        return str(error)
    return ""


def _mend_secrets(path: Path, kept: Kept) -> str:
    with locked(path.parent / "locks" / "secrets.lock", LOCK_SECONDS, "the secrets file"):
        data = bytes_of(path)
        text = (data or b"").decode("utf-8", "replace")
        if data is not None:
            kept.copy(path)
        if data is not None and _trouble(lambda: vault.entries_in(data.decode("utf-8"))):
            # The vault gives none of the names in it to another secret.
            write_private(_free(path, f"{kept.now():%Y%m%d-%H%M%S}"), text)
        found = _aside(path) | dict(_entries(text))
        shape = {"version": vault.VERSION, "secrets": found}
        write_private(path, json.dumps(shape, ensure_ascii=False, indent=1) + "\n")
    return f"{len(found)} secrets could be read; the others have no value now"


def _free(path: Path, at: str) -> Path:
    names = (f"{path.stem}.damaged-{at}{f'-{n}' if n else ''}.json" for n in count())
    return next(path.with_name(name) for name in names if not path.with_name(name).exists())


def _entries(text: str) -> Iterator[tuple[str, Any]]:
    decoder = json.JSONDecoder()
    for found in _SECRET.finditer(text):
        try:
            entry, _ = decoder.raw_decode(text, found.end())
        except ValueError:
            continue
        if isinstance(entry, dict) and isinstance(entry.get("value"), str) and entry["value"]:
            yield found[1], entry


def _close(path: Path, kept: Kept) -> str:
    checked(path).chmod(0o600)
    return f"only this user may read {kept.home.relative(path)} now"


def _learned(view: View) -> Iterator[Finding]:
    path = view.home.private / LEARNED
    where = f".openclaw/{LEARNED}"
    data = bytes_of(path)
    if data is None:
        return
    trouble = _trouble(lambda: learned.entries_in(data))
    if trouble.startswith("it has version"):
        advice = "install a newer openclaw: without the file nobody knows whose words files hold"
        yield Finding(f"{where}: {trouble}", "fault", advice, exit_code=Damaged.exit_code)
    elif trouble:
        fix = "keeps the lines that can be read"
        repair = partial(_mend_learned, path, data)
        yield Finding(f"{where} does not load: {trouble}", "warning", "", fix, repair)


def _mend_learned(path: Path, data: bytes, kept: Kept) -> str:
    with locked(path.parent / "locks" / "learned.lock", LOCK_SECONDS):
        kept.copy(path)
        found = learned.saved_from(data)
        if not write_if_same(path, data, learned.as_text(found).encode("utf-8")):
            raise NotRepaired("another process is changing it")
    return (
        f"{len(found)} of its lines could be read; of the files in the others it is no longer known"
        " that the words of others are in them"
    )
