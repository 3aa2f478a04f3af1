"""skills/.sources.yaml: where each installed skill came from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from openclaw.errors import Damaged
from openclaw.skills.frontmatter import SkillError, read_yaml
from openclaw.storage.safe_open import decode, read_bytes
from openclaw.storage.text import write_if_same
from openclaw.types import BeforeWrite, record_no_write

FILE = ".sources.yaml"
HEAD = "# Where installed skills came from. Written by `openclaw skills install`.\n"


def read_source_records(skills: Path) -> dict[str, dict[str, str]]:
    """Each installed skill's fields by its folder's name, all of them text. Damaged when the file
    is there and cannot be read as such; entries of another shape are left out."""
    data = _parse(skills / FILE, _read_or_none(skills / FILE))
    return {
        name: {key: value for key, value in fields.items() if isinstance(value, str)}
        for name, fields in data.items()
        if isinstance(fields, dict)
    }


def record(
    skills: Path, name: str, fields: Mapping[str, str] | None, keep: BeforeWrite = record_no_write
) -> None:
    """Write the entry of one skill, or drop it (None). Other entries keep their values and their
    order. `keep` is told before it is written."""
    import yaml

    path = skills / FILE
    for _ in range(3):
        before = _read_or_none(path)
        data = _parse(path, before)
        if fields is None and name not in data:
            return
        if fields is None:
            del data[name]
        else:
            data[name] = dict(fields)
        new = HEAD + yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=10_000)
        if write_if_same(path, before, new.encode("utf-8"), keep):
            return
    raise Damaged(f"{path} is being changed by another program", "try again")


def _read_or_none(path: Path) -> bytes | None:
    try:
        return read_bytes(path)
    except FileNotFoundError:
        return None


def _parse(path: Path, data: bytes | None) -> dict[str, Any]:
    import yaml

    try:
        found, _ = read_yaml(decode(data or b""))
    except (yaml.YAMLError, SkillError) as error:
        raise _damaged(path) from error
    if found and not isinstance(found, dict):
        raise _damaged(path)
    return found or {}


def _damaged(path: Path) -> Damaged:
    return Damaged(
        f"{path} is not what openclaw writes there", "repair it, or move it and install again"
    )
