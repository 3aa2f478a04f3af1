"""What asking the policy costs: time per decision, and what the sandbox adds to a command.

    python -m benchmarks.policy [RUNS]

Prints Markdown tables: medians of RUNS runs (default 7). A decision is from the checked arguments
of a call to the verdict: the rules, the grants. Beside it stands the least that a policy can be: as
many globs as there are grants, of which the first that fits the words of the call decides. Aims: at
most 1 ms a decision, at most 20 ms a command.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from itertools import cycle
from pathlib import Path
from typing import get_args

from openclaw.security.grants import Grant, make_grant
from openclaw.security.policy import Policy
from openclaw.storage.home import Home
from openclaw.storage.new_home import create_home
from openclaw.tools.shell.sandbox import SandboxOptions, placeholders, why_unavailable, wrap
from openclaw.tools.shell.shell import ProgramCall, Runner
from openclaw.types import Action, Effect, Mode, TurnChanges

DECISIONS = 2_000
COMMANDS = 20
GRANTS = (0, 20, 200)
TARGETS = (
    "workspace/notes.md", "workspace/SOUL.md", "memory/2026-11-21.md", "skills/tidy/SKILL.md",
    "/srv/data/table.csv", "docs.python.org", "git log --oneline -20", "",
)  # fmt: skip


def grants(number: int) -> list[Grant]:
    """So many grants of all kinds, none of which fits, so that each is looked at."""
    kinds = {"command": "make x{}", "prefix": "npm x{}", "host": "hx{}.example", "tool": "s__x{}"}
    every = zip(range(number), cycle(kinds.items()), strict=False)
    return [make_grant(kind, value.format(at), "2026-11-21") for at, (kind, value) in every]


def actions() -> list[Action]:
    """Every effect on every kind of target."""
    effects: tuple[Effect, ...] = get_args(Effect)
    return [Action("it", effect, target) for effect in effects for target in TARGETS]


def per_second(decide: Callable[[], object], count: int) -> float:
    """How often that can be done in a second of wall-clock time."""
    began = time.perf_counter()
    for _ in range(count):
        decide()
    return count / (time.perf_counter() - began)


def decisions(number: int, count: int) -> tuple[float, float]:
    """Decisions a second with so many grants, over all modes, tainted and not; those of globs."""
    modes: tuple[Mode, ...] = get_args(Mode)
    policies = [Policy(mode, grants=grants(number)) for mode in modes]
    given = [(p, a, t) for p in policies for a in actions() for t in (False, True)]
    case = cycle(given)
    globs = [f"{grant.kind} {grant.value}*" for grant in policies[0].grants]

    def decide() -> object:
        policy, action, tainted = next(case)
        return policy.decide(action, tainted=tainted)

    def match() -> object:
        _, action, _ = next(case)
        call = f"{action.effect} {action.target}"
        return next((glob for glob in globs if fnmatchcase(call, glob)), None)

    for _ in range(50):
        decide()
        match()
    return per_second(decide, count), per_second(match, count)


def decision_table(runs: int, count: int = DECISIONS) -> str:
    rows = ["| grants | decisions a second | ms each | globs, ms each |", "|---|---|---|---|"]
    for number in GRANTS:
        pairs = [decisions(number, count) for _ in range(runs)]
        rate, globs = map(statistics.median, zip(*pairs, strict=True))
        rows.append(f"| {number} | {rate:,.0f} | {1000 / rate:.3f} | {1000 / globs:.3f} |")
    return "\n".join(rows)


# -------- the sandbox


def milliseconds(run: Callable[[], object], count: int) -> float:
    """Median wall-clock time of a command, from start to end."""
    times = []
    for _ in range(count):
        began = time.perf_counter()
        run()
        times.append(1000 * (time.perf_counter() - began))
    return statistics.median(times)


def program(argv: Sequence[str]) -> Callable[[], object]:
    """A program on its own, started as cheaply as Python can."""
    return lambda: subprocess.run(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=True
    )


def sandbox_table(runs: int, count: int = COMMANDS) -> str:
    """What the sandbox adds to `true`, alone and as the tool runs it: with limits, its output
    collected, the home looked over before and after. A line that says so where there is none."""
    if missing := why_unavailable():
        return f"No sandbox here: {missing}"
    command = ("sh", "-c", "true")
    with tempfile.TemporaryDirectory() as folder:
        home = Home(Path(folder).resolve() / "home")
        create_home(home.root)
        room = SandboxOptions(home)
        with placeholders(room):
            inside = wrap(command, room)
            cases = {
                "bubblewrap": (program(command), program(inside)),
                "the tool, trying": (
                    tool(home, command, bare=True),
                    tool(home, command, tried=True),
                ),
                "the tool": tuple(tool(home, command, bare=bare) for bare in (True, False)),
            }
            rows = [
                "| what | bare, ms | in the sandbox, ms | added, ms |",
                "|---|---|---|---|",
            ]
            for name, (bare, confined) in cases.items():
                pairs = [
                    (milliseconds(bare, count), milliseconds(confined, count)) for _ in range(runs)
                ]
                one, two = (statistics.median(column) for column in zip(*pairs, strict=True))
                rows.append(f"| {name} | {one:.1f} | {two:.1f} | {two - one:.1f} |")
    return "\n".join(rows)


def tool(
    home: Home, argv: tuple[str, ...], *, bare: bool = False, tried: bool = False
) -> Callable[[], object]:
    """A program as `run_shell` runs it, or tries it; `bare` as where there is no sandbox."""
    runner = Runner(
        home, TurnChanges(), unconfined=(lambda: "not wanted") if bare else why_unavailable
    )
    order = ProgramCall(argv, "true")
    return lambda: runner.try_out(order) if tried else runner.run(order)


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    print(f"{decision_table(runs)}\n\n{sandbox_table(runs)}")


if __name__ == "__main__":
    main()
