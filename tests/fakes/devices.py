"""One person's home on several devices: clones that share a bare repository on the disk."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from openclaw.security.trust import own_remote
from openclaw.storage.home import Home
from openclaw.storage.trust_store import trust_home
from tests.fakes.command import Result, openclaw
from tests.fakes.files import kept_folder, write_file
from tests.fakes.git_home import copy_home, git


@dataclass(frozen=True)
class Device:
    """A clone of the home."""

    root: Path

    def run(self, *words: str) -> Result:
        return openclaw("--home", str(self.root), *words)

    def sync(self, *words: str, code: int = 0) -> Result:
        done = self.run("sync", *words)
        assert done.returncode == code, done.stdout + done.stderr
        return done

    def told(self, *words: str, code: int = 0) -> dict[str, Any]:
        """What `sync --json` tells."""
        found: dict[str, Any] = json.loads(self.sync("--json", *words, code=code).stdout)
        return found

    def write(self, path: str, text: str | bytes) -> None:
        write_file(self.root / path, text)

    def append(self, path: str, text: str) -> None:
        self.write(path, self.read(path) + text)

    def read(self, path: str) -> str:
        return (self.root / path).read_text("utf-8") if (self.root / path).exists() else ""

    def git(self, *words: str, fails: bool = False) -> str:
        return git(self.root, *words, fails=fails)

    def commit(self, message: str) -> None:
        """What is staged, by hand."""
        self.git("-c", "user.name=A", "-c", "user.email=a@b.org", "commit", "-qm", message)

    def tree(self) -> str:
        """The id of all files that HEAD holds."""
        return self.git("rev-parse", "HEAD^{tree}")


def hub(folder: Path) -> Path:
    """A bare repository that has nothing yet."""
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--bare")
    return folder


def devices(folder: Path, count: int = 2, *, own: bool = True) -> list[Device]:
    """Devices with the same home; with `own` each was told that the remote is the user's."""
    made = _made(count)
    shutil.copytree(made, folder, symlinks=True, dirs_exist_ok=True)
    found = [Device(folder / f"device{number}") for number in range(count)]
    for device in found:
        config = device.root / ".git" / "config"
        config.write_text(config.read_text().replace(str(made), str(folder)))
        home = Home(device.root)
        trust_home(home)
        if own:
            own_remote(home, str(folder / "hub.git"))
    return found


@cache
def _made(count: int) -> Path:
    """The devices and their hub, to be copied."""
    folder = kept_folder()
    shared = hub(folder / "hub.git")
    first = copy_home(folder / "device0")
    git(first, "remote", "add", "origin", str(shared))
    git(first, "push", "--quiet", "origin", "main")
    for number in range(1, count):
        git(folder, "clone", "--quiet", str(shared), str(folder / f"device{number}"))
    return folder
