"""Makes the home for a replay: a temporary copy with the memory and to-dos of that time."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import tee
from pathlib import Path
from typing import cast, get_args

from openclaw.agent import prompt
from openclaw.agent.prompt import SOURCES, HeadCache
from openclaw.agent.request import sha256_of
from openclaw.config import Settings
from openclaw.errors import ModelMissing
from openclaw.evals.recorded_turns import RecordedTurn, find_first_change
from openclaw.history.history import History
from openclaw.history.turns import Turn
from openclaw.home.open_home import OpenHome
from openclaw.messages import TurnRecord
from openclaw.models.base import ModelCard
from openclaw.security.masking import Masker
from openclaw.sessions.session import Session
from openclaw.storage.home import Home
from openclaw.storage.safe_open import (
    bytes_or_none,
    is_folder,
    is_ordinary,
    make_folder,
    reading,
    remove,
    writing,
)
from openclaw.storage.scratch import temporary_folder
from openclaw.types import Mode, to_timestamp

COPIED = ("workspace", "memory", "skills", ".agents")  # the folders that tools may use
PRIVATE = ("learned.json", "cache/mcp.json", "cache/tokens.json", "cache/counts.json")
"""Private files that shape a prompt. Secrets are not copied: they stay in memory."""
TODOS, MEMORY = "memory/TODO.md", SOURCES["memory"]
PLAYED = (*SOURCES.values(), TODOS, "openclaw.yaml")
"""The folders that shape a request, when no tool is run."""
OTHER = "other.json"
KV = "cache/kv"
CREATED = re.compile(rb'"created_at": *"([^"]*)"')
Parts = tuple[prompt.HeadPart, ...]


@dataclass
class ReplayHome:
    """A home for replays.

    home: the recorded home, which is only read
    open_home: the open copy of the home
    named: the user has named the model; else each turn has its own
    """

    home: Home
    open_home: OpenHome
    named: bool = False
    live: bool = False

    def prepare(self, session: Session, turn: RecordedTurn) -> None:
        """Restore to-dos and memory of the start of this turn, as far as the home's history knows
        them: tools offer the to-dos by their texts. The rest stays as it is now."""
        for path in (TODOS, MEMORY):
            content = self.content_at(path, session.id, turn)
            write_copy(self.open_home.home.root / path, content)
        # Where there was another conversation then: else there is none to search.
        began = max(map(to_timestamp, (turn.user.at, session.created_at)))
        others = [at for name, at in self._start_times.items() if name != session.id and at < began]
        write_copy(self.open_home.home.sessions / OTHER, b"[]" if others else None)
        self.open_home.mode = _mode(turn.record, self.open_home.settings, live=self.live)
        self.open_home.use_memory = turn.record.memory is not False

    def card(self, recorded: str) -> ModelCard:
        """Return the card of the model for a turn that was `recorded` with this name. ModelMissing
        when the model is missing."""
        open_home = self.open_home
        if recorded and not self.named and open_home.model_name != recorded:
            open_home.use_model(recorded)
        try:
            return open_home.model.card
        except ModelMissing as error:
            raise ModelMissing(str(error), "run it with another one: --model NAME") from error

    @cached_property
    def _start_times(self) -> dict[str, float]:
        """Return the start of each conversation of the home. Only the heads of files are read."""
        found = {}
        for path in self.home.sessions.glob("*.json"):
            with suppress(OSError), reading(path) as file:
                at = CREATED.search(file.read(4096))
                found[path.stem] = to_timestamp(at[1].decode("ascii", "replace") if at else "")
        return {name: at for name, at in found.items() if "." not in name}

    def content_at(self, path: str, session: str, turn: RecordedTurn) -> bytes | None:
        """Return the content of a file when a turn began, as it is now when that is unknown."""
        self._past, past = tee(self._past)  # each turn of the history is read once
        step = find_first_change(past, path, session, turn)
        content = self._history.read(step.before) if step else None
        if step is None or (step.before and content is None):
            return bytes_or_none(self.home.root / path)
        return content

    @cached_property
    def _history(self) -> History:
        return History(self.home)

    @cached_property
    def _past(self) -> Iterator[Turn]:
        return self._history.turns()

    @cached_property
    def heads(self) -> dict[str, Parts]:
        """The parts of each head of which a copy is left, by the sum of its text."""
        cache = HeadCache(self.home.private / "cache" / "heads")
        found: dict[str, Parts] = {}
        for path in sorted(cache.folder.glob("*.json")):
            if parts := cache.kept(path.stem):
                found[sha256_of(self.open_home.masker.mask(prompt.render_head(parts)))] = parts
        return found


@contextmanager
def open_replay_home(
    home: Home, settings: Settings, model: str, *, live: bool
) -> Iterator[ReplayHome]:
    """Make the replay home of `home`. With `live` the copy has all files that tools may use. The
    model is that of the name, else the recorded one of a turn."""
    with temporary_home() as copied:
        copy_folders(home, copied, (*COPIED, "sessions") if live else ("skills", ".agents"))
        for name in PLAYED:
            write_copy(copied.root / name, bytes_or_none(home.root / name))
        for name in PRIVATE:
            write_copy(copied.private / name, bytes_or_none(home.private / name))
        _lend_states(home.private / KV, copied.private / KV)
        grants = () if live else settings.grants  # played back, no granted call really runs
        quiet = replace(settings, grants=grants, fallbacks=(), hooks=None)
        open_home = OpenHome.open(copied, quiet, model=model or settings.model)
        open_home.masker = Masker.in_memory(home.private / "secrets.json")
        with closing(open_home):
            yield ReplayHome(home, open_home, bool(model), live)


def with_memory_of(now: Parts, then: Parts) -> Parts:
    """Return a head with the memory of another one: memory is not under test."""
    kept = [part for part in then if part.name == "memory"]
    return (*(part for part in now if part.name != "memory"), *kept)


def _lend_states(source: Path, target: Path) -> None:
    """Link the saved states of an embedded model into the copy; new ones go away with the copy.
    Without links it reads the heads anew."""
    with suppress(OSError):
        states = [path for path in source.iterdir() if not path.name.startswith("s-")]
        target.mkdir(parents=True)
        for state in states:
            (target / state.name).symlink_to(state)


def _mode(record: TurnRecord, settings: Settings, *, live: bool) -> Mode:
    """Return the recorded mode; with `live` at most edit, as the file may be forged."""
    known = record.mode in get_args(Mode)
    mode = cast(Mode, record.mode) if known else settings.mode or "edit"
    return "edit" if live and mode == "full" else mode


@contextmanager
def temporary_home() -> Iterator[Home]:
    """Make a temporary place for the copy of a home."""
    with temporary_folder(Path(tempfile.gettempdir())) as top:
        yield Home(top.resolve() / "home")


def copy_folders(home: Home, copy: Home, names: Sequence[str]) -> None:
    """Copy of these folders of a home what tools can open. Of links only those to a folder that the
    user has named in the settings."""
    for name in names:
        if is_folder(home.root / name):
            shutil.copytree(home.root / name, copy.root / name, ignore=_closed_to_tools)


def _closed_to_tools(folder: str, names: Sequence[str]) -> list[str]:
    """Return the names that no tool can open: links, pipes, sockets, devices."""
    paths = {name: Path(folder, name) for name in names}
    return [name for name, path in paths.items() if not (is_ordinary(path) or is_folder(path))]


def write_copy(path: Path, data: bytes | None) -> None:
    """Write or remove (None) a file of the copy, never the target of a link."""
    if path.is_dir():
        return
    remove(path)
    if data is not None:
        make_folder(path.parent)
        with writing(path) as file:
            file.write(data)
