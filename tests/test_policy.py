"""The table of modes and effects."""

from __future__ import annotations

import pytest

from openclaw.shapes import Effect, Mode
from openclaw.tools.policy import Decision, Policy


@pytest.mark.parametrize(
    ("mode", "effect", "decision"),
    [
        ("read-only", "read", "allow"),
        ("read-only", "write", "deny"),
        ("read-only", "network", "ask"),
        ("ask", "read", "allow"),
        ("ask", "write", "ask"),
        ("ask", "network", "ask"),
        ("edit", "read", "allow"),
        ("edit", "write", "allow"),
        ("edit", "network", "ask"),
        ("full", "read", "allow"),
        ("full", "write", "allow"),
        ("full", "network", "allow"),
    ],
)
def test_a_mode_decides_by_effect(mode: Mode, effect: Effect, decision: Decision) -> None:
    assert Policy(mode).decide(effect) == decision


@pytest.mark.parametrize(
    "path", ["openclaw.yaml", "workspace/SOUL.md", "agents.MD", "workspace\\Agents.md", "SOUL.md. "]
)
def test_the_files_that_make_the_agent_are_asked_for(path: str) -> None:
    assert Policy("edit").decide("write", path) == "ask"
    assert Policy("full").decide("write", path) == "allow"
    assert Policy("read-only").decide("write", path) == "deny"
    assert Policy("edit").decide("read", path) == "allow"


@pytest.mark.parametrize("path", ["workspace/USER.md", "workspace/my-soul.md", "soul/x.md", ""])
def test_other_files_are_not(path: str) -> None:
    assert Policy("edit").decide("write", path) == "allow"
