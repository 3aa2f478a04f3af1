"""Files of an older version are taken over and kept; those of a newer one are left alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from openclaw.config import load_settings
from openclaw.errors import Damaged, OpenclawError
from openclaw.messages import Entry
from openclaw.models.token_count import Meter, Meters
from openclaw.security.foreign_files import ForeignFiles
from openclaw.security.masking import Masker
from openclaw.sessions.store import SessionStore
from openclaw.skills.skill import list_installed
from openclaw.storage.home import Home
from openclaw.tools.mcp.schema import read_cache
from tests.fakes.talk import new_home

OLD = b'[{"role": "user", "content": "hello"}, {"role": "assistant", "content": "good day"}]'
NEWER = [
    {"version": 3, "messages": []},
    {"version": 3, "talk": {"of": "another shape"}},
    {"version": "3", "messages": []},
    {"version": 2.5, "messages": []},
    {"version": 10**400, "messages": []},
]


@pytest.fixture
def store(tmp_path: Path) -> SessionStore:
    (tmp_path / "sessions").mkdir()
    return SessionStore(tmp_path / "sessions")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(new_home(tmp_path / "home"))


# -------- sessions


def test_the_original_of_version_1_is_kept_once(store: SessionStore) -> None:
    (store.folder / "old.json").write_bytes(OLD)
    session = store.load("old")
    assert not (store.folder / "old.v1.json").exists(), "reading changes nothing"
    for text in ("more", "and more"):
        session.messages.append(Entry("user", text))
        store.save(session)
    assert (store.folder / "old.v1.json").read_bytes() == OLD
    assert json.loads((store.folder / "old.json").read_bytes())["version"] == 2
    assert [found.id for found in store.list()] == ["old"]


def test_the_original_goes_with_the_session(store: SessionStore) -> None:
    (store.folder / "old.json").write_bytes(OLD)
    store.rename("old", "renamed")
    assert (store.folder / "old.v1.json").exists()
    store.delete("old")
    assert list(store.folder.iterdir()) == []


@pytest.mark.parametrize("shape", NEWER)
def test_a_newer_session_is_refused_and_left_in_its_place(
    store: SessionStore, shape: dict[str, object]
) -> None:
    path = store.folder / "new.json"
    path.write_text(json.dumps(shape), "utf-8")
    for refused in (store.load, store.fork, lambda ref: store.rename(ref, "other")):
        with pytest.raises(Damaged, match="this openclaw knows 2") as caught:
            refused("new")
        assert caught.value.hint == "install a newer openclaw"
    assert store.list() == [] and "version" in store.problems[0]
    assert json.loads(path.read_bytes()) == shape
    assert [each.name for each in store.folder.iterdir()] == ["new.json"]


def test_a_session_that_a_newer_openclaw_wrote_meanwhile_is_not_written_over(
    store: SessionStore,
) -> None:
    session = store.new("talk")
    session.messages.append(Entry("user", "hello"))
    store.save(session)
    newer = b'{"version": 3, "talk": "of another shape"}'
    (store.folder / "talk.json").write_bytes(newer)
    with pytest.raises(Damaged):
        store.refresh(session)
    session.messages.append(Entry("user", "more"))
    with pytest.raises(OpenclawError, match="changed by another program"):
        store.save(session)
    assert (store.folder / "talk.json").read_bytes() == newer
    assert [e.content for e in store.load(session.id).messages] == ["hello", "more"]


@pytest.mark.parametrize("version", [None, True, "two", [3], 2, 1])
def test_what_is_no_newer_version_is_read_as_it_stands(
    store: SessionStore, version: object
) -> None:
    shape = {"version": version, "messages": [{"role": "user", "content": "hello"}]}
    (store.folder / "x.json").write_text(json.dumps(shape), "utf-8")
    assert store.load("x").messages[0].content == "hello"


def test_a_newer_part_of_an_archive_is_left_alone(store: SessionStore) -> None:
    session = store.new("talk")
    session.messages += [Entry("user", "a"), Entry("assistant", "b"), Entry("user", "c")]
    store.compact(session, 2, "before")
    part = store.folder / "archive" / "talk" / "0001.json"
    part.write_text('{"version": 3, "messages": []}', "utf-8")
    with pytest.raises(Damaged, match="version 3"):
        store.restore(store.load("talk"))
    assert json.loads(part.read_bytes())["version"] == 3
    assert len(store.load("talk").parts) == 1


# -------- the private files that last


@pytest.mark.parametrize("shape", [{"version": 2, "secrets": {}}, {"version": 2, "vault": []}])
def test_newer_secrets_are_refused_and_never_rewritten(
    tmp_path: Path, shape: dict[str, object]
) -> None:
    path = tmp_path / ".openclaw" / "secrets.json"
    path.parent.mkdir()
    path.write_text(json.dumps(shape), "utf-8")
    with pytest.raises(Damaged, match="version 2"):
        Masker(path).mask("password: hunter2-Zx81kQ")
    assert json.loads(path.read_bytes()) == shape
    assert [each.name for each in path.parent.iterdir() if each.is_file()] == ["secrets.json"]


def test_learned_json_without_a_version_goes_on(home: Home) -> None:
    for name in ("a.md", "b.md"):
        (home.workspace / name).write_text("x", "utf-8")
    home.private.mkdir(exist_ok=True)
    (home.private / "learned.json").write_text('{"workspace/a.md": "web: a.test"}', "utf-8")
    ForeignFiles(home).note("workspace/b.md", "web: b.test")
    assert ForeignFiles(home).source("workspace/a.md") == "web: a.test"
    assert ForeignFiles(home).source("workspace/b.md") == "web: b.test"


def test_a_newer_learned_json_is_refused_and_never_rewritten(home: Home) -> None:
    home.private.mkdir(exist_ok=True)
    path = home.private / "learned.json"
    path.write_text('{"version": 2, "files": []}', "utf-8")
    with pytest.raises(Damaged, match="version 2"):
        ForeignFiles(home).source("workspace/a.md")
    with pytest.raises(Damaged, match="version 2"):
        ForeignFiles(home).note("workspace/a.md", "web: a.test")
    assert path.read_text("utf-8") == '{"version": 2, "files": []}'


def test_a_damaged_learned_json_is_kept_before_it_is_written_anew(home: Home) -> None:
    for name in ("a.md", "b.md"):
        (home.workspace / name).write_text("x", "utf-8")
    ForeignFiles(home).note("workspace/a.md", "web: a.test")
    path = home.private / "learned.json"
    data = path.read_bytes()[:-5]
    path.write_bytes(data)
    ForeignFiles(home).note("workspace/b.md", "web: b.test")
    assert [each.read_bytes() for each in home.private.glob("learned.damaged-*")] == [data]
    assert ForeignFiles(home).source("workspace/b.md") == "web: b.test"


PAGE = "The heron of Quillstone wants to be served by all of us every day.\n"


def test_learned_json_of_before_has_no_fingerprints_and_goes_on(home: Home) -> None:
    (home.workspace / "a.md").write_text(PAGE, "utf-8")
    home.private.mkdir(exist_ok=True)
    path = home.private / "learned.json"
    path.write_text('{"version": 1, "workspace/a.md": "web: a.test"}', "utf-8")
    assert ForeignFiles(home).source_shown_in(f"copy: {PAGE}") == "web: a.test"
    (home.workspace / "b.md").write_text(PAGE.replace("heron", "stork"), "utf-8")
    ForeignFiles(home).note("workspace/b.md", "web: b.test")
    data = json.loads(path.read_bytes())
    assert data.pop("text of workspace/b.md").startswith("web: b.test\n")
    assert data == {
        "version": 1,
        "workspace/a.md": "web: a.test",
        "workspace/b.md": "web: b.test",
    }


def test_fingerprints_that_nobody_can_read_are_none(home: Home) -> None:
    home.private.mkdir(exist_ok=True)
    path = home.private / "learned.json"
    path.write_text('{"text of workspace/a.md": "web: a.test", "text of b": "", "c": 1}', "utf-8")
    assert ForeignFiles(home).source_shown_in(PAGE) == ""
    ForeignFiles(home).note("workspace/a.md", "web: a.test", PAGE)
    path.write_bytes(path.read_bytes()[:-5])
    assert ForeignFiles(home).source_shown_in(PAGE) == ""
    assert ForeignFiles(home).source("workspace/a.md") == "web: a.test"


def test_what_a_file_held_before_is_known_as_well(home: Home) -> None:
    other = PAGE.replace("heron", "stork").replace("us", "you")
    for text in (PAGE, other):
        ForeignFiles(home).note("workspace/a.md", "web: a.test", text)
    assert ForeignFiles(home).copied(PAGE) == ForeignFiles(home).copied(other) == "web: a.test"


def test_learned_json_stays_small(home: Home) -> None:
    for number in range(30):
        words = " ".join(f"w{number}x{n}" for n in range(3_000))
        ForeignFiles(home).note(f"workspace/{number}.md", "web: a.test", words)
    data = json.loads((home.private / "learned.json").read_bytes())
    kept = [len(value.split()) for key, value in data.items() if key.startswith("text of ")]
    assert max(kept) < 2_010 and sum(kept) < 40_100
    assert ForeignFiles(home).copied(words[-2_000:]) == "web: a.test"
    assert ForeignFiles(home).source("workspace/0.md") == "web: a.test"


def test_a_file_called_text_of_another_is_a_file_like_any_other(home: Home) -> None:
    (home.root / "text of b").write_text(PAGE, "utf-8")
    ForeignFiles(home).note("text of b", "web: a.test")
    assert ForeignFiles(home).source("text of b") == "web: a.test"
    assert ForeignFiles(home).source("b") == ""
    assert "./text of b" in json.loads((home.private / "learned.json").read_bytes())
    assert ForeignFiles(home).copied(PAGE) == "web: a.test"


def test_a_file_called_version_is_a_file_like_any_other(home: Home) -> None:
    (home.root / "version").write_text("1.0", "utf-8")
    ForeignFiles(home).note("version", "web: a.test")
    ForeignFiles(home).note("version", "web: b.test")
    assert ForeignFiles(home).source("version") == "web: b.test"
    assert json.loads((home.private / "learned.json").read_bytes())["version"] == 1


# -------- what is made again


@pytest.mark.parametrize("version", [0, 2, None, "x"])
def test_token_counts_of_another_version_are_measured_again(
    tmp_path: Path, version: object
) -> None:
    path = tmp_path / "tokens.json"
    path.write_text(json.dumps({"version": version, "a": {"ratio": 1.5}}), "utf-8")
    assert Meters(path).meter("a").ratio == 0.0
    Meters(path).keep("a", Meter(1.2))
    assert json.loads(path.read_bytes()) == {"version": 1, "a": {"ratio": 1.2}}


def test_what_was_read_of_skills_by_another_version_is_read_again(home: Home) -> None:
    settings = load_settings(home)
    names = [entry.name for entry in list_installed(home, settings)]
    path = home.private / "skills.json"
    shape = json.loads(path.read_bytes()) if path.exists() else {"skills": {}}
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({**shape, "version": "99", "skills": 3}), "utf-8")
    assert names and [entry.name for entry in list_installed(home, settings)] == names


def test_what_servers_listed_to_another_version_is_asked_again(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    shape = {"version": 99, "lists": {}, "pins": {"a": "b"}, "away": {}}
    path.write_text(json.dumps(shape), "utf-8")
    assert read_cache(path).pins == {}
    path.write_text(json.dumps({**shape, "version": 1}), "utf-8")
    assert read_cache(path).pins == {"a": "b"}
