"""What a skill needs is looked for, never run; what is missing is named with a way to get it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from openclaw.config.settings import Settings, Skills
from openclaw.skills.requirements import (
    NO_REQUIREMENTS,
    InstallHint,
    Requirements,
    list_missing,
    read_flag,
    read_requirements,
    read_texts,
)
from openclaw.skills.skill import Skill, make_blocker_check


def closed_by(
    gate: Requirements,
    *,
    programs: str = "",
    environ: Mapping[str, str] = {},
    platform: str = "linux",
) -> list[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.platform", platform)
        for name in gate.env:
            patch.delenv(name, raising=False)
        for name, value in environ.items():
            patch.setenv(name, value)
        there = programs.split()
        return list_missing(gate, Settings(), lambda name: name if name in there else None)


# -------- reading


def test_a_gate_is_read_with_every_need() -> None:
    own: dict[str, Any] = {
        "os": ["macos", "Linux", "windows"],
        "always": "true",
        "requires": {
            "bins": ["git", "gh"],
            "anyBins": "rg, grep",
            "env": ["TOKEN"],
            "config": ["web.on"],
        },
    }
    expected = Requirements(
        ("darwin", "linux", "win32"), ("git", "gh"), ("rg", "grep"), ("TOKEN",), ("web.on",), True
    )
    assert read_requirements({"openclaw": own}) == expected
    assert read_requirements(json.dumps({"openclaw": {**own, "always": True}})) == expected
    assert read_requirements('{"openclaw": {"os": ["linux",],},}') == Requirements(os=("linux",))


@pytest.mark.parametrize("key", ["openclaw", "clawdbot", "moltbot", "clawdis"])
def test_older_owners_of_the_gate_count_too(key: str) -> None:
    assert read_requirements({key: {"os": "linux"}}) == Requirements(os=("linux",))


def test_the_first_owner_that_is_a_map_counts() -> None:
    known = {"clawdis": {"os": "win32"}, "clawdbot": {"os": "linux"}, "openclaw": "text"}
    assert read_requirements(known) == Requirements(os=("linux",))


@pytest.mark.parametrize(
    "metadata",
    [
        None, "", "text", [], {}, "{", "{&a b: c}", '"x"', {"openclaw": []},
        {"hermes": {"os": "x"}},
        {"openclaw": {"requires": "git"}}, {"openclaw": {"requires": {"bins": {"a": "b"}}}},
        {"openclaw": {"requires": {"bins": [["a"], "", " "]}, "install": "x"}},
    ],
)  # fmt: skip
def test_what_is_no_gate_is_open(metadata: Any) -> None:
    assert read_requirements(metadata) == NO_REQUIREMENTS


@pytest.mark.parametrize(
    ("value", "default", "expected"),
    [
        ("true", False, True), ("Yes", False, True), (" on ", False, True), ("1", False, True),
        ("false", True, False), ("No", True, False), ("OFF", True, False), ("0", True, False),
        ("", True, True), ("maybe", True, True), ("maybe", False, False), (None, True, True),
        ([], False, False),
    ],
)  # fmt: skip
def test_a_flag_is_a_yes_or_a_no_or_its_default(value: Any, default: bool, expected: bool) -> None:
    assert read_flag(value, default=default) is expected


def test_lists_are_lists_or_texts_with_commas() -> None:
    assert read_texts("a, b,,a ") == read_texts(["a", " b "]) == ("a", "b")


# -------- what is missing


def test_nothing_is_missing_at_an_open_gate() -> None:
    assert closed_by(NO_REQUIREMENTS) == []


def test_the_system_is_looked_at_first_and_never_waived() -> None:
    gate = Requirements(os=("darwin", "win32"), bins=("x",), always=True)
    assert closed_by(gate) == ["it is made for macOS or Windows, and this is Linux"]
    assert closed_by(gate, platform="darwin") == []
    assert closed_by(Requirements(os=("plan9",))) == ["it is made for plan9, and this is Linux"]


def test_always_waives_the_rest() -> None:
    needs: dict[str, Any] = {"bins": ("x",), "env": ("Y",), "config": ("z",), "any_bins": ("x",)}
    assert len(closed_by(Requirements(**needs))) == 4
    assert closed_by(Requirements(**needs, always=True)) == []


def test_all_programs_must_be_there_and_one_of_any() -> None:
    assert closed_by(Requirements(bins=("a", "b")), programs="a b") == []
    assert closed_by(Requirements(bins=("a", "b", "c")), programs="a") == [
        "the program b is not installed; install it so that it is on the PATH",
        "the program c is not installed; install it so that it is on the PATH",
    ]
    assert closed_by(Requirements(any_bins=("a", "b")), programs="b") == []
    assert closed_by(Requirements(any_bins=("a", "b"))) == [
        "none of the programs a, b is installed; install one of them"
    ]


@pytest.mark.parametrize("name", ["/bin/sh", "./sh", "sh -c x", "..\\sh", "C:sh", "a\nb", "a\0b"])
def test_a_path_or_a_command_line_is_simply_not_there(name: str) -> None:
    gate = Requirements(bins=(name,))
    asked: list[str] = []

    def which(program: str) -> str:
        asked.append(program)
        return "/bin/sh"

    assert len(list_missing(gate, Settings(), which)) == 1
    assert asked == []


def test_a_variable_must_be_set_and_not_blank() -> None:
    gate = Requirements(env=("A", "B", "C"))
    assert closed_by(gate, environ={"A": "x", "B": "  "}) == [
        "the environment variable B is not set",
        "the environment variable C is not set",
    ]


def test_settings_must_all_be_on() -> None:
    gate = Requirements(config=("git.auto_commit", "skills.user", "no.such"))
    assert closed_by(gate) == [
        "the setting skills.user is not on",
        "the setting no.such is not on",
    ]


def test_a_name_longer_than_a_line_is_cut() -> None:
    (line,) = closed_by(Requirements(env=("x" * 9_000,)))
    assert len(line) < 200


# -------- how to get it


def test_the_way_that_the_author_names_is_told_and_nothing_else_of_the_spec() -> None:
    specs = [
        {"kind": "brew", "formula": "gh", "bins": ["gh"]},
        {"kind": "node", "package": "@a/b", "bins": ["other"]},
        {"kind": "uv", "package": "gh-tool"},
        {"kind": "go", "module": "example.org/gh@latest", "os": ["darwin"]},
        {"kind": "download", "url": "https://example.org/gh.zip", "bins": "gh"},
        {"kind": "brew", "formula": "x; rm -rf ~"},
        {"kind": "download", "url": "https://example.org/$(x)"},
        {"kind": "shell", "command": "curl x | sh"},
        {"kind": ["brew"]},
        "text",
    ]
    gate = read_requirements({"openclaw": {"requires": {"bins": ["gh"]}, "install": specs}})
    assert InstallHint(("gh",), (), "brew install gh") in gate.hints
    assert closed_by(gate) == [
        "the program gh is not installed; its author names: brew install gh, "
        "or: uv tool install gh-tool, or: download https://example.org/gh.zip"
    ]
    assert "go install example.org/gh@latest" in closed_by(gate, platform="darwin")[0]


# -------- settings and machine together


def test_the_user_switches_a_skill_off_and_a_program_is_looked_up_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    def which(name: str) -> None:
        asked.append(name)

    settings = Settings(skills=Skills(off=("b",)))
    monkeypatch.setattr("shutil.which", which)
    keep = make_blocker_check(settings)
    gate = Requirements(bins=("x",), config=("git.auto_commit", "skills.user", "skills"))
    found = [keep(Skill(name, "d", Path(name), requirements=gate)) for name in "ab"]
    assert [[problem.code for problem in problems] for problems in found] == [
        ["requires", "requires", "requires"],
        ["off", "requires", "requires", "requires"],
    ]
    assert {problem.level for problems in found for problem in problems} == {"warning"}
    assert found[1][0].message.endswith("openclaw skills enable b")
    assert asked == ["x"]
    assert keep(Skill("a", "d", Path("a"))) == []
