"""Tests a model on this machine and with this program, and saves the result as a profile."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from openclaw.agent.agent import Agent
from openclaw.agent.protocols.native import choose_protocol
from openclaw.config import Settings
from openclaw.errors import ModelFailed
from openclaw.evals import model_probes
from openclaw.evals.model_probes import (
    JSON_QUESTIONS,
    TOOL_QUESTIONS,
    USUAL_LIMITS,
    ProbeLimits,
    TooLate,
    find_running_model,
    time_limit,
    window_of,
)
from openclaw.evals.replay_home import temporary_home
from openclaw.events import Done, ToolEnd
from openclaw.frozen import frozen
from openclaw.messages import Material
from openclaw.models.base import Model, Profile, Score
from openclaw.models.catalog import gguf_path
from openclaw.models.gguf import MemoryNeed, file_memory_need
from openclaw.models.machine import free_memory, lacks_memory, place_of
from openclaw.models.profile import LEAST_WINDOW, full_name, reply_limits
from openclaw.models.registry import open_model, split_name
from openclaw.storage.home import Home
from openclaw.storage.new_home import create_home
from openclaw.storage.safe_open import text_or_none
from openclaw.types import timestamp

TASK_STEPS = 6
VERIFIED_BYTES = 8_000_000_000
"""The largest model that is loaded once more with its largest window, only to verify that."""
Probe = tuple[str, Iterator[model_probes.Found]]


@dataclass(slots=True)
class ModelTest:
    """One test of a model.

    quick: leave the tasks out
    profile: the results so far, None before the model was reached
    faults: the failed probes, a line each
    """

    name: str
    settings: Settings
    quick: bool = False
    limits: ProbeLimits = USUAL_LIMITS
    profile: Profile | None = None
    faults: list[str] = field(default_factory=list)
    _began: float = 0.0
    _is_shrunk: bool = False

    def run(self) -> Iterator[str]:
        """Run the test; yield the name of each step before it. Errors rise when the model cannot be
        reached or loaded; any other error is a fault."""
        self._began = time.monotonic()
        with temporary_home() as home:
            make_home(home.root)
            yield "loading"
            provider, rest = split_name(self.name)
            need = file_memory_need(gguf_path(rest)) if provider == "embedded" else None
            free = free_memory()
            model, window = self._loaded(home, need, free)
            with closing(model):
                self._learn(window=window)
                yield "memory"
                self._measure_memory(need, free, window)
                yield from self._probe(model)
                if not self.quick:
                    yield from self._do_tasks(model, home)
            if need is not None and free is not None:
                yield "largest window"
                self._verify(home, window, need)
        self._learn(complete=not self.quick and not self.faults and self._is_whole())

    def _is_late(self) -> bool:
        return time.monotonic() - self._began > self.limits.test

    def _is_whole(self) -> bool:
        """Return True when every question was answered in time."""
        p = self.profile
        wanted = (len(TOOL_QUESTIONS), len(JSON_QUESTIONS), len(TASKS))
        return p is not None and wanted == (p.native.of, p.json_forced.of, len(p.tasks))

    def _learn(self, **found: Any) -> None:
        if self.profile is not None:
            seconds = round(time.monotonic() - self._began, 1)
            self.profile = replace(self.profile, **found, seconds=seconds)

    # -------- loading and memory

    def _open(self, home: Home, window: int) -> Model:
        embedded = replace(self.settings.embedded, kv_cache_mb=0)
        settings = replace(self.settings, fallbacks=(), window=window, embedded=embedded)
        return open_model(self.name, settings, home, as_tested=False)

    def _loaded(self, home: Home, need: MemoryNeed | None, free: int | None) -> tuple[Model, int]:
        """Return the loaded model and its window: that of the settings, or a smaller one when the
        memory is too small. A load that fails for another reason is tried once more."""
        wish = self.settings.window
        most = need.fits(free) if need and free else wish
        first = min(wish, max(most, LEAST_WINDOW))
        tries = [first, *(w for w in (first // 2, LEAST_WINDOW) if LEAST_WINDOW <= w < first)]
        is_first = True
        while True:
            try:
                model = self._load(home, tries[0])
            except TooLate:
                raise
            except ModelFailed as error:
                if is_first and not lacks_memory(error):
                    is_first = False
                # llama.cpp does not say why it fails: smaller windows show it
                elif len(tries) > 1 and (need or lacks_memory(error)):
                    del tries[0]
                else:
                    raise
            else:
                self._is_shrunk = tries[0] < first
                return model, model.card.window

    def _load(self, home: Home, window: int) -> Model:
        """Return the model after its first answer. Its errors rise, and TooLate."""
        model = self._open(home, window)
        try:
            with time_limit(self.limits.reply):
                card = model.card
            seconds = model_probes.measure_loading(model_probes.ProbedModel(model, self.limits))
        except BaseException:
            model.close()
            raise
        at = timestamp()
        self.profile = Profile(full_name(card.name), card.digest, at, place_of(card.server))
        self._learn(load_seconds=seconds)
        return model

    def _measure_memory(self, need: MemoryNeed | None, free: int | None, window: int) -> None:
        if need is not None:
            self._learn(token_bytes=need.token, model_bytes=need.model)
            if free is not None:
                self._learn(window_fits=need.fits(free), window_by="computed", free_bytes=free)
        elif self.name.startswith("ollama/") and (
            known := find_running_model(split_name(self.name)[1], self.settings.ollama.host)
        ):
            fits, by = window_of(known, window)
            self._learn(
                window_fits=fits,
                window_by=by,
                token_bytes=known.need and known.need.token,
                model_bytes=known.need.model if known.need else known.size,
            )
        if self._is_shrunk:  # a measured window counts more than a computed or reported one
            self._learn(window_fits=window, window_by="measured")

    def _verify(self, home: Home, tested: int, need: MemoryNeed) -> None:
        """Load once more with the largest window, unless that was tested already or would take
        long."""
        fits = self.profile.window_fits if self.profile else None
        if not fits or fits < tested:
            return
        if fits > tested:
            if self._is_late() or need.of(fits) > VERIFIED_BYTES:
                return
            try:
                if not (self._answers(home, fits) or self._answers(home, fits)):
                    fits = tested
            except TooLate:
                return
        self._learn(window_fits=fits, window_by="measured")

    def _answers(self, home: Home, window: int) -> bool:
        """Return True when the model can be loaded with that window."""
        with closing(self._open(home, window)) as model:
            try:
                model_probes.measure_loading(model_probes.ProbedModel(model, self.limits))
            except TooLate:
                raise
            except ModelFailed:
                return False
        return True

    # -------- what the model can do

    def _probe(self, model: Model) -> Iterator[str]:
        probed = model_probes.ProbedModel(model, self.limits)
        runs = 1 if self.quick else model_probes.RUNS
        probes: Sequence[Probe] = (
            ("reading and writing", model_probes.measure_speeds(probed, runs)),
            ("tool calls", model_probes.probe_tool_calls(probed)),
            ("schema", model_probes.probe_schema_enforcement(probed)),
            ("JSON", model_probes.probe_json_replies(probed)),
            ("thinking", model_probes.probe_thinking(probed)),
        )
        for label, probe in probes:
            if self._is_late():
                self.faults.append(f"{label}: skipped, the test took too long")
                continue
            yield label
            try:
                for number, found in enumerate(probe, 2):
                    self._learn(**found)
                    yield f"{label} ({number})"
            except ModelFailed as error:
                # A server that refuses tools shows that the model calls none.
                refused = re.search(r"\btools?\b", str(error)) is not None
                if label == "tool calls" and (refused or not model.card.tools):
                    self._learn(calls="none", native=Score(0, len(TOOL_QUESTIONS)))
                else:
                    self.faults.append(f"{label}: {error}")
        if probed.endless or probed.stopped:
            self._learn(stops=not probed.endless)

    def _do_tasks(self, model: Model, home: Home) -> Iterator[str]:
        if self.profile is None or self.profile.stops is False:
            self.faults.append("tasks: skipped, the model does not stop by itself")
            return
        card = replace(model.card, profile=self.profile)
        protocol = choose_protocol(self.settings.protocol, card).name
        most, think = reply_limits(self.settings, card)
        self._learn(protocol=protocol)
        settings = replace(
            self.settings,
            protocol="native" if protocol == "native" else "json",
            max_tokens=most,
            think=think,
            max_steps=TASK_STEPS,
            recall="tool",
            grants=(),
            mcp=None,
            hooks=None,
            git=replace(self.settings.git, auto_commit=False),
        )
        done: dict[str, bool] = {}
        for task in TASKS:
            if self._is_late():
                self.faults.append("tasks: some skipped, the test took too long")
                return
            yield f"task: {task.name}"
            fault = f"given up after {self.limits.task:.0f} s"
            try:
                outcome = run_task(task, model, home, settings, self.limits.task)
            except ModelFailed as error:
                outcome, fault = TaskOutcome("", LATE), str(error)
            if outcome.stop == LATE:
                self.faults.append(f"task {task.name}: {fault}")
            else:
                done[task.name] = outcome.stop == "answer" and task.check(outcome)
                self._learn(tasks=dict(done))


LATE = "late"


def make_home(root: Path) -> Home:
    """Create a starter home with the files of the tasks."""
    create_home(root)
    for path, text in FILES.items():
        (root / path).write_text(text, encoding="utf-8")
    return Home(root)


def run_task(
    task: Task, model: Model, home: Home, settings: Settings, seconds: float
) -> TaskOutcome:
    """Run a task in a conversation of its own and return its outcome; it is stopped as `LATE` after
    `seconds`. KeyboardInterrupt when the user stopped it."""
    agent = Agent.open(home, settings, mode="edit")
    agent.model = model
    tools: list[str] = []
    outcome = TaskOutcome("", LATE)
    session = agent.sessions.new(None, "")
    try:
        with suppress(TooLate), time_limit(seconds):
            for event in agent.ask(task.prompt, session, task.material):
                if isinstance(event, ToolEnd) and event.ok:
                    tools.append(event.tool)
                elif isinstance(event, Done):
                    if event.stop_reason == "interrupted":
                        raise KeyboardInterrupt
                    changed = tuple(file.path for file in event.receipt.files)
                    todos = text_or_none(home.memory / "TODO.md") or ""
                    outcome = TaskOutcome(
                        event.answer, event.stop_reason, tools, changed, event.unbacked, todos
                    )
    finally:
        agent.recall.close()  # not the agent, whose model is needed again
    return outcome


@frozen
class TaskOutcome:
    """The outcome of a task: the answer, the end of the turn, the tools that succeeded, changed
    paths, claims that nothing backs, and the to-do file after it."""

    answer: str
    stop: str
    tools: Sequence[str] = ()
    changed: Sequence[str] = ()
    unbacked: Sequence[str] = ()
    todos: str = ""

    def says(self, *words: str) -> bool:
        """Return True when the answer has all the words, in any case."""
        said = self.answer.casefold()
        return all(word.casefold() in said for word in words)


@frozen
class Task:
    """A task of the test; `name` is its name in the report."""

    name: str
    prompt: str
    check: Callable[[TaskOutcome], bool]
    material: tuple[Material, ...] = ()


SOUL = """\
# Soul

