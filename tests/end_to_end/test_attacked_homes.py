"""Homes from elsewhere, opened in each mode: without the user's yes, and with it.

What a stranger has put into them are the lines of `attacks/homes.py`.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark import ParameterSet

from openclaw.storage.home import Home
from openclaw.storage.trust_store import Trust, trust_home
from openclaw.types import Mode
from tests.attacks.harm import CODE
from tests.attacks.homes import HOMES, Planted, plant
from tests.attacks.orders import Call
from tests.attacks.world import World, without_sandbox, world
from tests.fakes.command import openclaw
from tests.fakes.needs import needs_git
from tests.fakes.ollama_server import Answer, FakeOllama

pytestmark = [needs_git, pytest.mark.skipif(sys.platform == "win32", reason="links, lines for sh")]
MODES: tuple[Mode, ...] = ("read-only", "ask", "edit", "full")
LOOKING = (
    ("doctor",), ("context",), ("log",), ("diff",), ("todo", "list"), ("mcp", "list"),
    ("memory", "search", "Ghent"), ("models", "list"), ("hooks", "list"), ("sessions", "list"),
)  # fmt: skip
CALLS: tuple[Call, ...] = (
    ("todo", {"action": "add", "list": "Tasks", "items": ["buy milk"]}),
    ("remember", {"fact": "The user likes tea with milk.", "where": "today"}),
    ("read_file", {"path": "workspace/USER.md"}),
    ("run_shell", {"command": "seq 90000; wc -l workspace/diary.md"}),
    ("write_file", {"path": "workspace/new.md", "content": "Milk.\n"}),
)
"""What an agent may do in an ordinary home."""


def some(cases: Iterable[tuple[Any, ...]], every: int) -> list[ParameterSet]:
    """The cases, of which one in so many is tried each time."""
    marks = itertools.cycle([(), *[(pytest.mark.slow,)] * (every - 1)])
    return [
        pytest.param(*case, marks=mark, id=", ".join(map(str, case)))
        for case, mark in zip(cases, marks, strict=False)
    ]


def opened(*words: str) -> int:
    """Open the home by a command; its exit code."""
    done = openclaw(*words, environ={"DOOR": CODE})
    assert "Traceback" not in done.stderr and "run again with" not in done.stderr, done.stderr
    return done.returncode


def begin(it: World, planted: Planted) -> None:
    if planted.path in ("GIT", ".git"):
        git = ("git", "-C", str(it.home))
        subprocess.run([*git, "init", "-q"], check=True, capture_output=True)
    trust_home(Home(it.home))
    plant(it, planted)
    it.begin()


def harm(it: World, *but: str) -> list[str]:
    """What was done, but to these files, which the user lets the agent write."""
    return [told for told in it.harm() if not told.startswith(but)]


@pytest.mark.parametrize("planted", some(zip(HOMES, strict=True), 12))
def test_a_home_without_a_yes_is_only_read(
    tmp_path: Path, planted: Planted, fake_ollama: FakeOllama
) -> None:
    with world(tmp_path) as it:
        begin(it, planted)
        assert Trust().revoke(Home(it.home), "home")
        it.begin()
        for words in LOOKING:
            opened(*words)
        for mode in MODES:
            assert opened("--mode", mode, "hello") == 7
        assert not [asked for asked in fake_ollama.requests if asked.path == "/api/chat"]
        assert harm(it) == []


def test_a_project_that_was_cloned_does_nothing_from_below_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fake_ollama: FakeOllama
) -> None:
    monkeypatch.delenv("OPENCLAW_HOME")
    with world(tmp_path) as it:
        plant(it, next(one for one in HOMES if one.name == "a command of MCP"))
        assert Trust().revoke(Home(it.home), "home")
        it.begin()
        done = openclaw("what does this project do?", cwd=it.home / "workspace" / "app")
        assert done.returncode == 7 and f'--home "{it.home}" trust' in done.stderr
        assert not fake_ollama.requests and harm(it) == []


@pytest.mark.parametrize(
    ("planted", "mode", "kind"),
    some(
        itertools.product(
            [one for one in HOMES if one.when == "always"], MODES, ("sandbox", "bare")
        ),
        101,
    ),
)
def test_a_yes_opens_nothing_beyond_the_home(
    tmp_path: Path, planted: Planted, mode: Mode, kind: str, fake_ollama: FakeOllama
) -> None:
    limits = without_sandbox(tmp_path) if kind == "bare" else nullcontext()
    with limits, world(tmp_path) as it:
        begin(it, planted)
        fake_ollama.say(Answer(calls=CALLS), "So be it.")
        opened("--mode", mode, "I'm allergic to bees. Remind me of it.")
        fake_ollama.script.clear()
        for words in (*LOOKING[:3], ("undo",), ("redo",), ("todo", "add", "tea")):
            opened(*words)
        own = ("home/.git", "home/workspace/app") if planted.path == "GIT" else ()
        assert harm(it, "home/memory/", *own) == []
