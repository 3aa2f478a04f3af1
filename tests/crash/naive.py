"""A writer as many programs have one: the file is opened to write and the list dumped into it.

It meets the same deaths and faults as openclaw, to show that these find losses where there are any.
"""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.crash.run import Commands, Scenario, Seen

FILE = "naive.json"
ITEMS = 40


def play_naively(home: Path, commands: Commands) -> int:
    """Add one item a command, told when it is written."""
    path = home / FILE
    for _, text in commands:
        items = json.loads(path.read_text("utf-8"))
        with path.open("w", encoding="utf-8") as file:
            json.dump([*items, text], file)
        sys.stdout.write(f"added {text}\n")
        sys.stdout.flush()
    return 0


def prepared(home: Path) -> None:
    texts = [f"an older item, number {number} of many" for number in range(500)]
    (home / FILE).write_text(json.dumps(texts), "utf-8")


def commands(chance: random.Random) -> Commands:
    return tuple(("add", f"item {n} {chance.randrange(1000)}") for n in range(ITEMS))


def lost(seen: Seen) -> Iterator[str]:
    told = [line.removeprefix("added ") for ran in seen.ran for line in ran.lines]
    try:
        items = json.loads(seen.text(FILE))
    except ValueError:
        yield "all of the list: it does not load"
        return
    yield from (text for text in told if text not in items)


NAIVE = Scenario("naive writer", 60, 20, commands, lost, prepared, git=False)
