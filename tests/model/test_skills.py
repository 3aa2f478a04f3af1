"""A skill with an odd instruction: picked among few and many, and followed, by the 1.5B model."""

from __future__ import annotations

import re
from itertools import product
from pathlib import Path

import pytest

from openclaw.config import Settings
from openclaw.models import catalog
from openclaw.models.registry import open_one
from tests.model.run_tasks import report, run_tasks
from tests.model.tasks import Result, Task

pytestmark = pytest.mark.model

MODEL = "qwen2.5-coder-1.5b-instruct"
SHIPPED = 6
ODD = """\
---
name: boat-log
description: Logs a boat, ship or yacht in the harbour book. Use when one has arrived, moored or \
docked at a pier and is to be put on record.
---

# Boat log

1. Append one line to `workspace/harbour.txt`:

       ~~ <name of the boat> // <number of the pier> !!

2. Tell the user that it is logged.
"""
TRIGGERS = """\
should:
  - Log the boat, it is at the pier.
  - The yacht has moored at the pier.
  - The ship docked at the pier.
  - Put it into the harbour book.
"""
# Code points at the skill for the first four, by its name or an example. Elsewhere the model is on
# its own, and is no help (asked whether a skill fits, it says yes to anything).
PROMPTS = {
    "Log the boat Seagull, it is at pier 4.": ("Seagull", 4),
    "The yacht Aurora has just moored at pier 2, put it into the harbour book.": ("Aurora", 2),
    "Please enter into the harbour book that the ship Marlene has docked at pier 7.": (
        "Marlene",
        7,
    ),
    "A boat came in, the Nordwind, at pier 1. Log it.": ("Nordwind", 1),
    "Could you put the boat Calypso on record? Pier 3.": ("Calypso", 3),
    "The Dorothea docked at pier 5. Write that into the book, please.": ("Dorothea", 5),
    "New at pier 6: the sailing boat Pelikan.": ("Pelikan", 6),
    "The skipper of the Fortuna has called, she is tied up at pier 8 now.": ("Fortuna", 8),
    "New arrival: Seeadler, number 9.": ("Seeadler", 9),
    "We have the ship Hansa in at pier 10 now, so the log is to be brought up to date.": (
        "Hansa",
        10,
    ),
}
THINGS = """\
invoice garden recipe travel contract newsletter server password photo library workout budget
wedding car bicycle medicine school tax concert podcast piano language fish bee chess""".split()
WORKS = {
    "plan": "Plans the {0} step by step. Use when the user wants a plan for the {0}.",
    "check": "Checks the {0} for mistakes. Use when something about the {0} may be wrong.",
    "letter": "Writes a letter about the {0}. Use when someone is to be told of the {0}.",
    "log": "Logs what happened to the {0}. Use when there is news of the {0} to be put on record.",
    "costs": "Adds up what the {0} costs. Use when the user asks for the costs of the {0}.",
    "help": "Answers questions about the {0}. Use when the user has trouble with the {0}.",
    "list": "Makes a checklist for the {0}. Use before work on the {0} begins.",
    "book": "Keeps a book on the {0}. Use when an entry on the {0} is to be made or found.",
}


def other_skills(count: int) -> dict[str, str]:
    """So many SKILL.md files, by path. Some of them log things or keep books, too."""
    found = {}
    for thing, (work, about) in product(THINGS, WORKS.items()):
        name = f"{thing}-{work}"
        text = (
            f"---\nname: {name}\ndescription: {about.format(thing)}\n---\n\nAnswer in one line.\n"
        )
        found[f"skills/{name}/SKILL.md"] = text
    step = (len(found) - 1) // count or 1  # so that few are of many kinds
    return {name: found[name] for name in list(found)[::step][:count]}


def boat_task(number: int, prompt: str, count: int) -> Task:
    boat, pier = PROMPTS[prompt]
    line = re.compile(rf"^~~ .*\b{boat}\b.* // \D*{pier}\b.* !!$", re.MULTILINE)

    def check(result: Result) -> bool:
        return bool(line.search(result.file("workspace/harbour.txt")))

    files = {
        "skills/boat-log/SKILL.md": ODD,
        "skills/boat-log/evals/triggers.yaml": TRIGGERS,
        **other_skills(count - SHIPPED - 1),
    }
    return Task(f"boat-{number}", f"among {count}", (prompt,), check, files)


# One less than code points at: other processors round otherwise.
@pytest.mark.parametrize(("count", "least"), [(12, 3), (200, 3)])
def test_an_odd_skill_is_picked_and_followed(count: int, least: int, tmp_path: Path) -> None:
    if catalog.find_installed(MODEL) is None:
        pytest.fail(f"{MODEL} is not installed: openclaw models pull {MODEL}", pytrace=False)
    tasks = [boat_task(number, prompt, count) for number, prompt in enumerate(PROMPTS, 1)]
    assert len(tasks[0].files) == count - SHIPPED + 1
    print(f"\n{MODEL}, {count} skills")
    model = open_one(f"embedded/{MODEL}", Settings(), kv_folder=tmp_path / "kv")
    try:
        outcomes = run_tasks(tasks, model)
    finally:
        model.close()
    report(outcomes)
    assert sum(outcome.passed for outcome in outcomes) >= least
