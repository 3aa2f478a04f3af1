"""Run the tasks with a real model and tell which succeeded.

python -m tests.model.run_tasks [--model NAME] [--only NAME,KIND] [--least N] [--verbose]
                                [--protocol NAME] [--fresh]
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from openclaw.agent.agent import Agent
from openclaw.config import Settings, load_settings
from openclaw.errors import OpenclawError
from openclaw.events import Done, ToolStart
from openclaw.messages import Entry
from openclaw.models.base import Model
from openclaw.models.registry import open_one
from openclaw.security.grants import Grant
from openclaw.storage.home import Home
from openclaw.storage.new_home import create_home
from tests.fakes.files import write_files
from tests.fakes.web_server import FakeSite, Said
from tests.model.fresh_tasks import FRESH, SEEN
from tests.model.tasks import TASKS, Result, Task


@dataclass(frozen=True)
class Outcome:
    """What came of a task: the last answer, wall-clock seconds, the talk's steps as text lines."""

    task: Task
    passed: bool
    answer: str
    seconds: float
    steps: list[str]


def run_task(task: Task, model: Model, settings: Settings | None = None) -> Outcome:
    """Do the task in a fresh home with this model; its settings are the home's own by default."""
    with tempfile.TemporaryDirectory(prefix="openclaw-task-", ignore_cleanup_errors=True) as folder:
        home = Home(Path(folder).resolve())
        create_home(home.root)
        write_files(home.root, task.files)
        with _site(task) as site:
            app = _opened(task, home, settings or load_settings(home), site)
            app.model = model
            return _talk(task, app, site)


@contextmanager
def _site(task: Task) -> Iterator[str]:
    """The address of a server with the task's pages, "" when it has none."""
    if not task.pages:
        yield ""
        return
    kinds = {".html": "text/html; charset=utf-8"}
    pages = {
        path: Said(text.encode(), kinds.get(Path(path).suffix, "text/plain; charset=utf-8"))
        for path, text in task.pages.items()
    }
    with FakeSite(pages) as site:
        yield site.url("").rstrip("/")


def _opened(task: Task, home: Home, settings: Settings, site: str) -> Agent:
    if site:
        host = site.partition("://")[2]
        settings = replace(settings, web=replace(settings.web, allow_hosts=(host,)))
    app = Agent.open(home, settings, mode="edit", ask=(lambda _: "once") if task.yes else None)
    if site:
        app.grant(Grant("host", site.partition("://")[2].partition(":")[0]), lasting=False)
    return app


def _talk(task: Task, app: Agent, site: str) -> Outcome:
    session = app.sessions.new(None, "")
    answer, tools, changed = "", [], []
    began = time.monotonic()
    for number, prompt in enumerate(task.prompts):
        text = prompt.replace("{site}", site)
        if number and task.new_sessions:
            session = app.sessions.new(None, "")
        try:
            for event in app.ask(text, session):
                if isinstance(event, ToolStart):
                    tools.append(event.tool)
                elif isinstance(event, Done):
                    answer = event.answer
                    changed += [file.path for file in event.receipt.files]
        except OpenclawError as error:
            answer = f"error: {error}"
    seconds = time.monotonic() - began
    app.recall.close()
    result = Result(answer, app.home.root, tuple(tools), tuple(dict.fromkeys(changed)))
    steps = [line for entry in session.messages for line in _lines(entry)]
    steps.append(f"changed: {', '.join(result.changed) or 'nothing'}")
    return Outcome(task, task.check(result), answer, seconds, steps)


def _lines(entry: Entry) -> list[str]:
    lines = [f"{entry.role}: {entry.raw or entry.content}"]
    for use in entry.tool_calls:
        arguments = json.dumps(dict(use.input), ensure_ascii=False)
        lines.append(f"  {use.tool} {arguments} -> {use.output[:160]!r}")
    return [*lines, f"  hint: {entry.hint!r}"] if entry.hint else lines


def run_tasks(
    tasks: Iterable[Task], model: Model, settings: Settings | None = None, *, verbose: bool = False
) -> list[Outcome]:
    """Do the tasks one after the other and print a line for each, its steps when it failed."""
    outcomes = []
    for task in tasks:
        outcome = run_task(task, model, settings)
        outcomes.append(outcome)
        mark, shown = "ok  " if outcome.passed else "FAIL", outcome.answer.replace("\n", " ")[:90]
        print(f"{mark} {task.name:16} {outcome.seconds:5.1f} s  {shown}", flush=True)
        if verbose or not outcome.passed:
            print("\n".join(f"       {line}" for line in outcome.steps), flush=True)
    return outcomes


def share(outcomes: Sequence[Outcome]) -> float:
    """The part that passed, 0.0 to 1.0."""
    return sum(outcome.passed for outcome in outcomes) / max(len(outcomes), 1)


def report(outcomes: Sequence[Outcome]) -> None:
    """Print a Markdown table: passed tasks and mean seconds by kind, and all together."""
    kinds: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        kinds.setdefault(outcome.task.kind, []).append(outcome)
    print("\n| kind | passed | of | seconds a task |\n|---|---:|---:|---:|")
    for kind, some in (*kinds.items(), ("all", list(outcomes))):
        passed = sum(outcome.passed for outcome in some)
        mean = sum(outcome.seconds for outcome in some) / max(len(some), 1)
        print(f"| {kind} | {passed} | {len(some)} | {mean:.1f} |")
    print(f"\n{share(outcomes):.0%} of the tasks succeeded", flush=True)


def main() -> int:
    words = argparse.ArgumentParser(description="Run the tasks with a real model.")
    words.add_argument("--model", default="auto")
    words.add_argument("--only", default="", help="names or kinds, comma separated")
    words.add_argument("--fresh", action="store_true", help="requests in fresh wording")
    words.add_argument("--least", type=int, default=0, help="fail when fewer succeed")
    words.add_argument("--verbose", action="store_true", help="print the steps of every task")
    words.add_argument("--protocol", default="auto", choices=["auto", "native", "json"])
    said = words.parse_args()
    settings = Settings(protocol=said.protocol)
    states = Path(tempfile.gettempdir()) / "openclaw-kv"
    model = open_one(said.model, settings, kv_folder=states)
    wanted = set(said.only.split(",")) - {""}
    known = (*SEEN, *FRESH) if said.fresh else TASKS
    tasks = [task for task in known if not wanted or wanted & {task.name, task.kind}]
    try:
        outcomes = run_tasks(tasks, model, settings, verbose=said.verbose)
    finally:
        model.close()
    report(outcomes)
    return int(sum(outcome.passed for outcome in outcomes) < said.least)


if __name__ == "__main__":
    sys.exit(main())
