"""Everyday tasks with the real embedded models: `make test-model` prints the shares."""

from __future__ import annotations

from pathlib import Path

import pytest

from openclaw.config import Settings
from openclaw.models import catalog
from openclaw.models.registry import open_one
from tests.model.run_tasks import report, run_tasks, share
from tests.model.tasks import TASKS

pytestmark = pytest.mark.model


@pytest.mark.parametrize(
    ("name", "least"),
    [("qwen2.5-coder-1.5b-instruct", 0.70), ("qwen2.5-coder-0.5b-instruct", 0.25)],
)
def test_a_small_model_does_most_everyday_tasks(name: str, least: float, tmp_path: Path) -> None:
    if catalog.find_installed(name) is None:
        pytest.fail(f"{name} is not installed: openclaw models pull {name}", pytrace=False)
    print(f"\n{name}, {len(TASKS)} tasks")
    model = open_one(f"embedded/{name}", Settings(), kv_folder=tmp_path / "kv")
    try:
        outcomes = run_tasks(TASKS, model)
    finally:
        model.close()
    report(outcomes)
    failed = ", ".join(outcome.task.name for outcome in outcomes if not outcome.passed)
    assert share(outcomes) >= least, f"{share(outcomes):.0%} succeeded; failed: {failed}"
