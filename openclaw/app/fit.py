"""Tests how a model fits this machine and this program, and keeps what is found as a profile."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from openclaw.agent.parse import read_step
from openclaw.agent.protocols import choose_protocol
from openclaw.app.bounds import bounds
from openclaw.app.fit_run import LATE, make_home, outcome_of
from openclaw.app.fit_tasks import TASKS
from openclaw.app.opening import open_model
from openclaw.config import Settings
from openclaw.errors import ModelFailed
from openclaw.files.home import Home
from openclaw.models import fit
from openclaw.models.base import Model
from openclaw.models.bounded import TooLate, card_of
from openclaw.models.fit_questions import JSON_QUESTIONS, TOOL_QUESTIONS
from openclaw.models.memory_need import Need, file_need, free_memory, lacks_memory
from openclaw.models.naming import split_name
from openclaw.models.place import place_of
from openclaw.models.profile import Profile, Score, write_profile
from openclaw.models.tested import LEAST_WINDOW, key_of
from openclaw.shapes import ToolCall

TASK_STEPS = 6
VERIFIED_BYTES = 8_000_000_000
"""What a model may take to be loaded with its largest window, only to see whether that goes."""
Probe = tuple[str, Iterator[fit.Found]]


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds: for the first reply, which may have to load; for any other; after which a probe asks
    nothing more, a task is given up, and nothing further is begun."""

    load: float = fit.LOAD_SECONDS
    reply: float = fit.MOST_SECONDS
    probe: float = fit.PROBE_SECONDS
    task: float = 40.0
    test: float = 150.0


