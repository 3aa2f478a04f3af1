"""Keeps what the user trusts: the ids of homes and the marks of programs, in a file of the user."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import Any, Literal

from openclaw.frozen import frozen
from openclaw.storage.home import Home
from openclaw.storage.lock import hold_lock
from openclaw.storage.program import data_folder
from openclaw.storage.safe_open import make_folder, read_bytes, read_json_cache
from openclaw.storage.text import write_private
from openclaw.types import timestamp

FILE = "openclaw-trust.json"
VERSION = 1
HOME, HOOKS = "home", "hooks"
ID_FILES = (".openclaw/id", ".git/openclaw-id")
ID_BYTES = 16
State = Literal["trusted", "new", "changed"]


@frozen
class Trust:
    """The list of yeses in a file, by default in the one that holds all that this user trusts."""

    file: Path = field(default_factory=lambda: data_folder() / FILE)

    def state(self, home: Home, mark: str, kind: str = HOOKS) -> State:
        """Tell whether the user trusts this mark, another one of this kind and home, or none."""
        known = self.known(home, kind)
        if mark and known == mark:
            return "trusted"
        return "changed" if known else "new"

    def known(self, home: Home, kind: str) -> str:
        """The mark that the user trusts, "" for none."""
        found = self._read().get(_key(home), {}).get(kind)
        mark = found.get("mark") if isinstance(found, dict) else ""
        return mark if isinstance(mark, str) else ""

    def kinds(self, home: Home) -> list[str]:
        """The kinds that the user trusts in this home."""
        return list(self._read().get(_key(home), {}))

    def allow(self, home: Home, mark: str, kind: str = HOOKS) -> None:
        """Keep a yes. OpenclawError when it cannot be written."""
        at = timestamp()
        self._change(home, kind, {"mark": mark, "at": at})

    def revoke(self, home: Home, kind: str = HOOKS) -> bool:
        """Take a yes back; False when there was none."""
        if not self.known(home, kind):
            return False
        self._change(home, kind, None)
        return True

    def _change(self, home: Home, kind: str, value: dict[str, str] | None) -> None:
        with hold_lock(self.file.with_suffix(".lock")):
            homes = self._read()
            of_home = {k: v for k, v in homes.get(_key(home), {}).items() if k != kind}
            if value is not None:
                of_home[kind] = value
            homes[_key(home)] = of_home
            homes = {key: each for key, each in homes.items() if each}
            shape = {"version": VERSION, "homes": homes}
            write_private(self.file, json.dumps(shape, ensure_ascii=False, indent=2) + "\n")

    def _read(self) -> dict[str, dict[str, Any]]:
        """By home; nothing when the file is missing or none of ours: then all is asked anew."""
        homes = read_json_cache(self.file, VERSION).get("homes")
        known = homes.items() if isinstance(homes, dict) else ()
        return {key: each for key, each in known if isinstance(each, dict)}


def is_trusted(home: Home) -> bool:
    """Return True when the user trusts this very folder."""
    known = Trust().known(home, HOME)
    return bool(known) and known in _ids(home)


def trust_home(home: Home, *, keep_id: bool = False) -> None:
    """Take the folder for the user's own, with a new id, or with the one that it brings.
    OpenclawError or OSError when that cannot be written."""
    if is_trusted(home):
        return
    token = next(_ids(home), "") if keep_id else ""
    if not token:
        token = secrets.token_hex(ID_BYTES)
        for name in ID_FILES:
            path = home.root / name
            if name.startswith(".openclaw/"):
                make_folder(path.parent)
            elif path.parent.is_symlink() or not path.parent.is_dir():
                continue
            write_private(path, token + "\n")
    Trust().allow(home, token, HOME)


def _ids(home: Home) -> Iterator[str]:
    for name in ID_FILES:
        with suppress(OSError, ValueError):
            yield read_bytes(home.root / name, 3 * ID_BYTES).decode("ascii").strip()


def _key(home: Home) -> str:
    return os.path.normcase(os.path.realpath(home.root))
