"""The trigger tests of a skill: how they are read, and what is wrong with damaged ones."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from openclaw.errors import UsageError
from openclaw.skills.trigger_tests import MAX_BYTES, Triggers, read_triggers

SHIPPED = Path(__file__).parents[2] / "skills"


def skill(folder: Path, text: str | bytes) -> Path:
    """The folder of a skill with this evals/triggers.yaml."""
    (folder / "evals").mkdir()
    data = text if isinstance(text, bytes) else text.encode()
    (folder / "evals" / "triggers.yaml").write_bytes(data)
    return folder


def problem(folder: Path) -> str:
    with pytest.raises(UsageError) as caught:
        read_triggers(folder)
    return str(caught.value)


def test_prompts_are_texts_and_some_have_words_that_are_expected(tmp_path: Path) -> None:
    text = """\
    should:
      - Plan my day
      - prompt: "What is first: this?"
        expect: [First step, 1.10]
      - prompt: on
        expect: yes
      - Plan my day
    should_not: [2026, null]
    """
    assert read_triggers(skill(tmp_path, text)) == Triggers(
        ("Plan my day", "What is first: this?", "on"),
        ("2026", "null"),
        {"What is first: this?": ("First step", "1.10"), "on": ("yes",)},
    )


def test_one_side_alone_will_do(tmp_path: Path) -> None:
    assert read_triggers(skill(tmp_path, "\ufeffshould: [a b]\r\nshould_not:\r\n")) == Triggers(
        ("a b",), ()
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "no should: and no should_not:"),
        ("- a\n- b\n", "no should: and no should_not:"),
        ("should: []\n", "holds no prompts"),
        ("should: one\n", "should is no list"),
        ("shoud: [a]\n", "unknown key 'shoud'"),
        ("should: [a]\nshould: [b]\n", "'should' is given twice"),
        ("should: [a]\nshould_not: [a]\n", "under should and under should_not: 'a'"),
        ("should: [[a]]\n", "should, prompt 1: it is no text"),
        ("should: [a, '  ']\n", "should, prompt 2: it is no text"),
        ("should_not: [{expect: a}]\n", "should_not, prompt 1: it is no text"),
        ("should: [{prompt: a, want: b}]\n", "unknown key 'want'"),
        ("should: [{prompt: a, expect: {b: c}}]\n", "expect is a word or a list of words"),
        ("should: [{prompt: a, expect: [[b]]}]\n", "expect is a word or a list of words"),
        ("should: [a\n", "not YAML"),
        ("should: [&a b, *a]\n", "an a"),
        ("should: [!!python/name:os.system x]\n", "a tag"),
        (b"should: [\xff]\n", "not UTF-8"),
        ("should: [" + "a, " * 30_000 + "]\n", f"larger than {MAX_BYTES // 1024} KiB"),
        ("should: " + "[" * 30_000, "more than"),
    ],
)
def test_what_is_damaged_is_told_in_one_line(tmp_path: Path, text: str | bytes, told: str) -> None:
    said = problem(skill(tmp_path, text))
    assert told in said and said.startswith("evals/triggers.yaml: ") and "\n" not in said


def test_a_skill_without_trigger_tests_says_how_they_look(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no trigger tests") as caught:
        read_triggers(tmp_path)
    assert "should_not:" in caught.value.hint


@pytest.mark.skipif(os.name == "nt", reason="no pipes and no links without rights")
def test_a_link_a_pipe_and_a_folder_are_not_opened(tmp_path: Path) -> None:
    evals = tmp_path / "evals"
    evals.mkdir()
    file = evals / "triggers.yaml"
    file.symlink_to("/dev/zero")
    assert "a link" in problem(tmp_path)
    file.unlink()
    os.mkfifo(file)
    assert "not a regular file" in problem(tmp_path)
    file.unlink()
    file.mkdir()
    assert "not a regular file" in problem(tmp_path)


@pytest.mark.parametrize("folder", sorted(SHIPPED.iterdir()), ids=lambda path: path.name)
def test_each_shipped_skill_has_five_prompts_a_side(folder: Path) -> None:
    found = read_triggers(folder)
    assert (len(found.should), len(found.should_not)) == (5, 5)