@dataclass(slots=True)
class Fit:
    """One test of a model. `profile` is what is known so far, None before the model was reached;
    `faults` are probes that could not be made, a line each. `quick` leaves the tasks out."""

    name: str
    settings: Settings
    quick: bool = False
    limits: Limits = Limits()
    profile: Profile | None = None
    faults: list[str] = field(default_factory=list)
    _began: float = field(default_factory=time.monotonic)
    _is_shrunk: bool = False

    def run(self) -> Iterator[str]:
        """Test; yields what is being done, before it is done. Raises what the model raises when it
        cannot be reached or loaded; whatever else goes wrong is a fault."""
        self._began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="openclaw-fit-", ignore_cleanup_errors=True) as top:
            home = make_home(Path(top).resolve())
            yield "loading"
            need, free = self._need(), free_memory()
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
        """Whether every question was answered, in time."""
        p = self.profile
        wanted = (len(TOOL_QUESTIONS), len(JSON_QUESTIONS), len(TASKS))
        return p is not None and wanted == (p.native.of, p.json_forced.of, len(p.tasks))

    def save(self, folder: Path) -> None:
        """Keep what was found; nothing when nothing was. OSError as it comes."""
        if self.profile is not None:
            write_profile(folder, self.profile)

    def _learn(self, **found: Any) -> None:
        if self.profile is not None:
            seconds = round(time.monotonic() - self._began, 1)
            self.profile = replace(self.profile, **found, seconds=seconds)

    # -------- loading and memory

    def _need(self) -> Need | None:
        provider, rest = split_name(self.name)
        if provider != "embedded":
            return None
        from openclaw.models.offers import gguf_path

        return file_need(gguf_path(rest))

    def _listener(self, model: Model) -> fit.Listener:
        return fit.Listener(model, self.limits.reply, self.limits.probe, self.limits.load)

    def _open(self, home: Home, window: int) -> Model:
        embedded = replace(self.settings.embedded, kv_cache_mb=0)
        settings = replace(self.settings, fallbacks=(), window=window, embedded=embedded)
        return open_model(self.name, settings, home, as_tested=False)

    def _loaded(self, home: Home, need: Need | None, free: int | None) -> tuple[Model, int]:
        """The loaded model and its window: the one of the settings, or a smaller one when the
        memory is too small for that. What fails for another reason is tried once more."""
        wish = self.settings.window
        most = need.fits(free) if need and free else wish
        first = min(wish, max(most, LEAST_WINDOW))
        tries = [first, *(w for w in (first // 2, LEAST_WINDOW) if LEAST_WINDOW <= w < first)]
        is_second = False
        while True:
            try:
                model = self._load(home, tries[0])
            except TooLate:
                raise
            except ModelFailed as error:
                if not is_second and not lacks_memory(error):
                    is_second = True
                    continue
                # llama.cpp does not say what it fails for: the smaller windows tell
                if len(tries) == 1 or not (need or lacks_memory(error)):
                    raise
                del tries[0]
            else:
                self._is_shrunk = tries[0] < first
                return model, model.card.window

    def _load(self, home: Home, window: int) -> Model:
        """The model, which has answered once. Raises what it raises, and TooLate."""
        model = self._open(home, window)
        try:
            card = card_of(model, time.monotonic() + self.limits.reply)
            found = list(fit.loading(self._listener(model)))
        except BaseException:
            model.close()
            raise
        at = datetime.now().astimezone().isoformat(timespec="seconds")
        self.profile = Profile(key_of(card.name), card.digest, at, place_of(card.server))
        for each in found:
            self._learn(**each)
        return model

    def _measure_memory(self, need: Need | None, free: int | None, window: int) -> None:
        if need is not None:
            self._learn(token_bytes=need.token, model_bytes=need.model)
            if free is not None:
                self._learn(window_fits=need.fits(free), window_by="computed", free_bytes=free)
        elif self.name.startswith("ollama/"):
            self._ask_ollama(window)
        if self._is_shrunk:  # what was seen counts more than what was computed or told
            self._learn(window_fits=window, window_by="measured")

    def _ask_ollama(self, window: int) -> None:
        from openclaw.models.ollama_memory import held, window_of

        if known := held(split_name(self.name)[1], self.settings.ollama.host):
            fits, by = window_of(known, window)
            told = known.need
            self._learn(
                window_fits=fits,
                window_by=by,
                token_bytes=told.token if told else None,
                model_bytes=told.model if told else known.size,
            )

    def _verify(self, home: Home, tested: int, need: Need) -> None:
        """Load once more with the largest window, unless that was the one tested with, or it would
        take long."""
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
        """Whether the model can be loaded with that window."""
        with closing(self._open(home, window)) as model:
            try:
                self._listener(model).ask(fit.asked("Say yes.", 2), patient=True)
            except TooLate:
                raise
            except ModelFailed:
                return False
        return True

    # -------- what the model can do

    def _probe(self, model: Model) -> Iterator[str]:
        heard = self._listener(model)
        runs = 1 if self.quick else fit.RUNS
        probes: Sequence[Probe] = (
            ("reading and writing", fit.speeds(heard, runs)),
            ("tool calls", fit.tool_calls(heard, _calls)),
            ("schema", fit.holding(heard)),
            ("JSON", fit.json_replies(heard)),
            ("thinking", fit.thinking(heard)),
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
                self._failed(label, error, model)
        if heard.endless or heard.stopped:
            self._learn(stops=not heard.endless)

    def _failed(self, label: str, error: ModelFailed, model: Model) -> None:
        """A server that refuses tools has answered the question whether the model calls them."""
        refused = re.search(r"\btools?\b", str(error)) is not None
        if label == "tool calls" and (refused or not model.card.tools):
            self._learn(calls="none", native=Score(0, len(TOOL_QUESTIONS)))
        else:
            self.faults.append(f"{label}: {error}")

    def _do_tasks(self, model: Model, home: Home) -> Iterator[str]:
        if self.profile is None or self.profile.stops is False:
            self.faults.append("tasks: skipped, the model does not stop by itself")
            return
        card = replace(model.card, profile=self.profile)
        protocol = choose_protocol(self.settings.protocol, card).name
        most, think = bounds(self.settings, card)
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
            try:
                outcome = outcome_of(task, model, home, settings, self.limits.task)
            except ModelFailed as error:
                self.faults.append(f"task {task.name}: {error}")
                continue
            if outcome.stop == LATE:
                self.faults.append(f"task {task.name}: given up after {self.limits.task:.0f} s")
                continue
            done[task.name] = outcome.stop == "answer" and task.check(outcome)
            self._learn(tasks=dict(done))


def _calls(text: str, tools: Mapping[str, Sequence[str]]) -> Sequence[ToolCall]:
    return read_step(text, tools).calls
