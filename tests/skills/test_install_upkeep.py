"""`openclaw skills update`, `remove` and `new`, and the note of where a skill came from."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from openclaw.errors import Damaged, Refused, UsageError
from openclaw.skills import install
from openclaw.skills.install import strict_name
from openclaw.skills.skill import read_skill_file
from openclaw.skills.source_records import read_source_records, record
from openclaw.storage.home import Home
from tests.data.sample import sample
from tests.fakes.files import write_files
from tests.fakes.needs import needs_git, posix
from tests.fakes.skill_home import SKILL, Claw, in_git, repository, tree


def test_other_entries_keep_their_values_and_their_order(home: Home) -> None:
    before = "first: {source: here, extra: [1, 2]}\nb: 1\nsecond: {source: there}\n"
    write_files(home.skills, {".sources.yaml": before})
    record(home.skills, "new", {"source": "a: b # c", "installed": "2026-01-02"})
    record(home.skills, "first", {"source": "x"})
    record(home.skills, "second", None)
    text = (home.skills / ".sources.yaml").read_text("utf-8")
    new = {"source": "a: b # c", "installed": "2026-01-02"}
    assert [*yaml.safe_load(text).items()] == [("first", {"source": "x"}), ("b", "1"), ("new", new)]
    assert read_source_records(home.skills) == {"first": {"source": "x"}, "new": new}


@pytest.mark.parametrize("name", ["on", "2048", "null", "1e3"])
def test_a_name_that_yaml_would_read_otherwise_stays_text(home: Home, name: str) -> None:
    home.skills.mkdir()
    record(home.skills, name, {"source": "on"})
    record(home.skills, "z", {"source": "y"})
    record(home.skills, name, {"source": "off"})
    assert read_source_records(home.skills) == {name: {"source": "off"}, "z": {"source": "y"}}
    text = (home.skills / ".sources.yaml").read_text("utf-8")
    assert yaml.safe_load(text) == {name: {"source": "off"}, "z": {"source": "y"}}


@pytest.mark.parametrize("text", sample(["- a\n", "a: [\n", "x", "a: *b\n", "[" * 5000], 4))
def test_a_damaged_file_is_told_and_nothing_is_changed(
    claw: Claw, weather: Path, text: str
) -> None:
    write_files(claw.home.skills, {".sources.yaml": text})
    claw("install", str(weather), "--yes", code=6)
    assert tree(claw.home.skills) == {".sources.yaml": text}
    with pytest.raises(Damaged):
        record(claw.home.skills, "a", None)


def test_an_update_shows_what_changed_and_replaces_it(claw: Claw, weather: Path) -> None:
    write_files(weather, {"old.md": "x"})
    claw("install", str(weather), "--yes")
    assert claw.json("update", "--yes") == [{"name": "weather", "state": "unchanged"}]
    (weather / "old.md").unlink()
    write_files(weather, {"new.md": "x", "SKILL.md": SKILL.format("weather") + "more\n"})
    assert "weather: waiting" in claw("update", code=2)
    assert "old.md" in str(sorted(claw.skills()))
    shown = claw("update", "weather", "--yes")
    assert "  added: new.md\n  changed: SKILL.md\n  removed: old.md\n" in shown
    assert "weather: updated" in shown
    assert tree(claw.home.skills / "weather") == tree(weather)
    assert claw.json("update", "--yes")[0]["state"] == "unchanged"


def test_what_was_edited_here_is_not_overwritten_without_force(claw: Claw, weather: Path) -> None:
    claw("install", str(weather), "--yes")
    write_files(claw.home.skills, {"weather/SKILL.md": SKILL.format("weather") + "mine\n"})
    assert claw.json("update", "--yes")[0]["state"] == "unchanged"
    write_files(weather, {"new.md": "x"})
    (told,) = claw.json("update", "--yes", code=1)
    assert (told["state"], told["added"], told["changed"]) == ("edited", ["new.md"], ["SKILL.md"])
    assert claw.skills()["weather/SKILL.md"].endswith("mine\n")
    assert claw.json("update", "--yes", "--force")[0]["state"] == "updated"
    assert tree(claw.home.skills / "weather") == tree(weather)


@needs_git
def test_a_repository_is_updated_to_the_new_commit(claw: Claw, weather: Path) -> None:
    repo = repository(weather.rename(weather.parent / "weather.git"))
    claw("install", str(repo), "--yes")
    write_files(repo, {"new.md": "x"})
    in_git(repo, "add", "--all")
    in_git(repo, "commit", "--quiet", "--message", "two")
    assert claw.json("update", "--yes")[0]["added"] == ["new.md"]
    assert claw.sources()["weather"]["commit"] == in_git(repo, "rev-parse", "HEAD")


def test_a_pinned_skill_stays_and_one_that_cannot_be_fetched_stops_no_other(
    claw: Claw, weather: Path, tmp_path: Path
) -> None:
    claw("install", str(weather), "--yes", "--pin")
    other = write_files(tmp_path / "other", {"SKILL.md": SKILL.format("other")})
    away = write_files(tmp_path / "away", {"SKILL.md": SKILL.format("away")})
    gone = write_files(tmp_path / "gone", {"SKILL.md": SKILL.format("gone")})
    for source in (away, other, gone):
        claw("install", str(source), "--yes")
    shutil.rmtree(away)
    shutil.rmtree(claw.home.skills / "gone")
    for source in (weather, other):
        write_files(source, {"new.md": "x"})
    states = {one["name"]: one["state"] for one in claw.json("update", "--yes", code=1)}
    assert states == {"weather": "pinned", "other": "updated", "away": "failed", "gone": "gone"}
    assert "weather/new.md" not in claw.skills()
    claw("update", "away", "--yes", code=2)
    claw("update", "nobody", "--yes", code=2)


def test_a_name_in_the_sources_never_becomes_a_path(claw: Claw, weather: Path) -> None:
    text = f"../workspace:\n  source: {weather}\n"
    write_files(claw.home.skills, {".sources.yaml": text})
    assert claw.json("update", "--yes", "--force") == []
    assert tree(claw.home.workspace) == {"SOUL.md": "# Soul\n"}


def test_a_skill_is_removed_after_a_yes_with_its_origin(claw: Claw, weather: Path) -> None:
    claw("install", str(weather), "--yes")
    claw("remove", "weather", code=2)
    assert "weather/SKILL.md" in claw.skills()
    told = claw.json("remove", "weather", "--yes")
    assert told.pop("turn")
    assert told == {"name": "weather", "path": "skills/weather", "removed": True}
    assert claw.skills() == {}
    assert claw.sources() == {}
    claw("remove", "weather", "--yes", code=2)


def test_a_skill_is_found_by_its_name_and_a_broken_one_by_its_folder(claw: Claw) -> None:
    write_files(claw.home.skills, {
        "group/a/SKILL.md": SKILL.format("Long Name"),
        "group/b/SKILL.md": SKILL.format("b"),
        "broken/SKILL.md": "nothing",
        "twice/SKILL.md": SKILL.format("b"),
    })  # fmt: skip
    claw("remove", "group", "--yes", code=2)
    claw("remove", "b", "--yes", code=2)
    assert "group/b" in claw.err
    claw("remove", "Long Name", "--yes")
    claw("remove", "broken", "--yes")
    assert sorted(claw.skills()) == ["group/b/SKILL.md", "twice/SKILL.md"]


@pytest.mark.parametrize("name", ["..", ".", "", "../workspace", "skills", "/etc"])
def test_nothing_but_a_skill_is_removed(claw: Claw, name: str) -> None:
    write_files(
        claw.home.skills, {"SKILL.md": SKILL.format("a"), "keep/SKILL.md": SKILL.format("keep")}
    )
    before = tree(claw.home.root)
    claw("remove", name, "--yes", code=2)
    assert tree(claw.home.root) == before


@posix
def test_a_link_out_of_the_home_is_not_removed(home: Home, weather: Path) -> None:
    home.skills.mkdir()
    (home.skills / "weather").symlink_to(weather)
    with pytest.raises((UsageError, Refused)):
        install.remove(home, home.skills / "weather")
    assert (weather / "SKILL.md").is_file()


def test_a_new_skill_is_valid_as_it_stands(claw: Claw) -> None:
    told = claw.json("new", "plan-trip")
    assert told == {"name": "plan-trip", "path": "skills/plan-trip/SKILL.md"}
    skill, problems = read_skill_file(claw.home.root / told["path"])
    assert skill and skill.name == "plan-trip"
    assert problems == []
    claw("new", "plan-trip", code=2)
    claw("new", "on", "--description", 'Says: "on" # \u5929\n and\x1b more.')
    skill, problems = read_skill_file(claw.home.skills / "on" / "SKILL.md")
    assert skill and skill.description == 'Says: "on" # \u5929 and\x1b more.'
    assert problems == []


@pytest.mark.parametrize(
    "name", ["Plan Trip", "../x", "a--b", "-a", "", "x" * 65, "con", ".hidden", "a/b", "\u5929"]
)
def test_a_new_skill_has_a_strict_name(claw: Claw, name: str) -> None:
    claw("new", "--", name, code=2)
    assert not claw.home.skills.exists()


def test_a_description_that_is_too_long_is_refused(claw: Claw) -> None:
    claw("new", "a", "--description", "x" * 1025, code=2)
    assert not claw.home.skills.exists()


def test_a_strict_name_is_always_of_the_pattern() -> None:
    assert strict_name("A  b__C") == "a-b-c"
    assert strict_name("x" * 63 + "-y") == "x" * 63
    assert strict_name("!!") == ""
    assert strict_name("Caf\u00e9 2") == "cafe-2"
    assert strict_name("con") == "con-skill"
    assert strict_name("x" * 100) == "x" * 64
