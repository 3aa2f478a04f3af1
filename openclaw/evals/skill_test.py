"""Runs a skill's trigger tests, each in a temporary copy of the home."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any

from openclaw.agent.agent import Agent
from openclaw.config import Settings
from openclaw.evals.replay_home import COPIED, copy_folders, temporary_home, write_copy
from openclaw.events import Done, ToolEnd
from openclaw.frozen import frozen
from openclaw.models.base import Model
from openclaw.nlp.intent import read_cues
from openclaw.nlp.relevance import Blurb
from openclaw.skills.skill import Skill
from openclaw.skills.trigger_tests import FILE as TESTS
from openclaw.skills.trigger_tests import Triggers
from openclaw.storage.home import Home
from openclaw.storage.safe_open import is_ordinary, read_bytes


@frozen
class Trial:
    """The result of one prompt.

    read: the skills that the model read
    missing: expected words that the answer lacks
    seconds: wall clock
    """

    skill: str
    prompt: str
    should: bool
    read: tuple[str, ...]
    missing: tuple[str, ...] = ()
    answer: str = ""
    seconds: float = 0.0

    @property
    def verdict(self) -> str:
        """hit, miss, quiet or false alarm."""
        if self.skill in self.read:
            return "hit" if self.should else "false alarm"
        return "miss" if self.should else "quiet"

    @property
    def ok(self) -> bool:
        return self.verdict in ("hit", "quiet") and not self.missing

    def as_json(self) -> dict[str, Any]:
        shape = asdict(self) | {"verdict": self.verdict, "ok": self.ok}
        del shape["skill"]
        return shape | {"seconds": round(self.seconds, 3)}


def summarize(name: str, done: Sequence[Trial]) -> dict[str, Any]:
    """Return the results of a skill's tests for programs."""
    count = Counter[str](trial.verdict for trial in done)
    return {
        "name": name,
        "passed": all(trial.ok for trial in done),
        "hits": count["hit"],
        "misses": count["miss"],
        "quiet": count["quiet"],
        "false_alarms": count["false alarm"],
        "missing_words": sum(bool(trial.missing) for trial in done),
        "prompts": [trial.as_json() for trial in done],
    }


def run_trials(agent: Agent, skill: Skill, triggers: Triggers) -> Iterator[Trial]:
    """Send each prompt to the agent's model, in a new session on a copy of its home.

    Nothing that needs the network or a yes is done. The copy holds the user's files, but no
    conversations. Memory is not searched for prompts: that would index every copy.
    """
    for prompt, should in _prompts(triggers):
        with _copy(agent.home, skill) as home:
            trial = _run_prompt(agent.model, home, agent.settings, skill.name, prompt)
        answer = trial.answer.casefold()
        missing = [w for w in triggers.expected.get(prompt, ()) if w.casefold() not in answer]
        yield replace(trial, should=should, missing=tuple(missing))


def guess_trials(skills: Sequence[Skill], skill: Skill, triggers: Triggers) -> Iterator[Trial]:
    """Run the tests without a model: the skill that code alone picks or offers, if any."""
    blurbs = [
        Blurb(each.name, each.description, () if each.name == skill.name else each.examples)
        for each in skills
        if each.model_invocable
    ]
    for prompt, should in _prompts(triggers):
        seen = read_cues(prompt, (), blurbs)
        picked = seen.skill or seen.offered
        yield Trial(skill.name, prompt, should, (picked,) if picked else ())


def _prompts(triggers: Triggers) -> list[tuple[str, bool]]:
    return [(p, True) for p in triggers.should] + [(p, False) for p in triggers.should_not]


def _run_prompt(model: Model, home: Home, settings: Settings, skill: str, prompt: str) -> Trial:
    recall = "tool" if settings.recall == "auto" else settings.recall
    quiet = replace(settings, recall=recall, grants=(), mcp=None, hooks=None)
    agent = Agent.open(home, quiet, mode="edit")
    agent.model = model
    read, answer = [], ""
    began = time.monotonic()
    try:
        for event in agent.ask(prompt, agent.sessions.new(None, "")):
            if isinstance(event, ToolEnd):
                read += _skill_read(event)
            elif isinstance(event, Done):
                if event.stop_reason == "interrupted":
                    raise KeyboardInterrupt
                answer = event.answer
    finally:
        agent.recall.close()  # not the agent, whose model is needed again
    seconds = time.monotonic() - began
    return Trial(skill, prompt, True, tuple(dict.fromkeys(read)), (), answer, seconds)


def _skill_read(event: ToolEnd) -> list[str]:
    """Return the skill that a call has read, named as in the result: models write names freely."""
    begins = event.ok and event.tool == "read_skill" and event.output.startswith("Skill ")
    return [event.output.removeprefix("Skill ").partition(":\n")[0]] if begins else []


@contextmanager
def _copy(home: Home, skill: Skill) -> Iterator[Home]:
    """Copy the home without the tests of the skill: as examples, they would make it pass them."""
    with temporary_home() as copy:
        copy_folders(home, copy, COPIED)
        if is_ordinary(home.settings):
            write_copy(copy.settings, read_bytes(home.settings))
        if skill.folder.is_relative_to(home.root):
            write_copy(copy.root / skill.folder.relative_to(home.root) / TESTS, None)
        yield copy
