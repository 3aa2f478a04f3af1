"""`openclaw skills` as a user types it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.fakes.command import CommandLine
from tests.fakes.skills import front, put

NEEDS = 'metadata: {"openclaw": {"requires": {"bins": ["no-such-program"]}}}'


class Claw(CommandLine):
    def __init__(self, home: Path) -> None:
        super().__init__("skills")
        self.home = home

    def listed(self) -> list[Any]:
        found: list[Any] = self.json("list")
        return found

    def put(self, name: str, text: str = "") -> Path:
        return put(self.home / "skills", name, text)


@pytest.fixture
def claw(tmp_path: Path) -> Claw:
    (tmp_path / "home" / "workspace").mkdir(parents=True)
    (tmp_path / "home" / "skills").mkdir()
    return Claw(tmp_path / "home")


def test_everything_that_is_found_is_in_the_json(claw: Claw) -> None:
    claw.put("good")
    claw.put("bad", "no\n")
    claw.put("gated", front(NEEDS, name="gated", description="Text: two"))
    put(claw.home / ".agents" / "skills", "good")
    found = claw.listed()
    assert found[0] == {
        "name": "bad",
        "description": "",
        "path": "skills/bad/SKILL.md",
        "source": "home",
        "eligible": False,
        "problems": [
            {
                "level": "error",
                "code": "frontmatter-missing",
                "message": "the file does not begin with ---",
            }
        ],
    }
    assert [(e["name"], e["path"], e["source"], e["eligible"]) for e in found[1:]] == [
        ("gated", "skills/gated/SKILL.md", "home", False),
        ("good", "skills/good/SKILL.md", "home", True),
        ("good", ".agents/skills/good/SKILL.md", "agents", False),
    ]
    codes = [[problem["code"] for problem in entry["problems"]] for entry in found[1:]]
    assert codes == [["yaml-repaired", "requires"], [], ["shadowed"]]


def test_the_list_says_why_a_skill_is_not_used_and_what_to_do(claw: Claw) -> None:
    claw.put("good", front(name="good", description="|\n  One.\n\n  Two."))
    claw.put("gated", front(NEEDS, name="gated"))
    claw.put("other", front(name="else"))
    said = claw("list")
    assert "good" in said and "One. Two." in said
    assert "ok (name-mismatch)" in said
    assert "\n  gated: the program no-such-program is not installed; install it" in said
    assert "else: " not in said


def test_a_name_gives_no_orders_to_the_terminal(claw: Claw) -> None:
    tag = "\U000e0041"
    claw.put("s", front(name=f'"s\\u202e{tag}"', description=f'"a\\e[2Jb\\u202e{tag}"'))
    said = claw("list")
    assert not {"\x1b", "\u202e", tag} & set(said)
    assert claw.listed()[0]["description"] == f"a\x1b[2Jb\u202e{tag}"


def test_skills_of_the_user_are_read_when_the_setting_says_so(claw: Claw, tmp_path: Path) -> None:
    path = put(tmp_path / "user" / ".agents" / "skills", "mine")
    assert claw.listed() == []
    (claw.home / "openclaw.yaml").write_text("skills:\n  user: true\n", encoding="utf-8")
    (entry,) = claw.listed()
    assert (entry["source"], entry["path"]) == ("user", path.as_posix())


def test_a_new_and_a_changed_skill_count_at_once(claw: Claw) -> None:
    claw.put("s", front(description="One."))
    assert claw.listed()[0]["description"] == "One."
    claw.put("s", front(description="Two."))
    claw.put("a")
    found = [entry["description"] for entry in claw.listed()]
    assert found == ["Does a.", "Two."]


def test_a_skill_is_shown_with_what_it_asks_for(claw: Claw) -> None:
    more = ("compatibility: Needs \x1bgit", "allowed-tools: Read", "disable-model-invocation: true")
    claw.put("s", front(*more[1:], 'compatibility: "Needs \\egit"') + "Do \x1b it.\n")
    assert claw("show", "s") == "Do \u241b it.\n"
    assert "it is made for: Needs \u241bgit" in claw.err
    assert "it may use: Read" in claw.err
    assert "does not choose it by itself" in claw.err
    shown = claw.json("show", "s")
    assert (shown["name"], shown["body"], shown["allowed_tools"]) == ("s", "Do \x1b it.", ["Read"])
    assert (shown["compatibility"], shown["model_invocable"]) == ("Needs \x1bgit", False)


def test_what_cannot_be_shown_is_told_why(claw: Claw) -> None:
    claw.put("skill-one")
    claw.put("bad", "no\n")
    claw("show", "bad", code=2)
    assert "does not begin with ---" in claw.err
    claw("show", "skill-on", code=2)
    assert "did you mean skill-one?" in claw.err


def test_validate_says_every_broken_rule_and_needs_no_home(claw: Claw, tmp_path: Path) -> None:
    (claw.home / "skills").rmdir()
    good = put(tmp_path / "elsewhere", "good")
    odd = put(tmp_path / "elsewhere", "odd", front(name="Other", description="x" * 1025))
    assert claw("validate", str(good)) == claw("validate", str(good.parent)) == "valid\n"
    assert claw.json("validate", str(good)) == {"valid": True, "loads": True, "problems": []}
    said = claw.json("validate", str(odd.parent))
    assert (said["valid"], said["loads"]) == (True, True)
    assert [(problem["level"], problem["code"]) for problem in said["problems"]] == [
        ("warning", "name-format"),
        ("warning", "name-mismatch"),
        ("warning", "description-too-long"),
    ]
    shown = claw("validate", str(odd))
    assert shown.count("warning: ") == 3 and shown.endswith("\nvalid\n")


def test_validate_takes_the_name_of_a_skill_as_well(claw: Claw) -> None:
    claw.put("bad", "no\n")
    said = claw.json("validate", "bad", code=1)
    assert [problem["code"] for problem in said["problems"]] == ["frontmatter-missing"]
    assert "there is no such file" in claw("validate", "worse", code=1)


def test_validate_strict_counts_warnings(claw: Claw, tmp_path: Path) -> None:
    good = put(tmp_path / "elsewhere", "good")
    odd = put(tmp_path / "elsewhere", "odd", front(name="Other"))
    assert claw("validate", "--strict", str(good)) == "valid\n"
    said = claw.json("validate", "--strict", str(odd), code=1)
    assert (said["valid"], said["loads"]) == (False, True)
    assert claw("validate", "--strict", str(odd), code=1).endswith("\nnot valid\n")


def test_validate_says_so_when_there_is_no_skill(claw: Claw, tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere", tmp_path / "home"):
        said = claw.json("validate", str(path), code=1)
        assert [problem["code"] for problem in said["problems"]] == ["unreadable"]
        assert (said["valid"], said["loads"]) == (False, False)


def test_validate_takes_the_name_of_the_folder_it_stands_in(
    claw: Claw, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(claw.put("s").parent)
    assert claw("validate", ".") == claw("validate", "SKILL.md") == "valid\n"


def test_a_skill_is_switched_off_and_on(claw: Claw) -> None:
    claw.put("a", front(name="a, b"))
    settings = claw.home / "openclaw.yaml"
    settings.write_text("# mine\nmodel: auto\n", encoding="utf-8")
    assert claw("disable", "a, b") == "a, b is off\n"
    assert settings.read_text(encoding="utf-8").startswith("# mine\nmodel: auto\n")
    (entry,) = claw.listed()
    assert not entry["eligible"] and entry["problems"][-1]["code"] == "off"
    assert "openclaw skills enable a, b" in claw("list")
    assert claw.json("disable", "a, b") == {"name": "a, b", "enabled": False, "changed": False}
    assert claw.json("enable", "a, b") == {"name": "a, b", "enabled": True, "changed": True}
    assert claw("enable", "a, b") == "a, b is already on\n"
    assert claw.listed()[0]["eligible"]


def test_a_skill_that_is_gone_can_be_taken_off_the_list(claw: Claw) -> None:
    path = claw.put("gone")
    claw("disable", "gone")
    path.unlink()
    assert claw("enable", "gone") == "gone is on\n"
    claw("disable", "gone", code=2)
    assert "there is no skill gone" in claw.err


def test_no_skills_of_ones_own_are_no_error(claw: Claw) -> None:
    assert claw.listed() == []
    said = claw("list")
    assert said or "no skills yet" in claw.err
