"""Compares an installed skill with what its source has now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from openclaw.errors import UsageError
from openclaw.files.home import Home
from openclaw.skills.copying import Changes, compare, digest, fingerprints
from openclaw.skills.install import Staged
from openclaw.skills.load import NAME
from openclaw.skills.origin import Origin, read_origin
from openclaw.skills.provenance import sources

State = Literal["unchanged", "changed", "edited"]


@dataclass(frozen=True, slots=True)
class News:
    """`unchanged`: the source has what was installed; `changed`: it has something else; `edited`:
    so it has, and the installed files were changed here since. `changes` go from the installed
    files to those of the source."""

    state: State
    changes: Changes


def tracked(home: Home, name: str = "") -> dict[str, dict[str, str]]:
    """The entries of .sources.yaml, or that of one name. UsageError when there is none such."""
    entries = sources(home.skills).items()
    found = {key: one for key, one in entries if NAME.fullmatch(key) and one.get("source")}
    if not name:
        return found
    if name not in found:
        raise UsageError(
            f"it is not known where skills/{name} came from",
            "only what `openclaw skills install` brought can be updated",
        )
    return {name: found[name]}


def origin_of(home: Home, fields: Mapping[str, str]) -> Origin:
    """The source that an entry names; UsageError when it is not there any more."""
    return read_origin(fields["source"], home.root)


def is_pinned(fields: Mapping[str, str]) -> bool:
    return fields.get("pinned", "").lower() in ("true", "yes", "on")


def news(home: Home, staged: Staged, fields: Mapping[str, str]) -> News:
    """What a freshly staged skill would change of the installed one of its name."""
    here = fingerprints(_folder(home, staged.name))
    there = fingerprints(staged.folder)
    changes = compare(here, there)
    known = fields.get("contents", "")
    if not changes or digest(there) == known:
        return News("unchanged", changes)
    return News("changed" if digest(here) == known else "edited", changes)


def is_here(home: Home, name: str) -> bool:
    """Whether a tracked skill's folder is still there."""
    return _folder(home, name).is_dir()


def _folder(home: Home, name: str) -> Path:
    return home.skills / name
