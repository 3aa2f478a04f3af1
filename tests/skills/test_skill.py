"""Skills are found by the rules of the format; a bad one is a problem in the result."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from openclaw.errors import OpenclawError
from openclaw.skills.frontmatter import SkillProblem
from openclaw.skills.skill import (
    ListedSkill,
    Root,
    Skill,
    list_skills,
    read_skill_file,
    roots,
)
from openclaw.storage.home import Home
from tests.fakes.skills import GOOD, front, put


def listed(folder: Path) -> list[ListedSkill]:
    return list_skills([Root(folder, "home")])


def codes(problems: Sequence[SkillProblem]) -> list[str]:
    return [problem.code for problem in problems]


def only(folder: Path) -> ListedSkill:
    (entry,) = listed(folder)
    return entry


# -------- what is found


def test_skills_are_listed_in_the_order_of_their_names(tmp_path: Path) -> None:
    second = put(tmp_path, "deep/er/b")
    put(tmp_path, "a")
    put(tmp_path, "a/inner")
    for name in (".hidden", "node_modules/x", "__pycache__/y", "venv/z"):
        put(tmp_path, name)
    a, b = listed(tmp_path)
    assert (a.name, a.description, a.source, a.eligible) == ("a", "Does a.", "home", True)
    assert b == ListedSkill("b", "Does b.", second, "home", True, (), b.skill)
    assert b.skill == Skill("b", "Does b.", second, about="Does b.")
    assert b.skill and b.skill.body() == "# b\n\nBody."
    assert listed(tmp_path / "nowhere") == []


def test_six_folders_deep_and_no_deeper(tmp_path: Path) -> None:
    put(tmp_path, "1/2/3/4/5/six")
    put(tmp_path, "1/2/3/4/x/6/seven")
    assert [entry.name for entry in listed(tmp_path)] == ["six"]


def test_a_stray_file_at_the_root_hides_nothing(tmp_path: Path) -> None:
    put(tmp_path, "a")
    put(tmp_path.parent, tmp_path.name, front(name="stray"))
    assert [entry.name for entry in listed(tmp_path)] == ["a", "stray"]


def test_another_spelling_of_the_file_is_accepted(tmp_path: Path) -> None:
    put(tmp_path, "s", file="skill.md")
    put(tmp_path, "t", file="Skill.MD")
    put(tmp_path, "u", front(name="wrong"), file="skill.md")
    put(tmp_path, "u")
    assert [(e.name, codes(e.problems)) for e in listed(tmp_path)] == [
        ("s", ["filename-case"]),
        ("t", ["filename-case"]),
        ("u", []),
    ]


def test_thousands_of_empty_folders_are_walked(tmp_path: Path) -> None:
    for number in range(2_000):
        (tmp_path / f"empty{number}").mkdir()
    put(tmp_path, "s")
    assert [entry.name for entry in listed(tmp_path)] == ["s"]


# -------- names


@pytest.mark.parametrize(
    ("name", "folder", "expected", "found"),
    [
        ("s", "s", "s", []),
        ("2048", "2048", "2048", []),
        ("1.10", "s", "1.10", ["name-format", "name-mismatch"]),
        ("on", "on", "on", []),
        ("  s  ", "s", "s", []),
        ("'s'", "s", "s", []),
        ("a-b-c", "a-b-c", "a-b-c", []),
        ("", "folder", "folder", ["name-missing"]),
        ("''", "folder", "folder", ["name-missing"]),
        ("[a]", "folder", "folder", ["name-missing"]),
        ("My Skill", "my-skill", "My Skill", ["name-format", "name-mismatch"]),
        ("My_Skill", "My_Skill", "My_Skill", ["name-format"]),
        ("a--b", "a--b", "a--b", ["name-format"]),
        ("-a", "-a", "-a", ["name-format"]),
        ("a-", "a-", "a-", ["name-format"]),
        ("\u6280\u80fd", "\u6280\u80fd", "\u6280\u80fd", ["name-format"]),
        ("other", "s", "other", ["name-mismatch"]),
        ("x" * 64, "x" * 64, "x" * 64, []),
        ("x" * 65, "x" * 65, "x" * 65, ["name-too-long"]),
        ("x" * 256, "s", "x" * 256, ["name-too-long", "name-mismatch"]),
        ("x" * 257, "s", "s", ["name-unsafe"]),
        ("../up", "s", "s", ["name-unsafe"]),
        ("..", "s", "s", ["name-unsafe"]),
        (".", "s", "s", ["name-unsafe"]),
        ("a/b", "s", "s", ["name-unsafe"]),
        ("a\\b", "s", "s", ["name-unsafe"]),
        ('"a\\nb"', "s", "s", ["name-unsafe"]),
        ('"a\\x9bb"', "s", "s", ["name-unsafe"]),
        ('"a\\u202eb"', "s", "a\u202eb", ["name-format", "name-mismatch"]),
    ],
)
def test_a_name_is_kept_as_it_is_unless_it_is_unsafe(
    tmp_path: Path, name: str, folder: str, expected: str, found: list[str]
) -> None:
    put(tmp_path, folder, front(name=name))
    entry = only(tmp_path)
    assert (entry.name, codes(entry.problems), entry.eligible) == (expected, found, True)
    assert {problem.level for problem in entry.problems} <= {"warning"}


def test_a_name_may_be_composed_otherwise_than_its_folder(tmp_path: Path) -> None:
    put(tmp_path, "caf\u00e9", front(name="cafe\u0301"))
    assert codes(only(tmp_path).problems) == ["name-format"]


# -------- descriptions


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("  Does it.  ", "Does it."),
        ("a\n  b", "a b"),
        (">\n  a\n  b\n\n  c\n", "a b\nc"),
        ("|\n  a\n   - b\n\n", "a\n - b"),
        ('" a\\tb "', "a\tb"),
        ('"\\ud83d\\udd0d find"', "\U0001f50d find"),
        ("<b>&amp;</b>", "<b>&amp;</b>"),
    ],
)
def test_a_description_is_kept_whole_but_for_blank_ends(
    tmp_path: Path, written: str, expected: str
) -> None:
    put(tmp_path, "s", front(description=written))
    assert (only(tmp_path).description, codes(only(tmp_path).problems)) == (expected, [])


def test_a_long_description_is_a_warning_and_stays_whole(tmp_path: Path) -> None:
    put(tmp_path, "fits", front(name="fits", description="x" * 1024))
    put(tmp_path, "long", front(name="long", description="\u00e9" * 1025))
    fits, long = listed(tmp_path)
    assert codes(fits.problems) == []
    assert (len(long.description), codes(long.problems)) == (1025, ["description-too-long"])


def test_when_to_use_goes_to_the_catalogue_and_not_to_the_list(tmp_path: Path) -> None:
    put(tmp_path, "s", front("when_to_use: Use it when asked."))
    entry = only(tmp_path)
    assert entry.description == "Does it."
    assert entry.skill and entry.skill.description == "Does it. Use it when asked."


@pytest.mark.parametrize("written", ["", "' '", "[a]", "{a: b}", "# gone", ">\n\n", "null", "~"])
def test_no_description_is_an_error(tmp_path: Path, written: str) -> None:
    put(tmp_path, "s", front(description=written))
    entry = only(tmp_path)
    assert (entry.name, entry.eligible, entry.skill) == ("s", False, None)
    assert [(p.level, p.code) for p in entry.problems] == [("error", "description-missing")]


def test_an_empty_frontmatter_has_no_description(tmp_path: Path) -> None:
    put(tmp_path, "s", "---\n---\nbody\n")
    assert codes(only(tmp_path).problems) == ["description-missing"]


# -------- the other fields


def test_the_fields_that_count_are_read(tmp_path: Path) -> None:
    put(
        tmp_path,
        "s",
        front(
            "allowed-tools: Read, Bash(git log:*), Write",
            "compatibility: Needs git",
            "disable-model-invocation: True",
            "user-invocable: no",
        ),
    )
    skill = only(tmp_path).skill
    assert skill
    assert skill.allowed_tools == ("Read", "Bash(git log:*)", "Write")
    assert skill.compatibility == "Needs git"
    assert (skill.model_invocable, skill.user_invocable) == (False, False)


@pytest.mark.parametrize(
    "written",
    ["Read Write", "Read, Write", "[Read, Write]", "\n  - Read\n  - Write", "'Read,Write'"],
)
def test_allowed_tools_are_written_in_many_ways(tmp_path: Path, written: str) -> None:
    put(tmp_path, "s", front(f"allowed-tools: {written}"))
    skill = only(tmp_path).skill
    assert skill and skill.allowed_tools == ("Read", "Write")


def test_unknown_fields_of_any_shape_are_accepted_without_a_word(tmp_path: Path) -> None:
    more = (
        "platforms: [macos]",
        "hooks: {a: [{b: c}]}",
        "paths: '*.py'",
        "x.y: 1",
        "context: fork",
    )
    put(tmp_path, "s", front(*more, "metadata: [no, map]", "allowed-tools: {a: b}"))
    assert (only(tmp_path).eligible, only(tmp_path).problems) == (True, ())


def test_a_long_compatibility_is_a_warning(tmp_path: Path) -> None:
    put(tmp_path, "s", front("compatibility: " + "x" * 501))
    assert codes(only(tmp_path).problems) == ["compatibility-too-long"]


def test_flags_survive_a_repair_and_a_lost_gate_is_open(tmp_path: Path) -> None:
    more = ("disable-model-invocation: true", 'metadata: {"openclaw": {"os": ["none"]}')
    put(tmp_path, "s", front(*more, description="Use it: now"))
    entry = only(tmp_path)
    assert (entry.description, entry.eligible) == ("Use it: now", True)
    assert entry.skill and not entry.skill.model_invocable
    assert codes(entry.problems) == ["yaml-repaired"]


# -------- the text


def test_newlines_of_other_systems_and_a_byte_order_mark_are_plain(tmp_path: Path) -> None:
    put(tmp_path, "a", "\ufeff---\r\nname: a\r\ndescription: |\r\n  x\r\n  y\r\n---\r\n1\r\n2\r\n")
    put(tmp_path, "b", "---\rname: b\rdescription: x\r---\r1\r2\r")
    a, b = (entry.skill for entry in listed(tmp_path))
    assert a and (a.description, a.body()) == ("x\ny", "1\n2")
    assert b and (b.description, b.body()) == ("x", "1\n2")


def test_undecodable_bytes_are_replaced_with_a_warning(tmp_path: Path) -> None:
    put(tmp_path, "s", front(description="caf\u00e9").encode("latin-1"))
    put(tmp_path, "t", front(name="t", description="was \ufffd before"))
    s, t = listed(tmp_path)
    assert (s.description, codes(s.problems)) == ("caf\ufffd", ["encoding"])
    assert codes(t.problems) == []


def test_the_body_names_its_folder_and_is_read_when_it_is_asked_for(tmp_path: Path) -> None:
    path = put(tmp_path, "s", front() + "Run {baseDir}/a and ${CLAUDE_SKILL_DIR}/b.\n!`date`\n")
    skill, problems = read_skill_file(path)
    assert skill and problems == []
    folder = path.parent.as_posix()
    assert skill.body() == f"Run {folder}/a and {folder}/b.\n!`date`"
    put(tmp_path, "s", front() + "Changed.\n")
    assert skill.body() == "Changed."
    path.unlink()
    with pytest.raises(OpenclawError, match="s cannot be read"):
        skill.body()


# -------- roots and precedence


def test_roots_are_looked_at_best_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = Home(tmp_path / "home")
    user = tmp_path / "user"
    monkeypatch.setenv("HOME", str(user))
    monkeypatch.setenv("USERPROFILE", str(user))
    first = [Root(home.root / "skills", "home"), Root(home.root / ".agents" / "skills", "agents")]
    assert roots(home) == first
    assert roots(home, user=True) == [*first, Root(user / ".agents" / "skills", "user")]
    assert [root.source for root in roots(Home(user), user=True)] == ["home", "agents"]


def test_a_better_root_hides_a_skill_of_the_same_name_and_says_so(tmp_path: Path) -> None:
    best = put(tmp_path / "one", "z", front(name="s", description="Best."))
    put(tmp_path / "two", "a", front(name="s", description="Hidden."))
    better, hidden = list_skills([Root(tmp_path / "one", "home"), Root(tmp_path / "two", "agents")])
    assert (better.path, better.eligible, codes(better.problems)) == (best, True, ["name-mismatch"])
    assert (hidden.description, hidden.source, hidden.eligible) == ("Hidden.", "agents", False)
    assert [(p.level, p.code) for p in hidden.problems] == [
        ("warning", "name-mismatch"),
        ("warning", "shadowed"),
    ]
    assert str(best.as_posix()) in hidden.problems[-1].message


def test_within_a_root_the_first_by_the_bytes_of_its_path_counts(tmp_path: Path) -> None:
    for folder in ("\u00e9", "z", "a/x", "a-b", "B"):
        put(tmp_path, folder, front(name="s"))
    order = [e.path.parent.relative_to(tmp_path).as_posix() for e in listed(tmp_path)]
    assert order == ["B", "a-b", "a/x", "z", "\u00e9"]
    assert [entry.eligible for entry in listed(tmp_path)] == [True, False, False, False, False]


def test_a_broken_skill_hides_nothing_and_a_closed_one_does(tmp_path: Path) -> None:
    def closed(skill: Skill) -> list[SkillProblem]:
        return [SkillProblem("warning", "requires", "x")] if "one" in str(skill.path) else []

    put(tmp_path / "one", "broken", "---\nname: broken\n---\n")
    put(tmp_path / "two", "broken")
    put(tmp_path / "one", "gated")
    put(tmp_path / "two", "gated")
    found = list_skills(
        [Root(tmp_path / "one", "home"), Root(tmp_path / "two", "user")], blockers=closed
    )
    assert [(e.name, e.source, e.eligible, codes(e.problems)) for e in found] == [
        ("broken", "user", True, []),
        ("broken", "home", False, ["description-missing"]),
        ("gated", "home", False, ["requires"]),
        ("gated", "user", False, ["shadowed"]),
    ]


def test_one_bad_folder_never_stops_the_others(tmp_path: Path) -> None:
    put(tmp_path, "bad", "no frontmatter\n")
    put(tmp_path, "good", GOOD.format("good"))
    bad, good = listed(tmp_path)
    assert codes(bad.problems) == ["frontmatter-missing"]
    assert (good.name, good.eligible) == ("good", True)
