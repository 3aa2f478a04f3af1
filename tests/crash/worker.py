"""Plays runs that the harness sends, one JSON object a line, and answers in kind.

A process of its own, with the library of tests/crash/faults.py loaded and a disk of its own where
there is one. It has no thread, so that it may fork.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.crash import checks, faults
from tests.crash.naive import NAIVE, play_naively
from tests.crash.process import Death, Told, adopt_orphans, forked
from tests.crash.run import Commands, Scenario, Seen, enter, load_all, play, play_apart, read_told
from tests.crash.stores import STORES
from tests.crash.turns import TURNS, undo_states

SCENARIOS = {scenario.name: scenario for scenario in (*STORES, *TURNS, NAIVE)}
SECOND_DEATH = 0.2  # share of the runs whose next start is killed as well
DISK_BYTES = 60_000_000


@dataclass(frozen=True, slots=True)
class Measure:
    """Of a run that nothing befalls: seconds, changes of files, lines told."""

    seconds: float
    changes: int
    lines: int


@dataclass(slots=True)
class Worker:
    """`top` is its own folder; `disk` says whether it may mount one."""

    top: Path
    settings: str
    disk: bool
    _measures: dict[str, Measure] = field(default_factory=dict)

    @property
    def counter(self) -> Path:
        return self.top / "counter"

    def run(self, task: Mapping[str, Any]) -> dict[str, Any]:
        """One run; what there is to complain of."""
        scenario = SCENARIOS[task["scenario"]]
        measure = self._measure(scenario)
        chance = random.Random(f"{task['seed']}/{task['scenario']}/{task['kind']}/{task['number']}")
        commands = scenario.commands(chance)
        home = self._home(scenario, commands)
        kill = self._kill if task["kind"] == "kill" else self._fail
        try:
            told, what = kill(scenario, commands, home, measure, chance)
            if task["kind"] == "kill" and chance.random() < SECOND_DEATH and scenario != NAIVE:
                what += self._kill_next(home, chance)
            seen = Seen(home, read_told(commands, told.lines))
            found = self._judge(scenario, seen)
        finally:
            self._put_away()
        found["unclear"] = (
            checks.unclear(told) if task["kind"] == "error" and scenario != NAIVE else []
        )
        if told.hung:
            found["repairs"].append("it hung")
        found["told"] = sum(map(checks.is_promise, told.lines))
        return {**task, "what": what, "hit": told.killed or bool(told.code), **found}

    # -------- homes

    def _base(self, scenario: Scenario) -> Path:
        base = self.top / "base" / scenario.name
        if base.exists():
            return base
        home = self.top / "home"
        shutil.rmtree(home, ignore_errors=True)

        def job() -> int:
            from openclaw.storage.new_home import create_home

            enter(home)
            create_home(home)
            if scenario.git and scenario != NAIVE:
                from tests.crash.run import main

                assert main(("init", str(home))) == 0
            shutil.rmtree(home / ".git" / "hooks", ignore_errors=True)
            if not scenario.git:
                shutil.rmtree(home / ".git", ignore_errors=True)
            (home / "openclaw.yaml").write_text(self.settings, "utf-8")
            scenario.prepare(home)
            return 0

        told = forked(job)
        if told.code:
            raise RuntimeError(f"no home for {scenario.name}: {told.err.decode()}")
        base.parent.mkdir(exist_ok=True)
        home.rename(base)
        return base

    def _home(self, scenario: Scenario, commands: Commands, where: str = "home") -> Path:
        """A fresh home; beside it, for what undo must lead to, the states of its files."""
        from openclaw.storage.home import Home
        from openclaw.storage.trust_store import trust_home

        home = self.top / where
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(self._base(scenario), home, symlinks=True)
        trust_home(Home(home), keep_id=True)  # the last base made here is trusted, with its own id
        if scenario.name == "undo":
            states = self.top / "states.json"

            def job() -> int:
                enter(home)
                states.write_text(json.dumps(undo_states(commands, home)), "utf-8")
                return 0

            told = forked(job)
            if told.code:
                raise RuntimeError(f"undo without a fault failed: {told.err.decode()}")
            shutil.rmtree(home)
            shutil.copytree(self._base(scenario), home, symlinks=True)
        return home

    def _put_away(self) -> None:
        if (self.top / "disk").exists():
            faults.unmount(self.top / "disk")
            (self.top / "disk").rmdir()

    def _measure(self, scenario: Scenario) -> Measure:
        if scenario.name not in self._measures:
            commands = scenario.commands(random.Random(1))
            home = self._home(scenario, commands)
            fault = faults.Fault(home, self.counter)
            told = forked(self._job(scenario, commands, home, fault))
            failed = [ran for ran in read_told(commands, told.lines) if ran.code not in (0, None)]
            if told.code or failed or b'"ok": false' in told.out:
                raise RuntimeError(f"{scenario.name} fails by itself: {failed} {told.err.decode()}")
            self._measures[scenario.name] = Measure(
                told.seconds, fault.counted(), told.out.count(b"\n")
            )
        return self._measures[scenario.name]

    # -------- what befalls a run

    def _job(
        self,
        scenario: Scenario,
        commands: Commands,
        home: Path,
        fault: faults.Fault | None = None,
        before: Callable[[], None] = lambda: None,
    ) -> Callable[[], int]:
        def job() -> int:
            enter(home)
            before()
            if fault:
                fault.arm()
            if scenario == NAIVE:
                return play_naively(home, commands)
            return play_apart(commands) if scenario.start else play(commands, stops=scenario.stops)

        return job

    def _kill(
        self,
        scenario: Scenario,
        commands: Commands,
        home: Path,
        measure: Measure,
        chance: random.Random,
    ) -> tuple[Told, str]:
        group = scenario.start or chance.random() < 0.5
        how = chance.random()
        can_count = measure.changes and not (scenario.start and faults.LIBRARY not in os.environ)
        if how < 0.45 and can_count:
            at = chance.randint(1, measure.changes)
            fault = faults.Fault(home, self.counter, "killgroup" if group else "kill", at)
            told = forked(self._job(scenario, commands, home, fault))
            return told, f"at change {at} of {measure.changes}"
        if how < 0.8:
            death = Death(seconds=chance.uniform(0, measure.seconds), group=group)
            what = f"after {death.seconds:.3f} of {measure.seconds:.3f} s"
        else:
            death = Death(line=chance.randint(1, measure.lines), group=group)
            what = f"after line {death.line} of {measure.lines}"
        return forked(self._job(scenario, commands, home), death), what

    def _kill_next(self, home: Path, chance: random.Random) -> str:
        at = chance.randint(1, 60)
        fault = faults.Fault(home, self.counter, "killgroup", at)

        def job() -> int:
            enter(home)
            fault.arm()
            checks.next_start(home)
            return 0

        return f", the next start at change {at}" if forked(job).killed else ""

    def _fail(
        self,
        scenario: Scenario,
        commands: Commands,
        home: Path,
        measure: Measure,
        chance: random.Random,
    ) -> tuple[Told, str]:
        means = chance.choice(("full", "full", "broken", "broken", "read-only", "size", "disk"))
        at = chance.randint(1, max(measure.changes, 1))
        if means == "size":
            most = chance.randrange(100, 20_000)
            job = self._job(scenario, commands, home, None, lambda: faults.limit_files(most))
            return forked(job), f"no file beyond {most} bytes"
        if means == "disk" and self.disk:
            return self._fill(scenario, commands, home, chance)
        means = "full" if means == "disk" else means
        last = at if means == "broken" else faults.FOREVER
        code = faults.ERRORS[means]
        fault = faults.Fault(home, self.counter, "fail", at, last, code)
        told = forked(self._job(scenario, commands, home, fault))
        return told, f"{means} from change {at} of {measure.changes}"

    def _fill(
        self, scenario: Scenario, commands: Commands, home: Path, chance: random.Random
    ) -> tuple[Told, str]:
        """The home on a small disk, with little room left on it."""
        disk = self.top / "disk"
        faults.mount(disk, DISK_BYTES)
        aside = self.top / "aside"
        home.rename(aside)
        shutil.copytree(aside, disk / "home", symlinks=True)
        shutil.rmtree(aside)
        home.symlink_to(disk / "home")
        room = chance.randrange(4096, 150_000)
        space = os.statvfs(disk)
        used = (space.f_blocks - space.f_bfree) * space.f_frsize
        faults.remount(disk, f"size={used + room}")
        told = forked(self._job(scenario, commands, disk / "home"))
        faults.remount(disk, f"size={DISK_BYTES}")
        home.unlink()
        shutil.copytree(disk / "home", home, symlinks=True)
        return told, f"a disk with {room} bytes left"

    # -------- afterwards

    def _judge(self, scenario: Scenario, seen: Seen) -> dict[str, Any]:
        answer = self.top / "answer.json"
        answer.unlink(missing_ok=True)

        def job() -> int:
            enter(seen.home)
            troubles = [] if scenario == NAIVE else checks.next_start(seen.home)
            found = (
                {"lost": list(scenario.lost(seen)), "unloadable": [], "repairs": []}
                if scenario == NAIVE
                else checks.report(seen, scenario, troubles)
            )
            answer.write_text(json.dumps(found), "utf-8")
            return 0

        told = forked(job)
        if told.code:
            return {"lost": [], "unloadable": [], "repairs": [f"the next start: {told.err!r}"]}
        found: dict[str, Any] = json.loads(answer.read_text("utf-8"))
        return found


def serve(top: Path, settings: str, disk: bool) -> None:
    adopt_orphans()
    load_all()
    worker = Worker(top, settings, disk)
    for line in sys.stdin:
        sys.stdout.write(json.dumps(worker.run(json.loads(line))) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve(Path(sys.argv[1]), sys.argv[2], sys.argv[3] == "disk")
