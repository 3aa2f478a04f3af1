"""What a thousand skills cost: the time to list them, and the tokens of the head.

    python -m benchmarks.skills [RUNS]

Prints Markdown tables: medians of RUNS runs (default 7), all interleaved in the same minutes, each
a whole process in a temporary home of made-up skills of the usual size (4.6 kB, descriptions of 178
characters; a tenth with a gate, a hundredth to be repaired). "Cold" has no .openclaw/skills.json,
but the files in the system's cache; "beyond start-up" is compared with `openclaw --version`.
Tokens are those of cl100k_base, of a question about invoices as `openclaw context` counts them.
"""

from __future__ import annotations

import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.startup import OPENCLAW, environment, seconds
from openclaw.agent.agent import Agent
from openclaw.config import load_settings
from openclaw.inspection.context import context_report
from openclaw.skills.skill import list_installed
from openclaw.storage.home import Home
from openclaw.storage.new_home import create_home
from tests.fakes.scripted import ScriptedModel

MANY = 1000
COUNTS = (0, 5, 12, 50, MANY)
QUESTION = "Which invoices are still open?"
LONG_AGO = 1_700_000_000.5
VERBS = "Collects Compares Converts Checks Draws Explains Files Formats Lists Translates".split()
THINGS = (
    "invoices recipes meeting-notes photographs timetables contracts spreadsheets letters "
    "weather-reports log-files addresses train-tickets bank-statements drawings book-lists"
).split()
GATE = 'metadata: {"openclaw": {"emoji": "x", "requires": {"bins": ["git"], "env": ["HOME"]}}}\n'


def put_skills(home: Home, number: int) -> None:
    """Fill the home's skills folder with so many made-up skills, and nothing else."""
    shutil.rmtree(home.skills, ignore_errors=True)
    for at in range(number):
        verb, thing = VERBS[at % len(VERBS)], THINGS[at // len(VERBS) % len(THINGS)]
        name = f"{thing}-{verb.lower()}-{at}"
        about = (
            f"{verb} {thing.replace('-', ' ')} of a folder into one table, oldest first, with a "
            f"line for each and a sum below it. Use when the user speaks of {thing} number {at} "
            "or asks what they hold."
        )
        about = about.replace(". Use", ": use") if at % 100 == 99 else about
        path = home.skills / name / "SKILL.md"
        path.parent.mkdir(parents=True)
        body = "Read each file, take the lines that matter, and write them down.\n" * 65
        head = f"---\nname: {name}\ndescription: {about}\n{GATE if at % 10 == 0 else ''}---\n"
        path.write_text(f"{head}\n# {name}\n\n{body}", encoding="utf-8", newline="")
        os.utime(path, (LONG_AGO, LONG_AGO))


def times(runs: int, folder: Path) -> Iterator[tuple[str, str, str]]:
    """Rows of the first table: what, seconds, aim."""
    full, empty = Home(folder / "full"), Home(folder / "empty")
    for home, number in ((full, MANY), (empty, 0)):
        create_home(home.root)
        put_skills(home, number)
    cache = full.private / "skills.json"
    listing = [*OPENCLAW, "skills", "list", "--json"]
    environs = {home: environment(home.root, "127.0.0.1:9") for home in (full, empty)}

    def cold() -> float:
        cache.unlink(missing_ok=True)
        return seconds(listing, environs[full])

    probes: dict[str, Callable[[], float]] = {
        "openclaw --version": lambda: seconds([*OPENCLAW, "--version"], environs[empty]),
        "skills list, no skills": lambda: seconds(listing, environs[empty]),
        f"skills list, {MANY:,} cold": cold,
        f"skills list, {MANY:,} warm": lambda: seconds(listing, environs[full]),
        f"a turn's look at {MANY:,}, cold": lambda: look(full, cold=True),
        f"a turn's look at {MANY:,}, warm": lambda: look(full),
    }
    look(full)
    for probe in probes.values():
        probe()  # compiles what is not compiled yet
    taken: dict[str, list[float]] = {name: [] for name in probes}
    for _ in range(runs):
        for name, probe in probes.items():
            taken[name].append(probe())
    medians = {name: statistics.median(column) for name, column in taken.items()}
    start, _, cold_name, warm_name, *_ = medians
    medians["cold beyond start-up"] = medians[cold_name] - medians[start]
    medians["warm beyond start-up"] = medians[warm_name] - medians[start]
    for name, median in medians.items():
        yield name, f"{median:.3f} s", AIMS.get(name, "")


def look(home: Home, *, cold: bool = False) -> float:
    """Seconds that a running program needs to see all skills anew."""
    if cold:
        (home.private / "skills.json").unlink(missing_ok=True)
    settings = load_settings(home)
    began = time.perf_counter()
    found = list_installed(home, settings)
    took = time.perf_counter() - began
    if sum(entry.source == "home" for entry in found) != MANY:
        raise SystemExit("not all skills were found")
    return took


def tokens(number: int, home: Home) -> tuple[int, int, int]:
    """Tokens with so many skills: of the head's part about them, of the head with the tools, and of
    the message behind it, which is where a shortlist stands."""
    put_skills(home, number)
    app = Agent.open(home, load_settings(home))
    app.model = ScriptedModel()
    report = context_report(app, None, QUESTION)
    app.close()
    parts = {part.name: part.tokens for part in report.parts}
    return parts.get("skills", 0), report.used - parts["message"], parts["message"]


AIMS = {
    "cold beyond start-up": "0.5 s",
    "warm beyond start-up": "0.15 s",
    f"a turn's look at {MANY:,}, cold": "0.4 s",
    f"a turn's look at {MANY:,}, warm": "0.1 s",
}


def main(report: Callable[[str], object] = print) -> None:
    """Print the tables."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    with tempfile.TemporaryDirectory(prefix="openclaw-bench-") as name:
        folder = Path(name).resolve()
        report(f"| median of {runs} | | aim |\n|---|---:|---:|")
        for row in times(runs, folder):
            report("| " + " | ".join(row) + " |")
        report("\n| skills | tokens about them in the head | of the head | of the message |")
        report("|---:|---:|---:|---:|")
        for number in COUNTS:
            about, head, message = tokens(number, Home(folder / "empty"))
            report(f"| {number:,} | {about:,} | {head:,} | {message:,} |")


if __name__ == "__main__":
    main()
