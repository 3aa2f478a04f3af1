"""A long talk with the real 1.5B model at a small window: what it still knows, and who it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from openclaw.models import catalog
from openclaw.models.registry import open_one
from tests.model.long_talk import FACTS, STORY, WHO, report, run, settings

pytestmark = pytest.mark.model

MODEL = "qwen2.5-coder-1.5b-instruct"
LEAST_FACTS = 4
LEAST_RULE = 0.8


def test_a_talk_of_30_turns_keeps_persona_rule_and_facts(tmp_path: Path) -> None:
    if catalog.find_installed(MODEL) is None:
        pytest.fail(f"{MODEL} is not installed: openclaw models pull {MODEL}", pytrace=False)
    assert len((*STORY, *FACTS, WHO)) == 30
    model = open_one(f"embedded/{MODEL}", settings(), kv_folder=tmp_path / "kv")
    try:
        outcome = run(model)
    finally:
        model.close()
    report(outcome)
    assert outcome.compactions >= 2  # else the window was never too small
    forgotten = [question.words for question in FACTS if not outcome.right(question)]
    assert len(FACTS) - len(forgotten) >= LEAST_FACTS, f"wrong: {forgotten}"
    assert outcome.right(WHO)
    assert outcome.rule_share >= LEAST_RULE
