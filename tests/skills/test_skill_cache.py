"""What was read of a skill is kept, and never believed longer than its file is the same."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from openclaw.skills.skill import ListedSkill, Root, list_skills
from tests.fakes.skills import front, put

LONG_AGO = 1_700_000_000.5


def old(path: Path, seconds: float = LONG_AGO) -> Path:
    """Give the file an old time, and let the tick of the clock pass in which it got it."""
    os.utime(path, (seconds, seconds))
    time.sleep(0.06)
    return path


def listed(folder: Path, cache: Path, source: str = "home") -> list[ListedSkill]:
    return list_skills([Root(folder, source)], cache=cache)


def kept(cache: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(cache.read_text(encoding="utf-8"))["skills"]
    return found


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / ".openclaw" / "skills.json"


GATED = front(
    'metadata: {"openclaw": {"os": "linux", "always": true, "requires": {"bins": ["a", "b"], '
    '"anyBins": "c", "env": "D", "config": "e.f"}, "install": [{"kind": "uv", "package": "a"}]}}',
    "allowed-tools: Read Write",
    "compatibility: Anything",
    "disable-model-invocation: true",
    "user-invocable: false",
    "when_to_use: Now.",
    name="Other Name",
)


def test_what_is_kept_is_what_was_read(tmp_path: Path, cache: Path) -> None:
    skills = tmp_path / "skills"
    for name, text in {
        "plain": "",
        "gated": GATED,
        "broken": "no\n",
        "fixed": front(description="a: b"),
        "sign": front(description='"\\ud83d\\udd0d \u202e \\0"'),
    }.items():
        old(put(skills, name, text))
    fresh = list_skills([Root(skills, "home")])
    assert listed(skills, cache) == fresh
    assert len(kept(cache)) == 5
    assert listed(skills, cache) == fresh
    assert [entry.source for entry in listed(skills, cache, "user")] == ["user"] * 5


def test_a_kept_skill_is_not_read_again(tmp_path: Path, cache: Path) -> None:
    old(put(tmp_path / "skills", "s"))
    listed(tmp_path / "skills", cache)
    text = cache.read_text(encoding="utf-8")
    cache.write_text(text.replace("Does s.", "from the cache"), encoding="utf-8")
    assert listed(tmp_path / "skills", cache)[0].description == "from the cache"


def test_a_change_of_the_same_size_and_time_is_seen(tmp_path: Path, cache: Path) -> None:
    path = old(put(tmp_path / "skills", "s", front(description="One.")))
    assert listed(tmp_path / "skills", cache)[0].description == "One."
    path.write_text(front(description="Two."), encoding="utf-8")
    old(path)
    assert listed(tmp_path / "skills", cache)[0].description == "Two."


def test_a_file_that_was_just_written_is_not_kept(tmp_path: Path, cache: Path) -> None:
    path = put(tmp_path / "skills", "s")
    os.utime(path, (time.time() + 0.01, time.time() + 0.01))
    listed(tmp_path / "skills", cache)
    assert not cache.exists() or str(path) not in kept(cache)
    os.utime(path, (int(time.time()), int(time.time())))  # whole seconds: a coarse clock
    time.sleep(0.06)
    listed(tmp_path / "skills", cache)
    assert not cache.exists() or str(path) not in kept(cache)


def test_skills_that_are_gone_are_forgotten(tmp_path: Path, cache: Path) -> None:
    paths = [old(put(tmp_path / "skills", name)) for name in "ab"]
    listed(tmp_path / "skills", cache)
    paths[0].unlink()
    assert [entry.name for entry in listed(tmp_path / "skills", cache)] == ["b"]
    assert list(kept(cache)) == [str(paths[1])]


def test_an_unchanged_cache_is_not_written(tmp_path: Path, cache: Path) -> None:
    old(put(tmp_path / "skills", "s"))
    listed(tmp_path / "skills", cache)
    before = cache.stat()
    listed(tmp_path / "skills", cache)
    assert (cache.stat().st_mtime_ns, cache.stat().st_ino) == (before.st_mtime_ns, before.st_ino)


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"\xff\xfe", b"[]", b"1", b'{"version": "0", "skills": {}}', b"[" * 100_000,
        b'{"version": VERSION, "skills": []}',
        b'{"version": VERSION, "skills": {"PATH": 1}}',
        b'{"version": VERSION, "skills": {"PATH": {}}}',
        b'ENTRY, "fields": [1], "problems": []}}}',
        b'ENTRY, "fields": null, "problems": []}}}',
        b'ENTRY, "fields": {}, "problems": [1]}}}',
    ],
)  # fmt: skip
def test_a_damaged_cache_is_as_good_as_none(tmp_path: Path, cache: Path, content: bytes) -> None:
    path = old(put(tmp_path / "skills", "s"))
    expected = listed(tmp_path / "skills", cache)
    whole = json.loads(cache.read_bytes())
    begin = b'{"version": VERSION, "skills": {"PATH": {"stamp": STAMP'
    content = content.replace(b"ENTRY", begin)
    content = content.replace(b"VERSION", json.dumps(whole["version"]).encode())
    content = content.replace(b"STAMP", json.dumps(whole["skills"][str(path)]["stamp"]).encode())
    cache.write_bytes(content.replace(b'"PATH"', json.dumps(str(path)).encode()))
    assert listed(tmp_path / "skills", cache) == expected
    assert listed(tmp_path / "skills", cache) == expected


def test_where_nothing_can_be_written_skills_are_read_all_the_same(tmp_path: Path) -> None:
    old(put(tmp_path / "skills", "s"))
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert [e.name for e in listed(tmp_path / "skills", tmp_path / "file" / "skills.json")] == ["s"]


def test_examples_are_the_first_of_a_skills_trigger_tests_and_count_as_they_are_now(
    tmp_path: Path, cache: Path
) -> None:
    path = old(put(tmp_path / "skills", "s"))
    tests = path.parent / "evals" / "triggers.yaml"

    def examples() -> tuple[str, ...]:
        found = listed(tmp_path / "skills", cache)[0].skill
        return found.examples if found else ()

    assert examples() == () == examples()
    tests.parent.mkdir()
    tests.write_text("should: [Sail away, {prompt: Set sail}]\nshould_not: [Stay]\n", "utf-8")
    old(tests)
    assert examples() == ("Sail away", "Set sail") == examples()
    assert kept(cache)[str(path)]["fields"]["examples"] == ["Sail away", "Set sail"]
    tests.write_text("should: [Row]\nshould_not: [\n", "utf-8")
    assert examples() == ()
    tests.write_text("should: [Row]\n", "utf-8")
    assert examples() == ("Row",)
    tests.unlink()
    assert examples() == ()
