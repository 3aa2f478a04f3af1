"""The models that openclaw can fetch by itself, and which of them are on this machine.

The entries stand in `catalog.json`: a size and a SHA-256 per file, and where to fetch it, in the
order of trying. Model files are shared by all homes of a user: `folder.models_folder()`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from openclaw.errors import ModelFailed, UsageError
from openclaw.models.download import ModelFile, Progress, Url, Wheels, fetch, has_digest
from openclaw.models.folder import models_folder as models_folder

Kind = Literal["chat", "test", "embedding"]


@dataclass(frozen=True, slots=True)
class Entry:
    """A model of the catalogue. Its first file is the model itself."""

    name: str
    kind: Kind
    about: str
    licence: str
    files: tuple[ModelFile, ...]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)


@cache
def entries() -> tuple[Entry, ...]:
    """The catalogue, in order of preference."""
    text = Path(__file__).with_name("catalog.json").read_text(encoding="utf-8")
    return tuple(_entry(value) for value in json.loads(text)["models"])


def find_entry(name: str) -> Entry | None:
    """The entry of that name, with or without `embedded/`."""
    wanted = _bare(name)
    return next((entry for entry in entries() if entry.name == wanted), None)


def default_entry() -> Entry:
    return next(entry for entry in entries() if entry.kind == "chat")


def installed_file(entry: Entry, folder: Path | None = None) -> Path | None:
    """The main file of an entry whose files are all there in their full size."""
    folder = folder or models_folder()
    for file in entry.files:
        path = folder / file.name
        if not path.is_file() or path.stat().st_size != file.size:
            return None
    return folder / entry.files[0].name


def installed() -> list[Path]:
    """All GGUF files of the models folder, those of the catalogue only when complete."""
    folder = models_folder()
    known = {file.name: entry for entry in entries() for file in entry.files}
    found = sorted(path for path in folder.glob("*.gguf") if path.is_file())
    return [p for p in found if p.name not in known or installed_file(known[p.name], folder)]


def find_installed(name: str) -> Path | None:
    """The file of an installed model: by its name in the catalogue, its file name or the stem of
    that, in any case, with or without `embedded/`. None when it is not there. UsageError for a
    model that cannot talk."""
    wanted = _bare(name)
    entry = find_entry(wanted)
    if entry and entry.kind == "embedding":
        raise UsageError(
            f"{entry.name} is for searching, it cannot talk",
            "openclaw config set embedding embedded",
        )
    if entry and (path := installed_file(entry)):
        return path
    for path in installed():
        if wanted in (path.name.lower(), path.stem.lower()):
            return path
    return None


def default_installed() -> Path | None:
    """The installed chat model that stands first in the catalogue, else any other GGUF file."""
    for entry in entries():
        if entry.kind == "chat" and (path := installed_file(entry)):
            return path
    known = {file.name for entry in entries() for file in entry.files}
    return next((path for path in installed() if path.name not in known), None)


def embedding_entry() -> Entry:
    """The model that memory search embeds with when there is no server."""
    return next(entry for entry in entries() if entry.kind == "embedding")


def embedding_files() -> tuple[Path, Path] | None:
    """Network and tokenizer of the installed embedding model, None unless both are there."""
    entry, folder = embedding_entry(), models_folder()
    if installed_file(entry, folder) is None:
        return None
    network, tokenizer = (folder / file.name for file in entry.files)
    return network, tokenizer


def pull(name: str = "", on_progress: Progress | None = None) -> Path:
    """Fetch a model of the catalogue (the default one without a name) and return its main file.

    What is already there is not fetched again, what was begun is gone on with. UsageError for an
    unknown name; OpenclawError when no source can be reached or the disk is too small.
    """
    entry = find_entry(name) if name else default_entry()
    if entry is None:
        names = ", ".join(known.name for known in entries())
        raise UsageError(f"the catalogue has no model {name!r}", f"it has {names}")
    folder = models_folder()
    for file in entry.files:
        fetch(file, folder, on_progress or _in_silence)
    return folder / entry.files[0].name


def verify(path: Path) -> str:
    """What is wrong with a model file, "" when nothing is: a file of the catalogue has its size and
    SHA-256, any other one a readable GGUF header."""
    for entry in entries():
        for file in entry.files:
            if path.name == Path(file.name).name:
                return "" if has_digest(path, file) else f"{path.name} is damaged"
    from openclaw.models.gguf import read_header

    try:
        read_header(path)
    except (OSError, ModelFailed) as error:
        return str(error)
    return ""


def _bare(name: str) -> str:
    return name.lower().removeprefix("embedded/")


def _in_silence(name: str, done: int, total: int) -> None:
    """Progress that nobody watches."""


def _entry(value: Mapping[str, Any]) -> Entry:
    files = tuple(
        ModelFile(
            file["name"],
            file["size"],
            file["sha256"],
            tuple(Url(**s) if "url" in s else Wheels(**s) for s in file["sources"]),
        )
        for file in value["files"]
    )
    return Entry(value["name"], value["kind"], value["about"], value["licence"], files)
