"""How well `openclaw memory lint` finds what is wrong in a memory of 2,000 entries.

    python -m benchmarks.lint [SEED...]

Prints Markdown tables. Each seed (default 1 to 6) is another made-up memory with 44 planted faults
among some hundred lines that only look like faults (`benchmarks.lint_data`). A report of another
line or by another check is a false alarm, whatever its level. Seeds 4 to 6 have their faults and
near misses in words that the checks were not written with. Beside it a reference: exact duplicates
and a line of grep for each kind of fault. Seconds: within a process that has everything imported,
and the whole command. Aims: 40 found, 5 false alarms, 2 s.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.lint_data import make
from benchmarks.lint_faults import PLANTED, Plant
from benchmarks.startup import OPENCLAW, environment
from openclaw.maintenance.memory_lint import lint_home
from openclaw.storage.home import Home
from openclaw.storage.new_home import create_home

SEEDS = (1, 2, 3, 4, 5, 6)
RUNS = 3
Report = tuple[str, str, int]
"""Check, path and line from 1."""
GREP = {
    "secret": r"(?i)\b(?:token|password|api_key|secret|bearer)\b.{0,4}[:= ]\S{8,}|ghp_|sk-",
    "hidden": "[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]",
    "order": r"(?i)ignore (?:all )?previous|system prompt|you are now",
    "relative-date": r"(?i)\b(?:tomorrow|today|yesterday|next week|next month|last week)\b",
}
LINK = re.compile(r"\]\(([\w./-]+\.\w+)")
TOO_LONG = 500


@dataclass(frozen=True, slots=True)
class Score:
    found: int
    false: int
    missed: Sequence[str]
    wrong: Sequence[str]


def judged(root: Path, reports: Iterable[Report], planted: Sequence[Plant]) -> Score:
    """How many of the planted faults are reported, and how many reports are of none of them."""
    lines: dict[str, list[str]] = {}
    hit: set[int] = set()
    wrong = []
    for check, path, line in reports:
        if path not in lines:
            lines[path] = (root / path).read_text(encoding="utf-8").split("\n")
        text = lines[path][line - 1]
        place = (path, text)
        of = [n for n, p in enumerate(planted) if check == p.check and place in p.lines]
        hit.update(of)
        wrong += [] if of else [f"{check} {path}:{line} {text}"]
    missed = [f"{p.check} {p.lines[0][1]}" for n, p in enumerate(planted) if n not in hit]
    return Score(len(hit), len(wrong), missed, wrong)


def grepped(root: Path) -> list[Report]:
    """What exact comparison and one pattern a kind of fault report."""
    files = sorted((root / "memory").rglob("*.md"))
    texts = {file: file.read_text(encoding="utf-8").split("\n") for file in files}
    bare = {
        (file, at): re.sub(r"\s*<!--.*?-->", "", line)
        for file, lines in texts.items()
        for at, line in enumerate(lines, 1)
    }
    counts = Counter(text for text in bare.values() if text.startswith("- "))
    found: list[Report] = []
    for (file, at), text in bare.items():
        path = file.relative_to(root).as_posix()
        kinds = [kind for kind, pattern in GREP.items() if re.search(pattern, text)]
        kinds += ["duplicate"] * (counts[text] > 1) + ["too-long"] * (len(text) > TOO_LONG)
        dead = [to for to in LINK.findall(text) if not (file.parent / to).exists()]
        found += [(kind, path, at) for kind in (*kinds, *(["dead-link"] if dead else []))]
    return found


def command_seconds(home: Home) -> float:
    """How long `openclaw memory lint` takes. It leaves with 1, as there are faults."""
    began = time.perf_counter()
    done = subprocess.run(
        [*OPENCLAW, "--home", str(home.root), "memory", "lint", "--json"],
        env=environment(home.root, "127.0.0.1:9"),
        capture_output=True,
        check=False,
    )
    if done.returncode != 1:
        raise SystemExit(done.stderr.decode())
    return time.perf_counter() - began


def main(seeds: Sequence[int]) -> None:
    print("| seed | words | entries | found | false alarms | s | command, s | grep found | false |")
    print("|---|---|---|---|---|---|---|---|---|")
    notes = []
    for seed in seeds:
        with tempfile.TemporaryDirectory() as folder:
            home = Home(Path(folder).resolve() / "home")
            create_home(home.root)
            entries, planted = make(home.root, seed)
            times = []
            for _ in range(RUNS):
                start = time.perf_counter()
                findings = lint_home(home).findings
                times.append(time.perf_counter() - start)
            score = judged(home.root, [(f.check, f.path, f.line) for f in findings], planted)
            grep = judged(home.root, grepped(home.root), planted)
            whole = min(command_seconds(home) for _ in range(RUNS))
        words = "tuned" if seed <= 3 else "held out"
        print(
            f"| {seed} | {words} | {entries} | {score.found} of {PLANTED} | {score.false}"
            f" | {min(times):.2f} | {whole:.2f} | {grep.found} | {grep.false} |",
            flush=True,
        )
        notes += [f"seed {seed} missed: {line[:110]}" for line in score.missed]
        notes += [f"seed {seed} false: {line[:110]}" for line in score.wrong]
    print()
    for note in notes:
        print(f"- {note}")


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or SEEDS)
