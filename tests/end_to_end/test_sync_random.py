"""Three devices change a home at random and sync, at once and killed: nothing is lost.

Each line that a device writes holds a word of its own, so that it can be looked for at the end. A
line may only be missing when a device has put another one in its place.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from openclaw.memory.todos import TodoFile
from openclaw.storage.merge import conflicts
from tests.data.sample import sample
from tests.fakes.devices import Device, devices
from tests.fakes.needs import needs_git, posix

pytestmark = [needs_git, posix]
WORD = "word{:05d}"
TODO = "memory/TODO.md"


class Life:
    """What three devices do with one home, drawn from a seed."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.draw = random.Random(seed)
        self.devices = devices(folder, 3)
        self.made = 0
        self.replaced: set[str] = set()
        self.kills = self.races = self.stops = 0

    def edit(self, device: Device) -> None:
        """One change by an editor, the program or a conversation."""
        changes: list[Callable[[Device, str], None]] = [
            self.note_a_day, self.write_a_file, self.insert, self.insert, self.change, self.change,
            self.add_todo, self.tick_todo, self.rename_todo, self.talk,
        ]  # fmt: skip
        self.made += 1
        self.draw.choice(changes)(device, WORD.format(self.made))

    def note_a_day(self, device: Device, word: str) -> None:
        device.append(f"memory/2026-11-0{self.draw.randint(1, 4)}.md", f"- A note, {word}.\n")

    def write_a_file(self, device: Device, word: str) -> None:
        device.write(f"workspace/files/{word}.md", f"{word}\n")

    def insert(self, device: Device, word: str) -> None:
        path = f"workspace/plan{self.draw.randint(0, 2)}.md"
        lines = device.read(path).splitlines(keepends=True)
        lines.insert(self.draw.randint(0, len(lines)), f"{word} of the plan\n")
        device.write(path, "".join(lines))

    def change(self, device: Device, word: str) -> None:
        path = f"workspace/plan{self.draw.randint(0, 2)}.md"
        lines = device.read(path).splitlines(keepends=True)
        if lines:
            at = self.draw.randrange(len(lines))
            self.replaced.add(lines[at].split()[0])
            lines[at] = f"{word} of the plan\n"
            device.write(path, "".join(lines))
        else:
            self.replaced.add(word)

    def add_todo(self, device: Device, word: str) -> None:
        TodoFile(device.root / TODO).add("", [f"Do {word}"])

    def tick_todo(self, device: Device, word: str) -> None:
        self.replaced.add(word)
        todos = TodoFile(device.root / TODO)
        if items := todos.items():
            todo = self.draw.choice(items)
            todos.set_done(todo.id, not todo.done)

    def rename_todo(self, device: Device, word: str) -> None:
        todos = TodoFile(device.root / TODO)
        if items := todos.items():
            todo = self.draw.choice(items)
            self.replaced.add(todo.text.split()[-1])
            todos.set_text(todo.id, f"Do {word}")
        else:
            self.replaced.add(word)

    def talk(self, device: Device, word: str) -> None:
        path = f"sessions/talk{self.draw.randint(0, 1)}.json"
        session = json.loads(device.read(path) or '{"version": 2, "messages": []}')
        for role in ("user", "assistant"):
            session["messages"].append({"role": role, "content": f"{role} says {word}"})
        device.write(path, json.dumps(session, indent=2) + "\n")

    # -------- syncs

    def sync(self, device: Device) -> None:
        """One that nobody disturbs. Where it stops, both lines are wanted."""
        done = device.run("sync")
        if done.returncode == 1 and "changed here and on another device" in done.stderr:
            self.stops += 1
            done = device.run("sync", "--keep", "both")
        assert done.returncode == 0, done.stderr

    def sync_at_once(self, some: list[Device]) -> None:
        """As processes, with to-dos that are added meanwhile; any of them may be killed."""
        running = [start(device, "sync", "--keep", "both") for device in some]
        self.races += len(some) > 1
        device = self.draw.choice(some)
        self.made += 1
        adding = start(device, "todo", "add", f"Meanwhile {WORD.format(self.made)}")
        for process in running:
            if self.draw.random() < 0.6:
                time.sleep(self.draw.uniform(0.2, 1.0))
                self.kills += process.poll() is None
                kill(process, with_children=self.draw.random() < 0.5)
        assert adding.wait(120) == 0
        for process in running:
            process.wait(120)

    def come_together(self) -> None:
        for _ in range(2):
            for device in self.devices:
                self.sync(device)
        trees = {device.tree() for device in self.devices}
        assert len(trees) == 1
        for device in self.devices:
            assert device.git("status", "--porcelain") == ""
            text = self.all_text(device)
            words = {WORD.format(number) for number in range(1, self.made + 1)} - self.replaced
            assert {word for word in words if word not in text} == set()
            ids = [todo.id for todo in TodoFile(device.root / TODO).items()]
            assert len(ids) == len(set(ids))

    def all_text(self, device: Device) -> str:
        found = []
        for path in sorted(device.root.rglob("*.*")):
            if path.is_file() and not {".git", ".openclaw"} & set(path.parts):
                text = path.read_text("utf-8")
                assert not conflicts(text), path
                if path.suffix == ".json":
                    json.loads(text)
                found.append(text)
        return "".join(found)


def start(device: Device, *words: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "openclaw", "--home", str(device.root), *words]
    quiet = subprocess.DEVNULL
    return subprocess.Popen(
        command, stdin=quiet, stdout=quiet, stderr=quiet, start_new_session=True
    )


def kill(process: subprocess.Popen[bytes], *, with_children: bool) -> None:
    if with_children and process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()


@pytest.mark.parametrize("seed", sample([1, 2]))
def test_random_edits_on_three_devices_come_together(tmp_path: Path, seed: int) -> None:
    life = Life(tmp_path, seed)
    while life.made < 60:
        device = life.draw.choice(life.devices)
        for _ in range(life.draw.randint(1, 9)):
            life.edit(device)
        life.sync(device)
    life.come_together()


@pytest.mark.slow
def test_so_do_two_thousand_with_kills_and_races(tmp_path: Path) -> None:
    life = Life(tmp_path, 25)
    while life.made < 2000:
        some = life.draw.sample(life.devices, life.draw.randint(1, 3))
        for device in some:
            for _ in range(life.draw.randint(1, 9)):
                life.edit(device)
        if life.draw.random() < 0.6:
            life.sync_at_once(some)
        else:
            life.sync(some[0])
    life.come_together()
    told = f"{life.kills} kills, {life.races} races, {life.stops} stops"
    assert life.kills > 20 and life.races > 20 and life.stops > 0, told
