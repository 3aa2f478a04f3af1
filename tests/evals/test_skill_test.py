"""`openclaw skills test`: each prompt on a copy of the home, and what is told of it."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from openclaw.evals.skill_test import Trial, guess_trials, run_trials
from openclaw.nlp.relevance import rank_blurbs
from openclaw.skills.skill import read_skill_file
from openclaw.skills.trigger_tests import Triggers, read_triggers
from openclaw.tools.skill_tools import TurnSkills
from tests.fakes.command import CommandLine
from tests.fakes.git_home import snapshot
from tests.fakes.ollama_server import Answer, FakeOllama
from tests.fakes.skills import front, put
from tests.fakes.talk import Talk, call, new_toolbox, talk

claw = CommandLine("skills", "test")

SHIPPED = Path(__file__).parents[2] / "skills"
PLAN = Triggers(("Plan it.",), ("Hello.",), {"Plan it.": ("First Step", "milk")})
READ = call("read_skill", name="plan-day")


def tried(it: Talk, triggers: Triggers = PLAN) -> list[Trial]:
    skill = next(skill for skill in it.app.skills() if skill.name == "plan-day")
    return list(run_trials(it.app, skill, triggers))


def test_a_skill_that_is_read_where_it_should_be_and_only_there_passes(it: Talk) -> None:
    it.model.say(READ, "Buy Milk. First step: the shop.", "Hello.")
    done = tried(it)
    assert [(trial.verdict, trial.ok) for trial in done] == [("hit", True), ("quiet", True)]
    assert done[0].read == ("plan-day",) and done[0].answer.startswith("Buy Milk.")


def test_a_miss_a_false_alarm_and_missing_words_do_not(it: Talk) -> None:
    other = call("read_skill", name="digest")
    it.model.say(other, "Some milk.", READ, "Hello.")
    done = tried(it)
    assert [(trial.verdict, trial.ok) for trial in done] == [
        ("miss", False),
        ("false alarm", False),
    ]
    assert (done[0].read, done[0].missing) == (("digest",), ("First Step",))


def test_a_call_that_failed_has_read_nothing(it: Talk) -> None:
    it.model.say(call("read_skill", name="no such skill"), "None.", "Hello.")
    assert tried(it)[0].read == ()


def test_the_home_stays_as_it_is_and_each_prompt_begins_with_it(it: Talk) -> None:
    before = snapshot(it.root)
    write = call("write_file", path="workspace/new.md", content="new")
    it.model.say(write, "Written.", write, "Written.")
    tried(it)
    assert snapshot(it.root) == before
    last = [request.messages[-1].content for request in it.requests]
    assert sum("Created workspace/new.md" in text for text in last) == 2


def test_a_skill_is_not_found_by_the_very_prompt_that_tests_it(it: Talk) -> None:
    folder = it.app.home.skills / "plan-day" / "evals"
    (folder / "triggers.yaml").write_text("should: [Quick brown foxes jump]\n", "utf-8")
    triggers = Triggers(("Quick brown foxes jump",), ())
    it.model.say("They do.")
    assert [trial.verdict for trial in tried(it, triggers)] == ["miss"]
    assert "plan-day fits" not in it.model.requests[-1].messages[-1].content
    skill = next(skill for skill in it.app.skills() if skill.name == "plan-day")
    assert skill.examples == triggers.should
    assert [trial.verdict for trial in guess_trials(it.app.skills(), skill, triggers)] == ["miss"]


def test_conversations_are_not_copied(it: Talk) -> None:
    it.say("My cat is called Minka.", "A good name.")
    it.model.say(call("list_files", folder="sessions"), "None.", "Hello.")
    tried(it)
    assert it.session.id not in it.requests[2].messages[-1].content


def test_the_web_is_not_asked(it: Talk) -> None:
    it.model.say(call("web_search", query="x"), "No.", "Hello.")
    tried(it)
    assert "Refused" in it.requests[1].messages[-1].content


def test_nor_is_anything_else_done_that_the_user_has_granted(it: Talk) -> None:
    granted = ("2026-11-21 tool web_search", "2026-11-21 host duckduckgo.com")
    it.app.settings = replace(it.app.settings, grants=granted)
    it.model.say(call("web_search", query="x"), "No.", "Hello.")
    tried(it)
    assert "Refused" in it.requests[1].messages[-1].content


@pytest.mark.skipif(os.name == "nt", reason="no pipes")
def test_what_cannot_be_copied_does_not_stop_it(it: Talk) -> None:
    os.mkfifo(it.root / "workspace" / "pipe")
    (it.root / "workspace" / "nowhere").symlink_to("/no/such/file")
    it.model.say("One.", "Two.")
    assert len(tried(it)) == 2


def test_the_model_stays_open_until_the_app_closes(it: Talk) -> None:
    it.model.say("One.", "Two.")
    tried(it)
    assert not it.model.closed


def test_code_alone_picks_by_the_words(it: Talk) -> None:
    skills = it.app.skills()
    skill = next(skill for skill in skills if skill.name == "plan-day")
    done = list(guess_trials(skills, skill, Triggers(("Plan my day", "What now?"), ("Hello",))))
    assert [trial.verdict for trial in done] == ["hit", "miss", "quiet"]
    assert it.requests == []


# -------- as a user types it


@pytest.fixture
def home(tmp_path: Path, fake_ollama: FakeOllama) -> Path:
    root = talk(tmp_path / "home").root
    settings = f"model: ollama/fake:1b\nprotocol: native\nollama:\n  host: {fake_ollama.url}\n"
    (root / "openclaw.yaml").write_text(settings, "utf-8")
    return root


def own(home: Path, triggers: str, name: str = "garden") -> None:
    put(home / "skills", name, front(name=name, description="Waters plants in the garden."))
    put(home / "skills", name, triggers, "evals/triggers.yaml")


def test_hits_misses_and_false_alarms_are_printed(home: Path, fake_ollama: FakeOllama) -> None:
    own(home, "should: [Water it, {prompt: Sow, expect: [seeds]}]\nshould_not: [Sing, Dance]\n")
    read = Answer(calls=[("read_skill", {"name": "garden"})])
    fake_ollama.say("No.", read, "Fine.", read, "La.", "Ta.")
    assert claw("garden", code=1).splitlines() == [
        "miss         Water it",
        "hit          Sow  (the answer lacks seeds)",
        "false alarm  Sing",
        "quiet        Dance",
        "1 of 2 hit, 1 missed, 1 of 2 false alarms, 1 without the expected words",
    ]


def test_as_json_it_is_one_value_and_all_as_expected_leaves_with_0(
    home: Path, fake_ollama: FakeOllama
) -> None:
    own(home, "should: [Water it]\n")
    fake_ollama.say(Answer(calls=[("read_skill", {"name": "garden"})]), "Watered.")
    found = claw.json("garden")
    (prompt,) = found.pop("prompts")
    assert found == {
        "name": "garden", "passed": True, "hits": 1, "misses": 0, "quiet": 0, "false_alarms": 0,
        "missing_words": 0,
    }  # fmt: skip
    assert prompt.pop("seconds") >= 0
    assert prompt == {
        "prompt": "Water it", "should": True, "verdict": "hit", "read": ["garden"], "missing": [],
        "answer": "Watered.", "ok": True,
    }  # fmt: skip


def test_without_a_model_none_is_asked(home: Path, fake_ollama: FakeOllama) -> None:
    own(home, "should: [Water the plants]\nshould_not: [Sing]\n")
    claw("garden", "--no-model")
    own(home, "should: [Sing]\n")
    claw("garden", "--no-model", code=1)
    assert fake_ollama.chats == []


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("nothing", "there is no skill nothing"),
        ("quiet", "the skill quiet is not for the model to choose"),
        ("broken", "the skill broken cannot be used"),
        ("bare", "the skill has no trigger tests"),
        ("damaged", "evals/triggers.yaml: it is not YAML: line 3"),
    ],
)
def test_what_cannot_be_tested_leaves_with_2(home: Path, name: str, told: str) -> None:
    put(home / "skills", "quiet", front("disable-model-invocation: true", name="quiet"))
    put(home / "skills", "broken", "no frontmatter\n")
    put(home / "skills", "bare")
    own(home, "should:\n- [a\n", "damaged")
    assert claw(name, code=2) == "" and told in claw.err


# -------- the skills that are shipped


SKILLS = [
    skill for path in sorted(SHIPPED.glob("*/SKILL.md")) if (skill := read_skill_file(path)[0])
]
PAIRS = [(skill.name, prompt) for skill in SKILLS for prompt in read_triggers(skill.folder).should]


@pytest.mark.parametrize("skill", SKILLS, ids=lambda skill: skill.name)
def test_code_takes_no_shipped_skill_for_what_it_is_not_for(skill: Any) -> None:
    found = guess_trials(SKILLS, skill, read_triggers(skill.folder))
    assert [trial.prompt for trial in found if trial.verdict == "false alarm"] == []


def test_code_alone_finds_most_of_what_they_are_for_and_no_other_skill() -> None:
    blurbs = TurnSkills(SKILLS).blurbs
    first = [(name, rank_blurbs(prompt, blurbs)[:1]) for name, prompt in PAIRS]
    assert all(found[0].name == name for name, found in first if found)
    assert sum(bool(found) for _, found in first) >= 0.7 * len(PAIRS)


@pytest.mark.parametrize("skill", SKILLS, ids=lambda skill: skill.name)
def test_a_shipped_skill_is_short_and_says_when_it_is_used(skill: Any) -> None:
    assert 120 <= len(skill.description) <= 200 and "Use when" in skill.description
    assert len(skill.body().splitlines()) < 40 and "## Example" in skill.body()


def test_a_skills_tests_are_nothing_for_a_model(it: Talk) -> None:
    names = " ".join(new_toolbox(it.app).lines().split())
    assert "read_skill(name)" in names
    it.say("Show all.", call("list_files"), "These.")
    assert "skills/digest/SKILL.md" in it.requests[1].messages[-1].content
    assert "triggers.yaml" not in it.requests[1].messages[-1].content