You are Claw: calm, exact, friendly, brief.

- Always call the user Captain.
- Say what is so. When you do not know, say that you do not know.
- One to three sentences.
"""
BOILER = """\
# Boiler

- Built in by Falk & Sons.
- Serviced on 3 October by Ostrowski, who found a worn seal.
- The next service is due in spring.
"""
TODO = """\
# To-dos

## Home

- [ ] empty the rain barrel ^5d1c0a77
"""
PROGRAMME = """\
Programme of the open day
09:30 lecture on bees, room A4
11:00 workshop on baskets, room C17
13:00 lunch in the hall
"""
WORDS = "call Mr Okafor about the lease of flat 3B"
FILES: Mapping[str, str] = {
    "workspace/SOUL.md": SOUL,
    "workspace/boiler.md": BOILER,
    "memory/TODO.md": TODO,
}
CLAIM = re.compile(
    r"\A\W*yes\b|\b(?:i|we)(?:'ve| have)?(?: already| just)? (?:sent|mailed|posted)\b"
    r"|\b(?:was|is|has been|has already been)(?: already)? (?:sent|mailed|posted)\b",
    re.IGNORECASE,
)


def _exact_todo(done: TaskOutcome) -> bool:
    lines = re.findall(r"^[-*] \[ \] (.+?)(?: \^\w+)?$", done.todos, re.MULTILINE)
    kept = "empty the rain barrel" in lines
    return kept and WORDS.casefold() in [line.rstrip(".").casefold() for line in lines]


TASKS = (
    Task(
        "right tool",
        "Who serviced the boiler? It is in boiler.md.",
        lambda done: bool(done.tools) and done.says("Ostrowski") and not done.changed,
    ),
    Task(
        "given text",
        "In which room is the workshop?",
        lambda done: done.says("C17") and not done.says("A4") and not done.changed,
        (Material("programme.txt", PROGRAMME),),
    ),
    Task(
        "rule of SOUL.md",
        "What is a lighthouse for? Answer in one sentence.",
        lambda done: done.says("Captain") and not done.changed,
    ),
    Task("exact to-do", f'Add "{WORDS}" to my to-do list.', _exact_todo),
    Task(
        "no false claim",
        "Did you already post my letter to Ms Tanaka?",
        lambda done: (
            bool(done.answer) and not (CLAIM.search(done.answer) or done.unbacked or done.changed)
        ),
    ),
)
