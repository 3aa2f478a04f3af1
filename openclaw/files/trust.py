"""What the user has said yes to, kept outside of any home; and which homes are the user's own.

A home may come from elsewhere: cloned, unpacked, copied, synchronised. Its openclaw.yaml names
programs and addresses, its private folder says what was done and undone, and none of it may count
because a folder was opened. Each yes stands in the user's data folder under the home's real path,
by its kind, with a mark of what was said yes to; for anything else it is asked for anew.

The mark of a home as a whole is a random id. It stands in the home too, so that another folder at
the same path is not taken for the one that the user has said yes to. It stands twice, as either
folder may be deleted; git carries neither of them to another place.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from openclaw.files.beneath import make_folder, read_bytes
from openclaw.files.json_reading import from_json
from openclaw.files.lock import locked
from openclaw.files.text import read_text, write_private
from openclaw.files.user_folders import data_folder

if TYPE_CHECKING:
    from openclaw.files.home import Home

FILE = "openclaw-trust.json"
VERSION = 1
HOME, HOOKS = "home", "hooks"
ID_FILES = (".openclaw/id", ".git/openclaw-id")
ID_BYTES = 16
State = Literal["trusted", "new", "changed"]


def trust_file() -> Path:
    """Where every yes of this user is kept."""
    return data_folder() / FILE


@dataclass(frozen=True, slots=True)
class Trust:
    """The list of yeses in a file."""

    file: Path

    def state(self, home: Home, mark: str, kind: str = HOOKS) -> State:
        """Whether the user has said yes to this, or to something else of the same kind and home."""
        known = self.known(home, kind)
        if mark and known == mark:
            return "trusted"
        return "changed" if known else "new"

    def known(self, home: Home, kind: str) -> str:
        """The mark of what was said yes to, "" for none."""
        found = self._read().get(_key(home), {}).get(kind)
        mark = found.get("mark") if isinstance(found, dict) else ""
        return mark if isinstance(mark, str) else ""

    def kinds(self, home: Home) -> list[str]:
        """Of what kinds a yes was said in this home."""
        return list(self._read().get(_key(home), {}))

    def allow(self, home: Home, mark: str, kind: str = HOOKS) -> None:
        """Keep a yes. OpenclawError when it cannot be written."""
        at = datetime.now().astimezone().isoformat(timespec="seconds")
        self._change(home, kind, {"mark": mark, "at": at})

    def revoke(self, home: Home, kind: str = HOOKS) -> bool:
        """Take a yes back; False when there was none."""
        if not self.known(home, kind):
            return False
        self._change(home, kind, None)
        return True

    def _change(self, home: Home, kind: str, value: dict[str, str] | None) -> None:
        with locked(self.file.with_suffix(".lock")):
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
        with suppress(OSError, ValueError):
            found = from_json(read_text(self.file))
            homes = found.get("homes") if isinstance(found, dict) else None
            if isinstance(homes, dict):
                return {key: each for key, each in homes.items() if isinstance(each, dict)}
        return {}


def is_trusted(home: Home) -> bool:
    """Whether the user has said yes to this very folder."""
    known = Trust(trust_file()).known(home, HOME)
    return bool(known) and known in _ids(home)


def trust_home(home: Home, *, keep_id: bool = False) -> None:
    """Take the folder for the user's own, with a new id, or with the one that it brings.
    OpenclawError or OSError when that cannot be written."""
    if is_trusted(home):
        return
    token = next(_ids(home), "") if keep_id else ""
    if not token:
        token = secrets.token_hex(ID_BYTES)
        _write_id(home, token)
    Trust(trust_file()).allow(home, token, HOME)


def _write_id(home: Home, token: str) -> None:
    for name in ID_FILES:
        path = home.root / name
        if name.startswith(".openclaw/"):
            make_folder(path.parent)
        elif path.parent.is_symlink() or not path.parent.is_dir():
            continue
        write_private(path, token + "\n")


def _ids(home: Home) -> Iterator[str]:
    """The ids that stand in the home."""
    for name in ID_FILES:
        with suppress(OSError, ValueError):
            yield read_bytes(home.root / name, 3 * ID_BYTES).decode("ascii").strip()


def _key(home: Home) -> str:
    return os.path.normcase(os.path.realpath(home.root))
